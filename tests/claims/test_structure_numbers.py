"""Numbers of structure scores that were computed independently: gaps of supergraphs, violations of orders, limits."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.special import betaln
from scipy.stats import chi2

import sepset as ss
from sepset.kernels.structure.familyscores import log_rise
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.familyscores import Scorer


def test_the_gap_of_a_needless_edge_is_half_a_chi_square():
    """An independent pair of 5,000 rows: twice the gain has one degree of freedom, and does not vanish."""
    rng = np.random.default_rng(0)
    gaps = []
    for _ in range(300):
        counts = rng.multinomial(5000, [0.25] * 4)
        cells = {"a": [0, 0, 1, 1], "b": [0, 1, 0, 1]}
        scorer = Scorer(Columns.of(cells, weights=counts), ss.structure.LogLikelihood())
        gaps.append(2 * (scorer.family(1, (0,)) - scorer.family(1, ())))
    assert np.mean(gaps) == pytest.approx(1.0, abs=0.25)
    assert np.mean(np.array(gaps) > chi2.ppf(0.95, 1)) == pytest.approx(0.05, abs=0.035)


def test_likelihood_is_the_entropy_and_the_violations_of_an_order():
    """score / M = -H(all) - sum I(X_i; predecessors that are not parents | parents), for every order that fits."""
    rng = np.random.default_rng(1)
    rows = {name: rng.integers(0, 2, 50) for name in "abcd"}
    columns = Columns.of(rows)
    scorer = Scorer(columns, ss.structure.LogLikelihood())
    parents = {0: (), 1: (0,), 2: (), 3: (1,)}

    def entropy(chosen):
        shares = columns.joint(tuple(chosen)).ravel() / 50 if chosen else np.ones(1)
        return -sum(p * np.log(p) for p in shares if p > 0)

    score = scorer.total([parents[v] for v in range(4)]) / 50
    checked = 0
    for order in itertools.permutations(range(4)):
        if all(order.index(p) < order.index(v) for v, above in parents.items() for p in above):
            violations = 0.0
            for place, v in enumerate(order):
                rest = [u for u in order[:place] if u not in parents[v]]
                given = list(parents[v])
                violations += (
                    entropy([v, *given]) + entropy([*rest, *given]) - entropy([v, *rest, *given]) - entropy(given)
                )
            assert score == pytest.approx(-entropy(range(4)) - violations)
            checked += 1
    assert checked == 4


def test_a_vanishing_prior_is_degenerate():
    """X = Y in 40 rows: the log odds for the edge grow without limit as the sample size of BDeu vanishes."""
    cells = {"a": [0, 1], "b": [0, 1]}
    found = []
    for size in (1.0, 1e-2, 1e-4, 1e-8):
        scorer = Scorer(Columns.of(cells, weights=[20, 20]), ss.BDeu(size))
        found.append(scorer.family(1, (0,)) - scorer.family(1, ()))
    assert found == pytest.approx([26.9, 32.5, 37.2, 46.4], abs=0.1)


def test_a_vanishing_prior_removes_a_noisy_edge():
    """35, 15, 15, 35 of 100 rows: the log odds for the edge fall without limit as the sample size of BDeu vanishes."""
    cells = {"a": [0, 0, 1, 1], "b": [0, 1, 0, 1]}
    found = []
    for size in (1.0, 1e-2, 1e-4, 1e-8):
        scorer = Scorer(Columns.of(cells, weights=[35, 15, 15, 35]), ss.BDeu(size))
        found.append(scorer.family(1, (0,)) - scorer.family(1, ()))
    assert found == pytest.approx([5.46, 1.04, -3.57, -12.78], abs=0.006)


def test_stirling_with_its_plus_sign():
    """log Gamma(x) is about (x - 1/2) log x - x + log(2 pi) / 2; at 7.3 it is 7.1365 against 7.1479."""
    x = 7.3
    stirling = (x - 0.5) * np.log(x) - x + 0.5 * np.log(2 * np.pi)
    assert stirling == pytest.approx(7.1365, abs=6e-5)
    assert log_rise(1.0, x - 1.0) == pytest.approx(7.1479, abs=6e-5)
    assert 0 < log_rise(1.0, x - 1.0) - stirling < 1 / (12 * x)


def test_a_step_of_hill_climbing_scores_the_families_it_changed():
    """One pass over all pairs, then at most two children's additions per move, not all pairs again."""
    net = ss.datasets.load("alarm")
    data = net.sample(500, seed=2)
    n = len(net.variables)
    found = ss.learn_structure(data, method=ss.HillClimb())
    moves = len(found.trace)
    assert moves > 30
    assert found.num_scores <= n * n + 2 * n * moves
    assert found.num_scores < n * n * moves / 5


def test_missing_cells_couple_the_parameters_of_a_family():
    """Eight rows of X -> Y, 0, 2 or 3 values of X missing: the two rows of P(Y | X) depend on each other.

    The posterior is a mixture over completions of products of Beta distributions; its correlation is summed by hand,
    and its evidence is that of the library.
    """
    x, y = [1, 1, 1, 1, 0, 0, 0, 0], [1, 1, 1, 0, 0, 0, 0, 1]
    found = []
    for missing in ((), (0, 4), (0, 3, 4)):
        logs, means, squares = [], [], []
        for filled in itertools.product((0, 1), repeat=len(missing)):
            full = list(x)
            for row, value in zip(missing, filled, strict=True):
                full[row] = value
            counts = np.zeros((2, 2))
            np.add.at(counts, (full, y), 1)
            heads = counts.sum(1)
            logs.append(betaln(*(1 + heads)) + sum(betaln(*(1 + row)) for row in counts))
            a, b = 1 + counts[:, 1], 1 + counts[:, 0]
            means.append(a / (a + b))
            squares.append(a * (a + 1) / (a + b) / (a + b + 1))
        weights = np.exp(logs) / np.exp(logs).sum()
        mean, square = weights @ np.array(means), weights @ np.array(squares)
        product = weights @ np.prod(means, axis=1)  # independent given a completion
        found.append((product - mean.prod()) / np.sqrt((square - mean**2).prod()))
        rows = {"x": [None if k in missing else v for k, v in enumerate(x)], "y": y}
        both = [ss.Discrete("x", 2), ss.Discrete("y", 2)]
        exact = ss.structure.CompletionSum(ss.K2())
        answer = ss.structure.log_evidence(ss.DAG.parse("x -> y"), rows, method=exact, variables=both)
        assert answer.value == pytest.approx(np.log(np.exp(logs).sum()), abs=1e-9)
    assert found[0] == pytest.approx(0.0, abs=1e-12)
    assert found[2] < found[1] < -0.01
