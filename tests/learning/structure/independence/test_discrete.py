"""G, Pearson's test and shrunken information on columns."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from sepset.errors import ArgumentError, DataError, TooLarge
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.independence.boundtest import BoundTest, Separations
from sepset.learning.structure.independence.discrete import G, Pearson, ShrunkenInformation, strata_table
from sepset.learning.structure.independence.independencetest import independence_test


def rows_of(table):
    """Rows with these counts of x and y."""
    cells = [(i, j) for i, row in enumerate(table) for j, count in enumerate(row) for _ in range(count)]
    return {"x": [i for i, _ in cells], "y": [j for _, j in cells]}


def drawn(num_rows, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 3, num_rows)
    x = np.where(rng.random(num_rows) < 0.5, z % 2, rng.integers(0, 2, num_rows))
    y = np.where(rng.random(num_rows) < 0.5, z, rng.integers(0, 3, num_rows))
    return {"x": x, "y": y, "z": z, "w": rng.integers(0, 2, num_rows)}


def test_published_figures():
    coins = rows_of([[27, 22], [25, 26]])
    assert independence_test(coins, between=("x", "y"), test=Pearson()).p_value == pytest.approx(0.5428, abs=5e-5)
    assert independence_test(coins, between=("x", "y"), test=G()).p_value == pytest.approx(0.5426, abs=5e-5)
    few = rows_of([[3, 6], [5, 6]])
    assert independence_test(few, between=("x", "y"), test=Pearson()).p_value == pytest.approx(0.581989, abs=5e-7)
    assert independence_test(few, between=("x", "y"), test=G()).p_value == pytest.approx(0.580760, abs=5e-7)


@pytest.mark.parametrize("test", [G(), Pearson()])
@pytest.mark.parametrize("given", [(), ("z",)])
def test_p_values_are_uniform_under_independence(test, given):
    p_values = [
        independence_test(drawn(600, seed), between=("x", "y" if given else "w"), given=given, test=test).p_value
        for seed in range(150)
    ]
    assert stats.kstest(p_values, "uniform").pvalue > 0.001


@pytest.mark.parametrize("test", [G(), Pearson(), G(freedom="full"), Pearson(freedom="full")])
def test_many_at_once_are_those_one_by_one(test):
    columns = Columns.of(drawn(300))
    bound = test.bind(columns)
    for given in [(), (2,), (2, 3)]:
        ys = [y for y in (1, 2, 3) if y not in given]
        found = bound.outcomes(0, ys, given)
        for k, y in enumerate(ys):
            one = bound.outcome((0,), (y,), given)
            wanted = (one.statistic, one.degrees, one.p_value)
            got = (found.statistics[k], found.degrees[k], found.p_values[k])
            np.testing.assert_allclose(got, wanted, rtol=1e-8, atol=1e-9)


def test_compiled_search_is_the_plain_one():
    for weights in (None, np.random.default_rng(1).integers(1, 4, 250)):
        columns = Columns.of(drawn(250, 4), weights=weights)
        bound = G().bind(columns)
        adjacent = ~np.eye(4, dtype=bool)
        for size in range(3):
            for x in range(4):
                fast, slow = (Separations(np.eye(4, dtype=bool)[x].copy()) for _ in range(2))
                assert bound.separate(adjacent, x, size, 0.05, fast) == BoundTest.separate(
                    bound, adjacent, x, size, 0.05, slow
                )
                np.testing.assert_array_equal(fast.done, slow.done)
                np.testing.assert_allclose(fast.best, slow.best, rtol=1e-9)
                assert fast.given == slow.given


def test_equal_rows_counted_once_give_the_same_search():
    """Seven columns have many sets, so that equal rows among them are counted once; the others keep rows apart."""
    rng = np.random.default_rng(6)
    hidden = rng.integers(0, 2, 1500)
    noisy = {f"n{k}": np.where(rng.random(1500) < 0.5, hidden, rng.integers(0, 2, 1500)) for k in range(7)}
    columns = Columns.of(noisy | {f"e{k}": rng.integers(0, 3, 1500) for k in range(6)})
    bound = G().bind(columns)
    codes, cards, totals = bound.among(np.arange(7), 3)
    assert codes.shape[1] == len(totals) <= 128
    assert totals.sum() == columns.total
    assert cards.tolist() == [2] * 7
    adjacent = np.zeros((13, 13), dtype=bool)
    adjacent[:7, :7] = ~np.eye(7, dtype=bool)
    fast, slow = (Separations(~adjacent[2]) for _ in range(2))
    asked = bound.separate(adjacent, 2, 3, 0.05, fast)
    assert asked == BoundTest.separate(bound, adjacent, 2, 3, 0.05, slow)
    np.testing.assert_allclose(fast.best, slow.best, rtol=1e-8, atol=1e-200)
    assert fast.given == slow.given


def test_row_weights_count_as_copies():
    rows, weights = drawn(80), np.arange(80) % 3
    copies = {name: np.repeat(column, weights) for name, column in rows.items()}
    for test in (G(), Pearson(), ShrunkenInformation()):
        one = test.bind(Columns.of(rows, weights=weights)).outcome((0,), (1,), (2,))
        other = test.bind(Columns.of(copies)).outcome((0,), (1,), (2,))
        np.testing.assert_allclose(one[:4], other[:4])


def test_full_degrees_of_freedom():
    found = independence_test(drawn(100), between=("x", "y"), given=("z", "w"), test=G(freedom="full"))
    assert found.degrees_of_freedom == 1 * 2 * 3 * 2


def test_available_rows_are_used():
    rows = {k: list(v) for k, v in drawn(200).items()}
    complete = {k: v[20:] for k, v in rows.items()}
    for k in range(20):
        rows["x"][k] = None
    columns = Columns.of(rows, missing="available")
    for test in (G(), Pearson()):
        wanted = test.bind(Columns.of(complete)).outcome((0,), (1,), (2,))
        found = test.bind(columns)
        np.testing.assert_allclose(found.outcome((0,), (1,), (2,))[:4], wanted[:4])
        np.testing.assert_allclose(found.outcomes(0, [1], (2,)).statistics, wanted.statistic)


def test_shrinking_by_definition():
    table = strata_table(Columns.of(drawn(30)), (0,), (1,), (2,))
    cells = np.concatenate([table.ravel(), np.zeros(3 * 6 - table.size)])
    share, target, total = cells / cells.sum(), 1 / 18, cells.sum()
    weight = (1 - (share**2).sum()) / ((total - 1) * ((target - share) ** 2).sum())
    p = (weight * target + (1 - weight) * table / total) if weight < 1 else np.full(table.shape, target)
    mass = p.sum(axis=(1, 2), keepdims=True)
    ratio = p * mass / (p.sum(axis=1, keepdims=True) * p.sum(axis=2, keepdims=True))
    wanted = 2 * total * (p * np.log(ratio)).sum()
    assert independence_test(drawn(30), between=("x", "y"), given="z", test=ShrunkenInformation()).statistic == (
        pytest.approx(wanted)
    )


def test_columns_that_do_not_vary():
    rows = {"x": [0, 0, 0, 0], "y": [0, 1, 0, 1]}
    for test in (G(), Pearson(), ShrunkenInformation()):
        found = independence_test(rows, between=("x", "y"), test=test)
        assert found.is_independent
        assert found.p_value == 1.0


def test_tables_that_are_too_large_are_refused():
    many = {name: np.arange(3000) % 3000 for name in "xyz"}
    bound = G().bind(Columns.of(many))
    with pytest.raises(TooLarge, match="max_condition"):
        bound.outcomes(0, [1], (2,))
    with pytest.raises(TooLarge, match="3000 states"):
        bound.separate(~np.eye(3, dtype=bool), 0, 1, 0.05, Separations(np.zeros(3, dtype=bool)))


def test_refusals():
    with pytest.raises(ArgumentError, match="freedom="):
        G(freedom="some")
    with pytest.raises(DataError, match="FisherZ"):
        independence_test({"x": [0.1, 0.25, 0.3], "y": [0, 1, 0]}, between=("x", "y"))
