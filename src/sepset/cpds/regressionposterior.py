r"""The posterior of a block of linear Gaussians: matrix-normal inverse-Wishart in every discrete context.

$$\Sigma \sim \text{IW}(\Psi, \nu), \qquad B \mid \Sigma \sim MN(B_0; \Lambda^{-1}, \Sigma)$$

Reference: Koller & Friedman, section 17.4.4 and exercise 17.11.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.lazy import lazy
from sepset.base.text import listing, nearest
from sepset.cpds.counts import joint_codes
from sepset.cpds.priors.gaussian import GammaPrecision, KnownPart, NormalMean
from sepset.cpds.priors.penalized import determines_regression
from sepset.cpds.priors.regression import LinearNormalGamma, LinearNormalInverseWishart, RegressionPrior
from sepset.data.scatter import Scatters
from sepset.errors import ModelError, ScopeError
from sepset.factors.algebra import Columns, find
from sepset.factors.coordinates import matrix, states_of, width
from sepset.factors.labels import name_of
from sepset.variables.variable import Vector

if TYPE_CHECKING:
    from sepset.cpds.lineargaussian import LinearGaussian


LinePrior: TypeAlias = RegressionPrior | NormalMean | GammaPrecision
"""A conjugate prior of one regression."""


@dataclass(frozen=True, slots=True, eq=False)
class RegressionDensity:
    """A conjugate prior of a regression, and whether its mode is that of variances or of their logarithms."""

    prior: LinePrior
    is_theta: bool

    @property
    def is_flat(self) -> bool:
        """Whether it is flat in coefficients and log variances, and so improper."""
        return self.prior.degrees <= 0


@dataclass(frozen=True, eq=False, repr=False)
class RegressionPosterior:
    """The posterior of the regressions of one block.

    Attributes:
        cpds: the linear Gaussians that share the block.
        priors: the conjugate prior of each context.
        stats: the pooled statistics.

    >>> from sepset.cpds.lineargaussian import LinearGaussian
    >>> from sepset.cpds.priors.regression import NormalGamma
    >>> from sepset.variables.variable import Real
    >>> x = LinearGaussian(Real("x"), covariance=1.0)
    >>> stats = x.scatters({x.child: np.array([1.0, 2, 3, 4])})
    >>> found = x.parameters.posterior(NormalGamma(0, 1, shape=2, rate=1), [x], stats)
    >>> found, found.contexts[0].rate
    (RegressionPosterior(x: 1 context, 4 rows), 6.0)
    """

    cpds: tuple[LinearGaussian, ...]
    priors: tuple[LinePrior, ...]
    stats: Scatters

    @lazy
    def contexts(self) -> tuple[LinePrior, ...]:
        """The posterior in each joint state of the discrete parents."""
        pairs = zip(self.priors, self.stats.contexts, strict=True)
        return tuple(prior.update(scatter) for prior, scatter in pairs)

    @property
    def kind(self) -> str:
        """The name of the distribution."""
        if isinstance(self.priors[0], KnownPart):
            return self.priors[0].kind
        return "normal-gamma" if self.cpds[0].child.size == 1 else "normal-inverse-Wishart"

    @property
    def num_contexts(self) -> int:
        """The number of regressions."""
        return len(self.priors)

    @property
    def is_mean_exact(self) -> bool:
        """False: rows are predicted by Student t distributions, not by normal ones."""
        return False

    @property
    def is_proper(self) -> bool:
        """True: its prior is always proper."""
        return True

    def log_marginal_likelihood(self) -> float:
        """The log density of the rows, with the parameters integrated out."""
        pairs = zip(self.priors, self.stats.contexts, strict=True)
        return float(sum(prior.log_marginal_likelihood(scatter) for prior, scatter in pairs))

    def updated(self, stats: Any) -> RegressionPosterior:
        """The posterior after more rows."""
        return replace(self, stats=self.stats + self.cpds[0].centered(stats))

    def downdated(self, stats: Any) -> RegressionPosterior:
        """The posterior without some of the rows it has seen."""
        return replace(self, stats=self.stats - self.cpds[0].centered(stats))

    def log_gain(self, stats: Any) -> float:
        """The log density of more rows after those already seen."""
        pairs = zip(self.contexts, self.cpds[0].centered(stats).contexts, strict=True)
        return float(sum(post.log_marginal_likelihood(scatter) for post, scatter in pairs))

    def mean_cpds(self) -> tuple[LinearGaussian, ...]:
        """The CPDs with expected coefficients and expected (co)variances."""
        return self._cpds_at([(post.lines, self._expected(post)) for post in self.contexts])

    def _expected(self, post: LinePrior) -> Floats:
        try:
            return post.expected_covariance()
        except ModelError as error:
            raise ModelError(
                f"{name_of(self.cpds[0])}: with {post.degrees:g} degrees of freedom (twice the shape) the variance "
                "has no "
                "mean. Use a stronger prior, or PosteriorMode."
            ) from error

    def sampled_cpds(self, rng: np.random.Generator) -> tuple[LinearGaussian, ...]:
        """The CPDs with one draw of all parameters."""
        drawn = [post.draws(1, rng) for post in self.contexts]
        return self._cpds_at([(lines[0], covariances[0]) for lines, covariances in drawn])

    def _cpds_at(self, parameters: Sequence[tuple[Floats, Floats]]) -> tuple[LinearGaussian, ...]:
        return tuple(cpd.parameters.from_lines(parameters) for cpd in self.cpds)

    def log_predictive(self, columns: Columns) -> Floats:
        """The log density of the block's children in each row, with the parameters integrated out."""
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
                post = self.contexts[entry[row[0], j]]
                logs[row] += post.log_predictives(u[row][:, uses], y[row][:, uses])
        return logs

    def tail(self, parameter: object, above: float, given: Mapping[Any, Any]) -> float:
        """The probability that one parameter exceeds a threshold."""
        return float(self._marginal(parameter, given).sf(above))

    def log_density(self, cpd: LinearGaussian, parameterization: str) -> float:
        """The log density of a CPD's coefficients and (co)variances, or of coefficients and log (co)variances."""
        parts = zip(self.contexts, cpd.parameters.lines, cpd.covariance, strict=True)
        return float(sum(post.log_density(B, C, is_theta=parameterization == "theta") for post, B, C in parts))

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
        post = self.contexts[_context(cpd, given)]
        known, asked = parameter_places(cpd), getattr(parameter, "name", parameter)
        if not isinstance(asked, str) or asked not in known:
            raise ScopeError(f"{name_of(cpd)} has no parameter {asked!r}: {listing(known)}.{nearest(asked, known)}")
        row, coordinate = known[asked]
        if isinstance(post, KnownPart):
            return post.marginal(row)
        if row is None:
            shape, scale = post.variance(coordinate)
            return stats.invgamma(shape, scale=scale)
        found = post.coefficient(row, coordinate)
        return stats.t(found.degrees, loc=float(found.location[0]), scale=float(found.scale[0]))

    def __repr__(self) -> str:
        contexts = f"{self.num_contexts} {'context' if self.num_contexts == 1 else 'contexts'}"
        return f"RegressionPosterior({self.cpds[0].block.name}: {contexts}, {float(self.stats.counts.sum()):g} rows)"


def imagined(cpd: LinearGaussian, stats: Scatters) -> tuple[RegressionPrior, ...]:
    r"""The prior of each context from imaginary rows alone, starting flat in coefficients and log variances.

    $$p(B, \Sigma) \propto |\Sigma|^{-(d + 1) / 2} \prod_m N(\mathbf y[m]; B^\top \mathbf z[m]; \Sigma)$$

    With $M'$ rows and $p$ coefficients that is a shape of $(M' - p) / 2$ and a rate of half the residual squares.
    Too few rows, collinear parents or a perfect fit give no proper distribution, and raise an error.

    Reference: Koller & Friedman, sections 17.4.3 and 17.4.4.

    >>> from sepset.cpds.lineargaussian import LinearGaussian
    >>> from sepset.variables.variable import Real
    >>> cpd = LinearGaussian(Real("y"), covariance=1.0)
    >>> imagined(cpd, cpd.scatters({cpd.child: np.array([1.0, 3.0, 5.0])}))[0]
    LinearNormalGamma(mean=[3.0], shape=1, rate=4)
    """
    size, num = cpd.child.size, 1 + width(cpd.given)
    bad = [e for e, scatter in enumerate(stats.contexts) if not determines_regression(scatter, size)]
    if bad:
        where = f" where {states_of(cpd.by, bad[0])}" if cpd.by else ""
        raise ModelError(
            f"{name_of(cpd)}: {stats.counts[bad[0]]:g} imaginary rows{where} give no prior of a regression. It takes "
            f"more than {num + size - 1} rows, parents that are not collinear, and a child that they do not fit "
            "exactly. Add rows, or use NormalGamma(...); or PosteriorMode, which takes any rows."
        )
    kind = LinearNormalGamma if size == 1 else LinearNormalInverseWishart
    return tuple(kind.flat(num, size).update(scatter) for scatter in stats.contexts)


def parameter_places(cpd: LinearGaussian) -> dict[str, tuple[int | None, int]]:
    """The row of the coefficients (None for variances) and the child's coordinate of each parameter, by name.

    Coordinates of vectors are in brackets, the child's first: "u[1, 0]" is the coefficient of coordinate 0 of u for
    coordinate 1 of the child.

    >>> from sepset.cpds.lineargaussian import LinearGaussian
    >>> from sepset.variables.variable import Real
    >>> parameter_places(LinearGaussian(Real("y"), coefficients=1.0, covariance=1.0, given=Real("x")))
    {'intercept': (0, 0), 'x': (1, 0), 'variance': (None, 0)}
    """
    rows: list[tuple[str, int | None, list[str]]] = [("intercept", 0, [])]
    for parent in cpd.given:
        own = [[str(k)] if parent.size > 1 else [] for k in range(parent.size)]
        rows += [(parent.name, len(rows) + k, index) for k, index in enumerate(own)]
    rows.append(("variance", None, []))
    size = cpd.child.size
    return {
        name + (f"[{', '.join(both)}]" if (both := [*([str(j)] if size > 1 else []), *index]) else ""): (row, j)
        for name, row, index in rows
        for j in range(size)
    }


def _alike(keys: Ints) -> list[Ints]:
    """The positions of equal rows of keys, one array per distinct row."""
    order = np.lexsort(keys.T[::-1])
    changes = np.flatnonzero((keys[order][1:] != keys[order][:-1]).any(axis=1)) + 1
    return np.split(order, changes) if len(order) else []


def _context(cpd: LinearGaussian, given: Mapping[Any, Any]) -> int:
    codes: Columns = {}
    for key, state in given.items():
        axis = find(cpd.by, key)
        if axis < 0:
            raise ScopeError(f"{name_of(cpd)} has no discrete parent {key!r}. given= takes the states of those.")
        codes[cpd.by[axis]] = np.array([cpd.by[axis].code(state)])
    absent = [v.name for v in cpd.by if v not in codes]
    if absent:
        raise ScopeError(
            f"{name_of(cpd)} needs the states of all discrete parents in given=; {absent[0]!r} is missing."
        )
    return int(joint_codes(codes, cpd.by, 1, cpd)[0])
