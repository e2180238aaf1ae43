"""Queues of operators: what is kept is what would be computed again, and little is computed again."""

from __future__ import annotations

import numpy as np

import sepset as ss
from sepset.learning.structure.classes.ges import ClassSearch
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.learned import StructureTask
from support.enumerated_classes import sampled


def test_scores_are_reused_at_unaffected_nodes() -> None:
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2, (400, 60))
    rows[:, 1::2] = np.where(rng.random((400, 30)) < 0.9, rows[:, ::2], rows[:, 1::2])
    task = StructureTask(Columns.of({f"v{k}": rows[:, k] for k in range(60)}), ss.BIC())
    search = ClassSearch(task, task.start_parents(), None)
    count = 0
    while operator := search.best("forward"):
        search.make(operator)
        count += 1
    assert count >= 30
    assert search.queues["forward"].num_refreshed <= 60 + 6 * count


def test_a_kept_queue_is_a_new_queue() -> None:
    data = Columns.of(sampled(5, 500))
    task = StructureTask(data, ss.BDeu(5.0))
    search = ClassSearch(task, task.start_parents(), None)
    for phase in ("forward", "backward", "turning") * 2:
        while operator := search.best(phase):
            fresh = ClassSearch(task, search.graph.parents_of, None)
            for other in ("forward", "backward", "turning"):
                kept, new = ([op[:4] for op in s.improving(other)] for s in (search, fresh))
                assert sorted(kept) == sorted(new)
            search.make(operator)
