"""The one driver of iterative methods: budgets, tolerance, traces, progress, interruption, checkpoints.

A method says how to begin, what one step is, and what a state amounts to. The driver owns everything else, so that
every iterative method stops, reports and resumes alike.
"""

from __future__ import annotations

import os
import pickle
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from sepset.errors import DataError, ScopeError
from sepset.inference.progress import Bar
from sepset.inference.result import Status

T = TypeVar("T")
S = TypeVar("S")
T_contra = TypeVar("T_contra", contravariant=True)

CHECKPOINT_SECONDS = 5.0
"""How long the driver waits between two writes of a checkpoint; it always writes the last state."""

MARK, FORMAT = b"sepset checkpoint", 1
"""How a checkpoint begins, and the version of what follows."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C in the middle of a beginning that has found a state already.

    Args:
        state: the best so far.
    """

    def __init__(self, state: Any) -> None:
        super().__init__()
        self.state = state


class Info(NamedTuple):
    """What one step achieved.

    Attributes:
        objective: what the method raises, after the step.
        change: how much the step changed, relative to the objective; a step at or below the tolerance is the last.
        is_done: whether the method itself knows that nothing is left to do.
        status: what the run has then come to.
    """

    objective: float
    change: float
    is_done: bool = False
    status: Status = Status.CONVERGED


@dataclass(frozen=True, slots=True)
class Until:
    """When an iteration stops: at the first of these.

    Args:
        steps: the most steps.
        tolerance: the relative change of the objective at which it counts as converged; None never.
        seconds: the most time.

    >>> Until(steps=100, tolerance=1e-6)
    Until(steps=100, tolerance=1e-06, seconds=None)
    """

    steps: int | None = 1000
    tolerance: float | None = 1e-8
    seconds: float | None = None

    def __post_init__(self) -> None:
        if self.steps is not None and (isinstance(self.steps, bool) or self.steps != int(self.steps) or self.steps < 0):
            raise ScopeError(f"Until(steps=) is a whole number of at least 0, or None; found {self.steps!r}.")
        for name in ("tolerance", "seconds"):
            value = getattr(self, name)
            if value is not None and not value >= 0:
                raise ScopeError(f"Until({name}=) is a number of at least 0, or None; found {value!r}.")
        if self.steps is None and self.tolerance is None and self.seconds is None:
            raise ScopeError("Until(steps=None, tolerance=None, seconds=None) never ends. Give one of them.")

    def status(self, steps: int, seconds: float, info: Info | None) -> Status | None:
        """Why to stop after this many steps, or None to go on."""
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
    """The stopping rule: itself, a number of steps, or the default where None.

    >>> as_until(3).steps
    3
    """
    if until is None:
        return Until() if default is None else default
    if isinstance(until, Until):
        return until
    if isinstance(until, int) and not isinstance(until, bool):
        return replace(Until() if default is None else default, steps=until)
    raise ScopeError(f"until= takes Until(steps=, tolerance=, seconds=) or a number of steps; found {until!r}.")


class Iterative(Protocol[T_contra, S]):
    """A method that improves a state step by step; states can be pickled."""

    def init(self, task: T_contra, rng: np.random.Generator) -> S:
        """The state before the first step."""

    def step(self, task: T_contra, state: S, rng: np.random.Generator) -> tuple[S, Info]:
        """The next state, and what the step achieved."""


@dataclass(frozen=True, eq=False)
class Run(Generic[S]):
    """Where an iteration stands: enough to go on from, to the bit.

    Attributes:
        state: the method's own.
        status: why it stopped.
        trace: the objective after each step.
        seconds: how long the steps took.
        generator: the state of the source of randomness.
        about: which method and task it belongs to.
    """

    state: S = field(repr=False)
    status: Status
    trace: NDArray[np.float64] = field(repr=False)
    seconds: float
    generator: Any = field(repr=False)
    about: str = ""

    @property
    def num_steps(self) -> int:
        """How many steps were made."""
        return len(self.trace)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file, whole or not at all."""
        target, body = Path(path), pickle.dumps(self)
        draft = target.with_name(target.name + ".part")
        draft.write_bytes(b"%s %d %08x\n" % (MARK, FORMAT, zlib.crc32(body)) + body)
        draft.replace(target)

    @classmethod
    def load(cls, path: str | os.PathLike[str], about: str = "") -> Run[Any]:
        """The run that a file holds; one of another method or task is refused. Only load files that you wrote."""
        name = os.fspath(path)
        try:
            found = pickle.loads(_body(Path(path).read_bytes(), name))
        except (OSError, DataError):
            raise
        except Exception as error:  # whatever classes that have changed since may raise
            raise DataError(
                f"The checkpoint {name!r} was written by another version of sepset or of what it needs, and cannot be "
                f"read ({type(error).__name__}: {error}). Name another file, or remove it."
            ) from error
        if not isinstance(found, Run):
            raise DataError(f"{name!r} holds no checkpoint. Name another file, or remove it.")
        if about and found.about != about:
            raise DataError(
                f"The checkpoint {name!r} belongs to {found.about}, not to {about}. Remove it to start anew."
            )
        return found


def _body(content: bytes, name: str) -> bytes:
    """What a checkpoint holds after its first line, once that line agrees with it."""
    head, _, body = content.partition(b"\n")
    words = head.split(b" ")
    if not head.startswith(MARK + b" ") or len(words) != 4:
        raise DataError(f"{name!r} holds no checkpoint. Name another file, or remove it.")
    if words[2] != b"%d" % FORMAT:
        raise DataError(
            f"The checkpoint {name!r} has format {words[2].decode(errors='replace')}, and this version of sepset reads "
            f"{FORMAT}. Go on with the version that wrote it, or remove it."
        )
    if words[3] != b"%08x" % zlib.crc32(body):
        raise DataError(f"The checkpoint {name!r} is damaged or was cut short. Name another file, or remove it.")
    return body


def _require_place(path: str | os.PathLike[str]) -> None:
    """Refuse a checkpoint that could not be written, before any work is done."""
    target = Path(path)
    if target.is_dir():
        raise DataError(f"A checkpoint is a file; {os.fspath(path)!r} is a directory.")
    if not target.parent.is_dir():
        raise DataError(f"There is no directory {str(target.parent)!r} to keep the checkpoint {target.name!r} in.")


Callback = Callable[[int, Info, Any], object]
"""Called after each step with its number, what it achieved, and the state; True stops the run."""


def iterate(
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
) -> Run[S]:
    """The run of an iterative method on a task, from its beginning or from where another stopped.

    Ctrl-C ends it with the last whole state and the status "interrupted". A checkpoint that exists is resumed, and
    the steps and seconds it took count against the budget.

    Args:
        method: what to iterate.
        task: what it works on.
        rng: the source of randomness; its state travels with the run.
        until: when to stop.
        start: an earlier run to go on from.
        callback: called after each step; True stops.
        progress: True shows a bar, False never, None in a terminal when the work is long.
        checkpoint: a file that the run is kept in.
        about: what a checkpoint must be about to be resumed.

    >>> class Halving:
    ...     def init(self, task, rng):
    ...         return task
    ...     def step(self, task, state, rng):
    ...         return state / 2, Info(-state / 2, state / 2)
    >>> iterate(Halving(), 8.0, until=Until(tolerance=0.5)).state
    0.5
    """
    rng = np.random.default_rng(0) if rng is None else rng
    rule = Until() if until is None else until
    if checkpoint is not None:
        _require_place(checkpoint)
        if start is None and Path(checkpoint).exists():
            start = Run.load(checkpoint, about)
    keeper = _Keeper(checkpoint, about, rng, start)
    with Bar(progress, "steps") as bar:
        try:
            keeper.begin(method, task)
            while keeper.goes_on(rule):
                info = keeper.advance(method, task)
                bar.report(keeper.num_steps, rule.steps, f"step {keeper.num_steps}: {info.objective:.8g}")
                if callback is not None and callback(keeper.num_steps, info, keeper.state) is True:
                    keeper.status = Status.COMPLETED
        except (KeyboardInterrupt, SystemError) as error:
            if not was_interrupted(error):
                raise
            if not keeper.is_begun:
                raise KeyboardInterrupt from error
            keeper.status = Status.INTERRUPTED
    return keeper.finish()


def was_interrupted(error: BaseException) -> bool:
    """Whether an error is Ctrl-C; one that arrives as a compiled function is entered comes as a `SystemError`.

    >>> was_interrupted(KeyboardInterrupt()), was_interrupted(SystemError())
    (True, False)
    """
    return isinstance(error, KeyboardInterrupt) or isinstance(error.__cause__, KeyboardInterrupt)


class _Keeper(Generic[S]):
    """The moving parts of one run."""

    def __init__(
        self, path: str | os.PathLike[str] | None, about: str, rng: np.random.Generator, start: Run[S] | None
    ) -> None:
        self.path, self.about, self.rng = path, about, rng
        self.status: Status | None = None
        self.info: Info | None = None
        self.trace: list[float] = [] if start is None else start.trace.tolist()
        self.before = 0.0 if start is None else start.seconds
        self.since = self.written = time.monotonic()
        self.is_begun = start is not None
        if start is not None:
            self.state: S = start.state
            rng.bit_generator.state = start.generator
            if start.status in (Status.CONVERGED, Status.DIVERGED, Status.COMPLETED):
                self.status = start.status
        self.generator = rng.bit_generator.state

    @property
    def num_steps(self) -> int:
        return len(self.trace)

    @property
    def seconds(self) -> float:
        return self.before + time.monotonic() - self.since

    def begin(self, method: Iterative[T, S], task: T) -> None:
        if self.is_begun:
            return
        try:
            self.state = method.init(task, self.rng)
        except Interrupted as cut:
            self.state, self.status = cut.state, Status.INTERRUPTED
        self.generator = self.rng.bit_generator.state
        self.is_begun = True

    def goes_on(self, rule: Until) -> bool:
        if self.status is None:
            self.status = rule.status(self.num_steps, self.seconds, self.info)
        return self.status is None

    def advance(self, method: Iterative[T, S], task: T) -> Info:
        """One step, taken over only when it is whole."""
        state, info = method.step(task, self.state, self.rng)
        self.state, self.info, self.generator = state, info, self.rng.bit_generator.state
        self.trace.append(float(info.objective))
        if self.path is not None and time.monotonic() - self.written > CHECKPOINT_SECONDS:
            self.run(Status.INTERRUPTED).save(self.path)
            self.written = time.monotonic()
        return info

    def run(self, status: Status) -> Run[S]:
        trace = np.array(self.trace, dtype=np.float64)
        trace.setflags(write=False)
        return Run(self.state, status, trace, self.seconds, self.generator, self.about)

    def finish(self) -> Run[S]:
        made = self.run(self.status or Status.COMPLETED)
        if self.path is not None:
            made.save(self.path)
        return made
