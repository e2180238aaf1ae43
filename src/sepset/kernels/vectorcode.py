"""The machine code of `kernels.vectors`: LLVM's instructions for vectors, which it fits to the processor.

Compiled Python loops keep a sum or two in registers; these keep a whole panel of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain, product
from typing import Any, NamedTuple

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.imputils import lower_builtin
from numba.core.registry import cpu_target
from numba.core.types import VarArg  # type: ignore[attr-defined]
from numba.core.typing.templates import AbstractTemplate, infer_global, signature

from sepset.kernels.vectors import LANES, copy_vectors, panel_product, panel_rows, panel_vectors, turn_vectors

INT, WORD, DOUBLE = ir.IntType(64), ir.IntType(32), ir.DoubleType()
VECTOR = ir.VectorType(DOUBLE, LANES)


class Shape(NamedTuple):
    """The rows and vectors of a panel whose sums, with what is multiplied, fit into the registers."""

    rows: int
    vectors: int


def _shape() -> Shape:
    """For 32 registers of eight numbers, 16 of four or 32 of two, or fewer: sums, vectors, and a factor of each row."""
    triple, _, features = cpu_target.target_context.codegen().magic_tuple()
    if "+avx512f" in features:
        return Shape(8, 2)
    return Shape(4, 1) if "+avx2" in features or triple.startswith(("aarch64", "arm64")) else Shape(2, 1)


SHAPE = _shape()


def _emitted(function: Callable[..., Any], result: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Let kernels call a function, whatever its arguments are; what is decorated writes its code."""

    @infer_global(function)
    class _Call(AbstractTemplate):  # type: ignore[misc]  # numba is untyped
        def generic(self, args: Any, kws: Any) -> Any:
            return signature(result, *args)

    def decorate(write: Callable[..., Any]) -> Callable[..., Any]:
        lower_builtin(function, VarArg(types.Any))(write)
        return write

    return decorate


def _number(value: int) -> Any:
    return ir.Constant(INT, value)


def _array(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """The first entry of an array."""
    return context.make_array(kind)(context, builder, value=value).data


@_emitted(panel_rows, types.int64)
def _rows(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return _number(SHAPE.rows)


@_emitted(panel_vectors, types.int64)
def _vectors(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return _number(SHAPE.vectors)


@_emitted(copy_vectors, types.none)
def _copy(context: Any, builder: Any, sig: Any, args: Sequence[Any]) -> Any:
    """A load and a store for each vector."""
    w, place, out, to, vectors = args
    source = builder.gep(_array(context, builder, sig.args[0], w), [place])
    target = builder.gep(_array(context, builder, sig.args[2], out), [to])
    for number in range(SHAPE.vectors):
        with builder.if_then(builder.icmp_signed(">", vectors, ir.Constant(vectors.type, number))):
            first, second = (builder.gep(start, [_number(LANES * number)]) for start in (source, target))
            _store(builder, _loaded(builder, first), second)
    return context.get_dummy_value()


def _loaded(builder: Any, pointer: Any) -> Any:
    """A vector in memory, at any place of a number."""
    found = builder.load(builder.bitcast(pointer, VECTOR.as_pointer()))
    found.align = 8
    return found


def _store(builder: Any, vector: Any, pointer: Any) -> None:
    """Write a vector at any place of a number."""
    builder.store(vector, builder.bitcast(pointer, VECTOR.as_pointer())).align = 8


@_emitted(turn_vectors, types.none)
def _turn(context: Any, builder: Any, sig: Any, args: Sequence[Any]) -> Any:
    """Write the code for each unit."""
    kinds = zip(args, sig.args, strict=True)
    *given, size = [
        _array(context, builder, kind, arg) if isinstance(kind, types.Array) else arg for arg, kind in kinds
    ]
    for unit in (1, 2, 4):
        with builder.if_then(_equals(builder, size, unit)):
            _turn_units(builder, unit, *given)
    return context.get_dummy_value()


def _turn_units(
    builder: Any, unit: int, w: Any, place: Any, columns: Any, begin: Any, out: Any, to: Any, *rows: Any
) -> None:
    """Exchange entries, then pairs, then fours of them between vectors that are as far apart as these are long."""
    (targets, first, step), lanes = rows, range(LANES)
    source, target = builder.gep(w, [place]), builder.gep(out, [to])
    starts = (builder.gep(columns, [builder.add(begin, ir.Constant(begin.type, j))]) for j in range(LANES // unit))
    vectors = [_loaded(builder, builder.gep(source, [builder.load(start)])) for start in starts]
    for apart in (unit << k for k in range(3) if unit << k < LANES):
        low = [j if not j & apart else LANES + j - apart for j in lanes]
        high = [j + apart if not j & apart else LANES + j for j in lanes]
        masks = [ir.Constant(ir.VectorType(WORD, LANES), mask) for mask in (low, high)]
        gap = apart // unit
        for i in (i for i in range(len(vectors)) if not i & gap):
            pair = vectors[i], vectors[i + gap]
            vectors[i], vectors[i + gap] = (builder.shuffle_vector(*pair, mask) for mask in masks)
    for i, vector in enumerate(vectors):
        row = builder.add(first, builder.mul(step, ir.Constant(step.type, i)))
        _store(builder, vector, builder.gep(target, [builder.load(builder.gep(targets, [row]))]))


@_emitted(panel_product, types.none)
def _product(context: Any, builder: Any, sig: Any, args: Sequence[Any]) -> Any:
    """Call the code for this number of rows and vectors, and for sums or maxima."""
    kinds = zip(args, sig.args, strict=True)
    given = [_array(context, builder, kind, arg) if isinstance(kind, types.Array) else arg for arg, kind in kinds]
    w, start, rows, row, inner, first, v, place, steps, begin, depth, *rest = given
    out, target, places, to, columns, column, *after, size, vectors, lanes, maximize, adds = rest
    next_start, next_row, next_target, next_to, next_column = after
    arrays = (
        *((w, start), (rows, row), (inner, first), (v, place), (steps, begin)),
        *((w, next_start), (rows, next_row), (out, next_target), (places, next_to), (columns, next_column)),
        *((out, target), (places, to), (columns, column)),
    )
    lanes = builder.sext(lanes, INT) if lanes.type != INT else lanes
    called = [*(builder.gep(array, [offset]) for array, offset in arrays), depth, lanes, _truth(builder, adds)]
    code = builder.select(_truth(builder, maximize), _number(1), _number(0))
    is_short = builder.icmp_signed("<", lanes, _number(LANES))
    width = builder.select(is_short, _number(0), vectors)  # of short vectors there is one
    for rows, number, is_max in product((SHAPE.rows, SHAPE.rows // 2), range(SHAPE.vectors + 1), (False, True)):
        is_this = builder.and_(_equals(builder, size, rows), _equals(builder, width, number))
        with builder.if_then(builder.and_(is_this, _equals(builder, code, int(is_max)))):
            builder.call(_function(builder.module, rows, number, is_max), called)
    return context.get_dummy_value()


def _equals(builder: Any, value: Any, number: int) -> Any:
    return builder.icmp_signed("==", value, ir.Constant(value.type, number))


def _truth(builder: Any, value: Any) -> Any:
    return builder.icmp_unsigned("!=", value, ir.Constant(value.type, 0))


def _function(module: Any, rows: int, width: int, is_max: bool) -> Any:
    """The function of one shape of panels, which is in a module once; of width zero that for one short vector."""
    name = f"panel_{'max' if is_max else 'sum'}_{rows}_{width}"
    if name in module.globals:
        return module.globals[name]
    numbers, places = DOUBLE.as_pointer(), INT.as_pointer()
    read, expected, written = (
        (numbers, places, places, numbers, places),
        (numbers, places, numbers, places, places),
        (numbers, places, places),
    )
    kind = ir.FunctionType(ir.VoidType(), [*read, *expected, *written, INT, INT, ir.IntType(1)])
    function = ir.Function(module, kind, name)
    function.linkage = "internal"
    function.attributes.add("noinline")
    function.attributes.add("optsize")  # a loop that is unrolled has more sums than registers
    Panel(function, rows, max(1, width), is_max, is_short=width == 0).write()
    return function


class Panel:
    """The code of one shape of panels.

    Args:
        function: the function that is written; its arguments are those of `panel_product`, arrays at their first entry.
        rows, width: the number of rows and vectors.
        is_max: whether products are maximized, and not added up.
        is_short: whether only the first numbers of a vector are read and written.
    """

    def __init__(self, function: Any, rows: int, width: int, is_max: bool, *, is_short: bool) -> None:
        self.function, self.rows, self.width, self.is_max = function, rows, width, is_max
        self.builder = ir.IRBuilder(function.append_basic_block("entry"))
        self.mask = self._mask(function.args[-2]) if is_short else None

    def write(self) -> None:
        """Write one pass over the terms, with all sums in registers; then write the sums."""
        w, rows, inner, v, steps, *rest = self.function.args
        next_w, next_rows, *next_out, out, places, columns, depth, _, adds = rest
        builder = self.builder
        bases = [builder.gep(w, [self._load(rows, i)]) for i in range(self.rows)]
        for pointer in chain(*self._targets(*next_out)):
            self._expect(pointer, True)
        before, body, after = builder.block, *map(self.function.append_basic_block, ("terms", "results"))
        builder.branch(body)
        builder.position_at_end(body)
        term = builder.phi(INT)
        sums = [[builder.phi(VECTOR) for _ in range(self.width)] for _ in range(self.rows)]
        place = builder.load(builder.gep(inner, [term]))
        self._expect_rows(next_w, next_rows, term, place)
        found = self._terms(bases, place, builder.gep(v, [builder.load(builder.gep(steps, [term]))]), sums)
        following = builder.add(term, _number(1))
        zero = ir.Constant(VECTOR, [0.0] * LANES)  # no product is negative
        carried = ((phi, zero, value) for phi, value in zip(chain(*sums), chain(*found), strict=True))
        for phi, first, then in ((term, _number(0), following), *carried):
            phi.add_incoming(first, before)
            phi.add_incoming(then, body)
        builder.cbranch(builder.icmp_signed("<", following, depth), body, after)
        builder.position_at_end(after)
        if self.mask is not None:
            self._write(found, self._targets(out, places, columns), False)
            builder.ret_void()
            return
        with builder.if_else(adds) as (then, otherwise):
            for block, is_more in ((then, True), (otherwise, False)):
                with block:
                    self._write(found, self._targets(out, places, columns), is_more)
        builder.ret_void()

    def _mask(self, lanes: Any) -> Any:
        """Which numbers of a vector are used: the first."""
        words = ir.VectorType(INT, LANES)
        single = self.builder.insert_element(ir.Constant(words, ir.Undefined), lanes, ir.Constant(WORD, 0))
        every = self.builder.shuffle_vector(single, single, ir.Constant(ir.VectorType(WORD, LANES), [0] * LANES))
        return self.builder.icmp_signed("<", ir.Constant(words, list(range(LANES))), every)

    def _load(self, array: Any, place: int) -> Any:
        return self.builder.load(self.builder.gep(array, [_number(place)]))

    def _expect(self, pointer: Any, is_written: bool) -> None:
        """Have the line of a number brought from memory while others are multiplied."""
        raw = self.builder.bitcast(pointer, ir.IntType(8).as_pointer())
        kind = ir.FunctionType(ir.VoidType(), [raw.type, WORD, WORD, WORD])
        fetch = cgutils.get_or_insert_function(self.builder.module, kind, "llvm.prefetch.p0i8")
        self.builder.call(fetch, [raw, *(ir.Constant(WORD, x) for x in (int(is_written), 3, 1))])

    def _expect_rows(self, w: Any, rows: Any, term: Any, place: Any) -> None:
        """With every term that of one of the next rows: all of their lines, if terms or rows are neighbors."""
        turn = self.builder.and_(term, _number(self.rows - 1))
        start = self.builder.gep(w, [self.builder.load(self.builder.gep(rows, [turn]))])
        self._expect(self.builder.gep(start, [place]), False)

    def _targets(self, out: Any, places: Any, columns: Any) -> list[list[Any]]:
        """Where the vectors of each row are written."""
        starts = [self._load(columns, j) for j in range(self.width)]
        rows = [self.builder.gep(out, [self._load(places, i)]) for i in range(self.rows)]
        return [[self.builder.gep(row, [start]) for start in starts] for row in rows]

    def _terms(self, bases: list[Any], place: Any, v: Any, sums: list[list[Any]]) -> list[list[Any]]:
        """The sums with one more term."""
        vectors = [self._vector(self.builder.gep(v, [_number(LANES * j)])) for j in range(self.width)]
        found = []
        for base, row in zip(bases, sums, strict=True):
            factor = self._spread(self.builder.load(self.builder.gep(base, [place])))
            found.append([self._added(factor, vector, old) for vector, old in zip(vectors, row, strict=True)])
        return found

    def _vector(self, pointer: Any) -> Any:
        """A vector in memory, at any place of a number; numbers that are not used are zero."""
        if self.mask is None:
            return _loaded(self.builder, pointer)
        place = self.builder.bitcast(pointer, VECTOR.as_pointer())
        return self._masked("load", VECTOR, [place, ir.Constant(WORD, 8), self.mask, ir.Constant(VECTOR, None)])

    def _masked(self, name: str, result: Any, args: list[Any]) -> Any:
        """A load or a store of some numbers of a vector."""
        kind = ir.FunctionType(result, [arg.type for arg in args])
        name = f"llvm.masked.{name}.v{LANES}f64.p0v{LANES}f64"
        return self.builder.call(cgutils.get_or_insert_function(self.builder.module, kind, name), args)

    def _spread(self, number: Any) -> Any:
        """A vector of one number."""
        undefined = ir.Constant(VECTOR, ir.Undefined)
        single = self.builder.insert_element(undefined, number, ir.Constant(WORD, 0))
        lanes = ir.Constant(ir.VectorType(WORD, LANES), [0] * LANES)
        return self.builder.shuffle_vector(single, undefined, lanes)

    def _added(self, a: Any, b: Any, old: Any) -> Any:
        """The sum with a product, or the larger of the two."""
        if self.is_max:
            return self._larger(self.builder.fmul(a, b), old)
        kind = ir.FunctionType(VECTOR, [VECTOR] * 3)
        fused = cgutils.get_or_insert_function(self.builder.module, kind, f"llvm.fmuladd.v{LANES}f64")
        return self.builder.call(fused, [a, b, old])

    def _larger(self, new: Any, old: Any) -> Any:
        return self.builder.select(self.builder.fcmp_ordered(">", new, old), new, old)

    def _write(self, found: list[list[Any]], targets: list[list[Any]], is_more: bool) -> None:
        """Write the sums, or add them to what is there."""
        for value, pointer in zip(chain(*found), chain(*targets), strict=True):
            if is_more:
                old = self._vector(pointer)
                value = self._larger(value, old) if self.is_max else self.builder.fadd(old, value)
            if self.mask is None:
                _store(self.builder, value, pointer)
            else:
                place = self.builder.bitcast(pointer, VECTOR.as_pointer())
                self._masked("store", ir.VoidType(), [value, place, ir.Constant(WORD, 8), self.mask])
