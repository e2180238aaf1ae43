"""Max-marginals without a tree, against all assignments."""

from __future__ import annotations

import itertools
import math
import pickle

import numpy as np
import pytest

import sepset as ss
from support.tolerances import CLOSE

NUM = 34


def logistic(rng, num):
    causes, y = [ss.Discrete(f"c{i}") for i in range(num)], ss.Discrete("y")
    weights, priors = rng.normal(size=num), rng.uniform(0.1, 0.9, num)
    return ss.BayesNet(
        *(ss.TableCPD(c, [1.0 - p, p]) for c, p in zip(causes, priors, strict=True)),
        ss.LogisticCPD(y, dict(zip(causes, weights.tolist(), strict=True)), bias=-0.3),
    )


@pytest.mark.parametrize("seed", range(5))
def test_maxima_are_those_of_all_assignments(seed):
    """Elimination has no tree: each state is asked for."""
    rng = np.random.default_rng(seed)
    net = logistic(rng, 5)
    given = [{}, {"y": 1}, {"y": ss.Likelihood([0.2, 0.9]), "c0": 1}, {"c1": {0, 1}, "c2": ss.Likelihood([0.0, 1.0])}]
    for known in given:
        found = ss.max_marginals(net, given=known, method=ss.VariableElimination())
        expected = ss.max_marginals(net, given=known)
        assert type(found) is not type(expected)
        assert found.log_value == pytest.approx(expected.log_value, abs=CLOSE)
        for name in net.variables.names:
            np.testing.assert_allclose(found[name].log_values, expected[name].log_values, atol=CLOSE)
        np.testing.assert_allclose(found["c3", "y"].log_values, brute(net, known, "c3", "y"), atol=CLOSE)
        assert found.best_states == expected.best_states
        assert found.is_best(found.assignment)
        assert found.conflicts(found.assignment) == []
        other = {**found.assignment, "c4": 1 - found.assignment["c4"]}
        assert found.log_value_of(other) == pytest.approx(expected.log_value_of(other), abs=CLOSE)
        assert found.conflicts(other) == [("c4",)]


def brute(net, known, a, b):
    """The largest log value of each joint state of two variables."""
    logs = np.full((2, 2), -np.inf)
    names = net.variables.names
    for states in itertools.product((0, 1), repeat=len(names)):
        row = dict(zip(names, states, strict=True))
        weight = 1.0
        for name, finding in known.items():
            if isinstance(finding, ss.Likelihood):
                weight *= dict(enumerate(finding.weights))[row[name]]
            else:
                weight *= row[name] in (finding if isinstance(finding, set) else {finding})
        if weight > 0.0:
            value = math.log(weight) + float(ss.log_probability(net, given=row))
            logs[row[a], row[b]] = max(logs[row[a], row[b]], value)
    return logs


def test_causes_that_act_differently():
    """2^34 joint states of the parents, and one search for each state that is looked at."""
    rng = np.random.default_rng(1)
    net = logistic(rng, NUM)
    found = ss.max_marginals(net, given={"y": 1})
    best = ss.map_assignment(net, given={"y": 1})
    assert found.log_value == pytest.approx(best.log_value, abs=CLOSE)
    assert dict(found.assignment) == {k: v for k, v in best.assignment.items() if k != "y"}
    for name in ("c0", "c7"):
        for state in (0, 1):
            with_it = ss.map_assignment(net, given={"y": 1, name: state}).log_value
            assert found[name].log_values[state] == pytest.approx(with_it, abs=CLOSE)
    assert pickle.loads(pickle.dumps(found)).log_value == found.log_value


def test_impossible_evidence_and_too_many_states_are_refused():
    a, b = ss.Discrete("a"), ss.Discrete("b")
    net = ss.BayesNet(ss.TableCPD(a, [1.0, 0.0]), ss.TableCPD(b, [[0.5, 0.5], [0.5, 0.5]], given=a))
    with pytest.raises(ss.ImpossibleEvidence):
        ss.max_marginals(net, given={"a": 1}, method=ss.VariableElimination())
    wide = ss.max_marginals(logistic(np.random.default_rng(0), 14), method=ss.VariableElimination())
    with pytest.raises(ss.TooLarge, match="13 variables"):
        wide[tuple(f"c{i}" for i in range(13))]


def test_hundreds_of_likelihoods_are_added_as_logarithms():
    """The product of their weights is below the smallest float; the best of a chain is known by hand."""
    num = 400
    bits = [ss.Discrete(f"b{i}") for i in range(num)]
    equal = [ss.Table(pair, [[3.0, 1.0], [1.0, 3.0]]) for pair in itertools.pairwise(bits)]
    known = {b.name: ss.Likelihood([1e-3, 2e-3]) for b in bits}
    found = ss.max_marginals(ss.MarkovNet(*equal), given=known, method=ss.VariableElimination())
    best = (num - 1) * math.log(3.0) + num * math.log(2e-3)
    assert found.log_value == pytest.approx(best, rel=1e-12)
    zeros = dict.fromkeys(found.assignment, 0)
    assert found.log_value_of(zeros) == pytest.approx(best - num * math.log(2.0), rel=1e-12)
    mixed = {name: i % 2 for i, name in enumerate(found.assignment)}
    expected = num // 2 * (math.log(1e-3) + math.log(2e-3))
    assert found.log_value_of(mixed) == pytest.approx(expected, rel=1e-12)
