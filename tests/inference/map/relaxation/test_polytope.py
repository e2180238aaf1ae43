"""The local polytope: its columns, its rows, its points."""

import itertools

import numpy as np
import pytest

import sepset as ss
from sepset.inference.map.dual import bound_of
from sepset.inference.map.relaxation.highs import linear_optimum
from sepset.inference.map.relaxation.polytope import Polytope, projected
from sepset.inference.map.relaxation.regions import Regions
from sepset.inference.wiring import Wiring
from support.blocks import in_blocks
from support.wired import best_value, local_polytope, random_binary, random_problem


def _triangle():
    """A binary, B binary, C ternary, one factor per pair."""
    a, b, c = ss.Discrete("a"), ss.Discrete("b"), ss.Discrete("c", 3)
    rng = np.random.default_rng(0)
    return ss.MarkovNet(
        *(ss.Table(s, rng.gamma(1.0, size=[v.num_states for v in s])) for s in ((a, b), (b, c), (a, c)))
    )


def test_the_printed_rows_of_the_triangle():
    # Koller & Friedman, examples 13.15 and 13.16: 16 variables, 3 + 2 + 3 + 2 rows of rank 7, 12 whole points.
    shapes, starts = [(2, 2), (2, 3), (2, 3)], [0, 4, 10, 16]
    rows = []
    for number, shape in enumerate(shapes):
        row = np.zeros(16)
        row[starts[number] : starts[number] + np.prod(shape)] = 1.0
        rows.append(row)
    for (one, axis), (two, other), card in [((0, 1), (1, 0), 2), ((1, 1), (2, 1), 3), ((0, 0), (2, 0), 2)]:
        for state in range(card):
            row = np.zeros(16)
            row[starts[one] : starts[one + 1]] = projected(shapes[one], (axis,)) == state
            row[starts[two] : starts[two + 1]] -= projected(shapes[two], (other,)) == state
            rows.append(row)
    matrix, right = np.array(rows), np.r_[np.ones(3), np.zeros(7)]
    assert matrix.shape == (10, 16)
    assert np.linalg.matrix_rank(matrix) == 7
    np.testing.assert_array_equal(np.flatnonzero(matrix[3]), [0, 2, 4, 5, 6])  # q11 + q13 = q21 + q22 + q23
    assert np.ravel_multi_index((1, 0), (2, 3)) == 3  # the fourth entry of (A, C) is (a1, c0)
    points = list(itertools.product(*(np.eye(int(np.prod(s))) for s in shapes)))
    assert sum(bool((matrix @ np.concatenate(p) == right).all()) for p in points) == 12


def test_rows_that_follow_from_others_are_left_out():
    polytope = Polytope.of(Regions.of(Wiring.of(_triangle().as_written())))
    assert polytope.num_columns == 16 + 7
    matrix = polytope.equal.toarray()
    assert np.linalg.matrix_rank(matrix) == len(matrix) == 3 + (2 + 1) + (2 + 2) + (2 + 2)


@in_blocks("seed", range(25))
def test_whole_points_are_the_assignments(seed):
    rng = np.random.default_rng(seed)
    wiring = Wiring.of(random_problem(rng))
    cards = [range(int(c)) for c in wiring.plugs.cards]
    regions = Regions.of(wiring)
    polytope = Polytope.of(regions)
    for codes in itertools.islice(itertools.product(*cards), 40):
        q = np.zeros(polytope.num_columns)
        columns = [int(polytope.states[wiring.plugs.states[i] + x]) for i, x in enumerate(codes)]
        for r in range(regions.wiring.num_factors):
            own = [codes[i] for i in regions.wiring.scope(r)]
            if polytope.is_compact(r):
                columns += [int(polytope.entries[r][own[0]])] if own[0] == own[1] else []
            else:
                columns.append(int(polytope.entries[r][np.ravel_multi_index(own, regions.shape(r))]))
        if wiring.consistent.log_value(codes) == -np.inf:
            assert min(columns, default=0) < 0 or wiring.constant == -np.inf
            continue
        q[columns] = 1.0
        np.testing.assert_allclose(polytope.equal @ q, polytope.right)
        assert (polytope.most @ q <= 0.0).all()
        assert wiring.constant + polytope.gains @ q == pytest.approx(wiring.log_value(codes))


@in_blocks("seed", range(40))
def test_the_dual_has_the_value_of_the_optimum(seed):
    rng = np.random.default_rng(seed)
    wiring = Wiring.of(random_problem(rng) if seed % 2 else random_binary(rng, one_state=0.0))
    regions = Regions.of(wiring)
    polytope = Polytope.of(regions)
    solution = linear_optimum(polytope)
    best = best_value(wiring)
    if best == -np.inf:
        return
    value = wiring.constant + polytope.gains @ solution.columns
    assert value >= best - 1e-7
    lambdas, messages = polytope.duals(solution)
    assert bound_of(regions.moved(lambdas), messages) == pytest.approx(value, abs=1e-6)
    if seed % 2 == 0 and not regions.inside and regions.wiring.num_factors == wiring.num_factors:
        assert value == pytest.approx(local_polytope(wiring), abs=1e-6)


def test_large_programs_are_refused_before_the_work():
    bit = ss.Discrete.array("bit", (40,))
    parity = ss.factors.FactorBlock([list(range(40))], (2,) * 40, values=ss.potentials.Parity())
    with pytest.raises(ss.TooLarge, match=r"1.1e\+12 columns"):
        ss.map_assignment(ss.MarkovNet(parity, variables=[bit]), method=ss.LinearProgram())
