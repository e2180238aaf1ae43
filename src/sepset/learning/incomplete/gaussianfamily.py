r"""Rows of linear Gaussian networks with missing numbers: their expectations given what was found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.logarithms import LOG_2PI
from sepset.cpds.counts import joint_codes
from sepset.cpds.lineargaussian import LinearGaussian
from sepset.cpds.regression import COLLAPSE
from sepset.errors import NotClosed
from sepset.factors.algebra import Columns
from sepset.factors.coordinates import matrix, places
from sepset.models.jointgaussian import joint_gaussian
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
        raise NotClosed(f"{cpd!r} fits some rows exactly; {COLLAPSE}")
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
            raise NotClosed(f"A real variable became a function of the others; {COLLAPSE}") from error
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
