"""Dense tables against plain enumeration, at the ends of float64, and with more axes than NumPy has."""

from __future__ import annotations

import itertools
import math
import pickle
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import chisquare

import oracle
from sepset.errors import ModelError, NotClosed, ScopeError, StateError, TooLarge
from sepset.factors.algebra import Conditional, Distribution, Factor
from sepset.factors.table import Table, TableConditional
from sepset.semiring import BOOLEAN, MAX, SUM, temperature
from sepset.testing import assert_close, check_factor_laws
from sepset.variables.variable import Discrete, Real
from support import small_tables as small
from support.bounded import within
from support.tolerances import CLOSE, EXACT

A, B, C = Discrete("A", 2), Discrete("B", ("x", "y", "z")), Discrete("C", (True, False))


def log_value(table: Table, code: int) -> float:
    """The log value of a table of one variable at a code."""
    return table.log_value({table.scope[0]: table.scope[0].states[code]})


@given(st.integers(0, 10**9), st.sampled_from([0.0, 0.3, 0.9]))
@settings(max_examples=40, deadline=None)
def test_laws(seed, zeros):
    semirings = (SUM, MAX, temperature(0.5), temperature(2.0))
    check_factor_laws(lambda rng: small.random_triple(rng, zeros=zeros), rounds=1, seed=seed, semirings=semirings)


def test_every_law_is_put_to_the_test():
    counts = check_factor_laws(small.random_triple, rounds=20)
    assert min(counts.values()) >= 15


def wide_triple(rng: np.random.Generator) -> list[Table]:
    """Tables far outside float64: log spaces, exponents, and linear ones beside them."""
    triple = []
    for spread in rng.choice([1.0, 300.0, 3e4], size=3):
        picked = rng.permutation(len(small.UNIVERSE))[: rng.integers(0, 4)]
        scope = tuple(small.UNIVERSE[i] for i in picked)
        logs = rng.normal(size=math.prod(v.num_states for v in scope)) * spread + rng.normal() * 1e4
        triple.append(Table.from_log(scope, logs))
    return triple


@given(st.integers(0, 10**9))
@settings(max_examples=40, deadline=None)
def test_laws_far_outside_float64(seed):
    check_factor_laws(wide_triple, rounds=1, seed=seed, semirings=(SUM, MAX, temperature(0.5)))


@given(small.factors(), small.factors())
@settings(max_examples=80, deadline=None)
def test_product_is_the_oracles(f, g):
    product = Table(*f) * Table(*g)
    cards = small.cards(f[0], g[0])
    expected = oracle.joint([(small.named(f[0]), f[1]), (small.named(g[0]), g[1])], cards)
    assert small.named(product.scope) == tuple(cards)
    np.testing.assert_allclose(product.values, expected, rtol=EXACT)


@given(small.factors(), st.data())
@settings(max_examples=80, deadline=None)
def test_marginals_are_the_oracles(f, data):
    scope, values = f
    kept = data.draw(st.lists(st.sampled_from(scope), unique=True)) if scope else []
    table, plain, cards = Table(scope, values), [(small.named(scope), values)], small.cards(scope)
    out = [v for v in scope if v not in kept]
    names = [v.name for v in scope if v in kept]
    np.testing.assert_allclose(table.marginalize(out).values, oracle.marginal(plain, cards, names), rtol=EXACT)
    np.testing.assert_array_equal(table.marginalize(out, MAX).values, oracle.max_marginal(plain, cards, names))
    ordered = [v.name for v in kept]
    np.testing.assert_allclose(table.project(kept).values, oracle.marginal(plain, cards, ordered), rtol=EXACT)
    possible = Table(scope, values > 0).marginalize(out, BOOLEAN)
    np.testing.assert_array_equal(possible.values, oracle.max_marginal(plain, cards, names) > 0)
    assert table.log_total == pytest.approx(oracle.log_z(plain, cards), abs=CLOSE)


@given(small.factors(), st.data())
@settings(max_examples=60, deadline=None)
def test_conditioning_and_points_are_the_arrays(f, data):
    scope, values = f
    table = Table(scope, values)
    codes = {v: data.draw(st.integers(0, v.num_states - 1)) for v in scope}
    some = {v: c for v, c in codes.items() if data.draw(st.booleans())}
    part = table.condition({v.name: v.states[c] for v, c in some.items()})
    np.testing.assert_array_equal(part.values, values[tuple(some.get(v, slice(None)) for v in scope)])
    point = {v: v.states[c] for v, c in codes.items()}
    value = float(values[tuple(codes.values())])
    assert table.value(point) == value
    assert table.log_value(point) == pytest.approx(math.log(value) if value else -math.inf, rel=EXACT)
    row = np.array([[*codes.values()]], np.int64).reshape(1, len(scope))
    assert table.log_at(row)[0] == pytest.approx(table.log_value(point), rel=EXACT)


@given(small.factors(), st.data())
@settings(max_examples=60, deadline=None)
def test_maximize_returns_the_first_maximizer(f, data):
    scope, values = f
    out = [v for v in scope if data.draw(st.booleans())]
    best, places = Table(scope, values).maximize(out)
    kept = [axis for axis, v in enumerate(scope) if v not in out]
    moved = np.moveaxis(values, kept, range(len(kept))).reshape(best.size, -1)
    assert places.tolist() == [row.tolist().index(max(row.tolist())) for row in moved]
    np.testing.assert_array_equal(best.values.reshape(-1), moved.max(axis=1))


@given(small.factors(), st.data())
@settings(max_examples=40, deadline=None)
def test_normalizing_over_some_gives_conditionals(f, data):
    scope, values = f
    over = [v for v in scope if data.draw(st.booleans())]
    axes = tuple(axis for axis, v in enumerate(scope) if v in over)
    totals = values.sum(axis=axes, keepdims=True)
    expected = np.divide(values, totals, out=np.zeros_like(values), where=totals > 0)
    np.testing.assert_allclose(Table(scope, values).normalize(over).values, expected, rtol=EXACT)


def test_division_has_zero_over_zero_and_refuses_the_rest():
    top, bottom = Table(A, [0, 6]), Table(A, [0, 3])
    assert (top / bottom).values.tolist() == [0, 2]
    with pytest.raises(NotClosed, match="divides a positive value by zero"):
        Table(A, [1, 6]) / bottom
    with pytest.raises(NotClosed):
        Table.from_log(A, [-1e5, 0]) / Table.indicator(A, 1)
    with pytest.raises(NotClosed):
        top / 0.0
    wide = Table.from_log(A, [-np.inf, -1e5]) * Table.from_log(B, [0, -1e5, 5])
    assert (wide / Table.indicator(A, 1)).log_value({A: 1, B: "y"}) == pytest.approx(-2e5)
    assert (wide / Table.indicator(A, 1)).log_value({A: 0, B: "y"}) == -math.inf


def test_powers_at_zero():
    t = Table(A, [0, 4])
    assert (t**0).values.tolist() == [1, 1]
    assert (t**0.5).values.tolist() == [0, 2]
    with pytest.raises(NotClosed, match="negative power"):
        t**-1
    with pytest.raises(NotClosed, match="finite"):
        t**math.inf
    assert (Table(A, [2, 4]) ** -2).values.tolist() == [0.25, 0.0625]
    assert log_value(Table(A, [1e-200, 1e200]) ** 100, 0) == pytest.approx(100 * math.log(1e-200), rel=EXACT)


def test_a_thousand_small_factors_on_one_variable():
    for factor in (Table(A, [1, 1e-5]), Table.from_log(A, [0, math.log(1e-5)])):
        product = Table.ones(A)
        for _ in range(1000):
            product = product * factor
        assert product.space == "log"
        assert log_value(product, 0) == 0.0
        assert log_value(product, 1) == pytest.approx(1000 * math.log(1e-5), rel=EXACT)
        back = product
        for _ in range(999):
            back = back / factor
        assert back.space == "linear"
        np.testing.assert_allclose(back.values, [1, 1e-5], rtol=CLOSE)


def test_a_hundred_thousand_small_factors():
    expected = 100_000 * math.log(1e-5)
    product, factor = Table.ones(A), Table(A, [1e-5, 1e-5])
    scalar, tiny = Table((), [1.0]), Table((), [1e-5])
    for _ in range(100_000):
        product, scalar = product * factor, scalar * tiny
    assert product.space == scalar.space == "linear"
    assert log_value(product, 0) == log_value(product, 1) == pytest.approx(expected, rel=EXACT)
    assert scalar.log_total == pytest.approx(expected, rel=EXACT)
    assert log_value(product.normalize(), 1) == pytest.approx(math.log(0.5), rel=EXACT)
    powered = Table(A, [1e-5, 3e-5]) ** 100_000
    assert log_value(powered, 1) == pytest.approx(100_000 * math.log(3e-5), rel=EXACT)


def test_rescaling_is_exact():
    # Powers of two and short mantissas: every step must be exact, whatever the exponent.
    factor, product = Table(A, [3 * 2.0**-500, 5 * 2.0**-480]), Table.ones(A)
    for _ in range(20):
        product = product * factor
    assert product.space == "linear"
    flat = [math.ldexp(x, product.exponent + 20 * 490) for x in product.flat.tolist()]
    assert flat == [math.ldexp(3.0**20, -200), math.ldexp(5.0**20, 200)]


def test_energies_spanning_a_hundred_thousand():
    energies = np.array([0.0, 1.0, 5e4, 1e5, math.inf, -3.0])
    wide = Discrete("wide", 6)
    table = Table.from_energy(wide, energies)
    assert table.space == "log"
    for code, energy in enumerate(energies):
        assert log_value(table, code) == -energy
    twice = table * table
    for code, energy in enumerate(energies):
        assert log_value(twice, code) == -2 * energy
    assert table.log_total == pytest.approx(oracle.log_sum(-energies), rel=EXACT)
    assert log_value(table.normalize(), 3) == pytest.approx(-1e5 - table.log_total, rel=EXACT)
    assert table.entropy() == pytest.approx(oracle.entropy(np.exp(-energies - table.log_total)), rel=CLOSE)


def test_tables_return_to_linear_when_they_can():
    wide = Table.from_log(B, [0, -10.0, -1e5])
    assert wide.space == "log"
    product = wide * Table.from_log(B, [0.0, 10.0, 1e5])
    assert product.space == "linear"
    np.testing.assert_allclose(product.values, [1, 1, 1], rtol=CLOSE)


@pytest.mark.parametrize("top", [1e308, 1.7e308])
def test_sums_near_the_end_of_float64_do_not_overflow(top):
    table = Table((A, C), [[top, top], [1e-300, 1e-300]])
    assert table.log_total == pytest.approx(math.log(top) + math.log(2), rel=EXACT)
    summed = table.marginalize(C)
    assert log_value(summed, 0) == pytest.approx(math.log(top) + math.log(2), rel=EXACT)
    assert log_value(summed, 1) == pytest.approx(math.log(2e-300), rel=EXACT)
    assert table.normalize().log_value({A: 1, C: True}) == pytest.approx(math.log(1e-300) - table.log_total, rel=EXACT)
    even = Table((A, C), [[top, top], [top, top]]).marginalize(C)
    assert even.space == "linear"
    assert log_value(even, 1) == pytest.approx(math.log(top) + math.log(2), rel=EXACT)


def test_subnormal_and_huge_values_survive_products():
    table = Table(A, [5e-324, 1.7e308])
    for other in (Table(A, [5e-324, 1.7e308]), Table(A, [1.7e308, 5e-324]), Table(B, [1e-300, 1, 1e300]), 1e-300):
        product = table * other
        right = other if isinstance(other, Table) else Table((), [other])
        for a in (0, 1):
            for b in B.states:
                point = {A: a, B: b}
                expected = math.log([5e-324, 1.7e308][a]) + right.log_value(point)
                assert product.log_value(point) == pytest.approx(expected, rel=EXACT, abs=1e-10)
                assert (product / right).log_value(point) == pytest.approx(table.log_value(point), rel=EXACT, abs=1e-10)


def test_temperature_of_wide_linear_tables():
    table = Table((A, C), [[1e300, 1e300], [1e-300, 1e-300]])
    hot = table.marginalize(C, temperature(2.0))
    assert log_value(hot, 0) == pytest.approx(math.log(1e300) + 2 * math.log(2), rel=EXACT)
    assert log_value(hot, 1) == pytest.approx(math.log(1e-300) + 2 * math.log(2), rel=EXACT)


def test_a_semiring_that_does_not_scale_sees_true_values():
    table = Table((A, C), [[2.0**600, 0], [0, 0]])
    assert table.marginalize(C, BOOLEAN).values.tolist() == [1, 0]


def test_many_axes():
    binary = [Discrete(f"b{i}", 2) for i in range(8)]
    single = [Discrete(f"s{i}", ("s",)) for i in range(150)]
    mixed = (*single[:75], *binary, *single[75:])
    rng = np.random.default_rng(0)
    values = rng.random(256)
    table = Table(mixed, values)
    assert len(table.scope) == 158
    assert table.values.shape == (256,)
    product = table * Table.ones(tuple(reversed(mixed)))
    np.testing.assert_allclose(product.values, values)
    aligned = table.align(tuple(reversed(mixed)))
    assert_close(aligned, table)
    expected = values.reshape((2,) * 8).transpose(range(7, -1, -1)).reshape(-1)
    np.testing.assert_array_equal(aligned.values, expected)
    assert float(table.marginalize(mixed)) == pytest.approx(values.sum())
    part = table.condition({v: v.states[0] for v in (*single, *binary[:-1])})
    np.testing.assert_array_equal(part.values, values[:2])
    assert (table / product).values.tolist() == [1.0] * 256
    assert set(table.mode()) == {v.name for v in mixed}
    assert table.cells(3)[0].shape == (3, 158)


def test_products_over_hundreds_of_axes_are_not_quadratic():
    scope = tuple(Discrete(f"v{i}", 1) for i in range(2000))
    table = Table(scope, [2.0])
    product = within(1.0, lambda: table * table)  # 4,000,000 comparisons of names would take longer
    assert float(product) == 4.0


def test_too_large_is_refused_before_it_is_built():
    scope = tuple(Discrete(f"v{i}", 2) for i in range(40))
    with pytest.raises(TooLarge, match=r"entries \(8.0 TiB\)"):
        Table.ones(scope)
    with pytest.raises(TooLarge):
        Table.ones(scope[:20]) * Table.ones(scope[20:])
    with pytest.raises(TooLarge):
        Table.random(scope)


def test_construction_names_what_is_wrong():
    with pytest.raises(ModelError, match=r"found -1.0 at \(A=1, B='y'\)"):
        Table((A, B), [[1, 1, 1], [1, -1, 1]])
    with pytest.raises(ModelError, match="found nan"):
        Table(A, [1, math.nan])
    with pytest.raises(ModelError, match="do not fit"):
        Table((A, B), [[1, 1], [1, 1]])
    with pytest.raises(ScopeError, match="twice"):
        Table((A, A), np.ones((2, 2)))
    with pytest.raises(ScopeError, match="discrete"):
        Table((Real("r"),), [1])
    with pytest.raises(ModelError, match="NaN"):
        Table.from_log(A, [math.nan, 0])
    with pytest.raises(ModelError, match=r"\+inf"):
        Table.from_log(A, [math.inf, 0])
    with pytest.raises(ScopeError, match="share one name"):
        Table(A, [1, 2]) * Table(Discrete("A", 3), [1, 2, 3])


def test_construction_copies_and_freezes():
    values = np.array([1.0, 2.0])
    table = Table(A, values)
    values[0] = 9.0
    assert table[0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        table.flat[0] = 3.0
    with pytest.raises(AttributeError, match="immutable"):
        table.scope = ()
    assert Table(A, [-0.0, 1.0]).flat[0] == 0.0
    assert not np.signbit(Table(A, [-0.0, 1.0]).flat[0])


def test_indexing_by_name():
    table = Table((A, B), [[1, 2, 3], [4, 5, 6]])
    assert table[{"A": 1, "B": "y"}] == 5.0
    assert table[1, "y"] == table[{A: 1, B: "y"}] == 5.0
    assert table.condition({A: 1}).values.tolist() == [4, 5, 6]
    assert Table(B, [1, 2, 3])["z"] == 3.0
    assert Table(C, [1, 2])[False] == 2.0
    with pytest.raises(StateError, match="Did you mean 'y'"):
        Table(B, [1, 2, 3])["Y"]
    with pytest.raises(ScopeError, match="Did you mean 'A'"):
        table[{"AA": 1}]
    with pytest.raises(ScopeError, match="bare state"):
        table["x"]
    with pytest.raises(ScopeError, match=r"missing 'B'\. `condition` gives the factor of the rest"):
        table[{A: 1}]
    with pytest.raises(ScopeError, match="missing 'B'"):
        table.log_value({"A": 1})
    with pytest.raises(StateError):
        Table(C, [1, 2])[1]


def test_align_needs_every_variable_once():
    table = Table((A, B), [[1, 2, 3], [4, 5, 6]])
    assert table.align(("B", "A")).values.tolist() == [[1, 4], [2, 5], [3, 6]]
    with pytest.raises(ScopeError, match="missing 'B'"):
        table.align(["A"])
    with pytest.raises(ScopeError, match="twice"):
        table.align(["A", "A"])


def test_numbers_scale():
    assert (2 * Table(A, [1, 2])).values.tolist() == [2, 4]
    assert (Table(A, [1, 2]) * np.float64(0.5)).values.tolist() == [0.5, 1]
    assert (Table(A, [1, 2]) / 2).values.tolist() == [0.5, 1]
    assert float(Table((), [3])) == 3.0
    with pytest.raises(TypeError, match="one entry"):
        float(Table(A, [1, 2]))
    with pytest.raises(TypeError):
        Table(A, [1, 2]) * "x"
    with pytest.raises(TypeError):
        Table(A, [1, 2]) / "x"


def test_zero_tables_cannot_be_normalized():
    zero = Table(A, [0, 0])
    assert zero.log_total == -math.inf
    assert zero.bits() == (0.0, 0.0)
    with pytest.raises(NotClosed, match="zero everywhere"):
        zero.normalize()
    assert (zero * Table.from_log(A, [0, -1e5])).values.tolist() == [0, 0]
    assert Table.from_log(A, [-math.inf, -math.inf]).values.tolist() == [0, 0]


def test_bits_measure_the_range():
    assert Table(B, [0, 0.25, 8]).bits() == (-2.0, 3.0)
    product = Table((), [1.0])
    for _ in range(4):
        product = product * 2.0**500
    assert (Table(B, [0, 0.25, 8]) * product).bits() == (1998.0, 2003.0)
    low, high = Table.from_log(A, [0, -1e5]).bits()
    assert high == 0.0
    assert low == pytest.approx(-1e5 / math.log(2))


@given(small.factors(3), small.factors(3), small.factors(3))
@settings(max_examples=60, deadline=None)
def test_inherited_bounds_enclose_the_values(f, g, h):
    product = (Table(*f) * Table(*g) * Table(*h)).marginalize(f[0][:1])
    for table in (product, product.condition({v: v.states[0] for v in g[0][:1]}), product**0.5):
        low, high = table._enclosing()
        true_low, true_high = Table._make(table.scope, table.flat, table.exponent, table.space).bits()
        if table.log_total > -math.inf:
            assert low <= true_low + 1e-9
            assert true_high <= high + 1e-9


def test_random_and_indicator():
    t = Table.random((A, B), 3, zeros=0.5)
    assert t.values.tolist() == Table.random((A, B), 3, zeros=0.5).values.tolist()
    assert Table.indicator(B, "y").values.tolist() == [0, 1, 0]


def test_is_a_factor_and_a_distribution():
    table = Table(A, [1, 2])
    assert isinstance(table, Factor)
    assert isinstance(table, Distribution)


@pytest.mark.parametrize("table", [Table((A, B), np.arange(6)), Table.from_log(A, [0, -1e5]), Table((), [2])])
def test_pickles(table):
    again = pickle.loads(pickle.dumps(table))
    assert again.scope == table.scope
    assert again.space == table.space
    np.testing.assert_array_equal(again.flat, table.flat)
    assert not again.flat.flags.writeable


def test_equality_is_identity():
    assert Table(A, [1, 2]) != Table(A, [1, 2])


PAIR = (A, C)


def log_of(value: Fraction) -> float:
    return math.log(value.numerator) - math.log(value.denominator) if value else -math.inf


@st.composite
def extreme(draw: st.DrawFn) -> tuple[tuple[Discrete, ...], dict[tuple[int, ...], Fraction]]:
    """A table over A, C or both with floats of any exponent, and zeros."""
    scope = draw(st.sampled_from([(), (A,), (C,), PAIR, (C, A)]))
    numbers = st.one_of(
        st.just(0.0), st.builds(math.ldexp, st.floats(0.5, 1.0, exclude_max=True), st.integers(-1073, 1024))
    )
    cells = itertools.product(*(range(v.num_states) for v in scope))
    return scope, {cell: Fraction(draw(numbers.filter(math.isfinite))) for cell in cells}


def at(scope: tuple[Discrete, ...], cell: tuple[int, int]) -> tuple[int, ...]:
    """The part of a joint cell of A and C that a scope sees."""
    return tuple(cell[PAIR.index(v)] for v in scope)


@given(st.lists(st.tuples(st.sampled_from(["*", "/", "sum", "max", "normalize", "**2"]), extreme()), max_size=7))
@settings(max_examples=150, deadline=None)
def test_any_chain_of_operations_equals_exact_rational_arithmetic(steps):
    cells = list(itertools.product(range(2), range(2)))
    table, exact = Table.ones(PAIR), dict.fromkeys(cells, Fraction(1))
    for operation, (scope, values) in steps:
        other = Table(scope, [float(value) for value in values.values()])
        if operation == "*":
            table, exact = table * other, {cell: exact[cell] * values[at(scope, cell)] for cell in cells}
        elif operation == "/" and all(values.values()):
            table, exact = table / other, {cell: exact[cell] / values[at(scope, cell)] for cell in cells}
        elif operation in ("sum", "max"):
            fold, semiring = (sum, SUM) if operation == "sum" else (max, MAX)
            table = table.marginalize(A, semiring) * Table.ones(A)
            exact = {(a, c): Fraction(fold(exact[i, c] for i in range(2))) for a, c in cells}
        elif operation == "normalize" and any(exact.values()):
            table, exact = table.normalize(), {cell: exact[cell] / sum(exact.values()) for cell in cells}
        elif operation == "**2":
            table, exact = table**2, {cell: exact[cell] ** 2 for cell in cells}
    for cell in cells:
        point = dict(zip(PAIR, (v.states[code] for v, code in zip(PAIR, cell, strict=True)), strict=True))
        assert table.log_value(point) == pytest.approx(log_of(exact[cell]), rel=EXACT, abs=CLOSE)
    assert table.log_total == pytest.approx(log_of(sum(exact.values(), Fraction(0))), rel=EXACT, abs=CLOSE)


def calls_within(call) -> int:
    """How many functions, of Python or of C, one call enters."""
    call()  # what is made once is not counted
    entered = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal entered
        entered += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        call()
    finally:
        sys.setprofile(None)
    return entered


def test_small_tables_take_few_calls():
    a, b, c, d = (Discrete(name, 3) for name in "abcd")
    f, g = Table.random((a, b, c), 0), Table.random((b, c, d), 1)
    # A call costs about a tenth of a microsecond: a hundred of them fit into the 15 microseconds wanted.
    assert calls_within(lambda: f * g) < 100
    assert calls_within(lambda: f.marginalize([b])) < 100
    assert calls_within(lambda: f.condition({a: 1})) < 100


@pytest.mark.parametrize("scale", [0.0, -3000.0])
def test_draws_follow_the_table(scale):
    rng = np.random.default_rng(3)
    values = np.array([[[1, 0], [2, 3], [0, 4]], [[5, 5], [0, 0], [1, 9]]], float)
    with np.errstate(divide="ignore"):
        table = Table.from_log((A, B, C), np.log(values) + scale)
    conditional, rest = table.eliminate([B, C])
    assert isinstance(conditional, Conditional)
    rows = {A: np.repeat([1, 0], 30_000)}
    drawn = conditional.sample(rows, 60_000, rng)
    counts = np.zeros((2, 3, 2))
    np.add.at(counts, (rows[A], drawn[B], drawn[C]), 1)
    expected = 30_000 * values / values.sum(axis=(1, 2), keepdims=True)
    assert (counts[values == 0] == 0).all()
    assert chisquare(counts[values > 0], expected[values > 0]).pvalue > 1e-4
    np.testing.assert_allclose(rest.log_values, np.log([10, 20]) + scale)


@given(small.factors(), st.data())
@settings(max_examples=60, deadline=None)
def test_modes_are_the_first_maximizers(f, data):
    scope, values = f
    out = [v for v in scope if data.draw(st.booleans())]
    kept = [v for v in scope if v not in out]
    conditional, _ = Table(scope, values).eliminate(out)
    rows = list(itertools.product(*(range(v.num_states) for v in kept)))
    columns = {v: np.array([row[i] for row in rows]) for i, v in enumerate(kept)}
    modes = conditional.mode(columns, len(rows))
    options = list(itertools.product(*(range(v.num_states) for v in out)))
    for place, row in enumerate(rows):
        fixed = dict(zip(kept, row, strict=True))
        scores = [values[tuple({**fixed, **dict(zip(out, o, strict=True))}[v] for v in scope)] for o in options]
        assert tuple(int(modes[v][place]) for v in out) == options[scores.index(max(scores))]


def test_modes_in_log_space_tell_close_values_apart():
    logs = np.array([1e6, np.nextafter(1e6, 2e6), -1e6])
    conditional, _ = Table.from_log(B, logs).eliminate(B)
    assert conditional.mode({}, 1)[B].tolist() == [1]


def test_zero_rows_cannot_be_drawn_from():
    conditional, _ = Table((A, B), [[0, 0, 0], [1, 2, 3]]).eliminate(B)
    rng = np.random.default_rng(0)
    with pytest.raises(NotClosed, match="nothing can be drawn"):
        conditional.sample({A: np.array([1, 0])}, 2, rng)
    assert conditional.sample({A: np.array([1, 1])}, 2, rng)[B].shape == (2,)


def test_conditionals_of_no_rows():
    conditional, _ = Table((A, B), np.ones((2, 3))).eliminate(B)
    empty = {A: np.zeros(0, np.int64)}
    assert conditional.sample(empty, 0, np.random.default_rng(0))[B].shape == (0,)
    assert conditional.mode(empty, 0)[B].shape == (0,)


def test_nothing_eliminated_and_everything_eliminated():
    table = Table((A, B), [[1, 0, 0], [0, 0, 0]])
    nothing, rest = table.eliminate([])
    assert nothing.frontal == ()
    assert rest is table
    assert nothing.sample({A: np.array([0]), B: np.array([0])}, 1, np.random.default_rng(0)) == {}
    everything, total = table.eliminate([A, B])
    assert everything.parents == ()
    assert float(total) == 1.0
    drawn = everything.sample({}, 5, np.random.default_rng(0))
    assert drawn[A].tolist() == drawn[B].tolist() == [0] * 5


def test_tiny_and_huge_linear_values_can_be_drawn():
    table = Table(A, [1e-310, 3e-310])
    drawn = table.eliminate(A)[0].sample({}, 20_000, np.random.default_rng(0))[A]
    assert abs(drawn.mean() - 0.75) < 5 * math.sqrt(0.75 * 0.25 / 20_000)
    huge = Table(A, [1.7e308, 1.7e308])
    drawn = huge.eliminate(A)[0].sample({}, 20_000, np.random.default_rng(0))[A]
    assert abs(drawn.mean() - 0.5) < 5 * math.sqrt(0.25 / 20_000)


def test_draws_do_not_depend_on_how_rows_are_batched_in_distribution():
    rng = np.random.default_rng(0)
    many = Discrete("many", 2000)
    values = rng.random((2000, 2))
    conditional, _ = Table((many, A), values).eliminate(A)
    rows = {many: rng.integers(0, 2000, 200_000)}
    drawn = conditional.sample(rows, 200_000, rng)[A]
    p = (values[:, 1] / values.sum(axis=1))[rows[many]]
    assert abs((drawn - p).sum()) < 5 * math.sqrt((p * (1 - p)).sum())


def test_conditionals_read_well():
    assert repr(TableConditional((B,), (A, C), Table.ones((A, B, C)))) == "Conditional(B[3] | A[2], C[2])"
