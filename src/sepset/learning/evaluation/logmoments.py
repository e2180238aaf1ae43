r"""Mean and variance of the log probability of a draw from a network.

$$E \log P = -H(P), \qquad \operatorname{Var} \log P = E \Bigl(\sum_i \log \theta_i - E \log \theta_i\Bigr)^2$$

Logarithms are taken less the expected one of their factor, so that no large squares are subtracted: a nearly uniform
network has a variance of 1e-20 with all its digits.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.base.display import Shown
from sepset.base.foreign import translated
from sepset.base.logarithms import LOG_2PI
from sepset.engine.kept import engine_for
from sepset.errors import NotApplicable
from sepset.factors.algebra import Factor
from sepset.factors.regression import Regression
from sepset.factors.table import Table
from sepset.graphs.ordering import OrderingMethod
from sepset.inference.capabilities import factor_marginals
from sepset.inference.method import Prepared, dense, elimination_settings, prepare
from sepset.inference.plan import EliminationPlan, make_plan
from sepset.inference.rewriting import functional
from sepset.learning.assessment import Assessment
from sepset.models.bayesnet import BayesNet
from sepset.problem import Problem, Relevant
from sepset.variables.evidence import Evidence
from sepset.variables.universe import Universe

PORTION = 2**20
"""The most entries that are multiplied at once."""


@dataclass(frozen=True)
class LogMoments(Assessment):
    """Mean and variance of a log probability."""

    mean: float
    variance: float

    def _shown(self) -> Shown:
        rows = [("mean", f"{self.mean:.6g}"), ("variance", f"{self.variance:.6g}")]
        return Shown((), rows, "The log probability of a row, in nats")


@translated
def log_probability_moments(model: BayesNet) -> LogMoments:
    r"""The exact mean $-H(P)$ and variance of $\log P(\mathbf x)$ under a network, in nats.

    Elimination of $\theta\, e^{t \log \theta} = \theta + t\, \theta \log \theta + \tfrac{t^2}{2} \theta \log^2 \theta$,
    kept to second order: products and sums give the first two moments of $\sum_i \log \theta_i$. The log density of a
    linear Gaussian of $n$ coordinates has the mean $-\tfrac12 \log \det (2 \pi e\, C_d)$ and the variance $n / 2$ in
    each state $d$ of its discrete parents, independent of its real parents.

    Args:
        model: a network of discrete variables and of linear Gaussians with noise.

    Cost: a few times that of one elimination of the discrete variables.
    Reference: Koller & Friedman, box 16.A; Li & Eisner (2009) for expectations of second order.
    Guarantee: exact.
    Tested by: learning/evaluation/test_logmoments.py::test_moments_are_those_of_the_joint

    >>> from sepset.cpds.table import TableCPD
    >>> from sepset.variables.variable import Discrete
    >>> found = log_probability_moments(BayesNet(TableCPD(Discrete("x", 3), [0.5, 0.3, 0.2])))
    >>> round(found.mean, 6), round(found.variance, 6)
    (-1.029653, 0.132964)
    """
    engine = engine_for(model)
    _check(engine.prepared.problem)
    problem = functional(engine.prepared.problem)
    lines = _lines(problem)
    states = _of_states(problem, lines)
    plan = _plan(states, *elimination_settings(engine.method))
    logs = [_Logs.of_line(lines[n]) if n in lines else _Logs.of(f) for n, f in enumerate(problem.factors())]
    means = _expected(prepare(engine.method, states), [one.logs for one in logs])
    items = [one.less(mean) for one, mean in zip(logs, means, strict=True)]
    for name in plan.order:
        held = [item for item in items if name in item.scope]
        items = [item for item in items if name not in item.scope]
        items.append(_product(held).without(name))
    total = _product(items)
    rest = float(total.parts[1])  # rounding alone
    mean = math.fsum([*(one.base for one in logs), *means, rest])
    return LogMoments(mean, max(float(total.parts[2]) - rest**2, 0.0))


def _expected(states: Prepared, logs: Sequence[Floats]) -> list[float]:
    """The expected logarithm of each factor."""
    marginals = factor_marginals(states, Evidence({}, {}))
    return [float((marginal * log).sum()) for marginal, log in zip(marginals, logs, strict=True)]


def _plan(states: Problem, order: OrderingMethod, memory: int) -> EliminationPlan:
    """The elimination of all variables; raises if its tables do not fit."""
    everything = Relevant(np.arange(states.num_factors), np.arange(len(states.variables)))
    plan = make_plan(states, everything, method=order, limit=memory)
    plan.check(memory)
    return plan


def _check(problem: Problem) -> None:
    """Raise if a real variable is not that of a linear Gaussian."""
    if problem.variables.all_discrete:
        return
    chosen = {problem.conditionals[form.group].child for form in problem.forms}  # by the question: no regressions
    for group in problem.conditionals:
        variable = problem.variables[group.child]
        if not variable.is_discrete and (group.child in chosen or group.child not in problem.regressions):
            raise NotApplicable(
                "The moments of the log density are known for discrete variables and linear Gaussians; "
                f"{variable.name!r} is neither. Simulate them: `model.log_probability(model.sample(n))`."
            )


def _lines(problem: Problem) -> dict[int, Regression]:
    """The factors that are linear Gaussians, by number."""
    return {g.factors[0]: problem.regressions[g.child] for g in problem.conditionals if g.child in problem.regressions}


def _of_states(problem: Problem, lines: Mapping[int, Regression]) -> Problem:
    """The problem of the discrete variables, in which each line is a table over its discrete parents."""
    if not lines:
        return problem
    states = Universe([v for v in problem.variables if v.is_discrete])
    factors = [Table.ones(lines[n].by) if n in lines else f for n, f in enumerate(problem.factors())]
    return Problem.of_factors(states, factors, scopes=[[states.id(v) for v in factor.scope] for factor in factors])


class _Logs(NamedTuple):
    """The logarithms of a factor less a common one, over a scope of names.

    Attributes:
        scope: the names.
        weights: the entries; ones for a line, whose densities have an expected logarithm in each state.
        logs: the logarithms.
        base: the common one, which is subtracted.
        spread: the variance of each logarithm in its state.
    """

    scope: tuple[str, ...]
    weights: Floats
    logs: Floats
    base: float
    spread: float = 0.0

    @classmethod
    def of(cls, factor: Factor) -> _Logs:
        theta = dense(factor).values
        most = float(theta.max(initial=0.0)) or 1.0
        return cls(tuple(v.name for v in factor.scope), theta, _log_ratios(theta, most), math.log(most))

    @classmethod
    def of_line(cls, line: Regression) -> _Logs:
        r"""In each state the mean is $-\tfrac12 \log \det (2 \pi e\, C_d)$, the variance $n / 2$."""
        sign, log_det = np.linalg.slogdet(line.covariance)
        if not (sign > 0).all():
            raise NotApplicable(
                f"{line!r} has no noise in some state, so that its log density is infinite. Give it a variance."
            )
        size, shape = line.child.size, [v.num_states for v in line.by]
        apart = (
            _log_ratios(line.covariance[:, 0, 0], float(line.covariance[0, 0, 0]))
            if size == 1
            else log_det - log_det[0]
        )
        base = -0.5 * (float(log_det[0]) + size * (LOG_2PI + 1.0))
        logs = -0.5 * apart.reshape(shape)
        return cls(tuple(v.name for v in line.by), np.ones_like(logs), logs, base, 0.5 * size)

    def less(self, mean: float) -> _Polynomial:
        """Weights and moments of the logarithms less this mean."""
        apart = np.where(self.weights > 0, self.logs - mean, 0.0)
        return _Polynomial(self.scope, (self.weights, self.weights * apart, self.weights * (apart**2 + self.spread)))


def _log_ratios(values: Floats, base: float) -> Floats:
    """The logarithms of values over a base, with all digits where they are similar; zero for zeros."""
    is_near = np.abs(values - base) < 0.5 * base
    far = np.log(values, out=np.zeros_like(values), where=values > 0) - np.where(values > 0, math.log(base), 0.0)
    return np.where(is_near, np.log1p(np.where(is_near, values - base, 0.0) / base), far)


class _Polynomial(NamedTuple):
    """Weights, and their first and second moments of the sum of logarithms, over a scope of names."""

    scope: tuple[str, ...]
    parts: tuple[Floats, Floats, Floats]

    def times(self, other: _Polynomial) -> _Polynomial:
        scope = (*self.scope, *(name for name in other.scope if name not in self.scope))
        left, right = self._over(scope), other._over(scope)
        shape = np.broadcast_shapes(left[0].shape, right[0].shape)
        parts = np.empty(shape), np.empty(shape), np.empty(shape)
        for place in _portions(shape):
            (p, s, q), (a, b, c) = (tuple(part[_within(part, place)] for part in side) for side in (left, right))
            for part, found in zip(parts, (p * a, s * a + p * b, q * a + 2.0 * s * b + p * c), strict=True):
                part[place] = found
        return _Polynomial(scope, parts)

    def without(self, name: str) -> _Polynomial:
        axis = self.scope.index(name)
        p, s, q = (part.sum(axis=axis) for part in self.parts)
        return _Polynomial((*self.scope[:axis], *self.scope[axis + 1 :]), (p, s, q))

    def _over(self, scope: Sequence[str]) -> tuple[Floats, ...]:
        """The parts with an axis for each name of `scope`, of length one where they do not depend on it."""
        order = [self.scope.index(name) for name in scope if name in self.scope]
        shape = iter(np.array(self.parts[0].shape, np.int64)[order].tolist())
        full = [next(shape) if name in self.scope else 1 for name in scope]
        return tuple(part.transpose(order).reshape(full) for part in self.parts)


def _portions(shape: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Places along the first axes, at each of which there are few entries: between two of them Ctrl-C is heard.

    >>> [len(list(_portions([2] * n))) for n in (3, 22)]
    [1, 4]
    """
    num = 0
    while math.prod(shape[num:]) > PORTION:
        num += 1
    return itertools.product(*map(range, shape[:num]))


def _within(part: Floats, place: tuple[int, ...]) -> tuple[int, ...]:
    """The place in a part; an axis that the part does not depend on has length one."""
    return tuple(0 if length == 1 else at for at, length in zip(place, part.shape, strict=False))


def _product(items: Sequence[_Polynomial]) -> _Polynomial:
    total = _Polynomial((), (np.ones(()), np.zeros(()), np.zeros(())))
    for item in items:
        total = total.times(item)
    return total
