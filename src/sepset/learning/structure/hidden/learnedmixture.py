"""Learned mixtures: their components, and one model of all of them that answers questions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from sepset.base.arraytypes import Floats
from sepset.base.lazy import lazy
from sepset.errors import NotApplicable
from sepset.factors.table import Table
from sepset.graphs.graph import UndirectedGraph
from sepset.learning.fit import FitResult, LearningMethod
from sepset.learning.structure.learned import Learned
from sepset.models.bayesnet import BayesNet
from sepset.models.markovnet import MarkovNet
from sepset.variables.variable import Discrete


@dataclass(frozen=True, eq=False, repr=False)
class LearnedMixture(Learned[UndirectedGraph]):
    r"""A mixture of networks over the same columns.

    Attributes:
        components: a network each.
        weights: the probability of each component.
        variable: its states are the components.
        graph: the neighbors in the Markov network of all of them.

    >>> import sepset as ss
    >>> rows = {"a": [0, 0, 1, 1] * 10, "b": [0, 1, 1, 1] + [0, 0, 1, 1] * 9}
    >>> found = ss.learn_structure(rows, method=ss.structure.MixtureOfTrees(1))
    >>> found.components[0].dag, found.weights.tolist()
    (DAG(a -> b), [1.0])
    """

    components: tuple[BayesNet, ...] = field(kw_only=True)
    weights: Floats = field(kw_only=True)
    variable: Discrete = field(kw_only=True)

    @classmethod
    def of(cls, components: Sequence[BayesNet], weights: ArrayLike, *, name: str, **more: Any) -> Self:
        """The mixture of these networks.

        Args:
            components: the networks.
            weights: one per network.
            name: of the variable whose states are the components.
            more: the other attributes.
        """
        own, shares = Discrete(name, len(components)), np.asarray(weights, np.float64)
        graph = mixture_model(components, shares, own).graph
        return cls(graph, components=tuple(components), weights=shares, variable=own, **more)

    @lazy
    def model(self) -> MarkovNet:
        """One model of the component and all columns, for queries; its partition function is one."""
        return mixture_model(self.components, self.weights, self.variable)

    def responsibilities(self, data: object) -> Floats:
        """The probability of each component given each complete row.

        Args:
            data: rows of the columns.
        """
        logs = self._logs(data)
        return np.asarray(np.exp(logs - logsumexp(logs, axis=0)).T)

    def log_probability(self, data: object) -> Floats:
        """The log probability of each complete row.

        Args:
            data: rows of the columns.
        """
        return np.asarray(logsumexp(self._logs(data), axis=0))

    def _logs(self, data: object) -> Floats:
        with np.errstate(divide="ignore"):
            logs = np.log(self.weights)
        return np.array([log + net.log_probability(data) for log, net in zip(logs, self.components, strict=True)])

    def fit(self, method: LearningMethod | None = None, **options: Any) -> FitResult:
        """Not for mixtures: `components` and `model` have their parameters."""
        raise NotApplicable("A mixture is learned with its parameters, which `components` and `model` have.")

    def _facts(self) -> Iterator[tuple[str, str]]:
        yield from super()._facts()
        for weight, net in zip(self.weights.tolist(), self.components, strict=True):
            yield f"component of weight {weight:.4g}", repr(net.dag)


def mixture_model(components: Sequence[BayesNet], weights: Floats, variable: Discrete) -> MarkovNet:
    r"""The Markov network of a mixture: a factor for each family of each component, one in the other components.

    $$P(k, \mathbf x) = \pi_k \prod_j \prod_i \phi_{ij}(k, x_i, \mathbf u_i^j), \qquad
    \phi_{ij} = P_j(x_i \mid \mathbf u_i^j) \text{ if } k = j, \text{ else } 1$$
    """
    factors = [Table((variable,), weights)]
    for k, net in enumerate(components):
        for cpd in net.cpds:
            own = np.asarray(cpd.values, np.float64)  # type: ignore[attr-defined]
            values = np.ones((len(components), *own.shape))
            values[k] = own
            scope: list[Any] = [variable, *cpd.parents, cpd.child]
            factors.append(Table(scope, values))
    return MarkovNet(*factors, variables=[variable, *components[0].variables])
