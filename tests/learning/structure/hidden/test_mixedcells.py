"""Expected rows of mixed columns: completions and moments by enumeration of states and dense Gaussians."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss
from sepset.data.dataset import Dataset
from sepset.errors import NotApplicable
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.familyscores import Scorer
from sepset.learning.structure.hidden import mixedcells
from sepset.learning.structure.hidden.mixedcells import expected_columns
from sepset.learning.structure.search.moves import SearchedGraph
from sepset.learning.structure.search.rounds import improving
from sepset.learning.structure.search.stochastic import moves
from support.blocks import in_blocks
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


@in_blocks("seed", range(25))
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


def _gains(graph, names):
    """The gain of every legal move, by the names of its columns."""
    return {(move.kind, names[move.source], names[move.target]): move.gain for move in moves(graph)}


@pytest.mark.parametrize("seed", range(4))
def test_climbs_of_permuted_columns_part_only_where_both_directions_gain_the_same(seed):
    """Expected rows of mixed columns in two orders: the same gains at every step, up to a tie of two directions."""
    rng = np.random.default_rng(seed)
    a, coin = rng.integers(0, 2, (2, 150))
    b = np.where(rng.random(150) < 0.8, a, coin)
    x = a + rng.normal(size=150)
    y = x + b + rng.normal(size=150)
    plain = {"a": a, "b": b, "x": x, "y": y, "z": y - x + rng.normal(size=150)}
    states = [ss.Discrete("a", 2), ss.Discrete("b", 2), *map(ss.Real, "xyz")]
    for name, column in plain.items():
        plain[name] = np.where(rng.random(150) < 0.1, -1 if name in "ab" else np.nan, column)
    net = ss.fit(ss.DAG.parse("a -> b; a -> x -> y -> z; b -> y"), Dataset.from_codes(states, plain), ss.EM(), until=2)
    graphs = []
    for order in (states, [states[k] for k in rng.permutation(5)]):
        columns = Columns(Dataset.from_codes(order, plain), missing="available")
        scorer = Scorer(expected_columns(columns, net.model), ss.BIC())
        graphs.append(SearchedGraph(scorer, ss.structure.Constraints().bind(columns.names), [[]] * 5))
    while True:
        gains = [_gains(graph, graph.scorer.columns.names) for graph in graphs]
        assert gains[0] == pytest.approx(gains[1], abs=1e-9)
        made = [improving(graph) for graph in graphs]
        if None in made:
            assert made == [None, None]
            break
        named = [
            (move.kind, *(graph.scorer.columns.names[k] for k in (move.source, move.target)))
            for graph, move in zip(graphs, made, strict=True)
        ]
        if named[0] != named[1]:
            assert gains[0][named[0]] == pytest.approx(gains[0][named[1]], abs=1e-9)
            assert set(named[0][1:]) == set(named[1][1:])
            break
        for graph, move in zip(graphs, made, strict=True):
            graph.make(move)
