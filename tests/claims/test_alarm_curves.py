"""The learning curves of ALARM agree with figures that were computed independently."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path

import numpy as np
import pytest

import sepset as ss
from sepset.cpds.priors.dirichlet import BDeu
from sepset.learning.estimation.estimators import MLE, Bayes
from sepset.learning.evaluation.learningcurve import learning_curve
from sepset.learning.evaluation.validation import Learner

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "alarm_learning_curves.py"


@pytest.fixture(scope="module")
def example():
    if not EXAMPLE.is_file():
        pytest.skip("the examples are not beside the tests")
    spec = importlib.util.spec_from_file_location("alarm_learning_curves", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def curves(example):
    return example.curves((500, 5000))


@pytest.mark.parametrize("alpha", [5, 10])
def test_published_columns(example, curves, alpha):
    published = example.PUBLISHED[f"alpha = {alpha}"]
    expected = [published[example.SIZES.index(size)] for size in (500, 5000)]
    np.testing.assert_allclose(curves.mean(f"alpha = {alpha}"), expected, rtol=0.15)


def test_raw_maximum_likelihood_is_infinitely_far_in_every_run(curves):
    assert (curves.values["MLE"] == math.inf).all()


def test_strong_priors_fade_as_one_for_the_whole_network_does(curves):
    """Network-wide, alpha = 50 is 2.5 times as far as alpha = 5 at 500 rows, and 1.4 times at 5,000."""
    ratios = curves.mean("alpha = 50") / curves.mean("alpha = 5")
    np.testing.assert_allclose(ratios, [2.5, 1.4], rtol=0.15)


def test_divergence_is_half_the_parameters_a_row():
    alarm = ss.datasets.load("alarm")
    procedures = {str(a): Learner(alarm, Bayes(BDeu(a))) for a in (5, 10, 20, 50)}
    curve = learning_curve(procedures, alarm, sizes=[20_000], repeats=3, seed=2)
    for name in procedures:
        assert 2 * 20_000 * curve.mean(name)[0] / alarm.num_parameters == pytest.approx(1.0, abs=0.15)


def test_a_prior_is_nearer_than_a_harsh_floor_at_every_size():
    alarm = ss.datasets.load("alarm")
    procedures = {
        "prior": Learner(alarm, Bayes(BDeu(5))),
        "floor": Learner(alarm, MLE(unseen="uniform", floor=1e-6)),
    }
    curve = learning_curve(procedures, alarm, sizes=[100, 250, 500, 1000, 2000], repeats=10, seed=3)
    assert (np.diff(curve.mean("prior")) < 0).all()
    assert (curve.mean("prior") < curve.mean("floor")).all()


def test_the_example_prints_and_draws(example, tmp_path, capsys):
    target = tmp_path / "curves.png"
    example.main([str(target), "--quick"])
    assert target.read_bytes().startswith(b"\x89PNG")
    assert "published" in capsys.readouterr().out
