"""A task binds data to a network and refuses what a method cannot take."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.cpds.lineargaussian import LinearGaussian
from sepset.cpds.table import TableCPD
from sepset.data.dataset import Dataset
from sepset.data.sources import bind
from sepset.errors import DataError
from sepset.graphs.graph import DAG
from sepset.learning.task import Task
from sepset.models.bayesnet import BayesNet
from sepset.models.defaults import template_of
from sepset.variables.variable import Discrete, Real, Vector

COIN = Discrete("coin", ("head", "tail"))
NET = BayesNet(TableCPD(COIN, [0.5, 0.5]))


def sources(rows, folder):
    import polars as pl

    frame = pl.DataFrame(rows)
    frame.write_csv(folder / "rows.csv")
    return [rows, frame, frame.to_pandas(), frame.lazy(), Dataset(rows), folder / "rows.csv"]


def test_no_column_of_the_network_is_no_data(tmp_path):
    for source in sources({"foo": ["head", "tail"]}, tmp_path):
        with pytest.raises(DataError, match="No column is a variable of the network: columns are 'foo', variables 'co"):
            _ = Task(NET, source).dataset
    with pytest.raises(DataError, match="there are no columns, variables 'coin'"):
        _ = Task(NET, {}).dataset
    assert Task(NET, Dataset.from_codes([COIN], [[-1]])).dataset.num_rows == 1
    assert Task(NET, {"coin": [None, None]}).dataset.num_rows == 2


def test_misspelt_columns_are_not_taken_for_hidden_variables(tmp_path):
    net = BayesNet(TableCPD(COIN, [0.5, 0.5]), TableCPD(Discrete("lung"), [0.5, 0.5]))
    for wrong in ("Lung", "lnug", "lungs"):
        for source in sources({"coin": ["head", "tail"], wrong: [0, 1]}, tmp_path):
            with pytest.raises(DataError, match=f"no column 'lung'. Did you mean '{wrong}'.*where 'lung' is hidden"):
                _ = Task(net, source).dataset


def test_hidden_variables_may_stand_beside_other_columns():
    names = ("lung", "lungs")
    net = BayesNet(TableCPD(COIN, [0.5, 0.5]), *(TableCPD(Discrete(n), [0.5, 0.5]) for n in names))
    assert Task(net, {"coin": ["head"], "lungs": [0], "age": [1]}).dataset.num_missing["lung"] == 1
    weighted = {"coin": ["head"], "lungs": [0], "lun": [2.0]}
    assert Task(net, weighted, weights="lun").dataset.weights.tolist() == [2.0]


@pytest.mark.parametrize("states", [("head", "tail"), ("tail", "head")])
@pytest.mark.parametrize("weights", ["w", [1.0, 2.0]])
def test_second_weights_are_refused(states, weights):
    rows = {"coin": ["head", "tail"], "w": [1.0, 2.0]}
    data = Dataset(rows, [Discrete("coin", states), Real("w")], weights=[5.0, 1.0])
    for chosen in (data, data.select(["coin"])):
        with pytest.raises(DataError, match=r"has row weights, and others were given.*with_weights\(None\)"):
            bind(chosen, [COIN], weights)
    assert bind(data, [COIN]).weights.tolist() == [5.0, 1.0]
    assert bind(rows, [COIN], weights).weights.tolist() == [1.0, 2.0]
    plain = data.with_weights(None)
    if isinstance(weights, str):
        with pytest.raises(DataError, match=r"Use weights=dataset.values\('w'\)"):
            bind(plain, [COIN], weights)
    else:
        assert bind(plain, [COIN], weights).weights.tolist() == [1.0, 2.0]


def test_files_take_weights_by_name_and_as_numbers(tmp_path):
    file = tmp_path / "coins.csv"
    file.write_text("coin,w\nhead,1\ntail,2\n")
    assert bind(file, [COIN], "w").weights.tolist() == [1.0, 2.0]
    assert bind(file, [COIN], [3.0, 4.0]).weights.tolist() == [3.0, 4.0]


def test_columns_of_one_name_are_refused():
    import pandas as pd

    twice = pd.DataFrame([["head", "tail"]], columns=["coin", "coin"])
    with pytest.raises(DataError, match="the name of several columns"):
        template_of(DAG.parse("coin"), twice)
    with pytest.raises(DataError, match="the name of several columns"):
        Task(NET, twice).complete("MLE")


def test_a_column_that_is_not_there_is_not_taken_for_holes():
    net = BayesNet(TableCPD(COIN, [0.5, 0.5]), TableCPD(Discrete("h"), [0.5, 0.5]))
    with pytest.raises(DataError, match=r"there is no column 'h'.*Rename.*hidden, use EM"):
        Task(net, {"coin": ["head", "tail"]}).complete("MLE")


def test_missing_cells_are_refused_by_name():
    task = Task(NET, {"coin": ["head", None, None]})
    with pytest.raises(DataError, match=r"MLE needs complete data; column 'coin' misses 2 cells .*row 1.*Use EM"):
        task.complete("MLE")
    assert task.dataset.codes("coin").tolist() == [0, -1, -1]


def test_hidden_variables_are_wholly_missing():
    net = BayesNet(TableCPD(COIN, [0.5, 0.5]), TableCPD(Discrete("h", 3), [0.2, 0.3, 0.5]))
    assert Task(net, {"coin": ["head"]}).dataset.codes("h").tolist() == [-1]


def test_datasets_are_bound_without_copying():
    data = Dataset.from_codes([COIN, Real("x")], {"coin": [0, 1], "x": [1.0, 2.0]})
    assert np.shares_memory(bind(data, [COIN]).codes("coin"), data.codes("coin"))
    assert bind(data, data.variables) is data


def test_vectors_come_as_arrays():
    p = Vector("p", 2)
    net = BayesNet(LinearGaussian(p, covariance=np.eye(2)))
    rows = Task(net, {"p": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]}, weights=[1.0, 1.0, 2.0]).complete("MLE")
    assert (rows.num_rows, rows.columns[p].shape, rows.dataset) == (3, (3, 2), None)
    assert rows.weights.tolist() == [1, 1, 2]


@pytest.mark.parametrize(("weights", "message"), [([1.0], "shape"), ([1.0, -1.0], "row 1"), ([np.nan, 1.0], "row 0")])
def test_bad_weights_are_refused(weights, message):
    with pytest.raises(DataError, match=message):
        _ = Task(NET, {"coin": ["head", "tail"]}, weights=np.array(weights)).complete("MLE")
