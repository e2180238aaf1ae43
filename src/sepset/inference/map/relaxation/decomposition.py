"""Dual decomposition: forests or factors that are solved alone, and made to agree."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.checks import one_of, whole
from sepset.base.threads import interruptible
from sepset.errors import ArgumentError
from sepset.inference.assignment import AssignmentTask, Found, best_of, is_proved
from sepset.inference.iterate import Info, Until
from sepset.inference.map.coordinates import improved
from sepset.inference.map.dual import bound_of, dual_certificate
from sepset.inference.map.mplp import MPLP
from sepset.inference.map.relaxation.admm import Multipliers, Splitting
from sepset.inference.map.relaxation.copies import Copies, Maximum
from sepset.inference.map.relaxation.polytope import require_columns
from sepset.inference.result import Guarantee
from sepset.inference.wiring import Wiring

UPDATES = ("polyak", "decaying", "smoothed", "admm")
"""How the forests are made to agree."""

PATIENCE = 10
"""The number of steps without a better bound after which steps become half as long."""


@dataclass(frozen=True)
class Agreeing:
    """The state of a decomposition.

    Attributes:
        values: the values of the copies' states; for "admm" the copies of the messages.
        memory: what the update remembers: the point before, or the multipliers.
        numbers: the length of a step and other numbers that it remembers.
        messages, bound: the dual messages of the least bound so far, and that bound.
        codes, value: the best assignment so far.
        rounds: the number of steps.
        since: the number of steps since the bound last fell.
    """

    values: Floats
    memory: tuple[Floats, ...]
    numbers: tuple[float, ...]
    messages: Floats
    bound: float
    codes: Ints
    value: float
    rounds: int = 0
    since: int = 0


@dataclass(frozen=True)
class DualDecomposition:
    r"""An upper bound by dual decomposition, and the best of the assignments decoded from it.

    Every forest (or every factor) has its own copies of the variables and is solved exactly; the copies' values change
    until they agree. The least bound falls to that of the linear program over the local polytope, also where messages
    of one factor at a time stop above it. It is valid whenever the steps end.

    Args:
        update: "polyak" for subgradients with steps of the gap over their squared length; "decaying" for steps of the
            first one over $\sqrt t$; "smoothed" for accelerated gradients of $T \log \sum \exp(\cdot / T)$, at a
            temperature that falls with the gap; "admm" for alternating directions, which takes single factors.
        over: "trees", in which each factor joins the first forest where it closes no cycle, or "factors".
        decode_every: the number of steps between two decodings.

    Cost: a step is a few passes over all factors.
    Reference: Komodakis, Paragios & Tziritas (2011); Jojic, Gould & Koller (2010) and Savchynskyy, Kappes, Schmidt &
        Schnoerr (2011) for smoothing; Meshi & Globerson (2011) for alternating directions.
    Guarantee: upper bound; exact if the bound is reached.
    Tested by: inference/map/relaxation/test_decomposition.py::test_bounds_are_never_below_the_best_value

    >>> import sepset as ss
    >>> net = ss.datasets.load("misconception")
    >>> found = ss.map_assignment(net, method=ss.inference.DualDecomposition("admm", over="factors"))
    >>> dict(found.assignment), round(found.log_value, 4), round(found.bound, 4), found.certificate.check()
    ({'Alice': 'a0', 'Bob': 'b1', 'Charles': 'c1', 'Debbie': 'd0'}, 15.4249, 16.6674, True)
    """

    update: str = "polyak"
    over: str = "trees"
    _: KW_ONLY
    decode_every: int = 5

    def __post_init__(self) -> None:
        one_of("DualDecomposition(update=)", self.update, UPDATES)
        one_of("DualDecomposition(over=)", self.over, ("trees", "factors"))
        whole("DualDecomposition(decode_every=)", self.decode_every, least=1)
        if self.update == "admm" and self.over == "trees":
            raise ArgumentError('DualDecomposition("admm") takes single factors. Give over="factors".')

    def assign(self, task: AssignmentTask) -> Found:
        """The best decoded assignment, the bound, and the messages that prove it."""
        task.require_all(self)
        if self.update == "admm":
            require_columns(task.wiring)
        with task.limited():
            search = _Agreement(self, task.wiring.consistent)
        done = task.iterated(search, until=Until(steps=500, tolerance=0.0), codec=_AgreeingCodec())
        last = search.decoded(done.state)
        return Found(
            last.codes[None],
            (last.value,),
            bound=last.bound,
            guarantee=Guarantee.HEURISTIC,
            certificate=dual_certificate(task.wiring, last.messages, last.bound),
            status=done.status,
            trace=done.trace,
            info={"seconds": round(done.seconds, 3), "rounds": last.rounds, "decoder": "sequential"},
        )


class _Agreement:
    """The iteration.

    Args:
        method: the settings.
        wiring: the model.
    """

    def __init__(self, method: DualDecomposition, wiring: Wiring) -> None:
        self.method, self.wiring = method, wiring
        self.copies = Copies.of(wiring, over=method.over)
        self.multipliers = Multipliers.of(wiring) if method.update == "admm" else None

    def __repr__(self) -> str:
        return repr(self.method)

    def init(self, task: AssignmentTask, rng: np.random.Generator) -> Agreeing:
        """Copies with the same part of each value, and their bound."""
        found, codes = self.copies.maximum(self.copies.split), task.first_codes()
        bound, value = bound_of(self.wiring, found.messages), self.wiring.log_value(codes)
        state = Agreeing(self.copies.split, (), (), found.messages, bound, codes, value)
        if self.multipliers is not None:
            begun = self.multipliers.start()
            return replace(state, values=begun.copy, memory=_packed(begun), numbers=(begun.penalty,))
        return self.decoded(state) if bound > -np.inf else state

    def step(self, task: AssignmentTask, state: Agreeing, rng: np.random.Generator) -> tuple[Agreeing, Info]:
        """One step of the update, and now and then a decoding."""
        if state.bound == -math.inf or is_proved(state.value, state.bound):
            return state, Info(-state.bound, 0.0, is_done=True)
        found = interruptible(lambda cancel: self._stepped(state))
        is_done = is_proved(found.value, found.bound) or found.bound == -math.inf
        return found, Info(-found.bound, math.inf, is_done=is_done, gap=float(found.bound) - float(found.value))

    def _stepped(self, state: Agreeing) -> Agreeing:
        """One step of the update, and now and then a decoding."""
        made = {"polyak": self._descended, "decaying": self._descended, "smoothed": self._smoothed}
        found = self._alternated(state) if self.multipliers is not None else made[self.method.update](state)
        found = replace(found, rounds=state.rounds + 1)
        return self.decoded(found) if found.rounds % self.method.decode_every == 0 else found

    def decoded(self, state: Agreeing) -> Agreeing:
        """The state with the best assignment decoded from its messages, if that is the best so far."""
        made = [improved(self.wiring, codes) for codes in MPLP().decodings(self.wiring, state.messages)]
        codes, value = best_of([state.codes, *made], self.wiring)
        return replace(state, codes=codes, value=value)

    def _bounded(self, state: Agreeing, messages: Floats) -> Agreeing:
        """The state with these messages if their bound is the least."""
        bound = bound_of(self.wiring, messages)
        if bound >= state.bound:
            return replace(state, since=state.since + 1)
        return replace(state, bound=bound, messages=messages, since=0)

    def _descended(self, state: Agreeing) -> Agreeing:
        """A step against the subgradient: copies pay for states that the others do not choose."""
        found = self.copies.maximum(state.values)
        if found.value == -math.inf:
            return replace(state, bound=-math.inf)
        state = self._bounded(state, found.messages)
        slope = self.copies.apart(self.copies.chosen(found.codes))
        square = float(slope @ slope)
        if square == 0.0:  # all copies agree: their states are the best assignment
            return self._agreed(state, found)
        gap = max(found.value - state.value, 0.0) if state.value > -math.inf else 1.0
        scale, first = state.numbers or (1.0, gap / square)
        if self.method.update == "decaying":
            length = first / math.sqrt(state.rounds + 1.0)
        else:
            scale = scale / 2.0 if state.since and state.since % PATIENCE == 0 else scale
            length = scale * gap / square
        return replace(state, values=state.values - length * slope, numbers=(scale, first))

    def _agreed(self, state: Agreeing, found: Maximum) -> Agreeing:
        """The state with the assignment on which all copies agree."""
        codes = np.empty(self.wiring.num_variables, np.int64)
        codes[self.copies.owners] = found.codes
        best, value = best_of([state.codes, codes], self.wiring)
        return replace(state, codes=best, value=value)

    def _smoothed(self, state: Agreeing) -> Agreeing:
        """An accelerated step down the gradient of the smooth maximum, whose slope limit is found by trial."""
        before = state.memory[0] if state.memory else state.values
        speed, limit, last = state.numbers or (1.0, 1.0, math.inf)
        temperature = min(last, self._temperature(state))
        limit *= last / temperature if math.isfinite(last) else 1.0
        fast = (1.0 + math.sqrt(1.0 + 4.0 * speed**2)) / 2.0
        ahead = state.values + (speed - 1.0) / fast * _difference(state.values, before)
        top, marginals = self.copies.smooth(ahead, temperature)
        slope = self.copies.apart(np.where(np.isfinite(marginals), marginals, 0.0))
        square = float(slope @ slope)
        while True:
            values = ahead - slope / limit
            if square == 0.0 or self.copies.smooth(values, temperature)[0] <= top - square / (2.0 * limit) + 1e-9:
                break
            limit *= 2.0
        found = self.copies.maximum(values)
        state = self._bounded(state, found.messages)
        is_cooler = temperature < last
        return replace(
            state, values=values, memory=(state.values,), numbers=(1.0 if is_cooler else fast, limit / 1.5, temperature)
        )

    def _temperature(self, state: Agreeing) -> float:
        """The temperature at which smoothing adds at most half of the gap."""
        gap = state.bound - state.value
        total = float(np.log(self.wiring.plugs.cards[self.copies.owners]).sum())
        wanted = 0.5 * gap / total if math.isfinite(gap) and total > 0.0 else 1.0
        return 2.0 ** math.floor(math.log2(wanted)) if wanted > 0.0 else 1.0

    def _alternated(self, state: Agreeing) -> Agreeing:
        """A step of all variables and multipliers."""
        assert self.multipliers is not None  # the update is "admm"
        delta, prices, tables, rents = state.memory
        found = self.multipliers.stepped(Splitting(delta, state.values, prices, tables, rents, *state.numbers))
        state = self._bounded(state, found.copy)
        return replace(state, values=found.copy, memory=_packed(found), numbers=(found.penalty,))


def _packed(found: Splitting) -> tuple[Floats, ...]:
    return found.delta, found.prices, found.tables, found.rents


def _difference(one: Floats, other: Floats) -> Floats:
    """One less the other; zero at impossible states."""
    with np.errstate(invalid="ignore"):
        return np.where(np.isfinite(one), one - other, 0.0)


class _AgreeingCodec:
    """Stores the state in a checkpoint."""

    def pack(self, state: Agreeing) -> object:
        return dict(vars(state))

    def unpack(self, content: dict[str, Any]) -> Agreeing:
        floats: Any = {name: np.array(content[name], np.float64) for name in ("values", "messages")}
        memory: Any = {"memory": tuple(np.array(m, np.float64) for m in content["memory"])}
        codes, numbers = np.array(content["codes"], np.int64), tuple(map(float, content["numbers"]))
        return Agreeing(**{**content, **floats, **memory, "codes": codes, "numbers": numbers})
