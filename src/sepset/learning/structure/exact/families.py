r"""The scores of all parent sets that are allowed, as a table or for all subsets at once.

Scores by counts are sums over joint states: $F(X \mid \mathbf U) = f(X \cup \mathbf U) - g(\mathbf U)$. One number per
set of columns, from one pass over all sets, then serves every family; other scores are asked family by family.
Where there are too many sets, those that a bound shows to be of no use are not counted:

$$F(X \mid \mathbf U') \le -c \, (r - 1) \, q_{\mathbf U} \quad \text{(penalized likelihood)}, \qquad
  F(X \mid \mathbf U') \le -q^+_{\mathbf U} \log r \quad \text{(evidence)}$$

for every $\mathbf U' \supseteq \mathbf U$, with $q$ contexts, $q^+$ of which have rows: a likelihood is at most one,
and the first row of each context has probability $1 / r$.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import combinations, islice

import numpy as np

from sepset.base.arraytypes import AnyInts, Bools, Bytes, Floats, Ints
from sepset.base.text import readable
from sepset.base.threads import together
from sepset.errors import TooLarge
from sepset.kernels.structure.familyscores import EVIDENCE, LIKELIHOOD
from sepset.kernels.structure.setsums import set_sums
from sepset.learning.structure import costs
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.constraints import Allowed
from sepset.learning.structure.exact.scoretable import MOST_COLUMNS, ScoreTable, bits, including
from sepset.learning.structure.familyscores import CountSum, Scorer, count_sum
from sepset.learning.structure.scores.likelihood import LogLikelihood

MOST_SETS = 1 << 26
"""The largest number of sets of columns whose sums are kept."""

MOST_FAMILIES = 1 << 28
"""The largest number of families of a table."""

MOST_ASKED = 1 << 23
"""The largest number of families that are scored one by one."""

PROBED, PROBES = 7, 3
"""The candidates inside which all sets are counted, and how often they are drawn for each child."""

HOPELESS = 10.0
"""How many times the time that is left an estimate must be for work to be refused: estimates are rough."""

FAMILY_BYTES = 16
"""The memory of a family in a table."""


def num_families(num_columns: int, max_parents: int) -> int:
    """The number of parent sets up to a size, over all children.

    >>> num_families(20, 19), num_families(30, 4)
    (10485760, 835230)
    """
    return num_columns * sum(math.comb(num_columns - 1, k) for k in range(min(max_parents, num_columns - 1) + 1))


def score_table(scorer: Scorer, allowed: Allowed, *, pruned: bool = False, seconds: float = math.inf) -> ScoreTable:
    """The score of every allowed parent set.

    Args:
        scorer: of the families.
        allowed: the constraints; `max_parents` limits the sets.
        pruned: leave out sets that have an allowed subset of at least the same score, and do not count those that a
            bound excludes: the best DAGs are the same.
        seconds: the time that is left; a table that takes many times longer by its estimate is refused before it is
            begun.

    Reference: Teyssier & Koller (2005); de Campos & Ji (2011) for the bounds.
    Guarantee: exact.
    Tested by: learning/structure/exact/test_families.py::test_tables_are_scores_of_families
    """
    families = families_of_children(scorer, allowed, pruned=pruned, seconds=seconds)
    found = ScoreTable.of_children(scorer.columns.names, families)
    return found.pruned() if pruned else found


def families_of_children(
    scorer: Scorer, allowed: Allowed, *, pruned: bool = False, seconds: float = math.inf
) -> Iterator[tuple[Ints, Floats]]:
    """The parent sets of each column in turn with their scores; arguments as for `score_table`."""
    check_columns(scorer.n)
    sums = FamilySums.of(scorer)
    if pruned:
        allowed = allowed._replace(max_parents=max(useful_parents(scorer, allowed, v) for v in range(scorer.n)))
    sets = sum(math.comb(scorer.n, k) for k in range(min(allowed.max_parents + 1, scorer.n) + 1))
    count = sum(num_sets(allowed, child) for child in range(scorer.n))
    in_sums = count * costs.SECONDS_LISTED + sets * scorer.columns.num_rows * costs.SECONDS_COUNTED
    if sums is not None and sets <= MOST_SETS and (not pruned or in_sums <= costs.SECONDS_OF_SUMS):
        _require(count, MOST_FAMILIES, scorer.n, in_sums / max(count, 1), seconds=seconds)
        return _summed_families(scorer, sums, allowed)
    if pruned and bound_above(scorer, 0, ()) < np.inf:
        _require_bounded(scorer, allowed, seconds)
        return (bounded_families(scorer, allowed, child) for child in range(scorer.n))
    _require(count, MOST_ASKED, scorer.n, costs.SECONDS_ASKED, seconds=seconds)
    return (_listed_families(scorer, allowed, child) for child in range(scorer.n))


def _require(
    count: int, most: int, num_columns: int, each: float, least: str = "", *, seconds: float = math.inf
) -> None:
    """Raise if there are more families than a table holds, or than can be scored in the time that is left.

    Args:
        each: about what a family takes, in seconds.
    """
    if count <= most and count * each <= HOPELESS * max(seconds, 1.0):
        return
    limit = f"the limit is {most:,} sets" if count > most else f"{seconds:.3g} s are left"
    raise TooLarge(
        f"{num_columns} columns have {least}{count:.4g} parent sets that may be the best, which take about "
        f"{readable(count * FAMILY_BYTES)} and {count * each:.2g} s; {limit}. Set max_parents= in the constraints, or "
        "use BOSS() or GES(), which prove nothing."
    )


def _require_bounded(scorer: Scorer, allowed: Allowed, seconds: float) -> None:
    """Raise before any set is listed if the bounds leave too many, by what a greedy choice of parents scores."""
    count = 0
    for child in range(scorer.n):
        base, free = _base(allowed, child), _free(allowed, child)
        room = min(allowed.max_parents - len(base), len(free))
        score = greedy_family(scorer, allowed, child)[1]
        count += _num_left(scorer, child, base, free, score, room)
        if count > 1_000 * MOST_ASKED:
            break
    _require(count, MOST_ASKED, scorer.n, costs.SECONDS_ASKED, "at least ", seconds=seconds)
    _require(
        round(estimated_sets(scorer, allowed)), MOST_ASKED, scorer.n, costs.SECONDS_ASKED, "about ", seconds=seconds
    )


def estimated_sets(scorer: Scorer, allowed: Allowed) -> float:
    r"""About how many parent sets `bounded_families` scores, over all children.

    Whether a set of $k$ parents is scored depends on its subsets alone. So the share of such sets is estimated without
    bias from all sets inside a few candidates drawn at random; that of larger sets falls as it did before.

    Guarantee: exact where no child has more candidates than are drawn.
    Tested by: learning/structure/exact/test_families.py::test_estimates_of_the_number_of_sets
    """
    rng, count = np.random.default_rng(0), 0.0
    for child in range(scorer.n):
        base, free = _base(allowed, child), _free(allowed, child)
        room, drawn = min(allowed.max_parents - len(base), len(free)), min(PROBED, len(free))
        shares = np.zeros(room + 1)
        for _ in range(PROBES):
            closed = allowed.forbidden.copy()
            closed[np.setdiff1d(free, rng.permutation(free)[:drawn]).astype(np.int64), child] = True
            masks, _ = bounded_families(scorer, allowed._replace(forbidden=closed), child)
            sizes = np.bincount(_sizes(masks) - len(base), minlength=drawn + 1)[: room + 1]
            shares[: len(sizes)] += [size / math.comb(drawn, k) / PROBES for k, size in enumerate(sizes)]
        for k in range(drawn + 1, room + 1):
            shares[k] = shares[k - 1] ** 2 / shares[k - 2] if shares[k - 2] else 0.0
        count += sum(math.comb(len(free), k) * float(share) for k, share in enumerate(shares))
    return count


def greedy_family(scorer: Scorer, allowed: Allowed, child: int) -> tuple[list[int], float]:
    """The parents that are added one by one while the score rises, and the score.

    Reference: Cooper & Herskovits (1992).
    Guarantee: heuristic.
    Tested by: learning/structure/exact/test_families.py::test_greedy_parents
    """
    parents = list(_base(allowed, child))
    score = scorer.family(child, parents)
    while len(parents) < allowed.max_parents:
        scores = scorer.additions(child, parents)
        scores[allowed.forbidden[:, child] | np.isnan(scores)] = -np.inf
        best = int(scores.argmax())
        if not scores[best] > score:
            break
        parents, score = sorted([*parents, best]), float(scores[best])
    return parents, score


def _base(allowed: Allowed, child: int) -> tuple[int, ...]:
    """The required parents of a child."""
    return tuple(np.flatnonzero(allowed.required[:, child]).tolist())


def _free(allowed: Allowed, child: int) -> list[int]:
    """The columns that may be parents of a child and need not be."""
    return np.flatnonzero(~allowed.forbidden[:, child] & ~allowed.required[:, child]).tolist()


def num_sets(allowed: Allowed, child: int) -> int:
    """The number of allowed parent sets of a child."""
    base = int(allowed.required[:, child].sum())
    free = len(allowed.required) - int(allowed.forbidden[:, child].sum()) - base
    return sum(math.comb(free, k) for k in range(min(allowed.max_parents - base, free) + 1))


def useful_parents(scorer: Scorer, allowed: Allowed, child: int) -> int:
    """The largest number of parents with which a family can be better than with the required ones only.

    Reference: de Campos & Ji (2011).
    Guarantee: a bound.
    Tested by: learning/structure/exact/test_families.py::test_more_parents_are_of_no_use
    """
    form = count_sum(scorer.score, scorer.columns)
    if scorer.log_odds is not None or form is None or form.kind != LIKELIHOOD or not scorer.columns.is_complete:
        return allowed.max_parents
    base, free = _base(allowed, child), _free(allowed, child)
    free.sort(key=lambda p: int(scorer.columns.cards[p]))  # any other parents have at least as many contexts
    least = scorer.family(child, base)
    for k in range(min(allowed.max_parents - len(base), len(free))):
        if bound_above(scorer, child, (*base, *free[: k + 1])) <= least:
            return len(base) + k
    return allowed.max_parents


def check_columns(num_columns: int) -> None:
    """Raise if there are more columns than a mask has bits."""
    if num_columns > MOST_COLUMNS:
        raise TooLarge(
            f"Exact methods over all DAGs take up to {MOST_COLUMNS} columns; found {num_columns}. Use HillClimb(), or "
            "ChowLiu() for trees."
        )


def dense_families(scorer: Scorer, allowed: Allowed) -> Floats:
    """The score of every parent set of each child by its number without the child's bit; -inf if not allowed."""
    n, sums = scorer.n, FamilySums.of(scorer)
    found = np.empty((n, 1 << max(n - 1, 0)))
    numbers = np.arange(1 << max(n - 1, 0), dtype=np.int64)
    if sums is not None:
        sums.count(n)
    for child in range(n):
        masks = including(numbers, child)
        permitted = _permitted(allowed, child, masks)
        found[child] = -np.inf
        inside = masks[permitted]
        values = sums.scores(child, inside) if sums is not None else _asked(scorer, child, inside)
        found[child, permitted] = values + (_prior(scorer, child, inside) if sums is not None else 0.0)
    return found


def _permitted(allowed: Allowed, child: int, masks: Ints) -> Bools:
    required, forbidden = _mask(allowed.required[:, child]), _mask(allowed.forbidden[:, child])
    found = (masks & forbidden == 0) & (masks & required == required)
    if allowed.max_parents < len(allowed.required) - 1:
        found &= _sizes(masks) <= allowed.max_parents
    return np.asarray(found)


def _mask(flags: Bools) -> int:
    return sum(1 << i for i in np.flatnonzero(flags).tolist())


def _sizes(masks: Ints) -> Ints:
    return np.bitwise_count(masks).astype(np.int64)


def _prior(scorer: Scorer, child: int, masks: Ints) -> Floats:
    """The logarithm of the structure prior of each parent set."""
    found = np.zeros(len(masks))
    if scorer.log_odds is None or scorer.log_sizes is None:
        return found
    for parent in np.flatnonzero(scorer.log_odds[:, child]).tolist():
        if parent != child:
            found[masks >> parent & 1 == 1] += scorer.log_odds[parent, child]
    return np.asarray(found + scorer.log_sizes[_sizes(masks)])


def _asked(scorer: Scorer, child: int, masks: Ints) -> Floats:
    return scorer.families(child, (tuple(bits(m)) for m in masks.tolist()))


def _sets_of(allowed: Allowed, child: int) -> Ints:
    """The allowed parent sets of a child, small sets first."""
    n = len(allowed.required)
    base = _mask(allowed.required[:, child])
    free = [p for p in range(n) if not allowed.forbidden[p, child] and not base >> p & 1]
    room = min(allowed.max_parents - base.bit_count(), len(free))
    sets = [base | sum(1 << p for p in chosen) for k in range(room + 1) for chosen in combinations(free, k)]
    return np.array(sets, np.int64)


def _listed_families(scorer: Scorer, allowed: Allowed, child: int) -> tuple[Ints, Floats]:
    masks = _sets_of(allowed, child)
    return masks, _asked(scorer, child, masks)


def _summed_families(scorer: Scorer, sums: FamilySums, allowed: Allowed) -> Iterator[tuple[Ints, Floats]]:
    sums.count(min(allowed.max_parents + 1, scorer.n))
    for child in range(scorer.n):
        masks = _sets_of(allowed, child)
        yield masks, sums.scores(child, masks) + _prior(scorer, child, masks)


def bounded_families(scorer: Scorer, allowed: Allowed, child: int) -> tuple[Ints, Floats]:
    """Sets level by level: one whose bound is not above the score of a subset ends all its supersets."""
    base, free = _base(allowed, child), _free(allowed, child)
    share = num_sets(allowed, child) / sum(num_sets(allowed, one) for one in range(scorer.n))
    others = min(scorer.n, 1.0 / share)  # of all children: as many sets as this one, if it has not most of them
    best = {base: scorer.family(child, base)}  # the best score of any subset, itself included
    masks, scores = [sum(1 << p for p in base)], [best[base]]
    level = [base]
    for size in range(1, allowed.max_parents - len(base) + 1):
        if size > 2:
            room = min(allowed.max_parents - len(base), len(free))
            count = _num_left(scorer, child, base, free[:], max(scores), room)
            _require(round(count * others), MOST_ASKED, scorer.n, costs.SECONDS_ASKED, "about ")
        useful = (u for u in _extended(level, base, free) if _is_useful(scorer, child, u, best, base))
        level = list(islice(useful, int(MOST_ASKED / others) + 1))
        if not level:
            break
        families = (len(masks) + len(level)) * others
        _require(round(families), MOST_ASKED, scorer.n, costs.SECONDS_ASKED, "about ")
        found = scorer.families(child, level).tolist()
        for parents, score in zip(level, found, strict=True):
            best[parents] = max(score, _best_below(parents, best, base))
            masks.append(sum(1 << p for p in parents))
            scores.append(score)
    return np.array(masks, np.int64), np.array(scores)


def _num_left(scorer: Scorer, child: int, base: tuple[int, ...], free: list[int], best: float, most: int) -> int:
    """How many sets no bound excludes, if no parent set scores above `best`: all of the sizes of which none is."""
    cards = scorer.columns.cards
    free.sort(key=lambda p: -int(cards[p]))
    count = 0
    for k in range(most + 1):
        if bound_by_size(scorer, child, float(np.prod(cards[[*base, *free[:k]]], dtype=np.float64))) <= best:
            break
        count += math.comb(len(free), k)
    return count


def _extended(level: list[tuple[int, ...]], base: tuple[int, ...], free: list[int]) -> Iterator[tuple[int, ...]]:
    """The sets with one more parent all of whose subsets of the former size are there."""
    known = set(level)
    for parents in level:
        last = max((p for p in parents if p not in base), default=-1)
        for p in free:
            if p > last:
                made = tuple(sorted((*parents, p)))
                if all(tuple(x for x in made if x != out) in known for out in made if out not in base):
                    yield made


def _best_below(parents: tuple[int, ...], best: dict[tuple[int, ...], float], base: tuple[int, ...]) -> float:
    return max(best[tuple(x for x in parents if x != out)] for out in parents if out not in base)


def _is_useful(
    scorer: Scorer, child: int, parents: tuple[int, ...], best: dict[tuple[int, ...], float], base: tuple[int, ...]
) -> bool:
    return bound_above(scorer, child, parents) > _best_below(parents, best, base)


def bound_above(scorer: Scorer, child: int, parents: tuple[int, ...]) -> float:
    """An upper bound on the scores of a parent set and of all its supersets; infinity where none is known.

    Reference: Tian (2000) for penalized likelihoods; de Campos & Ji (2011) for the evidence.
    Guarantee: a bound.
    Tested by: learning/structure/exact/test_families.py::test_bounds_hold_for_all_supersets
    """
    columns = scorer.columns
    form = count_sum(scorer.score, columns)
    is_sparse = form is not None and form.kind == EVIDENCE and columns.is_complete
    q = columns.contexts(parents).size if is_sparse else np.prod(columns.cards[list(parents)], dtype=np.float64)
    return bound_by_size(scorer, child, float(q)) + _largest_prior(scorer, child, parents)


def _largest_prior(scorer: Scorer, child: int, parents: tuple[int, ...]) -> float:
    """An upper bound on the log structure prior of a parent set and of all its supersets."""
    if scorer.log_odds is None or scorer.log_sizes is None:
        return 0.0
    others = [p for p in range(scorer.n) if p != child and p not in parents]
    odds = scorer.log_odds[:, child]
    return float(odds[list(parents)].sum() + np.maximum(odds[others], 0).sum() + scorer.log_sizes.max())


def ceiling(scorer: Scorer, allowed: Allowed, child: int) -> float:
    r"""An upper bound on the score of every allowed parent set of a child; infinity where none is known.

    More parents never lower the likelihood, and the evidence is an average of likelihoods, so that with all parents
    that are allowed, and the penalty of the required ones,

    $$F(X \mid \mathbf U) \le \ell(X \mid \mathbf U_{\max}) - c(\mathbf U_{\min}).$$

    Guarantee: a bound.
    Tested by: learning/structure/exact/test_families.py::test_ceilings_hold_for_all_sets
    """
    base, columns = _base(allowed, child), scorer.columns
    form = count_sum(scorer.score, columns)
    if form is None or not columns.is_complete or form.kind not in (LIKELIHOOD, EVIDENCE):
        return np.inf
    likelihood = Scorer(columns, LogLikelihood()).family(child, (*base, *_free(allowed, child)))
    q = np.prod(columns.cards[list(base)], dtype=np.float64)
    penalty = float(form.penalties(np.array([q]), int(columns.cards[child]), columns.total)[0])
    largest = likelihood - penalty + _largest_prior(scorer, child, base)
    return min(largest, bound_above(scorer, child, base))


def bound_by_size(scorer: Scorer, child: int, num_contexts: float) -> float:
    """The bound of `bound_above` for parents with so many contexts (with rows, for the evidence), without the prior."""
    columns = scorer.columns
    form = count_sum(scorer.score, columns)
    if form is None or not columns.is_complete or form.kind not in (LIKELIHOOD, EVIDENCE):
        return np.inf
    r = int(columns.cards[child])
    if form.kind == LIKELIHOOD:
        return -float(form.penalties(np.array([num_contexts]), r, columns.total)[0])
    return -min(num_contexts, columns.num_rows) * math.log(r) if columns.weights.min() >= 1 else 0.0


@dataclass
class FamilySums:
    """Scores by one number per set of columns."""

    columns: Columns
    form: CountSum
    alpha: float
    is_divided: bool
    threads: int

    @classmethod
    def of(cls, scorer: Scorer) -> FamilySums | None:
        """The sums behind a score by counts of complete rows; None for other scores."""
        columns = scorer.columns
        form = count_sum(scorer.score, columns)
        if form is None or not columns.is_complete or form.kind not in (LIKELIHOOD, EVIDENCE):
            return None
        if form.kind == LIKELIHOOD:
            return cls(columns, form, 0.0, False, scorer.threads)
        q, r = np.array([1.0, 2.0, 3.0]), 2
        one, two = form.cell_numbers(q, 1), form.cell_numbers(q, r)
        if np.allclose(one, one[0]) and np.allclose(two, one[0]):
            return cls(columns, form, float(one[0]), False, scorer.threads)
        if np.allclose(one * q, one[0]) and np.allclose(two * q * r, one[0]):
            return cls(columns, form, float(one[0]), True, scorer.threads)
        return None

    def count(self, max_size: int) -> None:
        """Compute the number of every set up to a size."""
        self._rows = _Rows.of(self.columns)
        self._max_size = max_size
        self._cells = self._rows.numbers(self.alpha, self.is_divided, max_size, self.threads)
        self._contexts: dict[int, _Numbers] = {}

    def scores(self, child: int, masks: Ints) -> Floats:
        """The scores of a child's parent sets, without the structure prior."""
        r = int(self.columns.cards[child])
        q = np.ones(len(masks))
        for p in np.flatnonzero(self.columns.cards != 1).tolist():
            q[masks >> p & 1 == 1] *= self.columns.cards[p]
        found = self._cells.at(masks | 1 << child) - self._of_contexts(r).at(masks)
        return np.asarray(found - self.form.penalties(q, r, self.columns.total))

    def _of_contexts(self, r: int) -> _Numbers:
        """The sums over contexts: with the pseudo-count of a whole context, r times that of a cell."""
        if self.alpha == 0.0 or self.is_divided:
            return self._cells
        if r not in self._contexts:
            self._contexts[r] = self._rows.numbers(r * self.alpha, False, self._max_size, self.threads)
        return self._contexts[r]


@dataclass(frozen=True)
class _Numbers:
    """One number per set: by its mask, or with the masks in order."""

    masks: Ints | None
    values: Floats

    def at(self, masks: Ints) -> Floats:
        return self.values[masks if self.masks is None else np.searchsorted(self.masks, masks)]


@dataclass(frozen=True)
class _Rows:
    """Distinct rows with their weights; columns of large entropy first, which soon leave every row alone."""

    codes: AnyInts
    cards: Ints
    weights: Floats
    order: Ints

    @classmethod
    def of(cls, columns: Columns) -> _Rows:
        weights = columns.weights.astype(np.float64)
        counted = weights > 0
        codes, place = np.unique(columns.codes[:, counted], axis=1, return_inverse=True)
        merged = np.zeros(codes.shape[1])
        np.add.at(merged, place.reshape(-1), weights[counted])
        order = np.argsort([-_entropy(c, merged) for c in codes], kind="stable")
        return cls(np.ascontiguousarray(codes[order]), columns.cards[order].astype(np.int64), merged, order)

    def numbers(self, alpha: float, is_divided: bool, max_size: int, threads: int) -> _Numbers:
        n = len(self.codes)
        count = sum(math.comb(n, k) for k in range(max_size + 1))
        kinds, place = np.unique(self.weights, return_inverse=True)
        found, values = np.zeros(count, np.int64), np.zeros(count)
        fixed = costs.COLUMNS_FIXED if n >= costs.COLUMNS_FOR_PARTS else 0
        whole = np.arange(self.weights.sum() + 1) if np.array_equal(kinds, np.rint(kinds)) else np.zeros(0)
        logs = whole * np.log(np.maximum(whole, 1.0))
        arguments = (self.codes, self.cards, self.weights, place.reshape(-1).astype(np.int64), kinds, logs)
        tasks: list[Callable[[Bytes], None]] = []
        end = 0
        for prefix in (p for k in range(fixed + 1) for p in combinations(range(fixed), k) if k <= max_size):
            of = slice(end, end + sum(math.comb(n - fixed, k) for k in range(max_size - len(prefix) + 1)))
            end = of.stop
            own = (np.array(prefix, np.int64), fixed, found[of], values[of])
            tasks.append(partial(set_sums, *arguments, alpha, is_divided, max_size, *own))
        together(tasks, threads)
        masks = np.zeros_like(found)
        for i, column in enumerate(self.order.tolist()):
            masks |= (found >> i & 1) << column
        if max_size == n:
            dense = np.empty(count)
            dense[masks] = values
            return _Numbers(None, dense)
        by_mask = np.argsort(masks, kind="stable")
        return _Numbers(masks[by_mask], values[by_mask])


def _entropy(codes: AnyInts, weights: Floats) -> float:
    counts = np.bincount(codes, weights)
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log(shares)).sum())
