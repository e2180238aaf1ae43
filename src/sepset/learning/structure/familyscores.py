r"""Scores of families: what a decomposable score is, and the engine that computes and keeps them.

$$\text{score}(\mathcal G : \mathcal D) = \sum_i \text{FamScore}(X_i \mid \text{Pa}_i : \mathcal D)
+ \log P(\mathcal G)$$

A structure prior enters as a term per edge and one per number of parents, so that it belongs to families too.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Ints, UInt64s
from sepset.base.display import Report, Shown
from sepset.base.entries import Answers
from sepset.base.frozen import fixed
from sepset.base.text import described, nearest
from sepset.base.threads import NEVER, num_threads, require_time, shares, together
from sepset.cpds.cpd import CPD
from sepset.errors import DataError, NotApplicable, ScopeError
from sepset.inference.result import Guarantee, Result
from sepset.kernels.structure.familyscores import SKIPPED, score_by_bits, score_candidates, set_bits, sparse_score
from sepset.learning.structure import costs
from sepset.learning.structure.columns import Columns, StateBits, refined
from sepset.learning.structure.structureprior import StructurePrior

LARGEST_LOGS = 1 << 16
"""Whole numbers whose `n log n` is looked up."""

MOST_CELLS = 1 << 24
"""The largest table in which rows are counted; of larger ones only the cells with rows are."""

KEPT_BYTES = 1 << 28
"""The memory of kept scores."""

TOLERANCE = 1.5e-8
"""The smallest difference of scores, in nats, that counts: below it are rounding errors, and ties."""

FAMILY_BYTES = 250
"""About what one kept score of a family takes."""


@runtime_checkable
class FamilyScore(Protocol):
    """A decomposable score: frozen settings that score one family.

    Attributes:
        is_equivalent: whether I-equivalent structures have equal scores.
        kinds: the kinds of columns it takes: "discrete", "real".
    """

    @property
    def is_equivalent(self) -> bool:
        """Whether I-equivalent structures have equal scores."""

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of columns it takes."""

    def family(self, child: int, parents: tuple[int, ...], columns: Columns) -> float:
        """The score of one family."""


@runtime_checkable
class CountSum(Protocol):
    """A score of discrete families that is a sum over the table of counts, less a number known from its size.

    Attributes:
        kind: of the sum; see `kernels.structure.familyscores`.
    """

    @property
    def kind(self) -> int:
        """The kind of the sum."""

    def cell_numbers(self, q: Floats, r: int) -> Floats:
        """The number that the sum takes for families with `q` contexts and `r` states."""

    def regrets(self, r: int, columns: Columns) -> Floats:
        """The amount subtracted in a context with so many rows; empty unless the kind takes it."""

    def penalties(self, q: Floats, r: int, total: float) -> Floats:
        """The amount subtracted from the sum of families with `q` contexts, `r` states and rows of this weight."""


@runtime_checkable
class ScoresMany(Protocol):
    """A score that has a faster way for all single additions to a family."""

    def additions(self, child: int, parents: tuple[int, ...], candidates: Ints, columns: Columns) -> Floats:
        """The score of the family with each candidate added."""


@runtime_checkable
class CellEvidence(Protocol):
    """A parameter prior with one pseudo-count for all cells of a family: its evidence is a score."""

    def pseudo_count(self, q: Floats, r: int) -> Floats:
        """The pseudo-count of each cell of families with `q` contexts and `r` states."""


@runtime_checkable
class ShapesCPDs(Protocol):
    """The CPDs of families, where they are not tables: trees, or forms with few parameters."""

    def cpd(self, child: int, parents: tuple[int, ...], columns: Columns) -> CPD:
        """The CPD of a family, whose parameters are to be fitted."""


class Scorer:
    """The scores of families among some columns, each computed once; the searches of one thread may share it.

    Many rows are counted by several threads, each for some of the candidates: scores do not depend on their number.

    Args:
        columns: the data.
        score: a `FamilyScore`.
        prior: a structure prior; uniform by default.
        threads: their number; one per processor by default.

    Attributes:
        n: the number of columns.
        num_scores: how many scores of families were computed.
        is_equivalent: whether I-equivalent structures have equal scores on these rows.
        is_equivalent_unset: whether they have on rows in which no variable was set; with interventions, structures of
            one interventional class then have equal scores.

    >>> from sepset.learning.structure.scores.likelihood import BIC
    >>> scorer = Scorer(Columns.of({"a": [0, 0, 1, 1] * 5, "b": [0, 0, 1, 1] * 5}), BIC())
    >>> round(scorer.family(1, [0]) - scorer.family(1, []), 4)
    12.3651
    """

    def __init__(
        self,
        columns: Columns,
        score: FamilyScore,
        prior: StructurePrior | None = None,
        *,
        threads: int | None = None,
    ) -> None:
        check_kinds(score, columns)
        check_missing(score, columns)
        self.threads = num_threads(threads)
        self.columns, self.score, self.n = columns, score, len(columns)
        self.num_scores = 0
        self.log_odds = None if prior is None else prior.log_odds(columns.names)
        self.log_sizes = None if prior is None else prior.log_sizes(self.n)
        self.is_equivalent_unset = self.same_rows and score.is_equivalent and (prior is None or prior.is_equivalent)
        self.is_equivalent = self.is_equivalent_unset and columns.intervened is None
        self._sum = count_sum(score, columns)
        self._kept: dict[tuple[int, ...], float] = {}
        self._added: OrderedDict[tuple[int, ...], Floats] = OrderedDict()
        self._room: Any = None
        self._bits: StateBits | None = None
        self._cards = np.append(columns.cards, 1)  # the candidate -1 has one state
        self._has_real = bool(columns.is_real.any())

    @property
    def same_rows(self) -> bool:
        """Whether all families of equivalent structures count the same rows, by the same kind of sum."""
        return not self.columns.is_mixed and not self.columns.has_missing

    def family(self, child: int, parents: Iterable[int]) -> float:
        """The score of one family, the structure prior included."""
        key = (child, *sorted(parents))
        found = self._kept.get(key)
        if found is None:
            found = self._from_additions(key)
            if found is None:
                found = float(self._computed(child, key[1:]))
            self._keep(key, found)
        return found + self.log_prior(child, key[1:])

    def families(self, child: int, sets: Iterable[Iterable[int]]) -> Floats:
        """The scores of many parent sets; those that differ in one parent only are computed together."""
        chosen = [tuple(sorted(parents)) for parents in sets]
        by_prefix: dict[tuple[int, ...], list[int]] = {}
        for parents in chosen:
            if (child, *parents) not in self._kept and parents:
                by_prefix.setdefault(parents[:-1], []).append(parents[-1])
        for prefix, lasts in sorted(by_prefix.items()):
            distinct = np.unique(np.array(lasts, np.int64))
            for last, value in zip(distinct.tolist(), self._extended(child, prefix, distinct).tolist(), strict=True):
                self._keep((child, *prefix, last), value)
        return np.array([self.family(child, parents) for parents in chosen])

    def additions(self, child: int, parents: Iterable[int]) -> Floats:
        """The score of the family with each other column added: NaN for the child and its parents."""
        key = (child, *sorted(parents))
        found = self._added.get(key)
        if found is None:
            found = np.full(self.n, np.nan)
            is_other = np.ones(self.n, np.bool_)
            is_other[list(key)] = False
            others = np.flatnonzero(is_other)
            if len(others):
                found[others] = self._extended(child, key[1:], others)
            found.setflags(write=False)
            self._added[key] = found
            if len(self._added) * self.n * 8 > KEPT_BYTES:
                self._added.popitem(last=False)
        return found + self._prior_of_additions(child, key[1:])

    def additions_of(self, child: int, parents: tuple[int, ...], candidates: Ints) -> Floats:
        """The score of the family with each candidate added."""
        if not len(candidates):
            return np.zeros(0)
        added = self._prior_of_additions(child, parents)
        return self._extended(child, parents, candidates) + (added if isinstance(added, float) else added[candidates])

    def removals(self, child: int, parents: Iterable[int]) -> Floats:
        """The score of the family without each of its parents, in their order as numbers."""
        given = tuple(sorted(parents))
        return np.array([self.family(child, given[:k] + given[k + 1 :]) for k in range(len(given))], dtype=np.float64)

    def toggles(self, child: int, parents: Iterable[int]) -> Floats:
        """The score of the family with each other column added if it is not a parent, and removed if it is."""
        given = tuple(sorted(parents))
        found = self.additions(child, given)
        found[list(given)] = self.removals(child, given)
        return found

    def total(self, parents_of: Sequence[Iterable[int]]) -> float:
        """The score of the graph with these parents of each column."""
        return math.fsum(self.family(child, parents) for child, parents in enumerate(parents_of))

    def _from_additions(self, key: tuple[int, ...]) -> float | None:
        """The score of a family that is a smaller one with one of its additions, where those were computed."""
        for k in range(len(key) - 1, 0, -1):
            added = self._added.get(key[:k] + key[k + 1 :])
            if added is not None:
                return float(added[key[k]])
        return None

    def _keep(self, key: tuple[int, ...], value: float) -> None:
        if len(self._kept) * FAMILY_BYTES > KEPT_BYTES:
            self._kept.clear()
        self._kept[key] = value

    def _computed(self, child: int, parents: tuple[int, ...]) -> float:
        if self._sum is None or (self._has_real and self.columns.is_real[[child, *parents]].any()):
            self.num_scores += 1
            return self.score.family(child, parents, self.columns)
        if parents:
            return float(self._extended(child, parents[:-1], np.array(parents[-1:], np.int64))[0])
        return float(self._summed(child, (), np.array([-1], np.int64))[0])

    def _extended(self, child: int, parents: tuple[int, ...], candidates: Ints) -> Floats:
        """The scores of the family with each candidate added, without the structure prior."""
        require_time()
        is_real = self.columns.is_real
        if self._sum is not None and not self._has_real:
            return self._summed(child, parents, candidates)
        if self._sum is not None and not is_real[[child, *parents]].any():
            found = np.full(len(candidates), -np.inf)  # a discrete column has no real parent
            if (discrete := ~is_real[candidates]).any():
                found[discrete] = self._summed(child, parents, candidates[discrete])
            return found
        self.num_scores += len(candidates)
        if isinstance(self.score, ScoresMany):
            return self.score.additions(child, parents, candidates, self.columns)
        sets = (tuple(sorted((*parents, x))) for x in candidates.tolist())
        return np.array([self.score.family(child, given, self.columns) for given in sets], dtype=np.float64)

    def _summed(self, child: int, parents: tuple[int, ...], candidates: Ints) -> Floats:
        """As `_extended`, by sums over tables of counts; a candidate -1 adds none."""
        columns, form = self.columns, self._sum
        assert form is not None
        self.num_scores += len(candidates)
        r, cards = int(columns.cards[child]), self._cards
        splits = cards[candidates]
        most = int(splits.max())
        contexts = math.prod([float(columns.cards[p]) for p in parents])
        q = contexts * splits
        if (most - 1) * contexts * r <= costs.CELLS_BY_BITS and (rows := self._state_bits(len(candidates))) is not None:
            return self._summed_by_bits(rows, rows.cells((*parents, child)), r, candidates, q)
        count = columns.contexts(parents, child).size
        codes = columns.codes if candidates[0] >= 0 else fixed(np.zeros((1, columns.num_rows), columns.codes.dtype))
        if most * count * r > MOST_CELLS:
            return self._summed_sparsely(child, parents, candidates, q)
        key = columns.keys(child, parents).ids
        if (most - 1) * count * r <= costs.CELLS_BY_BITS and (rows := self._state_bits(len(candidates))) is not None:
            cells = np.zeros((count * r, rows.bits.shape[1]), np.uint64)
            set_bits(key, cells)
            return self._summed_by_bits(rows, cells, r, candidates, q)
        size = most * count * r * min(costs.CANDIDATES_AT_ONCE, len(candidates))
        out, totals = np.empty(len(candidates)), np.empty(len(candidates))
        numbers, regret = form.cell_numbers(q, r), form.regrets(r, columns)

        def run(number: int, of: slice, cancel: Bytes) -> None:
            score_candidates(
                codes, key, columns.weights, count, r, cards, candidates[of], form.kind, numbers[of], small_logs(),
                regret, columns.is_complete, columns.is_unit, self._workspace(number, size), cancel, out[of],
                totals[of],
            )  # fmt: skip

        self._on_threads(run, len(candidates), columns.num_rows)
        if columns.missing == "available":
            out = self._scaled(child, out, totals)
        return out - form.penalties(q, r, columns.total)

    def _scaled(self, child: int, sums: Floats, weights: Floats) -> Floats:
        """The sums over rows of these weights, scaled to all rows of the child; minus infinity for no rows.

        A family that no row observes would have the sum zero: that of a perfect fit.
        """
        if not self.columns.is_observed(child):
            return sums
        scale = self.columns.total_of(child) / np.where(weights > 0, weights, 1.0)
        return np.where(weights > 0, sums * scale, -np.inf)

    def _summed_sparsely(self, child: int, parents: tuple[int, ...], candidates: Ints, q: Floats) -> Floats:
        """As `_summed` for large tables, of which only the cells with rows are counted."""
        columns, form, r = self.columns, self._sum, int(self.columns.cards[child])
        assert form is not None
        numbers, regret = form.cell_numbers(q, r), form.regrets(r, columns)
        out, weight = np.empty(len(candidates)), np.empty(len(candidates))
        for k, x in enumerate(candidates.tolist()):
            contexts = columns.contexts(parents, child)
            contexts = contexts if x < 0 else refined(contexts, columns.codes[x], int(columns.cards[x]))
            cells = refined(contexts, columns.codes[child], r)
            used = cells.ids != SKIPPED
            places, owners, weights = cells.ids[used], contexts.ids[used].astype(np.int64), columns.weights[used]
            owner_of = np.zeros(cells.size, np.int64)
            owner_of[places] = owners
            counts = np.bincount(places, weights, cells.size).astype(np.float64, copy=False)
            totals = np.bincount(owners, weights, contexts.size).astype(np.float64, copy=False)
            out[k] = sparse_score(counts, owner_of, totals, r, form.kind, numbers[k], small_logs(), regret)
            weight[k] = totals.sum()
        if columns.missing == "available":
            out = self._scaled(child, out, weight)
        return out - form.penalties(q, r, columns.total)

    def _state_bits(self, num_candidates: int) -> StateBits | None:
        """The rows of every state as bits: made for several candidates, and then used for single ones too."""
        if self._bits is None and num_candidates >= costs.CANDIDATES_FOR_BITS:
            self._bits = self.columns.state_bits
        return self._bits

    def _summed_by_bits(self, rows: StateBits, cells: UInt64s, r: int, candidates: Ints, q: Floats) -> Floats:
        """As `_summed` for small tables, which intersections of sets of rows count faster than rows do."""
        count, columns, form = len(cells) // r, self.columns, self._sum
        assert form is not None
        totals, out = np.bitwise_count(cells).sum(1, dtype=np.int64), np.empty(len(candidates))
        numbers, regret = form.cell_numbers(q, r), form.regrets(r, columns)

        def run(number: int, of: slice, cancel: Bytes) -> None:
            room = np.empty(count * r * int(self._cards.max()), np.int64)
            score_by_bits(
                cells, totals, count, r, rows.bits, rows.offsets, self._cards, candidates[of], form.kind, numbers[of],
                small_logs(), regret, room, cancel, out[of],
            )  # fmt: skip

        self._on_threads(run, len(candidates), columns.num_rows)
        return out - form.penalties(q, r, columns.total)

    def _on_threads(self, run: Callable[[int, slice, Bytes], None], count: int, num_rows: int) -> None:
        """Score some candidates over some rows: at once, or in parts that are each the work of one thread."""
        if num_rows * count <= costs.ROWS_UNINTERRUPTED:
            run(0, slice(0, count), NEVER)
            return
        parts = shares(count, self.threads, step=costs.CANDIDATES_AT_ONCE)
        together([partial(run, number, part) for number, part in enumerate(parts)], self.threads)

    def _workspace(self, part: int, size: int) -> Any:
        """Room for the tables of a part of the candidates; that of the first is kept."""
        dtype = np.int32 if self.columns.is_unit else self.columns.weights.dtype
        if part:
            return np.empty(size, dtype)
        if self._room is None or len(self._room) < size:
            self._room = np.zeros(size, dtype)
        return self._room

    def log_prior(self, child: int, parents: tuple[int, ...]) -> float:
        """The part of the structure prior that belongs to one family, up to a constant."""
        if self.log_odds is None or self.log_sizes is None:
            return 0.0
        return float(self.log_odds[list(parents), child].sum() + self.log_sizes[len(parents)])

    def _prior_of_additions(self, child: int, parents: tuple[int, ...]) -> Floats | float:
        if self.log_odds is None or self.log_sizes is None or len(parents) + 1 >= len(self.log_sizes):
            return 0.0
        present = float(self.log_odds[list(parents), child].sum() + self.log_sizes[len(parents) + 1])
        return np.asarray(self.log_odds[:, child] + present)


_LOGS: list[Floats] = []


def small_logs() -> Floats:
    """The numbers `n log n` of small whole numbers."""
    if not _LOGS:
        n = np.arange(1, LARGEST_LOGS, dtype=np.float64)
        _LOGS.append(np.append(0.0, n * np.log(n)))
    return _LOGS[0]


class _Evidence(NamedTuple):
    """The evidence under a prior with one pseudo-count per cell, as a sum."""

    prior: CellEvidence
    kind: int = 1

    def cell_numbers(self, q: Floats, r: int) -> Floats:
        return self.prior.pseudo_count(q, r)

    def regrets(self, r: int, columns: Columns) -> Floats:
        return np.zeros(0)

    def penalties(self, q: Floats, r: int, total: float) -> Floats:
        return np.zeros(len(q))


def count_sum(score: FamilyScore, columns: Columns) -> CountSum | None:
    """The score as a sum over tables of counts, or None."""
    if columns.is_real.all():
        return None
    if isinstance(score, CountSum):
        return score
    return _Evidence(score) if isinstance(score, CellEvidence) else None


def check_kinds(score: object, columns: Columns) -> None:
    """Raise unless the score takes the columns."""
    if isinstance(score, type) or not isinstance(score, FamilyScore):
        raise NotApplicable(
            f"score= takes a score of families such as BIC() or BDeu(10); found {score!r}. See sepset.structure."
        )
    for name, real, card in zip(columns.names, columns.is_real, columns.cards, strict=True):
        if ("real" if real else "discrete") not in score.kinds:
            kinds = " and ".join(sorted(score.kinds))
            raise NotApplicable(
                f"{score!r} scores {kinds} columns; {name!r} is {'real' if real else 'discrete'}. "
                "Use a score for such columns, or discretize or drop it."
            )
        if not real and card < 1:
            raise DataError(f"The column {name!r} has no states.")


def check_missing(score: FamilyScore, columns: Columns) -> None:
    """Raise unless scores of families over different rows can be compared."""
    if columns.has_missing and not isinstance(score, CountSum | CellEvidence):
        raise NotApplicable(
            f"{score!r} needs complete rows, and cells are missing. Use BIC() or BDeu(10), impute the cells, or leave "
            "those rows out."
        )


@dataclass(frozen=True, eq=False, repr=False)
class FamilyScores(Report, Result, Answers[str, float]):
    """The score of a structure, family by family.

    Attributes:
        families: the score of each variable given its parents, the structure prior included.
        parents: of each variable.
        total: the sum of the scores.

    >>> import sepset as ss
    >>> found = ss.structure.score(ss.DAG.parse("a -> b"), {"a": [0, 0, 1, 1], "b": [0, 0, 1, 1]})
    >>> found, round(found["b"], 4)
    (FamilyScores(-4.85203 of 2 families; BIC()), -1.3863)
    """

    families: Mapping[str, float] = field(default_factory=dict)
    parents: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    _: KW_ONLY
    total: float = 0.0
    guarantees: Mapping[str, Guarantee] = field(default_factory=lambda: {"score": Guarantee.EXACT}, kw_only=True)

    def __getitem__(self, name: str) -> float:
        if not isinstance(name, str) or name not in self.families:
            raise ScopeError(f"There is no family of {name!r}.{nearest(name, self.families)}")
        return self.families[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.families)

    def __len__(self) -> int:
        return len(self.families)

    def __repr__(self) -> str:
        return f"FamilyScores({self.total:.7g} of {len(self)} families; {described(self.method)})"

    def _shown(self) -> Shown:
        rows = [(name, ", ".join(self.parents[name]), f"{value:.6g}") for name, value in self.families.items()]
        return Shown(
            ("variable", "parents", "score"), rows, f"score {self.total:.10g}", described(self.method), words=2
        )
