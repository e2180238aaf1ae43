"""Entropies, information, conditional tables and value of information against enumerated posteriors."""

from __future__ import annotations

import io
import itertools
import math

import matplotlib.figure
import numpy as np
import pytest
import scipy.stats
from numpy.testing import assert_allclose
from rich.console import Console

import oracle
import sepset as ss
from sepset.errors import NotApplicable
from sepset.models.drawing import Drawing, Item
from support.blocks import in_blocks
from support.random_gaussians import hybrid_net
from support.random_models import random_case, random_evidence
from support.tolerances import CLOSE


def draw(seed, tag):
    """A random model, possible evidence, and the posterior over all variables as one array."""
    rng = np.random.default_rng([seed, tag])
    while True:
        case = random_case(rng)
        given, plain = random_evidence(rng, case)
        if len(case.variables) >= 2 and oracle.log_z(case.factors, case.cards, plain) > -math.inf:
            return rng, case, given, plain


def split(rng, case, parts):
    """Disjoint groups of names, the first two never empty."""
    names = [v.name for v in case.variables]
    order = [names[i] for i in rng.permutation(len(names))]
    groups = [[order[0]], [order[1]], *([] for _ in range(parts - 2))]
    for name in order[2:]:
        place = int(rng.integers(parts + 1))
        if place < parts:
            groups[place].append(name)
    return groups


def h(case, plain, names):
    """The entropy of some variables in the posterior."""
    return oracle.entropy(oracle.conditional(case.factors, case.cards, names, plain)) if names else 0.0


@in_blocks("seed", range(30))
def test_entropies_and_information(seed):
    rng, case, given, plain = draw(seed, 55)
    xs, ys, zs = split(rng, case, 3)
    engine = ss.prepare(case.model)
    joint = {k: h(case, plain, k) for k in ((*xs,), (*xs, *zs), (*ys, *zs), (*xs, *ys, *zs), (*zs,))}
    assert engine.entropy(xs, given=given) == pytest.approx(joint[*xs,], abs=CLOSE)
    assert engine.entropy(xs, given=given, on=zs) == pytest.approx(joint[*xs, *zs] - joint[*zs,], abs=CLOSE)
    truth = joint[*xs, *zs] + joint[*ys, *zs] - joint[*xs, *ys, *zs] - joint[*zs,]
    found = engine.mutual_information(xs, ys, given=given, on=zs)
    assert found == pytest.approx(truth, abs=CLOSE)
    assert found >= 0.0


@in_blocks("seed", range(20))
def test_conditional_tables(seed):
    rng, case, given, plain = draw(seed, 56)
    xs, zs = split(rng, case, 2)
    found = ss.prepare(case.model).conditional(xs, zs, given=given)
    joint = oracle.conditional(case.factors, case.cards, [*zs, *xs], plain)
    total = joint.sum(axis=tuple(range(len(zs), joint.ndim)), keepdims=True)
    truth = np.divide(joint, total, out=np.zeros_like(joint), where=total > 0)
    assert [v.name for v in found.scope] == [*zs, *xs]
    np.testing.assert_allclose(found.values, truth, rtol=1e-7, atol=CLOSE)


@in_blocks("seed", range(30))
def test_value_of_information_is_expected_entropy_reduction(seed):
    rng, case, given, plain = draw(seed, 57)
    observed = {n for n, w in plain.items() if (np.asarray(w) > 0).sum() == 1}
    free = [v.name for v in case.variables if v.name not in observed]
    if not free:
        return
    targets = [free[i] for i in rng.permutation(len(free))[: int(rng.integers(1, 3))]]
    engine = ss.prepare(case.model)
    certain = {case.model.variables[v].name for v in engine.evidence(given).observed}
    targets = [t for t in targets if t not in certain]
    if not targets:
        return
    found = engine.value_of_information(targets, given=given)
    assert set(found) == {v.name for v in case.variables} - set(targets) - certain
    assert list(found.reductions.values()) == sorted(found.reductions.values(), reverse=True)
    before = h(case, plain, targets)
    assert found.entropy == pytest.approx(before, abs=CLOSE)
    for name in found:
        assert found[name] == pytest.approx(before - expected_entropy(case, plain, targets, name), abs=CLOSE)


def expected_entropy(case, plain, targets, name):
    """What the entropy of the targets will be on average once `name` is seen: every state seen in turn."""
    chances = oracle.conditional(case.factors, case.cards, [name], plain)
    total = 0.0
    for code, chance in enumerate(chances):
        if chance > 0:
            seen = np.eye(len(chances))[code] * np.asarray(
                oracle.likelihood(plain.get(name, chances * 0 + 1), len(chances))
            )
            total += chance * h(case, {**plain, name: seen}, targets)
    return total


@pytest.fixture
def engine():
    return ss.prepare(ss.datasets.load("asia"))


def test_candidates_can_be_named(engine):
    found = engine.value_of_information("lung", candidates=["smoke", "xray"], given={"dysp": "yes"})
    assert list(found) == ["xray", "smoke"]
    assert found.best == "xray"
    assert found[engine.model["smoke"]] == found["smoke"]
    assert engine.value_of_information("lung", candidates=[]).best is None
    assert len(engine.value_of_information("lung", candidates="xray")) == 1
    with pytest.raises(ss.errors.ScopeError, match="Did you mean 'smoke'"):
        found["smok"]
    assert ("smoke" in found, "smok" in found, found.get("smok")) == (True, False, None)


def test_chances_below_the_range_of_floats_tell_nothing():
    a, b = ss.Discrete("a", 2), ss.Discrete("b", 2)
    net = ss.BayesNet(ss.TableCPD(a, [1.0, 1e-200]), ss.TableCPD(b, [[1.0, 0.0], [1.0, 1e-200]], given=a))
    assert ss.prepare(net).value_of_information("a")["b"] == pytest.approx(0.0, abs=1e-190)
    assert ss.prepare(net).value_of_information("b")["a"] == pytest.approx(0.0, abs=1e-190)


def test_views(engine):
    found = engine.value_of_information("lung")
    assert repr(found).startswith("InformationValues(lung, entropy 0.21")
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(found)
    assert "observe next" in console.export_text()


def test_refusals(engine):
    with pytest.raises(ss.errors.ScopeError, match="observed already"):
        engine.value_of_information("lung", given={"lung": "yes"})
    with pytest.raises(ss.errors.ScopeError, match="no target"):
        engine.value_of_information([])
    with pytest.raises(ss.errors.ScopeError, match="cannot be a candidate"):
        engine.value_of_information("lung", candidates=["lung", "xray"])
    with pytest.raises(ss.errors.ScopeError, match="cannot be a candidate"):
        engine.value_of_information("lung", candidates=["smoke"], given={"smoke": "yes"})
    with pytest.raises(ss.errors.ScopeError, match="appear in two groups"):
        engine.mutual_information("lung", ["xray", "lung"])
    with pytest.raises(ss.errors.ScopeError, match="appear in two groups"):
        engine.conditional("lung", "lung")
    with pytest.raises(ss.ImpossibleEvidence):
        engine.value_of_information("smoke", given={"either": "no", "lung": "yes"})


def test_hybrid_models_answer_about_their_discrete_part():
    rng = np.random.default_rng(9)
    families, cards, nodes = oracle.random_clg(rng, 3, 2)
    net = hybrid_net(families, cards, nodes)
    engine = ss.prepare(net)
    target = next(n for n, card in cards.items() if card > 1)
    found = engine.value_of_information(target, given={"x0": 0.3})
    mixture = oracle.clg_mixture(families, cards, nodes, values={"x0": 0.3})
    for name in found:
        both = mixture.discrete_marginal([target, name], cards)
        truth = oracle.entropy(both.sum(0)) + oracle.entropy(both.sum(1)) - oracle.entropy(both)
        assert found[name] == pytest.approx(truth, abs=CLOSE)
    with pytest.raises(ss.errors.NotApplicable, match="continuous"):
        engine.entropy("x1")
    with pytest.raises(ss.errors.NotApplicable, match="continuous"):
        engine.value_of_information("x1")
    with pytest.raises(ss.errors.NotApplicable, match="continuous"):
        engine.value_of_information(target, candidates=["x1"])


@in_blocks("seed", range(6))
def test_costs_rank_by_the_reduction_per_cost(seed):
    """Every candidate against enumeration, its cost applied by hand; those without cost come first."""
    rng, case, given, plain = draw(seed, 58)
    engine = ss.prepare(case.model)
    certain = {case.model.variables[v].name for v in engine.evidence(given).observed}
    free = [v.name for v in case.variables if v.name not in certain]
    if len(free) < 2:
        return
    target, *others = free
    costs = {name: float(rng.integers(0, 4)) for name in others[1:]}
    found = engine.value_of_information(target, given=given, costs=costs)
    costs.setdefault(others[0], 1.0)
    assert set(found) == set(others)
    assert found.costs == costs
    before = h(case, plain, [target])
    truth = {name: before - expected_entropy(case, plain, [target], name) for name in others}
    for name in others:
        if costs[name]:
            assert found.per_cost[name] == pytest.approx(truth[name] / costs[name], abs=CLOSE)
        elif truth[name] > CLOSE:
            assert found.per_cost[name] == math.inf
    ranks = [(math.inf if truth[n] > CLOSE else 0.0) if not costs[n] else truth[n] / costs[n] for n in found]
    assert all(a >= b - 1e-8 for a, b in itertools.pairwise(ranks))
    assert found.best == next(iter(found))


def binary(p):
    """The entropy of a coin."""
    return -p * math.log(p) - (1 - p) * math.log(1 - p)


def test_costs_change_the_best_candidate(engine):
    shadow = 0.98, 0.0104 * 0.98 + 0.9896 * 0.05  # with and without cancer, which tuberculosis may replace
    wanted = {
        "smoke": binary(0.055) - 0.5 * binary(0.1) - 0.5 * binary(0.01),
        "xray": binary(0.055 * shadow[0] + 0.945 * shadow[1]) - 0.055 * binary(shadow[0]) - 0.945 * binary(shadow[1]),
    }
    plain = engine.value_of_information("lung", candidates=["xray", "smoke"])
    priced = engine.value_of_information("lung", candidates=["xray", "smoke"], costs={engine.model["xray"]: 10})
    assert (plain.best, priced.best) == ("xray", "smoke")
    assert dict(priced) == pytest.approx(wanted, abs=CLOSE)
    assert priced.per_cost == pytest.approx({**wanted, "xray": wanted["xray"] / 10}, abs=CLOSE)
    assert list(priced.to_frame().columns) == ["candidate", "reduction", "of_entropy", "cost", "per_cost"]
    assert "per cost" in str(priced)
    same = engine.value_of_information("lung", costs={"lung": 3.0}, given={"smoke": "yes"})
    assert list(same) == list(engine.value_of_information("lung", given={"smoke": "yes"}))
    view = engine.observe(given={"dysp": "yes"}).value_of_information("lung", costs={"xray": 100.0})
    assert dict(view) == dict(engine.value_of_information("lung", given={"dysp": "yes"}))
    assert list(view).index("xray") > 0


@pytest.mark.parametrize(
    ("costs", "told"),
    [
        ({"xray": -1.0}, "the cost of 'xray'"),
        ({"xray": math.nan}, "the cost of 'xray'"),
        ({"xray": math.inf}, "the cost of 'xray'"),
        ({"xray": "high"}, "the cost of 'xray'"),
        ({"xra": 1.0}, "Did you mean 'xray'"),
        ([1.0], "costs= is a mapping"),
        (None, ""),
    ],
    ids=str,
)
def test_costs_that_are_refused(engine, costs, told):
    if costs is None:
        costs, told = {"xray": 1.0, engine.model["xray"]: 2.0}, "two costs of 'xray'"
    with pytest.raises(ss.SepsetError, match=told):
        engine.value_of_information("lung", costs=costs)


def test_candidates_are_those_a_drawing_marks(tmp_path):
    """Written to GeNIe's format and to JSON, read again, and asked: only the marked ones, unless others are named."""
    asia = ss.datasets.load("asia")
    marked = Item("node", attributes=(("diagtype", "observation"),))
    target = Item("node", attributes=(("diagtype", "target"),))
    drawing = Drawing(
        {}, "XDSL", network=Item("smile"), nodes={"xray": marked, "dysp": marked, "gone": marked, "lung": target}
    )
    net = ss.BayesNet(*asia.cpds, drawing=drawing)
    assert drawing.observable == ("xray", "dysp", "gone")
    assert set(ss.value_of_information(net, "lung")) == {"xray", "dysp"}
    assert set(ss.value_of_information(net, "lung", given={"xray": "yes"})) == {"dysp"}
    assert not ss.value_of_information(net, "lung", given={"xray": "yes", "dysp": "no"})
    assert set(ss.value_of_information(net, "lung", candidates="smoke")) == {"smoke"}
    for format in ("json", "xdsl"):
        ss.write(net, tmp_path / f"asia.{format}")
        assert set(ss.value_of_information(ss.read(tmp_path / f"asia.{format}"), "lung")) == {"xray", "dysp"}


def test_a_chart_of_candidates(engine):
    found = engine.value_of_information("lung", given={"dysp": "yes"}, costs={"xray": 4, "smoke": 0})
    axes = found.plot(matplotlib.figure.Figure().subplots(), num_candidates=3)
    names = [text.get_text() for text in axes.get_yticklabels()]
    assert names[0] == "smoke (free)"
    assert [bar.get_width() for bar in axes.patches[1:]] == [found[n] / found.costs[n] for n in names[1:]]
    assert axes.get_title().startswith("information about lung given dysp=yes: 0.")
    assert axes.get_xlabel() == "expected reduction of entropy (nats per cost)"
    assert not engine.value_of_information("lung", candidates=[]).plot(matplotlib.figure.Figure().subplots()).patches


def test_information_of_gaussians():
    """Against the formula of correlations and scipy's entropies; given a state, the mixture is one Gaussian."""
    x, y, z, c = ss.Real("x"), ss.Real("y"), ss.Real("z"), ss.Discrete("c", ("u", "v"))
    net = ss.BayesNet(
        ss.TableCPD(c, [0.3, 0.7]),
        ss.LinearGaussian(x, [0.0, 4.0], covariance=[2.0, 0.5], by=c),
        ss.LinearGaussian(y, 1.0, coefficients={x: 1.5}, covariance=0.7, given=x),
        ss.LinearGaussian(z, 0.0, coefficients={x: -1.0, y: 0.5}, covariance=0.4, given=[x, y]),
    )
    engine, seen = ss.prepare(net), {"c": "u"}
    ways = np.linalg.inv(np.eye(3) - np.array([[0.0, 0.0, 0.0], [1.5, 0.0, 0.0], [-1.0, 0.5, 0.0]]))
    joint = ways @ np.diag([2.0, 0.7, 0.4]) @ ways.T
    rho = joint[0, 1] ** 2 / (joint[0, 0] * joint[1, 1])
    assert_allclose(engine.mutual_information(x, "y", given=seen), -0.5 * np.log(1.0 - rho), atol=CLOSE)
    inverse = np.linalg.inv(joint)
    partial = inverse[0, 2] ** 2 / (inverse[0, 0] * inverse[2, 2])
    assert_allclose(engine.mutual_information("x", "z", on="y", given=seen), -0.5 * np.log(1.0 - partial), atol=CLOSE)
    whole = scipy.stats.multivariate_normal(cov=joint).entropy()
    assert_allclose(engine.entropy(["x", "y", "z"], given=seen), whole, atol=CLOSE)
    above = scipy.stats.multivariate_normal(cov=joint[:2, :2]).entropy()
    assert_allclose(engine.entropy("z", on=["x", "y"], given=seen), whole - above, atol=CLOSE)
    with pytest.raises(NotApplicable, match="mixture of Gaussians"):
        engine.mutual_information("x", "y")
    with pytest.raises(NotApplicable, match="continuous"):
        engine.mutual_information("x", "c")


@pytest.mark.parametrize(("slope", "noise"), [(1e-9, 1.0), (1.0, 1e-20), (1e8, 1e-4), (0.0, 1.0)])
def test_information_of_gaussians_keeps_its_digits(slope, noise):
    """Two coordinates that hardly depend on each other, or hardly differ; a constant says nothing."""
    x, y, k = ss.Real("x"), ss.Real("y"), ss.Real("k")
    net = ss.BayesNet(
        ss.LinearGaussian(x, 3.0, covariance=1.0),
        ss.LinearGaussian(y, 0.0, coefficients={x: slope}, covariance=noise, given=x),
        ss.LinearGaussian(k, 2.0, covariance=0.0),
    )
    engine = ss.prepare(net)
    right = 0.5 * np.log1p(slope**2 / noise)
    assert_allclose(engine.mutual_information("x", "y"), right, rtol=1e-9)
    assert_allclose(engine.mutual_information("y", ["x", "k"]), right, rtol=1e-9)
    assert_allclose(engine.entropy("y", on="x"), 0.5 * np.log(2 * np.pi * np.e * noise), rtol=1e-9)


def test_a_value_of_information_without_candidates_says_so():
    asia = ss.datasets.load("asia")
    rest = {name: variable.states[0] for name, variable in zip(asia.variables.names, asia.variables, strict=True)}
    values = ss.prepare(asia).value_of_information("lung", given={k: v for k, v in rest.items() if k != "lung"})
    assert len(values) == 0
    assert "no discrete variable is left to observe" in str(values)
