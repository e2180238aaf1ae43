"""The values of a dtree's nodes, computed by the compiled recursion with a cache of fixed size."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

import numpy as np

from sepset.base.arraytypes import Floats, Int32s, Ints
from sepset.base.logarithms import LN2
from sepset.factors.table import Table
from sepset.inference import costs
from sepset.inference.exact.dtree import RESULT_BYTES, Dtree


class Recursion:
    """The values of a dtree's nodes for one set of tables; kept results persist between calls.

    Args:
        tree: the dtree.
        kept: the nodes whose results are kept.
        tables: the factors, in the order of `tree.homes`.
        maximized: the nodes whose variables are maximized instead of summed.

    Attributes:
        machine: the kernels, with the numbers that they use.
        cache, cache_exponents: the kept results, as values with powers of two.
    """

    def __init__(
        self, tree: Dtree, kept: Iterable[int], tables: Sequence[Table], maximized: Collection[int] = ()
    ) -> None:
        from sepset.kernels.exact import conditioning

        self.machine = conditioning
        self.tree = tree
        layout = _Layout(tree, list(kept), tables, maximized)
        self.num_entries = layout.num_entries
        self._fixed = layout.arrays()
        self.cache = np.zeros(layout.num_entries)
        self.cache_exponents = np.full(layout.num_entries, conditioning.EMPTY, np.int32)
        self._assigned = np.zeros(len(tree.names), np.int64)
        self._places = np.zeros(max(len(tables), 1), np.int64)
        self._work = np.zeros((max(len(tree), 1), 5), np.int64)
        self._sums = np.zeros((max(len(tree), 1), 2))
        self.num_steps = 0

    @property
    def num_bytes(self) -> int:
        """Bytes of all kept results."""
        return RESULT_BYTES * self.num_entries

    def profiles(self, node: int, rows: Ints) -> tuple[Floats, Ints]:
        r"""For each row of context states the value of every state of a node's variable, as mantissas and exponents.

        $$\prod_f \phi_f(x, \cdot) \prod_c V_c(x, \cdot)$$
        """
        shape = (len(rows), self.tree.cards[node])
        values, exponents = np.zeros(shape), np.zeros(shape, np.int64)
        machine = np.array([-1, 0, 0])
        state = (self.cache, self.cache_exponents, self._assigned, self._places, self._work, self._sums, machine)
        rows = np.ascontiguousarray(rows, np.int64)
        while not self.machine.run(node, rows, *self._fixed, *state, values, exponents, costs.STATES_UNINTERRUPTED):
            pass
        self.num_steps += int(machine[self.machine.STEPS])
        return values, exponents

    def log_profiles(self, node: int, rows: Ints) -> Floats:
        """The logarithms of `profiles`."""
        values, exponents = self.profiles(node, rows)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(values) + exponents * (self.machine.UNIT * LN2))

    def blocks(self, node: int) -> Iterator[tuple[slice, Ints]]:
        """All joint states of a node's context in C order, in chunks."""
        shape = tuple(self.tree.cards[v] for v in self.tree.contexts[node])
        total = self.tree.sizes[node]
        for start in range(0, total, costs.CONTEXTS_AT_ONCE):
            stop = min(start + costs.CONTEXTS_AT_ONCE, total)
            yield slice(start, stop), digits(np.arange(start, stop), shape)


def digits(places: Ints, shape: Sequence[int]) -> Ints:
    """The codes of flat C-order places, one column per axis."""
    codes = np.zeros((len(places), len(shape)), np.int64)
    for axis in range(len(shape) - 1, -1, -1):
        places, codes[:, axis] = np.divmod(places, shape[axis])
    return codes


class _Layout:
    """The integer arrays of the compiled recursion."""

    def __init__(self, tree: Dtree, kept: Sequence[int], tables: Sequence[Table], maximized: Collection[int]) -> None:
        self.tree = tree
        self.maximized = set(maximized)
        self.offset = dict(zip(kept, _starts([tree.sizes[node] for node in kept]), strict=False))
        self.num_entries = sum(tree.sizes[node] for node in kept)
        self.order = sorted((i for i, home in enumerate(tree.homes) if home >= 0), key=lambda i: tree.homes[i])
        self.tables = [tables[i] for i in self.order]

    def arrays(self) -> tuple[Ints, Ints, Ints, Ints, Ints, Floats, Int32s]:
        """Nodes, children, factors, their arguments, contexts, values and exponents."""
        factors, args = self._factors()
        values, exponents = _numbers(self.tables)
        children = [child for row in self.tree.children for child in row]
        contexts = [
            (v, stride)
            for context in self.tree.contexts
            for v, stride in zip(context, _strides([self.tree.cards[v] for v in context]), strict=True)
        ]
        return self._nodes(), _column(children), factors, args, _matrix(contexts, 2), values, exponents

    def _nodes(self) -> Ints:
        tree = self.tree
        homes = np.array([tree.homes[i] for i in self.order], np.int64)
        factor = np.searchsorted(homes, np.arange(len(tree) + 1))
        child = _starts([len(row) for row in tree.children])
        context = _starts([len(row) for row in tree.contexts])
        rows = [
            (
                *(tree.cards[i], tree.parents[i], child[i], child[i + 1], int(factor[i]), int(factor[i + 1])),
                *(context[i], context[i + 1], self.offset.get(i, -1), int(i in self.maximized)),
            )
            for i in range(len(tree))
        ]
        return _matrix(rows, 10)

    def _factors(self) -> tuple[Ints, Ints]:
        place = {name: i for i, name in enumerate(self.tree.names)}
        starts = _starts([table.size for table in self.tables])
        rows: list[tuple[int, int, int, int]] = []
        args: list[tuple[int, int]] = []
        for i, start, table in zip(self.order, starts, self.tables, strict=False):
            strides = dict(zip((place[v.name] for v in table.scope), _strides(table.shape), strict=True))
            own = strides.pop(self.tree.homes[i])
            rows.append((start, len(args), len(args) + len(strides), own))
            args.extend(strides.items())
        return _matrix(rows, 4), _matrix(args, 2)


def _numbers(tables: Sequence[Table]) -> tuple[Floats, Int32s]:
    """Every entry as a mantissa and an exponent in units of `UNIT` bits, zero unless the entry is extreme."""
    from sepset.kernels.exact.conditioning import UNIT

    values, exponents = [], []
    for table in tables:
        if table.space == "linear":
            mantissa, bits = np.frexp(table.flat)
            bits = bits.astype(np.int64) + table.exponent
        else:
            zero = np.isneginf(table.flat)
            logs = np.where(zero, 0.0, table.flat) / LN2
            bits = np.floor(logs).astype(np.int64)
            mantissa = np.where(zero, 0.0, np.exp2(logs - bits))
        units = np.rint(bits / UNIT).astype(np.int64)
        values.append(np.ldexp(mantissa, (bits - UNIT * units).astype(np.int32)))
        exponents.append(units.astype(np.int32))
    return np.concatenate([*values, np.zeros(1)]), np.concatenate([*exponents, np.zeros(1, np.int32)])


def _starts(lengths: Sequence[int]) -> list[int]:
    starts = [0]
    for length in lengths:
        starts.append(starts[-1] + length)
    return starts


def _strides(shape: Sequence[int]) -> list[int]:
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return strides[::-1]


def _column(numbers: Sequence[int]) -> Ints:
    return np.array([*numbers, 0], np.int64)


def _matrix(rows: Sequence[Sequence[int]], width: int) -> Ints:
    """The rows as a matrix with one extra row, so that it is never empty."""
    return np.array([*rows, (0,) * width], np.int64).reshape(-1, width)
