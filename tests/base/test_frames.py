"""Labels of numbers in pandas are read or refused."""

from __future__ import annotations

import pandas as pd
import pytest

from sepset.base.frames import by_label, has_labels, in_order, without_labels
from sepset.errors import ModelError


def test_positions_are_no_labels() -> None:
    assert not has_labels(pd.Series([1.0, 2.0]))
    assert not has_labels(pd.DataFrame([[1.0, 2.0]]))
    assert not has_labels({"x": 1.0})
    assert has_labels(pd.Series([1.0, 2.0], index=pd.RangeIndex(1, 3)))
    assert has_labels(pd.Series([1.0, 2.0], index=pd.Index([0, 1], name="coin")))
    assert has_labels(pd.DataFrame({"x": [1.0, 2.0]}))


def test_a_label_that_is_there_twice_is_refused() -> None:
    with pytest.raises(ModelError, match="'u' twice"):
        by_label(pd.Series([1.0, 2.0], index=["u", "u"]))


def test_labels_that_nothing_reads_are_refused() -> None:
    with pytest.raises(ModelError, match="would be ignored"):
        without_labels(pd.Series({"u": 1.0, "v": 2.0}), "weights")
    assert without_labels(pd.Series({"u": 1.0}), "weights").tolist() == [1.0]


def test_both_axes_are_put_in_order() -> None:
    frame = pd.DataFrame([[4.0, 1.0], [1.0, 9.0]], index=["y", "x"], columns=["y", "x"])
    assert in_order(frame, ["x", "y"], "a covariance").tolist() == [[9.0, 1.0], [1.0, 4.0]]
    with pytest.raises(ModelError, match="labels of a covariance are x, z; found y, x"):
        in_order(frame, ["x", "z"], "a covariance")
