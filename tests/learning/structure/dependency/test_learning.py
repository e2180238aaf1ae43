"""Learning of dependency networks."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import sepset as ss
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.dependency.learners import TableLearner, TreeLearner
from sepset.learning.structure.dependency.learning import learn_dependency_net


def test_every_column_is_learned_on_its_own() -> None:
    net = ss.datasets.load("student")
    data = net.sample(3_000, seed=0)
    found = learn_dependency_net(data, learner=TableLearner())
    columns = Columns.of(data)
    for child, name in enumerate(columns.names):
        alone = TableLearner().learn(child, np.arange(5), columns)
        assert np.array_equal(found.model.cpd(name).values, alone.cpd.values)
        assert found.scores[name] == alone.score
    blankets = {(p, name) for name in net.variables.names for p in net.markov_net().markov_blanket(name)}
    assert set(found.model.edges) == blankets
    assert found.num_rows == 3_000


@pytest.mark.parametrize("learner", [TableLearner(), TreeLearner()], ids=["tables", "trees"])
def test_new_rows_are_predicted_almost_as_by_the_truth(learner: object) -> None:
    """Also among many columns, where trees must stay small."""
    alarm = ss.datasets.load("alarm")
    found = learn_dependency_net(alarm.sample(2_000, seed=0), learner=learner).model  # type: ignore[arg-type]
    held = alarm.sample(1_000, seed=1)
    truth = ss.models.DependencyNet.of(alarm).log_pseudo_likelihood(held).mean()
    assert truth - 1.0 < found.log_pseudo_likelihood(held).mean() <= truth
    assert len(found.edges) < 200


def test_columns_in_any_order() -> None:
    data = ss.datasets.load("student").sample(500, seed=1).to_frame()
    one = learn_dependency_net(data).model
    other = learn_dependency_net(data[list(reversed(data.columns))]).model
    assert sorted(one.edges) == sorted(other.edges)


def test_constraints_hold() -> None:
    data = ss.datasets.load("student").sample(1_000, seed=0)
    known = ss.structure.Constraints(forbidden=["grade -> letter"], candidates={"sat": ["letter"]})
    found = learn_dependency_net(data, constraints=known).model
    assert "grade" not in found.parents("letter")
    assert set(found.parents("sat")) <= {"letter"}


def test_constant_columns_and_single_ones() -> None:
    assert learn_dependency_net({"a": [1, 1, 1], "b": [0, 1, 0]}).model.edges == ()
    assert learn_dependency_net({"a": [0, 1]}).model.edges == ()


def test_all_numbers_are_shown() -> None:
    found = learn_dependency_net({"a": [0, 1], "b": [0, 1]})
    assert f"{sum(found.scores.values()):.7g}" in repr(found)
    assert f"{sum(found.scores.values()):.10g}" in str(found)


def test_refusals() -> None:
    with pytest.raises(ss.SepsetError, match="'x' is real"):
        learn_dependency_net({"x": [0.5, 1.5]})
    with pytest.raises(ss.SepsetError, match="missing"):
        learn_dependency_net(pd.DataFrame({"a": ["x", None]}))
    with pytest.raises(ss.SepsetError, match="required edges"):
        learn_dependency_net({"a": [0], "b": [1]}, constraints=ss.structure.Constraints(required=["a -> b"]))
    with pytest.raises(ss.SepsetError, match="learner= is a value"):
        learn_dependency_net({"a": [0]}, learner=TableLearner)  # type: ignore[arg-type]
