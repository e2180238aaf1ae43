"""Patterns of missing cells, counted plainly."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import sepset as ss
from sepset.data.missingness import complete_cases, missing_patterns
from support.terminal import printed


@given(st.integers(0, 60), st.integers(0, 11), st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_counts_are_those_of_the_rows(num_rows, num_columns, seed):
    rng = np.random.default_rng(seed)
    variables = [ss.Discrete(f"v{i}", 2) for i in range(num_columns)]
    data = ss.Dataset.from_codes(variables, rng.integers(-1, 2, (num_rows, num_columns)))
    found = missing_patterns(data)
    plain = Counter(tuple(c is not None for c in row.values()) for row in data.rows())
    assert {tuple(o): n for o, n in zip(found.observed.tolist(), found.num_rows.tolist(), strict=True)} == plain
    assert sorted(found.num_rows.tolist(), reverse=True) == found.num_rows.tolist()
    for row, pattern in enumerate(found.which.tolist()):
        assert (found.observed[pattern] == ~data.mask[row]).all()
    assert found.num_complete == len(complete_cases(data)) == sum(n for o, n in plain.items() if all(o))


def test_weights_and_chosen_columns():
    data = ss.Dataset({"a": ["x", None, None], "b": ["u", "u", None]}, weights=[1.0, 2.5, 4.0])
    found = missing_patterns(data, ["a"])
    assert found.names == ("a",)
    assert dict(zip(found.observed[:, 0].tolist(), found.weights.tolist(), strict=True)) == {False: 6.5, True: 1.0}
    assert complete_cases(data, ["b"]).weights.tolist() == [1.0, 2.5]


@pytest.mark.parametrize(
    ("rows", "monotone"),
    [
        ([(1, 1, 1), (1, 1, 0), (1, 0, 0), (0, 0, 0)], True),
        ([(0, 1, 1), (0, 0, 1), (1, 1, 1)], True),
        ([(1, 0, 0), (0, 1, 1)], False),
        ([(1, 1, 0), (1, 0, 1)], False),
        ([], True),
    ],
)
def test_monotone(rows, monotone):
    codes = np.array(rows, int).reshape(-1, 3) - 1
    data = ss.Dataset.from_codes([ss.Discrete(n) for n in "abc"], codes)
    assert missing_patterns(data).is_monotone == monotone


def test_names_and_displays():
    found = missing_patterns({"a": ["x", "y", None], "b": [None, None, "u"]})
    assert found.never_together == (("a", "b"),)
    assert found.observed_names(0) == ("a",)
    assert found.rows(0).tolist() == [0, 1]
    assert repr(found) == "MissingPatternsResult(2 patterns, 0 of 3 rows complete)"
    assert "<td>?</td>" in found._repr_html_()
    assert len([line for line in printed(found).splitlines() if line.startswith("│")]) == 2
    with pytest.raises(ValueError, match="read-only"):
        found.which[0] = 1
