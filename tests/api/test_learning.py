"""The verb of learning: its default, and how little it does twice."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss
from sepset.learning.incomplete import run
from sepset.models.bayesnet import BayesNet

ROWS = {"x": ["a", "a", "b", None], "y": ["c", "d", "d", "d"]}
DAG = ss.DAG.parse("x -> y")


def test_maximum_likelihood_is_the_default():
    rows = {"coin": ["head", "tail", "tail", "tail"]}
    found = ss.fit(ss.DAG.parse("coin"), rows)
    assert repr(found.method) == "MLE()"
    assert found.model.cpd("coin").values.tolist() == [0.25, 0.75]


def test_columns_are_read_once():
    """Iterators could not be read again."""
    once = {name: iter(cells) for name, cells in ROWS.items()}
    found = ss.fit(DAG, once, ss.EM())
    assert found.log_likelihood == ss.fit(DAG, ROWS, ss.EM()).log_likelihood
    once = {"x": iter("aab"), "y": iter("cdd"), "w": iter([1.0, 2.0, 1.0])}
    assert ss.fit(DAG, once, weights="w").num_rows == 4.0


def test_data_is_fingerprinted_only_for_a_checkpoint(monkeypatch, tmp_path):
    seen = []
    monkeypatch.setattr(run, "about", lambda *task: seen.append(task) or "a task")
    ss.fit(DAG, ROWS, ss.EM(), until=2)
    assert not seen
    ss.fit(DAG, ROWS, ss.EM(), until=2, checkpoint=tmp_path / "run.bin")
    assert len(seen) == 1


@pytest.mark.parametrize("method", [ss.EM(), ss.GradientAscent(), ss.StepwiseEM(), ss.HardEM()], ids=repr)
def test_new_parameters_do_not_check_the_structure_again(method, monkeypatch):
    net, made = ss.fit(DAG, ROWS, ss.EM()).model, []
    whole = BayesNet.__init__
    monkeypatch.setattr(
        BayesNet, "__init__", lambda self, *cpds, **more: made.append(self) or whole(self, *cpds, **more)
    )
    found = ss.fit(net, ROWS, method, until=ss.Until(steps=3, tolerance=None)).model
    assert not made
    assert found.dag is net.dag
    assert found.variables is net.variables
    assert np.exp(found.log_probability({"x": ["a"], "y": ["c"]})) > 0
