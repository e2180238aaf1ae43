"""The store of a problem's numbers: entries, strides, scales, and what is left to logarithms."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest

import sepset as ss
from sepset.inference import costs
from sepset.inference.compiled.store import NEAR_BITS, FactorStore, LateStore, PartialStore, near_one
from sepset.problem import Problem
from support.random_models import markov_net, table_net


@pytest.mark.parametrize("kind", [table_net, markov_net])
def test_entries_are_found_by_strides(kind):
    for seed in range(20):
        case = kind(np.random.default_rng(seed))
        problem = case.model.problem()
        store = FactorStore.of(problem)
        assert store.num_factors == problem.num_factors
        for i, factor in enumerate(problem.factors()):
            scale = 2.0 ** float(store.exponents[i])
            for codes in np.ndindex(*(v.num_states for v in factor.scope)):
                place = sum(store.strides[i][v] * c for v, c in zip(problem.scope(i), codes, strict=True))
                states = {v.name: v.states[c] for v, c in zip(factor.scope, codes, strict=True)}
                value = math.exp(factor.log_value(states))
                assert store.values[store.layout.offsets[i] + place] * scale == pytest.approx(value, rel=1e-12)


def test_stores_of_many_factors_are_laid_out_before_these_are_read(monkeypatch):
    for seed in range(10):
        problem = table_net(np.random.default_rng(seed)).model.problem()
        expected, late = FactorStore.of(problem), LateStore.waiting(problem)
        np.testing.assert_array_equal(late.layout.numbers, expected.layout.numbers)
        np.testing.assert_array_equal(late.values, expected.values)
        np.testing.assert_array_equal(late.exponents, expected.exponents)
        assert (late.is_safe, late.has_zeros) == (expected.is_safe, expected.has_zeros)
    monkeypatch.setattr(costs, "VARIABLES_ALWAYS_PLANNED", 3)
    monkeypatch.setattr(ss.DeterministicCPD, "decomposition", None)
    roots = [ss.Discrete(f"r{i}") for i in range(40)]
    last = [ss.Discrete(f"f{i}") for i in range(30)]
    cpds = [ss.DeterministicCPD(v, lambda *x: max(x), given=roots[i : i + 9]) for i, v in enumerate(last)]
    net = ss.BayesNet(*(ss.TableCPD(v, [0.5, 0.5]) for v in roots), *cpds)
    with pytest.raises(ss.TooLarge, match="largest of the plan's tables"):
        ss.query(net, "r9", given={v.name: 1 for v in last}, method=ss.CliqueTree(memory=2**7))


@pytest.mark.parametrize("kind", [table_net, markov_net])
def test_parts_of_stores_hold_what_the_whole_does(kind):
    for seed in range(30):
        rng = np.random.default_rng(seed)
        problem = kind(rng).model.problem()
        whole, late = FactorStore.of(problem), LateStore.waiting(problem)
        if problem.num_factors:
            assert late.holding(np.arange(problem.num_factors)) is late
        part = PartialStore.waiting(problem)
        known = set()
        for _ in range(3):
            numbers = np.flatnonzero(rng.random(problem.num_factors) < 0.4)
            part.read(numbers)
            known |= set(numbers.tolist())
            for n in known:
                own = slice(*whole.layout.offsets[n : n + 2])
                np.testing.assert_array_equal(part.values[own], whole.values[own])
                assert part.exponents[n] == whole.exponents[n]
        assert not whole.is_safe or part.is_safe


def test_factors_beyond_linear_arithmetic_are_known_in_parts():
    wide, far = ss.Table(ss.Discrete("a"), [1.0, 1e-140]), ss.Table(ss.Discrete("b"), [2.0**-300, 2.0**-301])
    problem = ss.MarkovNet(wide, far).problem()
    part = PartialStore.waiting(problem)
    part.read(np.array([1]))
    assert part.is_safe
    assert (part.values[2:] * 2.0 ** float(part.exponents[1])).tolist() == [2.0**-300, 2.0**-301]
    part.read(np.array([0]))
    assert not part.is_safe


def test_questions_of_large_models_read_the_factors_they_need(monkeypatch):
    monkeypatch.setattr(costs, "VARIABLES_ALWAYS_PLANNED", 3)
    rng = np.random.default_rng(0)
    v = [ss.Discrete(f"v{i}") for i in range(60)]
    cpds = [ss.TableCPD(u, rng.dirichlet([1.0, 1.0], (2,) * (i % 3)), given=v[i - i % 3 : i]) for i, u in enumerate(v)]
    net, read = ss.BayesNet(*cpds), []
    of_all = Problem.factor

    def counted(self, number):
        if self.num_factors == len(v):
            read.append(number)
        return of_all(self, number)

    monkeypatch.setattr(Problem, "factor", counted)
    engine = ss.prepare(net)
    for name, given in [("v5", {}), ("v4", {"v5": 1}), ("v8", {"v7": 0})]:
        parts = ss.BayesNet(*[cpds[i] for i in range(60) if i // 3 == int(name[1:]) // 3])
        expected = ss.query(parts, name, given=given, method=ss.VariableElimination())
        assert engine.query(name, given=given).values == pytest.approx(expected.values, rel=1e-12)
    assert set(read) == set(range(3, 9))
    for copied in (pickle.loads(pickle.dumps(engine)), copy.deepcopy(engine)):
        assert copied.query("v5").values == pytest.approx(engine.query("v5").values, rel=1e-12)
    effects = engine.sensitivity("v5", state=1)
    assert set(read) == set(range(3, 9))
    assert {one.child for one in effects} == {"v3", "v4", "v5"}


def test_scopes_as_compressed_rows():
    store = FactorStore.of(ss.datasets.load("student").problem())
    start, members, strides = store.rows
    for i, own in enumerate(store.strides):
        assert members[start[i] : start[i + 1]].tolist() == list(own)
        assert strides[start[i] : start[i + 1]].tolist() == list(own.values())


def test_sparse_factors_become_dense():
    a, b = ss.Discrete("a", 3), ss.Discrete("b", 3)
    net = ss.BayesNet(ss.TableCPD(a, [0.2, 0.3, 0.5]), ss.DeterministicCPD(b, lambda x: 2 - x, given=a))
    store = FactorStore.of(net.problem())
    assert store.values[store.layout.offsets[1] :].reshape(3, 3).tolist() == np.eye(3)[::-1].tolist()


def test_a_problem_without_factors():
    store = FactorStore.of(ss.MarkovNet(variables=[ss.Discrete("a")]).problem())
    assert (store.num_factors, len(store.values), store.is_safe) == (0, 0, True)


@pytest.mark.parametrize(("smallest", "safe"), [(1e-100, True), (1e-140, False), (0.0, True)])
def test_wide_ranges_are_left_to_logarithms(smallest, safe):
    factor = ss.Table(ss.Discrete("a"), [1.0, smallest])
    assert FactorStore.of(ss.MarkovNet(factor).problem()).is_safe is safe


def test_entries_far_from_one_are_scaled_by_a_power_of_two():
    entries = np.array([0.0, 3.0, 1.0]) * 2.0**-300
    near, shift = near_one(entries)
    assert 0.5 <= near.max() < 1.0
    np.testing.assert_array_equal(near * 2.0**shift, entries)
    close = np.array([1.0, 2.0 ** (NEAR_BITS - 1)])
    assert near_one(close)[0] is close
    assert near_one(np.zeros(2))[1] == 0


def test_split_has_an_axis_for_each_variable():
    problem = ss.datasets.load("student").problem()
    store = FactorStore.of(problem)
    for number, part in enumerate(store.split(problem, store.values)):
        np.testing.assert_array_equal(part, problem.factor(number).values)
