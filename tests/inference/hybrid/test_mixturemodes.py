"""Modes of many mixtures against a fine grid, and against one mixture at a time."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import sepset as ss
from sepset.inference.hybrid import mixturemodes
from sepset.inference.hybrid.mixturemodes import mixture_modes


def mixtures(rng, num):
    counts = rng.integers(1, 6, num)
    owner = np.repeat(np.sort(rng.choice(3 * num, num, replace=False)), counts)
    size = len(owner)
    return owner, rng.uniform(0.05, 1.0, size), rng.normal(0, 3, size), 10.0 ** rng.uniform(-2, 1, size)


def test_each_is_the_mode_of_its_mixture():
    owner, share, mean, variance = mixtures(np.random.default_rng(0), 60)
    found = mixture_modes(owner, share, mean, variance)
    assert found.owner.tolist() == np.unique(owner).tolist()
    for number, value in zip(*found, strict=True):
        own = owner == number

        def density(x, own=own):
            return share[own] @ stats.norm.pdf(x, mean[own, None], np.sqrt(variance[own, None]))

        grid = (mean[own, None] + np.sqrt(variance[own, None]) * np.linspace(-5, 5, 2001)).reshape(-1)
        assert density(np.array([value]))[0] >= density(grid).max() * (1 - 1e-12)
        alone = ss.factors.GaussianMixture(
            ss.Real("x"), share[own] / share[own].sum(), means=mean[own], covariances=variance[own]
        )
        assert value == pytest.approx(float(alone.mode()), rel=1e-7, abs=1e-7)


def test_a_component_without_variance_is_the_mode():
    owner = np.array([1, 1, 1, 4, 4])
    found = mixture_modes(owner, np.array([0.9, 0.04, 0.06, 0.5, 0.5]), np.arange(5.0), np.array([1.0, 0, 0, 1, 0]))
    assert (found.owner.tolist(), found.value.tolist()) == ([1, 4], [2.0, 4.0])


def test_none():
    assert len(mixture_modes(*np.zeros((4, 0))).value) == 0


def test_a_few_at_a_time_are_the_same(monkeypatch):
    parts = mixtures(np.random.default_rng(1), 40)
    whole = mixture_modes(*parts).value
    monkeypatch.setattr(mixturemodes, "ENTRIES_AT_ONCE", 1)
    assert mixture_modes(*parts).value.tolist() == whole.tolist()
