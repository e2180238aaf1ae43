"""Steps: cheap ones first, and never one that only copies."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.inference.compiled.contraction import ONE
from support.random_contractions import contracted, random_network


@pytest.mark.parametrize("seed", range(15))
def test_no_step_copies_and_scopes_are_subsets(seed):
    made, _ = contracted(random_network(np.random.default_rng(seed)), targets=True, num_factors=8)
    for result, first, second in made.steps:
        a, b, d = ({*made.scopes[t]} for t in (first, second, result))
        assert d <= a | b
        assert first != ONE
        assert list(made.scopes[result]) == sorted(d)
        if second == ONE:
            assert d < a


@pytest.mark.parametrize("seed", range(15))
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
