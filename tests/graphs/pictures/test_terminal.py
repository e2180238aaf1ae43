"""Pictures in characters: every name once, lines that join their boxes, lists where there is no room."""

from __future__ import annotations

import numpy as np

import sepset as ss
from sepset.graphs.pictures.sketch import Sketch
from sepset.graphs.pictures.terminal import LINES, terminal
from support.blocks import in_blocks

STROKES = {character: k for k, character in enumerate(LINES)} | {"▼": 3, "▲": 3, "o": 3}
UP, DOWN, LEFT, RIGHT = 1, 2, 4, 8
STEPS = {UP: (-1, 0), DOWN: (1, 0), LEFT: (0, -1), RIGHT: (0, 1)}
BACK = {UP: DOWN, DOWN: UP, LEFT: RIGHT, RIGHT: LEFT}


def loose_ends(text):
    """Strokes of lines that meet nothing; boxes are drawn with lines too."""
    rows = text.splitlines()
    at = {(i, j): STROKES.get(c, 0) for i, row in enumerate(rows) for j, c in enumerate(row)}
    return [
        (i, j)
        for (i, j), strokes in at.items()
        for way, (di, dj) in STEPS.items()
        if strokes & way and not at.get((i + di, j + dj), 0) & BACK[way]
    ]


@in_blocks("seed", range(6))
def test_lines_have_no_loose_ends(seed):
    rng = np.random.default_rng(seed)
    names = [f"N{k}" * int(rng.integers(1, 4)) for k in range(8)]
    edges = [(names[a], "->", names[b]) for a in range(8) for b in range(a + 1, 8) if rng.random() < 0.3]
    text = terminal(Sketch.of(names, edges), 500)
    assert loose_ends(text) == []
    assert all(f" {name} " in text for name in names)
    assert text.count("▼") <= len(edges)
    targets = {b for _, _, b in edges}
    assert text.count("▼") >= len(targets)


def test_small_pictures():
    assert terminal(Sketch(), 80) == ""
    assert terminal(Sketch.of("a", []), 80).splitlines() == ["┌───┐", "│ a │", "└───┘"]
    side = terminal(Sketch.of("ab", []), 80).splitlines()
    assert side[1] == "│ a │   │ b │"


def test_beliefs_and_evidence():
    text = str(ss.draw(ss.datasets.load("asia"), given={"xray": "yes"}))
    assert "║ yes ██████████   100% ║" in text
    assert "│ yes █████       48.9% │" in text
    assert text.splitlines()[-1] == "given xray = yes"


def test_wide_pictures_are_lists():
    text = ss.draw(ss.datasets.load("alarm")).to_text(60)
    assert "HR <- CATECHOL" in text.splitlines()
    assert "TPR <- ANAPHYLAXIS" in text.splitlines()
    assert len(text.splitlines()) == 37
    lists = terminal(
        Sketch.of(["a" * 20, "b" * 20, "c" * 20], [("a" * 20, "o->", "b" * 20), ("b" * 20, "-", "c" * 20)]), 10
    )
    assert lists.splitlines() == ["a" * 20, f"{'b' * 20} <-o {'a' * 20}", f"{'c' * 20} - {'b' * 20}"]
