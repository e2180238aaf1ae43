r"""The posterior of a block of linear Gaussians: normal-gamma in every discrete context.

$$\tau \sim \text{Gamma}(a, b), \qquad \beta \mid \tau \sim N(m; (\tau\Lambda)^{-1})$$

and for vectors matrix-normal inverse-Wishart, of which all others are cases.

Reference: Koller & Friedman, section 17.4.4 and exercise 17.11.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.lazy import lazy
from sepset.base.text import listing, nearest
from sepset.cpds.counts import joint_codes
from sepset.cpds.cpd import CPD
from sepset.cpds.lineargaussian import LinearGaussian
from sepset.cpds.moments import Scatters
from sepset.cpds.priors.dirichlet import RowPrior
from sepset.cpds.priors.lineroots import log_det, spreads
from sepset.cpds.priors.matrix import LinearNormalInverseWishart
from sepset.errors import ModelError, ScopeError
from sepset.factors.algebra import Columns, find
from sepset.factors.coordinates import matrix
from sepset.learning.estimation.linepriors import Conjugate, conjugate_for, imagined
from sepset.variables.variable import Vector


@dataclass(frozen=True, eq=False, repr=False)
class Lines:
    """The posterior of the lines of one block.

    Attributes:
        cpds: the linear Gaussians that share the block.
        priors: the conjugate prior of each context.
        stats: the pooled statistics.
    """

    cpds: tuple[LinearGaussian, ...]
    priors: tuple[Conjugate, ...]
    stats: Scatters

    @classmethod
    def of(cls, cpds: Sequence[CPD], prior: object, stats: Any) -> Lines:
        """The posterior from a prior and pooled statistics.

        >>> from sepset.cpds.priors.gaussian import NormalGamma
        >>> from sepset.variables.variable import Real
        >>> x = LinearGaussian(Real("x"), covariance=1.0)
        >>> lines = Lines.of([x], NormalGamma(0, 1, 2, 1), x.scatters({x.child: np.array([1.0, 2, 3, 4])}))
        >>> lines, round(lines.contexts[0].rate, 9)
        (Lines(x: 1 context, 4 rows), 6.0)
        """
        first: LinearGaussian = cpds[0]  # type: ignore[assignment]  # as the caller checked
        known = first.centered(stats)
        if isinstance(prior, RowPrior):
            priors = imagined(first, first.centered(prior.hyperparameters(cpds)))
        else:
            priors = (conjugate_for(first, prior),) * len(known.counts)
        return cls(tuple(cpds), priors, known)  # type: ignore[arg-type]

    @lazy
    def contexts(self) -> tuple[Conjugate, ...]:
        """The posterior in each joint state of the discrete parents."""
        pairs = zip(self.priors, self.stats.contexts, strict=True)
        return tuple(prior.update(scatter) for prior, scatter in pairs)

    @lazy
    def _general(self) -> tuple[LinearNormalInverseWishart, ...]:
        return tuple(map(LinearNormalInverseWishart.of, self.contexts))

    @property
    def is_proper(self) -> bool:
        """Always: its prior is a distribution."""
        return True

    def log_marginal_likelihood(self) -> float:
        """The log density of the rows, the parameters integrated out."""
        pairs = zip(self.priors, self.stats.contexts, strict=True)
        return float(sum(prior.log_marginal_likelihood(scatter) for prior, scatter in pairs))

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
        return self._cpds_at([(post.mean, _expected(self.cpds[0], post)) for post in self._general])

    def sampled_cpds(self, rng: np.random.Generator) -> tuple[CPD, ...]:
        """The CPDs with one draw of all parameters."""
        drawn = [post.sample(1, rng) for post in self._general]
        return self._cpds_at([(lines[0], covariances[0]) for lines, covariances in drawn])

    def _cpds_at(self, parameters: Sequence[tuple[Floats, Floats]]) -> tuple[CPD, ...]:
        made = _with(self.cpds[0], parameters)
        return tuple(cpd.with_parameters(made.intercept, made.coefficients, made.covariance) for cpd in self.cpds)

    def log_predictive(self, columns: Columns) -> Floats:
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
                logs[row] += _log_uses(self._general[entry[row[0], j]], u[row][:, uses], y[row][:, uses])
        return logs

    def tail(self, parameter: object, above: float, given: Mapping[Any, Any]) -> float:
        """The probability that one parameter exceeds a threshold."""
        return float(self._marginal(parameter, given).sf(above))

    def log_density(self, cpd: LinearGaussian, parameterization: str) -> float:
        """The log density of a CPD's lines and (co)variances, or of lines and logarithms of (co)variances."""
        lines = zip(self._general, _mean_matrices(cpd), cpd.covariance, strict=True)
        return float(sum(_log_density(post, B, C, parameterization == "theta") for post, B, C in lines))

    def names(self) -> Iterator[tuple[Vector, Any, dict[str, Any]]]:
        """Every parameter as the child, its name and the states of the discrete parents."""
        for cpd in dict.fromkeys(self.cpds):
            for states in itertools.product(*(v.states for v in cpd.by)):
                given = {v.name: s for v, s in zip(cpd.by, states, strict=True)}
                yield from ((cpd.child, parameter, given) for parameter in parameter_places(cpd))

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
        post = self._general[_context(cpd, given)]
        known, asked = parameter_places(cpd), getattr(parameter, "name", parameter)
        if not isinstance(asked, str) or asked not in known:
            raise ScopeError(f"{cpd!r} has no parameter {asked!r}: {listing(known)}.{nearest(asked, known)}")
        row, coordinate = known[asked]
        if row is None:
            shape, scale = post.variance(coordinate)
            return stats.invgamma(shape, scale=scale)
        line = post.coefficient(row, coordinate)
        return stats.t(line.degrees, loc=float(line.location[0]), scale=float(line.scale[0]))

    def __repr__(self) -> str:
        num = len(self.stats.contexts)
        rows = float(self.stats.counts.sum())
        return f"Lines({self.cpds[0].block.name}: {num} {'context' if num == 1 else 'contexts'}, {rows:g} rows)"


def parameter_places(cpd: LinearGaussian) -> dict[str, tuple[int | None, int]]:
    """The name of each parameter, the row of the lines it stands in (None for variances), and the child's coordinate.

    Coordinates of vectors are in brackets, the child's first: "u[1, 0]" is what coordinate 0 of u does to coordinate 1.

    >>> from sepset.variables.variable import Real
    >>> parameter_places(LinearGaussian(Real("y"), coefficients=1.0, covariance=1.0, given=Real("x")))
    {'intercept': (0, 0), 'x': (1, 0), 'variance': (None, 0)}
    """
    rows: list[tuple[str, int | None, list[str]]] = [("intercept", 0, [])]
    for parent in cpd.given:
        own = [[str(k)] if parent.size > 1 else [] for k in range(parent.size)]
        rows += [(parent.name, len(rows) + k, mark) for k, mark in enumerate(own)]
    rows.append(("variance", None, []))
    size = cpd.child.size
    return {
        name + (f"[{', '.join(marks)}]" if (marks := [*([str(j)] if size > 1 else []), *mark]) else ""): (row, j)
        for name, row, mark in rows
        for j in range(size)
    }


def mode_of(cpd: LinearGaussian, posts: Sequence[Conjugate], parameterization: str) -> LinearGaussian:
    r"""The CPD at the mode: of (coefficients, log variance) for "softmax", of (coefficients, variance) for "theta".

    With $p$ coefficients, $\sigma^2 = b / (a + p/2)$ and $\sigma^2 = b / (a + p/2 + 1)$.
    """
    general = [LinearNormalInverseWishart.of(post) for post in posts]
    return _with(cpd, [(post.mean, _mode(post, parameterization == "theta")) for post in general])


def at_variances(cpd: LinearGaussian, counts: Floats) -> LinearGaussian:
    r"""From the mode in logarithms of variances to that in variances, where the prior is flat in the former.

    $$C_d \leftarrow \frac{M_d}{M_d + k + 1} C_d$$

    with $k$ coordinates; contexts of no weight stay.
    """
    share = np.where(counts > 0, counts / (counts + cpd.child.size + 1.0), 1.0)
    return cpd.with_parameters(cpd.intercept, cpd.coefficients, cpd.covariance * share[:, None, None])


def _alike(keys: Ints) -> list[Ints]:
    """The places of equal rows of keys, together."""
    order = np.lexsort(keys.T[::-1])
    changes = np.flatnonzero((keys[order][1:] != keys[order][:-1]).any(axis=1)) + 1
    return np.split(order, changes) if len(order) else []


def _log_uses(post: LinearNormalInverseWishart, u: Floats, y: Floats) -> Floats:
    r"""The log density of several uses of one line, `[rows, uses, ...]`: one matrix Student t a row.

    With $\nu$ degrees, scale $\Psi$ and the residues $E$ of $q$ uses of spread $S = I + Z\Lambda^{-1}Z^\top$,

    $$\frac{\Gamma_d(\frac{\nu + q}2)}{\Gamma_d(\frac\nu2)\, \pi^{qd/2}}
    \frac{|\Psi|^{\nu/2}}{|\Psi + E^\top S^{-1} E|^{(\nu + q)/2}\, |S|^{d/2}}$$
    """
    from scipy.special import multigammaln

    num, size = y.shape[1:]
    z = np.concatenate([np.ones((*u.shape[:2], 1)), u], axis=2)
    apart = y - z @ post.mean
    spread = np.eye(num) + spreads(post.root, z)
    after = post.scale + np.swapaxes(apart, 1, 2) @ np.linalg.solve(spread, apart)
    constant = multigammaln(0.5 * (post.degrees + num), size) - multigammaln(0.5 * post.degrees, size)
    constant += 0.5 * post.degrees * np.linalg.slogdet(post.scale)[1] - 0.5 * num * size * np.log(np.pi)
    dets = (post.degrees + num) * np.linalg.slogdet(after)[1] + size * np.linalg.slogdet(spread)[1]
    return np.asarray(constant - 0.5 * dets)


def _log_density(post: LinearNormalInverseWishart, B: Floats, C: Floats, is_theta: bool) -> float:
    """Matrix normal times inverse Wishart at one line."""
    from scipy.special import multigammaln

    apart, size, degrees = post.root @ (B - post.mean), post.size, post.degrees
    log_size = float(np.linalg.slogdet(C)[1])
    squares = float(np.trace(np.linalg.solve(C, apart.T @ apart + post.scale)))
    normal = 0.5 * (size * log_det(post.root) - apart.size * np.log(2.0 * np.pi) - len(B) * log_size)
    wishart = 0.5 * degrees * (np.linalg.slogdet(post.scale)[1] - size * np.log(2.0))
    power = 0.5 * (degrees + (size + 1.0 if is_theta else 0.0))
    return float(normal + wishart - multigammaln(0.5 * degrees, size) - power * log_size - 0.5 * squares)


def _mode(post: LinearNormalInverseWishart, is_theta: bool) -> Floats:
    spare = post.degrees + len(post.mean) + (post.size + 1.0 if is_theta else 0.0)
    return np.asarray(post.scale / spare)


def _expected(cpd: LinearGaussian, post: LinearNormalInverseWishart) -> Floats:
    try:
        return post.expected_covariance()
    except ModelError as error:
        raise ModelError(
            f"{cpd!r}: with {post.degrees:g} degrees of freedom (twice the shape) the variance has no mean. Use a "
            "stronger prior, or MAP."
        ) from error


def _mean_matrices(cpd: LinearGaussian) -> Floats:
    """The lines of each context, `[contexts, 1 + parents, coordinates]`."""
    return np.concatenate([cpd.intercept[:, None, :], np.swapaxes(cpd.coefficients, 1, 2)], axis=1)


def _with(cpd: LinearGaussian, parameters: Sequence[tuple[Floats, Floats]]) -> LinearGaussian:
    lines = np.stack([lines for lines, _ in parameters])
    slope = np.ascontiguousarray(np.swapaxes(lines[:, 1:], 1, 2))
    return cpd.with_parameters(lines[:, 0].copy(), slope, np.stack([covariance for _, covariance in parameters]))


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
