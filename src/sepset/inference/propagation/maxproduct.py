"""Assignments from max-product messages: decoding, local optimality, coordinate ascent, and bounds where they hold."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from functools import partial

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.threads import interruptible
from sepset.inference.assignment import AssignmentTask, Certificate, Found, best_of
from sepset.inference.iterate import Until
from sepset.inference.map.coordinates import improved
from sepset.inference.map.dual import AGREE, bound_of, dual_certificate
from sepset.inference.propagation.passing import Beliefs, Passing, beliefs_of, rooms
from sepset.inference.result import Guarantee
from sepset.kernels.propagation.decoding import decode_factors, largest_loss

TRIES = 16
"""The number of further decodings of beliefs whose maxima disagree."""

LOCALLY_OPTIMAL = 1e-6
"""The most by which a decoded assignment may be below the maximum of a log belief to count as locally optimal."""


def assigned(method: object, task: AssignmentTask, passing: Passing, until: Until, *, has_trees: bool = False) -> Found:
    """The best assignment decoded from max-product messages, improved by coordinate ascent.

    Args:
        has_trees: whether the weights of the factors are probabilities of edges in spanning trees: messages then have
            an upper bound.

    Reference: Koller & Friedman, section 13.4; Wainwright, Jaakkola & Willsky (2005).
    Guarantee: exact on forests; otherwise a local optimum, with an upper bound for tree-reweighted messages.
    Tested by: inference/propagation/test_maxproduct.py::test_forests_are_exact_with_ties_and_proved
    """
    task.require_all(method)
    beliefs = beliefs_of(passing, task.wiring, ended := task.iterated(passing, until=until))
    if beliefs.log_totals == -math.inf:
        return Found(task.first_codes()[None], (-math.inf,), -math.inf, status=ended.status, trace=ended.trace)
    decoded = decoded_codes(beliefs)
    is_optimal = beliefs.has_converged and loss(beliefs, decoded) <= LOCALLY_OPTIMAL
    others = [*_others(task, beliefs), *([] if is_optimal else _random_decodings(task, beliefs))]
    codes, value = best_of([improved(task.wiring, c) for c in (decoded, *others)], task.wiring)
    bound, certificate = _bound(beliefs, has_trees=has_trees)
    info = {
        "seconds": round(ended.seconds, 3),
        "passes": ended.num_steps,
        "residual": beliefs.residual,
        "locally_optimal": is_optimal,
    }
    return Found(
        codes[None], (value,), bound, Guarantee.LOCAL_OPTIMUM, certificate, None, ended.status, ended.trace, info
    )


def _others(task: AssignmentTask, beliefs: Beliefs) -> list[Ints]:
    """Further assignments to improve: the best state of each variable by its belief, and the start if there is one."""
    states = beliefs.wiring.plugs.states
    each = np.array([int(beliefs.logs[a:b].argmax()) for a, b in itertools.pairwise(states.tolist())], np.int64)
    return [each] if task.start is None else [each, task.first_codes()]


def _random_decodings(task: AssignmentTask, beliefs: Beliefs) -> list[Ints]:
    """Decodings with the factors in random order, each given a random state of one variable."""
    cards, num, rng, made = beliefs.wiring.plugs.cards, beliefs.wiring.num_factors, task.rng, []
    for _ in range(TRIES):
        i = int(rng.integers(len(cards)))
        made.append(decoded_codes(beliefs, rng.permutation(num), {i: int(rng.integers(cards[i]))}))
    return made


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
    """An upper bound that the messages prove; infinite for messages around loops."""
    wiring = beliefs.wiring
    if beliefs.is_forest and beliefs.has_converged and (beliefs.rhos == 1.0).all():
        messages = dual_messages(beliefs)
        bound = bound_of(wiring, messages)
        return bound, dual_certificate(wiring, messages, bound)
    if not has_trees:
        return math.inf, None
    bound = beliefs.energy(is_bound=True)
    return bound, Certificate(
        f"No assignment has a log value above {bound:.10g}.",
        "With these messages the model is an average of trees, whose largest log values have that average or less.",
        partial(_proves, beliefs, bound),
    )


def _proves(beliefs: Beliefs, bound: float) -> bool:
    return beliefs.energy(is_bound=True) <= bound + AGREE * max(1.0, abs(bound))


def dual_messages(beliefs: Beliefs) -> Floats:
    r"""The dual messages of a forest whose bound is its largest log value.

    Each factor sends its message toward the root as it is, and takes from every other variable all that it has from
    below: $\delta_{f \to i} = m_{f \to i} - b_i$.
    """
    wiring, wires = beliefs.wiring, beliefs.wiring.wires
    sizes = np.diff(wires.messages)
    first = np.repeat(wires.states[wires.scope] - wires.messages[:-1], sizes)
    own = beliefs.logs[first + np.arange(len(beliefs.messages))]
    possible, up = own > -np.inf, np.repeat(wiring.traversal.up > 0, sizes)
    kept, belief = np.where(possible, beliefs.messages, 0.0), np.where(possible, own, 0.0)
    return np.asarray(np.where(up, kept, kept - belief))
