r"""Observed information and standard errors: how well incomplete rows determine the parameters.

$$I(\hat\theta) = -\frac{\partial^2 \log P(\mathcal D \mid \theta)}{\partial \theta\, \partial \theta^\top}, \qquad
\text{Cov}(\hat\theta) \approx I(\hat\theta)^{-1}$$

The slope is exact (one E-step), its derivative by central differences, with steps that matter about as much to a row
whatever the units of the columns. The information of completed rows less that of these rows is the missing information;
its largest share is the rate at which EM converges. A direction in which these rows hold almost none of the information
of completed ones, or of which neither knows anything, is undetermined.

Reference: Louis (1982); Oakes (1999); Koller & Friedman, section 19.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.arraytypes import Bools, Floats
from sepset.base.display import Report, Shown
from sepset.base.entries import Answers
from sepset.base.foreign import translated
from sepset.base.text import nearest
from sepset.data.frames import in_row_order
from sepset.errors import ScopeError, TooLarge
from sepset.factors.labels import MOST_SHOWN, in_rows
from sepset.inference.method import Method
from sepset.inference.result import Guarantee, Result
from sepset.learning.incomplete.expectation import Expectation
from sepset.learning.optimize.vector import ParameterVector
from sepset.learning.task import Task
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete, VariableLike, Vector

STEP = 1e-4
"""The step of the central differences, in units that matter about as much to a row as a standard deviation."""

SINGULAR = 1e-7
"""The share of the information of completed rows at or below which a direction is undetermined."""

VISIBLE = 1e-5
"""The share of a parameter's change at or below which a direction does not move it."""

BORDER = 1e-12
"""The distance from zero or one within which a probability is on the boundary."""

LARGEST = 2_000
"""The largest number of parameters: each takes two E-steps."""


@dataclass(frozen=True, eq=False, repr=False)
class StandardErrorsResult(Result, Answers[str, Floats], Report):
    """The standard error of every parameter, by child; infinite where the rows do not determine it.

    Tables have the shape of their CPD; linear Gaussians have one row per context: intercept, coefficients, variance.
    Probabilities at zero or one are on the boundary, where standard errors are undefined: theirs are NaN.

    Attributes:
        information: the observed information of the coordinates without constraints.
        missing: the shares of information lost to missing cells, largest first; the first is EM's rate.
        num_unknown: the number of directions that the rows do not determine.
    """

    model: BayesNet
    errors: Mapping[str, Floats] = field(repr=False)
    _: KW_ONLY
    information: Floats = field(repr=False)
    missing: Floats = field(repr=False)
    num_unknown: int

    def __getitem__(self, key: VariableLike) -> Floats:
        name = key.name if isinstance(key, Discrete | Vector) else key
        if not isinstance(name, str) or name not in self.errors:
            raise ScopeError(f"There are no standard errors of {name!r}.{nearest(name, self.errors)}")
        return self.errors[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.errors)

    def __len__(self) -> int:
        return len(self.errors)

    @property
    def is_identified(self) -> bool:
        """Whether the rows determine every parameter near the estimate."""
        return self.num_unknown == 0

    def _shown(self) -> Shown:
        """The errors of each child in one line."""
        rows = [(name, in_rows(e.ravel().tolist(), e.size, e.shape[-1] if e.ndim else 1)) for name, e in self.items()]
        more = f"first {MOST_SHOWN} of {len(rows)} variables" if len(rows) > MOST_SHOWN else ""
        return Shown(("variable", "standard errors"), rows[:MOST_SHOWN], repr(self), more, words=2)

    def __repr__(self) -> str:
        rate = f"{round(float(self.missing[0]), 12):.3g}" if len(self.missing) else "0"
        known = "" if self.is_identified else f", {self.num_unknown} directions unknown"
        return f"StandardErrorsResult({self.model!r}; largest missing share {rate}{known})"


@translated
def standard_errors(
    model: BayesNet,
    data: object,
    *,
    weights: ArrayLike | None = None,
    method: Method | None = None,
    threads: int | None = None,
) -> StandardErrorsResult:
    """The standard errors of a network's parameters at a maximum of the likelihood, by observed information.

    With complete rows these are the textbook ones, $\\sqrt{\\theta(1 - \\theta) / M[\\mathbf u]}$ for a table.

    Args:
        model: the fitted network.
        data: the rows it was fitted to; cells may be missing.
        weights: one per row.
        method: the method of inference; clique trees by default. Errors by an approximate one are heuristic.
        threads: their number; one per processor by default.

    Cost: two E-steps per parameter.
    Reference: Oakes (1999), Direct calculation of the information matrix via the EM algorithm.
    Guarantee: numeric Hessian of exact gradients.
    Tested by: learning/incomplete/test_standarderrors.py::test_missing_cells_widen_them_as_a_numeric_hessian_says

    >>> from sepset.graphs.graph import DAG
    >>> from sepset.api.learning import fit
    >>> rows = {"coin": ["head", "tail", "tail", "tail"]}
    >>> standard_errors(fit(DAG.parse("coin"), rows).model, rows)["coin"].round(4).tolist()
    [0.2165, 0.2165]
    """
    share = None if weights is None else np.asarray(in_row_order(weights, data), dtype=np.float64)
    expectation = Expectation.of(Task(model, data, weights=share), inference=method, threads=threads)
    vector = ParameterVector.of(expectation.blocks)
    x = vector.pack(model)
    if len(x) > LARGEST:
        raise TooLarge(f"{len(x):,} parameters take as many pairs of E-steps; at most {LARGEST:,} are allowed.")
    stats = expectation.expect(model).statistics
    units, nothing = vector.units(model, stats), (None,) * len(stats)
    seen = _information(lambda at: _slope(expectation, vector, at), x, units)
    whole = _information(lambda at: vector.slope(vector.unpack(at), stats, nothing), x, units)
    natural = _derivative(lambda at: _flat(vector.written(vector.unpack(at))), x, units)
    scale = _scale(whole)
    observed, complete = (found * np.outer(scale, scale) for found in (seen, whole))
    errors, unknown = _errors(observed, natural * scale)
    errors[_on_border(vector, model)] = np.nan
    return StandardErrorsResult(
        model,
        _by_child(vector, model, errors),
        information=_in_coordinates(seen, units),
        missing=_missing(observed, complete),
        num_unknown=unknown,
        method=expectation.engine.method,
        guarantees={"errors": Guarantee.ESTIMATE if expectation.is_exact else Guarantee.HEURISTIC},
    )


def _slope(expectation: Expectation, vector: ParameterVector, x: Floats) -> Floats:
    model = vector.unpack(x)
    stats = expectation.expect(model).statistics
    return vector.slope(model, stats, (None,) * len(stats))


def _derivative(function: Callable[[Floats], Floats], x: Floats, units: Floats) -> Floats:
    """The Jacobian by central differences, one column per unit."""
    columns = [(function(x + step) - function(x - step)) / (2.0 * STEP) for step in STEP * units.T]
    return np.stack(columns, axis=1) if columns else np.zeros((0, 0))


def _information(slope: Callable[[Floats], Floats], x: Floats, units: Floats) -> Floats:
    """The negative derivative of the slope, both along the units."""
    return _symmetric(-units.T @ _derivative(slope, x, units)) if len(x) else np.zeros((0, 0))


def _in_coordinates(information: Floats, units: Floats) -> Floats:
    """Information along the units as that of the coordinates themselves."""
    half = np.linalg.solve(units.T, information)
    return _symmetric(np.linalg.solve(units.T, half.T))


def _scale(whole: Floats) -> Floats:
    """The factors that give each unit information one in completed rows; more than those where these hold none."""
    known = np.diagonal(whole)
    largest = float(known.max(initial=0.0))
    return 1.0 / np.sqrt(np.maximum(known, BORDER * largest)) if largest > 0 else np.ones(len(known))


def _symmetric(matrix: Floats) -> Floats:
    return np.asarray(0.5 * (matrix + matrix.T))


def _on_border(vector: ParameterVector, model: BayesNet) -> Bools:
    """Which natural parameters are probabilities of zero or one."""
    parts = [np.zeros(0, np.bool_)]
    for own in vector.blocks.firsts(model):
        values = own.written.reshape(-1)
        parts.append(own.are_probabilities & ((values < BORDER) | (values > 1.0 - BORDER)))
    return np.concatenate(parts)


def _flat(parts: Sequence[Floats]) -> Floats:
    return np.concatenate([np.zeros(0), *(part.reshape(-1) for part in parts)])


def _errors(observed: Floats, natural: Floats) -> tuple[Floats, int]:
    """The standard errors of the natural parameters, and the number of undetermined directions.

    Directions that change no parameter, such as equal additions to all logits of a row, are not counted.
    """
    if not len(observed):
        return np.zeros(len(natural)), 0
    size = np.sqrt((natural**2).sum(axis=1))
    moves = natural / np.where(size > 0, size, 1.0)[:, None]
    _, strength, basis = np.linalg.svd(moves, full_matrices=False)
    kept = basis[strength > VISIBLE].T
    values, vectors = np.linalg.eigh(kept.T @ observed @ kept)
    good, spread = values > SINGULAR, moves @ kept @ vectors
    variance = (spread[:, good] ** 2 / values[good]).sum(axis=1)
    lost = (np.abs(spread[:, ~good]) > VISIBLE).any(axis=1)
    return np.where(lost, np.inf, size * np.sqrt(variance)), int((~good).sum())


def _missing(observed: Floats, complete: Floats) -> Floats:
    """The shares of the completed rows' information that these rows do not have, largest first."""
    if not len(observed):
        return np.zeros(0)
    known, basis = np.linalg.eigh(complete)
    kept = known > SINGULAR
    root = basis[:, kept] / np.sqrt(known[kept])
    return np.sort(1.0 - np.linalg.eigvalsh(root.T @ observed @ root))[::-1]


def _by_child(vector: ParameterVector, model: BayesNet, errors: Floats) -> dict[str, Floats]:
    found: dict[str, Floats] = {}
    start = 0
    for members, part in zip(vector.blocks.members, vector.written(model), strict=True):
        own = errors[start : start + part.size].reshape(part.shape)
        start += part.size
        found |= {model.cpds[i].child.name: own for i in members}
    return found
