"""A task binds data to a network and refuses what a method cannot take."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.cpds.lineargaussian import LinearGaussian
from sepset.cpds.table import TableCPD
from sepset.data.dataset import Dataset
from sepset.errors import DataError, ModelError, ScopeError
from sepset.graphs.graph import DAG
from sepset.learning.task import Task, bind, template_of
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete, Real, Vector

COIN = Discrete("coin", ("head", "tail"))
NET = BayesNet(TableCPD(COIN, [0.5, 0.5]))


def test_the_columns_decide_the_cpds():
    rows = {"d": ["a", "b"], "e": [True, False], "x": [0.5, 1.5], "y": [2.5, 1.0], "time": [object(), object()]}
    net = template_of(DAG.parse("d -> e; d -> y <- x; x"), rows)
    assert isinstance(net.cpd("e"), TableCPD)
    assert net.cpd("e").values.tolist() == [[0.5, 0.5], [0.5, 0.5]]
    assert isinstance(net.cpd("y"), LinearGaussian)
    assert (net.cpd("y").by, net.cpd("y").given) == ((Discrete("d", ("a", "b")),), (Real("x"),))
    assert net.cpd("x").covariance.tolist() == [[[1.0]]]


def test_frames_of_any_library_and_files_decide_too(tmp_path):
    import polars as pl

    frame = pl.DataFrame({"coin": ["head", "tail"], "strange": [[1], [2]]})
    assert template_of(DAG.parse("coin"), frame).variables["coin"] == COIN
    assert template_of(DAG.parse("coin"), frame.lazy()).variables["coin"] == COIN
    file = tmp_path / "coins.csv"
    file.write_text("coin\nhead\ntail\n")
    assert template_of(DAG.parse("coin"), file).variables["coin"] == COIN
    assert bind(str(file), [COIN]).codes("coin").tolist() == [0, 1]


def test_a_discrete_child_of_a_real_parent_is_refused():
    with pytest.raises(ModelError, match="'d' is discrete and has the real parent 'x'"):
        template_of(DAG.parse("x -> d"), {"x": [0.5, 1.0], "d": ["a", "b"]})


def test_given_variables_replace_inferred_ones_and_may_be_hidden():
    wide, hidden = Discrete("coin", ("head", "tail", "edge")), Discrete("hidden", 3)
    net = template_of(DAG.parse("hidden -> coin"), {"coin": ["head"]}, [wide, hidden])
    assert net.variables.names == ("hidden", "coin")
    assert net.cpd("coin").values.shape == (3, 3)
    with pytest.raises(ScopeError, match=r"no node 'coi'. Did you mean 'coin'"):
        template_of(DAG.parse("coin"), {"coin": ["head"]}, [Discrete("coi")])
    with pytest.raises(ModelError, match="goes with a graph"):
        template_of(NET, {"coin": ["head"]}, [wide])


def test_absent_columns_and_strange_structures_are_refused():
    with pytest.raises(DataError, match=r"No column for 'coim'.*Did you mean 'coin'"):
        template_of(DAG.parse("coim"), Dataset({"coin": ["head"]}))
    with pytest.raises(ModelError, match="takes a DAG or a BayesNet; found str"):
        template_of("coin", {"coin": ["head"]})
    with pytest.raises(ModelError, match=r"Use DAG.parse\('a -> b'\)"):
        template_of("a -> b", {"a": ["head"]})


@pytest.mark.parametrize("kind", ["mapping", "pandas", "lazy", "csv", "parquet"])
def test_all_columns_are_named_where_one_is_absent(kind, tmp_path):
    import polars as pl

    rows = {"tain": [1, 0], "rain": ["yes", "no"]}
    frame = pl.DataFrame(rows)
    frame.write_csv(tmp_path / "rows.csv")
    frame.write_parquet(tmp_path / "rows.parquet")
    files = {"csv": tmp_path / "rows.csv", "parquet": tmp_path / "rows.parquet"}
    source = {"mapping": rows, "pandas": frame.to_pandas(), "lazy": frame.lazy(), **files}[kind]
    with pytest.raises(DataError, match=r"No column for 'raim'; columns are 'tain', 'rain'. Did you mean 'rain'"):
        template_of(DAG.parse("tain -> raim"), source)


def test_constant_columns_say_nothing_of_other_states():
    import polars as pl

    dag, rows = DAG.parse("a -> b"), {"a": [None, "u", "u"], "b": [0, 1, 1]}
    with pytest.raises(DataError, match=r"column 'a' holds u in every row from row 1 on.*all its states"):
        template_of(dag, rows)
    with pytest.raises(DataError, match=r"column 'a' holds 'u' in every row.*variables=\[Discrete\('a'"):
        template_of(dag, pl.LazyFrame(rows))
    for source in (rows, pl.LazyFrame(rows)):
        assert template_of(dag, source, [Discrete("a", ("u", "v"))]).cpd("b").values.shape == (2, 2)
    given = Dataset(rows, [Discrete("a", ("u",)), Discrete("b")])
    assert template_of(dag, given).cpd("a").values.tolist() == [1.0]


def test_frames_without_columns_or_rows_say_so():
    import pandas as pd

    with pytest.raises(DataError, match="No column for 'a'; there are no columns"):
        template_of(DAG.parse("a -> b"), pd.DataFrame())
    with pytest.raises(DataError, match=r"needs rows; the frame has none \(columns: 'a', 'b'\)"):
        template_of(DAG.parse("a -> b"), pd.DataFrame({"a": [], "b": []}))
    known = [Discrete("a"), Discrete("b")]
    assert template_of(DAG.parse("a -> b"), pd.DataFrame({"a": [], "b": []}), known).num_parameters == 3


def test_whole_numbers_in_floats_are_told_how_to_be_states():
    rows = {"c": [0.0, 1.0, None], "d": ["x", "y", "x"]}
    net = template_of(DAG.parse("c -> d"), rows)
    assert net.variables["c"] == Discrete("c", (0, 1))
    assert "variables=[Real('c')]" in net.notes[0]
    rows = {"c": [float(k) for k in range(20)], "d": ["x", "y"] * 10}
    with pytest.raises(ModelError, match=r"numbers are states, say which: variables=\[Discrete\('c', ...\)\]"):
        template_of(DAG.parse("c -> d"), rows)
    assert template_of(DAG.parse("c -> d"), rows, [Discrete("c", 20)]).cpd("d").values.shape == (20, 2)


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
    assert Task(net, weighted, "lun").dataset.weights.tolist() == [2.0]


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
    with pytest.raises(DataError, match="unique column names"):
        template_of(DAG.parse("coin"), twice)
    with pytest.raises(DataError, match="unique column names"):
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
    rows = Task(net, {"p": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]}, [1.0, 1.0, 2.0]).complete("MLE")
    assert (rows.num_rows, rows.columns[p].shape, rows.dataset) == (3, (3, 2), None)
    assert rows.weights.tolist() == [1, 1, 2]


@pytest.mark.parametrize(("weights", "message"), [([1.0], "shape"), ([1.0, -1.0], "row 1"), ([np.nan, 1.0], "row 0")])
def test_bad_weights_are_refused(weights, message):
    with pytest.raises(DataError, match=message):
        _ = Task(NET, {"coin": ["head", "tail"]}, np.array(weights)).row_weights
