r"""One-way sensitivity of a posterior to every parameter of a model, from two calibrations.

A CPD is varied by the parameters that it has: entries of a table, rows at the leaves of a tree, contributions of a
noisy-or and its leak. Let $\theta$ vary, and the other parameters of its row keep their proportions. Then
$P(\mathbf e)$ and $P(y, \mathbf e)$ are linear in $\theta$, so

$$P(y \mid \mathbf e)(\theta) = \frac{a\,\theta + b}{c\,\theta + d}.$$

The slopes come from the derivatives of $P(\mathbf e)$ and $P(y, \mathbf e)$ with respect to every entry of the factors.
Undirected models are varied by these entries themselves, from zero to infinity. Real findings weigh the states of the
discrete variables that they depend on; the lines themselves are not varied.

The weights of a logistic CPD have derivatives too, from two independent draws $X$ and $X'$ of its child; the posterior
at other weights is asked again.

$$\frac{\partial \log P(\mathbf e)}{\partial w_{i,s,c}} = P(u_i = s, X = c \mid \mathbf e)
- P(u_i = s, X' = c \mid \mathbf e)$$
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.cpds.cpd import CPD
from sepset.cpds.table import TableCPD
from sepset.engine.parametereffects import SLACK, Columns, Entries, FreeWeights, Rows, SensitivityResult, Source
from sepset.engine.refitting import stacked
from sepset.errors import ImpossibleEvidence, NotApplicable, ScopeError, TooLarge
from sepset.factors.algebra import num_entries
from sepset.inference.compiled.gradients import Derivatives, Gradient
from sepset.inference.conflict import impossible
from sepset.inference.diagnosis.soft import moments, resolve_soft
from sepset.inference.hybrid.discretepart import discrete_part
from sepset.inference.hybrid.questions import RegressionQuestions
from sepset.inference.hybrid.weightedcontexts import WeightedContexts, weighted
from sepset.inference.method import Prepared, Rewrites, can, dense, elimination_settings
from sepset.inference.result import Guarantee
from sepset.models.bayesnet import BayesNet
from sepset.problem import Problem
from sepset.variables.evidence import Evidence, Given, resolve
from sepset.variables.findings import Findings
from sepset.variables.variable import Discrete, State, VariableLike

if TYPE_CHECKING:
    from sepset.engine.engine import Engine


Block: TypeAlias = "tuple[Source, Ints, Ints, Floats]"
"""A source of parameters, with their rows, columns and numbers."""

Gradients: TypeAlias = "tuple[Gradient, Gradient]"
"""The derivatives of the part with the target's state, and of the whole."""

MOST_JOINT = 64
"""The largest number of joint states of soft findings for which the posterior is known at all values."""


INEXACT = 1e-6
"""The relative error of some derivative above which derivatives are estimates."""

MOST_TABLED = 2**22
"""The most entries of a table from whose derivatives those of weights are found; larger ones are asked about."""


def sensitivity(engine: Engine, target: VariableLike, state: State, given: Given) -> SensitivityResult:
    """The effect of every parameter on the posterior of one state."""
    stated = resolve(given, engine.known)
    position = engine.model.variables.id(target)
    variable = _checked(engine, position, stated)
    evidence = resolve_soft(engine.prepared, stated)
    found = _effects(engine, position, state, evidence, stated)
    columns = found.columns
    if stated.soft:
        columns = _local(engine, found, position, state, evidence, stated)
        joints = _joints(engine, position, state, stated)
        columns = columns if joints is None else replace(columns, is_local=False, joints=joints)
    slope = columns.slopes(found.posterior)
    once, is_flat = columns.once(slope), columns.flat(slope, found.posterior)
    order = np.argsort(-np.abs(slope), kind="stable")
    listed = np.flatnonzero((once & ~is_flat)[order])
    error = columns.relative_error(slope, found.posterior, once & ~is_flat)
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
    cpds = engine.model.lined_up.cpds if isinstance(engine.model, BayesNet) else ()
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


@dataclass(frozen=True, eq=False)
class _Weighed:
    """The effects of the weights of logistic CPDs on the posterior of one state.

    Attributes:
        engine: the network with a method.
        position, state: the state in question.
        evidence: states and likelihoods.
        stated: the evidence, with soft findings that are fitted again at other weights.
        posterior: the present one.
    """

    engine: Engine
    position: int
    state: State
    evidence: Evidence
    stated: Evidence
    posterior: float

    def asked(self, cpd: CPD, step: Floats) -> float:
        """The posterior after a step of the parameters of one CPD; NaN if the findings are impossible."""
        model: Any = self.engine.model
        prepared = self._engine(model.with_cpds(cpd.parameters.moved(step))).prepared
        try:
            answer = prepared.query([self.position], resolve_soft(prepared, self.stated))
        except ImpossibleEvidence:
            return math.nan
        variable: Any = model.variables[self.position]
        is_possible = answer.log_partition > -np.inf
        return float(dense(answer.distribution).values[variable.code(self.state)]) if is_possible else math.nan

    def _engine(self, model: BayesNet) -> Engine:
        made, joints = type(self.engine)(model, self.engine.method), self.engine.joints
        return made.with_joints(tuple(joints.values())) if joints else made

    def slopes(self, cpd: CPD, gradients: Gradients, problem: Problem, factors: Sequence[int]) -> Floats | None:
        """The derivatives of the posterior with respect to the weights of one CPD; None if tables are too large."""
        if not factors:
            return np.zeros(len(cpd.parameters.values))
        scope = tuple(problem.variables[v] for v in problem.scope(factors[0]))
        if len(factors) == 1 and scope == tuple(cpd.scope) and num_entries(scope) <= MOST_TABLED:
            part, whole = (cpd.parameters.table_slope(one) for one in _relative(problem, factors[0], gradients))
            return np.asarray(part - self.posterior * whole)
        try:
            return self._from_two_draws(cpd)
        except TooLarge:
            return None

    def _from_two_draws(self, cpd: CPD) -> Floats:
        """The derivatives from the marginals of the parents given each state of two draws of the child."""
        model: Any = self.engine.model
        child: Any = cpd.child
        k, own = child.num_states, len(model.variables)
        pair = child.hidden("two draws", k * k)
        first = TableCPD(child, np.repeat(np.eye(k), k, axis=0), given=pair)
        others = [one for one in model.cpds if one.child != child]
        order = {one.child: one for one in (*others, first)}
        net = BayesNet(*(order[v] for v in model.variables), cpd.parameters.doubled(pair))
        prepared = self._engine(net).prepared
        places = {p: model.variables.id(p) for p in cpd.parents}
        variable: Any = self.engine.known[self.position]
        told = _with_state(self.evidence, self.position, variable, self.state)
        logs = [_log_slopes(prepared, _shifted(one, own), own, k, places) for one in (told, self.evidence)]
        return self.posterior * (logs[0] - logs[1])


def _shifted(evidence: Evidence, place: int) -> Evidence:
    """The evidence after a variable was put in at a place."""

    def moved(findings: Mapping[int, Any]) -> dict[int, Any]:
        return {v + (v >= place): found for v, found in findings.items()}

    return Evidence(moved(evidence.codes), moved(evidence.weights), reals=moved(evidence.reals))


def _log_slopes(prepared: Prepared, evidence: Evidence, pair: int, k: int, places: Mapping[Any, int]) -> Floats:
    """The derivatives of the log probability of the evidence: the shares of the first draw less those of the second.

    Args:
        pair: the position of the two draws, of `k` states each.
        places: the positions of the parents.
    """
    total = prepared.log_partition(evidence)
    found = np.zeros((1 + sum(p.num_states - 1 for p in places), k - 1))
    if total == -np.inf:
        return found.reshape(-1)
    for code in range(1, k):
        one = np.arange(k) == code
        for sign, mask in ((1.0, np.repeat(one, k)), (-1.0, np.tile(one, k))):
            told = replace(evidence, weights={**evidence.weights, pair: mask.astype(np.float64)})
            read, log_partition = prepared.marginals(told)
            if log_partition == -np.inf:
                continue
            share = sign * math.exp(log_partition - total)
            rows = [np.ones(1)]
            for p, v in places.items():
                rows.append(np.eye(p.num_states)[told.codes[v]] if v in told.codes else dense(read(v)).values)
            found[:, code - 1] += share * np.concatenate([rows[0], *(row[1:] for row in rows[1:])])
    return found.reshape(-1)


def _effects(
    engine: Engine, position: int, state: State, evidence: Evidence, stated: Evidence | None = None
) -> _Effects:
    """The effect of every parameter on the posterior of one state given states and likelihoods."""
    ground = _ground(engine, position, evidence)
    whole = ground.derivatives.gradient(ground.evidence)
    if whole.log_partition == -np.inf:
        raise impossible(engine.prepared, evidence)
    variable: Any = engine.known[position]
    part = ground.derivatives.gradient(_with_state(ground.evidence, ground.place[position], variable, state))
    posterior = math.exp(part.log_partition - whole.log_partition)
    weighed = _Weighed(engine, position, state, evidence, evidence if stated is None else stated, posterior)
    blocks, left_out = _blocks(ground, part, whole, posterior, weighed)
    return _Effects(posterior, _gathered(blocks), left_out)


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


def _blocks(
    ground: _Ground, part: Gradient, whole: Gradient, posterior: float, weighed: _Weighed | None = None
) -> tuple[list[Block], tuple[str, ...]]:
    """Every parameter of every CPD or factor, and the children whose CPDs have parameters of another kind.

    Without `weighed` the slopes of weights are zero.
    """
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
            _cpd_block(problem, ground.cpds[at], group.factors, gradients, posterior, weighed)
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


def _cpd_block(
    problem: Problem,
    cpd: CPD,
    factors: Sequence[int],
    gradients: Gradients,
    posterior: float,
    weighed: _Weighed | None,
) -> Block | None:
    """The parameters of a CPD; None if they are of another kind, or their effects too large to find."""
    if cpd.parameters.weighed is None:
        return _rows_block(problem, cpd, factors, gradients, posterior)
    theta = cpd.parameters.values
    slopes = np.zeros(len(theta)) if weighed is None else weighed.slopes(cpd, gradients, problem, factors)
    if slopes is None:
        return None
    asked = partial(weighed.asked, cpd) if weighed is not None else None
    source = FreeWeights(cpd.parameters, cpd.child, asked)  # type: ignore[arg-type]  # discrete
    zeros, ones = np.zeros(len(theta)), np.ones(len(theta))
    numbers = np.stack([theta, slopes, posterior - slopes * theta, zeros, ones], axis=1)
    return source, np.arange(len(theta)), np.zeros(len(theta), np.int64), numbers


def _rows_block(
    problem: Problem, cpd: CPD, factors: Sequence[int], gradients: Gradients, posterior: float
) -> Block | None:
    """The parameters of a CPD; None if they are of another kind."""
    varied = cpd.parameters.varied
    if varied is None:
        return None
    source = Rows(cpd.parameters, cpd.child, varied.codes)  # type: ignore[arg-type]  # discrete
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
    return _block(Rows(cpd.parameters, cpd.child, np.arange(rows.shape[1])), rows, a, c, posterior)


def _entries_block(problem: Problem, number: int, gradients: Gradients, posterior: float) -> Block | None:
    """The entries of a factor of an undirected model; None for factors of auxiliaries, which have no parameters."""
    scope = problem.scope(number)
    if not scope or max(scope) >= problem.num_visible:
        return None
    theta = dense(problem.factor(number)).values
    theta = theta.reshape(-1, theta.shape[-1])
    a, c = (one.reshape(theta.shape) for one in _relative(problem, number, gradients))
    variables: Any = tuple(problem.variables[v] for v in scope)
    return _block(Entries(variables), theta, a, c, posterior)


def _slopes(theta: Floats, derivative: Floats) -> Floats:
    r"""$A_x - \sum_{x' \ne x} A_{x'} \theta_{x'} / \sum_{x' \ne x} \theta_{x'}$.

    If a parameter is one, the others have no proportions to keep and get equal shares.
    """
    others = 1.0 - np.eye(theta.shape[1])
    rest, moved = theta @ others, (theta * derivative) @ others
    alike = (derivative @ others) / (theta.shape[1] - 1)
    return np.asarray(derivative - np.divide(moved, rest, out=alike, where=rest > 0))


def _block(source: Source, theta: Floats, a: Floats, c: Floats, posterior: float) -> Block:
    """The parameters of one source; at the present value the numerator is the posterior and the denominator one."""
    rows, codes = (x.reshape(-1) for x in np.indices(theta.shape))
    numbers = np.stack([x.reshape(-1) for x in (theta, a, posterior - a * theta, c, 1.0 - c * theta)], axis=1)
    return source, rows, codes, numbers


def _gathered(blocks: Sequence[Block]) -> Columns:
    sources = tuple(block[0] for block in blocks)
    if not blocks:
        none = np.zeros(0, np.int64)
        return Columns((), none, none, none, np.zeros((0, 5)))
    row, code, numbers = (np.concatenate(parts) for parts in zip(*(block[1:] for block in blocks), strict=True))
    which = np.repeat(np.arange(len(blocks)), [len(block[1]) for block in blocks])
    return Columns(sources, which, row, code, numbers)
