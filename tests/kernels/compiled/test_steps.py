"""Steps: cheap ones first, and never one that only copies."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import sepset as ss
from sepset.inference.compiled.contraction import ONE
from sepset.kernels.compiled.steps import MOST_PAIRED
from support.blocks import in_blocks
from support.random_contractions import contracted, random_network
from support.tolerances import CLOSE


@in_blocks("seed", range(15))
def test_no_step_copies_and_scopes_are_subsets(seed):
    made, _ = contracted(random_network(np.random.default_rng(seed)), targets=True, num_factors=8)
    for result, first, second in made.steps:
        a, b, d = ({*made.scopes[t]} for t in (first, second, result))
        assert d <= a | b
        assert first != ONE
        assert list(made.scopes[result]) == sorted(d)
        if second == ONE:
            assert d < a


@in_blocks("seed", range(15))
def test_a_home_is_the_smallest_tensor_with_the_variable(seed):
    made, _ = contracted(random_network(np.random.default_rng(seed)), targets=True)
    forward = made.scopes[: 1 + made.num_inputs + made.num_forward]
    operands = {d: (a, b) for d, a, b in made.steps}
    for r, read in enumerate(made.reads.tolist()):
        assert made.scopes[read] == (r,)
        least = min(made.size(scope) for scope in forward if r in scope)
        homes = operands[read] if read >= len(forward) else (read,)
        assert any(r in made.scopes[t] and made.size(made.scopes[t]) == least for t in homes if t < len(forward))


def test_adjoints_are_made_only_where_they_are_wanted():
    made, _ = contracted(random_network(np.random.default_rng(1)))
    assert len(made.steps) == made.num_forward
    assert len(made.reads) == 0


def test_a_sweep_beyond_its_limit_is_not_completed():
    network = random_network(np.random.default_rng(3))
    whole, _ = contracted(network)
    made = whole.entries - whole.sizes[: whole.num_inputs + 1].sum()
    assert contracted(network, limit=made)[0].num_forward == whole.num_forward > 0
    assert contracted(network, limit=made - 1)[0].num_forward == -1


def test_many_tensors_of_a_clique_are_multiplied_in_blocks():
    """More scopes than are compared pairwise, all over ten variables: the total is that of enumeration."""
    rng = np.random.default_rng(0)
    scopes = [list(c) for k in range(1, 6) for c in itertools.combinations(range(10), k)]
    assert len(scopes) > MOST_PAIRED
    tables = [rng.uniform(0.9, 1.1, [2] * len(scope)) for scope in scopes]
    joint = np.ones([2] * 10)
    for scope, table in zip(scopes, tables, strict=True):
        joint = joint * table.reshape([2 if r in scope else 1 for r in range(10)])
    variables = [ss.Discrete(f"v{i}", 2) for i in range(10)]
    model = ss.MarkovNet(*(ss.Table([variables[r] for r in s], t) for s, t in zip(scopes, tables, strict=True)))
    assert float(ss.log_partition(model)) == pytest.approx(np.log(joint.sum()), abs=CLOSE)
    found = ss.marginals(model)
    for r, v in enumerate(variables):
        truth = joint.sum(axis=tuple(i for i in range(10) if i != r)) / joint.sum()
        np.testing.assert_allclose(found[v.name].values, truth, atol=CLOSE)
