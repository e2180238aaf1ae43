"""Starting points, short runs, checkpoints' names, and results."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.cpds.table import TableCPD
from sepset.errors import ImpossibleEvidence
from sepset.graphs.graph import DAG
from sepset.inference.result import Guarantee, Status
from sepset.learning.ascent import SHORT_RUN, Ascent, about
from sepset.learning.em import EM
from sepset.learning.fit import fit
from sepset.learning.task import Task, template_of
from sepset.models.bayesnet import BayesNet
from sepset.variables import Discrete

ROWS = {"a": [0, 0, 1, 1, 1, 0], "b": [0, 1, 1, 1, 0, 0]}
HIDDEN = [Discrete("h")]


def ascent(rows=ROWS):
    dag = DAG.parse("h -> a; h -> b")
    return Ascent.of(Task(template_of(dag, rows, HIDDEN), rows), None, "softmax", 1)


def test_hidden_variables_get_several_starting_points():
    task = ascent()
    assert task.hidden == ("h",)
    assert task.num_starts(EM()) == 5
    assert task.num_starts(EM(restarts=2)) == 2
    assert task.num_starts(EM(start="model")) == 1
    assert task.num_starts(EM(start=task.task.template)) == 1
    assert ascent({**ROWS, "h": [0, 1, None, None, None, None]}).num_starts(EM()) == 1


def test_the_best_short_run_wins():
    task, seen = ascent(), []

    class Counting(EM):
        def step(self, task, state, rng):
            new = EM.step(self, task, state, rng)
            seen.append(new[0].objective)
            return new

    best = task.begin(Counting(restarts=3), np.random.default_rng(0))
    assert len(seen) == 3 * SHORT_RUN
    assert best.objective == max(seen[SHORT_RUN - 1 :: SHORT_RUN])


def test_starting_points_that_fail_are_passed_over():
    x = Discrete("x")
    net = BayesNet(TableCPD(x, [1.0, 0.0]))
    task = Ascent.of(Task(net, {"x": [0, 1, None]}), None, "softmax", 1)
    with pytest.raises(ImpossibleEvidence):
        task.begin(EM(start="model"), np.random.default_rng(0))
    assert task.begin(EM(start="model", restarts=2), np.random.default_rng(0)).objective > -np.inf


def test_marks_of_checkpoints_depend_on_rows_weights_and_settings():
    net = template_of(DAG.parse("a -> b"), ROWS)
    marks = {
        about(EM(), Task(net, ROWS)),
        about(EM(restarts=2), Task(net, ROWS)),
        about(EM(), Task(net, {**ROWS, "a": [1, 0, 1, 1, 1, 0]})),
        about(EM(), Task(net, ROWS, np.arange(6.0))),
    }
    assert len(marks) == 4
    assert about(EM(), Task(net, ROWS)) in marks


def test_results_say_how_they_ended():
    cut = fit(DAG.parse("h -> a; h -> b"), ROWS, EM(), variables=HIDDEN, until=1)
    assert cut.status is Status.STEP_LIMIT
    assert cut.guarantees["parameters"] is Guarantee.HEURISTIC
    assert cut.info["different rows"] == 4
    assert cut.num_rows == 6
    assert cut.num_iterations == 1
