"""Learned structures with parameters: what they show, and fits that start from their parameters."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss
from support.incomplete_rows import masked_rows, random_network


@pytest.fixture
def data() -> ss.Dataset:
    rng = np.random.default_rng(0)
    return masked_rows(random_network(rng, (2, 3, 2)), 100, 0.2, rng)


def test_fitting_goes_on_from_the_parameters(data: ss.Dataset) -> None:
    found = ss.learn_structure(data, method=ss.StructuralEM(), score=ss.BDeu(2.0))
    fitted = found.fit()
    assert fitted.num_iterations <= 3
    assert fitted.log_likelihood == pytest.approx(found.log_likelihood, rel=1e-6)
    assert fitted.model.dag == found.dag
    assert found.fit(ss.EM()).log_likelihood >= fitted.log_likelihood - 1e-6
    with pytest.raises(ss.SepsetError, match="MLE needs complete data"):
        found.fit(ss.MLE())


def test_it_prints_its_numbers(data: ss.Dataset) -> None:
    found = ss.learn_structure(data, method=ss.StructuralEM())
    assert f"{found.log_likelihood:.10g}" in str(found)
    assert "rounds" in str(found)
    assert f"{found.score:.7g}" in repr(found)
