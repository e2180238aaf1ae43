"""Max-marginals by clique trees and by messages."""

import numpy as np
import pytest

import sepset as ss


def test_messages_and_trees_answer_for_the_same_models():
    """A table, a noisy or with auxiliaries, an observed child: forests, on which both are exact."""
    causes = [ss.Discrete(f"d{i}") for i in range(7)]
    seen = ss.Discrete("seen")
    strengths = dict(zip(causes, np.linspace(0.2, 0.8, 7), strict=True))
    priors = [ss.TableCPD(v, [0.9 - 0.05 * i, 0.1 + 0.05 * i]) for i, v in enumerate(causes)]
    net = ss.BayesNet(*priors, ss.NoisyOr(seen, strengths, leak=0.01))
    rng = np.random.default_rng(0)
    for given in ({"seen": 1}, {"seen": 0}, {"seen": 1, "d2": 1}):
        exact, found = ss.max_marginals(net, given=given), ss.max_marginals(net, given=given, method=ss.LoopyBP())
        assert found.guarantees["assignment"] is ss.Guarantee.EXACT
        for v in (*causes, seen):
            assert found[v].log_values == pytest.approx(exact[v].log_values, abs=1e-9)
        assert exact.is_best(found.assignment)
        for _ in range(5):
            codes = {v.name: int(rng.integers(2)) for v in causes if v.name not in given}
            assert found.log_value_of(codes) == pytest.approx(exact.log_value_of(codes), abs=1e-9)
            assert found.is_best(codes) == exact.is_best(codes)
    with pytest.raises(ss.ImpossibleEvidence):
        ss.max_marginals(ss.datasets.load("asia"), given={"lung": "yes", "either": "no"}, method=ss.LoopyBP())
    with pytest.raises(ss.errors.NotApplicable, match="continuous"):
        ss.max_marginals(ss.BayesNet(ss.LinearGaussian(ss.Real("x"), 0.0, covariance=1.0)), method=ss.LoopyBP())
