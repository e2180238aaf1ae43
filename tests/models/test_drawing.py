from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import sepset as ss
from sepset.models.alignment import over
from sepset.models.drawing import BLANK, Drawing, Item, Look

A, B = ss.Discrete("a", ("low", "high")), ss.Discrete("b", ("no", "yes"))
TITLED = Drawing(
    {"a": "Pressure"}, "XDSL", network=Item("smile"), nodes={"a": Item("node", attributes=(("diagtype", "target"),))}
)


def net(drawing: Drawing = TITLED) -> ss.BayesNet:
    cpds = ss.TableCPD(A, [0.2, 0.8]), ss.TableCPD(B, [[0.3, 0.7], [0.6, 0.4]], given=A)
    return ss.BayesNet(*cpds, drawing=drawing)


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param(lambda net: net.with_cpds(ss.TableCPD(A, [0.5, 0.5])), id="other numbers"),
        pytest.param(lambda net: net.with_cpds(ss.TableCPD(B, [0.5, 0.5])), id="other parents"),
        pytest.param(lambda net: net.do({"b": "no"}), id="intervention"),
        pytest.param(lambda net: net.subnetwork("a"), id="subnetwork"),
        pytest.param(lambda net: net.with_parameters(net.cpds), id="parameters"),
        pytest.param(lambda net: over(net, [ss.Discrete("a", ("high", "low")), B]), id="other order of states"),
        pytest.param(lambda net: ss.fit(net, net.sample(20)).model, id="fit"),
        pytest.param(lambda net: pickle.loads(pickle.dumps(net)), id="pickle"),
        pytest.param(copy.deepcopy, id="copy"),
    ],
)
def test_a_drawing_goes_along(changed):
    assert changed(net()).drawing == TITLED


def test_a_drawing_does_not_count_in_equality():
    assert net() == net(BLANK)
    assert hash(net()) == hash(net(BLANK))


@pytest.mark.parametrize("name", ["", "two words", "a><b", 'a"', "1a", "é"])
def test_names_of_items_are_plain(name):
    with pytest.raises(ss.errors.ModelError, match="letters, digits"):
        Item(name)
    with pytest.raises(ss.errors.ModelError, match="letters, digits"):
        Item("node", attributes=((name, "value"),))


@pytest.mark.parametrize(
    "position", [(float("nan"), 0.0), (0.0, float("inf")), (1.0,), (1.0, 2.0, 3.0), "ab", ("1", "2")]
)
def test_positions_are_two_finite_numbers(position):
    with pytest.raises(ss.errors.ModelError, match="two finite numbers"):
        Look(position)


@pytest.mark.parametrize("color", ["red", "#ABCDEF", "#12345", "#1234567", "123456", '#ffffff"'])
def test_colors_have_six_digits(color):
    with pytest.raises(ss.errors.ModelError, match="six digits"):
        Look(color=color)


def test_a_model_tells_its_drawing():
    looks = {"a": Look((1.0, 2.0), "#ffffff", comment="old", group="one"), "b": Look((3.0, 4.0), group="one")}
    drawn = net(Drawing({"a": "Pressure"}, looks=looks))
    told = "1 title, 2 positions, 1 color, 1 comment, 1 group"
    assert repr(drawn.drawing) == f"Drawing({told})"
    assert told in str(drawn)
    assert told in drawn._repr_html_()
    assert "drawing" not in str(net(BLANK))
    assert drawn.drawing.groups == ("one",)


def test_positions_of_any_type_of_number_become_floats():
    found = [Look(tuple(np.array([3, 4]))), Look([3, 4]), Look((3, 4))]
    assert [look.position for look in found] == [(3.0, 4.0)] * 3
    assert {type(number) for look in found for number in look.position} == {float}
