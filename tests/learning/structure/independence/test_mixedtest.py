"""The likelihood ratio of conditional Gaussians in its special cases."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from sepset.learning.structure.independence.discrete import G
from sepset.learning.structure.independence.independencetest import independence_test
from sepset.learning.structure.independence.mixedtest import ConditionalGaussianTest

MIXED = ConditionalGaussianTest()


def drawn(num_rows, seed=0):
    rng = np.random.default_rng(seed)
    d = rng.integers(0, 2, num_rows)
    x = d + rng.normal(size=num_rows)
    return {
        "d": [f"s{k}" for k in d],
        "e": [f"t{k}" for k in rng.integers(0, 3, num_rows)],
        "x": x,
        "y": 2.0 * d + rng.normal(size=num_rows),
        "z": rng.normal(size=num_rows),
    }


def test_special_cases():
    rows = drawn(200)
    states = independence_test(rows, between=("d", "e"), test=MIXED)
    plain = independence_test({k: rows[k] for k in "de"}, between=("d", "e"), test=G())
    assert states.statistic == pytest.approx(plain.statistic)
    assert states.degrees_of_freedom == plain.degrees_of_freedom
    numbers = independence_test(rows, between=("x", "y"), test=MIXED)
    rho = np.corrcoef(rows["x"], rows["y"])[0, 1]
    assert numbers.statistic == pytest.approx(-200 * np.log(1 - rho**2))
    assert numbers.degrees_of_freedom == 1
    strata = independence_test(rows, between=("x", "y"), given="d", test=MIXED)
    parts = [np.array(rows["d"]) == state for state in ("s0", "s1")]
    wanted = [-m.sum() * np.log(1 - np.corrcoef(rows["x"][m], rows["y"][m])[0, 1] ** 2) for m in parts]
    assert strata.statistic == pytest.approx(sum(wanted))
    assert strata.degrees_of_freedom == 2


def test_a_state_and_a_number():
    rows = drawn(200)
    found = independence_test(rows, between=("d", "x"), test=MIXED)
    groups = [rows["x"][np.array(rows["d"]) == state] for state in ("s0", "s1")]
    wanted = 200 * np.log(rows["x"].var()) - sum(len(g) * np.log(g.var()) for g in groups)
    assert found.statistic == pytest.approx(wanted)
    assert found.degrees_of_freedom == 2
    assert not found.is_independent


@pytest.mark.parametrize(
    ("between", "given"), [(("x", "y"), "d"), (("e", "z"), ()), (("d", "e"), ()), (("e", "x"), "d")]
)
def test_p_values_are_uniform_under_independence(between, given):
    found = [independence_test(drawn(300, s), between=between, given=given, test=MIXED).p_value for s in range(100)]
    assert stats.kstest(found, "uniform").pvalue > 0.001


def test_rare_states_are_left_out():
    rows = drawn(60)
    rows["e"][0] = "rare"
    found = independence_test(rows, between=("e", "x"), given="y", test=MIXED)
    assert found.num_rows == 59
    assert "1 rows" in found.warnings[0]
