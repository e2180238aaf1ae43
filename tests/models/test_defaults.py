"""Columns and graphs decide the CPDs to be fitted, and columns are coded once."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss
from sepset.cpds.lineargaussian import LinearGaussian
from sepset.cpds.table import TableCPD
from sepset.data.dataset import Dataset
from sepset.data.sources import bind
from sepset.errors import DataError, ModelError, ScopeError, TooLarge
from sepset.graphs.graph import DAG
from sepset.models.bayesnet import BayesNet
from sepset.models.defaults import Template, default_cpd, require_rows, require_varying, template_of
from sepset.variables.variable import Discrete, Real

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


def test_graphs_without_directions_are_told_how_to_get_them():
    a, b = ss.Discrete("a"), ss.Discrete("b")
    net, rows = ss.MarkovNet(ss.Table([a, b], [[1.0, 2.0], [3.0, 4.0]])), {"a": [0, 1], "b": [0, 1]}
    for structure in (net, net.graph):
        with pytest.raises(ss.errors.ModelError, match=r"graphs\.directed_imap makes a DAG"):
            ss.fit(structure, rows)
    for structure in (ss.models.to_chain_graph(net), ss.MixedGraph.parse("a - b")):
        with pytest.raises(ss.errors.ModelError, match=r"graphs\.consistent_extension makes a DAG"):
            ss.fit(structure, rows)
    for found in (ss.graphs.directed_imap(net.graph), ss.graphs.consistent_extension(ss.MixedGraph.parse("a - b"))):
        assert ss.fit(found, rows).model.dag == found


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


def test_columns_that_were_coded_are_kept():
    wide = Discrete("b", ("u", "v", "w"))
    rows = {"a": ["x", "y"], "b": ["u", "v"], "w": [1.0, 3.0]}
    template = Template.of(DAG.parse("b -> a"), rows, [wide])
    assert template.coded.variables.names == ("a",)
    bound = bind(rows, template.network.variables, "w", coded=template.coded)
    assert bound.variables.names == ("b", "a")
    assert bound.matrix().tolist() == [[0, 0], [1, 1]]
    assert bound.weights.tolist() == [1.0, 3.0]
    assert bound.column("a") is template.coded.column("a")
    assert Template.of(NET, rows) == (NET, None)
    assert Template.of(DAG.parse("a"), Dataset(rows)).coded is None


ROWS = Dataset({"a": ["x", "y", None], "c": ["k", "k", "k"], "r": [1.0, 2.0, np.nan], "s": [4.5, 4.5, 4.5]})


def test_rows():
    require_rows(ROWS, "Fitting")
    with pytest.raises(DataError, match=r"Fitting needs rows; the frame has none \(columns: 'a', 'c'"):
        require_rows(ROWS[:0], "Fitting")
    with pytest.raises(DataError, match="all 3 weigh zero"):
        require_rows(ROWS.with_weights([0, 0, 0]), "Fitting")


def test_columns_that_vary():
    require_varying(ROWS, "Fitting", ["a", "r"])
    require_varying(Dataset(ROWS, [Discrete("c", ("k", "other"))]), "Fitting")
    with pytest.raises(DataError, match=r"column 'c' holds k in every row from row 0 on\. Leave it out"):
        require_varying(ROWS, "Fitting")
    with pytest.raises(DataError, match=r"column 's' holds 4\.5 in every row"):
        require_varying(ROWS, "Fitting", ["s"])
    hollow = Dataset.from_codes([Real("r")], {"r": [np.nan, np.nan]})
    with pytest.raises(DataError, match="column 'r' has no values"):
        require_varying(hollow, "Fitting")


def test_regressions_on_too_many_columns_are_refused_before_rows_are_read():
    child, parents = Real("y"), [Real(f"x{i}") for i in range(20_000)]
    with pytest.raises(TooLarge, match="20,001 columns in 3 contexts"):
        default_cpd(child, [Discrete("c", 3), *parents])
    assert len(default_cpd(child, parents[:1000]).given) == 1000
