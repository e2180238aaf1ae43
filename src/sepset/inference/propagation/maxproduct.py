"""Assignments from max-product messages: decoding, local optimality, coordinate ascent, and bounds where they hold."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.threads import interruptible
from sepset.errors import NotApplicable, TooLarge
from sepset.inference.assignment import AssignmentTask, Certificate, Found, best_of, is_proved
from sepset.inference.iterate import Info, Until, as_until
from sepset.inference.map.branching import BranchAndBound
from sepset.inference.map.coordinates import improved
from sepset.inference.map.dual import AGREE, bound_of, dual_certificate
from sepset.inference.propagation.agreement import TIED, Agreements
from sepset.inference.propagation.bestfirst import best_first
from sepset.inference.propagation.counting import convex_split, dual_messages
from sepset.inference.propagation.neighborhoods import StrongLocalMaximum
from sepset.inference.propagation.passing import Beliefs, Passing, beliefs_of, propagated, rooms
from sepset.inference.result import Guarantee, Status
from sepset.inference.wiring import Wiring
from sepset.kernels.propagation.decoding import decode_factors, largest_loss
from sepset.kernels.propagation.wires import first_modes
from sepset.variables.evidence import Evidence

TRIES = 16
"""The number of further decodings of beliefs whose maxima disagree."""

DECODE_EVERY = 10
"""The number of passes between two decodings."""

MOST_TIED = 500
"""The most tied variables that are searched for the best completion of the others."""

MOST_FACTORS = 20_000
"""The most factors of a model whose ties are searched."""

COMPLETION_STEPS = 6
"""The most steps of that search."""


@dataclass(frozen=True)
class Decoded:
    """Messages, and the best of the assignments decoded so far."""

    messages: Floats
    codes: Ints
    value: float
    passes: int = 0


class DecodedCodec:
    """Stores messages and the best assignment in a checkpoint."""

    def pack(self, state: Decoded) -> object:
        """The state as plain values."""
        return dict(vars(state))

    def unpack(self, content: dict[str, Any]) -> Decoded:
        """The state of plain values."""
        messages, codes = np.asarray(content["messages"]), np.array(content["codes"], np.int64)
        return Decoded(messages, codes, float(content["value"]), int(content["passes"]))


@dataclass(frozen=True, eq=False)
class MaxPassing:
    """Passes of max-product that keep the best decoding of all passes, which often oscillate around loops.

    Attributes:
        passing: the passes.
    """

    passing: Passing

    def __repr__(self) -> str:
        return repr(self.passing)

    def init(self, task: AssignmentTask, rng: np.random.Generator) -> Decoded:
        """Messages of one, and the assignment to begin with."""
        codes = task.first_codes()
        return Decoded(self.passing.init(task, rng), codes, task.wiring.log_value(codes))

    def step(self, task: AssignmentTask, state: Decoded, rng: np.random.Generator) -> tuple[Decoded, Info]:
        """A step of the passes, and now and then a decoding."""
        messages, info = self.passing.step(task, state.messages, rng)
        found = Decoded(messages, state.codes, state.value, state.passes + 1)
        if found.passes % DECODE_EVERY == 0 and info.objective > -math.inf:
            beliefs = beliefs_of(self.passing, task.wiring, messages)
            if beliefs.log_totals > -math.inf:
                codes, value = best_of([state.codes, decoded_codes(beliefs)], task.wiring)
                found = Decoded(messages, codes, value, found.passes)
        return found, info


class Decoding(NamedTuple):
    """An assignment read from beliefs.

    Attributes:
        codes: the assignment.
        decoder: how it was found.
        is_optimal: whether all beliefs have their maxima there.
        ties: the number of variables whose beliefs have several maxima.
        conflict: factors whose beliefs cannot have their maxima together, if no assignment has them all.
    """

    codes: Ints
    decoder: str
    is_optimal: bool
    ties: int
    conflict: list[int]


def assigned(method: object, task: AssignmentTask, passing: Passing, until: Until, *, has_trees: bool = False) -> Found:
    """The best assignment decoded from max-product messages, improved by coordinate ascent.

    Args:
        has_trees: whether the weights of the factors are probabilities of edges in spanning trees: messages then have
            an upper bound.

    Reference: Koller & Friedman, section 13.4; Wainwright, Jaakkola & Willsky (2005).
    Guarantee: exact on forests; otherwise a local optimum, with an upper bound for convex counting numbers.
    Tested by: inference/propagation/test_maxproduct.py::test_forests_are_exact_with_ties_and_proved
    """
    task.require_all(method)
    ended = task.iterated(MaxPassing(passing), until=until, codec=DecodedCodec())
    beliefs = beliefs_of(passing, task.wiring, ended.state.messages, ended)
    if beliefs.log_totals == -math.inf:
        return Found(task.first_codes()[None], (-math.inf,), bound=-math.inf, status=ended.status, trace=ended.trace)
    decoding = decoded(beliefs)
    others = _others(task, beliefs, decoding, ended.state)
    is_cut = ended.status is Status.INTERRUPTED  # whoever interrupts does not wait for improvements
    tried = [c if is_cut else improved(task.wiring, c) for c in (decoding.codes, *others)]
    codes, value = best_of(tried, task.wiring)
    bound, certificate = _bound(beliefs, has_trees=has_trees)
    if not is_proved(value, bound) and certificate is None and decoding.is_optimal and (codes == decoding.codes).all():
        certificate = _strong(beliefs, codes)
    run = {"seconds": round(ended.seconds, 3), "passes": ended.num_steps, "residual": beliefs.residual}
    info = {**run, **_described(beliefs.wiring, decoding)}
    return Found(
        codes[None],
        (value,),
        bound=bound,
        guarantee=Guarantee.HEURISTIC if is_cut else Guarantee.LOCAL_OPTIMUM,
        certificate=certificate,
        persistent=None,
        status=ended.status,
        trace=ended.trace,
        info=info,
    )


def several(method: object, task: AssignmentTask, passing: Passing, until: Until) -> Found:
    """The k best assignments by best max-marginal first; exact on forests, where all messages converge.

    Reference: Yanover & Weiss (2004), Finding the M most probable configurations using loopy belief propagation.
    """
    task.again(k=1).require_all(method)
    task.require_no_checkpoint(method)
    converged: list[bool] = []
    rule = as_until(task.until, until)

    def solve(part: Wiring) -> tuple[Ints, float, Floats]:
        converged.append(False)
        beliefs = propagated(passing, part, rule)
        if beliefs.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        converged[-1] = beliefs.has_converged
        if beliefs.log_totals == -math.inf:
            return task.wiring.modes, -math.inf, np.full(len(part.unary), -np.inf)
        codes = improved(part, decoded_codes(beliefs))
        return codes, part.log_value(codes), beliefs.logs

    with task.limited():
        rows = best_first(task.wiring, task.k, solve)
    if not rows:
        return Found(task.first_codes()[None], (-math.inf,))
    values = tuple(task.wiring.log_value(codes) for codes in rows)
    is_exact = task.wiring.is_forest and passing.rhos is None and all(converged)
    return Found(
        np.stack(rows), values, bound=values[0] if is_exact else math.inf, info={"decoder": "best max-marginal first"}
    )


def _described(wiring: Wiring, decoding: Decoding) -> dict[str, object]:
    """The decoding in words: the decoder, ties, and frustrated factors by their variables."""
    found: dict[str, object] = {
        "decoder": decoding.decoder,
        "locally_optimal": decoding.is_optimal,
        "ties": decoding.ties,
    }
    if decoding.conflict:
        found["frustrated"] = [tuple(wiring.name(i) for i in wiring.scope(f).tolist()) for f in decoding.conflict]
    return found


def decoded(beliefs: Beliefs) -> Decoding:
    """The assignment at which all beliefs have their maxima, if there is one; otherwise one decoded factor by factor.

    Reference: Koller & Friedman, sections 13.3.3 and 13.4.1.2.
    """
    states, codes = beliefs.wiring.plugs.states, decoded_codes(beliefs)
    tops = beliefs.logs >= -TIED
    ties = int((np.add.reduceat(tops, states[:-1]) > 1).sum()) if len(tops) else 0
    decoder = "traceback" if beliefs.is_forest else "sequential" if ties else "unambiguous"
    is_optimal = beliefs.has_converged and loss(beliefs, codes) <= TIED
    is_small = ties <= MOST_TIED and beliefs.wiring.num_factors <= MOST_FACTORS
    if is_optimal or not (beliefs.has_converged and ties and is_small):
        return Decoding(codes, decoder, is_optimal, ties, [])
    search = Agreements(beliefs)
    found = search.found()
    if found.codes is not None and loss(beliefs, found.codes) <= 10 * TIED:
        return Decoding(found.codes, "constraint satisfaction", True, ties, [])
    return Decoding(codes, decoder, False, ties, search.conflict() if found.is_decided else [])


def _others(task: AssignmentTask, beliefs: Beliefs, decoding: Decoding, state: Decoded) -> list[Ints]:
    """Further assignments to improve: earlier decodings, the best state of each variable, and completions of both.

    Where the time is over, only those that are there already.
    """
    each = np.empty(beliefs.wiring.num_variables, np.int64)
    first_modes(beliefs.wiring.plugs.states, beliefs.logs, each)
    found = [each, state.codes]
    if not decoding.is_optimal and beliefs.status not in (Status.TIME_LIMIT, Status.INTERRUPTED):
        found += _random_decodings(task, beliefs)
        if beliefs.has_converged and 0 < decoding.ties <= MOST_TIED:
            found += _completions(task, beliefs, each)
    return found


def _completions(task: AssignmentTask, beliefs: Beliefs, codes: Ints) -> list[Ints]:
    """The best assignment of the tied variables given the states of all others, if it is found soon.

    Reference: Koller & Friedman, section 13.4.1.2.
    """
    tops = np.add.reduceat(beliefs.logs >= -TIED, beliefs.wiring.plugs.states[:-1])
    free, known = task.wiring.free, np.flatnonzero(tops == 1)
    fixed = dict(zip(free[known].tolist(), codes[known].tolist(), strict=True))
    known_before = task.evidence
    evidence = Evidence(
        {**known_before.codes, **fixed}, known_before.weights, soft=known_before.soft, reals=known_before.reals
    )
    rest = AssignmentTask(task.problem, evidence, until=Until(steps=COMPLETION_STEPS, tolerance=0.0), progress=False)
    try:
        found = BranchAndBound(rounds=20).assign(rest)
    except (NotApplicable, TooLarge):
        return []
    whole = codes.copy()
    whole[np.searchsorted(free, rest.wiring.free)] = found.codes[0]
    return [whole]


def _random_decodings(task: AssignmentTask, beliefs: Beliefs) -> list[Ints]:
    """Decodings with the factors in random order, each given a random state of one variable."""
    cards, num, rng, made = beliefs.wiring.plugs.cards, beliefs.wiring.num_factors, task.rng, []
    for _ in range(TRIES):
        i = int(rng.integers(len(cards)))
        made.append(decoded_codes(beliefs, rng.permutation(num), {i: int(rng.integers(cards[i]))}))
    return made


def _strong(beliefs: Beliefs, codes: Ints) -> Certificate | None:
    """The certificate of a strong local maximum, for belief propagation without other weights, if it holds."""
    is_plain = (beliefs.rhos == 1.0).all() and (beliefs.counts == 1.0).all()
    if not (is_plain and _is_maximum(beliefs, codes)):
        return None
    return StrongLocalMaximum(
        "No change of a set of variables is better whose induced graph has at most one cycle in each component.",
        "All max-product beliefs of a fixed point have their maxima at the assignment.",
        verify=partial(_is_maximum, beliefs, codes),
        beliefs=beliefs,
    )


def _is_maximum(beliefs: Beliefs, codes: Ints) -> bool:
    """Whether one more pass changes nothing, and all beliefs have their maxima at an assignment."""
    if not isinstance(beliefs.passing, Passing):
        return False
    _, info = beliefs.passing.step(beliefs, beliefs.state, np.random.default_rng(0))
    return info.change <= TIED and loss(beliefs, codes) <= 10 * TIED


def decoded_codes(beliefs: Beliefs, order: Ints | None = None, fixed: Mapping[int, int] | None = None) -> Ints:
    """The assignment decoded from max-product messages, factor by factor.

    Args:
        order: the factors; by default breadth first.
        fixed: variables with a given code.
    """
    wiring, found = beliefs.wiring, np.full(beliefs.wiring.num_variables, -1, np.int64)
    for i, code in (fixed or {}).items():
        found[i] = code
    order = wiring.traversal.order if order is None else order
    how = (wiring.wires, order, beliefs.rhos, beliefs.logs, beliefs.messages, *rooms(wiring), found)
    interruptible(partial(decode_factors, *how))
    return found


def loss(beliefs: Beliefs, codes: Ints) -> float:
    """The most by which an assignment is below the maximum of a log belief; zero if it is locally optimal.

    Reference: Koller & Friedman, definition 13.3.
    """
    how = (beliefs.wiring.wires, beliefs.rhos, beliefs.logs, beliefs.messages, *rooms(beliefs.wiring), codes)
    return float(interruptible(partial(largest_loss, *how)))


def _bound(beliefs: Beliefs, *, has_trees: bool) -> tuple[float, Certificate | None]:
    """An upper bound that the messages prove; infinite where counting numbers are not convex."""
    wiring, shares = beliefs.wiring, None
    if beliefs.is_forest and beliefs.has_converged and (beliefs.rhos == 1.0).all() and (beliefs.counts == 1.0).all():
        shares = (wiring.traversal.up > 0).astype(np.float64)
    elif not has_trees:
        split = convex_split(wiring, beliefs.rhos, beliefs.counts)
        if split is None:
            return math.inf, None
        shares = split.slots
    if shares is not None:
        messages = dual_messages(beliefs, shares)
        bound = bound_of(wiring, messages)
        return bound, dual_certificate(wiring, messages, bound)
    bound = beliefs.energy(is_bound=True)
    return bound, Certificate(
        f"No assignment has a log value above {bound:.10g}.",
        "With these messages the model is an average of trees, whose largest log values have that average or less.",
        verify=partial(_proves, beliefs, bound),
    )


def _proves(beliefs: Beliefs, bound: float) -> bool:
    return beliefs.energy(is_bound=True) <= bound + AGREE * max(1.0, abs(bound))
