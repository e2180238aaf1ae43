"""Optional libraries, or an error that says how to install them."""

from __future__ import annotations

import pytest

from sepset.base.extras import require
from sepset.errors import MissingExtra


def test_require():
    assert require("math", "plot", "arithmetic").sqrt(4.0) == 2.0
    with pytest.raises(MissingExtra, match=r"plots needs 'no_such_module'.*pip install 'sepset\[plot\]'"):
        require("no_such_module", "plot", "plots")
