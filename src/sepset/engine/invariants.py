r"""Invariants of exact inference, checked on the user's own model: clique trees, gradients and totals."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sepset.base.checks import generator
from sepset.base.display import Shown, Tabulated, text_table
from sepset.errors import BrokenInvariant, ModelError
from sepset.factors.algebra import Factor
from sepset.inference.compiled.gradients import Derivatives
from sepset.inference.conflict import impossible
from sepset.inference.exact.beliefupdate import BeliefUpdate
from sepset.inference.exact.messages import project, tree_factors
from sepset.inference.exact.tree import PreparedTree
from sepset.inference.method import Calibrated, dense, elimination_settings
from sepset.semiring import SUM
from sepset.variables.evidence import Evidence, Given

if TYPE_CHECKING:
    from sepset.engine.engine import Engine

Point = dict[str, Any]

TOLERANCE = 1e-9
"""Messages divide and rescale, so two ways to compute a value differ by more than rounding."""


@dataclass(frozen=True, slots=True)
class Check:
    """One invariant: the largest deviation found, and the largest allowed."""

    name: str
    deviation: float
    tolerance: float

    @property
    def holds(self) -> bool:
        """Whether the deviation is within the tolerance."""
        return self.deviation <= self.tolerance


@dataclass(frozen=True, slots=True)
class CheckReport(Tabulated):
    """The invariants that were checked, all of which held."""

    checks: tuple[Check, ...]

    def __getitem__(self, name: str) -> Check:
        return next(check for check in self.checks if check.name == name)

    def __iter__(self) -> Iterator[Check]:
        return iter(self.checks)

    def __len__(self) -> int:
        return len(self.checks)

    def _shown(self) -> Shown:
        return Shown((), [(c.name, f"{c.deviation:.1e} <= {c.tolerance:.0e}") for c in self.checks])

    def __str__(self) -> str:
        return text_table(self._shown())


def check(engine: Engine, given: Given, seed: int, num_points: int) -> CheckReport:
    """The report, or `BrokenInvariant` naming the first invariant that fails."""
    evidence = engine.evidence(given)
    tree = _plain_tree(engine)
    calibration = tree.calibrate(evidence)
    if calibration.log_partition == -math.inf:
        raise impossible(engine.prepared, evidence)
    points = _points(engine, evidence, seed, num_points)
    checks = [
        Check("running intersection", _running_intersection(calibration), 0.0),
        Check("calibration", _calibration(calibration, points), TOLERANCE),
        Check("reparameterization", _reparameterization(tree, calibration, evidence, points), TOLERANCE),
        Check("log partition", _log_partition(engine, calibration, evidence), TOLERANCE),
        Check("marginals", _marginals(engine, calibration, evidence), TOLERANCE),
    ]
    if _is_discrete(engine):
        derivatives = Derivatives(tree.problem, tree.method.order, tree.method.memory, prune=False)
        checks.append(Check("gradient", _gradient(derivatives, calibration, evidence), TOLERANCE))
        if tree.problem.is_normalized:
            total = abs(math.expm1(derivatives.gradient(Evidence()).log_partition))
            checks.append(Check("total of one", total, 1e-12 + 2 * _row_errors(derivatives)))
    for one in checks:
        if not one.holds:
            raise BrokenInvariant(
                f"{engine!r} breaks an invariant: {one.name} is off by {one.deviation:.3g}, more than "
                f"{one.tolerance:.0e}. Please report it with the model."
            )
    return CheckReport(tuple(checks))


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
