r"""Missing cells filled from the exact posterior of a model given each row's observed cells.

Many rows of a discrete model are answered together, one column after the other: a draw of the missing cells is

$$h_1 \sim P(h_1 \mid \mathbf o), \quad h_2 \sim P(h_2 \mid \mathbf o, h_1), \quad \dots$$

by the chain rule, so that each step is one batch whatever the number of missingness patterns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from sepset.base.arraytypes import AnyArray, Floats, Int32s, Ints
from sepset.cpds.discrete import draw
from sepset.data.missingness import members
from sepset.errors import ImpossibleEvidence, listing
from sepset.factors.moments import Gaussian, square_roots
from sepset.inference.capabilities import answer_rows
from sepset.inference.conflict import impossible
from sepset.inference.evidencerows import EvidenceRows, Workers
from sepset.inference.exact.cliquetree import CliqueTree
from sepset.inference.method import Prepared
from sepset.inference.rows.modes import row_modes
from sepset.problem import Problem
from sepset.variables.evidence import Evidence

Kind: TypeAlias = Literal["mode", "mean", "map", "draw"]


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """Rows over all variables of a problem: codes with -1, and numbers with NaN, where missing.

    Attributes:
        discrete: the position of each column of `codes`.
        real: the position of each column of `reals`.
        period: after how many rows the data are repeated; 0 where they are not.
    """

    discrete: tuple[int, ...]
    codes: Int32s
    real: tuple[int, ...]
    reals: Floats
    period: int = 0

    def __len__(self) -> int:
        return len(self.codes)

    def findings(self, rows: Ints) -> EvidenceRows:
        """The findings of some rows; columns that are missing in all of them are left out."""
        codes, reals = self.codes[rows], self.reals[rows]
        seen, found = (codes >= 0).any(axis=0), (~np.isnan(reals)).any(axis=0)
        return EvidenceRows(
            tuple(np.array(self.discrete, int)[seen].tolist()),
            np.ascontiguousarray(codes[:, seen]),
            tuple(np.array(self.real, int)[found].tolist()),
            np.ascontiguousarray(reals[:, found]),
        )

    def repeated(self, times: int) -> Cells:
        """All rows, then all rows again, and so on."""
        codes, reals = np.tile(self.codes, (times, 1)), np.tile(self.reals, (times, 1))
        return replace(self, codes=codes, reals=reals, period=len(self))

    def places(self, rows: Ints) -> Ints:
        """The numbers of these rows in the data."""
        return rows % self.period if self.period else rows


def completed(
    problem: Problem, cells: Cells, wanted: Sequence[int], kind: Kind, rng: np.random.Generator, workers: Workers
) -> Cells:
    """The rows with the wanted columns filled in.

    Args:
        wanted: positions of variables; others keep their missing cells.
        kind: "mode", the most probable state (value) of each cell by itself; "mean", the same with the posterior mean
            for real cells; "map", the most probable completion of each row; "draw", a draw of all missing cells.
    """
    filled = replace(cells, codes=cells.codes.copy(), reals=cells.reals.copy())
    prepared = CliqueTree().prepare(problem)
    if not cells.real and kind == "map":
        _by_maximum(prepared, filled, wanted)
    elif not cells.real:
        _by_columns(prepared, filled, wanted, kind, rng, workers)
    elif not cells.discrete and (problem.variables.cards == 0).all():
        _by_patterns(prepared, filled, wanted, kind, rng)
    else:
        _by_rows(prepared, filled, wanted, kind, rng)
    return filled


def _by_columns(
    prepared: Prepared, cells: Cells, wanted: Sequence[int], kind: Kind, rng: np.random.Generator, workers: Workers
) -> None:
    """Fill one column after the other, all rows together; a draw conditions on the columns drawn before."""
    source = replace(cells, codes=cells.codes.copy()) if kind != "draw" else cells
    for column, position in enumerate(cells.discrete):
        if position not in wanted:
            continue
        rows = np.flatnonzero(cells.codes[:, column] < 0)
        if not len(rows):
            continue
        found = answer_rows(prepared, source.findings(rows), [position], workers)
        _refuse_impossible(prepared, source, rows[found.log_partition == -np.inf])
        chances = found.probabilities[position]
        codes = chances.argmax(axis=1) if kind != "draw" else draw(chances, np.arange(len(rows)), rng.random(len(rows)))
        cells.codes[rows, column] = codes


def _by_maximum(prepared: Prepared, cells: Cells, wanted: Sequence[int]) -> None:
    """Fill all rows by their most probable completions at once; rows with equal findings count once."""
    holes = [i for i, v in enumerate(cells.discrete) if v in wanted]
    rows = np.flatnonzero((cells.codes[:, holes] < 0).any(axis=1))
    distinct, which = cells.findings(rows).distinct()
    codes = np.full((len(distinct), len(cells.discrete)), -1, np.int64)
    codes[:, [cells.discrete.index(v) for v in distinct.positions]] = distinct.codes
    best, logs = row_modes(prepared, codes)
    _refuse_impossible(prepared, cells, rows[logs[which] == -np.inf])
    for column in holes:
        empty = cells.codes[rows, column] < 0
        cells.codes[rows[empty], column] = best[which[empty], column]


def _refuse_impossible(prepared: Prepared, cells: Cells, rows: Ints) -> None:
    if not len(rows):
        return
    reason = impossible(prepared, cells.findings(rows[:1]).evidence(0))
    places = np.unique(cells.places(rows)).tolist()
    raise ImpossibleEvidence(
        f"{len(places)} of {cells.period or len(cells)} rows have holes and probability zero: rows {listing(places)}, "
        f"counted from 0. {reason}"
    )


def _by_patterns(prepared: Prepared, cells: Cells, wanted: Sequence[int], kind: Kind, rng: np.random.Generator) -> None:
    r"""Fill the rows of each missingness pattern of a Gaussian model by one regression.

    $$\mathbf x_h \mid \mathbf x_o \sim N\bigl(\mu_h + \Sigma_{ho}\Sigma_{oo}^{-1}(\mathbf x_o - \mu_o),\;
    \Sigma_{hh} - \Sigma_{ho}\Sigma_{oo}^{-1}\Sigma_{oh}\bigr)$$
    """
    joint = prepared.query(cells.real, Evidence()).distribution
    assert isinstance(joint, Gaussian)
    missing = np.isnan(cells.reals)
    kinds, which = np.unique(missing, axis=0, return_inverse=True)
    noise = rng.standard_normal(cells.reals.shape) if kind == "draw" else None
    keep = np.array([position not in wanted for position in cells.real])
    for pattern, rows in zip(kinds, members(which.reshape(-1), len(kinds)), strict=True):
        hidden, seen = np.flatnonzero(pattern), np.flatnonzero(~pattern)
        if not len(hidden):
            continue
        gain = np.linalg.solve(joint.covariance[np.ix_(seen, seen)], joint.covariance[np.ix_(seen, hidden)])
        values = joint.mu[hidden] + (cells.reals[np.ix_(rows, seen)] - joint.mu[seen]) @ gain
        if noise is not None:
            rest = joint.covariance[np.ix_(hidden, hidden)] - joint.covariance[np.ix_(hidden, seen)] @ gain
            values = values + noise[np.ix_(rows, hidden)] @ square_roots(rest[None])[0].T
        cells.reals[np.ix_(rows, hidden)] = np.where(keep[hidden], np.nan, values)


def _by_rows(prepared: Prepared, cells: Cells, wanted: Sequence[int], kind: Kind, rng: np.random.Generator) -> None:
    """Fill one row after the other; rows with equal findings are asked about once."""
    missing = [cells.codes[:, i] < 0 for i, v in enumerate(cells.discrete) if v in wanted]
    missing += [np.isnan(cells.reals[:, i]) for i, v in enumerate(cells.real) if v in wanted]
    rows = np.flatnonzero(np.any(missing, axis=0)) if missing else np.zeros(0, np.int64)
    if not len(rows):
        return
    distinct, which = cells.findings(rows).distinct()
    for number, same in enumerate(members(which, len(distinct))):
        evidence = distinct.evidence(number)
        found = _answer(prepared, evidence, cells, wanted, kind, len(same), rng)
        if found is None:
            _refuse_impossible(prepared, cells, rows[same])
        else:
            _fill(cells, rows[same], found, wanted)


def _answer(
    prepared: Prepared,
    evidence: Evidence,
    cells: Cells,
    wanted: Sequence[int],
    kind: Kind,
    num_rows: int,
    rng: np.random.Generator,
) -> dict[int, AnyArray] | None:
    """Values of the missing variables for `num_rows` rows with the same findings; None where these are impossible."""
    observed = set(evidence.observed)
    free = [v for v in (*cells.discrete, *cells.real) if v not in observed]
    if kind == "map":
        best = prepared.best(evidence, free)
        possible = best.log_value > -np.inf
        return {v: np.asarray(x).reshape(-1)[:1] for v, x in best.values.items()} if possible else None
    if kind == "draw":
        possible = prepared.log_partition(evidence) > -np.inf
        return prepared.sample(num_rows, evidence, rng) if possible else None
    read, log_partition = prepared.marginals(evidence)
    if log_partition == -np.inf:
        return None
    real = set(cells.real)
    asked = [v for v in free if v in wanted]
    return {v: _point(prepared, evidence, v, read, kind) if v in real else _top(read(v)) for v in asked}


def _top(marginal: Any) -> AnyArray:
    return np.array([int(np.argmax(marginal.values))])


def _point(prepared: Prepared, evidence: Evidence, target: int, read: Callable[[int], Any], kind: Kind) -> AnyArray:
    """The mean of a real variable, or the mode of its exact mixture."""
    value = prepared.query([target], evidence).distribution.mode() if kind == "mode" else read(target).mean()
    return np.asarray(value, np.float64).reshape(-1)


def _fill(cells: Cells, rows: Ints, values: dict[int, AnyArray], wanted: Sequence[int]) -> None:
    """Put values into the missing cells of these rows."""
    for places, table in ((cells.discrete, cells.codes), (cells.real, cells.reals)):
        for column, position in enumerate(places):
            if position in wanted and position in values:
                empty = table[rows, column] < 0 if table is cells.codes else np.isnan(table[rows, column])
                table[rows[empty], column] = np.broadcast_to(values[position].reshape(-1), rows.shape)[empty]
