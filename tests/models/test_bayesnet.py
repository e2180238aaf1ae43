"""Bayesian networks against enumeration, hand computation and dense Gaussians."""

from __future__ import annotations

import io
import math
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given, settings, strategies as st
from rich.console import Console

import oracle
from sepset.cpds.deterministic import DeterministicCPD
from sepset.cpds.lineargaussian import LinearGaussian
from sepset.cpds.noisy import NoisyOr
from sepset.cpds.table import TableCPD
from sepset.data import Dataset
from sepset.errors import DataError, ModelError, NotApplicable, ScopeError, StateError, TooLarge
from sepset.graphs.graph import DAG
from sepset.models.bayesnet import BayesNet
from sepset.variables.evidence import Likelihood, Not, Soft
from sepset.variables.variable import Discrete, Real, Vector
from support import strategies
from support.tolerances import CLOSE, EXACT, STANDARD_ERRORS

difficulty = Discrete("difficulty", ("easy", "hard"))
intelligence = Discrete("intelligence", ("low", "high"))
grade = Discrete("grade", ("A", "B", "C"))
sat = Discrete("sat", ("low", "high"))
letter = Discrete("letter", ("weak", "strong"))

FAMILIES = {
    "difficulty": ((), [0.6, 0.4]),
    "intelligence": ((), [0.7, 0.3]),
    "grade": (
        ("intelligence", "difficulty"),
        [[[0.3, 0.4, 0.3], [0.05, 0.25, 0.7]], [[0.9, 0.08, 0.02], [0.5, 0.3, 0.2]]],
    ),
    "sat": (("intelligence",), [[0.95, 0.05], [0.2, 0.8]]),
    "letter": (("grade",), [[0.1, 0.9], [0.4, 0.6], [0.99, 0.01]]),
}
VARIABLES = {v.name: v for v in (difficulty, intelligence, grade, sat, letter)}


def student() -> BayesNet:
    """The student network of Koller & Friedman, figure 3.4."""
    cpds = (
        TableCPD(VARIABLES[n], table, given=tuple(VARIABLES[p] for p in parents))
        for n, (parents, table) in FAMILIES.items()
    )
    return BayesNet(*cpds, name="student")


def families(net):
    """The network as the oracle takes it, from its CPDs."""
    cards = {v.name: v.num_states for v in net}
    return [(c.child.name, tuple(p.name for p in c.parents), np.asarray(c.values)) for c in net.cpds], cards


def every_row(variables):
    """All joint assignments as columns of states, last variable fastest."""
    grids = np.meshgrid(*(np.arange(v.num_states) for v in variables), indexing="ij")
    return {v.name: [v.states[c] for c in g.reshape(-1).tolist()] for v, g in zip(variables, grids, strict=True)}


def test_student_order_graph_and_lookup():
    net = student()
    assert [v.name for v in net] == list(FAMILIES)
    assert net["grade"] is net.variables["grade"] == grade
    assert grade in net
    assert "grade" in net
    assert "grades" not in net
    assert len(net) == 5
    assert net.dag == DAG.parse("difficulty -> grade <- intelligence -> sat; grade -> letter")
    assert net.parents("grade") == ("intelligence", "difficulty")
    assert net.children("intelligence") == ("grade", "sat")
    assert net.cpd(sat).child == sat
    assert net.num_parameters == 1 + 1 + 8 + 2 + 3
    assert repr(net) == "BayesNet('student': 5 variables, 4 edges, 15 parameters)"
    with pytest.raises(ScopeError, match="Did you mean 'grade'"):
        net["grad"]


def test_student_numbers():
    net = student()
    row = {"difficulty": "easy", "intelligence": "high", "grade": "B", "sat": "high", "letter": "weak"}
    # Koller & Friedman, section 3.2.2: P(i1, d0, g2, s1, l0) = 0.3 * 0.6 * 0.08 * 0.8 * 0.4
    assert math.exp(net.log_probability(row)[0]) == pytest.approx(0.3 * 0.6 * 0.08 * 0.8 * 0.4, rel=1e-12)
    factors, cards = strategies.plain_factors(net)
    high = oracle.conditional(factors, cards, ["intelligence"], {"grade": 2})[1]
    assert round(float(high), 4) == 0.0789
    high = oracle.conditional(factors, cards, ["intelligence"], {"grade": 2, "sat": 1})[1]
    assert round(float(high), 4) == 0.5783


@given(strategies.bayes_nets(max_variables=4))
@settings(max_examples=60)
def test_log_probability_of_every_row_is_the_joint(net):
    plain, cards = families(net)
    expected = oracle.bayes_joint(plain, cards).reshape(-1)
    rows = every_row(list(net)) or {}
    got = net.log_probability(pd.DataFrame(rows) if rows else {})
    np.testing.assert_allclose(np.exp(got), expected, atol=EXACT)
    assert math.fsum(np.exp(got)) == pytest.approx(1.0, abs=1e-9)


@given(strategies.bayes_nets(max_variables=5))
@settings(max_examples=60)
def test_problem_is_the_joint_and_its_groups_sum_to_one(net):
    problem = net.problem()
    assert problem is net.problem()
    assert problem.num_visible == len(net)
    factors, cards = strategies.plain_factors(net)
    assert oracle.log_z(factors, cards) == pytest.approx(0.0, abs=1e-9)
    for group in problem.conditionals:
        table = np.asarray(problem.factor(group.factors[0]).values)
        np.testing.assert_allclose(table.sum(axis=-1), 1.0, atol=1e-9)


@given(strategies.bayes_nets(max_variables=4, min_variables=1))
@settings(max_examples=40)
def test_local_markov_property(net):
    """Each variable is independent of its non-descendants given its parents (variational B1)."""
    plain, cards = families(net)
    joint = oracle.bayes_joint(plain, cards)
    place = {n: i for i, n in enumerate(cards)}
    for name in cards:
        below = oracle.descendants(net.dag.edges, name)
        parents = net.parents(name)
        rest = [n for n in cards if n not in below and n not in parents]
        assert oracle.independent(joint, [place[name]], [place[n] for n in rest], [place[n] for n in parents])


def test_frames_of_every_kind_score_alike():
    net = student()
    rows = every_row(list(net))
    expected = net.log_probability(rows)
    for frame in (pd.DataFrame(rows), pl.DataFrame(rows), pl.DataFrame(rows).to_arrow(), Dataset(rows, net.variables)):
        np.testing.assert_array_equal(net.log_probability(frame), expected)
    mixed = pd.DataFrame(rows)[["letter", "sat", "grade", "intelligence", "difficulty"]].assign(extra=1)
    np.testing.assert_array_equal(net.log_probability(mixed), expected)
    by_variable = {net[n]: column for n, column in rows.items()}
    np.testing.assert_array_equal(net.log_probability(by_variable), expected)


def test_missing_cells_are_refused_with_their_row():
    rows = every_row(list(student()))
    rows["sat"][3] = None
    with pytest.raises(DataError, match="'sat' is missing in row 3"):
        student().log_probability(rows)
    with pytest.raises(DataError, match="has no value for 'letter'"):
        student().log_probability({"difficulty": "easy", "intelligence": "low", "grade": "A", "sat": "low"})
    with pytest.raises(DataError):
        student().log_probability({"difficulty": ["easy"], "intelligence": ["low"], "grade": ["A"], "sat": ["low"]})


def test_constructor_refuses_and_names_the_cpd():
    a, b, c = Discrete("a"), Discrete("b"), Discrete("c")
    uniform = [[0.5, 0.5]] * 2
    with pytest.raises(ModelError, match=r"TableCPD\(b\[2\] \| a\[2\]\) has the parent 'a', which has no CPD"):
        BayesNet(TableCPD(b, uniform, given=a))
    with pytest.raises(ModelError, match="'a' has two CPDs"):
        BayesNet(TableCPD(a, [0.5, 0.5]), TableCPD(a, [0.1, 0.9]))
    with pytest.raises(ModelError, match=r"cycle.*a.*b|cycle.*b.*a"):
        BayesNet(TableCPD(a, uniform, given=b), TableCPD(b, uniform, given=a), TableCPD(c, [0.5, 0.5]))
    with pytest.raises(ModelError, match=r"TableCPD\(b\[2\] \| a\[3\]\) has the parent .*same states"):
        BayesNet(TableCPD(a, [0.5, 0.5]), TableCPD(b, [[0.5, 0.5]] * 3, given=Discrete("a", 3)))
    with pytest.raises(ModelError, match="made of CPDs; found 3"):
        BayesNet(3)
    with pytest.raises(ModelError, match="same states"):
        BayesNet(TableCPD(Discrete("a", (False, True)), [0.5, 0.5]), TableCPD(b, uniform, given=a))


@st.composite
def with_evidence(draw):
    net = draw(strategies.bayes_nets(max_variables=4))
    return net, draw(strategies.evidence(list(net)))


@given(with_evidence())
@settings(max_examples=80)
def test_reduction_by_evidence_has_z_equal_to_its_probability(case):
    """With evidence, Z = P(e) (temporal-and-learning-goals U12), and the normalized measure is the posterior."""
    net, given_ = case
    plain, cards = families(net)
    evidence = strategies.plain_evidence(given_, net)
    reduced = net.condition(given_)
    factors, left = strategies.plain_factors(reduced)
    expected = oracle.log_z(oracle.bayes_factors(plain), cards, evidence)
    got = oracle.log_z(factors, left)
    assert (got == expected) if math.isinf(expected) else got == pytest.approx(expected, abs=1e-9)
    if not math.isinf(expected) and left:
        names = list(left)
        posterior = oracle.conditional(oracle.bayes_factors(plain), cards, names, evidence)
        np.testing.assert_allclose(oracle.conditional(factors, left, names), posterior, atol=CLOSE)


def test_reduction_of_kinds():
    net = student()
    reduced = net.condition({"grade": Not("A"), "sat": "high", "letter": Likelihood([1.0, 0.5]), "difficulty": None})
    assert [v.name for v in reduced] == ["difficulty", "intelligence", "grade", "letter"]
    with pytest.raises(NotApplicable, match="Soft evidence on grade"):
        net.condition({"grade": Soft([0.2, 0.3, 0.5])})
    with pytest.raises(StateError, match="Did you mean 'high'"):
        net.condition({"sat": "hi"})


def test_do_is_graph_surgery():
    net = student()
    forced = net.do({"grade": "A"})
    assert forced.dag == DAG.parse("intelligence -> sat; grade -> letter; difficulty")
    assert [v.name for v in forced] == [v.name for v in net]
    assert forced.cpd("grade").values.tolist() == [1.0, 0.0, 0.0]
    assert net.parents("grade") == ("intelligence", "difficulty")
    factors, cards = strategies.plain_factors(forced)
    # P(letter=strong | do(grade=A)) = 0.9, and intelligence stays at its prior: nothing flows up.
    assert oracle.conditional(factors, cards, ["letter"])[1] == pytest.approx(0.9)
    assert oracle.conditional(factors, cards, ["intelligence"])[1] == pytest.approx(0.3)


def test_do_by_hand_with_a_confounder():
    z, x, y = Discrete("z"), Discrete("x"), Discrete("y")
    p_z, p_x, p_y = [0.6, 0.4], [[0.8, 0.2], [0.3, 0.7]], [[[0.9, 0.1], [0.6, 0.4]], [[0.5, 0.5], [0.2, 0.8]]]
    net = BayesNet(TableCPD(z, p_z), TableCPD(x, p_x, given=z), TableCPD(y, p_y, given=(z, x)))
    factors, cards = strategies.plain_factors(net.do({x: 1}))
    # The adjustment formula: sum_z P(z) P(y=1 | z, x=1) = 0.6 * 0.4 + 0.4 * 0.8
    assert oracle.conditional(factors, cards, ["y"])[1] == pytest.approx(0.56)
    # Seeing is not doing: (0.6 * 0.2 * 0.4 + 0.4 * 0.7 * 0.8) / (0.6 * 0.2 + 0.4 * 0.7)
    seen, cards = strategies.plain_factors(net)
    assert oracle.conditional(seen, cards, ["y"], {"x": 1})[1] == pytest.approx((0.048 + 0.224) / 0.4)
    mixed, cards = strategies.plain_factors(net.do({"x": [0.25, 0.75]}))
    half = 0.25 * (0.6 * 0.1 + 0.4 * 0.5) + 0.75 * 0.56
    assert oracle.conditional(mixed, cards, ["y"])[1] == pytest.approx(half)
    named = net.do({"x": {1: 0.75, 0: 0.25}})
    assert named.cpd("x").values.tolist() == [0.25, 0.75]


@given(strategies.bayes_nets(max_variables=4, min_variables=1), st.data())
@settings(max_examples=40)
def test_do_is_the_truncated_product(net, data):
    variable = data.draw(st.sampled_from(list(net)))
    code = data.draw(st.integers(0, variable.num_states - 1))
    plain, cards = families(net)
    rest = [(c, ps, t) for c, ps, t in plain if c != variable.name]
    expected = oracle.joint(oracle.bayes_factors(rest), cards, {variable.name: code})
    factors, _ = strategies.plain_factors(net.do({variable: variable.states[code]}))
    np.testing.assert_allclose(oracle.joint(factors, cards), expected, atol=EXACT)


def test_do_refuses():
    with pytest.raises(ScopeError, match="Did you mean"):
        student().do({"grad": "A"})
    with pytest.raises(StateError, match="states are"):
        student().do({"grade": "D"})
    with pytest.raises(ModelError, match="sums to"):
        student().do({"grade": [0.5, 0.5, 0.5]})
    with pytest.raises(ModelError, match="leave the variable out"):
        student().do({"grade": None})


def test_with_cpds_replaces_and_nothing_else():
    net = student()
    changed = net.with_cpds(TableCPD(sat, [0.5, 0.5]))
    assert changed.parents("sat") == ()
    assert changed.cpd("grade") is net.cpd("grade")
    assert changed.name == "student"
    with pytest.raises(ScopeError, match=r"no CPD of 'sats' to replace.*'sat'"):
        net.with_cpds(TableCPD(Discrete("sats"), [0.5, 0.5]))
    with pytest.raises(ModelError, match="no CPD"):
        net.with_cpds(TableCPD(sat, [[0.5, 0.5]] * 2, given=Discrete("nobody")))


@given(strategies.bayes_nets(max_variables=5, min_variables=1), st.data())
@settings(max_examples=40)
def test_subnetwork_is_the_exact_marginal(net, data):
    asked = data.draw(strategies.scopes(list(net), max_size=2))
    sub = net.subnetwork(asked)
    plain, cards = families(net)
    names = [v.name for v in asked]
    expected = oracle.conditional(oracle.bayes_factors(plain), cards, names)
    factors, left = strategies.plain_factors(sub)
    np.testing.assert_allclose(oracle.conditional(factors, left, names), expected, atol=CLOSE)


def test_subnetwork_takes_one_name_too():
    assert [v.name for v in student().subnetwork("sat")] == ["intelligence", "sat"]


def test_markov_form_and_moral_graph():
    net = student()
    markov = net.markov_net()
    assert [v.name for v in markov] == [v.name for v in net]
    factors, cards = strategies.plain_factors(markov)
    assert oracle.log_z(factors, cards) == pytest.approx(0.0, abs=EXACT)
    assert markov.graph == net.moral_graph()
    assert net.moral_graph().has_edge("intelligence", "difficulty")
    assert sorted(net.to_networkx().edges) == sorted(net.dag.edges)


def test_noisy_or_with_thirty_parents_needs_no_table():
    causes = [Discrete(f"cause {i}", (False, True)) for i in range(30)]
    effect = Discrete("effect", (False, True))
    noisy = NoisyOr(effect, dict.fromkeys(causes, 0.1), leak=0.05)
    net = BayesNet(*(TableCPD(c, [0.9, 0.1]) for c in causes), noisy)
    problem = net.problem()
    assert len(problem.variables) > problem.num_visible == 31
    assert max(f.size for f in problem.factors()) < 100
    off = {**{c.name: False for c in causes}, "effect": False}
    assert net.log_probability(off)[0] == pytest.approx(30 * math.log(0.9) + math.log(0.95), rel=1e-12)
    data = net.sample(20_000, seed=3)
    truth = 1 - 0.95 * (1 - 0.1 * 0.1) ** 30
    error = math.sqrt(truth * (1 - truth) / 20_000)
    assert abs(data.codes("effect").mean() - truth) < STANDARD_ERRORS * error
    reduced = net.condition({"effect": True})
    assert len(reduced) == 30
    assert len(reduced.auxiliaries) == len(problem.variables) - 31
    with pytest.raises(NotApplicable, match="hidden"):
        reduced.log_value({c.name: [False] for c in causes})


def test_decomposed_cpds_keep_the_joint_and_the_moral_graph():
    a, b, c, x, y = (Discrete(n) for n in "abcxy")
    net = BayesNet(
        NoisyOr(x, {a: 0.7, b: 0.4, c: 0.2}, leak=0.1),
        *(TableCPD(v, [0.3, 0.7]) for v in (a, b, c)),
        DeterministicCPD(y, lambda p, q: p ^ q, given=(a, x)),
    )
    factors, cards = strategies.plain_factors(net)
    visible = [v.name for v in net]
    joint = oracle.marginal(factors, cards, visible)
    rows = every_row(list(net))
    np.testing.assert_allclose(np.exp(net.log_probability(rows)), joint.reshape(-1), atol=EXACT)
    assert net.markov_net().graph == net.moral_graph()
    assert set(net.markov_net().markov_blanket("x")) == {"a", "b", "c", "y"}


def gaussian_net() -> BayesNet:
    x, y, z = Real("x"), Real("y"), Real("z")
    return BayesNet(
        LinearGaussian(x, 1.0, covariance=4.0),
        LinearGaussian(y, -5.0, coefficients=[0.5], covariance=4.0, given=x),
        LinearGaussian(z, 4.0, coefficients=[-1.0], covariance=3.0, given=y),
    )


def test_linear_gaussian_network():
    """Koller & Friedman, example 7.3: the mean is (1, -4.5, 8.5)."""
    net = gaussian_net()
    nodes = [
        oracle.LinearGaussian("x", (), (), 1.0, 4.0),
        oracle.LinearGaussian("y", ("x",), (0.5,), -5.0, 4.0),
        oracle.LinearGaussian("z", ("y",), (-1.0,), 4.0, 3.0),
    ]
    _, mean, cov = oracle.dense_gaussian(nodes)
    np.testing.assert_allclose(mean, [1.0, -4.5, 8.5])
    point = {"x": 0.3, "y": -2.0, "z": 7.0}
    expected = oracle.gaussian_log_density([0.3, -2.0, 7.0], mean, cov)
    assert net.log_probability(point)[0] == pytest.approx(expected, abs=1e-10)
    assert net.markov_net().log_value(point)[0] == pytest.approx(expected, abs=1e-9)
    total = sum(f.log_value(point) for f in net.problem().factors())
    assert total == pytest.approx(expected, abs=1e-9)
    data = net.sample(50_000, seed=1)
    drawn = np.stack([data.values(n) for n in "xyz"], axis=1)
    np.testing.assert_allclose(drawn.mean(axis=0), mean, atol=5 * math.sqrt(cov.max() / 50_000))
    np.testing.assert_allclose(np.cov(drawn.T), cov, atol=0.25)


def test_continuous_evidence_and_intervention():
    net = gaussian_net()
    reduced = net.condition({"y": -4.0})
    assert [v.name for v in reduced] == ["x", "z"]
    value = reduced.log_value({"x": 0.0, "z": 8.0})[0]
    assert value == pytest.approx(net.log_probability({"x": 0.0, "y": -4.0, "z": 8.0})[0], abs=1e-9)
    forced = net.do({"y": 2.0})
    data = forced.sample(5_000, seed=2)
    assert (data.values("y") == 2.0).all()
    assert abs(data.values("x").mean() - 1.0) < 5 * 2 / math.sqrt(5_000)
    assert abs(data.values("z").mean() - 2.0) < 5 * math.sqrt(3 / 5_000)


def test_hybrid_network_and_its_rule():
    d, x, v = Discrete("d"), Real("x"), Vector("v", 2)
    net = BayesNet(
        TableCPD(d, [0.4, 0.6]),
        LinearGaussian(x, [0.0, 3.0], covariance=[1.0, 4.0], by=d),
        LinearGaussian(v, [0.0, 1.0], coefficients=[[1.0], [2.0]], covariance=np.eye(2), given=x),
    )
    assert net.problem().num_factors == 3
    columns = net.sample_columns(1_000, seed=0)
    assert columns[v].shape == (1_000, 2)
    table = {"d": [0, 1], "x": [0.5, 2.0], "v": [[0.0, 1.0], [1.0, 2.0]]}
    expected = [
        math.log(0.4)
        + oracle.gaussian_log_density([0.5], np.array([0.0]), np.eye(1))
        + oracle.gaussian_log_density([0.0, 1.0], np.array([0.5, 2.0]), np.eye(2)),
        math.log(0.6)
        + oracle.gaussian_log_density([2.0], np.array([3.0]), 4 * np.eye(1))
        + oracle.gaussian_log_density([1.0, 2.0], np.array([2.0, 5.0]), np.eye(2)),
    ]
    np.testing.assert_allclose(net.log_probability(table), expected, atol=1e-10)

    class Threshold:
        """A discrete child of a continuous parent, as a user might try."""

        child, parents, scope, auxiliaries = Discrete("alarm"), (x,), (x, Discrete("alarm")), ()
        block, num_parameters = None, 1
        factors = sample = log_probability = irrelevant = statistics = from_statistics = None

        def __repr__(self):
            return "Threshold(alarm | x)"

    with pytest.raises(
        ModelError, match=r"Threshold\(alarm \| x\) has a discrete child with the continuous parent 'x'"
    ):
        BayesNet(*net.cpds, Threshold())


def test_random_networks():
    dag = DAG.parse("a -> b <- c")
    net = BayesNet.random(dag, states=("x", "y", "z"), seed=3)
    assert net.dag == dag
    assert net["a"].states == ("x", "y", "z")
    again = BayesNet.random(dag, states=("x", "y", "z"), seed=3)
    assert all((p.values == q.values).all() for p, q in zip(net.cpds, again.cpds, strict=True))
    assert len(BayesNet.random(DAG())) == 0


def test_tied_parameters_count_once():
    a, b, c = (Discrete(n) for n in "abc")
    table = [[0.9, 0.1], [0.2, 0.8]]
    net = BayesNet(
        TableCPD(a, [0.5, 0.5]), TableCPD(b, table, given=a, block="step"), TableCPD(c, table, given=b, block="step")
    )
    assert net.num_parameters == 1 + 2


def test_immutable_pickled_and_shown():
    net = student()
    with pytest.raises(AttributeError, match="immutable"):
        net.name = "other"
    with pytest.raises(AttributeError, match="immutable"):
        del net.name
    copy = pickle.loads(pickle.dumps(net))
    rows = every_row(list(net))
    np.testing.assert_array_equal(copy.log_probability(rows), net.log_probability(rows))
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(net)
    assert "student" in console.export_text()
    assert ">5</td>" in net._repr_html_()
    assert "&lt;b&gt;" in BayesNet(name="<b>")._repr_html_()


def test_empty_network():
    net = BayesNet()
    assert len(net) == 0
    assert bool(net)
    assert net.problem().num_factors == 0
    assert net.log_probability({}).tolist() == [0.0]
    assert net.num_parameters == 0
    assert len(net.markov_net()) == 0


def test_hammersley_clifford_needs_positivity():
    """temporal-and-learning-goals N5: both diamond independences hold, yet no factorization over it exists."""
    support = ["0000", "1000", "1100", "1110", "0001", "0011", "0111", "1111"]
    joint = np.zeros((2, 2, 2, 2))
    for word in support:
        joint[tuple(map(int, word))] = 1 / 8
    assert oracle.independent(joint, [0], [2], [1, 3])
    assert oracle.independent(joint, [1], [3], [0, 2])
    for edge in ((0, 1), (1, 2), (2, 3), (3, 0)):
        assert (joint.sum(axis=tuple(i for i in range(4) if i not in edge)) > 0).all()
    a, b, c, d = (Discrete(n) for n in "ABCD")
    conditional = joint / np.where(joint.sum(-1, keepdims=True) > 0, joint.sum(-1, keepdims=True), 1)
    rows = np.where(conditional.sum(-1, keepdims=True) > 0, conditional, 0.5)
    p_a = joint.sum((1, 2, 3))
    p_ab = joint.sum((2, 3)) / p_a[:, None]
    p_abc = joint.sum(3) / joint.sum((2, 3))[:, :, None]
    net = BayesNet(
        TableCPD(a, p_a),
        TableCPD(b, p_ab, given=a),
        TableCPD(c, p_abc, given=(a, b)),
        TableCPD(d, rows, given=(a, b, c)),
    )
    factors, cards = strategies.plain_factors(net)
    np.testing.assert_allclose(oracle.joint(factors, cards), joint, atol=EXACT)


@given(strategies.bayes_nets(max_variables=4, min_variables=1))
@settings(max_examples=30)
def test_d_separation_means_independence(net):
    """variational B2: variables that the graph separates are independent in the joint."""
    plain, cards = families(net)
    assume(len(cards) >= 2)
    joint = oracle.bayes_joint(plain, cards)
    names = list(cards)
    for i, a in enumerate(names):
        for j, b in enumerate(names[:i]):
            rest = [n for n in names if n not in (a, b)]
            for given_ in ([], rest[:1], rest):
                if oracle.d_separated(net.dag.edges, [a], [b], given_):
                    assert oracle.independent(joint, [i], [j], [names.index(n) for n in given_])


def test_six_node_example_and_its_independences():
    """variational B2 and its figure 2-1b: given X3, X6 is independent of the rest; X1 and X2 only marginally."""
    names = [f"X{i}" for i in range(1, 7)]
    dag = DAG(names, [("X1", "X3"), ("X2", "X3"), ("X1", "X4"), ("X2", "X4"), ("X3", "X5"), ("X4", "X5"), ("X3", "X6")])
    plain, cards = families(BayesNet.random(dag, seed=5))
    joint = oracle.bayes_joint(plain, cards)
    for other in (0, 1, 3, 4):
        assert oracle.independent(joint, [5], [other], [2])
        assert not oracle.independent(joint, [5], [other], tolerance=1e-6)
    assert oracle.independent(joint, [0], [1])
    for seen in (2, 3, 4, 5):
        assert not oracle.independent(joint, [0], [1], [seen], tolerance=1e-6)
    assert oracle.independent(joint, [0, 1], [4, 5], [2, 3])


def test_moral_graph_is_a_minimal_i_map():
    """temporal-and-learning-goals U11: it loses the independence of A and B, and no edge can be removed."""
    net = BayesNet.random(DAG.parse("A -> C <- B; C -> D"), seed=7)
    plain, cards = families(net)
    joint, names = oracle.bayes_joint(plain, cards), list(cards)
    moral = net.moral_graph()
    assert oracle.independent(joint, [names.index("A")], [names.index("B")])
    assert not oracle.separated(moral.edges, ["A"], ["B"])
    for x, y in moral.edges:
        rest = [i for i, n in enumerate(names) if n not in (x, y)]
        assert not oracle.independent(joint, [names.index(x)], [names.index(y)], rest, tolerance=1e-6)


def test_all_kinds_of_cpds_draw_together():
    a, b, c, total = Discrete("a"), Discrete("b"), Discrete("c"), Discrete("total", 3)
    net = BayesNet(
        DeterministicCPD(total, lambda p, q: p + q, given=(b, c)),
        TableCPD(a, [0.4, 0.6]),
        NoisyOr(b, {a: 0.7}, leak=0.1),
        TableCPD(c, [[0.9, 0.1], [0.5, 0.5]], given=b),
    )
    data = net.sample(30_000, seed=9)
    np.testing.assert_array_equal(data.codes("total"), data.codes("b") + data.codes("c"))
    expected = np.exp(net.log_probability(every_row(list(net)))).reshape([v.num_states for v in net])
    counts = np.zeros(expected.shape)
    np.add.at(counts, tuple(data.codes(v).astype(int) for v in net), 1)
    error = np.sqrt(expected * (1 - expected) / 30_000)
    assert (np.abs(counts / 30_000 - expected) <= STANDARD_ERRORS * error + 1e-15).all()
    assert data.equals(net.sample(30_000, seed=9))


def test_the_kind_of_a_cpd_can_be_asked_for():
    net = BayesNet(TableCPD(Discrete("coin"), [0.25, 0.75]))
    assert net.cpd("coin", kind=TableCPD) is net.cpd("coin")
    with pytest.raises(ModelError, match="The CPD of 'coin' is a TableCPD, not a NoisyOr"):
        net.cpd("coin", kind=NoisyOr)


def test_a_network_of_a_list_of_cpds():
    coin = TableCPD(Discrete("coin"), [0.5, 0.5])
    assert BayesNet([coin]) == BayesNet(coin) == BayesNet(iter((coin,)))
    assert BayesNet([]) == BayesNet()
    with pytest.raises(ModelError, match="made of CPDs"):
        BayesNet([coin], [coin])


def test_parents_are_matched_by_the_names_of_their_states():
    rng = np.random.default_rng(3)
    a, b = Discrete("a", ("x", "y", "z")), Discrete("b", (0, 1))
    turned = Discrete("a", ("z", "x", "y"))
    rows = rng.dirichlet([1, 1], 3)
    own = BayesNet(TableCPD(a, [0.2, 0.3, 0.5]), TableCPD(b, rows, given=a))
    assert BayesNet(TableCPD(b, rows[[2, 0, 1]], given=turned), TableCPD(a, [0.2, 0.3, 0.5])) == own
    with pytest.raises(ModelError, match="Give both the same states"):
        BayesNet(TableCPD(a, [0.2, 0.3, 0.5]), TableCPD(b, rows, given=Discrete("a", ("x", "y", "w"))))


def test_networks_are_equal_in_any_order():
    rng = np.random.default_rng(4)
    a, b, c = Discrete("a", 2), Discrete("b", 3), Discrete("c", 2)
    table = rng.dirichlet([1, 1], (2, 3))
    cpds = [TableCPD(a, [0.2, 0.8]), TableCPD(b, [0.2, 0.3, 0.5]), TableCPD(c, table, given=(a, b))]
    turned = TableCPD(c, table.swapaxes(0, 1), given=(b, a))
    first, second = BayesNet(cpds), BayesNet(turned, cpds[1], cpds[0])
    assert first == second
    assert hash(first) == hash(second)
    own = type("Own", (BayesNet,), {})(cpds)
    assert own == first
    assert hash(own) == hash(first)
    assert first != BayesNet(*cpds[:2], TableCPD(c, rng.dirichlet([1, 1], (2, 3)), given=(a, b)))
    assert first != BayesNet(cpds[:2])


@pytest.mark.parametrize(("size", "reason"), [(300, "A table over"), (30, "tables would have")])
def test_random_tables_are_refused_before_one_is_drawn(size, reason, monkeypatch):
    monkeypatch.setattr("sepset.models.bayesnet.TableCPD", lambda *_, **__: pytest.fail("a table was drawn"))
    names = [f"v{i}" for i in range(size)]
    with pytest.raises(TooLarge, match=reason):
        BayesNet.random(DAG(names, [(a, b) for i, b in enumerate(names) for a in names[:i]]))


def test_a_network_whose_line_is_not_known_yet_is_pickled():
    causes = [Discrete(f"c{i}") for i in range(4)]
    net = BayesNet(*(TableCPD(c, [0.9, 0.1]) for c in causes), NoisyOr(Discrete("y"), dict.fromkeys(causes, 0.5)))
    assert net.line
    assert pickle.loads(pickle.dumps(net)) == net
