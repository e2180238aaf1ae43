"""Steps: cheap ones first, and never one that only copies."""

from __future__ import annotations

import numpy as np
import pytest

from random_contractions import contracted, random_network
from sepset.inference.contraction import ONE, differentiate
from sepset.kernels import steps


@pytest.mark.parametrize("seed", range(15))
def test_no_step_copies_and_scopes_are_subsets(seed):
    made, network = contracted(random_network(np.random.default_rng(seed)))
    differentiate(made, np.arange(len(network.cards)), len(network.scopes))
    for result, first, second in made.steps:
        a, b, d = ({*made.scopes[t]} for t in (first, second, result))
        assert d <= a | b
        assert first != ONE
        assert list(made.scopes[result]) == sorted(d)
        if second == ONE:
            assert d < a


@pytest.mark.parametrize("seed", range(15))
def test_a_home_is_the_smallest_tensor_with_the_variable(seed):
    made, network = contracted(random_network(np.random.default_rng(seed)))
    homes = steps.cheapest_homes(made.ledger)
    for r in range(len(network.cards)):
        least = min(made.size(scope) for scope in made.scopes if r in scope)
        assert r in made.scopes[homes[r]]
        assert made.size(made.scopes[homes[r]]) == least


def test_adjoints_are_made_only_where_they_are_wanted():
    made, _ = contracted(random_network(np.random.default_rng(1)))
    before = len(made.steps)
    none = np.zeros(0, np.int64)
    adjoints = steps.differentiate(made.ledger, none, np.array(made.roots))
    assert made.ledger.made[1] == before
    assert {t for t, a in enumerate(adjoints.tolist()) if a >= 0} == set(made.roots)
