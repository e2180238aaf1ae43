"""The exact test against published numbers and against probabilities of all samples."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from sepset.errors import DataError, TooLarge
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.independence.contingency import g_statistic, pearson_statistic
from sepset.learning.structure.independence.exacttest import (
    ExactTest,
    compositions,
    log_factorials,
    merged,
    whole_counts,
)
from sepset.learning.structure.independence.independencetest import independence_test

FEW = {"x": [0] * 9 + [1] * 11, "y": [0] * 3 + [1] * 6 + [0] * 5 + [1] * 6}


@pytest.mark.parametrize(
    ("statistic", "tail", "wanted"),
    [("pearson", ">", 0.559656), ("g", ">", 0.559670), ("pearson", ">=", 0.595959), ("g", ">=", 0.595973)],
)
def test_published_figures(statistic, tail, wanted):
    found = independence_test(FEW, between=("x", "y"), test=ExactTest(statistic, tail))
    assert found.p_value == pytest.approx(wanted, abs=5e-7)


@pytest.mark.parametrize(("name", "statistic"), [("g", g_statistic), ("pearson", pearson_statistic)])
def test_all_samples_of_two_strata(name, statistic):
    """Every sequence of rows, with its probability under the estimated margins of its stratum."""
    tables = np.array([[[2, 1], [0, 1]], [[1, 0], [1, 2]]])
    rows = [(x, y, z) for z, table in enumerate(tables) for x in (0, 1) for y in (0, 1) for _ in range(table[x, y])]
    observed = statistic(tables.astype(float)).sum()
    spread: dict[float, float] = {0.0: 1.0}
    for table in tables:
        shares = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum() ** 2
        fresh: dict[float, float] = {}
        for sample in itertools.product(itertools.product((0, 1), repeat=2), repeat=int(table.sum())):
            counts = np.zeros((1, 2, 2))
            for cell in sample:
                counts[(0, *cell)] += 1
            chance = np.prod([shares[cell] for cell in sample])
            for before, weight in spread.items():
                key = round(before + float(statistic(counts).sum()), 9)
                fresh[key] = fresh.get(key, 0.0) + weight * chance
        spread = fresh
    assert sum(spread.values()) == pytest.approx(1)
    wanted = sum(chance for value, chance in spread.items() if value >= observed - 1e-7)
    frame = {key: [row[k] for row in rows] for k, key in enumerate("xyz")}
    found = independence_test(frame, between=("x", "y"), given="z", test=ExactTest(name))
    assert found.p_value == pytest.approx(wanted, abs=1e-7)


def test_probabilities_sum_to_one():
    rows = {"x": [0, 1] * 4, "y": [0, 0, 1, 1, 1, 1, 0, 0]}
    assert independence_test(rows, between=("x", "y"), test=ExactTest()).p_value == pytest.approx(1)


def test_chances_of_tables_are_multinomial():
    """One hundred tosses of two fair coins give 25 of each outcome about once in a thousand times."""
    logs = log_factorials(100)
    assert np.exp(logs[100] - 4 * logs[25] + 100 * np.log(0.25)) == pytest.approx(0.00100328, abs=5e-9)


def test_parts():
    assert len(compositions(5, 4)) == 56
    assert (compositions(5, 4).sum(axis=1) == 5).all()
    assert len({tuple(row) for row in compositions(5, 4).tolist()}) == 56
    values, chances = merged(np.array([2.0, 0.0, 2.0 + 1e-13]), np.array([0.2, 0.5, 0.3]))
    assert values.tolist() == [0.0, 2.0]
    np.testing.assert_allclose(chances, [0.5, 0.5])


def test_refusals():
    rows = {"x": list(range(6)) * 20, "y": list(range(6)) * 20}
    with pytest.raises(TooLarge, match="Permutation"):
        independence_test(rows, between=("x", "y"), test=ExactTest())
    with pytest.raises(DataError, match="whole"):
        ExactTest().bind(Columns.of(FEW, weights=np.full(20, 0.5))).outcome((0,), (1,), ())
    assert whole_counts(np.array([2.0]), "x").dtype == np.int64
