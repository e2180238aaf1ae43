r"""Canonical forms in bulk: $m$ quadratic exponentials over the same $n$ coordinates.

$$C(\mathbf x; K, h, g) = \exp\bigl(-\tfrac12 \mathbf x^\top K \mathbf x + h^\top \mathbf x + g\bigr)$$

One Gaussian factor is $m = 1$; a table of Gaussians has one form per entry. A form with $g = -\infty$ is zero
everywhere: its $K$ and $h$ are zero and no numerical test looks at it.

Where a covariance is so nearly singular that floats lose digits, one coordinate after another is eliminated in decimal
numbers: with the pivot $p = \Sigma_{ii}$ and the gains $k = \Sigma_{\cdot i} / p$,

$$\Sigma \leftarrow \Sigma - k \Sigma_{i \cdot}, \qquad \delta \leftarrow \delta - k\, \delta_i,$$

what is left is the covariance of the others given those eliminated, $\det \Sigma$ is the product of the pivots, and
$\delta^\top \Sigma^{-1} \delta = \sum_i \delta_i^2 / p_i$. Every float is a decimal number, so that only the
elimination rounds, and that with many more digits than cancel. A pivot that rounding of the covariance could have made
is zero.

Reference: Koller & Friedman, section 14.2.1; Golub & Van Loan (2013), Matrix computations, section 4.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from typing import Any

import numpy as np

from sepset.base.arraytypes import Bools, Floats, Ints
from sepset.base.frozen import read_only
from sepset.base.logarithms import LOG_2PI, log_sum

EPS = float(np.finfo(np.float64).eps)

DIGITS = 100
"""The digits of decimal numbers: a float has 16, and a pivot that is not zero keeps all but 16 of its terms."""

MOST = 48
"""The largest number of coordinates that are eliminated in decimal numbers; more are floats."""

DOUBT = 1e-11
"""The relative error of a product with an inverse from which floats are not trusted."""

LEAST = Decimal("1e-60")
"""Divergences of different floats are larger; below this only the elimination has rounded."""

CONTEXT = Context(prec=DIGITS, Emax=MAX_EMAX, Emin=MIN_EMIN)


@dataclass(frozen=True, slots=True, eq=False)
class Cholesky:
    r"""The factorization $S A S = L L^\top$ of $m$ symmetric matrices, with $S$ scaling each diagonal to one.

    `definite` says which matrices are numerically positive definite; the others hold the identity.

    >>> chol = Cholesky.of(np.array([[[4.0, 0.0], [0.0, 1e-8]], [[1.0, 1.0], [1.0, 1.0]]]))
    >>> chol.definite.tolist(), chol.inverse()[0].tolist()
    ([True, False], [[0.25, 0.0], [0.0, 100000000.0]])
    """

    lower: Floats
    scale: Floats
    definite: Bools

    @classmethod
    def of(cls, matrices: Floats) -> Cholesky:
        """The factorization of each matrix; a pivot that rounding alone could have made counts as zero."""
        size = matrices.shape[-1]
        diagonal = np.diagonal(matrices, axis1=-2, axis2=-1)
        definite = np.all((diagonal > 0.0) & np.isfinite(diagonal), axis=-1)
        scale = 1.0 / np.sqrt(np.where(definite[:, None], diagonal, 1.0))
        unit = matrices * scale[:, :, None] * scale[:, None, :]
        unit[~definite] = np.eye(size)
        lower, factored = _factored(unit)
        pivots = np.diagonal(lower, axis1=-2, axis2=-1) ** 2
        definite = definite & factored & np.all(pivots > 4.0 * size * EPS, axis=-1)
        lower[~definite], scale[~definite] = np.eye(size), 1.0
        return cls(lower, scale, definite)

    def whiten(self, right: Floats) -> Floats:
        """$L^{-1} S B$ for the columns $B$ of `right`."""
        return np.asarray(np.linalg.solve(self.lower, self.scale[:, :, None] * right))

    def root(self) -> Floats:
        r"""$R = S L^{-\top}$, so that $R R^\top = A^{-1}$."""
        size = self.lower.shape[-1]
        if size == 1:
            return np.asarray(self.scale[:, :, None] / self.lower)
        inverse = np.linalg.solve(self.lower, np.broadcast_to(np.eye(size), self.lower.shape))
        return np.asarray(self.scale[:, :, None] * np.swapaxes(inverse, -1, -2))

    def inverse(self) -> Floats:
        """$A^{-1}$, exactly symmetric."""
        root = self.root()
        return symmetric(root @ np.swapaxes(root, -1, -2))

    def half_log_det(self) -> Floats:
        r"""$\tfrac12 \log \det A$."""
        pivots = np.diagonal(self.lower, axis1=-2, axis2=-1)
        return np.asarray((np.log(pivots) - np.log(self.scale)).sum(axis=-1))

    def rounding(self) -> Floats:
        """How far, relative to its terms, rounding may move a product with $A^{-1}$."""
        pivots = np.diagonal(self.lower, axis1=-2, axis2=-1)
        return np.asarray(4.0 * (pivots.shape[-1] + 2) * EPS / pivots.min(axis=-1, initial=1.0) ** 2)


def _factored(unit: Floats) -> tuple[Floats, Bools]:
    if unit.shape[-1] == 1:
        return np.sqrt(unit), np.ones(len(unit), np.bool_)
    try:
        return np.asarray(np.linalg.cholesky(unit), np.float64), np.ones(len(unit), np.bool_)
    except np.linalg.LinAlgError:
        lower, good = np.empty_like(unit), np.ones(len(unit), np.bool_)
    for i, matrix in enumerate(unit):
        try:
            lower[i] = np.linalg.cholesky(matrix)
        except np.linalg.LinAlgError:
            lower[i], good[i] = np.eye(unit.shape[-1]), False
    return lower, good


def symmetric(matrices: Floats) -> Floats:
    """The symmetric part of each matrix."""
    halves = 0.5 * matrices
    return np.asarray(halves + np.swapaxes(halves, -1, -2))


@dataclass(frozen=True, slots=True, eq=False)
class Forms:
    """$m$ canonical forms over $n$ coordinates: `K[m, n, n]`, `h[m, n]`, `g[m]`.

    >>> pair = Forms.of(np.eye(1)[None], np.array([[2.0]]), np.zeros(1))
    >>> pair.moments(Cholesky.of(pair.K))[0].tolist()
    [[2.0]]
    """

    K: Floats
    h: Floats
    g: Floats

    @classmethod
    def of(cls, K: Floats, h: Floats, g: Floats) -> Forms:
        """The forms with $K$ made symmetric, zero entries cleaned, and every array read-only."""
        dead = g == -np.inf
        K, h, g = symmetric(K), np.array(h, np.float64), np.array(g, np.float64)
        if dead.any():
            K[dead], h[dead] = 0.0, 0.0
        return cls(*map(read_only, (K, h, g)))

    @classmethod
    def vacuous(cls, count: int, size: int) -> Forms:
        """The neutral forms: one everywhere."""
        return cls.of(np.zeros((count, size, size)), np.zeros((count, size)), np.zeros(count))

    @classmethod
    def from_moments(cls, mean: Floats, chol: Cholesky, log_mass: Floats) -> Forms:
        r"""The forms $e^{\ell} N(\mu; \Sigma)$.

        $K = \Sigma^{-1}$, $h = K\mu$, $g = \ell - \tfrac12 \mu^\top h - \tfrac12 \log\det 2\pi\Sigma$.

        Args:
            mean: $\mu$, one row a form.
            chol: the factorization of the covariances.
            log_mass: the logarithms $\ell$ of the integrals.
        """
        white = chol.whiten(mean[:, :, None])[:, :, 0]
        root = chol.root()
        h = (root @ white[:, :, None])[:, :, 0]
        constant = chol.half_log_det() + 0.5 * mean.shape[1] * LOG_2PI
        return cls.of(root @ np.swapaxes(root, -1, -2), h, log_mass - 0.5 * (white**2).sum(axis=1) - constant)

    @classmethod
    def from_linear(cls, offset: Floats, slope: Floats, chol: Cholesky) -> Forms:
        r"""$N(\mathbf y; a + B\mathbf x; C)$ over the coordinates $(\mathbf x, \mathbf y)$.

        $$K = \begin{pmatrix} B^\top C^{-1} B & -B^\top C^{-1} \\ -C^{-1} B & C^{-1} \end{pmatrix},\quad
        h = \begin{pmatrix} -B^\top C^{-1} a \\ C^{-1} a \end{pmatrix},\quad
        g = -\tfrac12 a^\top C^{-1} a - \tfrac12 \log\det 2\pi C$$
        """
        size = offset.shape[1]
        joint = np.concatenate([-slope, np.broadcast_to(np.eye(size), (len(offset), size, size))], axis=2)
        rows = chol.whiten(joint)
        white = chol.whiten(offset[:, :, None])
        h = (np.swapaxes(rows, -1, -2) @ white)[:, :, 0]
        constant = chol.half_log_det() + 0.5 * size * LOG_2PI
        return cls.of(np.swapaxes(rows, -1, -2) @ rows, h, -0.5 * (white**2).sum(axis=(1, 2)) - constant)

    @property
    def alive(self) -> Bools:
        """Which forms are not zero everywhere."""
        return self.g > -np.inf

    @property
    def size(self) -> int:
        """The number of coordinates."""
        return int(self.h.shape[1])

    def spread(self, rows: Ints, places: Ints, size: int) -> Forms:
        """The forms `rows` over `size` coordinates, with mine at `places` and no dependence on the others."""
        K, h = np.zeros((len(rows), size, size)), np.zeros((len(rows), size))
        K[:, places[:, None], places] = self.K[rows]
        h[:, places] = self.h[rows]
        return Forms.of(K, h, self.g[rows])

    def take(self, rows: Ints) -> Forms:
        """These forms, in this order."""
        return Forms.of(self.K[rows], self.h[rows], self.g[rows])

    def times(self, other: Forms) -> Forms:
        """The products: $K$, $h$ and $g$ add."""
        return Forms.of(self.K + other.K, self.h + other.h, self.g + other.g)

    def over(self, other: Forms) -> Forms:
        """The quotients where mine is not zero ($0/0 = 0$): $K$, $h$ and $g$ subtract."""
        g = np.subtract(self.g, other.g, out=np.full_like(self.g, -np.inf), where=self.alive)
        return Forms.of(self.K - other.K, self.h - other.h, g)

    def power(self, exponent: float) -> Forms:
        """Each form to a real power other than zero."""
        return Forms.of(self.K * exponent, self.h * exponent, np.where(self.alive, self.g * exponent, -np.inf))

    def shifted(self, logs: Floats | float) -> Forms:
        """Each form times $e^{logs}$."""
        return Forms.of(self.K, self.h, self.g + logs)

    def block(self, out: Ints) -> Cholesky:
        """The factorization of the coordinates `out` of each $K$; zero forms count as definite."""
        matrices = np.array(self.K[:, out[:, None], out])
        matrices[~self.alive] = np.eye(len(out))
        return Cholesky.of(matrices)

    def without(self, out: Ints, chol: Cholesky, *, integrate: bool) -> Forms:
        r"""The forms with the coordinates `out` integrated (or maximized) away.

        $$K' = K_{XX} - K_{XY} K_{YY}^{-1} K_{YX},\quad h' = h_X - K_{XY} K_{YY}^{-1} h_Y,\quad
        g' = g + \tfrac12 h_Y^\top K_{YY}^{-1} h_Y + \tfrac12 \log\det(2\pi K_{YY}^{-1})$$

        Maximizing leaves the determinant away. A difference that rounding alone could have made is exactly zero, so
        that integrating a child out of its linear Gaussian leaves the vacuous form.

        Reference: Koller & Friedman, equation 14.5.
        """
        kept = self.rest(out)
        cross = chol.whiten(self.K[:, out[:, None], kept])
        white = chol.whiten(self.h[:, out, None])
        turned = np.swapaxes(cross, -1, -2)
        error = chol.rounding()[:, None, None]
        K = _difference(self.K[:, kept[:, None], kept], turned, cross, error)
        h = _difference(self.h[:, kept, None], turned, white, error)[:, :, 0]
        g = self.g + 0.5 * (white**2).sum(axis=(1, 2))
        if integrate:
            g = g + 0.5 * len(out) * LOG_2PI - chol.half_log_det()
        return Forms.of(K, h, g)

    def at(self, out: Ints, values: Floats) -> Forms:
        r"""The forms at $\mathbf y$ = `values` of the coordinates `out`.

        $$K' = K_{XX},\quad h' = h_X - K_{XY}\mathbf y,\quad
        g' = g + h_Y^\top\mathbf y - \tfrac12\mathbf y^\top K_{YY}\mathbf y$$

        Reference: Koller & Friedman, equation 14.6.
        """
        kept = self.rest(out)
        g = self.g + self.h[:, out] @ values - 0.5 * (self.K[:, out[:, None], out] @ values) @ values
        h = self.h[:, kept] - self.K[:, kept[:, None], out] @ values
        return Forms.of(self.K[:, kept[:, None], kept], h, g)

    def log_value(self, entry: int, values: Floats) -> float:
        r"""The logarithm of one form at a point, $g + h^\top\mathbf x - \tfrac12\mathbf x^\top K\mathbf x$."""
        return float(self.g[entry] + self.h[entry] @ values - 0.5 * (self.K[entry] @ values) @ values)

    def rest(self, out: Ints) -> Ints:
        """The coordinates outside `out`, in order."""
        kept = np.ones(self.size, np.bool_)
        kept[out] = False
        return np.flatnonzero(kept)

    def moments(self, chol: Cholesky) -> tuple[Floats, Floats, Floats]:
        r"""Means, covariances and logarithms of the integrals, from the factorization of $K$.

        $\Sigma = K^{-1}$, $\mu = K^{-1} h$, $\log Z = g + \tfrac12 h^\top K^{-1} h + \tfrac12 \log\det 2\pi K^{-1}$.
        """
        root = chol.root()
        white = chol.whiten(self.h[:, :, None])
        mean = (root @ white)[:, :, 0]
        constant = 0.5 * self.size * LOG_2PI - chol.half_log_det()
        log_mass = self.g + 0.5 * (white**2).sum(axis=(1, 2)) + constant
        return mean, symmetric(root @ np.swapaxes(root, -1, -2)), log_mass

    def log_totals(self) -> Floats:
        """The logarithm of each integral: inf where $K$ is not positive definite, -inf for a zero form."""
        out = np.arange(self.size)
        chol = self.block(out)
        return np.where(chol.definite, self.without(out, chol, integrate=True).g, np.inf)


def _difference(whole: Floats, turned: Floats, right: Floats, error: Floats) -> Floats:
    """`whole - turned @ right`, exactly zero where the difference is within rounding of its terms.

    Errors of a whitened vector are relative to its length, not to each of its numbers; so are those of products.
    """
    result = np.asarray(whole - turned @ right)
    lengths = np.sqrt((turned**2).sum(axis=2, keepdims=True)) * np.sqrt((right**2).sum(axis=1, keepdims=True))
    result[np.abs(result) <= error * (np.abs(whole) + lengths)] = 0.0
    return result


def merged(weights: Floats, means: Floats, covariances: Floats) -> tuple[Floats, Floats]:
    r"""The first two moments of mixtures: the closest Gaussian to each, $\arg\min_q KL(p \| q)$.

    $$\mu = \sum_i w_i \mu_i, \qquad \Sigma = \sum_i w_i \Sigma_i + \sum_i w_i (\mu_i - \mu)(\mu_i - \mu)^\top$$

    Args:
        weights: `[m, c]`, each row summing to one.
        means: `[m, c, n]`.
        covariances: `[m, c, n, n]`.

    Reference: Koller & Friedman, proposition 14.3.

    >>> m, c = merged(np.array([[0.4, 0.6]]), np.array([[[0.0], [3.0]]]), np.array([[[[1.0]], [[4.0]]]]))
    >>> round(float(m[0, 0]), 9), round(float(c[0, 0, 0]), 9)
    (1.8, 4.96)
    """
    mean = np.einsum("mc,mcn->mn", weights, means)
    centered = means - mean[:, None, :]
    within = np.einsum("mc,mcij->mij", weights, covariances)
    return mean, symmetric(within + np.einsum("mc,mci,mcj->mij", weights, centered, centered))


def shares(log_weights: Floats) -> tuple[Floats, Floats]:
    """Each row normalized, and the logarithms of the rows' sums; an all-zero row stays zero."""
    total = log_sum(log_weights, 1)
    shift = np.where(np.isfinite(total), total, 0.0)
    return np.exp(log_weights - shift[:, None]), total


def doubtful(chol: Cholesky) -> Bools:
    """Which covariances cost floats so many digits that decimal numbers are worth their time.

    >>> near = np.array([[1.0, 1.0 - 1e-9], [1.0 - 1e-9, 1.0]])
    >>> doubtful(Cholesky.of(np.array([np.eye(2), near]))).tolist()
    [False, True]
    """
    is_feasible = 1 < chol.lower.shape[-1] <= MOST
    return np.asarray((~chol.definite | (chol.rounding() > DOUBT)) & is_feasible, np.bool_)


def exactly(numbers: Any) -> Any:
    """The floats of an array as decimal numbers, in an array of objects."""
    array = np.asarray(numbers, np.float64)
    return np.array([Decimal(x) for x in array.reshape(-1).tolist()], object).reshape(array.shape)


@dataclass(eq=False)
class Elimination:
    """A covariance and differences from the mean, whose first coordinates are eliminated in turn.

    Attributes:
        covariance: of the coordinates, those eliminated first in front.
        apart: one difference for each coordinate.
        pivots: of those eliminated; zero for one that follows from others.
        residues: what is left of their differences when it is their turn.
    """

    covariance: Any
    apart: Any
    pivots: list[Any]
    residues: list[Any]

    @classmethod
    def of(cls, covariance: Floats, values: Floats, mean: Floats, num: int) -> Elimination:
        """The first `num` coordinates eliminated, of differences between values and mean."""
        with localcontext(CONTEXT):
            is_exact = len(covariance) <= MOST
            left = exactly(covariance) if is_exact else covariance.copy()
            rest = exactly(values) - exactly(mean) if is_exact else values - mean
            least = np.diagonal(left) * (Decimal if is_exact else float)(4 * len(left) * EPS)
            pivots, residues = [], []
            for i in range(num):
                pivot = left[i, i] if left[i, i] > least[i] else 0
                pivots.append(pivot)
                residues.append(rest[i])
                if pivot:
                    gain = left[i + 1 :, i] / pivot
                    left[i + 1 :, i + 1 :] -= np.multiply.outer(gain, left[i, i + 1 :])
                    rest[i + 1 :] -= gain * rest[i]
            return cls(left[num:, num:], rest[num:], pivots, residues)

    @property
    def log_det(self) -> float:
        """The logarithm of the determinant of those eliminated, none of which follows from others."""
        with localcontext(CONTEXT):
            return float(sum((Decimal(pivot).ln() for pivot in self.pivots), Decimal(0)))

    @property
    def square(self) -> float:
        r"""$\delta^\top \Sigma^{-1} \delta$ of those eliminated."""
        with localcontext(CONTEXT):
            pairs = zip(self.pivots, self.residues, strict=True)
            return float(sum(d * d / p for p, d in pairs if p))


def squares(covariance: Floats, rows: Floats, mean: Floats) -> Floats:
    r"""$(\mathbf x - \mu)^\top \Sigma^{-1} (\mathbf x - \mu)$ for each row.

    >>> squares(np.array([[1.0, 1.0 - 2.0**-40], [1.0 - 2.0**-40, 1.0]]), np.array([[1.0, 1.0]]), np.zeros(2)).tolist()
    [1.0000000000004547]
    """
    return np.array([Elimination.of(covariance, x, mean, len(mean)).square for x in rows])


def divergence(p: Floats, q: Floats, mean_p: Floats, mean_q: Floats) -> float:
    r"""$\tfrac12\bigl[\mathrm{tr}(\Sigma_q^{-1}\Sigma_p) - n + \log\tfrac{\det\Sigma_q}{\det\Sigma_p}
    + \delta^\top\Sigma_q^{-1}\delta\bigr]$ of two covariances that are not singular.

    >>> one = np.array([[1.0, 0.5], [0.5, 1.0]])
    >>> round(divergence(one, 4.0 * one, np.zeros(2), np.zeros(2)), 6)
    0.636294
    """
    with localcontext(CONTEXT):
        left, other, rest = exactly(q), exactly(p), exactly(mean_q) - exactly(mean_p)
        total = Decimal(-len(rest))
        for pivot in Elimination.of(p, mean_p, mean_p, len(rest)).pivots:
            total -= pivot.ln()
        for i in range(len(rest)):
            gain = left[i + 1 :, i] / left[i, i]
            total += left[i, i].ln() + (other[i, i] + rest[i] * rest[i]) / left[i, i]
            left[i + 1 :, i + 1 :] -= np.multiply.outer(gain, left[i, i + 1 :])
            other[i + 1 :] -= np.multiply.outer(gain, other[i])
            other[:, i + 1 :] -= np.multiply.outer(other[:, i], gain)
            rest[i + 1 :] -= gain * rest[i]
        return float(total / 2) if abs(total) > LEAST else 0.0
