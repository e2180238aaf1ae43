"""Pictures with given places: nothing overlaps, edges end on borders and pass around boxes."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.graphs.pictures import positions
from sepset.graphs.pictures.positions import GAP, LONGEST, MOST_BOXES, positioned
from support.geometry import on_border, overlapping, passed_through, points_of


def laid_out(layout, sizes):
    return [(*center, *size) for center, size in zip(layout.centers, sizes, strict=True)]


def test_roomy_places_are_kept():
    sizes = [(60.0, 26.0)] * 3
    layout = positioned(sizes, [(100.0, 50.0), (400.0, 50.0), (250.0, 300.0)], [])
    assert layout.centers == [(30.0, 13.0), (330.0, 13.0), (180.0, 263.0)]
    assert (layout.width, layout.height) == (360.0, 276.0)


@pytest.mark.parametrize("unit", [1e-200, 1e-3, 1.0, 1e6, 1e200])
def test_any_unit_is_scaled_until_nothing_overlaps(unit):
    rng = np.random.default_rng(1)
    sizes = [(float(w), 26.0) for w in rng.uniform(40, 120, 12)]
    grid = [(float(i % 4) * unit, float(i // 4) * unit) for i in range(12)]
    layout = positioned(sizes, grid, [(0, 5), (3, 11), (0, 11)])
    boxes = laid_out(layout, sizes)
    assert not overlapping([(x, y, w + GAP - 1e-6, h + GAP - 1e-6) for x, y, w, h in boxes])
    assert max(layout.width, layout.height) < LONGEST


def test_an_edge_goes_around_a_box_between():
    sizes = [(60.0, 26.0)] * 3
    edges = [(0, 2), (0, 1), (2, 0)]
    layout = positioned(sizes, [(0.0, 0.0), (0.0, 100.0), (0.0, 200.0)], edges)
    boxes, lines = laid_out(layout, sizes), [points_of(curve, 100) for curve in layout.curves]
    assert not passed_through(edges, lines, boxes)
    low, high = np.concatenate(lines).min(0), np.concatenate(lines).max(0)
    assert low.min() >= -1e-9
    assert (high <= np.array([layout.width, layout.height]) + 1e-9).all()


def test_edges_of_random_pictures_are_clear_of_boxes():
    rng = np.random.default_rng(7)
    total = passed = 0
    for _ in range(3):
        places = [
            (x * 190.0 + rng.uniform(-30, 30), y * 110.0 + rng.uniform(-20, 20)) for x in range(4) for y in range(4)
        ]
        sizes = [(float(w), 26.0) for w in rng.uniform(50, 110, 16)]
        edges = [tuple(map(int, rng.choice(16, 2, replace=False))) for _ in range(20)]
        layout = positioned(sizes, places, edges)
        boxes, lines = laid_out(layout, sizes), [points_of(curve, 150) for curve in layout.curves]
        assert not overlapping(boxes)
        for (a, b), curve in zip(edges, layout.curves, strict=True):
            assert on_border(curve[0], boxes[a])
            assert on_border(curve[-1], boxes[b])
        total += len(edges)
        passed += len(passed_through(edges, lines, boxes))
    assert total == 60
    assert passed == 0


def test_an_edge_that_no_bend_frees_is_straight():
    walls = [(3000.0, 26.0)]
    layout = positioned([(60.0, 26.0), (60.0, 26.0), *walls], [(0.0, 0.0), (0.0, 200.0), (0.0, 100.0)], [(0, 1)])
    assert {round(x, 6) for x, _ in layout.curves[0]} == {1500.0}


def test_the_search_for_bends_is_bounded(monkeypatch):
    sizes, places = [(60.0, 26.0)] * 3, [(0.0, 0.0), (0.0, 100.0), (0.0, 200.0)]
    bent = positioned(sizes, places, [(0, 2)]).curves[0]
    monkeypatch.setattr(positions, "WORK", 0)
    straight = positioned(sizes, places, [(0, 2)]).curves[0]
    assert len({x for x, _ in bent}) > 1
    assert len({x for x, _ in straight}) == 1


@pytest.mark.parametrize(
    "places",
    [
        pytest.param([(5.0, 5.0), (5.0, 5.0)], id="one place"),
        pytest.param([(-1e308, 0.0), (1e308, 0.0)], id="overflow"),
        pytest.param([(0.0, 0.0), (1e-9, 0.0), (1e9, 0.0)], id="too far apart"),
        pytest.param([], id="none"),
        pytest.param([(float(i), 0.0) for i in range(MOST_BOXES + 1)], id="too many"),
    ],
)
def test_places_that_cannot_be_drawn(places):
    assert positioned([(60.0, 26.0)] * len(places), places, []) is None


def test_one_box():
    assert positioned([(60.0, 26.0)], [(1e300, -3.0)], []).centers == [(30.0, 13.0)]
