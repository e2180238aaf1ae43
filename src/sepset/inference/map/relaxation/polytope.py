r"""The local polytope: pseudo-marginals of variables and regions that agree with each other, as sparse matrices.

$$\max_q \sum_i \sum_{x} \theta_i(x)\, q_i(x) + \sum_r \sum_{\mathbf x} \theta_r(\mathbf x)\, q_r(\mathbf x),
\qquad \sum_x q_i(x) = 1, \qquad \sum_{\mathbf x \sim \mathbf y} q_r(\mathbf x) = q_s(\mathbf y), \qquad q \ge 0$$

for every region or variable $s$ directly inside a region $r$. States and entries of value zero have no column. A pair
with a positive weight $w$ for equal states needs one column per state: $\max w \sum_x z_x$ with $z_x \le q_i(x)$ and
$z_x \le q_j(x)$. With whole numbers $q_i$, the solutions are the assignments.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from sepset.base.arraytypes import AnyInts, Bools, Floats, Ints
from sepset.base.threads import require_time
from sepset.errors import TooLarge
from sepset.inference.map.relaxation.regions import MAX_COLUMNS, Inside, Regions
from sepset.inference.wiring import Wiring
from sepset.kernels.propagation.wires import POTTS


class Solution(NamedTuple):
    """A solution of the linear program with its dual.

    Attributes:
        columns: one number per column.
        equal, most: the dual numbers of the equations and of the inequalities.
        is_infeasible: whether the polytope is empty, so that there are no columns.
    """

    columns: Floats
    equal: Floats
    most: Floats
    is_infeasible: bool = False


@dataclass(frozen=True, eq=False)
class Polytope:
    """The linear program of the regions of a model.

    Attributes:
        regions: the regions.
        gains: the log value of each column.
        states: the column of each state of each variable; -1 for impossible ones.
        entries: the columns of each region's entries, or of its equal states if it needs only these; -1 for none.
        equal, right: the equations.
        most: the matrix of inequalities, at most zero.
        parts: where the rows of each region's relations are.

    Cost: the number of columns is that of possible states and entries.
    Reference: Koller & Friedman, section 13.5; Wainwright, Jaakkola & Willsky (2005), MAP estimation via agreement.
    Guarantee: its whole points are the assignments of positive probability.
    Tested by: inference/map/relaxation/test_polytope.py::test_whole_points_are_the_assignments
    """

    regions: Regions
    gains: Floats
    states: Ints
    entries: tuple[Ints, ...]
    equal: Any
    right: Floats
    most: Any
    parts: tuple[Rows, ...]

    @classmethod
    def of(cls, regions: Regions, live: Bools | None = None) -> Polytope:
        """The linear program.

        Args:
            live: which states are kept, further ones than those of value zero being left out.
        """
        return _Builder(regions, live).finish()

    @property
    def num_columns(self) -> int:
        """The number of columns."""
        return len(self.gains)

    def marginals(self, columns: Floats) -> Floats:
        """The pseudo-marginals of single variables, one number per state."""
        return np.where(self.states >= 0, columns[self.states], 0.0) if len(columns) else np.zeros(len(self.states))

    def table(self, r: int, columns: Floats) -> Floats:
        """The pseudo-marginals of a region; unequal states are as if independent where only equal ones count."""
        wiring, found = self.regions.wiring, self.entries[r]
        shape, values = self.regions.shape(r), np.where(found >= 0, columns[found], 0.0)
        if not self.is_compact(r):
            return values.reshape(shape)
        starts, q = wiring.plugs.states, self.marginals(columns)
        one, two = (q[starts[i] : starts[i + 1]] - values for i in wiring.scope(r))
        rest = float(one.sum())
        return np.asarray(np.diag(values) + (np.outer(one, two) / rest if rest > 0.0 else 0.0))

    def is_compact(self, r: int) -> bool:
        """Whether a region has columns for equal states only."""
        return is_compact(self.regions, r)

    def duals(self, solution: Solution) -> tuple[Floats, Floats]:
        """The values that regions exchange with those inside them, and the messages to variables, at the dual."""
        lambdas, messages = np.zeros(int(self.regions.moves[-1])), np.zeros(int(self.regions.wiring.wires.messages[-1]))
        for part in self.parts:
            source = solution.most if part.is_most else solution.equal
            target = lambdas if part.is_region else messages
            target[part.places] = -source[part.first : part.first + len(part.places)]
        return lambdas, messages


class Rows(NamedTuple):
    """The rows of one relation: the first one, where their dual numbers belong, and among which."""

    first: int
    places: Ints
    is_region: bool
    is_most: bool


def is_compact(regions: Regions, r: int) -> bool:
    """Whether a region is a pair with a positive weight for equal states."""
    plugs = regions.wiring.plugs
    return bool(plugs.kinds[r] == POTTS and plugs.weights[r] >= 0.0)


def num_columns(wiring: Wiring) -> float:
    """The number of columns of the linear program of some factors at most."""
    plugs = wiring.plugs
    cards = plugs.cards.astype(np.float64)
    if not wiring.num_factors:
        return float(cards.sum())
    sizes = np.multiply.reduceat(cards[plugs.scope], plugs.starts[:-1])
    compact = (plugs.kinds == POTTS) & (plugs.weights >= 0.0)
    return float(cards.sum() + np.where(compact, cards[plugs.scope[plugs.starts[:-1]]], sizes).sum())


def require_columns(wiring: Wiring) -> None:
    """Raise if the linear program is too large."""
    size = num_columns(wiring)
    if size > MAX_COLUMNS:
        raise TooLarge(f"The linear program has {size:.3g} columns, more than {MAX_COLUMNS:.3g}. Use MPLP() or TRWS().")


@dataclass
class _Matrix:
    """The entries of a sparse matrix, row by row."""

    rows: list[AnyInts] = field(default_factory=list)
    columns: list[AnyInts] = field(default_factory=list)
    values: list[Floats] = field(default_factory=list)
    height: int = 0

    def add(self, rows: AnyInts, columns: AnyInts, value: float) -> None:
        """Add entries, in rows counted from the present height."""
        self.rows.append(rows + self.height)
        self.columns.append(columns)
        self.values.append(np.full(len(rows), value))

    def finish(self, width: int) -> Any:
        """The matrix."""
        from scipy import sparse

        rows, columns = (np.concatenate([np.zeros(0, np.int64), *a]) for a in (self.rows, self.columns))
        values = np.concatenate([np.zeros(0), *self.values])
        return sparse.csr_matrix((values, (rows, columns)), shape=(self.height, width))


class _Builder:
    """Collects the columns and rows of a linear program."""

    def __init__(self, regions: Regions, live: Bools | None) -> None:
        require_columns(regions.wiring)
        wiring = regions.wiring
        self.regions, self.wiring = regions, wiring
        self.live = wiring.unary > -np.inf if live is None else live & (wiring.unary > -np.inf)
        self.states, self.width = _numbered(self.live, 0)
        self.gains: list[Floats] = [wiring.unary[self.live]]
        self.entries = self._columns()
        self.equal, self.most, self.parts = _Matrix(), _Matrix(), list[Rows]()

    def _columns(self) -> list[Ints]:
        """The columns of all regions."""
        found = []
        for r in range(self.wiring.num_factors):
            require_time()
            kept, gains = self._kept(r)
            columns, self.width = _numbered(kept, self.width)
            found.append(columns)
            self.gains.append(gains[kept])
        return found

    def _kept(self, r: int) -> tuple[Bools, Floats]:
        """Which entries of a region are possible, and their log values."""
        masks = [self.live[self._slice(i)] for i in self.wiring.scope(r).tolist()]
        if is_compact(self.regions, r):
            return masks[0] & masks[1], np.full(len(masks[0]), float(self.wiring.plugs.weights[r]))
        table = self.wiring.table(r)
        kept = table > -np.inf
        for axis, mask in enumerate(masks):
            kept &= mask.reshape([-1 if a == axis else 1 for a in range(table.ndim)])
        return kept.reshape(-1), table.reshape(-1)

    def _slice(self, i: int) -> slice:
        return slice(int(self.wiring.plugs.states[i]), int(self.wiring.plugs.states[i + 1]))

    def finish(self) -> Polytope:
        """The linear program."""
        self._normalize()
        arities = np.diff(self.wiring.plugs.starts).tolist()
        inner: dict[int, list[tuple[Inside, int]]] = {}
        for each, start in zip(self.regions.inside, self.regions.moves.tolist(), strict=False):
            inner.setdefault(each.outer, []).append((each, start))
        for r in range(len(arities)):
            require_time()
            if is_compact(self.regions, r):
                self._bounded(r)
                continue
            related = 0
            for each, start in inner.get(r, ()):
                self._agree(r, each.axes, self.entries[each.inner], start, is_region=True, is_first=related == 0)
                related += 1
            for axis in self.regions.loose[r]:
                i, at = (
                    int(self.wiring.scope(r)[axis]),
                    int(self.wiring.wires.messages[self.wiring.plugs.starts[r] + axis]),
                )
                self._agree(r, (axis,), self.states[self._slice(i)], at, is_region=False, is_first=related == 0)
                related += 1
        right = np.zeros(self.equal.height)
        right[: self.wiring.num_variables] = 1.0
        return Polytope(
            self.regions,
            np.concatenate(self.gains),
            self.states,
            tuple(self.entries),
            self.equal.finish(self.width),
            right,
            self.most.finish(self.width),
            tuple(self.parts),
        )

    def _normalize(self) -> None:
        """The states of each variable add up to one."""
        owners = np.repeat(np.arange(self.wiring.num_variables), self.wiring.plugs.cards)
        self.equal.add(owners[self.live], self.states[self.live], 1.0)
        self.equal.height = self.wiring.num_variables

    def _agree(
        self, r: int, axes: Sequence[int], smaller: Ints, place: int, *, is_region: bool, is_first: bool
    ) -> None:
        """A region agrees with one inside it; after its first relation, the last row follows from the others."""
        onto, own = projected(self.regions.shape(r), axes), self.entries[r]
        places = np.flatnonzero(smaller >= 0)
        places = places if is_first else places[:-1]
        rank = np.full(len(smaller), -1, np.int64)
        rank[places] = np.arange(len(places))
        used = (own >= 0) & (rank[onto] >= 0)
        self.equal.add(rank[onto[used]], own[used], 1.0)
        self.equal.add(np.arange(len(places)), smaller[places], -1.0)
        self.parts.append(Rows(self.equal.height, place + places, is_region, False))
        self.equal.height += len(places)

    def _bounded(self, r: int) -> None:
        """Equal states of a pair are at most as probable as each of them."""
        columns, first = self.entries[r], int(self.wiring.plugs.starts[r])
        places = np.flatnonzero(columns >= 0)
        for axis, i in enumerate(self.wiring.scope(r).tolist()):
            rows = np.arange(len(places))
            self.most.add(rows, columns[places], 1.0)
            self.most.add(rows, self.states[self._slice(i)][places], -1.0)
            at = int(self.wiring.wires.messages[first + axis])
            self.parts.append(Rows(self.most.height, at + places, False, True))
            self.most.height += len(places)


def _numbered(kept: Bools, start: int) -> tuple[Ints, int]:
    """A number for each entry that is kept, -1 for the others, and the next number."""
    found = np.where(kept, start + np.cumsum(kept) - 1, -1).astype(np.int64)
    return found, start + int(kept.sum())


def projected(shape: Sequence[int], axes: Sequence[int]) -> Ints:
    """The place of each entry of a table in the table of some of its axes, in their order."""
    grid = np.indices(tuple(shape)).reshape(len(shape), -1)
    place = np.zeros(grid.shape[1], np.int64)
    for axis in axes:
        place = place * shape[axis] + grid[axis]
    assert place.size == math.prod(shape)
    return place
