"""Ranks of worked examples, never-jointly-observed pairs, ridges and samples; derivatives against differences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import oracle
import sepset as ss
from sepset.cpds.tree import Split, TreeCPD
from sepset.data.missingness import missing_patterns
from sepset.learning.missing import identifiability as module
from sepset.learning.missing.identifiability import FreeParameters, equivalent_neighbor, identifiability
from sepset.learning.missing.mechanisms import MCAR, MNAR, Hiding
from sepset.learning.missing.observability import ObservabilityModel, observed_version
from support.every_form import discrete_forms, network
from support.random_models import table_net
from support.strategies import plain_factors
from support.terminal import printed


def latent(num_children, hidden=2, states=2, rows=None):
    h = ss.Discrete("h", hidden)
    children = [ss.Discrete(f"x{i}", states) for i in range(num_children)]
    rng = np.random.default_rng(0)
    table = [rng.dirichlet(np.ones(states), hidden) if rows is None else rows[i] for i in range(num_children)]
    prior = np.full(hidden, 1 / hidden)
    return ss.BayesNet(
        ss.TableCPD(h, prior), *(ss.TableCPD(x, t, given=h) for x, t in zip(children, table, strict=True))
    )


def names(net):
    return [n for n in net.variables.names if n != "h"]


def test_one_child_of_a_hidden_coin():
    """Example 19.6: (.5, .5, .5) and (.5, .8, .2) behave alike; the rank is 1 of 3."""
    for rows in ([[0.5, 0.5], [0.5, 0.5]], [[0.2, 0.8], [0.8, 0.2]]):
        found = identifiability(latent(1, rows=[rows]), ["x0"], at="model")
        assert (found.effective_dimension, found.num_parameters) == (1, 3)
    generic = identifiability(latent(1), "x0")
    assert (generic.effective_dimension, generic.deficiency, generic.label_switching) == (1, 2, 2)


@pytest.mark.parametrize(("children", "rank", "parameters"), [(2, 3, 5), (3, 7, 7), (4, 9, 9), (5, 11, 11)])
def test_a_hidden_cause_needs_three_children(children, rank, parameters):
    """Example 19.8, corrected: two binary children are not locally identifiable, three and more are."""
    found = identifiability(latent(children), names(latent(children)))
    assert (found.effective_dimension, found.num_parameters) == (rank, parameters)
    assert found.is_locally_identifiable == (children > 2)
    assert bool(found.unidentified) == (children == 2)
    assert found.hidden == ("h",)


def joint_of_children(prior, one, two):
    return sum(p * np.outer(a, b) for p, a, b in zip(prior, one, two, strict=True))


def test_the_explicit_neighbor():
    """Row 31: (.4, .7, .2, .6, .3) and (.41, .685415, .201661, .601507, .293868) give the same P(A, B)."""
    near, far = (0.4, 0.7, 0.2, 0.6, 0.3), (0.41, 0.685415, 0.201661, 0.601507, 0.293868)
    tables = [
        joint_of_children((t, 1 - t), ((a, 1 - a), (b, 1 - b)), ((c, 1 - c), (d, 1 - d)))
        for t, a, b, c, d in (near, far)
    ]
    assert tables[0] == pytest.approx(tables[1], abs=2e-6)  # the printed digits

    t, a, b, c, d = near
    net = latent(2, rows=[[[a, 1 - a], [b, 1 - b]], [[c, 1 - c], [d, 1 - d]]]).with_cpds(
        ss.TableCPD(ss.Discrete("h"), [t, 1 - t])
    )
    for seed in range(3):
        other = equivalent_neighbor(net, ["x0", "x1"], distance=0.019, seed=seed)
        moved = np.concatenate([other.cpd(n).values.reshape(-1, 2)[:, 0] for n in ("h", "x0", "x1")])
        assert 0.015 < np.linalg.norm(moved - [0.4, 0.7, 0.2, 0.6, 0.3]) < 0.025
        table = joint_of_children(other.cpd("h").values, other.cpd("x0").values, other.cpd("x1").values)
        assert table == pytest.approx(tables[0], abs=1e-12)


def test_three_children_have_no_neighbor():
    net = latent(3, rows=[[[0.9, 0.1], [0.2, 0.8]]] * 3)
    with pytest.raises(ss.errors.ModelError, match="identifiable"):
        equivalent_neighbor(net, names(net))
    with pytest.raises(ss.errors.ModelError, match="smaller"):
        equivalent_neighbor(latent(1), ["x0"], distance=5.0)


def test_useless_children_lower_the_rank_at_a_point():
    """Children that ignore the hidden variable: the generic rank is not that of this point."""
    net = latent(3, rows=[[[0.5, 0.5], [0.5, 0.5]]] * 3)
    assert identifiability(net, names(net)).is_locally_identifiable
    assert identifiability(net, names(net), at="model").effective_dimension == 3


def test_a_pair_never_seen_together():
    """Example 19.7: with one of two coins always hidden nothing is known of their dependence."""
    a, b = ss.Discrete("a"), ss.Discrete("b")
    net = ss.BayesNet(ss.TableCPD(a, [0.5, 0.5]), ss.TableCPD(b, [[0.9, 0.1], [0.1, 0.9]], given=a))
    apart = identifiability(net, [["a"], ["b"]])
    assert (apart.effective_dimension, apart.num_parameters) == (2, 3)
    assert apart.unidentified == ("P(b=0 | a=0)", "P(b=0 | a=1)")
    assert apart.label_switching == 1
    assert identifiability(net, ["a", "b"]).is_locally_identifiable
    data = missing_patterns({"a": [0, 1, None, None], "b": [None, None, 0, 1]})
    assert identifiability(net, data).effective_dimension == 2


def test_any_coupling_with_the_same_margins_is_as_likely():
    """Row 30, with 40 rows of each coin alone: the deterministic coupling and independence tie."""
    a, b = ss.Discrete("a"), ss.Discrete("b")
    codes = np.array([[0, -1]] * 20 + [[1, -1]] * 20 + [[-1, 0]] * 20 + [[-1, 1]] * 20)
    data = ss.Dataset.from_codes([a, b], codes)
    logs = [
        ss.prepare(ss.BayesNet(ss.TableCPD(a, [0.5, 0.5]), ss.TableCPD(b, table, given=a)))
        .log_probabilities(data)
        .sum()
        for table in ([[0.5, 0.5], [0.5, 0.5]], [[1.0, 0.0], [0.0, 1.0]], [[0.2, 0.8], [0.8, 0.2]])
    ]
    assert logs == pytest.approx([80 * np.log(0.5)] * 3, rel=1e-12)


def test_the_ridge_of_value_dependent_hiding():
    """Example 19.4: three parameters, two degrees of freedom; hiding at random is identified."""
    toss = ss.Discrete("toss", ("heads", "tails"))
    truth = ss.BayesNet(ss.TableCPD(toss, [0.6, 0.4]))
    ridge = ObservabilityModel(truth, MNAR({"toss": Hiding([0.3, 0.6], given="toss")})).network
    found = identifiability(ridge, [observed_version(toss)])
    assert (found.effective_dimension, found.num_parameters, found.label_switching) == (2, 3, 1)
    random = ObservabilityModel(truth, MCAR(0.5)).network
    assert identifiability(random, [observed_version(toss)]).is_locally_identifiable


def test_labels_of_several_hidden_variables():
    h, g, x = ss.Discrete("h", 3), ss.Discrete("g", 2), ss.Discrete("x", 2)
    net = ss.BayesNet(
        ss.TableCPD(h, [0.2, 0.3, 0.5]),
        ss.TableCPD(g, [[0.5, 0.5]] * 3, given=h),
        ss.TableCPD(x, [[0.1, 0.9], [0.8, 0.2]], given=g),
    )
    found = identifiability(net, ["x"])
    assert found.label_switching == 12
    assert found.effective_dimension == 1
    assert set(found.unidentified) == set(found.parameters)


def test_a_sample_of_outcomes_finds_the_same_rank(monkeypatch):
    net = latent(5)
    whole = identifiability(net, names(net))
    monkeypatch.setattr(module, "OUTCOMES", 8)
    part = identifiability(net, names(net))
    assert whole.is_exact
    assert not part.is_exact
    assert part.effective_dimension == whole.effective_dimension == 11
    with pytest.raises(ss.errors.NotApplicable, match="fewer"):
        equivalent_neighbor(net, names(net))


def test_nothing_observed_and_nothing_to_learn():
    net = latent(2)
    assert identifiability(net, []).effective_dimension == 0
    fixed = ss.BayesNet(ss.DeterministicCPD(ss.Discrete("x"), lambda: 1))
    assert identifiability(fixed, ["x"]).is_locally_identifiable
    one = ss.BayesNet(ss.TableCPD(ss.Discrete("x", 1), [1.0]))
    assert identifiability(one, ["x"]).num_parameters == 0


def test_displays_and_refusals():
    net = latent(2)
    found = identifiability(net, ["x0", "x1"])
    assert repr(found) == "IdentifiabilityReport(3 of 5 dimensions, 2 labelings)"
    assert len([line for line in printed(found).splitlines() if line.startswith("│")]) == 6
    assert "relabelings" in found._repr_html_()
    with pytest.raises(ss.errors.ScopeError, match="x0"):
        identifiability(net, ["x9"])
    with pytest.raises(ss.errors.ArgumentError, match="'random'"):
        identifiability(net, ["x0"], at="here")


H, G = ss.Discrete("h"), ss.Discrete("g")
SEEN = [ss.Discrete(n) for n in "xyz"]


def logistic(x, values):
    return ss.LogisticCPD(x, {H: values[1] * 4 - 2, G: values[2] * 4 - 2}, bias=values[0] * 2 - 1)


def split(x, values):
    leaves = [[v, 1 - v] for v in values]
    return ss.TreeCPD(x, ss.cpds.Split(H, {0: leaves[0], 1: ss.cpds.Split(G, {0: leaves[1], 1: leaves[2]})}))


def by_rules(x, values):
    """x ignores g where h=0, and is a fair coin where both are 1."""
    a, b, _ = values
    rules = [({H: 0, x: 0}, a), ({H: 0, x: 1}, 1 - a), ({H: 1, G: 0, x: 0}, b), ({H: 1, G: 0, x: 1}, 1 - b)]
    return ss.RuleCPD(x, [*rules, ({H: 1, G: 1}, 0.5)], given=(H, G))


def noisy(x, values):
    return ss.NoisyOr(x, {H: values[1], G: values[2]}, leak=values[0])


def graded(x, values):
    rows = [[1 - v, 0.6 * v, 0.4 * v] for v in values]
    wide = ss.Discrete(x.name, 3)
    return ss.NoisyMax(wide, {H: [[1, 0, 0], rows[1]], G: [[1, 0, 0], rows[2]]}, leak=rows[0])


FORMS = {
    "logistic": (logistic, 3),
    "tree": (split, 3),
    "rules": (by_rules, 2),
    "noisy-or": (noisy, 3),
}


def made(form, values, children):
    """A network of two hidden causes, from a flat vector of parameters."""
    build, size = FORMS[form]
    values = list(values)
    cpds = [ss.TableCPD(H, [values[0], 1 - values[0]]), ss.TableCPD(G, [values[1], 1 - values[1]])]
    for i, x in enumerate(SEEN[:children]):
        own = values[2 + size * i : 2 + size * (i + 1)]
        cpds.append(build(x, [*own, 0.5][:3] if size == 2 else own))
    return ss.BayesNet(*cpds)


def observed_distribution(net):
    """P of what is seen: a product of tables, the hidden causes summed out."""
    tables = [cpd.to_table().values for cpd in net.cpds]
    joint = np.einsum("h,g->hg", tables[0], tables[1])
    for table in tables[2:]:
        joint = joint[..., None] * np.expand_dims(table, tuple(range(2, joint.ndim)))
    return joint.sum(axis=(0, 1)).reshape(-1)


@pytest.mark.parametrize("children", [1, 2, 3])
@pytest.mark.parametrize("form", sorted(FORMS))
def test_ranks_of_every_form_are_those_of_differences(form, children):
    """The Jacobian by central differences of enumerated distributions, of networks built number by number."""
    size = 2 + FORMS[form][1] * children
    rng = np.random.default_rng(children)
    values = rng.uniform(0.2, 0.8, size)
    net = made(form, values, children)
    columns = []
    for i in range(size):
        step = 1e-5 * np.eye(size)[i]
        ends = [observed_distribution(made(form, values + sign * step, children)) for sign in (1, -1)]
        columns.append((ends[0] - ends[1]) / 2e-5)
    singular = np.linalg.svd(np.array(columns), compute_uv=False)
    rank = int((singular > 1e-7 * singular[0]).sum())
    for found in (identifiability(net, SEEN[:children], at="model"), identifiability(net, SEEN[:children])):
        assert found.num_parameters == size
        assert found.effective_dimension == rank
        assert found.hidden == ("h", "g")


def test_noisy_or_is_identified_where_a_table_is_not():
    """Two hidden causes of three effects: fewer parameters than a table, and all of them are told."""
    net = made("noisy-or", np.linspace(0.2, 0.8, 11), 3)
    tables = ss.BayesNet(*(cpd.to_table() for cpd in net.cpds))
    assert identifiability(tables, SEEN).deficiency > 0
    assert identifiability(tables, SEEN).effective_dimension == 7
    assert identifiability(net, SEEN).effective_dimension == 7
    complete = identifiability(net, net.variables)
    assert complete.is_locally_identifiable
    assert complete.num_parameters == 11


def test_labels_that_noisy_causes_tell_apart():
    """Off is off: the states of a hidden cause of a noisy-or cannot change places; those of a logistic one can."""
    assert identifiability(made("noisy-or", np.full(11, 0.4), 3), SEEN).label_switching == 1
    assert identifiability(made("logistic", np.full(11, 0.4), 3), SEEN).label_switching == 4
    assert identifiability(made("tree", np.full(11, 0.4), 3), SEEN).label_switching == 1
    both = ss.NoisyOr(SEEN[0], {H: [0.2, 0.7]}, leak=0.1)
    assert identifiability(ss.BayesNet(ss.TableCPD(H, [0.4, 0.6]), both), [SEEN[0]]).label_switching == 2


def test_graded_effects():
    cpds = [ss.TableCPD(H, [0.4, 0.6]), ss.TableCPD(G, [0.3, 0.7]), graded(SEEN[0], [0.2, 0.5, 0.6])]
    found = identifiability(ss.BayesNet(*cpds), ["x"])
    assert found.num_parameters == 2 + 3 * 2
    assert found.effective_dimension == 2
    assert "P(x=1 by h=1)" in found.unidentified


def test_neighbors_of_noisy_networks_look_the_same():
    net = made("noisy-or", np.linspace(0.3, 0.7, 8), 2)
    other = equivalent_neighbor(net, SEEN[:2], distance=0.02)
    assert observed_distribution(other) == pytest.approx(observed_distribution(net), abs=1e-12)
    assert isinstance(other.cpd("x"), ss.NoisyOr)
    assert abs(other.cpd("x").leak - net.cpd("x").leak) + abs(other.cpd("y").leak - net.cpd("y").leak) > 1e-5


def probability(net, codes):
    """P(y) by enumeration of the joint."""
    factors, cards = plain_factors(net)
    joint = oracle.joint(factors, cards)
    return float(joint[tuple(codes.get(i, slice(None)) for i in range(joint.ndim))].sum())


def some_codes(rng, net):
    return {i: int(rng.integers(v.num_states)) for i, v in enumerate(net.variables) if rng.random() < 0.6}


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=25, deadline=None)
def test_derivatives_are_differences(seed):
    rng = np.random.default_rng(seed)
    point = FreeParameters(FreeParameters(table_net(rng).model).random(rng))
    assert len(point) == point.model.num_parameters == len(point.names) == len(set(point.names))
    codes = some_codes(rng, point.model)
    log, slope = point.gradient(codes)
    assert np.exp(log) == pytest.approx(probability(point.model, codes), rel=1e-9)
    assert point.gradient(codes, power=1.0)[1] == pytest.approx(slope / np.exp(log), rel=1e-9, abs=1e-12)
    for i in range(len(point)):
        step = np.zeros(len(point))
        step[i] = 1e-6
        ends = [probability(point.moved(sign * step), codes) for sign in (1, -1)]
        assert slope[i] == pytest.approx((ends[0] - ends[1]) / 2e-6, abs=1e-8)


def test_tied_parameters_count_once():
    a, b = ss.Discrete("a"), ss.Discrete("b")
    net = ss.BayesNet(ss.TableCPD(a, [0.3, 0.7], block="coin"), ss.TableCPD(b, [0.3, 0.7], block="coin"))
    point = FreeParameters(net)
    assert point.names == ("P(a=0)",)
    assert point.gradient({0: 0, 1: 0})[1] == pytest.approx([2 * 0.3])
    moved = point.moved(np.array([0.1]))
    assert moved.cpd("b").values == pytest.approx([0.4, 0.6])


def test_trees_and_deterministic_children():
    a, b, x, y = (ss.Discrete(n) for n in "abxy")
    tree = TreeCPD(x, Split(a, {0: [0.2, 0.8], 1: Split(b, {0: [0.5, 0.5], 1: [0.9, 0.1]})}), given=(a, b))
    net = ss.BayesNet(
        ss.TableCPD(a, [0.5, 0.5]), ss.TableCPD(b, [0.5, 0.5]), tree, ss.DeterministicCPD(y, lambda x: 1 - x, given=x)
    )
    point = FreeParameters(net)
    assert len(point) == 5
    assert point.names[2] == "P(x=0 | a=0)"
    _, slope = point.gradient({3: 1})
    assert slope == pytest.approx([0.2 - 0.7, 0.5 * (0.5 - 0.9), 0.5, 0.25, 0.25])


def test_zero_probabilities_have_derivatives_too():
    h, x = ss.Discrete("h"), ss.Discrete("x")
    net = ss.BayesNet(ss.TableCPD(h, [0.0, 1.0]), ss.TableCPD(x, [[0.8, 0.2], [0.0, 1.0]], given=h))
    log, slope = FreeParameters(net).gradient({1: 0}, power=0.5)
    assert log == -np.inf
    assert slope == pytest.approx([0.8, 0.0, 1.0])


@pytest.mark.parametrize("form", sorted(discrete_forms(np.random.default_rng(0))))
def test_every_form_has_the_parameters_it_says(form):
    rng = np.random.default_rng(7)
    net = network(discrete_forms(rng)[form], rng)
    point = FreeParameters(net)
    assert len(point) == net.num_parameters == len(point.values) == len(set(point.names))
    codes = some_codes(rng, net)
    _, slope = point.gradient(codes)
    for i in range(len(point)):
        step = np.zeros(len(point))
        step[i] = 1e-6
        ends = [probability(point.moved(sign * step), codes) for sign in (1, -1)]
        assert slope[i] == pytest.approx((ends[0] - ends[1]) / 2e-6, abs=1e-8)
        assert FreeParameters(point.moved(step)).values - point.values == pytest.approx(step, abs=1e-12)


def test_steps_outside_are_none():
    coin = ss.Discrete("coin")
    assert FreeParameters(ss.BayesNet(ss.TableCPD(coin, [0.5, 0.5]))).moved(np.array([0.6])) is None
    cause = ss.Discrete("cause", (False, True))
    noisy = ss.NoisyOr(ss.Discrete("child", (False, True)), {cause: 0.5})
    point = FreeParameters(ss.BayesNet(ss.TableCPD(cause, [0.5, 0.5]), noisy))
    assert point.names == ("P(cause=False)", "P(child=True by cause=True)")
    assert point.moved(np.array([0.0, -0.6])) is None
    assert point.moved(np.array([0.0, 0.1])).cpd("child").effects[cause][1] == pytest.approx(0.6)
    fixed = FreeParameters(ss.BayesNet(ss.DeterministicCPD(coin, lambda: 1)))
    assert fixed.moved(np.zeros(0)).cpds == fixed.model.cpds


def test_lines_are_refused():
    with pytest.raises(ss.errors.NotApplicable, match="free parameters"):
        len(FreeParameters(ss.BayesNet(ss.LinearGaussian(ss.Real("x"), covariance=1.0))))


def test_a_cpd_that_is_too_wide_is_named():
    parents = [ss.Discrete(f"c{i}") for i in range(30)]
    net = ss.BayesNet(
        *(ss.TableCPD(p, [0.6, 0.4]) for p in parents), ss.NoisyOr(ss.Discrete("y"), dict.fromkeys(parents, 0.3))
    )
    with pytest.raises(ss.errors.TooLarge, match=r"NoisyOr\(y.*Give it fewer parents"):
        ss.missing.identifiability(net, ["c0", "y"])
