"""Restricted Boltzmann machines as Markov networks: inferring upward, generating downward, drawing from the joint.

Visible and hidden units are independent given the other layer, so either direction is a product of sigmoids however
many units there are; the joint of a small machine is checked against every configuration.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.special import expit

import sepset as ss
from support.tolerances import CLOSE, STANDARD_ERRORS


def machine(num_visible, num_hidden, seed=0):
    """A bipartite network with weights W and biases a, b."""
    rng = np.random.default_rng(seed)
    W, a, b = rng.normal(0.0, 0.5, (num_visible, num_hidden)), rng.normal(size=num_visible), rng.normal(size=num_hidden)
    vs = [ss.Discrete(f"v{i}") for i in range(num_visible)]
    hs = [ss.Discrete(f"h{j}") for j in range(num_hidden)]
    pairs = itertools.product(range(num_visible), range(num_hidden))
    edges = [ss.Table.from_log((vs[i], hs[j]), [[0.0, 0.0], [0.0, W[i, j]]]) for i, j in pairs]
    fields = [ss.Table.from_log((u,), [0.0, c]) for u, c in zip((*vs, *hs), (*a, *b), strict=True)]
    return ss.MarkovNet(*edges, *fields), W, a, b


def test_hidden_units_follow_from_visible_ones():
    net, W, _, b = machine(60, 40)
    v = (np.random.default_rng(1).random(60) < 0.5).astype(int)
    found = ss.marginals(net, given={f"v{i}": int(bit) for i, bit in enumerate(v)})
    np.testing.assert_allclose([found[f"h{j}"].values[1] for j in range(40)], expit(b + v @ W), rtol=0, atol=CLOSE)


def test_visible_units_are_drawn_from_hidden_ones():
    net, W, a, _ = machine(60, 40)
    h = (np.random.default_rng(1).random(40) < 0.5).astype(int)
    rows = ss.sample(net, 2000, given={f"h{j}": int(bit) for j, bit in enumerate(h)}, seed=0).to_frame("pandas")
    p = expit(a + W @ h)
    shares = np.array([rows[f"v{i}"].mean() for i in range(60)])
    assert (np.abs(shares - p) < STANDARD_ERRORS * np.sqrt(p * (1.0 - p) / 2000)).all()


@pytest.mark.parametrize("size", [(4, 3), (6, 2)])
def test_draws_from_the_joint_match_every_configuration(size):
    net, W, a, b = machine(*size)
    cells = np.array(list(itertools.product((0, 1), repeat=sum(size))))
    v, h = cells[:, : size[0]], cells[:, size[0] :]
    weights = np.exp(np.einsum("ni,ij,nj->n", v, W, h) + v @ a + h @ b)
    p = weights / weights.sum()
    assert float(ss.log_partition(net)) == pytest.approx(np.log(weights.sum()), abs=CLOSE)
    names = [f"v{i}" for i in range(size[0])] + [f"h{j}" for j in range(size[1])]
    rows = ss.sample(net, 20_000, seed=0).to_frame("pandas")[names].to_numpy()
    codes = rows @ (1 << np.arange(sum(size))[::-1])
    shares = np.bincount(codes, minlength=len(cells)) / len(rows)
    assert (np.abs(shares - p) < STANDARD_ERRORS * np.sqrt(p * (1.0 - p) / len(rows)) + 1e-4).all()
