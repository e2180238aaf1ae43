"""Pseudo-likelihoods by their definition, and where they are likelihoods."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import sepset as ss
from sepset.data.dataset import Dataset
from sepset.errors import ArgumentError, NotApplicable
from sepset.learning.undirected.pseudolikelihood import fitted_pairs, pairwise_problem

RNG = np.random.default_rng(0)
A = RNG.integers(0, 3, 80)
ROWS = Dataset({"a": A, "b": np.where(RNG.random(80) < 0.4, A, RNG.integers(0, 3, 80)), "c": RNG.integers(0, 2, 80)})
PAIRS = np.array([[0, 1], [1, 2]])


def log_pseudo_likelihood(net, data):
    """From the joint by enumeration: each column given all others."""
    variables = list(data.variables)
    states = [range(v.num_states) for v in variables]
    joint = np.zeros([len(s) for s in states])
    for codes in itertools.product(*states):
        joint[codes] = float(net.log_value({v.name: v.states[c] for v, c in zip(variables, codes, strict=True)})[0])
    joint = np.exp(joint)
    codes = np.array([data.codes(v) for v in variables]).T
    total = 0.0
    for row in codes:
        for j in range(len(variables)):
            line = joint[tuple(slice(None) if k == j else row[k] for k in range(len(variables)))]
            total += np.log(line[row[j]] / line.sum())
    return total, joint / joint.sum()


def test_the_maximum_by_enumeration():
    found = fitted_pairs(ROWS, PAIRS, prior=None, method=None)
    best, joint = log_pseudo_likelihood(found.model, ROWS)
    assert float(found.info["log_pseudo_likelihood"]) == pytest.approx(best)
    codes = tuple(ROWS.codes(v) for v in ROWS.variables)
    assert found.log_likelihood == pytest.approx(np.log(joint[codes]).sum())
    problem = pairwise_problem(ROWS, PAIRS)
    theta = np.concatenate([np.log(f.values).ravel() for f in found.model.factors])
    value, slope = problem.loss(theta, 0.0)
    assert value == pytest.approx(-best / 80)
    assert np.abs(slope).max() < 1e-5


def test_slopes_are_differences():
    problem = pairwise_problem(ROWS, PAIRS)
    theta = np.random.default_rng(1).normal(size=problem.starts[-1])
    value, slope = problem.loss(theta, 0.3)
    for i in range(len(theta)):
        moved = theta.copy()
        moved[i] += 1e-6
        assert (problem.loss(moved, 0.3)[0] - value) / 1e-6 == pytest.approx(slope[i], abs=1e-4)


def test_of_one_edge_it_is_the_joint_of_the_data():
    pair = ROWS.select(["a", "b"])
    found = fitted_pairs(pair, np.array([[0, 1]]), prior=None, method=None)
    joint = ss.query(found.model, ["a", "b"]).distribution.values
    expected = np.zeros((3, 3))
    np.add.at(expected, (pair.codes("a"), pair.codes("b")), 1 / 80)
    np.testing.assert_allclose(joint, expected, atol=1e-4)


def test_no_edges_and_weights():
    found = fitted_pairs(ROWS.with_weights(np.arange(80)), np.zeros((0, 2)), prior=None, method=None)
    share = np.bincount(A, weights=np.arange(80)) / np.arange(80).sum()
    np.testing.assert_allclose(ss.query(found.model, "a").distribution.values, share, atol=1e-6)


def test_states_that_never_meet_need_a_prior():
    copies = Dataset({"a": [0, 1] * 20, "b": [0, 1] * 20})
    with pytest.raises(NotApplicable, match="NormalWeights"):
        fitted_pairs(copies, np.array([[0, 1]]), prior=None, method=None)
    found = fitted_pairs(copies, np.array([[0, 1]]), prior=ss.priors.NormalWeights(1.0), method=None)
    assert 0.8 < ss.query(found.model, "a", given={"b": 1}).distribution.values[1] < 1.0
    with pytest.raises(ArgumentError, match="prior="):
        fitted_pairs(copies, np.array([[0, 1]]), prior=ss.priors.LaplaceWeights(1.0), method=None)
