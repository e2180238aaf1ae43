"""Residuals: rounding for sound answers, and as large as the error for answers that were spoiled."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sepset as ss
from sepset.inference.gaussian.components import components
from sepset.inference.gaussian.coordinates import Coordinates
from sepset.inference.hybrid.posteriors import Posterior
from sepset.inference.hybrid.questions import RegressionQuestions
from sepset.inference.hybrid.residuals import residual
from sepset.inference.result import Guarantee
from support.blocks import in_blocks
from support.exact_gaussians import Line, joint_of, network, random_findings, random_lines


def posteriors(seed, certain=0.0):
    rng = np.random.default_rng(seed)
    lines = random_lines(rng, 6, certain=certain)
    found = random_findings(rng, joint_of(lines), 2)
    net = network(lines)
    coordinates = Coordinates.of(net.problem())
    column = {i: coordinates.column(net.variables.id(f"x{i}")) for i in range(6)}
    parts = components(coordinates, [column[i] for i in range(6) if i not in found], [column[i] for i in found], {})
    return [Posterior.of(part, {column[i]: x for i, x in found.items()}) for part in parts]


def measured(posterior):
    return residual(posterior, posterior.component.hidden, np.zeros(1))


@pytest.mark.parametrize("certain", [0.0, 0.3])
@in_blocks("seed", range(40))
def test_sound_answers_have_residuals_of_rounding(seed, certain):
    for posterior in posteriors(seed, certain):
        assert measured(posterior) < 1e-6


@in_blocks("seed", range(20))
def test_spoiled_means_are_found(seed):
    for posterior in posteriors(seed):
        hidden = np.flatnonzero(posterior.component.kinds == 2)
        if len(hidden):
            values = posterior.values.copy()
            values[:, hidden[0]] += np.sign(values[:, hidden[0]]) * 1e-3 * np.abs(values).max()
            assert measured(replace(posterior, values=values, error=np.full(len(values), np.nan))) > 1e-6


def test_spoiled_variances_are_found(monkeypatch):
    sound = Posterior.products
    monkeypatch.setattr(Posterior, "products", lambda self, *about: 1.001 * sound(self, *about))
    chain = [Line((), (), 1.0, 2.0), *(Line((i,), (0.5,), 1.0, 0.1) for i in range(4))]
    net = network(chain)
    coordinates = Coordinates.of(net.problem())
    (part,) = components(coordinates, [0, 1, 2, 3], [4], {})
    assert measured(Posterior.of(part, {4: 0.3})) > 1e-6
    monkeypatch.undo()
    assert measured(Posterior.of(part, {4: 0.3})) < 1e-14


def test_large_residuals_are_estimates(monkeypatch):
    x, y = ss.Real("x"), ss.Real("y")
    net = ss.BayesNet(
        ss.LinearGaussian(x, 0.0, covariance=1.0),
        ss.LinearGaussian(y, 1.0, coefficients=2.0, covariance=0.5, given=x),
    )
    for engine in (ss.prepare(net), ss.prepare(net, method=ss.inference.BruteForce())):
        with monkeypatch.context() as patch:
            patch.setattr(RegressionQuestions, "residual", lambda self, *about: 1e-3)
            answers = [
                engine.query("x", given={"y": 0.3}),
                engine.marginals(given={"y": 0.3}),
                engine.log_probability(given={"y": 0.3}),
                engine.map_assignment(given={"y": 0.3}),
            ]
            for answer in answers:
                assert set(answer.guarantees.values()) == {Guarantee.ESTIMATE}
                assert answer.info["residual"] == 1e-3
        assert engine.query("x", given={"y": 0.3}).guarantees["marginals"] is Guarantee.EXACT


def test_discrete_models_have_none():
    assert "residual" not in ss.query(ss.datasets.load("asia"), "lung").info
    assert "residual" not in ss.marginals(ss.datasets.load("asia"), method=ss.VariableElimination()).info
