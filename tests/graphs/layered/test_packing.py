"""Rectangles in rows: none overlap, and the whole is not a strip."""

from __future__ import annotations

import itertools

import numpy as np

from sepset.graphs.layered.packing import packed


def test_rectangles_do_not_overlap():
    rng = np.random.default_rng(0)
    sizes = [tuple(rng.uniform(1, 20, 2)) for _ in range(60)]
    corners, width, height = packed(sizes, 2.0)
    for ((x, y), (w, h)), ((u, v), (s, t)) in itertools.combinations(zip(corners, sizes, strict=True), 2):
        assert x + w + 2.0 <= u + 1e-9 or u + s + 2.0 <= x + 1e-9 or y + h + 2.0 <= v + 1e-9 or v + t + 2.0 <= y + 1e-9
    assert all(x + w <= width and y + h <= height for (x, y), (w, h) in zip(corners, sizes, strict=True))
    assert 1.0 < width / height < 2.5


def test_nothing_and_one():
    assert packed([], 1.0) == ([], 0.0, 0.0)
    assert packed([(3.0, 4.0)], 1.0) == ([(0.0, 0.0)], 3.0, 4.0)
