"""Numbers of priors are checked where the prior is made."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.base.checks import check_finite, check_positive, finite_array
from sepset.cpds.priors.dirichlet import BDeu, ContextStrength, Dirichlet, DirichletMixture
from sepset.cpds.priors.regression import (
    LinearNormalGamma,
    LinearNormalInverseWishart,
    NormalGamma,
    NormalInverseWishart,
)
from sepset.cpds.priors.weights import Laplace, Normal
from sepset.errors import ModelError


@pytest.mark.parametrize("value", [0, -1.0, np.nan, np.inf, "3", None, True, [1.0], np.ones(2), 1j])
def test_a_figure_is_one_finite_number_above_zero(value):
    for make in (BDeu, Normal, Laplace, ContextStrength, lambda v: NormalGamma(0.0, v, 1.0, 1.0)):
        with pytest.raises(ModelError, match=r"needs a finite \w+ > 0; found"):
            make(value)
    with pytest.raises(ModelError, match="It needs a finite size > 0"):
        check_positive("It", size=value)


def test_numbers_of_any_kind_are_numbers():
    check_positive("It", size=np.float32(2.0), other=np.int64(3), last=5)
    check_finite("It", mean=np.float64(-1.0))
    assert BDeu(np.int64(4)).sample_size == 4


@pytest.mark.parametrize("value", ["a", None, [], np.nan, [1.0, np.inf], [[1.0], [1.0, 2.0]], object()])
def test_arrays_hold_finite_numbers(value):
    for make in (
        Dirichlet,
        lambda v: LinearNormalGamma(v, 1.0, 1.0, 1.0),
        lambda v: NormalInverseWishart(v, 1.0, 3.0, 1.0),
        lambda v: LinearNormalInverseWishart(v, 1.0, 3.0, 1.0),
        lambda v: LinearNormalGamma([0.0], v, 1.0, 1.0),
        lambda v: finite_array("It", "values", v),
    ):
        with pytest.raises(ModelError, match=r"needs (finite|numbers)"):
            make(value)


def test_other_shapes_and_kinds():
    with pytest.raises(ModelError, match="needs a finite mean; found 'a'"):
        NormalGamma("a", 1.0, 1.0, 1.0)
    with pytest.raises(ModelError, match="finite mean"):
        NormalGamma([0.0, 1.0], 1.0, 1.0, 1.0)
    with pytest.raises(ModelError, match="sum to one"):
        ContextStrength(1.0, 0.5)
    with pytest.raises(ModelError, match="needs numbers as weights"):
        DirichletMixture(["a"], [1.0])
    with pytest.raises(ModelError, match="scale of shape"):
        NormalInverseWishart([0.0, 0.0], 1.0, 4.0, [[1.0]])
