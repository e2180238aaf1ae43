r"""Entropies and divergences of arrays of probabilities, in nats, with $0 \log 0 = 0$.

Where distributions are nearly equal, or one state has nearly all of the mass, the sums that define these measures
cancel. So divergences are sums of terms that are not negative,

$$KL(p \| q) = \sum_i \left[p_i \log \frac{p_i}{q_i} - p_i + q_i\right]
= \sum_i q_i f\!\left(\frac{p_i - q_i}{q_i}\right), \qquad f(d) = (1 + d) \log(1 + d) - d,$$

and the most probable state has the logarithm $\log(1 - \sum_{\text{others}} p_i)$, and the difference
$-\sum_{\text{others}} (p_i - q_i)$.
"""

from __future__ import annotations

import numpy as np

from sepset.base.arraytypes import Bools, Floats, Ints

ROUNDING = 8.0 * float(np.finfo(np.float64).eps)
"""A difference of probabilities is zero if it is no larger than this, relative to them."""

SMALL = 2.0**-6
r"""Below this $f(d)$ is the sum $\sum_k (-d)^k / (k (k - 1))$, whose terms beyond the last of these are rounding."""

SERIES = tuple((-1.0) ** k / (k * (k - 1.0)) for k in range(12, 1, -1))


def entropy(probabilities: Floats) -> float:
    r"""$-\sum p \log p$.

    >>> round(entropy(np.array([0.5, 0.5, 0.0])), 6), entropy(np.array([1.0, 1e-300])) / 1e-300
    (0.693147, 691.7755278982137)
    """
    return conditional_entropy(probabilities, np.zeros(len(probabilities), np.int64))


def conditional_entropy(probabilities: Floats, group: Ints) -> float:
    r"""$-\sum p \log (p / p_g)$, with $p_g$ the sum of the group that a state belongs to.

    >>> round(conditional_entropy(np.array([0.25, 0.25, 0.5]), np.array([0, 0, 1])), 6)
    0.346574
    """
    positive = probabilities > 0
    p, at = probabilities[positive], group[positive]
    whole = np.bincount(at, p)[at]
    large = p > 0.5 * whole
    others = np.bincount(at, np.where(large, 0.0, p))[at]
    logs = np.where(large, np.log1p(-np.where(large, others / whole, 0.0)), np.log(p / whole))
    return float(-(p * logs).sum()) + 0.0


def kl(p: Floats, q: Floats, log_ratio: Floats | None = None, beyond: float = 0.0) -> float:
    r"""$\sum p \log (p / q)$ of probabilities that sum to one up to rounding; inf where $q = 0 < p$.

    Args:
        p, q: the probabilities.
        log_ratio: $\log (p / q)$, for numbers outside the range of floats.
        beyond: the sum of $q$ over states that are not listed, where $p$ is zero.

    >>> kl(np.array([0.5 + 2.0**-32, 0.5 - 2.0**-32]), np.array([0.5, 0.5])) == 2.0**-63
    True
    """
    return float(kl_rows(p, q, log_ratio, beyond)) + beyond


def kl_rows(p: Floats, q: Floats, log_ratio: Floats | None = None, beyond: float = 0.0) -> Floats:
    """The divergence of each row of p from that of q, over the states that are listed."""
    if not p.size:
        return np.zeros(p.shape[:-1])
    apart = _balanced(p - q, p.argmax(axis=-1), -1, beyond)
    if log_ratio is None:
        with np.errstate(divide="ignore", invalid="ignore"):
            log_ratio = np.log(p) - np.log(q)
    return np.asarray(_terms(p, q, apart, log_ratio).sum(axis=-1))


def from_logs(log_p: Floats, log_q: Floats) -> tuple[Floats, Floats, Floats]:
    """Probabilities, and the logarithm of their ratio, from their logarithms."""
    with np.errstate(invalid="ignore", under="ignore"):
        return np.exp(log_p), np.exp(log_q), log_p - log_q


def mutual_information(joint: Floats) -> float:
    r"""$I(X; Y \mid Z) = KL\bigl(p(x, y, z) \,\|\, p(x \mid z)\, p(y, z)\bigr)$ of probabilities with the axes z, x, y.

    >>> mutual_information(np.outer([0.3, 0.7], [0.2, 0.8])[None])
    0.0
    """
    x, y = joint.sum(axis=2), joint.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        y_given = np.nan_to_num(y / joint.sum(axis=(1, 2))[:, None])
        q = x[:, :, None] * y_given[:, None, :]
        log_ratio = np.log(joint / x[:, :, None]) - np.log(y_given)[:, None, :]
    apart = joint - q
    apart[np.abs(apart) <= ROUNDING * np.maximum(joint, q)] = 0.0
    apart = _balanced(apart, x.argmax(axis=1)[:, None], 1)
    apart = _balanced(apart, y.argmax(axis=1)[:, None], 2)
    return float(_terms(joint, q, apart, log_ratio).sum())


def _balanced(apart: Floats, top: Ints, axis: int, total: float = 0.0) -> Floats:
    """Differences whose sum along an axis is known: the largest state has what the others leave."""
    at = np.expand_dims(top, axis)
    found = apart.copy()
    np.put_along_axis(found, at, 0.0, axis)
    np.put_along_axis(found, at, total - found.sum(axis=axis, keepdims=True), axis)
    return found


def _terms(p: Floats, q: Floats, apart: Floats, log_ratio: Floats) -> Floats:
    r"""$p \log (p / q) - p + q$, from the differences where these are small and from the logarithms elsewhere."""
    near: Bools = (np.abs(apart) <= 0.5 * q) & (q > 0)
    d = np.divide(apart, q, out=np.zeros_like(q), where=near)
    with np.errstate(invalid="ignore"):
        far = np.where(p > 0, p * (log_ratio - 1.0), 0.0) + q
    return np.where(near, q * excess(d), far)


def excess(d: Floats) -> Floats:
    r"""$f(d) = (1 + d) \log (1 + d) - d$ for $|d| \le \tfrac12$ with all digits.

    >>> float(excess(np.array([1e-9]))[0])
    4.999999998333334e-19
    """
    series = np.polyval((*SERIES, 0.0, 0.0), d)
    return np.asarray(np.where(np.abs(d) < SMALL, series, (1.0 + d) * np.log1p(d) - d))
