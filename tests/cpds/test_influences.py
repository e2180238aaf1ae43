"""Independent influences against the definition: the distribution of a maximum, by enumeration."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import reduce
from operator import mul

import numpy as np
import pytest

import oracle
from sepset.cpds import influences
from sepset.cpds.influences import Influences
from sepset.variables.variable import Discrete


def random_influences(seed, cards, levels, zeros=0.3):
    rng = np.random.default_rng(seed)
    leak = oracle.random_rows(rng, (1, levels), deterministic=0.2, zeros=zeros)[0]
    effects = tuple(oracle.random_rows(rng, (card, levels), deterministic=0.2, zeros=zeros) for card in cards)
    return Influences(leak, effects, tuple(int(i) for i in rng.permutation(levels)))


def maximum(influences, cell):
    """The distribution over child codes at one joint state, by summing over all contributions."""
    rows = [influences.leak, *(e[c] for e, c in zip(influences.effects, cell, strict=True))]
    levels = len(influences.leak)
    result = np.zeros(levels)
    for contributions in itertools.product(range(levels), repeat=len(rows)):
        chance = math.prod(row[z] for row, z in zip(rows, contributions, strict=True))
        result[influences.order[max(contributions)]] += chance
    return result


@pytest.mark.parametrize(
    ("cards", "levels"), [((), 2), ((2,), 2), ((2, 3), 3), ((2, 1, 3), 3), ((2, 2, 2, 2), 2), ((3, 2), 1)]
)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_probabilities_are_those_of_the_maximum(cards, levels, seed):
    influences = random_influences(seed, cards, levels)
    cells = np.array(list(itertools.product(*map(range, cards))), dtype=np.int64).reshape(math.prod(cards), len(cards))
    found = influences.probabilities(list(cells.T), len(cells))
    np.testing.assert_allclose(found, [maximum(influences, cell) for cell in cells.tolist()], rtol=0, atol=1e-12)


@pytest.mark.parametrize("at_once", [1, 4, 2**16])
@pytest.mark.parametrize(("cards", "levels"), [((), 2), ((2,), 2), ((2, 1, 3), 3), ((3, 2, 2, 2), 2), ((3, 2), 1)])
def test_the_table_has_the_maximum_for_every_joint_state(monkeypatch, cards, levels, at_once):
    monkeypatch.setattr("sepset.cpds.influences.AT_ONCE", at_once)
    influences = random_influences(3, cards, levels)
    expected = [maximum(influences, cell) for cell in itertools.product(*map(range, cards))]
    np.testing.assert_allclose(influences.table(), np.concatenate(expected), rtol=0, atol=1e-12)


def chain_inputs(seed, order):
    """Three parents, the factors of their chain in this order, and the joint of all variables with auxiliaries."""
    influences = random_influences(seed, (2, 3, 2), 3)
    child, parents = Discrete("x", 3), tuple(Discrete(name, k) for name, k in zip("abc", (2, 3, 2), strict=True))
    hidden, made = influences.auxiliaries(child, parents), influences.chain(child, parents, order).factors
    scopes = [tuple(v.name for v in f.scope) for f in made]
    scope = (*parents, child, *hidden)
    factors = [(names, np.array(f.values)) for names, f in zip(scopes, made, strict=True)]
    return influences, parents, [v.name for v in scope], factors, {v.name: v.num_states for v in scope}


ORDERS = [(0, 1, 2), (1, 2, 0), (2, 1, 0)]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("seed", range(3))
def test_expected_counts_along_the_chain_are_those_of_the_joint_states(order, seed):
    influences, _, scope, factors, cards = chain_inputs(seed, order)
    counts = np.random.default_rng(seed).random((2, 3, 2, 3))
    joint = oracle.joint(factors, cards)
    total = joint.sum(axis=(4, 5), keepdims=True)
    joint = np.divide(joint, total, out=np.zeros_like(joint), where=total > 0) * counts[..., None, None]
    marginals = [np.einsum(joint, range(6), [scope.index(name) for name in names_of]) for names_of, _ in factors]
    cells = np.array([cell for cell in np.ndindex(counts.shape) if total[cell].item() > 0])
    levels = np.argsort(influences.order)[cells[:, -1]]
    _, expected = influences.expected(cells[:, :-1], levels, counts[tuple(cells.T)])
    for one, other in zip(influences.expected_in_chain(marginals, order), expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("order", ORDERS)
def test_slopes_along_the_chain_are_differences(order):
    influences, parents, _, factors, _ = chain_inputs(1, order)
    slopes = [np.random.default_rng(i).standard_normal(values.shape) for i, (_, values) in enumerate(factors)]
    sizes, rows = [len(effect) for effect in influences.effects], influences.rows

    def value(at):
        made = Influences.stacked(at, sizes, influences.order).chain(Discrete("x", 3), parents, order).factors
        return sum(float((slope * f.values).sum()) for slope, f in zip(slopes, made, strict=True))

    found = influences.slopes_in_chain(slopes, order)
    for place in np.ndindex(rows.shape):
        more = rows.copy()
        more[place] += 1.0  # the chain is linear in each contribution
        np.testing.assert_allclose(found[place], value(more) - value(rows), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("seed", range(4))
def test_the_chain_multiplies_out(seed, order):
    influences = random_influences(seed, (2, 3, 2), 3)
    child, parents = Discrete("x", 3), tuple(Discrete(name, k) for name, k in zip("abc", (2, 3, 2), strict=True))
    scope = (*parents, child, *influences.auxiliaries(child, parents))
    made = influences.chain(child, parents, order).factors
    assert [f.scope[-2].name for f in made] == ["abc"[i] for i in order]
    factors = [(tuple(v.name for v in f.scope), np.array(f.values)) for f in made]
    total = oracle.joint(factors, {v.name: v.num_states for v in scope}).sum(axis=(4, 5))
    for cell in itertools.product(range(2), range(3), range(2)):
        np.testing.assert_allclose(total[cell], maximum(influences, cell), rtol=0, atol=1e-12)


def test_tiny_probabilities_keep_their_digits():
    tiny = np.array([[1.0, 0.0], [1.0 - 1e-20, 1e-20]])
    influences = Influences(np.array([1.0, 1e-22]), (tiny, tiny), (0, 1))
    found = influences.probabilities([np.array([0, 1, 1]), np.array([0, 0, 1])], 3)[:, 1]
    np.testing.assert_allclose(found, [1e-22, 1.01e-20, 2.01e-20], rtol=1e-12)


@pytest.mark.parametrize("size", [1e-3, 1e-13, 1e-17, 1e-40])
def test_tiny_contributions_keep_their_digits_in_forms_for_maxima(size):
    """A maximum of three levels: the chain of products and the concave function, against first powers of the size."""
    child, parents = Discrete("y", 3), [Discrete(f"p{i}") for i in range(8)]
    effect = np.array([[1.0, 0.0, 0.0], [1.0 - 3.0 * size, 2.0 * size, size]])
    influences = Influences(np.array([1.0, 0.0, 0.0]), (effect,) * 8, (0, 1, 2))
    made = influences.products(child, parents)
    total = reduce(mul, made.filled).marginalize(list(made.auxiliaries)).align((*parents, child)).to_table().values
    for cell in itertools.product(range(2), repeat=8):
        num = sum(cell)
        exact = [(1 - 3 * size) ** num, -math.expm1(num * (math.log1p(-3 * size) - math.log1p(-size))), 0.0]
        exact[1] *= (1 - size) ** num
        exact[2] = -math.expm1(num * math.log1p(-size))
        np.testing.assert_allclose(total[cell], exact, rtol=1e-10)
        for code in (1, 2):
            f = influences.concave(tuple(parents), code)
            sums = f.start + sum(t[c] for t, c in zip(f.terms, cell, strict=True))
            fixed = np.exp(sum(row[c] for row, c in zip(f.fixed, cell, strict=True)))
            np.testing.assert_allclose(fixed * np.exp(f.value(sums)), exact[code], rtol=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_expected_counts_by_enumeration(seed):
    influences = random_influences(seed, (2, 3), 3, zeros=0.0)
    rng = np.random.default_rng(seed)
    cells = np.array(list(itertools.product(range(2), range(3), range(3))))
    counts = rng.random(len(cells))
    level_of = np.argsort(influences.order)
    tables = [influences.leak[None, :], *influences.effects]
    expected, score = [np.zeros_like(t) for t in tables], 0.0
    for (a, b, x), weight in zip(cells.tolist(), counts, strict=True):
        chosen = (0, a, b)
        joint = {}
        for zs in itertools.product(range(3), repeat=3):
            if max(zs) == level_of[x]:
                joint[zs] = math.prod(t[c, z] for t, c, z in zip(tables, chosen, zs, strict=True))
        total = sum(joint.values())
        if total == 0:
            counts[(cells == (a, b, x)).all(axis=1)] = 0.0
            continue
        score += weight * math.log(total)
        for zs, chance in joint.items():
            for i, z in enumerate(zs):
                expected[i][chosen[i], z] += weight * chance / total
    kept = counts > 0
    found_score, found = influences.expected(cells[kept, :2], level_of[cells[kept, 2]], counts[kept])
    assert found_score == pytest.approx(score, rel=1e-12)
    for mine, plain in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, plain, rtol=0, atol=1e-12)


def test_decomposition_waits_until_it_is_smaller():
    assert not random_influences(0, (2, 2, 2), 2).is_decomposed
    assert random_influences(0, (2,) * 4, 2).is_decomposed
    assert not random_influences(0, (), 2).is_decomposed


@pytest.mark.parametrize("size", [1e-12, 1e-300, 1e-320])
def test_contributions_of_any_small_probability_are_counted(size):
    """The expected contributions of one row, by fractions: the joint of contributions whose maximum is the child."""
    leak, first, second = (np.array([1.0 - p, p]) for p in (size, 3.0 * size, 0.25))
    rows = [leak, first, second, first]
    for seen, drop in ((1, False), (1, True), (0, False)):
        rows[2] = np.array([1.0, 0.0]) if drop else second
        made = Influences(leak, (first[None], rows[2][None], first[None]), (0, 1))
        exact = [[Fraction(float(p)) for p in row] for row in rows]
        joint = {
            z: math.prod((row[i] for row, i in zip(exact, z, strict=True)), start=Fraction(1))
            for z in itertools.product((0, 1), repeat=4)
            if max(z) == seen
        }
        total = sum(joint.values())
        counts = [[float(sum(p for z, p in joint.items() if z[i] == k) / total) for k in (0, 1)] for i in range(4)]
        score, found = made.expected(np.zeros((1, 3), np.int64), np.array([seen]), np.ones(1))
        assert score == pytest.approx(math.log(total.numerator) - math.log(total.denominator), rel=1e-12)
        np.testing.assert_allclose(np.concatenate(found), counts, rtol=2e-3 if size < 1e-310 else 1e-12)


def test_few_rows_and_many_have_the_same_distributions(monkeypatch):
    rng = np.random.default_rng(6)
    for k, sizes in ((2, []), (2, [3]), (3, [2, 1, 2]), (4, [2, 3, 2, 2, 3, 2])):
        rows = oracle.random_rows(rng, (1 + sum(sizes), k), deterministic=0.2, zeros=0.3)
        made = Influences.stacked(rows, sizes, tuple(rng.permutation(k).tolist()))
        codes = [rng.integers(0, size, 50) for size in sizes]
        few = made.probabilities(codes, 50)
        assert made.probabilities(np.array(codes, np.int64).reshape(-1, 50), 50).tolist() == few.tolist()
        with monkeypatch.context() as limited:
            limited.setattr(influences, "AT_ONCE", 0)
            np.testing.assert_allclose(few, made.probabilities(codes, 50), rtol=1e-13, atol=0.0)
