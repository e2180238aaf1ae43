"""Counts of distinct joint states merge exactly, also beyond one integer."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from sepset.cpds.configurations import Configurations, checked_configurations
from sepset.errors import DataError
from sepset.variables.variable import Discrete


@pytest.mark.parametrize("num_variables", [1, 3, 100])
def test_counts_agree_with_a_plain_counter(num_variables):
    rng = np.random.default_rng(num_variables)
    variables = tuple(Discrete(f"v{i}", 2) for i in range(num_variables))
    cells = rng.integers(2, size=(60, num_variables))
    cells[30:] = cells[:30]
    rows = {v: cells[:, axis] for axis, v in enumerate(variables)}
    expected = Counter(map(tuple, cells.tolist()))
    whole = Configurations.of(rows, variables, None, "me")
    assert {tuple(c): n for c, n in zip(whole.codes.tolist(), whole.counts, strict=True)} == expected
    assert whole.codes.tolist() == sorted(whole.codes.tolist())
    assert whole.total == 60
    halves = [
        Configurations.of({v: c[part] for v, c in rows.items()}, variables, None, "me")
        for part in (slice(20), slice(20, None))
    ]
    merged = halves[0] + halves[1]
    assert merged.codes.tolist() == whole.codes.tolist()
    assert merged.counts.tolist() == whole.counts.tolist()


def test_only_like_configurations_add_up():
    a, b = Discrete("a"), Discrete("b")
    first = Configurations.of({a: np.array([0])}, (a,), None, "me")
    second = Configurations.of({b: np.array([0])}, (b,), None, "me")
    with pytest.raises(DataError, match="same variables"):
        first + second
    with pytest.raises(TypeError):
        first + 1
    with pytest.raises(DataError, match="its own statistics"):
        checked_configurations(first, (b,), "me")
    assert repr(first) == "Configurations(1 distinct, total 1)"
    assert first.state_counts(0).tolist() == [1.0, 0.0]
