"""Numbers as states: cuts against direct definitions, in frames of every library, and back again."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sepset as ss
from sepset.errors import ArgumentError, DataError
from sepset.learning.discretization import labels
from support.blocks import in_blocks

RNG = np.random.default_rng(5)


@in_blocks("seed", range(20))
def test_widths_and_quantiles(seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=60) if seed % 2 else rng.integers(0, 40, 60) / 8
    values[rng.random(60) < 0.2] = np.nan
    known, bins = values[~np.isnan(values)], int(rng.integers(1, 7))
    width = ss.discretize({"x": values}, "x", method="width", bins=bins).cuts["x"]
    assert width == pytest.approx(np.linspace(known.min(), known.max(), bins + 1)[1:-1])
    found = ss.discretize({"x": values}, "x", bins=bins)
    wanted = sorted({float(q) for q in np.quantile(known, np.arange(1, bins) / bins)} - {float(known.min())})
    assert found.cuts["x"] == pytest.approx(wanted)
    for value, state in zip(values, found.data["x"], strict=True):
        if np.isnan(value):
            assert state is None
        else:
            assert labels(wanted).index(state) == sum(value >= cut for cut in wanted)


def entropy(classes):
    counts = np.unique(classes, return_counts=True)[1]
    shares = counts / counts.sum()
    return float(-(shares * np.log2(shares)).sum()), len(counts)


def every_cut(values, classes):
    """The cuts by the criterion of Fayyad and Irani, part by part, each the best of all."""
    distinct = np.unique(values)
    if len(distinct) < 2:
        return []
    (whole, kinds), options = entropy(classes), []
    for low, high in itertools.pairwise(distinct):
        cut = (low + high) / 2
        left, right = entropy(classes[values < cut]), entropy(classes[values >= cut])
        share = (values < cut).mean()
        gain = whole - share * left[0] - (1 - share) * right[0]
        saved = kinds * whole - left[1] * left[0] - right[1] * right[0]
        price = (np.log2(len(values) - 1) + np.log2(3.0**kinds - 2) - saved) / len(values)
        options.append((gain, gain > price, cut))
    gain, pays, cut = max(options, key=lambda option: option[0])
    if not pays:
        return []
    below = values < cut
    return [*every_cut(values[below], classes[below]), cut, *every_cut(values[~below], classes[~below])]


@in_blocks("seed", range(25))
def test_entropy_is_that_of_all_cuts(seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=80) if seed % 3 else rng.integers(0, 12, 80) / 4
    classes = np.where(rng.random(80) < 0.1, rng.integers(0, 3, 80), np.digitize(values, [-0.5, 0.8]))
    found = ss.discretize({"x": values, "y": classes.tolist()}, "x", method="entropy", target="y", bins=99).cuts["x"]
    assert found == pytest.approx(every_cut(values, classes))
    few = ss.discretize({"x": values, "y": classes.tolist()}, "x", method="entropy", target="y", bins=2).cuts["x"]
    assert len(few) == min(1, len(found))
    assert set(few) <= set(found)


def test_frames_of_every_library_agree():
    rows = {"x": [0.5, 1.5, None, 3.5, 9.5], "y": ["a", "b", "a", None, "b"], "z": [1, 2, 3, 4, 5]}
    found = [ss.discretize(frame, bins=2) for frame in (pd.DataFrame(rows), pl.DataFrame(rows), pa.table(rows), rows)]
    texts = [
        found[0].data["x"].astype(object).where(lambda s: s.notna(), None).tolist(),
        found[1].data["x"].to_list(),
        found[2].data.column("x").to_pylist(),
        found[3].data["x"],
    ]
    assert texts == [texts[3]] * 4
    assert {type(one.data).__module__.split(".")[0] for one in found[:3]} == {"pandas", "polars", "pyarrow"}
    assert found[0].data["x"].cat.ordered
    assert found[1].transform(pl.DataFrame({"x": [100.0]}))["x"].to_list() == [texts[3][4]]
    for one in found:
        assert ss.Dataset(one.data).variables["x"].states == one.variables[0].states


def test_a_network_of_cut_columns():
    x = RNG.normal(120, 10, 400)
    frame = pd.DataFrame({"bp": x, "ill": np.where(x > 125, "yes", "no")})
    cuts = ss.discretize(frame, method="entropy", target="ill")
    assert len(cuts.cuts["bp"]) == 1
    model = ss.fit(ss.DAG.parse("bp -> ill"), cuts.data).model
    top = cuts.variables[0].states[-1]
    assert ss.query(model, "ill", given={"bp": top})["yes"] == 1.0
    assert "bp[2]" in repr(cuts)
    assert top in str(cuts)
    assert "<table" in cuts._repr_html_()


def test_intervals_of_pandas_are_ordered_states():
    frame = pd.DataFrame({"bp": RNG.normal(120, 10, 200), "ill": RNG.choice(["yes", "no"], 200)})
    frame["cut"] = pd.cut(frame.bp, 4)
    states = ss.fit(ss.DAG.parse("cut -> ill"), frame[["cut", "ill"]]).model["cut"].states
    assert states == tuple(map(str, frame["cut"].cat.categories))
    plain = pd.DataFrame({"cut": pd.arrays.IntervalArray.from_breaks([0, 2, 10])[[1, 0, 1]]})
    assert ss.Dataset(plain).variables["cut"].states == ("(0, 2]", "(2, 10]")
    loose = pd.DataFrame({"cut": frame["cut"].astype(object)})
    assert set(ss.Dataset(loose).variables["cut"].states) <= set(states)


def test_datasets_are_cut_too():
    rows = ss.Dataset({"x": [0.5, 1.5, 2.5, 3.5], "y": ["a", "b", "a", "b"]})
    assert ss.Dataset(ss.discretize(rows, bins=2).data).variables["x"].num_states == 2
    whole = ss.Dataset({"x": [1.0, 2.0, 3.0, 4.0]}, [ss.Real("x")])
    assert ss.discretize(whole, bins=2).cuts == {"x": (2.5,)}


@pytest.mark.parametrize("options", [{}, {"method": "width"}, {"method": "entropy", "target": "y"}])
@in_blocks("seed", range(10))
def test_weights_count_as_so_many_rows(seed, options):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=50) if seed % 2 else rng.integers(0, 12, 50) / 8
    classes = np.where(rng.random(50) < 0.1, rng.integers(0, 3, 50), np.digitize(values, [-0.5, 0.8]))
    values[rng.random(50) < 0.1] = np.nan
    weights = rng.integers(0, 4, 50)
    columns = {"x": values, "y": classes}
    repeated = {name: np.repeat(column, weights) for name, column in columns.items()}
    variables = [ss.Real("x"), ss.Discrete("y", 3)]
    bins = int(rng.integers(2, 6))
    found = ss.discretize(ss.Dataset(columns, variables, weights=weights), bins=bins, **options)
    assert found.cuts["x"] == pytest.approx(
        ss.discretize(ss.Dataset(repeated, variables), bins=bins, **options).cuts["x"]
    )
    assert found.data.weights.tolist() == weights.tolist()
    assert found.data["y"].tolist() == classes.tolist()


def test_fractions_of_rows_are_shares():
    rows = ss.Dataset({"x": [0.5, 1.5, 2.5, 3.5]}, weights=[0.1, 0.1, 0.1, 0.7])
    assert ss.discretize(rows, bins=2).cuts == {"x": (3.5,)}
    assert ss.discretize(rows.with_weights([0.7, 0.1, 0.1, 0.1]), bins=2).cuts == {"x": ()}
    scaled = rows.with_weights([1.5, 2.5, 1.5, 0.5])
    assert ss.discretize(scaled, bins=3).cuts == ss.discretize(scaled.with_weights([0.3, 0.5, 0.3, 0.1]), bins=3).cuts


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        ({"y": ["a", "b"]}, {}, "No column holds real numbers"),
        ({"x": [0.5, 1.5]}, {"columns": "xx"}, "Did you mean 'x'"),
        ({"x": [0.5, np.inf]}, {}, "infinite"),
        ({"x": [None, None], "y": [0.5, 1.0]}, {"columns": "x"}, "no numbers"),
        ({"x": [0.5, 1.5]}, {"method": "entropy"}, "target="),
        ({"x": [0.5, 1.5], "y": [0.1, 0.2]}, {"method": "entropy", "target": "y"}, "must be discrete"),
        ({"x": [0.5, 1.5], "y": ["a", "b"]}, {"method": "entropy", "target": "z"}, "not there"),
        ({"x": [0.5, 1.5], "y": ["a", "b"]}, {"method": "entropy", "target": "y", "columns": "y"}, "is the target"),
    ],
)
def test_bad_input_is_refused(data, options, message):
    with pytest.raises(DataError, match=message):
        ss.discretize(data, **options)


def test_bad_settings_are_refused():
    for options in ({"method": "kmeans"}, {"bins": 0}):
        with pytest.raises(ArgumentError):
            ss.discretize({"x": [0.5, 1.5]}, **options)


def test_near_cuts_have_labels_of_their_own():
    assert len(set(labels((1.0000001, 1.0000002)))) == 3
    assert labels(()) == ("(-inf, inf)",)


def test_widths_of_huge_numbers():
    cuts = ss.discretize({"x": [-1.6e308, 0.5, 1.6e308]}, method="width", bins=4).cuts["x"]
    assert cuts == pytest.approx((-0.8e308, 0.0, 0.8e308))


def test_entropy_with_many_classes():
    classes = np.tile(np.arange(700), 8)
    rows = {"x": np.where(classes < 350, 0.5, 1.5), "c": [f"c{k}" for k in classes]}
    assert ss.discretize(rows, "x", method="entropy", target="c").cuts["x"] == (1.0,)
