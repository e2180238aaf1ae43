"""Tests of many cases, several in one item of a run: collecting, sending and reporting an item takes milliseconds."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import pytest

CASES = 20


def in_blocks(name: str, values: Sequence[Any], size: int = CASES) -> Callable[[Callable[..., None]], Any]:
    """As `pytest.mark.parametrize(name, values)`, with `size` values one after the other in an item.

    A failure is noted with its value. Fixtures are shared by the values of an item.
    """

    def decorate(test: Callable[..., None]) -> Any:
        @functools.wraps(test)
        def run(**given: Any) -> None:
            for value in given.pop(name):
                try:
                    test(**{name: value}, **given)
                except BaseException as failure:
                    failure.add_note(f"{name} = {value!r}")
                    raise

        run.__signature__ = inspect.signature(test)  # type: ignore[attr-defined]  # what pytest reads
        blocks = [values[at : at + size] for at in range(0, len(values), size)]
        return pytest.mark.parametrize(name, blocks, ids=_ends)(run)

    return decorate


def _ends(block: Sequence[Any]) -> str:
    """The first and the last value of a block, by their names if they have some."""
    first, last = (getattr(value, "name", getattr(value, "__name__", value)) for value in (block[0], block[-1]))
    return f"{first}...{last}"
