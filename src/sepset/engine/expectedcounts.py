r"""Expected counts of families: the sums of an E-step, as `Counts`.

$$\bar M[\mathbf u, x] = \sum_m w_m P(\mathbf u, x \mid \mathbf o[m])$$

Reference: Koller & Friedman, section 19.2.2.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.data.counts import Counts
from sepset.data.families import Family, Scope, discrete_scope, members
from sepset.data.sources import Weights, bind
from sepset.engine.bound import Bound
from sepset.errors import NotApplicable
from sepset.factors.algebra import Factor
from sepset.factors.block import Single
from sepset.factors.decomposition import Decomposition
from sepset.factors.table import Table
from sepset.inference import capabilities
from sepset.inference.method import Prepared, dense, prepare
from sepset.models.bayesnet import BayesNet
from sepset.variables.evidence import Evidence
from sepset.variables.universe import Variables
from sepset.variables.variable import Discrete


def expected_counts(
    engine: Bound, data: object, families: Iterable[Family] | None, weights: Weights, threads: int | None
) -> Counts:
    """The expected counts of families, the missing cells of each row distributed as the engine says.

    Args:
        engine: a discrete model with a method.
        data: rows, as `fit` takes them.
        families: any variables of the model together; None for the families of a network's CPDs.
        weights: one per row, or the name of a column.
        threads: their number.
    """
    model = engine.model
    chosen = model.cpds if families is None and isinstance(model, BayesNet) else families
    if chosen is None:
        raise NotApplicable(f"{model!r} has no CPDs, whose families are the default. Say families=[...].")
    scopes = [discrete_scope(members(family), model.variables.__getitem__) for family in chosen]
    rows = bind(data, model.variables, weights)
    prepared, first = _with_families(engine, scopes)
    weight = np.ones(rows.num_rows) if rows.weights is None else rows.weights
    found = capabilities.expected_counts(prepared, rows, weights=weight, threads=threads).factors[first:]
    tables = [table.reshape([v.num_states for v in scope]) for table, scope in zip(found, scopes, strict=True)]
    return Counts(scopes, tables, num_rows=rows.num_rows, total=float(weight.sum()))


def _with_families(engine: Bound, scopes: Sequence[Scope]) -> tuple[Prepared, int]:
    """The method prepared with a factor of ones over each family, and the number of the first of them."""
    problem = engine.prepared.problem
    if not problem.variables.all_discrete:
        raise NotApplicable(f"{engine.model!r} has variables that are not discrete, which have no counts.")
    ones = (Single(Table.ones(scope), problem.variables.ids(scope)) for scope in scopes)
    return prepare(engine.method, replace(problem, blocks=(*problem.blocks, *ones))), problem.num_factors


def part_marginals(engine: Bound, parts: Decomposition) -> tuple[Floats, ...]:
    """The marginal over each factor's scope of a conditional's decomposition, under the distribution of a model.

    The auxiliaries are functions of the model's variables: factors that define them are added to those of the model,
    and the others as ones, which change nothing.

    Args:
        engine: a discrete model with a method.
        parts: factors over variables of the model and auxiliaries that are functions of these.

    >>> import sepset as ss
    >>> net = ss.datasets.load("student")
    >>> [one.round(3).tolist() for one in part_marginals(Bound(net), net.cpd("difficulty").decomposition())]
    [[0.6, 0.4]]
    """
    problem = engine.prepared.problem
    named: dict[Any, Any] = {
        a: Discrete(a.base, a.states, index=a.index, lag=a.lag, part=f"{a.part} asked") for a in parts.auxiliaries
    }
    variables = Variables([*problem.variables, *named.values()])
    added = [
        Single(_neutral(factor, parts, named), variables.ids([named.get(v, v) for v in factor.scope]))
        for factor in parts.factors
    ]
    extended = replace(problem, variables=variables, blocks=(*problem.blocks, *added))
    return capabilities.factor_marginals(prepare(engine.method, extended), Evidence())[problem.num_factors :]


def _neutral(factor: Factor, parts: Decomposition, named: Mapping[Any, Any]) -> Table:
    """The factor under the auxiliaries' new names if it defines one, else ones."""
    scope = [named.get(v, v) for v in factor.scope]
    return Table(scope, dense(factor).values) if factor.scope[-1] in parts.functions else Table.ones(scope)
