r"""How cells go missing: mechanisms as values, and masks drawn from them.

Each variable $X$ that can be hidden has an indicator $O_X$, true where its cell is observed. A mechanism is the
distribution $P_{\text{missing}}(\mathbf O \mid \mathbf X)$, one conditional probability per column. Missing
*completely* at random: it depends on nothing. Missing *at random*: on cells that are seen. Missing *not* at random: on
what it hides.

Reference: Koller & Friedman, section 19.1; Rubin (1976).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.arraytypes import AnyArray, Bools
from sepset.base.checks import generator
from sepset.base.foreign import translated
from sepset.base.frozen import fill
from sepset.base.text import brief, listing, nearest
from sepset.cpds.table import TableCPD
from sepset.data.dataset import Dataset
from sepset.data.sources import as_dataset
from sepset.errors import DataError, ModelError, NotApplicable, ScopeError
from sepset.factors.algebra import AnyVariable, Columns
from sepset.variables.variable import Discrete, VariableLike, listed

Probability: TypeAlias = float | ArrayLike | Mapping[Any, float] | Callable[..., ArrayLike]
"""A number, an array over states, a mapping from states, or a function of columns."""


@translated
def observability_indicator(variable: AnyVariable) -> Discrete:
    r"""The variable $O_X$ that says whether $X$ is observed.

    Reference: Koller & Friedman, definition 19.1.
    Guarantee: exact.
    Tested by: learning/missing/test_mechanisms.py::test_at_random_follows_the_observed_column

    >>> observability_indicator(Discrete("coin"))
    Discrete('coin(observed)', (False, True))
    """
    return Discrete(variable.base, (False, True), index=variable.index, lag=variable.lag, part="observed")


@dataclass(frozen=True, slots=True, eq=False)
class Hiding:
    r"""The probability $P(O_X = \text{false} \mid \mathbf u)$ that a cell is hidden.

    Args:
        probability: a number; with discrete `given`, an array with an axis for each of them or a mapping from their
            states (tuples, where there are several); or a function of the columns of `given` (states or numbers, row by
            row) that gives one probability per row.
        given: the variables $\mathbf U$ it depends on: columns, or indicators of columns hidden before.

    >>> Hiding({"low": 0.1, "high": 0.6}, given="income").given
    ('income',)
    """

    probability: Probability
    given: tuple[VariableLike, ...] = ()

    def __init__(self, probability: Probability, given: VariableLike | Iterable[VariableLike] = ()) -> None:
        several = tuple(listed(given))
        fill(self, probability=probability, given=several)
        if callable(probability) and not several:
            raise ModelError("A probability that is a function needs columns to depend on: say given=.")
        if isinstance(probability, int | float) and not 0.0 <= probability <= 1.0:
            raise ModelError(f"The probability that a cell is hidden lies between 0 and 1; found {probability!r}.")

    def cpd(self, variable: AnyVariable, find: Callable[[VariableLike], AnyVariable]) -> TableCPD:
        r"""The table $P(O_X \mid \mathbf U)$; a function of columns has none."""
        parents = tuple(find(name) for name in self.given)
        reals = [p.name for p in parents if not isinstance(p, Discrete)]
        if callable(self.probability) or reals:
            raise NotApplicable(
                f"The hiding of {variable.name!r} given {listing(p.name for p in parents)} has no table. Give discrete "
                "variables and one number for each of their joint states."
            )
        return TableCPD(observability_indicator(variable), _hidden_rows(self.probability), given=parents)  # type: ignore[arg-type]

    def _drawn(
        self, variable: AnyVariable, find: Callable[[VariableLike], AnyVariable], rows: _Rows, rng: np.random.Generator
    ) -> Bools:
        """Whether each row's cell is observed."""
        if not callable(self.probability):
            cpd = self.cpd(variable, find)
            return np.asarray(cpd.sample({p: rows.codes(p) for p in cpd.parents}, rows.num_rows, rng) == 1)
        found = self.probability(*(rows.readable(find(name)) for name in self.given))
        try:
            chance = np.asarray(found, dtype=np.float64)
        except (TypeError, ValueError):
            what = f"one number per row; its function gave {brief(found)}"
            raise DataError(f"The hiding of {variable.name!r} is {what}.") from None
        if chance.shape != (rows.num_rows,) or not ((chance >= 0) & (chance <= 1)).all():
            raise DataError(
                f"The hiding of {variable.name!r} is {rows.num_rows} numbers from 0 to 1, one per row; its function "
                f"gave the shape {chance.shape}{'' if not chance.size else f' from {chance.min()} to {chance.max()}'}."
            )
        return rng.random(rows.num_rows) >= chance


@runtime_checkable
class Mechanism(Protocol):
    """A rule by which cells go missing."""

    def hidings(self, variables: Iterable[AnyVariable]) -> dict[str, Hiding]:
        """The hiding of each column, by name; columns without one are always observed."""


@dataclass(frozen=True, slots=True)
class MCAR:
    r"""Missing completely at random: $P_{\text{missing}} \models (\mathbf O \perp \mathbf X)$.

    Args:
        probability: of hiding a cell; one for all columns, or a mapping by name, others always observed.

    Reference: Koller & Friedman, definition 19.2.
    Guarantee: exact draws.
    Tested by: learning/missing/test_mechanisms.py::test_at_random_follows_the_observed_column

    >>> hide_cells(Dataset({"coin": ["head"] * 8}), MCAR(0.5), seed=1).num_missing
    {'coin': 4}
    """

    probability: float | Mapping[str, float] = 0.1

    def hidings(self, variables: Iterable[AnyVariable]) -> dict[str, Hiding]:
        """The hiding of each column, by name."""
        if isinstance(self.probability, Mapping):
            return {name: Hiding(p) for name, p in self.probability.items()}
        return {v.name: Hiding(self.probability) for v in variables}


@dataclass(frozen=True, slots=True)
class MAR:
    r"""Missing at random: whether a cell is hidden depends only on columns that are always observed.

    This is the variable-level condition, $\mathbf O \perp \mathbf X_{\text{hid}} \mid \mathbf X_{\text{obs}}$ with one
    set of observed columns for all rows; it implies the event-level one that `is_mar` checks.

    Args:
        columns: how each column is hidden; none of them may be given to another.

    Reference: Koller & Friedman, definition 19.3.
    Guarantee: exact draws.
    Tested by: learning/missing/test_mechanisms.py::test_at_random_follows_the_observed_column

    >>> rows = Dataset({"age": ["young", "old"] * 4, "income": ["low", "high"] * 4})
    >>> hide_cells(rows, MAR({"income": Hiding({"young": 0.0, "old": 1.0}, given="age")})).num_missing
    {'age': 0, 'income': 4}
    """

    columns: Mapping[str, Hiding] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, hiding in self.columns.items():
            for given in hiding.given:
                if _base_name(given) in self.columns:
                    raise ModelError(
                        f"The hiding of {name!r} depends on {_name(given)!r}, a column that is hidden too; then cells "
                        "are not missing at random by form. Use MNAR, and let is_mar decide."
                    )

    def hidings(self, variables: Iterable[AnyVariable]) -> dict[str, Hiding]:
        """The hiding of each column, by name."""
        return dict(self.columns)


@dataclass(frozen=True, slots=True)
class MNAR:
    r"""Missing by any rule: a hiding may depend on the hidden value itself, on other hidden columns and on indicators.

    The general form. Whether a rule is at random all the same, `is_mar` tells (a study that people leave once and for
    all, for reasons that were recorded before, is).

    Args:
        columns: how each column is hidden; indicators given to one are those of columns before it.

    Reference: Koller & Friedman, section 19.1.2.
    Guarantee: exact draws.
    Tested by: learning/missing/test_mechanisms.py::test_at_random_follows_the_observed_column

    >>> rows = Dataset({"income": ["low", "high"] * 4})
    >>> hide_cells(rows, MNAR({"income": Hiding([1.0, 0.0], given="income")}))["income"].tolist()[:2]
    ['low', None]
    """

    columns: Mapping[str, Hiding] = field(default_factory=dict)

    def hidings(self, variables: Iterable[AnyVariable]) -> dict[str, Hiding]:
        """The hiding of each column, by name."""
        return dict(self.columns)


@dataclass(slots=True)
class _Rows:
    """The columns of a dataset and the indicators drawn so far."""

    data: Dataset
    indicators: Columns = field(default_factory=dict)

    @property
    def num_rows(self) -> int:
        """The number of rows."""
        return self.data.num_rows

    def find(self, name: VariableLike) -> AnyVariable:
        """The column or indicator of this name."""
        known: dict[str, AnyVariable] = {v.name: v for v in (*self.indicators, *self.data.variables)}
        asked = _name(name)
        if asked not in known:
            raise ScopeError(f"There is no column {asked!r} to depend on.{nearest(asked, known)}")
        return known[asked]

    def codes(self, variable: AnyVariable) -> AnyArray:
        """The codes of a discrete column or indicator; missing ones are refused."""
        if variable in self.indicators:
            return self.indicators[variable]
        self._refuse_missing(variable)
        return self.data.codes(variable)

    def readable(self, variable: AnyVariable) -> AnyArray:
        """States or numbers; missing ones are refused."""
        if variable in self.indicators:
            return np.asarray(self.indicators[variable] == 1)
        self._refuse_missing(variable)
        return self.data[variable]

    def _refuse_missing(self, variable: AnyVariable) -> None:
        absent = self.data.is_missing(variable)
        if absent.any():
            raise DataError(
                f"A hiding depends on {variable.name!r}, which is missing in row {int(np.argmax(absent))}; its "
                "probability there is unknown. Mask complete columns."
            )


@translated
def hide_cells(data: object, mechanism: Mechanism, *, seed: int | np.random.Generator = 0) -> Dataset:
    r"""The rows with cells hidden by a mechanism: $Y_i = X_i$ where $O_i$ holds, and missing elsewhere.

    Cells that were missing stay missing.

    Args:
        data: a dataset, or any frame.
        mechanism: `MCAR`, `MAR` or `MNAR`.
        seed: a number or a generator.

    Cost: one pass a hidden column. Reference: Koller & Friedman, definition 19.1.
    Reference: Koller & Friedman def. 19.1-19.3.
    Guarantee: exact draws, deterministic.
    Tested by: learning/missing/test_mechanisms.py::test_at_random_follows_the_observed_column

    >>> hide_cells({"coin": ["head", "tail"]}, MCAR(1.0))["coin"].tolist()
    [None, None]
    """
    rows = _Rows(as_dataset(data))
    rng = generator(seed)
    columns = {v.name: rows.data.column(v) for v in rows.data.variables}
    for name, hiding in mechanism.hidings(rows.data.variables).items():
        variable = rows.data.variables[name]
        seen = hiding._drawn(variable, rows.find, rows, rng)
        rows.indicators[observability_indicator(variable)] = seen.astype(np.int64)
        columns[name] = np.where(seen, columns[name], -1 if isinstance(variable, Discrete) else np.nan)
    return Dataset.from_codes(rows.data.variables, columns, weights=rows.data.weights) if columns else rows.data


def _hidden_rows(probability: Any) -> Any:
    """Rows (hidden, observed) of a table over an indicator."""
    if isinstance(probability, Mapping):
        return {states: (p, 1.0 - p) for states, p in probability.items()}
    hidden = np.asarray(probability, dtype=np.float64)
    return np.stack([hidden, 1.0 - hidden], axis=-1)


def _name(variable: VariableLike) -> str:
    return variable if isinstance(variable, str) else variable.name


def _base_name(variable: VariableLike) -> str:
    """The column that a variable is, or is the indicator of."""
    if isinstance(variable, Discrete) and variable.part:
        return Discrete(variable.base, variable.domain, index=variable.index, lag=variable.lag).name
    return _name(variable)
