import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given, strategies as st

from sepset.errors import ArgumentError, ModelError, ScopeError
from sepset.variables.array import VariableArray, grid_pairs
from sepset.variables.variable import Discrete
from support.bounded import within

shapes = st.lists(st.integers(0, 4), min_size=1, max_size=3).map(tuple)


@given(shapes)
def test_elements_in_c_order(shape):
    array = Discrete.array("x", shape, states=("a", "b"))
    expected = [Discrete("x", ("a", "b"), index=index) for index in np.ndindex(shape)]
    assert list(array) == expected
    assert len(array) == len(expected)
    assert [array.element(i) for i in range(len(array))] == expected
    assert [array[v.index] for v in expected] == expected
    assert [array.position(v.index) for v in expected] == list(range(len(array)))


def test_indices():
    array = Discrete.array("x", (2, 3))
    assert array[-1, -1] == array[1, 2]
    assert Discrete.array("y", 4)[-1].name == "y[3]"
    for bad in ((2, 0), (0,), (0, 0, 0), (-3, 0), 1):
        with pytest.raises(ScopeError, match=r"shape \(2, 3\); there is no element"):
            array[bad]
    assert array.position((2, 0)) is None
    assert array.position((0,)) is None
    assert array.position((-1, 0)) is None


@pytest.mark.parametrize("shape", [(), (-1,), (2, True), -1])
def test_bad_shapes(shape):
    with pytest.raises(ModelError, match=r"shape of at least one size|is a whole number of at least 0"):
        Discrete.array("x", shape)


def test_bad_names_and_states():
    with pytest.raises(ModelError, match="non-empty string"):
        VariableArray("", 3)
    with pytest.raises(ModelError, match="no states"):
        VariableArray("x", 3, states=())


def test_values():
    array = Discrete.array("x", (2, 2), states=(-1, 1))
    assert array == Discrete.array("x", [2, 2], states=(-1, 1))
    assert array != Discrete.array("x", (2, 2))
    assert array != "x"
    assert hash(array) == hash(pickle.loads(pickle.dumps(array)))
    assert pickle.loads(pickle.dumps(array)) == array
    assert (array.states, array.num_states) == ((-1, 1), 2)
    assert repr(array) == "Discrete.array('x', (2, 2), (-1, 1))"
    with pytest.raises(AttributeError, match="immutable"):
        array.shape = (3,)


def neighbors(shape, connectivity):
    """Pairs of cells one step apart along one axis, or along two at once."""
    cells = list(np.ndindex(shape))
    pairs = set()
    for (i, a), (j, b) in itertools.combinations(enumerate(cells), 2):
        steps = sorted(abs(p - q) for p, q in zip(a, b, strict=True))
        if steps[-1] == 1 and sum(steps) <= connectivity:
            pairs.add((i, j))
    return pairs


@given(shapes, st.sampled_from([1, 2]))
def test_grid_edges(shape, connectivity):
    pairs = grid_pairs(shape, connectivity)
    found = [tuple(sorted(pair)) for pair in pairs.tolist()]
    assert len(set(found)) == len(found)
    assert set(found) == neighbors(shape, connectivity)
    assert pairs.dtype == np.int32
    edges = Discrete.array("x", shape).grid_edges(connectivity)
    assert len(edges) == len(found)
    assert repr(edges) == f"Edges({len(found)} pairs of x)"


def test_bad_connectivity():
    with pytest.raises(ArgumentError, match="connectivity= is 1"):
        grid_pairs((2, 2), 3)


def test_a_million_variables_cost_one_object():
    pixel = within(1.0, lambda: Discrete.array("pixel", (1024, 1024)))
    edges = within(4.0, pixel.grid_edges)
    assert len(edges) == 2 * 1024 * 1023
    assert pixel[512, 7].name == "pixel[512,7]"
