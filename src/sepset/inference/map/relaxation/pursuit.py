r"""Cluster pursuit: a dual bound by messages that falls further as triplets of variables are added.

$$\log \tilde P(\mathbf x) \le c + \sum_i \max\Bigl[\theta_i + \sum_{f \ni i} m_{f \to i}\Bigr]
+ \sum_f \max\Bigl[\theta_f + \sum_{t \supset f} \lambda_{t \to f} - \sum_{i \in f} m_{f \to i}\Bigr]
+ \sum_t \max\Bigl[-\sum_{f \subset t} \lambda_{t \to f}\Bigr]$$
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.base.checks import whole
from sepset.base.frozen import read_only
from sepset.base.lazy import lazy
from sepset.base.threads import interruptible
from sepset.inference.assignment import AssignmentTask, Certificate, Found, best_of, is_proved
from sepset.inference.iterate import Info, Until, as_until
from sepset.inference.map.coordinates import improved
from sepset.inference.map.dual import AGREE, bound_of
from sepset.inference.map.mplp import MPLP, Rooms
from sepset.inference.map.relaxation.cycles import as_clusters, triangulated
from sepset.inference.map.relaxation.frustration import MAX_CANDIDATES, Dual, frustrated_cycles
from sepset.inference.map.relaxation.regions import NO_CLUSTERS, fitting, with_pairs
from sepset.inference.map.rounds import DualRounds
from sepset.inference.map.trws import TRWS
from sepset.inference.result import Guarantee, Status
from sepset.inference.wiring import Wiring
from sepset.kernels.map.mplp import mplp_pass
from sepset.kernels.map.triplets import triplet_bound, triplet_pass

MAX_VALUES = 2**25
"""The most numbers that triplets give to their pairs."""

SLOW = 1e-6
"""The relative change of the bound over a round at which further triplets are added."""

CYCLE_SECONDS = 1e-4
"""The time in which the gain of a short cycle is surely known: fewer are looked at shortly before the end."""

FINAL = 1e-10
"""The relative change of the bound at which it has converged: it falls fastest while assignments are still open."""

LEAST_GAIN = 1e-7
"""The least gain of a cycle, relative to the bound."""


@dataclass(frozen=True, eq=False)
class Clustered:
    """A model with tables for the pairs of clusters.

    Attributes:
        wiring: one factor per pair of variables, with the pairs of the clusters.
        numbers: the number of each factor of the model among these.
        clusters: the triplets.
    """

    wiring: Wiring
    numbers: Ints
    clusters: Ints

    @classmethod
    def of(cls, wiring: Wiring, clusters: Ints) -> Clustered:
        """The model with these triplets."""
        paired = with_pairs(wiring, clusters)
        return cls(paired.wiring, paired.numbers, clusters)

    @lazy
    def members(self) -> Ints:
        """The pairs of each triplet: its first two variables, its last two, its first and last."""
        starts, scopes = self.wiring.plugs.starts, self.wiring.plugs.scope
        at = np.flatnonzero(np.diff(starts) == 2)
        numbers = {(int(scopes[starts[f]]), int(scopes[starts[f] + 1])): int(f) for f in at}
        rows = [[numbers[a, b], numbers[b, c], numbers[a, c]] for a, b, c in self.clusters.tolist()]
        return np.array(rows, np.int64).reshape(-1, 3)

    @lazy
    def at(self) -> Ints:
        """Where the values of each pair of each triplet start, and where the last one ends."""
        a, b, c = self.wiring.plugs.cards[self.clusters].reshape(-1, 3).T
        ends = np.cumsum(np.stack([a * b, b * c, a * c], axis=1))
        starts = np.concatenate([[0], ends]).astype(np.int64)
        return (
            np.stack([starts[k : k + len(ends) : 3] for k in range(4)], axis=1)
            if len(a)
            else np.zeros((0, 4), np.int64)
        )

    @property
    def num_values(self) -> int:
        """The number of values that the triplets exchange with their pairs."""
        return int(self.at[-1, 3]) if len(self.at) else 0

    @lazy
    def _places(self) -> Ints:
        """The place of each value in the tables."""
        sizes = np.diff(self.at, axis=1).reshape(-1)
        first = self.wiring.plugs.places[self.members].reshape(-1) - self.at[:, :3].reshape(-1)
        return np.asarray(np.repeat(first, sizes) + np.arange(self.num_values))

    def moved(self, lambdas: Floats) -> Wiring:
        """The pairs with what the triplets give to them."""
        return self._with(self._tables(lambdas))

    def _tables(self, lambdas: Floats) -> Floats:
        tables = self.wiring.plugs.tables
        return tables + np.bincount(self._places, lambdas, len(tables)) if len(lambdas) else tables.copy()

    def _with(self, tables: Floats) -> Wiring:
        """The model with other tables, which it does not write: kernels are compiled once more if they could."""
        return replace(self.wiring, plugs=self.wiring.plugs._replace(tables=read_only(tables.view())))

    @property
    def _rooms(self) -> tuple[Floats, int]:
        step = int(self.wiring.plugs.cards.max(initial=1)) ** 2
        return np.empty(3 * step), step

    def passed(self, lambdas: Floats, messages: Floats) -> float:
        """A round of triplets, pairs and all others forth and one back, which change both; the bound."""
        tables = self._tables(lambdas)
        moved = self._with(tables)
        rooms, (h, step) = Rooms.of(moved), self._rooms
        out = np.empty(len(h))

        def both(cancel: Bytes) -> float:
            found = np.inf
            for is_forward in (True, False):
                given = self.members, self.at, lambdas, messages, h, out, step
                if float(triplet_pass(moved.wires, tables, *given, cancel)) == -np.inf:
                    return -np.inf
                found = float(mplp_pass(moved.wires, moved.unary.copy(), messages, *rooms, is_forward, cancel))
                if found == -np.inf:
                    break
            return found

        return moved.constant + interruptible(both)

    def bound(self, lambdas: Floats, messages: Floats) -> float:
        """The bound of given values and messages."""
        moved, (h, step) = self.moved(lambdas), self._rooms
        given = moved.wires, self.members, self.at, lambdas, h, step
        return bound_of(moved, messages) + float(interruptible(lambda cancel: triplet_bound(*given, cancel)))


@dataclass(frozen=True)
class Pursued:
    """The state of a pursuit.

    Attributes:
        messages: what factors give to variables.
        lambdas: what triplets give to pairs.
        clusters: the triplets.
        bound: the least bound so far.
        codes, value: the best assignment so far.
        rounds: the number of rounds.
        searches: the number of searches for triplets.
        is_complete: whether the last search found none.
    """

    messages: Floats
    lambdas: Floats
    clusters: Ints
    bound: float
    codes: Ints
    value: float
    rounds: int = 0
    searches: int = 0
    is_complete: bool = False


@dataclass(frozen=True)
class ClusterPursuit:
    """An upper bound by messages, tightened by triplets of variables, and the best of the assignments decoded from it.

    Where messages stop with a gap, cycles whose states contradict each other are searched for, and their triplets join
    the dual; the bound falls on, toward that of the linear program with all of them, without a solver. Decoded
    assignments are improved by coordinate ascent.

    Args:
        cycles: the most cycles that one search adds.
        decode_every: the number of rounds between two decodings.

    Cost: a round is two passes over all tables and over the joint states of all triplets.
    Reference: Sontag, Meltzer, Globerson, Jaakkola & Weiss (2008); Sontag, Choe & Li (2012).
    Guarantee: upper bound, never rising; exact if the bound is reached.
    Tested by: inference/map/relaxation/test_pursuit.py::test_bounds_fall_and_are_never_below_the_best_value

    >>> import sepset as ss
    >>> a, b, c = (ss.Discrete(name) for name in "abc")
    >>> apart = [[1, 2], [2, 1]]
    >>> frustrated = ss.MarkovNet(ss.Table((a, b), apart), ss.Table((b, c), apart), ss.Table((a, c), apart))
    >>> found = ss.map_assignment(frustrated, method=ss.inference.ClusterPursuit())
    >>> round(float(np.exp(found.bound)), 6), found.guarantees["assignment"], found.info["triplets"]
    (4.0, EXACT, 1)
    """

    cycles: int = 1000
    decode_every: int = 5

    def __post_init__(self) -> None:
        whole("ClusterPursuit(cycles=)", self.cycles, least=1)
        whole("ClusterPursuit(decode_every=)", self.decode_every, least=1)

    def assign(self, task: AssignmentTask) -> Found:
        """The best decoded assignment, the bound, and the values and messages that prove it."""
        task.require_all(self)
        search = Pursuit(self)
        done = task.iterated(search, until=Until(steps=2000, tolerance=FINAL), codec=_PursuedCodec())
        last = search.decoded(task, done.state)
        bound = last.bound
        if bound > -math.inf:
            bound = search.model(task, last.clusters).bound(last.lambdas, last.messages)
        return Found(
            last.codes[None],
            (last.value,),
            bound=bound,
            guarantee=Guarantee.HEURISTIC,
            certificate=Certificate(
                f"No assignment has a log value above {bound:.10g}.",
                "A reparameterization: variables, factors and triplets have such maxima after exchanging values.",
                verify=partial(_proves, task.wiring, last, bound),
            ),
            status=done.status,
            trace=done.trace,
            info={"seconds": round(done.seconds, 3), "rounds": last.rounds, "triplets": len(last.clusters)},
        )


class Pursuit:
    """The iteration; keeps the model of the present triplets between steps.

    Args:
        method: the settings.
    """

    def __init__(self, method: ClusterPursuit) -> None:
        self.method = method
        self._made: Clustered | None = None

    def __repr__(self) -> str:
        return repr(self.method)

    def model(self, task: AssignmentTask, clusters: Ints) -> Clustered:
        """The model with triplets."""
        if self._made is None or len(self._made.clusters) != len(clusters):
            self._made = Clustered.of(task.wiring, clusters)
        return self._made

    def init(self, task: AssignmentTask, rng: np.random.Generator) -> Pursued:
        """The messages, the bound and the assignment without triplets."""
        wiring, rule = task.wiring.consistent, as_until(task.until)
        until = Until(steps=500, tolerance=SLOW, seconds=None if rule.seconds is None else rule.seconds / 4.0)
        method: DualRounds = TRWS() if wiring.is_pairwise else MPLP()
        first = task.again(until=until, checkpoint=None, progress=False).iterated(method, until=until)
        passed = method.decoded(wiring, first.state)
        proof = method.proof(wiring, passed.messages)
        task.known.note(passed.codes, proof)
        if first.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        model = self.model(task, NO_CLUSTERS)
        messages = carried(wiring, model, proof)
        bound = model.bound(np.zeros(0), messages) if passed.bound > -math.inf else passed.bound
        return Pursued(messages, np.zeros(0), NO_CLUSTERS, bound, passed.codes, passed.value)

    def step(self, task: AssignmentTask, state: Pursued, rng: np.random.Generator) -> tuple[Pursued, Info]:
        """One round, and further triplets if it changed little."""
        if is_proved(state.value, state.bound) or state.bound == -math.inf:
            return state, Info(-state.bound, 0.0, is_done=True)
        state = self._more(task, state) if state.rounds == 1 else state
        model, lambdas, messages = self.model(task, state.clusters), state.lambdas.copy(), state.messages.copy()
        bound = min(state.bound, model.passed(lambdas, messages))
        found = replace(state, messages=messages, lambdas=lambdas, bound=bound, rounds=state.rounds + 1)
        if found.rounds % self.method.decode_every == 0 or found.rounds < 3:
            found = self.decoded(task, found)
        change = (state.bound - bound) / max(1.0, abs(bound))
        if change <= SLOW and not found.is_complete and not is_proved(found.value, bound) and found.rounds > 3:
            found = self._more(task, found)
        is_done = is_proved(found.value, bound) or bound == -math.inf
        return found, Info(-bound, change if found.is_complete else math.inf, is_done=is_done)

    def decoded(self, task: AssignmentTask, state: Pursued) -> Pursued:
        """The state with the best assignment decoded from its messages, if that is the best so far."""
        moved = self.model(task, state.clusters).moved(state.lambdas)
        made = [improved(task.wiring, codes) for codes in MPLP().decodings(moved, state.messages)]
        codes, value = best_of([state.codes, *made], task.wiring)
        return replace(state, codes=codes, value=value)

    def _more(self, task: AssignmentTask, state: Pursued) -> Pursued:
        """The state with the triplets of frustrated cycles, if there is time; the bound is as it was."""
        left = task.end - time.monotonic()
        if left <= 0.0:
            return state
        moved = self.model(task, state.clusters).moved(state.lambdas)
        least, known = LEAST_GAIN * max(1.0, abs(state.bound)), set(map(tuple, state.clusters.tolist()))
        most = self.method.cycles + len(known)
        candidates = int(min(MAX_CANDIDATES, left / CYCLE_SECONDS))
        dual = Dual.of(moved, state.messages)
        cycles = frustrated_cycles(dual, most=most, least=least, candidates=candidates)
        fresh = (t for cycle in cycles for t in triangulated(cycle) if tuple(sorted(t)) not in known)
        room = MAX_VALUES - len(state.lambdas)
        more = fitting(as_clusters(fresh)[: 2 * self.method.cycles], task.wiring.plugs.cards, axes=2, room=room)
        if not len(more):
            return replace(state, is_complete=True, searches=state.searches + 1)
        model = self.model(task, np.concatenate([state.clusters, more]))
        messages, lambdas = np.zeros(int(model.wiring.wires.messages[-1])), np.zeros(model.num_values)
        messages[: len(state.messages)], lambdas[: len(state.lambdas)] = state.messages, state.lambdas
        searches = state.searches + 1
        return replace(state, messages=messages, lambdas=lambdas, clusters=model.clusters, searches=searches)


def carried(wiring: Wiring, model: Clustered, messages: Floats) -> Floats:
    """The messages of a model with one factor per pair, from those of the model; zero for further pairs."""
    ends, other = wiring.wires.messages.tolist(), model.wiring.wires
    found, starts, goals = np.zeros(int(other.messages[-1])), wiring.plugs.starts.tolist(), other.messages.tolist()
    for f, r in enumerate(model.numbers.tolist()):
        scope = model.wiring.scope(r).tolist()
        for axis, i in enumerate(wiring.scope(f).tolist()):
            s, t = starts[f] + axis, int(other.starts[r]) + scope.index(i)
            found[goals[t] : goals[t + 1]] += messages[ends[s] : ends[s + 1]]
    return found


def _proves(wiring: Wiring, state: Pursued, bound: float) -> bool:
    """Whether the values and messages have the bound."""
    found = Clustered.of(wiring, state.clusters).bound(state.lambdas, state.messages)
    return found == bound or found <= bound + AGREE * max(1.0, abs(bound))


class _PursuedCodec:
    """Stores the state in a checkpoint."""

    def pack(self, state: Pursued) -> object:
        return dict(vars(state))

    def unpack(self, content: dict[str, Any]) -> Pursued:
        floats: Any = {name: np.array(content[name], np.float64) for name in ("messages", "lambdas")}
        codes, clusters = np.array(content["codes"], np.int64), np.array(content["clusters"], np.int64).reshape(-1, 3)
        return Pursued(**{**content, **floats, "codes": codes, "clusters": clusters})
