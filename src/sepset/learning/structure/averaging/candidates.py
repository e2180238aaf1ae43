"""Tables of candidate parents: for each column all subsets of a few candidates, alone and with one further column."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from sepset.base.arraytypes import Floats, Int32s, Ints
from sepset.base.frozen import fill
from sepset.base.text import readable
from sepset.base.threads import NEVER, shares, together
from sepset.errors import TooLarge
from sepset.kernels.structure.subsets import sum_subsets
from sepset.learning.structure.constraints import Allowed
from sepset.learning.structure.exact.families import dense_families
from sepset.learning.structure.exact.scoretable import bits
from sepset.learning.structure.familyscores import TOLERANCE, Scorer
from sepset.learning.structure.learned import StructureTask
from sepset.learning.structure.search.moves import SearchedGraph

MOST_BYTES = 2**31
"""The largest table."""

ALL_COLUMNS = 16
"""Up to so many columns, all others are candidates of each."""

FIRST = 6
"""How many candidates each column begins with where not all are."""

MOST = 8
"""The largest number of candidates of a column, where not all are."""


KnownBlocks = dict[tuple[int, ...], tuple[Floats, Floats]]
"""The part of a column in a table, by the column and its candidates."""


@dataclass(frozen=True)
class CandidateTable:
    """The scores of the parent sets that chains visit.

    Attributes:
        cands: the candidates of each column, -1 after the last.
        outs: the further columns, one of which a set may have; -1 after the last.
        scores: all blocks of all columns, one after another; see `kernels.structure.candidatesums`.
        sums: their log sums over subsets, and the same by subset in a second row.
        starts: where each column's blocks begin, and the end.
        ranked: the places of each column's scores, the largest first, in the same blocks.
    """

    cands: Ints
    outs: Ints
    scores: Floats
    sums: Floats
    starts: Ints
    ranked: Int32s = field(init=False)

    def __post_init__(self) -> None:
        ends = zip(self.starts[:-1].tolist(), self.starts[1:].tolist(), strict=True)
        parts = [np.argsort(-self.scores[a:b], kind="stable").astype(np.int32) for a, b in ends]
        fill(self, ranked=np.concatenate([np.zeros(0, np.int32), *parts]))

    @property
    def arrays(self) -> tuple[Ints, Ints, Floats, Floats, Ints, Int32s]:
        """All of them, as kernels take them."""
        return self.cands, self.outs, self.scores, self.sums, self.starts, self.ranked

    def has(self, child: int, parents: Iterable[int]) -> bool:
        """Whether it has a set of parents that the constraints allow: at most one of them is not a candidate."""
        return len(set(parents) - set(self.cands[child].tolist())) <= 1

    @classmethod
    def full(cls, scorer: Scorer, allowed: Allowed) -> CandidateTable:
        """The table in which all other columns are candidates."""
        n = scorer.n
        scores = dense_families(scorer, allowed)
        cands = np.array([[u for u in range(n) if u != v] for v in range(n)], np.int64).reshape(n, n - 1)
        sums = scores.copy()
        together([partial(sum_subsets, sums[of]) for of in shares(n, scorer.threads)], scorer.threads)
        starts = np.arange(n + 1, dtype=np.int64) * scores.shape[1]
        return cls(cands, np.zeros((n, 0), np.int64), scores.reshape(-1), sums.reshape(1, -1), starts)

    @classmethod
    def of(
        cls, scorer: Scorer, allowed: Allowed, candidates: Sequence[Sequence[int]], *, known: KnownBlocks | None = None
    ) -> CandidateTable:
        """The table of given candidates of each column, plus one.

        Args:
            known: the parts of columns with the same candidates, which are not computed again; others are added.
        """
        n = scorer.n
        lists = [sorted(c) for c in candidates]
        others = [_others(allowed, v, lists[v]) for v in range(n)]
        sizes = [(1 + len(others[v])) << len(lists[v]) for v in range(n)]
        if 28 * sum(sizes) > MOST_BYTES:
            raise TooLarge(
                f"A table of {sum(sizes):,} parent sets takes {readable(28 * sum(sizes))}; the limit is "
                f"{readable(MOST_BYTES)}. Use fewer candidates."
            )
        kept = {} if known is None else known
        for v in range(n):
            if (v, *lists[v]) not in kept:
                kept[v, *lists[v]] = summed_block(_blocks(scorer, allowed, v, lists[v], others[v]))
        blocks = [kept[v, *lists[v]] for v in range(n)]
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        scores, sums = (np.concatenate(parts, axis=-1) for parts in zip(*blocks, strict=True))
        return cls(_padded(lists), _padded(others), scores, sums, starts)


def summed_block(block: Floats) -> tuple[Floats, Floats]:
    """The scores of a column in one line, and the two rows of their sums; see `kernels.structure.candidatesums`."""
    sums = block.copy()
    sum_subsets(sums, NEVER)
    top = sums.max(0)
    with np.errstate(invalid="ignore"):
        shares = np.where(top == -np.inf, 0.0, np.exp(sums - top))
    shares[0] = top
    return block.reshape(-1), np.stack([sums.reshape(-1), shares.T.reshape(-1)])


def _others(allowed: Allowed, child: int, candidates: list[int]) -> list[int]:
    if len(candidates) >= allowed.max_parents and not candidates:
        return []
    return [u for u in range(len(allowed.required)) if not allowed.forbidden[u, child] and u not in candidates]


def _padded(lists: Sequence[Sequence[int]]) -> Ints:
    found = np.full((len(lists), max((len(x) for x in lists), default=0)), -1, np.int64)
    for row, members in zip(found, lists, strict=True):
        row[: len(members)] = members
    return found


def _blocks(scorer: Scorer, allowed: Allowed, child: int, cands: list[int], outs: list[int]) -> Floats:
    """The scores of a column's parent sets: one row for each further column, the first without one."""
    found = np.full((1 + len(outs), 1 << len(cands)), -np.inf)
    required = set(np.flatnonzero(allowed.required[:, child]).tolist())
    for subset in range(1 << len(cands)):
        parents = [cands[i] for i in bits(subset)]
        missing = required - set(parents)
        if len(parents) > allowed.max_parents or len(missing) > 1:
            continue
        if not missing:
            found[0, subset] = scorer.family(child, parents)
        if outs and len(parents) < allowed.max_parents:
            more = scorer.additions(child, parents)[outs]
            found[1:, subset] = np.where([not missing or u in missing for u in outs], more, -np.inf)
    return found


def first_candidates(scorer: Scorer, allowed: Allowed, count: int = FIRST) -> list[list[int]]:
    """For each column its required parents, parents added greedily, and the columns that gain most by themselves."""
    found = []
    for child in range(scorer.n):
        chosen = np.flatnonzero(allowed.required[:, child]).tolist()
        score = scorer.family(child, chosen)
        while len(chosen) < min(count, allowed.max_parents):
            scores = _open(scorer.additions(child, chosen), allowed, child)
            best = int(scores.argmax())
            if not scores[best] > score:
                break
            chosen, score = [*chosen, best], float(scores[best])
        alone = _open(scorer.additions(child, ()), allowed, child)
        for u in np.argsort(-alone, kind="stable").tolist():
            if len(chosen) >= count:
                break
            if u not in chosen and alone[u] > scorer.family(child, ()):
                chosen.append(u)
        found.append(sorted(chosen))
    return found


def climbed(task: StructureTask) -> list[list[int]]:
    """The parents of each column where plain hill climbing ends."""
    graph = SearchedGraph(task.scorer, task.allowed, task.start_parents())
    while (move := graph.best()) is not None and move.gain > TOLERANCE:
        graph.make(move)
    return graph.parents_of()


def with_parents(
    candidates: Sequence[Sequence[int]], parents_of: Sequence[Sequence[int]], most: int = MOST
) -> list[list[int]]:
    """The candidates, of which the parents of a graph come first; those of a column are at most so many.

    >>> with_parents([[1, 2], [2]], [[3], []], 2)
    [[1, 3], [2]]
    """
    ordered = [[*p, *(u for u in known if u not in p)] for known, p in zip(candidates, parents_of, strict=True)]
    return [sorted(one[: max(most, len(p))]) for one, p in zip(ordered, parents_of, strict=True)]


def _open(scores: Floats, allowed: Allowed, child: int) -> Floats:
    return np.where(np.isnan(scores) | allowed.forbidden[:, child], -np.inf, scores)


def expanded(candidates: Sequence[Sequence[int]], edges: Floats, threshold: float, most: int = MOST) -> list[list[int]]:
    """The candidates with those further columns whose edge has more than this probability."""
    found = []
    for child, known in enumerate(candidates):
        order = np.argsort(-edges[:, child], kind="stable").tolist()
        more = [u for u in order if edges[u, child] > threshold and u not in known]
        found.append(sorted([*known, *more[: max(most - len(known), 0)]]))
    return found
