r"""The posterior of a block of multinomials: a Dirichlet, or a mixture of them, in every context.

$$\theta_{\cdot \mid \mathbf u} \mid \mathcal D \sim
\sum_i \lambda^i_{\mathbf u}\, \text{Dir}(\alpha^i + M[\mathbf u, \cdot]), \qquad
\lambda^i_{\mathbf u} \propto \lambda^i\, P(M[\mathbf u, \cdot] \mid \alpha^i)$$

Reference: Koller & Friedman, sections 17.3.2 and 17.4.2, and exercise 17.7.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.lazy import lazy
from sepset.base.logarithms import log_sum
from sepset.cpds.cpd import CPD
from sepset.cpds.parameters import Multinomials
from sepset.cpds.priors.dirichlet import DirichletMixture, pseudo_counts_of
from sepset.errors import DataError, ModelError, ScopeError
from sepset.factors.algebra import Columns, find
from sepset.learning.estimation.predictive import log_evidence, log_urn
from sepset.variables.variable import Discrete


@dataclass(frozen=True, eq=False, repr=False)
class Dirichlets:
    """The posterior of the multinomials of one block.

    Attributes:
        cpds: the CPDs that share the block.
        prior_weights: the weights of the components before data.
        prior: the pseudo-counts of each component, `[components, cells]`.
        counts: the pooled counts of the data, one a cell.
    """

    cpds: tuple[CPD, ...]
    prior_weights: Floats
    prior: Floats
    counts: Floats

    @classmethod
    def of(cls, cpds: Sequence[CPD], prior: object, counts: Floats) -> Dirichlets:
        """The posterior from a prior and pooled counts.

        >>> from sepset.cpds.priors.dirichlet import Dirichlet
        >>> from sepset.cpds.table import TableCPD
        >>> from sepset.variables.variable import Discrete
        >>> Dirichlets.of([TableCPD(Discrete("coin"), [0.5, 0.5])], Dirichlet(1), np.array([7.0, 3.0]))
        Dirichlets(coin: 1 context, 12 counts and pseudo-counts)
        """
        if isinstance(prior, DirichletMixture):
            alphas = np.stack([pseudo_counts_of(c, cpds) for c in prior.components])
            return cls(tuple(cpds), prior.weights, alphas, counts)
        return cls(tuple(cpds), np.ones(1), pseudo_counts_of(prior, cpds)[None], counts)

    @lazy
    def cells(self) -> Multinomials:
        """The block's parameters as its first CPD has them."""
        return self.cpds[0]  # type: ignore[return-value]  # made of multinomials, as priors checked

    @lazy
    def groups(self) -> Ints:
        """Which multinomial each cell belongs to."""
        return self.cells.groups

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
            return np.zeros((int(self.groups.max(initial=-1)) + 1, 1))
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
                f"{self.cpds[0]!r}: neither data nor imaginary data say anything of {len(silent)} contexts (first: "
                f"{self.cells.describe_group(int(silent[0]))}). Use a prior with positive pseudo-counts."
            )
        return np.asarray(self.alphas / self._sums[:, self.groups])

    def log_marginal_likelihood(self) -> float:
        """The log probability of the counted rows, the parameters integrated out."""
        if not self.is_proper:
            raise ModelError(
                f"{self.cpds[0]!r}: the prior has cells without pseudo-counts, so it is improper and gives the data no "
                "probability. Use positive pseudo-counts."
            )
        logs = np.log(self.prior_weights) + log_evidence(self.prior, self.counts, self.groups)
        return float(log_sum(logs, -1).sum()) - float(self.counts @ np.log(self.cells.multiplicities))

    def updated(self, counts: Floats) -> Dirichlets:
        """The posterior after more rows."""
        return replace(self, counts=self.counts + counts)

    def downdated(self, counts: Floats) -> Dirichlets:
        """The posterior without some of the rows it has seen."""
        left = self.counts - counts
        left[np.abs(left) <= 1e-9 * np.maximum(self.counts, 1.0)] = 0.0
        if (left < 0).any():
            where = self.cells.describe_group(int(self.groups[left.argmin()]))
            context = f" in context {where}" if where != "()" else ""
            raise DataError(f"{self.cpds[0]!r}: more rows are taken away{context} than were seen there.")
        return replace(self, counts=left)

    def log_gain(self, counts: Floats) -> float:
        """The log probability of more rows after those already seen."""
        self._shares()
        logs = self.log_weights + log_evidence(self.alphas, counts, self.groups)
        return float(log_sum(logs, -1).sum()) - float(counts @ np.log(self.cells.multiplicities))

    def mean_cpds(self) -> tuple[CPD, ...]:
        """The CPDs with expected probabilities."""
        return tuple(cpd.from_statistics(self.mean) for cpd in self.cpds)

    def sampled_cpds(self, rng: np.random.Generator) -> tuple[CPD, ...]:
        """The CPDs with one draw of all probabilities."""
        drawn = self.sample(rng)
        return tuple(cpd.from_statistics(drawn) for cpd in self.cpds)

    def sample(self, rng: np.random.Generator) -> Floats:
        """One draw of the probabilities of all cells."""
        steps = np.cumsum(self.weights, axis=1)
        which = (rng.random(len(steps))[:, None] * steps[:, -1:] > steps[:, :-1]).sum(axis=1)
        self._shares()
        alpha = self.alphas[which[self.groups], np.arange(len(self.groups))]
        draws = rng.standard_gamma(alpha)
        # Tiny pseudo-counts may draw nothing but zeros; then the largest one takes all, as it does in the limit.
        sums = np.bincount(self.groups, weights=draws)
        draws[(sums[self.groups] == 0) & (alpha == _group_max(alpha, self.groups)[self.groups])] = 1.0
        return np.asarray(draws / np.bincount(self.groups, weights=draws)[self.groups])

    def log_predictive(self, columns: Columns) -> Floats:
        """The log probability of each row's part, the parameters integrated out."""
        uses = np.stack([cpd.cells(columns) for cpd in self.cpds], axis=1)  # type: ignore[attr-defined]
        self._shares()
        with np.errstate(divide="ignore"):
            logs = log_urn(self.alphas, self.log_weights, self.groups, uses)
            return np.asarray(logs - np.log(self.cells.multiplicities)[uses].sum(axis=1))

    def betas(self, state: object, given: Mapping[Any, Any]) -> list[tuple[float, float, float]]:
        """The marginal of one parameter: (weight, alpha, beta) of each Beta component."""
        cell = _cell(self.cpds[0], state, given)
        group = int(self.groups[cell])
        self._shares()
        parts = zip(self.weights[group], self.alphas[:, cell], self._sums[:, group], strict=True)
        return [(float(w), float(a), float(total - a)) for w, a, total in parts]

    def tail(self, state: object, above: float, given: Mapping[Any, Any]) -> float:
        """The probability that one parameter exceeds a threshold."""
        from scipy.special import betainc

        return float(1.0 - sum(w * _cdf(betainc, a, b, above) for w, a, b in self.betas(state, given)))

    def log_density(self, cpd: CPD, parameterization: str) -> float:
        r"""The log density of a CPD's probabilities, or of their logits: that times the Jacobian $\prod_k \theta_k$."""
        from scipy.special import gammaln, xlogy

        if not (self.alphas > 0).all():
            raise ModelError(f"{self.cpds[0]!r}: some cells have neither counts nor pseudo-counts, so no density.")
        masses = cpd.parameters * self.cells.multiplicities  # type: ignore[attr-defined]  # made of multinomials
        shift = 1.0 if parameterization == "theta" else 0.0
        logs = np.empty_like(self.log_weights)
        for i, alpha in enumerate(self.alphas):
            terms = xlogy(alpha - shift, masses) - gammaln(alpha)
            logs[:, i] = np.bincount(self.groups, weights=terms) + gammaln(self._sums[i])
        return float(log_sum(logs + self.log_weights, -1).sum())

    def names(self) -> Iterator[tuple[Discrete, Any, dict[str, Any]]]:
        """Every parameter as the child, its state and the states of its parents; shared ones under each child."""
        for cpd in dict.fromkeys(self.cpds):
            parents: tuple[Discrete, ...] = cpd.parents  # type: ignore[assignment]  # multinomials are discrete
            child: Discrete = cpd.child  # type: ignore[assignment]
            for states in itertools.product(*(p.states for p in parents)):
                given = {p.name: s for p, s in zip(parents, states, strict=True)}
                yield from ((child, state, given) for state in child.states)

    def interval(self, state: object, level: float, given: Mapping[Any, Any]) -> tuple[float, float]:
        """The central credible interval of one parameter."""
        parts = self.betas(state, given)
        half = 0.5 * (1.0 - level)
        return _quantile(parts, half), _quantile(parts, 1.0 - half)

    def moments(self, state: object, given: Mapping[Any, Any]) -> tuple[float, float]:
        """The mean and the standard deviation of one parameter."""
        parts = self.betas(state, given)
        mean = sum(w * a / (a + b) for w, a, b in parts)
        square = sum(w * a * (a + 1) / ((a + b) * (a + b + 1)) for w, a, b in parts)
        return mean, math.sqrt(max(square - mean**2, 0.0))

    def __repr__(self) -> str:
        num = len(self._sums[0])
        size = f"{float(self.alphas[0].sum()):.6g} counts and pseudo-counts"
        return f"Dirichlets({self.cpds[0].block.name}: {num} {'context' if num == 1 else 'contexts'}, {size})"


def _group_max(values: Floats, groups: Ints) -> Floats:
    largest = np.zeros(int(groups.max(initial=-1)) + 1)
    np.maximum.at(largest, groups, values)
    return largest


def _cell(cpd: Any, state: object, given: Mapping[Any, Any]) -> int:
    """The parameter that a child's state uses where the parents have these states."""
    for key in given:
        if find(cpd.parents, key) < 0:
            raise ScopeError(f"{cpd!r} has no parent {key!r}. given= takes the states of its parents.")
    fixed = cpd.fixed(given)
    absent = [p.name for p in cpd.parents if p not in fixed]
    if absent:
        raise ScopeError(f"{cpd!r} needs the states of all parents in given=; {absent[0]!r} is missing.")
    codes: Columns = {v: np.array([code]) for v, code in fixed.items()}
    codes[cpd.child] = np.array([cpd.child.code(state)])
    return int(cpd.cells(codes)[0])


def _cdf(betainc: Any, a: float, b: float, point: float) -> float:
    if a == 0.0 or b == 0.0:  # a point mass at zero or one
        return float(point >= (0.0 if a == 0.0 else 1.0))
    return float(betainc(a, b, min(max(point, 0.0), 1.0)))


def _quantile(parts: list[tuple[float, float, float]], share: float) -> float:
    """Where the mixture of Betas has this much mass below."""
    from scipy.optimize import brentq
    from scipy.special import betainc, betaincinv

    proper = [(w, a, b) for w, a, b in parts if a > 0 and b > 0]
    if not proper:
        return 0.0 if parts[0][1] == 0.0 else 1.0
    ends = sorted(float(betaincinv(a, b, share)) for _, a, b in proper)
    if len(parts) == 1 or ends[0] == ends[-1]:
        return ends[0]
    return float(brentq(lambda t: sum(w * _cdf(betainc, a, b, t) for w, a, b in parts) - share, ends[0], ends[-1]))
