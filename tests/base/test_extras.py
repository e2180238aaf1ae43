"""Optional libraries, or an error that says how to install them; frames of each, from columns."""

from __future__ import annotations

import pytest

from sepset.base.extras import frame, require
from sepset.errors import ArgumentError, MissingExtra


def test_require():
    assert require("math", "plot", "arithmetic").sqrt(4.0) == 2.0
    with pytest.raises(MissingExtra, match=r"plots needs 'no_such_module'.*pip install 'sepset\[plot\]'"):
        require("no_such_module", "plot", "plots")


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_columns_become_a_frame(kind):
    made = frame({"coin": ["head", "tail"], "tries": [1, 2]}, kind)
    assert type(made).__module__.split(".")[0] == kind
    assert (made.column_names if kind == "pyarrow" else list(made.columns)) == ["coin", "tries"]
    assert made["tries"].to_pylist() == [1, 2] if kind == "pyarrow" else made["tries"].to_list() == [1, 2]


def test_other_libraries_are_refused():
    with pytest.raises(ArgumentError, match=r"kind= is 'pandas', 'polars' or 'pyarrow'; found 'panda'. Did you mean"):
        frame({}, "panda")
