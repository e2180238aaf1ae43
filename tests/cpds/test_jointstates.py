"""Structured CPDs under EM: expected statistics by enumeration, and steps that never lower the objective."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import sepset as ss
from sepset.api.learning import fit
from sepset.cpds.counts import Configurations
from sepset.cpds.deterministic import DeterministicCPD
from sepset.cpds.kerneldensity import KernelCPD
from sepset.cpds.logistic import LogisticCPD
from sepset.cpds.noisy import NoisyMax, NoisyOr
from sepset.cpds.partition import PartitionCPD
from sepset.cpds.priors.dirichlet import Dirichlet
from sepset.cpds.priors.weights import LaplaceWeights, NormalWeights
from sepset.cpds.table import TableCPD
from sepset.errors import NotApplicable, TooLarge
from sepset.inference.iterate import Until
from sepset.learning.incomplete.em import EM, HardEM, IncrementalEM
from sepset.learning.incomplete.expectation import Expectation
from sepset.learning.incomplete.gradient import GradientAscent
from sepset.learning.task import Task
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete, Real
from support.learning_cases import FORMS, ROOTS, a, b, masked_codes, network, rules, tree, x
from support.random_incomplete import completions, log_likelihood


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("method", [EM(start="model"), EM(start="model", acceleration="squarem"),
                                    IncrementalEM(3, start="model"), HardEM(start="model")], ids=repr)  # fmt: skip
def test_no_step_lowers_the_objective(form, method):
    net = network(form)
    rows = masked_codes(net)
    start = net.with_cpds(*(TableCPD(r.child, [0.7, 0.3]) for r in ROOTS if r.child.name in net.dag.nodes))
    found = fit(start, rows, method, until=Until(steps=15, tolerance=None))
    assert (np.diff(found.trace) >= -1e-12 * np.abs(found.trace[1:])).all()
    assert_allclose(found.log_likelihood, log_likelihood(found.model, rows), rtol=1e-10)
    assert found.log_likelihood >= log_likelihood(start, rows) or isinstance(method, HardEM)
    assert type(found.model.cpds[-1]) is type(net.cpds[-1])


@pytest.mark.parametrize("form", ["tree", "rules", "noisy-or", "noisy-or by a chain", "noisy-max", "logistic"])
def test_where_em_ends_no_small_change_is_better(form):
    net = network(form)
    rows = masked_codes(net, 150)
    found = fit(net, rows, EM(start="model", acceleration="squarem"), until=Until(steps=400, tolerance=1e-14))
    best = log_likelihood(found.model, rows)
    rng = np.random.default_rng(0)
    for _ in range(20):
        assert log_likelihood(_nudged(found.model, rng), rows) <= best + 1e-6


def _nudged(net, rng):
    cpd = net.cpds[-1]
    if isinstance(cpd, NoisyOr):
        given = {p: np.clip(e * rng.normal(1, 0.02, e.shape), 0, 1) for p, e in cpd.effects.items()}
        return net.with_cpds(NoisyOr(cpd.child, given, leak=min(cpd.leak * rng.normal(1, 0.02), 1.0)))
    if isinstance(cpd, NoisyMax):

        def near(t):
            t = t * rng.normal(1, 0.02, t.shape)
            return t / t.sum(axis=-1, keepdims=True)

        return net.with_cpds(NoisyMax(cpd.child, {p: near(e) for p, e in cpd.effects.items()}, leak=near(cpd.leak)))
    if isinstance(cpd, LogisticCPD):
        given = {p: w + rng.normal(0, 0.02, w.shape) for p, w in zip(cpd.parents, cpd.weights, strict=True)}
        return net.with_cpds(LogisticCPD(cpd.child, given, bias=cpd.bias + rng.normal(0, 0.02, cpd.bias.shape)))
    own = cpd.parameters
    theta = own.probabilities * rng.normal(1, 0.02, own.probabilities.shape)
    return net.with_cpds(cpd.from_statistics(theta * own.multiplicities))


@pytest.mark.parametrize("form", ["noisy-or", "noisy-or by a chain", "noisy-or without a leak", "noisy-max"])
def test_contributions_are_counted_as_enumeration_does(form):
    net = network(form)
    cpd = net.cpds[-1]
    rows = masked_codes(net, 12)
    tables = [cpd.influences.leak[None, :], *cpd.influences.effects]
    level_of = np.argsort(cpd.influences.order)
    wanted = [np.zeros_like(t) for t in tables]
    for row in rows.rows():
        full = completions(net, row)
        total = sum(p for _, p in full)
        for codes, p in full:
            states = [0, *(codes[v.name] for v in cpd.parents)]
            joint = {z: np.prod([t[s, k] for t, s, k in zip(tables, states, z, strict=True)])
                     for z in itertools.product(range(len(cpd.influences.leak)), repeat=len(tables))
                     if max(z) == level_of[codes[cpd.child.name]]}  # fmt: skip
            mass = sum(joint.values())
            for z, q in joint.items():
                for table, s, k in zip(wanted, states, z, strict=True):
                    table[s, k] += p / total * q / mass if mass else 0.0
    expectation = Expectation.of(Task(net, rows), threads=1)
    found = expectation.expect(net).statistics[-1]
    assert_allclose(found, np.concatenate([t.reshape(-1) for t in wanted]), rtol=1e-9, atol=1e-12)


def test_many_parents_stay_a_chain():
    causes = [Discrete(f"u{i}") for i in range(24)]
    net = BayesNet(*(TableCPD(u, [0.8, 0.2]) for u in causes), NoisyOr(x, dict.fromkeys(causes, 0.4), leak=0.05))
    rows = masked_codes(net, 80, share=0.1)
    found = fit(net, rows, EM(start="model"), until=Until(steps=5, tolerance=None))
    assert (np.diff(found.trace) > -1e-9).all()
    wide = LogisticCPD(x, {u: 0.1 * i for i, u in enumerate(causes)})
    with pytest.raises(TooLarge, match="33,554,432"):
        wide.parameters.for_rows({})


def test_statistics_are_as_small_as_the_form_allows():
    assert len(tree().parameters.zero) == 6
    assert len(rules().parameters.zero) == 5
    assert len(FORMS["logistic"]().parameters.zero) == 8
    assert len(FORMS["function"]().parameters.zero) == 0
    causes = [Discrete(f"u{i}") for i in range(6)]
    chain = NoisyOr(x, dict.fromkeys(causes, 0.4), leak=0.05)
    assert len(chain.parameters.zero) == 2 + 6 * 4
    assert len(chain.parameters.engine_values) == 6
    with pytest.raises(NotApplicable, match="incomplete rows"):
        _ = KernelCPD(Real("r"), {"r": [0.0, 1.0]}, width=1.0).parameters.engine_form


def test_tree_leaves_pool_their_contexts():
    net = network("tree")
    rows = masked_codes(net, 30)
    found = fit(net, rows, EM(start="model"), until=1).model.cpds[-1]
    counts = np.zeros((2, 2, 2))
    for row in rows.rows():
        full = completions(net, row)
        for codes, p in full:
            counts[codes["a"], codes["b"], codes["x"]] += p / sum(q for _, q in full)
    leaves = np.array([counts[0].sum(axis=0), counts[1, 0], counts[1, 1]])
    assert_allclose(found.distributions, leaves / leaves.sum(axis=1, keepdims=True), rtol=1e-10)


WEIGHTED = [(NormalWeights(1.0), Dirichlet(1.0)), (LaplaceWeights(1.0), Dirichlet(1.0))]
PRIORS = [("logistic", WEIGHTED[0]), ("logistic", WEIGHTED[1]), ("noisy-or", Dirichlet(0.5)), ("tree", Dirichlet(2.0))]


@pytest.mark.parametrize(("form", "prior"), PRIORS)
def test_no_step_lowers_the_log_posterior(form, prior):
    net = network(form)
    found = fit(net, masked_codes(net), EM(prior=prior, start="model"), until=Until(steps=12, tolerance=None))
    assert (np.diff(found.trace) >= -1e-12 * np.abs(found.trace[1:])).all()
    assert found.trace[-1] != found.log_likelihood


def test_priors_of_the_wrong_kind_are_refused():
    net = network("logistic")
    with pytest.raises(NotApplicable, match="NormalWeights, LaplaceWeights or ImaginaryData"):
        fit(net, masked_codes(net), EM(prior=Dirichlet(1.0), start="model"))


def test_parts_are_shared_by_families_of_different_shape():
    m, n = Discrete("m"), Discrete("n")
    theta = [[0.9, 0.1], [0.3, 0.7]]
    net = BayesNet(
        *ROOTS[:2],
        PartitionCPD(m, [[0, 1], [1, 1]], distributions=theta, given=(a, b), block="shared"),
        PartitionCPD(n, [1, 0], distributions=theta, given=a, block="shared"),
    )
    rows = masked_codes(net, 40)
    counts = np.zeros((2, 2))
    for row in rows.rows():
        full = completions(net, row)
        for codes, p in full:
            share = p / sum(q for _, q in full)
            counts[1 if codes["a"] or codes["b"] else 0, codes["m"]] += share
            counts[1 - codes["a"], codes["n"]] += share
    found = fit(net, rows, EM(start="model"), until=1).model
    for name in "mn":
        assert_allclose(found.cpd(name).distributions, counts / counts.sum(axis=1, keepdims=True), rtol=1e-10)
    longer = fit(net, rows, EM(start="auto"), until=Until(steps=10, tolerance=None))
    assert (np.diff(longer.trace) >= -1e-12 * np.abs(longer.trace[1:])).all()
    climbed = fit(net, rows, GradientAscent(start="model"), until=Until(steps=60, tolerance=1e-12))
    ended = fit(net, rows, EM(start="model"), until=Until(steps=600, tolerance=1e-13))
    assert_allclose(climbed.log_likelihood, ended.log_likelihood, rtol=1e-7)


def test_functions_of_many_states_take_part():
    """Their factor is sparse; the engine gets it as a dense array."""
    u, v, total = Discrete("u", 3), Discrete("v", 3), Discrete("total", 5)
    function = DeterministicCPD(total, lambda p, q: p + q, given=(u, v))
    net = BayesNet(TableCPD(u, [0.2, 0.3, 0.5]), TableCPD(v, [0.2, 0.3, 0.5]), function)
    rows = masked_codes(net, 40)
    found = fit(net, rows, EM(start="model"), until=Until(steps=5, tolerance=None))
    assert (np.diff(found.trace) >= -1e-12 * np.abs(found.trace[1:])).all()
    assert_allclose(found.log_likelihood, log_likelihood(found.model, rows), rtol=1e-10)


WIDE = 25


def wide_roots(shares):
    return [ss.TableCPD(ss.Discrete(f"p{i}"), [1.0 - q, q]) for i, q in enumerate(shares)]


def rows_of(net, num, seed, *, gaps):
    """Draws with some missing parents in each row, as codes."""
    drawn = net.sample(num, seed=seed)
    codes = np.stack([drawn.codes(v) for v in net.variables], axis=1).astype(np.int64)
    rng = np.random.default_rng(seed)
    for row in codes:
        row[rng.choice(WIDE, gaps, replace=False)] = -1
    return codes


def wide_logistic(alike):
    weights = np.full(WIDE, 0.7) if alike else np.linspace(-1.5, 1.5, WIDE)
    parents = [ss.Discrete(f"p{i}") for i in range(WIDE)]
    return ss.LogisticCPD(ss.Discrete("y"), dict(zip(parents, weights.tolist(), strict=True)), bias=-1.0)


@pytest.mark.parametrize("alike", [False, True], ids=["distinct weights", "equal weights"])
def test_em_of_a_wide_logistic_cpd_is_its_definition(alike):
    """Each step fits the completions of every row, weighted by their posteriors; written out by enumeration."""
    net = ss.BayesNet(*wide_roots(np.linspace(0.2, 0.6, WIDE)), wide_logistic(alike))
    codes = rows_of(net, 40, 3, gaps=2)
    prior = ss.priors.NormalWeights(1.0)
    prior = [prior, ss.priors.Dirichlet(1.0)]
    found = ss.fit(
        net,
        ss.Dataset.from_codes(net.variables, codes),
        ss.EM(prior=prior, start="model"),
        until=ss.Until(steps=1, tolerance=None),
    ).model
    filled, weights = [], []
    for row in codes:
        blank = np.flatnonzero(row < 0)
        cells = np.repeat(row[None], 2 ** len(blank), axis=0)
        cells[:, blank] = np.array(list(itertools.product((0, 1), repeat=len(blank))))
        p = np.exp(net.log_probability(ss.Dataset.from_codes(net.variables, cells)))
        filled.append(cells)
        weights.append(p / p.sum())
    complete = ss.Dataset.from_codes(net.variables, np.concatenate(filled), weights=np.concatenate(weights))
    expected = ss.fit(net, complete, ss.PosteriorMode(prior)).model
    for cpd, other in zip(found.cpds, expected.cpds, strict=True):
        for name, array in cpd.parameters.arrays.items():
            np.testing.assert_allclose(array, other.parameters.arrays[name], atol=2e-4)


def test_hard_em_of_a_wide_logistic_cpd_raises_the_likelihood_of_completed_rows():
    net = ss.BayesNet(*wide_roots(np.full(WIDE, 0.4)), wide_logistic(False))
    data = ss.Dataset.from_codes(net.variables, rows_of(net, 30, 5, gaps=2))
    method = ss.HardEM(prior=[ss.priors.NormalWeights(1.0), ss.priors.Dirichlet(1.0)], start="model")
    values = [ss.fit(net, data, method, until=ss.Until(steps=steps, tolerance=None)).log_likelihood for steps in (1, 4)]
    assert values[1] >= values[0] - 1e-9


def test_too_many_missing_parents_are_refused_before_they_are_counted():
    net = ss.BayesNet(*wide_roots(np.full(WIDE, 0.4)), wide_logistic(False))
    data = ss.Dataset.from_codes(net.variables, rows_of(net, 2, 5, gaps=WIDE - 1))
    with pytest.raises(ss.TooLarge, match="joint state"):
        ss.fit(net, data, ss.EM(start="model"), until=ss.Until(steps=1, tolerance=None))


def _rows_with_gaps(seed, num=40):
    rng = np.random.default_rng(seed)
    parents = [ss.Discrete(f"c{i}", 3 if i == 1 else 2) for i in range(4)]
    rows = {p.name: rng.integers(p.num_states, size=num).tolist() for p in parents}
    rows |= {name: rng.integers(2, size=num).tolist() for name in ("y", "z")}
    for i, name in enumerate(rows):
        for row in range(i, num, 5 + i):
            rows[name][row] = None
    return parents, rows


def _tied(parents, form):
    """Two children of the same parents with one set of parameters, or one child."""
    children = [ss.Discrete(name) for name in (("y", "z") if form == "tied" else ("y",))]
    weights = {p: np.linspace(-0.5, 0.7, p.num_states * 2).reshape(-1, 2) for p in parents}
    block = "both" if form == "tied" else None
    links = [ss.LogisticCPD(child, weights, bias=[0.2, -0.1], block=block) for child in children]
    return ss.BayesNet(*(ss.TableCPD(p, np.full(p.num_states, 1.0 / p.num_states)) for p in parents), *links)


@pytest.mark.parametrize("form", ["alone", "tied"])
@pytest.mark.parametrize("estimator", [ss.EM, ss.GradientAscent], ids=lambda e: e.__name__)
def test_families_without_a_table_are_learned_as_those_with_one(monkeypatch, form, estimator):
    """The joint states that rows allow, or all of them: the same steps."""
    parents, rows = _rows_with_gaps(0)
    net = _tied(parents, form)
    known = {name: column for name, column in rows.items() if name in net.variables}

    def fitted():
        return ss.fit(net, known, estimator(start="model"), until=ss.Until(steps=4, tolerance=None)).model

    whole = fitted()
    monkeypatch.setattr("sepset.cpds.jointstates.LARGEST", 40)
    monkeypatch.setattr("sepset.cpds.counts.Configurations.allowed", _unlimited(Configurations.allowed))
    monkeypatch.setattr("sepset.cpds.jointstates.JointStates.including", _unlimited_union)
    parts = fitted()
    for name in net.variables.names:
        one, two = (net_.cpd(name).to_table().values for net_ in (whole, parts))
        np.testing.assert_allclose(two, one, rtol=0, atol=2e-5)


def _unlimited(allowed):
    return classmethod(lambda cls, rows, variables, most, owner: allowed(rows, variables, 10**6, owner))


def _unlimited_union(own, other):
    return replace(own, possible=own.possible + own.aligned(other.possible))


def test_slopes_over_joint_states_are_differences_of_the_score(monkeypatch):
    parents, rows = _rows_with_gaps(1)
    cpd = _tied(parents, "alone").cpd("y")
    columns = {v: np.array([-1 if c is None else c for c in rows[v.name]]) for v in cpd.scope}
    monkeypatch.setattr("sepset.cpds.jointstates.LARGEST", 80)
    own = replace(cpd.parameters, possible=Configurations.allowed(columns, cpd.scope, 10**6, cpd))
    stats = np.random.default_rng(2).uniform(size=len(own.possible.counts))
    at = own.coordinates

    def score(x):
        return own.of(own.at(x)).score(stats)

    numeric = [(score(at + h) - score(at - h)) / 2e-6 for h in 1e-6 * np.eye(len(at))]
    np.testing.assert_allclose(own.score_slope(stats), numeric, rtol=1e-5, atol=1e-5)
    steps = 1e-4 * np.eye(len(at))
    curves = [
        (own.of(own.at(at - h)).score_slope(stats) - own.of(own.at(at + h)).score_slope(stats)) @ h for h in steps
    ]
    np.testing.assert_allclose(own.information(stats), np.array(curves) / 2e-8, rtol=1e-4)


@pytest.mark.parametrize("form", ["alone", "tied"])
def test_thirty_parents_climb(form):
    rng = np.random.default_rng(3)
    parents = [ss.Discrete(f"c{i}") for i in range(30)]
    net = _tied(parents, form)
    rows = {v.name: rng.integers(2, size=30).tolist() for v in net.variables}
    for name, row in (("c1", 0), ("c2", 0), ("y", 4), ("c9", 7)):
        rows[name][row] = None
    before = ss.fit(net, rows, ss.EM(start="model"), until=ss.Until(steps=0, tolerance=None)).log_likelihood
    found = ss.fit(net, rows, ss.GradientAscent(start="model"), until=ss.Until(steps=2, tolerance=None))
    assert found.log_likelihood > before
