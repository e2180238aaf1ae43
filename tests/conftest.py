"""Settings of the whole suite."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
from collections.abc import Generator

import pytest
from hypothesis import settings

# The workers of a run fill the cache together; nobody needs to compile ahead for them.
os.environ.setdefault("SEPSET_WARM", "0")

# What a shell starts in the background ignores Ctrl-C; tests that send it want it heard, here and in their children.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    with contextlib.suppress(ValueError):  # not the main thread
        signal.signal(signal.SIGINT, signal.default_int_handler)

# The first example of a test may compile a kernel, so no example has a deadline.
settings.register_profile("sepset", deadline=None)
settings.load_profile("sepset")


# Tests that compile nothing.
PLAIN = ("test_words.py", "test_repository.py", "test_generated.py", "test_catalogue.py", "test_public_names.py")


# The second worker reads the files from the other end: each of two writes the bytecode of half of them for both.
WORKER = os.environ.get("PYTEST_XDIST_WORKER")


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """List the files of a folder backwards for the second worker."""
    report = yield
    if WORKER == "gw1" and isinstance(collector, pytest.Directory):
        report.result.reverse()
    return report


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put tests that compile nothing where the second of two workers begins: the first compiles what both need."""
    if WORKER:  # in which all workers agree
        items.sort(key=lambda item: item.path.parts)
    plain = [item for item in items if item.path.name in PLAIN]
    others = [item for item in items if item.path.name not in PLAIN]
    middle = len(items) - len(items) // 2
    items[:] = [*others[:middle], *plain, *others[middle:]]


def pytest_collection() -> None:
    """Nothing that is collected is garbage."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Keep the garbage collector from going through all tests and the modules of all libraries each time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    gc.enable()


def pytest_unconfigure() -> None:
    """Let what is left be collected: some libraries count what they leave behind."""
    gc.unfreeze()


def pytest_runtest_teardown() -> None:
    """Close the figures of each test: plots draw on the current axes, which must not be another test's."""
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
