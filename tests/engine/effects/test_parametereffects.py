"""Parameters listed once, their table, and the tornado of their ranges against questions to changed networks."""

from __future__ import annotations

import matplotlib.figure
import numpy as np
import pytest

import sepset as ss


@pytest.fixture
def student():
    return ss.datasets.load("student")


def changed(table, row, code, theta):
    """The table with one parameter at `theta`, the rest of its row in proportion."""
    new = table.reshape(-1, table.shape[-1]).copy()
    new[row] *= (1 - theta) / (1 - new[row, code])
    new[row, code] = theta
    return new.reshape(table.shape)


@pytest.mark.parametrize("order", [("low", "high"), ("high", "low")])
def test_each_parameter_is_listed_once(order):
    """Of each pair of complements the rarer, in any order of the states; none of the barren and the blocked."""
    a, b, c = ss.Discrete("a", order), ss.Discrete("b", order), ss.Discrete("c", ("x", "y", "z"))
    rows = {"low": {"low": 0.8, "high": 0.2}, "high": {"low": 0.4, "high": 0.6}}
    net = ss.BayesNet(
        ss.TableCPD(a, [{"low": 0.9, "high": 0.1}[s] for s in order]),
        ss.TableCPD(b, [[rows[u][s] for s in order] for u in order], given=a),
        ss.TableCPD(c, [[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]], given=b),
    )
    found = ss.sensitivity(net, "a", state="high", given={"b": "high"})
    assert {one.name for one in found} == {"P(a='high')", "P(b='high' | a='low')", "P(b='low' | a='high')"}
    assert found.num_without_effect == 6
    assert "6 without effect" in str(found)
    assert "P(a='high' | b=high) = 0.25" in str(found)


def test_rare_posteriors_have_parameters_with_effects():
    """The slopes are tiny since the posterior is, and none is rounding."""
    a, b = ss.Discrete("a"), ss.Discrete("b")
    net = ss.BayesNet(ss.TableCPD(a, [1.0, 1e-30]), ss.TableCPD(b, [[0.5, 0.5], [0.25, 0.75]], given=a))
    found = ss.sensitivity(net, "a", state=1, given={"b": 0})
    assert (len(found), found.num_without_effect) == (3, 0)
    assert ss.sensitivity(net, "a", state=1).num_without_effect == 2


def test_a_frame_and_a_tornado_of_ranges(student):
    """The ends of every bar by questions to the network with the parameter at zero and at one."""
    given = {"grade": "C"}
    found = ss.sensitivity(student, "intelligence", state="high", given=given)
    frame = found.to_frame()
    assert list(frame.columns) == ["parameter", "child", "value", "derivative", "lowest", "highest"]
    ends = {}
    for one in found:
        cpd = student.cpd(one.child)
        cell = tuple(p.code(one.parents[p.name]) for p in cpd.parents)
        row = int(np.ravel_multi_index(cell, cpd.values.shape[:-1])) if cell else 0
        asked = []
        for theta in (1e-9, 1.0 - 1e-9):
            table = changed(cpd.values, row, cpd.child.code(one.state), theta)
            net = student.with_cpds(ss.TableCPD(cpd.child, table.reshape(-1), given=cpd.parents))
            asked.append(ss.query(net, "intelligence", given=given)["high"])
        ends[f"{one.name} = {one.value:.3g}"] = sorted(asked)
    np.testing.assert_allclose(frame[["lowest", "highest"]], list(ends.values()), atol=1e-7)
    axes = matplotlib.figure.Figure().subplots()
    assert found.plot(axes, num_parameters=5) is axes
    names = [text.get_text() for text in axes.texts]
    assert len(names) == 5
    reached = np.reshape([bar.get_x() + bar.get_width() for bar in axes.patches], (2, 5)).T
    np.testing.assert_allclose(reached, [ends[name] for name in names], atol=1e-7)
    assert axes.get_title() == "P(intelligence='high' | grade=C) = 0.07895"
    assert axes.lines[0].get_xdata()[0] == found.probability
    with pytest.raises(ss.errors.ArgumentError, match="num_parameters= is a whole number of at least 1"):
        found.plot(num_parameters=0)


def test_frames_without_ranges_and_without_parameters(student, monkeypatch):
    alone = ss.BayesNet(ss.TableCPD(ss.Discrete("only", ["one"]), [1.0]))
    empty = ss.sensitivity(alone, "only", state="one")
    assert (len(empty), len(empty.to_frame()), len(empty.plot().patches)) == (0, 0, 0)
    monkeypatch.setattr("sepset.engine.sensitivity.MOST_JOINT", 1)
    local = ss.sensitivity(student, "intelligence", state="high", given={"sat": ss.Soft([0.5, 0.5])})
    assert list(local.to_frame().columns) == ["parameter", "child", "value", "derivative"]
    with pytest.raises(ss.errors.NotApplicable, match="only the derivative"):
        local.plot()
