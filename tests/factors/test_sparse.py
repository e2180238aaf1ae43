"""Sparse tables against dense ones by the oracle, and with more variables than any dense table could have."""

from __future__ import annotations

import itertools
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import chisquare

import oracle
from sepset.errors import ModelError, NotClosed, ScopeError, StateError, TooLarge
from sepset.factors.algebra import Conditional, Distribution, Factor
from sepset.factors.sparse import SparseConditional, SparseTable
from sepset.factors.table import Table
from sepset.semiring import BOOLEAN, MAX, SUM, temperature
from sepset.testing import assert_close, check_factor_laws
from sepset.variables.variable import Discrete
from support import small_tables as small
from support.tolerances import CLOSE, EXACT

A, B, C = Discrete("A", 2), Discrete("B", ("x", "y", "z")), Discrete("C", (True, False))


def sparse(f: tuple[tuple[Discrete, ...], np.ndarray]) -> SparseTable:
    """The factor built from its nonzero cells, in a shuffled order, by the public constructor."""
    scope, values = f
    codes = np.argwhere(values > 0).reshape(-1, len(scope)) if scope else np.zeros((int(values > 0), 0), np.int64)
    order = np.random.default_rng(0).permutation(len(codes))
    numbers = np.array([values[tuple(code)] for code in codes[order].tolist()], float)
    return SparseTable(scope, codes[order], values=numbers)


def dense(table: SparseTable) -> np.ndarray:
    """The values as an array, read cell by cell."""
    result = np.zeros(table.shape)
    for code, value in zip(table.codes.tolist(), table.values.tolist(), strict=True):
        result[tuple(code)] = value
    return result


@given(st.integers(0, 10**9), st.sampled_from([0.0, 0.3, 0.9]))
@settings(max_examples=30, deadline=None)
def test_laws(seed, zeros):
    semirings = (SUM, MAX, temperature(0.5))
    check_factor_laws(lambda rng: small.random_triple(rng, True, zeros), rounds=1, seed=seed, semirings=semirings)


def test_every_law_is_put_to_the_test():
    counts = check_factor_laws(lambda rng: small.random_triple(rng, True), rounds=20)
    assert min(counts.values()) >= 15


def mixed_triple(rng: np.random.Generator) -> list[Table | SparseTable]:
    """Dense and sparse factors together."""
    return [f if i == 1 else SparseTable.from_table(f) for i, f in enumerate(small.random_triple(rng))]


@given(st.integers(0, 10**9))
@settings(max_examples=30, deadline=None)
def test_laws_together_with_dense_tables(seed):
    check_factor_laws(mixed_triple, rounds=1, seed=seed)


@given(small.factors(), small.factors())
@settings(max_examples=60, deadline=None)
def test_product_is_the_oracles(f, g):
    cards = small.cards(f[0], g[0])
    expected = oracle.joint([(small.named(f[0]), f[1]), (small.named(g[0]), g[1])], cards)
    for left, right in ((sparse(f), sparse(g)), (sparse(f), Table(*g)), (Table(*f), sparse(g))):
        product = left * right
        assert isinstance(product, SparseTable)
        np.testing.assert_allclose(dense(product.align(tuple(cards))), expected, rtol=CLOSE)


@given(small.factors(), st.data())
@settings(max_examples=60, deadline=None)
def test_marginals_are_the_oracles(f, data):
    scope, values = f
    out = [v for v in scope if data.draw(st.booleans())]
    table, plain, cards = sparse(f), [(small.named(scope), values)], small.cards(scope)
    names = [v.name for v in scope if v not in out]
    np.testing.assert_allclose(dense(table.marginalize(out)), oracle.marginal(plain, cards, names), rtol=CLOSE)
    expected = oracle.max_marginal(plain, cards, names)
    np.testing.assert_allclose(dense(table.marginalize(out, MAX)), expected, rtol=CLOSE)
    norms = oracle.project(values, cards, names, lambda entries: math.hypot(*entries) if entries else 0.0)
    np.testing.assert_allclose(dense(table.marginalize(out, temperature(0.5))), norms, rtol=CLOSE)
    if out:
        np.testing.assert_array_equal(dense(table.marginalize(out, BOOLEAN)), expected > 0)
    assert table.log_total == pytest.approx(oracle.log_z(plain, cards), abs=CLOSE)


@given(small.factors(), st.data())
@settings(max_examples=60, deadline=None)
def test_maximize_returns_the_first_maximizer(f, data):
    scope, values = f
    out = [v for v in scope if data.draw(st.booleans())]
    best, codes = sparse(f).maximize(out)
    kept = [v for v in scope if v not in out]
    for row, picked in zip(best.codes.tolist(), codes.tolist(), strict=True):
        fixed = dict(zip(kept, row, strict=True))
        options = list(itertools.product(*(range(v.num_states) for v in out)))
        scores = [values[tuple({**fixed, **dict(zip(out, o, strict=True))}[v] for v in scope)] for o in options]
        assert tuple(picked) == options[scores.index(max(scores))]


@given(small.factors())
@settings(max_examples=40, deadline=None)
def test_round_trip_with_dense(f):
    table = Table(*f)
    assert_close(SparseTable.from_table(table).to_table(), table)
    assert_close(sparse(f), table)
    assert SparseTable.from_table(table).size == np.count_nonzero(f[1])
    if table.log_total > -math.inf:
        assert sparse(f).entropy() == pytest.approx(oracle.entropy(f[1] / f[1].sum()), abs=CLOSE)


def test_rows_are_sorted_and_zeros_dropped():
    table = SparseTable((A, B), [[1, 2], [0, 1], [1, 0]], values=[3, 0, 2])
    assert table.codes.tolist() == [[1, 0], [1, 2]]
    assert table.values == pytest.approx([2, 3])
    assert repr(table) == "SparseTable(A[2], B[3])"


def test_construction_names_what_is_wrong():
    with pytest.raises(ModelError, match=r"\(A=1, B='z'\) appears twice"):
        SparseTable((A, B), [[1, 2], [0, 1], [1, 2]], values=[3, 1, 2])
    with pytest.raises(ModelError, match=r"found -2\.0"):
        SparseTable(A, [[0]], values=[-2])
    with pytest.raises(ModelError, match="nan"):
        SparseTable(A, [[0]], values=[math.nan])
    with pytest.raises(ModelError, match="NaN"):
        SparseTable.from_log(A, [[0]], logs=[math.nan])
    with pytest.raises(StateError, match="codes 0 to 2; row 1 has 3"):
        SparseTable((A, B), [[1, 2], [0, 3]], values=[1, 1])
    with pytest.raises(ModelError, match="shape"):
        SparseTable((A, B), [[1], [0]], values=[1, 1])
    with pytest.raises(ModelError, match="shape"):
        SparseTable((A,), [[0.5]], values=[1])
    with pytest.raises(ScopeError, match="share one name"):
        SparseTable(A, [[0]], values=[1]) * SparseTable(Discrete("A", 3), [[0]], values=[1])


def test_immutable():
    table = SparseTable(A, [[0]], values=[1])
    with pytest.raises(AttributeError, match="immutable"):
        table.scope = ()
    with pytest.raises(ValueError, match="read-only"):
        table.codes[0, 0] = 1


def test_empty_support_and_empty_scope():
    zero = SparseTable((A, B), np.zeros((0, 2), int), values=[])
    assert zero.log_total == -math.inf
    assert zero[{"A": 0, "B": "x"}] == 0.0
    assert zero.marginalize(A).size == 0
    assert (zero * SparseTable(C, [[0]], values=[2])).size == 0
    with pytest.raises(NotClosed, match="zero everywhere"):
        zero.normalize()
    with pytest.raises(NotClosed, match="no mode"):
        zero.mode()
    unit = SparseTable((), [[]], values=[5])
    assert float(unit) == pytest.approx(5)
    assert float(unit.marginalize(A)) == pytest.approx(5)
    assert float(SparseTable((), np.zeros((0, 0), int), values=[])) == 0.0


def test_division():
    top = SparseTable((A, B), [[0, 0], [1, 2]], values=[6, 8])
    bottom = SparseTable(A, [[0], [1]], values=[2, 4])
    assert (top / bottom).values == pytest.approx([3, 2])
    assert (top / Table(A, [2, 4])).values == pytest.approx([3, 2])
    assert (Table(A, [6, 0]) / SparseTable(A, [[0]], values=[2])).values == pytest.approx([3])
    assert (top / 2).values == pytest.approx([3, 4])
    with pytest.raises(NotClosed, match="divides a positive value by zero"):
        top / SparseTable(A, [[0]], values=[2])
    with pytest.raises(NotClosed, match="divides a positive value by zero"):
        top / Table(A, [1, 0])
    assert (top * Table(A, [1, 0])).codes.tolist() == [[0, 0]]
    # The quotient lives on A, B and C, and C = False would divide by zero.
    with pytest.raises(NotClosed):
        top / SparseTable(C, [[0]], values=[1])
    with pytest.raises(TypeError):
        top / "x"
    with pytest.raises(TypeError):
        "x" / top
    with pytest.raises(TypeError):
        top * None


def test_powers():
    table = SparseTable(B, [[0], [2]], values=[4, 9])
    assert dense(table**0.5).tolist() == pytest.approx([2, 0, 3])
    assert dense(table**0).tolist() == [1, 1, 1]
    with pytest.raises(NotClosed, match="negative power"):
        table**-1
    with pytest.raises(NotClosed, match="finite"):
        table**math.nan
    assert dense(SparseTable(A, [[0], [1]], values=[2, 4]) ** -1) == pytest.approx([0.5, 0.25])


def test_deterministic_functions_and_mappings():
    sum_of = Discrete("sum", 4)
    table = SparseTable.deterministic(sum_of, (A, B), rule=lambda a, b: a + "xyz".index(b))
    assert table.size == 6
    assert table[{"A": 1, "B": "z", "sum": 3}] == 1.0
    assert table.marginalize([sum_of]).values.tolist() == [1.0] * 6
    negation = SparseTable.deterministic(C, [A], rule={0: True, 1: False})
    assert negation.codes.tolist() == [[0, 0], [1, 1]]
    pairs = SparseTable.deterministic(C, (A, Discrete("D")), rule={(i, j): i == j for i in (0, 1) for j in (0, 1)})
    assert pairs.codes[:, 2].tolist() == [0, 1, 1, 0]
    constant = SparseTable.deterministic(C, (), rule=lambda: False)
    assert constant.codes.tolist() == [[1]]
    with pytest.raises(ModelError, match="no entry for 1"):
        SparseTable.deterministic(C, [A], rule={0: True})
    with pytest.raises(StateError):
        SparseTable.deterministic(C, [A], rule=lambda a: "maybe")
    with pytest.raises(TooLarge):
        SparseTable.deterministic(C, [Discrete(f"p{i}", 2) for i in range(64)], rule=lambda *_: True)


WIDE = tuple(Discrete(f"w{i}", 3) for i in range(150))


def random_wide(rng: np.random.Generator, scope: tuple[Discrete, ...], num: int) -> dict[tuple[int, ...], float]:
    rows = {tuple(row): float(rng.uniform(0.5, 2)) for row in rng.integers(0, 3, (num, len(scope))).tolist()}
    return rows


def test_a_hundred_and_fifty_variables():
    rng = np.random.default_rng(1)
    left_rows = random_wide(rng, WIDE[:120], 300)
    # Right rows share columns 60..120 with left rows, so that the join has matches.
    right_rows = {(*row[60:], *rng.integers(0, 3, 30).tolist()): 1.5 for row in list(left_rows)[:100]}
    left = SparseTable(WIDE[:120], list(left_rows), values=list(left_rows.values()))
    right = SparseTable(WIDE[60:], list(right_rows), values=list(right_rows.values()))
    product = left * right
    expected = {(*a, *b[60:]): x * y for a, x in left_rows.items() for b, y in right_rows.items() if a[60:] == b[:60]}
    found = {tuple(row): value for row, value in zip(product.codes.tolist(), product.values.tolist(), strict=True)}
    assert found.keys() == expected.keys()
    assert len(found) >= 100
    for row, value in expected.items():
        assert found[row] == pytest.approx(value, rel=CLOSE)
    groups: dict[tuple[int, ...], float] = {}
    for row, value in expected.items():
        groups[row[:2]] = groups.get(row[:2], 0.0) + value
    summed = product.marginalize(WIDE[2:])
    assert [tuple(r) for r in summed.codes.tolist()] == sorted(groups)
    assert summed.values == pytest.approx([groups[k] for k in sorted(groups)], rel=CLOSE)
    assert math.exp(product.log_total) == pytest.approx(math.fsum(expected.values()), rel=CLOSE)
    best = max(expected, key=expected.__getitem__)
    assert product.mode() == {v.name: c for v, c in zip(WIDE, best, strict=True)}
    with pytest.raises(TooLarge):
        product.to_table()
    assert_close(product / right * right, product)
    assert_close(product.align(WIDE[::-1]).align(WIDE), product)


def test_nothing_under_or_overflows():
    factor, product = SparseTable(B, [[0], [2]], values=[1, 1e-5]), SparseTable(B, [[0], [2]], values=[1, 1])
    for _ in range(1000):
        product = product * factor
    assert product.log_value({B: "z"}) == pytest.approx(1000 * math.log(1e-5), rel=EXACT)
    assert product.log_value({B: "y"}) == -math.inf
    assert product.log_value({B: "x"}) == 0.0
    assert (product * 1e-300 * 1e-300).log_total == pytest.approx(2 * math.log(1e-300))


def test_products_that_would_not_fit_are_refused():
    num = 40_000
    rows = np.stack([np.zeros(num, int), np.arange(num)], axis=1)
    left = SparseTable((A, Discrete("many", num)), rows, values=np.ones(num))
    right = SparseTable((A, Discrete("others", num)), rows, values=np.ones(num))
    with pytest.raises(TooLarge, match="rows of support"):
        left * right


def test_elimination_samples_and_takes_modes():
    rng = np.random.default_rng(5)
    table = SparseTable((A, B, C), [[0, 0, 0], [0, 2, 1], [1, 1, 0], [1, 1, 1]], values=[1, 3, 2, 2])
    conditional, rest = table.eliminate([B, C])
    assert isinstance(conditional, Conditional)
    assert isinstance(conditional, SparseConditional)
    assert repr(conditional) == "Conditional(B[3], C[2] | A[2])"
    assert rest.values == pytest.approx([4, 4])
    rows = {A: np.repeat([0, 1], 20_000)}
    drawn = conditional.sample(rows, 40_000, rng)
    seen = np.zeros((2, 3, 2))
    np.add.at(seen, (rows[A], drawn[B], drawn[C]), 1)
    expected = np.zeros((2, 3, 2))
    expected[0, 0, 0], expected[0, 2, 1], expected[1, 1, 0], expected[1, 1, 1] = 5_000, 15_000, 10_000, 10_000
    assert (seen[expected == 0] == 0).all()
    assert chisquare(seen[expected > 0], expected[expected > 0]).pvalue > 1e-4
    modes = conditional.mode({A: np.array([1, 0])}, 2)
    assert modes[B].tolist() == [1, 2]
    assert modes[C].tolist() == [0, 1]
    only = SparseTable((A, B), [[0, 1]], values=[1]).eliminate(B)[0]
    with pytest.raises(NotClosed, match="no positive value"):
        only.sample({A: np.array([1])}, 1, rng)
    assert only.sample({A: np.zeros(0, int)}, 0, rng)[B].shape == (0,)


def test_answers():
    number = Discrete("n", (10, 20, 30))
    table = SparseTable(number, [[0], [2]], values=[1, 3])
    assert table.mean() == pytest.approx(25)
    assert table.mode() == 30
    assert table.interval(0.5) == (30, 30)
    assert set(table.sample(50, seed=1)["n"]) == {10, 30}
    assert isinstance(table, Factor)
    assert isinstance(table, Distribution)
    other = SparseTable(number, [[0], [2]], values=[1, 1])
    expected = 0.25 * math.log(0.25 / 0.5) + 0.75 * math.log(0.75 / 0.5)
    assert table.kl(other) == pytest.approx(expected)
    assert table.kl(Table(number, [1, 5, 1])) == pytest.approx(0.25 * math.log(0.25 * 7) + 0.75 * math.log(0.75 * 7))
    assert Table(number, [1, 0, 3]).kl(other) == pytest.approx(expected)
    assert table.kl(SparseTable(number, [[0]], values=[1])) == math.inf
    assert table.normalize("n").values == pytest.approx([0.25, 0.75])


def test_pickles():
    table = SparseTable((A, B), [[0, 1], [1, 2]], values=[1, 2])
    again = pickle.loads(pickle.dumps(table))
    assert_close(again, table)
    assert not again.codes.flags.writeable
