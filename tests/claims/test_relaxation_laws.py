"""Linear programs for best assignments beside SciPy's, on the book's own rows: section 13.5.

The programs here are built from definitions in `support.textbook`, entry by entry.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import sepset as ss
from support.blocks import in_blocks
from support.enumerated import Case, random_case
from support.textbook import Weighted, program, relaxed

LOOSE = ss.LinearProgram()


def frustrated(equal=1.0, other=2.0):
    table = np.log([[equal, other], [other, equal]])
    return Case((2, 2, 2), tuple((pair, table) for pair in ((0, 1), (1, 2), (0, 2))))


def test_the_printed_columns_and_rows():
    """Examples 13.15 and 13.16, with C ternary: 16 columns, 3 + 2 + 3 + 2 rows of rank 7, and 12 whole points."""
    cards, scopes = (2, 2, 3), ((0, 1), (1, 2), (0, 2))
    parts = [(scope, np.zeros([cards[v] for v in scope])) for scope in scopes]
    gains, rows, right = program(cards, parts)
    assert (len(gains), rows.shape, np.linalg.matrix_rank(rows)) == (16, (10, 16), 7)
    expected = np.zeros((2, 16))
    expected[0, [0, 2]], expected[0, [4, 5, 6]] = 1.0, -1.0  # q11 + q13 = q21 + q22 + q23
    expected[1, [1, 3]], expected[1, [7, 8, 9]] = 1.0, -1.0  # q12 + q14 = q24 + q25 + q26
    np.testing.assert_array_equal(rows[3:5], expected)
    assert sum(bool(row[:4].any()) for row in rows[3:]) == 4  # of the first factor: two with each of the others
    assert [int(v) for v in np.unravel_index(3, (2, 3))] == [1, 0]  # the fourth entry of (A, C) is (a1, c0)
    corners = itertools.product(np.eye(4), np.eye(6), np.eye(6))
    whole = [p for p in map(np.concatenate, corners) if (rows @ p == right).all()]
    assert len(whole) == 12
    states = set()
    for point in whole:
        starts = ((0, 4, (2, 2)), (4, 10, (2, 3)), (10, 16, (2, 3)))
        chosen = [np.unravel_index(point[i:j].argmax(), shape) for i, j, shape in starts]
        (a, b), (b2, c), (a2, c2) = chosen
        assert (a, b, c) == (a2, b2, c2)
        states.add((a, b, c))
    assert len(states) == 12  # proposition 13.4: assignments, one to one


@in_blocks("seed", range(24))
def test_bounds_are_those_of_the_definition(seed):
    """Factors that share several variables agree on their joint states; zeros are entries that must be zero."""
    rng = np.random.default_rng([seed, 1])
    case = random_case(rng, most=4, states=3, arity=3, density=0.7, zeros=0.2 * (seed % 3 == 0), whole=seed % 2 == 0)
    loose = [scope for scope, _ in case.parts]
    parts = [*case.parts, *(((i,), np.zeros(c)) for i, c in enumerate(case.cards) if (i,) not in loose)]
    if case.best == -np.inf:
        return
    expected = relaxed(case.cards, parts)
    found = ss.map_assignment(case.net, method=LOOSE)
    assert found.bound == pytest.approx(expected, abs=1e-6)
    assert found.log_value <= case.best + 1e-9 <= expected + 1e-7
    if found.info["is_integral"]:
        assert found.log_value == pytest.approx(case.best, abs=1e-9)
    whole = ss.map_assignment(case.net, method=ss.LinearProgram(integer=True))
    assert whole.log_value == pytest.approx(case.best, abs=1e-9)


def test_triplets_are_further_regions():
    """Cluster pursuit ends at the program with all triplets; the frustrated triangle falls from 3 log 2 to 2 log 2."""
    case = frustrated()
    assert relaxed(case.cards, case.parts) == pytest.approx(3 * np.log(2.0))
    assert relaxed(case.cards, case.parts, [(0, 1, 2)]) == pytest.approx(np.log(4.0))
    assert (case.logs > np.log(4.0) - 1e-9).sum() == 6
    friendly = frustrated(2.0, 1.0)
    assert relaxed(friendly.cards, friendly.parts) == pytest.approx(np.log(8.0)) == friendly.best
    helped = 0
    for seed in range(6):
        rng = np.random.default_rng([seed, 2])
        pairs = itertools.combinations(range(5), 2)
        glass = Case((2,) * 5, tuple((pair, 2.0 * rng.normal() * np.eye(2)) for pair in pairs))
        all_triplets = list(itertools.combinations(range(5), 3))
        loose, tight = relaxed(glass.cards, glass.parts), relaxed(glass.cards, glass.parts, all_triplets)
        assert ss.map_assignment(glass.net, method=LOOSE).bound == pytest.approx(loose, abs=1e-6)
        # Cycles alone have the same value: all odd ones of a complete graph are sums of its triangles.
        found = ss.map_assignment(glass.net, method=ss.LinearProgram(tighten="triplets"))
        assert tight - 1e-6 <= found.bound <= loose + 1e-6
        assert found.bound == pytest.approx(tight, abs=1e-5)
        helped += tight < loose - 1e-3
    assert helped >= 3


def test_mixtures_of_assignments_have_the_best_value():
    """A linear objective over the marginal polytope: the maximum over vertices, which are the assignments."""
    for seed in range(10):
        case = random_case(np.random.default_rng([seed, 3]), most=4, arity=2)
        rng = np.random.default_rng(seed)
        weights = rng.dirichlet(np.ones(case.logs.size), 50)
        assert (weights @ case.logs.reshape(-1) <= case.best + 1e-12).all()
        alone = [((i,), np.zeros(c)) for i, c in enumerate(case.cards)]
        whole = tuple(range(len(case.cards)))
        assert relaxed(case.cards, [*case.parts, *alone], [whole]) == pytest.approx(case.best, abs=1e-7)


def rounded(case, q):
    """Greedy rounding by its definition: each variable takes the state with the best expectation of the rest."""
    beliefs, codes = [t.copy() for t in q], []
    tables = [logs for _, logs in case.parts]
    for i, card in enumerate(case.cards):
        scores, made = [], []
        for state in range(card):
            cut = []
            for (scope, _), belief in zip(case.parts, beliefs, strict=True):
                if i in scope:
                    mask = np.zeros(belief.shape)
                    mask[tuple(state if v == i else slice(None) for v in scope)] = 1.0
                    total = (belief * mask).sum()
                    belief = belief * mask / total if total > 0.0 else mask / mask.sum()
                cut.append(belief)
            made.append(cut)
            scores.append(sum(float((b * t).sum()) for b, t in zip(cut, tables, strict=True)))
        codes.append(int(np.argmax(scores)))
        beliefs = made[codes[-1]]
    return tuple(codes)


def test_whole_solutions_are_their_own_rounding():
    for seed in range(12):
        rng = np.random.default_rng([seed, 4])
        case = Case((2, 3, 2), tuple((p, rng.normal(size=s)) for p, s in (((0, 1), (2, 3)), ((1, 2), (3, 2)))))
        best = np.unravel_index(case.logs.argmax(), case.cards)
        q = []
        for scope, logs in case.parts:  # a tree: the program is tight, and its solution this vertex
            point = np.zeros(logs.shape)
            point[tuple(best[v] for v in scope)] = 1.0
            q.append(point)
        assert rounded(case, q) == best
        found = ss.map_assignment(case.net, method=LOOSE)
        assert tuple(found.codes) == best
        assert found.info["is_integral"]
    halves = [np.array([[0.0, 0.5], [0.5, 0.0]])] * 3  # the only solution of the frustrated triangle
    assert frustrated().logs[rounded(frustrated(), halves)] == pytest.approx(np.log(4.0))


def test_expected_values_fall_to_the_program_with_the_temperature():
    """Equations 13.24 to 13.31 with convex numbers: F(T) / T is the energy functional of factors to the power 1 / T."""
    for seed in range(2):
        rng = np.random.default_rng([seed, 5])
        parts = [(pair, rng.normal(size=(2, 2))) for pair in itertools.combinations(range(4), 2)]
        case, last = Case((2,) * 4, tuple(parts)), -np.inf
        best = relaxed(case.cards, case.parts)
        for temperature in (1.0, 0.3, 0.1):
            cold = [(scope, logs / temperature) for scope, logs in parts]
            plain = Weighted(case.cards, cold, 1.0, 0.5, is_max=False)
            assert plain.converged(5000, 0.0, 1e-8)
            q = [np.exp(plain.region(r)) for r in range(len(parts))]
            energy = sum(
                float((np.squeeze(b).reshape(2, 2) * logs).sum()) for b, (_, logs) in zip(q, parts, strict=True)
            )
            assert last - 1e-9 <= energy <= best + 1e-9
            tables = [ss.Table.from_log([case.variables[v] for v in s], t) for s, t in cold]
            found = ss.marginals(ss.MarkovNet(*tables), method=ss.inference.ConvexBP(1.0, 0.5, until=20_000))
            np.testing.assert_allclose(found["v0"].values, np.exp(plain.single(0)).reshape(-1), atol=1e-6)
            last = energy
        assert last == pytest.approx(best, abs=0.3)
        limit = [temperature * plain.region(r) for r in range(len(parts))]
        for r, (i, j) in enumerate(pair for pair, _ in parts):  # theorem 13.9: calibrated by maxima, up to the entropy
            for v in (i, j):
                axes = tuple(a for a in range(4) if a != v)
                peak, own = limit[r].max(axis=axes), temperature * plain.single(v).reshape(-1)
                assert np.abs((peak - peak.max()) - (own - own.max())).max() <= 2 * temperature * np.log(2.0) + 1e-6
        total = sum(limit) + 0.5 * temperature * sum(plain.single(i) for i in range(4))
        assert np.ptp(total - case.logs) < 1e-6  # and the model
