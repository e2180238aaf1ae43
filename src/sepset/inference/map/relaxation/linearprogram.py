"""The best assignment as a linear or integer program over pseudo-marginals, tightened by triplets of variables."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from sepset.base.arraytypes import Bools, Floats, Ints
from sepset.base.checks import one_of, whole
from sepset.inference.assignment import AssignmentTask, Certificate, Found, best_of, is_proved
from sepset.inference.iterate import Info, Until
from sepset.inference.map.coordinates import improved
from sepset.inference.map.dual import AGREE, bound_of
from sepset.inference.map.mplp import MPLP
from sepset.inference.map.relaxation.cycles import as_clusters, triangles, violated_triplets
from sepset.inference.map.relaxation.highs import integer_optimum, linear_optimum
from sepset.inference.map.relaxation.polytope import Polytope, num_columns, require_columns
from sepset.inference.map.relaxation.regions import MAX_COLUMNS, NO_CLUSTERS, Regions, fitting
from sepset.inference.map.relaxation.rounding import CERTAIN, fractional, rounded
from sepset.inference.map.relaxation.survival import surviving
from sepset.inference.result import Guarantee, Status
from sepset.inference.wiring import Wiring

TIGHTENINGS = (None, "cycles", "triplets")
"""Which clusters are added."""

WARM = Until(steps=10, tolerance=1e-4)
"""The rounds of messages before the first program: a valid bound and an assignment if its time should end."""

SOLVED = 1e-7
"""The relative distance of a solver's bound from a value at which the solver's word is taken for the optimum."""


@dataclass(frozen=True)
class Relaxed:
    """The state after some programs.

    Attributes:
        bound: the least upper bound.
        codes, value: the best assignment.
        clusters: the triplets.
        lambdas, messages: the dual of the program with the least bound, for its first `num_clusters` triplets.
        num_clusters: the number of triplets of that program.
        marginals: the pseudo-marginals of its states.
        rounds: the number of linear programs that were solved.
        is_tight: whether the last of them was.
        is_whole: whether the integer program decided.
    """

    bound: float
    codes: Ints
    value: float
    clusters: Ints
    lambdas: Floats
    messages: Floats
    num_clusters: int
    marginals: Floats
    rounds: int = 0
    is_tight: bool = False
    is_whole: bool = False

    def dual(self, wiring: Wiring) -> tuple[Regions, Wiring]:
        """The regions of the dual, and these after exchanging values."""
        regions = Regions.of(wiring, self.clusters[: self.num_clusters])
        return regions, regions.moved(self.lambdas)


@dataclass(frozen=True)
class LinearProgram:
    """The linear program over the local polytope, or the integer program, with an assignment rounded from its solution.

    Pseudo-marginals of the factors agree on everything that they share. The optimum is an upper bound, and if it has
    one state per variable, that is the best assignment; so it is on trees, and for binary submodular pairs. Triplets
    of variables on cycles where it contradicts itself are added to tighten it. The integer program proves the optimum.
    Quadratic and second-order cone relaxations of the same pairs are dominated by it, so that there are none here.

    Args:
        integer: whether an integer program follows, without the states that the bound rules out.
        tighten: "cycles" adds the triplets of violated cycles, "triplets" those of pairs that form triangles; None
            adds none.
        rounds: the most linear programs, each with more triplets than the one before.

    Cost: a sparse program with one column per possible entry of every table, or one per state for pairs that favor
        equal states; an integer program may take exponential time. `until=Until(seconds=...)` is honored.
    Reference: Koller & Friedman, section 13.5; Sontag & Jaakkola (2007); Barahona & Mahjoub (1986);
        Kumar, Kolmogorov & Torr (2009) for what it dominates.
    Guarantee: upper bound; exact if the solution is whole or the integer program ends.
    Tested by: inference/map/relaxation/test_linearprogram.py::test_the_integer_program_is_the_enumeration

    >>> import sepset as ss
    >>> a, b, c = (ss.Discrete(name) for name in "abc")
    >>> apart = [[1, 2], [2, 1]]
    >>> frustrated = ss.MarkovNet(ss.Table((a, b), apart), ss.Table((b, c), apart), ss.Table((a, c), apart))
    >>> loose = ss.map_assignment(frustrated, method=ss.LinearProgram())
    >>> tight = ss.map_assignment(frustrated, method=ss.LinearProgram(tighten="cycles"))
    >>> [round(float(np.exp(bound)), 6) for bound in (loose.bound, tight.bound)], loose.info["is_integral"]
    ([8.0, 4.0], False)
    >>> tight.guarantees["assignment"], tight.certificate.check()
    (EXACT, True)
    """

    _: KW_ONLY
    integer: bool = False
    tighten: str | None = None
    rounds: int = 20

    def __post_init__(self) -> None:
        one_of("LinearProgram(integer=)", self.integer, (False, True))
        one_of("LinearProgram(tighten=)", self.tighten, TIGHTENINGS)
        whole("LinearProgram(rounds=)", self.rounds, least=1)

    def assign(self, task: AssignmentTask) -> Found:
        """The best assignment found, the bound, and the dual that proves it."""
        task.require_all(self)
        with task.limited():
            require_columns(task.wiring)
            require_columns(Regions.of(task.wiring).wiring)
        done = task.iterated(_Programs(self), until=Until(steps=None, tolerance=0.0), codec=_RelaxedCodec())
        state = done.state
        return Found(
            state.codes[None],
            (state.value,),
            bound=state.bound,
            guarantee=Guarantee.HEURISTIC,
            certificate=_certificate(task.wiring, state),
            status=done.status,
            trace=done.trace,
            info={"seconds": round(done.seconds, 3), **_told(task.wiring, state)},
        )


class _Programs:
    """The iteration: one program per step.

    Args:
        method: the settings.
    """

    def __init__(self, method: LinearProgram) -> None:
        self.method = method

    def __repr__(self) -> str:
        return repr(self.method)

    def init(self, task: AssignmentTask, rng: np.random.Generator) -> Relaxed:
        """An assignment and a bound by a few rounds of messages."""
        wiring = task.wiring.consistent
        until = replace(WARM, seconds=None if task.end == math.inf else max(_left(task), 0.0) / 4.0)
        first = task.again(until=until, checkpoint=None, progress=False).iterated(MPLP(), until=until)
        passed = MPLP().decoded(wiring, first.state)
        task.known.note(passed.codes, passed.messages)
        if first.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        regions = Regions.of(wiring)
        lambdas, messages = np.zeros(int(regions.moves[-1])), np.zeros(int(regions.wiring.wires.messages[-1]))
        if regions.wiring is wiring:
            messages = passed.messages
        bound = bound_of(regions.wiring, messages)
        none = np.zeros(len(wiring.unary))
        return Relaxed(bound, passed.codes, passed.value, NO_CLUSTERS, lambdas, messages, 0, none)

    def step(self, task: AssignmentTask, state: Relaxed, rng: np.random.Generator) -> tuple[Relaxed, Info]:
        """One linear program; after the last one, the integer program."""
        if state.bound == -math.inf or is_proved(state.value, state.bound):
            return state, Info(-state.bound, 0.0, is_done=True)
        if state.is_tight:
            return self._integer(task, state)
        regions = Regions.of(task.wiring, state.clusters)
        polytope = Polytope.of(regions)
        solution = linear_optimum(polytope, seconds=_left(task))
        if solution is None:
            return state, Info(-state.bound, math.inf, is_done=True, status=Status.TIME_LIMIT)
        if solution.is_infeasible:
            return replace(state, bound=-math.inf), Info(math.inf, 0.0, is_done=True)
        lambdas, messages = polytope.duals(solution)
        bound, marginals = bound_of(regions.moved(lambdas), messages), polytope.marginals(solution.columns)
        found = replace(state, rounds=state.rounds + 1, marginals=marginals)
        if bound < state.bound:
            dual = {"bound": bound, "lambdas": lambdas, "messages": messages, "num_clusters": len(state.clusters)}
            found = replace(found, **dual)  # type: ignore[arg-type]
        codes, value = best_of([found.codes, improved(task.wiring, rounded(polytope, solution.columns))], task.wiring)
        return self._next(replace(found, codes=codes, value=value), polytope, solution.columns)

    def _next(self, state: Relaxed, polytope: Polytope, columns: Floats) -> tuple[Relaxed, Info]:
        """The state with the clusters of the next program; after the last one, ready for the integer program."""
        if is_proved(state.value, state.bound):
            return state, Info(-state.bound, 0.0, is_done=True)
        more = self._clusters(state, polytope, columns)
        if len(more) and state.rounds < self.method.rounds:
            return replace(state, clusters=np.concatenate([state.clusters, more])), Info(-state.bound, math.inf)
        return replace(state, is_tight=True), Info(-state.bound, math.inf, is_done=not self.method.integer)

    def _clusters(self, state: Relaxed, polytope: Polytope, columns: Floats) -> Ints:
        """Triplets that are new."""
        if self.method.tighten is None:
            return NO_CLUSTERS
        if self.method.tighten == "cycles":
            found = violated_triplets(polytope, columns)
        else:
            wiring, open_ones = polytope.regions.wiring, set(fractional(polytope, state.marginals).tolist())
            pairs = wiring.plugs.scope[np.repeat(np.diff(wiring.plugs.starts) == 2, np.diff(wiring.plugs.starts))]
            ends = [(i, j) for i, j in pairs.reshape(-1, 2).tolist() if {i, j} <= open_ones]
            found = as_clusters(triangles(ends))
        known, wiring = set(map(tuple, state.clusters.tolist())), polytope.regions.wiring
        more = as_clusters(t for t in found.tolist() if tuple(t) not in known)
        return fitting(more, wiring.plugs.cards, axes=3, room=(MAX_COLUMNS - num_columns(wiring)) / 2.0)

    def _integer(self, task: AssignmentTask, state: Relaxed) -> tuple[Relaxed, Info]:
        """The integer program of what can still be better than the best assignment."""
        outcome = whole_optimum(task.wiring, state, seconds=_left(task))
        if outcome is None:
            return state, Info(-state.bound, math.inf, is_done=True, status=Status.TIME_LIMIT)
        others, limit = outcome
        codes, value = best_of([state.codes, *(improved(task.wiring, c) for c in others)], task.wiring)
        bound = min(state.bound, max(value, limit))
        if bound - value <= SOLVED * max(1.0, abs(value)):
            bound = value
        found = replace(state, codes=codes, value=value, bound=bound, is_whole=True)
        is_over = is_proved(value, bound) or bound == -math.inf or _left(task) > 0.0
        return found, Info(-bound, 0.0, is_done=True, status=Status.CONVERGED if is_over else Status.TIME_LIMIT)


def _left(task: AssignmentTask) -> float:
    """The seconds that are left."""
    return task.end - time.monotonic()


def whole_optimum(wiring: Wiring, state: Relaxed, *, seconds: float = math.inf) -> tuple[list[Ints], float] | None:
    """The best assignment among those that may be better than a known one, if there is one, and an upper bound.

    None if time ended without either.
    """
    regions, moved = state.dual(wiring)
    live = surviving(moved, state.messages, state.value) if math.isfinite(state.bound) else None
    if live is not None and not _is_possible(wiring, live):
        return [], -math.inf
    polytope = Polytope.of(regions, live)
    found = integer_optimum(polytope, seconds=seconds)
    if found is None:
        return None
    limit = wiring.constant + found.bound
    return [] if found.columns is None else [_codes(wiring, polytope.marginals(found.columns))], limit


def _is_possible(wiring: Wiring, live: Bools) -> bool:
    """Whether every variable has a state."""
    return bool(np.logical_or.reduceat(live, wiring.plugs.states[:-1]).all()) if len(live) else True


def _codes(wiring: Wiring, marginals: Floats) -> Ints:
    starts = wiring.plugs.states
    return np.array([int(marginals[a:b].argmax()) for a, b in itertools.pairwise(starts.tolist())], np.int64)


def _told(wiring: Wiring, state: Relaxed) -> Mapping[str, object]:
    """Facts about a state: numbers of programs and triplets, and the pseudo-marginals that are not whole."""
    starts, q = wiring.plugs.states.tolist(), state.marginals
    mixed = [i for i in range(wiring.num_variables) if 0.0 < q[starts[i] : starts[i + 1]].max() < 1.0 - CERTAIN]
    return {
        "programs": state.rounds,
        "triplets": len(state.clusters),
        "is_integral": state.is_whole or not mixed,
        "fractional": {wiring.name(i): q[starts[i] : starts[i + 1]] for i in mixed},
        "decoder": "integer program" if state.is_whole else "rounding",
    }


def _certificate(wiring: Wiring, state: Relaxed) -> Certificate:
    claim = f"No assignment has a log value above {state.bound:.10g}."
    if state.is_whole:
        return Certificate(
            claim,
            "An integer program over the states that the bound of the linear program leaves, solved by HiGHS.",
            verify=partial(_decides, wiring, state),
        )
    return Certificate(
        claim,
        "The dual of the linear program: regions and variables, after exchanging values, have maxima of that sum.",
        verify=partial(_proves, wiring, state),
    )


def _proves(wiring: Wiring, state: Relaxed) -> bool:
    """Whether the dual has the bound."""
    if state.bound == -math.inf:
        solution = linear_optimum(Polytope.of(Regions.of(wiring, state.clusters)))
        return solution is not None and solution.is_infeasible
    return _is_at_most(bound_of(state.dual(wiring)[1], state.messages), state.bound)


def _decides(wiring: Wiring, state: Relaxed) -> bool:
    """Whether the integer program, solved again, has the bound."""
    dual = replace(state, bound=bound_of(state.dual(wiring)[1], state.messages))
    found = whole_optimum(wiring, dual)
    return found is not None and _is_at_most(min(dual.bound, max(state.value, found[1])), state.bound, SOLVED)


def _is_at_most(found: float, bound: float, tolerance: float = AGREE) -> bool:
    return found == bound or found <= bound + tolerance * max(1.0, abs(bound))


class _RelaxedCodec:
    """Stores the state in a checkpoint."""

    def pack(self, state: Relaxed) -> object:
        return dict(vars(state))

    def unpack(self, content: dict[str, Any]) -> Relaxed:
        floats: Any = {name: np.array(content[name], np.float64) for name in ("lambdas", "messages", "marginals")}
        codes, clusters = np.array(content["codes"], np.int64), np.array(content["clusters"], np.int64).reshape(-1, 3)
        return Relaxed(**{**content, **floats, "codes": codes, "clusters": clusters})
