"""Gradient ascent goes on where a contribution of a noisy-or or noisy-max reaches certainty on the way.

The models here have a hidden cause and enough parameters to fit any table of what is observed, so the largest
log-likelihood is that of the observed shares, $\\sum_c M[c] \\log (M[c] / M)$, in closed form. A first step away from a
leak near one overshoots, and a contribution is one to the last digit at some trial of the line search.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import sepset as ss

H, A, O, M = ss.Discrete("h"), ss.Discrete("a"), ss.Discrete("o"), ss.Discrete("m", 3)
ROOTS = (ss.TableCPD(H, [0.5, 0.5]), ss.TableCPD(A, [[0.2, 0.8], [0.9, 0.1]], given=H))
CAUSES = {H: [[1, 0, 0], [0.5, 0.3, 0.2]], A: [[1, 0, 0], [0.4, 0.3, 0.3]]}
OBSERVED = {"o": np.array([[214, 35], [58, 93]]), "m": np.array([[200, 29, 20], [43, 51, 57]])}


def network(child, leak):
    if child == "o":
        return ss.BayesNet(*ROOTS, ss.NoisyOr(O, {H: 0.3, A: 0.5}, leak=leak))
    return ss.BayesNet(*ROOTS, ss.NoisyMax(M, CAUSES, leak=[1.0 - leak, 0.6 * leak, 0.4 * leak]))


def rows(child):
    """The observed table as rows; the cause h has no column."""
    table = OBSERVED[child]
    cells = [cell for cell in itertools.product(*map(range, table.shape)) for _ in range(table[cell])]
    return {"a": [a for a, _ in cells], child: [c for _, c in cells]}


def largest(child):
    """The log-likelihood of the observed shares."""
    table = OBSERVED[child]
    return float((table * np.log(table / table.sum())).sum())


def own_log_likelihood(child, net):
    """By enumeration of the hidden cause."""
    shares = np.einsum("h,ha,hac->ac", net.cpd("h").values, net.cpd("a").values, net.cpd(child).to_table().values)
    return float((OBSERVED[child] * np.log(shares)).sum())


@pytest.mark.parametrize("optimizer", ["lbfgs", "conjugate", "steepest"])
@pytest.mark.parametrize("leak", [0.9, 0.99, 0.999, 0.9999])
@pytest.mark.parametrize("child", ["o", "m"])
def test_gradient_ascent_climbs_to_the_observed_shares(child, leak, optimizer):
    found = ss.fit(network(child, leak), rows(child), ss.GradientAscent(start="model", optimizer=optimizer))
    assert found.log_likelihood == pytest.approx(largest(child), abs=1e-3)
    assert own_log_likelihood(child, found.model) == pytest.approx(found.log_likelihood, abs=1e-6)
    assert (np.diff(found.trace) >= -1e-9).all()


@pytest.mark.parametrize("leak", [0.9, 0.99, 0.999, 0.9999])
@pytest.mark.parametrize("child", ["o", "m"])
def test_em_climbs_to_the_observed_shares(child, leak):
    until = ss.Until(steps=20_000, tolerance=1e-12)
    found = ss.fit(network(child, leak), rows(child), ss.EM(start="model"), until=until)
    assert found.log_likelihood == pytest.approx(largest(child), abs=1e-6)
