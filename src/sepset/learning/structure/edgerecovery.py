r"""How well probabilities of edges tell the edges of a true graph from the others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Protocol

import numpy as np

from sepset.base.arraytypes import Bools, Floats
from sepset.base.display import Shown
from sepset.base.foreign import translated
from sepset.base.text import brief, listing
from sepset.errors import ArgumentError, ModelError
from sepset.graphs.graph import DAG, UndirectedGraph
from sepset.learning.assessment import Assessment
from sepset.learning.evaluation.calibration import CalibrationResult, reliability_curve
from sepset.models.model import offers


class RatedEdges(Protocol):
    """Names of columns, and the probability of the edge from each row to each column."""

    @property
    def names(self) -> Sequence[str]:
        """The names of the columns."""

    @property
    def edges(self) -> Floats:
        """The probability of the edge from each row to each column."""


@dataclass(frozen=True, repr=False)
class EdgeRecoveryResult(Assessment):
    r"""How well probabilities of edges agree with a true graph.

    Attributes:
        area: under the ROC curve: the probability that a true edge is more probable than another pair; NaN where all
            or none of the pairs are edges.
        precision: the average precision: the mean over true edges of the share of true ones among all that are at
            least as probable; NaN without edges.
        brier: the mean square of probability minus truth.
        calibration: predicted probabilities against how often they came true.
    """

    area: float
    precision: float
    _: KW_ONLY
    brier: float
    calibration: CalibrationResult

    def __repr__(self) -> str:
        rated = f"area {self.area:.4g}, average precision {self.precision:.4g}, Brier score {self.brier:.4g}"
        return f"EdgeRecoveryResult({rated})"

    def _shown(self) -> Shown:
        rows = [
            ("area under the ROC curve", f"{self.area:.4f}"),
            ("average precision", f"{self.precision:.4f}"),
            ("Brier score", f"{self.brier:.4f}"),
            ("calibration error", f"{self.calibration.expected_error:.4f}"),
        ]
        return Shown((), rows, "probabilities of edges")


@translated
def edge_recovery(truth: DAG | UndirectedGraph, found: RatedEdges, *, is_directed: bool = False) -> EdgeRecoveryResult:
    """How well probabilities of edges tell the edges of a true graph from other pairs.

    Args:
        truth: the graph that data came from.
        found: probabilities of edges over the same nodes, such as the result of `structure_posterior`.
        is_directed: whether an edge counts in its direction only; by default pairs count as joined either way.

    Reference: Friedman & Koller (2003), section 5; Koller & Friedman, section 18.5.
    Guarantee: exact.
    Tested by: learning/structure/test_edgerecovery.py::test_areas_and_precisions_by_counting

    >>> from types import SimpleNamespace
    >>> found = SimpleNamespace(names="ab", edges=np.array([[0.0, 0.5], [0.25, 0.0]]))
    >>> round(edge_recovery(DAG.parse("a -> b"), found).brier, 4)
    0.0625
    """
    if not offers(found, "names", "edges"):
        raise ArgumentError(
            f"found= has probabilities of edges, such as the result of structure_posterior; found {brief(found)}."
        )
    if set(truth.nodes) != set(found.names):
        differ = sorted(set(truth.nodes) ^ set(found.names))
        raise ModelError(f"Edges compare over the same nodes; they differ in {listing(differ)}.")
    if is_directed and not isinstance(truth, DAG):
        raise ArgumentError("is_directed=True needs a true DAG; found an undirected graph.")
    joined, chances = _pairs(truth, found, is_directed)
    return EdgeRecoveryResult(
        _area(joined, chances),
        _average_precision(joined, chances),
        brier=float(np.mean((chances - joined) ** 2)) if len(joined) else math.nan,
        calibration=reliability_curve(chances, joined, what="edges"),
    )


def _pairs(truth: DAG | UndirectedGraph, found: RatedEdges, is_directed: bool) -> tuple[Bools, Floats]:
    """For each pair whether it is joined, and the probability of it."""
    place = {name: k for k, name in enumerate(found.names)}
    joined = np.zeros((len(place), len(place)), np.bool_)
    for a, b in truth.edges:
        joined[place[a], place[b]] = True
    chances = np.asarray(found.edges, np.float64)
    if is_directed:
        return joined[~np.eye(len(joined), dtype=np.bool_)], chances[~np.eye(len(joined), dtype=np.bool_)]
    upper = np.triu_indices(len(joined), 1)
    return (joined | joined.T)[upper], np.minimum(1.0, (chances + chances.T)[upper])


def _area(joined: Bools, chances: Floats) -> float:
    """The share of pairs (an edge, another pair) in order; ties count half."""
    ours, others = np.sort(chances[joined]), np.sort(chances[~joined])
    if not len(ours) or not len(others):
        return math.nan
    below, up_to = (np.searchsorted(others, ours, side=side) for side in ("left", "right"))
    return float((below + up_to).sum() / (2.0 * len(ours) * len(others)))


def _average_precision(joined: Bools, chances: Floats) -> float:
    ours, everything = np.sort(chances[joined]), np.sort(chances)
    if not len(ours):
        return math.nan
    right = len(ours) - np.searchsorted(ours, ours, side="left")
    listed = len(everything) - np.searchsorted(everything, ours, side="left")
    return float(np.mean(right / listed))
