"""The effects of parameters on a posterior: the function of each, and all of them in order with tables and charts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, NamedTuple, Protocol, overload

import numpy as np

from sepset.base.arraytypes import Bools, Floats, Ints
from sepset.base.axes import axes_of, entitle, tornado
from sepset.base.checks import fraction, whole
from sepset.base.display import Plain, Report, Shown, Worded, plain
from sepset.base.extras import FrameKind, frame
from sepset.cpds.parameters import AnyParameters
from sepset.engine.refitting import Curve, Refitted, Reweighted
from sepset.errors import ArgumentError, NotApplicable
from sepset.inference.documents import findings_document
from sepset.inference.result import Result
from sepset.variables.findings import NOTHING_FOUND, Findings
from sepset.variables.variable import Discrete, State, VariableLike


@dataclass(frozen=True, slots=True)
class ParameterSensitivity(Worded, Plain):
    r"""How a posterior depends on one parameter: $p(\theta) = (a \theta + b) / (c \theta + d)$.

    Attributes:
        child, state: $X = x$; for an entry of a factor the last variable of its scope.
        parents: $\mathbf U = \mathbf u$, states by name; a tuple of states for a leaf that several reach. For a
            contribution of a noisy-or the one parent whose it is, and none for the leak. For an entry of a factor the
            other variables of its scope.
        value: the parameter's present value $\theta_0$.
        a, b, c, d: the coefficients, scaled so that $c \theta_0 + d = 1$.
        largest: the largest possible value: 1 for a probability, infinity for an entry of a factor.
        is_local: whether only the derivative is known, as with soft findings of very many joint states.
        refitted: the posterior as a function of the parameter if soft findings are fitted at each value, or if it is a
            weight; then the coefficients are those of its tangent.
        weight: a weight of a logistic CPD in words, as in `weight of a=1 for y=1`; it has no limits.
    """

    child: str
    state: State
    _: KW_ONLY
    parents: dict[str, State]
    value: float
    a: float
    b: float
    c: float
    d: float
    largest: float = 1.0
    is_local: bool = False
    refitted: Curve | None = field(default=None, repr=False)
    weight: str = ""

    @property
    def derivative(self) -> float:
        """The slope at the present value."""
        return self.a - self.c * (self.a * self.value + self.b)

    def probability(self, theta: float) -> float:
        """The posterior at parameter value `theta`; NaN if the evidence is impossible there."""
        self._check_global()
        if not (self.weight or -SLACK <= theta <= self.largest + SLACK):
            fraction("theta", theta, ends=True)
        if self.refitted is not None:
            return self.refitted.probability(theta)
        below = self.c * theta + self.d
        above = self.a * theta + self.b
        is_zero = abs(above) <= ROUNDING * abs(self.a * self.value)  # the difference of two such products
        return (0.0 if is_zero else above / below) if below > ROUNDING else math.nan

    def _check_global(self) -> None:
        if self.is_local:
            raise NotApplicable(
                "With soft findings of very many joint states, or under CPDs without a table, only the "
                "derivative at the present value is known, since they are fitted again at each value of the "
                "parameter. Query the model with the changed parameter."
            )

    @property
    def range(self) -> tuple[float, float]:
        """The smallest and largest posterior over all values of the parameter; a limit where it is undefined."""
        self._check_global()
        if self.refitted is not None:
            return self.refitted.range(self.largest)
        ends = [self._limit(0.0), self._limit(self.largest)]
        return min(ends), max(ends)

    def _limit(self, end: float) -> float:
        """The posterior at an end; if numerator and denominator both vanish there, the limit of their ratio."""
        if math.isinf(end):
            return self.a / self.c if self.c else self.b / self.d
        found = self.probability(end)
        return self.a / self.c if math.isnan(found) else min(1.0, max(0.0, found))

    def theta(self, probability: float) -> float | None:
        r"""The value of the parameter at which the posterior is `probability`; None if no value gives it.

        $$\theta = (p\, d - b) / (a - p\, c)$$

        Under soft findings there may be several; then it is the one nearest to the present value.
        """
        self._check_global()
        if self.refitted is not None:
            return self.refitted.theta(probability, self.value, self.largest)
        slope = self.a - probability * self.c
        if slope == 0.0:
            return None
        theta = (probability * self.d - self.b) / slope
        return theta if 0.0 <= theta <= self.largest and self.c * theta + self.d > ROUNDING else None

    @property
    def name(self) -> str:
        """The parameter as it is written: `P(lung='yes' | smoke='no')`, or `phi(...)` for an entry of a factor."""
        if self.weight:
            return self.weight
        given = ", ".join(f"{name}={state!r}" for name, state in self.parents.items())
        if math.isinf(self.largest):
            return f"phi({given}{', ' if given else ''}{self.child}={self.state!r})"
        return f"P({self.child}={self.state!r}{' | ' + given if given else ''})"

    def __str__(self) -> str:
        return f"{self.name} = {self.value:.4g}, derivative {self.derivative:+.4g}"

    def __repr__(self) -> str:
        return f"ParameterSensitivity({self})"


SLACK = 1e-9
"""The tolerance for parameters outside [0, 1]: the rows of a CPD may sum to one only up to this."""
ROUNDING = 1e-13
"""Denominators (one at the present value) below this count as zero."""
REACH = 40.0
"""The change of a weight, beyond the size of all weights, after which a posterior no longer moves."""
ROUNDING = 16 * float(np.finfo(np.float64).eps)
"""The relative rounding of a slope of the probability of the evidence, a sum of products."""

FLAT = 1e-12
"""Slopes below this, relative to the terms whose difference they are, count as zero."""
FLAT_FITTED = 1e-9
"""The same under soft findings, which are fitted by iteration."""


@dataclass(frozen=True, eq=False)
class SensitivityResult(Result, Sequence[ParameterSensitivity], Report):
    """Every parameter that has an effect on one posterior, each once, the steepest first.

    Of a row of two probabilities, which sum to one, the smaller is listed (of equal ones the one with a positive
    slope). `of` gives all parameters of a CPD.

    Attributes:
        target, state: the variable and state of the posterior.
        probability: its present value.
        derivatives: the slope for each parameter, in this order.
        left_out: children whose CPDs have parameters of another kind, as lines are.
        num_without_effect: the number of parameters that are not listed because the posterior does not depend on them.
        findings: the evidence.

    >>> import sepset as ss
    >>> found = ss.sensitivity(ss.datasets.load("asia"), "lung", state="yes", given={"smoke": "yes"})
    >>> print(found[0], "of", found.num_without_effect + 1)
    P(lung='yes' | smoke='yes') = 0.1, derivative +1 of 18
    """

    target: str
    state: State
    _: KW_ONLY
    probability: float
    derivatives: Floats = field(repr=False)
    left_out: tuple[str, ...] = ()
    num_without_effect: int = 0
    findings: Findings = field(default=NOTHING_FOUND, kw_only=True, repr=False)
    _columns: Columns = field(kw_only=True, repr=False)
    _listed: Ints = field(kw_only=True, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """The posterior and its parameters in plain values, as `to_json` writes them."""
        head = {"target": self.target, "state": plain(self.state), "given": findings_document(self.findings)}
        head |= {"probability": self.probability}
        rest = {"left_out": plain(self.left_out), "num_without_effect": self.num_without_effect}
        return {**head, "parameters": [self._plain(one) for one in self], **rest}

    def _plain(self, one: ParameterSensitivity) -> dict[str, Any]:
        known = not (self._columns.is_local or one.weight)
        ends = dict(zip(("lowest", "highest"), one.range, strict=True)) if known else {}
        return plain({"parameter": one.name, "value": one.value, "derivative": one.derivative, **ends})  # type: ignore[no-any-return]  # of a dictionary

    def __len__(self) -> int:
        return len(self.derivatives)

    @overload
    def __getitem__(self, key: int) -> ParameterSensitivity: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[ParameterSensitivity, ...]: ...
    def __getitem__(self, key: int | slice) -> ParameterSensitivity | tuple[ParameterSensitivity, ...]:
        if isinstance(key, slice):
            return tuple(self[i] for i in range(*key.indices(len(self))))
        if not isinstance(key, int | np.integer) or isinstance(key, bool):
            raise ArgumentError(
                f"Parameters are found by position, the steepest first; found {key!r}. Those of one CPD are of(child)."
            )
        if not -len(self) <= key < len(self):
            raise IndexError(f"There are {len(self)} parameters; no position {key}.")
        return self._columns.parameter(int(self._listed[key]))

    def __iter__(self) -> Iterator[ParameterSensitivity]:
        return (self[i] for i in range(len(self)))

    def of(self, child: VariableLike) -> tuple[ParameterSensitivity, ...]:
        """All parameters of one CPD, the steepest first, also both of a pair and those without effect."""
        return tuple(self._columns.parameter(int(i)) for i in self._columns.of(child))

    @property
    def title(self) -> str:
        """The posterior in question, as in `P(lung='yes' | xray=yes)`."""
        given = f" | {self.findings}" if self.findings.evidence else ""
        return f"P({self.target}={self.state!r}{given})"

    def to_frame(self, kind: FrameKind = "pandas") -> Any:
        """A data frame with one row per parameter: present value, slope, and the range of the posterior.

        The ranges of weights, each of which takes many queries, are left to `ParameterSensitivity.range`.

        >>> import sepset as ss
        >>> found = ss.sensitivity(ss.datasets.load("student"), "intelligence", state="high", given={"grade": "C"})
        >>> found.to_frame()[["value", "derivative", "lowest", "highest"]].round(3).iloc[0].tolist()
        [0.02, 0.474, 0.069, 0.388]
        """
        listed = tuple(self)
        columns: dict[str, list[Any]] = {
            "parameter": [one.name for one in listed],
            "child": [one.child for one in listed],
            "value": [one.value for one in listed],
            "derivative": self.derivatives.tolist(),
        }
        if not self._columns.is_local:
            ranges = [(math.nan, math.nan) if one.weight else one.range for one in listed]
            columns |= {"lowest": [low for low, _ in ranges], "highest": [high for _, high in ranges]}
        return frame(columns, kind)

    def plot(self, ax: Any = None, *, num_parameters: int = 12) -> Any:
        """The matplotlib axes with a tornado: the range of the posterior for each parameter, the widest at the top.

        Each bar is the range over all values of the parameter; its darker part is below the present posterior, which
        is the line down the picture. Each parameter is named with its present value.

        Args:
            ax: matplotlib axes.
            num_parameters: the number of parameters, the steepest of all.
        """
        chosen = self[: whole("num_parameters", num_parameters, least=1)]
        bars = [(f"{one.name} = {one.value:.3g}", *one.range) for one in chosen]
        bars.sort(key=lambda bar: bar[1] - bar[2])
        axes = tornado(axes_of(ax), bars, self.probability)
        axes.set_xlabel("posterior at all values of the parameter")
        entitle(axes, f"{self.title} = {self.probability:.4g}")
        return axes

    def __repr__(self) -> str:
        top = f"; steepest {self[0].name}: {self.derivatives[0]:+.4g}" if len(self) else ""
        return (
            f"SensitivityResult(P({self.target}={self.state!r}) = {self.probability:.6g}, {len(self)} parameters{top})"
        )

    def _shown(self) -> Shown:
        return self.first_shown(20)

    def first_shown(self, num_rows: int) -> Shown:
        """The table of the steepest parameters, this many of them."""
        title = f"{self.title} = {self.probability:.6g}"
        first = [(p.name, f"{p.value:.4g}", f"{p.derivative:+.4g}") for p in self[:num_rows]]
        if self._columns.is_local:
            return Shown(("parameter", "value", "derivative"), first, title, self._caption(num_rows))
        ranges = [("", "") if p.weight else tuple(f"{end:.4g}" for end in p.range) for p in self[:num_rows]]
        rows = [(*cells, *ends) for cells, ends in zip(first, ranges, strict=True)]
        return Shown(("parameter", "value", "derivative", "lowest", "highest"), rows, title, self._caption(num_rows))

    def _caption(self, num_rows: int) -> str:
        """How many parameters there are in addition to those shown."""
        cut = [f"first {num_rows} of {len(self)} parameters"] if len(self) > num_rows else []
        none = [f"{self.num_without_effect} without effect"] if self.num_without_effect else []
        others = [f"other parameters: {', '.join(self.left_out[:5])}{', ...' if len(self.left_out) > 5 else ''}"]
        return "; ".join([*cut, *none, *(others if self.left_out else [])])


class Numbers(NamedTuple):
    """The present value of a parameter, and its four coefficients."""

    value: float
    a: float
    b: float
    c: float
    d: float


class Source(Protocol):
    """The rows of one CPD, or the entries of one factor."""

    def parameter(self, row: int, column: int, numbers: Numbers) -> ParameterSensitivity:
        """The parameter of a row and column, with its numbers."""
        ...

    def is_of(self, child: str) -> bool:
        """Whether these are the parameters of this child."""
        ...

    @property
    def is_paired(self) -> bool:
        """Whether its rows are pairs of probabilities that sum to one."""
        ...


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a CPD's parameters, whose columns have these codes."""

    parameters: AnyParameters
    child: Discrete
    codes: Ints

    def parameter(self, row: int, column: int, numbers: Numbers) -> ParameterSensitivity:
        """The parameter of a row and column, with its numbers."""
        state = self.child.states[int(self.codes[column])]
        context = self.parameters.varied_context(row)
        return ParameterSensitivity(self.child.name, state, parents=context, **numbers._asdict(), largest=1.0)

    def is_of(self, child: str) -> bool:
        """Whether these are the parameters of this child."""
        return self.child.name == child

    @property
    def is_paired(self) -> bool:
        """Whether its rows are pairs of probabilities that sum to one."""
        return len(self.codes) == 2


@dataclass(frozen=True, eq=False)
class FreeWeights:
    """The weights of a logistic CPD.

    Attributes:
        parameters: those of the CPD.
        child: its child.
        asked: from a change of all weights to the posterior; NaN if the findings are impossible.
    """

    parameters: AnyParameters
    child: Discrete
    asked: Callable[[Floats], float]

    def parameter(self, row: int, column: int, numbers: Numbers) -> ParameterSensitivity:
        """The weight of a row, with its numbers."""
        weighed, size = self.parameters.weighed, len(self.parameters.values)
        assert weighed is not None  # as the CPD was asked before
        context, state = weighed[row]

        def asked(change: float) -> float:
            return self.asked(change * np.eye(size)[row])

        reach = REACH + 2.0 * float(sum(np.abs(array).sum() for array in self.parameters.arrays.values()))
        return ParameterSensitivity(
            self.child.name,
            state,
            parents=context,
            **numbers._asdict(),
            largest=math.inf,
            refitted=Reweighted(asked, numbers.value, reach),
            weight=self.parameters.names[row],
        )

    def is_of(self, child: str) -> bool:
        """Whether these are the parameters of this child."""
        return self.child.name == child

    @property
    def is_paired(self) -> bool:
        """Whether its rows are pairs of probabilities that sum to one."""
        return False


@dataclass(frozen=True, eq=False)
class Entries:
    """The entries of a factor over these variables, the last along the columns."""

    scope: tuple[Discrete, ...]

    def parameter(self, row: int, column: int, numbers: Numbers) -> ParameterSensitivity:
        """The parameter of a row and column, with its numbers."""
        *others, last = self.scope
        codes = np.unravel_index(row, [v.num_states for v in others]) if others else ()
        states = {v.name: v.states[int(c)] for v, c in zip(others, codes, strict=True)}
        value = last.states[column]
        return ParameterSensitivity(last.name, value, parents=states, **numbers._asdict(), largest=math.inf)

    def is_of(self, child: str) -> bool:
        """Whether these are the parameters of this child."""
        return self.scope[-1].name == child

    @property
    def is_paired(self) -> bool:
        """Whether its rows are pairs of probabilities that sum to one."""
        return False


@dataclass(frozen=True, eq=False)
class Columns:
    """All parameters as columns: source, row, column, present value, and the four coefficients."""

    sources: tuple[Source, ...]
    source: Ints
    row: Ints
    code: Ints
    numbers: Floats
    is_local: bool = False
    joints: tuple[Floats, Floats, tuple[Floats, ...]] | None = None

    def parameter(self, i: int) -> ParameterSensitivity:
        """The parameter at a position."""
        numbers = Numbers(*self.numbers[i].tolist())
        source = self.sources[int(self.source[i])]
        found = source.parameter(int(self.row[i]), int(self.code[i]), numbers)
        if found.weight:
            return found
        if self.joints is None:
            return replace(found, is_local=True) if self.is_local else found
        slopes, bases, targets = self.joints
        return replace(found, refitted=Refitted(slopes[i], bases[i], targets))

    def of(self, child: VariableLike) -> Ints:
        """The positions of the parameters of one child."""
        name = child if isinstance(child, str) else child.name
        own = [i for i, source in enumerate(self.sources) if source.is_of(name)]
        return np.flatnonzero(np.isin(self.source, own))

    def slopes(self, posterior: float) -> Floats:
        """The derivative of the posterior in each parameter."""
        return np.asarray(self.numbers[:, 1] - self.numbers[:, 3] * posterior)

    def relative_error(self, slope: Floats, posterior: float, listed: Bools) -> float:
        r"""How far rounding may have moved a listed derivative, relative to it: it is a difference, $a - c\,p$."""
        _, a, _, c, _ = self.numbers[listed].T
        lost = ROUNDING * (np.abs(a) + np.abs(c) * posterior)
        shares = np.divide(lost, np.abs(slope[listed]), out=np.zeros_like(lost), where=slope[listed] != 0)
        return float(shares.max(initial=0.0))

    def flat(self, slope: Floats, posterior: float) -> Bools:
        r"""Whether the posterior does not depend on each parameter: $a = c\,p$ up to rounding.

        Under soft findings it depends on a parameter also if it is only stationary there.
        """
        value, a, _, c, _ = self.numbers.T
        scale = np.abs(a) + np.abs(c) * posterior + posterior / np.maximum(value, 1.0)
        is_fitted = self.is_local or self.joints is not None
        found = np.abs(slope) <= (FLAT_FITTED if is_fitted else FLAT) * scale
        if self.joints is not None:
            for i in np.flatnonzero(found).tolist():
                one = self.parameter(i)
                if one.weight:
                    continue
                elsewhere = [one.probability(theta) for theta in (0.25, 0.75)]
                found[i] = all(math.isnan(p) or abs(p - posterior) <= FLAT_FITTED for p in elsewhere)
        return np.asarray(found)

    def once(self, slope: Floats) -> Bools:
        """Whether each parameter is listed: of each pair of complements the smaller; if equal, the one that raises."""
        found = np.ones(len(self.source), bool)
        value = self.numbers[:, 0]
        for number, source in enumerate(self.sources):
            if source.is_paired:
                start, stop = np.searchsorted(self.source, [number, number + 1])
                first, second = np.arange(start, stop).reshape(-1, 2).T
                is_tied = value[first] == value[second]
                found[first] = np.where(is_tied, slope[first] >= slope[second], value[first] < value[second])
                found[second] = ~found[first]
        return found

    def with_slopes(self, slope: Floats, posterior: float) -> Columns:
        """The same parameters with the tangent at the present value as their function."""
        value = self.numbers[:, 0]
        ones = np.ones(len(value))
        tangent = np.stack([value, slope, posterior - slope * value, 0.0 * ones, ones], axis=1)
        return Columns(self.sources, self.source, self.row, self.code, tangent, is_local=True)

    def sorted(self, order: Ints) -> Columns:
        """The same parameters in another order."""
        parts = self.source[order], self.row[order], self.code[order], self.numbers[order]
        joints = None if self.joints is None else (self.joints[0][order], self.joints[1][order], self.joints[2])
        return Columns(self.sources, *parts, is_local=self.is_local, joints=joints)
