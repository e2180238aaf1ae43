"""Most probable assignments: looked into by name, variable or array, and printed with their gap."""

from __future__ import annotations

import math

import numpy as np
import pytest

import sepset as ss
from sepset.inference.mapresult import Assignment, MapResult
from sepset.inference.result import Guarantee
from sepset.variables.universe import Universe

A, B = ss.Discrete("a", ("u", "v")), ss.Discrete("b", 3)
ABOUT = {"method": ss.inference.BruteForce(), "guarantees": {"assignment": Guarantee.EXACT}}


def map_result(**more):
    found = ({"a": "v", "b": 2}, {"a": "u", "b": 0})
    return MapResult(found, (-1.0, -2.0), log_partition_of=lambda: -0.5, **more, **ABOUT)


def test_map_results_are_looked_into_by_name_variable_or_array():
    best = map_result(bound=-1.0)
    assert best.assignment == {"a": "v", "b": 2}
    assert (best["a"], best[B], best.log_value, best.gap) == ("v", 2, -1.0, 0.0)
    assert best.probability == pytest.approx(math.exp(-0.5))
    assert map_result(bound=-0.25).gap == 0.75
    assert repr(best) == "MapResult(a='v', b=2; log value -1; exact)"
    with pytest.raises(ss.errors.ScopeError, match=r"does not cover 'aa'. Did you mean 'a'"):
        best["aa"]
    spins = ss.Discrete.array("s", (2, 2), states=(-1, 1))
    states = {v.name: (-1, 1)[i % 2] for i, v in enumerate(spins)}
    known = Universe([A, spins])
    grid = MapResult((states,), (0.0,), log_partition_of=lambda: 0.0, variables=known, **ABOUT)
    np.testing.assert_array_equal(grid[spins], [[0, 1], [0, 1]])
    assert grid.codes.tolist() == [-1, 0, 1, 0, 1]


def test_assignments_from_codes_are_mappings_without_names_of_their_own():
    known = Universe([A, ss.Discrete.array("s", (2,), states=(-1, 1)), B])
    found = Assignment(known, np.array([1, 0, 1, -1]))
    assert (len(found), dict(found), found == {"a": "v", "s[0]": -1, "s[1]": 1}) == (3, {**found}, True)
    assert (found[A], "b" in found, "s[1]" in found) == ("v", False, True)
    with pytest.raises(ss.errors.ScopeError, match="does not cover 'b'"):
        found["b"]
    many = MapResult((found,), (0.0,), log_partition_of=lambda: 0.0, bound=0.5, variables=known, **ABOUT)
    assert many.codes is found.codes
    assert repr(many) == "MapResult(a='v', s[0]=-1, s[1]=1; log value 0, gap 0.5; exact)"


def test_long_assignments_print_short_and_tables_show_all_ranks():
    from rich.console import Console

    long = MapResult(({f"v{i}": i for i in range(9)},), (0.0,), log_partition_of=lambda: 0.0, **ABOUT)
    assert "... 9 variables" in repr(long)
    console = Console(width=100)
    with console.capture() as captured:
        console.print(map_result())
    assert "#2" in captured.get()


@pytest.mark.parametrize("method", [None, ss.CliqueTree(), ss.BranchAndBound()])
def test_all_states_of_an_exact_answer_are_persistent(method):
    best = ss.map_assignment(ss.datasets.load("asia"), given={"dysp": "yes"}, method=method)
    assert dict(best.persistent).items() >= {k: v for k, v in best.assignment.items() if k != "dysp"}.items()


def test_a_frame_has_a_row_per_assignment():
    net = ss.datasets.load("asia")
    best = ss.map_assignment(net, given={"xray": "yes"}, k=3)
    frame = best.to_frame()
    assert list(frame) == [*best.assignment, "log_value"]
    assert [dict(row) for _, row in frame.drop(columns="log_value").iterrows()] == [dict(a) for a in best.assignments]
    assert frame["log_value"].tolist() == list(best.log_values)
    assert best.to_frame("polars").shape == (3, 8)


def test_an_assignment_of_probability_zero_says_what_to_use():
    a, b, c = (ss.Discrete(n) for n in "abc")
    odd = ss.MarkovNet(*(ss.Table(pair, [[0, 1], [1, 0]]) for pair in ((a, b), (b, c), (a, c))))
    found = ss.map_assignment(odd, method=ss.ICM())
    assert found.log_value == -np.inf
    assert "no possible assignment was found; HybridBestFirst() finds one" in str(found)
    with pytest.raises(ss.ImpossibleEvidence, match="Factor 2 over 'a', 'c' allows no joint state"):
        ss.map_assignment(odd, method=ss.inference.HybridBestFirst())


def test_real_values_have_six_digits_and_a_density():
    state, place = ss.Discrete("d", (0.5, 1.5)), ss.Vector("p", 2)
    line = ss.LinearGaussian(place, {0.5: [0.0, 1 / 3], 1.5: [2.0, 1.0]}, covariance=np.eye(2), by=state)
    net = ss.BayesNet(ss.TableCPD(state, [0.25, 0.75]), line)
    text = str(ss.map_assignment(net, k=2))
    assert "density" in text
    assert f"{0.75 / (2 * np.pi):.6g}" in text
    assert "d=0.5, p=(0, 0.333333)" in text
    assert "probability" in str(ss.map_assignment(net, k=2, over="d"))
