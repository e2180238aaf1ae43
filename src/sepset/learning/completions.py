r"""The E-step of networks with real variables: hidden states one by one, missing numbers in closed form.

A row's hidden states $\mathbf h$ are enumerated; given all states the real variables are jointly normal, so that
missing numbers have a normal distribution given those found:

$$P(\mathbf h \mid \mathbf o) \propto P(\mathbf h, \mathbf o_d)\, N(\mathbf o_c; \mu_{\mathbf h}, \Sigma_{\mathbf h}),
\qquad E[\mathbf z \mathbf z^\top] = \hat{\mathbf z} \hat{\mathbf z}^\top + \text{Cov}(\mathbf z \mid \mathbf o_c).$$

Exact; the cost grows with the number of joint hidden states of a row.

Reference: Koller & Friedman, sections 14.2 and 19.2.2; Dempster, Laird & Rubin (1977).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sepset.cpds.cpd import CPD
from sepset.cpds.linear import LinearGaussian
from sepset.data.dataset import Dataset
from sepset.errors import DataError, TooLarge
from sepset.factors.algebra import Columns
from sepset.inference.batch import refuse_impossible
from sepset.inference.findings import distinct_rows
from sepset.learning.expectation import Expected
from sepset.learning.families import Estimated, family_of
from sepset.learning.gaussianfamily import GaussianFamily, Numbers, conditional_numbers
from sepset.learning.reestimation import Reestimation
from sepset.learning.task import Task
from sepset.models.bayesnet import BayesNet
from sepset.variables import Discrete, Vector

Array: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]

COLLAPSED = 1e-12
"""A variance this much smaller than that of the whole column is zero."""

LARGEST = 2**16
"""The most joint hidden states of one row."""

CHUNK = 2**17
"""About how many completed rows are held at a time."""


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
    log_joint: Array

    def posterior(self) -> tuple[Array, Array]:
        """The probability of each choice given its row, and each row's log density."""
        top = np.maximum.reduceat(self.log_joint, self.starts)
        refuse_impossible(top, self.places)
        share = np.exp(self.log_joint - top[self.owner])
        mass = np.add.reduceat(share, self.starts)
        return share / mass[self.owner], top + np.log(mass)

    def best(self) -> tuple[Array, Array]:
        """One for the most probable choice of each row (the first of equals), and the log density of all of it."""
        log = self.log_joint + self.numbers.log_peak
        top = np.maximum.reduceat(log, self.starts)
        refuse_impossible(top, self.places)
        first = np.unique(self.owner[log == top[self.owner]], return_index=True)[1]
        chosen = np.zeros(len(log))
        chosen[np.flatnonzero(log == top[self.owner])[first]] = 1.0
        return chosen, top


@dataclass(frozen=True, eq=False)
class Completions:
    """The E-step over different rows, all choices of hidden states at once.

    Attributes:
        blocks: the parameter blocks.
        columns: the rows, missing codes -1 and missing numbers NaN.
        weights: of each row.
        places: where each row is first met in the data.
        patterns: rows that miss the same numbers, with those.
        choices: how many joint hidden states each row has.
    """

    blocks: Reestimation
    columns: Columns = field(repr=False)
    weights: Array = field(repr=False)
    places: Ints = field(repr=False)
    patterns: tuple[tuple[Ints, tuple[Vector, ...]], ...] = field(repr=False)
    choices: Ints = field(repr=False)

    @classmethod
    def of(cls, task: Task) -> Completions:
        """The E-step of a task's rows; those of weight zero are left out."""
        columns, weights, places = _distinct(task.dataset, task.row_weights)
        blocks = Reestimation.of(task.template, lambda cpd, first: _family(cpd, first, columns))
        patterns = tuple(_patterns(columns, len(weights)))
        return cls(blocks, columns, weights, places, patterns, _choices(columns, len(weights)))

    def expect(self, model: BayesNet, rows: Ints | None = None) -> Expected:
        """The expected statistics at these parameters, of all rows or of some."""
        total: list[Any] = [0.0] * len(model.cpds)
        log_likelihood = 0.0
        for part in self._completed(model, rows):
            share, logs = part.posterior()
            self._add(model, part.numbers, share * self.weights[part.rows][part.owner], total)
            log_likelihood += float(self.weights[part.rows] @ logs)
        return Expected(self.blocks.pooled(total, float(self.weights.sum())), log_likelihood)

    def complete(self, model: BayesNet) -> Expected:
        """The statistics of the rows completed by their most probable values, and the log density of all that."""
        total: list[Any] = [0.0] * len(model.cpds)
        score = 0.0
        for part in self._completed(model, None):
            share, logs = part.best()
            self._add(model, part.numbers.certain(), share * self.weights[part.rows][part.owner], total)
            score += float(self.weights[part.rows] @ logs)
        return Expected(self.blocks.pooled(total, float(self.weights.sum())), score)

    def _add(self, model: BayesNet, numbers: Numbers, weights: Array, total: list[Any]) -> None:
        for i, (family, cpd) in enumerate(zip(self.blocks.families, model.cpds, strict=True)):
            total[i] = total[i] + _statistics(family, cpd, numbers, weights)

    def _completed(self, model: BayesNet, rows: Ints | None) -> Iterator[Completed]:
        """The rows in chunks, completed in every way."""
        for members, missing in self.patterns:
            chosen = members if rows is None else members[np.isin(members, rows)]
            for part in self._chunks(chosen):
                yield self._chunk(model, part, missing)

    def _chunks(self, rows: Ints) -> Iterator[Ints]:
        if len(rows):
            number = np.cumsum(self.choices[rows]) // CHUNK
            yield from np.split(rows, np.flatnonzero(np.diff(number)) + 1)

    def _chunk(self, model: BayesNet, rows: Ints, missing: tuple[Vector, ...]) -> Completed:
        choices = self.choices[rows]
        starts = np.concatenate([[0], np.cumsum(choices)[:-1]]).astype(np.int64)
        owner = np.repeat(np.arange(len(rows)), choices)
        columns = _filled(self.columns, rows[owner], np.arange(len(owner)) - starts[owner])
        log = np.zeros(len(owner))
        for cpd in model.cpds:
            if not isinstance(cpd, LinearGaussian):
                log += cpd.log_probability({v: columns[v] for v in cpd.scope})
        lines = [cpd for cpd in model.cpds if isinstance(cpd, LinearGaussian)]
        numbers = conditional_numbers(lines, columns, missing, len(owner))
        return Completed(rows, self.places[rows], owner, starts, numbers, log + numbers.log_density)


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


def _statistics(family: Any, cpd: CPD, numbers: Numbers, weights: Array) -> Array:
    if isinstance(family, GaussianFamily):
        return family.expected(cpd, numbers, weights)
    return np.asarray(family.complete(cpd, {v: numbers.columns[v] for v in cpd.scope}, weights))


def _family(cpd: CPD, first: CPD, columns: Columns) -> Estimated:
    """How to see a CPD; lines of one block are about the centers of the first."""
    if not isinstance(first, LinearGaussian):
        return family_of(cpd)
    centers = [columns[v][~np.isnan(columns[v])] for v in (*first.given, first.child)]
    spread = float(centers[-1].var()) if len(centers[-1]) else 0.0
    return GaussianFamily(np.array([c.mean() if len(c) else 0.0 for c in centers]), COLLAPSED * spread)


def _distinct(dataset: Dataset, weights: Array | None) -> tuple[Columns, Array, Ints]:
    """The different rows as columns, missing codes -1 and missing numbers NaN, the weight of each, and its place."""
    columns: Columns = {v: np.asarray(dataset.column(v)) for v in dataset.variables}
    for variable, column in columns.items():
        if column.dtype.kind == "f" and np.isinf(column).any():
            row = int(np.argmax(np.isinf(column)))
            raise DataError(f"Column {variable.name!r}, row {row}: {column[row]} is no number to learn from. Drop it.")
    plain = [np.where(np.isnan(c), np.nan, c) if c.dtype.kind == "f" else c.astype(np.int64) for c in columns.values()]
    bits = np.column_stack([p.view(np.int64) for p in plain]).view(np.int32)
    first, which = distinct_rows(bits)
    weight = np.bincount(which, weights, len(first)).astype(np.float64)
    kept = weight > 0
    codes: Columns = {v: c[first][kept] for v, c in columns.items()}
    plain_codes: Columns = {v: c if c.dtype.kind == "f" else c.astype(np.int64) for v, c in codes.items()}
    return plain_codes, weight[kept], np.asarray(first)[kept]


def _patterns(columns: Columns, num_rows: int) -> Iterator[tuple[Ints, tuple[Vector, ...]]]:
    """The rows that miss the same numbers, and whose these are."""
    real = [v for v in columns if isinstance(v, Vector)]
    missing = np.column_stack([np.zeros(num_rows, np.bool_), *(np.isnan(columns[v]) for v in real)])
    kinds, which = np.unique(missing, axis=0, return_inverse=True)
    for number, absent in enumerate(kinds[:, 1:]):
        yield np.flatnonzero(which.reshape(-1) == number), tuple(v for v, a in zip(real, absent, strict=True) if a)


def _choices(columns: Columns, num_rows: int) -> Ints:
    """How many joint hidden states each row has; too many are refused."""
    number = np.ones(num_rows)
    hidden = np.zeros(num_rows, np.int64)
    for variable, column in columns.items():
        if isinstance(variable, Discrete):
            number *= np.where(column < 0, variable.num_states, 1)
            hidden += column < 0
    if num_rows and number.max() > LARGEST:
        worst = int(number.argmax())
        raise TooLarge(
            f"A row hides {hidden[worst]} discrete variables with {number[worst]:,.0f} joint states; beside real "
            f"variables EM enumerates at most {LARGEST:,}. Drop such rows, or discretize the real variables."
        )
    return number.astype(np.int64)
