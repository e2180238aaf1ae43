"""One process per library, with its own memory, threads and crashes; it is stopped if it takes too long."""

from __future__ import annotations

import importlib.util
import logging
import multiprocessing
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from multiprocessing.connection import Connection
from typing import Any, TypeAlias

from benchmarks.measure import Timing

Outcome: TypeAlias = Timing | str
"""A timing, or why there is none."""


class Worker:
    """A fresh interpreter that answers calls one after the other."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()
        self.alive = True

    def call(self, function: Callable[..., Any], *args: Any, limit: float) -> Any:
        """The result of the function, or a string that says why there is none; over the limit the process is ended."""
        self._connection.send((function, args))
        if not self._connection.poll(limit):
            self.close()
            return f"over {limit:g} s"
        try:
            return self._connection.recv()
        except EOFError:
            self.close()
            return "crashed"

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.join()
        self.alive = False


def _serve(connection: Connection) -> None:
    _quiet()
    while True:
        function, args = connection.recv()
        try:
            answer = function(*args)
        except Exception as error:  # a peer may fail in any way; the table reports it
            said = re.sub(r"(/[\w.-]+)+/", "", " ".join(str(error).split()))  # folders mean nothing to a reader
            answer = f"failed: {type(error).__name__} {said}"[:160]
        connection.send(answer)


def _quiet() -> None:
    """Suppress the notices of other libraries, which do not belong in the tables."""
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115  (for the life of the process)
    sys.stderr = sys.stdout


class Lab:
    """A worker for each library, kept between calls so that models are loaded once.

    Attributes:
        limit: seconds after which a call is given up.
        quick: whether suites leave out long measurements.
        long: whether suites add very long measurements.
        only: the selected cases, by prefixes of their names; empty for all.
        progress: called with the case that is being measured.
    """

    def __init__(
        self, limit: float = 60.0, *, quick: bool = False, long: bool = False, only: Sequence[str] = ()
    ) -> None:
        self.limit = limit
        self.quick = quick
        self.long = long
        self.only = tuple(only)
        self.progress: Callable[[str], None] = lambda text: None
        self._workers: dict[str, Worker] = {}

    def wanted(self, names: Iterable[str]) -> Iterator[str]:
        """The selected names among these; each is reported when its turn comes."""
        for name in names:
            if not self.only or name.startswith(self.only):
                self.progress(name)
                yield name

    def ask(
        self, library: str, function: Callable[..., Any], *args: Any, fresh: bool = False, limit: float = 0.0
    ) -> Any:
        """The result of `function` in the library's process (a new one if `fresh`), or why there is none."""
        if importlib.util.find_spec(library) is None:
            return "not installed"
        worker = self._workers.get(library)
        if worker is None or not worker.alive or fresh:
            if worker is not None and worker.alive:
                worker.close()
            worker = self._workers[library] = Worker()
        return worker.call(function, *args, limit=limit or self.limit)

    def close(self) -> None:
        """End all processes."""
        for worker in self._workers.values():
            if worker.alive:
                worker.close()
