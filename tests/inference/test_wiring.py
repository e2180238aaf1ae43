"""A wired model has the values of the problem it came from, at any evidence."""

import itertools

import numpy as np
import pytest

import sepset as ss
from sepset.errors import NotApplicable
from sepset.factors.block import FactorBlock, Single
from sepset.factors.potentials import (
    Ising,
    Potts,
)
from sepset.factors.table import Table
from sepset.inference.plugs import parts_of
from sepset.inference.wiring import Wiring
from sepset.kernels.propagation.wires import POTTS
from sepset.potentials import over_scopes
from sepset.problem import Problem
from sepset.variables.evidence import Evidence
from sepset.variables.universe import Universe
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
    variables = Universe([Discrete(n) for n in "abc"])
    wiring = Wiring.of(Problem(variables, (FactorBlock(pairs, (2, 2), values=logs, space="log"),)))
    assert wiring.wires.kinds.tolist() == [POTTS, POTTS]
    np.testing.assert_allclose(wiring.wires.weights, np.log([2.0, 0.5]))
    assert wiring.log_value([0, 0, 0]) == pytest.approx(np.log(6.0))
    assert Wiring.of(Problem(variables, (FactorBlock(pairs, (2, 2), values=Ising(0.3)),))).log_value([0, 0, 1]) == 0.0


def apart(problem: Problem) -> Problem:
    """The same factors one by one, in the same order."""
    variables = problem.variables
    return Problem(
        variables,
        tuple(Single(b.factor(i, variables), b.scopes[i]) for b in problem.blocks for i in range(len(b))),
    )


def tabled_blocks(rng: np.random.Generator) -> Problem:
    """Blocks of tables of several shapes, some of which only tell equal from unequal states."""
    cards = rng.integers(1, 4, 7)
    blocks = []
    for _ in range(6):
        shape = tuple(cards[rng.permutation(7)[: rng.integers(1, 4)]].tolist())
        rows = [r for r in itertools.permutations(range(7), len(shape)) if tuple(cards[list(r)].tolist()) == shape]
        rows = rng.permutation(rows)[: rng.integers(1, 6)]
        values = rng.integers(1, 4, (len(rows), *shape)).astype(float)
        if len(shape) == 2 and shape[0] == shape[1]:
            alike = 2.0 + np.eye(shape[0]) * rng.normal(size=(len(rows), 1, 1))
            values = np.where(rng.random((len(rows), 1, 1)) < 0.5, np.abs(alike), values)
        blocks.append(FactorBlock(rows, shape, values=values * (rng.random(values.shape) > 0.05)))
    return Problem(Universe([Discrete(f"v{i}", int(card)) for i, card in enumerate(cards)]), tuple(blocks))


@in_blocks("seed", range(100))
def test_blocks_are_the_same_factors_one_by_one(seed):
    rng = np.random.default_rng([seed, 1])
    problem = tabled_blocks(rng)
    seen = {v: int(rng.integers(c)) for v, c in enumerate(problem.variables.cards.tolist()) if rng.random() < 0.2}
    block, single = (Wiring.of(p, Evidence(seen)) for p in (problem, apart(problem)))
    for name in ("numbers", "free"):
        np.testing.assert_array_equal(getattr(block, name), getattr(single, name))
    for name in ("cards", "starts", "scope", "kinds", "weights", "limits"):
        np.testing.assert_array_equal(getattr(block.plugs, name), getattr(single.plugs, name))
    assert (np.diff(block.numbers) > 0).all()
    np.testing.assert_allclose(block.unary, single.unary, atol=1e-12)
    assert block.constant == pytest.approx(single.constant, abs=1e-12)
    for f in range(block.num_factors):
        np.testing.assert_array_equal(block.table(f), single.table(f))


def test_many_single_tables_are_wired_as_one_block():
    """A thousand factors: as many parts as there are shapes."""
    rng = np.random.default_rng(0)
    variables = [Discrete(f"v{i}", 2 + i % 2) for i in range(500)]
    pairs = [(i, (7 * i + 1) % 500) for i in range(500)]
    shapes = [(variables[i].num_states, variables[j].num_states) for i, j in pairs]
    tables = [Table([variables[i], variables[j]], rng.random(s)) for (i, j), s in zip(pairs, shapes, strict=True)]
    alone = [Table(v, rng.random(v.num_states)) for v in variables]
    problem = Problem.of_factors(Universe(variables), [*alone, *tables], scopes=[*([i] for i in range(500)), *pairs])
    assert len(list(parts_of(problem, Evidence()))) == 2 + len(set(shapes))
    wiring = Wiring.of(problem)
    for f in (0, 17, 499):
        np.testing.assert_array_equal(wiring.table(f), np.log(tables[f].values))


def test_a_large_grid_is_a_few_arrays():
    array = Discrete.array("pixel", (300, 300), states=4)
    problem = Problem(Universe([array]), (FactorBlock(array.grid_edges().pairs, (4, 4), values=Potts(0.5)),))
    wiring = Wiring.of(problem)
    assert (wiring.num_variables, wiring.num_factors, wiring.wires.tables.size) == (90_000, 2 * 300 * 299, 0)
    assert wiring.log_value(np.zeros(90_000, np.int64)) == pytest.approx(0.5 * 2 * 300 * 299)


def test_only_single_tables_make_variables(monkeypatch):
    array, switch = Discrete.array("pixel", (40, 40)), Discrete("switch")
    model = ss.MarkovNet.potts(array, 0.5)
    tables = ss.Table([switch], [1.0, 3.0]), ss.Table([array[3, 4], switch], [[1.0, 2.0], [3.0, 4.0]])
    problem = ss.MarkovNet(*model.factors, *tables).problem()
    made, look_up = [], Universe.__getitem__
    monkeypatch.setattr(Universe, "__getitem__", lambda self, place: made.append(place) or look_up(self, place))
    wiring = Wiring.of(problem)
    assert len(made) <= 3
    assert wiring.log_value(np.ones(1601, np.int64)) == pytest.approx(0.5 * 2 * 40 * 39 + np.log(12.0))


def test_open_continuous_variables_are_refused_by_name():
    with pytest.raises(NotApplicable, match="height"):
        Wiring.of(Problem(Universe([Real("height")]), ()))


@pytest.mark.parametrize("size", [1e150, -1e300])
def test_log_values_that_would_overflow_are_refused_by_place(size):
    variables = Universe([Discrete("a"), Discrete("b")])
    pair = FactorBlock([[0, 1]], (2, 2), values=np.array([[0.0, size], [-np.inf, 1.0]]), space="log")
    single = FactorBlock([[1]], (2,), values=np.array([0.0, 1e99]), space="log")
    with pytest.raises(NotApplicable, match=r"up to 1e\+100 in size; those of factor 1 are larger"):
        Wiring.of(Problem(variables, (single, pair)))
    with pytest.raises(NotApplicable, match=r"those of factor 0 are larger"):
        Wiring.of(Problem(variables, (FactorBlock([[0, 1]], (2, 2), values=Potts(size)),)))
    many = FactorBlock([[1]] * 20, (2,), values=np.array([0.0, 1e99]), space="log")
    with pytest.raises(NotApplicable, match=r"those of 'b' alone are larger"):
        Wiring.of(Problem(variables, (many,)))
    assert Wiring.of(Problem(variables, (single,))).largest_size == 1e99


def test_soft_findings_are_refused_by_name():
    problem = Problem(Universe([Discrete("a")]), ())
    with pytest.raises(NotApplicable, match=r"Soft findings are fitted before a model is wired; found 'a'"):
        Wiring.of(problem, Evidence(soft={0: np.array([0.5, 0.5])}))


def test_factors_are_met_breadth_first_and_cycles_are_seen():
    x = ss.Discrete.array("x", 6)
    net = ss.MarkovNet(over_scopes([[4, 5], [1, 2], [0, 1], [2, 0], [2, 3]], Potts(1.0), array=x))
    wiring = Wiring.of(net.as_written())
    whole = wiring.traversal
    assert not whole.is_forest
    assert sorted(whole.order.tolist()) == list(range(5))
    assert set(whole.order[:2].tolist()) == {2, 3}
    assert whole.order[-1] == 0
    cut = wiring.traversal_of(np.array([0, 0, 0, 1, 0], np.uint8))
    assert cut.is_forest
    assert cut.order.tolist() == [2, 1, 4, 0]
    assert cut.up.reshape(-1, 2)[[2, 1, 4, 0]].tolist() == [[1, 0]] * 4
