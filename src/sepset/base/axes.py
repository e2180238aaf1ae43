"""Matplotlib axes to draw results on, given or current, and their tick labels."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Sequence
from typing import Any

from sepset.base.extras import require
from sepset.base.text import brief
from sepset.errors import ArgumentError, TooLarge


def axes_of(ax: Any = None) -> Any:
    """The given axes, or the current ones; labels get the room they need where the axes are alone in their picture.

    >>> import matplotlib.figure
    >>> axes = matplotlib.figure.Figure().subplots()
    >>> axes_of(axes) is axes
    True
    """
    axes = require("matplotlib.pyplot", "plot", "Plotting").gca() if ax is None else ax
    figure = getattr(axes, "figure", None)
    if figure is None:
        raise ArgumentError(f"ax= is axes of matplotlib, or None for the current ones; found {brief(ax)}.")
    if is_alone(axes) and figure.get_layout_engine() is None:
        figure.set_layout_engine("constrained")
    return axes


def is_alone(axes: Any) -> bool:
    """Whether axes are the only ones of their picture, and in a grid, so that they can be moved."""
    found = getattr(axes.figure, "axes", [])
    can_move = getattr(axes.figure, "set_layout_engine", None) is not None and axes.get_subplotspec() is not None
    return len(found) == 1 and can_move


def image(figure: Any, kind: str) -> bytes:
    """The bytes of an image file of this kind, such as "png"."""
    content = io.BytesIO()
    figure.savefig(content, format=kind)
    return content.getvalue()


def ink() -> str:
    """The color of letters in the present style of matplotlib, for lines that must be as legible as they are.

    >>> ink()
    'black'
    """
    return str(require("matplotlib", "plot", "Plotting").rcParams["text.color"])


def tick_label(name: object) -> str:
    """A name as a label next to an axis, cut if it is long; dollar signs are not formulas.

    >>> tick_label("a variable with an exceedingly long name = state")
    'a variable with an exceedingly long name...'
    """
    text = str(name)
    return plain(text if len(text) <= LONGEST_LABEL else text[: LONGEST_LABEL - 3] + "...")


def is_crowded(labels: Sequence[str]) -> bool:
    """Whether labels would overlap side by side below an axis.

    >>> is_crowded(["yes", "no"]), is_crowded(["rather long"] * 6)
    (False, True)
    """
    return len(labels) * (2 + max(map(len, labels), default=0)) > WIDEST_TITLE


def named_columns(axes: Any, names: Sequence[str]) -> None:
    """Name the columns of a chart from left to right, turned where they would overlap."""
    labels = [tick_label(name) for name in names]
    turned = is_crowded(labels)
    size = 10 if len(labels) <= 20 else max(4, 240 // len(labels))
    axes.set_xticks(range(len(labels)), labels, rotation=90 if turned else 0, fontsize=size)


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


def check_bars(number: int) -> None:
    """Raise if a chart would have more bars than can be drawn in a moment, or read.

    >>> check_bars(100)
    """
    if number > MOST_BARS:
        raise TooLarge(
            f"A chart has at most {MOST_BARS:,} bars, which take seconds to draw; of more none could be read. Plot "
            "some of them, or use to_frame."
        )


def named_rows(axes: Any, names: Sequence[str], *, grow: bool = False) -> None:
    """Name the rows of a horizontal bar chart from the top down, in smaller letters where there are many.

    Args:
        axes: matplotlib axes.
        names: one per row.
        grow: whether the picture gets higher instead, if the axes are alone in it.
    """
    size = 10 if len(names) <= 14 else max(4, 160 // len(names))
    if grow and len(names) > 25 and is_alone(axes):
        size = 8
        axes.figure.set_figheight(max(axes.figure.get_figheight(), min(100.0, 0.17 * len(names) + 1.0)))
    axes.set_yticks(range(len(names)), [tick_label(name) for name in names], fontsize=size)
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
    axes.axvline(center, color=ink(), linewidth=1.0)
    size = 8 if len(bars) <= 14 else max(4, 112 // len(bars))
    behind = {"facecolor": axes.get_facecolor()[:3], "edgecolor": "none", "alpha": 0.8, "pad": 0.5}
    box = behind if axes.get_facecolor()[3] else None  # a transparent chart hides nothing
    for row, (name, _, _) in enumerate(bars):
        across = axes.get_yaxis_transform()
        axes.text(0.01, row - 0.24, plain(name), transform=across, va="bottom", fontsize=size, bbox=box)
    axes.set(yticks=[], ylim=(len(bars) - 0.6, -0.9))
    return axes


def plain(text: str) -> str:
    """The text with its dollar signs escaped, which matplotlib would take for formulas.

    >>> plain("over $100")
    'over \\\\$100'
    """
    return text.replace("$", r"\$")


def entitle(axes: Any, title: str) -> None:
    """Put a title above the axes, in as many lines as it needs; it stays inside the picture."""
    axes.set_title("\n".join(textwrap.wrap(plain(title), WIDEST_TITLE)), fontsize="medium", wrap=True)


MOST_BARS = 2000
"""The largest number of bars in a chart; matplotlib takes about a millisecond for each."""

LONGEST_LABEL = 43
"""The largest number of characters in a label next to an axis."""

WIDEST_TITLE = 64
"""The largest number of characters in a line of a title."""
