r"""Missing cells of networks with both discrete and real variables, many rows at once.

Every choice of a row's hidden states is enumerated with its posterior probability; given a choice, missing numbers have
a normal distribution. So means, most probable completions and draws of all rows come from one table of choices.

Reference: Koller & Friedman, sections 14.2 and 19.1.3.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sepset.base.arraytypes import AnyArray, Floats, Ints
from sepset.cpds.discrete import is_discrete
from sepset.cpds.lineargaussian import is_linear_gaussian
from sepset.factors.algebra import Columns
from sepset.factors.moments import square_roots
from sepset.learning.incomplete.rowchoices import Completed, RowChoices, num_choices
from sepset.learning.missing.filling import Cells, Kind
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete

FEW = 2**10
"""Up to this many joint hidden states of a row are enumerated; rows with more are asked about one by one."""


def is_mixed(model: object) -> bool:
    """Whether a model is a network of discrete CPDs and linear Gaussians, with both."""
    if not isinstance(model, BayesNet):
        return False
    kinds = {is_linear_gaussian(cpd) for cpd in model.cpds}
    return kinds == {True, False} and all(is_discrete(cpd) or is_linear_gaussian(cpd) for cpd in model.cpds)


def fill_mixed(model: BayesNet, cells: Cells, wanted: Sequence[int], kind: Kind, rng: np.random.Generator) -> Ints:
    """Fill the wanted holes, in place, of all rows that can be enumerated, and give those that are left.

    Rows with too many joint hidden states are left, and for the mode of a number so are those with several.

    Args:
        model: a network for which `is_mixed` holds.
        cells: rows over all of its variables.
        wanted: positions of variables.
        kind: as in `impute`.
        rng: for draws.
    """
    columns: Columns = {model.variables[v]: cells.codes[:, i].astype(np.int64) for i, v in enumerate(cells.discrete)}
    columns |= {model.variables[v]: cells.reals[:, i] for i, v in enumerate(cells.real)}
    columns = {v: columns[v] for v in model.variables}
    holes = np.zeros(len(cells), np.bool_)
    for place, v in enumerate(cells.discrete):
        holes |= (cells.codes[:, place] < 0) & (v in wanted)
    numbers = np.zeros(len(cells), np.bool_)
    for place, v in enumerate(cells.real):
        numbers |= np.isnan(cells.reals[:, place]) & (v in wanted)
    choices = num_choices(columns, len(cells))
    left = (holes | numbers) & ((choices > FEW) | ((kind == "mode") & numbers & (choices > 1)))
    rows = np.flatnonzero((holes | numbers) & ~left)
    made = RowChoices.of({v: column[rows] for v, column in columns.items()}, cells.places(rows))
    for part in made.together(model):
        _fill(part, cells, rows[part.rows], wanted, kind, model, rng)
    return np.flatnonzero(left)


def _fill(
    part: Completed,
    cells: Cells,
    rows: Ints,
    wanted: Sequence[int],
    kind: Kind,
    model: BayesNet,
    rng: np.random.Generator,
) -> None:
    """Fill the holes of the rows that were completed together."""
    values = _averages(part, model, wanted) if kind in ("mode", "mean") else _chosen(part, kind, rng)
    for places, table in ((cells.discrete, cells.codes), (cells.real, cells.reals)):
        for column, v in enumerate(places):
            if v in wanted:
                old: AnyArray = table[rows, column]
                empty = old < 0 if table is cells.codes else np.isnan(old)
                if empty.any():
                    table[rows[empty], column] = values[model.variables[v]][empty]


def _averages(part: Completed, model: BayesNet, wanted: Sequence[int]) -> Columns:
    """The most probable state of each discrete variable, and the mean of each real one, for each row."""
    share, _ = part.posterior()
    found: Columns = {}
    for variable in (model.variables[v] for v in wanted):
        column = part.numbers.columns[variable]
        if isinstance(variable, Discrete):
            place = part.owner * variable.num_states + column
            mass = np.bincount(place, share, len(part.rows) * variable.num_states)
            found[variable] = mass.reshape(-1, variable.num_states).argmax(axis=1)
        else:
            found[variable] = np.add.reduceat(share * column, part.starts)
    return found


def _chosen(part: Completed, kind: Kind, rng: np.random.Generator) -> Columns:
    """All values of one choice a row: the most probable, or drawn with the numbers that it leaves open."""
    if kind == "map":
        picked = np.flatnonzero(part.best()[0])
        return {v: column[picked] for v, column in part.numbers.columns.items()}
    share, _ = part.posterior()
    picked = _drawn(share, part, rng.random(len(part.rows)))
    found: Columns = {v: column[picked] for v, column in part.numbers.columns.items()}
    numbers = part.numbers
    if numbers.missing:
        roots = square_roots(numbers.covariances)[numbers.group[picked]]
        noise = np.einsum("nij,nj->ni", roots, rng.standard_normal((len(picked), roots.shape[2])))
        for place, variable in enumerate(numbers.missing):
            found[variable] = found[variable] + noise[:, place]
    return found


def _drawn(share: Floats, part: Completed, uniform: Floats) -> Ints:
    """A choice of each row, with its posterior probability; never one of probability zero."""
    reached = np.cumsum(share)
    before = reached[part.starts] - share[part.starts]
    ends = np.append(part.starts[1:], len(share)) - 1
    picked = np.searchsorted(reached, before + uniform * (reached[ends] - before), side="right")
    possible = np.flatnonzero(share > 0)
    last = possible[np.searchsorted(possible, ends, side="right") - 1]
    return np.asarray(np.clip(picked, part.starts, last), np.int64)
