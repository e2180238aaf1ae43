"""Starting points, short runs, and results."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.api.learning import fit
from sepset.cpds.table import TableCPD
from sepset.errors import ImpossibleEvidence
from sepset.graphs.graph import DAG
from sepset.inference.result import Guarantee, Status
from sepset.learning.incomplete.em import EM
from sepset.learning.incomplete.run import SHORT_RUN, EMTask
from sepset.learning.task import Task
from sepset.models.bayesnet import BayesNet
from sepset.models.defaults import template_of
from sepset.variables.variable import Discrete

ROWS = {"a": [0, 0, 1, 1, 1, 0], "b": [0, 1, 1, 1, 0, 0]}
HIDDEN = [Discrete("h")]


def em_task(rows=ROWS):
    dag = DAG.parse("h -> a; h -> b")
    return EMTask.of(Task(template_of(dag, rows, HIDDEN), rows), threads=1)


def test_hidden_variables_get_several_starting_points():
    task = em_task()
    assert task.hidden == ("h",)
    assert EM().num_starts(task) == 5
    assert EM(restarts=2).num_starts(task) == 2
    assert EM(start="model").num_starts(task) == 1
    assert EM(start=task.task.template).num_starts(task) == 1
    assert EM().num_starts(em_task({**ROWS, "h": [0, 1, None, None, None, None]})) == 1


def test_the_best_short_run_wins():
    task, seen = em_task(), []

    class Counting(EM):
        def step(self, task, state, rng):
            new = EM.step(self, task, state, rng)
            seen.append(new[0].objective)
            return new

    best = Counting(restarts=3).init(task, np.random.default_rng(0))
    assert len(seen) == 3 * SHORT_RUN
    assert best.objective == max(seen[SHORT_RUN - 1 :: SHORT_RUN])


def test_starting_points_that_fail_are_passed_over():
    x = Discrete("x")
    net = BayesNet(TableCPD(x, [1.0, 0.0]))
    task = EMTask.of(Task(net, {"x": [0, 1, None]}), threads=1)
    with pytest.raises(ImpossibleEvidence):
        EM(start="model").init(task, np.random.default_rng(0))
    assert EM(start="model", restarts=2).init(task, np.random.default_rng(0)).objective > -np.inf


@pytest.mark.parametrize("steps", [0, 3, SHORT_RUN + 4])
def test_interrupted_short_runs_give_the_best_so_far(steps, tmp_path):
    """Ctrl-C after some steps of the search for a start: within the first start, and within the second."""

    class Cut(EM):
        left = steps

        def step(self, task, state, rng):
            if Cut.left == 0:
                raise KeyboardInterrupt
            Cut.left -= 1
            return EM.step(self, task, state, rng)

    file = tmp_path / "run.bin"
    dag = DAG.parse("h -> a; h -> b")
    found = fit(dag, ROWS, Cut(restarts=3), variables=HIDDEN, checkpoint=file)
    assert found.status is Status.INTERRUPTED
    assert found.num_iterations == 0
    assert found.log_likelihood == found.state.state.objective > -np.inf
    Cut.left = 10_000
    resumed = fit(dag, ROWS, Cut(restarts=3), variables=HIDDEN, checkpoint=file)
    assert resumed.status is Status.CONVERGED
    assert resumed.log_likelihood >= found.log_likelihood


def test_results_say_how_they_ended():
    cut = fit(DAG.parse("h -> a; h -> b"), ROWS, EM(), variables=HIDDEN, until=1)
    assert cut.status is Status.STEP_LIMIT
    assert cut.guarantees["parameters"] is Guarantee.HEURISTIC
    assert cut.info["different_rows"] == 4
    assert cut.num_rows == 6
    assert cut.num_iterations == 1
