"""Logistic neighborhoods against a plain solver, and laws of their contrasts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from sepset.learning.structure.columns import Columns
from sepset.learning.structure.undirected.logistic import (
    States,
    contrasts_of,
    group_weights,
    largest_penalty,
    logistic_path,
    refitted_loss,
)


def rows(seed, size=150):
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 3, size)
    b = np.where(rng.random(size) < 0.7, a, rng.integers(0, 3, size))
    c = np.where(rng.random(size) < 0.6, b > 0, rng.integers(0, 2, size)).astype(int)
    return {"a": a, "b": b, "c": c, "d": rng.integers(0, 2, size)}


def loss(table, j, others, z):
    """The mean loss of a column by one weight for each of its states and each state of another column."""
    logits = np.tile(z[: len(set(table[j]))], (len(table[j]), 1))
    place = logits.shape[1]
    blocks = []
    for other in others:
        shape = (len(set(table[other])), logits.shape[1])
        blocks.append(z[place : place + shape[0] * shape[1]].reshape(shape))
        logits = logits + blocks[-1][table[other]]
        place += shape[0] * shape[1]
    logs = logits - np.log(np.exp(logits).sum(1, keepdims=True))
    return -logs[np.arange(len(logs)), table[j]].mean(), blocks


@pytest.mark.parametrize("penalty", [0.02, 0.1])
def test_one_weight_for_each_pair_of_states_gives_the_same(penalty):
    """The norm of a block in contrasts is that of the whole table of weights, up to the number of its entries."""
    table = rows(0, 60)
    del table["d"]
    states = States.of(Columns.of(table))
    found = next(logistic_path(states, np.array([penalty]), 1e-8))
    assert found.violation <= 1e-8
    names = list(table)
    for j, name in enumerate(names):
        others = [k for k in names if k != name]
        cards = {k: len(set(table[k])) for k in names}
        scale = {k: np.sqrt((cards[name] - 1) * (cards[k] - 1) / (cards[name] * cards[k])) for k in others}

        def value(z, name=name, others=others, scale=scale):
            mean, blocks = loss(table, name, others, z)
            return mean + penalty * sum(
                scale[k] * np.sqrt((b**2).sum() + 1e-12) for k, b in zip(others, blocks, strict=True)
            )

        size = cards[name] + sum(cards[name] * cards[k] for k in others)
        expected = minimize(value, np.full(size, 0.01), method="L-BFGS-B", options={"maxiter": 3000, "ftol": 1e-11})
        own = -_own_loss(found, j, states)
        mine = own + penalty * float(
            (group_weights(states)[j] * np.linalg.norm(found.coefficients[j, :-1], axis=(1, 2))).sum()
        )
        assert mine == pytest.approx(expected.fun, abs=1e-5)


def _own_loss(found, j, states):
    logits = found.logits_of(j, states.codes)
    logs = logits - np.log(np.exp(logits).sum(1, keepdims=True))
    return float(states.weights @ logs[np.arange(logs.shape[0]), states.codes[j]])


def test_the_largest_penalty_is_where_edges_begin():
    states = States.of(Columns.of(rows(1)))
    top = largest_penalty(states)
    found = list(logistic_path(states, np.array([1.001 * top, 0.98 * top]), 1e-7))
    assert not found[0].selected.any()
    assert found[1].selected.any()


@pytest.mark.parametrize("card", [2, 3, 5])
def test_contrasts(card):
    matrix = contrasts_of(card)
    np.testing.assert_allclose(matrix.sum(0), 0.0, atol=1e-12)
    np.testing.assert_allclose(matrix.T @ matrix, card * np.eye(card - 1), atol=1e-12)


def test_the_order_of_states_and_columns_does_not_matter():
    table = rows(2)
    other = {name: (2 - table[name]) if name in "ab" else 1 - table[name] for name in reversed(table)}
    one, two = (next(logistic_path(States.of(Columns.of(t)), np.array([0.05]), 1e-8)) for t in (table, other))
    sizes = [np.linalg.norm(found.coefficients[:, :-1], axis=(2, 3)) for found in (one, two)]
    np.testing.assert_allclose(sizes[0], sizes[1][::-1, ::-1], atol=1e-6)
    assert one.num_parameters == two.num_parameters
    assert one.log_likelihood(Columns.of(table)) == pytest.approx(two.log_likelihood(Columns.of(other)), abs=1e-6)


def test_losses_without_a_penalty():
    """Given one other column, the smallest loss is the conditional entropy."""
    table = rows(3)
    states = States.of(Columns.of(table))
    joint = np.zeros((3, 3))
    np.add.at(joint, (table["a"], table["b"]), 1.0 / 150)
    entropy = -float((joint * np.log(joint / joint.sum(0))).sum())
    assert refitted_loss(states, 0, np.array([1])) == pytest.approx(entropy, abs=1e-7)
    marginal = joint.sum(1)
    assert refitted_loss(states, 0, np.zeros(0, int)) == pytest.approx(-float(marginal @ np.log(marginal)))
    copy = States.of(Columns.of({"x": [0, 1, 1, 0], "y": [1, 0, 0, 1]}))
    assert refitted_loss(copy, 0, np.array([1])) == pytest.approx(0.0, abs=1e-6)


def test_states_that_do_not_occur_have_no_code():
    columns = Columns.of({"x": ["u", "w", "u"], "y": [0, 1, 1]}, variables=[_three()])
    states = States.of(columns)
    assert states.cards.tolist() == [2, 2]
    assert states.places[0].tolist() == [0, -1, 1]
    found = next(logistic_path(states, np.array([0.1]), 1e-7))
    further = Columns.of({"x": ["v", "w"], "y": [0, 1]}, variables=[_three()])
    codes, weights = states.coded(further)
    assert codes.tolist() == [[1], [1]]
    assert weights.tolist() == [1.0]
    assert np.isfinite(found.log_likelihood(further))


def _three():
    import sepset as ss

    return ss.Discrete("x", states=["u", "v", "w"])
