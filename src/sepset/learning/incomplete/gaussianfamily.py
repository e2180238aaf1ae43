r"""How EM sees linear Gaussians: numbers that were found or are expected, and the moments of (1, parents, child)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.logarithms import LOG_2PI
from sepset.cpds.counts import joint_codes
from sepset.cpds.lineargaussian import LinearGaussian, joint_gaussian
from sepset.cpds.moments import Scatters
from sepset.cpds.priors.dirichlet import RowPrior
from sepset.cpds.scatter import Scatter
from sepset.errors import NotClosed
from sepset.factors.algebra import Columns
from sepset.factors.coordinates import matrix, places
from sepset.learning.estimation.linepriors import conjugate_for, flat_prior, is_conjugate, posterior_of
from sepset.learning.estimation.regression import at_variances, mode_of
from sepset.learning.incomplete.families import ImaginedRows, WeightPrior, joined, weight_penalty, weight_prior
from sepset.variables.variable import Discrete, Vector


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """Rows whose missing numbers were replaced by their expectations.

    Attributes:
        columns: states and numbers.
        log_density: of the numbers found, given the states.
        log_peak: of the expectations of the missing ones, given those found.
        missing: whose numbers are expectations.
        group: which covariance each row has.
        covariances: of the missing numbers, one matrix a group.
    """

    columns: Columns
    log_density: Floats
    log_peak: Floats
    missing: tuple[Vector, ...]
    group: Ints
    covariances: Floats

    def certain(self) -> Numbers:
        """The same, with the expectations taken for found."""
        return replace(self, covariances=np.zeros_like(self.covariances))

    def covariance(self, scope: Sequence[Vector]) -> Floats:
        """The covariances of `scope` given what was found, zero where it was found; one matrix a group."""
        size = len(scope)
        full = np.zeros((len(self.covariances), size, size))
        inside = [v for v in scope if v in self.missing]
        if inside:
            at, own = places(scope, inside), places(self.missing, inside)
            full[:, at[:, None], at] = self.covariances[:, own[:, None], own]
        return full


@dataclass(frozen=True, slots=True, eq=False)
class GaussianFamily:
    r"""A linear Gaussian during EM: moments of $\mathbf z = (1, \mathbf u - c_u, y - c_y)$ in each discrete context.

    The centers keep the digits of squares where means are large. A variance that falls below `smallest` is a collapse.
    """

    center: Floats
    smallest: float = 0.0

    @property
    def is_counted(self) -> bool:
        """No: moments may be small and still matter."""
        return False

    def nothing(self, cpd: LinearGaussian) -> Floats:
        """The statistics of no rows."""
        return np.zeros((len(cpd.intercept), *(len(self.center) + 1,) * 2))

    def expected(self, cpd: Any, numbers: Numbers, weights: Floats) -> Floats:
        r"""$\sum_m w_m E[\mathbf z \mathbf z^\top]$, one matrix a joint state of the discrete parents."""
        scope = (*cpd.given, cpd.child)
        entry = joint_codes(numbers.columns, cpd.by, len(weights), cpd)
        z = [np.ones(len(weights)), *(numbers.columns[v] - c for v, c in zip(scope, self.center, strict=True))]
        stats = self.nothing(cpd)
        for i, left in enumerate(z):
            weighted = weights * left
            for j, right in enumerate(z[: i + 1]):
                stats[:, i, j] = stats[:, j, i] = np.bincount(entry, weighted * right, len(stats))
        if numbers.missing:
            spread = numbers.covariance(scope)
            mass = np.zeros((len(stats), len(spread)))
            np.add.at(mass, (entry, numbers.group), weights)
            stats[:, 1:, 1:] += np.einsum("eg,gij->eij", mass, spread)
        return stats

    def scatters(self, stats: Floats) -> Scatters:
        """The statistics about their own means, in the data's coordinates."""
        parts = [Scatter.from_sums(total) for total in stats]
        return Scatters.stacked(Scatter(p.count, p.mean + self.center, p.products) for p in parts)

    def complete(self, cpd: Any, columns: Columns, weights: Floats) -> Floats:
        """The statistics of complete rows."""
        nothing = np.zeros(len(weights))
        numbers = Numbers(columns, nothing, nothing, (), np.zeros(len(weights), np.int64), np.zeros((1, 0, 0)))
        return self.expected(cpd, numbers, weights)

    def spread(self, cpd: LinearGaussian, stats: Floats) -> Scatters:
        """The moments of each context."""
        return self.scatters(stats)

    def estimate(self, cpd: LinearGaussian, stats: Floats, alpha: LinePrior | None) -> LinearGaussian:
        """Least squares on expected moments, or the mode under a prior; contexts without mass keep their line."""
        stats, rest = joined(self, cpd, stats, alpha)
        known = self.scatters(stats)
        if not isinstance(rest, ConjugatePrior):
            made = cpd.from_statistics(known, rest, unseen="keep")
        elif rest.is_flat:
            made = at_variances(cpd.from_statistics(known, unseen="keep"), known.counts)
        else:
            return mode_of(cpd, posterior_of(cpd, rest.prior, known), "theta" if rest.is_theta else "softmax")
        if made.covariance.min() <= self.smallest:
            raise NotClosed(f"{cpd!r} fits some rows exactly; {collapse_advice()}")
        return made

    def alpha(self, cpds: Sequence[Any], prior: object, is_theta: bool) -> LinePrior:
        """The prior: on coefficients, conjugate, or imaginary rows."""
        if isinstance(prior, RowPrior):
            rest = ConjugatePrior(flat_prior(cpds[0]), is_theta) if is_theta else None
            return ImaginedRows(*prior.rows(cpds), rest)
        if is_conjugate(prior):
            return ConjugatePrior(conjugate_for(cpds[0], prior), is_theta)
        return weight_prior(cpds[0], prior)

    def log_prior(self, cpd: LinearGaussian, alpha: LinePrior | None) -> float:
        """The log density of the line in every context, up to a constant; zero without a prior."""
        if isinstance(alpha, ImaginedRows):
            return alpha.log_probability(cpd) + self.log_prior(cpd, alpha.rest)
        if isinstance(alpha, ConjugatePrior):
            lines = zip(cpd.intercept, cpd.coefficients, cpd.covariance, strict=True)
            return sum(alpha.log_density(np.concatenate([a, B[0]]), float(C[0, 0])) for a, B, C in lines)
        return 0.0 if alpha is None else weight_penalty(alpha, cpd.coefficients)

    def score(self, cpd: LinearGaussian, stats: Floats) -> float:
        r"""$-\frac12 \sum_d (\bar M_d \log 2\pi\sigma_d^2 + E[(y - a_d - B_d \mathbf u)^2] / \sigma_d^2)$."""
        total = 0.0
        for a, B, C, sums in zip(cpd.intercept, cpd.coefficients, cpd.covariance, stats, strict=True):
            if sums[0, 0] > 0:
                line = np.concatenate([self.center[-1:] - a - B @ self.center[:-1], -B[0], [1.0]])
                total -= 0.5 * float(sums[0, 0] * (LOG_2PI + np.log(C[0, 0])) + line @ sums @ line / C[0, 0])
        return total


@dataclass(frozen=True, slots=True, eq=False)
class ConjugatePrior:
    """A normal-gamma prior of a line, and whether its mode is taken in the variance or in its logarithm."""

    prior: Any
    is_theta: bool

    @property
    def is_flat(self) -> bool:
        """Whether it is flat in lines and logarithms of variances: no distribution, a start for imaginary rows."""
        return bool(self.prior.shape <= 0)

    def log_density(self, line: Floats, variance: float) -> float:
        r"""$(a + p/2 + t)\log\tau - \tau\,(b + \frac12 d^\top \Lambda d)$, with $t = 1$ for the variance itself."""
        apart = line - self.prior.mean
        power = self.prior.shape + 0.5 * len(line) + self.is_theta
        return float(
            -power * np.log(variance) - (self.prior.rate + 0.5 * apart @ self.prior.precision @ apart) / variance
        )


LinePrior: TypeAlias = WeightPrior | ConjugatePrior | ImaginedRows
"""What a prior amounts to for a linear Gaussian."""


def conditional_numbers(
    lines: Sequence[LinearGaussian], columns: Columns, missing: tuple[Vector, ...], num_rows: int
) -> Numbers:
    """The rows with missing numbers replaced by their expectations given states and found numbers."""
    log_density, log_peak = np.zeros(num_rows), np.zeros(num_rows)
    if not missing:
        for cpd in lines:
            log_density += _log_line(cpd, columns, num_rows)
        return Numbers(columns, log_density, log_peak, (), np.zeros(num_rows, np.int64), np.zeros((1, 0, 0)))
    by = tuple(dict.fromkeys(v for cpd in lines for v in cpd.by))
    codes = np.column_stack([np.zeros(num_rows, np.int64), *(columns[v] for v in by)])
    contexts, group = np.unique(codes, axis=0, return_inverse=True)
    group = group.reshape(-1)
    filled: Columns = {**columns, **{v: np.array(columns[v]) for v in missing}}
    covariances = np.zeros((len(contexts), len(missing), len(missing)))
    for g, context in enumerate(contexts[:, 1:]):
        at = np.flatnonzero(group == g)
        part = _Conditional.of([_in_context(cpd, dict(zip(by, context, strict=True))) for cpd in lines], missing)
        means, log_density[at] = part.given({v: columns[v][at] for v in part.found}, len(at))
        for i, v in enumerate(missing):
            filled[v][at] = means[:, i]
        covariances[g], log_peak[at] = part.covariance, part.log_peak
    return Numbers(filled, log_density, log_peak, missing, group, covariances)


def _log_line(cpd: LinearGaussian, columns: Columns, num_rows: int) -> Floats:
    """The log density of a real child given its parents: one pass over the rows, whatever the context of each."""
    variance = cpd.covariance[:, 0, 0]
    if not (variance > 0).all():
        raise NotClosed(f"{cpd!r} fits some rows exactly; {collapse_advice()}")
    entry = joint_codes(columns, cpd.by, num_rows, cpd)
    apart = columns[cpd.child] - cpd.intercept[:, 0][entry]
    for j, parent in enumerate(cpd.given):
        apart -= cpd.coefficients[:, 0, j][entry] * columns[parent]
    return np.asarray(-0.5 * (apart**2 / variance[entry] + (LOG_2PI + np.log(variance))[entry]))


@dataclass(frozen=True, slots=True, eq=False)
class _Conditional:
    """The normal distribution of missing coordinates given the others."""

    found: tuple[Vector, ...]
    mean: Floats
    root: Floats
    missing_mean: Floats
    gain: Floats
    covariance: Floats

    @classmethod
    def of(cls, lines: Sequence[LinearGaussian], missing: tuple[Vector, ...]) -> _Conditional:
        joint = joint_gaussian(lines)
        scope: tuple[Vector, ...] = tuple(joint.scope)
        found = tuple(v for v in scope if v not in missing)
        o, m = places(scope, found), places(scope, missing)
        sigma, mean = joint.covariance, joint.mu
        try:
            root = np.linalg.cholesky(sigma[o[:, None], o])
        except np.linalg.LinAlgError as error:
            raise NotClosed(f"A real variable became a function of the others; {collapse_advice()}") from error
        half = np.linalg.solve(root, sigma[o[:, None], m])
        gain = np.linalg.solve(root.T, half)
        return cls(found, mean[o], np.asarray(root), mean[m], gain, sigma[m[:, None], m] - half.T @ half)

    def given(self, columns: Columns, num_rows: int) -> tuple[Floats, Floats]:
        """The expectations of the missing coordinates, and the log density of the found ones."""
        apart = matrix(self.found, columns, num_rows) - self.mean
        white = np.linalg.solve(self.root, apart.T)
        log = -0.5 * (white**2).sum(axis=0) - np.log(np.diagonal(self.root)).sum() - 0.5 * len(self.found) * LOG_2PI
        return self.missing_mean + apart @ self.gain, log

    @property
    def log_peak(self) -> float:
        """The log density of the expectations of the missing coordinates."""
        sign, log_det = np.linalg.slogdet(self.covariance)
        return -0.5 * (len(self.covariance) * LOG_2PI + log_det) if sign > 0 else np.inf


def collapse_advice() -> str:
    """What to do where a variance reached zero."""
    return (
        "the likelihood has no bound there (a variance reached zero). Give a prior such as NormalGamma, use fewer "
        "states or parents, tie the variances, or start elsewhere (another seed, more restarts)."
    )


def _in_context(cpd: LinearGaussian, codes: dict[Discrete, int]) -> LinearGaussian:
    """The line that a linear Gaussian has in one context of its discrete parents."""
    rows: Columns = {v: np.array([codes[v]]) for v in cpd.by}
    e = int(joint_codes(rows, cpd.by, 1, cpd)[0])
    return LinearGaussian(
        cpd.child,
        cpd.intercept[e],
        coefficients=cpd.coefficients[e],
        covariance=cpd.covariance[e],
        given=cpd.given,
    )
