"""Priors of imaginary rows are what adding those rows would be."""

from __future__ import annotations

import numpy as np
import pytest

import oracle
from sepset.cpds.linear import LinearGaussian
from sepset.cpds.logistic import LogisticCPD
from sepset.cpds.priors import BDeu
from sepset.cpds.table import TableCPD
from sepset.data.dataset import Dataset
from sepset.errors import DataError, ModelError, ScopeError
from sepset.graphs.graph import DAG
from sepset.learning.fit import fit
from sepset.learning.imaginary import BDe, ImaginaryData
from sepset.learning.parameters import MAP, MLE, Bayes
from sepset.models.bayesnet import BayesNet
from sepset.models.markovnet import MarkovNet
from sepset.variables import Discrete, Real

A, B, C = Discrete("a"), Discrete("b", 3), Discrete("c")


def random_net(seed, dag="c -> a -> b; c -> b"):
    return BayesNet.random(DAG.parse(dag), states={"a": 2, "b": 3, "c": 2}, seed=seed)


@pytest.mark.parametrize("seed", range(4))
def test_a_prior_network_of_any_structure(seed):
    """Pseudo-counts are the prior network's joint, enumerated, times the sample size."""
    prior = random_net(seed)
    cards = {v.name: v.num_states for v in prior.variables}
    families = [(c.child.name, tuple(p.name for p in c.parents), c.values) for c in prior.cpds]
    joint = oracle.bayes_joint(families, cards)
    other = TableCPD(B, np.full((2, 3), 1 / 3), given=C)
    found = BDe(prior, 12.0).hyperparameters([other])
    axes = {name: axis for axis, name in enumerate(cards)}
    expected = np.einsum(joint, list(range(3)), [axes["c"], axes["b"]])
    np.testing.assert_allclose(found, 12.0 * expected.reshape(-1))


def test_a_uniform_network_is_bdeu():
    flat = BayesNet(*(TableCPD(v, np.full(v.num_states, 1 / v.num_states)) for v in (A, B, C)))
    for dag in ("a -> b <- c", "b -> a -> c", "a; b; c"):
        net = BayesNet.random(DAG.parse(dag), states={"a": 2, "b": 3, "c": 2})
        for cpd in net.cpds:
            np.testing.assert_allclose(BDe(flat, 7).hyperparameters([cpd]), BDeu(7).hyperparameters([cpd]))


@pytest.mark.parametrize("seed", range(3))
def test_equivalent_networks_have_equal_evidence(seed):
    prior, data = random_net(seed), random_net(seed + 10).sample(20, seed)
    evidence = [
        fit(DAG.parse(dag), data, Bayes(BDe(prior, 5.0))).posterior.log_marginal_likelihood
        for dag in ("a -> b -> c", "c -> b -> a", "b -> a; b -> c")
    ]
    np.testing.assert_allclose(evidence, evidence[0])


def test_without_data_the_prior_network_is_projected():
    prior = random_net(1)
    empty = Dataset.from_codes(prior.variables, np.zeros((0, 3), np.int64))
    found = fit(prior, empty, Bayes(BDe(prior, 3.0))).model
    for cpd in prior.cpds:
        np.testing.assert_allclose(found.cpd(cpd.child).values, cpd.values)


def test_any_model_can_be_a_prior():
    pair = MarkovNet(random_net(2).markov_net().problem().blocks[0].factor(0, random_net(2).variables))
    child = pair.variables[0]
    found = BDe(pair, 4).hyperparameters([TableCPD(child, np.full(child.num_states, 1 / child.num_states))])
    assert found.sum() == pytest.approx(4.0)


def test_prior_networks_must_cover_and_be_positive():
    lone = BayesNet(TableCPD(A, [0.0, 1.0]))
    with pytest.raises(ModelError, match=r"gives \(a=0\) probability zero"):
        BDe(lone, 1).hyperparameters([TableCPD(A, [0.5, 0.5])])
    with pytest.raises(ScopeError, match="has no Discrete"):
        BDe(lone, 1).hyperparameters([TableCPD(B, [0.2, 0.3, 0.5])])
    with pytest.raises(ModelError, match="sample_size > 0"):
        BDe(lone, 0)


def test_imaginary_rows_are_rows():
    """For tables, lines and logistic CPDs alike: the estimate of both sets of rows together."""
    rng = np.random.default_rng(0)
    x, y = Real("x"), Real("y")
    net = BayesNet(
        TableCPD(A, [0.5, 0.5]),
        LogisticCPD(C, {A: 0.0}),
        LinearGaussian(x, covariance=1.0),
        LinearGaussian(y, coefficients=0.0, covariance=1.0, given=x),
    )

    def draw(num):
        columns = {"a": rng.integers(2, size=num), "c": rng.integers(2, size=num)}
        return Dataset.from_codes(net.variables, columns | {"x": rng.normal(size=num), "y": rng.normal(size=num)})

    data, imagined = draw(30), draw(20)
    joined = fit(net, data.concat(imagined), MLE()).model
    found = fit(net, data, MAP(ImaginaryData(imagined))).model
    np.testing.assert_allclose(found.cpd("a").values, joined.cpd("a").values)
    np.testing.assert_allclose(found.cpd("c").to_table().values, joined.cpd("c").to_table().values, atol=1e-6)
    np.testing.assert_allclose(found.cpd("y").coefficients, joined.cpd("y").coefficients)
    half = fit(net, data, MAP(ImaginaryData(imagined, 0.5))).model.cpd("x").intercept[0, 0]
    weights = np.concatenate([np.ones(30), np.full(20, 0.5)])
    assert half == pytest.approx(np.average(np.concatenate([data.values("x"), imagined.values("x")]), weights=weights))


def test_imaginary_rows_are_complete():
    with pytest.raises(DataError, match="ImaginaryData needs complete data"):
        ImaginaryData({"a": [0, None]}).hyperparameters([TableCPD(A, [0.5, 0.5])])
