"""What missing cells take away: independent parameters and a single peak, by enumeration and by quadrature.

Reference: Koller & Friedman, section 19.1.3.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from sepset.api.learning import fit
from sepset.cpds.priors.dirichlet import K2
from sepset.cpds.table import TableCPD
from sepset.graphs.graph import DAG
from sepset.inference.iterate import Until
from sepset.learning.estimation.estimators import Bayes
from sepset.learning.incomplete.em import EM
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete

X, Y = Discrete("x"), Discrete("y")
PAIR = BayesNet(TableCPD(X, [0.5, 0.5]), TableCPD(Y, np.full((2, 2), 0.5), given=X))
HIDDEN = DAG.parse("h -> a; h -> b; h -> c")


def by_completions(xs, ys):
    """The mean and covariance of P(y=1 | x=0) and P(y=1 | x=1): a mixture of products of Dirichlets."""
    holes = [row for row, x in enumerate(xs) if x is None]
    logs, means, squares = [], [], []
    for guess in itertools.product((0, 1), repeat=len(holes)):
        filled = list(xs)
        for row, x in zip(holes, guess, strict=True):
            filled[row] = x
        found = fit(PAIR, {"x": filled, "y": ys}, Bayes(K2())).posterior
        moments = [found.moments("y", 1, given={"x": x}) for x in (0, 1)]
        logs.append(found.log_marginal_likelihood)
        means.append([m for m, _ in moments])
        squares.append(np.diag([s**2 for _, s in moments]))
    weights = np.exp(np.array(logs) - max(logs))
    weights /= weights.sum()
    m = np.array(means)
    mean = weights @ m
    apart = m - mean
    return mean, np.einsum("k,kij->ij", weights, np.array(squares) + apart[:, :, None] * apart[:, None, :])


def by_quadrature(xs, ys):
    """The same from the likelihood itself, integrated over a cube of parameters with a uniform prior."""
    nodes, share = np.polynomial.legendre.leggauss(24)
    t, w = 0.5 * (nodes + 1.0), 0.5 * share
    px, y0, y1 = np.meshgrid(t, t, t, indexing="ij")
    density = np.einsum("i,j,k->ijk", w, w, w)
    for x, y in zip(xs, ys, strict=True):
        terms = [(1 - px) * (y0 if y else 1 - y0), px * (y1 if y else 1 - y1)]
        density = density * (sum(terms) if x is None else terms[x])
    density = density / density.sum()
    mean = np.array([(density * v).sum() for v in (y0, y1)])
    return mean, np.array(
        [
            [(density * (u - a) * (v - b)).sum() for v, b in zip((y0, y1), mean, strict=True)]
            for u, a in zip((y0, y1), mean, strict=True)
        ]
    )


ROWS = [0, 1, 0, 1, 1, 1, 1, 0]


@pytest.mark.parametrize("xs", [[0, 0, 1, 1, 0, 1, 1, 0], [0, 0, 1, 1, None, None, None, None], [None, 1, *[None] * 6]])
def test_the_posterior_by_completions_is_the_posterior_by_quadrature(xs):
    mean, covariance = by_completions(xs, ROWS)
    expected, spread = by_quadrature(xs, ROWS)
    np.testing.assert_allclose(mean, expected, rtol=1e-9)
    np.testing.assert_allclose(covariance, spread, rtol=1e-8, atol=1e-12)


def test_holes_in_a_parent_make_parameters_dependent():
    """The more of x is missing, the more P(y | x=0) and P(y | x=1) must share out what was seen of y."""
    whole, some, most = (
        by_completions(xs, ROWS)[1]
        for xs in ([0, 0, 1, 1, 0, 1, 1, 0], [0, 0, 1, 1, None, None, None, None], [0, *[None] * 6, 1])
    )
    correlations = [c[0, 1] / np.sqrt(c[0, 0] * c[1, 1]) for c in (whole, some, most)]
    assert correlations[0] == pytest.approx(0.0, abs=1e-12)
    assert correlations[1] < -0.1
    assert correlations[2] < correlations[1]


def test_holes_in_the_child_leave_them_independent():
    """A missing leaf says nothing: its rows drop out, and local independence stays."""
    xs, ys = [0, 0, 1, 1], [0, 1, 1, 1]
    nodes = by_quadrature([*xs, 0, 1], [*ys, 1, 1])[1]
    assert nodes[0, 1] == pytest.approx(0.0, abs=1e-12)
    holes = fit(PAIR, {"x": [*xs, 0, 1], "y": [*ys, None, None]}, EM(), until=Until(steps=2000, tolerance=1e-14)).model
    np.testing.assert_allclose(holes.cpd("y").values, [[0.5, 0.5], [0.0, 1.0]], atol=1e-6)


def rows_of_three(seed=1, num=20):
    rng = np.random.default_rng(seed)
    return {name: rng.integers(2, size=num) for name in "abc"}


def peaks(rows, variables, num=6):
    """The different log-likelihoods that EM ends at, with one network each."""
    found = {}
    for seed in range(num):
        until = Until(steps=800, tolerance=1e-9)
        one = fit(HIDDEN, rows, EM(start="random", restarts=1), variables=variables, seed=seed, until=until)
        found.setdefault(round(one.log_likelihood, 1), one.model)
    return found


def log_likelihood(tables, rows):
    """The log-likelihood with the hidden cause summed out, written out."""
    prior, *given = tables
    total = 0.0
    for row in zip(*(rows[n].tolist() for n in "abc"), strict=True):
        total += np.log(sum(prior[h] * np.prod([t[h, v] for t, v in zip(given, row, strict=True)]) for h in (0, 1)))
    return total


def test_a_hidden_cause_has_several_peaks():
    """EM ends at different likelihoods, and between any two of them the likelihood is lower than at both."""
    rows = rows_of_three()
    found = peaks(rows, [Discrete("h")])
    assert len(found) >= 2
    tables = [[m.cpd(n).values for n in "habc"] for m in found.values()]
    for value, own in zip(found, tables, strict=True):
        assert log_likelihood(own, rows) == pytest.approx(value, abs=0.06)
    for one, other in itertools.combinations(tables, 2):
        path = [
            log_likelihood([(1 - s) * p + s * q for p, q in zip(one, other, strict=True)], rows)
            for s in np.linspace(0.0, 1.0, 21)
        ]
        assert min(path[1:-1]) < min(path[0], path[-1]) - 0.1


def test_exchanged_names_are_another_peak_of_equal_height():
    rows = rows_of_three()
    tables = [next(iter(peaks(rows, [Discrete("h")], 1).values())).cpd(n).values for n in "habc"]
    exchanged = [t[::-1] for t in tables]
    assert log_likelihood(exchanged, rows) == pytest.approx(log_likelihood(tables, rows))
    middle = [(t + e) / 2 for t, e in zip(tables, exchanged, strict=True)]
    assert log_likelihood(middle, rows) < log_likelihood(tables, rows) - 0.1


def test_complete_data_have_one_peak():
    rows = rows_of_three() | {"h": np.random.default_rng(2).integers(2, size=20)}
    assert len(peaks(rows, None)) == 1
