"""Max-marginals, decoding with ties, and checks of given assignments, beside all assignments."""

import pickle
from functools import cache

import numpy as np
import pytest

import sepset as ss
from sepset.factors.block import FactorBlock
from sepset.potentials import AtLeastOne, Cardinality, Parity, RobustPotts
from support.enumerated import random_case
from support.every_form import every_cpd, network


@cache
def possible():
    """Models of every kind with their max-marginals: zeros, ties, larger factors, one-state variables, components."""
    found = []
    for i in range(60):
        rng = np.random.default_rng(i)
        case = random_case(rng, most=5, arity=2 + i % 2, zeros=0.2 * (i % 3 == 1), whole=i % 2 == 0, density=0.3)
        if case.best > -np.inf:
            found.append((case, ss.max_marginals(case.net)))
    return found


def codes_of(found, case):
    return tuple(found.assignment[f"v{i}"] for i in range(len(case.cards)))


def test_maxima_are_those_of_all_assignments():
    for case, found in possible():
        assert found.log_value == pytest.approx(case.best, abs=1e-9)
        for i in range(len(case.cards)):
            np.testing.assert_allclose(found[f"v{i}"].log_values, case.max_marginal(i), atol=1e-9)
        for scope, _ in case.parts:
            names = tuple(f"v{i}" for i in scope)
            np.testing.assert_allclose(found[names].log_values, case.max_marginal(*scope), atol=1e-9)


def test_states_are_unique_exactly_if_the_best_assignment_is():
    """Proposition 13.3, with and without ties; and the largest other max-marginal is the second best value."""
    seen = set()
    for case, found in possible():
        ranked = np.sort(case.logs.reshape(-1))[::-1]
        number = int((ranked > case.best - 1e-9).sum())
        assert found.is_unique == (number == 1)
        for i in range(len(case.cards)):
            tied = np.flatnonzero(case.max_marginal(i) > case.best - 1e-9).tolist()
            assert list(found.best_states[f"v{i}"]) == tied
        second = ranked[1] if len(ranked) > 1 else -np.inf
        if number == 1:
            assert case.best - min(found.margins.values()) == pytest.approx(second, abs=1e-9)
        else:
            assert min(found.margins.values()) == 0.0
        seen.add(number == 1)
    assert seen == {True, False}


def test_traceback_chooses_tied_states_together():
    for case, found in possible():
        assert case.logs[codes_of(found, case)] == pytest.approx(case.best, abs=1e-9)
        assert found.is_best(found.assignment)
    a, b = ss.Discrete("a"), ss.Discrete("b")  # example 13.10: each alone may take either state, not both the same
    tied = ss.max_marginals(ss.MarkovNet(ss.Table((a, b), [[0.1, 0.4], [0.4, 0.1]])))
    assert dict(tied.ties) == {"a": (0, 1), "b": (0, 1)}
    assert tied.assignment["a"] != tied.assignment["b"]
    np.testing.assert_allclose(tied[a, b].values, [[0.1, 0.4], [0.4, 0.1]])


def test_local_optimality_is_optimality():
    """Theorem 13.6 in both directions: every assignment of every model."""
    for case, found in possible()[::3]:
        for codes in np.ndindex(case.cards):
            states = {f"v{i}": code for i, code in enumerate(codes)}
            is_best = case.logs[codes] > case.best - 1e-9
            assert found.is_best(states) == is_best
            assert (not found.conflicts(states)) == is_best


def test_beliefs_are_the_model():
    for case, found in possible()[::3]:
        for codes in np.ndindex(case.cards):
            value = found.log_value_of({f"v{i}": code for i, code in enumerate(codes)})
            assert value == pytest.approx(case.logs[codes], abs=1e-9)


@pytest.mark.parametrize("method", [ss.CliqueTree(), ss.inference.BeliefUpdate(), ss.inference.ShaferShenoy()])
def test_evidence_of_every_kind_and_every_tree(method):
    net = ss.datasets.load("asia")
    given = {"dysp": "yes", "xray": ss.Likelihood([0.3, 0.8]), "smoke": ss.Not("no")}
    found = ss.max_marginals(net, given=given, method=method)
    for name in ("lung", "bronc", "xray"):
        for state in ("no", "yes"):
            fixed = {**given, name: state} if name != "xray" else {k: v for k, v in given.items() if k != "xray"}
            weight = 0.0
            if name == "xray":
                weight = np.log(0.3 if net.variables["xray"].code(state) == 0 else 0.8)
                fixed["xray"] = state
            best = ss.map_assignment(net, given=fixed).log_value + weight
            assert found[name].log_value({name: state}) == pytest.approx(best, abs=1e-9)
    assert found["dysp"]["yes"] == pytest.approx(np.exp(found.log_value))
    assert found["dysp"]["no"] == 0.0
    assert found.margins["dysp"] == np.inf
    assert found.best_states["smoke"] == ("yes",)
    seen = ss.prepare(net, method=method).observe(given).max_marginals()
    assert dict(seen.assignment) == dict(found.assignment) == dict(ss.map_assignment(net, given=given).assignment)


def test_wide_families_and_auxiliaries():
    """Noisy-or families of many parents are never tables; an assignment of the model's own variables is checked."""
    parents = [ss.Discrete(f"p{i}") for i in range(14)]
    child = ss.Discrete("child")
    roots = [ss.TableCPD(v, [0.9 - 0.02 * i, 0.1 + 0.02 * i]) for i, v in enumerate(parents)]
    net = ss.BayesNet(*roots, ss.NoisyOr(child, {v: 0.8 - 0.03 * i for i, v in enumerate(parents)}, leak=0.01))
    given = {"child": 1}
    found, best = ss.max_marginals(net, given=given), ss.map_assignment(net, given=given)
    assert found.log_value == pytest.approx(best.log_value)
    assert found.is_best(best.assignment)
    assert dict(found.assignment) == dict(best.assignment)
    for name in ("p0", "p7"):
        for state in (0, 1):
            alone = ss.map_assignment(net, given={**given, name: state})
            assert found[name].log_value({name: state}) == pytest.approx(alone.log_value)
            assert found.log_value_of({**alone.assignment, name: state}) == pytest.approx(alone.log_value)
    worse = {**best.assignment, "p13": 1 - best.assignment["p13"]}
    assert not found.is_best(worse)


def test_rules_are_maximized_as_their_table():
    """Exercise 13.2: structured CPDs have the best assignment of their tables."""
    a, b, c = (ss.Discrete(n) for n in "abc")
    rules = ss.RuleCPD(
        c,
        [
            ss.cpds.Rule({a: 0, c: 0}, 0.3),
            ss.cpds.Rule({a: 0, c: 1}, 0.7),
            ss.cpds.Rule({a: 1, b: 0, c: 0}, 0.9),
            ss.cpds.Rule({a: 1, b: 0, c: 1}, 0.1),
            ss.cpds.Rule({a: 1, b: 1, c: 0}, 0.2),
            ss.cpds.Rule({a: 1, b: 1, c: 1}, 0.8),
        ],
        given=[a, b],
    )
    table = ss.TableCPD(c, np.array([[[0.3, 0.7], [0.3, 0.7]], [[0.9, 0.1], [0.2, 0.8]]]), given=[a, b])
    roots = ss.TableCPD(a, [0.4, 0.6]), ss.TableCPD(b, [0.7, 0.3])
    by_rules, by_table = (ss.max_marginals(ss.BayesNet(*roots, cpd)) for cpd in (rules, table))
    assert dict(by_rules.assignment) == dict(by_table.assignment)
    for name in "abc":
        np.testing.assert_allclose(by_rules[name].log_values, by_table[name].log_values)


def test_noise_far_below_the_gap_breaks_ties():
    """A tiny likelihood for every state leaves one best assignment, which was among the best before."""
    for case, _ in possible()[::2]:
        rng = np.random.default_rng(7)
        noise = {f"v{i}": ss.Likelihood(np.exp(1e-5 * rng.random(card))) for i, card in enumerate(case.cards)}
        found = ss.max_marginals(case.net, given=noise)
        assert found.is_unique
        values = np.unique(np.round(case.logs, 9))
        if len(values) < 2 or values[-1] - values[-2] > 1e-3:
            assert case.logs[codes_of(found, case)] == pytest.approx(case.best, abs=1e-9)


def test_names_permutations_and_pickles():
    case = random_case(np.random.default_rng(3), most=6, whole=True)
    one, other = ss.max_marginals(case.net), ss.max_marginals(case.permuted(np.random.default_rng(4)).net)
    for name in one:
        np.testing.assert_allclose(one[name].log_values, other[name].log_values, atol=1e-9)
    assert dict(one.best_states) == dict(other.best_states)
    again = pickle.loads(pickle.dumps(one))
    assert dict(again.margins) == dict(one.margins)
    assert str(again) == str(one)
    assert repr(one).startswith("MaxMarginalsResult(v0=")
    assert "margin" in one._repr_html_()
    empty = ss.max_marginals(ss.MarkovNet())
    assert (dict(empty.assignment), empty.log_value, empty.is_unique, empty.is_best({})) == ({}, 0.0, True, True)


def test_bad_questions_are_refused_by_name():
    net = ss.datasets.load("student")
    found = ss.max_marginals(net, given={"grade": "A"})
    with pytest.raises(ss.errors.ScopeError, match=r"no max-marginal of 'leter'.*letter"):
        found["leter"]
    with pytest.raises(ss.errors.ScopeError, match="No clique has"):
        found["letter", "difficulty"]
    with pytest.raises(ss.errors.ScopeError, match="have no state in it"):
        found.is_best({"letter": "weak"})
    with pytest.raises(ss.errors.ScopeError, match="observed to be 'A'"):
        found.is_best({**found.assignment, "grade": "B"})
    with pytest.raises(ss.errors.ScopeError, match="no variable 'lettr'"):
        found.is_best({**found.assignment, "lettr": "weak"})
    with pytest.raises(ss.errors.StateError):
        found.is_best({**found.assignment, "letter": "wek"})
    with pytest.raises(ss.ImpossibleEvidence):
        ss.max_marginals(ss.datasets.load("asia"), given={"lung": "yes", "either": "no"})
    with pytest.raises(ss.errors.NotApplicable, match="continuous"):
        ss.max_marginals(ss.BayesNet(ss.LinearGaussian(ss.Real("x"), 0.0, covariance=1.0)))
    with pytest.raises(ss.errors.NotApplicable, match="CliqueTree"):
        ss.max_marginals(net, method=ss.inference.ClusterBP(2))


def test_observed_numbers_weight_the_states():
    d, x = ss.Discrete("d"), ss.Real("x")
    net = ss.BayesNet(ss.TableCPD(d, [0.5, 0.5]), ss.LinearGaussian(x, [0.0, 3.0], covariance=[1.0, 1.0], by=d))
    found = ss.max_marginals(net, given={"x": 2.5})
    assert found.best_states["d"] == (1,)
    assert found.margins["d"] == pytest.approx(0.5 * (2.5**2 - 0.5**2))


def alone(net, given, name):
    """The best log value with each state of a variable, by one question for each."""
    found = []
    for state in net.variables[name].states:
        try:
            found.append(ss.map_assignment(net, given={**given, name: state}).log_value)
        except ss.ImpossibleEvidence:
            found.append(-np.inf)
    return found


def check(net, given, name):
    found, best = ss.max_marginals(net, given=given), ss.map_assignment(net, given=given)
    assert found.log_value == pytest.approx(best.log_value)
    assert found.is_best(best.assignment)
    assert found.is_best(found.assignment)
    np.testing.assert_allclose(found[name].log_values, alone(net, given, name), atol=1e-8)


FORMS = {name: cpd for name, cpd in every_cpd().items() if all(v.is_discrete for v in (cpd.child, *cpd.parents))}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_family(form):
    cpd = FORMS[form]
    net = network(cpd, np.random.default_rng(0))
    check(net, {}, cpd.child.name)
    if cpd.parents:
        check(net, {cpd.child.name: cpd.child.states[-1]}, cpd.parents[0].name)


@pytest.mark.parametrize(
    "potential", [Parity(), AtLeastOne(), Cardinality(-np.abs(np.arange(31) - 3.0)), RobustPotts(3.0, 5)]
)
def test_potentials_without_a_table(potential):
    rng = np.random.default_rng(0)
    single = FactorBlock(np.arange(30)[:, None], (2,), values=rng.normal(size=(30, 2)), space="log")
    wide = FactorBlock([list(range(30))], (2,) * 30, values=potential)
    check(ss.MarkovNet(single, wide, variables=[ss.Discrete.array("bit", (30,))]), {"bit[4]": 1}, "bit[0]")


def test_a_belief_over_its_max_marginal_is_largest_where_it_is():
    """Lemma 13.1: the ratio is at most one, and one at the maximum."""
    for case, found in possible()[::4]:
        for scope, _ in case.parts:
            if len(scope) < 2:
                continue
            logs = np.asarray(found[tuple(f"v{i}" for i in scope)].log_values)
            top = logs.max(axis=0, keepdims=True)
            ratio = np.where(top > -np.inf, logs - np.where(top > -np.inf, top, 0.0), -np.inf)
            assert ratio.max() <= 1e-9
            assert ratio.reshape(-1)[logs.argmax()] == pytest.approx(0.0, abs=1e-9)


def test_long_chains_and_large_log_values():
    rng = np.random.default_rng(0)
    step = ss.Discrete.array("step", (300,), states=3)
    pairs = np.stack([np.arange(299), np.arange(1, 300)], axis=1)
    net = ss.MarkovNet(
        FactorBlock(pairs, (3, 3), values=100.0 * rng.normal(size=(299, 3, 3)), space="log"), variables=[step]
    )
    found, best = ss.max_marginals(net), ss.map_assignment(net, k=2)
    assert found.log_value == pytest.approx(best.log_value, rel=1e-12)
    assert found.is_best(best.assignment)
    assert not found.is_best(best.assignments[1])
    assert min(found.margins.values()) == pytest.approx(best.log_values[0] - best.log_values[1], abs=1e-7)


def test_singles_of_a_wide_clique_are_the_maxima_over_all_others():
    """Read in any order, from halves of the scope that others have in common."""
    rng = np.random.default_rng(9)
    scope = [ss.Discrete(f"v{i}", 2 + i % 3) for i in range(7)]
    values = rng.random([v.num_states for v in scope])
    found = ss.max_marginals(ss.MarkovNet(ss.Table(scope, values)))
    for i in rng.permutation(7).tolist():
        expected = values.max(axis=tuple(j for j in range(7) if j != i))
        np.testing.assert_allclose(found[scope[i]].values, expected, rtol=1e-12)
    np.testing.assert_allclose(found["v2", "v5"].values, values.max(axis=(0, 1, 3, 4, 6)), rtol=1e-12)
