"""Matplotlib axes to draw results on, given or current, and their tick labels."""

from __future__ import annotations

import textwrap
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


def named_rows(axes: Any, names: Sequence[str]) -> None:
    """Name the rows of a horizontal bar chart from the top down, in smaller letters where there are many."""
    size = 10 if len(names) <= 14 else max(4, 160 // len(names))
    axes.set_yticks(range(len(names)), list(names), fontsize=size)
    axes.set_ylim(len(names) - 0.4, -0.6)


BELOW, ABOVE = "#3b6ea5", "#8fb8de"
"""The colors of bars below and above the present value, or before and after a change."""


def tornado(axes: Any, bars: Sequence[tuple[str, float, float]], center: float) -> Any:
    """The axes with one horizontal bar from low to high for each name, in two shades that meet at the center.

    The names are above the bars, since those of parameters are long.

    >>> import matplotlib.figure
    >>> drawn = tornado(matplotlib.figure.Figure().subplots(), [("x", 0.2, 0.9)], 0.5)
    >>> [round(float(bar.get_width()), 3) for bar in drawn.patches]
    [-0.3, 0.4]
    """
    for color, side in ((BELOW, [low for _, low, _ in bars]), (ABOVE, [high for _, _, high in bars])):
        axes.barh(range(len(bars)), [end - center for end in side], left=center, color=color, height=0.4)
    axes.axvline(center, color="0.15", linewidth=1.0)
    size = 8 if len(bars) <= 14 else max(4, 112 // len(bars))
    white = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.5}
    for row, (name, _, _) in enumerate(bars):
        across = axes.get_yaxis_transform()
        axes.text(0.01, row - 0.24, plain(name), transform=across, va="bottom", fontsize=size, bbox=white)
    axes.set(yticks=[], ylim=(len(bars) - 0.6, -0.9))
    return axes


def plain(text: str) -> str:
    """The text with its dollar signs escaped, which matplotlib would take for formulas.

    >>> plain("over $100")
    'over \\\\$100'
    """
    return text.replace("$", r"\$")


def entitle(axes: Any, title: str) -> None:
    """Put a title above the axes, in as many lines as it needs."""
    axes.set_title("\n".join(textwrap.wrap(plain(title), WIDEST_TITLE)), fontsize="medium")


WIDEST_TITLE = 64
"""The largest number of characters in a line of a title."""
