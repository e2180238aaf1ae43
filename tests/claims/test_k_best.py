"""The k best assignments come from one calibrated tree: each further one is read from it, not maximized again.

The work is counted by a method that counts how often it is asked to maximize: once for the best, and for each next one
at most twice (Yanover & Weiss, 2004), however many variables there are. Partitioning after each solution without kept
maxima asks once for every variable and every solution.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import sepset as ss
from support.tolerances import CLOSE


class Counted:
    """A method that counts the maximizations its prepared form is asked for."""

    def __init__(self, method):
        self.method = method
        self.num_maximizations = 0

    def promises(self, problem):
        return self.method.promises(problem)

    def prepare(self, problem):
        return CountedPrepared(self, self.method.prepare(problem))


class CountedPrepared:
    """What was prepared, each of its maximizations counted."""

    def __init__(self, counter, prepared):
        self.counter = counter
        self.prepared = prepared

    def best(self, evidence, over):
        self.counter.num_maximizations += 1
        return self.prepared.best(evidence, over)

    def __getattr__(self, name):
        return getattr(self.prepared, name)


def counted(net, k, given=None, over=None):
    method = Counted(ss.CliqueTree())
    found = ss.map_assignment(net, given=given, over=over, k=k, method=method)
    assert len(found.assignments) == k
    assert list(found.log_values) == sorted(found.log_values, reverse=True)
    return method.num_maximizations


@pytest.mark.parametrize(
    ("name", "given"),
    [("asia", {}), ("asia", {"xray": "yes"}), ("alarm", {}), ("alarm", {"HRBP": "HIGH", "PRESS": "LOW"})],
)
def test_each_further_assignment_takes_a_bounded_number_of_maximizations(name, given):
    assert counted(ss.datasets.load(name), 12, given) <= 2 * 12 + 1


def test_the_work_does_not_grow_with_the_number_of_variables():
    """Chains of 6 and of 24 variables, the same eight best."""
    found = []
    for length in (6, 24):
        xs = [ss.Discrete(f"x{i}") for i in range(length)]
        rng = np.random.default_rng(length)
        pairs = [ss.Table(pair, rng.uniform(0.1, 1.0, (2, 2))) for pair in itertools.pairwise(xs)]
        found.append(counted(ss.MarkovNet(*pairs), 8))
    assert found[1] <= found[0] + 8


@pytest.mark.parametrize("given", [{}, {"xray": "yes"}, {"xray": "yes", "smoke": "no"}], ids=str)
@pytest.mark.parametrize("k", [1, 7, 40])
def test_they_are_the_best_of_all_assignments(given, k):
    """Against every assignment of a network of eight variables."""
    asia = ss.datasets.load("asia")
    letters = {name: chr(97 + place) for place, name in enumerate(asia.variables.names)}
    axes = ["".join(letters[v.name] for v in (*cpd.parents, cpd.child)) for cpd in asia.cpds]
    table = np.einsum(",".join(axes) + "->" + "".join(letters.values()), *(cpd.values for cpd in asia.cpds))
    for name, state in given.items():
        table = table.take([asia[name].states.index(state)], axis=asia.variables.names.index(name))
    values = np.sort(table.ravel())[::-1]
    expected = np.log(values[values > 0][:k])
    found = ss.map_assignment(asia, given=given, k=k)
    np.testing.assert_allclose(found.log_values, expected, rtol=0, atol=CLOSE)
    assert len({tuple(sorted(a.items())) for a in found.assignments}) == len(expected)
