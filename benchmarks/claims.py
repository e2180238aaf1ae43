"""Tables about claims of the literature, one for each: the figures found here."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from benchmarks.report import Comparison, Report
from benchmarks.worker import Lab

PATIENCE = 900.0
Figures = list[tuple[str, float]]
"""What was measured, and the figure."""


def reports(
    lab: Lab,
    claims: Mapping[str, Callable[..., Any]],
    quick: Collection[int],
    figures: Callable[[Any], Iterable[tuple[str, float | str]]],
) -> list[Report]:
    """A table for each claim, of the figures in what its function returns; in a quick run, only for a few of them."""
    names = [name for k, name in enumerate(claims) if not lab.quick or k in quick]
    found = []
    for name in lab.wanted(names):
        lab.progress(name)
        said = lab.ask("sepset", claims[name], limit=PATIENCE)
        listed = [(name, said)] if isinstance(said, str) else figures(said)
        rows = [Comparison(what, _finite(value), kind="number") for what, value in listed]
        found.append(Report(name, rows, has_mean=False))
    return found


def _finite(value: float | str) -> float | str:
    return value if isinstance(value, str) or math.isfinite(value) else "infinite"
