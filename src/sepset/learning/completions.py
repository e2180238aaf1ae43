r"""The E-step of networks with real variables: hidden states one by one, missing numbers in closed form.

A row's hidden states $\mathbf h$ are enumerated; given all states the real variables are jointly normal, so that
missing numbers have a normal distribution given those found:

$$P(\mathbf h \mid \mathbf o) \propto P(\mathbf h, \mathbf o_d)\, N(\mathbf o_c; \mu_{\mathbf h}, \Sigma_{\mathbf h}),
\qquad E[\mathbf z \mathbf z^\top] = \hat{\mathbf z} \hat{\mathbf z}^\top + \text{Cov}(\mathbf z \mid \mathbf o_c).$$

Exact; the cost grows with the number of joint hidden states of a row.

Reference: Koller & Friedman, sections 14.2 and 19.2.2; Dempster, Laird & Rubin (1977).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sepset.cpds.cpd import CPD
from sepset.cpds.discrete import decode
from sepset.cpds.linear import LinearGaussian
from sepset.data.dataset import Dataset
from sepset.errors import TooLarge
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


@dataclass(frozen=True, slots=True, eq=False)
class Pattern:
    """Rows that miss the same cells: which states and which numbers."""

    rows: Ints
    states: tuple[Discrete, ...]
    numbers: tuple[Vector, ...]

    @property
    def num_completions(self) -> int:
        """How many joint hidden states there are."""
        return math.prod(v.num_states for v in self.states)


@dataclass(frozen=True, eq=False)
class Completions:
    """The E-step over distinct rows, pattern by pattern."""

    blocks: Reestimation
    columns: Columns = field(repr=False)
    weights: Array = field(repr=False)
    patterns: tuple[Pattern, ...] = field(repr=False)

    @classmethod
    def of(cls, task: Task) -> Completions:
        """The E-step of a task's rows; those of weight zero are left out."""
        columns, weights = _distinct(task.dataset, task.row_weights)
        patterns = tuple(_patterns(task.template, columns, len(weights)))
        for pattern in patterns:
            _check(pattern)
        blocks = Reestimation.of(task.template, lambda cpd: _family(cpd, columns))
        return cls(blocks, columns, weights, patterns)

    def expect(self, model: BayesNet, rows: Ints | None = None) -> Expected:
        """The expected statistics at these parameters, of all rows or of some."""
        chosen = None if rows is None else np.isin(np.arange(len(self.weights)), rows)
        total: list[Any] = [0.0] * len(model.cpds)
        log_likelihood = 0.0
        for pattern in self.patterns:
            part = pattern.rows if chosen is None else pattern.rows[chosen[pattern.rows]]
            if len(part):
                log_likelihood += self._add(model, pattern, part, total)
        return Expected(self.blocks.pooled(total, float(self.weights.sum())), log_likelihood)

    def _add(self, model: BayesNet, pattern: Pattern, rows: Ints, total: list[Any]) -> float:
        """Add the statistics of one pattern's rows; their log-likelihood."""
        parts = [self._completed(model, pattern, rows, h) for h in range(pattern.num_completions)]
        logs = np.stack([log for _, log in parts], axis=1)
        top = logs.max(axis=1)
        refuse_impossible(top)
        shares = np.exp(logs - top[:, None])
        mass = shares.sum(axis=1)
        weights = self.weights[rows]
        for h, (numbers, _) in enumerate(parts):
            share = weights * shares[:, h] / mass
            if share.any():
                for i, (family, cpd) in enumerate(zip(self.blocks.families, model.cpds, strict=True)):
                    total[i] = total[i] + _statistics(family, cpd, numbers, share)
        return float(weights @ (top + np.log(mass)))

    def complete(self, model: BayesNet) -> Expected:
        """The statistics of the rows completed by their most probable values, and the log density of all that."""
        total: list[Any] = [0.0] * len(model.cpds)
        score = 0.0
        for pattern in self.patterns:
            rows = pattern.rows
            parts = [self._completed(model, pattern, rows, h) for h in range(pattern.num_completions)]
            logs = np.stack([log + numbers.log_peak for numbers, log in parts], axis=1)
            best = logs.argmax(axis=1)
            score += float(self.weights[rows] @ logs[np.arange(len(rows)), best])
            for h, (numbers, _) in enumerate(parts):
                share = np.where(best == h, self.weights[rows], 0.0)
                if share.any():
                    for i, (family, cpd) in enumerate(zip(self.blocks.families, model.cpds, strict=True)):
                        total[i] = total[i] + _statistics(family, cpd, numbers.certain(), share)
        return Expected(self.blocks.pooled(total, float(self.weights.sum())), score)

    def _completed(self, model: BayesNet, pattern: Pattern, rows: Ints, h: int) -> tuple[Numbers, Array]:
        """The rows with hidden states number `h` and expected numbers, and the log density of what was found."""
        columns = {v: c[rows] for v, c in self.columns.items()}
        codes = decode(np.array([h]), pattern.states)
        columns.update({v: np.full(len(rows), codes[v][0]) for v in pattern.states})
        log = np.zeros(len(rows))
        for cpd in model.cpds:
            if not isinstance(cpd, LinearGaussian):
                log += cpd.log_probability({v: columns[v] for v in cpd.scope})
        lines = [cpd for cpd in model.cpds if isinstance(cpd, LinearGaussian)]
        numbers = conditional_numbers(lines, columns, pattern.numbers, len(rows))
        return numbers, log + numbers.log_density


def _statistics(family: Any, cpd: CPD, numbers: Numbers, share: Array) -> Array:
    if isinstance(family, GaussianFamily):
        return family.expected(cpd, numbers, share)
    return np.asarray(family.complete(cpd, {v: numbers.columns[v] for v in cpd.scope}, share))


def _family(cpd: CPD, columns: Columns) -> Estimated:
    if not isinstance(cpd, LinearGaussian):
        return family_of(cpd)
    centers = [columns[v][~np.isnan(columns[v])] for v in (*cpd.given, cpd.child)]
    spread = float(centers[-1].var()) if len(centers[-1]) else 0.0
    return GaussianFamily(np.array([c.mean() if len(c) else 0.0 for c in centers]), COLLAPSED * spread)


def _distinct(dataset: Dataset, weights: Array | None) -> tuple[Columns, Array]:
    """The different rows as columns, missing codes -1 and missing numbers NaN, and the weight of each."""
    columns: Columns = {v: np.asarray(dataset.column(v)) for v in dataset.variables}
    plain = [np.where(np.isnan(c), np.nan, c) if c.dtype.kind == "f" else c.astype(np.int64) for c in columns.values()]
    bits = (
        np.column_stack([p.view(np.int64) for p in plain]).view(np.int32) if plain else np.zeros((dataset.num_rows, 0))
    )
    first, which = distinct_rows(bits.astype(np.int32, copy=False))
    weight = np.bincount(which, weights, len(first)).astype(np.float64)
    kept = weight > 0
    codes: Columns = {v: c[first][kept] for v, c in columns.items()}
    return {v: c if c.dtype.kind == "f" else c.astype(np.int64) for v, c in codes.items()}, weight[kept]


def _patterns(template: BayesNet, columns: Columns, num_rows: int) -> Iterator[Pattern]:
    variables = tuple(template.variables)
    missing = [np.isnan(columns[v]) if columns[v].dtype.kind == "f" else columns[v] < 0 for v in variables]
    mask = np.column_stack([-m.astype(np.int32) for m in missing]) if missing else np.zeros((num_rows, 0), np.int32)
    first, which = np.unique(mask, axis=0, return_inverse=True)
    for number, absent in enumerate(first < 0):
        hidden = [v for v, a in zip(variables, absent, strict=True) if a]
        states = tuple(v for v in hidden if isinstance(v, Discrete))
        numbers = tuple(v for v in hidden if isinstance(v, Vector))
        yield Pattern(np.flatnonzero(which.reshape(-1) == number), states, numbers)


def _check(pattern: Pattern) -> None:
    if pattern.num_completions > LARGEST:
        raise TooLarge(
            f"Row {int(pattern.rows[0])} hides {len(pattern.states)} discrete variables with "
            f"{pattern.num_completions:,} joint states; beside real variables EM enumerates at most {LARGEST:,}. "
            "Drop such rows, hide fewer variables at once, or discretize the real variables."
        )
