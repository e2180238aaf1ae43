r"""The modes of many mixtures of normal distributions of one number.

From the mean of every component, each step solves $\sum_i r_i (x - \mu_i) / \sigma_i^2 = 0$ with $r_i$ the share of the
component in the density at the last $x$; it never descends. The mode is the highest of the peaks that are reached. A
component without variance is infinitely high.

Reference: Carreira-Perpinan (2000), Mode-finding for mixtures of Gaussian distributions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Bools, Floats, Ints
from sepset.factors.moments import MODE_STEPS

ENTRIES_AT_ONCE = 2**18
"""Pairs of components and starting points that are in memory at a time."""


class Modes(NamedTuple):
    """The mode of each mixture, by its number."""

    owner: Ints
    value: Floats


def mixture_modes(owner: Ints, share: Floats, mean: Floats, variance: Floats) -> Modes:
    """The modes of mixtures, whose components are consecutive.

    Args:
        owner: the number of each component's mixture, ascending.
        share, mean, variance: those of each component; shares are positive.

    Reference: Carreira-Perpinan (2000).
    Guarantee: exact for one component; otherwise the highest peak reached from the components' means.
    Tested by: inference/hybrid/test_mixturemodes.py::test_each_is_the_mode_of_its_mixture

    >>> [x.tolist() for x in mixture_modes(np.array([0, 0, 3]), *np.array([[1, 1, 1], [0, 0, 5.0], [1, 1, 4]]))]
    [[0, 3], [0.0, 5.0]]
    """
    starts = np.flatnonzero(np.diff(owner, prepend=-1))
    counts = np.diff(np.append(starts, len(owner)))
    value = mean[starts].copy()
    certain = np.add.reduceat(variance == 0.0, starts) > 0 if len(starts) else np.zeros(0, np.bool_)
    for number in np.flatnonzero(certain).tolist():
        own = slice(starts[number], starts[number] + counts[number])
        value[number] = mean[own][np.where(variance[own] == 0.0, share[own], -1.0).argmax()]
    for some in _alike(counts, ~certain & (counts > 1)):
        at = starts[some][:, None] + np.arange(counts[some[0]])
        value[some] = _peaks(share[at], mean[at], variance[at])
    return Modes(owner[starts], value)


def _alike(counts: Ints, chosen: Bools) -> Iterator[Ints]:
    """The chosen mixtures, those with the same number of components together, so many at a time."""
    for count in np.unique(counts[chosen]).tolist():
        same = np.flatnonzero(chosen & (counts == count))
        step = max(1, ENTRIES_AT_ONCE // count**2)
        yield from (same[first : first + step] for first in range(0, len(same), step))


def _peaks(share: Floats, mean: Floats, variance: Floats) -> Floats:
    """The modes of mixtures with as many components each, one row per mixture."""
    x, left = mean.copy(), np.arange(len(mean))
    with np.errstate(divide="ignore"):
        logs = np.log(share) - 0.5 * np.log(variance)
    for _ in range(MODE_STEPS):
        w, _ = _parts(x[left], logs[left], mean[left], variance[left])
        w /= variance[left][:, None, :]
        moved = (w @ mean[left][:, :, None])[:, :, 0] / w.sum(axis=2)
        away = np.abs(moved - x[left]).max(axis=1)
        done = away <= 1e-14 * np.abs(x[left]).max(axis=1, initial=1e-300)
        x[left[~done]] = moved[~done]
        left = left[~done]
        if not len(left):
            break
    _, density = _parts(x, logs, mean, variance)
    return np.asarray(x[np.arange(len(x)), density.argmax(axis=1)])


def _parts(x: Floats, logs: Floats, mean: Floats, variance: Floats) -> tuple[Floats, Floats]:
    """The share of each component (last axis) in the density at each point, and the logarithm of that density."""
    found = logs[:, None, :] - 0.5 * (x[:, :, None] - mean[:, None, :]) ** 2 / variance[:, None, :]
    top = found.max(axis=2)
    parts = np.exp(found - top[:, :, None])
    total = parts.sum(axis=2)
    return parts / total[:, :, None], top + np.log(total)
