"""Published and independently recomputed numbers, asked through the public functions.

Each comment names the specification and the row the number comes from.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import oracle
import sepset as ss
from sepset.graphs.clusters import ClusterTree as Tree
from sepset.inference.exact.messages import calibrate
from sepset.inference.plan import make_plan
from support.tolerances import CLOSE, EXACT, printed

METHODS = [ss.inference.BruteForce(), ss.VariableElimination(), ss.CliqueTree()]
every_method = pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)
A, B, C, D = (ss.Discrete(name, 2) for name in "abcd")


def z(model, **options):
    return math.exp(float(ss.log_partition(model, **options)))


# temporal-and-learning-goals N1, U2: the triangle that favors agreement.
def triangle():
    agree = [[10, 1], [1, 10]]
    return ss.MarkovNet(ss.Table((A, B), agree), ss.Table((B, C), agree), ss.Table((A, C), agree))


@every_method
def test_triangle(method):
    net = triangle()
    assert z(net, method=method) == pytest.approx(2060)
    joint = ss.query(net, [A, B, C], method=method).values
    assert joint[0, 0, 0] == pytest.approx(0.485437, abs=printed(6))
    assert joint[1, 1, 1] == pytest.approx(0.485437, abs=printed(6))
    assert joint[0, 1, 0] == pytest.approx(0.004854, abs=printed(6))
    assert joint[0, 0, 0] + joint[1, 1, 1] == pytest.approx(100 / 103)
    assert np.trace(ss.query(net, [A, B], method=method).values) == pytest.approx(2020 / 2060)


# temporal-and-learning-goals N2, U3: hair colors, whatever the scale of a factor.
@every_method
@pytest.mark.parametrize("scale", [1.0, 10.0])
def test_hair_colors(method, scale):
    a, b, c, d = (ss.Discrete(name, ("red", "blue", "green")) for name in "ABCD")
    differ = 1.0 - np.eye(3)
    pairs = [ss.Table(pair, differ) for pair in ((a, b), (b, c), (c, d), (d, a))]
    net = ss.MarkovNet(*pairs, ss.Table(d, np.array([0.6, 0.3, 0.1]) * scale))
    assert z(net, method=method) == pytest.approx(6 * scale)
    answers = ss.marginals(net, method=method)
    np.testing.assert_allclose(answers["D"].values, [0.6, 0.3, 0.1])
    for name in "AC":
        np.testing.assert_allclose(answers[name].values, [0.2, 0.35, 0.45])
    np.testing.assert_allclose(answers["B"].values, [0.466667, 0.316667, 0.216667], atol=printed(6))
    assert (ss.query(net, [a, b, c, d], method=method).values > 0).sum() == 18


CHECKS = ((0, 1, 2, 3), (2, 3, 5), (0, 3, 4))


def code(received=None, noise=0.1):
    """Six bits under three parity checks, and the channel's likelihoods."""
    bits = [ss.Discrete(f"y{i + 1}", 2) for i in range(6)]
    even = [ss.Table([bits[i] for i in check], 1 - np.indices((2,) * len(check)).sum(0) % 2) for check in CHECKS]
    given = (
        {}
        if received is None
        else {
            bit: ss.Likelihood([1 - noise, noise] if got == "0" else [noise, 1 - noise])
            for bit, got in zip(bits, received, strict=True)
        }
    )
    return ss.MarkovNet(*even, variables=bits), given


def word(assignment):
    return "".join(str(state) for state in assignment.values())


# temporal-and-learning-goals N3: the codewords are the support.
@every_method
def test_codewords(method):
    net, _ = code()
    best = ss.map_assignment(net, k=20, method=method)
    words = {word(one) for one in best.assignments}
    assert words == {"000000", "011001", "110010", "101011", "111100", "100101", "001110", "010111"}
    assert best.log_values == pytest.approx([0.0] * 8)
    assert min(sum(x != y for x, y in zip(u, v, strict=True)) for u, v in itertools.combinations(words, 2)) == 3


# temporal-and-learning-goals N4, U10: decoding over a binary symmetric channel.
@every_method
def test_decoding(method):
    net, given = code("011011")
    best = ss.map_assignment(net, given=given, method=method)
    assert word(best.assignment) == "011001"
    assert best.probability == pytest.approx(0.800122, abs=printed(6))
    ones = [m.values[1] for m in ss.marginals(net, given=given, method=method).values()]
    np.testing.assert_allclose(ones, [0.1, 0.9, 0.9, 0.1, 0.197561, 0.978049], atol=printed(6))
    net, given = code("111111")
    tied = ss.map_assignment(net, given=given, k=4, method=method)
    shares = np.exp(np.array(tied.log_values) - float(ss.log_partition(net, given=given)))
    np.testing.assert_allclose(shares[:3], 0.290310, atol=printed(6))
    assert shares[3] < 0.29


# temporal-and-learning-goals N5, U14: independences of the diamond without any factorization over it.
def test_independences_that_no_product_over_the_diamond_has():
    words = ["0000", "1000", "1100", "1110", "0001", "0011", "0111", "1111"]
    values = np.zeros((2, 2, 2, 2))
    for cell in words:
        values[tuple(map(int, cell))] = 1 / 8
    net = ss.MarkovNet(ss.Table((A, B, C, D), values))
    p = ss.query(net, [A, B, C, D]).values
    assert oracle.independent(p, [0], [2], [1, 3])
    assert oracle.independent(p, [1], [3], [0, 2])
    for pair in ((A, B), (B, C), (C, D), (D, A)):
        assert (ss.query(net, pair).values > 0).all()


# temporal-and-learning-goals N6, U6, U7: Ising models, with the minus sign on the field.
@every_method
def test_two_spins(method):
    net = ss.MarkovNet.ising(ss.Discrete.array("s", (2,), states=(-1, 1)), 0.5, field=0.2)
    assert z(net, method=method) == pytest.approx(4.777835, abs=printed(6))
    assert ss.query(net, ["s[0]", "s[1]"], method=method).values[1, 1] == pytest.approx(0.231312, abs=printed(6))
    assert ss.query(net, "s[0]", method=method)[1] == pytest.approx(0.358259, abs=printed(6))
    given = ss.query(net, "s[1]", given={"s[0]": 1}, method=method)[1]
    assert given == pytest.approx(0.645656, abs=printed(6))
    assert given == pytest.approx(1 / (1 + math.exp(-2 * (0.5 - 0.2))))


@every_method
@pytest.mark.parametrize(
    ("coupling", "log_z", "corner"),
    [(0.2, 6.483045, 0.504649), (0.4407, 7.502310, 0.588305), (0.8, 10.596689, 0.863971)],
)
def test_nine_spins(method, coupling, log_z, corner):
    net = ss.MarkovNet.ising(ss.Discrete.array("s", (3, 3), states=(-1, 1)), coupling)
    assert float(ss.log_partition(net, method=method)) == pytest.approx(log_z, abs=printed(6))
    answer = ss.query(net, "s[2,2]", given={"s[0,0]": 1}, method=method)
    assert answer[1] == pytest.approx(corner, abs=printed(6))


def test_nine_spins_in_a_field():
    net = ss.MarkovNet.ising(ss.Discrete.array("s", (3, 3), states=(-1, 1)), 0.4, field=0.1)
    assert float(ss.log_partition(net)) == pytest.approx(7.419458, abs=printed(6))
    answers = ss.marginals(net)
    assert answers["s[0,0]"].values @ [-1, 1] == pytest.approx(-0.295990, abs=printed(6))
    assert answers["s[1,1]"].values @ [-1, 1] == pytest.approx(-0.393000, abs=printed(6))


# temporal-and-learning-goals N7, V3: the best value depends on what is asked with it.
@every_method
def test_most_probable_values_depend_on_the_company(method):
    y1, y2 = ss.Discrete("y1", 2), ss.Discrete("y2", 2)
    net = ss.MarkovNet(ss.Table((y1, y2), [[0.35, 0.05], [0.30, 0.30]]))
    np.testing.assert_allclose(ss.query(net, y1, method=method).values, [0.4, 0.6])
    assert ss.query(net, y2, method=method)[0] == pytest.approx(0.65)
    assert ss.map_assignment(net, over=y1, method=method).assignment == {"y1": 1}
    assert ss.map_assignment(net, method=method).assignment == {"y1": 0, "y2": 0}


# temporal-and-learning-goals N8, V8, V9: the eight-node trace, through a plan with the text's order.
@pytest.mark.parametrize("seed", range(5))
def test_the_elimination_trace(seed):
    dag = ss.DAG([*"ABCDEFGH"], list(map(tuple, ["BC", "AD", "CE", "DE", "AF", "EG", "EH", "FH"])))
    net = ss.BayesNet.random(dag, states=2, seed=seed)
    problem = net.problem()
    unpruned = problem.relevant(range(8), prune=False)
    plan = make_plan(problem, unpruned, method=ss.graphs.GivenOrder("HGFEDCBA"), last=[0], joint=False)
    cliques = ["".join(sorted(clique)) for clique in plan.elimination.cliques]
    assert cliques == ["EFH", "EG", "AEF", "ACDE", "ACD", "ABC", "AB", "A"]
    scopes = ["".join(sorted(m)) for m in plan.elimination.messages]
    assert scopes[:7] == ["EF", "E", "AE", "ACD", "AC", "AB", "A"]
    assert plan.width == 3
    # m_g is one everywhere, so g is barren and the default plan leaves it out.
    assert "G" not in ss.plan(net, "A", given=["H"]).order
    families = [(c.child.name, tuple(p.name for p in c.parents), np.asarray(c.values)) for c in net.cpds]
    expected = oracle.conditional(oracle.bayes_factors(families), dict.fromkeys("ABCDEFGH", 2), ["A"], {"H": 1})
    for order in ("HGFEDCBA", "BCDGHEFA", "ABCDEFGH"):
        for prune in (True, False):
            method = ss.VariableElimination(order=ss.graphs.GivenOrder(order), prune=prune)
            np.testing.assert_allclose(ss.query(net, "A", given={"H": 1}, method=method).values, expected, atol=EXACT)


# temporal-and-learning-goals U4, U5, U13: separation in the graph is independence, and a blanket screens off.
@pytest.mark.parametrize("seed", range(5))
def test_separation_is_independence(seed):
    rng = np.random.default_rng(seed)
    pairs = [(A, B), (B, C), (C, D), (D, A)]
    net = ss.MarkovNet(*(ss.Table(pair, rng.uniform(0.1, 2.0, (2, 2))) for pair in pairs))
    for b, d in itertools.product((0, 1), repeat=2):
        alone = ss.query(net, A, given={B: b, D: d}).values
        for c in (0, 1):
            np.testing.assert_allclose(ss.query(net, A, given={B: b, C: c, D: d}).values, alone, atol=EXACT)


# temporal-and-learning-goals U8: hard constraints are factors with zeros.
def test_at_least_one():
    bits = [ss.Discrete(n, 2) for n in "xyz"]
    net = ss.MarkovNet(ss.Table(bits, (np.indices((2, 2, 2)).sum(0) >= 1).astype(float)))
    assert z(net) == pytest.approx(7)
    assert ss.query(net, "x")[1] == pytest.approx(4 / 7)


# temporal-and-learning-goals U12: a Bayesian network is a Markov network with Z = 1, and P(e) under evidence; V1, V8.
@pytest.mark.parametrize("seed", range(5))
def test_the_partition_function_of_a_bayesian_network(seed):
    net = ss.BayesNet.random(ss.DAG.parse("a -> b -> d; a -> c -> d; d -> e"), states=3, seed=seed)
    assert z(net.markov_net()) == pytest.approx(1)
    given = {"e": 2, "b": 0}
    evidence = ss.log_probability(net, given=given).probability
    assert z(net.condition(given)) == pytest.approx(evidence)
    masks = {"e": ss.Likelihood([0, 0, 1]), "b": ss.Likelihood([1, 0, 0])}
    assert ss.log_probability(net, given=masks).probability == pytest.approx(evidence)
    np.testing.assert_allclose(ss.query(net, "a", given=masks).values, ss.query(net, "a", given=given).values)


# temporal-and-learning-goals V4: on a chain the near neighbor screens off the far one, both ways.
def test_prediction_and_diagnosis_on_a_chain():
    net = ss.BayesNet.random(ss.DAG.parse("a -> b -> c"), seed=3)
    for a, c in itertools.product((0, 1), repeat=2):
        np.testing.assert_allclose(
            ss.query(net, "c", given={"a": a, "b": 1}).values, ss.query(net, "c", given={"b": 1}).values
        )
        np.testing.assert_allclose(
            ss.query(net, "a", given={"b": 1, "c": c}).values, ss.query(net, "a", given={"b": 1}).values
        )


# temporal-and-learning-goals V6, V7 and E19: a hidden chain forwards or backwards, in linear work.
def test_a_hidden_chain_in_either_direction():
    rng = np.random.default_rng(0)
    length, states = 60, 3
    y = [ss.Discrete(f"y{t}", states) for t in range(length)]
    x = [ss.Discrete(f"x{t}", 2) for t in range(length)]
    start, move, emit = rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(3), 3), rng.dirichlet(np.ones(2), 3)
    cpds = [ss.TableCPD(y[0], start)] + [ss.TableCPD(v, move, given=u) for u, v in itertools.pairwise(y)]
    net = ss.BayesNet(*cpds, *(ss.TableCPD(o, emit, given=s) for o, s in zip(x, y, strict=True)))
    seen = rng.integers(0, 2, length)
    message = start * emit[:, seen[0]]
    for symbol in seen[1:]:
        message = (message @ move) * emit[:, symbol]
    given = dict(zip(x, seen.tolist(), strict=True))
    names = [v.name for v in y]
    for order in (names, names[::-1]):
        method = ss.VariableElimination(order=ss.graphs.GivenOrder(order))
        assert float(ss.log_probability(net, given=given, method=method)) == pytest.approx(math.log(message.sum()))
        answer = ss.query(net, y[-1], given=given, method=method)
        np.testing.assert_allclose(answer.values, message / message.sum())
    assert ss.plan(net, y[-1], given=list(given)).largest == states**2


# variational-and-clique-tree-queries, section 4, example 1 and correction 16: 4(n - 2) + 2 multiplications.
@pytest.mark.parametrize("length", [3, 5, 9, 20])
def test_multiplications_of_chain_elimination(length):
    variables = [ss.Discrete(f"x{i}", 2) for i in range(1, length + 1)]
    rows = [[0.7, 0.3], [0.4, 0.6]]
    cpds = [ss.TableCPD(variables[0], [0.2, 0.8])]
    net = ss.BayesNet(*cpds, *(ss.TableCPD(v, rows, given=u) for u, v in itertools.pairwise(variables)))
    order = ss.graphs.GivenOrder([v.name for v in variables[:-1]])
    engine = ss.prepare(net, method=ss.VariableElimination(order=order, prune=False))
    found = engine.plan(given=[variables[-1].name])
    # `cost` counts one multiplication a factor and entry; a product of k factors takes k - 1.
    assert found.cost - sum(found.elimination.sizes) == 4 * (length - 2) + 2
    expected = (np.array([0.2, 0.8]) @ np.linalg.matrix_power(rows, length - 1))[1]
    assert engine.log_probability(given={variables[-1]: 1}).probability == pytest.approx(expected)


# variational-and-clique-tree-queries, section 4, example 2, B2 and B8: the six-node network and its separator.
def test_six_nodes_and_their_separator():
    dag = ss.DAG.parse("X1 -> X3 <- X2; X1 -> X4 <- X2; X3 -> X5 <- X4; X3 -> X6")
    tree = ss.graphs.tree_decomposition(ss.graphs.moralize(dag))
    assert ("X3", "X4") in {tuple(sorted(s)) for s in tree.sepsets}
    net = ss.BayesNet.random(dag, seed=1)
    near = ss.query(net, "X6", given={"X3": 0}).values
    for far in ({"X1": 1}, {"X2": 0, "X5": 1}, {"X4": 1}):
        np.testing.assert_allclose(ss.query(net, "X6", given={"X3": 0, **far}).values, near)
    pair = ss.query(net, ["X1", "X2"]).values
    assert oracle.independent(pair, [0], [1])
    for other in ("X3", "X4", "X5", "X6"):
        assert not oracle.independent(ss.query(net, ["X1", "X2"], given={other: 1}).values, [0], [1], tolerance=1e-6)


# variational-and-clique-tree-queries B5, B6, B7, section 4, example 3: the four-cycle, under every order.
@pytest.mark.parametrize("order", list(itertools.permutations(["a", "b", "c", "d"])))
def test_the_four_cycle_under_every_order(order):
    rng = np.random.default_rng(4)
    tables = {pair: rng.uniform(0.1, 1.0, (2, 2)) for pair in ((A, B), (A, C), (B, D), (C, D))}
    net = ss.MarkovNet(*(ss.Table(pair, values) for pair, values in tables.items()))
    factors = [(tuple(v.name for v in pair), values) for pair, values in tables.items()]
    cards = dict.fromkeys("abcd", 2)
    method = ss.VariableElimination(order=ss.graphs.GivenOrder(order))
    p = ss.query(net, [A, B, C, D], method=method).values
    np.testing.assert_allclose(p, oracle.conditional(factors, cards, list("abcd")), atol=EXACT)
    assert oracle.independent(p, [0], [3], [1, 2])
    assert oracle.independent(p, [1], [2], [0, 3])
    np.testing.assert_allclose(
        ss.query(net, [D, A], method=method).values, oracle.conditional(factors, cards, ["d", "a"]), atol=EXACT
    )


# variational-and-clique-tree-queries B10: coupled chains keep a clique of at least one more than the chains.
@pytest.mark.parametrize("chains", [2, 3, 4])
def test_coupled_chains_have_wide_cliques(chains):
    edges = []
    for t, j in itertools.product(range(1, 5), range(chains)):
        edges.append((f"{t - 1}.{j}", f"{t}.{j}"))
        if j:
            edges.append((f"{t}.{j - 1}", f"{t}.{j}"))
    net = ss.BayesNet.random(ss.DAG([], edges), seed=0)
    assert ss.plan(net).width + 1 >= chains + 1


# variational-and-clique-tree-queries B11: entropies and the information between two variables.
def test_information_identities():
    net = ss.BayesNet.random(ss.DAG.parse("x -> y"), states=3, seed=5)
    pair, x, y = (ss.query(net, names) for names in (["x", "y"], "x", "y"))
    information = x.entropy() + y.entropy() - pair.entropy()
    assert information > 0
    product = x.distribution * y.distribution
    assert pair.distribution.kl(product) == pytest.approx(information)
    rows = [ss.query(net, "x", given={"y": s}).entropy() for s in range(3)]
    assert x.entropy() - y.values @ rows == pytest.approx(information)


# map-and-hybrid, section 2.1, #1 to #4 and section 2.2: the misconception example.
MISCONCEPTION = {
    (A, B): [[30, 5], [1, 10]],
    (B, C): [[100, 1], [1, 100]],
    (C, D): [[1, 100], [100, 1]],
    (D, A): [[100, 1], [1, 100]],
}


def misconception():
    return ss.MarkovNet(*(ss.Table(pair, values) for pair, values in MISCONCEPTION.items()))


def max_calibrated():
    tree = Tree([("a", "b", "d"), ("b", "c", "d")], [(0, 1)])
    return calibrate(tree, list(misconception().problem().factors()), ss.factors.MAX)


def test_misconception_max_marginals_in_a_calibrated_tree():
    result = max_calibrated()
    first = result.beliefs[0].align((A, B, D)).values.reshape(-1)
    np.testing.assert_allclose(first, [300_000, 300_000, 5_000_000, 500, 100, 1_000_000, 100_000, 100_000])
    (sepset,) = result.sepset_beliefs
    np.testing.assert_allclose(sepset.align((B, D)).values.reshape(-1), [300_000, 1_000_000, 5_000_000, 100_000])
    second = result.beliefs[1].align((B, C, D)).values.reshape(-1)
    np.testing.assert_allclose(second, [300_000, 1_000_000, 300_000, 100, 500, 100_000, 5_000_000, 100_000])


def test_misconception_reparameterization_by_max_beliefs():
    result = max_calibrated()
    at = {A: 1, B: 0, C: 1, D: 0}
    value = sum(b.log_value(at) for b in result.beliefs) - result.sepset_beliefs[0].log_value(at)
    assert math.exp(value) == pytest.approx(100)
    rebuilt = (result.beliefs[0] * result.beliefs[1] / result.sepset_beliefs[0]).align((A, B, C, D)).values
    factors = [(tuple(v.name for v in pair), np.array(values, float)) for pair, values in MISCONCEPTION.items()]
    np.testing.assert_allclose(rebuilt, oracle.joint(factors, dict.fromkeys("abcd", 2)))


@every_method
def test_misconception_answers(method):
    net = misconception()
    assert z(net, method=method) == pytest.approx(7_201_840)
    best = ss.map_assignment(net, k=5, method=method)
    assert best.assignment == {"a": 0, "b": 1, "c": 1, "d": 0}
    assert best.probability == pytest.approx(0.694267, abs=printed(6))
    np.testing.assert_allclose(np.exp(best.log_values), [5_000_000, 1_000_000, 300_000, 300_000, 300_000])
    assert dict(best.assignments[1]) == {"a": 1, "b": 0, "c": 0, "d": 1}
    tied = {tuple(one[n] for n in "abcd") for one in best.assignments[2:]}
    assert tied == {(0, 0, 0, 0), (0, 0, 0, 1), (0, 0, 1, 0)}
    answers = ss.marginals(net, method=method)
    found = [answers["b"][1], answers["a"][0], answers["c"][1], answers["d"][0]]
    np.testing.assert_allclose(found, [0.736133, 0.819448, 0.763795, 0.791563], atol=printed(6))


def test_misconception_max_marginals_of_single_variables():
    result = max_calibrated()
    expected = {"a": (5e6, 1e6), "b": (1e6, 5e6), "c": (1e6, 5e6), "d": (5e6, 1e6)}
    for belief in result.beliefs:
        for v in belief.scope:
            found = belief.marginalize([u for u in belief.scope if u != v], ss.factors.MAX).values
            np.testing.assert_allclose(found, expected[v.name])


# map-and-hybrid, section 2.1, #5: ties in max-marginals do not decode one by one.
def test_tied_max_marginals_need_a_joint_decision():
    net = ss.MarkovNet(ss.Table((A, B), [[0.1, 0.4], [0.4, 0.1]]))
    joint = ss.query(net, [A, B]).distribution
    for v in (A, B):
        np.testing.assert_allclose(joint.marginalize([u for u in (A, B) if u != v], ss.factors.MAX).values, [0.4, 0.4])
    best = ss.map_assignment(net, k=2)
    assert [one["a"] != one["b"] for one in best.assignments] == [True, True]
    assert best.probability == pytest.approx(0.4)


# map-and-hybrid, section 2.2: the frustrated triangle of ex. 13.11 and its relaxed twin of ex. 13.12.
def test_frustrated_and_agreeable_triangles():
    for values, best, count in (([[1, 2], [2, 1]], 4, 6), ([[2, 1], [1, 2]], 8, 2)):
        net = ss.MarkovNet(*(ss.Table(pair, values) for pair in ((A, B), (B, C), (A, C))))
        found = ss.map_assignment(net, k=8)
        np.testing.assert_allclose(np.exp(found.log_values[:count]), best)
        assert math.exp(found.log_values[count]) < best - 0.5


# map-and-hybrid, section 2.1, #14 and section 2.2, fig 14.3: a mixture of four components, two of them independent.
def test_four_components():
    d1, d2, x1, x2 = ss.Discrete("d1", 2), ss.Discrete("d2", 2), ss.Real("x1"), ss.Real("x2")
    net = ss.BayesNet(
        ss.TableCPD(d1, [0.5, 0.5]),
        ss.TableCPD(d2, [0.5, 0.5]),
        ss.LinearGaussian(x1, [0.0, 1.5], covariance=[0.49, 0.36], by=d1),
        ss.LinearGaussian(x2, [0.0, 1.5], coefficients=[-1.5, 0.0], covariance=[0.36, 0.49], given=x1, by=d2),
    )
    expected = {
        (0, 0): ([0, 0], [[0.49, -0.735], [-0.735, 1.4625]]),
        (0, 1): ([0, 1.5], [[0.49, 0], [0, 0.49]]),
        (1, 0): ([1.5, -2.25], [[0.36, -0.54], [-0.54, 1.17]]),
        (1, 1): ([1.5, 1.5], [[0.36, 0], [0, 0.49]]),
    }
    for (i, j), (mean, covariance) in expected.items():
        part = ss.query(net, [x1, x2], given={d1: i, d2: j}).distribution
        np.testing.assert_allclose(part.mu, mean, atol=EXACT)
        np.testing.assert_allclose(part.covariance, covariance, atol=EXACT)
    mixture = ss.query(net, [x1, x2]).distribution
    assert mixture.num_components == 4
    np.testing.assert_allclose(mixture.weights, 0.25)
    # 2.1 #27: X_i of the switching chain has 2^i components.
    assert ss.query(net, x1).distribution.num_components == 2
    assert ss.query(net, x2).distribution.num_components == 4


def switched(prior_y):
    """A, X | A and Y | X, B of examples 14.4 to 14.9."""
    a, b, x, y = ss.Discrete("A", 2), ss.Discrete("B", 2), ss.Real("X"), ss.Real("Y")
    (weights, means, variances), (slopes, noise) = prior_y
    return ss.BayesNet(
        ss.TableCPD(a, weights),
        ss.TableCPD(b, [0.5, 0.5]),
        ss.LinearGaussian(x, means, covariance=variances, by=a),
        ss.LinearGaussian(y, 0.0, coefficients=slopes, covariance=noise, given=x, by=b),
    )


FIRST = switched((([0.4, 0.6], [0.0, 3.0], [1.0, 4.0]), ([0.0, 1.0], [1.0, 1.0])))
SECOND = switched((([0.5, 0.5], [0.0, 0.0], [2.0, 6.0]), ([1.0, -1.0], [0.01, 0.01])))


# map-and-hybrid, section 2.1, #15: ex 14.4 and 14.5, the first two moments of the prior mixture.
@every_method
def test_moments_of_a_mixture(method):
    prior = ss.marginals(FIRST, method=method)["X"]
    assert prior.mean() == pytest.approx(1.8)
    assert prior.variance() == pytest.approx(4.96)


# map-and-hybrid, section 2.1 #16 and section 2.2: ex 14.8, exact.
@every_method
def test_example_14_8(method):
    given = {"B": 1, "Y": -2.0}
    density = ss.log_probability(FIRST, given=given, method=method).probability / 0.5
    assert density == pytest.approx(0.0502977, abs=printed(7))
    a = ss.query(FIRST, "A", given=given, method=method)
    assert a[0] == pytest.approx(0.825301, abs=printed(6))
    np.testing.assert_allclose(a.values * density, [0.0415107, 0.0087870], atol=printed(7))
    x = ss.query(FIRST, "X", given=given, method=method)
    assert x.mean() == pytest.approx(-1.0)
    assert x.variance() == pytest.approx(0.552410, abs=printed(6))
    for state, variance in ((0, 0.5), (1, 0.8)):
        part = ss.query(FIRST, "X", given={**given, "A": state}, method=method)
        assert (part.mean(), part.variance()) == pytest.approx((-1.0, variance))


# map-and-hybrid, section 2.1 #17 to #19 and section 2.2: ex 14.9, exact where message division goes wrong.
@every_method
def test_example_14_9(method):
    prior = ss.marginals(SECOND, method=method)["X"]
    assert (prior.mean(), prior.variance()) == pytest.approx((0.0, 4.0), abs=CLOSE)
    given = {"Y": 4.0}
    assert ss.log_probability(SECOND, given=given, method=method).probability == pytest.approx(0.024124, abs=printed(6))
    answers = ss.marginals(SECOND, given=given, method=method)
    assert answers["A"][0] == pytest.approx(0.108967, abs=printed(6))
    assert answers["B"][0] == pytest.approx(0.5)
    assert answers["X"].mean() == pytest.approx(0.0, abs=CLOSE)
    assert answers["X"].variance() == pytest.approx(15.945272, abs=printed(6))


# temporal-and-learning-goals V5: a tiny restricted Boltzmann machine, inferred upwards and generated downwards.
def test_a_restricted_boltzmann_machine_samples_its_joint():
    rng = np.random.default_rng(5)
    seen = [ss.Discrete(f"v{i}") for i in range(3)]
    hidden = [ss.Discrete(f"h{j}") for j in range(2)]
    weights = rng.normal(size=(3, 2))
    factors = [
        ss.Table.from_log((v, h), weights[i, j] * np.outer([0, 1], [0, 1]))
        for i, v in enumerate(seen)
        for j, h in enumerate(hidden)
    ]
    machine = ss.MarkovNet(*factors)
    codes = np.array(list(itertools.product((0, 1), repeat=5)))
    joint = np.exp([row[:3] @ weights @ row[3:] for row in codes])
    joint /= joint.sum()
    for j, h in enumerate(hidden):
        expected = 1 / (1 + np.exp(-np.array([1, 0, 1]) @ weights[:, j]))
        given = {"v0": 1, "v1": 0, "v2": 1}
        assert ss.query(machine, h, given=given)[1] == pytest.approx(expected, abs=1e-12)
    drawn = ss.sample(machine, 40_000, seed=1)
    rows = drawn.matrix([*seen, *hidden]) @ (2 ** np.arange(4, -1, -1))
    counts = np.bincount(rows, minlength=32)
    assert (np.abs(counts - 40_000 * joint) <= 5 * np.sqrt(40_000 * joint * (1 - joint)) + 1).all()
