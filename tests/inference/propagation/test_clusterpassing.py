"""Messages between clusters leave the product of beliefs over sepset beliefs as it is."""

import itertools

import numpy as np
import pytest

from sepset.inference import ClusterBP
from sepset.inference.wiring import Wiring
from support.blocks import in_blocks
from support.wired import random_problem


@pytest.mark.parametrize("is_max", [False, True])
@in_blocks("seed", range(12))
def test_every_step_is_a_reparameterization(seed, is_max):
    rng = np.random.default_rng(seed)
    wiring = Wiring.of(random_problem(rng))
    passing = ClusterBP(1)._passing(wiring, is_max=is_max)
    made, num = passing.clusters, len(passing.clusters.edges)
    state = passing.init(None, rng)
    for _ in range(3):
        logs = [made.belief(a, state) for a in range(len(made.scopes))]
        for codes in itertools.product(*map(range, wiring.plugs.cards.tolist())):
            value = sum(own[tuple(codes[i] for i in scope)] for own, scope in zip(logs, made.scopes, strict=True))
            if (expected := made.wiring.log_value(codes)) == -np.inf:
                continue
            for e, scope in enumerate(made.sepsets):
                place = tuple(codes[i] for i in scope)
                value -= state[e][place] + state[e + num][place]
            assert made.wiring.constant + value == pytest.approx(expected, abs=1e-8)
        state, info = passing.step(None, state, rng)
        if info.objective == -np.inf:
            return


@in_blocks("seed", range(12))
def test_a_factor_is_at_home_in_the_smallest_cluster_that_covers_it(seed):
    wiring = Wiring.of(random_problem(np.random.default_rng(seed)))
    made = ClusterBP(2)._passing(wiring, is_max=False).clusters
    for f, home in enumerate(made.homes):
        scope = set(made.wiring.scope(f).tolist())
        assert scope <= set(made.scopes[home])
        assert len(made.scopes[home]) == min(len(own) for own in made.scopes if scope <= set(own))
    assert [list(found) for found in made.around] == [
        [a for a, own in enumerate(made.scopes) if i in own] for i in range(made.wiring.num_variables)
    ]
