"""How far a network is from the true one, estimated from draws where no closed form is at hand."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.base.checks import generator, whole
from sepset.base.text import listing
from sepset.errors import NotApplicable, ScopeError
from sepset.factors.algebra import Columns
from sepset.inference.result import Guarantee
from sepset.models.bayesnet import BayesNet

CHUNK = 2**16
"""How many rows are drawn at a time."""


@dataclass(frozen=True, slots=True)
class SampledDivergence:
    r"""An estimate of $KL(P \| Q)$ in nats.

    Attributes:
        total: the mean of $\log P / Q$ over draws from $P$; infinite where $Q$ excludes one of them.
        standard_error: of that mean.
        num_rows: how many draws.

    >>> SampledDivergence(0.5, 0.01, 1000)
    SampledDivergence(total=0.5, standard_error=0.01, num_rows=1000)
    """

    total: float
    standard_error: float
    num_rows: int

    @property
    def guarantee(self) -> Guarantee:
        """An estimate."""
        return Guarantee.ESTIMATE

    @property
    def bits(self) -> float:
        """The estimate in bits."""
        return self.total / math.log(2.0)

    def __float__(self) -> float:
        return self.total


def sampled_divergence(
    p: BayesNet, q: BayesNet, *, num_rows: int = 100_000, seed: int | np.random.Generator = 0
) -> SampledDivergence:
    r"""An estimate of $KL(P \| Q)$ from draws, for any two networks that can be drawn from and scored.

    $$\frac1M \sum_m \log \frac{P(\mathbf x[m])}{Q(\mathbf x[m])}, \qquad \mathbf x[m] \sim P$$

    Unbiased where the divergence is finite, and a single estimate can be below zero. `divergence` is exact where CPDs
    are discrete or linear Gaussians.

    Args:
        p: the reference, usually the truth.
        q: the network whose quality is asked.
        num_rows: how many draws; the standard error falls with its square root.
        seed: a number or a generator.

    Cost: one pass over the draws for each CPD of both.
    Reference: Koller & Friedman, sections 8.4.2 and 12.1.

    >>> from sepset.cpds.lineargaussian import LinearGaussian
    >>> from sepset.variables.variable import Real
    >>> standard, shifted = (BayesNet(LinearGaussian(Real("x"), mean, covariance=1.0)) for mean in (0.0, 2.0))
    >>> found = sampled_divergence(standard, shifted)
    >>> abs(found.total - 2.0) < 4.0 * found.standard_error, round(found.standard_error, 4)
    (True, 0.0063)
    """
    _require_comparable(p, q)
    whole("num_rows", num_rows, least=2)
    rng, ratios = generator(seed), []
    for start in range(0, num_rows, CHUNK):
        count = min(CHUNK, num_rows - start)
        columns = p.sample_columns(count, rng)
        ratios.append(_log_density(p, columns, count) - _log_density(q, columns, count))
    ratio = np.concatenate(ratios)
    if np.isinf(ratio).any():
        return SampledDivergence(math.inf, 0.0, num_rows)
    return SampledDivergence(float(ratio.mean()), float(ratio.std(ddof=1)) / math.sqrt(num_rows), num_rows)


def _log_density(model: BayesNet, columns: Columns, num_rows: int) -> Floats:
    total = np.zeros(num_rows)
    for cpd in model.cpds:
        total += cpd.log_probability({v: columns[v] for v in cpd.scope})
    return total


def _require_comparable(p: BayesNet, q: BayesNet) -> None:
    for model in (p, q):
        if not isinstance(model, BayesNet):
            raise NotApplicable(f"sampled_divergence compares Bayesian networks; found {model!r}.")
    differ = sorted(v.name for v in set(p.variables) ^ set(q.variables))
    if differ:
        raise ScopeError(
            f"The divergence needs the same variables and states in both; they differ in {listing(differ)}."
        )
