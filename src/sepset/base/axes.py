"""Matplotlib axes to draw results on, given or current, and their tick labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sepset.base.extras import require


def axes_of(ax: Any = None) -> Any:
    """The given axes, or the current ones.

    >>> axes_of("these")
    'these'
    """
    return require("matplotlib.pyplot", "plot", "Plotting").gca() if ax is None else ax


def count_steps(axes: Any) -> None:
    """Label the horizontal axis with integers, and the vertical axis with plain numbers, without an offset."""
    ticker = require("matplotlib.ticker", "plot", "Plotting")
    axes.xaxis.set_major_locator(ticker.MaxNLocator(integer=True))
    plain = ticker.ScalarFormatter(useOffset=False)  # Whatever the axes drew before, such as a logarithmic scale.
    plain.set_scientific(False)
    axes.yaxis.set_major_formatter(plain)


def mark_sizes(axes: Any, sizes: Sequence[int]) -> None:
    """Make the horizontal axis logarithmic, with ticks at these sizes only."""
    axes.set_xscale("log")
    axes.set_xticks(list(sizes), [f"{size:,}" for size in sizes])
    axes.minorticks_off()
