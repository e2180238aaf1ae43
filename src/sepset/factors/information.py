"""Entropies and divergences of arrays of probabilities, in nats, with $0 \\log 0 = 0$."""

from __future__ import annotations

import numpy as np

from sepset.base.arraytypes import Floats


def entropy(probabilities: Floats) -> float:
    r"""$-\sum p \log p$.

    >>> round(entropy(np.array([0.5, 0.5, 0.0])), 6)
    0.693147
    """
    positive = probabilities[probabilities > 0]
    return float(-(positive * np.log(positive)).sum()) + 0.0


def kl(log_p: Floats, log_q: Floats) -> float:
    r"""$\sum p \log (p / q)$ from logarithms; inf where $q = 0 < p$."""
    support = log_p > -np.inf
    if (log_q[support] == -np.inf).any():
        return float("inf")
    return max(float((np.exp(log_p[support]) * (log_p[support] - log_q[support])).sum()), 0.0)
