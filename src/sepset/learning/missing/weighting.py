r"""Inverse-probability weights: complete cases made to stand for those that are not.

Where cells $\mathbf Z$ are missing at random given columns $\mathbf V$ that are always observed, a row in which they
are all there counts $w = 1 / P(\mathbf O_Z = \text{true} \mid \mathbf v)$ times. Weighted averages over such rows are
consistent: $E[\mathbf 1\{\mathbf O_Z\}\, w\, f(\mathbf Z, \mathbf V)] = E[f(\mathbf Z, \mathbf V)]$.

Reference: Horvitz & Thompson (1952); Seaman & White (2013).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Literal, TypeAlias

import numpy as np

from sepset.base.arraytypes import Bools, Floats
from sepset.base.checks import one_of
from sepset.base.display import Shown
from sepset.base.foreign import translated
from sepset.base.text import listing
from sepset.data.dataset import Dataset
from sepset.data.sources import as_dataset
from sepset.errors import DataError, NotApplicable
from sepset.factors.algebra import AnyVariable
from sepset.inference.result import Guarantee
from sepset.learning.assessment import Assessment
from sepset.variables.variable import Discrete, VariableLike, listed

Form: TypeAlias = Literal["table", "logistic"]

STEPS = 100
"""The most Newton steps of a logistic regression."""


@dataclass(frozen=True, eq=False, repr=False)
class CaseWeights(Assessment):
    r"""The weights of complete cases, and the probabilities they come from.

    Attributes:
        weights: one per row, zero where a cell is missing; times the dataset's own weights, where it has some.
        probabilities: $P(\mathbf O_Z = \text{true} \mid \mathbf v)$, one per row.
        is_complete: which rows have all cells.
    """

    weights: Floats = field()
    probabilities: Floats
    _: KW_ONLY
    is_complete: Bools

    def __post_init__(self) -> None:
        for array in (self.weights, self.probabilities, self.is_complete):
            array.setflags(write=False)

    @property
    def effective_sample_size(self) -> float:
        r"""$(\sum w)^2 / \sum w^2$: how many equally weighted rows would say as much.

        Reference: Kish (1965).
        """
        square = float((self.weights**2).sum())
        return float(self.weights.sum()) ** 2 / square if square else 0.0

    def __repr__(self) -> str:
        return (
            f"CaseWeights({int(self.is_complete.sum())} of {len(self.weights)} rows complete, "
            f"effective sample size {self.effective_sample_size:.1f})"
        )

    def _shown(self) -> Shown:
        used = self.weights[self.is_complete]
        rows = [
            ("rows", f"{len(self.weights):,}"),
            ("complete", f"{int(self.is_complete.sum()):,}"),
            ("weights", f"{used.min():.4g} to {used.max():.4g}" if used.size else "none"),
            ("effective sample size", f"{self.effective_sample_size:.1f}"),
        ]
        return Shown((), rows, "Weights of complete cases")


@translated
def inverse_probability_weights(
    data: object,
    variables: VariableLike | Iterable[VariableLike],
    *,
    given: VariableLike | Iterable[VariableLike] = (),
    form: Form | None = None,
) -> CaseWeights:
    r"""The weights $1 / P(\mathbf O_Z = \text{true} \mid \mathbf v)$ of rows in which all of `variables` are observed.

    Estimates that use them are consistent where cells are missing at random given $\mathbf V$, every $\mathbf v$ has
    some chance of a complete row, and the form can express the probability.

    Args:
        data: a dataset, or any frame.
        variables: the columns $\mathbf Z$ that an estimate needs.
        given: columns $\mathbf V$ without missing cells that missingness may depend on.
        form: "table", one frequency a joint state of discrete $\mathbf V$ (the default for them); or "logistic", a
            regression on the states and numbers of $\mathbf V$ without interactions.

    Reference: Seaman & White (2013).
    Guarantee: consistent under MAR given the columns.
    Tested by: learning/missing/test_weighting.py::test_weights_are_one_over_the_share_of_complete_rows

    >>> rows = {"age": ["young"] * 4 + ["old"] * 4, "income": ["low", "high", "low", "low", "high", None, None, None]}
    >>> inverse_probability_weights(rows, "income", given="age").weights.tolist()
    [1.0, 1.0, 1.0, 1.0, 4.0, 0.0, 0.0, 0.0]
    """
    rows = as_dataset(data)
    asked, known = ([rows.variables.named(v) for v in listed(names)] for names in (variables, given))
    complete = np.logical_not(rows.select(asked).mask.any(axis=1)) if asked else np.ones(rows.num_rows, np.bool_)
    share = np.ones(rows.num_rows) if rows.weights is None else rows.weights
    rows.select(known).require_complete("The probability that cells are observed")
    chosen = (
        one_of("form", form, ("table", "logistic"))
        if form is not None
        else ("table" if all(isinstance(v, Discrete) for v in known) else "logistic")
    )
    if one_of("form", chosen, ("table", "logistic")) == "table":
        chance = _table(rows, known, complete, share)
    else:
        chance = _logistic(_design(rows, known), complete, share)
    weight = np.divide(share, chance, out=np.zeros(rows.num_rows), where=complete)
    return CaseWeights(weight, chance, is_complete=complete, guarantees={"weights": Guarantee.ESTIMATE})


def _table(rows: Dataset, given: Sequence[AnyVariable], complete: Bools, share: Floats) -> Floats:
    """The weighted share of complete rows among those with the same states."""
    reals = [v.name for v in given if not isinstance(v, Discrete)]
    if reals:
        raise NotApplicable(f"A table takes discrete columns; {listing(reals)} are real. Use form='logistic'.")
    if not rows.num_rows:
        return np.zeros(0)
    place = np.zeros(rows.num_rows, np.int64)
    for variable in given:
        assert isinstance(variable, Discrete)
        _, place = np.unique(place * variable.num_states + rows.codes(variable), return_inverse=True)
    total = np.bincount(place, share)
    seen = np.bincount(place, share * complete)
    never = np.flatnonzero((seen == 0) & (total > 0))
    if len(never):
        row = rows.row(int(np.argmax(place == never[0])))
        where = ", ".join(f"{v.name}={row[v.name]!r}" for v in given) or "any row"
        raise DataError(
            f"No row is complete where {where}, so that no weight can make up for those "
            f"{int((place == never[0]).sum())} rows. Depend on fewer columns, or use EM."
        )
    return np.divide(seen, total, out=np.ones_like(total), where=total > 0)[place]


def _design(rows: Dataset, given: Sequence[AnyVariable]) -> Floats:
    """A column of ones, one per state but the first of each discrete variable, and standardized numbers."""
    columns = [np.ones(rows.num_rows)]
    for variable in given:
        if isinstance(variable, Discrete):
            codes = rows.codes(variable)
            columns += [(codes == code).astype(np.float64) for code in range(1, variable.num_states)]
        else:
            values = rows.values(variable)
            spread = values.std() if rows.num_rows else 0.0
            columns.append((values - values.mean()) / spread if spread > 0 else np.zeros(rows.num_rows))
    return np.stack(columns, axis=1)


def _logistic(design: Floats, complete: Bools, share: Floats) -> Floats:
    """The fitted probabilities of a weighted logistic regression, by Newton's method with step halving."""
    if complete.all():
        return np.ones(len(design))
    beta = np.zeros(design.shape[1])
    value = _loss(design, complete, share, beta)
    for _ in range(STEPS):
        chance = _sigmoid(design @ beta)
        slope = design.T @ (share * (complete - chance))
        curve = (design * (share * chance * (1.0 - chance))[:, None]).T @ design
        step = np.linalg.lstsq(curve, slope, rcond=None)[0]
        size = 1.0
        while (new := _loss(design, complete, share, beta + size * step)) > value and size > 1e-8:
            size /= 2
        beta = beta + size * step
        if abs(value - new) <= 1e-12 * (1.0 + abs(new)):
            break
        value = new
    found = _sigmoid(design @ beta)
    if (found[complete] < 1e-8).any() or (np.abs(design @ beta) > 30).any():
        raise DataError(
            "The given columns tell with certainty which rows are complete, so that no weight can make up for the "
            "others. Depend on fewer columns, or use EM."
        )
    return found


def _sigmoid(z: Floats) -> Floats:
    return np.asarray(np.exp(-np.logaddexp(0.0, -z)))


def _loss(design: Floats, complete: Bools, share: Floats, beta: Floats) -> float:
    z = design @ beta
    return float(share @ (np.logaddexp(0.0, z) - complete * z))
