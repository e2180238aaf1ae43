r"""One-way sensitivity of a posterior to every CPD parameter, from two calibrations.

Let $\theta = P(x \mid \mathbf u)$ vary, and the other parameters of its row keep their proportions. Then $P(\mathbf e)$
and $P(y, \mathbf e)$ are linear in $\theta$, so

$$P(y \mid \mathbf e)(\theta) = \frac{a\,\theta + b}{c\,\theta + d}.$$

The slopes come from the derivatives of $P(\mathbf e)$ and $P(y, \mathbf e)$ with respect to every table entry.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, overload

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.checks import fraction
from sepset.base.display import Shown, Tabulated
from sepset.errors import NotApplicable, ScopeError
from sepset.inference.compiled.gradients import Gradient
from sepset.inference.conflict import impossible
from sepset.inference.method import dense
from sepset.inference.result import Result
from sepset.problem import Problem
from sepset.variables.evidence import Evidence, Given
from sepset.variables.variable import Discrete, State, VariableLike

if TYPE_CHECKING:
    from sepset.engine.engine import Engine


@dataclass(frozen=True, slots=True)
class ParameterSensitivity:
    r"""How a posterior depends on one parameter: $p(\theta) = (a \theta + b) / (c \theta + d)$.

    Attributes:
        child, state: $X = x$.
        parents: $\mathbf U = \mathbf u$, states by name.
        value: the parameter's present value $\theta_0$.
        a, b, c, d: the coefficients, scaled so that $c \theta_0 + d = 1$.
    """

    child: str
    state: State
    parents: dict[str, State]
    value: float
    a: float
    b: float
    c: float
    d: float

    @property
    def derivative(self) -> float:
        """The slope at the present value."""
        return self.a - self.c * (self.a * self.value + self.b)

    def probability(self, theta: float) -> float:
        """The posterior at parameter value `theta`; NaN if the evidence is impossible there."""
        if not -SLACK <= theta <= 1.0 + SLACK:
            fraction("theta", theta, ends=True)
        below = self.c * theta + self.d
        return (self.a * theta + self.b) / below if below > ROUNDING else math.nan

    @property
    def range(self) -> tuple[float, float]:
        """The smallest and largest posterior over parameter values from 0 to 1; a limit where it is undefined."""
        ends = [self._limit(0.0), self._limit(1.0)]
        return min(ends), max(ends)

    def _limit(self, end: float) -> float:
        """The posterior at 0 or 1; if numerator and denominator both vanish there, the limit of their ratio."""
        found = self.probability(end)
        return self.a / self.c if math.isnan(found) else min(1.0, max(0.0, found))

    def theta(self, probability: float) -> float | None:
        r"""The value of the parameter at which the posterior is `probability`; None if no value gives it.

        $$\theta = (p\, d - b) / (a - p\, c)$$
        """
        slope = self.a - probability * self.c
        if slope == 0.0:
            return None
        theta = (probability * self.d - self.b) / slope
        return theta if 0.0 <= theta <= 1.0 and self.c * theta + self.d > ROUNDING else None

    def __str__(self) -> str:
        given = ", ".join(f"{name}={state!r}" for name, state in self.parents.items())
        return f"P({self.child}={self.state!r}{' | ' + given if given else ''})"


SLACK = 1e-9
"""The tolerance for parameters outside [0, 1]: the rows of a CPD may sum to one only up to this."""
ROUNDING = 1e-13
"""Denominators (one at the present value) below this count as zero."""


@dataclass(frozen=True, eq=False)
class SensitivityResult(Result, Sequence[ParameterSensitivity], Tabulated):
    """Every parameter of a network with its effect on one posterior, the steepest first.

    Attributes:
        target, state: the variable and state of the posterior.
        probability: its present value.
        derivatives: the slope for each parameter, in this order.
        left_out: children whose CPDs are not tables over child and parents, and so have other parameters.
    """

    target: str
    state: State
    probability: float
    derivatives: Floats = field(repr=False)
    left_out: tuple[str, ...] = ()
    _columns: _Columns = field(kw_only=True, repr=False)

    def __len__(self) -> int:
        return len(self.derivatives)

    @overload
    def __getitem__(self, key: int) -> ParameterSensitivity: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[ParameterSensitivity, ...]: ...
    def __getitem__(self, key: int | slice) -> ParameterSensitivity | tuple[ParameterSensitivity, ...]:
        if isinstance(key, slice):
            return tuple(self[i] for i in range(*key.indices(len(self))))
        if not -len(self) <= key < len(self):
            raise IndexError(f"There are {len(self)} parameters; no position {key}.")
        return self._columns.parameter(key)

    def __iter__(self) -> Iterator[ParameterSensitivity]:
        return (self[i] for i in range(len(self)))

    def of(self, child: VariableLike) -> tuple[ParameterSensitivity, ...]:
        """The parameters of one CPD, the steepest first."""
        place = self._columns.place(child)
        return tuple(self[int(i)] for i in np.flatnonzero(self._columns.group == place))

    def __repr__(self) -> str:
        top = f"; steepest {self[0]}: {self.derivatives[0]:+.4g}" if len(self) else ""
        return (
            f"SensitivityResult(P({self.target}={self.state!r}) = {self.probability:.6g}, {len(self)} parameters{top})"
        )

    def _shown(self) -> Shown:
        ranges = [(one, *one.range) for one in self[:20]]
        rows = [
            (str(p), f"{p.value:.4g}", f"{p.derivative:+.4g}", f"{low:.4g}", f"{high:.4g}") for p, low, high in ranges
        ]
        title = f"P({self.target}={self.state!r}) = {self.probability:.6g}"
        return Shown(("parameter", "value", "derivative", "lowest", "highest"), rows, title)


@dataclass(frozen=True, eq=False)
class _Columns:
    """All parameters as columns: family, row, state, present value, and the four coefficients."""

    problem: Problem
    group: Ints
    row: Ints
    code: Ints
    numbers: Floats

    def parameter(self, i: int) -> ParameterSensitivity:
        group = self.problem.conditionals[self.group[i]]
        child = self.problem.variables[group.child]
        parents = [self.problem.variables[v] for v in group.parents]
        codes = np.unravel_index(self.row[i], [p.num_states for p in parents]) if parents else ()
        states = {p.name: p.states[int(c)] for p, c in zip(parents, codes, strict=True)}
        state = child.states[int(self.code[i])]
        return ParameterSensitivity(child.name, state, states, *(float(x) for x in self.numbers[i]))

    def place(self, child: VariableLike) -> int:
        position = self.problem.variables.id(child)
        return next((i for i, group in enumerate(self.problem.conditionals) if group.child == position), -1)

    def sorted(self, order: Ints) -> _Columns:
        return _Columns(self.problem, self.group[order], self.row[order], self.code[order], self.numbers[order])


def sensitivity(engine: Engine, target: VariableLike, state: State, given: Given) -> SensitivityResult:
    """The effect of every table parameter on the posterior of one state."""
    evidence = engine.weighted_evidence(given)
    position = engine.model.variables.id(target)
    variable = _checked(engine, position, evidence)
    whole = engine.derivatives.gradient(evidence)
    if whole.log_partition == -np.inf:
        raise impossible(engine.prepared, evidence)
    part = engine.derivatives.gradient(_with_state(evidence, position, variable, state))
    posterior = math.exp(part.log_partition - whole.log_partition)
    columns, left_out = _parameters(engine.derivatives.problem, part, whole, posterior)
    slope = columns.numbers[:, 1] - columns.numbers[:, 3] * posterior
    order = np.argsort(-np.abs(slope), kind="stable")
    return SensitivityResult(
        variable.name,
        state,
        posterior,
        slope[order],
        left_out,
        _columns=columns.sorted(order),
        method=engine.method,
        guarantees=engine.promises,
    )


def _checked(engine: Engine, position: int, evidence: Evidence) -> Discrete:
    """The target, after checking that the question can be answered."""
    problem, variable = engine.prepared.problem, engine.model.variables[position]
    if not isinstance(variable, Discrete) or not (problem.variables.cards > 0).all():
        raise NotApplicable(
            "Sensitivity to table parameters is for models whose variables are all discrete; this one has continuous "
            "ones. Compare `query` at changed parameters."
        )
    if not problem.conditionals:
        raise NotApplicable(
            f"Sensitivity to CPD parameters is for directed models; {engine.model!r} has no CPDs. "
            "Derivatives with respect to factor entries are in sepset.inference.compiled.gradients."
        )
    if position in evidence.codes:
        raise ScopeError(f"The target {variable.name!r} is observed already. Ask about an unobserved variable.")
    return variable


def _with_state(evidence: Evidence, position: int, variable: Discrete, state: State) -> Evidence:
    """The evidence with the target's state added; a likelihood of the target stays in the product."""
    row = np.zeros(variable.num_states)
    code = variable.code(state)
    row[code] = evidence.weights[position][code] if position in evidence.weights else 1.0
    return Evidence(evidence.codes, {**evidence.weights, position: row})


def _parameters(
    problem: Problem, part: Gradient, whole: Gradient, posterior: float
) -> tuple[_Columns, tuple[str, ...]]:
    """Every parameter of every table, and the children whose CPDs are not tables."""
    blocks, left_out = [], []
    for place, group in enumerate(problem.conditionals):
        theta = _family(problem, place)
        if theta is None:
            left_out.append(problem.variables[group.child].name)
        elif theta.shape[1] > 1:
            found = (g.relative(group.factors[0], whole.log_partition) for g in (part, whole))
            a, c = (_slopes(theta, _rows(problem, place, array)) for array in found)
            blocks.append(_block(place, theta, a, c, posterior))
    return _gathered(problem, blocks), tuple(left_out)


def _family(problem: Problem, place: int) -> Floats | None:
    """The rows `[parents, child]` of a conditional that is one table; None otherwise."""
    group = problem.conditionals[place]
    scope = (*group.parents, group.child)
    if len(group.factors) != 1 or group.auxiliaries or sorted(problem.scope(group.factors[0])) != sorted(scope):
        return None
    values = dense(problem.factor(group.factors[0])).align([problem.variables[v] for v in scope]).values
    return np.asarray(values).reshape(-1, int(problem.variables.cards[group.child]))


def _rows(problem: Problem, place: int, array: Floats | None) -> Floats | None:
    """An array over a family's factor as rows `[parents, child]`."""
    if array is None:
        return None
    group = problem.conditionals[place]
    scope = problem.scope(group.factors[0])
    axes = [scope.index(v) for v in (*group.parents, group.child)]
    return np.asarray(array.transpose(axes)).reshape(-1, int(problem.variables.cards[group.child]))


def _slopes(theta: Floats, derivative: Floats | None) -> Floats:
    r"""$A_x - \sum_{x' \ne x} A_{x'} \theta_{x'} / \sum_{x' \ne x} \theta_{x'}$: zero for a barren family.

    If a parameter is one, the others have no proportions to keep and get equal shares.
    """
    if derivative is None:
        return np.zeros_like(theta)
    others = 1.0 - np.eye(theta.shape[1])
    rest, moved = theta @ others, (theta * derivative) @ others
    alike = (derivative @ others) / (theta.shape[1] - 1)
    return np.asarray(derivative - np.divide(moved, rest, out=alike, where=rest > 0))


Block = tuple[Ints, Ints, Ints, Floats]


def _block(place: int, theta: Floats, a: Floats, c: Floats, posterior: float) -> Block:
    """One family's parameters; at the present value the numerator is the posterior and the denominator one."""
    rows, codes = (x.reshape(-1) for x in np.indices(theta.shape))
    numbers = np.stack([x.reshape(-1) for x in (theta, a, posterior - a * theta, c, 1.0 - c * theta)], axis=1)
    return np.full(theta.size, place, np.int64), rows, codes, numbers


def _gathered(problem: Problem, blocks: Sequence[Block]) -> _Columns:
    if not blocks:
        none = np.zeros(0, np.int64)
        return _Columns(problem, none, none, none, np.zeros((0, 5)))
    group, row, code, numbers = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    return _Columns(problem, group, row, code, numbers)
