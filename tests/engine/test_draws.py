"""Draws given evidence of networks whose tree does not fit, against their joint."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
from scipy.stats import chi2, chisquare, kstest, norm

import sepset as ss
from sepset.errors import ImpossibleEvidence, TooLarge

SMALL = ss.CliqueTree(memory=6000)
"""A method with room for the tables of few variables."""


def wide(rng):
    """Three variables, and others after them that share a child; listed from the last to the first."""
    a, b, c = (ss.Discrete(name, 2 + (name == "b")) for name in "abc")
    found = [ss.TableCPD(a, rng.dirichlet(np.ones(2))), ss.TableCPD(b, rng.dirichlet(np.ones(3), 2), given=[a])]
    found.append(ss.TableCPD(c, rng.dirichlet(np.ones(2), (2, 3)), given=[a, b]))
    last = [ss.Discrete(f"d{i}") for i in range(7)]
    found += [ss.TableCPD(d, rng.dirichlet(np.ones(2), (3, 2)), given=[b, c]) for d in last]
    joined = ss.TableCPD(ss.Discrete("e"), rng.dirichlet(np.ones(2), (2,) * 7), given=last)
    return ss.BayesNet(*[*found, joined][::-1])


@pytest.mark.parametrize(
    "given", [{"c": 1}, {"b": 0, "c": ss.Likelihood([0.2, 0.9])}, {"a": {0}, "b": {1, 2}}, {"c": ss.Soft([0.3, 0.7])}]
)
def test_draws_after_those_of_ancestors_have_the_posterior(given):
    net, num = wide(np.random.default_rng(3)), 20_000
    with pytest.raises(TooLarge):
        ss.prepare(net, method=SMALL).marginals(given=given)
    drawn = ss.sample(net, num, given=given, seed=1, method=SMALL)
    free = [v for v in net.variables.names if not isinstance(given.get(v), int)]
    assert all((drawn.codes(v) == code).all() for v, code in given.items() if isinstance(code, int))
    posterior = np.asarray(ss.query(net, free, given=given).values)
    counts = np.zeros(posterior.shape)
    np.add.at(counts, tuple(drawn.codes(v).astype(np.int64) for v in free), 1.0)
    assert counts[posterior == 0.0].sum() == 0.0
    expected, seen = num * posterior[posterior > 0.0], counts[posterior > 0.0]
    often = expected > 5.0
    statistic = ((seen - expected) ** 2 / expected)[often].sum()
    assert chi2.sf(statistic, often.sum() - 1) > 1e-4


def test_the_same_seed_gives_the_same_draws_and_what_fits_is_drawn_at_once(monkeypatch):
    net, given = wide(np.random.default_rng(4)), {"c": 1}
    one, other = (ss.sample(net, 100, given=given, seed=7, method=SMALL) for _ in range(2))
    assert all((one.codes(v) == other.codes(v)).all() for v in net.variables.names)
    monkeypatch.setattr("sepset.engine.draws.forward_sample", None)
    assert len(ss.sample(net, 100, given=given, seed=7)) == 100
    assert len(ss.sample(net, 0, given=given, seed=7)) == 0


def test_what_findings_depend_on_is_all_that_has_to_fit():
    net = wide(np.random.default_rng(5))
    with pytest.raises(TooLarge):
        ss.sample(net, 10, given={"e": 1}, method=SMALL)
    with pytest.raises(TooLarge):  # nothing is known of what comes after what in an undirected model
        ss.sample(net.condition({"c": 1}), 10, given={"b": 1}, method=SMALL)
    impossible = net.with_cpds(ss.TableCPD(net["a"], [1.0, 0.0]))
    with pytest.raises(ImpossibleEvidence):
        ss.sample(impossible, 10, given={"a": 1}, method=SMALL)


def test_a_large_network_is_drawn_if_its_findings_depend_on_little():
    names = [f"v{i}" for i in range(2000)]
    rng = np.random.default_rng(0)
    edges = [(names[j], names[i]) for i in range(50, 2000) for j in rng.choice(i, 3, replace=False)]
    net = ss.BayesNet.random(ss.DAG(names, edges), seed=0)
    drawn = ss.sample(net, 5000, given={"v60": 1}, seed=3)
    assert (drawn.codes("v60") == 1).all()
    for v in net.cpd("v60").parents:
        expected = ss.query(net, v.name, given={"v60": 1}).values[1]
        assert abs(drawn.codes(v.name).mean() - expected) < 5.0 * 0.5 / np.sqrt(5000)


def test_ancestors_may_be_parents_of_wide_functions():
    """A logistic function of 30 weights has a factor only once most of its parents are known."""
    rng = np.random.default_rng(0)
    causes, y = [ss.Discrete(f"p{i}") for i in range(30)], ss.Discrete("y")
    cpds = [ss.TableCPD(v, [0.6, 0.4]) for v in causes]
    cpds.append(ss.LogisticCPD(y, {v: float(rng.normal()) for v in causes}, bias=0.1))
    seen = [ss.Discrete(f"d{i}") for i in range(22)]
    cpds += [ss.TableCPD(v, rng.dirichlet(np.ones(2), 2), given=[y]) for v in seen]
    for u, v in itertools.combinations(seen, 2):
        cpds.append(ss.TableCPD(ss.Discrete(f"{u.name} {v.name}"), rng.dirichlet(np.ones(2), (2, 2)), given=[u, v]))
    net, given, num = ss.BayesNet(*cpds), {"y": 1, **{f"p{i}": i % 2 for i in range(28)}}, 5000
    engine = ss.prepare(net, method=ss.CliqueTree(memory=200_000))
    drawn = engine.sample(num, given=given, seed=1)
    rows = {v: np.full(4, given.get(v.name, 0)) for v in causes}
    rows[causes[28]], rows[causes[29]] = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    joint = cpds[30].probabilities(rows, 4)[:, 1] * np.array([0.36, 0.24, 0.24, 0.16])
    counts = np.bincount(2 * drawn.codes("p28").astype(int) + drawn.codes("p29"), minlength=4)
    assert chisquare(counts, num * joint / joint.sum()).pvalue > 1e-4
    again = engine.sample(num, given=given, seed=1)
    assert all((drawn.codes(v.name) == again.codes(v.name)).all() for v in net.variables)
    copied = pickle.loads(pickle.dumps(engine)).sample(num, given=given, seed=1)
    assert (copied.codes("p28") == drawn.codes("p28")).all()


def test_real_variables_are_drawn_after_their_parents():
    net = wide(np.random.default_rng(6))
    x, y = ss.Real("x"), ss.Real("y")
    more = [
        ss.LinearGaussian(x, [0.0, 1.0], covariance=1.0, by=[net["a"]]),
        ss.LinearGaussian(y, [0.5], coefficients=[2.0], covariance=0.25, given=[x]),
    ]
    drawn = ss.sample(ss.BayesNet(*net.cpds, *more), 4000, given={"x": 0.5, "c": 1}, seed=2, method=SMALL)
    assert (drawn.values("x") == 0.5).all()
    assert kstest(drawn.values("y"), norm(1.5, 0.5).cdf).pvalue > 1e-4
