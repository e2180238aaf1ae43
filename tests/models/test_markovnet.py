"""Markov networks: published numbers, Gibbs laws, grids, codes, features; all against enumeration."""

from __future__ import annotations

import itertools
import math
import pickle
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

import oracle
import sepset as ss
from sepset.errors import DataError, ModelError, NotApplicable, NotClosed, ScopeError
from sepset.factors.block import FactorBlock
from sepset.factors.gaussian import CanonicalGaussian
from sepset.factors.potentials import AtLeastOne, Parity, Potts
from sepset.factors.sparse import SparseTable
from sepset.factors.table import Table
from sepset.graphs.graph import UndirectedGraph
from sepset.models.blocks import over_scopes, pairwise, unary
from sepset.models.features import Feature
from sepset.models.markovnet import MarkovNet
from sepset.variables.array import Edges
from sepset.variables.variable import Discrete, Real
from support import strategies
from support.bounded import within
from support.tolerances import CLOSE, EXACT, printed


def joint(net):
    """The normalized joint, one axis per variable."""
    factors, cards = strategies.plain_factors(net)
    measure = oracle.joint(factors, cards)
    return measure / measure.sum()


def z(net) -> float:
    return math.exp(oracle.log_z(*strategies.plain_factors(net)))


def misconception() -> MarkovNet:
    a, b, c, d = (Discrete(n, 2) for n in "abcd")
    return MarkovNet(
        Table((a, b), [[30, 5], [1, 10]]),
        Table((b, c), [[100, 1], [1, 100]]),
        Table((c, d), [[1, 100], [100, 1]]),
        Table((d, a), [[100, 1], [1, 100]]),
        name="misconception",
    )


def test_misconception_values_and_normalizer():
    """map-and-hybrid, section 2.2, and Koller & Friedman, figure 4.2."""
    net = misconception()
    rows = list(itertools.product((0, 1), repeat=4))
    frame = pd.DataFrame(rows, columns=list("abcd"))
    values = dict(zip(rows, np.exp(net.log_value(frame)), strict=True))
    printed_values = {
        (0, 0, 0, 0): 300_000, (0, 0, 0, 1): 300_000, (0, 0, 1, 0): 300_000, (0, 0, 1, 1): 30,
        (0, 1, 0, 0): 500, (0, 1, 0, 1): 500, (0, 1, 1, 0): 5_000_000, (0, 1, 1, 1): 500,
        (1, 0, 0, 0): 100, (1, 0, 0, 1): 1_000_000, (1, 0, 1, 0): 100, (1, 0, 1, 1): 100,
        (1, 1, 0, 0): 10, (1, 1, 0, 1): 100_000, (1, 1, 1, 0): 100_000, (1, 1, 1, 1): 100_000,
    }  # fmt: skip
    assert {row: round(value, 6) for row, value in values.items()} == printed_values
    assert z(net) == pytest.approx(7_201_840, rel=1e-12)
    factors, cards = strategies.plain_factors(net)
    marginals = {n: oracle.conditional(factors, cards, [n]) for n in "abcd"}
    assert abs(marginals["b"][1] - 0.736133) < printed(6)
    assert abs(marginals["a"][0] - 0.819448) < printed(6)
    assert abs(marginals["c"][1] - 0.763795) < printed(6)
    assert abs(marginals["d"][0] - 0.791563) < printed(6)
    best, log_best = oracle.map_assignments(factors, cards)
    assert best == [{"a": 0, "b": 1, "c": 1, "d": 0}]
    assert log_best == pytest.approx(math.log(5_000_000))
    assert abs(math.exp(log_best) / 7_201_840 - 0.694267) < printed(6)


def test_misconception_structure():
    net = misconception()
    assert net.graph == UndirectedGraph.parse("a - b - c - d - a")
    assert net.markov_blanket("a") == ("b", "d")
    assert repr(net) == "MarkovNet('misconception': 4 variables, 4 factors)"
    p = joint(net)
    assert oracle.independent(p, [0], [2], [1, 3])
    assert oracle.independent(p, [1], [3], [0, 2])
    assert not oracle.independent(p, [0], [2])


def test_triangle_n1():
    """temporal-and-learning-goals N1."""
    a, b, c = (Discrete(n) for n in "abc")
    equal = np.where(np.eye(2), 10, 1)
    net = MarkovNet(*(Table(pair, equal) for pair in itertools.combinations((a, b, c), 2)))
    assert z(net) == pytest.approx(2060)
    p = joint(net)
    assert abs(p[0, 0, 0] - 0.485437) < printed(6)
    assert abs(p[0, 1, 0] - 0.004854) < printed(6)
    assert p[0, 0, 0] + p[1, 1, 1] == pytest.approx(100 / 103)
    assert abs(p[0, 0].sum() + p[1, 1].sum() - 0.980583) < printed(6)


def colors(scale: float = 1.0) -> MarkovNet:
    a, b, c, d = (Discrete(n, ("red", "blue", "green")) for n in "ABCD")
    differ = 1 - np.eye(3)
    edges = [Table(pair, differ) for pair in ((a, b), (b, c), (c, d), (d, a))]
    return MarkovNet(*edges, Table(d, scale * np.array([0.6, 0.3, 0.1])), variables=(a, b, c, d))


def test_hair_colors_n2_and_scale_invariance():
    """temporal-and-learning-goals N2 and U3."""
    net = colors()
    assert z(net) == pytest.approx(6)
    assert z(colors(10)) == pytest.approx(60)
    np.testing.assert_allclose(joint(net), joint(colors(10)), atol=EXACT)
    p = joint(net)
    assert int((p > 0).sum()) == 18
    np.testing.assert_allclose(p.sum((0, 1, 2)), [0.6, 0.3, 0.1])
    for axes in ((1, 2, 3), (0, 1, 3)):
        np.testing.assert_allclose(p.sum(axes), [0.2, 0.35, 0.45])
    np.testing.assert_allclose(p.sum((0, 2, 3)), [0.466667, 0.316667, 0.216667], atol=printed(6))
    holds = [
        (a, b, given_)
        for a, b in itertools.combinations(range(4), 2)
        for size in range(3)
        for given_ in itertools.combinations([i for i in range(4) if i not in (a, b)], size)
        if oracle.independent(p, [a], [b], given_)
    ]
    assert holds == [(0, 2, (1, 3)), (1, 3, (0, 2))]


CHECKS = [[0, 1, 2, 3], [0, 3, 4], [2, 3, 5]]


def code_net(received: str | None = None) -> MarkovNet:
    bit = Discrete.array("Y", 6)
    checks = [over_scopes([CHECKS[0]], Parity(), array=bit), over_scopes(CHECKS[1:], Parity(), array=bit)]
    if received is None:
        return MarkovNet(*checks)
    word = np.array([int(c) for c in received])
    channel = np.where(word[:, None] == np.arange(2), 0.9, 0.1)
    return MarkovNet(unary(bit, np.log(channel)), *checks)


def test_ldpc_n3_has_the_published_codewords():
    """temporal-and-learning-goals N3."""
    p = joint(code_net())
    words = sorted("".join(map(str, cell)) for cell in np.argwhere(p > 0).tolist())
    assert words == sorted(["000000", "011001", "110010", "101011", "111100", "100101", "001110", "010111"])
    np.testing.assert_allclose(p[p > 0], 1 / 8)
    distances = [sum(x != y for x, y in zip(u, v, strict=True)) for u, v in itertools.combinations(words, 2)]
    assert min(distances) == 3


def test_ldpc_n4_decodes():
    """temporal-and-learning-goals N4: block and bitwise decoding over a binary symmetric channel."""
    p = joint(code_net("011011"))
    best = np.unravel_index(p.argmax(), p.shape)
    assert best == (0, 1, 1, 0, 0, 1)
    assert abs(p[best] - 0.800122) < printed(6)
    bits = [p.sum(tuple(j for j in range(6) if j != i))[1] for i in range(6)]
    np.testing.assert_allclose(bits, [0.1, 0.9, 0.9, 0.1, 0.197561, 0.978049], atol=printed(6))
    tie = np.sort(joint(code_net("111111")).reshape(-1))[-4:]
    np.testing.assert_allclose(tie[1:], 0.290310, atol=printed(6))
    assert tie[0] < 0.29


def test_ising_n6_and_its_sign():
    """temporal-and-learning-goals N6, U6 and U7: the field enters with a minus."""
    spin = Discrete.array("x", 2, states=(-1, 1))
    net = MarkovNet.ising(spin, 0.5, field=0.2)
    assert abs(z(net) - 4.777835) < printed(6)
    p = joint(net)
    assert abs(p[1, 1] - 0.231312) < printed(6)
    assert abs(p[1].sum() - 0.358259) < printed(6)
    assert abs(p[1, 1] / p[1].sum() - 0.645656) < printed(6)
    assert p[1, 1] / p[1].sum() == pytest.approx(1 / (1 + math.exp(-2 * (0.5 - 0.2))))
    swapped = joint(MarkovNet.ising(Discrete.array("x", 2, states=(1, -1)), 0.5, field=0.2))
    np.testing.assert_allclose(swapped[::-1, ::-1], p, atol=EXACT)


def test_ising_by_definition():
    spin = Discrete.array("s", (2, 3), states=(-1, 1))
    rng = np.random.default_rng(5)
    edges = spin.grid_edges()
    w, u = rng.normal(size=len(edges)), rng.normal(size=(2, 3))
    net = MarkovNet.ising(spin, w, field=u)
    codes = rng.integers(0, 2, (40, 6))
    x = 2.0 * codes - 1
    expected = (x[:, edges.pairs[:, 0]] * x[:, edges.pairs[:, 1]]) @ w - x @ u.reshape(-1)
    np.testing.assert_allclose(net.log_value_codes(codes), expected, atol=1e-10)
    states = {v.name: [v.states[c] for c in codes[:, i]] for i, v in enumerate(spin)}
    np.testing.assert_allclose(net.log_value(states), expected, atol=1e-10)
    sharper = net.scaled(3.0)
    np.testing.assert_allclose(sharper.log_value_codes(codes), 3 * expected, atol=1e-9)


def test_ising_refuses():
    with pytest.raises(ModelError, match="states -1 and 1"):
        MarkovNet.ising(Discrete.array("s", 2), 1.0)
    with pytest.raises(ModelError, match="one weight or 1"):
        MarkovNet.ising(Discrete.array("s", 2, states=(-1, 1)), [1.0, 2.0])
    with pytest.raises(ModelError, match="needs logarithms of shape"):
        MarkovNet.ising(Discrete.array("s", 2, states=(-1, 1)), 1.0, field=[1.0, 2.0, 3.0])


def test_potts_by_definition_with_weights_an_edge():
    label = Discrete.array("label", (3, 2), states=3)
    rng = np.random.default_rng(6)
    edges = label.grid_edges()
    w, logs = rng.normal(size=len(edges)), rng.normal(size=(3, 2, 3))
    codes = rng.integers(0, 3, (30, 6))
    equal = codes[:, edges.pairs[:, 0]] == codes[:, edges.pairs[:, 1]]
    local = logs.reshape(6, 3)[np.arange(6), codes].sum(1)
    np.testing.assert_allclose(
        MarkovNet.potts(label, w, log_values=logs).log_value_codes(codes), equal @ w + local, atol=1e-10
    )
    shared = MarkovNet.potts(label, 1.5)
    np.testing.assert_allclose(shared.log_value_codes(codes), 1.5 * equal.sum(1), atol=1e-10)
    np.testing.assert_allclose(shared.scaled(2).log_value_codes(codes), 3.0 * equal.sum(1), atol=1e-10)
    diagonal = MarkovNet.potts(label, 1.0, edges=label.grid_edges(2))
    assert diagonal.num_factors == len(label.grid_edges(2)) > len(edges)


def test_a_megapixel_grid_is_quick_and_small():
    pixel = Discrete.array("pixel", (1024, 1024), states=("paper", "ink"))
    net = within(2.0, lambda: MarkovNet.potts(pixel, 1.5))
    assert net.num_factors == 2_095_104
    assert net.variables.parts == (pixel,)
    tracemalloc.start()
    MarkovNet(unary(pixel, np.zeros((1024, 1024, 2))), pairwise(pixel.grid_edges(), Potts(1.5))).problem()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200e6
    assert net.markov_blanket("pixel[0,0]") == ("pixel[0,1]", "pixel[1,0]")
    blank = np.zeros((1, len(net)), np.int8)
    assert net.log_value_codes(blank)[0] == pytest.approx(1.5 * 2_095_104)


@given(strategies.markov_nets(max_variables=4))
@settings(max_examples=80)
def test_log_value_is_the_product_of_factors(net):
    factors, cards = strategies.plain_factors(net)
    expected = oracle.log_joint(factors, cards).reshape(-1)
    codes = np.array(list(itertools.product(*(range(c) for c in cards.values()))), np.int64).reshape(len(expected), -1)
    got = net.log_value_codes(codes)
    np.testing.assert_array_equal(np.isinf(got), np.isinf(expected))
    np.testing.assert_allclose(got[np.isfinite(got)], expected[np.isfinite(expected)], atol=1e-9)


@st.composite
def with_evidence(draw):
    net = draw(strategies.markov_nets(max_variables=4))
    return net, draw(strategies.evidence(list(net)))


@given(with_evidence())
@settings(max_examples=80)
def test_condition_keeps_the_measure(case):
    net, given_ = case
    factors, cards = strategies.plain_factors(net)
    left_factors, left = strategies.plain_factors(net.condition(given_))
    expected = oracle.marginal(factors, cards, list(left), strategies.plain_evidence(given_, net))
    np.testing.assert_allclose(oracle.joint(left_factors, left), expected, rtol=1e-9, atol=0)


def test_condition_of_blocks_equals_condition_of_tables():
    """Grids, parity checks and shared or single tables reduce as the factors they stand for."""
    label = Discrete.array("l", (2, 3), states=3)
    rng = np.random.default_rng(8)
    pairs = label.grid_edges().pairs
    net = MarkovNet(
        unary(label, rng.normal(size=(2, 3, 3))),
        pairwise(label.grid_edges(), Potts(0.7)),
        over_scopes(pairs, rng.exponential(size=(len(pairs), 3, 3)), array=label),
        over_scopes([[0, 1, 2], [3, 4, 5]], rng.exponential(size=(3, 3, 3)), array=label),
        Table((label[0, 0], label[1, 2]), rng.exponential(size=(3, 3))),
    )
    given_ = {"l[0,1]": 2, label[1, 1]: 0, "l[1,2]": {0, 1}}
    reduced = net.condition(given_)
    assert [v.name for v in reduced] == ["l[0,0]", "l[0,2]", "l[1,0]", "l[1,2]"]
    factors, cards = strategies.plain_factors(net)
    left_factors, left = strategies.plain_factors(reduced)
    expected = oracle.marginal(factors, cards, list(left), strategies.plain_evidence(given_, net))
    np.testing.assert_allclose(oracle.joint(left_factors, left), expected, rtol=1e-9)
    everything = net.condition({v.name: 1 for v in label})
    assert len(everything) == 0
    total = sum(f.log_total for f in everything.factors)
    assert total == pytest.approx(net.log_value_codes(np.ones((1, 6), np.int64))[0])


def test_untouched_arrays_stay_lazy():
    x, y = Discrete.array("x", 5), Discrete.array("y", 1000)
    net = MarkovNet(unary(x, [0.0, 1.0]), unary(y, [0.0, 2.0]))
    reduced = net.condition({"x[2]": 1})
    assert reduced.variables.parts[-1] == y
    assert len(reduced) == 1004
    assert z(MarkovNet(unary(x, [0.0, 1.0])).condition({"x[2]": 1})) == pytest.approx((1 + math.e) ** 4 * math.e)


@given(strategies.markov_nets(max_variables=4, zeros=False), st.data())
@settings(max_examples=60)
def test_gibbs_conditional_is_that_of_the_joint(net, data):
    """temporal-and-learning-goals U5: only factors touching the variable matter."""
    if not len(net):
        return
    variable = data.draw(st.sampled_from(list(net)))
    conditional = net.conditional(variable)
    names = list(net.variables.names)
    blanket = net.markov_blanket(variable)
    assert [v.name for v in conditional.scope] == [*blanket, variable.name]
    p = joint(net)
    family = np.moveaxis(
        p.sum(tuple(i for i, n in enumerate(names) if n not in (*blanket, variable.name))),
        [sorted([*blanket, variable.name], key=names.index).index(n) for n in (*blanket, variable.name)],
        range(len(blanket) + 1),
    )
    expected = family / family.sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(conditional.values, expected, atol=CLOSE)
    rest = [i for i, n in enumerate(names) if n not in (*blanket, variable.name)]
    assert oracle.independent(p, [names.index(variable.name)], rest, [names.index(n) for n in blanket])


@given(strategies.markov_nets(max_variables=4, zeros=False))
@settings(max_examples=60)
def test_separation_means_independence(net):
    """temporal-and-learning-goals U4 and U13, variational B3: the graph is an I-map of the distribution."""
    p, names = joint(net), list(net.variables.names)
    for a, b in itertools.combinations(range(len(names)), 2):
        rest = [i for i in range(len(names)) if i not in (a, b)]
        for given_ in ([], rest[:1], rest):
            if oracle.separated(net.graph.edges, [names[a]], [names[b]], [names[i] for i in given_]):
                assert oracle.independent(p, [a], [b], given_, tolerance=1e-9)


def test_chain_end_conditional():
    """temporal-and-learning-goals U5: p(a | b) = phi(a, b) / sum_a phi(a, b) at the end of a chain."""
    a, b, c = (Discrete(n) for n in "abc")
    phi = np.array([[3.0, 1.0], [2.0, 5.0]])
    net = MarkovNet(Table((a, b), phi), Table((b, c), [[1, 2], [3, 4]]))
    np.testing.assert_allclose(net.conditional("a").values, (phi / phi.sum(0)).T)


def test_constraint_potentials():
    """temporal-and-learning-goals U8: 1[x + y + z >= 1], a hard zero."""
    bit = Discrete.array("b", 3)
    p = joint(MarkovNet(over_scopes([[0, 1, 2]], AtLeastOne(), array=bit)))
    assert p[0, 0, 0] == 0
    np.testing.assert_allclose(p.reshape(-1)[1:], 1 / 7)


def test_conflicting_factors_are_legal_until_asked():
    """temporal-and-learning-goals U2: Z = 0 is found by inference."""
    a = Discrete("a")
    net = MarkovNet(Table(a, [1, 0]), Table(a, [0, 1]))
    assert oracle.log_z(*strategies.plain_factors(net)) == -math.inf
    assert net.log_value({"a": 0})[0] == -math.inf


def test_collider_has_no_perfect_markov_network():
    """variational B4: its independences are {1, 2} marginally and nothing else, which no undirected graph says."""
    x1, x2, x3 = (Discrete(n) for n in ("x1", "x2", "x3"))
    table = np.array([[[0.9, 0.1], [0.3, 0.7]], [[0.4, 0.6], [0.2, 0.8]]])
    net = MarkovNet(Table(x1, [0.3, 0.7]), Table(x2, [0.6, 0.4]), Table((x1, x2, x3), table))
    p = joint(net)
    facts = {
        (a, b, given_): oracle.independent(p, [a], [b], given_)
        for a, b in itertools.combinations(range(3), 2)
        for given_ in ((), tuple(i for i in range(3) if i not in (a, b)))
    }
    assert [key for key, holds in facts.items() if holds] == [(0, 1, ())]
    pairs = list(itertools.combinations("abc", 2))
    for size in range(4):
        for edges in itertools.combinations(pairs, size):
            said = {
                ("abc".index(a), "abc".index(b), tuple(sorted("abc".index(g) for g in given_))): oracle.separated(
                    edges, [a], [b], given_
                )
                for a, b in pairs
                for given_ in ((), tuple(c for c in "abc" if c not in (a, b)))
            }
            assert said != facts


def test_most_probable_states_are_not_the_most_probable_assignment():
    """temporal-and-learning-goals N7."""
    y1, y2 = Discrete("y1"), Discrete("y2")
    net = MarkovNet(Table((y1, y2), [[0.35, 0.05], [0.3, 0.3]]))
    factors, cards = strategies.plain_factors(net)
    np.testing.assert_allclose(oracle.conditional(factors, cards, ["y1"]), [0.4, 0.6])
    assert oracle.conditional(factors, cards, ["y2"])[0] == pytest.approx(0.65)
    assert oracle.map_assignments(factors, cards)[0] == [{"y1": 0, "y2": 0}]
    assert oracle.marginal_map(factors, cards, ["y1"])[0] == [{"y1": 1}]


def test_pairwise_energies():
    a, b, c = (Discrete(n) for n in "abc")
    net = MarkovNet.pairwise_energies(
        {a: [7, 0], b: [0, 2]}, {(a, b): [[0, 6], [6, 0]], (b, c): [[0, math.inf], [1, 0]]}
    )
    assert net.log_value({"a": 0, "b": 1, "c": 0})[0] == pytest.approx(-(7 + 2 + 6 + 1))
    assert net.log_value({"a": 0, "b": 0, "c": 1})[0] == -math.inf


def test_log_linear_features():
    a, b = Discrete("a", 3), Discrete("b", 2)
    features = [Feature((a, b), lambda x, y: x * y, name="product"), Feature(b, [1.0, -2.0])]
    net = MarkovNet.log_linear(features, [0.5, -1.5])
    for x, y in itertools.product(range(3), range(2)):
        expected = 0.5 * x * y - 1.5 * (1.0 if y == 0 else -2.0)
        assert net.log_value({"a": x, "b": y})[0] == pytest.approx(expected)
    assert net.weights.tolist() == [0.5, -1.5]
    other = net.with_weights([0.0, 1.0])
    assert other.log_value({"a": 2, "b": 1})[0] == pytest.approx(-2.0)
    with pytest.raises(ModelError, match="2 features need 2 finite weights"):
        MarkovNet.log_linear(features, [1.0])
    with pytest.raises(NotApplicable, match="has no features"):
        misconception().with_weights([1.0])


def test_scaled_tables_and_constraints():
    a, b = Discrete("a"), Discrete("b")
    net = MarkovNet(Table((a, b), [[4, 0], [1, 9]]), SparseTable((a,), [[1]], values=[4.0]))
    half = net.scaled(0.5)
    assert half.log_value({"a": 1, "b": 1})[0] == pytest.approx(math.log(6))
    flat = code_net().scaled(2.0)
    np.testing.assert_allclose(joint(flat), joint(code_net()), atol=EXACT)
    assert z(code_net().scaled(0.0)) == pytest.approx(64)
    assert z(code_net("000000").scaled(0.0)) == pytest.approx(64)
    with pytest.raises(NotClosed):
        code_net().scaled(-1.0)


def test_sparse_and_gaussian_factors_live_beside_tables():
    a, b, x = Discrete("a"), Discrete("b"), Real("x")
    net = MarkovNet(SparseTable((a, b), [[0, 1], [1, 0]], values=[2.0, 3.0]), Table(a, [1, 1]))
    assert z(net) == pytest.approx(5)
    gaussian = MarkovNet(CanonicalGaussian([x], [[2.0]], h=[1.0], g=0.5), Table(a, [1.0, math.e]))
    assert gaussian.log_value({"x": 3.0, "a": 1})[0] == pytest.approx(-0.5 * 2 * 9 + 3 + 0.5 + 1)
    assert gaussian.graph.edges == ()
    improper = MarkovNet(CanonicalGaussian([x], [[0.0]], h=[1.0], g=0.0))
    assert improper.log_value({"x": 2.0})[0] == pytest.approx(2.0)
    alone = gaussian.conditional("x")
    assert (alone.intercept.item(), alone.covariance.item()) == pytest.approx((0.5, 0.5))


def test_variables_of_every_origin():
    pixel = Discrete.array("pixel", (2, 2))
    extra = Discrete("extra")
    net = MarkovNet(
        Table((pixel[0, 1], extra), np.ones((2, 2))), unary(pixel, [0.0, 1.0]), variables=[Discrete("first")]
    )
    assert list(net.variables.names) == ["first", "pixel[0,0]", "pixel[0,1]", "pixel[1,0]", "pixel[1,1]", "extra"]
    assert net.variables.parts[1] is pixel
    assert net.markov_blanket("pixel[0,1]") == ("extra",)
    raw = MarkovNet(FactorBlock([[0, 1], [1, 2]], (2, 2), values=Potts(1.0)), variables=[Discrete(n) for n in "abc"])
    assert raw.graph == UndirectedGraph.parse("a - b - c")
    with pytest.raises(ScopeError, match="variables="):
        MarkovNet(FactorBlock([[0, 1]], (2, 2), values=Potts(1.0)))
    with pytest.raises(ScopeError, match="position 5"):
        MarkovNet(FactorBlock([[0, 5]], (2, 2), values=Potts(1.0)), variables=[extra])
    with pytest.raises(ScopeError, match="share one name"):
        MarkovNet(Table(extra, [1, 1]), Table(Discrete("extra", 3), [1, 1, 1]))
    with pytest.raises(ModelError, match="made of factors; found 3"):
        MarkovNet(3)


def test_codes_are_checked():
    net = misconception()
    with pytest.raises(ModelError, match=r"shape \(rows, 4\)"):
        net.log_value_codes([[0, 1]])
    with pytest.raises(ModelError, match="Row 1 has the code 2"):
        net.log_value_codes([[0, 0, 0, 0], [0, 0, 2, 0]])
    with pytest.raises(ModelError, match="integers"):
        net.log_value_codes([[0.0, 0.0, 0.0, 0.0]])
    with pytest.raises(DataError, match="row 1"):
        net.log_value({"a": [0, 0], "b": [1, None], "c": [0, 0], "d": [0, 0]})


def test_empty_isolated_and_pickled():
    assert MarkovNet().problem().num_factors == 0
    assert MarkovNet().log_value({}).tolist() == [0.0]
    lone = MarkovNet(variables=[Discrete("a", 3)])
    assert lone.conditional("a").values.tolist() == pytest.approx([1 / 3] * 3)
    assert lone.markov_blanket("a") == ()
    net = pickle.loads(pickle.dumps(colors()))
    np.testing.assert_allclose(joint(net), joint(colors()))
    assert "factors" in net._repr_html_()
    assert net.to_networkx().number_of_edges() == 4


def test_hidden_variables_are_not_the_models_own():
    a, b, h = Discrete("a"), Discrete("b"), Discrete("h")
    net = MarkovNet(Table((a, h), [[1, 2], [3, 4]]), Table((h, b), [[5, 1], [2, 3]]), auxiliaries=[h])
    assert list(net.variables.names) == ["a", "b"]
    assert net.problem().num_visible == 2
    assert net.graph == UndirectedGraph.parse("a - b")
    assert net.markov_blanket("a") == ("b",)
    reduced = net.condition({"a": 1})
    assert list(reduced.variables.names) == ["b"]
    assert reduced.auxiliaries == (h,)
    assert z(reduced) == pytest.approx(3 * 6 + 4 * 5)
    for ask in (lambda: net.log_value({"a": 0, "b": 0}), lambda: net.scaled(2.0), lambda: net.conditional("a")):
        with pytest.raises(NotApplicable, match="hidden"):
            ask()


def test_edges_of_one_pair_only():
    spin = Discrete.array("s", 3, states=(-1, 1))
    net = MarkovNet.ising(spin, 1.0, edges=Edges(spin, np.array([[0, 2]], np.int32)))
    assert net.graph.edges == (("s[0]", "s[2]"),)


def gaussian_net(seed=0):
    """Three reals with information K, h, the first of them different in each state of a discrete neighbor."""
    rng = np.random.default_rng(seed)
    x, y, z, d = ss.Real("x"), ss.Vector("y", 2), ss.Real("z"), ss.Discrete("d")
    A = rng.normal(size=(4, 4))
    K, h = A @ A.T + np.eye(4), rng.normal(size=4)
    whole = ss.factors.CanonicalGaussian((x, y, z), K, h=h)
    shift = ss.LinearGaussian(x, [0.0, 2.0], covariance=[1.0, 0.5], by=d)
    return ss.MarkovNet(whole, *shift.factors(), ss.Table(d, [1.0, 3.0]), variables=[x, y, z, d]), K, h


def test_the_conditional_of_a_real_variable_is_its_regression_on_the_others():
    """By the information matrix: K_zz and its row of the others."""
    net, K, h = gaussian_net()
    found = net.conditional("z")
    assert isinstance(found, ss.LinearGaussian)
    assert set(net.markov_blanket("z")) == {"x", "y"} == {v.name for v in found.parents}
    order = [v.name for v in found.given]
    places = [i for name in order for i in {"x": [0], "y": [1, 2]}[name]]
    np.testing.assert_allclose(found.covariance.ravel(), [1.0 / K[3, 3]])
    np.testing.assert_allclose(found.coefficients.ravel(), -K[3, places] / K[3, 3])
    np.testing.assert_allclose(found.intercept.ravel(), [h[3] / K[3, 3]])


def test_the_conditional_of_a_real_variable_depends_on_its_discrete_neighbors():
    net, K, h = gaussian_net(1)
    found = net.conditional("x")
    assert [v.name for v in found.by] == ["d"]
    for code, (mean, variance) in enumerate([(0.0, 1.0), (2.0, 0.5)]):
        precision = K[0, 0] + 1.0 / variance
        np.testing.assert_allclose(found.covariance[code].ravel(), [1.0 / precision])
        np.testing.assert_allclose(found.intercept[code].ravel(), [(h[0] + mean / variance) / precision])


def test_a_discrete_variable_with_real_neighbors_has_no_table():
    net, _, _ = gaussian_net()
    assert net.markov_blanket("d") == ("x",)
    with pytest.raises(ss.errors.NotApplicable, match=r"'x'.*condition"):
        net.conditional("d")
    alone = net.condition({"x": 0.3, "y": [0.0, 1.0], "z": 0.0}).conditional("d").values
    weights = np.array([1.0, 3.0]) * np.exp(-0.5 * np.array([0.3, 1.7]) ** 2 / [1.0, 0.5]) / np.sqrt([1.0, 0.5])
    np.testing.assert_allclose(alone, weights / weights.sum())


def test_a_real_variable_without_factors_has_no_conditional():
    with pytest.raises(ss.errors.NotApplicable, match="No factor"):
        ss.MarkovNet(variables=[ss.Real("x")]).conditional("x")
