"""Layout: groups cover each step's states once, whatever their order, and copies fit what they pack."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sepset.kernels.compiled import instructions as columns
from support.blocks import in_blocks
from support.random_contractions import assembled, contracted, random_network


@pytest.mark.parametrize("largest", [2, 4, 14])
@in_blocks("seed", range(6))
def test_loops_visit_every_state_of_the_union_once(seed, largest):
    made, _ = contracted(random_network(np.random.default_rng(seed), num=5, largest=largest, arity=4), targets=True)
    program = assembled(made)
    for op, (result, first, second) in zip(program.ops.tolist(), made.steps, strict=True):
        groups = program.groups[op[columns.FIRST] : op[columns.FIRST] + op[columns.COUNT]]
        assert len(groups) >= 2
        assert math.prod(groups[:, 0].tolist()) == made.size({*made.scopes[first], *made.scopes[second]})
        for column, tensor in enumerate((first, second, result), start=1):
            reached = {0}
            for size, step in groups[:, [0, column]].tolist():
                reached = {place + i * step for place in reached for i in range(size)}
            assert reached == set(range(int(made.sizes[tensor])))


@in_blocks("seed", range(12))
def test_panels_have_the_sizes_of_their_operands(seed):
    made, _ = contracted(
        random_network(np.random.default_rng(seed), num=5, largest=14, num_factors=5, arity=4), targets=True
    )
    program = assembled(made)
    for op, (result, first, second) in zip(program.ops, made.steps, strict=True):
        if op[columns.KIND] == columns.PANELS:
            batch, m, n, k = op[[columns.BATCH, columns.M, columns.N, columns.K]].tolist()
            sizes = made.sizes[[first, second, result]].astype(int).tolist()
            rows, others = batch * m * k, batch * k * n
            assert sizes == [*((others, rows) if op[columns.SWAPPED] else (rows, others)), batch * m * n]
