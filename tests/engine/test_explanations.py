"""Most probable assignments of engines: the states of all variables, how they were found, and ties; max-marginals."""

import pickle

import numpy as np
import pytest

import oracle
import sepset as ss
from sepset.engine.explanations import labels_of, num_ties
from support.blocks import in_blocks
from support.random_models import markov_net, table_net

EXACT = (ss.CliqueTree(), ss.VariableElimination(), ss.inference.BruteForce())


@in_blocks("seed", range(40))
def test_the_best_of_all_variables_is_the_best_of_those_named(seed):
    rng = np.random.default_rng([seed, 5])
    case = (table_net, markov_net)[seed % 2](rng)
    joint, names = oracle.joint(case.factors, case.cards), list(case.cards)
    seen = {v: int(rng.integers(card)) for v, card in enumerate(case.cards.values()) if rng.random() < 0.3}
    there = joint[tuple(seen.get(v, slice(None)) for v in range(len(names)))]
    given = {names[v]: case.model[names[v]].states[code] for v, code in seen.items()}
    engine = ss.prepare(case.model)
    if not there.size or there.max() == 0.0:
        with pytest.raises(ss.ImpossibleEvidence):
            engine.map_assignment(given=given)
        return
    hidden = [name for name in names if name not in given]
    found, named = engine.map_assignment(given=given), engine.map_assignment(given=given, over=hidden)
    assert list(found.assignment) == [name for name in case.model.variables.names if name in hidden]
    for result in (found, named):
        codes = [case.model[name].code(result.assignment[name]) for name in hidden]
        assert there[tuple(codes)] == pytest.approx(there.max(), rel=1e-9)
        assert result.log_value == pytest.approx(np.log(there.max()), abs=1e-9)
    assert found.bound == found.log_value
    assert found.persistent == found.assignment
    codes = [case.model[name].code(found.assignment[name]) for name in hidden]
    lines = [np.delete(there[(*codes[:i], slice(None), *codes[i + 1 :])], code) for i, code in enumerate(codes)]
    ties = sum(bool((line >= there[tuple(codes)] * (1 - 1e-9)).any()) for line in lines)
    assert (found.info["decoder"], found.info["ties"]) == ("traceback", ties)


@pytest.mark.parametrize("method", EXACT)
def test_ties_and_decoders_of_exact_methods(method):
    a, b, c = ss.Discrete("a"), ss.Discrete("b", 3), ss.Discrete("c")
    tables = [ss.Table([a, b], [[1, 2, 2], [2, 0, 1]]), ss.Table([c], [1, 3])]
    net = ss.MarkovNet(*tables)
    best = ss.map_assignment(net, method=method)
    assert best.log_value == pytest.approx(np.log(6))
    assert best.info["decoder"] == "traceback"
    assert best.info["ties"] == (1 if best.assignment["a"] == 0 else 0)
    assert ss.map_assignment(net, method=method, k=4).info["decoder"] == "ranking"
    assert "ties" not in ss.map_assignment(net, over=["a"], method=method).info
    assert pickle.loads(pickle.dumps(best)).info == dict(best.info)


def test_ties_of_observed_numbers_and_none_of_hidden_ones():
    height, kind = ss.Real("height"), ss.Discrete("kind", ("short", "tall"))
    net = ss.BayesNet(
        ss.TableCPD(kind, [0.5, 0.5]), ss.LinearGaussian(height, [1.5, 1.75], covariance=[0.25, 0.25], by=kind)
    )
    assert ss.map_assignment(net).info["ties"] is None
    assert ss.map_assignment(net, given={"height": 1.625}).info["ties"] == 1
    assert ss.map_assignment(net, given={"height": 1.7}).info["ties"] == 0


def test_wide_functions_and_joint_findings():
    causes, effect = [ss.Discrete(f"c{i}") for i in range(12)], ss.Discrete("effect")
    net = ss.BayesNet(
        *(ss.TableCPD(c, [0.5, 0.5]) for c in causes), ss.NoisyOr(effect, dict.fromkeys(causes, 0.3), leak=0.01)
    )
    assert ss.map_assignment(net, given={"effect": 0}).info["ties"] == 0
    engine = ss.prepare(net)
    evidence = engine.evidence({"effect": 1})
    assert num_ties(engine, evidence, engine.prepared.best(evidence, range(12)).values) in (0, None)
    joint = {("c0", "c1"): ss.Likelihood([[0.1, 0.9], [0.2, 0.1]])}
    assert "ties" not in ss.map_assignment(net, given={"effect": 0, **joint}).info


def test_labels_are_those_of_discrete_variables_without_arrays():
    asia = ss.prepare(ss.datasets.load("asia"))
    assert labels_of(asia) == (tuple(asia.model.variables.names), (("yes", "no"),) * 8)
    grid = ss.prepare(ss.MarkovNet.potts(ss.Discrete.array("s", (2, 2)), 0.3))
    assert labels_of(grid) is None
    assert grid.map_assignment().info["ties"] == 0


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
