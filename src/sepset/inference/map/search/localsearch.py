r"""Local search: the best change of one variable at a time, greedy or with a tabu list, from several starts.

$$(i, x) \leftarrow \arg\max_{i,\, x \ne x_i} \bigl[ \log \tilde P(x, \mathbf x_{\setminus i}) -
\log \tilde P(\mathbf x) \bigr]$$
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.checks import whole
from sepset.base.threads import interruptible
from sepset.inference.assignment import AssignmentTask, Found
from sepset.inference.iterate import Info, Until
from sepset.inference.result import Guarantee, Status
from sepset.inference.wiring import Wiring
from sepset.kernels.map.changes import IDLE, IS_BETTER, IS_DONE, LOGGED, MOVES, ZEROS, Changes, walk, weigh_all

LEAST_MOVES = 1000
"""The least number of moves of one step by default; larger models make as many as they have variables."""


@dataclass(frozen=True)
class Walked:
    """The state of a local search.

    Attributes:
        codes: the present assignment.
        best: the best assignment of this start.
        top: the best assignment of earlier starts.
        recent: the last variables that changed, in a ring; -1 where fewer have.
        lag: how much less the present assignment has than the best one, zeros apart.
        moves, idle, zeros: the moves of this start, those since its best assignment, and how many more zeros the
            present one has.
        total: the moves of all starts.
        starts: the number of starts that are finished.
    """

    codes: Ints
    best: Ints
    top: Ints
    recent: Ints
    lag: float = 0.0
    moves: int = 0
    idle: int = 0
    zeros: int = 0
    total: int = 0
    starts: int = 0


@dataclass(frozen=True)
class LocalSearch:
    """The best assignment of walks that change one variable at a time, each time the best change of all.

    Without a tabu list a walk ends where no change is better. With one, the variables that changed last keep their
    states, unless a change leads above everything seen before, and the walk goes on through worse assignments. Zeros
    count as worse than any finite loss, so that a walk may begin at an impossible assignment.

    Args:
        tabu: the number of moves for which a variable keeps the state that it took; by default a quarter of the number
            of variables with several states. 0 makes the search greedy.
        restarts: the number of further starts, each from random states.
        patience: the number of moves without improvement that end a start; by default 1000 and one more per variable.

    Cost: a move takes time linear in the factors of the variable that changes, and logarithmic in the variables.
    Reference: Glover (1989), Tabu search, part I; Koller & Friedman, section 13.7 and appendix A.4.2.
    Guarantee: local optimum: no other state of one variable is better.
    Tested by: inference/map/search/test_localsearch.py::test_no_single_change_is_better

    >>> import sepset as ss
    >>> rng = np.random.default_rng(0)
    >>> spin = ss.Discrete.array("spin", (12, 12), states=(-1, 1))
    >>> glass = ss.MarkovNet.ising(spin, rng.normal(size=len(spin.grid_edges())))
    >>> greedy = ss.map_assignment(glass, method=ss.inference.LocalSearch(tabu=0))
    >>> longer = ss.map_assignment(glass, method=ss.inference.LocalSearch(restarts=3))
    >>> longer.log_value > greedy.log_value, greedy.guarantees["assignment"]
    (True, LOCAL_OPTIMUM)
    """

    tabu: int | None = None
    _: KW_ONLY
    restarts: int = 0
    patience: int | None = None

    def __post_init__(self) -> None:
        if self.tabu is not None:
            whole("LocalSearch(tabu=)", self.tabu, least=0, otherwise="None")
        whole("LocalSearch(restarts=)", self.restarts, least=0)
        if self.patience is not None:
            whole("LocalSearch(patience=)", self.patience, least=1, otherwise="None")

    def assign(self, task: AssignmentTask) -> Found:
        """The best assignment of all starts."""
        task.require_all(self)
        done = task.iterated(Walks(self), until=Until(steps=None, tolerance=0.0), codec=_WalkedCodec())
        state, value = done.state, task.wiring.log_value
        codes = state.best if value(state.best) > value(state.top) else state.top
        settled = done.status is Status.CONVERGED
        return Found(
            codes[None],
            (value(codes),),
            guarantee=Guarantee.LOCAL_OPTIMUM if settled else Guarantee.HEURISTIC,
            status=done.status,
            trace=done.trace,
            info={"seconds": round(done.seconds, 3), "moves": state.total, "starts": state.starts + (not settled)},
        )


class Walks:
    """The iteration of a local search; keeps its arrays between steps.

    Args:
        method: the settings.
    """

    def __init__(self, method: LocalSearch) -> None:
        self.method = method
        self._made: Changes | None = None

    def __repr__(self) -> str:
        return repr(self.method)

    def init(self, task: AssignmentTask, rng: np.random.Generator) -> Walked:
        """The first start."""
        codes = task.first_codes()
        return self._begun(task.wiring, codes, codes)

    def step(self, task: AssignmentTask, state: Walked, rng: np.random.Generator) -> tuple[Walked, Info]:
        """As many moves as there are variables, at least a thousand; the next start after a walk that ended."""
        wiring = task.wiring
        made, is_done = self._walked(wiring, state, rng)
        best, top = wiring.log_value(made.best), wiring.log_value(state.top)
        rest = 1.0 - state.starts / (self.method.restarts + 1) if self.method.restarts else None
        if not is_done:
            return made, Info(max(best, top), np.inf, rest=rest)
        highest = made.best if best > top else state.top
        if state.starts >= self.method.restarts:
            return replace(made, top=highest, starts=made.starts + 1), Info(max(best, top), 0.0, is_done=True)
        fresh = (rng.random(wiring.num_variables) * wiring.plugs.cards).astype(np.int64)
        begun = self._begun(wiring, fresh, highest)
        return replace(begun, total=made.total, starts=made.starts + 1), Info(max(best, top), np.inf, rest=rest)

    def _begun(self, wiring: Wiring, codes: Ints, top: Ints) -> Walked:
        """A start; at least one variable that could change is always allowed to."""
        free, tabu = int((wiring.plugs.cards > 1).sum()), self.method.tabu
        tenure = min(-(-free // 4) if tabu is None else tabu, max(0, free - 1))
        return Walked(codes, codes, top, np.full(tenure, -1, np.int64))

    def _walked(self, wiring: Wiring, state: Walked, rng: np.random.Generator) -> tuple[Walked, bool]:
        """The state after some more moves, and whether the walk ended."""
        n, patience = wiring.num_variables, self.method.patience
        changes = self._changes(wiring, state, rng)
        codes, recent, lag = state.codes.copy(), state.recent.copy(), np.array([state.lag])
        counters, log = np.array([state.moves, state.idle, state.zeros, 0, 0, 0]), np.empty(step_moves(n), np.int64)
        most = LEAST_MOVES + n if patience is None else patience
        weigh_all(wiring.wires, wiring.unary, wiring.factors, codes, changes, state.moves)
        model = wiring.wires, wiring.factors, codes, changes
        interruptible(lambda cancel: walk(*model, recent, lag, log, counters, most, cancel), is_partial=True)
        best = _returned(wiring, codes, log[: counters[LOGGED]]) if counters[IS_BETTER] else state.best
        moves, idle, zeros = (int(counters[which]) for which in (MOVES, IDLE, ZEROS))
        made = replace(state, codes=codes, best=best, recent=recent, lag=float(lag[0]), moves=moves, idle=idle)
        return replace(made, zeros=zeros, total=state.total + moves - state.moves), bool(counters[IS_DONE])

    def _changes(self, wiring: Wiring, state: Walked, rng: np.random.Generator) -> Changes:
        """The arrays of changes, with equal ones in a random order and the tabu list of a state."""
        n, tenure = wiring.num_variables, len(state.recent)
        if self._made is None:
            self._made = change_room(wiring)
        size = len(self._made.winners) // 4
        self._made.leaves[:] = size + rng.permutation(n)
        self._made.free[:] = 0
        moves = np.arange(max(0, state.moves - tenure), state.moves)
        np.maximum.at(self._made.free, state.recent[moves % max(1, tenure)], moves + 1 + tenure)
        return self._made


def single_changes(wiring: Wiring, codes: Ints, k: int) -> list[Ints]:
    """Up to k assignments that differ from one in one variable, the best first."""
    changes, own = change_room(wiring), np.array(codes, np.int64)
    changes.leaves[:] = len(changes.winners) // 4 + np.arange(len(own))
    weigh_all(wiring.wires, wiring.unary, wiring.factors, own, changes, 0)
    states, here = wiring.plugs.states, wiring.plugs.states[:-1] + own
    gains = np.where(changes.zeros > 0, -np.inf, changes.values - np.repeat(changes.values[here], wiring.plugs.cards))
    gains[here] = -np.inf
    found = []
    for place in np.argsort(-gains, kind="stable")[:k].tolist():
        if gains[place] > -np.inf:
            i = int(np.searchsorted(states, place, "right")) - 1
            found.append(own.copy())
            found[-1][i] = place - states[i]
    return found


def step_moves(num_variables: int) -> int:
    """The number of moves of one step, which finds all changes from the beginning once.

    >>> step_moves(30), step_moves(10**6)
    (1000, 1000000)
    """
    return max(LEAST_MOVES, num_variables)


def change_room(wiring: Wiring) -> Changes:
    """The arrays of changes of a model."""
    n, states = wiring.num_variables, len(wiring.unary)
    whole = {name: np.zeros(n, np.int64) for name in ("choice", "fewer", "leaves", "free")}
    room: Floats = np.empty(int(wiring.plugs.cards.max(initial=1)))
    size = 2 ** max(0, n - 1).bit_length()
    return Changes(
        values=np.zeros(states),
        zeros=np.zeros(states, np.int64),
        gain=np.zeros(n),
        winners=np.full(4 * size, -1, np.int64),
        part=room,
        **whole,
    )


def _returned(wiring: Wiring, codes: Ints, log: Ints) -> Ints:
    """The assignment before some moves, from the places of the states that they left."""
    found, states = codes.copy(), wiring.plugs.states
    variables = np.searchsorted(states, log, side="right") - 1
    found[variables[::-1]] = (log - states[variables])[::-1]
    return found


class _WalkedCodec:
    """Stores the state of a local search in a checkpoint."""

    def pack(self, state: Walked) -> object:
        return dict(vars(state))

    def unpack(self, content: dict[str, Any]) -> Walked:
        arrays = {name: np.array(content[name], np.int64) for name in ("codes", "best", "top", "recent")}
        return Walked(**{**content, **arrays})
