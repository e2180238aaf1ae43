"""Progress bars for long computations, in terminals only."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

PATIENCE = 2.0
"""The number of seconds after which a computation counts as long."""


class Bar:
    """A progress bar that appears if the computation is long; by default only in a terminal.

    Args:
        wanted: True shows it from the start, False never, None in a terminal if the computation is long.

    >>> with Bar(False) as bar:
    ...     bar.report(1, 2)
    """

    def __init__(self, wanted: bool | None = None, what: str = "rows") -> None:
        self._wanted = sys.stderr.isatty() if wanted is None else wanted
        self._after = time.monotonic() + (PATIENCE if wanted is None else 0.0)
        self._what = what
        self._shown: tuple[Progress, TaskID] | None = None

    def report(self, done: int, total: int | None, what: str | None = None) -> None:
        """Show how much is done, and what comes next; without a total the bar only moves."""
        if not self._wanted or (self._shown is None and time.monotonic() < self._after):
            return
        if self._shown is None:
            self._shown = self._start(total)
        progress, task = self._shown
        progress.update(task, completed=done, description=what or self._what)

    def _start(self, total: int | None) -> tuple[Progress, TaskID]:
        from rich.console import Console
        from rich.progress import Progress

        progress = Progress(console=Console(stderr=True), transient=True)
        progress.start()
        return progress, progress.add_task(self._what, total=total)

    def __enter__(self) -> Bar:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown is not None:
            self._shown[0].stop()
