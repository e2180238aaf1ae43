"""Problems of networks: the scopes of all factors are known before the factors of chains are made."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest

import sepset as ss
from sepset.cpds.influences import Influences


def mixed(rng: np.random.Generator) -> ss.BayesNet:
    """Noisy-ors, noisy-maxima, tables and functions; parents are listed neither by name nor by position."""
    c = [ss.Discrete(f"c{i}", 2 + (i % 3 == 2)) for i in (10, 9, 2, 11, 1, 3)]
    more = [ss.Discrete(f"d{i}") for i in range(9)]
    roots = [ss.TableCPD(v, rng.dirichlet(np.ones(v.num_states))) for v in c]
    f, g, h, t = (ss.Discrete(name, n) for name, n in (("f", 2), ("g", 3), ("h", 2), ("t", 2)))
    some = [c[i] for i in rng.permutation(6)[:5]]
    strengths = {v: rng.uniform(0.1, 0.9, v.num_states).tolist() for v in some}
    levels = {v: rng.dirichlet(np.ones(3), v.num_states) for v in c[1:5]}
    return ss.BayesNet(
        *roots[:3],
        ss.NoisyOr(f, strengths, leak=0.1),
        ss.NoisyMax(g, levels, leak=rng.dirichlet(np.ones(3))),
        *roots[3:],
        ss.TableCPD(h, rng.dirichlet(np.ones(2), (2, 3)), given=[f, g]),
        *(ss.TableCPD(v, rng.dirichlet(np.ones(2))) for v in more),
        ss.LogisticCPD(t, dict.fromkeys((*more, h), 0.5), bias=-1.0),
    )


@pytest.mark.parametrize("seed", range(5))
def test_problem_is_that_of_factors_made_at_once(seed: int) -> None:
    net = mixed(np.random.default_rng(seed))
    problem = net.problem()
    parts = [cpd.decomposition() for cpd in net.lined_up.cpds]
    factors = [factor for part in parts for factor in part.factors]
    hidden = [a for part in parts for a in part.auxiliaries]
    assert [*problem.variables] == [*net.variables, *hidden]
    assert problem.variables.cards.tolist() == [v.num_states for v in (*net.variables, *hidden)]
    assert problem.num_factors == len(factors) == len(problem.blocks)
    for number, factor in enumerate(factors):
        own = problem.factor(number)
        assert own.scope == factor.scope == tuple(problem.variables[v] for v in problem.scope(number))
        assert np.array_equal(np.asarray(own.values), np.asarray(factor.values))
    inside = {problem.variables[a]: [problem.variables[v] for v in f] for a, f in problem.functions.items()}
    assert inside == {a: list(f) for part in parts for a, f in part.functions.items()}
    assert len(inside) == 9  # of the logistic function; the maxima of chains are none
    assert [problem.variables[form.group].name for form in problem.forms] == ["f", "g"]
    for group, cpd, part in zip(problem.conditionals, net.cpds, parts, strict=True):
        assert problem.variables[group.child] == cpd.child
        assert [problem.variables[v] for v in group.parents] == list(cpd.parents)
        assert [problem.factor(n).scope for n in group.factors] == [f.scope for f in part.factors]
        assert [problem.variables[v] for v in group.auxiliaries] == list(part.auxiliaries)


def test_product_of_all_factors_is_the_joint() -> None:
    net, rng = mixed(np.random.default_rng(7)), np.random.default_rng(8)
    cards, total, engine = net.variables.cards, 0.0, ss.prepare(net)
    for codes in rng.integers(0, cards, (40, len(cards))).tolist():
        row = dict(zip(net.variables.names, codes, strict=True))
        joint = math.prod(math.exp(float(net.cpd(n).log_probability(_columns(net, row))[0])) for n in row)
        found = math.exp(engine.log_partition(given=row).value)
        assert found == pytest.approx(joint, rel=1e-9, abs=1e-300)
        total += joint
    assert 0.0 < total < 1.0
    assert net.problem().is_normalized


def _columns(net: ss.BayesNet, row: dict[str, int]) -> dict[ss.Discrete, np.ndarray]:
    return {net[name]: np.array([code]) for name, code in row.items()}


def test_links_are_made_when_they_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    chain = Influences.chain
    monkeypatch.setattr(Influences, "chain", lambda *args: made.append(1) or chain(*args))
    problem = mixed(np.random.default_rng(1)).problem()
    problem.relevant([0], [3])
    assert len(problem.variables) > problem.num_visible
    assert problem.variables.cards.min() == 2
    assert problem.variables[0].name == "c10"
    assert not made
    last = problem.variables[len(problem.variables) - 1]
    assert last.part
    assert not made  # it belongs to another kind of chain
    assert problem.factor(3).scope[-1].part
    assert len(made) == 1
    assert [*problem.variables][-1] == last
    assert len(made) == 2  # all of them, once


def test_scopes_of_tables_need_no_line(monkeypatch: pytest.MonkeyPatch) -> None:
    net = mixed(np.random.default_rng(2))
    expected = [net.problem().scope(n) for n in range(net.problem().num_factors)]
    late = mixed(np.random.default_rng(2)).problem()
    plain = [n for g in late.conditionals if len(g.factors) == 1 and not g.auxiliaries for n in g.factors]
    with monkeypatch.context() as without:
        without.setattr("sepset.models.bayesnet.line_through", None)
        assert [tuple(scope) for scope in late.scopes_of(plain)] == [expected[n] for n in plain]
        assert [late.scope(n) for n in plain] == [expected[n] for n in plain]
        assert [late.factor(n).scope for n in plain] == [net.problem().factor(n).scope for n in plain]
    everything = range(late.num_factors)
    assert [tuple(scope) for scope in late.scopes_of(everything)] == expected
    assert [late.factor(n).scope for n in everything] == [net.problem().factor(n).scope for n in everything]


def tabled(rng: np.random.Generator) -> ss.BayesNet:
    """Trees, rules, functions, softmax and noisy CPDs, each with a smallest form that is its table."""
    a, b, c = (ss.Discrete(name) for name in "abc")
    t, r, f, g, s = (ss.Discrete(name, n) for name, n in (("t", 2), ("r", 2), ("f", 2), ("g", 7), ("s", 3)))
    n, m = ss.Discrete("n"), ss.Discrete("m", 3)
    last = ss.cpds.Split(c, {0: [0.9, 0.1], 1: [0.5, 0.5]})
    split = ss.cpds.Split(a, {0: [0.3, 0.7], 1: ss.cpds.Split(b, {0: [0.2, 0.8], 1: last})})
    rules = [({a: 0, r: 0}, 0.3), ({a: 0, r: 1}, 0.7), ({a: 1, b: 0, r: 0}, 0.9), ({a: 1, b: 0, r: 1}, 0.1)]
    return ss.BayesNet(
        *(ss.TableCPD(v, [0.4, 0.6]) for v in (a, b, c)),
        ss.TreeCPD(t, split),
        ss.RuleCPD(r, [*rules, ({a: 1, b: 1}, 0.5)]),
        ss.DeterministicCPD(f, lambda x, y: x ^ y, given=(t, r)),
        ss.DeterministicCPD(g, lambda x, y, z: x + y + z, given=(t, r, f)),
        ss.LogisticCPD(s, {v: rng.normal(size=(v.num_states, 3)) for v in (t, f, c)}, bias=[0.0, 0.1, 0.2]),
        ss.NoisyOr(n, dict.fromkeys((t, f, c), 0.4), leak=0.1),
        ss.NoisyMax(m, {a: [[1.0, 0.0, 0.0], [0.5, 0.3, 0.2]]}, leak=[0.9, 0.1, 0.0]),
    )


def test_tables_of_other_forms_are_made_when_they_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    net, made = tabled(np.random.default_rng(0)), []
    parts = [cpd.decomposition() for cpd in net.cpds]
    monkeypatch.setattr("sepset.models.networkproblem.Outline.part", lambda outline, i: made.append(i) or parts[i])
    problem = net.problem()
    problem.relevant([0], [3])
    assert problem.scopes[0][-1] == sum(len(cpd.scope) for cpd in net.cpds)
    assert [len(problem.scope(i)) for i in range(len(net.cpds))] == [len(cpd.scope) for cpd in net.cpds]
    assert not made
    for number, (cpd, part) in enumerate(zip(net.cpds, parts, strict=True)):
        assert cpd.is_tabled
        assert [factor.scope for factor in part.factors] == [cpd.scope]
        assert problem.factor(number).scope == tuple(problem.variables[v] for v in problem.scope(number)) == cpd.scope
    assert made == [*range(len(net.cpds))]


def test_copies_have_the_same_factors() -> None:
    problem = mixed(np.random.default_rng(2)).problem()
    for other in (pickle.loads(pickle.dumps(problem)), copy.deepcopy(problem)):
        assert other.variables == problem.variables
        assert [f.scope for f in other.factors()] == [f.scope for f in problem.factors()]


def test_a_hidden_name_that_is_taken_is_an_error() -> None:
    causes = [ss.Discrete(f"c{i}") for i in range(6)]
    effect, taken = ss.Discrete("f"), ss.Discrete("f(max 1)")
    net = ss.BayesNet(
        *(ss.TableCPD(v, [0.5, 0.5]) for v in (*causes, taken)),
        ss.NoisyOr(effect, {v: 0.1 * i + 0.1 for i, v in enumerate(causes)}),
    )
    with pytest.raises(ss.errors.ScopeError, match="share one name"):
        ss.marginals(net)
