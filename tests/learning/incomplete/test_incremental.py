"""Parts of the rows cover them once, and one part is ordinary EM."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose

from sepset.learning.incomplete.em import EM
from sepset.learning.incomplete.incremental import dealt, one_pass
from sepset.learning.incomplete.run import EMTask
from sepset.learning.task import Task
from support.random_incomplete import incomplete


@given(incomplete(num_rows=8), st.integers(1, 5))
@settings(max_examples=25)
def test_parts_add_up_to_all_rows(case, parts):
    net, rows = case
    task = EMTask.of(Task(net, rows), threads=1)
    found = dealt(task, net, parts)
    whole = task.expectation.expect(net)
    for one, other in zip(found.statistics, whole.statistics, strict=True):
        assert_allclose(one, other, rtol=1e-11, atol=1e-12)
    assert len(found.memory) == parts


@given(incomplete(num_rows=8))
@settings(max_examples=25)
def test_one_part_is_ordinary_em(case):
    net, rows = case
    task = EMTask.of(Task(net, rows), threads=1)
    one = one_pass(task, dealt(task, net, 1))
    plain, _ = EM().step(task, task.evaluate(net), np.random.default_rng(0))
    assert_allclose(one.objective, plain.objective, rtol=1e-10, atol=1e-10)
