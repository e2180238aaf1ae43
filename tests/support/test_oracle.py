"""The oracle against published numbers and against laws that need none of our code."""

from __future__ import annotations

import itertools
import math

import networkx as nx
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import oracle
from support.tolerances import CLOSE, EXACT, printed


def cycle(names, table):
    return [((a, b), table) for a, b in zip(names, (*names[1:], names[0]), strict=True)]


MISCONCEPTION_CARDS = dict.fromkeys("ABCD", 2)
MISCONCEPTION = [
    (("A", "B"), np.array([[30.0, 5], [1, 10]])),
    (("B", "C"), np.array([[100.0, 1], [1, 100]])),
    (("C", "D"), np.array([[1.0, 100], [100, 1]])),
    (("D", "A"), np.array([[100.0, 1], [1, 100]])),
]


def states(assignments):
    return [tuple(assignment.values()) for assignment in assignments]


class TestLectureNumbers:
    def test_triangle_of_agreeing_pairs(self):
        cards = dict.fromkeys("abc", 2)
        factors = cycle("abc", np.array([[10.0, 1], [1, 10]]))
        assert oracle.joint(factors, cards).sum() == 2060
        p = oracle.conditional(factors, cards, "abc")
        assert p[0, 0, 0] == pytest.approx(0.485437, abs=printed(6))
        assert p[1, 1, 1] == pytest.approx(0.485437, abs=printed(6))
        others = [p[cell] for cell in np.ndindex(2, 2, 2) if len(set(cell)) == 2]
        assert_allclose(others, 0.004854, rtol=0, atol=printed(6))
        assert p[0, 0, 0] + p[1, 1, 1] == pytest.approx(100 / 103, abs=EXACT)
        assert np.trace(oracle.conditional(factors, cards, "ab")) == pytest.approx(0.980583, abs=printed(6))

    @pytest.mark.parametrize(("scale", "z"), [(1.0, 6.0), (10.0, 60.0)])
    def test_hair_colors(self, scale, z):
        cards = dict.fromkeys("ABCD", 3)
        red, blue, green = range(3)
        differ = 1.0 - np.eye(3)
        factors = [*cycle("ABCD", differ), (("D",), scale * np.array([0.6, 0.3, 0.1]))]
        assert math.exp(oracle.log_z(factors, cards)) == pytest.approx(z, abs=CLOSE)
        assert np.count_nonzero(oracle.joint(factors, cards)) == 18
        p = oracle.marginals(factors, cards)
        assert_allclose(p["D"], [0.6, 0.3, 0.1], atol=EXACT)
        for name in "AC":
            assert_allclose(p[name][[red, green, blue]], [0.2, 0.45, 0.35], atol=EXACT)
        assert_allclose(p["B"][[red, green, blue]], [0.466667, 0.216667, 0.316667], atol=printed(6))

    def test_hair_colors_hold_two_independencies(self):
        factors = [*cycle("ABCD", 1.0 - np.eye(3)), (("D",), np.array([0.6, 0.3, 0.1]))]
        p = oracle.conditional(factors, dict.fromkeys("ABCD", 3), "ABCD")
        assert pairwise_independencies(p) == {("A", "C", "BD"), ("B", "D", "AC")}

    def test_code_words(self):
        words = code_words()
        listed = "000000 011001 110010 101011 111100 100101 001110 010111"
        assert words == set(listed.split())
        distance = min(sum(x != y for x, y in zip(u, v, strict=True)) for u, v in itertools.combinations(words, 2))
        assert distance == 3

    @pytest.mark.parametrize("checks", [("346", "235"), ("145", "126"), ("235", "126")])
    def test_other_checks_give_the_same_code(self, checks):
        assert code_words([parity("1234"), *map(parity, checks)]) == code_words()

    def test_decoding_over_a_noisy_channel(self):
        factors, cards = received("011011")
        best, log_value = oracle.map_assignments(factors, cards)
        assert states(best) == [(0, 1, 1, 0, 0, 1)]
        assert math.exp(log_value - oracle.log_z(factors, cards)) == pytest.approx(0.800122, abs=printed(6))
        ones = [p[1] for p in oracle.marginals(factors, cards).values()]
        assert_allclose(ones, [0.1, 0.9, 0.9, 0.1, 0.197561, 0.978049], atol=printed(6))

    def test_decoding_tie(self):
        factors, cards = received("111111")
        best, log_value = oracle.map_assignments(factors, cards)
        assert len(best) == 3
        assert math.exp(log_value - oracle.log_z(factors, cards)) == pytest.approx(0.290310, abs=printed(6))

    def test_independent_yet_without_factorization(self):
        p = np.zeros((2, 2, 2, 2))
        for word in ["0000", "1000", "1100", "1110", "0001", "0011", "0111", "1111"]:
            p[tuple(int(bit) for bit in word)] = 1 / 8
        assert {("A", "C", "BD"), ("B", "D", "AC")} <= pairwise_independencies(p)
        for edge in [(0, 1), (1, 2), (2, 3), (0, 3)]:
            assert np.all(oracle.keep_axes(p, edge) > 0)
        assert np.count_nonzero(p) == 8

    def test_two_ising_spins(self):
        spin = np.array([-1.0, 1.0])
        cards = {"x1": 2, "x2": 2}
        factors = [(("x1", "x2"), np.exp(0.5 * np.outer(spin, spin)))]
        factors += [((name,), np.exp(-0.2 * spin)) for name in cards]
        assert math.exp(oracle.log_z(factors, cards)) == pytest.approx(4.777835, abs=printed(6))
        p = oracle.conditional(factors, cards, ["x1", "x2"])
        assert p[1, 1] == pytest.approx(0.231312, abs=printed(6))
        assert p[1].sum() == pytest.approx(0.358259, abs=printed(6))
        given = oracle.conditional(factors, cards, ["x2"], {"x1": 1})
        assert given[1] == pytest.approx(0.645656, abs=printed(6))

    def test_most_probable_part_is_not_part_of_the_most_probable(self):
        cards = {"y1": 2, "y2": 2}
        factors = [(("y1", "y2"), np.array([[0.35, 0.05], [0.3, 0.3]]))]
        assert_allclose(oracle.marginal(factors, cards, ["y1"]), [0.4, 0.6], atol=EXACT)
        assert oracle.marginal(factors, cards, ["y2"])[0] == pytest.approx(0.65, abs=EXACT)
        assert oracle.marginal_map(factors, cards, ["y1"])[0] == [{"y1": 1}]
        assert oracle.map_assignments(factors, cards)[0] == [{"y1": 0, "y2": 0}]


def pairwise_independencies(p):
    names = "ABCD"
    found = set()
    for a, b in itertools.combinations(range(4), 2):
        rest = [i for i in range(4) if i not in (a, b)]
        for size in range(3):
            for given in itertools.combinations(rest, size):
                if oracle.independent(p, [a], [b], given):
                    found.add((names[a], names[b], "".join(names[i] for i in given)))
    return found


def parity(scope):
    table = np.zeros((2,) * len(scope))
    for cell in np.ndindex(*table.shape):
        table[cell] = sum(cell) % 2 == 0
    return tuple(scope), table


CODE_CARDS = dict.fromkeys("123456", 2)
CODE = [parity("1234"), parity("346"), parity("145")]


def code_words(checks=CODE):
    found = np.argwhere(oracle.joint(checks, CODE_CARDS) > 0)
    return {"".join(str(bit) for bit in word) for word in found}


def received(word, flip=0.1):
    channel = {
        name: np.where(np.arange(2) == int(bit), 1 - flip, flip) for name, bit in zip("123456", word, strict=True)
    }
    return [*CODE, *(((name,), weights) for name, weights in channel.items())], CODE_CARDS


class TestEliminationTrace:
    """P(A | h) in the eight-node network of the lecture, order H G F E D C B."""

    SCOPES = ("A", "B", "BC", "AD", "CDE", "AF", "EG", "EFH")

    @pytest.fixture
    def network(self):
        rng = np.random.default_rng(8)
        cards = dict.fromkeys("ABCDEFGH", 2)
        shapes = [(2,) * len(scope) for scope in self.SCOPES]
        tables = [oracle.random_rows(rng, shape, deterministic=0.0, zeros=0.0) for shape in shapes]
        return [(scope[-1], tuple(scope[:-1]), t) for scope, t in zip(self.SCOPES, tables, strict=True)], cards

    def test_cliques_and_messages(self):
        scopes = [set(scope) for scope in self.SCOPES]
        cliques, messages = [], []
        for name in "HGFEDCB":
            clique = set().union(*(scope for scope in scopes if name in scope))
            scopes = [scope for scope in scopes if name not in scope] + [clique - {name}]
            cliques.append("".join(sorted(clique)))
            messages.append("".join(sorted(clique - {name})).lower())
        assert cliques == ["EFH", "EG", "AEF", "ACDE", "ACD", "ABC", "AB"]
        assert messages == ["ef", "e", "ae", "acd", "ac", "ab", "a"]
        assert max(map(len, cliques)) - 1 == 3

    def test_sums_pushed_inwards_equal_enumeration(self, network):
        families, cards = network
        pa, pb, pc, pd, pe, pf, pg, ph = (table for _, _, table in families)
        h = 1
        m_g = [sum(pg[e, g] for g in range(2)) for e in range(2)]
        assert_allclose(m_g, 1, atol=EXACT)
        bit = range(2)
        m_f = {(a, e): sum(pf[a, f] * ph[e, f, h] for f in bit) for a in bit for e in bit}
        m_e = {
            (a, c, d): sum(pe[c, d, e] * m_g[e] * m_f[a, e] for e in bit)
            for a, c, d in itertools.product(bit, repeat=3)
        }
        m_d = {(a, c): sum(pd[a, d] * m_e[a, c, d] for d in bit) for a in bit for c in bit}
        m_c = {(a, b): sum(pc[b, c] * m_d[a, c] for c in bit) for a in bit for b in bit}
        m_b = [sum(pb[b] * m_c[a, b] for b in bit) for a in bit]
        answer = np.array([pa[a] * m_b[a] for a in bit])
        factors = oracle.bayes_factors(families)
        assert_allclose(oracle.marginal(factors, cards, "A", {"H": h}), answer, atol=EXACT)
        assert_allclose(oracle.conditional(factors, cards, "A", {"H": h}), answer / answer.sum(), atol=EXACT)


class TestMisconception:
    def test_max_marginals_of_the_cliques(self):
        abd = oracle.max_marginal(MISCONCEPTION, MISCONCEPTION_CARDS, "ABD")
        assert abd.ravel().tolist() == [300_000, 300_000, 5_000_000, 500, 100, 1_000_000, 100_000, 100_000]
        bcd = oracle.max_marginal(MISCONCEPTION, MISCONCEPTION_CARDS, "BCD")
        assert bcd.ravel().tolist() == [300_000, 1_000_000, 300_000, 100, 500, 100_000, 5_000_000, 100_000]

    def test_sepset_max_marginal(self):
        bd = oracle.max_marginal(MISCONCEPTION, MISCONCEPTION_CARDS, "BD")
        assert bd.ravel().tolist() == [300_000, 1_000_000, 5_000_000, 100_000]

    def test_max_marginals_reparameterize_the_measure(self):
        measure = oracle.joint(MISCONCEPTION, MISCONCEPTION_CARDS)
        abd, bcd, bd = (oracle.max_marginal(MISCONCEPTION, MISCONCEPTION_CARDS, s) for s in ("ABD", "BCD", "BD"))
        for a, b, c, d in itertools.product(range(2), repeat=4):
            assert abd[a, b, d] * bcd[b, c, d] / bd[b, d] == pytest.approx(measure[a, b, c, d], rel=EXACT)
        assert measure[1, 0, 1, 0] == 100

    def test_map_and_runners_up(self):
        best, log_value = oracle.map_assignments(MISCONCEPTION, MISCONCEPTION_CARDS)
        assert states(best) == [(0, 1, 1, 0)]
        assert math.exp(log_value) == pytest.approx(5_000_000, rel=EXACT)
        ranked = oracle.k_best(MISCONCEPTION, MISCONCEPTION_CARDS, 5)
        assert states(a for a, _ in ranked) == [(0, 1, 1, 0), (1, 0, 0, 1), (0, 0, 0, 0), (0, 0, 0, 1), (0, 0, 1, 0)]
        assert_allclose(np.exp([v for _, v in ranked]), [5e6, 1e6, 3e5, 3e5, 3e5], rtol=EXACT)
        assert oracle.k_best(MISCONCEPTION, MISCONCEPTION_CARDS, 6)[5][1] < math.log(3e5) - 1e-3

    def test_partition_function_and_marginals(self):
        assert oracle.joint(MISCONCEPTION, MISCONCEPTION_CARDS).sum() == 7_201_840
        p = oracle.conditional(MISCONCEPTION, MISCONCEPTION_CARDS, "ABCD")
        assert p[0, 1, 1, 0] == pytest.approx(0.694267, abs=printed(6))
        single = oracle.marginals(MISCONCEPTION, MISCONCEPTION_CARDS)
        figures = {("B", 1): 0.736133, ("A", 0): 0.819448, ("C", 1): 0.763795, ("D", 0): 0.791563}
        for (name, state), figure in figures.items():
            assert single[name][state] == pytest.approx(figure, abs=printed(6))
        for name, figure in {"A": [5e6, 1e6], "B": [1e6, 5e6], "C": [1e6, 5e6], "D": [5e6, 1e6]}.items():
            assert oracle.max_marginal(MISCONCEPTION, MISCONCEPTION_CARDS, name).tolist() == figure

    def test_ambiguous_max_marginals(self):
        cards = {"X1": 2, "X2": 2}
        factors = [(("X1", "X2"), np.array([[0.1, 0.4], [0.4, 0.1]]))]
        for name in cards:
            assert oracle.max_marginal(factors, cards, [name]).tolist() == [0.4, 0.4]
        assert states(oracle.map_assignments(factors, cards)[0]) == [(0, 1), (1, 0)]


class TestCanonicalForms:
    """C(X, Y) * C(Y, Z), worked by hand in the textbook."""

    K1, h1, g1 = np.array([[1.0, -1], [-1, 1]]), np.array([1.0, -1]), -3.0
    K2, h2, g2 = np.array([[3.0, -2], [-2, 4]]), np.array([5.0, -1]), 1.0
    K, h, g = np.array([[1.0, -1, 0], [-1, 4, -2], [0, -2, 4]]), np.array([1.0, 4, -1]), -2.0

    def test_product(self):
        for x, y, z in np.random.default_rng(0).normal(size=(20, 3)):
            parts = oracle.canonical_log_value(self.K1, self.h1, self.g1, [x, y])
            parts += oracle.canonical_log_value(self.K2, self.h2, self.g2, [y, z])
            assert oracle.canonical_log_value(self.K, self.h, self.g, [x, y, z]) == pytest.approx(parts, abs=CLOSE)

    def test_moments(self):
        assert_allclose(np.linalg.eigvalsh(self.K), [0.56069, 2.33888, 6.10043], atol=printed(5))
        assert_allclose(np.linalg.eigvalsh(self.K1), [0, 2], atol=EXACT)
        assert_allclose(np.linalg.eigvalsh(self.K2), [1.43845, 5.56155], atol=printed(5))
        cov = np.array([[1.5, 0.5, 0.25], [0.5, 0.5, 0.25], [0.25, 0.25, 0.375]])
        assert_allclose(np.linalg.inv(self.K), cov, atol=EXACT)
        assert_allclose(np.linalg.solve(self.K, self.h), [3.25, 2.25, 0.875], atol=EXACT)

    def test_integral(self):
        integral = oracle.canonical_integral(self.K, self.h, self.g, [0, 1, 2])
        assert math.log(integral) == pytest.approx(5.404595, abs=printed(6))

    @pytest.mark.parametrize("x", [-1.0, 0.0, 3.25])
    def test_marginal_on_one_axis(self, x):
        value = math.log(oracle.canonical_integral(self.K, self.h, self.g, [1, 2], {0: x}))
        assert value == pytest.approx(-0.5 * 2 / 3 * x * x + 13 / 6 * x + 0.762090, abs=printed(6))

    @pytest.mark.parametrize("point", [(0.0, 0.0), (1.0, -2.0), (3.25, 2.25)])
    def test_marginal_on_two_axes(self, point):
        value = math.log(oracle.canonical_integral(self.K, self.h, self.g, [2], dict(enumerate(point))))
        K, h = np.array([[1.0, -1], [-1, 3]]), np.array([1, 3.5])
        assert value == pytest.approx(oracle.canonical_log_value(K, h, -1.649209, point), abs=printed(6))

    def test_reduction(self):
        K, h = np.array([[1.0, -1], [-1, 4]]), np.array([1.0, 8])
        for x, y in np.random.default_rng(1).normal(size=(20, 2)):
            full = oracle.canonical_log_value(self.K, self.h, self.g, [x, y, 2.0])
            assert full == pytest.approx(oracle.canonical_log_value(K, h, -12.0, [x, y]), abs=CLOSE)

    @pytest.mark.parametrize("y", [-3.0, 0.0, 2.0])
    def test_integrating_an_improper_form(self, y):
        value = math.log(oracle.canonical_integral(self.K1, self.h1, self.g1, [0], {1: y}))
        assert value == pytest.approx(-1.581061, abs=printed(6))


D1_PRIOR = [("D1", (), np.array([0.3, 0.7])), ("D2", (), np.array([0.6, 0.4]))]
TWO_SWITCHES = [
    oracle.HybridNode("X1", ("D1",), (), {(0,): ((), 0.0, 0.49), (1,): ((), 1.5, 0.36)}),
    oracle.HybridNode("X2", ("D2",), ("X1",), {(0,): ((-1.5,), 0.0, 0.36), (1,): ((0.0,), 1.5, 0.49)}),
]


class TestHybrid:
    def test_four_components(self):
        mixture = oracle.clg_mixture(D1_PRIOR, {"D1": 2, "D2": 2}, TWO_SWITCHES)
        figures = [
            ((0, 0), [0, 0], [[0.49, -0.735], [-0.735, 1.4625]]),
            ((0, 1), [0, 1.5], [[0.49, 0], [0, 0.49]]),
            ((1, 0), [1.5, -2.25], [[0.36, -0.54], [-0.54, 1.17]]),
            ((1, 1), [1.5, 1.5], [[0.36, 0], [0, 0.49]]),
        ]
        for part, (cell, mean, cov) in zip(mixture.components, figures, strict=True):
            assert tuple(part.assignment.values()) == cell
            assert_allclose(part.mean, mean, atol=EXACT)
            assert_allclose(part.cov, cov, atol=EXACT)
        assert mixture.log_evidence == pytest.approx(0, abs=EXACT)
        assert_allclose(mixture.weights, [0.18, 0.12, 0.42, 0.28], atol=EXACT)

    def test_collapse_of_two_gaussians(self):
        mean, cov = oracle.collapse([0.4, 0.6], [0, 3], [1, 4])
        assert_allclose(mean, [1.8], atol=EXACT)
        assert_allclose(cov, [[4.96]], atol=EXACT)

    def test_evidence_reweights_the_components(self):
        nodes = [
            oracle.HybridNode("X", ("A",), (), {(0,): ((), 0.0, 1.0), (1,): ((), 3.0, 4.0)}),
            oracle.HybridNode("Y", (), ("X",), {(): ((1.0,), 0.0, 1.0)}),
        ]
        mixture = oracle.clg_mixture([("A", (), np.array([0.4, 0.6]))], {"A": 2}, nodes, values={"Y": -2.0})
        joint = np.exp([part.log_weight for part in mixture.components])
        assert_allclose(joint, [0.0415107, 0.0087870], atol=printed(7))
        assert math.exp(mixture.log_evidence) == pytest.approx(0.0502977, abs=printed(7))
        assert mixture.discrete_marginal(["A"], {"A": 2})[0] == pytest.approx(0.825301, abs=printed(6))
        assert [part.mean.item() for part in mixture.components] == pytest.approx([-1, -1], abs=EXACT)
        assert [part.cov.item() for part in mixture.components] == pytest.approx([0.5, 0.8], abs=EXACT)
        mean, cov = mixture.moments()
        assert mean.item() == pytest.approx(-1, abs=EXACT)
        assert cov.item() == pytest.approx(0.552410, abs=printed(6))

    def test_bimodal_posterior(self):
        nodes = [
            oracle.HybridNode("X", ("A",), (), {(0,): ((), 0.0, 2.0), (1,): ((), 0.0, 6.0)}),
            oracle.HybridNode("Y", ("B",), ("X",), {(0,): ((1.0,), 0.0, 0.01), (1,): ((-1.0,), 0.0, 0.01)}),
        ]
        uniform = np.array([0.5, 0.5])
        cards = {"A": 2, "B": 2}
        mixture = oracle.clg_mixture([("A", (), uniform), ("B", (), uniform)], cards, nodes, values={"Y": 4.0})
        assert mixture.discrete_marginal(["A"], cards)[0] == pytest.approx(0.108967, abs=printed(6))
        assert mixture.discrete_marginal(["B"], cards)[0] == pytest.approx(0.5, abs=EXACT)
        mean, cov = mixture.moments()
        assert mean.item() == pytest.approx(0, abs=EXACT)
        assert cov.item() == pytest.approx(15.945272, abs=printed(6))
        assert math.exp(mixture.log_evidence) == pytest.approx(0.024124, abs=printed(6))

    @pytest.mark.parametrize("seed", range(5))
    def test_mixture_density_integrates_its_parts(self, seed):
        rng = np.random.default_rng(seed)
        families, cards, nodes = oracle.random_clg(rng, 3, 3)
        prior = oracle.clg_mixture(families, cards, nodes)
        assert prior.log_evidence == pytest.approx(0, abs=CLOSE)
        for name in cards:
            discrete = oracle.marginals(oracle.bayes_factors(families), cards)[name]
            assert_allclose(prior.discrete_marginal([name], cards), discrete, atol=CLOSE)
        seen = oracle.clg_mixture(families, cards, nodes, values={"x0": 0.4})
        density = sum(
            w * math.exp(oracle.gaussian_log_density([0.4], part.mean[:1], part.cov[:1, :1]))
            for part, w in zip(prior.components, prior.weights, strict=True)
        )
        assert math.exp(seen.log_evidence) == pytest.approx(density, rel=CLOSE)
        assert set(seen.index) == {"x1", "x2"}

    def test_no_reals_and_no_switches(self):
        mixture = oracle.clg_mixture([], {}, [])
        assert (len(mixture.components), mixture.log_evidence) == (1, 0.0)
        assert mixture.moments()[0].shape == (0,)


class TestGaussian:
    @pytest.mark.parametrize("seed", range(5))
    def test_joint_density_is_the_product_of_the_conditionals(self, seed):
        rng = np.random.default_rng(seed)
        nodes = oracle.random_linear_gaussian(rng, 5)
        index, mean, cov = oracle.dense_gaussian(nodes)
        point = dict(zip(index, rng.normal(size=5), strict=True))
        expected = 0.0
        for node in nodes:
            center = node.offset + sum(w * point[p] for w, p in zip(node.weights, node.parents, strict=True))
            expected -= 0.5 * (point[node.child] - center) ** 2 / node.variance
            expected -= 0.5 * math.log(2 * math.pi * node.variance)
        assert oracle.gaussian_log_density(list(point.values()), mean, cov) == pytest.approx(expected, abs=CLOSE)

    @pytest.mark.parametrize("seed", range(5))
    def test_conditioning_is_a_ratio_of_densities(self, seed):
        rng = np.random.default_rng(seed)
        _, mean, cov = oracle.dense_gaussian(oracle.random_linear_gaussian(rng, 4, parts=2))
        x = rng.normal(size=4)
        rest, m, c = oracle.condition_gaussian(mean, cov, [2, 0], x[[2, 0]])
        assert rest == [1, 3]
        whole = oracle.gaussian_log_density(x, mean, cov)
        part = oracle.gaussian_log_density(x[[0, 2]], mean[[0, 2]], cov[np.ix_([0, 2], [0, 2])])
        assert oracle.gaussian_log_density(x[rest], m, c) == pytest.approx(whole - part, abs=CLOSE)

    def test_deterministic_and_vector_nodes(self):
        nodes = [
            oracle.LinearGaussian("sum", ("p",), ([[1.0, 1.0]],), 0.0, 0.0),
            oracle.LinearGaussian("p", (), (), [1.0, 2.0], [[2.0, 0.5], [0.5, 1.0]]),
        ]
        index, mean, cov = oracle.dense_gaussian(nodes)
        assert index == {"sum": [0], "p": [1, 2]}
        assert_allclose(mean, [3, 1, 2])
        assert_allclose(cov, [[4, 2.5, 1.5], [2.5, 2, 0.5], [1.5, 0.5, 1]], atol=EXACT)

    def test_expectation(self):
        mean, cov = np.array([1.0, -2.0]), np.array([[2.0, 0.3], [0.3, 0.5]])
        value = oracle.gaussian_expectation(lambda x: x[0] ** 2 * x[1], mean, cov, order=4)
        assert value == pytest.approx(mean[1] * (mean[0] ** 2 + 2) + 2 * mean[0] * 0.3, abs=CLOSE)

    def test_no_dimensions(self):
        index, mean, cov = oracle.dense_gaussian([])
        assert (index, mean.shape, cov.shape) == ({}, (0,), (0, 0))
        assert oracle.gaussian_log_density([], mean, cov) == 0


class TestEnumeration:
    def test_empty_model(self):
        assert oracle.joint([], {}) == 1
        assert oracle.log_z([], {}) == 0
        assert oracle.map_assignments([], {}) == ([{}], 0.0)
        assert oracle.random_network(np.random.default_rng(0), 0) == ([], {})

    def test_scalar_factors_and_isolated_variables(self):
        cards = {"a": 3, "b": 1}
        factors = [((), np.array(2.5))]
        assert math.exp(oracle.log_z(factors, cards)) == pytest.approx(7.5, rel=EXACT)
        assert_allclose(oracle.conditional(factors, cards, ["a"]), np.full(3, 1 / 3), atol=EXACT)

    def test_kinds_of_evidence(self):
        cards = {"a": 3}
        factors = [(("a",), np.array([0.2, 0.3, 0.5]))]
        assert_allclose(oracle.marginal(factors, cards, "a", {"a": 1}), [0, 0.3, 0])
        assert_allclose(oracle.marginal(factors, cards, "a", {"a": {0, 2}}), [0.2, 0, 0.5])
        assert_allclose(oracle.marginal(factors, cards, "a", {"a": [0.5, 1, 2]}), [0.1, 0.3, 1.0])
        mask = np.array([True, False, True])
        assert_allclose(oracle.conditional(factors, cards, "a", {"a": mask}), [2 / 7, 0, 5 / 7], atol=EXACT)

    def test_impossible_evidence(self):
        factors, cards = [(("a",), np.array([1.0, 0.0]))], {"a": 2}
        assert oracle.log_z(factors, cards, {"a": 1}) == -math.inf
        assert oracle.map_assignments(factors, cards, {"a": 1}) == ([], -math.inf)
        assert oracle.k_best(factors, cards, 3) == [({"a": 0}, 0.0)]
        with pytest.raises(ZeroDivisionError):
            oracle.conditional(factors, cards, ["a"], {"a": 1})

    def test_no_underflow(self):
        cards = {"a": 2}
        factors = [(("a",), np.array([1.0, 1e-5]))] * 1000
        assert oracle.log_joint(factors, cards)[1] == pytest.approx(1000 * math.log(1e-5), rel=EXACT)
        assert_allclose(oracle.conditional([*factors, (("a",), [0.0, 1e-300])], cards, "a"), [0, 1])

    def test_size_is_checked_first(self):
        with pytest.raises(ValueError, match="at most"):
            oracle.log_z([], dict.fromkeys(range(21), 2))

    def test_axes_follow_the_names_asked_for(self):
        cards = {"a": 2, "b": 3}
        table = np.arange(6.0).reshape(3, 2)
        assert_array_equal(oracle.marginal([(("b", "a"), table)], cards, ["b", "a"]), table)
        assert_array_equal(oracle.marginal([(("b", "a"), table)], cards, ["a", "b"]), table.T)
        assert_array_equal(oracle.joint([(("b", "a"), table)], cards), table.T)

    @pytest.mark.parametrize("seed", range(10))
    def test_broadcasting_gives_the_same_joint(self, seed):
        rng = np.random.default_rng(seed)
        cards = oracle.random_cards(rng, 5)
        factors = oracle.random_factors(rng, cards, 6, ties=bool(seed % 2))
        names = list(cards)
        expected = np.ones(tuple(cards.values()))
        for scope, table in factors:
            order = sorted(range(len(scope)), key=lambda i: names.index(scope[i]))
            expected = expected * np.transpose(table, order).reshape([cards[n] if n in scope else 1 for n in names])
        assert_allclose(oracle.joint(factors, cards), expected, rtol=EXACT)
        with np.errstate(divide="ignore"):
            assert_allclose(oracle.log_joint(factors, cards), np.log(expected), atol=EXACT)
        assert math.exp(oracle.log_z(factors, cards)) == pytest.approx(expected.sum(), rel=EXACT)
        assert expected.max() > 0
        best, log_value = oracle.map_assignments(factors, cards)
        assert math.exp(log_value) == pytest.approx(expected.max(), rel=EXACT)
        assert len(best) == np.count_nonzero(expected > expected.max() * (1 - 1e-9))

    @pytest.mark.parametrize("seed", range(10))
    def test_networks_sum_to_one_and_obey_their_graph(self, seed):
        rng = np.random.default_rng(seed)
        families, cards = oracle.random_network(rng, 5, largest=2, parts=1 + seed % 2)
        p = oracle.bayes_joint(families, cards)
        assert p.sum() == pytest.approx(1, abs=EXACT)
        edges = [(parent, child) for child, parents, _ in families for parent in parents]
        for a, b in itertools.combinations(range(5), 2):
            for given in itertools.combinations([i for i in range(5) if i not in (a, b)], 2):
                names = list(cards)
                if oracle.d_separated(edges, [names[a]], [names[b]], [names[i] for i in given]):
                    assert oracle.independent(p, [a], [b], given)

    def test_generators_cover_the_corners(self):
        rng = np.random.default_rng(0)
        networks = [oracle.random_network(rng, 6, parts=2) for _ in range(30)]
        tables = [table for families, _ in networks for _, _, table in families]
        assert any(1 in cards.values() for _, cards in networks)
        assert any((table == 0).any() for table in tables)
        assert any(((table == 1).any(axis=-1) & (table.shape[-1] > 1)).any() for table in tables)
        scopes = [scope for _ in range(20) for scope, _ in oracle.random_factors(rng, {"a": 2, "b": 2}, 4)]
        assert {len(scope) for scope in scopes} == {0, 1, 2}


class TestInformation:
    def test_known_values(self):
        assert oracle.entropy(np.array([0.5, 0.5, 0])) == pytest.approx(math.log(2), abs=EXACT)
        assert oracle.kl(np.array([1.0, 0]), np.array([0.5, 0.5])) == pytest.approx(math.log(2), abs=EXACT)
        assert oracle.kl(np.array([0.5, 0.5]), np.array([1.0, 0])) == math.inf
        assert oracle.mutual_information(np.eye(2) / 2, [0], [1]) == pytest.approx(math.log(2), abs=EXACT)
        xor = np.zeros((2, 2, 2))
        for a, b in itertools.product(range(2), repeat=2):
            xor[a, b, a ^ b] = 0.25
        assert oracle.mutual_information(xor, [0], [1]) == pytest.approx(0, abs=EXACT)
        assert oracle.mutual_information(xor, [0], [1], [2]) == pytest.approx(math.log(2), abs=EXACT)

    def test_moments(self):
        p = np.array([[0.1, 0.2], [0.3, 0.4]])
        mean, cov = oracle.moments(p, [[0, 1], [10, 30]])
        assert_allclose(mean, [0.7, 22], atol=EXACT)
        assert_allclose(cov, [[0.21, -0.4], [-0.4, 96]], atol=CLOSE)

    def test_kl_is_mutual_information_to_the_product(self):
        rng = np.random.default_rng(3)
        p = rng.dirichlet(np.ones(12)).reshape(3, 4)
        product = np.outer(p.sum(1), p.sum(0))
        assert oracle.mutual_information(p, [0], [1]) == pytest.approx(oracle.kl(p, product), abs=EXACT)


class TestSeparation:
    STUDENT = (("D", "G"), ("I", "G"), ("I", "S"), ("G", "L"))

    def test_student_network(self):
        listed = [("D", "I", ""), ("G", "S", "I"), ("D", "L", "G"), ("L", "S", "G"), ("L", "S", "I"), ("D", "S", "")]
        assert all(oracle.d_separated(self.STUDENT, a, b, given) for a, b, given in listed)
        count = 0
        for a, b in itertools.combinations("DIGSL", 2):
            rest = [name for name in "DIGSL" if name not in (a, b)]
            for size in range(4):
                count += sum(oracle.d_separated(self.STUDENT, a, b, z) for z in itertools.combinations(rest, size))
        assert count == 25

    @pytest.mark.parametrize("seed", range(8))
    def test_agrees_with_networkx(self, seed):
        rng = np.random.default_rng(seed)
        names = [f"v{i}" for i in range(6)]
        parents = oracle.random_parents(rng, names)
        edges = [(u, v) for v, us in parents.items() for u in us]
        graph = nx.DiGraph(edges)
        graph.add_nodes_from(names)
        for a, b in itertools.combinations(names, 2):
            rest = [name for name in names if name not in (a, b)]
            given = {name for name in rest if rng.random() < 0.4}
            assert oracle.d_separated(edges, [a], [b], given) == nx.is_d_separator(graph, {a}, {b}, given)

    def test_undirected(self):
        square = [("A", "B"), ("B", "C"), ("C", "D"), ("D", "A")]
        assert oracle.separated(square, "A", "C", "BD")
        assert not oracle.separated(square, "A", "C", "B")
        assert oracle.separated(square, "A", "X")
