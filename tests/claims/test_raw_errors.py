"""Errors say what was asked and what to do, in the library's own words; what can be understood is understood."""

from __future__ import annotations

import errno
import math
import os
import warnings
from functools import partial

import numpy as np
import pytest

import sepset as ss
from sepset.learning.structure.columns import Columns

COIN = ss.Discrete("coin", ("head", "tail"))
EDGE = ss.DAG.parse("a -> b")


def asia() -> ss.BayesNet:
    return ss.datasets.load("asia")


def complaint(call, kind: type[BaseException]) -> str:
    """What the error says; nothing where the call is understood."""
    try:
        call()
    except kind as error:
        return str(error)
    return ""


# Soft findings near the border of what is possible.


@pytest.mark.parametrize("either", [0.51, 0.501, 0.5])
def test_soft_findings_near_the_border(either):
    """tub with 1/2, lung with 3/10, and either of them with p: both with 8/10 - p, by inclusion and exclusion."""
    given = {"tub": ss.Soft([0.5, 0.5]), "either": ss.Soft([either, 1 - either]), "lung": ss.Soft([0.3, 0.7])}
    found = ss.query(asia(), ["tub", "lung"], given=given).values
    np.testing.assert_allclose(found, [[0.8 - either, either - 0.3], [either - 0.5, 1 - either]], atol=1e-6)


def test_soft_findings_that_cannot_be_met_are_impossible():
    with pytest.raises(ss.ImpossibleEvidence, match="satisfied together"):
        ss.query(asia(), "lung", given={"tub": ss.Soft([0.5, 0.5]), "either": ss.Soft([0.4, 0.6])})


# A disk that is full.


def full_after(count: int):
    """`os.fsync` of a disk on which so many files have room."""
    calls = iter(range(count))

    def fsync(_: int) -> None:
        if next(calls, None) is None:
            raise OSError(errno.ENOSPC, "No space left on device")

    return fsync


@pytest.mark.parametrize("room", [0, 1])
def test_a_full_disk_does_not_lose_a_fit(tmp_path, monkeypatch, room):
    rows = {"a": [0, 1, 1, None, 0, 1], "b": [1, None, 1, 0, 0, 1]}
    expected = ss.fit(EDGE, rows, ss.EM()).model
    monkeypatch.setattr(os, "fsync", full_after(room))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        found = ss.fit(EDGE, rows, ss.EM(), checkpoint=tmp_path / "kept").model
    for name in "ab":
        np.testing.assert_array_equal(found.cpd(name).values, expected.cpd(name).values)


# Numbers and sizes that are none.


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        pytest.param(lambda: ss.Table(COIN, ["a", "b"]), ss.errors.ModelError, id="words in a table"),
        pytest.param(lambda: ss.Table(COIN, [1j, 1]), ss.errors.ModelError, id="complex numbers in a table"),
        pytest.param(lambda: ss.TableCPD(COIN, ["a", "b"]), ss.errors.ModelError, id="words in a CPD"),
        pytest.param(
            lambda: ss.Discrete("x", 10**12),
            ss.TooLarge,
            id="too many states",
        ),
        pytest.param(
            lambda: ss.sample(asia(), 10**14),
            ss.TooLarge,
            id="too many rows",
        ),
    ],
)
def test_mistakes_have_errors_of_the_library(call, kind):
    with pytest.raises(kind, match=r"\w"):
        call()


def family(child, *parents):
    """The scores of a family by position, one after the other."""
    tree = ss.structure.ADTree({"a": [0, 0, 1, 1], "b": ["x", "y", "y", "y"]})
    reals = Columns.of({"a": [0.5, 1.5, 4.0], "b": [0.2, 0.1, 3.0]})
    scores = ss.BIC(), ss.structure.AIC(), ss.structure.QNML(), ss.structure.FNML(), ss.structure.BDs(1.0), ss.K2()
    return [partial(s.family, child, parents, tree.columns) for s in (*scores, ss.BDeu(1))] + [
        partial(s.family, child, parents, reals) for s in (ss.BIC(), ss.structure.BGe())
    ]


def test_positions_are_those_of_columns_and_sizes_those_of_tables():
    """Numbers beyond the machine's, negative positions, shapes that are none, totals of nothing."""
    q, flat = np.array([2.0, 4.0]), ss.priors.LinearNormalGamma.flat(2)
    tree = ss.structure.ADTree({"a": [0, 0, 1, 1], "b": ["x", "y", "y", "y"]})
    calls = [partial(tree.counts, columns) for columns in ([2**70], [-1], [2], [0, 0], [True], ["a"], None)]
    shapes = ([2**70], [2**70, 2], [-1, 2], [2, 0], (2, 2, 2), 3, "ab", (0.5, 2))
    priors = (
        ss.K2(),
        ss.priors.Dirichlet(1.0),
        ss.priors.ContextStrength(5.0),
        ss.priors.ContextStrength(5.0, (0.5, 0.5)),
    )
    calls += [partial(prior.pseudo_counts, shape) for prior in priors for shape in shapes]
    calls += [partial(ss.priors.ContextStrength, 10**400), partial(ss.BDeu, 10**400)]
    calls += [partial(ss.BIC().penalties, q, 2, total) for total in (0, -1, math.nan, "x", 10**400)]
    calls += [partial(ss.structure.QNML().penalties, q, 2, total) for total in (-1, math.nan)]
    calls += [partial(flat.flat, num) for num in (10**12, 2**70, -1)]
    calls += [partial(flat.with_noise, 3.0, np.ones(shape)) for shape in ((2, 2), 3, ())]
    calls += [partial(flat.with_noise, degrees, np.ones((1, 1))) for degrees in ("x", math.nan)]
    for places in ((-1,), (2,), (2**70,), (True,), (0, -1), (0, 0), (0, 1, 1)):
        calls += family(*places)
    for call in calls:
        with pytest.raises(ss.SepsetError, match=r"found|needs about"):
            call()


def test_the_ends_of_an_interval_may_be_any_numbers():
    wide = ss.learning.ExponentialFamily(lambda x: x[:, None], support=[-(2**70), 2**70])
    assert wide.probabilities([0.0]).sum() == pytest.approx(1.0)
    with pytest.raises(ss.errors.ArgumentError, match="the ends of an interval"):
        ss.learning.ExponentialFamily(lambda x: x[:, None], support=(0, "1"))


def test_what_is_true_or_false_is_no_word():
    with pytest.raises(ss.errors.ArgumentError, match="beliefs= is True or False, or None; found 'no'"):
        ss.draw(asia(), beliefs="no")
    with pytest.raises(ss.errors.ArgumentError, match="progress= is True or False, or None; found 'no'"):
        ss.fit(EDGE, {"a": [0, 1], "b": [1, 0]}, progress="no")


@pytest.mark.parametrize("method", [None, ss.MLE(), ss.Bayes(ss.BDeu(1)), ss.PosteriorMode(ss.BDeu(1))])
def test_a_checkpoint_that_nothing_would_keep_is_refused(method, tmp_path):
    with pytest.raises(ss.errors.NotApplicable, match="keeps no checkpoint; EM"):
        ss.fit(EDGE, {"a": [0, 1], "b": [1, 0]}, method, checkpoint=tmp_path / "kept")


def test_a_generator_is_a_column():
    model = ss.fit(EDGE, {"a": (i % 2 for i in range(4)), "b": [0, 1, 0, 1]}).model
    assert ss.query(model, "a")[1] == pytest.approx(0.5)


@pytest.mark.parametrize("unit", ["s", "us", "ns"])
@pytest.mark.parametrize("kind", ["mapping", "pandas"])
def test_durations_are_refused_as_dates_are(kind, unit):
    rows = {"a": np.array([1, 2, 3], f"timedelta64[{unit}]"), "b": [0, 1, 0]}
    frame = rows if kind == "mapping" else pytest.importorskip("pandas").DataFrame(rows)
    assert "timedelta" in complaint(lambda: ss.fit(EDGE, frame), ss.errors.DataError)


# Words of other libraries.


@pytest.mark.parametrize(
    ("call", "name"),
    [
        pytest.param(lambda: ss.DiscreteBayesianNetwork, "BayesNet", id="DiscreteBayesianNetwork"),
        pytest.param(lambda: ss.mpe, "map_assignment", id="mpe"),
        pytest.param(lambda: ss.map, "map_assignment", id="map"),
        pytest.param(lambda: ss.LazyPropagation, "CliqueTree", id="LazyPropagation"),
    ],
)
def test_words_of_other_libraries_are_translated(call, name):
    assert name in complaint(call, AttributeError)


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda: ss.HMM, id="HMM"),
        pytest.param(lambda: ss.InfluenceDiagram, id="InfluenceDiagram"),
        pytest.param(lambda: ss.counterfactual, id="counterfactual"),
        pytest.param(lambda: ss.learn_structure, id="learn_structure"),
        pytest.param(lambda: ss.NOTEARS, id="NOTEARS"),
    ],
)
def test_what_is_not_there_yet_is_said_to_be_so(call):
    message = complaint(call, AttributeError)
    assert not message or ("yet" in message and "Did you mean" not in message)


def test_a_format_that_is_not_read_is_not_taken_for_another():
    message = complaint(lambda: ss.read("network.dne"), ss.errors.FileFormatError)
    assert "Netica" in message
    assert "Did you mean" not in message


@pytest.mark.parametrize(
    ("call", "name"),
    [
        pytest.param(lambda: ss.query(asia(), "lung", evidence={"smoke": "yes"}), "given=", id="evidence"),
        pytest.param(lambda: ss.TableCPD(COIN, [0.5, 0.5], parents=()), "given=", id="parents"),
        pytest.param(lambda: ss.LinearGaussian(ss.Real("x"), 0.0, variance=1.0), "covariance=", id="variance"),
        pytest.param(lambda: ss.sample(asia(), 3, random_state=1), "seed=", id="random_state"),
        pytest.param(lambda: ss.query(asia(), "lung", {"smoke": "yes"}), "given=", id="evidence by position"),
        pytest.param(lambda: ss.query(asia(), "lung", "tub"), "['lung', 'tub']", id="targets by position"),
    ],
)
def test_arguments_of_other_libraries_are_translated(call, name):
    message = complaint(call, TypeError)
    assert not message or name in message


def test_a_row_of_a_frame_is_evidence():
    row = pytest.importorskip("pandas").DataFrame({"smoke": ["yes"], "asia": ["no"]}).iloc[0]
    assert ss.query(asia(), "lung", given=row)["yes"] == pytest.approx(0.1)  # P(lung | smoke), as the network states it


def test_a_networkx_graph_is_a_structure():
    graph = pytest.importorskip("networkx").DiGraph([("a", "b")])
    message = complaint(lambda: ss.fit(graph, {"a": [0, 1], "b": [1, 0]}), ss.errors.ModelError)
    assert not message or "from_networkx" in message


@pytest.mark.parametrize(
    ("call", "word"),
    [
        pytest.param(lambda: ss.DAG([("a", "b")]), "edges=", id="edges of a DAG"),
        pytest.param(
            lambda: ss.BayesNet([ss.TableCPD(COIN, [0.5, 0.5])]),
            "*",
            id="a list of CPDs",
        ),
    ],
)
def test_constructors_say_how_they_are_called(call, word):
    message = complaint(call, ss.SepsetError)
    assert not message or word in message


# Paths.


def test_a_file_that_cannot_be_written_is_named(tmp_path):
    path = tmp_path / "missing" / "asia.json"
    with pytest.raises((OSError, ss.SepsetError)) as caught:
        ss.write(asia(), path)
    assert "asia.json" in str(caught.value)
    assert ".tmp" not in str(caught.value)
    assert str(path.parent) in str(caught.value)


@pytest.mark.parametrize("text", ["network unknown {\n}\n" * 50, "BAYES\n2\n2 2\n" * 50], ids=["bif", "uai"])
def test_the_text_of_a_file_is_no_path(text):
    with pytest.raises((OSError, ss.SepsetError)) as caught:
        ss.read(text)
    assert len(str(caught.value)) < 400
