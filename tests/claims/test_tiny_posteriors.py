"""What is possible but improbable beyond the range of floats is not impossible: its logarithm is finite, and right.

An exact answer of zero says that a state cannot be. Posteriors of 1e-500 are ordinary where many findings speak
together, and ratios between them are what the question was about.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.special import log_softmax, logsumexp

import sepset as ss
from support.blocks import in_blocks
from support.tolerances import CLOSE

A, B, C, D = ss.Discrete("a"), ss.Discrete("b"), ss.Discrete("c", 3), ss.Discrete("d")
METHODS = {
    "the default": None,
    "CliqueTree": ss.CliqueTree(),
    "VariableElimination": ss.VariableElimination(),
    "BeliefUpdate": ss.inference.BeliefUpdate(),
    "ShaferShenoy": ss.inference.ShaferShenoy(),
    "BruteForce": ss.inference.BruteForce(),
    "RecursiveConditioning": ss.inference.RecursiveConditioning(),
    "CutsetConditioning": ss.inference.CutsetConditioning(),
}
PASSING = {
    "LoopyBP": ss.LoopyBP(),
    "LoopyBP of logarithms": ss.LoopyBP(domain="log"),
    "TreeReweighted": ss.TreeReweighted(),
    "ClusterBP": ss.inference.ClusterBP(2),
}
"""Exact where the factors are a forest."""

every_method = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
every_exact = pytest.mark.parametrize("method", (METHODS | PASSING).values(), ids=METHODS | PASSING)

PAIR = np.array([[1.0, 2.0], [3.0, 4.0]])
SMALL = np.array([0.0, -100 * np.log(1e5)])  # a hundred factors [1, 1e-5]


def unary(variable, times):
    row = [1.0] + [1e-5 ** (i + 1) for i in range(variable.num_states - 1)]
    return [ss.Table((variable,), row) for _ in range(times)]


SINGLE = ss.MarkovNet(*unary(A, 100))
EDGE = ss.MarkovNet(*unary(A, 100), ss.Table((A, B), PAIR))
JOINT = SMALL[:, None] + np.log(PAIR)  # log weights of (a, b)


def logs(answer):
    return np.asarray(answer.distribution.log_values)


@every_exact
@pytest.mark.parametrize("times", [100, 1000])
def test_a_state_keeps_its_logarithm(method, times):
    expected = log_softmax([0.0, -times * np.log(1e5)])
    np.testing.assert_allclose(logs(ss.query(ss.MarkovNet(*unary(A, times)), "a", method=method)), expected, rtol=CLOSE)


@every_exact
def test_marginals_keep_the_logarithms_of_all_variables(method):
    found = ss.marginals(EDGE, method=method)
    total = logsumexp(JOINT)
    np.testing.assert_allclose(found["a"].log_values, logsumexp(JOINT, axis=1) - total, rtol=CLOSE)
    np.testing.assert_allclose(found["b"].log_values, logsumexp(JOINT, axis=0) - total, rtol=CLOSE)


@every_exact
def test_joints_keep_the_logarithms_of_all_cells(method):
    np.testing.assert_allclose(logs(ss.query(EDGE, ["a", "b"], method=method)), JOINT - logsumexp(JOINT), rtol=CLOSE)


@every_exact
def test_posteriors_keep_their_logarithms(method):
    found = ss.query(EDGE, "a", given={"b": 1}, method=method)
    np.testing.assert_allclose(logs(found), log_softmax(JOINT[:, 1]), rtol=CLOSE, atol=CLOSE)


@every_exact
def test_what_is_impossible_stays_so_beside_what_is_improbable(method):
    """Three states: certain, improbable, impossible."""
    net = ss.MarkovNet(*unary(C, 100), ss.Table((C,), [1.0, 1.0, 0.0]))
    found = logs(ss.query(net, "c", method=method))
    assert found[2] == -np.inf
    np.testing.assert_allclose(found[:2], log_softmax([0.0, -100 * np.log(1e5)]), rtol=CLOSE)


@every_method
def test_chains_keep_the_logarithms_of_states_far_away(method):
    """Twelve variables whose second states are 1e40 to 1e200 times less likely at every step, by two passes in logs."""
    chain = [ss.Discrete(f"x{i}") for i in range(12)]
    step = np.array([[0.0, -40.0], [-40.0, -200.0]]) * np.log(10.0)
    factors = [ss.Table.from_log(pair, step) for pair in itertools.pairwise(chain)]
    forward, backward = [np.array([0.0, -70 * np.log(1e5)])], [np.zeros(2)]
    for _ in factors:
        forward.append(logsumexp(forward[-1][:, None] + step, axis=0))
        backward.append(logsumexp(step + backward[-1], axis=1))
    found = ss.marginals(ss.MarkovNet(*factors, *unary(chain[0], 70)), method=method)
    for place, x in enumerate(chain):
        expected = log_softmax(forward[place] + backward[-1 - place])
        np.testing.assert_allclose(found[x.name].log_values, expected, rtol=CLOSE, atol=CLOSE)


@pytest.mark.parametrize("ask", ["query", "marginals", "view"])
def test_many_findings_leave_the_other_class_improbable_and_possible(ask):
    """Four hundred features, each nine to one for the first class: odds of 9^400."""
    h = ss.Discrete("h")
    xs = [ss.Discrete(f"x{i}") for i in range(400)]
    rows = [[0.9, 0.1], [0.1, 0.9]]
    net = ss.BayesNet(ss.TableCPD(h, [0.5, 0.5]), *(ss.TableCPD(x, rows, given=h) for x in xs))
    given = {x.name: 0 for x in xs}
    found = {
        "query": lambda: ss.query(net, "h", given=given).distribution,
        "marginals": lambda: ss.marginals(net, given=given)["h"],
        "view": lambda: ss.prepare(net).observe(given).query("h").distribution,
    }[ask]()
    assert found.log_values[1] == pytest.approx(-400 * np.log(9.0), rel=CLOSE)


def test_classifiers_keep_the_logarithms_of_improbable_classes():
    h = ss.Discrete("h")
    xs = [ss.Discrete(f"x{i}") for i in range(400)]
    net = ss.BayesNet(ss.TableCPD(h, [0.5, 0.5]), *(ss.TableCPD(x, [[0.9, 0.1], [0.1, 0.9]], given=h) for x in xs))
    found = ss.classify.Classifier(net, "h").predict({x.name: [0] for x in xs}).log_probabilities
    assert found[0, 1] == pytest.approx(-400 * np.log(9.0), rel=CLOSE)


def test_all_pairs_keep_the_logarithms_of_their_cells():
    found = ss.prepare(EDGE).pairwise_marginals()["a", "b"]
    np.testing.assert_allclose(found.log_values, JOINT - logsumexp(JOINT), rtol=CLOSE)


def test_conditionals_on_improbable_states_are_no_zeros():
    """P(b | a = 1) is 3 to 4, however improbable a = 1 is."""
    found = ss.prepare(EDGE).conditional("b", on="a").values
    np.testing.assert_allclose(found, PAIR / PAIR.sum(axis=1, keepdims=True), rtol=CLOSE)


@every_method
def test_the_probability_of_an_improbable_finding(method):
    found = float(ss.log_probability(EDGE, given={"a": 1}, method=method))
    assert found == pytest.approx(logsumexp(JOINT[1]) - logsumexp(JOINT), rel=CLOSE)


@pytest.mark.parametrize(
    "k",
    [
        pytest.param(2, id="the second best is improbable"),
        pytest.param(3, id="there are only two"),
    ],
)
def test_the_next_best_assignment_is_another_one(k):
    found = ss.map_assignment(SINGLE, k=k)
    assert list(found.assignments) == [{"a": 0}, {"a": 1}]
    assert list(found.log_values) == pytest.approx(SMALL.tolist(), rel=CLOSE)


def test_evidence_against_all_odds_turns_the_answer():
    """A prior of 1e-500 against a likelihood of 1e600: the second state wins by a hundred orders."""
    for_it = [ss.Table((D,), [1e-6, 1.0]) for _ in range(100)]
    against = [ss.Table((D,), [1.0, 1e-5]) for _ in range(100)]
    expected = log_softmax([-600 * np.log(10.0), -500 * np.log(10.0)])
    found = logs(ss.query(ss.MarkovNet(*for_it, *against), "d"))
    np.testing.assert_allclose(found, expected, rtol=CLOSE, atol=CLOSE)


def random_problem(rng):
    """Factors over up to six variables (one-state ones among them), values from 1e-300 to 1e300, some of them zero."""
    cards = [int(c) for c in rng.integers(1, 4, size=int(rng.integers(1, 7)))]
    variables = [ss.Discrete(f"v{i}", c) for i, c in enumerate(cards)]
    factors, joint = [], np.zeros(cards)
    for _ in range(int(rng.integers(1, 9))):
        scope = rng.permutation(len(cards))[: int(rng.integers(1, min(3, len(cards)) + 1))].tolist()
        logs = rng.uniform(-690.0, 690.0, size=[cards[i] for i in scope])
        logs[rng.random(logs.shape) < 0.1] = -np.inf
        factors.append(ss.Table.from_log([variables[i] for i in scope], logs))
        order = np.argsort(scope)
        shape = [c if i in scope else 1 for i, c in enumerate(cards)]
        joint = joint + logs.transpose(order).reshape(shape)
    return variables, factors, joint


@in_blocks("seed", range(150))
def test_random_networks_keep_the_logarithm_of_every_state(seed):
    """Marginals, pairs, posteriors and the k best of networks with numbers of all sizes, by enumeration in logs."""
    rng = np.random.default_rng([seed, 77])
    variables, factors, joint = random_problem(rng)
    method = list(METHODS.values())[seed % len(METHODS)]
    net = ss.MarkovNet(*(factors[i] for i in rng.permutation(len(factors))), variables=variables)
    total = logsumexp(joint)
    if total == -np.inf:
        with pytest.raises(ss.ImpossibleEvidence):
            ss.marginals(net, method=method)
        return
    engine = ss.prepare(net, method=method)
    found = engine.marginals()
    axes = range(len(variables))
    for i, v in enumerate(variables):
        expected = logsumexp(joint, axis=tuple(a for a in axes if a != i)) - total
        np.testing.assert_allclose(found[v.name].log_values, expected, rtol=CLOSE, atol=CLOSE)
    asked = rng.permutation(len(variables))[:2].tolist()
    rest = tuple(a for a in axes if a not in asked)
    pair = (logsumexp(joint, axis=rest) if rest else joint) - total
    pair = pair if asked == sorted(asked) else pair.T
    answer = engine.query([variables[i].name for i in asked])
    np.testing.assert_allclose(logs(answer), pair, rtol=CLOSE, atol=CLOSE)
    if len(asked) == 2 and seed % len(METHODS) < 2:
        every = engine.pairwise_marginals()[tuple(variables[i].name for i in asked)]
        np.testing.assert_allclose(every.log_values, pair, rtol=CLOSE, atol=CLOSE)
    if method is not None and joint.size <= 40:
        ranked = np.sort(joint.reshape(-1)[joint.reshape(-1) > -np.inf])[::-1]
        best = engine.map_assignment(k=5)
        np.testing.assert_allclose(best.log_values, ranked[:5], rtol=CLOSE)
        assert len({tuple(sorted(a.items())) for a in best.assignments}) == len(best.assignments)
