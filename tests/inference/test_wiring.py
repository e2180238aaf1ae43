"""A wired model has the values of the problem it came from, at any evidence."""

import itertools

import numpy as np
import pytest

from sepset.errors import NotApplicable
from sepset.factors.block import FactorBlock
from sepset.factors.potentials import (
    Ising,
    Potts,
)
from sepset.inference.wiring import Wiring
from sepset.kernels.propagation.wires import POTTS
from sepset.problem import Problem
from sepset.variables.evidence import Evidence
from sepset.variables.universe import Variables
from sepset.variables.variable import Discrete, Real
from support.blocks import in_blocks
from support.wired import random_problem


def value_of(problem: Problem, codes) -> float:
    """The sum of all log factors at a complete assignment."""
    total = 0.0
    for block in problem.blocks:
        total += float(block.log_values(np.array([codes], np.int64).reshape(1, -1))[0])
    return total


@in_blocks("seed", range(150))
def test_values_are_those_of_the_problem(seed):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng)
    cards = problem.variables.cards.tolist()
    seen = {v: int(rng.integers(card)) for v, card in enumerate(cards) if rng.random() < 0.3}
    soft = {v: rng.random(card) * (rng.random(card) > 0.3) for v, card in enumerate(cards) if rng.random() < 0.2}
    wiring = Wiring.of(problem, Evidence(seen, soft))
    assert wiring.free.tolist() == [v for v in range(len(cards)) if v not in seen]
    for codes in itertools.product(*(range(cards[v]) for v in wiring.free)):
        whole = {**seen, **dict(zip(wiring.free.tolist(), codes, strict=True))}
        with np.errstate(divide="ignore"):
            weights = sum(float(np.log(soft[v][whole[v]])) for v in soft)
        expected = value_of(problem, [whole[v] for v in range(len(cards))]) + weights
        assert wiring.log_value(codes) == pytest.approx(expected, abs=1e-9)


@in_blocks("seed", range(60))
def test_tables_of_factors_add_up(seed):
    rng = np.random.default_rng(seed)
    wiring = Wiring.of(random_problem(rng))
    codes = np.array([rng.integers(card) for card in wiring.wires.cards], np.int64)
    total = wiring.constant + sum(wiring.logs(i)[codes[i]] for i in range(wiring.num_variables))
    total += sum(wiring.table(f)[tuple(codes[wiring.scope(f)])] for f in range(wiring.num_factors))
    assert wiring.log_value(codes) == pytest.approx(total, abs=1e-9)


def test_tables_that_tell_equal_from_unequal_become_weights():
    pairs, logs = [[0, 1], [1, 2]], np.log([[[2.0, 1.0], [1.0, 2.0]], [[3.0, 6.0], [6.0, 3.0]]])
    variables = Variables([Discrete(n) for n in "abc"])
    wiring = Wiring.of(Problem(variables, (FactorBlock(pairs, (2, 2), logs, space="log"),)))
    assert wiring.wires.kinds.tolist() == [POTTS, POTTS]
    np.testing.assert_allclose(wiring.wires.weights, np.log([2.0, 0.5]))
    assert wiring.log_value([0, 0, 0]) == pytest.approx(np.log(6.0))
    assert Wiring.of(Problem(variables, (FactorBlock(pairs, (2, 2), Ising(0.3)),))).log_value([0, 0, 1]) == 0.0


def test_a_large_grid_is_a_few_arrays():
    array = Discrete.array("pixel", (300, 300), states=4)
    problem = Problem(Variables([array]), (FactorBlock(array.grid_edges().pairs, (4, 4), Potts(0.5)),))
    wiring = Wiring.of(problem)
    assert (wiring.num_variables, wiring.num_factors, wiring.wires.tables.size) == (90_000, 2 * 300 * 299, 0)
    assert wiring.log_value(np.zeros(90_000, np.int64)) == pytest.approx(0.5 * 2 * 300 * 299)


def test_open_continuous_variables_are_refused_by_name():
    with pytest.raises(NotApplicable, match="height"):
        Wiring.of(Problem(Variables([Real("height")]), ()))


@pytest.mark.parametrize("size", [1e150, -1e300])
def test_log_values_that_would_overflow_are_refused_by_place(size):
    variables = Variables([Discrete("a"), Discrete("b")])
    pair = FactorBlock([[0, 1]], (2, 2), np.array([[0.0, size], [-np.inf, 1.0]]), space="log")
    single = FactorBlock([[1]], (2,), np.array([0.0, 1e99]), space="log")
    with pytest.raises(NotApplicable, match=r"up to 1e\+100 in size; those of factor 1 are larger"):
        Wiring.of(Problem(variables, (single, pair)))
    with pytest.raises(NotApplicable, match=r"those of factor 0 are larger"):
        Wiring.of(Problem(variables, (FactorBlock([[0, 1]], (2, 2), Potts(size)),)))
    many = FactorBlock([[1]] * 20, (2,), np.array([0.0, 1e99]), space="log")
    with pytest.raises(NotApplicable, match=r"those of 'b' alone are larger"):
        Wiring.of(Problem(variables, (many,)))
    assert Wiring.of(Problem(variables, (single,))).largest_size == 1e99


def test_soft_findings_are_refused_by_name():
    problem = Problem(Variables([Discrete("a")]), ())
    with pytest.raises(NotApplicable, match=r"Soft findings are fitted before a model is wired; found 'a'"):
        Wiring.of(problem, Evidence(soft={0: np.array([0.5, 0.5])}))
