r"""Large moves by minimum cuts: every variable keeps its state or takes another one, the best of all such choices.

$$E'(\mathbf t) = E\bigl(\mathbf x^{t}\bigr), \qquad x^t_i = \text{keep}_i \text{ if } t_i = 0 \text{ else take}_i$$

An expansion of $\alpha$ offers every variable the state $\alpha$; a swap exchanges two states among the variables that
have them; a fusion chooses between two assignments. If a pair is not submodular in $\mathbf t$, roof duality decides
what it can and the rest keeps its state, or terms are truncated to submodular ones, whichever is better: no move makes
an assignment worse.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from sepset.base.arraytypes import Ints
from sepset.base.threads import interruptible
from sepset.inference.assignment import AssignmentTask, Found, best_of
from sepset.inference.iterate import Info, Until, as_until, deadline
from sepset.inference.map.binary import BinaryEnergy, normal_form
from sepset.inference.map.mincut import flow_graph
from sepset.inference.map.qpbo import roof_dual
from sepset.inference.result import Guarantee, Status
from sepset.inference.wiring import Wiring
from sepset.kernels.map.moves import move_cells

STRICT = 1e-12
"""The least improvement of a move, relative to the value."""


def fused(wiring: Wiring, keep: Ints, take: Ints) -> Ints:
    """The best choice between two assignments, variable by variable; never worse than the first.

    Guarantee: the best of all choices if every pair is submodular in them; never worse otherwise.
    Tested by: inference/map/test_moves.py::test_moves_are_best_by_enumeration
    """
    energy = move_energy(wiring, keep, take)
    if energy.is_submodular:
        chosen = flow_graph(energy).min_cut().sink_side[: len(keep)]
        return _better(wiring, keep, [np.where(chosen, take, keep)])
    roof = roof_dual(energy).first(len(keep))
    moved = [np.where(roof.labeled & (roof.codes == 1), take, keep)]
    if not roof.labeled.all():
        moved.append(np.where(flow_graph(truncated(energy)).min_cut().sink_side[: len(keep)], take, keep))
    return _better(wiring, keep, moved)


def _better(wiring: Wiring, keep: Ints, moved: list[Ints]) -> Ints:
    """The best of some assignments, if it is better than the first one."""
    found, value = best_of(moved, wiring)
    return found if value > wiring.log_value(keep) else keep


def truncated(energy: BinaryEnergy) -> BinaryEnergy:
    r"""A submodular energy whose decrease from $\mathbf t = 0$ is nowhere larger: its best choice never hurts.

    A cost of (0, 0) is left out, which lowers the energy of keeping both; a cost of (1, 1) is paid by one of the two
    alone, that with less to gain from taking.

    Reference: Rother, Kumar, Kolmogorov & Blake (2005), Digital tapestry.
    Guarantee: the decrease is a lower bound on that of the energy.
    Tested by: inference/map/test_moves.py::test_truncated_energies_never_hurt
    """
    unary, costs = energy.unary.copy(), energy.costs.copy()
    taken = costs[3] > 0.0
    pairs = energy.pairs[taken].astype(np.int64)
    gains = np.where(np.isinf(unary[0]), -np.inf, unary[1] - np.where(np.isinf(unary[0]), 0.0, unary[0]))[pairs]
    payer = np.where(gains[:, 0] >= gains[:, 1], pairs[:, 0], pairs[:, 1])
    np.add.at(unary[1], payer, costs[3, taken])
    costs[0] = costs[3] = 0.0
    return replace(energy, unary=unary, costs=costs)


def move_energy(wiring: Wiring, keep: Ints, take: Ints) -> BinaryEnergy:
    """The energy of choices between two assignments; a variable that is offered its own state keeps it."""
    plugs, pairs = wiring.pair_plugs, wiring.pairs
    cells = np.empty((4, len(pairs)))
    numbers = plugs.scope, plugs.cards, plugs.kinds, plugs.places, plugs.tables, plugs.weights, plugs.limits
    interruptible(lambda cancel: move_cells(*numbers, keep, take, cells))
    unary = np.stack([-wiring.unary[plugs.states[:-1] + keep], -wiring.unary[plugs.states[:-1] + take]])
    costs, shifts, constant = normal_form(np.ascontiguousarray(cells.T))
    for state in (0, 1):
        np.add.at(unary[state], pairs, shifts[state])
    unary[1, keep == take] = np.inf
    energy = BinaryEnergy(constant - wiring.constant, unary, pairs, costs, np.zeros(len(keep), bool))
    return energy.with_larger(wiring, keep, take, AlphaExpansion())


@dataclass(frozen=True)
class MoveState:
    """An assignment, and the number of moves in a row that did not improve it."""

    codes: Ints
    idle: int


@dataclass(frozen=True)
class _MoveSearch:
    """The search that expansions and swaps share: rounds of moves until none of a round improves."""

    def assign(self, task: AssignmentTask) -> Found:
        """The assignment that no move improves."""
        task.require_all(self)
        until = Until(steps=None, tolerance=None, seconds=np.inf)
        rounds = _Rounds(self, deadline(as_until(task.until, until)))
        done = task.iterated(rounds, until=until, codec=_MoveCodec())
        codes, settled = done.state.codes, done.status is Status.CONVERGED
        return Found(
            codes[None],
            (task.wiring.log_value(codes),),
            guarantee=Guarantee.LOCAL_OPTIMUM if settled else Guarantee.HEURISTIC,
            status=done.status,
            trace=done.trace,
            info={"seconds": round(done.seconds, 3), "moves": done.num_steps, "decoder": "moves"},
        )

    def proposals(self, num_states: int) -> Iterator[tuple[int, int]]:
        """The moves of one round."""
        raise NotImplementedError

    def offered(self, codes: Ints, move: tuple[int, int], *, cards: Ints) -> Ints:
        """The state that every variable may take."""
        raise NotImplementedError


@dataclass(frozen=True)
class AlphaExpansion(_MoveSearch):
    r"""Expansions: in each move every variable may change to one state $\alpha$.

    For metric potentials every move is the best of its kind, and the energy of the result, if energies are
    non-negative, is at most $2c$ times the smallest, where $c$ is the largest over the smallest cost of unequal states.

    Cost: a flow for each state and round; few rounds are needed.
    Reference: Boykov, Veksler & Zabih (2001); Koller & Friedman, algorithm 13.5, with a stopping rule that ends.
    Guarantee: local optimum: no expansion that a cut finds is better.
    Tested by: inference/map/test_moves.py::test_moves_are_best_by_enumeration

    >>> import sepset as ss
    >>> pixel = ss.Discrete.array("pixel", (2, 3), states=3)
    >>> seen = np.log([[[0.8, 0.1, 0.1], [0.3, 0.4, 0.3], [0.1, 0.1, 0.8]]] * 2)
    >>> net = ss.MarkovNet.potts(pixel, 0.9, log_values=seen)
    >>> ss.map_assignment(net, method=ss.AlphaExpansion())[pixel].tolist()
    [[0, 0, 2], [0, 0, 2]]
    """

    def proposals(self, num_states: int) -> Iterator[tuple[int, int]]:
        """Every state once."""
        return ((-1, state) for state in range(num_states))

    def offered(self, codes: Ints, move: tuple[int, int], *, cards: Ints) -> Ints:
        """The state, for variables that have it."""
        return np.where(cards > move[1], move[1], codes)


@dataclass(frozen=True)
class AlphaBetaSwap(_MoveSearch):
    r"""Swaps: in each move the variables with the states $\alpha$ and $\beta$ choose between these two again.

    Cost: a flow for each pair of states and round.
    Reference: Boykov, Veksler & Zabih (2001); Koller & Friedman, section 13.6.2.
    Guarantee: local optimum: no swap that a cut finds is better.
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

    def offered(self, codes: Ints, move: tuple[int, int], *, cards: Ints) -> Ints:
        """The other state of the pair, for variables that have one of them."""
        one, other = move
        swapped = np.where(codes == one, other, np.where(codes == other, one, codes))
        return np.where(swapped < cards, swapped, codes)


@dataclass(frozen=True)
class _Rounds:
    """Rounds of moves until a time.

    Attributes:
        method: proposes the moves.
        deadline: on the clock of `time.monotonic`.
    """

    method: _MoveSearch
    deadline: float

    def __repr__(self) -> str:
        return repr(self.method)

    def init(self, task: AssignmentTask, rng: np.random.Generator) -> MoveState:
        """The start."""
        return MoveState(task.first_codes(), 0)

    def step(self, task: AssignmentTask, state: MoveState, rng: np.random.Generator) -> tuple[MoveState, Info]:
        """One round of moves, cut short at the deadline, or once as many as a round has did not improve."""
        wiring, codes, idle = task.wiring, state.codes, state.idle
        moves = list(self.method.proposals(int(wiring.plugs.cards.max(initial=1))))
        value = wiring.log_value(codes)
        for move in moves:
            if idle >= len(moves):
                break
            if time.monotonic() >= self.deadline:
                idle = 0  # a round that goes on begins with the first move
                break
            found = fused(wiring, codes, self.method.offered(codes, move, cards=wiring.plugs.cards))
            after = wiring.log_value(found)
            improves = after > value + STRICT * max(1.0, abs(value)) or value == -np.inf < after
            codes, value, idle = (found, after, 0) if improves else (codes, value, idle + 1)
        return MoveState(codes, idle), Info(value, np.inf, is_done=idle >= len(moves))


class _MoveCodec:
    """Stores the state of a search by moves in a checkpoint."""

    def pack(self, state: MoveState) -> object:
        return {"codes": state.codes, "idle": state.idle}

    def unpack(self, content: dict[str, object]) -> MoveState:
        return MoveState(np.array(content["codes"], np.int64), int(content["idle"]))  # type: ignore[call-overload]
