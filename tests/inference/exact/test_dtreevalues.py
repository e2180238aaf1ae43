"""The compiled recursion: values of nodes, the cache within its size, and numbers far outside float64."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import sepset as ss
from sepset.inference import costs
from sepset.inference.exact.dtree import RESULT_BYTES, make_dtree, useful
from sepset.inference.exact.dtreevalues import Recursion, digits


def chain_tree(length, card=2):
    names = [f"x{i}" for i in range(length)]
    parents = {name: names[i - 1] if i else None for i, name in enumerate(names)}
    return make_dtree(parents, list(itertools.pairwise(names)), dict.fromkeys(names, card))


def chain_tables(length, rng, card=2):
    variables = [ss.Discrete(f"x{i}", card) for i in range(length)]
    return [ss.Table(pair, rng.random((card, card))) for pair in itertools.pairwise(variables)]


NOTHING = np.zeros((1, 0), np.int64)


@pytest.mark.parametrize("keep", [False, True])
def test_values_are_products_of_matrices_and_steps_are_as_planned(keep):
    tables = chain_tables(8, np.random.default_rng(0), 3)
    tree = chain_tree(8, 3)
    kept = useful(tree) if keep else ()
    recursion = Recursion(tree, kept, tables)
    expected = np.ones(3)
    for table in reversed(tables):
        expected = table.values @ expected
    values, exponents = recursion.profiles(0, NOTHING)
    np.testing.assert_allclose(values[0], expected, rtol=1e-13)
    assert exponents.tolist() == [[0, 0, 0]]
    assert recursion.num_steps == tree.steps(kept)
    assert recursion.num_bytes == RESULT_BYTES * sum(tree.sizes[node] for node in kept)
    assert recursion.cache.nbytes + recursion.cache_exponents.nbytes == recursion.num_bytes


def test_any_node_may_be_asked_and_kept_results_are_used_again():
    tables = chain_tables(8, np.random.default_rng(1))
    tree = chain_tree(8)
    recursion = Recursion(tree, useful(tree), tables)
    recursion.profiles(0, NOTHING)
    before = recursion.num_steps
    rows = np.array([[0], [1], [0]])
    values, _ = recursion.profiles(4, rows)
    assert recursion.num_steps - before == 6
    below = np.linalg.multi_dot([t.values for t in tables[4:]]) @ np.ones(2)
    np.testing.assert_allclose(values, (tables[3].values * below)[[0, 1, 0]], rtol=1e-13)


def test_maxima_and_sums_in_one_tree():
    a, b = ss.Discrete("a", 2), ss.Discrete("b", 3)
    tree = make_dtree({"a": None, "b": "a"}, [("a", "b")], {"a": 2, "b": 3})
    table = ss.Table((a, b), [[1, 2, 3], [4, 0, 1]])
    assert Recursion(tree, (), [table]).profiles(0, NOTHING)[0].tolist() == [[6, 5]]
    assert Recursion(tree, (), [table], [1]).profiles(0, NOTHING)[0].tolist() == [[3, 4]]


def test_zeros_end_their_branch():
    variables = [ss.Discrete(f"x{i}", 2) for i in range(30)]
    tables = [ss.Table(pair, np.eye(2)) for pair in itertools.pairwise(variables)]
    recursion = Recursion(chain_tree(30), (), tables)
    assert recursion.profiles(0, NOTHING)[0].tolist() == [[1.0, 1.0]]
    assert recursion.num_steps < 200
    dead = [ss.Table(variables[:2], np.zeros((2, 2))), *tables[1:]]
    assert np.isneginf(Recursion(chain_tree(30), (), dead).log_profiles(0, NOTHING)).all()


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("scale", [1e-200, 1e200, 1.0])
def test_thousands_of_extreme_factors_stay_in_range(scale, maximize):
    length = 2000
    variables = [ss.Discrete(f"x{i}", 2) for i in range(length)]
    block = np.array([[1.0, 0.25], [0.5, 0.125]])
    tables = [ss.Table(pair, block * scale) for pair in itertools.pairwise(variables)]
    tree = chain_tree(length)
    recursion = Recursion(tree, useful(tree), tables, range(length) if maximize else ())
    found = recursion.log_profiles(0, NOTHING)[0]
    vector, shift = np.ones(2), 0.0
    for _ in range(length - 1):
        vector = (block * vector).max(axis=1) if maximize else block @ vector
        shift += math.log(vector.max())
        vector = vector / vector.max()
    expected = np.log(vector) + shift + (length - 1) * math.log(scale)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_logarithmic_tables_and_values_of_every_size_in_one_sum():
    a, b = ss.Discrete("a", 3), ss.Discrete("b", 2)
    logs = np.array([[0.0, -5000.0], [-5000.0, -5001.0], [-math.inf, 3000.0]])
    tree = make_dtree({"a": None, "b": "a"}, [("a", "b")], {"a": 3, "b": 2})
    table = ss.Table.from_log((a, b), logs)
    assert table.space == "log"
    found = Recursion(tree, (), [table]).log_profiles(0, NOTHING)[0]
    np.testing.assert_allclose(found, [0.0, -5000.0 + math.log1p(math.exp(-1)), 3000.0], rtol=1e-12)
    best = Recursion(tree, (), [table], [1]).log_profiles(0, NOTHING)[0]
    np.testing.assert_allclose(best, [0.0, -5000.0, 3000.0], rtol=1e-12)
    top = make_dtree({"b": None, "a": "b"}, [("a", "b")], {"a": 3, "b": 2})
    for maximized in ((), [1]):
        found = Recursion(top, (), [table], maximized).log_profiles(0, NOTHING)[0]
        np.testing.assert_allclose(found, [0.0, 3000.0], atol=1e-9)


def test_contexts_come_in_chunks_in_c_order():
    names = [f"y{i}" for i in range(13)]
    tree = make_dtree({"x": None}, [("x", *names)], {"x": 2, **dict.fromkeys(names, 2)}, names)
    scope = [ss.Discrete(n, 2) for n in ("x", *names)]
    values = np.arange(2.0**14)
    recursion = Recursion(tree, (), [ss.Table(scope, values)])
    parts = [recursion.profiles(0, rows)[0] for _, rows in recursion.blocks(0)]
    assert [len(part) for part in parts] == [costs.CONTEXTS_AT_ONCE, costs.CONTEXTS_AT_ONCE]
    assert np.concatenate(parts).T.ravel().tolist() == values.tolist()
    assert digits(np.array([5]), (2, 3)).tolist() == [[1, 2]]
    assert digits(np.array([0]), ()).shape == (1, 0)


def test_an_interrupt_between_quanta_leaves_the_recursion_usable(monkeypatch):
    tables = chain_tables(12, np.random.default_rng(2))
    expected = Recursion(chain_tree(12), (), tables).profiles(0, NOTHING)[0]
    monkeypatch.setattr(costs, "STATES_UNINTERRUPTED", 100)
    recursion = Recursion(chain_tree(12), (), tables)
    np.testing.assert_array_equal(recursion.profiles(0, NOTHING)[0], expected)
    assert recursion.num_steps == chain_tree(12).steps()
    run, calls = recursion.machine.run, []

    class Interrupting:
        STEPS = recursion.machine.STEPS

        @staticmethod
        def run(*args):
            calls.append(1)
            if len(calls) == 3:
                raise KeyboardInterrupt
            return run(*args)

    recursion.machine = Interrupting
    with pytest.raises(KeyboardInterrupt):
        recursion.profiles(0, NOTHING)
    np.testing.assert_array_equal(recursion.profiles(0, NOTHING)[0], expected)
