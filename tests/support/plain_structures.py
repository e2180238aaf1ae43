"""Structures by plain enumeration: all DAGs, their classes, scores from counts in dictionaries. It shares no code with
the library."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache

import numpy as np

Parents = tuple[frozenset[int], ...]
Family = Callable[[int, frozenset[int]], float]


@cache
def dags(n: int) -> tuple[Parents, ...]:
    """All DAGs over n columns, as the parents of each."""
    pairs = list(itertools.permutations(range(n), 2))
    found = []
    for chosen in itertools.product((False, True), repeat=len(pairs)):
        edges = [pair for pair, is_in in zip(pairs, chosen, strict=True) if is_in]
        parents = tuple(frozenset(a for a, b in edges if b == child) for child in range(n))
        if order_of(parents) is not None:
            found.append(parents)
    return tuple(found)


def order_of(parents: Parents) -> list[int] | None:
    """A topological order; None for a cycle."""
    left, order = set(range(len(parents))), []
    while left:
        free = [v for v in left if not parents[v] & left]
        if not free:
            return None
        order.append(free[0])
        left.remove(free[0])
    return order


def key_of(parents: Parents) -> tuple[frozenset[frozenset[int]], frozenset[tuple[frozenset[int], int]]]:
    """The skeleton and the immoralities: equal for equivalent DAGs, and for these only (Verma & Pearl)."""
    skeleton = frozenset(frozenset((a, b)) for b, given in enumerate(parents) for a in given)
    colliders = frozenset(
        (frozenset((a, b)), c)
        for c, given in enumerate(parents)
        for a, b in itertools.combinations(sorted(given), 2)
        if frozenset((a, b)) not in skeleton
    )
    return skeleton, colliders


@cache
def classes(n: int) -> tuple[tuple[Parents, ...], ...]:
    """The members of every equivalence class."""
    found = defaultdict(list)
    for parents in dags(n):
        found[key_of(parents)].append(parents)
    return tuple(map(tuple, found.values()))


def class_edges(members: Sequence[Parents]) -> tuple[set[tuple[int, int]], set[frozenset[int]]]:
    """The edges that all members direct in the same way, and the others."""
    shared = set.intersection(*({(a, b) for b, given in enumerate(m) for a in given} for m in members))
    pairs = {frozenset((a, b)) for b, given in enumerate(members[0]) for a in given}
    return shared, {pair for pair in pairs if tuple(pair) not in shared and tuple(pair)[::-1] not in shared}


def num_orders(parents: Parents) -> int:
    """The number of topological orders, one by one."""
    n = len(parents)
    return sum(
        all(place[a] < place[b] for b, given in enumerate(parents) for a in given)
        for place in itertools.permutations(range(n))
    )


def has_path(parents: Parents, a: int, b: int) -> bool:
    """Whether a directed path leads from a to b."""
    return a in parents[b] or any(has_path(parents, a, p) for p in parents[b])


class Counted:
    """Scores of families of coded rows, from counts in dictionaries.

    Args:
        rows: one tuple of codes per row.
        weights: of the rows.
        cards: the number of states of each column.
    """

    def __init__(self, rows: Sequence[Sequence[int]], weights: Sequence[float], cards: Sequence[int]) -> None:
        self.rows, self.weights, self.cards = rows, weights, cards
        self.total = math.fsum(weights)

    def counts(self, child: int, parents: frozenset[int]) -> Mapping[tuple[int, ...], Counter[int]]:
        """The counts of the child's states in each context that has rows."""
        found: dict[tuple[int, ...], Counter[int]] = defaultdict(Counter)
        for row, weight in zip(self.rows, self.weights, strict=True):
            if weight > 0:
                found[tuple(row[p] for p in sorted(parents))][row[child]] += weight
        return found

    def likelihood(self, child: int, parents: frozenset[int]) -> float:
        """sum M[x, u] log(M[x, u] / M[u])."""
        tables = self.counts(child, parents).values()
        return math.fsum(m * math.log(m / sum(t.values())) for t in tables for m in t.values())

    def dimension(self, child: int, parents: frozenset[int]) -> int:
        """The free parameters of a table."""
        return (self.cards[child] - 1) * math.prod(self.cards[p] for p in parents)

    def bic(self, child: int, parents: frozenset[int]) -> float:
        """The likelihood less half the logarithm of the rows for each parameter."""
        return self.likelihood(child, parents) - 0.5 * math.log(self.total) * self.dimension(child, parents)

    def aic(self, child: int, parents: frozenset[int]) -> float:
        """The likelihood less one for each parameter."""
        return self.likelihood(child, parents) - self.dimension(child, parents)

    def evidence(self, alpha: Callable[[int, frozenset[int]], Mapping[tuple[int, ...], Sequence[float]]]) -> Family:
        """The Dirichlet evidence, with the pseudo-counts of each context that has rows."""

        def family(child: int, parents: frozenset[int]) -> float:
            total = 0.0
            for context, table in self.counts(child, parents).items():
                given = alpha(child, parents)[context]
                total += math.lgamma(sum(given)) - math.lgamma(sum(given) + sum(table.values()))
                total += sum(math.lgamma(a + table[x]) - math.lgamma(a) for x, a in enumerate(given))
            return total

        return family

    def contexts(self, parents: frozenset[int]) -> Iterator[tuple[int, ...]]:
        """All joint states of some columns."""
        return itertools.product(*(range(self.cards[p]) for p in sorted(parents)))

    def k2(self, child: int, parents: frozenset[int]) -> Mapping[tuple[int, ...], Sequence[float]]:
        """One imaginary row in every cell."""
        return {u: [1.0] * self.cards[child] for u in self.contexts(parents)}

    def bdeu(self, size: float) -> Callable[[int, frozenset[int]], Mapping[tuple[int, ...], Sequence[float]]]:
        """A sample size spread evenly over all cells."""

        def alpha(child: int, parents: frozenset[int]) -> Mapping[tuple[int, ...], Sequence[float]]:
            cells = self.cards[child] * math.prod(self.cards[p] for p in parents)
            return {u: [size / cells] * self.cards[child] for u in self.contexts(parents)}

        return alpha

    def bds(self, size: float) -> Callable[[int, frozenset[int]], Mapping[tuple[int, ...], Sequence[float]]]:
        """A sample size spread over the contexts that have rows."""

        def alpha(child: int, parents: frozenset[int]) -> Mapping[tuple[int, ...], Sequence[float]]:
            seen = self.counts(child, parents)
            return {u: [size / len(seen) / self.cards[child]] * self.cards[child] for u in seen}

        return alpha

    def bde(
        self, size: float, joint: np.ndarray
    ) -> Callable[[int, frozenset[int]], Mapping[tuple[int, ...], Sequence[float]]]:
        """A sample size spread as a joint distribution of all columns is."""

        def alpha(child: int, parents: frozenset[int]) -> Mapping[tuple[int, ...], Sequence[float]]:
            found = {u: [0.0] * self.cards[child] for u in self.contexts(parents)}
            for cell in np.ndindex(joint.shape):
                found[tuple(cell[p] for p in sorted(parents))][cell[child]] += size * float(joint[cell])
            return found

        return alpha

    def left_out(self, child: int, parents: frozenset[int]) -> float:
        """Each row predicted from all others, with one imaginary row in every cell; weights are whole."""
        total = 0.0
        for table in self.counts(child, parents).values():
            size = sum(table.values())
            total += sum(m * math.log((m - 1 + 1) / (size - 1 + self.cards[child])) for m in table.values())
        return total


def total(family: Family, parents: Parents) -> float:
    """The score of a DAG."""
    return math.fsum(family(child, given) for child, given in enumerate(parents))


def bge(values: np.ndarray) -> Family:
    """The evidence of Gaussian columns, with one imaginary row behind the mean, and the means of the columns."""
    size, n = values.shape
    freedom = n + 2
    scale = (freedom - n - 1) / 2
    centered = values - values.mean(0)
    posterior = scale * np.eye(n) + centered.T @ centered

    def log_gamma(count: int, x: float) -> float:
        return count * (count - 1) / 4 * math.log(math.pi) + sum(math.lgamma(x - k / 2) for k in range(count))

    def subset(chosen: frozenset[int]) -> float:
        k = len(chosen)
        if not k:
            return 0.0
        of = np.ix_(sorted(chosen), sorted(chosen))
        before, after = (freedom - n + k) / 2, (size + freedom - n + k) / 2
        return (
            k / 2 * math.log(1 / (size + 1)) + log_gamma(k, after) - log_gamma(k, before)
            - k * size / 2 * math.log(math.pi) + before * k * math.log(scale)
            - after * float(np.linalg.slogdet(posterior[of])[1])
        )  # fmt: skip

    return lambda child, parents: subset(parents | {child}) - subset(parents)
