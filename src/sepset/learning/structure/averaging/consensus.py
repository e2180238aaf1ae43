r"""Consensus graphs: edges whose probability or confidence exceeds a threshold, given or read from the data."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.base.checks import number, one_axis
from sepset.base.foreign import translated
from sepset.errors import ArgumentError
from sepset.graphs.graph import DAG


@translated
def data_driven_threshold(strengths: Floats) -> float:
    r"""The confidence above which an edge counts as significant.

    $$\hat t = \arg\min_t \int |F_{\hat p}(x) - F_{\tilde p(t)}(x)| \, dx$$

    The strengths are compared with those of a graph that is sure of itself: a share $t$ of them zero, the others one.

    Args:
        strengths: one per pair of columns.

    Reference: Scutari & Nagarajan (2013).
    Guarantee: the minimum of the distance above.
    Tested by: learning/structure/averaging/test_consensus.py::test_thresholds

    >>> data_driven_threshold(np.array([0.0, 0.01, 0.02, 0.95, 1.0]))
    0.02
    """
    found = np.sort(one_axis("strengths", strengths, error=ArgumentError))
    if not len(found):
        return 0.5
    points = np.concatenate([[0.0], found, [1.0]])
    widths = np.diff(points)
    below = np.arange(len(found) + 1) / len(found)  # the distribution function on each piece
    shares = np.unique(below)
    distances = [(widths * np.abs(below - t)).sum() for t in shares]
    share = shares[int(np.argmin(distances))]
    place = round(share * len(found))
    return float(found[place - 1]) if place > 0 else 0.0


@translated
def consensus_graph(names: Sequence[str], edges: Floats, *, threshold: float | None = None) -> DAG:
    """The DAG of the edges whose pair is adjacent with more than this probability, in their more probable direction.

    Edges are added from the most probable on; one that would close a cycle is left out.

    Args:
        names: of the columns.
        edges: the probability of each edge, from row to column.
        threshold: on the probability that a pair is adjacent; read from the data by default.

    Reference: Scutari & Nagarajan (2013); Friedman, Goldszmidt & Wyner (1999).
    Guarantee: acyclic.
    Tested by: learning/structure/averaging/test_consensus.py::test_no_cycles

    >>> consensus_graph("ab", np.array([[0.0, 0.7], [0.2, 0.0]]), threshold=0.5)
    DAG(a -> b)
    """
    n = len(names)
    if np.shape(edges) != (n, n):
        raise ArgumentError(f"edges= has a row and a column for each of {n} names; found the shape {np.shape(edges)}.")
    pairs = edges + edges.T
    upper = np.triu_indices(n, 1)
    if threshold is None:
        limit = data_driven_threshold(np.minimum(pairs[upper], 1.0))
    else:
        limit = number("threshold", threshold, least=0)
    chosen = [
        (-float(edges[a, b]), a, b)
        for a in range(n)
        for b in range(n)
        if a != b and pairs[a, b] > limit and (edges[a, b], -a) >= (edges[b, a], -b)
    ]
    reach = np.eye(n, dtype=np.bool_)
    found = []
    for _, a, b in sorted(chosen):
        if not reach[b, a]:
            found.append((names[a], names[b]))
            reach |= np.outer(reach[:, a], reach[b])
    return DAG(names, found)
