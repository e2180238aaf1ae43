r"""The posterior of a block of linear Gaussians: normal-gamma in every discrete context.

$$\tau \sim \text{Gamma}(a, b), \qquad \beta \mid \tau \sim N(m; (\tau\Lambda)^{-1})$$

and normal-inverse-Wishart for vectors without real parents.

Reference: Koller & Friedman, section 17.4.4 and exercise 17.11.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sepset.cpds.cpd import CPD
from sepset.cpds.estimation import joint_codes
from sepset.cpds.gaussianpriors import NormalGamma
from sepset.cpds.linear import LinearGaussian
from sepset.cpds.multivariatepriors import LinearNormalGamma, NormalInverseWishart
from sepset.cpds.scatters import Scatters
from sepset.errors import ModelError, NotApplicable, ScopeError, listing, nearest
from sepset.factors.algebra import Columns, find
from sepset.factors.coordinates import matrix, width
from sepset.variables import Vector

Array: TypeAlias = NDArray[np.float64]
Conjugate: TypeAlias = LinearNormalGamma | NormalInverseWishart


@dataclass(frozen=True, eq=False, repr=False)
class Lines:
    """The posterior of the lines of one block.

    Attributes:
        cpds: the linear Gaussians that share the block.
        prior: the conjugate prior of every context.
        stats: the pooled statistics.
    """

    cpds: tuple[LinearGaussian, ...]
    prior: Conjugate
    stats: Scatters

    @classmethod
    def of(cls, cpds: Sequence[CPD], prior: object, stats: Any) -> Lines:
        """The posterior from a prior and pooled statistics.

        >>> from sepset.variables import Real
        >>> x = LinearGaussian(Real("x"), covariance=1.0)
        >>> lines = Lines.of([x], NormalGamma(0, 1, 2, 1), x.scatters({x.child: np.array([1.0, 2, 3, 4])}))
        >>> lines, lines.contexts[0].rate
        (Lines(x: 1 context, 4 rows), 6.0)
        """
        first: LinearGaussian = cpds[0]  # type: ignore[assignment]  # as the caller checked
        return cls(tuple(cpds), conjugate_for(first, prior), first.centered(stats))  # type: ignore[arg-type]

    @cached_property
    def contexts(self) -> tuple[Conjugate, ...]:
        """The posterior in each joint state of the discrete parents."""
        return tuple(self.prior.update(scatter) for scatter in self.stats.contexts)

    @property
    def is_proper(self) -> bool:
        """Always: its prior is a distribution."""
        return True

    def log_marginal_likelihood(self) -> float:
        """The log density of the rows, the parameters integrated out."""
        return float(sum(self.prior.log_marginal_likelihood(scatter) for scatter in self.stats.contexts))

    def updated(self, stats: Any) -> Lines:
        """The posterior after more rows."""
        return replace(self, stats=self.stats + self.cpds[0].centered(stats))

    def downdated(self, stats: Any) -> Lines:
        """The posterior without some of the rows it has seen."""
        return replace(self, stats=self.stats - self.cpds[0].centered(stats))

    def log_gain(self, stats: Any) -> float:
        """The log density of more rows after those already seen."""
        pairs = zip(self.contexts, self.cpds[0].centered(stats).contexts, strict=True)
        return float(sum(post.log_marginal_likelihood(scatter) for post, scatter in pairs))

    def mean_cpds(self) -> tuple[CPD, ...]:
        """The CPDs with expected coefficients and expected (co)variances."""
        return self._cpds_at([_mean(self.cpds[0], post) for post in self.contexts])

    def sampled_cpds(self, rng: np.random.Generator) -> tuple[CPD, ...]:
        """The CPDs with one draw of all parameters."""
        return self._cpds_at([_draw(post, rng) for post in self.contexts])

    def _cpds_at(self, parameters: Sequence[tuple[Array, Array]]) -> tuple[CPD, ...]:
        made = _with(self.cpds[0], parameters)
        return tuple(cpd.with_parameters(made.intercept, made.coefficients, made.covariance) for cpd in self.cpds)

    def log_predictive(self, columns: Columns) -> Array:
        """The log density of each row's part, the parameters integrated out; tied lines are used several times."""
        num_rows = len(columns[self.cpds[0].child])
        entry = np.stack([joint_codes(columns, cpd.by, num_rows, cpd) for cpd in self.cpds], axis=1)
        u = np.stack([matrix(cpd.given, columns, num_rows) for cpd in self.cpds], axis=1)
        y = np.stack([matrix((cpd.child,), columns, num_rows) for cpd in self.cpds], axis=1)
        logs = np.zeros(num_rows)
        for j in range(len(self.cpds)):
            same = entry == entry[:, j : j + 1]
            rows = np.flatnonzero(~same[:, :j].any(axis=1))  # each context of a row at its first use
            for at in _alike(np.column_stack([entry[rows, j], same[rows]])):
                row, uses = rows[at], same[rows[at[0]]]
                logs[row] += _log_uses(self.contexts[entry[row[0], j]], u[row][:, uses], y[row][:, uses])
        return logs

    def tail(self, parameter: object, above: float, given: Mapping[Any, Any]) -> float:
        """The probability that one parameter exceeds a threshold."""
        return float(self._marginal(parameter, given).sf(above))

    def log_density(self, cpd: LinearGaussian, parameterization: str) -> float:
        """The log density of a CPD's lines and (co)variances, or of lines and logarithms of (co)variances."""
        lines = zip(self.contexts, cpd.intercept, cpd.coefficients, cpd.covariance, strict=True)
        return float(sum(_log_density(post, a, B, C, parameterization == "theta") for post, a, B, C in lines))

    def names(self) -> Iterator[tuple[Vector, Any, dict[str, Any]]]:
        """Every parameter as the child, its name and the states of the discrete parents; vectors have none here."""
        for cpd in dict.fromkeys(self.cpds):
            if cpd.child.size > 1:
                continue
            parameters = ["intercept", *(v.name for v in cpd.given if v.size == 1), "variance"]
            for states in itertools.product(*(v.states for v in cpd.by)):
                given = {v.name: s for v, s in zip(cpd.by, states, strict=True)}
                yield from ((cpd.child, parameter, given) for parameter in parameters)

    def interval(self, parameter: object, level: float, given: Mapping[Any, Any]) -> tuple[float, float]:
        """The central credible interval of one parameter."""
        low, high = self._marginal(parameter, given).interval(level)
        return float(low), float(high)

    def moments(self, parameter: object, given: Mapping[Any, Any]) -> tuple[float, float]:
        """The mean and the standard deviation of one parameter."""
        found = self._marginal(parameter, given)
        return float(found.mean()), float(found.std())

    def _marginal(self, parameter: Any, given: Mapping[Any, Any]) -> Any:
        """The distribution of an intercept, of the coefficient of a parent, or of the variance, frozen by scipy."""
        from scipy import stats

        cpd = self.cpds[0]
        post = self.contexts[_context(cpd, given)]
        if not isinstance(post, LinearNormalGamma):
            raise NotApplicable(f"{cpd!r} has a vector of parameters; read posterior.block(...).contexts instead.")
        if parameter == "variance":
            return stats.invgamma(post.shape, scale=post.rate)
        names = ["intercept", *(v.name for v in cpd.given for _ in range(v.size))]
        place = find(cpd.given, parameter) if parameter != "intercept" else -1
        if parameter != "intercept" and place < 0:
            valid = [*names, "variance"]
            raise ScopeError(f"{cpd!r} has no parameter {parameter!r}: {listing(valid)}.{nearest(parameter, valid)}")
        at = 0 if parameter == "intercept" else 1 + width(cpd.given[:place])
        line = post.coefficients()
        return stats.t(line.degrees, loc=float(line.location[at]), scale=float(line.scale[at]))

    def __repr__(self) -> str:
        num = len(self.stats.contexts)
        rows = float(self.stats.counts.sum())
        return f"Lines({self.cpds[0].block.name}: {num} {'context' if num == 1 else 'contexts'}, {rows:g} rows)"


def is_conjugate(prior: object) -> bool:
    """Whether this is a conjugate prior of lines."""
    return isinstance(prior, NormalGamma | LinearNormalGamma | NormalInverseWishart)


def conjugate_for(cpd: LinearGaussian, prior: object) -> Conjugate:
    """The prior of a CPD's line: a normal-gamma about the intercept gets coefficients of mean zero.

    >>> from sepset.variables import Real
    >>> cpd = LinearGaussian(Real("y"), coefficients=1.0, covariance=1.0, given=Real("x"))
    >>> conjugate_for(cpd, NormalGamma(5.0, 1.0, 2.0, 1.0)).mean.tolist()
    [5.0, 0.0]
    """
    reals, size = width(cpd.given), cpd.child.size
    if size > 1:
        if isinstance(prior, NormalInverseWishart) and not reals and len(prior.mean) == size:
            return prior
        raise NotApplicable(
            f"{cpd!r} is a vector: its conjugate prior is NormalInverseWishart over {size} coordinates, where there "
            f"are no real parents; found {prior!r}."
        )
    if isinstance(prior, NormalGamma):
        mean = np.concatenate([[prior.mean], np.zeros(reals)])
        return LinearNormalGamma(mean, prior.strength, prior.shape, prior.rate)
    if isinstance(prior, LinearNormalGamma) and len(prior.mean) == 1 + reals:
        return prior
    raise NotApplicable(
        f"{cpd!r} takes NormalGamma, or LinearNormalGamma over {1 + reals} coefficients; found {prior!r}."
    )


def posterior_of(cpd: LinearGaussian, prior: object, stats: Scatters) -> tuple[Conjugate, ...]:
    """The posterior of the line in each context."""
    known = conjugate_for(cpd, prior)
    return tuple(known.update(scatter) for scatter in stats.contexts)


def mode_of(cpd: LinearGaussian, posts: Sequence[Conjugate], parameterization: str) -> LinearGaussian:
    r"""The CPD at the mode: of (coefficients, log variance) for "softmax", of (coefficients, variance) for "theta".

    With $p$ coefficients, $\sigma^2 = b / (a + p/2)$ and $\sigma^2 = b / (a + p/2 + 1)$.
    """
    extra = 1.0 if parameterization == "theta" else 0.0
    return _with(cpd, [_mode(post, extra) for post in posts])


def _alike(keys: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """The places of equal rows of keys, together."""
    order = np.lexsort(keys.T[::-1])
    changes = np.flatnonzero((keys[order][1:] != keys[order][:-1]).any(axis=1)) + 1
    return np.split(order, changes) if len(order) else []


def _log_uses(post: Conjugate, u: Array, y: Array) -> Array:
    r"""The log density of several uses of one line, `[rows, uses, ...]`: one matrix Student t a row.

    With $\nu$ degrees, scale $\Lambda$ and the residues $E$ of $q$ uses of spread $S = I + Z\Lambda_0^{-1}Z^\top$,

    $$\frac{\Gamma_d(\frac{\nu + q}2)}{\Gamma_d(\frac\nu2)\, \pi^{qd/2}}
    \frac{|\Lambda|^{\nu/2}}{|\Lambda + E^\top S^{-1} E|^{(\nu + q)/2}\, |S|^{d/2}}$$

    A normal-gamma is the case $d = 1$, $\nu = 2a$, $\Lambda = 2b$.
    """
    from scipy.special import multigammaln

    num, size = y.shape[1:]
    z = np.concatenate([np.ones((*u.shape[:2], 1)), u], axis=2)
    if isinstance(post, LinearNormalGamma):
        degrees, scale, precision = 2.0 * post.shape, np.array([[2.0 * post.rate]]), post.precision
        apart = y - (z @ post.mean)[:, :, None]
    else:
        degrees, scale, precision = post.degrees, post.scale, np.array([[post.strength]])
        apart = y - post.mean
    spread = np.eye(num) + z @ np.linalg.solve(precision, np.swapaxes(z, 1, 2))
    after = scale + np.swapaxes(apart, 1, 2) @ np.linalg.solve(spread, apart)
    constant = multigammaln(0.5 * (degrees + num), size) - multigammaln(0.5 * degrees, size)
    constant += 0.5 * degrees * np.linalg.slogdet(scale)[1] - 0.5 * num * size * np.log(np.pi)
    dets = (degrees + num) * np.linalg.slogdet(after)[1] + size * np.linalg.slogdet(spread)[1]
    return np.asarray(constant - 0.5 * dets)


def _log_density(post: Conjugate, a: Array, B: Array, C: Array, is_theta: bool) -> float:
    r"""Normal times inverse Wishart at one line, which for a number is inverse gamma: $\nu = 2a$ and $\Lambda = 2b$."""
    from scipy.special import multigammaln

    size = len(a)
    if isinstance(post, LinearNormalGamma):
        degrees, scale, precision = 2.0 * post.shape, np.array([[2.0 * post.rate]]), post.precision
        apart = np.concatenate([a, B[0]])[None, :] - post.mean
    else:
        degrees, scale, precision, apart = (
            post.degrees,
            post.scale,
            np.array([[post.strength]]),
            (a - post.mean)[:, None],
        )
    log_det = float(np.linalg.slogdet(C)[1])
    squares = float(np.trace(np.linalg.solve(C, apart @ precision @ apart.T + scale)))
    normal = 0.5 * (
        size * np.linalg.slogdet(precision)[1] - apart.size * np.log(2.0 * np.pi) - len(precision) * log_det
    )
    wishart = 0.5 * degrees * (np.linalg.slogdet(scale)[1] - size * np.log(2.0)) - multigammaln(0.5 * degrees, size)
    power = 0.5 * (degrees + (size + 1.0 if is_theta else 0.0))
    return float(normal + wishart - power * log_det - 0.5 * squares)


def _mode(post: Conjugate, extra: float) -> tuple[Array, Array]:
    if isinstance(post, LinearNormalGamma):
        return post.mean, np.array([[post.rate / (post.shape + 0.5 * len(post.mean) + extra)]])
    size = len(post.mean)
    return post.mean, np.asarray(post.scale / (post.degrees + 1.0 + extra * (size + 1.0)))


def _mean(cpd: LinearGaussian, post: Conjugate) -> tuple[Array, Array]:
    if not isinstance(post, LinearNormalGamma):
        return post.mean, post.expected_covariance()
    if not np.isfinite(post.expected_variance):
        raise ModelError(f"{cpd!r}: with shape {post.shape:g} <= 1 the variance has no mean. Use a larger one, or MAP.")
    return post.mean, np.array([[post.expected_variance]])


def _draw(post: Conjugate, rng: np.random.Generator) -> tuple[Array, Array]:
    mean, spread = post.sample(1, rng)
    return mean[0], np.array([[1.0 / spread[0]]]) if isinstance(post, LinearNormalGamma) else spread[0]


def _with(cpd: LinearGaussian, parameters: Sequence[tuple[Array, Array]]) -> LinearGaussian:
    size = cpd.child.size
    intercept = np.stack([mean[:size] for mean, _ in parameters])
    slope = np.stack([mean[size:].reshape(size, -1) for mean, _ in parameters])
    return cpd.with_parameters(intercept, slope, np.stack([variance for _, variance in parameters]))


def _context(cpd: LinearGaussian, given: Mapping[Any, Any]) -> int:
    codes: Columns = {}
    for key, state in given.items():
        axis = find(cpd.by, key)
        if axis < 0:
            raise ScopeError(f"{cpd!r} has no discrete parent {key!r}. given= takes the states of those.")
        codes[cpd.by[axis]] = np.array([cpd.by[axis].code(state)])
    absent = [v.name for v in cpd.by if v not in codes]
    if absent:
        raise ScopeError(f"{cpd!r} needs the states of all discrete parents in given=; {absent[0]!r} is missing.")
    return int(joint_codes(codes, cpd.by, 1, cpd)[0])
