"""Choices of a penalty by their definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sepset.errors import ArgumentError, DataError
from sepset.learning.evaluation.splits import KFold
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.learned import StructureTask
from sepset.learning.structure.undirected.graphicallasso import GraphicalLasso
from sepset.learning.structure.undirected.penaltychoice import ExtendedBIC, HeldOut, StARS, units


def chain(seed, size=5, rows=200):
    x = np.random.default_rng(seed).normal(size=(size, rows))
    for i in range(1, size):
        x[i] += x[i - 1]
    return {f"x{i}": column for i, column in enumerate(x)}


def log_density(rows, mean, covariance):
    apart = rows - mean
    squares = np.einsum("ij,jk,ik->i", apart, np.linalg.inv(covariance), apart)
    return -0.5 * (squares + np.linalg.slogdet(covariance)[1])


def test_the_extended_bic_by_hand():
    data = chain(0, 3)
    task = StructureTask(Columns.of(data))
    method = GraphicalLasso(ExtendedBIC(0.3))
    found = method.learn(task)
    rows = np.column_stack(list(data.values()))
    rows = (rows - rows.mean(0)) / rows.std(0)
    for point in found.path:
        if point.num_edges != 3:
            continue
        likelihood = log_density(rows, 0.0, np.corrcoef(rows.T)).sum()
        expected = -2.0 * likelihood + 3 * math.log(200) + 4 * 0.3 * 3 * math.log(3)
        assert point.criterion == pytest.approx(expected, abs=0.05)
    assert found.path[0].num_edges == 0
    assert found.path[0].criterion == pytest.approx(600.0)
    assert min(p.criterion for p in found.path) == next(p for p in found.path if p.penalty == found.penalty).criterion


def test_stars_by_its_definition():
    data = chain(1, 8)
    choice = StARS(0.08, num_draws=6, share=0.5)
    method = GraphicalLasso(choice)
    found = method.learn(StructureTask(Columns.of(data), rng=np.random.default_rng(5)))
    rng = np.random.default_rng(5)
    parts = [np.sort(rng.choice(200, 100, replace=False)) for _ in range(6)]
    for point in found.path:
        supports = [
            GraphicalLasso(point.penalty)
            .learn(StructureTask(Columns.of({k: v[part] for k, v in data.items()})))
            .path[0]
            .support
            for part in parts
        ]
        share = np.mean(supports, axis=0)[np.triu_indices(8, 1)]
        assert point.criterion == pytest.approx((2 * share * (1 - share)).mean())
    accepted = [p.penalty for p in found.path[:-1]]
    assert all(p.criterion <= 0.08 for p in found.path[:-1])
    assert found.path[-1].criterion > 0.08
    assert found.penalty == accepted[-1]
    again = method.learn(StructureTask(Columns.of(data), rng=np.random.default_rng(5)))
    assert again.graph == found.graph


def test_rows_held_out_by_their_density():
    data = chain(2, 3, 60)
    method = GraphicalLasso(KFold(3), num_penalties=4)
    found = method.learn(StructureTask(Columns.of(data), rng=np.random.default_rng(3)))
    rows = np.column_stack(list(data.values()))
    masks = list(KFold(3).rounds(Columns.of(data).dataset, np.random.default_rng(3)))
    for point in found.path:
        total = 0.0
        for tested in masks:
            part = rows[~tested]
            fitted = GraphicalLasso(point.penalty).learn(
                StructureTask(Columns.of(dict(zip("abc", part.T, strict=True))))
            )
            scaled, other = (part - part.mean(0)) / part.std(0), (rows[tested] - part.mean(0)) / part.std(0)
            assert abs(scaled.mean()) < 1e-9
            total += log_density(other, 0.0, fitted.scaled.covariance).mean() / 3
        assert point.criterion == pytest.approx(-total, abs=1e-4)
    assert found.penalty == min(found.path, key=lambda p: p.criterion).penalty


def test_weights_are_rows_repeated():
    weights = [3, 0, 2]
    rows = units(Columns.of({"a": [0.5, 1.5, 2.5]}, weights=weights))
    assert rows.column("a").tolist() == [0.5] * 3 + [2.5] * 2
    fractions = units(Columns.of({"a": [0.5, 1.5, 2.5]}, weights=[0.5, 1.0, 0.25]))
    assert fractions.num_rows == 3
    assert fractions.total_weight == 1.75


def test_when_a_path_ends():
    assert not ExtendedBIC().is_past([3.0, 1.0, *[2.0] * 7])
    assert ExtendedBIC().is_past([3.0, 1.0, *[math.inf] * 8])
    assert HeldOut(KFold(2)).chosen([2.0, 1.0, 1.0]) == 1
    assert StARS().chosen([0.2]) == 0
    assert StARS().chosen([0.0, 0.01, 0.2]) == 1
    assert StARS().chosen([0.0, 0.0]) == 1


def test_settings_out_of_range():
    for bad in (lambda: ExtendedBIC(-0.1), lambda: ExtendedBIC(2), lambda: StARS(0), lambda: StARS(num_draws=1)):
        with pytest.raises(ArgumentError):
            bad()
    with pytest.raises(ArgumentError, match="share"):
        StARS(share=1.5)
    with pytest.raises(DataError, match="too few"):
        GraphicalLasso(StARS()).learn(StructureTask(Columns.of({"a": [0.5, 1.5], "b": [1.5, 0.25]})))
