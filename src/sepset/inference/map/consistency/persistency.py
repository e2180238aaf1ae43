"""Persistent states of models of any number of states: what some best assignment, or every one, has for certain."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from sepset.base.arraytypes import Bools, Floats, Ints
from sepset.base.checks import whole
from sepset.base.display import Plain, Worded
from sepset.inference.assignment import AssignmentTask, Certificate, Found
from sepset.inference.iterate import Until
from sepset.inference.map.consistency.mappings import Mapping
from sepset.inference.map.dual import bound_of
from sepset.inference.map.mplp import MPLP
from sepset.inference.map.rounds import DualRounds, Passed, PassedCodec
from sepset.inference.map.trws import TRWS
from sepset.inference.result import Guarantee, Status
from sepset.inference.wiring import Wiring

SETTLED = 1e-7
"""Messages end where a round lowers the bound by less than this part."""


@dataclass(frozen=True)
class Persistency(Worded, Plain):
    """An assignment, a bound, and the states that are certain: for any number of states, and factors of any size.

    Messages suggest an assignment. Then mappings are found that replace states by those of the assignment and make no
    assignment worse, whatever it is: replaced states are not needed. Where all other states of a variable are replaced,
    its state is persistent: fixing all persistent variables, `given=found.persistent`, keeps a best assignment.

    Args:
        rounds: the most rounds of messages.
        strict: whether replacing a state must make every assignment better; then every best assignment has the
            persistent states. Otherwise at least one does.

    Cost: rounds of messages, and a cut of a graph with one node per variable for each attempt.
    Reference: Swoboda, Savchynskyy, Kappes & Schnörr (2013), Partial optimality by pruning for MAP-inference with
        general graphical models; Kovtun (2003); Shekhovtsov (2014), Maximum persistency in energy minimization.
    Guarantee: persistent states belong to some best assignment together, with `strict` to every one.
    Tested by: inference/map/consistency/test_persistency.py::test_persistent_states_by_enumeration

    >>> import sepset as ss
    >>> rng = np.random.default_rng(0)
    >>> shade = ss.Discrete.array("shade", (10, 10), states=4)
    >>> net = ss.MarkovNet.potts(shade, 0.4, log_values=rng.normal(size=(10, 10, 4)))
    >>> found = ss.map_assignment(net, method=ss.inference.Persistency())
    >>> len(found.persistent) > 50, found.certificate.check()
    (True, True)
    >>> exact = ss.map_assignment(net)
    >>> all(exact.assignment[name] == state for name, state in found.persistent.items())
    True
    """

    rounds: int = 100
    strict: bool = False

    def __post_init__(self) -> None:
        whole("Persistency(rounds=)", self.rounds, least=1)

    def assign(self, task: AssignmentTask) -> Found:
        """The assignment that messages suggest, the bound, and the states that are certain."""
        task.require_all(self)
        task.wiring.require_tables(self)
        wiring = task.wiring.consistent
        solver = solver_of(wiring)
        until = Until(steps=self.rounds, tolerance=SETTLED)
        done = task.iterated(solver, until=until, codec=PassedCodec())
        last = solver.decoded(wiring, done.state)
        last = replace(last, messages=solver.proof(wiring, last.messages))
        bound = min(last.bound, bound_of(wiring, last.messages))
        unknown = Found(
            last.codes[None], (last.value,), bound=bound, is_strict=self.strict, status=done.status, trace=done.trace
        )
        if last.value == -np.inf or done.status is Status.INTERRUPTED:
            return unknown
        try:
            with task.limited():
                made = Mapping.improving(wiring, last.codes, last.messages, is_strict=self.strict)
        except KeyboardInterrupt:
            return replace(unknown, status=Status.INTERRUPTED)
        live = np.isfinite(wiring.unary) & ~made.moved
        fixed = _fixed(wiring, live)
        return Found(
            last.codes[None],
            (last.value,),
            bound=bound,
            guarantee=Guarantee.HEURISTIC,
            certificate=_certificate(self, wiring, last, bound, made, int(fixed.sum())),
            persistent=fixed,
            is_strict=self.strict,
            status=Status.TIME_LIMIT if time.monotonic() >= task.end else done.status,
            trace=done.trace,
            info={
                "seconds": round(done.seconds, 3),
                "rounds": done.num_steps,
                "persistent": int(fixed.sum()),
                "removed_states": int(np.isfinite(wiring.unary).sum() - live.sum()),
                "left_states": int(live.sum()),
            },
        )


def _fixed(wiring: Wiring, live: Bools) -> Bools:
    """The variables with one state that is left."""
    if not wiring.num_variables:
        return np.zeros(0, bool)
    found: Bools = np.add.reduceat(live.astype(np.int64), wiring.plugs.states[:-1]) == 1
    return found


def solver_of(wiring: Wiring) -> DualRounds:
    """The messages that suggest an assignment: sequential ones for models in pairs, others for larger factors."""
    return TRWS() if wiring.is_pairwise else MPLP()


def without_needless(wiring: Wiring, codes: Ints, rounds: int) -> Wiring:
    """The model with value zero for states that some best assignment does not need; it keeps one best assignment.

    Args:
        wiring: a model after arc consistency.
        codes: an assignment that is known.
        rounds: the number of rounds of messages before.
    """
    solver = solver_of(wiring)
    state = Passed(np.zeros(int(wiring.wires.messages[-1])), np.inf, codes, wiring.log_value(codes))
    for _ in range(rounds):
        messages = state.messages.copy()
        bound = min(state.bound, wiring.constant + solver.passed(wiring, messages))
        settled = state.bound - bound <= SETTLED * max(1.0, abs(bound))
        state = replace(state, messages=messages, bound=bound)
        if settled or bound == -np.inf:
            break
    state = solver.decoded(wiring, state)
    if state.value == -np.inf or state.bound == -np.inf:
        return wiring
    made = Mapping.improving(wiring, state.codes, solver.proof(wiring, state.messages), is_strict=False)
    return replace(wiring, unary=np.where(made.moved, -np.inf, wiring.unary))


def _certificate(
    method: Persistency, wiring: Wiring, last: Passed, bound: float, made: Mapping, fixed: int
) -> Certificate:
    who = "every best assignment" if method.strict else "some best assignment"
    return Certificate(
        f"{fixed} states belong to {who}, and no value is above {bound:.10g}.",
        "Replacing other states makes no assignment worse: minimum cuts bound the differences from below.",
        verify=partial(_holds, wiring, last.messages, bound, made, is_strict=method.strict),
    )


def _holds(wiring: Wiring, messages: Floats, bound: float, made: Mapping, *, is_strict: bool) -> bool:
    again = bound_of(wiring, messages)
    is_bound = again == bound or again <= bound + 1e-9 * max(1.0, abs(bound))
    return is_bound and not made.exceptions(wiring, is_strict=is_strict).any()
