r"""Expected counts of families: what an E-step would add up, as `Counts`.

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
from sepset.errors import NotApplicable
from sepset.factors.block import Single
from sepset.factors.table import Table
from sepset.inference import capabilities
from sepset.inference.cliquetree.method import CliqueTree
from sepset.inference.method import Prepared
from sepset.models.model import Model


def expected_counts(
    model: Model,
    data: object,
    families: Iterable[Family] | None = None,
    *,
    weights: Weights = None,
    threads: int | None = None,
) -> Counts:
    """The expected counts of families, the missing cells of each row distributed as the model says.

    Of complete rows these are the counts. They add up and can be kept like any `Counts`.

    Args:
        model: a model of discrete variables.
        data: rows, as `fit` takes them; cells and whole columns may be missing.
        families: as in `Counts.of`, any variables of the model together; by default the families of a network's CPDs.
        weights: one a row, or the name of a column.
        threads: how many; no count depends on it.

    Cost: one batch of rows through the compiled engine, whose cliques hold the families.

    >>> from sepset.cpds.table import TableCPD
    >>> from sepset.models.bayesnet import BayesNet
    >>> from sepset.variables.variable import Discrete
    >>> coin, toss = Discrete("coin"), Discrete("toss")
    >>> net = BayesNet(TableCPD(coin, [0.5, 0.5]), TableCPD(toss, [[0.9, 0.1], [0.4, 0.6]], given=coin))
    >>> expected_counts(net, {"coin": [0, None], "toss": [0, 0]})["toss"].round(4).tolist()
    [[1.6923, 0.0], [0.3077, 0.0]]
    """
    chosen = getattr(model, "cpds", None) if families is None else families
    if chosen is None:
        raise NotApplicable(f"{model!r} has no CPDs whose families could be meant. Say families=[...].")
    scopes = [discrete_scope(members(family), model.variables.__getitem__) for family in chosen]
    rows = bind(data, model.variables, weights)
    engine, first = _with_families(model, scopes)
    weight = np.ones(rows.num_rows) if rows.weights is None else rows.weights
    found = capabilities.expected_counts(engine, rows, weights=weight, threads=threads).factors[first:]
    tables = [table.reshape([v.num_states for v in scope]) for table, scope in zip(found, scopes, strict=True)]
    return Counts(scopes, tables, num_rows=rows.num_rows, total=float(weight.sum()))


def _with_families(model: Model, scopes: Sequence[Scope]) -> tuple[Prepared, int]:
    """An engine with a factor of ones over each family, whose marginal is wanted, and the number of the first."""
    problem = model.problem()
    asked = (Single(Table.ones(scope), problem.variables.ids(scope)) for scope in scopes)
    if not problem.variables.all_discrete:
        raise NotApplicable(f"{model!r} has variables that are not discrete; families are counted of discrete models.")
    engine = CliqueTree().prepare(replace(problem, blocks=(*problem.blocks, *asked)))
    return engine, problem.num_factors
