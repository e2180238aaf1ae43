"""Best assignments of problems with concave functions: variables summed out first, and refusals of wide tables."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss
from sepset.inference import maxima
from support.tolerances import CLOSE

ON, CLASS = ss.Discrete("y"), ss.Discrete("class", 3)


def network(num):
    """Causes with a common class, each with a symptom of its own, and a noisy-or of all causes."""
    rng = np.random.default_rng(num)
    vs = [ss.Discrete(f"c{i}") for i in range(num)]
    cpds = [ss.TableCPD(CLASS, [0.2, 0.3, 0.5])]
    cpds += [ss.TableCPD(v, rng.dirichlet([3.0, 1.0], size=3), given=CLASS) for v in vs]
    cpds += [ss.TableCPD(ss.Discrete(f"s{i}"), rng.dirichlet([1.0, 1.0], size=2), given=v) for i, v in enumerate(vs)]
    return vs, ss.BayesNet(*cpds, ss.NoisyOr(ON, {v: rng.uniform(0.05, 0.9) for v in vs}, leak=0.01))


@pytest.mark.parametrize("given", [{"y": 1}, {"y": 1, "s0": 1, "s2": 0}, {"y": 0}, {}])
def test_classes_are_summed_out(monkeypatch, given):
    """The causes alone are asked for; the class is not, nor are symptoms that were not observed."""
    vs, net = network(6)
    shape = [v.num_states for v in net.variables]
    columns = dict(zip(net.variables, np.indices(shape).reshape(len(shape), -1), strict=True))
    joint = np.exp(sum(cpd.log_probability(columns) for cpd in net.cpds)).reshape(shape)
    known = joint[tuple(given.get(v.name, slice(None)) for v in net.variables)]
    free = [v for v in net.variables if v.name not in given]
    table = known.sum(axis=tuple(i for i, v in enumerate(free) if v not in vs))
    monkeypatch.setattr("sepset.cpds.discrete.MOST_TABLED", 8)
    monkeypatch.setattr("sepset.cpds.discrete.MOST_ENTRIES", 8)
    monkeypatch.setattr("sepset.inference.rewriting.MOST_TABLED", 8)
    for k in (1, 4):
        found = ss.map_assignment(net, over=vs, given=given, k=k)
        np.testing.assert_allclose(found.log_values, np.sort(np.log(table).ravel())[::-1][:k], rtol=CLOSE)


def test_wide_tables_are_left_to_bounds(monkeypatch):
    """Without frontiers the answer is the same."""
    _, net = network(30)
    expected = ss.map_assignment(net, given={"y": 1}).log_value
    monkeypatch.setattr(maxima, "MOST_ENTRIES", 1)
    assert ss.map_assignment(net, given={"y": 1}).log_value == pytest.approx(expected, rel=CLOSE)


def test_a_frontier_without_proof_is_searched_once(monkeypatch):
    _, net = network(30)
    monkeypatch.setattr("sepset.inference.buckets.frontier.MOST_WORK", 0)
    expected = ss.map_assignment(net, given={"y": 1}).log_value
    calls = []
    search = maxima.Frontiers.best
    monkeypatch.setattr(maxima.Frontiers, "best", lambda *args: calls.append(1) or search(*args))
    assert ss.map_assignment(net, given={"y": 1}).log_value == pytest.approx(expected, rel=CLOSE)
    assert len(calls) == 1
