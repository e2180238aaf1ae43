"""The number of states of a hidden variable."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest

import sepset as ss
from sepset.errors import ArgumentError, ScopeError

mpl.use("Agg")

STAR = ss.DAG.parse("h -> a; h -> b; h -> c; h -> d")
FOUR = [ss.Discrete(n, 4) for n in "abcd"]


def clustered(num_clusters: int, num_rows: int = 150, seed: int = 0) -> dict[str, np.ndarray]:
    """Columns that mostly agree on the number of a cluster."""
    rng = np.random.default_rng(seed)
    cluster = rng.integers(0, num_clusters, num_rows)
    return {n: np.where(rng.random(num_rows) < 0.9, cluster, rng.integers(0, 4, num_rows)) for n in "abcd"}


@pytest.mark.parametrize(
    ("num_clusters", "method"), [(1, None), (2, ss.structure.ObservedBIC("parameters")), (3, None)], ids=str
)
def test_separated_clusters_are_counted(num_clusters: int, method: object) -> None:
    found = ss.structure.hidden_cardinality(
        STAR, clustered(num_clusters), hidden="h", max_states=num_clusters + 1, method=method, variables=FOUR
    )
    assert found.num_states == num_clusters
    assert found.model.variables["h"].num_states == num_clusters
    assert [one.num_states for one in found.candidates] == list(range(1, num_clusters + 2))


def test_each_number_has_its_own_evidence() -> None:
    """One state is independence, whose evidence is exact; every score is that of the network kept with it."""
    rows = clustered(2, 60)
    found = ss.structure.hidden_cardinality(STAR, rows, hidden="h", max_states=2, variables=FOUR)
    alone = ss.structure.score(ss.DAG("abcd"), rows, score=ss.BDeu(1), variables=FOUR).total
    assert found.candidates[0].score == pytest.approx(alone, abs=1e-8)
    two = found.candidates[1]
    rows_of = ss.Dataset({n: rows[n] for n in "abcd"}, variables=FOUR)
    total = sum(ss.log_probability(two.model, given=dict(row)).value for row in rows_of.rows())
    assert two.log_likelihood == pytest.approx(total, abs=1e-8)


def test_networks_and_graphs_agree() -> None:
    rows = clustered(2, 80)
    net = ss.classify.latent_class(FOUR, 3, name="h")
    one = ss.structure.hidden_cardinality(net, rows, hidden="h", max_states=2)
    other = ss.structure.hidden_cardinality(STAR, rows, hidden=ss.Discrete("h"), max_states=2, variables=FOUR)
    assert [c.score for c in one.candidates] == pytest.approx([c.score for c in other.candidates], abs=1e-6)


def test_bad_input_is_one_error() -> None:
    rows = clustered(1, 10)
    with pytest.raises(ScopeError, match="no node"):
        ss.structure.hidden_cardinality(STAR, rows, hidden="hh", variables=FOUR)
    with pytest.raises(ArgumentError, match="max_states"):
        ss.structure.hidden_cardinality(STAR, rows, hidden="h", max_states=0, variables=FOUR)
    with pytest.raises(ArgumentError, match="has cells"):
        ss.structure.hidden_cardinality(ss.classify.latent_class(FOUR, 2), rows, hidden="a")


def test_it_prints_and_draws_its_numbers() -> None:
    found = ss.structure.hidden_cardinality(STAR, clustered(1, 20), hidden="h", max_states=2, variables=FOUR)
    assert "h: 1 states" in repr(found)
    assert "1 *" in str(found)
    assert found.to_frame()["num_states"].tolist() == [1, 2]
    axes = found.plot()
    assert axes.get_xlabel() == "states of h"
    axes.figure.clear()
