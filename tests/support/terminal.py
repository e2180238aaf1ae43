"""What a terminal shows."""

from __future__ import annotations

import io

from rich.console import Console


def printed(value: object, width: int = 200) -> str:
    """The text that Rich prints, without colors."""
    stream = io.StringIO()
    Console(file=stream, width=width, color_system=None).print(value)
    return stream.getvalue()


def without_styles(html: str) -> str:
    """HTML without the alignment of its cells."""
    return html.replace(' style="text-align:left"', "")
