r"""Invariants of exact inference, checked on the user's own model: clique trees, gradients and totals."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sepset.base.checks import generator, whole
from sepset.base.display import Plain, Report, Shown, Worded
from sepset.base.logarithms import LOG_2PI
from sepset.base.membership import without
from sepset.base.memory import check_rows_fit
from sepset.base.text import listing, nearest
from sepset.errors import BrokenInvariant, ModelError, ScopeError
from sepset.factors.algebra import Factor
from sepset.factors.canonical import EPS
from sepset.factors.moments import Gaussian
from sepset.inference.buckets.evidencefactors import reduced_factors
from sepset.inference.compiled.gradients import Derivatives
from sepset.inference.conflict import impossible
from sepset.inference.exact.beliefupdate import BeliefUpdate
from sepset.inference.exact.messages import project, tree_factors
from sepset.inference.exact.tree import PreparedTree
from sepset.inference.gaussian.widths import all_regressions
from sepset.inference.method import Calibrated, MeasuresResiduals, Rewrites, can, dense, elimination_settings
from sepset.problem import Problem
from sepset.semiring import SUM
from sepset.variables.evidence import Evidence, Given

if TYPE_CHECKING:
    from sepset.engine.engine import Engine

Point = dict[str, Any]

TOLERANCE = 1e-9
"""Messages divide and rescale, so two ways to compute a value differ by more than rounding."""


@dataclass(frozen=True, slots=True)
class Check(Worded, Plain):
    """One invariant: the largest deviation found, and the largest allowed."""

    name: str
    deviation: float
    _: KW_ONLY
    tolerance: float

    @property
    def label(self) -> str:
        """The name in words."""
        return self.name.replace("_", " ")

    @property
    def holds(self) -> bool:
        """Whether the deviation is within the tolerance."""
        return self.deviation <= self.tolerance


@dataclass(frozen=True, slots=True)
class CheckReport(Report):
    """The invariants that were checked, all of which held."""

    checks: tuple[Check, ...]

    def __getitem__(self, name: str) -> Check:
        found = next((c for c in self.checks if isinstance(name, str) and c.name == name), None)
        if found is None:
            names = [check.name for check in self.checks]
            raise ScopeError(f"There is no check {name!r}.{nearest(name, names)} There are {listing(names)}.")
        return found

    def __iter__(self) -> Iterator[Check]:
        return iter(self.checks)

    def __len__(self) -> int:
        return len(self.checks)

    def _shown(self) -> Shown:
        return Shown((), [(c.label, f"{c.deviation:.1e} <= {c.tolerance:.0e}") for c in self.checks])

    def __repr__(self) -> str:
        return f"CheckReport({len(self)} invariants hold)"


def check(engine: Engine, given: Given, seed: int, num_points: int) -> CheckReport:
    """The report, or `BrokenInvariant` naming the first invariant that fails."""
    evidence = engine.evidence(given)
    made = _moment_checks if all_regressions(engine.prepared.problem) else _tree_checks
    check_rows_fit(whole("num_points", num_points), 8 * len(engine.model.variables))
    checks = made(_built(engine, evidence), evidence, seed, num_points)
    for one in checks:
        if not one.holds:
            raise BrokenInvariant(
                f"{engine!r} breaks an invariant: {one.label} is off by {one.deviation:.3g}, more than "
                f"{one.tolerance:.0e}. Please report it with the model."
            )
    return CheckReport(tuple(checks))


def _built(engine: Engine, evidence: Evidence) -> Engine:
    """The engine itself, or one whose CPDs without a table have become factors for this evidence."""
    prepared, problem = engine.prepared, engine.prepared.problem
    if not any(form.is_deferred for form in problem.forms) or not can(prepared, Rewrites):
        return engine
    hidden = without(range(problem.num_visible), evidence.observed)
    return type(engine)(engine.model, engine.method, prepared=prepared.for_sums(evidence, hidden))


def _is_whole(engine: Engine, problem: Problem) -> bool:
    """Whether the problem is the model's own, and not one for some evidence."""
    return problem is engine.model.problem() or not engine.model.problem().forms


def _tree_checks(engine: Engine, evidence: Evidence, seed: int, num_points: int) -> list[Check]:
    """The invariants of a clique tree of explicit beliefs."""
    tree = _plain_tree(engine)
    calibration = tree.calibrate(evidence)
    if calibration.log_partition == -math.inf:
        raise impossible(engine.prepared, evidence)
    points = _points(engine, evidence, seed, num_points)
    checks = [
        Check("running_intersection", _running_intersection(calibration), tolerance=0.0),
        Check("calibration", _calibration(calibration, points), tolerance=TOLERANCE),
        Check("reparameterization", _reparameterization(tree, calibration, evidence, points), tolerance=TOLERANCE),
        Check("log_partition", _log_partition(engine, calibration, evidence), tolerance=TOLERANCE),
        Check("marginals", _marginals(engine, calibration, evidence), tolerance=TOLERANCE),
    ]
    if _is_discrete(engine):
        derivatives = Derivatives(tree.problem, tree.method.order, tree.method.memory, prune=False)
        checks.append(Check("gradient", _gradient(derivatives, calibration, evidence), tolerance=TOLERANCE))
        if tree.problem.is_normalized and _is_whole(engine, tree.problem):
            total = abs(math.expm1(derivatives.gradient(Evidence()).log_partition))
            checks.append(Check("total_of_one", total, tolerance=1e-12 + 2 * _row_errors(derivatives)))
    return checks


def _moment_checks(engine: Engine, evidence: Evidence, seed: int, num_points: int) -> list[Check]:
    """The invariants of a network of regressions, whose beliefs need not have a canonical form."""
    if engine.prepared.log_partition(evidence) == -math.inf:
        raise impossible(engine.prepared, evidence)
    everyone = range(len(engine.prepared.problem.variables))
    drawn = engine.prepared.sample(num_points, evidence, generator(seed))
    cases = [{v: column[i] for v, column in drawn.items()} for i in range(num_points)]
    residual = engine.prepared.residual(everyone, evidence) if can(engine.prepared, MeasuresResiduals) else None
    return [
        Check(
            "reparameterization",
            max((_product_gap(engine, evidence, c) for c in cases), default=0.0),
            tolerance=TOLERANCE,
        ),
        Check(
            "log_partition", max((_chain_gap(engine, evidence, c) for c in cases[:3]), default=0.0), tolerance=TOLERANCE
        ),
        Check("marginals", _query_gap(engine, evidence), tolerance=TOLERANCE),
        Check("residual", residual or 0.0, tolerance=TOLERANCE),
        Check("total_of_one", abs(math.expm1(engine.prepared.log_partition(Evidence()))), tolerance=TOLERANCE),
    ]


Case = Mapping[int, Any]
"""Codes and values by position."""


def _with(problem: Problem, evidence: Evidence, case: Case) -> Evidence:
    """The evidence with further findings."""
    discrete = {v: int(x) for v, x in case.items() if problem.variables[v].is_discrete}
    reals = {v: np.atleast_1d(x) for v, x in case.items() if v not in discrete}
    weights = {v: w for v, w in evidence.weights.items() if v not in case}
    return Evidence({**evidence.codes, **discrete}, weights, reals={**evidence.reals, **reals})


def _log_likelihood(evidence: Evidence, case: Case) -> float:
    """The logarithm of the likelihoods that the evidence has for the states of a case."""
    weights = (float(evidence.weights[v][int(x)]) for v, x in case.items() if v in evidence.weights)
    return sum(map(math.log, weights))


def _product_gap(engine: Engine, evidence: Evidence, case: Case) -> float:
    r"""The log density of a complete case against $\sum \log \phi$, relative to its size."""
    problem = engine.prepared.problem
    everything = _with(problem, evidence, case)
    factors = reduced_factors(problem, everything)
    product = float(sum(f.log_total for f in factors))
    found = engine.prepared.log_partition(everything)
    return _gap(found - product) / max(1.0, abs(product))


def _chain_gap(engine: Engine, evidence: Evidence, case: Case) -> float:
    r"""$\log p(\mathbf e) + \sum_i \log p(x_i \mid \mathbf x_{<i}, \mathbf e) = \log p(\mathbf x, \mathbf e)$."""
    prepared, problem = engine.prepared, engine.prepared.problem
    order = sorted(case, key=lambda v: not problem.variables[v].is_discrete)
    total, slack, known = prepared.log_partition(evidence), 1.0, dict[int, Any]()
    for v in order:
        seen = _with(problem, evidence, known)
        log, error = _log_answer(prepared.query([v], seen).distribution, case[v])
        known[v] = case[v]
        if log is None:
            log = prepared.log_partition(_with(problem, evidence, known)) - prepared.log_partition(seen)
        total, slack = total + log, slack + abs(log) + error
    expected = prepared.log_partition(_with(problem, evidence, case)) + _log_likelihood(evidence, case)
    return _gap(total - expected) / slack


def _log_answer(answer: Any, value: Any) -> tuple[float | None, float]:
    """The log probability or density of a value, None if there is none, and its rounding relative to the tolerance."""
    if not isinstance(answer, Gaussian):
        return float(np.ravel(dense(answer).log_values)[int(value)]), 0.0
    variance = np.diagonal(answer.covariance)
    if len(variance) > 1 or not variance.all():
        return (None, 0.0) if len(variance) > 1 else (0.0, 0.0)
    deviation = math.sqrt(float(variance[0]))
    away = (float(value) - float(answer.mu[0])) / deviation
    rounding = EPS * (abs(float(value)) + abs(float(answer.mu[0]))) / deviation
    return -0.5 * (LOG_2PI + away**2) - math.log(deviation), 8.0 * rounding * (1.0 + abs(away)) / TOLERANCE


def _query_gap(engine: Engine, evidence: Evidence) -> float:
    """The largest difference of marginals from single queries: of probabilities, and of moments in deviations."""
    read, _ = engine.prepared.marginals(evidence)
    observed = set(evidence.observed)
    hidden = [(v, x) for v, x in enumerate(engine.model.variables) if v not in observed]
    pairs = ((dense(read(v)), dense(engine.prepared.query([v], evidence).distribution), x) for v, x in hidden)
    return max((_distance(a, b, ()) if x.is_discrete else _moment_gap(a, b) for a, b, x in pairs), default=0.0)


def _moment_gap(mine: Any, theirs: Any) -> float:
    """The largest difference of means and deviations, relative to both."""
    (mean, deviation), (center, spread) = (
        (np.ravel(x.mean()), np.sqrt(np.ravel(x.variance()))) for x in (mine, theirs)
    )
    gap, scale = np.abs(mean - center) + np.abs(deviation - spread), np.abs(center) + spread
    return float(np.max(np.divide(gap, scale, out=np.zeros_like(gap), where=scale > 0), initial=0.0))


def _is_discrete(engine: Engine) -> bool:
    return bool((engine.prepared.problem.variables.cards > 0).all())


def _plain_tree(engine: Engine) -> PreparedTree:
    """A clique tree of explicit beliefs, with the order and memory of the engine's method if it has them."""
    method = engine.prepared.method
    return BeliefUpdate(*elimination_settings(method)).prepare(engine.prepared.problem)


def _points(engine: Engine, evidence: Evidence, seed: int, num_points: int) -> list[Point]:
    """Assignments of the unobserved variables, auxiliaries included, drawn from the posterior."""
    drawn = engine.prepared.sample(num_points, evidence, generator(seed))
    variables = engine.prepared.problem.variables
    hidden = {variables[v]: column for v, column in drawn.items()}
    return [
        {v.name: v.states[int(c[i])] if v.is_discrete else c[i] for v, c in hidden.items()}  # type: ignore[union-attr]
        for i in range(num_points)
    ]


def _running_intersection(calibration: Calibrated) -> float:
    try:
        calibration.tree.check_running_intersection()
    except ModelError:
        return math.inf
    return 0.0


def _calibration(calibration: Calibrated, points: Sequence[Point]) -> float:
    """The largest disagreement of neighbors about the marginal of their sepset."""
    worst = 0.0
    for (a, b), sepset, shared in zip(
        calibration.tree.edges, calibration.tree.sepsets, calibration.sepset_beliefs, strict=True
    ):
        sides = [project(calibration.beliefs[i], set(sepset), SUM) for i in (a, b)]
        worst = max([worst, *(_distance(side, shared, points) for side in sides)])
    return worst


def _distance(mine: Factor, theirs: Factor, points: Sequence[Point]) -> float:
    """The largest difference of normalized tables; for densities, of their logarithms at the points."""
    if all(v.is_discrete for v in mine.scope):
        left, right = (dense(f).normalize() for f in (mine, theirs))
        return float(np.abs(left.values - right.align(left.scope).values).max(initial=0.0))
    return max((_gap(mine.log_value(p) - theirs.log_value(p)) for p in (_at(q, mine) for q in points)), default=0.0)


def _at(point: Point, factor: Factor) -> Point:
    return {v.name: point[v.name] for v in factor.scope}


def _gap(difference: float) -> float:
    return math.inf if math.isnan(difference) else abs(difference)


def _reparameterization(
    tree: PreparedTree, calibration: Calibrated, evidence: Evidence, points: Sequence[Point]
) -> float:
    r"""$\sum \log \beta - \sum \log \mu = \sum \log \phi$ at the drawn points, relative to its size."""
    factors = tree_factors(tree.problem, tree.plan((), evidence.observed), evidence)
    worst = 0.0
    for point in points:
        start = sum(f.log_value(_at(point, f)) for f in factors)
        beliefs = sum(f.log_value(_at(point, f)) for f in calibration.beliefs)
        sepsets = sum(f.log_value(_at(point, f)) for f in calibration.sepset_beliefs)
        constant = calibration.log_partition if not calibration.beliefs else 0.0  # a tree without cliques
        worst = max(worst, _gap(beliefs + constant - sepsets - start) / max(1.0, abs(start)))
    return worst


def _log_partition(engine: Engine, calibration: Calibrated, evidence: Evidence) -> float:
    """The engine's log partition against the tree's."""
    found = engine.prepared.log_partition(evidence)
    return _gap(found - calibration.log_partition) / max(1.0, abs(calibration.log_partition))


def _marginals(engine: Engine, calibration: Calibrated, evidence: Evidence) -> float:
    """The engine's marginals of discrete variables against the tree's."""
    read, _ = engine.prepared.marginals(evidence)
    worst, observed = 0.0, set(evidence.observed)
    for v, variable in enumerate(engine.model.variables):
        if v not in observed and variable.is_discrete:
            theirs = calibration.marginal([variable.name])
            worst = max(worst, _distance(dense(read(v)), theirs, ()))
    return worst


def _gradient(derivatives: Derivatives, calibration: Calibrated, evidence: Evidence) -> float:
    r"""$\phi_i\, \partial \log Z / \partial \phi_i$ against the tree's marginal over the factor's scope."""
    gradient, problem = derivatives.gradient(evidence), derivatives.problem
    worst = 0.0
    for number in gradient.parts:
        scope = problem.scope(number)
        slope = gradient.relative(number, gradient.log_partition)
        values = dense(problem.factor(number)).values * slope
        fixed = tuple(evidence.codes.get(v, slice(None)) for v in scope)
        names = [problem.variables[v].name for v in scope if v not in evidence.codes]
        theirs = dense(calibration.marginal(names)).align(names).values if names else 1.0
        worst = max(worst, float(np.abs(values[fixed] - theirs).max(initial=0.0)))
    return worst


def _row_errors(derivatives: Derivatives) -> float:
    """The total deviation of the CPDs' own rows from a sum of one."""
    problem = derivatives.problem
    total = 0.0
    for group in problem.conditionals:
        if len(group.factors) == 1:
            out = [problem.variables[v].name for v in (group.child, *group.auxiliaries)]
            sums = dense(problem.factor(group.factors[0])).marginalize(out).values
            total += float(np.abs(sums - 1.0).max(initial=0.0))
    return total
