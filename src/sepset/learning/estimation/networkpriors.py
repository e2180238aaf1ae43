r"""Priors in the form of imaginary rows: those of a prior network, or of a data set of one's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import gammaln

from sepset.base.arraytypes import AnyArray, Floats
from sepset.base.checks import check_positive
from sepset.base.text import nearest
from sepset.cpds.counts import decode
from sepset.cpds.priors.dirichlet import block_of
from sepset.data.sources import bind, refuse_missing
from sepset.engine.expectedcounts import part_marginals
from sepset.engine.kept import engine_for
from sepset.errors import ModelError, ScopeError
from sepset.factors.algebra import AnyVariable, Columns, num_entries
from sepset.factors.labels import name_of
from sepset.models.bayesnet import BayesNet
from sepset.models.model import Model
from sepset.models.rows import complete
from sepset.variables.matching import Match, has_states_of
from sepset.variables.universe import Universe
from sepset.variables.variable import Discrete


@dataclass(frozen=True, eq=False)
class BDe:
    r"""The Bayesian Dirichlet prior of a prior network: $\alpha_{x \mid \mathbf u} = \alpha\, P'(x, \mathbf u)$.

    The prior network may have any structure, such as independent marginals, but must give every family's states a
    positive probability. Shared parameters get the sum over all that use them.

    Args:
        network: $P'$, any model over (at least) the same variables.
        sample_size: $\alpha$, the number of imaginary rows for the whole network.

    Cost: one query per family.
    Reference: Koller & Friedman, section 17.4.3; Heckerman, Geiger & Chickering (1995).
    Guarantee: exact.
    Tested by: learning/estimation/test_networkpriors.py::test_a_prior_network_of_any_structure

    >>> from sepset.cpds.table import TableCPD
    >>> from sepset.models.bayesnet import BayesNet
    >>> from sepset.variables.variable import Discrete
    >>> coin = TableCPD(Discrete("coin"), [0.3, 0.7])
    >>> BDe(BayesNet(coin), 10).hyperparameters([coin]).round(9).tolist()
    [3.0, 7.0]
    """

    network: Model = field(repr=False)
    sample_size: float

    def __post_init__(self) -> None:
        check_positive("BDe", sample_size=self.sample_size)
        if not isinstance(self.network, Model):
            raise ModelError(f"BDe needs a prior network; found {self.network!r}. Without one, use BDeu.")

    is_equivalent = True
    """Whether I-equivalent structures have equal evidence."""

    kinds = frozenset({"discrete"})
    """Discrete columns."""

    def family(self, child: int, parents: tuple[int, ...], columns: Any) -> float:
        """The log evidence of one family of columns: the score of structures under this prior."""
        scope = [columns.variables[columns.names[c]] for c in (*parents, child)]
        alpha = self.imaginary_counts(scope)
        counts = columns.family_table(child, parents)
        cells = gammaln(alpha + counts) - gammaln(alpha)
        contexts = gammaln(alpha.sum(-1) + counts.sum(-1)) - gammaln(alpha.sum(-1))
        return float(cells.sum() - contexts.sum())

    def imaginary_counts(self, scope: Sequence[Any]) -> Floats:
        r"""The number of imaginary rows in each joint state of some variables, $\alpha P'$, one axis per variable."""
        return self.sample_size * self._mass(scope).reshape([v.num_states for v in scope])

    def hyperparameters(self, cpds: Sequence[Any]) -> Floats:
        """The pseudo-counts of a block's cells, flat."""
        return np.asarray(np.sum([self._family(cpd) for cpd in block_of(cpds)], axis=0), dtype=np.float64)

    def _own(self, variable: AnyVariable) -> AnyVariable:
        """The prior network's own variable of that name, whose states may have another order."""
        known = self.network.variables
        if variable.name not in known or not has_states_of(known[variable.name], variable):
            raise ScopeError(
                f"The prior network of BDe has no {variable!r}.{nearest(variable.name, known.names)} It needs "
                "every variable, with the same states."
            )
        return known[variable.name]

    def _family(self, cpd: Any) -> Floats:
        if cpd.parameters.is_factored:
            for variable in cpd.scope:
                self._own(variable)
            return self._of_cells(cpd, cpd.parameters.for_rows({}))
        mass = self._mass(cpd.scope)
        rows: Columns = decode(np.arange(num_entries(cpd.scope)), cpd.scope)
        return np.asarray(cpd.statistics(rows, self.sample_size * mass))

    def _mass(self, scope: Sequence[Any]) -> Floats:
        """The probabilities of the joint states of some variables, flat, in the order of their own states."""
        own = [self._own(variable) for variable in scope]
        joint = engine_for(self.network).query(own).distribution
        known = np.asarray(joint.normalize().align(own).values, dtype=np.float64).reshape(-1)
        mass = known[Match.of(own, scope).entries]
        if not (mass > 0).all():
            where = decode(np.array([int(mass.argmin())]), scope)
            states = ", ".join(f"{v.name}={v.states[int(where[v][0])]!r}" for v in scope)
            raise ModelError(f"The prior network of BDe gives ({states}) probability zero. It must be positive.")
        return mass

    def _over(self, scope: Sequence[AnyVariable]) -> Model:
        """The prior network with the states of these variables in their order."""
        named = {v.name: v for v in scope}
        if all(self.network.variables[name] == v for name, v in named.items()):
            return self.network
        if not isinstance(self.network, BayesNet):
            raise ScopeError(
                "The states of the prior network of BDe are in another order than those of a CPD without a table. "
                "Give a BayesNet, or list the states in one order."
            )
        cpds = self.network.cpds
        return BayesNet(*(cpd.parameters.over(tuple(named.get(v.name, v) for v in cpd.scope)) for cpd in cpds))

    def _of_cells(self, cpd: Any, own: Any) -> Floats:
        """The pseudo-counts of the cells of a CPD whose joint states are too many to be listed."""
        mass = own.expected(part_marginals(engine_for(self._over(cpd.scope)), cpd.decomposition()))
        if not (mass > 0).all():
            raise ModelError(
                f"The prior network of BDe gives a cell of {name_of(cpd)} probability zero: "
                f"{own.names[int(mass.argmin())]}. "
                "It must be positive."
            )
        return np.asarray(self.sample_size * mass)


@dataclass(frozen=True, eq=False)
class ImaginaryData:
    r"""Imaginary rows, added to the data: $\alpha_{x \mid \mathbf u} = M'[x, \mathbf u]$.

    For every kind of CPD the estimate of `PosteriorMode` and `EM` is that of the joined rows: the prior is flat in
    unconstrained
    parameters (logits, weights, coefficients and logarithms of variances) before the imaginary rows are seen.

    - Multinomials: cells that no imaginary row has get no pseudo-count; there the prior is improper, and the evidence
      undefined.
    - Linear Gaussians: `Bayes` starts from normal-gamma with shape $(M' - p) / 2$ and rate $\text{RSS}' / 2$ about the
      imaginary least-squares regression with $p$ coefficients, in each context. It needs more imaginary rows than
      coefficients, parents that are not collinear and no perfect fit; otherwise it is improper, and raises an error.
    - Noisy-or, noisy-max and logistic CPDs: the rows join the likelihood, for `PosteriorMode` and `EM`; `Bayes` has no
    closed
      form.

    Args:
        data: the rows, as `fit` takes them, complete.
        weight: the weight of each row.

    Reference: Koller & Friedman, section 17.4.3.
    Guarantee: exact.
    Tested by: learning/estimation/test_networkpriors.py::test_imaginary_rows_are_rows

    >>> from sepset.cpds.table import TableCPD
    >>> from sepset.variables.variable import Discrete
    >>> ImaginaryData({"coin": [0, 1, 1]}).hyperparameters([TableCPD(Discrete("coin"), [0.5, 0.5])]).tolist()
    [1.0, 2.0]
    """

    data: object = field(repr=False)
    weight: float = 1.0

    def __post_init__(self) -> None:
        check_positive("ImaginaryData", weight=self.weight)

    def hyperparameters(self, cpds: Sequence[Any]) -> Any:
        """The statistics of the rows, pooled over a block."""
        return block_of(cpds)[0].parameters.statistics(*self.rows(cpds))

    def rows(self, cpds: Sequence[Any]) -> tuple[Columns, Floats]:
        """The rows of a block, as columns of its first CPD's variables, and the weight of each."""
        parts = [self._columns(cpd) for cpd in cpds]
        columns = {v: np.concatenate([part[axis] for part in parts]) for axis, v in enumerate(cpds[0].scope)}
        return columns, np.concatenate([part[-1] for part in parts])

    def _columns(self, cpd: Any) -> list[AnyArray]:
        """The columns of one CPD, in the order of its scope, then the weights."""
        if any(not isinstance(v, Discrete) and v.size > 1 for v in cpd.scope):
            columns, num_rows = complete(self.data, Universe(cpd.scope))
            return [*(columns[v] for v in cpd.scope), np.full(num_rows, float(self.weight))]
        rows = bind(self.data, cpd.scope)
        refuse_missing(rows, "ImaginaryData")
        own = np.ones(rows.num_rows) if rows.weights is None else rows.weights
        return [*(np.asarray(rows.column(v)) for v in cpd.scope), self.weight * own]
