"""How far a network is from the true one, estimated from draws where there is no closed form."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.base.checks import generator, whole
from sepset.errors import NotApplicable
from sepset.factors.algebra import Columns
from sepset.models.alignment import over
from sepset.models.bayesnet import BayesNet

CHUNK = 2**16
"""The number of rows drawn at a time."""


class Estimate(NamedTuple):
    """The mean of log ratios over draws, and its standard error."""

    total: float
    standard_error: float


def sampled(p: BayesNet, q: BayesNet, *, samples: int, seed: int | np.random.Generator) -> Estimate:
    r"""An estimate of $KL(P \| Q)$ from draws, for any two networks that can be drawn from and scored.

    $$\frac1M \sum_m \log \frac{P(\mathbf x[m])}{Q(\mathbf x[m])}, \qquad \mathbf x[m] \sim P$$

    Infinite where $Q$ excludes one of the draws.

    Args:
        p: the reference, usually the truth.
        q: the network whose quality is asked.
        samples: the number of draws; the standard error falls with its square root.
        seed: a number or a generator.

    Cost: one pass over the draws for each CPD of both.
    Reference: Koller & Friedman, sections 8.4.2 and 12.1.
    Guarantee: estimate with standard error.
    Tested by: learning/evaluation/divergence/test_sampled.py::test_standard_errors_cover_as_they_should

    >>> from sepset.cpds.lineargaussian import LinearGaussian
    >>> from sepset.variables.variable import Real
    >>> standard, shifted = (BayesNet(LinearGaussian(Real("x"), mean, covariance=1.0)) for mean in (0.0, 2.0))
    >>> found = sampled(standard, shifted, samples=100_000, seed=0)
    >>> abs(found.total - 2.0) < 4.0 * found.standard_error, round(found.standard_error, 4)
    (True, 0.0063)
    """
    _require_networks(p, q)
    q = over(q, p.variables)
    whole("samples", samples, least=2)
    rng, ratios = generator(seed), []
    for start in range(0, samples, CHUNK):
        count = min(CHUNK, samples - start)
        columns = p.sample_columns(count, rng)
        ratios.append(_log_density(p, columns, count) - _log_density(q, columns, count))
    ratio = np.concatenate(ratios)
    if np.isinf(ratio).any():
        return Estimate(math.inf, 0.0)
    return Estimate(float(ratio.mean()), float(ratio.std(ddof=1)) / math.sqrt(samples))


def _log_density(model: BayesNet, columns: Columns, num_rows: int) -> Floats:
    total = np.zeros(num_rows)
    for cpd in model.cpds:
        total += cpd.log_probability({v: columns[v] for v in cpd.scope})
    return total


def _require_networks(*models: BayesNet) -> None:
    for model in models:
        if not isinstance(model, BayesNet):
            raise NotApplicable(f"The divergence compares Bayesian networks; found {model!r}.")
