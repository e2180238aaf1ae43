r"""Methods that search for the most probable assignment: their task, what they find, and what they prove about it.

$$\mathbf x^* = \arg\max_{\mathbf x} \log \tilde P(\mathbf x, \mathbf e), \qquad
\log \tilde P(\mathbf x) \le \log \tilde P(\mathbf x^*) \le \text{bound}$$

Such a method takes a wired model and says how good its answer is: the gap between its value and the bound is the most
that any other assignment could be better.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np

from sepset.base.arraytypes import Bools, Floats, Ints
from sepset.base.display import Plain, Worded
from sepset.base.lazy import lazy
from sepset.base.threads import ending_at, interruptible
from sepset.errors import ImpossibleEvidence, NotApplicable
from sepset.inference.checkpoint import Codec
from sepset.inference.iterate import Iterative, Run, Until, as_until, deadline, run
from sepset.inference.result import Guarantee, Status, Told
from sepset.inference.wiring import Wiring
from sepset.kernels.map.coordinates import tied
from sepset.problem import Problem
from sepset.variables.evidence import Evidence

S = TypeVar("S")

PROVED = 1e-9
"""The gap, relative to the value if that is larger than one, at which an assignment counts as optimal."""


TIED = 1e-12
"""The difference of log values, relative to their size if that is above one, that counts as none."""


@dataclass(frozen=True, eq=False)
class Certificate(Worded, Plain):
    """Something that was proved about an assignment, and how to check it without trusting the method.

    Attributes:
        claim: what holds.
        proof: why it holds, in one sentence.
        verify: computes again whether it does.

    >>> Certificate("2 is even", "it is twice one", verify=lambda: 2 % 2 == 0).check()
    True
    """

    claim: str
    proof: str
    _: KW_ONLY
    verify: Callable[[], bool] = field(repr=False)

    def check(self) -> bool:
        """Whether the claim holds, computed again."""
        return bool(self.verify())


@dataclass(frozen=True, eq=False)
class Found:
    """The assignments that a method found, best first.

    Attributes:
        codes: `[k, variables]`, the code of each variable of the wiring.
        log_values: the log value of each assignment.
        bound: an upper bound on the log value of every assignment.
        guarantee: what is known about them; decided from the gap by default.
        certificate: what was proved.
        persistent: which variables have a state in the first one that some best assignment has too; None if unknown.
        is_strict: whether every best assignment has these states.
        status: how the run ended.
        trace: the objective after each step.
        info: further information: the decoder, numbers of steps, ties.
        others: an upper bound on the log value of every assignment that is not among several.
    """

    codes: Ints
    log_values: tuple[float, ...]
    _: KW_ONLY
    bound: float = math.inf
    guarantee: Guarantee = Guarantee.HEURISTIC
    certificate: Certificate | None = None
    persistent: Bools | None = None
    is_strict: bool = field(default=False, kw_only=True)
    status: Status = Status.COMPLETED
    trace: Floats = field(default_factory=lambda: np.zeros(0))
    info: Mapping[str, object] = field(default_factory=dict)
    others: float = field(default=-math.inf, kw_only=True)

    @property
    def is_proved(self) -> bool:
        """Whether the bounds show that no assignment is better."""
        last = self.log_values[-1]
        return is_proved(self.log_values[0], self.bound) and (self.others <= last or is_proved(last, self.others))


def is_proved(value: float, bound: float) -> bool:
    """Whether a value is within rounding of an upper bound.

    >>> is_proved(-3.0, -3.0), is_proved(-3.0, -2.9), is_proved(-math.inf, math.inf)
    (True, False, False)
    """
    if math.isinf(value) or math.isinf(bound):
        return bound == value
    return bound - value <= PROVED * max(1.0, abs(value))


class Known:
    """The best that is known about a task while its search is prepared, in case that it ends before.

    Attributes:
        codes: an assignment.
        messages: dual messages, whose bound holds.
    """

    def __init__(self) -> None:
        self.codes: Ints | None = None
        self.messages: Floats | None = None

    def note(self, codes: Ints, messages: Floats) -> None:
        """Remember an assignment and messages."""
        self.codes, self.messages = codes, messages


@dataclass(frozen=True, eq=False)
class AssignmentTask:
    """A question for the most probable assignment of a discrete problem.

    Attributes:
        problem: the problem; methods read its wiring.
        evidence: the findings.
        over: the variables to maximize, all others summed out; None for all.
        k: the number of best assignments.
        start: codes of the variables of the wiring to begin with; None leaves that to the method.
        rng: all randomness.
        until: when to stop; None leaves that to the method.
        progress: whether a progress bar is shown.
        checkpoint: the file in which an iterative method stores its state.
        known: filled while a search is prepared.
    """

    problem: Problem
    evidence: Evidence
    _: KW_ONLY
    over: tuple[int, ...] | None = None
    k: int = 1
    start: Ints | None = None
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    until: Until | int | None = None
    progress: bool | None = None
    checkpoint: str | os.PathLike[str] | None = None
    known: Known = field(default_factory=Known, repr=False)

    @lazy
    def wiring(self) -> Wiring:
        """The model at the evidence, as flat arrays."""
        return Wiring.of(self.problem, self.evidence)

    def again(self, **changes: Any) -> AssignmentTask:
        """The same question with other settings, about the same wiring."""
        made = replace(self, **changes)
        if "until" not in changes:
            made.__dict__["end"] = self.end
        made.__dict__["wiring"] = self.wiring
        return made

    def require_all(self, method: object) -> None:
        """Raise if only some variables are maximized, or several assignments are asked for."""
        name = type(method).__name__
        if self.over is not None:
            raise NotApplicable(
                f"{name} maximizes over all variables; over= leaves some to be summed out. Use CliqueTree()."
            )
        if self.k > 1:
            others = "HybridBestFirst(), BranchAndBound() or CliqueTree()"
            raise NotApplicable(f"{name} finds one assignment; found k={self.k}. Use {others}.")

    def require_no_checkpoint(self, method: object) -> None:
        """Raise if a checkpoint is given to a method that takes one step."""
        if self.checkpoint is not None:
            raise NotApplicable(
                f"{type(method).__name__} takes one step, and checkpoint= cannot be honored. Leave it out, or use a "
                "method of many steps such as TRWS()."
            )

    @lazy
    def end(self) -> float:
        """When the seconds of the budget end, on the clock of `time.monotonic`; they begin with the first look."""
        return math.inf if self.until is None else deadline(as_until(self.until))

    def limited(self) -> AbstractContextManager[None]:
        """A context in which long work ends with `OutOfTime` when the seconds of the budget do."""
        return ending_at(self.end)

    def first_codes(self) -> Ints:
        """The codes to begin with: those given, else each variable's own best state."""
        return self.wiring.modes if self.start is None else np.array(self.start, np.int64)

    def iterated(self, method: Iterative[AssignmentTask, S], *, until: Until, codec: Codec[S] | None = None) -> Run[S]:
        """The run of an iterative method on this task, with its budget, progress and checkpoint.

        Args:
            until: the default, which the budget of the task replaces.
            codec: converts states for a checkpoint.
        """
        return run(
            method,
            self,
            rng=self.rng,
            until=as_until(self.until, until),
            progress=self.progress,
            checkpoint=self.checkpoint,
            about=self._about(method) if self.checkpoint is not None else "",
            codec=codec,
            end=self.end,
        )

    def _about(self, method: object) -> str:
        """The method and the model in words, with a fingerprint of the numbers."""
        wiring, made = self.wiring, hashlib.sha256()
        for array in (*wiring.wires, wiring.unary, self.first_codes()):
            made.update(np.ascontiguousarray(array).tobytes())
        made.update(repr(self.rng.bit_generator.state).encode())
        return f"{method!r} on {wiring!r} (model, start and seed {made.hexdigest()[:16]})"


@runtime_checkable
class Assigns(Protocol):
    """A frozen value of settings that finds probable assignments."""

    def assign(self, task: AssignmentTask) -> Found:
        """The best assignments found."""


def assign(method: Assigns, task: AssignmentTask) -> Found:
    """The assignments of a method, exact if its bound proves it; their values are computed again.

    Raises `ImpossibleEvidence` if the method or arc consistency proves that every assignment has probability zero. One
    of probability zero that is not proved to be the best is heuristic, and so is one whose value is below the bound of
    a method that takes small numbers next to large ones for rounding.
    """
    found, wiring = method.assign(task), task.wiring
    info: Mapping[str, object] = {"decoder": "search", **found.info}
    if task.k > 1:
        info = {**info, "others": found.others}
    if task.over is None:
        found = replace(found, log_values=tuple(wiring.log_value(codes) for codes in found.codes))
        info = info if "ties" in info else Told(info, "ties", partial(num_tied, wiring, found.codes[0]))
    found = replace(found, info=info)
    if found.log_values[0] == -math.inf and (found.bound == -math.inf or not wiring.is_possible):
        raise ImpossibleEvidence("The model gives every assignment that agrees with the evidence probability zero.")
    is_all = len(found.codes) == task.k or found.others == -math.inf
    if found.is_proved and is_all:
        return replace(found, guarantee=Guarantee.EXACT, bound=found.log_values[0])
    is_open = found.guarantee is Guarantee.EXACT and found.bound < math.inf
    return replace(found, guarantee=Guarantee.HEURISTIC) if is_open or found.log_values[0] == -math.inf else found


def num_tied(wiring: Wiring, codes: Ints) -> int:
    """The number of variables that have another state of the same value, given the states of all others."""
    own, room = np.array(codes, np.int64), np.empty(wiring.plugs.cards.max(initial=1))
    model = wiring.wires, wiring.unary, wiring.factors
    return int(interruptible(lambda cancel: tied(*model, own, TIED, room, cancel)))


def best_of(candidates: Any, wiring: Wiring) -> tuple[Ints, float]:
    """The assignment of largest value among several, the first one of equal ones, and its value."""
    listed = [np.asarray(codes, np.int64) for codes in candidates]
    values = [wiring.log_value(codes) for codes in listed]
    first = int(np.argmax(values))
    return listed[first], values[first]
