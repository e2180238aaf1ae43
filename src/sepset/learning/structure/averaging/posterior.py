r"""`StructurePosteriorResult`: probabilities of edges, paths and other features, averaged over structures.

$$P(f \mid \mathcal D) = \sum_{\mathcal G} P(\mathcal G \mid \mathcal D) \, f(\mathcal G)$$
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.arraytypes import Bytes, Floats
from sepset.base.checks import is_number
from sepset.base.display import Report, Shown, plain
from sepset.base.extras import FrameKind, frame
from sepset.base.lazy import lazy
from sepset.base.text import brief, described, nearest
from sepset.errors import ArgumentError, NotApplicable, ScopeError
from sepset.graphs.graph import DAG
from sepset.inference.result import IterativeResult
from sepset.learning.structure.averaging.consensus import consensus_graph
from sepset.learning.structure.averaging.prediction import averaged_predictions
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.learned import StructureTask

PIECE_CELLS = 1 << 22
"""Pairs of columns, times structures, whose paths are found at a time."""

MOST_SHOWN = 30
"""The number of edges that are listed when a posterior is printed."""

LARGEST_R_HAT = 1.1
"""The R-hat of the scores of chains above which they have not converged."""

LARGEST_SCATTER = 0.2
"""The difference of an edge's probability between chains above which they disagree."""

FEWEST_DRAWS = 50.0
"""The effective number of draws below which averages over them are doubtful."""

Feature = str | Sequence[str] | Callable[[DAG], Any]
"""An edge as "a -> b" or a pair of names, a path as "a ~> b", or a function of a graph."""


class WeightedGraph(NamedTuple):
    """A structure with its share of the posterior.

    Attributes:
        graph: the structure.
        weight: its probability, or its share of the draws.
    """

    graph: DAG
    weight: float


class StructureAveraging(Protocol):
    """A frozen value of settings that can average over structures."""

    def average(self, task: StructureTask) -> StructurePosteriorResult:
        """The posterior over structures."""


@dataclass(frozen=True, eq=False, repr=False)
class StructurePosteriorResult(Report, IterativeResult):
    """The posterior over structures: probabilities of edges and other features, and the structures themselves.

    Attributes:
        columns: the data.
        edges: the probability of the edge from each row to each column, in column order.
        parents: structures as arrays of edges, from row to column; all, the best ones, or draws.
        weights: one per structure; they sum to one.
        log_evidence: the logarithm of the sum over structures; NaN where it is not known.
        diagnostics: of chains: `r_hat`, `scatter`, `acceptance`, `edges_by_chain`.

    >>> from sepset.learning.structure.averaging.exhaustive import Exhaustive
    >>> from sepset.cpds.priors.dirichlet import BDeu
    >>> rows = {"a": [0, 0, 1, 1] * 5, "b": [0, 0, 1, 1] * 5, "c": [0, 1, 0, 1] * 5}
    >>> found = Exhaustive().average(StructureTask(Columns.of(rows), BDeu(1.0)))
    >>> round(found.probability("a -> b"), 3), round(found.probability("a ~> b"), 3)
    (0.5, 0.5)
    >>> found.consensus(0.5)
    DAG(a -> b; c)
    """

    columns: Columns
    edges: Floats
    parents: Bytes = field(kw_only=True)
    weights: Floats = field(kw_only=True)
    log_evidence: float = field(default=math.nan, kw_only=True)
    diagnostics: Mapping[str, Any] = field(default_factory=dict, kw_only=True)
    task: StructureTask = field(kw_only=True)
    paths_of: Callable[[], Floats] | None = field(default=None, kw_only=True)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self.columns.names

    @lazy
    def warnings(self) -> tuple[str, ...]:
        """The reasons to doubt the probabilities: chains that disagree, or few draws; shown when it is printed."""
        found, hat = self.diagnostics, self.diagnostics.get("r_hat", 1.0)
        scatter, draws = found.get("scatter", 0.0), found.get("effective_draws", math.inf)
        told = []
        if not hat <= LARGEST_R_HAT:
            few = "have too few draws to be compared" if math.isnan(hat) else f"have not converged: R-hat is {hat:.2f}"
            told.append(f"The chains {few}. Increase num_samples=.")
        if scatter > LARGEST_SCATTER:
            told.append(f"Chains disagree about an edge by {scatter:.2f}. Increase num_samples=, or use temperatures=.")
        if draws < FEWEST_DRAWS:
            told.append(f"The draws are worth {draws:.0f} of equal weight. Increase num_samples=.")
        return tuple(told)

    @lazy
    def paths(self) -> Floats:
        """The probability of a directed path from each row to each column; ones on the diagonal."""
        if self.paths_of is not None:
            return self.paths_of()
        self._require_graphs("paths")
        size = max(1, PIECE_CELLS // max(1, len(self.names) ** 2))
        pieces = (slice(k, k + size) for k in range(0, len(self.weights), size))
        found = sum(np.tensordot(self.weights[piece], reachability(self.parents[piece]), 1) for piece in pieces)
        return np.asarray(found)

    @lazy
    def graphs(self) -> tuple[WeightedGraph, ...]:
        """The distinct structures with their weights, the most probable first."""
        self._require_graphs("graphs")
        total: dict[bytes, float] = {}
        for graph, weight in zip(self.parents, self.weights.tolist(), strict=True):
            key = graph.tobytes()
            total[key] = total.get(key, 0.0) + weight
        ranked = sorted(total.items(), key=lambda item: -item[1])
        return tuple(WeightedGraph(self._dag(key), weight) for key, weight in ranked)

    def _dag(self, key: bytes) -> DAG:
        n = len(self.names)
        edges = np.argwhere(np.frombuffer(key, np.uint8).reshape(n, n))
        return DAG(self.names, [(self.names[a], self.names[b]) for a, b in edges])

    def probability(self, feature: Feature) -> float:
        """The posterior expectation of a feature.

        Args:
            feature: an edge as "a -> b" or ("a", "b"), a directed path as "a ~> b", or a function of a DAG, whose
                values are averaged over `graphs`.
        """
        if callable(feature):
            return float(sum(weight * _number(feature(graph)) for graph, weight in self.graphs))
        table, pair = self.edges, feature
        if isinstance(feature, str):
            path = "~>" in feature
            table = self.paths if path else self.edges
            pair = [part.strip() for part in feature.split("~>" if path else "->")]
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise ArgumentError(f"A feature is 'a -> b', 'a ~> b', a pair of names, or a function; found {feature!r}.")
        return float(table[self._place(pair[0]), self._place(pair[1])])

    def _place(self, name: object) -> int:
        if name not in self.names:
            raise ScopeError(f"There is no column {name!r}.{nearest(name, self.names)}")
        return self.names.index(str(name))

    def consensus(self, threshold: float | None = None) -> DAG:
        """The DAG of the edges whose pair is adjacent with more than this probability; see `consensus_graph`.

        Args:
            threshold: read from the probabilities themselves by default.
        """
        return consensus_graph(self.names, self.edges, threshold=threshold)

    def predict(self, target: str, data: object) -> Floats:
        """The probability of each state of a column in new rows, averaged over structures and parameters.

        Args:
            target: the name of a discrete column.
            data: rows with all other columns.
        """
        self._place(target)
        self._require_graphs("predictions")
        return averaged_predictions(self.task, self.graphs, target, data)

    def log_predictive(self, data: object) -> float:
        r"""The log probability of further rows given these: $\log P(\mathcal D, \mathcal D') - \log P(\mathcal D)$.

        Needs a score that is an evidence, such as `BDeu`, and a method that sums over structures exactly.
        """
        from sepset.learning.structure.averaging.prediction import extended_task

        if math.isnan(self.log_evidence):
            raise NotApplicable(
                f"{described(self.method)} does not know the evidence. Use an exact method, or `predict`."
            )
        method: StructureAveraging = self.method  # type: ignore[assignment]  # made by one
        return method.average(extended_task(self.task, data)).log_evidence - self.log_evidence

    def _require_graphs(self, what: str) -> None:
        if not len(self.parents):
            raise NotApplicable(f"{self.method!r} keeps no structures, and so has no {what}.")

    def to_frame(self, kind: FrameKind = "pandas") -> Any:
        """A data frame with one row per edge: source, target, probability, the most probable first."""
        rows = list(self._ranked())
        columns = zip(*rows, strict=True) if rows else ((), (), ())
        return frame({n: list(c) for n, c in zip(("source", "target", "probability"), columns, strict=True)}, kind)

    def to_dict(self) -> dict[str, Any]:
        """The names and the probabilities of edges in plain values, as `to_json` writes them."""
        edges = [dict(zip(("source", "target", "probability"), row, strict=True)) for row in self._ranked()]
        about = {"log_evidence": self.log_evidence, "diagnostics": self.diagnostics, "method": self.method}
        ends = {"guarantees": self.guarantees, "status": self.status, "warnings": self.warnings}
        return {"names": list(self.names), "edges": edges, **plain({**about, **ends})}

    def _ranked(self) -> Iterator[tuple[str, str, float]]:
        order = np.argsort(-self.edges, axis=None, kind="stable")
        for place in order.tolist():
            a, b = divmod(place, len(self.names))
            if a != b:
                yield self.names[a], self.names[b], float(self.edges[a, b])

    def __repr__(self) -> str:
        doubts = "".join(f"; {warning}" for warning in self.warnings)
        return f"StructurePosteriorResult({len(self.names)} columns; {self.method!r}; {self.status.value}{doubts})"

    def _shown(self) -> Shown:
        rows = [(a, b, f"{p:.4f}") for a, b, p in list(self._ranked())[:MOST_SHOWN]]
        caption = "\n".join(self.warnings)
        return Shown(("source", "target", "probability"), rows, described(self.method), caption, words=2)


def reachability(graphs: Bytes) -> Floats:
    """1 where there is a directed path from row to column, the diagonal included; of one graph, or of each of several.

    >>> reachability(np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], np.uint8))[0].tolist()
    [1.0, 1.0, 1.0]
    """
    size = graphs.shape[-1]
    reach = (np.asarray(graphs) > 0) | np.eye(size, dtype=np.bool_)
    for k in range(size):
        reach |= reach[..., :, k, None] & reach[..., None, k, :]
    return reach.astype(np.float64)


def as_edges(parents: ArrayLike, num_columns: int) -> Bytes:
    """Structures given as one mask of parents per column, as arrays of edges from row to column."""
    masks = np.asarray(parents, np.int64).reshape(-1, num_columns)
    bits = masks[:, None, :] >> np.arange(num_columns)[None, :, None] & 1
    return bits.astype(np.uint8)


def _number(found: object) -> float:
    if isinstance(found, bool | np.bool_) or is_number(found):
        return float(found)  # type: ignore[arg-type]  # as asked
    raise ArgumentError(f"A feature is a function of a DAG that gives a number; found {brief(found)}.")
