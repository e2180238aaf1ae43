r"""One-way sensitivity of a posterior to every parameter of a model, from two calibrations.

A CPD is varied by the parameters that it has: entries of a table, rows at the leaves of a tree, contributions of a
noisy-or and its leak. Let $\theta$ vary, and the other parameters of its row keep their proportions. Then
$P(\mathbf e)$ and $P(y, \mathbf e)$ are linear in $\theta$, so

$$P(y \mid \mathbf e)(\theta) = \frac{a\,\theta + b}{c\,\theta + d}.$$

The slopes come from the derivatives of $P(\mathbf e)$ and $P(y, \mathbf e)$ with respect to every entry of the factors.
Undirected models are varied by these entries themselves, from zero to infinity. Real findings weigh the states of the
discrete variables that they depend on; the lines themselves are not varied.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, overload

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.checks import fraction
from sepset.base.display import Shown, Tabulated
from sepset.cpds.cpd import CPD
from sepset.cpds.parameters import AnyParameters
from sepset.cpds.table import TableCPD
from sepset.engine.refitting import Refitted, stacked
from sepset.errors import NotApplicable, ScopeError
from sepset.inference.compiled.gradients import Derivatives, Gradient
from sepset.inference.conflict import impossible
from sepset.inference.diagnosis.soft import moments, resolve_soft
from sepset.inference.hybrid.discretepart import discrete_part
from sepset.inference.hybrid.questions import RegressionQuestions
from sepset.inference.hybrid.weightedcontexts import WeightedContexts, weighted
from sepset.inference.method import Rewrites, can, dense, elimination_settings
from sepset.inference.result import Result
from sepset.models.bayesnet import BayesNet
from sepset.problem import Problem
from sepset.variables.evidence import Evidence, Given, resolve
from sepset.variables.variable import Discrete, State, VariableLike

if TYPE_CHECKING:
    from sepset.engine.engine import Engine


@dataclass(frozen=True, slots=True)
class ParameterSensitivity:
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
        refitted: the posterior as a function of the parameter if soft findings are fitted at each value; then the
            coefficients are those of its tangent.
    """

    child: str
    state: State
    parents: dict[str, State]
    value: float
    a: float
    b: float
    c: float
    d: float
    largest: float = 1.0
    is_local: bool = False
    refitted: Refitted | None = field(default=None, repr=False)

    @property
    def derivative(self) -> float:
        """The slope at the present value."""
        return self.a - self.c * (self.a * self.value + self.b)

    def probability(self, theta: float) -> float:
        """The posterior at parameter value `theta`; NaN if the evidence is impossible there."""
        self._check_global()
        if not -SLACK <= theta <= self.largest + SLACK:
            fraction("theta", theta, ends=True)
        if self.refitted is not None:
            return self.refitted.probability(theta)
        below = self.c * theta + self.d
        return (self.a * theta + self.b) / below if below > ROUNDING else math.nan

    def _check_global(self) -> None:
        if self.is_local:
            raise NotApplicable(
                f"With soft findings of more than {MOST_JOINT} joint states, or under CPDs without a table, only the "
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

    def __str__(self) -> str:
        given = ", ".join(f"{name}={state!r}" for name, state in self.parents.items())
        if math.isinf(self.largest):
            return f"phi({given}{', ' if given else ''}{self.child}={self.state!r})"
        return f"P({self.child}={self.state!r}{' | ' + given if given else ''})"


Block: TypeAlias = "tuple[_Source, Ints, Ints, Floats]"
"""A source of parameters, with their rows, columns and numbers."""

Gradients: TypeAlias = "tuple[Gradient, Gradient]"
"""The derivatives of the part with the target's state, and of the whole."""

SLACK = 1e-9
"""The tolerance for parameters outside [0, 1]: the rows of a CPD may sum to one only up to this."""
MOST_JOINT = 64
"""The largest number of joint states of soft findings for which the posterior is known at all values."""
ROUNDING = 1e-13
"""Denominators (one at the present value) below this count as zero."""


@dataclass(frozen=True, eq=False)
class SensitivityResult(Result, Sequence[ParameterSensitivity], Tabulated):
    """Every parameter of a network with its effect on one posterior, the steepest first.

    Attributes:
        target, state: the variable and state of the posterior.
        probability: its present value.
        derivatives: the slope for each parameter, in this order.
        left_out: children whose CPDs have parameters of another kind, as the weights of logistic CPDs and lines are.
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
        return tuple(self[int(i)] for i in self._columns.of(child))

    def __repr__(self) -> str:
        top = f"; steepest {self[0]}: {self.derivatives[0]:+.4g}" if len(self) else ""
        return (
            f"SensitivityResult(P({self.target}={self.state!r}) = {self.probability:.6g}, {len(self)} parameters{top})"
        )

    def _shown(self) -> Shown:
        return self._shown_first(20)

    def _shown_first(self, num_rows: int) -> Shown:
        title = f"P({self.target}={self.state!r}) = {self.probability:.6g}"
        first = [(str(p), f"{p.value:.4g}", f"{p.derivative:+.4g}") for p in self[:num_rows]]
        if self._columns.is_local:
            return Shown(("parameter", "value", "derivative"), first, title)
        ranges = [tuple(f"{end:.4g}" for end in p.range) for p in self[:num_rows]]
        rows = [(*cells, *ends) for cells, ends in zip(first, ranges, strict=True)]
        return Shown(("parameter", "value", "derivative", "lowest", "highest"), rows, title)


Numbers: TypeAlias = tuple[float, float, float, float, float]
"""The present value of a parameter, and its four coefficients."""


class _Source(Protocol):
    """The rows of one CPD, or the entries of one factor."""

    def parameter(self, row: int, column: int, numbers: Numbers) -> ParameterSensitivity: ...

    def is_of(self, child: str) -> bool: ...


@dataclass(frozen=True, eq=False)
class _Rows:
    """The rows of a CPD's parameters, whose columns have these codes."""

    parameters: AnyParameters
    child: Discrete
    codes: Ints

    def parameter(self, row: int, column: int, numbers: Numbers) -> ParameterSensitivity:
        state = self.child.states[int(self.codes[column])]
        return ParameterSensitivity(self.child.name, state, self.parameters.varied_context(row), *numbers, 1.0)

    def is_of(self, child: str) -> bool:
        return self.child.name == child


@dataclass(frozen=True, eq=False)
class _Entries:
    """The entries of a factor over these variables, the last along the columns."""

    scope: tuple[Discrete, ...]

    def parameter(self, row: int, column: int, numbers: Numbers) -> ParameterSensitivity:
        *others, last = self.scope
        codes = np.unravel_index(row, [v.num_states for v in others]) if others else ()
        states = {v.name: v.states[int(c)] for v, c in zip(others, codes, strict=True)}
        return ParameterSensitivity(last.name, last.states[column], states, *numbers, math.inf)

    def is_of(self, child: str) -> bool:
        return self.scope[-1].name == child


@dataclass(frozen=True, eq=False)
class _Columns:
    """All parameters as columns: source, row, column, present value, and the four coefficients."""

    sources: tuple[_Source, ...]
    source: Ints
    row: Ints
    code: Ints
    numbers: Floats
    is_local: bool = False
    joints: tuple[Floats, Floats, tuple[Floats, ...]] | None = None

    def parameter(self, i: int) -> ParameterSensitivity:
        value, a, b, c, d = self.numbers[i].tolist()
        numbers = value, a, b, c, d
        source = self.sources[int(self.source[i])]
        found = source.parameter(int(self.row[i]), int(self.code[i]), numbers)
        if self.joints is None:
            return replace(found, is_local=True) if self.is_local else found
        slopes, bases, targets = self.joints
        return replace(found, refitted=Refitted(slopes[i], bases[i], targets))

    def of(self, child: VariableLike) -> Ints:
        name = child if isinstance(child, str) else child.name
        own = [i for i, source in enumerate(self.sources) if source.is_of(name)]
        return np.flatnonzero(np.isin(self.source, own))

    def slopes(self, posterior: float) -> Floats:
        """The derivative of the posterior in each parameter."""
        return np.asarray(self.numbers[:, 1] - self.numbers[:, 3] * posterior)

    def with_slopes(self, slope: Floats, posterior: float) -> _Columns:
        """The same parameters with the tangent at the present value as their function."""
        value = self.numbers[:, 0]
        ones = np.ones(len(value))
        tangent = np.stack([value, slope, posterior - slope * value, 0.0 * ones, ones], axis=1)
        return _Columns(self.sources, self.source, self.row, self.code, tangent, is_local=True)

    def sorted(self, order: Ints) -> _Columns:
        parts = self.source[order], self.row[order], self.code[order], self.numbers[order]
        joints = None if self.joints is None else (self.joints[0][order], self.joints[1][order], self.joints[2])
        return _Columns(self.sources, *parts, is_local=self.is_local, joints=joints)


def sensitivity(engine: Engine, target: VariableLike, state: State, given: Given) -> SensitivityResult:
    """The effect of every parameter on the posterior of one state."""
    stated = resolve(given, engine.known)
    position = engine.model.variables.id(target)
    variable = _checked(engine, position, stated)
    evidence = resolve_soft(engine.prepared, stated)
    found = _effects(engine, position, state, evidence)
    columns = found.columns
    if stated.soft:
        columns = _local(engine, found, position, state, evidence, stated)
        joints = _joints(engine, position, state, stated)
        columns = columns if joints is None else replace(columns, is_local=False, joints=joints)
    slope = columns.slopes(found.posterior)
    order = np.argsort(-np.abs(slope), kind="stable")
    return SensitivityResult(
        variable.name,
        state,
        found.posterior,
        slope[order],
        found.left_out,
        _columns=columns.sorted(order),
        method=engine.method,
        guarantees=engine.promises,
    )


class _Effects(NamedTuple):
    """A posterior, the effects of all parameters on it, and the children whose parameters are of another kind."""

    posterior: float
    columns: _Columns
    left_out: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class _Ground:
    """The discrete variables of a model, whose factors are varied.

    Attributes:
        derivatives: with respect to the factors.
        evidence: about these variables.
        place: the position of each variable of the model among them.
        cpds: their CPDs, in the order of the conditionals; none if the model has none.
        joints: the positions of variables that stand for joint findings.
        left_out: the names of the others.
    """

    derivatives: Derivatives
    evidence: Evidence
    place: Mapping[int, int]
    cpds: tuple[CPD, ...]
    joints: frozenset[int]
    left_out: tuple[str, ...] = ()

    @property
    def problem(self) -> Problem:
        return self.derivatives.problem


def _ground(engine: Engine, position: int, evidence: Evidence) -> _Ground:
    """The variables and factors of a question; factors that depend on the evidence are made for it."""
    prepared = engine.prepared
    cpds = engine.model.cpds if isinstance(engine.model, BayesNet) else ()
    is_deferred = any(form.is_deferred for form in prepared.problem.forms)
    if is_deferred and can(prepared, Rewrites):
        prepared = prepared.for_sums(evidence, [position])
    problem = prepared.problem
    if problem.variables.all_discrete:
        settings = elimination_settings(engine.prepared.method)
        derivatives = Derivatives(problem, *settings) if is_deferred else engine.derivatives
        place = {v: v for v in range(problem.num_visible)}
        return _Ground(derivatives, evidence, place, tuple(cpds), frozenset(engine.joints))
    return _with_reals(engine, problem, evidence, cpds)


def _with_reals(engine: Engine, problem: Problem, evidence: Evidence, cpds: Sequence[CPD]) -> _Ground:
    """The discrete variables, weighed by the densities of real findings."""
    contexts = _contexts(engine, problem, evidence)
    if contexts.prepared is None:
        raise impossible(engine.prepared, evidence)
    derivatives = Derivatives(contexts.prepared.problem, *elimination_settings(engine.method))
    joints = frozenset(contexts.place[v] for v in engine.joints)
    kept = tuple(cpd for cpd in cpds if cpd.child.is_discrete)
    reals = tuple(cpd.child.name for cpd in cpds if not cpd.child.is_discrete)
    return _Ground(derivatives, contexts.evidence, contexts.place, kept, joints, reals)


def _contexts(engine: Engine, problem: Problem, evidence: Evidence) -> WeightedContexts:
    questions = RegressionQuestions.of(problem, engine.method)
    if questions is not None:
        return questions.contexts(evidence)
    if any(0 in shape for shape in problem.shapes):
        raise NotApplicable(
            "Sensitivity to the parameters of a model with real variables is for networks of discrete variables and "
            "linear Gaussians; this one has other factors. Compare `query` at changed parameters."
        )
    part = discrete_part(problem)
    assert part.problem is not None  # the target is discrete
    return weighted(part, engine.method.prepare, engine.method.prepare(part.problem), evidence, ())


def _effects(engine: Engine, position: int, state: State, evidence: Evidence) -> _Effects:
    """The effect of every parameter on the posterior of one state given states and likelihoods."""
    ground = _ground(engine, position, evidence)
    whole = ground.derivatives.gradient(ground.evidence)
    if whole.log_partition == -np.inf:
        raise impossible(engine.prepared, evidence)
    variable: Any = engine.known[position]
    part = ground.derivatives.gradient(_with_state(ground.evidence, ground.place[position], variable, state))
    posterior = math.exp(part.log_partition - whole.log_partition)
    blocks, left_out = _blocks(ground, part, whole, posterior)
    return _Effects(posterior, _gathered(blocks), left_out)


def _local(
    engine: Engine, found: _Effects, position: int, state: State, evidence: Evidence, stated: Evidence
) -> _Columns:
    r"""The slopes under soft findings, whose likelihoods $\lambda$ are fitted again as the parameter varies.

    $$\frac{dp}{d\theta} = \frac{\partial p}{\partial \theta} - \operatorname{Cov}(t, \mathbf s)
      \operatorname{Cov}(\mathbf s, \mathbf s)^{-1} \frac{\partial P(\mathbf s)}{\partial \theta},$$

    for the indicators $\mathbf s$ of the states with soft findings, since these probabilities stay as they are.
    """
    soft = sorted(stated.soft)
    places = [*soft, *(() if position in stated.soft else (position,))]
    mean, covariance = moments(engine.prepared, evidence, places)
    variables: list[Any] = [engine.known[v] for v in places]
    starts = np.cumsum([0, *(v.num_states for v in variables)])
    num_soft = int(starts[len(soft)])
    target = int(starts[places.index(position)]) + variables[places.index(position)].code(state)
    possible = np.flatnonzero(mean[:num_soft] > 0)
    effects = []
    for at in possible.tolist():
        which = int(np.searchsorted(starts, at, "right")) - 1
        seen = _effects(engine, places[which], variables[which].states[at - int(starts[which])], evidence)
        effects.append(seen.columns.slopes(seen.posterior))
    moved = np.linalg.pinv(covariance[np.ix_(possible, possible)], rcond=1e-12, hermitian=True) @ np.array(effects)
    slope = found.columns.slopes(found.posterior) - covariance[target, possible] @ moved
    return found.columns.with_slopes(slope, found.posterior)


def _joints(
    engine: Engine, position: int, state: State, stated: Evidence
) -> tuple[Floats, Floats, tuple[Floats, ...]] | None:
    """The joints of soft findings and target as linear functions of each parameter; None if they have too many states.

    Cost: two reverse sweeps for each joint state of the soft findings.
    """
    soft = sorted(stated.soft)
    shape = [len(stated.soft[v]) for v in soft]
    if math.prod(shape) > MOST_JOINT or any(form.is_deferred for form in engine.prepared.problem.forms):
        return None
    ground = _ground(engine, position, replace(stated, soft={}))
    variable: Any = engine.known[position]
    columns = []
    whole = ground.derivatives.gradient(ground.evidence)
    for codes in np.ndindex(*shape):
        at = ground.evidence
        for v, code in zip(soft, codes, strict=True):
            at = _with_state(at, ground.place[v], engine.known[v], engine.known[v].states[code])  # type: ignore[union-attr, arg-type]
        for told in (_with_state(at, ground.place[position], variable, state), at):
            columns.append(_joint_columns(ground, told, whole))
    slopes, bases = stacked(columns, shape)
    return slopes, bases, tuple(stated.soft[v] for v in soft)


def _joint_columns(ground: _Ground, told: Evidence, whole: Gradient) -> Floats:
    """The numbers of every parameter for the probability of some findings relative to that of all states."""
    part = ground.derivatives.gradient(told)
    posterior = math.exp(part.log_partition - whole.log_partition)
    return _gathered(_blocks(ground, part, whole, posterior)[0]).numbers


def _checked(engine: Engine, position: int, evidence: Evidence) -> Discrete:
    """The target, after checking that the question can be answered."""
    variable = engine.model.variables[position]
    if not isinstance(variable, Discrete):
        raise NotApplicable(
            f"Sensitivity is that of the probability of a state; {variable.name!r} is a real variable. "
            "Compare `query` at changed parameters."
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


def _blocks(ground: _Ground, part: Gradient, whole: Gradient, posterior: float) -> tuple[list[Block], tuple[str, ...]]:
    """Every parameter of every CPD or factor, and the children whose CPDs have parameters of another kind."""
    gradients, problem = (part, whole), ground.problem
    if not problem.conditionals:
        own = range(problem.num_factors - len(ground.joints))
        found = (_entries_block(problem, n, gradients, posterior) for n in own)
        return [block for block in found if block is not None], ()
    blocks, left_out = [], list(ground.left_out)
    for at, group in enumerate(problem.conditionals):
        if group.child in ground.joints:
            continue
        made = (
            _rows_block(problem, ground.cpds[at], group.factors, gradients, posterior)
            if ground.cpds
            else _family_block(problem, at, gradients, posterior)
        )
        if made is None:
            left_out.append(problem.variables[group.child].name)
        elif len(made[-1]):
            blocks.append(made)
    return blocks, tuple(left_out)


def _relative(problem: Problem, number: int, gradients: Gradients) -> Iterator[Floats]:
    """The derivatives of the part and of the whole with respect to one factor; zeros if it is barren."""
    for gradient in gradients:
        found = gradient.relative(number, gradients[1].log_partition)
        yield np.zeros(problem.shapes[number]) if found is None else found


def _rows_block(
    problem: Problem, cpd: CPD, factors: Sequence[int], gradients: Gradients, posterior: float
) -> Block | None:
    """The parameters of a CPD; None if they are of another kind."""
    varied = cpd.parameters.varied
    if varied is None:
        return None
    source = _Rows(cpd.parameters, cpd.child, varied.codes)  # type: ignore[arg-type]  # discrete
    if varied.rows.shape[1] == 1 or not len(varied.rows):
        return _block(source, varied.rows[:0], varied.rows[:0], varied.rows[:0], posterior)
    if not factors:
        zeros = np.zeros_like(varied.rows)
        return _block(source, varied.rows, zeros, zeros, posterior)
    part, whole = zip(*(_relative(problem, number, gradients) for number in factors), strict=True)
    a, c = (_slopes(varied.rows, cpd.parameters.varied_slopes(slopes)) for slopes in (part, whole))
    return _block(source, varied.rows, a, c, posterior)


def _family_block(problem: Problem, place: int, gradients: Gradients, posterior: float) -> Block | None:
    """The rows of a conditional of a model without CPDs, if it is one table; None otherwise."""
    group = problem.conditionals[place]
    scope = (*group.parents, group.child)
    if len(group.factors) != 1 or group.auxiliaries or sorted(problem.scope(group.factors[0])) != sorted(scope):
        return None
    variables = [problem.variables[v] for v in scope]
    table = dense(problem.factor(group.factors[0])).align(variables)
    cpd = TableCPD(variables[-1], table.values.reshape(-1), given=variables[:-1], tolerance=SLACK)  # type: ignore[arg-type]
    axes = [problem.scope(group.factors[0]).index(v) for v in scope]
    part, whole = (one.transpose(axes) for one in _relative(problem, group.factors[0], gradients))
    rows = cpd.parameters.varied.rows
    a, c = (_slopes(rows, one.reshape(rows.shape)) for one in (part, whole))
    return _block(_Rows(cpd.parameters, cpd.child, np.arange(rows.shape[1])), rows, a, c, posterior)


def _entries_block(problem: Problem, number: int, gradients: Gradients, posterior: float) -> Block | None:
    """The entries of a factor of an undirected model; None for factors of auxiliaries, which have no parameters."""
    scope = problem.scope(number)
    if not scope or max(scope) >= problem.num_visible:
        return None
    theta = dense(problem.factor(number)).values
    theta = theta.reshape(-1, theta.shape[-1])
    a, c = (one.reshape(theta.shape) for one in _relative(problem, number, gradients))
    variables: Any = tuple(problem.variables[v] for v in scope)
    return _block(_Entries(variables), theta, a, c, posterior)


def _slopes(theta: Floats, derivative: Floats) -> Floats:
    r"""$A_x - \sum_{x' \ne x} A_{x'} \theta_{x'} / \sum_{x' \ne x} \theta_{x'}$.

    If a parameter is one, the others have no proportions to keep and get equal shares.
    """
    others = 1.0 - np.eye(theta.shape[1])
    rest, moved = theta @ others, (theta * derivative) @ others
    alike = (derivative @ others) / (theta.shape[1] - 1)
    return np.asarray(derivative - np.divide(moved, rest, out=alike, where=rest > 0))


def _block(source: _Source, theta: Floats, a: Floats, c: Floats, posterior: float) -> Block:
    """The parameters of one source; at the present value the numerator is the posterior and the denominator one."""
    rows, codes = (x.reshape(-1) for x in np.indices(theta.shape))
    numbers = np.stack([x.reshape(-1) for x in (theta, a, posterior - a * theta, c, 1.0 - c * theta)], axis=1)
    return source, rows, codes, numbers


def _gathered(blocks: Sequence[Block]) -> _Columns:
    sources = tuple(block[0] for block in blocks)
    if not blocks:
        none = np.zeros(0, np.int64)
        return _Columns((), none, none, none, np.zeros((0, 5)))
    row, code, numbers = (np.concatenate(parts) for parts in zip(*(block[1:] for block in blocks), strict=True))
    which = np.repeat(np.arange(len(blocks)), [len(block[1]) for block in blocks])
    return _Columns(sources, which, row, code, numbers)
