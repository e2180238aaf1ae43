"""Fisher's z and Wilks' lambda against regressions and scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from sepset.errors import DataError
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.independence.gaussian import FisherZ
from sepset.learning.structure.independence.independencetest import independence_test
from support import rational_normals


def drawn(num_rows, seed=0):
    rng = np.random.default_rng(seed)
    z, w = rng.normal(size=(2, num_rows))
    return {"x": z + rng.normal(size=num_rows), "y": 2 * z - w + rng.normal(size=num_rows), "z": z, "w": w}


def residuals(column, others):
    design = np.column_stack([np.ones(len(column)), *others])
    return column - design @ np.linalg.lstsq(design, column, rcond=None)[0]


def test_partial_correlations_are_those_of_residuals():
    rows = drawn(60)
    for given in [(), ("z",), ("z", "w")]:
        others = [rows[name] for name in given]
        partial = np.corrcoef(residuals(rows["x"], others), residuals(rows["y"], others))[0, 1]
        z = np.sqrt(60 - len(given) - 3) * np.arctanh(partial)
        found = independence_test(rows, between=("x", "y"), given=given, test=FisherZ())
        assert found.statistic == pytest.approx(z)
        assert found.p_value == pytest.approx(2 * stats.norm.sf(abs(z)))


def test_many_at_once():
    bound = FisherZ().bind(Columns.of(drawn(60)))
    found = bound.outcomes(0, [1, 3], (2,))
    for k, y in enumerate((1, 3)):
        assert found.statistics[k] == pytest.approx(bound.outcome((0,), (y,), (2,)).statistic)


def test_p_values_are_uniform_under_independence():
    one, sets = [], []
    for seed in range(200):
        bound = FisherZ().bind(Columns.of(drawn(40, seed)))
        one.append(bound.outcome((0,), (1,), (2,)).p_value)
        sets.append(bound.outcome((0,), (1, 3), (2,)).p_value)
    assert stats.kstest(one, "uniform").pvalue > 0.001
    assert stats.kstest(sets, "uniform").pvalue > 0.001


def test_weights_and_sets():
    rows, weights = drawn(50), np.arange(50) % 3
    copies = {name: np.repeat(column, weights) for name, column in rows.items()}
    one = FisherZ().bind(Columns.of(rows, weights=weights)).outcome((0,), (1, 2), (3,))
    other = FisherZ().bind(Columns.of(copies)).outcome((0,), (1, 2), (3,))
    np.testing.assert_allclose(one[:4], other[:4])
    assert one.degrees == 2


def test_what_a_set_determines_is_independent():
    rows = drawn(50)
    rows["x"] = rows["z"] + rows["w"]
    found = independence_test(rows, between=("x", "y"), given=("z", "w"), test=FisherZ())
    assert found.is_independent
    assert found.p_value == 1.0
    assert "function of the conditioning set" in found.warnings[0]
    same = {"x": rows["x"], "y": rows["x"]}
    assert independence_test(same, between=("x", "y"), test=FisherZ()).p_value == 0.0


def test_too_few_rows_reject_nothing():
    found = independence_test(drawn(4), between=("x", "y"), given=("z", "w"), test=FisherZ())
    assert found.is_independent
    assert any("too few" in warning for warning in found.warnings)


def test_rows_with_missing_cells_are_left_out():
    rows = drawn(60)
    complete = {name: column[10:] for name, column in rows.items()}
    rows["w"] = np.where(np.arange(60) < 10, np.nan, rows["w"])
    found = FisherZ().bind(Columns.of(rows, missing="available")).outcome((0,), (1,), (2,))
    wanted = FisherZ().bind(Columns.of(complete)).outcome((0,), (1,), (2,))
    np.testing.assert_allclose((found.statistic, found.p_value, found.num_rows), (wanted.statistic, wanted.p_value, 50))


def test_refusals():
    with pytest.raises(DataError, match="states"):
        independence_test({"x": [0.5, 1.5], "y": ["a", "b"]}, between=("x", "y"), test=FisherZ())
    with pytest.raises(DataError, match="constant"):
        independence_test({"x": [0.5, 0.5, 0.5], "y": [0.1, 0.2, 0.35]}, between=("x", "y"), test=FisherZ())


@pytest.mark.parametrize("kind", rational_normals.HARD_KINDS)
@pytest.mark.parametrize("seed", range(2))
def test_statistics_keep_their_digits(kind, seed):
    data = rational_normals.hard_columns(seed, kind)
    plain, more = (rational_normals.regression(data, "y", p)[2] for p in (("b",), ("a", "b")))
    sign = np.sign(float(rational_normals.regression(data, "y", ("a", "b"))[0][0]))
    kept = more / plain  # one less the squared partial correlation
    z = sign * np.sqrt(30 - 4) * (np.log1p(math.sqrt(float(1 - kept))) - 0.5 * math.log(kept))
    found = independence_test(data, between=("a", "y"), given=("b",), test=FisherZ())
    assert found.statistic == pytest.approx(z, rel=1e-6)
    whole = rational_normals.regression(data, "y", ())[2]
    wilks = -(30 - 1 - 2) * math.log(more / whole)
    assert independence_test(data, between=(("a", "b"), "y"), test=FisherZ()).statistic == pytest.approx(
        wilks, rel=1e-8
    )
