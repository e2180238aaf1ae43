r"""Independent causal influences: the child is the maximum of the contributions of its parents and of a leak.

$$X = \max(Z_0, Z_1, \dots, Z_n), \qquad P(X \le x \mid \mathbf u) = P(Z_0 \le x) \prod_i P(Z_i \le x \mid u_i)$$

Everything runs along the chain $A_i = \max(A_{i-1}, Z_i)$ with

$$P(A_i = a \mid A_{i-1} = b, u_i) = 1[a = b]\,P(Z_i \le a \mid u_i) + 1[a > b]\,P(Z_i = a \mid u_i),$$

which only adds and multiplies non-negative numbers, so that small probabilities stay accurate.

Reference: Koller & Friedman, section 5.4; Diez & Galan (2003), Efficient computation for the noisy MAX.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.factors.algebra import num_entries
from sepset.factors.chains import BY_NAME, Line, RunningSums, have_many_sums
from sepset.factors.decomposition import Concave, Decomposition
from sepset.factors.table import Table
from sepset.kernels.buckets.causes import REST
from sepset.variables.variable import Discrete, Domain

MAX_PRODUCTS = 2**10
"""The largest number of distinct products at one place of a chain."""

AT_ONCE = 2**16
"""The number of rows of a table that are filled together, which bounds temporary memory."""

ROUNDING = 1e-14
"""Sums of probabilities that differ by less are equal up to rounding."""

SMALL, RAISED = 2.0**-900, 600
"""Likelihoods below this are raised by this power of two, so that what is divided by them stays a float."""


@dataclass(frozen=True, slots=True, eq=False)
class Influences:
    """The contributions of a leak and of each parent, over graded levels 0 (absent), 1, ...

    Attributes:
        leak: the distribution of $Z_0$.
        effects: the distribution of $Z_i$ for each state of parent $i$, `[states, levels]`.
        order: the child's code of each level.

    >>> noisy = np.array([[1.0, 0.0], [0.2, 0.8]])
    >>> either = Influences(np.array([1.0, 0.0]), (noisy, noisy), (0, 1))
    >>> either.probabilities([np.array([1]), np.array([1])], 1).round(12).tolist()
    [[0.04, 0.96]]
    """

    leak: Floats
    effects: tuple[Floats, ...]
    order: tuple[int, ...]

    def __post_init__(self) -> None:
        for array in (self.leak, *self.effects):
            array.setflags(write=False)

    @classmethod
    def stacked(cls, rows: Floats, sizes: Sequence[int], order: tuple[int, ...]) -> Influences:
        """The contributions in these rows: that of the leak, then `sizes[i]` rows for the states of parent $i$."""
        leak, *effects = np.split(rows, np.cumsum([1, *sizes])[:-1])
        return cls(leak[0], tuple(effects), order)

    @property
    def rows(self) -> Floats:
        """All contributions, one row each: the leak's, then those of each parent's states."""
        return np.concatenate([self.leak[None, :], *self.effects])

    @property
    def level_of(self) -> Ints:
        """The level of each code of the child."""
        return np.argsort(self.order, kind="stable")

    def probabilities(self, codes: Sequence[Ints] | Ints, num_rows: int) -> Floats:
        """The distribution over the child's codes for each row of parent codes.

        Cost: one pass over the levels per parent, or of few rows for all parents at once; no table is built.
        """
        levels, num = np.tile(self.leak, (num_rows, 1)), len(self.effects)
        if levels.size * num <= AT_ONCE:
            firsts = np.cumsum([1, *map(len, self.effects)])[:-1, None]
            chosen = self.rows[np.reshape(codes, (num, num_rows)).astype(np.int64) + firsts]
            levels = _of_all(np.concatenate([levels[None], chosen]))
        else:
            for effect, column in zip(self.effects, codes, strict=True):
                levels = _acted_on(levels, effect[column])
        result = np.empty_like(levels)
        result[:, list(self.order)] = levels
        return result

    def table(self) -> Floats:
        """The distribution over the child's codes for all joint states of the parents, flat, the last one fastest.

        >>> noisy = np.array([[1.0, 0.0], [0.2, 0.8]])
        >>> Influences(np.array([1.0, 0.0]), (noisy, noisy), (0, 1)).table().round(12).tolist()
        [1.0, 0.0, 0.2, 0.8, 0.2, 0.8, 0.04, 0.96]
        """
        sizes = [len(effect) for effect in self.effects]
        num_last, rows = 0, 1  # the last parents are taken together with each joint state of the first
        while num_last < len(sizes) and rows * sizes[-1 - num_last] <= AT_ONCE:
            num_last, rows = num_last + 1, rows * sizes[-1 - num_last]
        num_first = len(sizes) - num_last
        first = _under_all(self.leak[None], self.effects[:num_first])
        made = np.empty((len(first), rows, len(self.leak)))
        for place, levels in enumerate(first):
            made[place] = _under_all(levels[None], self.effects[num_first:])[:, self.level_of]
        return made.reshape(-1)

    @property
    def is_decomposed(self) -> bool:
        """Whether the chain stores fewer values than the table, whichever parent comes first."""
        return self.num_levels() > 0

    def num_levels(self, most: float = math.inf) -> int:
        """The levels of the running maxima; zero if the table stores fewer values, or the chain more than `most`."""
        return _num_levels(len(self.leak), tuple(map(len, self.effects)), most)

    def chain_entries(self, parents: tuple[Discrete, ...], order: Sequence[int]) -> int:
        """The entries of the chain's factors, with parents in this order."""
        return _chain_entries(len(self.leak), [p.num_states for p in parents], parents[order[0]].num_states)

    def absorbing(self, known: Mapping[int, int]) -> Influences:
        """The contributions of the other parents; those of parents in known states are part of the leak."""
        rows = Influences(self.leak, tuple(self.effects[i] for i in known), tuple(range(len(self.leak))))
        leak = rows.probabilities([np.array([code]) for code in known.values()], 1)[0]
        return Influences(leak, tuple(e for i, e in enumerate(self.effects) if i not in known), self.order)

    def for_maxima(
        self, child: Discrete, parents: tuple[Discrete, ...], code: int | None, line: Line
    ) -> Decomposition | None:
        """The product of factors if the child is absent, else the chain of products; None if the table is smaller.

        Args:
            code: that of the child, if it is observed.
        """
        if child.num_states == 1 or code == self.order[0]:
            return self.absent(child, parents)
        return self.products(child, parents, line)

    def absent(self, child: Discrete, parents: tuple[Discrete, ...]) -> Decomposition:
        r"""The factors $P(Z_i = 0 \mid u_i)$, whose product is the probability that the child is absent."""
        here = np.where(np.arange(len(self.leak)) == self.order[0], self.leak[0], 0.0)
        factors = [Table((p,), effect[:, 0]) for p, effect in zip(parents, self.effects, strict=True)]
        return Decomposition((Table((child,), here), *factors))

    def products(self, child: Discrete, parents: tuple[Discrete, ...], line: Line = BY_NAME) -> Decomposition | None:
        r"""A chain of the distinct products $\prod_{j \le i} P(Z_j \le x \mid u_j)$; None if the table is smaller.

        They are those of the ratios $P(Z_j < y \mid u_j) / P(Z_j \le y \mid u_j)$ at the levels $y$ above $x$. Their
        logarithms are at most zero, so that small ones stay accurate in sums.
        """
        if len(parents) < 2:
            return None
        table = num_entries((*parents, child))
        most = min(MAX_PRODUCTS, math.isqrt(table))
        rows, ends = _stacked((self.leak[None], *self.effects))
        levels = range(1, len(self.leak))
        start, *terms = _split(np.stack([_log_ratios(rows, level) for level in levels], axis=1), ends)
        if have_many_sums(terms, most):
            return None
        order = line.order(parents)
        parents, terms = tuple(parents[i] for i in order), [terms[i] for i in order]
        sums = RunningSums.of(start[0], terms, most=most, is_relative=True)
        if sums is None or sums.entries(parents) >= table:
            return None
        return sums.chain(child, parents, lambda levels: self._levels(levels[:, None, :] + terms[-1][None]))

    def concave(self, parents: tuple[Discrete, ...], code: int) -> Concave:
        r"""The probability of one code as a function of the parents.

        $$P(X = x) = \prod_i P(Z_i \le x) \left(1 - \prod_i \frac{P(Z_i < x)}{P(Z_i \le x)}\right)$$

        With the logarithm $s$ of the last product the second factor is $\log(1 - e^s)$, which is concave. Ratios below
        $e^{-37}$ make no difference to it.
        """
        level = int(self.level_of[code])
        rows, ends = _stacked((self.leak[None], *self.effects))
        start, *terms = _split(np.maximum(_log_ratios(rows, level), -NOTHING)[:, None], ends)
        with np.errstate(divide="ignore"):
            fixed = _split(np.log(_around(rows, level)[0]), ends)
        own = (fixed[1] + fixed[0][0], *fixed[2:]) if parents else ()
        functions = _log_rest, _log_rest_slope, _log_rest_points, _log_rest_limit
        return Concave(parents, own, tuple(terms), start[0], *functions, kind=REST)

    def _levels(self, logs: Floats) -> Floats:
        r"""The child's probabilities from $\log P(X < x) / P(X \le x)$ at all levels but the first."""
        above = np.cumsum(logs[..., ::-1], axis=-1)[..., ::-1]
        upto = np.concatenate([above, np.zeros((*logs.shape[:-1], 1))], axis=-1)
        here = np.concatenate([np.ones((*logs.shape[:-1], 1)), -np.expm1(logs)], axis=-1)
        return np.asarray((np.exp(upto) * here)[..., self.level_of])

    def auxiliaries(self, child: Discrete, parents: tuple[Discrete, ...]) -> tuple[Discrete, ...]:
        """The running maxima between the parents."""
        levels = Domain.of(len(self.leak), child.name)
        return tuple(child.hidden(f"max {i}", levels) for i in range(1, len(parents)))

    def chain(self, child: Discrete, parents: tuple[Discrete, ...], order: Sequence[int]) -> Decomposition:
        """The factors (first parent, maximum), then (maximum, parent, next maximum), up to the child.

        Running maxima of contributions are not functions of the parents, so only sums allow them.

        Args:
            order: the places of the parents along the chain.
        """
        hidden = self.auxiliaries(child, parents)
        ends, parents = (*hidden, child), tuple(parents[i] for i in order)
        first, *steps = _steps([self.effects[i] for i in order])
        if steps:
            steps[-1] = steps[-1][:, :, self.level_of]
        tables = [np.tensordot(self.leak, first, 1), *steps]
        scopes = [(parents[0], ends[0]), *zip(ends, parents[1:], ends[1:], strict=False)]
        factors = [Table._make(scope, values.reshape(-1)) for scope, values in zip(scopes, tables, strict=True)]
        return Decomposition(tuple(factors), hidden)

    def irrelevant(self, parents: tuple[Discrete, ...], fixed: Mapping[Discrete, int]) -> tuple[Discrete, ...]:
        r"""The parents outside `fixed` that have no effect on the child given those.

        A parent matters at a level iff $P(Z_i \le x \mid u_i)$ varies there and everything else can be at most $x$.
        """
        if not parents:
            return ()
        sizes = [len(effect) for effect in self.effects]
        cdfs, starts = np.cumsum(np.concatenate(self.effects), axis=1), np.cumsum([0, *sizes[:-1]])
        possible = np.maximum.reduceat(cdfs, starts)
        for i, parent in enumerate(parents):
            if parent in fixed:
                possible[i] = cdfs[starts[i] + fixed[parent]]
        moves = np.maximum.reduceat(np.abs(cdfs - np.repeat(cdfs[starts], sizes, axis=0)), starts) > ROUNDING
        is_above = ~(possible > 0)
        others = (is_above.sum(axis=0) == is_above) & (np.cumsum(self.leak) > 0)
        matters = (others & moves)[:, :-1].any(axis=1).tolist()
        return tuple(p for p, told in zip(parents, matters, strict=True) if not told and p not in fixed)

    def expected(self, codes: Ints, levels: Ints, counts: Floats) -> tuple[float, list[Floats]]:
        r"""The log-likelihood of counted rows, and the expected counts of each contribution $Z_i = z$ (leak first).

        By Fisher's identity the counts divided by the parameters are the gradient.

        Args:
            codes: parent codes `[rows, parents]`.
            levels: the child's level in each row.
        """
        tables = [self.leak[None, :], *self.effects]
        columns = [np.zeros(len(levels), np.int64), *codes.T]
        reach, gap = _leave_one_out(*_around_levels(tables, columns, levels))
        child_codes = np.array(self.order)[levels]
        likelihood = self.probabilities(list(codes.T), len(levels))[np.arange(len(levels)), child_codes]
        with np.errstate(divide="ignore"):
            score = float(counts @ np.log(likelihood))
        if score == -np.inf:
            return score, [np.zeros_like(table) for table in tables]
        # A contribution is at the child's level, or below it with some other contribution at that level.
        graded, found = np.arange(len(self.leak)), [np.zeros_like(table) for table in tables]
        is_small = likelihood < SMALL
        for rows, shift in ((np.flatnonzero(~is_small), 0), (np.flatnonzero(is_small), RAISED)):
            own, level = np.ldexp(likelihood[rows], shift), levels[rows, None]
            for i, (table, column) in enumerate(zip(tables, columns, strict=True)):
                shares = (graded == level) * (reach[i, rows] / own)[:, None]
                shares += (graded < level) * (gap[i, rows] / own)[:, None]
                found[i] += np.ldexp(table, shift) * _summed(counts[rows, None] * shares, column[rows], len(table))
        return score, found

    def slopes_in_chain(self, slopes: Sequence[Floats], order: Sequence[int]) -> Floats:
        """The derivatives with respect to all contributions, one row each, given those with respect to the chain."""
        first = slopes[0]
        leak = np.tensordot(_steps([self.effects[order[0]]])[0], first, ([1, 2], [0, 1]))
        inner = self._in_levels([self.leak[:, None, None] * first[None], *slopes[1:]])
        return np.concatenate([leak[None, :], *self._in_place(_step_slopes(np.concatenate(inner, axis=1)), order)])

    def _in_levels(self, links: Sequence[Floats]) -> list[Floats]:
        """Arrays over the links of a chain, the last with the child's levels in order; of one link, as it is."""
        return [*links[:-1], links[-1][:, :, list(self.order)]] if len(links) > 1 else list(links)

    def _in_place(self, rows: Floats, order: Sequence[int]) -> list[Floats]:
        """One row per contribution, parents in this order, as arrays in their own order."""
        parts = np.split(rows, np.cumsum([len(self.effects[i]) for i in order])[:-1])
        return [parts[place] for place in np.argsort(order, kind="stable")]

    def slopes_in_table(self, slope: Floats) -> Floats:
        """The derivatives with respect to all contributions, one row each, given those with respect to the table.

        The table is linear in each contribution, so that one unit more adds the derivative.
        """
        sizes, rows = [len(effect) for effect in self.effects], self.rows
        codes = np.indices(sizes).reshape(len(sizes), math.prod(sizes))
        weights = slope.reshape(codes.shape[1], -1)
        base = self.probabilities(list(codes), codes.shape[1])
        found = np.zeros_like(rows)
        for place in np.ndindex(*rows.shape):
            more = rows.copy()
            more[place] += 1.0
            made = Influences.stacked(more, sizes, self.order).probabilities(list(codes), codes.shape[1])
            found[place] = float((weights * (made - base)).sum())
        return found

    def expected_in_table(self, marginal: Floats) -> list[Floats]:
        """The expected counts of each contribution, given the counts of joint states of parents and child."""
        codes, counts = _cells_of(marginal)
        return self.expected(codes[:, :-1], self.level_of[codes[:, -1]], counts)[1]

    def expected_in_chain(self, marginals: Sequence[Floats], order: Sequence[int]) -> list[Floats]:
        """The expected counts of each contribution, given the counts over the factors of the chain in this order.

        The running maximum acts as one more parent, whose contribution is certain.
        """
        levels = tuple(range(len(self.leak)))
        start = Influences(self.leak, (self.effects[order[0]],), levels)
        leak, first = start.expected_in_table(marginals[0])
        if len(order) == 1:
            return [leak, first]
        inner = np.concatenate(self._in_levels([np.zeros((len(levels), 0, len(levels))), *marginals[1:]]), axis=1)
        rest = _step_counts(inner, np.concatenate([self.effects[i] for i in order[1:]]))
        return [leak, *self._in_place(np.concatenate([first, rest]), order)]


NOTHING = 37.0
"""Minus the logarithm of a number that makes no difference when added to one."""

LEAST = 1e-290
"""The smallest distance from zero whose tangent has a slope in floats."""


def _stacked(tables: Sequence[Floats]) -> tuple[Floats, list[int]]:
    """All rows of some tables, and where each begins, and the last ends."""
    return np.concatenate(tables), list(itertools.accumulate(map(len, tables), initial=0))


def _split(rows: Floats, ends: Sequence[int]) -> list[Floats]:
    """Parts of some rows, from one end to the next."""
    return [rows[i:j] for i, j in itertools.pairwise(ends)]


def _around(rows: Floats, level: int) -> tuple[Floats, Floats]:
    """The probabilities of each row of contributions up to a level, and below it."""
    totals = np.cumsum(rows, axis=1)
    upto = np.ones(len(rows)) if level == rows.shape[1] - 1 else totals[:, level]
    return upto, totals[:, level - 1] if level else np.zeros(len(rows))


def _log_ratios(rows: Floats, level: int) -> Floats:
    r"""$\log P(Z < x) / P(Z \le x)$ of each row at a level; zero if both are zero.

    Where the contribution at the level is small, it is what makes the ratio differ from one.
    """
    upto, under = _around(rows, level)
    share = np.divide(rows[:, level], upto, out=np.zeros_like(upto), where=upto > 0)
    rest = np.divide(under, upto, out=np.ones_like(upto), where=upto > 0)
    with np.errstate(divide="ignore"):
        return np.where(share < 0.5, np.log1p(-np.minimum(share, 0.5)), np.log(np.minimum(rest, 1.0)))


def _log_rest(sums: Floats) -> Floats:
    r"""$\log(1 - e^s)$."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(-np.expm1(sums[..., 0])))


def _log_rest_slope(sums: Floats) -> Floats:
    r"""$-1 / (e^{-s} - 1)$."""
    return np.asarray(-1.0 / np.expm1(-sums))


def _log_rest_points(low: Floats, high: Floats, number: int) -> Floats:
    """Arguments whose distances from zero are in proportion."""
    far = min(max(-float(low[0]), LEAST), NOTHING)
    near = max(-float(high[0]), min(far, 1.0) * 1e-9)
    return -np.geomspace(far, min(near, far), number)[:, None]


def _log_rest_limit(steepest: float) -> float:
    r"""The argument $s$ at which the slope is $-t$: $e^{-s} = 1 + 1/t$."""
    return -math.log1p(1.0 / steepest)


def _summed(weights: Floats, column: Ints, num_states: int) -> Floats:
    """The rows of `weights` added up by the state in `column`."""
    sums = [np.bincount(column, weights=level, minlength=num_states) for level in weights.T]
    return np.stack(sums, axis=1)


def _under_all(levels: Floats, effects: Sequence[Floats]) -> Floats:
    """The distributions of a maximum with more contributions, one row for each joint state of their parents."""
    for effect in effects:
        levels = _acted_on(levels[:, None], effect[None]).reshape(-1, levels.shape[-1])
    return levels


def _of_all(contributions: Floats) -> Floats:
    """The distributions of the maximum of some contributions, `[contributions, rows, levels]`, two by two."""
    while (num := len(contributions)) > 1:
        pairs = _acted_on(contributions[: num // 2], contributions[num // 2 : num // 2 * 2])
        contributions = np.concatenate([pairs, contributions[-1:]]) if num % 2 else pairs
    return np.asarray(contributions[0])


def _acted_on(levels: Floats, effect: Floats) -> Floats:
    """The distributions of a maximum with one more contribution; levels are the last axis of both."""
    return np.asarray(levels * np.cumsum(effect, axis=-1) + effect * _below(levels))


@lru_cache(maxsize=2**10)
def _num_levels(k: int, cards: tuple[int, ...], most: float) -> int:
    """The levels of a chain of maxima over parents with so many states, if it is smaller than the table and `most`."""
    longest = _chain_entries(k, cards, min(cards, default=0))
    return k if len(cards) > 1 and longest < k * math.prod(cards) and longest <= most else 0


def _chain_entries(k: int, cards: Sequence[int], first: int) -> int:
    """The entries of a chain of maxima with k levels, whose first parent has so many states."""
    return k * (first + k * (sum(cards) - first))


def _below(rows: Floats) -> Floats:
    """The sums of all earlier entries of each row."""
    return np.concatenate([np.zeros((*rows.shape[:-1], 1)), np.cumsum(rows[..., :-1], axis=-1)], axis=-1)


def _steps(effects: Sequence[Floats]) -> list[Floats]:
    """The transitions `[level before, parent state, level after]` of each parent."""
    rows = np.concatenate(effects)
    k = rows.shape[1]
    above = np.arange(k)[None, :] > np.arange(k)[:, None]
    made = above[:, None, :] * rows[None] + np.eye(k)[:, None, :] * np.cumsum(rows, axis=1)[None]
    ends = list(itertools.accumulate(map(len, effects), initial=0))
    return [made[:, i:j] for i, j in itertools.pairwise(ends)]


def _step_slopes(slopes: Floats) -> Floats:
    """The derivatives with respect to a parent's contributions `[state, level]`, given those of its transitions."""
    k = slopes.shape[0]
    above = np.arange(k)[None, :] > np.arange(k)[:, None]
    same = np.einsum("aua->ua", slopes)
    from_here = np.cumsum(same[:, ::-1], axis=1)[:, ::-1]
    return np.asarray(np.einsum("bz,buz->uz", above.astype(np.float64), slopes) + from_here)


def _step_counts(marginals: Floats, rows: Floats) -> Floats:
    r"""The expected counts of a parent's contributions `[state, level]`, given those of its transitions.

    A maximum that rises does so to the contribution; one that stays at $a$ has seen any up to $a$:

    $$\sum_{b < z} M[b, u, z] + \sum_{a \ge z} M[a, u, a] \frac{P(z \mid u)}{P(Z \le a \mid u)}$$
    """
    k = rows.shape[1]
    upto = np.cumsum(rows, axis=1)[:, :, None]
    shares = np.divide(rows[:, None, :], upto, out=np.zeros((*rows.shape, k)), where=upto > 0) * np.tri(k)
    above = np.arange(k)[None, :] > np.arange(k)[:, None]
    rises = np.einsum("bz,buz->uz", above.astype(np.float64), marginals)
    return np.asarray(rises + np.einsum("aua,uaz->uz", marginals, shares))


def _around_levels(tables: list[Floats], columns: list[Ints], levels: Ints) -> tuple[Floats, Floats, Floats]:
    r"""$P(Z_i \le x)$, $P(Z_i < x)$ and $P(Z_i = x)$ for each contribution and row."""
    pairs = list(zip(tables, columns, strict=True))
    parts = (lambda table: np.cumsum(table, axis=1)), _below, (lambda table: table)
    upto, under, here = (np.array([part(table)[column, levels] for table, column in pairs]) for part in parts)
    return upto, under, here


def _leave_one_out(upto: Floats, under: Floats, here: Floats) -> tuple[Floats, Floats]:
    r"""For each contribution and row $P(\max \le x)$ and $P(\max = x)$ of all others, without differences.

    The maximum of two is at $x$ if the first is and the second at most there, or the first below and the second there.
    """
    parts = list(zip(upto, under, here, strict=True))
    nothing = np.ones_like(upto[0]), np.ones_like(upto[0]), np.zeros_like(upto[0])
    before = list(itertools.accumulate(parts[:-1], _joined, initial=nothing))
    after = list(itertools.accumulate(parts[:0:-1], _joined, initial=nothing))[::-1]
    others = [_joined(one, other) for one, other in zip(before, after, strict=True)]
    return np.array([other[0] for other in others]), np.array([other[2] for other in others])


def _joined(one: tuple[Floats, Floats, Floats], other: tuple[Floats, Floats, Floats]) -> tuple[Floats, Floats, Floats]:
    """The probabilities of a maximum of two to be at most, below and at a level."""
    return one[0] * other[0], one[1] * other[1], one[2] * other[0] + one[1] * other[2]


def _cells_of(marginal: Floats) -> tuple[Ints, Floats]:
    """The joint codes with a positive count, and their counts."""
    flat = marginal.reshape(-1)
    seen = np.flatnonzero(flat > 0)
    return np.column_stack(np.unravel_index(seen, marginal.shape)).astype(np.int64), flat[seen]
