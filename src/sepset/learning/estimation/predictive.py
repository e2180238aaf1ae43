r"""Exact predictions with the parameters integrated out: Pólya's urn.

Rows are not independent once parameters are integrated out: each makes the next one like it more probable. With
counts $a_k$ (pseudo-counts and data), a sequence that shows outcome $k$ just $r_k$ times has

$$E\Big[\prod_k \theta_k^{r_k}\Big] = \frac{\prod_k a_k^{(r_k)}}{a^{(r)}}, \qquad
a^{(r)} = a (a + 1) \cdots (a + r - 1),$$

while the posterior-mean network says $\prod_k (a_k / a)^{r_k}$: right for one use of a parameter, wrong for more.

Reference: Koller & Friedman, section 17.5.3 and exercise 17.18.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.arraytypes import Floats, Ints
from sepset.base.checks import finite_array
from sepset.base.logarithms import log_sum
from sepset.errors import ModelError


def log_polya(alpha: ArrayLike, counts: ArrayLike) -> float:
    r"""The log probability of one sequence with these counts, $\theta \sim \text{Dir}(\alpha)$ integrated out.

    $$\log \frac{\Gamma(\alpha)}{\Gamma(\alpha + M)} \prod_k \frac{\Gamma(\alpha_k + M_k)}{\Gamma(\alpha_k)}$$

    Args:
        alpha: pseudo-counts, all positive (add the counts of data seen before).
        counts: how often each outcome occurs in the sequence; no binomial coefficient is counted.

    Reference: Koller & Friedman, sections 17.3.2 and 18.3.4.

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
        counts: one a cell.
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
    r"""The log probability of each row, where row $m$ uses the parameters `uses[m]`, some perhaps twice.

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
