r"""Rows of networks with real variables, completed in every way: hidden states one by one, numbers in closed form.

A row's hidden states $\mathbf h$ are enumerated; given all states the real variables are jointly normal, so that
missing numbers have a normal distribution given those found:

$$P(\mathbf h \mid \mathbf o) \propto P(\mathbf h, \mathbf o_d)\, N(\mathbf o_c; \mu_{\mathbf h}, \Sigma_{\mathbf h}).$$

Exact; the cost grows with the number of joint hidden states of a row.

Reference: Koller & Friedman, section 14.2.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.cpds.lineargaussian import LinearGaussian
from sepset.errors import TooLarge
from sepset.factors.algebra import Columns, num_entries
from sepset.inference.conflict import refuse_impossible
from sepset.learning.incomplete.gaussianfamily import Numbers, conditional_numbers
from sepset.learning.incomplete.jointlines import JointLines
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete, Vector

LARGEST = 2**16
"""The most joint hidden states of one row."""

CHUNK = 2**17
"""About how many completed rows are held at a time."""

ENTRIES = 2**22
"""About how many entries of covariances are held at a time."""


@dataclass(frozen=True, slots=True, eq=False)
class Completed:
    """Some rows with every choice of their hidden states, the choices of one row next to each other.

    Attributes:
        rows: which rows.
        places: where each is first met in the data.
        owner: for each choice, the place of its row among `rows`.
        starts: where the choices of each row start.
        numbers: states and numbers of each choice, missing numbers replaced by their expectations.
        log_joint: the log density of what was found together with the hidden states.
    """

    rows: Ints
    places: Ints
    owner: Ints
    starts: Ints
    numbers: Numbers
    log_joint: Floats

    def posterior(self) -> tuple[Floats, Floats]:
        """The probability of each choice given its row, and each row's log density."""
        top = np.maximum.reduceat(self.log_joint, self.starts)
        refuse_impossible(top, self.places)
        share = np.exp(self.log_joint - top[self.owner])
        mass = np.add.reduceat(share, self.starts)
        return share / mass[self.owner], top + np.log(mass)

    def best(self) -> tuple[Floats, Floats]:
        """One for the most probable choice of each row (the first of equals), and the log density of all of it."""
        log = self.log_joint + self.numbers.log_peak
        top = np.maximum.reduceat(log, self.starts)
        refuse_impossible(top, self.places)
        first = np.unique(self.owner[log == top[self.owner]], return_index=True)[1]
        chosen = np.zeros(len(log))
        chosen[np.flatnonzero(log == top[self.owner])[first]] = 1.0
        return chosen, top


@dataclass(frozen=True, eq=False)
class RowChoices:
    """Rows with holes, and every choice of their hidden states.

    Attributes:
        columns: the rows, missing codes -1 and missing numbers NaN.
        places: the number of each row in the data.
        patterns: rows that miss the same numbers, with those.
        choices: how many joint hidden states each row has.
    """

    columns: Columns = field(repr=False)
    places: Ints = field(repr=False)
    patterns: tuple[tuple[Ints, tuple[Vector, ...]], ...] = field(repr=False)
    choices: Ints = field(repr=False)

    @classmethod
    def of(cls, columns: Columns, places: Ints) -> RowChoices:
        """The choices of these rows; a row with too many is refused."""
        number = num_choices(columns, len(places))
        return cls(columns, places, tuple(_patterns(columns, len(places))), _checked(columns, number))

    def completed(self, model: BayesNet, rows: Ints | None = None) -> Iterator[Completed]:
        """The rows, or some of them, in chunks, completed in every way at these parameters."""
        chosen = self._chosen(rows)
        pattern = self._pattern[chosen]
        for members in np.split(chosen, np.flatnonzero(np.diff(pattern)) + 1) if len(chosen) else ():
            for part in self._chunks(members):
                yield self._chunk(model, part, self.patterns[self._pattern[members[0]]][1])

    def together(self, model: BayesNet, rows: Ints | None = None) -> Iterator[Completed]:
        """As `completed`, with rows that miss different numbers in one chunk, where every line leaves something over.

        Then the covariances are about all numbers, zero for those that were found.
        """
        joint = JointLines.of([cpd for cpd in model.cpds if isinstance(cpd, LinearGaussian)])
        if joint is None or len(self.patterns) < 2:
            yield from self.completed(model, rows)
            return
        chosen = self._chosen(rows)
        for part in self._merged(chosen, self._pattern[chosen], joint):
            owner, starts, columns = self._choices(part)
            numbers = joint.completed(columns, self._pattern[part][owner])
            log = _log_states(model, columns, len(owner)) + numbers.log_density
            yield Completed(part, self.places[part], owner, starts, numbers, log)

    @cached_property
    def _ordered(self) -> Ints:
        """All rows, pattern by pattern."""
        return np.concatenate([np.zeros(0, np.int64), *(members for members, _ in self.patterns)])

    @cached_property
    def _pattern(self) -> Ints:
        """The number of each row's pattern."""
        pattern = np.empty(len(self.places), np.int64)
        for number, (members, _) in enumerate(self.patterns):
            pattern[members] = number
        return pattern

    @cached_property
    def _rank(self) -> Ints:
        """Where each row stands in that order."""
        rank = np.empty(len(self.places), np.int64)
        rank[self._ordered] = np.arange(len(rank))
        return rank

    def _chosen(self, rows: Ints | None) -> Ints:
        """All rows or some, pattern by pattern; the work is that of the rows chosen."""
        return self._ordered if rows is None else self._ordered[np.unique(self._rank[rows])]

    def _merged(self, rows: Ints, pattern: Ints, joint: JointLines) -> Iterator[Ints]:
        """Rows in chunks that bound both their choices and what their covariances take."""
        if not len(rows):
            return
        contexts = min(num_entries(joint.by), LARGEST)
        is_new = np.concatenate([[True], np.diff(pattern) != 0])
        share = self.choices[rows] / CHUNK + is_new * (contexts * len(joint.scope) ** 2 / ENTRIES)
        yield from np.split(rows, np.flatnonzero(np.diff(np.floor(np.cumsum(share)))) + 1)

    def _chunks(self, rows: Ints) -> Iterator[Ints]:
        if len(rows):
            number = np.cumsum(self.choices[rows]) // CHUNK
            yield from np.split(rows, np.flatnonzero(np.diff(number)) + 1)

    def _chunk(self, model: BayesNet, rows: Ints, missing: tuple[Vector, ...]) -> Completed:
        owner, starts, columns = self._choices(rows)
        lines = [cpd for cpd in model.cpds if isinstance(cpd, LinearGaussian)]
        numbers = conditional_numbers(lines, columns, missing, len(owner))
        log = _log_states(model, columns, len(owner)) + numbers.log_density
        return Completed(rows, self.places[rows], owner, starts, numbers, log)

    def _choices(self, rows: Ints) -> tuple[Ints, Ints, Columns]:
        """For each choice of hidden states its row's place among `rows`, where rows start, and all columns."""
        choices = self.choices[rows]
        starts = np.concatenate([[0], np.cumsum(choices)[:-1]]).astype(np.int64)
        owner = np.repeat(np.arange(len(rows)), choices)
        return owner, starts, _filled(self.columns, rows[owner], np.arange(len(owner)) - starts[owner])


def _log_states(model: BayesNet, columns: Columns, num_rows: int) -> Floats:
    """The log probability of the states."""
    log = np.zeros(num_rows)
    for cpd in model.cpds:
        if not isinstance(cpd, LinearGaussian):
            log += cpd.log_probability({v: columns[v] for v in cpd.scope})
    return log


def _filled(columns: Columns, rows: Ints, number: Ints) -> Columns:
    """The columns at these rows, with hidden states number `number` (the last variable fastest) in their holes."""
    filled: Columns = {}
    left = number
    for variable in reversed(columns):
        column = columns[variable][rows]
        if isinstance(variable, Discrete):
            hidden = column < 0
            column = np.where(hidden, left % variable.num_states, column)
            left = np.where(hidden, left // variable.num_states, left)
        filled[variable] = column
    return filled


def _patterns(columns: Columns, num_rows: int) -> Iterator[tuple[Ints, tuple[Vector, ...]]]:
    """The rows that miss the same numbers, and whose these are."""
    real = [v for v in columns if isinstance(v, Vector)]
    missing = np.column_stack([np.zeros(num_rows, np.bool_), *(np.isnan(columns[v]) for v in real)])
    kinds, which = np.unique(missing, axis=0, return_inverse=True)
    for number, absent in enumerate(kinds[:, 1:]):
        yield np.flatnonzero(which.reshape(-1) == number), tuple(v for v, a in zip(real, absent, strict=True) if a)


def num_choices(columns: Columns, num_rows: int) -> Floats:
    """How many joint hidden states each row has.

    >>> num_choices({Discrete("a", 3): np.array([-1, 0]), Discrete("b"): np.array([-1, -1])}, 2).tolist()
    [6.0, 2.0]
    """
    number = np.ones(num_rows)
    for variable, column in columns.items():
        if isinstance(variable, Discrete):
            number *= np.where(column < 0, variable.num_states, 1)
    return number


def _checked(columns: Columns, number: Floats) -> Ints:
    """The numbers of choices; too many are refused."""
    if len(number) and number.max() > LARGEST:
        worst = int(number.argmax())
        hidden = sum(int(c[worst] < 0) for v, c in columns.items() if isinstance(v, Discrete))
        raise TooLarge(
            f"A row hides {hidden} discrete variables with {number[worst]:,.0f} joint states; beside real variables at "
            f"most {LARGEST:,} are enumerated. Drop such rows, or discretize the real variables."
        )
    return number.astype(np.int64)
