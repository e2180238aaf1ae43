"""The test of missing completely at random: a published figure, plain contingency tables, and its null distribution."""

from __future__ import annotations

import calendar
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import binomtest, chi2_contingency, kstest

import sepset as ss
from sepset.errors import TooLarge
from sepset.inference.result import Guarantee, Status
from sepset.learning.missing import mcartest as littletest
from sepset.learning.missing.mcartest import mcar_test
from sepset.learning.missing.mechanisms import MAR, MCAR, Hiding, hide_cells

NA = np.nan
# New York air quality, May to September 1973 (Chambers, Cleveland, Kleiner & Tukey, 1983).
OZONE = """
    41 36 12 18 - 28 23 19 8 - 7 16 11 14 18 14 34 6 30 11 1 11 4 32 - - - 23 45 115 37 - - - - - - 29 - 71 39 - -
    23 - - 21 37 20 12 13 - - - - - - - - - - 135 49 32 - 64 40 77 97 97 85 - 10 27 - 7 48 35 61 79 63 16 - - 80 108
    20 52 82 50 64 59 39 9 16 78 35 66 122 89 110 - - 44 28 65 - 22 59 23 31 44 21 9 - 45 168 73 - 76 118 84 85 96
    78 73 91 47 32 20 23 21 24 44 21 28 9 13 46 18 13 24 16 13 23 36 7 14 30 - 14 18 20
"""
SUN = """
    190 118 149 313 - - 299 99 19 194 - 256 290 274 65 334 307 78 322 44 8 320 25 92 66 266 - 13 252 223 279 286 287
    242 186 220 264 127 273 291 323 259 250 148 332 322 191 284 37 120 137 150 59 91 250 135 127 47 98 31 138 269
    248 236 101 175 314 276 267 272 175 139 264 175 291 48 260 274 285 187 220 7 258 295 294 223 81 82 213 275 253
    254 83 24 77 - - - 255 229 207 222 137 192 273 157 64 71 51 115 244 190 259 36 255 212 238 215 153 203 225 237
    188 167 197 183 189 95 92 252 220 230 259 236 259 238 24 112 237 224 27 238 201 238 14 139 49 20 193 145 191 131
    223
"""
WIND = """
    7.4 8 12.6 11.5 14.3 14.9 8.6 13.8 20.1 8.6 6.9 9.7 9.2 10.9 13.2 11.5 12 18.4 11.5 9.7 9.7 16.6 9.7 12 16.6
    14.9 8 12 14.9 5.7 7.4 8.6 9.7 16.1 9.2 8.6 14.3 9.7 6.9 13.8 11.5 10.9 9.2 8 13.8 11.5 14.9 20.7 9.2 11.5 10.3
    6.3 1.7 4.6 6.3 8 8 10.3 11.5 14.9 8 4.1 9.2 9.2 10.9 4.6 10.9 5.1 6.3 5.7 7.4 8.6 14.3 14.9 14.9 14.3 6.9 10.3
    6.3 5.1 11.5 6.9 9.7 11.5 8.6 8 8.6 12 7.4 7.4 7.4 9.2 6.9 13.8 7.4 6.9 7.4 4.6 4 10.3 8 8.6 11.5 11.5 11.5 9.7
    11.5 10.3 6.3 7.4 10.9 10.3 15.5 14.3 12.6 9.7 3.4 8 5.7 9.7 2.3 6.3 6.3 6.9 5.1 2.8 4.6 7.4 15.5 10.9 10.3 10.9
    9.7 14.9 15.5 6.3 10.9 11.5 6.9 13.8 10.3 10.3 8 12.6 9.2 10.3 10.3 16.6 6.9 13.2 14.3 8 11.5
"""
HEAT = """
    67 72 74 62 56 66 65 59 61 69 74 69 66 68 58 64 66 57 68 62 59 73 61 61 57 58 57 67 81 79 76 78 74 67 84 85 79
    82 87 90 87 93 92 82 80 79 77 72 65 73 76 77 76 76 76 75 78 73 80 77 83 84 85 81 84 83 83 88 92 92 89 82 73 81
    91 80 81 82 84 87 85 74 81 82 86 85 82 86 88 86 83 81 81 81 82 86 85 87 89 90 90 92 86 86 82 80 79 77 79 76 78
    78 77 72 75 79 81 86 88 97 94 96 94 91 92 93 93 87 84 80 78 75 73 81 76 77 71 71 78 67 76 68 82 64 71 81 69 63
    70 77 75 76 68
"""


def numbers(text):
    return [NA if word == "-" else float(word) for word in text.split()]


def air_quality():
    days = [(month, day + 1) for month in range(5, 10) for day in range(calendar.monthrange(1973, month)[1])]
    columns = {"ozone": numbers(OZONE), "sun": numbers(SUN), "wind": numbers(WIND), "heat": numbers(HEAT)}
    columns |= {"month": [float(m) for m, _ in days], "day": [float(d) for _, d in days]}
    return ss.Dataset(columns, [ss.Real(name) for name in columns])


def test_the_published_figure():
    """What `mcar_test(airquality)` of the R package naniar gives: 35.1061288689702 on 14, p = .00141778113856683."""
    found = mcar_test(air_quality())
    assert found.statistic == pytest.approx(35.1061288689702, abs=1e-4)  # its EM stops at 1e-4
    assert found.p_value == pytest.approx(0.00141778113856683, abs=1e-7)
    assert (found.degrees_of_freedom, found.num_patterns) == (14, 4)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=25, deadline=None)
def test_with_one_complete_column_it_is_a_test_of_independence(seed):
    """X always seen and Y sometimes: the statistic is Pearson's of the table of X and whether Y is seen."""
    rng = np.random.default_rng(seed)
    x, y = ss.Discrete("x", 3), ss.Discrete("y", 2)
    codes = np.stack([rng.integers(0, 3, 200), rng.integers(0, 2, 200)], axis=1)
    codes[rng.random(200) < 0.2 + 0.2 * codes[:, 0], 1] = -1
    found = mcar_test(ss.Dataset.from_codes([x, y], codes))
    table = np.array([[np.sum((codes[:, 0] == i) & ((codes[:, 1] >= 0) == s)) for s in (0, 1)] for i in range(3)])
    statistic, p_value, freedom, _ = chi2_contingency(table, correction=False)
    assert found.statistic == pytest.approx(statistic, rel=1e-8, abs=1e-8)
    assert found.p_value == pytest.approx(p_value, rel=1e-6, abs=1e-12)
    assert found.degrees_of_freedom == pytest.approx(freedom, abs=1e-9)


def test_columns_never_seen_together_leave_nothing_to_compare():
    rows = {"a": ["x", "y", None, None], "b": [None, None, "u", "v"]}
    found = mcar_test(rows)
    assert (found.statistic, found.degrees_of_freedom, found.p_value) == (pytest.approx(0.0, abs=1e-12), 0, 1.0)


def test_complete_rows_and_rows_with_nothing():
    assert mcar_test({"a": ["x", "y", None]}).num_patterns == 1
    assert mcar_test({"x": [1.0, 2.0, 4.0]}) == mcar_test({"x": [1.0, 2.0, 4.0, None]})


def real_rows(rng, num_rows):
    mixing = np.array([[1.0, 0.0, 0.0], [0.7, 1.0, 0.0], [-0.5, 0.4, 1.0]])
    values = rng.standard_normal((num_rows, 3)) @ mixing.T
    return ss.Dataset({name: values[:, i] for i, name in enumerate("abc")})


def discrete_rows(rng, num_rows):
    a = rng.integers(0, 2, num_rows)
    codes = np.stack([a, (a + (rng.random(num_rows) < 0.3)) % 2, rng.integers(0, 2, num_rows)], axis=1)
    return ss.Dataset.from_codes([ss.Discrete(n) for n in "abc"], codes)


def mixed_rows(rng, num_rows):
    a = rng.integers(0, 3, num_rows)
    b = np.where(a == 1, 2.0, -1.0) + rng.standard_normal(num_rows)
    columns = {"a": a, "b": b, "c": 0.5 * b + rng.standard_normal(num_rows)}
    return ss.Dataset.from_codes([ss.Discrete("a", 3), ss.Real("b"), ss.Real("c")], columns)


@pytest.mark.parametrize("rows", [real_rows, discrete_rows, mixed_rows])
def test_p_values_are_uniform_under_the_hypothesis(rows):
    rng = np.random.default_rng(7)
    found = [mcar_test(hide_cells(rows(rng, 600), MCAR({"a": 0.2, "b": 0.3}), seed=rng)).p_value for _ in range(150)]
    assert kstest(found, "uniform").pvalue > 0.01


def test_dependence_on_what_is_seen_is_found():
    rng = np.random.default_rng(3)
    real = hide_cells(real_rows(rng, 500), MAR({"b": Hiding(lambda a: (a > 0.5) * 0.8, given="a")}), seed=1)
    coded = hide_cells(discrete_rows(rng, 500), MAR({"b": Hiding([0.1, 0.6], given="a")}), seed=1)
    assert mcar_test(real).p_value < 1e-6
    assert mcar_test(coded).p_value < 1e-6


def test_weights_are_copies():
    data = hide_cells(discrete_rows(np.random.default_rng(0), 300), MCAR(0.2))
    assert mcar_test(data.collapse()).statistic == pytest.approx(mcar_test(data).statistic, rel=1e-9)


def test_what_did_not_settle_says_so(monkeypatch):
    data = hide_cells(real_rows(np.random.default_rng(0), 100), MCAR(0.3))
    assert mcar_test(data).status is Status.CONVERGED
    monkeypatch.setattr(littletest, "incomplete_gaussian", partial(littletest.incomplete_gaussian, steps=1))
    found = mcar_test(data)
    assert repr(found).endswith("not converged)")
    assert (found.status, found.guarantees["statistic"]) == (Status.STEP_LIMIT, Guarantee.HEURISTIC)


def test_states_beside_numbers_count_as_zeros_and_ones():
    """A mixed test is Little's test of indicator columns that were made by hand."""
    data = hide_cells(mixed_rows(np.random.default_rng(1), 200), MCAR({"a": 0.3, "b": 0.2}), seed=1)
    states = data.codes("a")
    by_hand = {f"a={s}": np.where(states < 0, NA, states == s) for s in (1, 2)}
    plain = ss.Dataset(
        {**by_hand, "b": data.values("b"), "c": data.values("c")}, [ss.Real(n) for n in (*by_hand, *"bc")]
    )
    assert mcar_test(data) == mcar_test(plain)


def test_numbers_hidden_by_state_are_found():
    data = hide_cells(mixed_rows(np.random.default_rng(2), 400), MAR({"b": Hiding([0.1, 0.7, 0.1], given="a")}), seed=1)
    assert mcar_test(data).p_value < 1e-6


def test_states_that_never_occur_count_for_nothing():
    rng = np.random.default_rng(4)
    x, missing = rng.standard_normal(50), rng.random(50) < 0.3
    codes = np.where(missing, -1, rng.integers(0, 2, 50))
    wide, narrow = (
        ss.Dataset.from_codes(
            [ss.Discrete("a", size), ss.Real("x"), ss.Discrete("one", 1)], {"a": codes, "x": x, "one": codes * 0}
        )
        for size in (5, 2)
    )
    assert mcar_test(wide) == mcar_test(narrow)
    assert mcar_test(narrow) == mcar_test(narrow.select(["a", "x"]))


def test_what_is_refused():
    with pytest.raises(ss.errors.DataError, match="weight zero"):
        mcar_test(ss.Dataset({"a": [0.5, 1.5]}, weights=[0, 0]))
    with pytest.raises(ss.errors.DataError, match="weight zero"):
        mcar_test(ss.Dataset({"a": ["x", "y"]}, weights=[0, 0]))
    with pytest.raises(ss.errors.DataError, match="no observed cell"):
        mcar_test(ss.Dataset.from_codes([ss.Discrete("a")], {"a": [-1, -1]}))
    with pytest.raises(ss.errors.DataError, match="constant"):
        mcar_test({"x": [1.5, 1.5], "y": [0.5, 1.5]})


def independence_of_each_pair(data):
    """Pearson's statistics by scipy: each column that misses cells, against the states of each other column."""
    found = {}
    for hidden in data.variables:
        for other in data.variables:
            missing, codes = data.is_missing(hidden), data.codes(other)
            seen = codes >= 0
            if hidden != other and 0 < missing[seen].sum() < seen.sum():
                table = [[np.sum(codes[seen & (missing == m)] == s) for s in np.unique(codes[seen])] for m in (0, 1)]
                found[hidden.name, other.name] = chi2_contingency(table, correction=False)[:3:2]
    return found


def test_the_statistic_is_the_sum_over_pairs_in_its_scale():
    """The scaled sum and its degrees of freedom have the mean of the sum of the pairs: both ratios are the scale."""
    data = hide_cells(discrete_rows(np.random.default_rng(5), 400), MCAR({"a": 0.2, "c": 0.3}), seed=2)
    pairs = independence_of_each_pair(data)
    total, freedom = (sum(found) for found in zip(*pairs.values(), strict=True))
    result = mcar_test(data)
    assert result.statistic / result.degrees_of_freedom == pytest.approx(total / freedom, rel=1e-9)
    assert result.degrees_of_freedom <= freedom + 1e-9


def zipf_rows(rng, num_rows=250, num_columns=6, num_states=7):
    """Columns that depend on each other, with states from frequent to very rare."""
    shares = 1.0 / np.arange(1, num_states + 1) ** 2
    base, own = (rng.choice(num_states, p=shares / shares.sum(), size=(num_rows, n)) for n in (1, num_columns))
    codes = np.where(rng.random((num_rows, num_columns)) < 0.4, base, own)
    return ss.Dataset.from_codes([ss.Discrete(f"v{i}", num_states) for i in range(num_columns)], codes)


@pytest.mark.parametrize("mechanism", [MCAR(0.1), MCAR({"v0": 0.3}), MCAR({"v1": 0.05, "v2": 0.5})])
def test_the_size_is_right_where_states_are_rare_and_columns_dependent(mechanism):
    rng = np.random.default_rng(11)
    found = np.array([mcar_test(hide_cells(zipf_rows(rng), mechanism, seed=rng)).p_value for _ in range(200)])
    assert binomtest(int((found < 0.05).sum()), 200, 0.05).pvalue > 1e-3
    assert kstest(found, "uniform").pvalue > 1e-3


def test_the_power_grows_with_the_number_of_rows():
    """A mechanism that hides one column of many twice as often in one state of another: found more and more often."""
    rng, found = np.random.default_rng(2), []
    for num_rows in (100, 400, 1600):
        seen = []
        for _ in range(40):
            rows = zipf_rows(rng, num_rows, 8, 3)
            mechanism = MAR({"v0": Hiding([0.2, 0.4, 0.2], given="v1")})
            seen.append(mcar_test(hide_cells(rows, mechanism, seed=rng)).p_value < 0.05)
        found.append(np.mean(seen))
    assert found[0] < found[1] < found[2]
    assert found[2] > 0.9


def test_the_order_of_columns_and_states_says_nothing():
    data = hide_cells(zipf_rows(np.random.default_rng(3)), MCAR(0.15), seed=1)
    moved = [ss.Discrete(v.name, v.states[::-1]) for v in reversed(data.variables)]
    first, second = mcar_test(data), mcar_test(ss.Dataset(data, moved))
    assert second.p_value == pytest.approx(first.p_value, rel=1e-9)
    assert second.statistic == pytest.approx(first.statistic, rel=1e-9)


def test_columns_that_are_copies_count_once():
    """Two equal columns add no evidence: the p-value is that of one."""
    data = hide_cells(discrete_rows(np.random.default_rng(8), 500), MCAR({"a": 0.3}), seed=4)
    rows = {v.name: data.states(v) for v in data.variables}
    twice = ss.Dataset(rows | {"copy of b": rows["b"], "copy of c": rows["c"]})
    assert mcar_test(twice).p_value == pytest.approx(mcar_test(ss.Dataset(rows)).p_value, rel=1e-9)


def test_few_missing_cells_and_constant_columns_leave_nothing_to_compare():
    few = {"a": ["x", None] + ["x", "y"] * 20, "b": ["u", "v"] * 21}
    assert mcar_test(few).p_value == 1.0
    constant = {"a": ["x"] * 40, "b": ["u", None] * 20}
    assert (mcar_test(constant).p_value, mcar_test(constant).degrees_of_freedom) == (1.0, 0.0)


def test_very_many_columns_are_refused_before_anything_is_fitted(monkeypatch):
    monkeypatch.setattr(littletest, "incomplete_gaussian", None)
    rows = np.random.default_rng(0).normal(size=(3, 4097))
    with pytest.raises(TooLarge, match="more than 4,096"):
        mcar_test({f"x{i}": rows[:, i] for i in range(4097)})


def test_offsets_and_units_do_not_matter():
    """Numbers with few bits, so that moving and scaling them by powers of two rounds nothing."""
    rng = np.random.default_rng(4)
    x = np.round(rng.normal(size=(80, 3)) @ np.array([[1.0, 0.5, 0.2], [0.0, 1.0, 0.4], [0.0, 0.0, 1.0]]) * 1024) / 1024
    x[rng.random(x.shape) < 0.2] = NA
    units, away = 2.0 ** np.array([100.0, -100.0, 3.0]), 2.0 ** np.array([135.0, -65.0, 38.0])
    tests = [
        mcar_test({f"x{j}": column for j, column in enumerate(rows.T)}) for rows in (x, units * x, units * x + away)
    ]
    assert [t.statistic for t in tests[1:]] == pytest.approx([tests[0].statistic] * 2, rel=1e-9)


def test_comparisons_of_too_many_discrete_columns_are_refused():
    codes = np.random.default_rng(0).integers(-1, 2, (3000, 80))
    variables = [ss.Discrete(f"v{i}") for i in range(len(codes))]
    rows = ss.Dataset.from_codes(variables, {v.name: c for v, c in zip(variables, codes, strict=True)})
    with pytest.raises(ss.TooLarge, match="3,000 columns with 3,000 that miss cells"):
        ss.missing.mcar_test(rows)
