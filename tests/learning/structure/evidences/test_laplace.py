"""Laplace's approximation: its Hessian by finite differences, its value by completions and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import gammaln

import sepset as ss
from sepset.errors import NotApplicable, TooLarge
from sepset.learning.structure.evidences import laplace
from sepset.learning.structure.evidences.logevidence import evidence_task

LATENT = ss.classify.latent_class([ss.Discrete("a"), ss.Discrete("b"), ss.Discrete("c")], 2)


def latent_rows(num_rows: int, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    cause = rng.integers(0, 2, num_rows)
    return {n: np.where(rng.random(num_rows) < 0.85, cause, 1 - cause) for n in "abc"}


def log_posterior(logits: np.ndarray, rows: dict[str, np.ndarray], alpha: float) -> float:
    """Of a hidden coin with three binary children, in logits, up to the constant of the prior."""
    p = 1.0 / (1.0 + np.exp(logits))
    prior, child = np.array([p[0], 1 - p[0]]), p[1:].reshape(3, 2)
    joint = np.tile(prior, (len(rows["a"]), 1))
    for k, n in enumerate("abc"):
        joint *= np.where(rows[n][:, None] == 0, child[k], 1 - child[k])
    return float(np.log(joint.sum(axis=1)).sum() + alpha * (np.log(p) + np.log(1 - p)).sum())


def test_the_hessian_by_finite_differences() -> None:
    rows = latent_rows(30)
    method = ss.structure.Laplace(ss.priors.Dirichlet(1.5))
    mode = evidence_task(LATENT, rows).mode(method.prior)
    net = mode.model
    cells = [net.cpd("class").values, *(row for n in "abc" for row in net.cpd(n).values)]
    at = np.array([np.log(cell[1] / cell[0]) for cell in cells])
    step = 1e-3 * np.eye(7)
    numeric = np.array(
        [
            [
                sum(s * t * log_posterior(at + s * i + t * j, rows, 1.5) for s in (1, -1) for t in (1, -1)) / 4e-6
                for j in step
            ]
            for i in step
        ]
    )
    np.testing.assert_allclose(method.hessian(mode), numeric, atol=2e-4)


def test_a_coin_in_closed_form() -> None:
    """One multinomial: mode, curvature and density are known, in both coordinates."""
    rows = {"x": ["a"] * 5 + ["b"] * 3 + ["c"] * 2}
    alpha, counts = np.array([2.0, 1.5, 3.0]), np.array([5.0, 3.0, 2.0])
    found = ss.structure.log_evidence(ss.DAG.parse("x"), rows, method=ss.structure.Laplace(ss.priors.Dirichlet(alpha)))
    total = counts + alpha
    mean = total / total.sum()
    density = gammaln(alpha.sum()) - gammaln(alpha).sum()
    volume = np.log(2 * np.pi) - np.log(total.sum()) - 0.5 * np.log(mean).sum()
    assert found.value == pytest.approx(density + total @ np.log(mean) + volume, abs=1e-9)
    plain = ss.structure.log_evidence(
        ss.DAG.parse("x"), rows, method=ss.structure.Laplace(ss.priors.Dirichlet(alpha), "theta")
    )
    inner = total - 1.0
    peak = inner / inner.sum()
    volume = np.log(2 * np.pi) - np.log(inner.sum()) + 0.5 * np.log(peak).sum()
    assert plain.value == pytest.approx(density + inner @ np.log(peak) + volume, abs=1e-9)


def test_a_hidden_cause_against_the_sum_over_completions() -> None:
    """Both labelings together are closer than one."""
    rows = latent_rows(36, seed=4)
    exact = ss.structure.log_evidence(LATENT, rows, method=ss.structure.CompletionSum(ss.K2())).value
    found = ss.structure.log_evidence(LATENT, rows, method=ss.structure.Laplace(ss.K2()))
    assert found.info["relabelings"] == 2
    assert found.value + np.log(2.0) == pytest.approx(exact, abs=0.5)


@pytest.mark.parametrize("parameterization", ["softmax", "theta"])
def test_its_error_falls_with_the_number_of_rows(parameterization: str) -> None:
    """Four times the rows, a quarter of the error."""
    few = {"x": [0, 0, 1, 1, 1, None, None, 0], "y": [0, 1, 1, 1, 0, 0, 1, 0]}
    graph, method = ss.DAG.parse("x -> y"), ss.structure.Laplace(ss.priors.Dirichlet(2), parameterization)
    errors = []
    for times in (1, 4, 16):
        weights = np.full(8, times)
        exact = ss.structure.log_evidence(
            graph, few, method=ss.structure.CompletionSum(ss.priors.Dirichlet(2)), weights=weights
        ).value
        errors.append(abs(ss.structure.log_evidence(graph, few, method=method, weights=weights).value - exact))
    assert errors[1] < 0.5 * errors[0]
    assert errors[2] < 0.35 * errors[1]


def test_complete_rows_are_close_to_exact() -> None:
    rng = np.random.default_rng(0)
    rows = {n: rng.integers(0, 2, 400) for n in "ab"}
    graph = ss.DAG.parse("a -> b")
    found = ss.structure.log_evidence(graph, rows, method=ss.structure.Laplace(ss.K2()))
    assert found.value == pytest.approx(ss.structure.score(graph, rows, score=ss.K2()).total, abs=0.01)


def test_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {"x": [1, 1, 1, None]}
    variables = [ss.Discrete("x")]
    with pytest.raises(NotApplicable, match="softmax"):
        ss.structure.log_evidence(
            ss.DAG.parse("x"), rows, method=ss.structure.Laplace(ss.K2(), "theta"), variables=variables
        )
    monkeypatch.setattr(laplace, "LARGEST", 6)
    with pytest.raises(TooLarge, match="CheesemanStutz"):
        ss.structure.log_evidence(LATENT, latent_rows(5), method=ss.structure.Laplace())
