r"""How far the lines of a network are from the true ones, in decimal numbers, with as many digits as it takes.

With $G_d = E[\mathbf v \mathbf v^\top \mid d]$ and $\mathbf v = (1, \mathbf u, \mathbf y)$ for a child and its parents
in $Q$, what is left of $\mathbf y$ after elimination of the others is $S_d$, the covariance that no line can explain,
and with $L = (-a^Q_d, -B^Q_d, I)$ the expected squares of what the line of $Q$ leaves are $L G_d L^\top$:

$$\tfrac12 \sum_d P(d) \left[ \operatorname{tr} C_d^{-1} L G_d L^\top - k + \log |C_d| - \log |S_d| \right]$$

is what its parameters lose. All these subtractions lose digits, and so they are repeated with more of them until the
divergence stays the same.

Where relations are deterministic, densities are over the coordinates $J$ that others leave open, those with
$S_{jj} > 0$, and the graph loses $\tfrac12 \sum_j E \log S_{jj} - \tfrac12 E \log |\operatorname{cov}(\mathbf x_J)|$;
that is infinite where the coordinates are more than the dimensions of $P$.

Reference: Koller & Friedman, sections 8.4.2, 8.5.2 and 14.2; Ziv (1991), Fast evaluation of elementary mathematical
functions with correctly rounded last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from sepset.base.arraytypes import Floats, Ints, Objects
from sepset.base.cache import Cache
from sepset.base.lazy import lazy
from sepset.cpds.lineargaussian import LinearGaussian, is_linear_gaussian
from sepset.factors.algebra import num_entries
from sepset.factors.coordinates import entries, places, width
from sepset.learning.evaluation.divergence.expectedlog import is_same
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete, Vector

Marginal: TypeAlias = Callable[[Sequence[str]], Floats]
Decimals: TypeAlias = Objects

LADDER = (60, 200, 700)
"""The digits that are tried."""

MOST_STEPS = 5_000_000
"""The most multiplications, times a factor for long numbers, of one attempt."""

SAME = Decimal("1e-12")
"""The relative difference of two attempts from which the second is taken."""

NOTHING = Decimal("1e-40")
"""A divergence below this is not told from zero."""

ZERO, ONE, INFINITE = Decimal(0), Decimal(1), Decimal("Infinity")
as_decimals: Any = np.frompyfunc(Decimal, 1, 1)


class ExactParts(NamedTuple):
    """The losses in real variables by the graph and by the parameters of each family, and a bound of the error."""

    structure: float
    families: dict[str, float]
    error: float


class _Left(NamedTuple):
    """The coordinates that other numbers leave open, and the log determinant over these."""

    open: tuple[int, ...]
    log_det: Decimal


class _Moments(NamedTuple):
    """The moments of some real variables in each joint state of some discrete ones."""

    scope: tuple[Vector, ...]
    joint: tuple[Discrete, ...]
    mean: Decimals
    covariance: Decimals


def exact_parts(network: BayesNet, marginal: Marginal, model: BayesNet) -> ExactParts | None:
    """The parts of a divergence that real variables have, in decimal numbers; None if that takes too many steps.

    Args:
        network: the truth, of linear Gaussians and discrete CPDs.
        marginal: the joint distribution of its discrete variables, by name.
        model: over the same variables.

    Cost: one step for each slope and ancestor in each joint state above them; a few times that with more digits.
    Reference: Koller & Friedman 8.5.2; Ziv (1991).
    Guarantee: exact; the digits of the answer are those of two attempts that agree.
    Tested by: learning/evaluation/divergence/test_decimalgaps.py::test_divergences_meet_rational_arithmetic

    >>> from sepset.variables.variable import Real
    >>> x = Real("x")
    >>> standard, wide = (BayesNet(LinearGaussian(x, covariance=c)) for c in (1.0, 4.0))
    >>> round(exact_parts(standard, lambda names: np.ones(()), wide).families["x"], 6)
    0.318147
    """
    before, found = None, None
    for digits in LADDER:
        with localcontext(Context(prec=digits, Emax=MAX_EMAX, Emin=MIN_EMIN)):
            attempt = _Attempt(network, marginal, model, digits)
            if attempt.steps * (1.0 + digits / 100.0) > MOST_STEPS:
                break
            structure, families = attempt.parts()
            total = structure + sum(families.values(), ZERO)
            error = _apart(total, before)
        is_settled = digits == LADDER[-1] or not attempt.doubts
        values = {name: max(float(gap), 0.0) for name, gap in families.items()}
        found = ExactParts(max(float(structure), 0.0), values, error if is_settled else np.inf)
        if is_settled and error < np.inf and error <= float(SAME) * float(total) + float(NOTHING):
            break
        before = total
    return found


def _apart(total: Decimal, before: Decimal | None) -> float:
    if before is None:
        return np.inf
    return 0.0 if total == before else float(abs(total - before))


@dataclass(frozen=True, eq=False)
class _Attempt:
    """The parts of a divergence with some number of digits.

    `doubts` has differences that were taken as zero: with more digits they may not be.
    """

    network: BayesNet
    marginal: Marginal
    model: BayesNet
    digits: int
    doubts: list[Decimal] = field(default_factory=list, repr=False)
    _kept: Cache[_Moments] = field(default_factory=lambda: Cache(8), repr=False)

    @lazy
    def _lines(self) -> list[LinearGaussian]:
        """The lines of the truth, parents first."""
        found = (self.network.cpd(name) for name in self.network.dag.topological_order)
        return [cpd for cpd in found if is_linear_gaussian(cpd)]

    @lazy
    def _differing(self) -> list[LinearGaussian]:
        """The lines of the model that are not those of the truth."""
        found = (self.model.cpd(own.child.name) for own in self._lines)
        return [cpd for cpd in found if is_linear_gaussian(cpd) and not is_same(self.network.cpd(cpd.child.name), cpd)]

    @lazy
    def steps(self) -> float:
        """About how many multiplications this takes."""
        questions = [((*cpd.given, cpd.child), cpd.by) for cpd in self._differing]
        total = sum(float(num_entries(by)) * (1.0 + width(reals)) ** 3 for reals, by in questions)
        if not self._is_full:
            questions.append(self._everything)
            total += float(num_entries(self._needed(*self._everything)[2])) * width(self._everything[0]) ** 3
        seen = set[tuple[Any, ...]]()
        for reals, by in questions:
            above, scope, joint = self._needed(reals, by)
            each = (1.0 + width(reals)) ** 2
            if (scope, joint) not in seen:
                seen.add((scope, joint))
                past = np.cumsum([line.child.size for line in above]).tolist()
                pairs = zip(above, past, strict=True)
                each += sum(line.child.size * (1.0 + width(line.given)) * before for line, before in pairs)
            total += float(num_entries(joint)) * each
        return total

    @lazy
    def _own(self) -> dict[str, list[_Left]]:
        """The coordinates that the noise of each line of the truth leaves open in each context."""
        return {own.child.name: [self._left(C, 0) for C in as_decimals(own.covariance)] for own in self._lines}

    @lazy
    def _is_full(self) -> bool:
        """Whether the truth has no deterministic relations in contexts that come."""
        return all(
            len(part.open) == own.child.size
            for own in self._lines
            for part, weight in zip(self._own[own.child.name], self._weights(own.by), strict=True)
            if weight > 0
        )

    @property
    def _everything(self) -> tuple[tuple[Vector, ...], tuple[Discrete, ...]]:
        """All real variables, and all contexts of either network."""
        lines = (*self._lines, *self._differing)
        return tuple(own.child for own in self._lines), tuple(dict.fromkeys(d for line in lines for d in line.by))

    def parts(self) -> tuple[Decimal, dict[str, Decimal]]:
        """The loss by the graph, and those by the parameters of each family."""
        families = {own.child.name: ZERO for own in self._lines}
        left = {own.child.name: (own, self._own[own.child.name]) for own in self._lines}
        for cpd in self._differing:
            gap, found = self._compared(cpd)
            families[cpd.child.name] = gap
            if set(self.network.parents(cpd.child)) != set(cpd.parents):
                left[cpd.child.name] = cpd, found
        return self._structure(left), families

    def _structure(self, left: Mapping[str, tuple[LinearGaussian, list[_Left]]]) -> Decimal:
        moved = [own for own in self._lines if left[own.child.name][0] is not own]
        if not moved:
            return ZERO
        if self._is_full:
            ours = [self._mean(own, self._own[own.child.name]) for own in moved]
            return (sum((self._mean(*left[own.child.name]) for own in moved), ZERO) - sum(ours, ZERO)) / 2
        return (sum((self._mean(*part) for part in left.values()), ZERO) - self._joint_log_det(left)) / 2

    def _joint_log_det(self, left: Mapping[str, tuple[LinearGaussian, list[_Left]]]) -> Decimal:
        """The expected log determinant of the covariance of all coordinates that are open in a joint state."""
        found = self._moments(*self._everything)
        weights, total = self._weights(found.joint), ZERO
        which = {name: entries(found.joint, cpd.by) for name, (cpd, _) in left.items()}
        for state in np.flatnonzero(weights).tolist():
            kept = list[int]()
            for child in found.scope:
                part = left[child.name][1][which[child.name][state]]
                kept += places(found.scope, [child])[list(part.open)].tolist()
            last = self._left(found.covariance[state][np.ix_(kept, kept)], 0)
            total += Decimal(float(weights[state])) * (last.log_det if len(last.open) == len(kept) else -INFINITE)
        return total

    def _compared(self, cpd: LinearGaussian) -> tuple[Decimal, list[_Left]]:
        """The loss by the parameters of a line, and what its parents leave open in each context."""
        weights, G = self._second(cpd)
        total, left, first = ZERO, list[_Left](), G.shape[1] - cpd.child.size
        for d in range(len(weights)):
            left.append(self._left(G[d], first))
            if weights[d] > 0:
                total += Decimal(float(weights[d])) * self._gap(cpd, d, G[d], left[d])
        return total / 2, left

    def _gap(self, cpd: LinearGaussian, d: int, G: Decimals, left: _Left) -> Decimal:
        """Twice what the parameters lose in a context."""
        k, C = cpd.child.size, as_decimals(cpd.covariance[d])
        parts = (-cpd.intercept[d][:, None], -cpd.coefficients[d], np.eye(k))
        line = as_decimals(np.concatenate(parts, axis=1))
        spread, terms = line @ G @ line.T, abs(line) @ abs(G) @ abs(line).T
        own = self._left(C, 0)
        if not own.open and not left.open:
            return ZERO if all(self._is_zero(spread[i, i], terms[i, i]) for i in range(k)) else INFINITE
        if len(own.open) < k or len(left.open) < k:
            return INFINITE
        ratio = _solved(C, spread)
        excess = sum((ratio[i, i] for i in range(k)), Decimal(-k))
        return excess + own.log_det - left.log_det

    @lazy
    def _tiny(self) -> Decimal:
        """Half of the digits: a number that is smaller than its terms by this is zero."""
        return ONE.scaleb(-self.digits // 2)

    def _is_zero(self, number: Decimal, terms: Decimal) -> bool:
        if number > self._tiny * terms:
            return False
        if terms:
            self.doubts.append(number)
        return True

    def _left(self, matrix: Decimals, first: int) -> _Left:
        """The coordinates that the first numbers leave open of the others, one after the other."""
        rest, terms, open_, log_det = matrix.copy(), np.diagonal(matrix), list[int](), ZERO
        for j in range(len(rest)):
            pivot = rest[j, j]
            if self._is_zero(pivot, terms[j]):
                continue
            if j >= first:
                open_.append(j - first)
                log_det += pivot.ln()
            if j + 1 < len(rest):
                after = slice(j + 1, None)
                rest[after, after] -= rest[after, j : j + 1] * (rest[j : j + 1, after] / pivot)
        return _Left(tuple(open_), log_det)

    def _mean(self, cpd: LinearGaussian, left: list[_Left]) -> Decimal:
        weights = self._weights(cpd.by)
        parts = (Decimal(float(w)) * part.log_det for w, part in zip(weights, left, strict=True) if w > 0)
        return sum(parts, ZERO)

    def _weights(self, by: Sequence[Discrete]) -> Floats:
        return np.asarray(self.marginal([v.name for v in by])).reshape(-1)

    def _second(self, cpd: LinearGaussian) -> tuple[Floats, Decimals]:
        """The probability of each context, and the second moments of one, the parents and the child there."""
        wanted = (*cpd.given, cpd.child)
        found = self._moments(wanted, cpd.by)
        at, share = places(found.scope, wanted), as_decimals(self._weights(found.joint))
        mean, covariance = found.mean[:, at], found.covariance[:, at[:, None], at]
        G = np.full((num_entries(cpd.by), len(at) + 1, len(at) + 1), ZERO)
        total = np.full(len(G), ZERO)
        for state, d in enumerate(entries(found.joint, cpd.by).tolist()):
            ends = np.concatenate([[ONE], mean[state]])
            inner = ends[:, None] * ends[None, :]
            inner[1:, 1:] += covariance[state]
            G[d] += share[state] * inner
            total[d] += share[state]
        for d in range(len(G)):
            if total[d]:
                G[d] /= total[d]
        return self._weights(cpd.by), G

    def _needed(
        self, reals: Sequence[Vector], by: Sequence[Discrete]
    ) -> tuple[list[LinearGaussian], tuple[Vector, ...], tuple[Discrete, ...]]:
        """The lines of real variables and of their ancestors, and the contexts; all if no variable is discrete."""
        wanted, above = set(reals), list[LinearGaussian]()
        for line in reversed(self._lines):
            if line.child in wanted or len(self._lines) == len(self.network.cpds):
                wanted.update(line.given)
                above.append(line)
        above.reverse()
        joint = tuple(dict.fromkeys((*by, *(d for line in above for d in line.by))))
        return above, tuple(line.child for line in above), joint

    def _moments(self, reals: Sequence[Vector], by: Sequence[Discrete]) -> _Moments:
        above, scope, joint = self._needed(reals, by)
        return self._kept.get((scope, joint), lambda: _carried(above, scope, joint))


def _carried(above: list[LinearGaussian], scope: tuple[Vector, ...], joint: tuple[Discrete, ...]) -> _Moments:
    """The moments in each joint state, parents first."""
    count, size = num_entries(joint), width(scope)
    mean, covariance = np.full((count, size), ZERO), np.full((count, size, size), ZERO)
    for i, line in enumerate(above):
        at = entries(joint, line.by)
        y, u, past = (places(scope, part) for part in ((line.child,), line.given, scope[:i]))
        intercept, slopes, noise = (as_decimals(x) for x in (line.intercept, line.coefficients, line.covariance))
        for state in range(count):
            _extend(mean[state], covariance[state], (y, u, past), (intercept[at[state]], slopes[at[state]]))
            covariance[state][np.ix_(y, y)] += noise[at[state]]
    return _Moments(scope, joint, mean, covariance)


def _extend(
    mean: Decimals, covariance: Decimals, spots: tuple[Ints, Ints, Ints], line: tuple[Decimals, Decimals]
) -> None:
    """Add a child to the moments of those before, but for its noise."""
    (y, u, past), (a, B) = spots, line
    mean[y] = a + (B @ mean[u] if len(u) else ZERO)
    if len(u):
        across = B @ covariance[np.ix_(u, past)]
        covariance[np.ix_(y, past)], covariance[np.ix_(past, y)] = across, across.T
        covariance[np.ix_(y, y)] = B @ covariance[np.ix_(u, y)]


def _solved(matrix: Decimals, right: Decimals) -> Decimals:
    """The solution of a linear system with a positive definite matrix."""
    size, rows = len(matrix), np.concatenate([matrix, right], axis=1)
    for i in range(size):
        rows[i] = rows[i] / rows[i, i]
        for j in range(size):
            if j != i:
                rows[j] = rows[j] - rows[j, i] * rows[i]
    return np.asarray(rows[:, size:])
