"""Evidence: findings about some variables, resolved once into codes and weights.

A bare value is a state, never an index. A set is a subset of states; `Not`, `Likelihood` and `Soft` are explicit.
None and NaN mean unobserved.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.base.frames import by_label, without_labels
from sepset.base.frozen import fill, unfrozen
from sepset.base.text import brief
from sepset.errors import ScopeError, StateError
from sepset.variables.universe import Universe
from sepset.variables.variable import Discrete, State, VariableLike, Vector


@dataclass(frozen=True, slots=True)
class Not:
    """Evidence that rules out the named states.

    >>> Not("C").states
    ('C',)
    """

    states: tuple[State, ...]

    def __init__(self, *states: State) -> None:
        if not states:
            raise StateError("Not() was given no state. Name at least one state to exclude, as in Not('C').")
        fill(self, states=states)


@dataclass(frozen=True, slots=True)
class Likelihood:
    r"""Virtual evidence: $\lambda(x) \propto P(\text{observation} \mid x)$, one non-negative weight per state.

    On a tuple of variables, as in `given={("a", "b"): Likelihood([[0.9, 0.1], [0.1, 0.9]])}`, it is about their joint
    states: an axis for each variable, or a mapping from tuples of states.

    >>> Likelihood([0.9, 0.1]).weights
    (0.9, 0.1)
    """

    weights: tuple[Any, ...] | Mapping[Any, float]

    def __init__(self, weights: Sequence[Any] | Mapping[Any, float] | Floats) -> None:
        fill(self, weights=_by_state(weights))


@dataclass(frozen=True, slots=True)
class Soft:
    """Jeffrey's rule: the variable's *posterior* becomes these probabilities, one per state.

    On a tuple of variables, as in `given={("a", "b"): Soft([[0.1, 0.2], [0.3, 0.4]])}`, it is their joint posterior:
    one number per joint state, an axis for each variable, or a mapping from tuples of states.

    >>> Soft({"low": 0.3, "high": 0.7}).probabilities
    {'low': 0.3, 'high': 0.7}
    """

    probabilities: tuple[Any, ...] | Mapping[Any, float]

    def __init__(self, probabilities: Sequence[Any] | Mapping[Any, float] | Floats) -> None:
        fill(self, probabilities=_by_state(probabilities))


def _by_state(values: Any) -> tuple[Any, ...] | Mapping[Any, float]:
    """The numbers by state where they are labeled, in a mapping or a pandas series, or in the order of the states."""
    named = by_label(values)
    if isinstance(named, Mapping):
        return dict(named)
    return _floats(without_labels(named, "numbers per joint state"))


def _floats(values: Iterable[Any]) -> tuple[Any, ...]:
    """The numbers as floats; those of joint states in tuples of tuples."""
    rows = values.tolist() if isinstance(values, np.ndarray) and values.ndim > 1 else values
    try:
        return tuple(_floats(v) if isinstance(v, list | tuple) else float(v) for v in rows)
    except (TypeError, ValueError):
        raise StateError(f"One number per state was expected; found {values!r}.") from None


Finding: TypeAlias = State | Set[State] | Not | Likelihood | Soft | float | Sequence[float] | Floats | None
"""A finding about one variable."""

Given: TypeAlias = (
    Mapping[VariableLike, Finding]
    | Mapping[str, Finding]
    | Mapping[str, object]
    | Mapping[VariableLike | tuple[VariableLike, ...], Finding]
    | Mapping[tuple[str, ...], Finding]
    | None
)
"""Evidence as the public functions take it; findings of several kinds under one name are objects to a type checker."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Evidence resolved against a model's variables, by position.

    Attributes:
        codes: hard findings about discrete variables.
        weights: subsets and likelihoods, one non-negative weight per state.
        soft: probabilities that a posterior must match.
        reals: hard findings about continuous variables.
        fitted: probabilities that weights were chosen to produce, for captions.
    """

    codes: Mapping[int, int] = field(default_factory=dict)
    weights: Mapping[int, Floats] = field(default_factory=dict)
    _: KW_ONLY
    soft: Mapping[int, Floats] = field(default_factory=dict)
    reals: Mapping[int, Floats] = field(default_factory=dict)
    fitted: Mapping[int, Floats] = field(default_factory=dict)

    @property
    def observed(self) -> tuple[int, ...]:
        """The positions of variables with one known value, in order."""
        if not self.reals and len(self.codes) < 2:
            return tuple(self.codes)
        return tuple(sorted({*self.codes, *self.reals} if self.reals else self.codes))

    @property
    def weighted(self) -> tuple[int, ...]:
        """The positions of variables with likelihoods, in order."""
        return tuple(sorted(self.weights)) if self.weights else ()

    @property
    def touched(self) -> tuple[int, ...]:
        """The positions of all variables with evidence, in order."""
        return tuple(sorted({*self.codes, *self.reals, *self.weights, *self.soft}))

    def free(self, positions: Iterable[int]) -> list[int]:
        """The positions of variables without a known value, in the order given."""
        return [v for v in positions if v not in self.codes and v not in self.reals]

    def with_codes(self, codes: Mapping[int, int]) -> tuple[Evidence, float]:
        """The evidence with some states known, and the log of the weight that likelihoods give these states."""
        if not codes:
            return self, 0.0
        weights = [float(row[codes[v]]) for v, row in self.weights.items() if v in codes]
        rest = {v: row for v, row in self.weights.items() if v not in codes}
        log_weight = math.fsum(map(math.log, weights)) if all(weights) else -math.inf
        return replace(self, codes={**self.codes, **codes}, weights=rest), log_weight

    def __bool__(self) -> bool:
        return bool(self.codes or self.weights or self.soft or self.reals)


_UNFROZEN = unfrozen(Evidence)

KINDS = ("codes", "weights", "soft", "reals")
"""The parts of evidence."""


@runtime_checkable
class Row(Protocol):
    """A row of a frame, such as a pandas Series: labels with values, as in a mapping."""

    def items(self) -> Iterable[tuple[Any, Any]]:
        """The labels with their values."""

    def keys(self) -> Iterable[Any]:
        """The labels."""


def resolve(given: Given, variables: Universe) -> Evidence:
    """`given` as codes and weights; an unknown name or state raises an error that names the nearest valid one.

    >>> from sepset.variables.variable import Discrete
    >>> resolve({"g": {"A", "B"}}, Universe([Discrete("g", "ABC")])).weights[0].tolist()
    [1.0, 1.0, 0.0]
    """
    codes: dict[int, int] = {}
    numbers: tuple[dict[int, Floats], dict[int, Floats], dict[int, Floats]] = ({}, {}, {})
    given = one_row(given)
    if given is not None and type(given) is not dict and not isinstance(given, Mapping | Row):
        raise ScopeError(
            f"Evidence is a mapping from variables to states, as in {{'xray': 'yes'}}; found {brief(given)}."
        )
    seen: set[int] = set()
    for name, finding in () if given is None else given.items():
        usual = variables._find_state(name, finding) if type(name) is type(finding) is str else None
        position = variables.id(name) if usual is None else usual[0]  # type: ignore[arg-type]  # joints are refused there
        if position in seen:
            raise ScopeError(f"{variables[position].name} appears twice in the evidence. Give one finding for it.")
        seen.add(position)
        if usual is not None:
            codes[position] = usual[1]
        elif not is_missing(finding):
            _add(variables[position], position, finding, codes, *numbers)
    evidence: Evidence = _UNFROZEN()
    evidence.codes, evidence.fitted = codes, {}  # type: ignore[misc]  # it is not frozen yet
    evidence.weights, evidence.soft, evidence.reals = numbers  # type: ignore[misc]  # nor here
    evidence.__class__ = Evidence
    return evidence


def one_row(given: Given) -> Given:
    """The evidence, where it is a frame of one row, as a mapping; otherwise as it is.

    >>> import pandas as pd
    >>> one_row(pd.DataFrame({"xray": ["yes"], "age": [40.0]}))
    {'xray': 'yes', 'age': 40.0}
    """
    if type(given) is dict or isinstance(given, Mapping) or not (hasattr(given, "columns") and hasattr(given, "shape")):
        return given
    from narwhals import from_native  # only for frames

    frame: Any = from_native(given, eager_only=True, pass_through=True)
    is_other = frame is given
    if is_other:
        return given
    if len(frame) != 1:
        raise ScopeError(f"Evidence is one row; found a frame of {len(frame)} rows. Use predict to ask about each row.")
    (found,) = frame.rows(named=True)
    return dict(found)


def is_missing(value: object) -> bool:
    """Whether a value means "unobserved": None, NaN, pandas' NA and NaT."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def _add(
    variable: Discrete | Vector,
    position: int,
    finding: Any,
    codes: dict[int, int],
    weights: dict[int, Floats],
    soft: dict[int, Floats],
    reals: dict[int, Floats],
) -> None:
    if isinstance(variable, Vector):
        reals[position] = real_value(variable, finding)
    elif isinstance(finding, Soft):
        soft[position] = _probabilities(variable, finding)
    elif isinstance(finding, Likelihood | Not | Set):
        row = _weights(variable, finding)
        if not isinstance(finding, Likelihood) and np.count_nonzero(row) == 1:
            codes[position] = int(row.argmax())
        elif row.tolist().count(1.0) < len(row):
            weights[position] = row
    else:
        codes[position] = _code(variable, finding)


def _code(variable: Discrete, finding: object) -> int:
    if isinstance(finding, list | tuple | np.ndarray):
        raise StateError(
            f"{variable.name} was given {finding!r}, a sequence. Write {{...}} for a subset of states, "
            "Likelihood([...]) for weights, or Soft([...]) for a posterior."
        )
    return variable.code(finding)


def real_value(variable: Vector, finding: object) -> Floats:
    """The finding about a continuous variable as a finite vector of its dimension."""
    try:
        array = np.asarray(finding)
    except ValueError:
        array = np.asarray("ragged")
    if array.dtype.kind not in "fiu":
        raise StateError(f"{variable.name} is continuous and was given {finding!r}. Give a number.")
    value = np.atleast_1d(array.astype(np.float64))
    if value.shape != (variable.size,) or not np.isfinite(value).all():
        raise StateError(f"{variable.name} needs {variable.size} finite number(s); found {finding!r}.")
    return value


def _weights(variable: Discrete, finding: Likelihood | Not | Set[State]) -> Floats:
    if isinstance(finding, Likelihood):
        return _row(variable, finding.weights, "Likelihood")
    excluded = isinstance(finding, Not)
    row = np.full(variable.num_states, 1.0 if excluded else 0.0)
    for state in finding.states if isinstance(finding, Not) else finding:
        row[variable.code(state)] = 0.0 if excluded else 1.0
    if not row.any():
        raise StateError(f"The evidence on {variable.name} leaves no state: {finding!r}. Keep at least one.")
    return row


def _probabilities(variable: Discrete, finding: Soft) -> Floats:
    row = _row(variable, finding.probabilities, "Soft")
    if abs(row.sum() - 1.0) > 1e-6:
        raise StateError(f"Soft evidence on {variable.name} sums to {row.sum():.9g}; probabilities sum to one.")
    return np.asarray(row / row.sum())


def _row(variable: Discrete, given: tuple[Any, ...] | Mapping[Any, float], kind: str) -> Floats:
    row = list(given) if type(given) is tuple or not isinstance(given, Mapping) else [0.0] * variable.num_states
    if tuple in map(type, row):
        raise StateError(
            f"{kind} on {variable.name} has rows of numbers; one per state was expected. For joint states of several "
            f"variables give them together, as in {{({variable.name!r}, ...): {kind}(...)}}."
        )
    if type(given) is not tuple and isinstance(given, Mapping):
        for state, weight in zip(given, _floats(given.values()), strict=True):
            row[variable.code(state)] = weight
    if len(row) != variable.num_states:
        raise StateError(f"{kind} on {variable.name} has {len(row)} weights; it has {variable.num_states} states.")
    if not (all(0.0 <= weight < math.inf for weight in row) and any(row)):
        raise StateError(f"{kind} on {variable.name} needs finite weights >= 0, not all zero; found {row}.")
    return np.array(row)
