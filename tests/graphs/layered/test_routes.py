"""Curves of edges: ends, vertical passages, one crossing at most, places on boxes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from sepset.graphs.layered.routes import Band, curve, ports, sampled
from support.geometry import meetings, points_of

BANDS = [Band(0.0, 10.0), Band(30.0, 40.0), Band(60.0, 80.0)]


def test_curves_are_vertical_in_bands_and_go_down():
    points = points_of(curve([0.0, 5.0, -3.0], BANDS, (10.0, 60.0)))
    assert (np.diff(points[:, 1]) > 0).all()
    inside = (points[:, 1] >= 30.0) & (points[:, 1] <= 40.0)
    assert points[inside, 0] == pytest.approx(5.0)
    assert points[0].tolist() == [0.0, 10.0]
    assert points[-1].tolist() == [-3.0, 60.0]


def test_straight_pieces_are_one():
    assert len(curve([1.0, 1.0, 1.0], BANDS, (8.0, 65.0))) == 4


@pytest.mark.parametrize("seed", range(5))
def test_two_curves_cross_once_where_their_order_changes(seed):
    rng = np.random.default_rng(seed)
    one, two = rng.uniform(0, 100, 3), rng.uniform(0, 100, 3)
    lines = [points_of(curve(xs.tolist(), BANDS, (10.0, 60.0))) for xs in (one, two)]
    turns = sum((a > b) != (c > d) for (a, b), (c, d) in itertools.pairwise(zip(one, two, strict=True)))
    assert len(meetings(*lines)) == turns


def test_points_along_a_curve_are_the_same_by_another_construction():
    control = curve([0.0, 5.0, -3.0], BANDS, (10.0, 60.0))
    assert np.array(sampled(control, 6)) == pytest.approx(points_of(control, 6))


@pytest.mark.parametrize("count", [1, 2, 7])
def test_ports_are_on_the_box(count):
    found = ports(30.0, count, 13.0)
    assert len(found) == count
    assert all(abs(x) <= 15.0 for x in found)
    assert sum(found) == pytest.approx(0.0)
    assert found == sorted(found)
