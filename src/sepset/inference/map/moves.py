r"""Large moves by minimum cuts: each is the best choice between two assignments, variable by variable.

An expansion of $\alpha$ offers every variable the state $\alpha$; a swap lets the variables that have one of two states
choose between these again. No move makes an assignment worse, and where no move is better, single changes are tried.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.threads import OutOfTime, require_time
from sepset.errors import ArgumentError
from sepset.inference.assignment import AssignmentTask, Found, best_of
from sepset.inference.iterate import Info, Until
from sepset.inference.map.coordinates import improved
from sepset.inference.map.fusion import choices
from sepset.inference.result import Guarantee, Status

STRICT = 1e-12
"""The least improvement of a move, relative to the value."""

MOST_KEPT = 2**24
"""The most numbers of flows that are kept for later moves."""


@dataclass(frozen=True)
class MoveState:
    """An assignment, the number of moves in a row that did not improve it, and how many of these cuts left open."""

    codes: Ints
    idle: int
    open: int = 0


@dataclass(frozen=True)
class _MoveSearch:
    """The search that expansions and swaps share: rounds of moves until none of a round improves.

    Attributes:
        keeps_flows: whether a cut begins with the flow of the last move of its kind.
    """

    keeps_flows: ClassVar[bool] = False

    def assign(self, task: AssignmentTask) -> Found:
        """The assignment that no move improves."""
        task.require_all(self)
        until = Until(steps=None, tolerance=None, seconds=np.inf)
        done = task.iterated(_Rounds(self), until=until, codec=_MoveCodec())
        codes, settled = done.state.codes, done.status is Status.CONVERGED
        return Found(
            codes[None],
            (task.wiring.log_value(codes),),
            guarantee=Guarantee.LOCAL_OPTIMUM if settled else Guarantee.HEURISTIC,
            status=done.status,
            trace=done.trace,
            info={
                "seconds": round(done.seconds, 3),
                "moves": done.num_steps,
                "open_moves": done.state.open,
                "decoder": "moves",
            },
        )

    def proposals(self, num_states: int) -> Iterator[tuple[int, int]]:
        """The moves of one round."""
        raise NotImplementedError

    def options(self, codes: Ints, move: tuple[int, int], *, cards: Ints) -> tuple[Ints, Ints]:
        """The two states of every variable between which a move chooses, one of which it has."""
        raise NotImplementedError


@dataclass(frozen=True)
class AlphaExpansion(_MoveSearch):
    r"""Expansions: in each move every variable may change to one state $\alpha$.

    For metric potentials every move is the best of its kind, and the energy of the result, if energies are
    non-negative, is at most $2c$ times the smallest, where $c$ is the largest over the smallest cost of unequal states.

    Cost: a flow for each state and round, which begins with that of the last round; few rounds are needed. Memory of a
    number per factor and state.
    Reference: Boykov, Veksler & Zabih (2001); Koller & Friedman, algorithm 13.5, with a stopping rule that ends.
    Guarantee: local optimum: no single change is better, and no expansion if all are submodular (no `open_moves`).
    Tested by: inference/map/test_moves.py::test_moves_are_best_by_enumeration

    >>> import sepset as ss
    >>> pixel = ss.Discrete.array("pixel", (2, 3), states=3)
    >>> seen = np.log([[[0.8, 0.1, 0.1], [0.3, 0.4, 0.3], [0.1, 0.1, 0.8]]] * 2)
    >>> net = ss.MarkovNet.potts(pixel, 0.9, log_values=seen)
    >>> ss.map_assignment(net, method=ss.AlphaExpansion())[pixel].tolist()
    [[0, 0, 2], [0, 0, 2]]
    """

    keeps_flows: ClassVar[bool] = True

    def proposals(self, num_states: int) -> Iterator[tuple[int, int]]:
        """Every state once."""
        return ((-1, state) for state in range(num_states))

    def options(self, codes: Ints, move: tuple[int, int], *, cards: Ints) -> tuple[Ints, Ints]:
        """The present state, and the offered one, for variables that have it."""
        _check_cards(codes, cards)
        return codes, np.where(cards > move[1], move[1], codes)


@dataclass(frozen=True)
class AlphaBetaSwap(_MoveSearch):
    r"""Swaps: in each move the variables with the states $\alpha$ and $\beta$ choose between these two again.

    Cost: a flow for each pair of states and round.
    Reference: Boykov, Veksler & Zabih (2001); Koller & Friedman, section 13.6.2.
    Guarantee: local optimum: no single change is better, and no swap if all are submodular (no `open_moves`).
    Tested by: inference/map/test_moves.py::test_moves_are_best_by_enumeration

    >>> import sepset as ss
    >>> pixel = ss.Discrete.array("pixel", (2, 3), states=3)
    >>> seen = np.log([[[0.8, 0.1, 0.1], [0.3, 0.4, 0.3], [0.1, 0.1, 0.8]]] * 2)
    >>> net = ss.MarkovNet.potts(pixel, 0.9, log_values=seen)
    >>> round(ss.map_assignment(net, method=ss.AlphaBetaSwap()).log_value, 4)
    1.1995
    """

    def proposals(self, num_states: int) -> Iterator[tuple[int, int]]:
        """Every pair of states once."""
        return itertools.combinations(range(num_states), 2)

    def options(self, codes: Ints, move: tuple[int, int], *, cards: Ints) -> tuple[Ints, Ints]:
        """The first state of the pair, and the second, for variables that have one of them now."""
        _check_cards(codes, cards)
        one, other = move
        free = ((codes == one) | (codes == other)) & (cards > other)
        return np.where(free, one, codes), np.where(free, other, codes)


@dataclass(frozen=True)
class _Rounds:
    """Rounds of moves.

    Attributes:
        method: proposes the moves.
        flows: that of the last cut of each move that is repeated, from which the next one begins.
    """

    method: _MoveSearch
    flows: dict[tuple[int, int], Floats] = field(default_factory=dict)

    def __repr__(self) -> str:
        return repr(self.method)

    def init(self, task: AssignmentTask, rng: np.random.Generator) -> MoveState:
        """The start."""
        return MoveState(task.first_codes(), 0)

    def step(self, task: AssignmentTask, state: MoveState, rng: np.random.Generator) -> tuple[MoveState, Info]:
        """One round of moves, cut short when time ends, or once as many as a round has did not improve."""
        wiring, codes, idle, unsure = task.wiring, state.codes, state.idle, state.open
        moves = list(self.method.proposals(int(wiring.plugs.cards.max(initial=1))))
        value = wiring.log_value(codes)
        for move in moves:
            if idle >= len(moves):
                break
            keep, take = self.method.options(codes, move, cards=wiring.plugs.cards)
            try:
                require_time()
                found, is_best = choices(wiring, keep, take, self.method, flows=self._flows(move, len(wiring.pairs)))
            except OutOfTime:
                return MoveState(codes, 0), Info(value, np.inf)  # a round that goes on begins with the first move
            better = _better(task, codes, value, found)
            codes, value, idle, unsure = (*better, 0, 0) if better else (codes, value, idle + 1, unsure + (not is_best))
        if idle >= len(moves) and unsure:
            better = _better(task, codes, value, [improved(wiring, codes)])
            codes, value, idle, unsure = (*better, 0, 0) if better else (codes, value, idle, unsure)
        return MoveState(codes, idle, unsure), Info(value, np.inf, is_done=idle >= len(moves))

    def _flows(self, move: tuple[int, int], num_pairs: int) -> Floats | None:
        """The flow of the last cut of a move, zeros at first; None where it is not kept."""
        if move not in self.flows and self.method.keeps_flows and (len(self.flows) + 1) * num_pairs <= MOST_KEPT:
            self.flows[move] = np.zeros(num_pairs)
        return self.flows.get(move)


def _better(task: AssignmentTask, codes: Ints, value: float, made: list[Ints]) -> tuple[Ints, float] | None:
    """The best of some assignments and its value, if that is strictly larger."""
    changed = [each for each in made if (each != codes).any()]
    if not changed:
        return None
    found, after = best_of(changed, task.wiring)
    improves = after > value + STRICT * max(1.0, abs(value)) or value == -np.inf < after
    return (found, after) if improves else None


class _MoveCodec:
    """Stores the state of a search by moves in a checkpoint."""

    def pack(self, state: MoveState) -> object:
        return dict(vars(state))

    def unpack(self, content: dict[str, Any]) -> MoveState:
        return MoveState(np.array(content["codes"], np.int64), int(content["idle"]), int(content["open"]))


def _check_cards(codes: Ints, cards: Ints) -> None:
    if np.shape(codes) != np.shape(cards):
        shapes = f"the shapes {np.shape(codes)} and {np.shape(cards)}"
        raise ArgumentError(f"codes and cards= have one number for each variable; found {shapes}.")
