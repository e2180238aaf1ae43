"""Orders from one side of a graph to the other, as a grid is eliminated row by row or by its diagonals."""

from __future__ import annotations

import numpy as np

from sepset.base.arraytypes import Int32s, Ints

__all__ = ["side_to_side"]


def side_to_side(indptr: Ints, indices: Int32s) -> Ints:
    """The nodes of a graph, given as compressed rows, from one side to the other, so that few are open at a time.

    Open nodes are those reached whose turn is still to come. Next is the open node with the fewest neighbors that are
    not reached yet, among these the one reached first; each connected component begins at a node far from others.
    All is counted in whole numbers and ties go by position, so that the order is the same on every machine.

    Cost: nodes and edges, times the logarithm of the number of nodes.
    Reference: King (1970); George & Liu (1979) for the first node.
    Guarantee: heuristic, deterministic.
    Tested by: graphs/test_sweeps.py::test_grids_are_swept_with_no_more_open_nodes_than_their_shorter_side
    """
    from sepset.kernels.graphs.sweeps import sweep

    return sweep(indptr, indices, np.argsort(np.diff(indptr), kind="stable"))
