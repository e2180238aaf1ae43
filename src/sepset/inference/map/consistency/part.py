"""The search for the best assignments of one connected part, best first among open nodes, depth first below each."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from functools import partial

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.base.threads import interruptible
from sepset.inference.map.consistency.wholecosts import WholeCosts
from sepset.kernels.map.costs import FORBIDDEN, LOWER, SEEN, SETTLED, SWEPT, UPPER
from sepset.kernels.map.depthfirst import BACKTRACKS, ENTER, LEAVE, NODES, RENEW, Search, depth_first
from sepset.kernels.map.sweeps import sweep
from sepset.kernels.map.virtualarcs import virtually_consistent

FIRST, EACH, PRICE = 40, 10, 0.4
"""The sweeps before a search, those at each open node, and the time of an entry in a sweep as a part of that in the
search."""

SHORT, CROWD = 64, 4096
"""The backtracks of a depth-first search from one open node, which grow as the open nodes exceed the second number."""

NOWHERE = np.zeros(0, np.int64)
"""The path to the root."""

Node = tuple[int, int, Ints]
"""A lower bound, a number that says which of equal ones is taken first, and decisions."""


@dataclass(frozen=True, eq=False)
class Progress:
    """How far the search of a part is.

    Attributes:
        best: the units of the best assignments, in increasing order; as many as forbid an assignment where fewer are
            known.
        found: their codes, one row after the other.
        nodes: the open nodes, as a heap.
        lower: a lower bound of all assignments.
        activity, supports: what choices depend on.
        counters: the numbers of backtracks and nodes so far, the variable of the last conflict, and the numbers of
            sweeps, of entries seen by the search, and whether more sweeps would not help.
        root: the lower bound of the network before any decision.
        cells, live: its costs, and the states that are left.
    """

    best: Ints
    found: Ints
    nodes: tuple[Node, ...]
    lower: int
    activity: Floats
    supports: Ints
    counters: Ints
    root: int
    cells: Ints
    live: Bytes

    @property
    def is_done(self) -> bool:
        """Whether no node is open."""
        return not self.nodes


class Part:
    """A network of whole costs, and the room for its search.

    Sweeps of messages raise the lower bound of the root: a few before the search, and as many again whenever the search
    has taken as long as all of them; and a few raise that of each open node before the search below it.

    Args:
        costs: the network.
        k: the number of best assignments.
        codes: an assignment that is known, in the order of the network.
        sweeps: the most sweeps.
        virtual: the most rises of the lower bound by virtual arc consistency.
    """

    def __init__(self, costs: WholeCosts, k: int, codes: Ints, sweeps: int, virtual: int = 0) -> None:
        n, size, net = len(costs.variables), len(costs.unary) + 3, costs.network
        self.costs, self.state, self.loose, self.sweeps = costs, costs.state(), costs.loose(), sweeps
        best, found = np.full(k, costs.most, np.int64), np.tile(codes, k)
        decisions, bounds, heights, lowers = np.zeros((4, size), np.int64)
        counters = np.array([0, 0, -1], np.int64)
        room = np.zeros(n, np.int64), np.zeros(n)
        self.search = Search(decisions, bounds, heights, lowers, best, found, *room, counters)
        sizes = np.diff(np.concatenate([net.places, [len(net.tables)]]))
        self.per_sweep = PRICE * float((sizes * np.diff(net.starts)).sum())
        if k == 1:
            best[0] = costs.cost(codes)
            self.state.numbers[UPPER] = best[0]
        self.is_open = interruptible(partial(self._raised, virtual), is_partial=True)

    def _raised(self, virtual: int, cancel: Bytes) -> bool:
        """Whether some assignment may be below the upper bound, after the lower bound of the root was raised.

        Args:
            virtual: the most rises by virtual arc consistency.
        """
        network, state, search = self.costs.network, self.state, self.search
        swept = int(state.numbers[SWEPT])
        sweeps, is_open = min(max(FIRST, swept), self.sweeps - swept), True
        if sweeps:
            is_open = bool(sweep(network, state, self.loose, sweeps, cancel))
        if virtual and is_open and not cancel[0]:
            is_open = bool(virtually_consistent(network, state, self.costs.virtual(), virtual, cancel))
        search.lowers[-1] = state.numbers[LOWER]
        is_open = is_open and bool(depth_first(network, state, search, NOWHERE, RENEW, cancel))
        self.root = state.cells.copy(), state.live.copy()
        return is_open

    def _is_due(self) -> bool:
        """Whether the search has taken as long as all sweeps, and more of them may help."""
        numbers = self.state.numbers
        is_over = numbers[SETTLED] or numbers[SWEPT] >= self.sweeps
        return not is_over and bool(numbers[SEEN] >= self.per_sweep * numbers[SWEPT])

    def begun(self) -> Progress:
        """The search before its first node."""
        search, root = self.search, int(self.search.lowers[-1])
        is_open = self.is_open and root < search.best[-1]
        nodes = ((root, 0, np.zeros(0, np.int64)),) if is_open else ()
        lower = root if is_open else int(search.best[0])
        return self._progress(nodes, lower)

    def advanced(self, progress: Progress, backtracks: int, cancel: Bytes) -> Progress:
        """The search after some more backtracks."""
        search, heap = self.search, list(progress.nodes)
        self._restore(progress)
        limit = search.counters[BACKTRACKS] + backtracks
        while heap and heap[0][0] < search.best[-1] and search.counters[BACKTRACKS] < limit and not cancel[0]:
            if self._is_due():
                heap = heap if self._raised(0, cancel) else []
                continue
            bound, _, path = heapq.heappop(heap)
            depth = self._searched(path, SHORT * max(1, len(heap) // CROWD), cancel)
            for node in self._opened(path, bound, depth):
                heapq.heappush(heap, node)
            search.counters[BACKTRACKS] += 1
        heap = heap if heap and heap[0][0] < search.best[-1] else []
        least = max(heap[0][0], int(search.lowers[-1])) if heap else FORBIDDEN
        lower = max(progress.lower, min(least, int(search.best[0])))
        return self._progress(tuple(heap), lower)

    def _searched(self, path: Ints, backtracks: int, cancel: Bytes) -> int:
        """Search below an open node after some sweeps there; returns the depth of the branch that is open."""
        arcs = self.costs.network, self.state
        if not self.sweeps:
            return int(depth_first(*arcs, self.search, path, backtracks, cancel))
        if not depth_first(*arcs, self.search, path, ENTER, cancel):
            return 0
        at_root = self.state.numbers[[SWEPT, SETTLED]]
        is_open = sweep(*arcs, self.loose, EACH, cancel)
        self.state.numbers[[SWEPT, SETTLED]] = at_root
        return int(depth_first(*arcs, self.search, NOWHERE, backtracks if is_open else LEAVE, cancel))

    def _progress(self, nodes: tuple[Node, ...], lower: int) -> Progress:
        """A copy of all that a search depends on."""
        search, state = self.search, self.state
        best, found = search.best.copy(), search.found.copy()
        counters = np.concatenate([search.counters, state.numbers[[SWEPT, SEEN, SETTLED]]])
        choices = state.activity.copy(), state.supports.copy()
        return Progress(best, found, nodes, lower, *choices, counters, int(search.lowers[-1]), *self.root)

    def _restore(self, progress: Progress) -> None:
        """Set all that a search depends on."""
        search, state = self.search, self.state
        search.best[:], search.found[:] = progress.best, progress.found
        search.counters[:], state.numbers[[SWEPT, SEEN, SETTLED]] = progress.counters[:3], progress.counters[3:]
        state.activity[:], state.supports[:] = progress.activity, progress.supports
        state.numbers[UPPER] = min(self.costs.most, int(progress.best[-1]))
        if self.root[0] is not progress.cells:
            self.root = progress.cells, progress.live
            search.lowers[-1] = state.numbers[LOWER] = progress.root
            state.cells[:], state.live[:] = self.root
            state.left[:] = np.add.reduceat(state.live, self.costs.network.states[:-1], dtype=np.int64)

    def _opened(self, path: Ints, bound: int, depth: int) -> list[Node]:
        """The nodes that a depth-first search has left open."""
        decisions, found = self.search.decisions[:depth].copy(), []
        for d in np.flatnonzero(decisions % 2 == 0).tolist():
            other = np.concatenate([path, decisions[:d], [decisions[d] + 1]])
            found.append((max(bound, int(self.search.bounds[d])), other))
        if depth:
            found.append((max(bound, int(self.search.bounds[depth - 1])), np.concatenate([path, decisions])))
        first = int(self.search.counters[NODES]) * 1000
        return [(lower, -first - number, way) for number, (lower, way) in enumerate(found)]


def rows(progress: Progress, costs: WholeCosts) -> Ints:
    """The best assignments that are known, one per row, in the order of the network."""
    known = max(1, int((progress.best < costs.most).sum()))
    return progress.found.reshape(len(progress.best), -1)[:known]
