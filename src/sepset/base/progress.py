r"""Progress bars of long computations, in terminals and notebooks, with an estimate of the time that is left.

What counts toward a total ends when the total is reached. What converges ends where a positive measure (a residual, the
change of an objective, a gap) reaches its goal; the measure $m(t)$ is extrapolated by its recent trend,

$$\log m(t) \approx a - b t \quad \text{(toward a goal } > 0), \qquad m(t) \approx a - b t \quad \text{(toward } 0),$$

fitted by least squares to the last half of the measures, in seconds, so that steps may grow.
"""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from sepset.base.text import escaped

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

PATIENCE = 2.0
"""The number of seconds after which a computation counts as long."""

UPDATES = 0.1
"""The least number of seconds between two updates of a bar."""

LATE = 0.1
"""The share of the time that a computation may take longer than its trend said, before the trend counts as wrong."""

LEAST, MOST = 4, 200
"""The numbers of measures from which a trend is read."""


class Trend:
    """The seconds that are left until a positive measure reaches its goal, by its trend.

    Args:
        goal: positive for what falls by a constant factor, zero for what falls by a constant amount.

    >>> trend = Trend(goal=1e-6)
    >>> for second, residual in enumerate([1.0, 0.1, 0.01, 0.001]):
    ...     trend.add(second, residual)
    >>> round(trend.left(), 6)
    3.0
    """

    def __init__(self, goal: float) -> None:
        self.goal = goal
        self._points: list[tuple[float, float]] = []

    def add(self, seconds: float, measure: float) -> None:
        """Record the measure at a time; what is infinite or not positive tells nothing."""
        if 0.0 < measure < math.inf:
            self._points.append((seconds, math.log(measure) if self.goal > 0 else measure))
            del self._points[: -2 * MOST]

    def left(self, now: float | None = None) -> float | None:
        """The number of seconds; None where the measure does not fall, or too few measures are known.

        Args:
            now: the time; by default that of the last measure. A trend that was to end a good while ago is unknown.
        """
        recent = self._points[-max(LEAST, min(MOST, len(self._points) // 2)) :]
        if len(recent) < LEAST:
            return None
        times, heights = np.array(recent).T
        times = times - times[-1]
        spread = times - times.mean()
        square = float(spread @ spread)
        slope = float(spread @ heights) / square if square > 0 else 0.0
        if slope >= 0:
            return None
        height = float(heights.mean() - slope * times.mean())
        since = 0.0 if now is None else now - recent[-1][0]
        left = (height - (math.log(self.goal) if self.goal > 0 else 0.0)) / -slope - since
        return None if left < -LATE * (recent[-1][0] + since) else max(0.0, left)


class Moment(NamedTuple):
    """One state of a bar.

    Attributes:
        text: the work that is being done.
        share: how much of it is done, from 0 to 1; None if that is unknown.
        left: the seconds that are left; None if that is unknown.
    """

    text: str
    share: float | None
    left: float | None

    @property
    def time(self) -> str:
        """The seconds that are left, in words.

        >>> Moment("steps", 0.5, 200.0).time
        'about 3 min left'
        """
        if self.left is None or not self.left < math.inf:
            return ""
        for unit, seconds in (("days", 86400.0), ("h", 3600.0), ("min", 60.0)):
            if self.left >= 1.5 * seconds:
                return f"about {self.left / seconds:.0f} {unit} left"
        return f"about {max(1.0, self.left):.0f} s left"


class Surface(Protocol):
    """A place where a bar is shown."""

    def show(self, moment: Moment) -> None:
        """Show the bar, in place of the earlier one."""

    def end(self, is_complete: bool) -> None:
        """Take the bar away."""


class Terminal:
    """A line of a terminal; in a file the last state stays."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        columns = TextColumn("{task.description}", markup=False), BarColumn(), TextColumn("{task.fields[time]}")
        console = Console(stderr=True)
        self._progress: Progress = Progress(*columns, console=console, transient=console.is_terminal)
        self._progress.start()
        self._task: TaskID = self._progress.add_task("", total=None, time="")

    def show(self, moment: Moment) -> None:
        """Show the bar; it only moves if the share is unknown."""
        total = None if moment.share is None else 1.0
        left = f"{moment.share or 0:4.0%}  {moment.time}" if total else moment.time
        done = moment.share or 0.0
        self._progress.update(self._task, description=moment.text, total=total, completed=done, time=left)

    def end(self, is_complete: bool) -> None:
        """Give the line and the cursor back."""
        if is_complete:
            self._progress.update(self._task, total=1.0, completed=1.0, time="")
        self._progress.stop()


class Notebook:
    """An output of a notebook's cell, which is replaced as the work goes on.

    Args:
        display: `IPython.display.display`.
    """

    def __init__(self, display: Callable[..., Any]) -> None:
        self._handle = display({"text/html": "", "text/plain": ""}, raw=True, display_id=True)

    def show(self, moment: Moment) -> None:
        """Show the bar."""
        self._handle.update({"text/html": html_bar(moment), "text/plain": text_bar(moment)}, raw=True)

    def end(self, is_complete: bool) -> None:
        """Leave the output empty."""
        self._handle.update({"text/html": "", "text/plain": ""}, raw=True)


def html_bar(moment: Moment) -> str:
    """The bar as HTML.

    >>> html_bar(Moment("step 3", 0.25, 2.0))
    '<progress max="1" value="0.25"></progress> step 3 25% about 2 s left'
    """
    value = "" if moment.share is None else f' value="{moment.share:.4g}"'
    return f'<progress max="1"{value}></progress> {escaped(text_bar(moment))}'


def text_bar(moment: Moment) -> str:
    """The bar in words."""
    share = "" if moment.share is None else f"{moment.share:.0%}"
    return " ".join(filter(None, (moment.text, share, moment.time)))


def notebook_display() -> Callable[..., Any] | None:
    """The function that displays values in the notebook that runs this code; None outside a notebook."""
    found = sys.modules.get("IPython")
    shell = None if found is None else found.get_ipython()
    if shell is None or getattr(shell, "kernel", None) is None:
        return None
    from IPython.display import display  # type: ignore[import-not-found, unused-ignore]  # there, if a notebook is

    made: Callable[..., Any] = display
    return made


class Bar:
    """A progress bar that appears if the computation is long, in a terminal or a notebook.

    Inside the work of another bar nothing is shown.

    Args:
        wanted: True shows it from the start, False never, None in a terminal or notebook if the computation is long.
        what: the things that are counted.

    >>> with Bar(False) as bar:
    ...     bar.report(1, 2)
    """

    _at_work = threading.local()

    def __init__(self, wanted: bool | None = None, what: str = "rows") -> None:
        is_seen = sys.stderr.isatty() or notebook_display() is not None
        self.is_wanted = (is_seen if wanted is None else wanted) and not self._depth
        self._since = time.monotonic()
        self._due = self._since + (PATIENCE if wanted is None else 0.0)
        self._what = what
        self._first: int | None = None
        self._surface: Surface | None = None

    @property
    def _depth(self) -> int:
        """The number of bars in whose work this thread is."""
        return getattr(Bar._at_work, "depth", 0)

    @property
    def seconds(self) -> float:
        """The time since the bar was made."""
        return time.monotonic() - self._since

    def report(
        self, done: int, total: int | None, what: str | None = None, *, left: Callable[[], float | None] | None = None
    ) -> None:
        """Show how much is done, and what comes next; without a total and an estimate the bar only moves.

        Args:
            done: the number of steps, rows, or other things.
            total: the number at which the work ends.
            what: the text next to the bar.
            left: an estimate of the seconds that are left; the work ends at the total or then, whichever is first.
        """
        if self._first is None:
            self._first = done - 1
        if self._is_due():
            self._show(self._moment(done, total, what or self._what, None if left is None else left()))

    @classmethod
    def note(cls, what: str) -> None:
        """Show the work that is being done by the bar around it, which only moves: for what comes before its steps.

        >>> Bar.note("start 1 of 5")
        """
        bar: Bar | None = getattr(cls._at_work, "bar", None)
        if bar is not None and bar._is_due():
            bar._show(Moment(what, None, None))

    def _is_due(self) -> bool:
        return self.is_wanted and time.monotonic() >= self._due

    def _show(self, moment: Moment) -> None:
        self._due = time.monotonic() + UPDATES
        if self._surface is None:
            display = notebook_display()
            self._surface = Terminal() if display is None else Notebook(display)
        self._surface.show(moment)

    def _moment(self, done: int, total: int | None, what: str, left: float | None) -> Moment:
        ends = [] if left is None else [left]
        if total is not None and done > (first := self._first or 0):
            ends.append(self.seconds * max(0, total - done) / (done - first))
        if not ends:
            return Moment(what, None, None)
        if left is None and total:
            return Moment(what, min(1.0, done / total), ends[0])
        return Moment(what, self.seconds / max(self.seconds + min(ends), 1e-9), min(ends))

    def __enter__(self) -> Bar:
        depth = self._depth
        Bar._at_work.depth = depth + 1
        if not depth:
            Bar._at_work.bar = self
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        Bar._at_work.depth = depth = self._depth - 1
        if not depth:
            Bar._at_work.bar = None
        if self._surface is not None:
            self._surface.end(is_complete=error is None)
