"""Decision graphs: all partitions by enumeration, local optima, parities, any search, permuted states."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest

import sepset as ss
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.local.decisiongraphs import DecisionGraphScore
from sepset.learning.structure.local.treescore import TreeScore
from support.local_trees import bdeu_leaf, k2_leaf, penalized_leaf


def sampled(seed: int, cards: tuple[int, ...], num_rows: int = 120) -> Columns:
    rng = np.random.default_rng(seed)
    codes = np.array([rng.integers(0, card, num_rows) for card in cards])
    mixed = (codes[0] + codes[1] * codes[-2]) % cards[-1]
    codes[-1] = np.where(rng.random(num_rows) < 0.7, mixed, codes[-1])
    variables = [ss.Discrete(f"v{k}", card) for k, card in enumerate(cards)]
    data = {f"v{k}": code for k, code in enumerate(codes)}
    return Columns.of(data, variables=variables, weights=rng.integers(0, 3, num_rows))


def partitions(items: list[int]) -> Iterator[list[list[int]]]:
    if not items:
        yield []
        return
    first, *rest = items
    for smaller in partitions(rest):
        yield [[first], *smaller]
        for k, part in enumerate(smaller):
            yield [*smaller[:k], [first, *part], *smaller[k + 1 :]]


@pytest.mark.parametrize("score", [ss.BDeu(3.0), ss.K2(), ss.BIC()], ids=repr)
@pytest.mark.parametrize("cards", [(3, 2, 2), (2, 2, 2, 2)], ids=str)
def test_partitions_by_enumeration(score: ss.structure.FamilyScore, cards: tuple[int, ...]) -> None:
    leaves = {"BDeu": bdeu_leaf(3.0), "K2": k2_leaf}
    child, parents = len(cards) - 1, tuple(range(len(cards) - 1))
    reached = 0
    for seed in range(4):
        columns = sampled(seed, cards)
        leaf = leaves.get(type(score).__name__, penalized_leaf(0.5 * math.log(columns.total)))
        table = columns.family_table(child, parents).reshape(-1, cards[-1])

        @cache
        def value(part: frozenset[int], table: np.ndarray = table, leaf: object = leaf) -> float:
            return leaf(table[sorted(part)].sum(0), len(part) / len(table))  # type: ignore[operator, no-any-return]

        every = [sum(value(frozenset(p)) for p in one) for one in partitions(list(range(len(table))))]
        found = DecisionGraphScore(score).parts(child, parents, columns)
        parts = [frozenset(np.flatnonzero(found.of == k).tolist()) for k in range(int(found.of.max()) + 1)]
        assert found.score == pytest.approx(sum(map(value, parts)), abs=1e-8)
        assert TreeScore(score).family(child, parents, columns) - 1e-8 <= found.score <= max(every) + 1e-8
        reached += found.score > max(every) - 1e-8
        merges = [value(a | b) - value(a) - value(b) for k, a in enumerate(parts) for b in parts[:k]]
        assert max(merges, default=-1.0) <= 1e-7
    assert reached >= 2  # a local optimum, often the best of all


def test_a_parity_has_two_distributions() -> None:
    rng = np.random.default_rng(1)
    a, b, c = rng.integers(0, 2, (3, 1_000))
    data = {"a": a, "b": b, "c": c, "x": a ^ b ^ c ^ (rng.random(1_000) < 0.1)}
    known = ss.structure.Constraints(required=["a -> x", "b -> x", "c -> x"])
    score = DecisionGraphScore(ss.BDeu(2.0))
    found = ss.learn_structure(data, method=ss.HillClimb(), score=score, constraints=known)
    cpd = found.fit(ss.Bayes(ss.BDeu(2.0))).model.cpd("x")
    assert type(cpd) is ss.PartitionCPD
    assert cpd.num_parameters == 2
    assert cpd.to_table()[0, 0, 0][0] == pytest.approx(0.9, abs=0.03)
    trees = ss.structure.score(found.dag, data, score=TreeScore(ss.BDeu(2.0)))
    assert found.score > trees.total


def test_a_prior_network_and_permuted_states() -> None:
    columns = sampled(3, (3, 2, 2, 3))
    known = [columns.variables[name] for name in columns.names]
    uniform = ss.BayesNet(*(ss.TableCPD(v, [1 / v.num_states] * v.num_states) for v in known))
    one = DecisionGraphScore(ss.BDeu(4.0)).family(3, (0, 1, 2), columns)
    assert DecisionGraphScore(ss.priors.BDe(uniform, 4.0)).family(3, (0, 1, 2), columns) == pytest.approx(one)
    flipped = {name: code.max() - code for name, code in zip(columns.names, columns.codes, strict=True)}
    other = Columns.of(flipped, weights=columns.weights)
    assert DecisionGraphScore(ss.BDeu(4.0)).family(3, (0, 1, 2), other) == pytest.approx(one)
    leafy = DecisionGraphScore(ss.BDeu(4.0), per_leaf=1e30).parts(3, (0, 1, 2), columns)
    table = ss.BDeu(4.0).family(3, (0, 1, 2), columns)
    assert leafy.score - 12 * math.log(1e30) == pytest.approx(table, abs=1e-6)


def test_bad_input() -> None:
    wide = Columns.of({f"v{k}": np.arange(12) % 3 for k in range(14)})
    with pytest.raises(ss.TooLarge, match="joint states"):
        DecisionGraphScore().family(0, tuple(range(1, 14)), wide)
    with pytest.raises(ss.errors.ArgumentError, match="per_leaf"):
        DecisionGraphScore(per_leaf=-1.0)
    with pytest.raises(ss.errors.ArgumentError, match="DecisionGraphScore takes"):
        DecisionGraphScore("bic")  # type: ignore[arg-type]
    with pytest.raises(ss.errors.NotApplicable, match="BIC, AIC"):
        DecisionGraphScore(ss.structure.QNML()).family(0, (1,), wide)
