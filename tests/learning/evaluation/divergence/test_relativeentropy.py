"""The divergence of two networks against enumeration of their joints, and what is kept and promised."""

from __future__ import annotations

import math

import numpy as np
import pytest

import oracle
import sepset as ss
from support.blocks import in_blocks
from support.tolerances import CLOSE

A, B = ss.Discrete("a", 2), ss.Discrete("b", 3)


@in_blocks("seed", range(15))
def test_divergence_is_that_of_the_joints(seed):
    rng = np.random.default_rng(seed)
    first, cards = oracle.random_network(rng, 4, deterministic=0.1, zeros=0.0)
    parents = oracle.random_parents(rng, list(cards))
    second = [
        (
            c,
            parents[c],
            oracle.random_rows(rng, tuple(cards[n] for n in (*parents[c], c)), deterministic=0.1, zeros=0.0),
        )
        for c in cards
    ]
    made = {name: ss.Discrete(name, card) for name, card in cards.items()}
    nets = [
        ss.BayesNet(*(ss.TableCPD(made[c], t, given=[made[p] for p in ps]) for c, ps, t in one))
        for one in (first, second)
    ]
    expected = oracle.kl(oracle.bayes_joint(first, cards), oracle.bayes_joint(second, cards))
    assert ss.evaluation.divergence(*nets).total == pytest.approx(expected, abs=CLOSE)
    assert ss.evaluation.divergence(nets[0], nets[0]).total == 0.0


def test_divergence_is_infinite_where_support_is_missing():
    sure, fair = (ss.BayesNet(ss.TableCPD(A, row)) for row in ([1, 0], [0.5, 0.5]))
    assert ss.evaluation.divergence(fair, sure).total == math.inf
    assert ss.evaluation.divergence(sure, fair).total == pytest.approx(math.log(2))


def test_divergence_refuses_what_it_cannot_compare():
    net = ss.BayesNet(ss.TableCPD(A, [0.5, 0.5]))
    with pytest.raises(ss.errors.ScopeError, match="they differ in 'a', 'b'"):
        ss.evaluation.divergence(net, ss.BayesNet(ss.TableCPD(B, [0.5, 0.25, 0.25]))).total
    real = ss.LinearGaussian(ss.Real("x"), covariance=1.0)
    assert ss.evaluation.divergence(ss.BayesNet(real), ss.BayesNet(real)).total == 0.0
    mixed = ss.BayesNet(*net.cpds, real)
    assert ss.evaluation.divergence(mixed, mixed).total == 0.0
    kernel = ss.BayesNet(*net.cpds, ss.KernelCPD(ss.Real("x"), {"x": [0.0, 1.0]}, width=1.0))
    with pytest.raises(ss.errors.NotApplicable, match="closed form"):
        ss.evaluation.divergence(mixed, kernel).total
    with pytest.raises(ss.errors.NotApplicable, match="Convert it with to_bayes_net"):
        ss.evaluation.divergence(net, net.markov_net()).total


def test_what_was_inferred_is_kept_and_promised():
    p, q = (ss.BayesNet.random(ss.DAG.parse("a -> b <- c"), seed=s) for s in (1, 2))
    found = ss.evaluation.divergence(p, q)
    before = len(p.problem().kept)
    assert ss.evaluation.divergence(p, q) == found
    assert len(p.problem().kept) == before
    assert found.guarantees == {"divergence": ss.Guarantee.EXACT}
    assert found.method == ss.CliqueTree()
    assert ss.evaluation.divergence(p, q, method=ss.VariableElimination()).total == pytest.approx(
        found.total, abs=CLOSE
    )
    assert str(found).splitlines()[0] == f"KL = {found.total:.6g} nats"


def test_estimates_have_no_parts():
    p, q = (ss.BayesNet.random(ss.DAG.parse("a -> b <- c"), seed=s) for s in (1, 2))
    drawn = ss.evaluation.divergence(p, q, samples=50_000)
    assert math.isnan(drawn.structure)
    assert math.isnan(drawn.parameters)
    assert abs(drawn.total - ss.evaluation.divergence(p, q).total) < 4 * drawn.standard_error
    assert "draws" in str(drawn)
