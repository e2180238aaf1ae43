"""Stochastic gradient ascent: its moments by hand, and where it ends."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sepset.api.learning import fit
from sepset.cpds.priors.dirichlet import Dirichlet
from sepset.cpds.priors.weights import LaplaceWeights
from sepset.graphs.graph import DAG
from sepset.inference.iterate import Until
from sepset.inference.result import Guarantee
from sepset.learning.incomplete.em import EM
from sepset.learning.incomplete.gradient import GradientAscent
from sepset.learning.optimize.stochastic import SlopeMoments, shrunk
from support.learning_cases import FORMS, masked_codes, mixed, mixed_rows, network

STOCHASTIC = GradientAscent(start="model", optimizer="stochastic", batch=30)


def passes(number):
    return Until(steps=number, tolerance=None)


def test_moments_by_hand():
    slopes = [np.array([1.0, -2.0]), np.array([3.0, 0.0])]
    found = SlopeMoments.none(2)
    for slope in slopes:
        found = found.updated(slope)
    mean = (0.1 * 0.9 * slopes[0] + 0.1 * slopes[1]) / (1 - 0.9**2)
    square = (0.01 * 0.99 * slopes[0] ** 2 + 0.01 * slopes[1] ** 2) / (1 - 0.99**2)
    assert_allclose(found.slope, mean)
    assert_allclose(found.lengths(0.5), 0.5 / (np.sqrt(square) + 1e-8))


def test_nothing_is_shrunk_beyond_zero():
    assert shrunk(np.array([1.0, -1.0, 0.2]), np.array([0.5, 3.0, 0.0])).tolist() == [0.5, 0.0, 0.2]


@pytest.mark.parametrize("form", [f for f in FORMS if f != "function"])
def test_it_gets_as_far_as_em_in_some_steps(form):
    net = network(form)
    rows = masked_codes(net, 150)
    slow = fit(net, rows, EM(start="model", acceleration="squarem"), until=Until(steps=300, tolerance=1e-12))
    fast = fit(net, rows, STOCHASTIC, until=passes(60))
    some = fit(net, rows, EM(start="model"), until=passes(20))
    assert some.log_likelihood - 0.2 < fast.log_likelihood <= slow.log_likelihood + 0.1
    assert fast.guarantees["parameters"] is Guarantee.HEURISTIC


def test_lines_end_near_where_em_does():
    net = mixed()
    rows = mixed_rows(net, 120, 0.2)
    slow = fit(net, rows, EM(start="model", acceleration="squarem"), until=Until(steps=300, tolerance=1e-12))
    fast = fit(net, rows, STOCHASTIC, until=passes(100))
    assert abs(fast.log_likelihood - slow.log_likelihood) < 0.5


def test_one_batch_is_deterministic_ascent():
    """The published fractions; a batch of all rows has no noise."""
    rows = {"x": [1] * 29 + [0] * 13 + [None], "y": [1] * 13 + [0] * 16 + [1] * 9 + [0] * 4 + [1]}
    method = GradientAscent(start="model", optimizer="stochastic", batch=1000)
    found = [fit(DAG.parse("x -> y"), rows, method, until=passes(400), seed=s).model for s in (0, 1)]
    assert_allclose(found[0].cpd("x").values[1], 651 / 946, rtol=1e-5)
    assert_allclose(found[0].cpd("y").values[:, 1], [207 / 295, 299 / 651], rtol=1e-5)
    assert found[0].cpd("y").values.tolist() == found[1].cpd("y").values.tolist()


def test_sharp_priors_make_zeros():
    net = network("logistic")
    rows = masked_codes(net, 100)
    prior = (LaplaceWeights(0.02), Dirichlet(1.0))
    found = fit(net, rows, GradientAscent(prior, start="model", optimizer="stochastic"), until=passes(80))
    assert not any(w.any() for w in found.model.cpd("x").weights)


def test_seeds_decide_and_reproduce():
    net = network("tree")
    rows = masked_codes(net, 100)

    def values(seed):
        found = fit(net, rows, STOCHASTIC, until=passes(3), seed=seed)
        return found.model.cpd("x").distributions.tobytes(), found.trace.tolist()

    assert values(1) == values(1)
    assert values(1) != values(2)


def test_resuming_is_the_same_to_the_bit(tmp_path):
    net = network("noisy-or")
    rows, file = masked_codes(net, 60), tmp_path / "run.bin"

    def run(steps, **more):
        found = fit(net, rows, STOCHASTIC, until=passes(steps), seed=4, **more)
        return [c.to_table().values.tobytes() for c in found.model.cpds], found.trace.tolist()

    run(2, checkpoint=file)
    assert run(5, checkpoint=file) == run(5)
