"""Answers and models survive pickling, and a copy of a model is equal to it.

The network is a -> b with P(a) = (0.2, 0.8), P(b | a) = ((0.3, 0.7), (0.6, 0.4)).
"""

from __future__ import annotations

import contextlib
import copy
import pickle

import numpy as np
import pytest

import sepset as ss
from sepset.surface import NAMESPACES, homes
from support.blocks import in_blocks
from support.everything import EVERYTHING, made
from support.tolerances import EXACT

JOINT = np.array([[0.06, 0.14], [0.48, 0.32]])


def model() -> ss.BayesNet:
    a, b = ss.Discrete("a", 2), ss.Discrete("b", 2)
    return ss.BayesNet(ss.TableCPD(a, [0.2, 0.8]), ss.TableCPD(b, [[0.3, 0.7], [0.6, 0.4]], given=a))


def copied(value):
    return pickle.loads(pickle.dumps(value))


@pytest.mark.parametrize(
    ("answer", "read", "expected"),
    [
        pytest.param(lambda: ss.query(model(), "b"), lambda copy: copy.values, JOINT.sum(axis=0), id="query"),
        pytest.param(lambda: ss.prepare(model()), lambda copy: copy.query("b").values, JOINT.sum(axis=0), id="engine"),
        pytest.param(
            lambda: ss.prepare(model()).observe({"a": 0}), lambda copy: copy.query("b").values, [0.3, 0.7], id="view"
        ),
        pytest.param(
            lambda: ss.marginals(model()),
            lambda copy: copy["b"].values,
            JOINT.sum(axis=0),
            id="marginals",
        ),
        pytest.param(
            lambda: ss.marginals(model(), given={"b": 1}),
            lambda copy: copy["a"].values,
            JOINT[:, 1] / JOINT[:, 1].sum(),
            id="marginals with evidence",
        ),
        pytest.param(
            lambda: ss.prepare(model()).observe({"a": 0}).marginals(),
            lambda copy: copy["b"].values,
            [0.3, 0.7],
            id="marginals of a view",
        ),
        pytest.param(
            lambda: ss.prepare(model()).pairwise_marginals(),
            lambda copy: copy["a", "b"].values,
            JOINT,
            id="pairs",
        ),
        pytest.param(
            lambda: ss.map_assignment(model()),
            lambda copy: [copy.assignment["a"], copy.assignment["b"], copy.probability],
            [1, 0, 0.48],
            id="best state",
        ),
        pytest.param(
            lambda: ss.map_assignment(model(), k=3),
            lambda copy: [[found["a"], found["b"]] for found in copy.assignments],
            [[1, 0], [1, 1], [0, 1]],
            id="three best states",
        ),
    ],
)
def test_answers_survive_pickling(answer, read, expected):
    np.testing.assert_allclose(read(copied(answer())), expected, atol=EXACT)


@pytest.mark.parametrize("name", ["alarm", "misconception"])
def test_a_model_loaded_twice_is_equal(name):
    assert ss.datasets.load(name) == ss.datasets.load(name)


@pytest.mark.parametrize("name", ["alarm", "misconception"])
def test_a_pickled_model_is_equal(name):
    original = ss.datasets.load(name)
    assert copied(original) == original


def test_models_with_other_numbers_differ():
    a = ss.Discrete("a", 2)
    assert ss.BayesNet(ss.TableCPD(a, [0.2, 0.8])) != ss.BayesNet(ss.TableCPD(a, [0.3, 0.7]))


@in_blocks("name", list(EVERYTHING))
def test_copies_show_the_same(name):
    original = made(name)
    for copied_value in (copied(original), copy.deepcopy(original)):
        assert type(copied_value) is type(original)
        assert str(copied_value) == str(original)


@in_blocks("name", list(EVERYTHING))
def test_everything_can_be_compared(name):
    """Arrays have no truth value, and so results that hold some are compared by their contents."""
    original = made(name)
    assert original == original  # that is the question
    assert isinstance(original == copied(original), bool)
    assert original != "something else"


@pytest.mark.parametrize(
    "name",
    [
        "query", "real query", "hybrid query", "best assignments", "max marginals", "pairs", "prediction", "fit", "EM",
        "learned structure", "validation", "discretization", "structural EM",
    ],
)  # fmt: skip
def test_a_copy_of_a_result_is_equal(name):
    assert copied(made(name)) == made(name)


def test_best_assignments_of_vectors_tell_what_differs():
    c, v = ss.Discrete("c"), ss.Vector("v", 2)
    line = ss.LinearGaussian(v, [[0.0, 1.0], [0.0, 2.0]], covariance=np.eye(2), by=c)
    found = ss.map_assignment(ss.BayesNet(ss.TableCPD(c, [0.6, 0.4]), line), k=2)
    assert "c=1, v=(0, 2)" in str(found)
    assert found == copied(found)


def every_method():
    """The methods that can be made without settings, by name."""
    for name in homes(NAMESPACES["inference"]):
        kind = getattr(ss.inference, name)
        if isinstance(kind, type) and (hasattr(kind, "prepare") or hasattr(kind, "init")):
            with contextlib.suppress(Exception):
                yield name, kind()


def answers_of(net, method):
    """The answers that a method has about a network."""
    asks = (ss.map_assignment, ss.marginals, lambda m, method: ss.query(m, "a", method=method), ss.prepare)
    for ask in asks:
        with contextlib.suppress(ss.SepsetError):
            yield ask(net, method=method)


@pytest.mark.parametrize(("name", "method"), list(every_method()))
def test_answers_of_every_method_survive_pickling(name, method):
    """Certificates too: what proves an answer comes with it."""
    found = list(answers_of(model(), method))
    assert found, name
    for answer in found:
        assert str(copied(answer)) == str(answer)
        certificate = getattr(answer, "certificate", None)
        if certificate is not None:
            assert copied(answer).certificate.check()
