"""The choice of an executor: linear where values allow, logarithms else, supports where they are there."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import sepset as ss
from sepset.inference.compiled.dense import DenseRun
from sepset.inference.compiled.execution import is_linear, run, run_tensors
from sepset.inference.compiled.logspace import LogRun
from sepset.inference.compiled.store import FactorStore, FactorValues
from sepset.inference.compiled.supports import SupportRun
from sepset.variables.evidence import Evidence
from support.tolerances import CLOSE


def engine_of(model, **settings):
    return ss.CliqueTree(**settings).prepare(model.problem())


def asked(tables, evidence, kind="joint", targets=(0,)):
    compiler = tables.compiler
    return compiler.question(kind, targets, compiler.planner.pattern(evidence))


def test_numbers_and_likelihoods_that_leave_room_are_linear():
    narrow, wide = (ss.MarkovNet(ss.Table(ss.Discrete("a"), [1.0, low])) for low in (1e-100, 1e-200))
    assert is_linear(FactorStore.of(narrow.problem()), Evidence())
    assert not is_linear(FactorStore.of(wide.problem()), Evidence())
    store = FactorStore.of(narrow.problem())
    assert is_linear(store, Evidence({}, {0: np.array([1.0, 0.0])}))
    assert is_linear(store, Evidence({}, {0: np.array([0.0, 0.0])}))
    assert not is_linear(store, Evidence({}, {0: np.array([1.0, 1e-200])}))


@pytest.mark.parametrize(("given", "kind"), [([0.2, 1.0], DenseRun), ([1e-200, 1.0], LogRun)])
def test_the_evidence_decides_between_linear_numbers_and_logarithms(given, kind):
    net = ss.datasets.load("asia")
    tables, weights = engine_of(net), np.array(given)
    values, evidence = FactorValues(tables.problem, tables.store), Evidence({}, {1: weights})
    question = asked(tables, evidence, targets=(1,))
    for found in (run(question, values, evidence, None), run_tensors(question, values, evidence)):
        with found:
            assert isinstance(found, kind)
            mass = ss.query(net, "tub", method=ss.inference.BruteForce()).values * weights
            np.testing.assert_allclose(found.joint(), mass / mass.sum(), rtol=CLOSE)
            assert found.log_partition == pytest.approx(np.log(mass.sum()), abs=CLOSE)


def test_a_range_that_shows_only_in_the_run_turns_to_logarithms():
    a, b = ss.Discrete("a", 2), ss.Discrete("b", 2)
    tables = engine_of(ss.MarkovNet(*(ss.Table((a, b), [[1.0, 2.0**-100], [1.0, 2.0**-95]]) for _ in range(6))))
    values = FactorValues(tables.problem, tables.store)
    assert is_linear(tables.store, Evidence())
    with run_tensors(asked(tables, Evidence(), targets=(0, 1)), values, Evidence()) as found:
        assert isinstance(found, LogRun)
        assert found.log_partition == pytest.approx(np.log(2.0 + 2.0**-600 + 2.0**-570), abs=CLOSE)


def test_supports_run_joints_and_singles_and_nothing_else():
    net = ss.datasets.load("asia")
    tables = engine_of(net, zeros="sparse")
    values, supports = FactorValues(tables.problem, tables.store), tables.compiler.supports
    for kind, targets in (("joint", (3,)), ("marginals", tuple(range(8)))):
        question = asked(tables, Evidence(), kind, targets)
        with run(question, values, Evidence(), supports) as found:
            assert isinstance(found, SupportRun)
        with run_tensors(question, values, Evidence()) as found:
            assert isinstance(found, DenseRun)


def wide_ring(num, bits, seed):
    """A ring of variables, with numbers between one and two to minus `bits`; and its exact joint, by fractions."""
    rng = np.random.default_rng(seed)
    ring = [ss.Discrete(f"x{i}", 2 + i % 2) for i in range(num)]
    tables = []
    for i in rng.permutation(num):
        pair = ring[i], ring[(i + 1) % num]
        powers = rng.integers(0, bits, size=[v.num_states for v in pair])
        tables.append((pair, rng.uniform(1.0, 2.0, powers.shape) * 2.0**-powers))
    joint = {}
    for codes in itertools.product(*(range(v.num_states) for v in ring)):
        code = dict(zip(ring, codes, strict=True))
        joint[codes] = math.prod(Fraction(float(t[code[a], code[b]])) for (a, b), t in tables)
    return ss.MarkovNet(*(ss.Table(pair, values) for pair, values in tables)), ring, joint


def log_of(number):
    """The logarithm of a fraction of any size."""
    shift = number.numerator.bit_length() - number.denominator.bit_length()
    return math.log(number / Fraction(2) ** shift) + shift * math.log(2.0)


@pytest.mark.parametrize("zeros", ["dense", "sparse"])
@pytest.mark.parametrize("bits", [100, 200, 300, 390])
@pytest.mark.parametrize("seed", range(3))
def test_wide_ranges_meet_exact_sums(bits, seed, zeros):
    model, ring, joint = wide_ring(7, bits, seed)
    engine, total = ss.prepare(model, method=ss.CliqueTree(zeros=zeros)), sum(joint.values())
    answers = engine.marginals()
    assert answers.log_partition == pytest.approx(log_of(total), rel=1e-12, abs=1e-12)
    for place, v in enumerate(ring):
        found = answers[v.name].log_values
        for state in range(v.num_states):
            exact = log_of(sum(p for codes, p in joint.items() if codes[place] == state) / total)
            assert found[state] == pytest.approx(exact, rel=1e-12, abs=1e-12)
    names = [v.name for v in model.variables]
    asked_for = [names.index(ring[i].name) for i in (4, 1)]
    pair = engine.prepared.query(asked_for, Evidence()).distribution.log_values
    for i, j in np.ndindex(pair.shape):
        exact = log_of(sum(p for codes, p in joint.items() if codes[4] == i and codes[1] == j) / total)
        assert pair[i, j] == pytest.approx(exact, rel=1e-12, abs=1e-12)


def repeated_chain(copies, seed=0):
    """A chain of three variables with each table several times, so that ranges add up; and its exact joint."""
    rng = np.random.default_rng(seed)
    chain = [ss.Discrete(name, n) for name, n in (("a", 2), ("b", 3), ("c", 2))]
    tables = []
    for pair in itertools.pairwise(chain):
        powers = rng.permutation(6).reshape([v.num_states for v in pair]) * 45
        tables += [(pair, rng.uniform(1.0, 2.0, powers.shape) * 2.0**-powers) for _ in range(copies)]
    joint = {
        codes: math.prod(Fraction(float(t[codes[chain.index(a)], codes[chain.index(b)]])) for (a, b), t in tables)
        for codes in itertools.product(range(2), range(3), range(2))
    }
    return ss.MarkovNet(*(ss.Table(pair, values) for pair, values in tables)), joint


@pytest.mark.parametrize(("copies", "kind"), [(1, DenseRun), (2, DenseRun), (3, DenseRun), (9, LogRun)])
def test_wide_tensors_stay_linear_where_no_product_leaves_the_range(copies, kind):
    model, joint = repeated_chain(copies)
    tables, total = engine_of(model), sum(joint.values())
    values = FactorValues(tables.problem, tables.store)
    with run(asked(tables, Evidence(), "marginals", (0, 1, 2)), values, Evidence(), None) as done:
        assert isinstance(done, kind)
        logs = done.log_singles()
        for place in range(3):
            for state, found in enumerate(logs[done.question.places[place]]):
                exact = log_of(sum(p for codes, p in joint.items() if codes[place] == state) / total)
                assert found == pytest.approx(exact, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("copies", range(1, 8))
def test_answers_below_the_range_of_floats_keep_their_logarithms(copies):
    model, joint = repeated_chain(copies, seed=copies)
    engine, total = ss.prepare(model), sum(joint.values())
    found = engine.prepared.query([2, 0, 1], Evidence()).distribution.log_values
    for codes, mass in joint.items():
        assert found[codes[2], codes[0], codes[1]] == pytest.approx(log_of(mass / total), rel=1e-12, abs=1e-12)
    assert engine.marginals().log_partition == pytest.approx(log_of(total), rel=1e-12, abs=1e-12)


def test_findings_that_make_a_range_wide_and_narrow_again():
    model, ring, joint = wide_ring(6, 250, 5)
    engine = ss.prepare(model, method=ss.CliqueTree(zeros="dense"))
    for state in (0, 1, 2, 0, 2):
        total = sum(p for codes, p in joint.items() if codes[3] == state % ring[3].num_states)
        found = engine.marginals(given={ring[3].name: ring[3].states[state % ring[3].num_states]})
        assert found.log_partition == pytest.approx(log_of(total), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("bits", [1, 250, 390])
@pytest.mark.parametrize("seed", range(4))
def test_axes_in_the_order_of_steps_give_the_same_answers(seed, bits, monkeypatch):
    monkeypatch.setattr("sepset.inference.costs.ENTRIES_FOR_FREE_AXES", 0)
    model, ring, joint = wide_ring(7, bits, seed)
    names = [v.name for v in model.variables]
    engine, weights = ss.prepare(model, method=ss.CliqueTree(zeros="dense")), [0.25, 0.5, 0.125]
    for state in range(2):
        given = {ring[2].name: ring[2].states[state], ring[5].name: ss.Likelihood(weights[: ring[5].num_states])}
        mass = {
            codes: p * Fraction(weights[codes[5]]) if codes[2] == state else Fraction(0) for codes, p in joint.items()
        }
        total, found = sum(mass.values()), engine.marginals(given=given)
        assert found.log_partition == pytest.approx(log_of(total), rel=1e-12, abs=1e-12)
        for place in (0, 1, 3, 4, 5, 6):
            for code, value in enumerate(found[ring[place].name].log_values):
                exact = log_of(sum(p for codes, p in mass.items() if codes[place] == code) / total)
                assert value == pytest.approx(exact, rel=1e-12, abs=1e-12)
    places = [names.index(ring[i].name) for i in (6, 0, 3)]
    table = engine.prepared.query(places, Evidence()).distribution.log_values
    total = sum(joint.values())
    for code in np.ndindex(table.shape):
        exact = sum(p for codes, p in joint.items() if (codes[6], codes[0], codes[3]) == code)
        assert table[code] == pytest.approx(log_of(exact / total), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("name", ["asia", "alarm", "hailfinder"])
def test_networks_with_axes_in_the_order_of_steps(name, monkeypatch):
    net = ss.datasets.load(name)
    by_rank = ss.prepare(net, method=ss.CliqueTree(zeros="dense")).marginals()
    monkeypatch.setattr("sepset.inference.costs.ENTRIES_FOR_FREE_AXES", 0)
    free = ss.prepare(net, method=ss.CliqueTree(zeros="dense")).marginals()
    for variable in net.variables:
        np.testing.assert_allclose(free[variable.name].values, by_rank[variable.name].values, rtol=CLOSE, atol=0)
