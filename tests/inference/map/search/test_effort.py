"""The estimate of an exact answer is the cost of a real elimination, and only large discrete models have one."""

import numpy as np

import sepset as ss
from sepset.inference.map.search.effort import LEAST, greedy_entries


def chain(n, states=3):
    return ss.MarkovNet.potts(ss.Discrete.array("x", (1, n), states=states), 1.0)


def test_entries_are_those_of_the_cliques():
    # a chain: one table of 9 entries per pair, at most one further per end
    n = LEAST + 6
    found = greedy_entries(chain(n).problem(), ())
    assert 9 * (n - 1) <= found <= 9 * n
    # an observed variable in the middle takes away two pairs
    assert found - 20 <= greedy_entries(chain(n).problem(), [n // 2]) < found


def test_small_and_continuous_models_have_none():
    assert greedy_entries(chain(LEAST - 1).problem(), ()) == 0.0
    assert greedy_entries(chain(LEAST).problem(), [0]) == 0.0
    a = ss.Real("a")
    net = ss.BayesNet([ss.LinearGaussian(a, 0.0, covariance=1.0)])
    assert greedy_entries(net.problem(), ()) == 0.0


def test_what_would_take_minutes_is_searched_first(monkeypatch):
    from sepset.engine import assignments

    rng = np.random.default_rng(0)
    pixel = ss.Discrete.array("pixel", (4, 130))
    net = ss.MarkovNet.potts(pixel, 0.7, log_values=rng.normal(size=(4, 130, 2)))
    exact = ss.map_assignment(net)
    assert "search" not in exact.info
    monkeypatch.setattr(assignments, "LONG", 100.0)
    found = ss.map_assignment(net)
    assert found.info["search"] == "MinCut"
    assert "entries" in str(found.info["why"])
    assert dict(found.assignment) == dict(exact.assignment)
    glass = ss.MarkovNet.potts(pixel, -0.7, log_values=np.zeros((4, 130, 2)))
    stopped = ss.map_assignment(glass, until=1)
    assert "search" in stopped.info
