r"""All completions of rows: each joint value of a row's missing states, and the moments of its numbers given them.

$$P(\mathbf d_h \mid \mathbf d_o, \mathbf x_o) \propto
P(\mathbf d)\, N(\mathbf x_o; \mu_{\mathbf d}, \Sigma_{\mathbf d})$$

Reference: Koller & Friedman, sections 14.2 and 19.2.2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sepset.base.arraytypes import Floats, Int32s, Ints
from sepset.base.text import listing
from sepset.data.missingness import patterns_of
from sepset.errors import NotApplicable
from sepset.inference.evidencerows import EvidenceRows
from sepset.inference.gaussian.conditioning import FOUND, MISSING, Groups, Spread, require_range
from sepset.inference.gaussian.coordinates import Coordinates
from sepset.variables.universe import Universe
from sepset.variables.variable import Discrete

EPS = float(np.finfo(np.float64).eps)


def completions(codes: Int32s, cards: Sequence[int], most: int) -> tuple[Ints, Int32s]:
    """All completions of missing states, in the order of the rows: the row of each, and its states.

    Args:
        codes: one column per variable; -1 is missing.
        cards: the number of states of each variable.
        most: the largest number of completions of a row.

    >>> [part.tolist() for part in completions(np.array([[1, -1], [-1, 0]], np.int32), (2, 3), 9)]
    [[0, 0, 0, 1, 1], [[1, 0], [1, 1], [1, 2], [0, 0], [1, 0]]]
    """
    first, which = patterns_of(codes < 0)
    parts, owners = [np.zeros((0, codes.shape[1]), np.int32)], [np.zeros(0, np.int64)]
    for number, one in enumerate(first.tolist()):
        rows, hidden = np.flatnonzero(which == number), np.flatnonzero(codes[one] < 0)
        shape = [cards[k] for k in hidden.tolist()]
        if math.prod(shape) > most:
            raise NotApplicable(
                f"Row {int(rows[0])} misses {len(hidden)} states, which have {math.prod(shape):,} joint values; "
                f"inference lists up to {most:,} of a row. Leave such rows or columns out."
            )
        states = np.indices(shape).reshape(len(shape), math.prod(shape)).T
        made = np.repeat(codes[rows], len(states), axis=0)
        made[:, hidden] = np.tile(states, (len(rows), 1))
        parts.append(made)
        owners.append(np.repeat(rows, len(states)))
    owner = np.concatenate(owners)
    order = np.argsort(owner, kind="stable")
    return owner[order], np.concatenate(parts)[order]


def covariances(spread: Spread, columns: Sequence[int]) -> Floats:
    """The covariance of these coordinates in each group given the observed ones; zero for those."""
    groups, size = spread.groups, spread.groups.kinds.shape[1]
    found = np.zeros((len(groups.kinds), size, size))
    for g, kind in enumerate(groups.kinds):
        hidden = np.flatnonzero(kind == MISSING)
        loadings = spread.loadings[groups.square[g] : groups.square[g + 1]].reshape(len(hidden), len(hidden))
        noise = spread.noise[groups.begin[g] : groups.begin[g + 1]]
        with np.errstate(over="ignore", invalid="ignore"):
            found[g][np.ix_(hidden, hidden)] = (loadings * noise) @ loadings.T
    require_range(found)
    return found[np.ix_(range(len(found)), columns, columns)]


def without_density(coordinates: Coordinates, spread: Spread) -> Ints:
    """The groups in which an observed value is a function of others, up to rounding."""
    groups = spread.groups
    alone = Spread.of(coordinates, Groups(np.full_like(groups.kinds, MISSING), groups.entries)).variances
    is_bound = (groups.kinds == FOUND) & (spread.variance <= 4.0 * EPS * groups.kinds.shape[1] * alone)
    return np.flatnonzero(is_bound.any(axis=1))


def singular(variables: Universe, row: EvidenceRows, contexts: Sequence[int]) -> NotApplicable:
    """The error about the numbers of a row that have no joint density.

    Args:
        row: one row, with all states.
        contexts: the variables that regressions depend on.
    """
    seen = [v for v, number in zip(row.real_positions, row.reals[0], strict=True) if not np.isnan(number)]
    codes = dict(zip(row.positions, row.codes[0].tolist(), strict=True))
    states = ((variables[v], codes[v]) for v in contexts if v in codes)
    where = ", ".join(f"{v.name}={v.states[code]!r}" for v, code in states if isinstance(v, Discrete))
    return NotApplicable(
        f"A covariance is singular: {listing([variables[v].name for v in seen])}{where and f' where {where}'} have no "
        "joint density. Drop a column that follows from others, or merge states with few rows."
    )
