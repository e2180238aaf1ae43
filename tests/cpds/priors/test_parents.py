"""Names and values of the parents of a regression."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.cpds.priors.parents import with_one
from sepset.cpds.priors.regression import LinearNormalGamma
from sepset.errors import ArgumentError, DataError, ModelError


def test_what_names_no_parents_is_refused():
    for parents, error, message in (
        (["u", "u"], ModelError, "names a parent twice: u, u"),
        (["u", "v", "w"], ModelError, "3 parents need an intercept and a coefficient each; found 3 numbers"),
        (3, ArgumentError, "given= is a variable, its name, or a list of them; found 3"),
        ([3, 4], ArgumentError, "given= is a variable, its name, or a list of them; found"),
    ):
        with pytest.raises(error, match=message):
            LinearNormalGamma(np.zeros(3), 1.0, shape=1.0, rate=1.0, given=parents)


def test_what_are_no_values_is_refused():
    assert with_one([2.0, 3.0], 2).tolist() == [1.0, 2.0, 3.0]
    for values, message in ((["a"], "are numbers"), ([1.0, 2.0], "has 1 parents; found 2"), ([np.inf], "finite")):
        with pytest.raises(DataError, match=message):
            with_one(values, 1)
