r"""The log posterior of one variable from the CPDs that mention it: its Markov blanket says it all.

$$P(c \mid \mathbf x) \propto P(c \mid \mathbf{pa}_C) \prod_{i : C \in \mathbf{Pa}_i} P(x_i \mid \mathbf{pa}_i)$$

All other CPDs cancel. Everything is in logarithms, so that many small probabilities lose nothing.

Reference: Koller & Friedman, box 17.A and section 4.5.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, TypeAlias

import numpy as np

from sepset.base.arraytypes import Bools, Floats, Ints
from sepset.base.checks import one_of
from sepset.base.logarithms import LOG_2PI
from sepset.cpds.cpd import CPD
from sepset.cpds.discrete import DiscreteCPD, is_discrete
from sepset.cpds.lineargaussian import LinearGaussian, is_linear_gaussian
from sepset.data.dataset import Dataset
from sepset.errors import ImpossibleEvidence
from sepset.factors.algebra import AnyVariable, Columns, num_entries
from sepset.factors.coordinates import entries, matrix
from sepset.inference import costs
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete

OnImpossible: TypeAlias = Literal["raise", "null"]
"""The treatment of rows whose findings have probability zero."""


def blanket_log_posterior(model: BayesNet, target: Discrete, rows: Dataset) -> Floats:
    """The log posterior of a variable in rows that observe all others, one column per state; NaN where impossible.

    >>> from sepset.cpds.table import TableCPD
    >>> c, x = Discrete("c"), Discrete("x")
    >>> net = BayesNet(TableCPD(c, [0.5, 0.5]), TableCPD(x, [[0.5, 0.5], [0.25, 0.75]], given=c))
    >>> np.exp(blanket_log_posterior(net, c, Dataset.from_codes([x], [[1]]))).round(3).tolist()
    [[0.4, 0.6]]
    """
    scores = blanket_scores(model, target, rows, {}, excluding_cpds(model, target))
    return log_posteriors(scores, "null", target)


def blanket_scores(
    model: BayesNet,
    target: Discrete,
    rows: Dataset,
    absent: Mapping[AnyVariable, Bools],
    excluding: Iterable[CPD] = (),
) -> Floats:
    """The unnormalized log posterior of a variable in every row, one column per state; -inf where it is impossible.

    Args:
        rows: they observe all other variables, up to cells in `absent`.
        absent: by variable, the rows that miss its cell; nothing observed depends on such a cell, so that its CPD
            drops out.
        excluding: CPDs that are not about the target, but may exclude a row; see `excluding_cpds`.
    """
    about = sorted([model.variables.id(target), *map(model.variables.id, model.children(target))])
    cpds = [model.cpds[place] for place in about]
    columns: Columns = {v: rows.column(v) for cpd in cpds for v in cpd.scope if v != target}
    total = np.zeros((target.num_states, rows.num_rows))
    for cpd in cpds:
        blank = absent.get(cpd.child, np.zeros(rows.num_rows, np.bool_))
        if not blank.any():
            total += class_scores(cpd, target, columns, rows.num_rows)
        elif not blank.all():
            seen: Columns = {v: columns[v][~blank] for v in cpd.scope if v != target}
            total[:, ~blank] += class_scores(cpd, target, seen, int((~blank).sum()))
    for cpd in excluding:
        known = np.flatnonzero(~absent[cpd.child]) if cpd.child in absent else np.arange(rows.num_rows)
        logs = cpd.log_probability({v: rows.column(v)[known] for v in cpd.scope})
        total[:, known[logs == -np.inf]] = -np.inf
    return total.T


def excluding_cpds(model: BayesNet, target: Discrete) -> tuple[CPD, ...]:
    """The CPDs that do not mention a variable and may give a row probability zero.

    >>> from sepset.cpds.table import TableCPD
    >>> a, b = Discrete("a"), Discrete("b")
    >>> [cpd.child.name for cpd in excluding_cpds(BayesNet(TableCPD(a, [0.0, 1.0]), TableCPD(b, [0.5, 0.5])), b)]
    ['a']
    """
    return tuple(cpd for cpd in model.cpds if target not in cpd.scope and not _is_positive(cpd))


def _is_positive(cpd: CPD) -> bool:
    """Whether it is known at little cost that a CPD excludes no row."""
    if is_discrete(cpd):
        is_small = num_entries(cpd.scope) <= costs.ENTRIES_OF_TABLED_CPD
        return is_small and bool((cpd.to_factor().log_values > -np.inf).all())
    return is_linear_gaussian(cpd) and cpd.child.size == 1 and bool((cpd.covariance > 0).all())


def class_scores(cpd: CPD, target: Discrete, columns: Columns, num_rows: int) -> Floats:
    r"""$\log P(x \mid \mathbf u)$ with the target at each of its states: one row per state, one column per row of data.

    Args:
        cpd: a CPD that mentions the target, as child or as parent.
        target: whose states are tried.
        columns: codes and numbers of the other variables of its scope.
        num_rows: how many rows.

    >>> from sepset.cpds.table import TableCPD
    >>> c, x = Discrete("c"), Discrete("x")
    >>> cpd = TableCPD(x, [[0.5, 0.5], [0.25, 0.75]], given=c)
    >>> np.exp(class_scores(cpd, c, {x: np.array([1])}, 1)).tolist()
    [[0.5], [0.75]]
    """
    if is_discrete(cpd) and num_entries(cpd.scope) <= max(costs.ENTRIES_OF_TABLED_CPD, num_rows):
        return _table_scores(cpd, target, columns, num_rows)
    if is_linear_gaussian(cpd) and cpd.child.size == 1 and (cpd.covariance > 0).all():
        return _regression_scores(cpd, target, columns, num_rows)
    codes = (np.full(num_rows, code) for code in range(target.num_states))
    return np.stack([cpd.log_probability({**columns, target: code}) for code in codes])


def _table_scores(cpd: DiscreteCPD, target: Discrete, columns: Columns, num_rows: int) -> Floats:
    others = tuple(v for v in cpd.scope if v != target)
    table = cpd.to_factor().align((target, *others)).log_values.reshape(target.num_states, -1)
    return table.take(_place(others, columns, num_rows), axis=1)


def _regression_scores(cpd: LinearGaussian, target: Discrete, columns: Columns, num_rows: int) -> Floats:
    others = tuple(v for v in cpd.by if v != target)
    # Entry (class, context of the others) of the reordered parameters is entry `order` of the CPD's own.
    order = entries((target, *others), cpd.by).reshape(target.num_states, -1)
    # Without other discrete parents there is one context, which spreads over the rows by itself.
    place = _place(others, columns, num_rows) if others else np.zeros(1, np.int64)
    u = matrix(cpd.given, columns, num_rows)
    x = np.asarray(columns[cpd.child], np.float64).reshape(num_rows)
    scores = np.empty((target.num_states, num_rows))
    for code, at in enumerate(order):
        mean = cpd.intercept[at, 0].take(place)
        if cpd.given:
            mean = mean + (u * cpd.coefficients[at, 0].take(place, axis=0)).sum(axis=1)
        scale = cpd.covariance[at, 0, 0].take(place) ** -0.5
        apart = (x - mean) * scale
        apart *= apart
        apart *= -0.5
        np.add(apart, np.log(scale) - 0.5 * LOG_2PI, out=scores[code])
    return scores


def _place(variables: Iterable[Discrete], columns: Columns, num_rows: int) -> Ints:
    place: Ints | None = None
    for variable in variables:
        codes = columns[variable]
        place = codes.astype(np.int64) if place is None else place * variable.num_states + codes
    return np.zeros(num_rows, np.int64) if place is None else place


def log_posteriors(scores: Floats, on_impossible: OnImpossible, target: Discrete) -> Floats:
    """Rows of unnormalized log probabilities, each less the logarithm of its sum.

    >>> np.exp(log_posteriors(np.array([[-1000.0, -1000.0]]), "raise", Discrete("c"))).tolist()
    [[0.5, 0.5]]
    """
    top = scores.max(axis=1, keepdims=True)
    bad = np.flatnonzero(top[:, 0] == -np.inf)
    if one_of("on_impossible", on_impossible, ("raise", "null")) == "raise" and bad.size:
        raise ImpossibleEvidence(
            f"{bad.size} of {len(scores)} rows are impossible whatever {target.name!r} is (first: row {bad[0]}). "
            "Smooth the parameters, as with Bayes(K2()), or use on_impossible='null'."
        )
    apart = scores - np.where(top == -np.inf, 0.0, top)
    apart[bad] = 0.0
    result = apart - np.log(np.exp(apart).sum(axis=1, keepdims=True))
    result[bad] = np.nan
    return np.asarray(result)
