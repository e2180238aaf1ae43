"""How much of a true graph a learned one recovers, up to I-equivalence; and how sure resampling makes us of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Set
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

import numpy as np

from sepset.base.checks import generator, whole
from sepset.base.display import Shown
from sepset.base.foreign import translated
from sepset.base.text import listing
from sepset.data.dataset import Dataset
from sepset.errors import ModelError, ScopeError
from sepset.graphs.base import Graph
from sepset.graphs.equivalence import cpdag, immoralities
from sepset.graphs.graph import DAG, MixedGraph, UndirectedGraph, skeleton
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
    def of(cls, truth: Set[Hashable], found: Set[Hashable]) -> Overlap:
        """The overlap of two sets."""
        return cls(len(truth & found), len(found - truth), len(truth - found))

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
    marks = _marks(truth), _marks(learned)
    return Recovery(
        Overlap.of(_pairs(truth), _pairs(learned)),
        Overlap.of(_colliders(truth), _colliders(learned)),
        distance=len(marks[0] ^ marks[1]) - _turned(*marks),
    )


def _pairs(graph: Graph) -> set[Hashable]:
    return {frozenset(edge) for edge in skeleton(graph).edges}


def _colliders(graph: Graph) -> set[Hashable]:
    return {(frozenset((x, y)), z) for x, z, y in immoralities(graph)}


def _marks(graph: Graph) -> set[Hashable]:
    """The edges of the class PDAG: arrows as pairs, lines as sets."""
    pdag = cpdag(graph) if isinstance(graph, DAG) else graph
    return {*pdag.directed, *(frozenset(edge) for edge in pdag.undirected)}


def _turned(ours: set[Hashable], theirs: set[Hashable]) -> int:
    """Pairs that both join, differently: they are in the symmetric difference twice."""
    joined: list[set[frozenset[Any]]] = [{frozenset(m) for m in marks} for marks in (ours - theirs, theirs - ours)]  # type: ignore[call-overload]
    return len(joined[0] & joined[1])


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
