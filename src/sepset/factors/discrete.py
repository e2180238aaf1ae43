"""Shared parts of dense and sparse tables: indexing by name, answers about probabilities, and displays."""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Self

import numpy as np

from sepset.base import axes as charts
from sepset.base.arraytypes import AnyInts, Floats, Ints
from sepset.base.axes import axes_of, check_bars, is_crowded, named_columns, named_rows
from sepset.base.checks import fraction, generator, whole
from sepset.base.display import Report, Shown, plain
from sepset.base.entries import Entries
from sepset.base.extras import frame
from sepset.base.frozen import Frozen
from sepset.base.memory import check_rows_fit, row_blocks
from sepset.base.text import brief, joined, listing
from sepset.errors import NotClosed, ScopeError, StateError
from sepset.factors import information
from sepset.factors.algebra import Assignment, Conditional, axis_of, find, num_entries
from sepset.factors.labels import FEW, MOST_SHOWN, cut, one_line, short
from sepset.factors.rows import ranks
from sepset.semiring import MAX, SUM, Semiring
from sepset.variables.variable import Discrete, State, VariableLike, listed

MOST_FILLED = 1 << 20
"""The most joint states of a sparse table that are listed, zeros too, for a mutual information."""


class DiscreteFactor(Entries, Frozen, Report):
    """A factor over discrete variables, whatever its storage: `Table` or `SparseTable`.

    Its keys are the states of its variable, or the joint states of several as tuples.
    """

    __slots__ = ()
    __array_ufunc__ = None  # so that a number of NumPy times a factor is a factor
    scope: tuple[Discrete, ...]

    @property
    @abstractmethod
    def size(self) -> int:
        """How many entries it stores."""

    @property
    @abstractmethod
    def values(self) -> Floats:
        """The stored values; entries outside float64 become 0 or inf."""

    @property
    @abstractmethod
    def log_values(self) -> Floats:
        """The logarithms of the stored values; zeros are -inf."""

    @property
    @abstractmethod
    def log_total(self) -> float:
        """The logarithm of the sum of all values."""

    @abstractmethod
    def cells(self, limit: int | None = None) -> tuple[Ints, Floats]:
        """The first `limit` stored entries in C order, as codes `[m, arity]` and values `[m]`."""

    @abstractmethod
    def log_at(self, codes: AnyInts) -> Floats:
        """The logarithm of the value at each row of codes, one column per variable of the scope."""

    @abstractmethod
    def marginalize(self, out: Iterable[VariableLike], semiring: Semiring = SUM) -> Self:
        """The factor with `out` summed (or maximized) away."""

    @abstractmethod
    def eliminate(self, out: Iterable[VariableLike], semiring: Semiring = SUM) -> tuple[Conditional, Self]:
        """The conditional of `out` given the rest, and the rest."""

    @abstractmethod
    def align(self, scope: Iterable[VariableLike]) -> Self:
        """The same factor with its axes in another order."""

    @abstractmethod
    def condition(self, assignment: Assignment) -> Self:
        """The factor at these states; variables outside the scope are ignored."""

    @abstractmethod
    def normalize(self, over: Iterable[VariableLike] | None = None) -> Self:
        """The factor divided by its sum, or by its sums over `over` given the rest."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of states along each axis."""
        return tuple(v.num_states for v in self.scope)

    def collapse(self, out: Iterable[VariableLike]) -> Self:
        """The marginal: tables are closed under summation."""
        return self.marginalize(out)

    def project(self, kept: Iterable[VariableLike], semiring: Semiring = SUM) -> Self:
        """The marginal over `kept`, in that order."""
        names = listed(kept)
        keep = tuple(self.scope[axis_of(self.scope, v)] for v in names)
        inside = {v.name for v in keep}
        return self.marginalize([v for v in self.scope if v.name not in inside], semiring).align(keep)

    def _codes(self, assignment: Assignment) -> dict[str, int]:
        """The codes of an assignment's variables that are in the scope, by name."""
        if not hasattr(assignment, "items"):
            raise ScopeError(f"An assignment is a mapping of variables to states; found {brief(assignment)}.")
        codes: dict[str, int] = {}
        for key, state in assignment.items():
            axis = find(self.scope, key)
            if axis >= 0:
                variable = self.scope[axis]
                codes[variable.name] = variable.code(state)
        return codes

    def _point(self, assignment: Assignment) -> list[int]:
        """The codes of an assignment of the whole scope, in axis order."""
        codes = self._codes(assignment)
        if len(codes) != len(self.scope):
            missing = [v.name for v in self.scope if v.name not in codes]
            raise ScopeError(
                f"A value needs a state of every variable; missing {listing(missing)}. `condition` gives the factor of "
                "the rest."
            )
        return [codes[v.name] for v in self.scope]

    def log_value(self, assignment: Assignment) -> float:
        """The logarithm of the value at an assignment of the whole scope; -inf for a zero."""
        return float(self.log_at(np.array([self._point(assignment)], np.int64))[0])

    @abstractmethod
    def value(self, assignment: Assignment) -> float:
        """The value at an assignment of the whole scope."""

    def __getitem__(self, key: State | tuple[State, ...] | Mapping[Any, Any]) -> float:
        """The value at a state (one variable), or at an assignment of the whole scope, as a mapping or in order."""
        if isinstance(key, Mapping):
            for variable in key:
                axis_of(self.scope, variable)
            return self.value(key)
        if len(self.scope) == 1:
            return self.value({self.scope[0]: key})
        if isinstance(key, tuple) and len(key) == len(self.scope):
            return self.value(dict(zip(self.scope, key, strict=True)))
        names = joined(v.name for v in self.scope)
        raise ScopeError(
            f"A bare state needs a table of one variable; this one has ({names}). Index with a mapping, or with one "
            "state of each in this order."
        )

    def keys(self) -> tuple[Any, ...]:
        """The states of one variable, or the joint states of several as tuples."""
        return tuple(self)

    def __iter__(self) -> Iterator[Any]:
        domains = [v.states for v in self.scope]
        return iter(domains[0]) if len(domains) == 1 else itertools.product(*domains)

    def __len__(self) -> int:
        return num_entries(self.scope)

    def __bool__(self) -> bool:
        return True

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self._dense(), dtype=dtype, copy=True) if copy else np.asarray(self._dense(), dtype=dtype)

    def _dense(self) -> Floats:
        """All values, with one axis per variable."""
        dense = np.zeros(self.shape)
        codes, values = self.cells()
        dense[tuple(codes.T)] = values
        return dense

    def __float__(self) -> float:
        if num_entries(self.scope) != 1:
            raise TypeError(f"Only a table with one entry is a number; {self!r} has {num_entries(self.scope)}.")
        return float(self.values.sum())

    def _probabilities(self) -> Floats:
        """The stored values divided by their sum, flat."""
        return np.asarray(self.normalize().values).reshape(-1)

    def entropy(self) -> float:
        r"""$H = -\sum p \log p$ of the normalized factor, in nats.

        Reference: Koller & Friedman 8.4.1, A.1.1.
        Guarantee: exact.
        Tested by: factors/test_information.py::test_figures_are_the_oracles
        """
        return information.entropy(self._probabilities())

    def mutual_information(
        self, xs: Iterable[VariableLike], ys: Iterable[VariableLike], given: Iterable[VariableLike] = ()
    ) -> float:
        r"""$I(X; Y \mid Z) = H(X \mid Z) - H(X \mid Y, Z)$ of the normalized factor, with digits also if it is small.

        Of a sparse table over more than `MOST_FILLED` joint states it is a difference of entropies: right to about
        1e-16 nats for each nat of these, so that an information below 1e-10 has few digits.

        Reference: Koller & Friedman A.1.2.
        Guarantee: exact.
        Tested by: factors/test_information.py::test_mutual_information_is_entropy_saved_either_way
        """
        z = self._chosen(given)
        x, y = ([v for v in self._chosen(part) if v not in z] for part in (xs, ys))
        both = [v for v in x if v in y]
        if both:  # a variable tells everything about itself
            first, second = ([v for v in part if v not in both] for part in (x, y))
            return self.conditional_entropy(both, z) + self.mutual_information(first, second, given=[*z, *both])
        joint = self.project([*z, *x, *y]).align([*z, *x, *y])
        if num_entries(joint.scope) > max(MOST_FILLED, joint.size):
            return max(joint.conditional_entropy(x, z) - joint.conditional_entropy(x, [*z, *y]), 0.0)
        dense = np.zeros(num_entries(joint.scope))
        dense[joint._ranks(joint.scope)] = joint._probabilities()
        return information.mutual_information(dense.reshape([num_entries(part) for part in (z, x, y)]))

    def conditional_entropy(self, xs: Iterable[VariableLike], given: Iterable[VariableLike]) -> float:
        r"""$H(X \mid Z) = -\sum p(x, z) \log p(x \mid z)$ of the normalized factor."""
        z = self._chosen(given)
        scope = [*z, *(v for v in self._chosen(xs) if v not in z)]
        joint = self.project(scope).align(scope)
        return information.conditional_entropy(joint._probabilities(), joint._ranks(z))

    def _chosen(self, variables: Iterable[VariableLike]) -> list[Discrete]:
        return [self.scope[axis] for axis in sorted({axis_of(self.scope, v) for v in listed(variables)})]

    def _ranks(self, first: Sequence[Discrete]) -> Ints:
        """For each stored value a number of the joint state of the first variables, the same for the same state."""
        if self.size == num_entries(self.scope):
            return np.arange(self.size) // num_entries(self.scope[len(first) :])
        found = ranks(self.cells()[0][:, : len(first)], [v.num_states for v in first])
        return found if num_entries(first) <= MOST_FILLED else np.unique(found, return_inverse=True)[1]

    def _numeric(self) -> tuple[Floats, Floats]:
        """The numeric states and probabilities of a factor over one variable, in increasing order of state."""
        if len(self.scope) != 1:
            raise ScopeError(f"This needs a table of one variable; {self!r} has {len(self.scope)}. Use project first.")
        variable = self.scope[0]
        if any(isinstance(s, str) for s in variable.states):
            raise StateError(f"{variable.name} has states {listing(variable.states)}, which are not numbers.")
        codes, values = self.normalize().cells()
        states = np.array(variable.states, dtype=np.float64)[codes[:, 0]]
        order = np.argsort(states, kind="stable")
        return states[order], values[order]

    def mean(self) -> float:
        """The expectation of a factor over one variable with numeric states."""
        states, probabilities = self._numeric()
        return float(probabilities @ states)

    def interval(self, level: float = 0.95) -> tuple[State, State]:
        """The central interval of states of one numeric variable with at least this probability."""
        states, probabilities = self._numeric()
        cumulative = np.cumsum(probabilities)
        tail = (1.0 - fraction("level", level, ends=True)) / 2.0
        # Rounding must not push an end past a state that the tail reaches exactly.
        low = int(np.searchsorted(cumulative, tail + 1e-15))
        high = int(np.searchsorted(cumulative, 1.0 - tail - 1e-15))
        by_number = {float(s): s for s in self.scope[0].states}
        last = len(states) - 1
        return by_number[states[min(low, last)]], by_number[states[min(high, last)]]

    def mode(self) -> State | dict[str, State]:
        """The most probable state (of one variable) or assignment; the first on ties."""
        if self.log_total == -np.inf:
            raise NotClosed(f"{self!r} is zero everywhere and has no mode. Check the evidence or the factors.")
        best = self.eliminate(self.scope, MAX)[0].mode({}, 1)
        states = {v.name: v.states[int(best[v][0])] for v in self.scope}
        return next(iter(states.values())) if len(states) == 1 else states

    def sample(self, num_rows: int, seed: int | np.random.Generator = 0) -> dict[str, list[State]]:
        """Independent draws of the scope, as lists of states by name."""
        check_rows_fit(whole("num_rows", num_rows), 9 * max(1, len(self.scope)))  # lists have room to grow
        rng, conditional = generator(seed), self.eliminate(self.scope)[0]
        found: dict[str, list[State]] = {v.name: [] for v in self.scope}
        for rows in row_blocks(num_rows, len(self.scope)):
            drawn = conditional.sample({}, rows.stop - rows.start, rng)
            for v in self.scope:
                found[v.name] += [v.states[code] for code in drawn[v].tolist()]
        return found

    def plot(self, ax: Any = None) -> Any:
        """A bar chart of a factor over one variable, or a heat map over two, on matplotlib axes."""
        if len(self.scope) not in (1, 2):
            raise ScopeError(f"Only tables of one or two variables have a picture; {self!r} has {len(self.scope)}.")
        check_bars(max(v.num_states for v in self.scope))
        axes, last = axes_of(ax), self.scope[-1]
        dense = self._dense()
        if len(self.scope) == 1:
            _bar_chart(axes, dense, last, grow=ax is None)
        else:
            _heat_map(axes, dense, self.scope[0], last)
        return axes

    def to_frame(self, kind: str = "pandas") -> Any:
        """One row per stored entry: a column per variable, and `value` (`value_` where a variable has that name)."""
        codes, values = self.cells()
        columns: dict[str, list[Any]] = {
            v.name: [v.states[code] for code in codes[:, axis].tolist()] for axis, v in enumerate(self.scope)
        }
        return frame({**columns, self._title: values.tolist()}, kind)

    @property
    def _title(self) -> str:
        """The title of the values, which no variable has."""
        title = "value"
        while any(v.name == title for v in self.scope):
            title += "_"
        return title

    def to_dict(self) -> dict[str, Any]:
        """The variables and a row for each stored entry, as `to_frame` has them.

        >>> from sepset.factors.table import Table
        >>> Table(Discrete("coin", ("head", "tail")), [0.25, 0.75]).to_dict()["values"][0]
        {'coin': 'head', 'value': 0.25}
        """
        names = [v.name for v in self.scope]
        entries = (zip(names, states, strict=True) for states, _ in self._entries(self.size))
        values = self.cells()[1].tolist()
        rows = [plain({**dict(states), self._title: value}) for states, value in zip(entries, values, strict=True)]
        return {"variables": names, "values": rows}

    def _entries(self, limit: int) -> Iterator[tuple[tuple[State, ...], float]]:
        """The first `limit` stored entries in C order, as (states, value)."""
        codes, values = self.cells(limit)
        for row, value in zip(codes.tolist(), values.tolist(), strict=True):
            yield tuple(v.states[code] for v, code in zip(self.scope, row, strict=True)), value

    def in_words(self, limit: int = FEW) -> str:
        """The first values with their states in one line.

        >>> from sepset.factors.table import Table
        >>> Table(Discrete("coin", ("head", "tail")), [0.25, 0.75]).in_words()
        'head 0.25, tail 0.75'
        """
        parts = [
            " ".join([*map(one_line, states), f"{value:.4g}"]) for states, value in self._entries(whole("limit", limit))
        ]
        return ", ".join([*parts, *(["..."] if self.size > limit else [])])

    def _shown(self) -> Shown:
        entries = list(self._entries(MOST_SHOWN))
        cells = [(*map(str, states), f"{value:.6g}") for states, value in entries]
        bars = self._bars([value for _, value in entries]) if len(self.scope) == 1 else ()
        head = (*(v.name for v in self.scope), "value")
        return Shown(head, cells, short(self), cut(self.size, "entries"), words=len(self.scope), bars=bars)

    def _bars(self, values: list[float]) -> list[float]:
        """Each value as a share of one, or of the largest if that is more."""
        top = max(float(self.values.max(initial=0.0)), 1.0)
        return [value / top if 0.0 < top < np.inf else float(value == top > 0.0) for value in values]

    def __repr__(self) -> str:
        return short(self)


def _bar_chart(axes: Any, values: Floats, variable: Discrete, *, grow: bool) -> None:
    """Upright bars; lying ones where the names of the states need more room."""
    names = [str(state) for state in variable.states]
    if not is_crowded(names):
        axes.bar(range(len(names)), values)
        named_columns(axes, names)
        axes.set(xlabel=charts.plain(variable.name), ylabel="value")
    else:
        axes.barh(range(len(names)), values)
        named_rows(axes, names, grow=grow)
        axes.set(ylabel=charts.plain(variable.name), xlabel="value")


def _heat_map(axes: Any, dense: Floats, rows: Discrete, columns: Discrete) -> None:
    """Colors from zero, with the numbers in them where there are few."""
    image = axes.imshow(dense, aspect="auto", cmap="Blues", vmin=min(0.0, float(dense.min(initial=0.0))))
    named_columns(axes, [str(state) for state in columns.states])
    named_rows(axes, [str(state) for state in rows.states])
    axes.set(xlabel=charts.plain(columns.name), ylabel=charts.plain(rows.name), ylim=(rows.num_states - 0.5, -0.5))
    axes.figure.colorbar(image, ax=axes, label="value")
    if dense.size > MOST_NUMBERS:
        return
    middle = (image.norm.vmin + image.norm.vmax) / 2.0
    for (row, column), value in np.ndenumerate(dense):
        color = "white" if value > middle else "black"
        axes.text(column, row, f"{value:.3g}", ha="center", va="center", color=color)


MOST_NUMBERS = 48
"""The largest number of entries of a heat map that are written into it."""
