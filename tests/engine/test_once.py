"""First questions to networks are answered without an engine, as one would."""

from __future__ import annotations

import numpy as np
import pytest

import oracle
import sepset as ss
from sepset.engine import once
from sepset.engine.once import answer_once
from support.blocks import in_blocks


def random_net(seed):
    rng = np.random.default_rng(seed)
    families, cards = oracle.random_network(rng, int(rng.integers(1, 8)), parts=int(rng.integers(1, 3)))
    variables = {name: ss.Discrete(name, [f"s{i}" for i in range(card)]) for name, card in cards.items()}
    order = rng.permutation(len(families))
    cpds = [ss.TableCPD(variables[c], t, given=[variables[p] for p in ps]) for c, ps, t in (families[i] for i in order)]
    return ss.BayesNet(*cpds), families, cards, rng


@in_blocks("seed", range(300))
def test_first_answers_are_those_of_enumeration(seed):
    net, families, cards, rng = random_net(seed)
    factors = oracle.bayes_factors(families)
    names = [str(n) for n in rng.permutation(list(cards))]
    targets, rest = names[:2], names[2:]
    drawn = net.sample(1, seed=seed).to_frame("pandas").iloc[0]
    seen = {name: drawn[name] for name in rest if rng.random() < 0.5}
    codes = {name: int(state[1:]) for name, state in seen.items()}
    answer = answer_once(net, targets, seen)
    assert answer is not None
    assert answer.info["tier"] == "plain"
    assert [v.name for v in answer.distribution.scope] == targets
    np.testing.assert_allclose(
        answer.values, oracle.conditional(factors, cards, targets, codes), rtol=1e-11, atol=1e-14
    )
    assert answer.log_partition == pytest.approx(oracle.log_z(factors, cards, codes), abs=1e-11)


@pytest.mark.parametrize("name", ["asia", "alarm", "child", "insurance", "student", "win95pts"])
def test_first_answers_are_those_of_an_engine(name):
    engine = ss.prepare(ss.datasets.load(name))
    variables = engine.model.variables
    rng = np.random.default_rng(0)
    row = engine.model.sample(1, seed=0).to_frame("pandas").iloc[0]
    for _ in range(10):
        target, *others = (variables[int(i)] for i in rng.permutation(len(variables)))
        seen = {v.name: row[v.name] for v in others[: len(variables) // 10]}
        first = ss.query(ss.datasets.load(name), target.name, given=seen)
        known = engine.query(target.name, given=seen)
        np.testing.assert_allclose(first.values, known.values, rtol=1e-12, atol=1e-15)
        assert first.log_partition == pytest.approx(known.log_partition, abs=1e-12)
        assert (first.guarantees, first.status) == (known.guarantees, known.status)


def test_a_second_question_is_answered_by_an_engine():
    net = ss.datasets.load("asia")
    assert answer_once(net, "lung", None) is not None
    assert answer_once(net, "lung", None) is None
    assert ss.query(net, "lung")["yes"] == pytest.approx(0.055, abs=1e-12)


@pytest.mark.parametrize(
    "given",
    [{"xray": ss.Likelihood([0.2, 0.8])}, {"xray": ss.Soft([0.2, 0.8])}, {"lung": "yes"}],
    ids=["likelihood", "soft", "observed target"],
)
def test_other_questions_are_left_to_an_engine(given):
    assert answer_once(ss.datasets.load("asia"), "lung", given) is None
    assert ss.query(ss.datasets.load("asia"), "lung", given=given).values.sum() == pytest.approx(1.0)


def test_other_models_are_left_to_an_engine():
    x = ss.Real("x")
    assert answer_once(ss.BayesNet(ss.LinearGaussian(x, 0.0, covariance=1.0)), "x", None) is None
    assert answer_once(ss.datasets.load("misconception"), "A", None) is None
    assert answer_once(ss.prepare(ss.datasets.load("asia")), "lung", None) is None


def test_structured_cpds_are_left_to_an_engine():
    a, b, c = ss.Discrete("a"), ss.Discrete("b"), ss.Discrete("c")
    net = ss.BayesNet(ss.TableCPD(a, [0.6, 0.4]), ss.TableCPD(b, [0.7, 0.3]), ss.NoisyOr(c, {a: 0.9, b: 0.5}, leak=0.1))
    first = ss.query(net, "c")
    assert first[0] == pytest.approx((0.6 + 0.4 * 0.1) * (0.7 + 0.3 * 0.5) * 0.9, abs=1e-12)


def test_a_question_with_many_ancestors_is_left_to_an_engine(monkeypatch):
    monkeypatch.setattr(once.costs, "DIRECT_VARIABLES", 3)
    assert answer_once(ss.datasets.load("asia"), "smoke", None) is not None
    assert answer_once(ss.datasets.load("asia"), "dysp", None) is None


def test_mistakes_are_refused_as_an_engine_does():
    with pytest.raises(ss.ImpossibleEvidence, match="tub"):
        ss.query(ss.datasets.load("asia"), "smoke", given={"tub": "yes", "either": "no"})
    with pytest.raises(ss.errors.ScopeError, match="twice"):
        ss.query(ss.datasets.load("asia"), ["lung", "lung"])
    with pytest.raises(ss.errors.ScopeError, match="lung"):
        ss.query(ss.datasets.load("asia"), "lunk")
    with pytest.raises(ss.errors.StateError):
        ss.query(ss.datasets.load("asia"), "lung", given={"xray": "maybe"})
    with pytest.raises(ss.errors.ModelError):
        ss.query("asia", "lung")
