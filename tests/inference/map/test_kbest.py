"""The k most probable assignments: all of them, in order, each once."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import oracle
import sepset as ss
from sepset.inference.map.kbest import k_best, partitioned
from sepset.variables.evidence import Evidence
from support.blocks import in_blocks
from support.counted_orders import CountedOrders
from support.random_models import markov_net
from support.tolerances import TIE

A, B = ss.Discrete("a", 2), ss.Discrete("b", 3)
METHODS = [ss.inference.BruteForce(), ss.VariableElimination(), ss.CliqueTree()]


@pytest.mark.parametrize(
    "method", [ss.inference.BruteForce(), ss.VariableElimination(), ss.CliqueTree()], ids=lambda m: type(m).__name__
)
@in_blocks("seed", range(25))
def test_asking_for_all_ranks_the_whole_support(method, seed):
    case = markov_net(np.random.default_rng([seed, 1]), ties=bool(seed % 2))
    expected = oracle.k_best(case.factors, case.cards, 10**6)
    found = k_best(method.prepare(case.model.problem()), Evidence(), range(len(case.cards)), 10**6)
    np.testing.assert_allclose([b.log_value for b in found], [value for _, value in expected], rtol=0, atol=TIE)
    cells = {tuple(int(b.values[v]) for v in range(len(case.cards))) for b in found}
    assert cells == {tuple(one.values()) for one, _ in expected}


def test_fewer_come_back_where_fewer_are_possible():
    model = ss.MarkovNet(ss.Table((A, B), [[1, 0, 2], [0, 0, 0]]))
    result = ss.map_assignment(model, k=5)
    assert [tuple(one.values()) for one in result.assignments] == [(0, 2), (0, 0)]
    assert result.log_values == pytest.approx((math.log(2), 0.0))


def test_likelihoods_and_masks_combine():
    model = ss.MarkovNet(ss.Table(B, [1, 1, 1]))
    result = ss.map_assignment(model, given={"b": ss.Likelihood([3, 0, 2])}, k=3)
    assert [one["b"] for one in result.assignments] == [0, 2]
    assert result.probability == pytest.approx(0.6)


def test_an_impossible_problem_has_one_answer_of_value_zero():
    model = ss.MarkovNet(ss.Table(A, [0, 0]))
    assert [b.log_value for b in k_best(ss.inference.BruteForce().prepare(model.problem()), Evidence(), [0], 3)] == [
        -math.inf
    ]


def test_reals_have_no_second_best():
    net = ss.BayesNet(ss.LinearGaussian(ss.Real("x"), 1.0, covariance=1.0))
    assert ss.map_assignment(net, k=1).assignment == {"x": 1.0}
    with pytest.raises(ss.errors.NotApplicable, match=r"continuous ones have no second best. Use k=1"):
        ss.map_assignment(net, k=2)


def test_cells_do_not_make_new_plans():
    """Every cell asks the same question under other masks, so one plan serves all of them."""
    variables = [ss.Discrete(f"x{i}", 3) for i in range(6)]
    rng = np.random.default_rng(0)
    model = ss.MarkovNet(*(ss.Table(p, rng.random((3, 3))) for p in itertools.pairwise(variables)))
    orders = CountedOrders()
    engine = ss.prepare(model, method=ss.VariableElimination(order=orders))
    engine.map_assignment(k=20)
    assert orders.made == 1


@in_blocks("seed", range(8))
def test_partitions_find_the_same(seed):
    case = markov_net(np.random.default_rng([seed, 2]), ties=False)
    over = list(range(len(case.cards)))[: 1 + seed % len(case.cards)]
    prepared = ss.CliqueTree().prepare(case.model.problem())
    found, expected = k_best(prepared, Evidence(), over, 12), partitioned(prepared, Evidence(), over, 12)
    np.testing.assert_allclose([b.log_value for b in found], [b.log_value for b in expected], rtol=0, atol=TIE)
    apart = np.abs(np.diff([b.log_value for b in found])) > TIE
    for place in range(len(found)):
        if apart[max(place - 1, 0) : place + 1].all():
            assert dict(found[place].values) == dict(expected[place].values)


@pytest.mark.parametrize("given", [{}, {"xray": "yes"}, {"xray": ss.Likelihood([0.9, 0.2]), "dysp": "no"}], ids=str)
@pytest.mark.parametrize("over", [["lung", "tub"], ["smoke", "bronc", "either", "asia"], ["dysp", "lung"]], ids=str)
def test_over_some_variables_the_rest_is_summed_out(over, given):
    """Against the joint of these variables with the findings."""
    asia = ss.datasets.load("asia")
    free = [name for name in over if not isinstance(given.get(name), str)]
    table = ss.query(asia, free, given=given, method=ss.inference.BruteForce())
    expected = sorted((p for p in table.values.reshape(-1).tolist() if p > 0), reverse=True)[:5]
    found = ss.map_assignment(asia, given=given, over=over, k=5)
    np.testing.assert_allclose(found.probabilities, expected, atol=1e-12)
    for assignment, probability in zip(found.assignments, found.probabilities, strict=True):
        assert list(assignment) == over
        assert table[{name: assignment[name] for name in free}] == pytest.approx(probability, abs=1e-12)


def test_tables_that_do_not_fit_are_not_made():
    """Without room for the elimination the method maximizes again and again; without room for the answers none do."""
    asia = ss.datasets.load("asia")
    method = ss.inference.RecursiveConditioning(memory=6000)
    assert ss.map_assignment(asia, k=3, method=method).log_values == pytest.approx(
        ss.map_assignment(asia, k=3).log_values
    )
    with pytest.raises(ss.TooLarge, match="256 assignments of 8 variables need about"):
        ss.map_assignment(asia, k=1000, method=ss.CliqueTree(memory=100_000))


def test_a_variable_without_factors_is_ranked_too():
    model = ss.MarkovNet(ss.Table(A, [1, 3]), variables=[A, B])
    found = ss.map_assignment(model, k=10)
    assert [one["a"] for one in found.assignments] == [1, 1, 1, 0, 0, 0]
    assert {one["b"] for one in found.assignments} == {0, 1, 2}
