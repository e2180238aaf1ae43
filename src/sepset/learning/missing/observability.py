r"""Observability models: what is true, what is seen, and whether the difference can be ignored.

$$P(\mathbf X, \mathbf O, \mathbf Y) = P(\mathbf X)\, P_{\text{missing}}(\mathbf O \mid \mathbf X)\,
\mathbf 1\{\mathbf Y = \mathbf X \text{ where } \mathbf O \text{, else } ?\}$$

Under missingness at random the likelihood splits, $L(\theta, \psi) = L(\theta)\, L(\psi)$, so that $\theta$ can be
learned as if nothing were known about how cells went missing.

Reference: Koller & Friedman, section 19.1 and theorem 19.1.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Literal, TypeAlias

import numpy as np

from sepset.base.arraytypes import Bools, Floats
from sepset.base.checks import generator, one_of
from sepset.base.foreign import translated
from sepset.base.membership import without
from sepset.base.text import nearest
from sepset.cpds.deterministic import DeterministicCPD
from sepset.cpds.discrete import is_discrete
from sepset.cpds.table import TableCPD
from sepset.data.dataset import Dataset
from sepset.errors import NotApplicable, ScopeError
from sepset.factors.algebra import AnyVariable, check_size
from sepset.factors.labels import name_of
from sepset.factors.table import Table
from sepset.graphs.graph import DAG
from sepset.graphs.separation import d_separated
from sepset.learning.missing.mechanisms import Hiding, Mechanism, hide_cells, observability_indicator
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete, State, VariableLike

By: TypeAlias = Literal["enumeration", "separation"]

UNSEEN = "?"
"""The value of a cell that is not observed."""

TOLERANCE = 1e-12
"""Probabilities nearer than this are equal."""


@translated
def observed_version(variable: Discrete) -> Discrete:
    r"""The variable $Y_X$ that is seen, with values $\mathrm{Val}(X) \cup \{?\}$.

    Reference: Koller & Friedman def. 19.1.
    Guarantee: exact.
    Tested by: learning/missing/test_observability.py::test_six_cases_factor_and_sum_to_one

    >>> observed_version(Discrete("coin", ("head", "tail")))
    Discrete('coin(shown)', ('head', 'tail', '?'))
    """
    return variable.hidden("shown", (*variable.states, UNSEEN))


@dataclass(frozen=True, eq=False)
class ObservabilityModel:
    r"""A network of what is true and the mechanism by which its values go missing.

    The parameters of both are blocks of their own: $\theta$ in `model`, $\psi$ in the tables of the indicators. A
    column without a hiding is always observed and has neither indicator nor shown variable.

    Args:
        model: $P(\mathbf X)$.
        mechanism: $P_{\text{missing}}(\mathbf O \mid \mathbf X)$.

    Reference: Koller & Friedman, definition 19.1.
    Guarantee: exact.
    Tested by: learning/missing/test_observability.py::test_six_cases_factor_and_sum_to_one

    >>> from sepset.learning.missing.mechanisms import MCAR
    >>> coin = ObservabilityModel(BayesNet(TableCPD(Discrete("coin", ("head", "tail")), [0.6, 0.4])), MCAR(0.5))
    >>> coin.network, coin.distribution().values.round(2).tolist(), is_mcar(coin)
    (BayesNet(3 variables, 2 edges, 2 parameters), [0.3, 0.2, 0.5], True)
    """

    model: BayesNet
    mechanism: Mechanism

    @property
    def hidings(self) -> dict[str, Hiding]:
        """The hiding of each variable that can be missing, in the mechanism's order."""
        found = self.mechanism.hidings(self.model.variables)
        for name in found:
            if name not in self.model.variables:
                known = self.model.variables.names
                raise ScopeError(f"The mechanism hides {name!r}, which the model lacks.{nearest(name, known)}")
        return found

    @property
    def indicators(self) -> tuple[Discrete, ...]:
        """The variables $O_X$."""
        return tuple(observability_indicator(self.model.variables[name]) for name in self.hidings)

    def _find(self, name: VariableLike) -> AnyVariable:
        asked = name if isinstance(name, str) else name.name
        found = next((o for o in self.indicators if o.name == asked), None)
        return self.model.variables[asked] if found is None else found

    @property
    def mask_cpds(self) -> tuple[TableCPD, ...]:
        r"""The tables $P(O_X \mid \mathbf U)$."""
        return tuple(h.cpd(self.model.variables[name], self._find) for name, h in self.hidings.items())

    @property
    def network(self) -> BayesNet:
        r"""The network over $\mathbf X$, $\mathbf O$ and the deterministic $\mathbf Y$; discrete models only."""
        hidden = [self.model.variables[name] for name in self.hidings]
        reals = [v.name for v in hidden if not isinstance(v, Discrete)]
        if reals:
            raise NotApplicable(f"{reals[0]!r} is real: what is shown of it is neither discrete nor real. Use sample.")
        shown_cpds = [_shown_cpd(v) for v in hidden if isinstance(v, Discrete)]
        return BayesNet(*self.model.cpds, *self.mask_cpds, *shown_cpds)

    @property
    def dag(self) -> DAG:
        r"""The graph over $\mathbf X$ and $\mathbf O$, whatever the kinds of variables and hidings."""
        edges = [
            (self._find(given).name, observability_indicator(self.model.variables[name]).name)
            for name, hiding in self.hidings.items()
            for given in hiding.given
        ]
        own = self.model.dag
        return DAG([*own.nodes, *(o.name for o in self.indicators)], [*own.edges, *edges])

    def sample(self, num_rows: int, seed: int | np.random.Generator = 0) -> Dataset:
        """Rows of the model with cells hidden by the mechanism.

        >>> from sepset.learning.missing.mechanisms import MCAR
        >>> model = BayesNet(TableCPD(Discrete("coin"), [0.5, 0.5]))
        >>> ObservabilityModel(model, MCAR(1.0)).sample(3).num_missing
        {'coin': 3}
        """
        rng = generator(seed)
        return hide_cells(self.model.sample(num_rows, rng), self.mechanism, seed=rng)

    def distribution(self) -> Table:
        r"""$P(\mathbf Y)$ by enumeration: what can be seen, always observed variables as themselves."""
        hidden = self.hidings
        seen = [observed_version(v) if v.name in hidden else v for v in self.model.variables if isinstance(v, Discrete)]
        joint = _product(self.network)
        return joint.project(seen).align(seen)


@translated
def is_mcar(model: ObservabilityModel, *, by: By = "enumeration") -> bool:
    r"""Whether cells are missing completely at random, $P_{\text{missing}} \models (\mathbf O \perp \mathbf X)$.

    Args:
        by: "enumeration" compares $P(\mathbf o \mid \mathbf x)$ over all $\mathbf x$ of positive probability, exact for
            discrete models; "separation" asks the graph, for any model: True is certain, False only means that the
            graph does not say so.

    Cost: the joint states of $\mathbf X$ and $\mathbf O$; or linear in the graph.
    Reference: Koller & Friedman, definition 19.2.
    Guarantee: exact by enumeration; sufficient by d-separation.
    Tested by: learning/missing/test_observability.py::test_both_checks_are_their_definitions

    >>> from sepset.learning.missing.mechanisms import MNAR
    >>> coin = BayesNet(TableCPD(Discrete("coin"), [0.5, 0.5]))
    >>> is_mcar(ObservabilityModel(coin, MNAR({"coin": Hiding([0.1, 0.2], given="coin")})))
    False
    """
    if not model.indicators:
        return True
    if one_of("by", by, ("enumeration", "separation")) == "separation":
        return d_separated(model.dag, [o.name for o in model.indicators], model.model.dag.nodes)
    support, chance = _enumerated(model)
    axes = tuple(range(support.ndim))
    return all(_is_constant(part, support, axes) for _, part in _each_mask(chance, support.ndim))


@translated
def is_mar(model: ObservabilityModel, *, by: By = "enumeration") -> bool:
    r"""Whether cells are missing at random: in each row seen, hiding did not depend on the hidden values.

    $$P(\mathbf o \mid \mathbf x_{\text{obs}}, \mathbf x_{\text{hid}}) = P(\mathbf o \mid \mathbf x_{\text{obs}})
    \quad\text{whenever } P(\mathbf x_{\text{obs}}, \mathbf x_{\text{hid}}) > 0$$

    This is a property of events, one for each $\mathbf o$, and in general no independence of variables.

    Args:
        by: "enumeration" checks the definition, exact for discrete models; "separation" asks the graph whether the
            variables that are always observed separate the indicators from all others, for any model: True is
            certain, False only means that the graph does not say so.

    Cost: the joint states of $\mathbf X$ and $\mathbf O$; or linear in the graph.
    Reference: Koller & Friedman, definition 19.3 and theorem 19.1.
    Guarantee: exact by enumeration; sufficient by d-separation.
    Tested by: learning/missing/test_observability.py::test_both_checks_are_their_definitions

    >>> from sepset.learning.missing.mechanisms import MAR
    >>> a, b = Discrete("a"), Discrete("b")
    >>> net = BayesNet(TableCPD(a, [0.5, 0.5]), TableCPD(b, [[0.9, 0.1], [0.2, 0.8]], given=a))
    >>> seen = ObservabilityModel(net, MAR({"b": Hiding([0.1, 0.7], given="a")}))
    >>> is_mar(seen), is_mar(seen, by="separation"), is_mcar(seen)
    (True, True, False)
    """
    if not model.indicators:
        return True
    hidden = list(model.hidings)
    if one_of("by", by, ("enumeration", "separation")) == "separation":
        always = without(model.model.dag.nodes, hidden)
        return d_separated(model.dag, [o.name for o in model.indicators], hidden, given=always)
    support, chance = _enumerated(model)
    place = {v.name: axis for axis, v in enumerate(model.model.variables)}
    return all(
        _is_constant(part, support, tuple(place[n] for n, seen in zip(hidden, observed, strict=True) if not seen))
        for observed, part in _each_mask(chance, support.ndim)
    )


def _shown_cpd(variable: Discrete) -> DeterministicCPD:
    def value(state: State, observed: State) -> State:
        return state if observed else UNSEEN

    return DeterministicCPD(observed_version(variable), value, given=(variable, observability_indicator(variable)))


def _product(model: BayesNet) -> Table:
    """The joint table of a discrete network."""
    check_size(tuple(model.variables))
    return reduce(lambda f, g: f * g, (_table(cpd) for cpd in model.cpds), Table.ones())


def _table(cpd: object) -> Table:
    if not is_discrete(cpd):
        raise NotApplicable(f"{name_of(cpd)} is continuous; only discrete models are enumerated. Say by='separation'.")
    return cpd.to_factor()


def _enumerated(model: ObservabilityModel) -> tuple[Bools, Floats]:
    r"""Which $\mathbf x$ are possible; $P(\mathbf o \mid \mathbf x)$ with axes for $\mathbf X$, then $\mathbf O$."""
    variables = tuple(v for v in model.model.variables if isinstance(v, Discrete))
    scope = (*variables, *model.indicators)
    check_size(scope)
    joint = _product(model.model)
    parts = (cpd.table for cpd in model.mask_cpds)
    chance = reduce(lambda f, g: f * g, parts, Table.ones(variables))
    return joint.align(variables).values > 0, chance.align(scope).values


def _each_mask(chance: Floats, num_variables: int) -> Iterator[tuple[tuple[int, ...], Floats]]:
    r"""Each $\mathbf o$ with its probabilities over all $\mathbf x$."""
    flat = chance.reshape(*chance.shape[:num_variables], -1)
    masks = itertools.product((0, 1), repeat=chance.ndim - num_variables)
    return ((observed, flat[..., place]) for place, observed in enumerate(masks))


def _is_constant(values: Floats, support: Bools, axes: tuple[int, ...]) -> bool:
    """Whether possible values agree along these axes."""
    high = np.where(support, values, -np.inf).max(axis=axes)
    low = np.where(support, values, np.inf).min(axis=axes)
    possible = support.any(axis=axes)
    return bool((np.where(possible, high, 0.0) - np.where(possible, low, 0.0) <= TOLERANCE).all())
