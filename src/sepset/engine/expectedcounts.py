r"""Expected counts of families: the sums of an E-step, as `Counts`.

$$\bar M[\mathbf u, x] = \sum_m w_m P(\mathbf u, x \mid \mathbf o[m])$$

Reference: Koller & Friedman, section 19.2.2.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from sepset.data.counts import Counts
from sepset.data.families import Family, Scope, discrete_scope, members
from sepset.data.sources import Weights, bind
from sepset.engine.bound import Bound
from sepset.errors import NotApplicable
from sepset.factors.block import Single
from sepset.factors.table import Table
from sepset.inference import capabilities
from sepset.inference.method import Prepared, prepare
from sepset.models.bayesnet import BayesNet


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
