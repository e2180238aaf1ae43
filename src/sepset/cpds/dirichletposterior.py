r"""The posterior of a block of multinomials: a Dirichlet, or a mixture of them, in every context.

$$\theta_{\cdot \mid \mathbf u} \mid \mathcal D \sim
\sum_i \lambda^i_{\mathbf u}\, \text{Dir}(\alpha^i + M[\mathbf u, \cdot]), \qquad
\lambda^i_{\mathbf u} \propto \lambda^i\, P(M[\mathbf u, \cdot] \mid \alpha^i)$$

With the parameters integrated out, rows are not independent: each row makes equal rows more probable (Pólya's urn).
With counts $a_k$ (pseudo-counts and data), a sequence with $r_k$ occurrences of outcome $k$ has the probability

$$E\Big[\prod_k \theta_k^{r_k}\Big] = \frac{\prod_k a_k^{(r_k)}}{a^{(r)}}, \qquad
a^{(r)} = a (a + 1) \cdots (a + r - 1),$$

while the posterior-mean network gives $\prod_k (a_k / a)^{r_k}$: right for one use of a parameter, wrong for more.

Reference: Koller & Friedman, sections 17.3.2, 17.4.2 and 17.5.3, and exercises 17.7 and 17.18.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.arraytypes import Floats, Ints
from sepset.base.checks import finite_array
from sepset.base.foreign import translated
from sepset.base.lazy import lazy
from sepset.base.logarithms import log_sum
from sepset.errors import DataError, ModelError, ScopeError
from sepset.factors.algebra import Columns, find
from sepset.factors.labels import name_of
from sepset.variables.variable import Discrete


@dataclass(frozen=True, eq=False, repr=False)
class DirichletPosterior:
    """The posterior of the multinomials of one block.

    Attributes:
        cpds: the CPDs that share the block, all made of multinomials.
        prior_weights: the weights of the components before data.
        prior: the pseudo-counts of each component, `[components, cells]`.
        counts: the pooled counts of the data, one per cell.

    >>> from sepset.cpds.priors.dirichlet import Dirichlet
    >>> from sepset.cpds.table import TableCPD
    >>> coin = TableCPD(Discrete("coin"), [0.5, 0.5])
    >>> coin.parameters.posterior(Dirichlet(1), [coin], np.array([7.0, 3.0]))
    DirichletPosterior(coin: 1 context, 12 counts and pseudo-counts)
    """

    cpds: tuple[Any, ...]
    prior_weights: Floats
    prior: Floats
    counts: Floats

    @lazy
    def cells(self) -> Any:
        """The parameters of the block's first CPD."""
        return self.cpds[0].parameters

    @lazy
    def groups(self) -> Ints:
        """Which multinomial each cell belongs to."""
        groups: Ints = self.cells.groups
        return groups

    @property
    def kind(self) -> str:
        """The name of the distribution."""
        return "Dirichlet" if len(self.prior) == 1 else "mixture of Dirichlets"

    @property
    def num_contexts(self) -> int:
        """The number of multinomials."""
        return int(self.groups.max(initial=-1)) + 1

    @property
    def is_mean_exact(self) -> bool:
        """Whether expected parameters give one new row its exact probability: if no row uses a parameter twice."""
        return len(self.cpds) == 1

    @lazy
    def alphas(self) -> Floats:
        """Pseudo-counts and counts, `[components, cells]`."""
        return np.asarray(self.prior + self.counts)

    @property
    def is_proper(self) -> bool:
        """Whether every pseudo-count of the prior is positive."""
        return bool((self.prior > 0).all())

    @lazy
    def log_weights(self) -> Floats:
        """The logarithms of the components' posterior weights in each group, `[groups, components]`."""
        if len(self.prior) == 1:
            return np.zeros((self.num_contexts, 1))
        joint = np.log(self.prior_weights) + log_evidence(self.prior, self.counts, self.groups)
        return np.asarray(joint - log_sum(joint, -1)[:, None])

    @property
    def weights(self) -> Floats:
        """The components' posterior weights in each group, `[groups, components]`."""
        return np.asarray(np.exp(self.log_weights))

    @lazy
    def _sums(self) -> Floats:
        return np.stack([np.bincount(self.groups, weights=alpha) for alpha in self.alphas])

    @lazy
    def mean(self) -> Floats:
        """The expected probability of each cell (of all the child's states it stands for), flat."""
        shares = self._shares()
        return np.asarray((self.weights.T[:, self.groups] * shares).sum(axis=0))

    def _shares(self) -> Floats:
        silent = np.flatnonzero((self._sums == 0).any(axis=0))
        if silent.size:
            raise DataError(
                f"{name_of(self.cpds[0])}: neither data nor imaginary data determine {len(silent)} contexts (first: "
                f"{self.cells.describe_context(int(silent[0]))}). Use a prior with positive pseudo-counts."
            )
        return np.asarray(self.alphas / self._sums[:, self.groups])

    def log_marginal_likelihood(self) -> float:
        """The log probability of the counted rows, with the parameters integrated out."""
        if not self.is_proper:
            raise ModelError(
                f"{name_of(self.cpds[0])}: the prior has cells without pseudo-counts, so it is improper and gives "
                "the data no "
                "probability. Use positive pseudo-counts."
            )
        logs = np.log(self.prior_weights) + log_evidence(self.prior, self.counts, self.groups)
        return float(log_sum(logs, -1).sum()) - float(self.counts @ np.log(self.cells.multiplicities))

    def updated(self, counts: Floats) -> DirichletPosterior:
        """The posterior after more rows."""
        return replace(self, counts=self.counts + counts)

    def downdated(self, counts: Floats) -> DirichletPosterior:
        """The posterior without some of the rows it has seen."""
        left = self.counts - counts
        left[np.abs(left) <= 1e-9 * np.maximum(self.counts, 1.0)] = 0.0
        if (left < 0).any():
            where = self.cells.describe_context(int(self.groups[left.argmin()]))
            context = f" in context {where}" if where != "()" else ""
            raise DataError(f"{name_of(self.cpds[0])}: more rows are removed{context} than were seen there.")
        return replace(self, counts=left)

    def log_gain(self, counts: Floats) -> float:
        """The log probability of more rows after those already seen."""
        self._shares()
        logs = self.log_weights + log_evidence(self.alphas, counts, self.groups)
        return float(log_sum(logs, -1).sum()) - float(counts @ np.log(self.cells.multiplicities))

    def mean_cpds(self) -> tuple[Any, ...]:
        """The CPDs with expected probabilities."""
        return self._cpds_at(self.mean)

    def sampled_cpds(self, rng: np.random.Generator) -> tuple[Any, ...]:
        """The CPDs with one draw of all probabilities."""
        return self._cpds_at(self.sample(rng))

    def _cpds_at(self, masses: Floats) -> tuple[Any, ...]:
        parameters = [cpd.parameters for cpd in self.cpds]
        return tuple(own.from_probabilities(own.ratios(masses)) for own in parameters)

    def sample(self, rng: np.random.Generator) -> Floats:
        """One draw of the probabilities of all cells."""
        steps = np.cumsum(self.weights, axis=1)
        which = (rng.random(len(steps))[:, None] * steps[:, -1:] > steps[:, :-1]).sum(axis=1)
        self._shares()
        alpha = self.alphas[which[self.groups], np.arange(len(self.groups))]
        draws = rng.standard_gamma(alpha)
        # Tiny pseudo-counts may draw only zeros; then the largest one takes all the mass, as in the limit.
        sums = np.bincount(self.groups, weights=draws)
        draws[(sums[self.groups] == 0) & (alpha == _group_max(alpha, self.groups)[self.groups])] = 1.0
        return np.asarray(draws / np.bincount(self.groups, weights=draws)[self.groups])

    def log_predictive(self, columns: Columns) -> Floats:
        """The log probability of the block's children in each row, with the parameters integrated out."""
        uses = np.stack([cpd.parameters.cells(columns) for cpd in self.cpds], axis=1)
        self._shares()
        with np.errstate(divide="ignore"):
            logs = log_urn(self.alphas, self.log_weights, self.groups, uses)
            return np.asarray(logs - np.log(self.cells.multiplicities)[uses].sum(axis=1))

    def betas(self, state: object, given: Mapping[Any, Any]) -> list[tuple[float, float, float]]:
        """The marginal of one parameter: (weight, alpha, beta) of each Beta component."""
        cell = _cell(self.cpds[0], state, given)
        group = int(self.groups[cell])
        self._shares()
        others = (self.groups == group) & (np.arange(len(self.groups)) != cell)
        parts = zip(self.weights[group], self.alphas[:, cell], self.alphas[:, others].sum(axis=1), strict=True)
        return [(float(w), float(a), float(b)) for w, a, b in parts]

    def tail(self, state: object, above: float, given: Mapping[Any, Any]) -> float:
        """The probability that one parameter exceeds a threshold."""
        from scipy.special import betaincc

        return float(sum(w * _above(betaincc, a, b, above) for w, a, b in self.betas(state, given)))

    def log_density(self, cpd: Any, parameterization: str) -> float:
        r"""The log density of a CPD's probabilities, or of their logits: that times the Jacobian $\prod_k \theta_k$."""
        from scipy.special import gammaln, xlogy

        if not (self.alphas > 0).all():
            raise ModelError(
                f"{name_of(self.cpds[0])}: some cells have neither counts nor pseudo-counts, so there is no "
                "density. Use positive pseudo-counts."
            )
        masses = cpd.parameters.probabilities * self.cells.multiplicities
        shift = 1.0 if parameterization == "theta" else 0.0
        logs = np.empty_like(self.log_weights)
        for i, alpha in enumerate(self.alphas):
            terms = xlogy(alpha - shift, masses) - gammaln(alpha)
            logs[:, i] = np.bincount(self.groups, weights=terms) + gammaln(self._sums[i])
        return float(log_sum(logs + self.log_weights, -1).sum())

    def names(self) -> Iterator[tuple[Discrete, Any, dict[str, Any]]]:
        """Every parameter as the child, its state and the states of its parents; shared ones under each child."""
        for cpd in dict.fromkeys(self.cpds):
            for states in itertools.product(*(p.states for p in cpd.parents)):
                given = {p.name: s for p, s in zip(cpd.parents, states, strict=True)}
                yield from ((cpd.child, state, given) for state in cpd.child.states)

    def interval(self, state: object, level: float, given: Mapping[Any, Any]) -> tuple[float, float]:
        """The central credible interval of one parameter."""
        parts = self.betas(state, given)
        half = 0.5 * (1.0 - level)
        return _quantile(parts, half), _quantile(parts, 1.0 - half)

    def moments(self, state: object, given: Mapping[Any, Any]) -> tuple[float, float]:
        """The mean and the standard deviation of one parameter."""
        parts = self.betas(state, given)
        means = [a / (a + b) for _, a, b in parts]
        mean = sum(w * own for (w, _, _), own in zip(parts, means, strict=True))
        own = sum(w * (a / (a + b)) * (b / (a + b)) / (a + b + 1) for w, a, b in parts)
        return mean, math.sqrt(own + sum(w * (m - mean) ** 2 for (w, _, _), m in zip(parts, means, strict=True)))

    def __repr__(self) -> str:
        num = len(self._sums[0])
        size = f"{float(self.alphas[0].sum()):.6g} counts and pseudo-counts"
        return f"DirichletPosterior({self.cpds[0].block.name}: {num} {'context' if num == 1 else 'contexts'}, {size})"


def _group_max(values: Floats, groups: Ints) -> Floats:
    largest = np.zeros(int(groups.max(initial=-1)) + 1)
    np.maximum.at(largest, groups, values)
    return largest


def _cell(cpd: Any, state: object, given: Mapping[Any, Any]) -> int:
    """The cell of a child's state, given the states of its parents."""
    for key in given:
        if find(cpd.parents, key) < 0:
            raise ScopeError(f"{name_of(cpd)} has no parent {key!r}. given= takes the states of its parents.")
    fixed = cpd.fixed(given)
    absent = [p.name for p in cpd.parents if p not in fixed]
    if absent:
        raise ScopeError(f"{name_of(cpd)} needs the states of all parents in given=; {absent[0]!r} is missing.")
    codes: Columns = {v: np.array([code]) for v, code in fixed.items()}
    codes[cpd.child] = np.array([cpd.child.code(state)])
    return int(cpd.parameters.cells(codes)[0])


def _cdf(betainc: Any, a: float, b: float, point: float) -> float:
    if a == 0.0 or b == 0.0:  # a point mass at zero or one
        return float(point >= (0.0 if a == 0.0 else 1.0))
    return float(betainc(a, b, min(max(point, 0.0), 1.0)))


def _above(betaincc: Any, a: float, b: float, point: float) -> float:
    if a == 0.0 or b == 0.0:  # a point mass at zero or one
        return float(point < (0.0 if a == 0.0 else 1.0))
    return float(betaincc(a, b, min(max(point, 0.0), 1.0)))


def _quantile(parts: list[tuple[float, float, float]], share: float) -> float:
    """The quantile of a mixture of Betas at probability `share`."""
    from scipy.optimize import brentq
    from scipy.special import betainc, betaincinv

    proper = [(w, a, b) for w, a, b in parts if a > 0 and b > 0]
    if not proper:
        return 0.0 if parts[0][1] == 0.0 else 1.0
    ends = sorted(float(betaincinv(a, b, share)) for _, a, b in proper)
    if len(parts) == 1 or ends[0] == ends[-1]:
        return ends[0]
    return float(brentq(lambda t: sum(w * _cdf(betainc, a, b, t) for w, a, b in parts) - share, ends[0], ends[-1]))


@translated
def log_polya(alpha: ArrayLike, counts: ArrayLike) -> float:
    r"""The log probability of one sequence with these counts, with $\theta \sim \text{Dir}(\alpha)$ integrated out.

    $$\log \frac{\Gamma(\alpha)}{\Gamma(\alpha + M)} \prod_k \frac{\Gamma(\alpha_k + M_k)}{\Gamma(\alpha_k)}$$

    Args:
        alpha: pseudo-counts, all positive (add the counts of data seen before).
        counts: the number of occurrences of each outcome; the multinomial coefficient is not included.

    Reference: Koller & Friedman, sections 17.3.2 and 18.3.4.
    Guarantee: exact.
    Tested by: cpds/test_dirichletposterior.py::test_evidence_by_quadrature

    >>> round(float(np.exp(log_polya([2, 1, 1], [2, 0, 0]))), 12)
    0.3
    """
    a, m = finite_array("log_polya", "pseudo-counts", alpha), finite_array("log_polya", "counts", counts)
    if a.shape != m.shape or not (a > 0).all() or not (m >= 0).all():
        raise ModelError(
            f"log_polya needs positive pseudo-counts and as many counts; found {a.tolist()}, {m.tolist()}."
        )
    return float(log_evidence(a[None], m, np.zeros(a.size, np.int64))[0, 0])


def log_evidence(alphas: Floats, counts: Floats, groups: Ints) -> Floats:
    """The log probability of the counts of each group under each component, `[groups, components]`.

    Args:
        alphas: pseudo-counts, `[components, cells]`.
        counts: one per cell.
        groups: which multinomial each cell belongs to.
    """
    from scipy.special import gammaln

    num_groups = int(groups.max(initial=-1)) + 1
    used = np.flatnonzero(counts > 0)
    totals = np.bincount(groups, weights=counts, minlength=num_groups)
    found = np.empty((num_groups, len(alphas)))
    for i, alpha in enumerate(alphas):
        sums = np.bincount(groups, weights=alpha, minlength=num_groups)
        gain = gammaln(alpha[used] + counts[used]) - gammaln(alpha[used])
        rise = np.bincount(groups[used], weights=gain, minlength=num_groups)
        found[:, i] = rise + np.where(totals > 0, gammaln(sums) - gammaln(sums + totals), 0.0)
    return found


def log_urn(alphas: Floats, log_weights: Floats, groups: Ints, uses: Ints) -> Floats:
    r"""The log probability of each row, where row $m$ uses the parameters `uses[m]`, some possibly several times.

    Args:
        alphas: counts and pseudo-counts, `[components, cells]`.
        log_weights: the components' posterior weights, `[groups, components]`.
        groups: which multinomial each cell belongs to.
        uses: cells, `[rows, occurrences]`.

    >>> one = np.zeros((1, 1))
    >>> np.exp(log_urn(np.ones((1, 2)), one, np.zeros(2, np.int64), np.array([[0, 0], [0, 1]]))).round(12).tolist()
    [0.333333333333, 0.166666666667]
    """
    num_groups = len(log_weights)
    sums = np.stack([np.bincount(groups, weights=alpha, minlength=num_groups) for alpha in alphas])
    where = groups[uses]
    logs = np.empty((*uses.shape, len(alphas)))
    for j in range(uses.shape[1]):
        again = (uses[:, :j] == uses[:, j : j + 1]).sum(axis=1)[:, None]
        before = (where[:, :j] == where[:, j : j + 1]).sum(axis=1)[:, None]
        logs[:, j] = np.log(alphas.T[uses[:, j]] + again) - np.log(sums.T[where[:, j]] + before)
    total = np.zeros(len(uses))
    for j in range(uses.shape[1]):
        first = ~(where[:, :j] == where[:, j : j + 1]).any(axis=1)
        same = where[:, j:] == where[:, j : j + 1]
        together = (logs[:, j:] * same[:, :, None]).sum(axis=1) + log_weights[where[:, j]]
        total += np.where(first, log_sum(together, -1), 0.0)
    return total
