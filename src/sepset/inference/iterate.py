"""The driver of iterative methods: budgets, tolerance, traces, progress, interrupts, checkpoints.

A method defines its initial state, one step, and the objective of a state. The driver does everything else, so that all
iterative methods stop, report and resume in the same way.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, field, replace
from pathlib import Path
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.base.checks import number, whole
from sepset.base.foreign import translated
from sepset.base.frozen import fill
from sepset.base.progress import Bar, Trend
from sepset.base.replacing import require_place
from sepset.base.threads import OutOfTime, ending_at
from sepset.errors import ArgumentError, DataError, SepsetError
from sepset.inference import checkpoint as files
from sepset.inference.checkpoint import Codec, Plain
from sepset.inference.result import Guarantee, Guarantees, IterativeResult, Status

T = TypeVar("T")
S = TypeVar("S")
R = TypeVar("R", bound=IterativeResult)
T_contra = TypeVar("T_contra", contravariant=True)
S_contra = TypeVar("S_contra", contravariant=True)
R_co = TypeVar("R_co", covariant=True)

STEPS = 1000
"""The largest number of steps by default."""

_BY_DEFAULT: Any = ...

CHECKPOINT_SECONDS = 5.0
"""The least time between two writes of a checkpoint; the last state is always written."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during an initialization or a step that has found something already.

    Args:
        state: the best state so far; the result is read from it, but a run is resumed from the last whole state.
    """

    def __init__(self, state: Any) -> None:
        super().__init__()
        self.state = state


class CutShort(OutOfTime):
    """The end of the time during a step that has found something already.

    Args:
        state: the best state so far; as for `Interrupted`.
    """

    def __init__(self, state: Any) -> None:
        super().__init__()
        self.state = state


class Info(NamedTuple):
    """The outcome of one step.

    Attributes:
        objective: the objective, which the method increases, after the step.
        change: the change of the objective relative to its size; a step at or below the tolerance is the last.
        is_done: whether the method itself has finished.
        status: the status of the run in that case.
        gap: how far the best found may be from the optimum, where a bound is known; from it the remaining time of a
            search is estimated.
        rest: the share of its work that is left, of a method that counts its starts or sweeps.
    """

    objective: float
    change: float
    is_done: bool = False
    status: Status = Status.CONVERGED
    gap: float | None = None
    rest: float | None = None


@dataclass(frozen=True, slots=True)
class Until:
    """When an iteration stops: at the first of these.

    Args:
        steps: the largest number of steps; None for any. By default 1000, and any if seconds are given.
        tolerance: the relative change of the objective at which it counts as converged; None disables this.
        seconds: the largest time.

    Guarantee: deterministic, except for seconds.
    Tested by: inference/test_iterate.py::test_statuses

    >>> Until(steps=100, tolerance=1e-6)
    Until(steps=100, tolerance=1e-06, seconds=None)
    """

    steps: int | None = _BY_DEFAULT
    tolerance: float | None = 1e-8
    _: KW_ONLY
    seconds: float | None = None

    def __post_init__(self) -> None:
        if self.steps is _BY_DEFAULT:
            fill(self, steps=STEPS if self.seconds is None else None)
        if self.steps is not None:
            whole("Until(steps=)", self.steps, otherwise="None")
        if self.tolerance is not None:
            number("Until(tolerance=)", self.tolerance, least=0, finite=False, otherwise="None")
        if self.seconds is not None:
            number("Until(seconds=)", self.seconds, least=0, finite=False, otherwise="None")
        if self.steps is None and self.tolerance is None and self.seconds is None:
            raise ArgumentError("Until(steps=None, tolerance=None, seconds=None) never ends. Give one of them.")

    def status(self, steps: int, seconds: float, info: Info | None) -> Status | None:
        """The reason to stop after this many steps, or None to continue."""
        if info is not None:
            if info.is_done:
                return info.status
            if self.tolerance is not None and info.change <= self.tolerance:
                return Status.CONVERGED
            if not info.objective < np.inf:
                return Status.DIVERGED
        if self.steps is not None and steps >= self.steps:
            return Status.STEP_LIMIT
        if self.seconds is not None and seconds >= self.seconds:
            return Status.TIME_LIMIT
        return None


def as_until(until: object, default: Until | None = None) -> Until:
    """The stopping rule: as given, of a number of steps, or the default for None.

    >>> as_until(3).steps
    3
    """
    if until is None:
        return Until() if default is None else default
    if isinstance(until, Until):
        return until
    if isinstance(until, int | np.integer) and not isinstance(until, bool):
        return replace(Until() if default is None else default, steps=int(until))
    raise ArgumentError(f"until= takes Until(steps=, tolerance=, seconds=) or a number of steps; found {until!r}.")


def deadline(until: Until) -> float:
    """The time on the clock of `time.monotonic` at which a run that begins now ends at the latest.

    >>> deadline(Until(steps=3))
    inf
    """
    return np.inf if until.seconds is None else time.monotonic() + until.seconds


def left_until(until: Until, end: float) -> Until:
    """The same rule for what is left of a run that ends at a time on the clock of `time.monotonic`.

    >>> left_until(Until(steps=3), deadline(Until(steps=3))).seconds is None
    True
    """
    return until if end == np.inf else replace(until, seconds=max(end - time.monotonic(), 0.0))


class Iterative(Protocol[T_contra, S]):
    """A method that improves a state step by step; a codec stores states that are not plain values.

    All randomness must come from `rng`: spawned generators would not be resumed.
    """

    def init(self, task: T_contra, rng: np.random.Generator) -> S:
        """The state before the first step."""

    def step(self, task: T_contra, state: S, rng: np.random.Generator) -> tuple[S, Info]:
        """The next state, and the outcome of the step."""


class Reads(Protocol[T_contra, S_contra, R_co]):
    """A method that can say what a state amounts to."""

    def read(self, task: T_contra, state: S_contra) -> R_co:
        """The result at a state where the method has converged."""


@dataclass(frozen=True, eq=False)
class Run(Generic[S]):
    """The state of an iteration, from which it can be resumed exactly.

    Attributes:
        state: the method's own.
        status: why it stopped.
        trace: the objective after each step.
        seconds: the time that the steps took.
        generator: the state of the random number generator.
        about: the method and task it belongs to.
        codec: converts the state for a file.
        is_begun: whether initialization finished; an interrupted one is repeated from the same generator.
        info: the outcome of the last step, with which a stricter rule may continue.
        amid: what a step that Ctrl-C ended had found, from which the result is read; None if that is nothing.
    """

    state: S = field(repr=False)
    status: Status
    trace: Floats = field(repr=False)
    seconds: float
    generator: Any = field(repr=False)
    about: str = ""
    codec: Codec[S] = field(default=Plain(), repr=False)
    is_begun: bool = field(default=True, repr=False)
    info: Info | None = field(default=None, repr=False)
    amid: S | None = field(default=None, repr=False)

    @property
    def num_steps(self) -> int:
        """The number of steps."""
        return len(self.trace)

    def result(self, method: Reads[T, S, R], task: T) -> R:
        """The result that the method reads from the last state, with the status, the trace and the time of this run.

        Guarantees that hold at stationary points become heuristic if the run has not converged.
        """
        found = method.read(task, self.state if self.amid is None else self.amid)
        guarantees = found.guarantees if self.status is Status.CONVERGED else _unsettled(found.guarantees)
        info = {"seconds": round(self.seconds, 3), **found.info}
        return replace(found, status=self.status, trace=self.trace, state=self, guarantees=guarantees, info=info)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the run to a file atomically."""
        files.save(self._packed(), path)

    def _packed(self) -> dict[str, object]:
        return {
            "about": self.about,
            "status": self.status.value,
            "trace": self.trace,
            "seconds": self.seconds,
            "generator": self.generator,
            "is_begun": self.is_begun,
            "info": None if self.info is None else (*self.info[:3], self.info.status.value),
            "state": self.codec.pack(self.state),
        }

    @classmethod
    def load(cls, path: str | os.PathLike[str], about: str = "", codec: Codec[Any] | None = None) -> Run[Any]:
        """The run in a file; raises if it belongs to another method or task. Code in a file is never run."""
        name = os.fspath(path)
        content = files.load(Path(path).read_bytes(), name)
        found = content.get("about") if isinstance(content, dict) else None
        if about and found != about:
            raise DataError(f"The checkpoint {name!r} belongs to {found}, not to {about}. Remove it to start again.")
        try:
            return _unpacked(content, Plain() if codec is None else codec)
        except (SepsetError, ValueError, TypeError, KeyError, AttributeError, IndexError, OverflowError) as error:
            raise DataError(
                f"The checkpoint {name!r} was written by another version of sepset, or changed since: {error} "
                f"{files.ADVICE}"
            ) from error


def _unsettled(guarantees: Guarantees) -> dict[str, Guarantee]:
    """The guarantees of a run that stopped too early to be at a stationary point."""
    at_points = (Guarantee.STATIONARY, Guarantee.LOCAL_OPTIMUM)
    return {part: Guarantee.HEURISTIC if found in at_points else found for part, found in guarantees.items()}


def _unpacked(content: Any, codec: Codec[Any]) -> Run[Any]:
    trace = np.array(content["trace"], dtype=np.float64)
    if trace.ndim != 1 or not isinstance(content["about"], str):
        raise ValueError("its trace is not a list of numbers.")
    trace.setflags(write=False)
    generator, seconds = content["generator"], float(content["seconds"])
    getattr(np.random, _known_generator(generator["bit_generator"]))().state = generator
    state, is_begun, last = codec.unpack(content["state"]), bool(content["is_begun"]), content["info"]
    info = None if last is None else Info(float(last[0]), float(last[1]), bool(last[2]), Status(last[3]))
    return Run(state, Status(content["status"]), trace, seconds, generator, content["about"], codec, is_begun, info)


def _known_generator(name: object) -> str:
    """The name of one of NumPy's bit generators."""
    if name not in ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"):
        raise ValueError(f"{name!r} is not a bit generator.")
    return str(name)


Callback = Callable[[int, Info, Any], object]
"""Called after each step with its number, its outcome, and the state; True stops the run."""


@translated
def run(
    method: Iterative[T, S],
    task: T,
    *,
    rng: np.random.Generator | None = None,
    until: Until | None = None,
    start: Run[S] | None = None,
    callback: Callback | None = None,
    progress: bool | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    about: str = "",
    codec: Codec[S] | None = None,
    end: float = np.inf,
) -> Run[S]:
    """The run of an iterative method on a task, from the initial state or from where another run stopped.

    Ctrl-C ends it with the last whole state, or what the step amid has found, and the status "interrupted". An existing
    checkpoint is resumed exactly, and its steps and seconds count against the budget; an interrupted initialization is
    repeated.

    Args:
        method: the method to iterate.
        task: the task of the method.
        rng: the random number generator; its state is stored with the run.
        until: when to stop.
        start: an earlier run to continue from.
        callback: called after each step; True stops.
        progress: True shows a progress bar, False does not; None shows it in a terminal when the work is long.
        checkpoint: the file in which the run is stored.
        about: the method and task that a checkpoint must belong to.
        codec: converts states for a checkpoint, if they are more than numbers, strings, arrays and collections of them.
        end: when a step is cut short, on the clock of `time.monotonic`, and the state before it is the last one.
            `OutOfTime` is raised if the initialization is.

    Guarantee: a resumed run gives identical results.
    Tested by: inference/test_iterate.py::test_resuming_is_the_same_as_going_on

    >>> class Halving:
    ...     def init(self, task, rng):
    ...         return task
    ...     def step(self, task, state, rng):
    ...         return state / 2, Info(-state / 2, state / 2)
    >>> run(Halving(), 8.0, until=Until(tolerance=0.5)).state
    0.5
    """
    rng = np.random.default_rng(0) if rng is None else rng
    rule = Until() if until is None else until
    if checkpoint is not None:
        require_place(checkpoint)
        if start is None and Path(checkpoint).exists():
            start = Run.load(checkpoint, about, codec)
    keeper = _Keeper(checkpoint, about, rng, start, Plain() if codec is None else codec)
    with Bar(progress, "steps") as bar, ending_at(end - keeper.before):
        forecast = _Forecast(rule, keeper)
        try:
            keeper.begin(method, task)
            while keeper.goes_on(rule):
                info = keeper.advance(method, task)
                number = len(keeper.trace)
                if bar.is_wanted:
                    forecast.add(info)
                    bar.report(number, forecast.total, f"step {number}: {info.objective:.8g}", left=forecast.left)
                if callback is not None and callback(number, info, keeper.state) is True:
                    keeper.status = Status.COMPLETED
        except (KeyboardInterrupt, SystemError) as error:
            if not was_interrupted(error):
                raise
            if not keeper.has_state:
                raise KeyboardInterrupt from error
            keeper.status = Status.INTERRUPTED
        except OutOfTime:
            if not keeper.has_state:
                raise
            keeper.status = Status.TIME_LIMIT
    return keeper.finish()


class _Forecast:
    """The seconds that are left in a run, by the trend of what it is to bring to zero.

    That is the rest of what counts its starts, the gap of a search that has a bound, the relative change of what
    converges to a tolerance, and otherwise the gain of an objective that never falls. Limits of steps and seconds may
    come first.
    """

    def __init__(self, rule: Until, keeper: _Keeper[Any]) -> None:
        self._rule, self._keeper = rule, keeper
        self._first = len(keeper.trace), keeper.seconds
        goals = {"rest": 0.0, "gap": 0.0, "change": rule.tolerance or 0.0, "gain": 0.0}
        self._trends = {kind: Trend(goal) for kind, goal in goals.items()}
        self._kind, self._rises, self._rest = "gain", True, 1.0

    @property
    def total(self) -> int | None:
        """The number of steps; None where a run is to end before its limit."""
        return self._rule.steps if self._rule.tolerance is None else None

    def add(self, info: Info) -> None:
        """Record the outcome of the last step."""
        trace = self._keeper.trace
        gain = trace[-1] - trace[-2] if len(trace) > 1 else np.inf
        self._rises = self._rises and gain >= 0
        kinds = {"rest": info.rest, "gap": info.gap, "change": info.change if self._rule.tolerance else None}
        known = {kind: value for kind, value in {**kinds, "gain": gain}.items() if value is not None and value < np.inf}
        for kind, value in known.items():
            if kind != "rest" or value != self._rest:  # a start that goes on says nothing about the pace of starts
                self._trends[kind].add(self._keeper.seconds, value)
        self._rest = known.get("rest", 1.0)
        self._kind = next(iter(known), self._kind)

    def left(self) -> float | None:
        """The seconds until the trend or a limit ends the run; None if neither is known."""
        by_time = np.inf if self._rule.seconds is None else max(0.0, self._rule.seconds - self._keeper.seconds)
        trend = self._trends[self._kind] if self._kind != "gain" or self._rises else None
        found = None if trend is None else trend.left(self._keeper.seconds)
        left = by_time if found is None else min(found, by_time, self._by_steps())
        return left if left < np.inf else None

    def _by_steps(self) -> float:
        """The seconds that the steps up to the limit take, if they go on as so far."""
        done, seconds = len(self._keeper.trace) - self._first[0], self._keeper.seconds - self._first[1]
        return np.inf if self._rule.steps is None else seconds / done * (self._rule.steps - len(self._keeper.trace))


def was_interrupted(error: BaseException) -> bool:
    """Whether an error is Ctrl-C; one that arrives as a compiled function is entered comes as a `SystemError`.

    >>> was_interrupted(KeyboardInterrupt()), was_interrupted(SystemError())
    (True, False)
    """
    return isinstance(error, KeyboardInterrupt) or isinstance(error.__cause__, KeyboardInterrupt)


@contextmanager
def keeping(state_of: Callable[[], object]) -> Iterator[None]:
    """A part of the work that Ctrl-C, or the end of the time, ends with what was found so far.

    It is raised with what was found, as `Interrupted` or `CutShort`.

    Args:
        state_of: what was found so far.

    >>> try:
    ...     with keeping(lambda: 3):
    ...         raise KeyboardInterrupt
    ... except Interrupted as cut:
    ...     cut.state
    3
    """
    try:
        yield
    except (KeyboardInterrupt, SystemError) as error:
        if isinstance(error, Interrupted) or not was_interrupted(error):
            raise
        raise Interrupted(state_of()) from None
    except OutOfTime as error:
        if isinstance(error, CutShort):
            raise
        raise CutShort(state_of()) from None


def _set_generator(rng: np.random.Generator, state: Any) -> None:
    """Set the state of a generator to that of another of its kind."""
    own = rng.bit_generator.state["bit_generator"]
    if state["bit_generator"] != own:
        raise DataError(
            f"The run drew from a {state['bit_generator']} generator; found {own}. Continue with the former."
        )
    rng.bit_generator.state = state


class _Keeper(Generic[S]):
    """The mutable state of one run."""

    def __init__(
        self,
        path: str | os.PathLike[str] | None,
        about: str,
        rng: np.random.Generator,
        start: Run[S] | None,
        codec: Codec[S],
    ) -> None:
        self.path, self.about, self.rng, self.codec = path, about, rng, codec
        self.status: Status | None = None
        self.info: Info | None = None
        self.amid: S | None = None
        self.trace: list[float] = [] if start is None else start.trace.tolist()
        self.before = 0.0 if start is None else start.seconds
        self.since = self.written = time.monotonic()
        self.has_warned = False
        self.is_begun = start is not None and start.is_begun
        self.has_state = self.is_begun
        if start is not None:
            self.state: S = start.state
            _set_generator(rng, start.generator)
            self.info = start.info
            if start.status is Status.COMPLETED:
                self.status = start.status
        self.generator = rng.bit_generator.state

    @property
    def seconds(self) -> float:
        return self.before + time.monotonic() - self.since

    def begin(self, method: Iterative[T, S], task: T) -> None:
        if self.is_begun:
            return
        try:
            self.state, self.has_state = method.init(task, self.rng), True
        except Interrupted as cut:
            self.state, self.has_state, self.status = cut.state, True, Status.INTERRUPTED
            return
        self.generator = self.rng.bit_generator.state
        self.is_begun = True
        self.keep(self.run(Status.INTERRUPTED))

    def goes_on(self, rule: Until) -> bool:
        if self.status is None:
            self.status = rule.status(len(self.trace), self.seconds, self.info)
        return self.status is None

    def advance(self, method: Iterative[T, S], task: T) -> Info:
        """Make one step; the state changes only when it is complete."""
        try:
            state, info = method.step(task, self.state, self.rng)
        except (Interrupted, CutShort) as cut:
            self.amid = cut.state
            raise
        self.state, self.info, self.generator = state, info, self.rng.bit_generator.state
        self.trace.append(float(info.objective))
        if self.path is not None and time.monotonic() - self.written > CHECKPOINT_SECONDS:
            self.keep(self.run(Status.INTERRUPTED))
            self.written = time.monotonic()
        return info

    def keep(self, made: Run[S]) -> None:
        """Write the checkpoint; if that fails, warn once and continue."""
        if self.path is None:
            return
        try:
            made.save(self.path)
        except OSError as error:
            if self.has_warned:
                return
            self.has_warned = True
            warnings.warn(
                f"The checkpoint {os.fspath(self.path)!r} could not be written ({error}); the run itself continues. "
                "Free some space, or save the run elsewhere: state.save(path).",
                RuntimeWarning,
                stacklevel=4,
            )

    def run(self, status: Status) -> Run[S]:
        trace = np.array(self.trace, dtype=np.float64)
        trace.setflags(write=False)
        seconds, generator = self.seconds, self.generator
        kept = (self.about, self.codec, self.is_begun, self.info, self.amid)
        return Run(self.state, status, trace, seconds, generator, *kept)

    def finish(self) -> Run[S]:
        made = self.run(self.status or Status.COMPLETED)
        self.keep(made)
        return made
