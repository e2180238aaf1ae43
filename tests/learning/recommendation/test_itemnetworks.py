"""Networks over items: probabilities against enumeration, semantics of absent items, few and constant items."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import sepset as ss
from learning.recommendation.test_cooccurrence import random_matrix
from sepset.learning.recommendation.baskets import Baskets
from sepset.learning.recommendation.itemnetworks import BayesRecommender, DependencyRecommender

LOOSE = {"pseudo_count": 0.5, "per_leaf": 1.0}
ROWS = np.concatenate([random_matrix(seed)[:, :5] for seed in range(4)])
EVERY = np.array(list(itertools.product((0, 1), repeat=5)))


def joint_of(net: ss.BayesNet) -> np.ndarray:
    """The probability of every joint state, item by item."""
    columns = {v: EVERY[:, k] for k, v in enumerate(net.variables)}
    return np.exp(sum(cpd.log_probability({u: columns[u] for u in cpd.scope}) for cpd in net.cpds)).reshape((2,) * 5)


@pytest.mark.parametrize("method", [None, ss.HillClimb()], ids=["trees", "tables"])
def test_absent_items_by_enumeration(method: object) -> None:
    settings = {"method": method} if method else LOOSE
    fitted = BayesRecommender(**settings).fit(ROWS)  # type: ignore[arg-type]
    assert fitted.model.dag.num_edges > 2
    joint, found = joint_of(fitted.model), fitted.scores(Baskets(EVERY))
    for row, codes in enumerate(EVERY):
        for item in np.flatnonzero(codes == 0):
            ones = codes.copy()
            ones[item] = 1
            p1, p0 = joint[tuple(ones)], joint[tuple(codes)]
            assert found[row, item] == pytest.approx(p1 / (p0 + p1))


def test_unobserved_items_by_enumeration() -> None:
    fitted = BayesRecommender(unviewed="unobserved", **LOOSE).fit(ROWS)  # type: ignore[arg-type]
    joint = joint_of(fitted.model)
    some = EVERY[::5]
    found = fitted.scores(Baskets(some))
    for row, codes in enumerate(some):
        seen = tuple(1 if c else slice(None) for c in codes)
        for item in np.flatnonzero(codes == 0):
            given = joint[seen]
            axis = int((codes[:item] == 0).sum())
            assert found[row, item] == pytest.approx(given.take(1, axis).sum() / given.sum())


def test_probabilities_are_those_of_the_cpds() -> None:
    fitted = DependencyRecommender(**LOOSE).fit(ROWS)  # type: ignore[arg-type]
    found, net = fitted.scores(Baskets(EVERY)), fitted.model
    assert net.edges
    for row, codes in enumerate(EVERY[::3]):
        for item in range(5):
            given = {str(k): int(codes[k]) for k in range(5) if k != item}
            assert found[3 * row, item] == pytest.approx(net.query(str(item), given=given)[1])


def test_a_parity_needs_two_tests() -> None:
    """An item that goes with just one of two others, and with neither of them alone."""
    rng = np.random.default_rng(0)
    a = rng.random(3_000) < 0.5
    b = rng.random(3_000) < 0.4
    rows = np.column_stack([a, b, a ^ b]).astype(int)
    fitted = DependencyRecommender().fit(rows)
    assert fitted.recommend([0], k=1).items[0] == (2,)
    assert fitted.scores(Baskets(np.array([[1, 0, 0], [0, 0, 0]])))[:, 2] == pytest.approx([1, 0], abs=0.01)


@pytest.mark.parametrize("kind", [DependencyRecommender, BayesRecommender])
def test_items_and_users_in_any_order(kind: type) -> None:
    rng = np.random.default_rng(1)
    items, users = rng.permutation(5), rng.permutation(len(ROWS))
    one = kind(**LOOSE).fit(Baskets(ROWS)).scores(Baskets(EVERY))
    other = kind(**LOOSE).fit(Baskets(ROWS[users][:, items])).scores(Baskets(EVERY[:, items]))
    absent = EVERY[:, items] == 0
    np.testing.assert_allclose(other[absent], one[:, items][absent])


@pytest.mark.parametrize("kind", [DependencyRecommender, BayesRecommender])
def test_few_and_constant_items(kind: type) -> None:
    alone = kind().fit([["a"], []])
    assert alone.recommend([[], ["a"]], k=5).items == (("a",), ())
    rows = np.column_stack([ROWS[:, 0], np.zeros(len(ROWS), int), np.ones(len(ROWS), int)])
    fitted = kind().fit(Baskets(rows, ["x", "never", "always"]))
    found = fitted.recommend([], k=3)
    assert found.items[0] == ("always", "x", "never")
    assert 0 < found.scores[0][2] < 0.01
    assert found.scores[0][0] > 0.99
    with pytest.raises(ss.SepsetError, match="nothing to learn from"):
        kind().fit([])


@pytest.mark.parametrize(
    "settings", [{"num_candidates": -1}, {"pseudo_count": 0.0}, {"per_leaf": 0.0}, {"max_leaves": 0}]
)
@pytest.mark.parametrize("kind", [DependencyRecommender, BayesRecommender])
def test_settings_are_checked(kind: type, settings: dict[str, float]) -> None:
    with pytest.raises(ss.SepsetError, match=next(iter(settings))):
        kind(**settings)


def test_unknown_semantics() -> None:
    with pytest.raises(ss.SepsetError, match="unviewed"):
        BayesRecommender(unviewed="hidden")


@pytest.mark.parametrize("method", ["hill", ss.HillClimb])
def test_methods_are_values(method: Any) -> None:
    with pytest.raises(ss.SepsetError, match=r"method=\) is a value such as HillClimb"):
        BayesRecommender(method=method)


def test_settings_of_trees_do_not_go_with_a_method() -> None:
    with pytest.raises(ss.SepsetError, match="settings of trees"):
        BayesRecommender(method=ss.HillClimb(), pseudo_count=0.5)
