"""Learned mixtures as one model: the joint distribution of components and columns, by multiplying out."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import sepset as ss
from sepset.learning.structure.hidden.learnedmixture import mixture_model
from support.incomplete_rows import random_network


def test_the_model_is_the_mixture() -> None:
    rng = np.random.default_rng(0)
    nets = [random_network(rng, (2, 3, 2)) for _ in range(3)]
    weights = np.array([0.2, 0.3, 0.5])
    kind = ss.Discrete("kind", 3)
    model = mixture_model(nets, weights, kind)
    for k, cells in itertools.product(range(3), itertools.product(range(2), range(3), range(2))):
        row = {f"v{i}": [code] for i, code in enumerate(cells)}
        expected = np.log(weights[k]) + nets[k].log_probability(row)[0]
        assert model.log_value({"kind": [k], **row})[0] == pytest.approx(expected)


def test_it_prints_its_components() -> None:
    rows = {"a": [0, 0, 1, 1] * 10, "b": [0, 1, 1, 1] + [0, 0, 1, 1] * 9}
    found = ss.learn_structure(rows, method=ss.structure.MixtureOfTrees(1))
    assert "component of weight 1" in str(found)
    assert "a -> b" in str(found)
