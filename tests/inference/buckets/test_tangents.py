"""Best assignments of noisy and logistic CPDs with many hidden parents, against enumeration and frontiers."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import sepset as ss
from sepset.errors import TooLarge
from sepset.inference.buckets import tangents
from sepset.inference.buckets.tangents import branches
from sepset.inference.forms import PreparedForms
from sepset.variables.evidence import Evidence, resolve

ON, GRADES = ss.Discrete("y"), ss.Discrete("y", ("none", "mild", "severe"))


@pytest.fixture(params=["frontiers", "tangents"], autouse=True)
def search(request, monkeypatch):
    """Both searches; without frontiers bounds alone remain."""
    if request.param == "tangents":
        monkeypatch.setattr("sepset.inference.maxima.MOST_ENTRIES", 0)


def causes(rng, num, *, coupled):
    """Parents in a chain, or independent ones, some with three states."""
    vs = [ss.Discrete(f"c{i}", 3 if i % 5 == 2 else 2) for i in range(num)]
    cpds = []
    for i, v in enumerate(vs):
        given = [vs[i - 1]] if coupled and i else []
        rows = rng.dirichlet(np.r_[4.0, np.ones(v.num_states - 1)], size=given[0].num_states if given else 1)
        cpds.append(ss.TableCPD(v, rows.reshape(-1), given=given))
    return vs, cpds


def noisy_or(rng, vs, leak=0.01):
    return ss.NoisyOr(ON, {v: np.r_[0.0, rng.uniform(0.05, 0.9, v.num_states - 1)] for v in vs}, leak=leak)


def noisy_max(rng, vs):
    rows = {v: np.r_[[[1.0, 0.0, 0.0]], rng.dirichlet([3.0, 1.0, 1.0], size=v.num_states - 1)] for v in vs}
    return ss.NoisyMax(GRADES, rows, leak=[0.97, 0.02, 0.01])


def logistic(rng, vs):
    return ss.LogisticCPD(ON, {v: rng.normal(size=(v.num_states, 2)) for v in vs}, bias=[1.0, -1.0])


def softmax(rng, vs):
    return ss.LogisticCPD(GRADES, {v: rng.normal(size=(v.num_states, 3)) for v in vs}, bias=[1.0, 0.0, -1.0])


FORMS = {"noisy-or": noisy_or, "noisy-max": noisy_max, "logistic": logistic, "softmax": softmax}


def joint(net):
    """The log probability of every assignment, as an array with one axis per variable."""
    shape = [v.num_states for v in net.variables]
    codes = np.indices(shape).reshape(len(shape), -1)
    columns = dict(zip(net.variables, codes, strict=True))
    with np.errstate(divide="ignore"):
        return sum(cpd.log_probability(columns) for cpd in net.cpds).reshape(shape)


def by_tangents(net, given, over=None):
    """The best assignment by bounds alone, as if no table fitted."""
    prepared = PreparedForms(net.problem(), ss.CliqueTree())
    evidence = resolve(given, net.variables)
    asked = [i for i in range(len(net.variables)) if i not in evidence.codes] if over is None else over
    return prepared.best_by_tangents(evidence, asked)


def narrowed(monkeypatch):
    """Limits of tables that seven causes exceed."""
    monkeypatch.setattr("sepset.inference.rewriting.MOST_TABLED", 8)
    monkeypatch.setattr("sepset.cpds.discrete.MOST_TABLED", 8)
    monkeypatch.setattr("sepset.cpds.discrete.MOST_ENTRIES", 8)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("coupled", [False, True], ids=["independent", "coupled"])
def test_noisy_or_with_coupled_causes_is_enumeration(monkeypatch, form, coupled, seed):
    """Every state of the child observed, and the child hidden."""
    rng = np.random.default_rng(seed)
    vs, cpds = causes(rng, 7, coupled=coupled)
    net = ss.BayesNet(*cpds, FORMS[form](rng, vs))
    logs = joint(net)
    narrowed(monkeypatch)
    for given in ({}, *({"y": state} for state in net["y"].states)):
        part = logs if not given else logs[..., net["y"].code(given["y"])]
        found = by_tangents(net, given)
        assert found.log_value == pytest.approx(part.max(), abs=1e-9)
        place = tuple(found.values[i] for i in range(part.ndim))
        assert part[place] == pytest.approx(part.max(), abs=1e-9)


def test_observed_parents_likelihoods_and_impossible_states(monkeypatch):
    rng = np.random.default_rng(1)
    vs, cpds = causes(rng, 6, coupled=True)
    net = ss.BayesNet(*cpds, noisy_or(rng, vs, leak=0.0))
    logs = joint(net)
    narrowed(monkeypatch)
    given = {"c0": 1, "y": 1, "c3": ss.Likelihood([0.2, 0.7])}
    weights = np.log([0.2, 0.7]).reshape([2 if i == 3 else 1 for i in range(7)])
    expected = (logs + weights)[1, ..., 1].max()
    assert by_tangents(net, given).log_value == pytest.approx(expected, abs=1e-9)
    tilted = (logs + np.log([0.9, 0.05])).max()
    assert by_tangents(net, {"y": ss.Likelihood([0.9, 0.05])}).log_value == pytest.approx(tilted, abs=1e-9)
    off = {f"c{i}": 0 for i in range(6)}
    assert by_tangents(net, {**off, "y": 0}, []).log_value == pytest.approx(logs[(0,) * 7], abs=1e-9)
    never = ss.BayesNet(
        *(ss.TableCPD(v, np.eye(v.num_states)[0]) for v in vs), ss.NoisyOr(ON, dict.fromkeys(vs, 0.5), leak=0.0)
    )
    assert by_tangents(never, {"y": 1}).log_value == -np.inf


def test_certain_causes(monkeypatch):
    """A contribution of one turns the child on for sure."""
    rng = np.random.default_rng(2)
    vs, cpds = causes(rng, 6, coupled=True)
    effects = {v: np.r_[0.0, np.ones(v.num_states - 1)] if i % 2 else 0.4 for i, v in enumerate(vs)}
    net = ss.BayesNet(*cpds, ss.NoisyOr(ON, effects, leak=0.0))
    logs = joint(net)
    narrowed(monkeypatch)
    assert by_tangents(net, {"y": 1}).log_value == pytest.approx(logs[..., 1].max(), abs=1e-9)


def test_several_findings_that_share_causes(monkeypatch):
    rng = np.random.default_rng(3)
    vs, cpds = causes(rng, 7, coupled=False)
    findings = [
        ss.NoisyOr(ss.Discrete(f"f{j}"), {v: rng.uniform(0.1, 0.9) for v in vs if v.num_states == 2}, leak=0.02)
        for j in range(3)
    ]
    net = ss.BayesNet(*cpds, *findings)
    logs = joint(net)
    narrowed(monkeypatch)
    for states in itertools.product((0, 1), repeat=3):
        given = {f"f{j}": s for j, s in enumerate(states)}
        part = logs[(..., *states)]
        assert by_tangents(net, given).log_value == pytest.approx(part.max(), abs=1e-9)


def frontier(weights, survivals):
    """The best of (1 - product of survivals) times weights over independent binary causes, by undominated pairs."""
    pairs = [(0.0, 0.0)]
    for (off, on), gone in zip(weights, survivals, strict=True):
        pairs = [(w + off, s) for w, s in pairs] + [(w + on, s + gone) for w, s in pairs]
        pairs.sort(key=lambda pair: (pair[1], -pair[0]))
        kept, top = [], -np.inf
        for w, s in pairs:
            if w > top:
                kept.append((w, s))
                top = w
        pairs = kept
    return max(w + np.log(-np.expm1(s)) for w, s in pairs if s < 0)


@pytest.mark.parametrize("num", [30, 60])
def test_many_causes_with_different_contributions(num):
    """Far beyond any table; the answer by dynamic programming over undominated pairs."""
    rng = np.random.default_rng(num)
    priors, links = rng.uniform(0.01, 0.2, num), rng.uniform(0.1, 0.95, num)
    vs = [ss.Discrete(f"c{i}") for i in range(num)]
    net = ss.BayesNet(
        *(ss.TableCPD(v, [1 - p, p]) for v, p in zip(vs, priors, strict=True)),
        ss.NoisyOr(ON, dict(zip(vs, links, strict=True)), leak=0.0),
    )
    expected = frontier(np.log(np.stack([1 - priors, priors], axis=1)), np.log1p(-links))
    best = ss.map_assignment(net, given={"y": 1})
    assert best.log_value == pytest.approx(expected, abs=1e-9)
    row = {**best.assignment, "y": 1}
    assert float(net.log_probability({name: [state] for name, state in row.items()})[0]) == pytest.approx(expected)


def test_the_best_few_are_in_order():
    rng = np.random.default_rng(5)
    vs = [ss.Discrete(f"c{i}") for i in range(28)]
    cpds = [ss.TableCPD(v, [0.9999, 0.0001]) for v in vs[:22]] + [ss.TableCPD(v, [0.7, 0.3]) for v in vs[22:]]
    net = ss.BayesNet(*cpds, ss.NoisyOr(ON, {v: rng.uniform(0.1, 0.9) for v in vs}, leak=0.01))
    found = ss.map_assignment(net, given={"y": 1}, k=3)
    values = []  # the rare causes are off in the best ones
    for states in itertools.product((0, 1), repeat=6):
        row = {v.name: [0] for v in vs[:22]} | {v.name: [s] for v, s in zip(vs[22:], states, strict=True)}
        values.append(float(net.log_probability({**row, "y": [1]})[0]))
    np.testing.assert_allclose(found.log_values, sorted(values, reverse=True)[:3], rtol=0, atol=1e-9)


def test_the_search_has_a_limit(monkeypatch):
    monkeypatch.setattr("sepset.inference.maxima.MOST_ENTRIES", 0)
    monkeypatch.setattr(tangents, "MOST_MAXIMA", 1)
    rng = np.random.default_rng(30)
    vs = [ss.Discrete(f"c{i}") for i in range(30)]
    net = ss.BayesNet(*(ss.TableCPD(v, [0.9, 0.1]) for v in vs), ss.NoisyOr(ON, {v: rng.uniform(0.1, 0.9) for v in vs}))
    with pytest.raises(TooLarge, match="until=Until"):
        ss.map_assignment(net, given={"y": 1}, method=ss.CliqueTree())


def test_branches_have_the_weights_of_likelihoods():
    evidence = Evidence({1: 0}, {0: np.array([0.0, 0.5])})
    ((told, known, weight),) = branches(evidence, {0: ON})
    assert (told.codes, known) == ({1: 0, 0: 1}, {0: 1})
    assert weight == pytest.approx(np.log(0.5))
    with pytest.raises(TooLarge, match="128 joint states"):
        list(branches(Evidence(), {i: ss.Discrete(f"y{i}") for i in range(7)}))
