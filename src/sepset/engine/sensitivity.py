r"""One-way sensitivity of a posterior to every parameter of a model, from two calibrations.

A CPD is varied by the parameters that it has: entries of a table, rows at the leaves of a tree, contributions of a
noisy-or and its leak. Let $\theta$ vary, and the other parameters of its row keep their proportions. Then
$P(\mathbf e)$ and $P(y, \mathbf e)$ are linear in $\theta$, so

$$P(y \mid \mathbf e)(\theta) = \frac{a\,\theta + b}{c\,\theta + d}.$$

The slopes come from the derivatives of $P(\mathbf e)$ and $P(y, \mathbf e)$ with respect to every entry of the factors.
Undirected models are varied by these entries themselves, from zero to infinity. Real findings weigh the states of the
discrete variables that they depend on; the lines themselves are not varied. The weights of a logistic CPD have
derivatives too (`weighteffects`); the posterior at other weights is asked again.

Derivatives are differences. Where these have lost digits they are computed in whole numbers, without rounding
(`wholeeffects`), if all entries of the factors are given, none of them computed, and it does not take too long; what
may be lost otherwise is measured.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.cpds.cpd import CPD
from sepset.cpds.table import TableCPD
from sepset.engine.effects.parametereffects import (
    ROUNDING,
    SLACK,
    Columns,
    Entries,
    FreeWeights,
    Rows,
    SensitivityResult,
    Source,
)
from sepset.engine.effects.refitting import stacked
from sepset.engine.effects.sweeps import Sweeps, with_state
from sepset.engine.effects.wholeeffects import WholeGradients
from sepset.engine.weighteffects import WeightEffects
from sepset.errors import NotApplicable, ScopeError, TooLarge
from sepset.inference.compiled.gradients import Derivatives, Gradient
from sepset.inference.conflict import impossible
from sepset.inference.diagnosis.soft import moments, resolve_soft
from sepset.inference.hybrid.discretepart import discrete_part
from sepset.inference.hybrid.questions import RegressionQuestions
from sepset.inference.hybrid.weightedcontexts import WeightedContexts, weighted
from sepset.inference.method import Rewrites, can, dense, elimination_settings
from sepset.inference.result import Guarantee
from sepset.models.bayesnet import BayesNet
from sepset.problem import Problem
from sepset.variables.evidence import Evidence, Given, resolve
from sepset.variables.findings import Findings
from sepset.variables.variable import Discrete, State, VariableLike

if TYPE_CHECKING:
    from sepset.engine.engine import Engine


Exact: TypeAlias = "Callable[[WholeGradients, Ints], Floats]"
"""From derivatives in whole numbers and rows to the numbers of the entries of these."""


class Block(NamedTuple):
    """The parameters of one source.

    Attributes:
        source: what they are parameters of.
        rows, codes: where each is.
        numbers: those of each, as in `Numbers`.
        lost: how far rounding may have moved derivatives.
        exact: their numbers without rounding; None if entries are computed, or have no derivative.
    """

    source: Source
    rows: Ints
    codes: Ints
    numbers: Floats
    lost: Floats
    exact: Exact | None = None

    @property
    def doubtful(self) -> Ints:
        """The rows some of whose derivatives may have lost digits."""
        return np.unique(self.rows[self.lost > DOUBTFUL * np.abs(self.numbers[:, 5])])

    def repaired(self, gradients: WholeGradients) -> Block:
        """The same parameters, with those of rows in doubt from whole numbers."""
        doubtful = self.doubtful
        if self.exact is None or not len(doubtful):
            return self
        numbers, lost, places = self.numbers.copy(), self.lost.copy(), np.isin(self.rows, doubtful)
        numbers[places], lost[places] = self.exact(gradients, doubtful), 0.0
        return self._replace(numbers=numbers, lost=lost)


MOST_JOINT = 64
"""The largest number of joint states of soft findings for which the posterior is known at all values."""


DOUBTFUL = 1e-10
"""The relative error of some derivative above which derivatives are computed in whole numbers, if they can be."""

INEXACT = 1e-9
"""The relative error of some derivative above which derivatives are estimates."""

FITTED = 1e-11
"""The relative error of probabilities under soft findings, which are fitted by iteration."""

SMALLEST = 1e-290
"""The smallest product that has all digits of a float, with room for sums."""

UNKNOWN = 1e300
"""The size of terms that are unknown."""


def sensitivity(engine: Engine, target: VariableLike, state: State, given: Given) -> SensitivityResult:
    """The effect of every parameter on the posterior of one state."""
    stated = resolve(given, engine.known)
    position = engine.model.variables.id(target)
    variable = _checked(engine, position, stated)
    variable.code(state)
    evidence = resolve_soft(engine.prepared, stated)
    found = _effects(engine, position, state, evidence, stated)
    columns = found.columns
    if stated.soft:
        columns = _local(engine, found, position, state, evidence, stated)
        joints = _joints(engine, position, state, stated)
        columns = columns if joints is None else replace(columns, is_local=False, joints=joints)
    slope = columns.slopes
    once, is_flat = columns.once(slope), columns.flat(found.posterior)
    order = np.argsort(-np.abs(slope), kind="stable")
    listed = np.flatnonzero((once & ~is_flat)[order])
    error = columns.relative_error(once & ~is_flat)
    digits = {"derivatives": Guarantee.ESTIMATE} if error > INEXACT else {}
    return SensitivityResult(
        variable.name,
        state,
        probability=found.posterior,
        derivatives=slope[order][listed],
        left_out=found.left_out,
        num_without_effect=int((once & is_flat).sum()),
        findings=Findings(stated, engine.known),
        _columns=columns.sorted(order),
        _listed=listed,
        method=engine.method,
        guarantees={**engine.promises, **digits},
        info={"relative_error": error} if digits else {},
    )


class _Effects(NamedTuple):
    """A posterior, the effects of all parameters on it, and the children whose parameters are of another kind."""

    posterior: float
    columns: Columns
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
        is_weighed: whether densities of numbers weigh their states.
    """

    derivatives: Derivatives
    evidence: Evidence
    place: Mapping[int, int]
    cpds: tuple[CPD, ...]
    joints: frozenset[int]
    left_out: tuple[str, ...] = ()
    is_weighed: bool = False

    def is_given(self, factors: Iterable[int] | None) -> bool:
        """Whether all entries of these factors are given, none of them computed."""
        if self.is_weighed or factors is None or (self.problem.conditionals and not self.cpds):
            return False
        needed = frozenset(factors)
        groups = zip(self.problem.conditionals, self.cpds, strict=False)
        varied = (cpd.parameters.varied for group, cpd in groups if not needed.isdisjoint(group.factors))
        return all(one is not None and one.is_given for one in varied)

    @property
    def problem(self) -> Problem:
        return self.derivatives.problem


def _ground(engine: Engine, position: int, evidence: Evidence) -> _Ground:
    """The variables and factors of a question; factors that depend on the evidence are made for it."""
    prepared = engine.prepared
    cpds = engine.model.lined_up.cpds if isinstance(engine.model, BayesNet) else ()
    is_deferred = any(form.is_deferred for form in prepared.problem.forms)
    if is_deferred and can(prepared, Rewrites):
        prepared = prepared.for_sums(evidence, [position])
    problem = prepared.problem
    if problem.variables.all_discrete:
        settings = elimination_settings(engine.prepared.method)
        derivatives = Derivatives(problem, *settings) if is_deferred else engine.derivatives
        place = {v: v for v in range(problem.num_visible)}
        found = _with_told(derivatives, evidence)
        return _Ground(derivatives, found, place, tuple(cpds), frozenset(engine.joints))
    return _with_reals(engine, problem, evidence, cpds)


def _with_told(derivatives: Derivatives, evidence: Evidence) -> Evidence:
    """The findings, with the auxiliaries that they determine if tables are too large otherwise.

    No parameter changes the entries of a function's factors that exclude other states of these.
    """
    if not (told := derivatives.problem.quiet(evidence.codes)):
        return evidence
    with suppress(TooLarge):
        derivatives.question(evidence)
        return evidence
    return replace(evidence, codes={**told, **evidence.codes})


def _with_reals(engine: Engine, problem: Problem, evidence: Evidence, cpds: Sequence[CPD]) -> _Ground:
    """The discrete variables, weighed by the densities of real findings."""
    contexts = _contexts(engine, problem, evidence)
    if contexts.prepared is None:
        raise impossible(engine.prepared, evidence)
    derivatives = Derivatives(contexts.prepared.problem, *elimination_settings(engine.method))
    joints = frozenset(contexts.place[v] for v in engine.joints)
    kept = tuple(cpd for cpd in cpds if cpd.child.is_discrete)
    reals = tuple(cpd.child.name for cpd in cpds if not cpd.child.is_discrete)
    return _Ground(derivatives, contexts.evidence, contexts.place, kept, joints, reals, is_weighed=True)


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


def _effects(
    engine: Engine, position: int, state: State, evidence: Evidence, stated: Evidence | None = None
) -> _Effects:
    """The effect of every parameter on the posterior of one state given states and likelihoods."""
    ground = _ground(engine, position, evidence)
    variable: Any = engine.known[position]
    anyhow = with_state(ground.evidence, ground.place[position], variable, None)
    whole = ground.derivatives.gradient(anyhow)
    if whole.log_partition == -np.inf:
        raise impossible(engine.prepared, evidence)
    told = with_state(ground.evidence, ground.place[position], variable, state)
    sweeps = Sweeps(ground.derivatives.gradient(told), whole, _needed(ground, position))
    weighed = WeightEffects(engine, position, state, evidence, evidence if stated is None else stated, sweeps.posterior)
    blocks, left_out = _blocks(ground, sweeps, weighed)
    if any(len(block.doubtful) for block in blocks) and ground.is_given(sweeps.needed):
        exact = WholeGradients.of(ground.derivatives, told, anyhow)
        if exact is not None:
            repaired = [block.repaired(exact) for block in blocks]
            return _Effects(exact.posterior, _gathered(repaired), left_out)
    return _Effects(sweeps.posterior, _gathered(blocks), left_out)


def _needed(ground: _Ground, position: int) -> frozenset[int]:
    """The numbers of the factors that the target depends on."""
    found = ground.evidence
    asked = ground.problem.relevant([ground.place[position]], found.observed, touched=sorted(found.weights))
    return frozenset(asked.factors)


def _local(
    engine: Engine, found: _Effects, position: int, state: State, evidence: Evidence, stated: Evidence
) -> Columns:
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
        effects.append(seen.columns.slopes)
    inverse = np.linalg.pinv(covariance[np.ix_(possible, possible)], rcond=1e-12, hermitian=True)
    own, towards, moved = found.columns.slopes, covariance[target, possible], np.reshape(effects, (len(possible), -1))
    terms = np.abs(own) + np.abs(towards) @ np.abs(inverse) @ np.abs(moved)
    rounded = ROUNDING * mean[target] * mean[possible] @ np.abs(inverse) @ np.abs(moved)  # covariances are differences
    return found.columns.with_slopes(own - towards @ inverse @ moved, found.posterior, FITTED * terms + rounded)


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
            at = with_state(at, ground.place[v], engine.known[v], engine.known[v].states[code])  # type: ignore[union-attr, arg-type]
        for told in (with_state(at, ground.place[position], variable, state), at):
            columns.append(_joint_columns(ground, told, whole))
    slopes, bases = stacked(columns, shape)
    return slopes, bases, tuple(stated.soft[v] for v in soft)


def _joint_columns(ground: _Ground, told: Evidence, whole: Gradient) -> Floats:
    """The numbers of every parameter for the probability of some findings relative to that of all states."""
    return _gathered(_blocks(ground, Sweeps(ground.derivatives.gradient(told), whole))[0]).numbers


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


def _blocks(
    ground: _Ground, sweeps: Sweeps, weighed: WeightEffects | None = None
) -> tuple[list[Block], tuple[str, ...]]:
    """Every parameter of every CPD or factor, and the children whose CPDs have parameters of another kind.

    Without `weighed` the slopes of weights are zero.
    """
    problem = ground.problem
    if not problem.conditionals:
        own = range(problem.num_factors - len(ground.joints))
        found = (_entries_block(problem, n, sweeps) for n in own)
        return [block for block in found if block is not None], ()
    blocks, left_out = [], list(ground.left_out)
    for at, group in enumerate(problem.conditionals):
        if group.child in ground.joints:
            continue
        made = (
            _cpd_block(problem, ground.cpds[at], group.factors, sweeps, weighed)
            if ground.cpds
            else _family_block(problem, at, sweeps)
        )
        if made is None:
            left_out.append(problem.variables[group.child].name)
        elif len(made.lost):
            blocks.append(made)
    return blocks, tuple(left_out)


def _cpd_block(
    problem: Problem, cpd: CPD, factors: Sequence[int], sweeps: Sweeps, weighed: WeightEffects | None
) -> Block | None:
    """The parameters of a CPD; None if they are of another kind, or their effects too large to find."""
    if cpd.parameters.weighed is None:
        return _rows_block(problem, cpd, factors, sweeps)
    theta = cpd.parameters.values
    found: Floats | None = np.zeros((2, len(theta)))
    if weighed is not None and sweeps.is_needed(factors):
        found = weighed.slopes(cpd, sweeps, problem, factors)
    if found is None:
        return None
    slopes, terms = found
    asked = partial(weighed.asked, cpd) if weighed is not None else None
    source = FreeWeights(cpd.parameters, cpd.child, asked)  # type: ignore[arg-type]  # discrete
    zeros, ones = np.zeros(len(theta)), np.ones(len(theta))
    numbers = np.stack([theta, slopes, sweeps.posterior - slopes * theta, zeros, ones, slopes], axis=1)
    return Block(source, np.arange(len(theta)), np.zeros(len(theta), np.int64), numbers, sweeps.rounding * terms)


def _rows_block(problem: Problem, cpd: CPD, factors: Sequence[int], sweeps: Sweeps) -> Block | None:
    """The parameters of a CPD; None if they are of another kind."""
    varied = cpd.parameters.varied
    if varied is None:
        return None
    source = Rows(cpd.parameters, cpd.child, varied.codes)  # type: ignore[arg-type]  # discrete
    if varied.rows.shape[1] == 1 or not len(varied.rows):
        return _block(source, varied.rows[:0], (varied.rows[:0],) * 2, (varied.rows[:0],) * 2, sweeps)
    if not sweeps.reach(factors):
        zeros = np.zeros_like(varied.rows)
        return _block(source, varied.rows, (zeros, zeros), (zeros, zeros), sweeps)
    part, whole = zip(*(sweeps.relative(problem, number) for number in factors), strict=True)
    a, c = (_slopes(varied.rows, cpd.parameters.varied_slopes(slopes)) for slopes in (part, whole))
    made = _block(source, varied.rows, a, c, sweeps, is_needed=sweeps.is_needed(factors))

    def exact(gradients: WholeGradients, chosen: Ints) -> Floats:
        return gradients.rows(problem, cpd, varied.rows, factors, chosen)

    return made._replace(exact=exact) if varied.is_given else made


def _family_block(problem: Problem, place: int, sweeps: Sweeps) -> Block | None:
    """The rows of a conditional of a model without CPDs, if it is one table; None otherwise."""
    group = problem.conditionals[place]
    scope = (*group.parents, group.child)
    if len(group.factors) != 1 or group.auxiliaries or sorted(problem.scope(group.factors[0])) != sorted(scope):
        return None
    variables = [problem.variables[v] for v in scope]
    table = dense(problem.factor(group.factors[0])).align(variables)
    cpd = TableCPD(variables[-1], table.values.reshape(-1), given=variables[:-1], tolerance=SLACK)  # type: ignore[arg-type]
    axes = [problem.scope(group.factors[0]).index(v) for v in scope]
    part, whole = (one.transpose(axes) for one in sweeps.relative(problem, group.factors[0]))
    rows = cpd.parameters.varied.rows
    a, c = (_slopes(rows, one.reshape(rows.shape)) for one in (part, whole))
    source = Rows(cpd.parameters, cpd.child, np.arange(rows.shape[1]))
    return _block(source, rows, a, c, sweeps, is_needed=sweeps.is_needed(group.factors))


def _entries_block(problem: Problem, number: int, sweeps: Sweeps) -> Block | None:
    """The entries of a factor of an undirected model; None for factors of auxiliaries, which have no parameters."""
    scope = problem.scope(number)
    if not scope or max(scope) >= problem.num_visible:
        return None
    theta = dense(problem.factor(number)).values
    theta = theta.reshape(-1, theta.shape[-1])
    variables: Any = tuple(problem.variables[v] for v in scope)
    a, c = (one.reshape(theta.shape) for one in sweeps.relative(problem, number))
    made = _block(Entries(variables), theta, (a, a), (c, c), sweeps, is_needed=sweeps.is_needed([number]))

    def exact(gradients: WholeGradients, chosen: Ints) -> Floats:
        return gradients.entries(theta, number, chosen)

    return made._replace(exact=exact)


def _slopes(theta: Floats, derivative: Floats) -> tuple[Floats, Floats]:
    r"""$A_x - \sum_{x' \ne x} A_{x'} \theta_{x'} / \sum_{x' \ne x} \theta_{x'}$, and the sum of both terms.

    If a parameter is one, the others have no proportions to keep and get equal shares. Where products are too small for
    floats the terms are unknown.
    """
    others = 1.0 - np.eye(theta.shape[1])
    rest, moved = theta @ others, (theta * derivative) @ others
    alike = (derivative @ others) / (theta.shape[1] - 1)
    second = np.divide(moved, rest, out=alike, where=rest > 0)
    is_lost = (theta != 0) & (derivative != 0) & (np.abs(theta * derivative) < SMALLEST)
    terms = np.abs(derivative) + np.abs(second)
    return np.asarray(derivative - second), np.where(is_lost.any(axis=1, keepdims=True), UNKNOWN, terms)


def _block(
    source: Source,
    theta: Floats,
    part: tuple[Floats, Floats],
    whole: tuple[Floats, Floats],
    sweeps: Sweeps,
    *,
    is_needed: bool = True,
) -> Block:
    """The parameters of one source; at the present value the numerator is the posterior and the denominator one.

    Args:
        part, whole: the derivatives of both, and the sums of the terms whose difference each is.
        is_needed: whether the target depends on them.
    """
    p, (a, first), (c, second) = sweeps.posterior, part, whole
    slope = a - c * p if is_needed else np.zeros_like(a)
    lost = sweeps.rounding * (first + p * second) if is_needed else np.zeros_like(a)
    rows, codes = (x.reshape(-1) for x in np.indices(theta.shape))
    columns = theta, a, p - a * theta, c, 1.0 - c * theta, slope
    return Block(source, rows, codes, np.stack([x.reshape(-1) for x in columns], axis=1), lost.reshape(-1))


def _gathered(blocks: Sequence[Block]) -> Columns:
    sources = tuple(block[0] for block in blocks)
    if not blocks:
        none = np.zeros(0, np.int64)
        return Columns((), none, none, none, np.zeros((0, 6)), np.zeros(0))
    row, code, numbers, lost = (np.concatenate(parts) for parts in zip(*(block[1:5] for block in blocks), strict=True))
    which = np.repeat(np.arange(len(blocks)), [len(block[1]) for block in blocks])
    return Columns(sources, which, row, code, numbers, lost)
