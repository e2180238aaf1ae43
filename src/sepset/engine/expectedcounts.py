r"""Expected counts of families: the sums of an E-step, as `Counts`.

$$\bar M[\mathbf u, x] = \sum_m w_m P(\mathbf u, x \mid \mathbf o[m])$$

Reference: Koller & Friedman, section 19.2.2.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.cpds.cpd import CPD
from sepset.data.counts import Counts
from sepset.data.families import Family, Scope, discrete_scope, members
from sepset.data.sources import Weights, bind
from sepset.engine.bound import Bound
from sepset.errors import NotApplicable
from sepset.factors.algebra import Factor
from sepset.factors.block import Single, single_blocks
from sepset.factors.decomposition import Decomposition
from sepset.factors.table import Table
from sepset.inference import capabilities
from sepset.inference.method import Prepared, dense, prepare
from sepset.models.bayesnet import BayesNet
from sepset.variables.evidence import Evidence
from sepset.variables.universe import Universe
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
    rows = bind(data, engine.model.variables, weights)
    scopes, prepared, first = _families(engine, families)
    weight = np.ones(rows.num_rows) if rows.weights is None else rows.weights
    found = capabilities.expected_counts(prepared, rows, weights=weight, threads=threads).factors[first:]
    tables = [table.reshape([v.num_states for v in scope]) for table, scope in zip(found, scopes, strict=True)]
    return Counts(scopes, tables, num_rows=rows.num_rows, total=float(weight.sum()))


def _families(engine: Bound, families: Iterable[Family] | None) -> tuple[list[Scope], Prepared, int]:
    """The families, the method prepared for a problem with a factor for each, and the number of the first of these."""
    model = engine.model
    if families is None:
        if not isinstance(model, BayesNet):
            raise NotApplicable(f"{model!r} has no CPDs, whose families are the default. Say families=[...].")
        if _has_tables(engine, model.cpds):
            return [cpd.scope for cpd in model.cpds], engine.prepared, 0  # type: ignore[misc]  # all are discrete
        families = model.cpds
    scopes = [discrete_scope(members(family), model.variables.__getitem__) for family in families]
    return scopes, *_with_families(engine, scopes)


def _has_tables(engine: Bound, cpds: Sequence[CPD]) -> bool:
    """Whether the factors of a network are the tables of its CPDs: their marginals are those of the families."""
    problem = engine.prepared.problem
    if not problem.variables.all_discrete or problem.num_factors != len(engine.model.variables):
        return False
    if any(group.factors != (i,) for i, group in enumerate(problem.conditionals)):
        return False
    start, members = problem.scopes
    places = problem.variables.found_places([v for cpd in cpds for v in cpd.scope])
    return bool(np.array_equal(np.diff(start), [len(cpd.scope) for cpd in cpds]) and np.array_equal(members, places))


def _with_families(engine: Bound, scopes: Sequence[Scope]) -> tuple[Prepared, int]:
    """The method prepared with a factor of ones over each family, and the number of the first of them."""
    problem = engine.prepared.problem
    if not problem.variables.all_discrete:
        raise NotApplicable(f"{engine.model!r} has variables that are not discrete, which have no counts.")
    places = [problem.variables.places(scope) for scope in scopes]
    start = np.cumsum([0, *map(len, places)])
    members = np.fromiter(itertools.chain.from_iterable(places), np.int64, int(start[-1]))
    ones = single_blocks([Table.ones(scope) for scope in scopes], start, members)
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
    variables = Universe([*problem.variables, *named.values()])
    added = [
        Single(_neutral(factor, parts, named), variables.ids([named.get(v, v) for v in factor.scope]))
        for factor in parts.filled
    ]
    extended = replace(problem, variables=variables, blocks=(*problem.blocks, *added))
    return capabilities.factor_marginals(prepare(engine.method, extended), Evidence())[problem.num_factors :]


def _neutral(factor: Factor, parts: Decomposition, named: Mapping[Any, Any]) -> Table:
    """The factor under the auxiliaries' new names if it defines one, else ones."""
    scope = [named.get(v, v) for v in factor.scope]
    return Table(scope, dense(factor).values) if factor.scope[-1] in parts.functions else Table.ones(scope)
