"""Graph cuts, moves and linear-time messages beside SciPy's flows and enumeration: section 13.6 and exercise 13.17."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import sepset as ss
from support.blocks import in_blocks
from support.enumerated import Case
from support.textbook import cut, distances, relaxed

I = ss.inference


def energies(case):
    return -case.logs


def whole_case(seed, n=6, *, submodular=True):
    """Whole energies of binary variables in pairs: as a model, and as `cut` takes them."""
    rng = np.random.default_rng(seed)
    unary = rng.integers(0, 9, (n, 2))
    pairs = {}
    for pair in itertools.combinations(range(n), 2):
        e = rng.integers(0, 9, (2, 2))
        if submodular and e[0, 0] + e[1, 1] > e[0, 1] + e[1, 0]:
            e = e[:, ::-1]
        pairs[pair] = e
    parts = [((i,), -row.astype(float)) for i, row in enumerate(unary)]
    parts += [(pair, -e.astype(float)) for pair, e in pairs.items()]
    return Case((2,) * n, tuple(parts)), unary, {pair: e.tolist() for pair, e in pairs.items()}


def test_the_printed_cut():
    """Example 13.17: energy 6 at (1, 1, 1, 0); nodes alone have 7, and so have all zeros."""
    unary = [[7, 0], [0, 2], [0, 1], [0, 6]]
    weights = {(0, 1): 6, (1, 2): 6, (2, 3): 2, (0, 3): 1}
    pairs = {pair: [[0, w], [w, 0]] for pair, w in weights.items()}
    assert cut(unary, pairs) == (6, [1, 1, 1, 0])

    def energy(x):
        return sum(unary[i][s] for i, s in enumerate(x)) + sum(w for (i, j), w in weights.items() if x[i] != x[j])

    assert min(map(energy, itertools.product((0, 1), repeat=4))) == energy((1, 1, 1, 0)) == 6
    assert energy((1, 0, 0, 0)) == energy((0, 0, 0, 0)) == 7
    x = [ss.Discrete(f"x{i}") for i in range(4)]
    net = ss.MarkovNet.pairwise_energies(
        dict(zip(x, unary, strict=True)), {(x[i], x[j]): e for (i, j), e in pairs.items()}
    )
    found = ss.map_assignment(net, method=ss.MinCut())
    assert (found.codes.tolist(), found.log_value) == ([1, 1, 1, 0], -6.0)
    # The graph of the construction for Ising energies: both directions of each pair, one arc to each terminal.
    graph = I.FlowGraph(
        4,
        list(weights),
        forward=list(weights.values()),
        backward=list(weights.values()),
        from_source=[0, 2, 1, 6],
        to_sink=[7, 0, 0, 0],
    )
    assert graph.min_cut().value == 6.0
    assert graph.min_cut().sink_side.tolist() == [True, True, True, False]


@in_blocks("seed", range(40))
def test_algorithm_13_4_is_exact_and_so_is_the_program(seed):
    case, unary, pairs = whole_case([seed, 1])
    least, codes = cut(unary, pairs)
    assert least == energies(case).min() == energies(case)[tuple(codes)]
    found = ss.map_assignment(case.net, method=ss.MinCut())
    assert found.log_value == -least
    assert found.guarantees["assignment"] is ss.Guarantee.EXACT
    assert found.certificate.check()
    if seed < 6:
        assert relaxed(case.cards, case.parts) == pytest.approx(-least, abs=1e-6)


def test_submodular_semimetric_and_metric_costs_by_their_definitions():
    seen = {"submodular": set(), "semimetric": set(), "metric": set()}
    for seed in range(300):
        rng = np.random.default_rng(seed)
        k = int(rng.integers(2, 5))
        e = rng.integers(0, 4, (k, k)).astype(float)
        if seed % 2:
            e = (e + e.T) * (1 - np.eye(k)) + (seed % 4 == 1) * (1 - np.eye(k))
        states = range(k)
        submodular = all(
            e[a, b] + e[a + 1, b + 1] <= e[a, b + 1] + e[a + 1, b] for a in range(k - 1) for b in range(k - 1)
        )
        semimetric = all((e[a, b] == 0) == (a == b) and e[a, b] == e[b, a] for a in states for b in states)
        metric = semimetric and all(e[a, c] <= e[a, b] + e[b, c] for a in states for b in states for c in states)
        assert ss.potentials.is_submodular(e) == submodular
        assert ss.potentials.is_semimetric(e) == semimetric
        assert ss.potentials.is_metric(e) == metric
        for name, value in (("submodular", submodular), ("semimetric", semimetric), ("metric", metric)):
            seen[name].add(value)
    assert all(values == {True, False} for values in seen.values())
    apart = np.abs(np.subtract.outer(np.arange(6.0), np.arange(6.0)))
    assert ss.potentials.is_metric(np.minimum(apart, 2.0))
    assert ss.potentials.is_semimetric(apart**2)
    assert not ss.potentials.is_metric(apart**2)


def multi_case(seed, kind):
    """Five variables of three states in pairs of metric, or only semimetric, costs."""
    rng = np.random.default_rng(seed)
    apart = np.abs(np.subtract.outer(np.arange(3.0), np.arange(3.0)))
    cost = {"potts": 1.0 - np.eye(3), "linear": np.minimum(apart, 1.5), "quadratic": apart**2}[kind]
    parts = [((i,), -3.0 * rng.random(3)) for i in range(5)]
    parts += [(pair, -2.0 * rng.random() * cost) for pair in itertools.combinations(range(5), 2) if rng.random() < 0.8]
    return Case((3,) * 5, tuple(parts))


def moves(method, codes):
    """All assignments that one move reaches, by its definition."""
    if method == "expansion":
        for alpha in range(3):
            yield from itertools.product(*({c, alpha} for c in codes))
    else:
        for pair in itertools.combinations(range(3), 2):
            yield from itertools.product(*(set(pair) if c in pair else {c} for c in codes))


@pytest.mark.parametrize("kind", ["potts", "linear", "quadratic"])
def test_expansions_and_swaps_end_where_no_move_is_better(kind):
    for seed in range(15):
        case = multi_case([seed, 2], kind)
        least = energies(case).min()
        for name, method in (("expansion", ss.AlphaExpansion()), ("swap", ss.AlphaBetaSwap())):
            start = {f"v{i}": int(c) for i, c in enumerate(np.random.default_rng(seed).integers(3, size=5))}
            found = ss.map_assignment(case.net, method=method, start=start)
            codes = tuple(found.codes.tolist())
            energy = energies(case)[codes]
            assert energy == pytest.approx(-found.log_value, abs=1e-9)
            assert (np.diff(found.trace) >= -1e-12).all()  # never worse, and it ends
            if name == "swap" or kind != "quadratic":
                assert energy <= min(energies(case)[c] for c in moves(name, codes)) + 1e-9
            if name == "expansion" and kind != "quadratic":
                ratio = 1.0 if kind == "potts" else 1.5
                assert energy <= 2.0 * ratio * least + 1e-9


def test_truncated_terms_never_hurt():
    """Exercise 13.16: lower the energy of keeping, or raise that of the mixed cells, and the best choice improves."""
    for seed in range(200):
        case, unary, pairs = whole_case([seed, 4], n=5, submodular=False)
        lowered = {}
        for pair, e in pairs.items():
            excess = max(0, e[0][0] + e[1][1] - e[0][1] - e[1][0])
            lowered[pair] = [[e[0][0], e[0][1] + excess], [e[1][0], e[1][1]]]
        _, codes = cut(unary, lowered)
        assert energies(case)[tuple(codes)] <= energies(case)[(0,) * 5]
        if seed < 20:
            found = ss.map_assignment(case.net, method=ss.AlphaExpansion(), start={f"v{i}": 0 for i in range(5)})
            assert -found.log_value <= energies(case)[(0,) * 5] + 1e-9


def test_convex_costs_of_ordered_states_are_one_cut():
    """Ishikawa: a chain of arcs for each variable, arcs between layers from second differences, by SciPy's flow."""
    for seed in range(12):
        rng = np.random.default_rng([seed, 5])
        n, k = 4, 4
        unary = rng.integers(0, 20, (n, k))
        slopes = {pair: int(rng.integers(1, 5)) for pair in itertools.combinations(range(n), 2)}
        # State of v is the number of its layers on the side of the sink; |x - y| counts the layers that differ.
        single = np.zeros((n * (k - 1), 2), np.int64)
        layered = {}
        for v in range(n):
            for a in range(k - 1):
                single[v * (k - 1) + a, 1] = unary[v, a + 1] - unary[v, a]
                if a:
                    layered[v * (k - 1) + a - 1, v * (k - 1) + a] = [[0, 10_000], [0, 0]]
        for (v, w), slope in slopes.items():
            for a in range(k - 1):
                layered[v * (k - 1) + a, w * (k - 1) + a] = [[0, slope], [slope, 0]]
        least, sides = cut(single, layered)
        codes = tuple(np.array(sides).reshape(n, k - 1).sum(axis=1).tolist())
        apart = np.abs(np.subtract.outer(np.arange(k), np.arange(k))).astype(float)
        parts = [((v,), -unary[v].astype(float)) for v in range(n)]
        parts += [(pair, -slope * apart) for pair, slope in slopes.items()]
        case = Case((k,) * n, tuple(parts))
        assert energies(case).min() == least + unary[:, 0].sum() == energies(case)[codes]
        found = ss.map_assignment(case.net, method=ss.MinCut())
        assert -found.log_value == energies(case).min()
        assert found.guarantees["assignment"] is ss.Guarantee.EXACT


def glass(seed):
    """Whole couplings of six variables of either sign, which frustrate each other, and small fields."""
    rng = np.random.default_rng(seed)
    parts = [((i,), rng.integers(0, 4, 2).astype(float)) for i in range(6)]
    pairs = [pair for pair in itertools.combinations(range(6), 2) if rng.random() < 0.7]
    return Case((2,) * 6, (*parts, *((pair, float(rng.integers(-4, 5)) * np.eye(2)) for pair in pairs)))


def test_roof_duality_labels_agree_with_a_best_assignment_and_improve_any():
    labeled = set()
    for seed in range(30):
        case = glass([seed, 6])
        found = ss.map_assignment(case.net, method=ss.QPBO())
        kept = {int(name[1:]): state for name, state in found.persistent.items()}
        index = tuple(kept.get(v, slice(None)) for v in range(6))
        assert case.logs[index].max() == pytest.approx(case.best, abs=1e-9)
        for codes in itertools.product((0, 1), repeat=6):  # autarky
            assert case.logs[tuple(kept.get(v, c) for v, c in enumerate(codes))] >= case.logs[codes] - 1e-9
        assert found.bound == pytest.approx(relaxed(case.cards, case.parts), abs=1e-6)
        labeled.add(len(kept))
    assert {0, 6} <= labeled


@pytest.mark.parametrize("states", [2, 3, 7, 16])
def test_messages_of_distances_in_linear_time(states):
    """Exercise 13.17: Potts, 1-norm with and without truncation, and quadratic, beside all pairs of states.

    The best assignment of a variable with its own log values and a pair whose other end is known is one message.
    """
    rng = np.random.default_rng(states)
    apart = np.abs(np.subtract.outer(np.arange(states), np.arange(states))).astype(float)
    x, y = ss.Discrete("x", states), ss.Discrete("y", states)
    for _ in range(6):
        slope, limit, h = rng.uniform(0.1, 2.0), rng.uniform(0.5, 6.0), rng.normal(size=states) * 3
        costs = {
            ss.potentials.Potts(slope): slope * (apart > 0),
            ss.potentials.TruncatedLinear(slope): slope * apart,
            ss.potentials.TruncatedLinear(slope, limit): slope * np.minimum(apart, limit),
            ss.potentials.TruncatedQuadratic(slope): slope * apart**2,
            ss.potentials.TruncatedQuadratic(slope, limit): slope * np.minimum(apart**2, limit),
        }
        np.testing.assert_allclose(distances(h, slope), (h[:, None] + slope * apart).min(axis=0), atol=1e-12)
        linear = slope * np.minimum(apart, limit)
        np.testing.assert_allclose(distances(h, slope, slope * limit), (h[:, None] + linear).min(axis=0), atol=1e-12)
        np.testing.assert_allclose(np.minimum(h, h.min() + slope), (h[:, None] + slope * (apart > 0)).min(axis=0))
        for potential, cost in costs.items():
            np.testing.assert_allclose(np.diff(potential.log_table((states, states)) + cost), 0.0, atol=1e-9)
            block = ss.factors.FactorBlock([[0, 1]], (states, states), values=potential)
            own = ss.factors.FactorBlock([[0]], (states,), values=-h, space="log")
            found = ss.max_marginals(ss.MarkovNet(own, block, variables=[x, y]), method=ss.LoopyBP())
            message, expected = np.asarray(found["y"].log_values), -(h[:, None] + cost).min(axis=0)
            np.testing.assert_allclose(message - message.max(), expected - expected.max(), atol=1e-9)
