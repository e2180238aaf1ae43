"""Sample sizes for relative entropies: published values, and bounds above exact and simulated probabilities."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.stats import multinomial

import sepset as ss
from sepset.learning.estimation.samplesizes import DivergenceBound


def relative_entropy(p: np.ndarray, q: np.ndarray) -> float:
    with np.errstate(divide="ignore"):
        return float((p * np.log(p / q)).sum())


def exact_tail(truth: list[float], num_rows: int, error: float) -> float:
    """The probability that an estimate is further off than `error`, over all counts."""
    p, total = np.array(truth), 0.0
    for counts in itertools.product(range(num_rows + 1), repeat=len(truth) - 1):
        if sum(counts) <= num_rows:
            full = np.array([*counts, num_rows - sum(counts)])
            if relative_entropy(p, full / num_rows) > error:
                total += float(multinomial(num_rows, p).pmf(full))
    return total


@pytest.mark.parametrize(
    ("bound", "error", "expected"),
    [
        pytest.param(DivergenceBound(2, smallest=0.1), 0.1, 22317.72, id="two states"),
        pytest.param(DivergenceBound(3, smallest=0.2), 0.1, 6192.70, id="three states"),
        pytest.param(DivergenceBound(2, smallest=0.1, num_variables=5, max_parents=2), 0.1, 4.044e8, id="network"),
        pytest.param(
            DivergenceBound(4, smallest=0.01, num_variables=37, max_parents=4), 0.1, 8.19e22, id="as large as ALARM"
        ),
    ],
)
def test_published_sample_sizes(bound, error, expected):
    """Corollaries 17.2 and 17.3 at a level of 95 %, by the formula with a calculator."""
    digits = 1e-3 if expected > 1e7 else 1e-6
    assert bound.rows_needed(error) == pytest.approx(math.ceil(expected), rel=digits)


def test_published_probabilities():
    """P* = (0.2, 0.8), 400 rows, an error of 0.2: 0.8222 by proposition 17.7, 0.0571 refined, 2.6e-23 in truth."""
    assert DivergenceBound(2, smallest=0.2).probability(400, 0.2) == pytest.approx(0.8222, abs=5e-5)
    assert DivergenceBound(2, smallest=0.2, refined=True).probability(400, 0.2) == pytest.approx(0.0571, abs=5e-5)
    assert exact_tail([0.2, 0.8], 400, 0.2) == pytest.approx(2.6e-23, rel=0.05)


@pytest.mark.parametrize("truth", [[0.2, 0.8], [0.5, 0.5], [0.1, 0.9], [0.2, 0.3, 0.5]])
@pytest.mark.parametrize("refined", [False, True])
def test_exact_tails_are_below_the_bound(truth, refined):
    bound = DivergenceBound(len(truth), smallest=min(truth), refined=refined)
    for num_rows, error in itertools.product((10, 25, 40), (0.05, 0.2, 1.0)):
        assert exact_tail(truth, num_rows, error) <= bound.probability(num_rows, error) + 1e-12


@pytest.mark.parametrize("refined", [False, True])
@pytest.mark.parametrize("error", [0.02, 0.1, 1.5])
def test_rows_and_errors_are_inverse(error, refined):
    bound = DivergenceBound(3, smallest=0.15, refined=refined)
    rows = bound.rows_needed(error, level=0.9)
    assert bound.probability(rows, error) <= 0.1 < bound.probability(rows - 1, error)
    assert bound.error(rows, level=0.9) <= error * (1 + 1e-12) < bound.error(rows - 1, level=0.9)


def test_few_rows_say_nothing():
    """The error is finite from log(K / delta) / (2 lambda^2) = 184.44 rows on."""
    bound = DivergenceBound(2, smallest=0.1)
    assert bound.error(184) == math.inf
    assert bound.error(185) < math.inf
    assert bound.probability(10, 0.1) == 1.0


def test_refined_is_the_same_for_the_largest_smallest_and_sharper_below():
    for smallest, num_states in ((0.5, 2), (0.25, 4)):
        plain, sharp = (DivergenceBound(num_states, smallest=smallest, refined=r) for r in (False, True))
        assert sharp.rows_needed(0.3) == plain.rows_needed(0.3)
    assert DivergenceBound(4, smallest=0.01, refined=True).rows_needed(0.3) < DivergenceBound(
        4, smallest=0.01
    ).rows_needed(0.3)


def test_a_learned_network_is_as_close_as_promised():
    """a -> b with no probability below 0.4: the excess is the relative entropy, by enumeration, in 300 samples."""
    a, b = ss.Discrete("a"), ss.Discrete("b")
    joint = np.array([[0.5 * 0.4, 0.5 * 0.6], [0.5 * 0.6, 0.5 * 0.4]])
    net = ss.BayesNet(ss.TableCPD(a, [0.5, 0.5]), ss.TableCPD(b, [[0.4, 0.6], [0.6, 0.4]], given=a))
    bound = DivergenceBound(2, smallest=0.4, num_variables=2, max_parents=1)
    rows = bound.rows_needed(0.5, level=0.9)
    drawn = np.random.default_rng(0).multinomial(rows, joint.ravel(), size=300) / rows
    far = np.mean([relative_entropy(joint.ravel(), found) > 2 * 0.5 for found in drawn])
    assert far <= 0.1
    fitted = ss.fit(net.dag, net.sample(rows, seed=1), variables=net.variables).model
    assert ss.evaluation.divergence(net, fitted).total <= 2 * 0.5


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: DivergenceBound(1, smallest=0.1), id="one state"),
        pytest.param(lambda: DivergenceBound(3, smallest=0.4), id="more than the largest smallest"),
        pytest.param(lambda: DivergenceBound(2, smallest=0.0), id="zero"),
        pytest.param(lambda: DivergenceBound(2, smallest=0.1, num_variables=2, refined=True), id="refined network"),
        pytest.param(lambda: DivergenceBound(2, smallest=0.1).rows_needed(0.0), id="no error"),
        pytest.param(lambda: DivergenceBound(2, smallest=0.1).error(0), id="no rows"),
    ],
)
def test_what_is_refused(make):
    with pytest.raises(ss.SepsetError):
        make()


def test_bounds_beyond_the_range_of_floats_say_so():
    """0.1 to the power 2 * 201 has no float: no number of rows is told, and no error is bounded."""
    deep = DivergenceBound(2, smallest=0.1, num_variables=5, max_parents=200)
    with pytest.raises(ss.TooLarge, match=r"more than 1e\+300 rows, with 200 parents"):
        deep.rows_needed(0.1)
    assert (deep.probability(10**6, 0.1), deep.error(10**6)) == (1.0, math.inf)
    assert DivergenceBound(2, smallest=0.1, num_variables=2, max_parents=2000).probability(10**6, 0.1) == 1.0
