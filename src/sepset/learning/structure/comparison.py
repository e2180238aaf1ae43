"""How much of a true graph a learned one recovers, up to I-equivalence; and how sure resampling makes us of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

import numpy as np

from sepset.base.arraytypes import Ints
from sepset.base.checks import generator, whole
from sepset.base.display import Shown
from sepset.base.foreign import translated
from sepset.base.text import listing
from sepset.data.dataset import Dataset
from sepset.errors import ModelError, ScopeError
from sepset.graphs.base import Graph
from sepset.graphs.equivalence import cpdag, immorality_ids
from sepset.graphs.graph import DAG, MixedGraph, UndirectedGraph
from sepset.learning.assessment import Assessment


class Overlap(NamedTuple):
    """How two sets agree: what is in both, only in the learned one, and only in the true one.

    >>> Overlap(3, 1, 2).f1.__round__(4)
    0.6667
    """

    right: int
    extra: int
    missing: int

    @classmethod
    def of(cls, truth: Ints, found: Ints) -> Overlap:
        """The overlap of two sets of numbers."""
        right = len(np.intersect1d(truth, found, assume_unique=True))
        return cls(right, len(found) - right, len(truth) - right)

    @property
    def precision(self) -> float:
        """The share of what was learned that is true; one where nothing was learned."""
        return self.right / (self.right + self.extra) if self.right + self.extra else 1.0

    @property
    def recall(self) -> float:
        """The share of what is true that was learned; one where nothing was to learn."""
        return self.right / (self.right + self.missing) if self.right + self.missing else 1.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        total = 2 * self.right + self.extra + self.missing
        return 2 * self.right / total if total else 1.0


@dataclass(frozen=True, repr=False)
class Recovery(Assessment):
    """How a learned graph compares with the true one; I-equivalent graphs count as equal.

    Attributes:
        skeleton: the adjacencies.
        immoralities: the v-structures.
        distance: the structural Hamming distance of the class PDAGs: how many pairs of nodes are joined differently
            (not at all, by a line, or by an arrow one way or the other).

    >>> compare(DAG.parse("a -> b -> c"), DAG.parse("a <- b <- c")).distance
    0
    """

    skeleton: Overlap
    immoralities: Overlap
    _: KW_ONLY
    distance: int

    def __repr__(self) -> str:
        skeleton, immoralities = f"skeleton F1 {self.skeleton.f1:.4g}", f"immoralities F1 {self.immoralities.f1:.4g}"
        return f"Recovery(distance {self.distance}; {skeleton}; {immoralities})"

    def _shown(self) -> Shown:
        parts = (("skeleton", self.skeleton), ("immoralities", self.immoralities))
        rows = [(name, *(f"{x:.4f}" for x in (part.precision, part.recall, part.f1))) for name, part in parts]
        return Shown(("part", "precision", "recall", "F1"), rows, f"structural Hamming distance {self.distance}")


@translated
def compare(truth: DAG | MixedGraph | UndirectedGraph, learned: DAG | MixedGraph | UndirectedGraph) -> Recovery:
    """How much of a true graph a learned one recovers, counted between their I-equivalence classes.

    Args:
        truth: the graph that data came from, or its class PDAG; or an undirected graph.
        learned: a DAG or a class PDAG over the same nodes; an undirected graph if the truth is one.

    Reference: Koller & Friedman, section 16.2.3; Tsamardinos, Brown & Aliferis (2006) for the distance.
    Guarantee: exact.
    Tested by: learning/structure/test_comparison.py::test_counts_by_pairs

    >>> found = compare(DAG.parse("a -> b <- c; b -> d"), DAG.parse("a -> b -> c; d"))
    >>> found.skeleton, found.immoralities, found.distance
    (Overlap(right=2, extra=0, missing=1), Overlap(right=0, extra=0, missing=1), 3)
    """
    if set(truth.nodes) != set(learned.nodes):
        differ = sorted(set(truth.nodes) ^ set(learned.nodes))
        raise ModelError(f"Graphs compare over the same nodes; they differ in {listing(differ)}.")
    if isinstance(truth, UndirectedGraph) != isinstance(learned, UndirectedGraph):
        raise ModelError(
            "An undirected graph compares with another. The undirected graph of a DAG's distribution is moralize(dag)."
        )
    place = truth.index
    own = _Numbered.of(truth, np.arange(len(truth)))
    other = _Numbered.of(learned, np.array([place[name] for name in learned.nodes], np.int64))
    return Recovery(
        Overlap.of(own.pairs, other.pairs), Overlap.of(own.colliders, other.colliders), distance=_distance(own, other)
    )


class _Numbered(NamedTuple):
    """The parts of a graph that are compared, each thing as one number.

    Attributes:
        pairs: the adjacencies.
        colliders: the immoralities.
        arrows: the directed edges of the class PDAG.
        lines: its undirected edges.
    """

    pairs: Ints
    colliders: Ints
    arrows: Ints
    lines: Ints

    @classmethod
    def of(cls, graph: DAG | MixedGraph | UndirectedGraph, place: Ints) -> _Numbered:
        """The numbers of a graph, whose nodes have these numbers."""
        num, pdag = len(graph), cpdag(graph) if isinstance(graph, DAG) else graph
        x, z, y = place[immorality_ids(graph)].T
        (tails, heads), lines = place[pdag._directed].T, _joined(place[pdag._undirected], num)
        pairs = np.unique(np.concatenate([lines, _joined(place[pdag._directed], num)]))
        return cls(pairs, _joined(np.stack([x, y], axis=1), num) * num + z, tails * num + heads, lines)


def _joined(pairs: Ints, num: int) -> Ints:
    """Each unordered pair as one number."""
    low, high = np.sort(pairs, axis=1).T
    return np.asarray(low * num + high)


def _distance(truth: _Numbered, found: _Numbered) -> int:
    """The number of pairs that are joined in one graph alone, or in both but not alike."""
    joined = Overlap.of(truth.pairs, found.pairs)
    alike = Overlap.of(truth.arrows, found.arrows).right + Overlap.of(truth.lines, found.lines).right
    return joined.extra + joined.missing + joined.right - alike


def _marks(graph: Graph) -> set[Hashable]:
    """The edges of the class PDAG: arrows as pairs, lines as sets."""
    pdag = cpdag(graph) if isinstance(graph, DAG) else graph
    return {*pdag.directed, *(frozenset(edge) for edge in pdag.undirected)}


@translated
def feature_confidence(
    learn: Callable[[Dataset], DAG],
    data: Dataset,
    *,
    features: Callable[[DAG], Iterable[Hashable]] | None = None,
    num_draws: int = 100,
    seed: int | np.random.Generator = 0,
) -> dict[Any, float]:
    r"""How often each feature of a learned graph returns when the rows are resampled: the bootstrap confidence.

    $$\hat c(f) = \frac1B \sum_b 1\{f \in G(\mathcal D^{*b})\}$$

    Args:
        learn: makes a graph from a dataset.
        data: the rows.
        features: what to look for in a graph; by default the edges of its class PDAG, arrows as pairs `(x, y)` and
            lines as frozensets.
        num_draws: how many resamples.
        seed: a number or a generator.

    Returns the features that came at least once, the most frequent first.

    Reference: Koller & Friedman, section 16.2.3; Friedman, Goldszmidt & Wyner (1999).
    Guarantee: deterministic.
    Tested by: learning/structure/test_comparison.py::test_confidence_is_the_frequency_over_resamples

    >>> rows = Dataset({"a": [0, 1] * 10, "b": [0, 1] * 10})
    >>> feature_confidence(lambda d: DAG.parse("a -> b"), rows, num_draws=5)[frozenset("ab")]
    1.0
    """
    whole("num_draws", num_draws, least=1)
    if not data.num_rows:
        raise ScopeError("Resampling needs rows; there are none.")
    rng = generator(seed)
    asked = _marks if features is None else features
    counts: Counter[Any] = Counter()
    for _ in range(num_draws):
        counts.update(set(asked(learn(data.take(rng.integers(0, data.num_rows, data.num_rows))))))
    ordered = sorted(counts.items(), key=lambda item: (-item[1], _shown(item[0])))
    return {feature: count / num_draws for feature, count in ordered}


def _shown(feature: Hashable) -> str:
    return repr(sorted(map(str, feature))) if isinstance(feature, frozenset) else repr(feature)
