r"""Large neighborhoods: the best states of many variables at once, given the others, by elimination in limited tables.

$$\mathbf x_R \leftarrow \arg\max_{\mathbf x_R} \log \tilde P(\mathbf x_R, \mathbf x_{\setminus R})$$

A region $R$ grows around a random variable, or is all of the model but every so many layers around one: strips, whose
width is limited in planar graphs. Where its elimination would take a table that is too large, variables far from the
center are fixed at their present states. Regions grow as long as most of their variables need not be fixed.

Starts meet: of two assignments, each connected part of the variables in which they differ is taken from the better one.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from sepset.base.arraytypes import Ints
from sepset.base.checks import whole
from sepset.inference.assignment import AssignmentTask, Certificate, Found
from sepset.inference.iterate import Info, Until
from sepset.inference.map.search.workspace import Workspace
from sepset.inference.result import Guarantee
from sepset.inference.wiring import Wiring

FIRST, LEAST, MOST = 100.0, 16.0, 2.0**13
"""The first, the least and the largest size of a region."""

MOSTLY, PACE = 0.9, 1.02
"""Regions grow by this factor after one of which this part was solved, and shrink after others."""

SPREAD = 4.0
"""The ratio of the largest to the smallest compact regions of a time."""

TURNS, WHOLE, COMPACT = 8, 0, 4
"""Of so many moves, the one of the first number takes all variables and that of the second a compact region; the others
take strips."""

DEPTH, NEARLY = 6.0, 0.97
"""The first depth of strips; they get deeper after one of which this part was solved."""

POOL = 5
"""The number of assignments that later starts combine."""

IDLE, MOST_IDLE, COVERED = 12, 100, 20000
"""The least and the most patience of a start that others follow; in between, its moves take this many variables."""

MOST_CHECKED = 2**24
"""The most entries of a table when a proof is checked, with another order of elimination."""


@dataclass(frozen=True)
class Moved:
    """The state of the search.

    Attributes:
        codes: the present assignment.
        value: its value, zeros as losses.
        best: the best assignment so far.
        top: its value.
        reach: the size of the largest compact regions.
        depth: the depth of strips.
        idle: the number of moves in a row without improvement.
        moves: the number of moves.
        starts: the number of starts that are finished.
        is_solved: whether one move solved the whole model.
        pool: the best results of finished starts, the best one first, with their values.
    """

    codes: Ints
    value: float
    best: Ints
    top: float
    reach: float = FIRST
    depth: float = DEPTH
    idle: int = 0
    moves: int = 0
    starts: int = 0
    is_solved: bool = False
    pool: tuple[tuple[float, Ints], ...] = ()


@dataclass(frozen=True)
class LargeNeighborhood:
    """The best of many moves, each of which solves a region of the model exactly given all other variables.

    No move makes an assignment worse. Zeros count as large losses, so that the search may begin at an impossible
    assignment. If one region is the whole model, the assignment is proved to be optimal.

    Args:
        entries: the most entries of a table of the elimination.
        patience: the number of moves in a row without improvement that end a start; by default it grows with the model
            if there is one start only.
        restarts: the number of further starts: the first few at random, later ones from two earlier results combined,
            with some region at random states.

    Cost: a move takes time linear in the variables of its region times `entries`.
    Reference: Dechter (1999), Bucket elimination; Ahuja, Ergun, Orlin & Punnen (2002), A survey of very large-scale
        neighborhood search techniques; Baker (1994), for strips; Tinos, Whitley & Chicano (2015), Partition crossover
        for pseudo-Boolean optimization.
    Guarantee: never worse than the start; exact if a region is the whole model.
    Tested by: inference/map/search/test_neighborhoods.py::test_moves_are_best_by_enumeration

    >>> import sepset as ss
    >>> spin = ss.Discrete.array("spin", (12, 12), states=(-1, 1))
    >>> rng = np.random.default_rng(0)
    >>> glass = ss.MarkovNet.ising(spin, rng.normal(size=len(spin.grid_edges())))
    >>> found = ss.map_assignment(glass, method=ss.LargeNeighborhood(entries=256))
    >>> abs(found.log_value - ss.map_assignment(glass).log_value) < 1e-9
    True
    """

    entries: int = 2**12
    _: KW_ONLY
    patience: int | None = None
    restarts: int = 0

    def __post_init__(self) -> None:
        whole("LargeNeighborhood(entries=)", self.entries, least=2)
        whole("LargeNeighborhood(restarts=)", self.restarts, least=0)
        if self.patience is not None:
            whole("LargeNeighborhood(patience=)", self.patience, least=1, otherwise="None")

    def assign(self, task: AssignmentTask) -> Found:
        """The best assignment of all moves."""
        task.require_all(self)
        done = task.iterated(_Moves(self), until=Until(steps=None, tolerance=0.0), codec=_MovedCodec())
        state, value = done.state, task.wiring.log_value(done.state.best)
        return Found(
            state.best[None],
            (value,),
            bound=value if state.is_solved else math.inf,
            guarantee=Guarantee.HEURISTIC,
            certificate=_certificate(task.wiring, value, self.entries) if state.is_solved else None,
            status=done.status,
            trace=done.trace,
            info={"seconds": round(done.seconds, 3), "moves": state.moves, "starts": state.starts + 1},
        )


class _Moves:
    """The iteration of the search; keeps its workspace between steps.

    Args:
        method: the settings.
    """

    def __init__(self, method: LargeNeighborhood) -> None:
        self.method = method
        self._made: Workspace | None = None

    def __repr__(self) -> str:
        return repr(self.method)

    def space(self, task: AssignmentTask) -> Workspace:
        """The workspace of the model."""
        if self._made is None:
            self._made = Workspace(task.wiring, self.method.entries)
        return self._made

    def init(self, task: AssignmentTask, rng: np.random.Generator) -> Moved:
        """The first assignment."""
        codes = task.first_codes()
        value = self.space(task).value(codes)
        return Moved(codes, value, codes, value)

    def step(self, task: AssignmentTask, state: Moved, rng: np.random.Generator) -> tuple[Moved, Info]:
        """One move; the next start after many without improvement."""
        space = self.space(task)
        made = moved(space, state, rng)
        if made.is_solved:
            return made, Info(made.top, 0.0, is_done=True)
        if made.idle < self._patience(space):
            return made, Info(made.top, np.inf)
        met = combined(space, made)
        if met.value > made.value + 1e-12 * abs(made.value):
            return met, Info(met.top, np.inf)
        if state.starts >= self.method.restarts:
            return made, Info(made.top, 0.0, is_done=True)
        return begun(space, pooled(made), rng), Info(made.top, np.inf)

    def _patience(self, space: Workspace) -> int:
        if self.method.patience is not None:
            return self.method.patience
        n = len(space.free)
        return min(MOST_IDLE, max(IDLE, COVERED // n)) if self.method.restarts else 100 + n // 10


def combined(space: Workspace, state: Moved) -> Moved:
    """The state after its assignment met all of the pool: each connected part of the differences is the better one.

    Guarantee: never worse than either assignment.
    Tested by: inference/map/search/test_neighborhoods.py::test_combinations_are_best_by_enumeration
    """
    codes = state.codes
    for _, other in state.pool:
        codes = space.combined(codes, other)
    value = space.value(codes)
    met = replace(state, codes=codes, value=value, idle=0)
    return replace(met, best=codes, top=value) if value > met.top else met


def pooled(state: Moved) -> Moved:
    """The state with its assignment in the pool; if that one is known, the pool loses its worst instead."""
    known = any(np.array_equal(codes, state.codes) for _, codes in state.pool)
    if known:
        return replace(state, pool=state.pool[: POOL - 1])
    pool = sorted((*state.pool, (state.value, state.codes)), key=lambda one: -one[0])
    return replace(state, pool=tuple(pool[:POOL]))


def begun(space: Workspace, state: Moved, rng: np.random.Generator) -> Moved:
    """The state at the next start: at random until the pool is full, then two of it combined, with a region shaken."""
    if len(state.pool) < POOL:
        codes = space.drawn(rng)
    else:
        one, other = rng.choice(len(state.pool), 2, replace=False)
        codes = space.combined(state.pool[one][1], state.pool[other][1])
        codes = space.shaken(codes, max(1, int(state.reach * rng.random())), rng)
    return replace(state, codes=codes, value=space.value(codes), idle=0, starts=state.starts + 1)


def moved(space: Workspace, state: Moved, rng: np.random.Generator) -> Moved:
    """The state after one move, which is never worse; the first move takes all variables.

    Guarantee: the best states of the variables that were not fixed, given the others.
    Tested by: inference/map/search/test_neighborhoods.py::test_moves_are_best_by_enumeration
    """
    turn = state.moves % TURNS if len(space.free) <= MOST else COMPACT
    is_all, is_strips = turn == WHOLE, turn not in (WHOLE, COMPACT)
    if is_all or not len(space.free):
        members, keys = space.everything(rng)
    elif is_strips:
        members, keys = space.strips(max(1, int(state.depth + rng.random())), rng)
    else:
        members, keys = space.near(max(1, int(state.reach * SPREAD ** -rng.random())), rng)
    codes, count = space.solved(state.codes, members, keys, rng)
    value = space.value(codes)
    better = value > state.value + 1e-12 * abs(state.value)
    made = replace(state, moves=state.moves + 1, idle=0 if better else state.idle + 1)
    if is_strips:
        made = replace(made, depth=_paced(state.depth, count >= NEARLY * len(members), 1.0, len(space.free)))
    elif not is_all:
        made = replace(made, reach=_paced(state.reach, count >= MOSTLY * len(members), LEAST, len(space.free)))
    if value >= state.value:
        made = replace(made, codes=codes, value=value)
    if made.value > made.top:
        made = replace(made, best=made.codes, top=made.value)
    return replace(made, is_solved=count == len(space.free))


def _paced(size: float, grows: bool, least: float, count: int) -> float:
    """The size of the next regions."""
    return min(MOST, max(least, float(count)), max(least, size * (PACE if grows else 1.0 / PACE)))


def _certificate(wiring: Wiring, value: float, entries: int) -> Certificate:
    """An elimination of all variables, which no table limit stopped."""
    return Certificate(
        f"No assignment has a log value above {value:.10g}",
        "The elimination of all variables, none of them fixed, has this value.",
        verify=partial(_proves, wiring, value, entries),
    )


def _proves(wiring: Wiring, value: float, entries: int) -> bool:
    """Whether an elimination of all variables finds nothing above a value."""
    rng, most = np.random.default_rng(0), entries
    while most <= MOST_CHECKED:
        space = Workspace(wiring, most)
        codes, count = space.solved(wiring.modes, *space.everything(rng), rng)
        if count == len(space.free):
            return bool(wiring.log_value(codes) <= value + 1e-9 * max(1.0, abs(value)))
        most *= 2
    return False


class _MovedCodec:
    """Stores the state of the search in a checkpoint."""

    def pack(self, state: Moved) -> object:
        return dict(vars(state))

    def unpack(self, content: dict[str, Any]) -> Moved:
        made = Moved(**content)
        codes, best = (np.array(content[name], np.int64) for name in ("codes", "best"))
        pool = tuple((float(value), np.array(one, np.int64)) for value, one in content["pool"])
        return replace(made, codes=codes, best=best, pool=pool)
