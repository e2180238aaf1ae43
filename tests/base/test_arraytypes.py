"""Array types are types of arrays, one name for each kind of number, and no module has its own."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

import sepset
from sepset.base import arraytypes


@pytest.mark.parametrize(
    ("name", "kind"),
    [("Floats", np.float64), ("Ints", np.int64), ("Bools", np.bool_), ("Bytes", np.uint8), ("Int32s", np.int32)],
)
def test_each_names_one_kind_of_number(name, kind):
    assert get_args(get_args(getattr(arraytypes, name))[1])[0] is kind


def test_no_module_has_its_own():
    own = re.compile(r"^\w+(?:: TypeAlias)? = NDArray\[", re.MULTILINE)
    files = Path(sepset.__file__).parent.rglob("*.py")
    assert [f.name for f in files if f.stem != "arraytypes" and own.search(f.read_text(encoding="utf-8"))] == []
