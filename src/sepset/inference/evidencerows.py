"""Rows of evidence: a dataset as evidence, one case per row, missing cells unobserved; and the answers to rows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sepset.base.arraytypes import AnyInts, Bools, Floats, Int32s, Ints
from sepset.base.frozen import fill
from sepset.base.lazy import lazy
from sepset.base.text import readable
from sepset.data.missingness import members
from sepset.errors import TooLarge
from sepset.factors.algebra import Columns
from sepset.factors.decomposition import Decomposable, Decomposition
from sepset.factors.table import Table
from sepset.inference import costs
from sepset.variables.evidence import Evidence
from sepset.variables.universe import Universe

if TYPE_CHECKING:
    from sepset.data.dataset import Dataset


ROWS_LOOKED_AT = 4
"""The first rows whose missing cells are counted before any is laid out."""

SMALLEST = 1e-300
"""Probabilities below this are read as logarithms, since they may have lost digits or be zero by rounding."""


class RowMoments(NamedTuple):
    """The mean and the variance of a real variable in every row; NaN where the row is impossible."""

    mean: Floats
    variance: Floats


class RowAnswers(NamedTuple):
    """The posteriors of targets in every row; NaN where a row is impossible.

    Attributes:
        log_partition: of every row.
        probabilities: of each discrete target, one row per row of evidence.
        moments: of each real target.
        residual: how far rounding may have moved the answers of each row, relative to their size; None if there are no
            real variables.
    """

    log_partition: Floats
    probabilities: dict[int, Floats]
    moments: Mapping[int, RowMoments] = MappingProxyType({})
    residual: Floats | None = None

    @classmethod
    def empty(cls, num_rows: int, targets: Sequence[int], cards: AnyInts | Mapping[int, int]) -> RowAnswers:
        """Answers to be filled in, all NaN.

        Args:
            cards: the number of states of every variable; 0 for real ones.
        """
        discrete = {v: np.full((num_rows, int(cards[v])), np.nan) for v in targets if cards[v]}
        real = {v: RowMoments(*np.full((2, num_rows), np.nan)) for v in targets if not cards[v]}
        return cls(np.full(num_rows, np.nan), discrete, real)

    def take(self, rows: Ints) -> RowAnswers:
        """The answers of these rows."""
        moments = {v: RowMoments(mean[rows], variance[rows]) for v, (mean, variance) in self.moments.items()}
        residual = None if self.residual is None else self.residual[rows]
        chances = {v: p[rows] for v, p in self.probabilities.items()}
        return RowAnswers(self.log_partition[rows], chances, moments, residual)

    def write(self, rows: Ints, other: RowAnswers) -> None:
        """Write the answers of some rows to the same question."""
        self.log_partition[rows] = other.log_partition
        for v, each in self.probabilities.items():
            each[rows] = other.probabilities[v]
        for v, (mean, variance) in self.moments.items():
            mean[rows], variance[rows] = other.moments[v]
        if self.residual is not None:
            self.residual[rows] = np.nan if other.residual is None else other.residual

    def measured(self) -> RowAnswers:
        """The same, without residuals if some are unknown."""
        return self._replace(residual=None) if self.residual is not None and np.isnan(self.residual).any() else self

    def joined(self, other: RowAnswers) -> RowAnswers:
        """These answers followed by those of other rows to the same question."""
        moments = {
            v: RowMoments(*(np.concatenate(pair) for pair in zip(mine, other.moments[v], strict=True)))
            for v, mine in self.moments.items()
        }
        chances = {v: np.concatenate([mine, other.probabilities[v]]) for v, mine in self.probabilities.items()}
        residual = None
        if self.residual is not None and other.residual is not None:
            residual = np.concatenate([self.residual, other.residual])
        return RowAnswers(np.concatenate([self.log_partition, other.log_partition]), chances, moments, residual)


class RowValues(NamedTuple):
    """Rows with values for their missing cells, and the logarithm of each row's weight; -inf if it is impossible."""

    rows: EvidenceRows
    log_value: Floats

    def take(self, rows: Ints) -> RowValues:
        """The values of these rows."""
        return RowValues(self.rows.take(rows), self.log_value[rows])

    def joined(self, other: RowValues) -> RowValues:
        """These values followed by those of other rows for the same variables."""
        log_value = np.concatenate([self.log_value, other.log_value])
        return RowValues(self.rows.joined(other.rows), log_value)


class ListedRows(NamedTuple):
    """All completions of the missing states of rows, in the order of the rows.

    Attributes:
        owner: the row that each completes.
        rows: every state, and numbers, missing ones at their expectations.
        chances: the probability of each given what its row observes.
        kinds: the covariance of the missing numbers of each; -1 if none is missing.
        covariances: of all numbers, zero where they are observed.
    """

    owner: Ints
    rows: EvidenceRows
    chances: Floats
    kinds: Ints
    covariances: Floats


class JointCounts(NamedTuple):
    """The joint states of a factor's scope that can occur, one row of codes each, and their expected counts."""

    codes: Ints
    counts: Floats

    @classmethod
    def of(cls, marginal: Floats, codes: AnyInts) -> JointCounts:
        """The joint states with a positive count, from all of them."""
        counts = marginal.reshape(-1)
        return cls(codes[counts > 0].astype(np.int64), counts[counts > 0])

    @classmethod
    def joined(cls, parts: Sequence[JointCounts]) -> JointCounts:
        """The counts of several groups of rows."""
        codes, counts = zip(*parts, strict=True)
        return cls(np.concatenate(codes), np.concatenate(counts))


class RowCounts(NamedTuple):
    r"""Weighted sums over rows of the marginals $P(\mathbf u \mid \mathbf e[m])$ over factor scopes.

    Attributes:
        factors: one array per factor, with an axis per variable of its scope; for a regression the expected products
            of (1, real parents, child), one matrix per joint state of its discrete parents. For a factor that is too
            large for an array, `JointCounts`.
        log_partition: of every row; -inf for an impossible one, which contributes nothing.
    """

    factors: tuple[Any, ...]
    log_partition: Floats


@dataclass(frozen=True)
class Workers:
    """How a batch of rows is run.

    Attributes:
        threads: the number of threads, one per processor by default. Answers do not depend on it.
        report: called with the number of finished rows and the number of all rows.
    """

    threads: int | None = None
    report: Callable[[int, int], None] = field(default=lambda done, total: None)


@dataclass(frozen=True, eq=False)
class EvidenceRows:
    """Codes and numbers found in each row, by variable position.

    Attributes:
        positions: the discrete variables, one column of `codes` each; -1 is missing.
        real_positions: the continuous variables, one column of `reals` each; NaN is missing.

    >>> from sepset.data.dataset import Dataset
    >>> from sepset.variables.variable import Discrete
    >>> rows = Dataset.from_codes([Discrete("a", 2), Discrete("b", 3)], np.array([[1, -1], [0, 2], [1, -1]]))
    >>> found = EvidenceRows.of(rows, rows.variables)
    >>> found.evidence(1).codes, found.distinct()[1].tolist()
    ({0: 0, 1: 2}, [0, 1, 0])
    """

    positions: tuple[int, ...]
    codes: Int32s = field(repr=False)
    real_positions: tuple[int, ...] = ()
    reals: Floats = field(default_factory=lambda: np.zeros((0, 0)), repr=False)

    def __post_init__(self) -> None:
        if self.codes.dtype != np.int32:  # kernels are compiled for this type
            fill(self, codes=self.codes.astype(np.int32))
        if not self.real_positions and len(self.reals) != len(self.codes):
            fill(self, reals=np.zeros((len(self.codes), 0)))

    @classmethod
    def of(cls, dataset: Dataset, variables: Universe, *, without: Iterable[int] = ()) -> EvidenceRows:
        """The findings in a dataset's columns on `variables`; positions in `without` and empty columns are left out."""
        from sepset.data.dataset import side_by_side

        places = _places(dataset.variables, variables)
        wanted = places >= 0
        wanted[np.isin(places, list(without))] = False
        known = (_has_finding(dataset.columns[i]) for i in np.flatnonzero(wanted).tolist())
        wanted[wanted] = np.fromiter(known, np.bool_, np.count_nonzero(wanted))
        is_discrete = dataset.variables.cards > 0
        discrete, real = np.flatnonzero(wanted & is_discrete), np.flatnonzero(wanted & ~is_discrete)
        codes = np.empty((len(discrete), dataset.num_rows), np.int32)
        if codes.size:
            np.concatenate([dataset.columns[i] for i in discrete.tolist()], out=codes.reshape(-1))
        reals = side_by_side([dataset.columns[i] for i in real.tolist()], dataset.num_rows, np.float64)
        return cls(tuple(places[discrete].tolist()), codes.T, tuple(places[real].tolist()), reals)

    @classmethod
    def one(cls, evidence: Evidence) -> EvidenceRows:
        """Evidence of states and numbers as one row."""
        codes, reals = (
            np.array([[*evidence.codes.values()]], np.int32),
            [[float(x[0]) for x in evidence.reals.values()]],
        )
        return cls(tuple(evidence.codes), codes, tuple(evidence.reals), np.array(reals))

    def __len__(self) -> int:
        return len(self.codes)

    def take(self, rows: Ints) -> EvidenceRows:
        """The findings of these rows."""
        return EvidenceRows(self.positions, self.codes[rows], self.real_positions, self.reals[rows])

    def over(self, positions: Sequence[int], real_positions: Sequence[int]) -> EvidenceRows:
        """The same rows with one column for each of these variables, missing throughout where there was none."""
        codes = np.full((len(self), len(positions)), -1, np.int32)
        reals = np.full((len(self), len(real_positions)), np.nan)
        for wanted, own, table, source in (
            (positions, self.positions, codes, self.codes),
            (real_positions, self.real_positions, reals, self.reals),
        ):
            place = {position: column for column, position in enumerate(own)}
            kept = [(column, place[position]) for column, position in enumerate(wanted) if position in place]
            if kept:
                into, out_of = zip(*kept, strict=True)
                table[:, into] = source[:, out_of]
        return EvidenceRows(tuple(positions), codes, tuple(real_positions), reals)

    def repeated(self, times: int) -> EvidenceRows:
        """The rows, repeated as a whole this many times."""
        codes, reals = np.tile(self.codes, (times, 1)), np.tile(self.reals, (times, 1))
        return EvidenceRows(self.positions, codes, self.real_positions, reals)

    @property
    def is_missing(self) -> Bools:
        """Which rows have a missing cell."""
        return np.asarray((self.codes < 0).any(axis=1) | np.isnan(self.reals).any(axis=1))

    def found(self) -> EvidenceRows:
        """The same rows without the columns that are missing throughout."""
        codes, reals = (self.codes >= 0).any(axis=0), (~np.isnan(self.reals)).any(axis=0)
        discrete = [v for v, has in zip(self.positions, np.atleast_1d(codes).tolist(), strict=True) if has]
        return self.over(
            discrete, [v for v, has in zip(self.real_positions, np.atleast_1d(reals).tolist(), strict=True) if has]
        )

    def joined(self, other: EvidenceRows) -> EvidenceRows:
        """These rows followed by others, with the columns of these."""
        same = other.over(self.positions, self.real_positions)
        codes, reals = np.concatenate([self.codes, same.codes]), np.concatenate([self.reals, same.reals])
        return EvidenceRows(self.positions, codes, self.real_positions, reals)

    def evidence(self, row: int) -> Evidence:
        """One row as evidence."""
        codes = {v: int(c) for v, c in zip(self.positions, self.codes[row], strict=True) if c >= 0}
        reals = {v: np.array([x]) for v, x in zip(self.real_positions, self.reals[row], strict=True) if x == x}
        return Evidence(codes, reals=reals)

    def distinct(self) -> tuple[EvidenceRows, Ints]:
        """The distinct rows, and for every row the index of its distinct row."""
        (first, which), num_rows = self.patterns, len(self.codes)
        if len(first) == num_rows:
            return self, which
        bits = np.ascontiguousarray(np.where(np.isnan(self.reals), np.nan, self.reals)).view(np.int32)
        first, which = distinct_rows(np.concatenate([self.codes, bits], axis=1) if bits.size else self.codes)
        return self if len(first) == num_rows else self.take(first), which

    @lazy
    def patterns(self) -> tuple[Ints, Ints]:
        """The first row with each set of observed discrete variables, and for every row the index of its set."""
        return distinct_rows(self.codes, only_missing=True)

    def alike(self) -> Iterator[tuple[Ints, EvidenceRows]]:
        """The places of rows that observe the same variables, and these rows with the columns of those."""
        is_found = np.concatenate([self.codes >= 0, ~np.isnan(self.reals)], axis=1)
        first, which = distinct_rows(is_found.astype(np.int32))
        names, num = (*self.positions, *self.real_positions), len(self.positions)
        for row, places in zip(first.tolist(), members(which, len(first)), strict=True):
            found = is_found[row].tolist()
            kept = [list(itertools.compress(names[part], found[part])) for part in (slice(num), slice(num, None))]
            yield places, self.take(places).over(*kept)

    def beside(self, positions: Sequence[int], columns: Sequence[Ints]) -> EvidenceRows:
        """The rows with more discrete columns."""
        codes = np.column_stack([self.codes, *columns]).astype(np.int32)
        return EvidenceRows((*self.positions, *positions), codes, self.real_positions, self.reals)

    def in_contexts(self, source: Decomposable, ids: Sequence[int]) -> tuple[Decomposition, Ints]:
        """One table of a conditional (contexts of its observed parents, its other parents, the child), and the context
        of every row: which of the different rows of observed parents it has.

        Args:
            source: the conditional.
            ids: the positions of its parents.
        """
        contexts, which = np.unique(self._parents(ids), axis=0, return_inverse=True)
        *parents, child = source.scope
        is_seen = [v in self.positions for v in ids]
        free: Any = [p for p, seen in zip(parents, is_seen, strict=True) if not seen]
        shape = [p.num_states for p in free]
        cells = np.indices(shape).reshape(len(shape), math.prod(shape))
        size = math.prod(shape)
        rows: Columns = {p: np.tile(cells[i], len(contexts)) for i, p in enumerate(free)}
        observed = itertools.compress(parents, is_seen)
        rows |= {p: np.repeat(contexts[:, i], size) for i, p in enumerate(observed)}
        values = source.probabilities(rows, len(contexts) * size)
        context = child.hidden("context", len(contexts))  # type: ignore[union-attr]  # discrete
        scope: Any = context, *free, child
        if (values < SMALLEST).any():
            table = Table.from_log(scope, source.log_probabilities(rows, len(values)).reshape(-1))
        else:
            table = Table(scope, values.reshape(-1))
        return Decomposition((table,), (context,)), which.reshape(-1)

    def joint_states(self, ids: Sequence[int], cards: Ints) -> AnyInts:
        """The codes of all variables of a conditional, for each entry of its table over contexts and missing parents.

        Args:
            ids: the positions of its variables, the child last.
            cards: the number of states of every variable.
        """
        is_seen = np.array([*(v in self.positions for v in ids[:-1]), False])
        contexts = np.unique(self._parents(ids[:-1]), axis=0)
        shape = [len(contexts), *cards[np.array(ids)[~is_seen]].tolist()]
        cells = np.indices(shape).reshape(len(shape), -1)
        codes = np.empty((cells.shape[1], len(ids)), np.int64)
        codes[:, ~is_seen], codes[:, is_seen] = cells[1:].T, contexts[cells[0]]
        return codes

    def _parents(self, ids: Sequence[int]) -> Int32s:
        """The columns of those of some variables that the rows observe."""
        return self.codes[:, [self.positions.index(v) for v in ids if v in self.positions]]

    def observed(self, row: int) -> tuple[int, ...]:
        """The positions of the discrete variables that a row observes, in order."""
        return tuple(sorted(v for v, c in zip(self.positions, self.codes[row].tolist(), strict=True) if c >= 0))


def _has_finding(column: AnyInts | Floats) -> bool:
    """Whether a column has a code, or a number, at all; the first cell mostly tells."""
    if column.dtype.kind == "f":
        return len(column) > 0 and not (np.isnan(column[0]) and np.isnan(column).all())
    return len(column) > 0 and bool(column[0] >= 0 or column.max() >= 0)


def _places(names: Universe, variables: Universe) -> Ints:
    """The position among `variables` of each of `names`; -1 if there is none."""
    if names is variables.visible:
        return np.arange(len(names))
    known = variables.visible.positions
    return np.fromiter((known.get(name, -1) for name in names.names), np.int64, len(names))


def _drawn(num_rows: int, count: int) -> Ints:
    """About `count` distinct rows, drawn at random with a fixed seed."""
    rows = np.sort(np.random.default_rng(0).integers(0, num_rows, count))
    return rows[np.diff(rows, prepend=-1) > 0]


def distinct_rows(matrix: Int32s, *, only_missing: bool = False) -> tuple[Ints, Ints]:
    """The first row of each group of equal rows, in order of appearance, and the group of every row.

    If no two rows of a sample are equal, there are few repeats in all, and each row counts as its own group.

    Args:
        only_missing: whether rows count as equal if the same cells are missing, whatever the others hold.

    >>> [part.tolist() for part in distinct_rows(np.array([[1, 2], [0, 0], [1, 2]], np.int32))]
    [[0, 1], [0, 1, 0]]
    """
    from sepset.data.duplicates import group_words

    num_rows = len(matrix)
    if num_rows > 4 * costs.ROWS_SAMPLED_FOR_REPEATS:
        few = matrix[_drawn(num_rows, min(costs.ROWS_SAMPLED_FOR_REPEATS, 4 * math.isqrt(num_rows)))]
        if len(distinct_rows(few, only_missing=only_missing)[0]) == len(few):
            return np.arange(num_rows), np.arange(num_rows)
    return group_words(matrix, only_missing=only_missing, few=False)


def check_numbers(missing: int) -> None:
    """Raise if the covariances of so many numbers, which one row misses, would take too much memory.

    >>> check_numbers(1000)
    """
    if missing**2 > costs.MOST_CONTEXT_ENTRIES:
        raise TooLarge(
            f"The {missing:,} numbers that a row misses have covariances of {readable(8 * missing**2)}; the limit is "
            f"{readable(8 * costs.MOST_CONTEXT_ENTRIES)}. Observe more of them, or leave them out of the network."
        )
