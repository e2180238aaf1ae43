"""Expected rows of mixed columns: completions and moments by enumeration of states and dense Gaussians."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss
from sepset.data.dataset import Dataset
from sepset.errors import NotApplicable
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.hidden import mixedcells
from sepset.learning.structure.hidden.mixedcells import expected_columns
from support.hybrid_rows import mixture_of, random_case


def columns_of(net, rows, weights):
    """The rows as columns, in the order of the network's variables; rows without any cell too."""
    named = {}
    for v in net.variables:
        missing, kind = (-1, np.int32) if v.is_discrete else (np.nan, np.float64)
        named[v.name] = np.array([row.get(v.name, missing) for row in rows], kind)
    return Columns(Dataset.from_codes(net.variables, named, weights=weights), missing="available")


def by_hand(plain, row, reals):
    """The posterior of each joint state, and the mean and second moments of all numbers given it."""
    found = mixture_of(plain, row)
    for part, share in zip(found.components, found.weights, strict=True):
        mean, spread = np.zeros(len(reals)), np.zeros((len(reals), len(reals)))
        for i, name in enumerate(reals):
            mean[i] = row[name] if name in row else part.mean[found.index[name][0]]
            for j, other in enumerate(reals):
                if name not in row and other not in row:
                    spread[i, j] = part.cov[found.index[name][0], found.index[other][0]]
        yield part.assignment, share, mean, np.outer(mean, mean) + spread


@pytest.mark.parametrize("seed", range(25))
def test_expected_statistics_by_enumeration(seed):
    net, plain, rows = random_case(seed, num_rows=12, share=0.4)
    rng = np.random.default_rng(seed)
    weights = rng.integers(1, 4, len(rows)).astype(float)
    columns = columns_of(net, rows, weights)
    found = expected_columns(columns, net)
    reals = [v.name for v in net.variables if not v.is_discrete]
    states = [v.name for v in net.variables if v.is_discrete]
    place = {name: k for k, name in enumerate(found.names)}
    by = [name for name in states if rng.random() < 0.6]
    given = [name for name in reals[:-1] if rng.random() < 0.7]
    shape = tuple(plain[1][name] for name in by)
    sums, chosen = np.zeros((*shape, len(given) + 2, len(given) + 2)), [reals.index(n) for n in (*given, reals[-1])]
    joint = np.zeros([plain[1][name] for name in states])
    for row, weight in zip(rows, weights, strict=True):
        for state, share, mean, second in by_hand(plain, row, reals):
            joint[tuple(state[name] for name in states)] += weight * share
            own = np.block(
                [[np.ones((1, 1)), mean[None, chosen]], [mean[chosen, None], second[np.ix_(chosen, chosen)]]]
            )
            sums[tuple(state[name] for name in by)] += weight * share * own
    assert found.joint(tuple(place[name] for name in states)) == pytest.approx(joint, abs=1e-9)
    flat = sums.reshape(-1, len(given) + 2, len(given) + 2)
    made = found.scatters(place[reals[-1]], [place[n] for n in given], [place[n] for n in by])
    assert made.counts == pytest.approx(flat[:, 0, 0], abs=1e-9)
    for k in np.flatnonzero(flat[:, 0, 0] > 1e-6):
        assert made.means[k] == pytest.approx(flat[k, 0, 1:] / flat[k, 0, 0], rel=1e-8, abs=1e-8)
        about = flat[k, 1:, 1:] - np.outer(flat[k, 0, 1:], flat[k, 0, 1:]) / flat[k, 0, 0]
        assert made.products[k] == pytest.approx(about, rel=1e-7, abs=1e-7)


def test_rows_of_too_many_states_are_refused_by_number(monkeypatch):
    net, *_ = next(case for case in map(random_case, range(100)) if np.prod([*case[1][1].values()]) > 3)
    monkeypatch.setattr(mixedcells, "MOST_STATES", 3)
    with pytest.raises(NotApplicable, match=r"Row 1 misses \d+ states, which have .* lists up to 3 of a row"):
        expected_columns(columns_of(net, [{v.name: 0 for v in net.variables}, {}], np.ones(2)), net)


def test_numbers_without_a_density_are_refused_by_name():
    group, x, y = ss.Discrete("group", ("one", "two")), ss.Real("x"), ss.Real("y")
    line = ss.LinearGaussian(y, [0.0, 1.0], coefficients={"x": [2.0, 2.0]}, covariance=[1.0, 0.0], given=x, by=group)
    net = ss.BayesNet([ss.TableCPD(group, [0.5, 0.5]), ss.LinearGaussian(x, 0.0, covariance=1.0), line])
    rows = [{"group": 0, "x": 1.0, "y": 2.5}, {"group": 1, "x": 1.0, "y": 3.0}]
    expected_columns(columns_of(net, rows[:1], np.ones(1)), net)
    with pytest.raises(NotApplicable, match=r"'x', 'y' where group='two' have no joint density"):
        expected_columns(columns_of(net, rows, np.ones(2)), net)
