"""Two answers side by side, against differences taken by hand."""

from __future__ import annotations

import matplotlib.figure
import pytest

import sepset as ss


@pytest.fixture
def asia():
    return ss.prepare(ss.datasets.load("asia"))


def test_changes_are_differences_by_name(asia):
    given = {"xray": "yes"}
    before, after = asia.marginals(), asia.marginals(given=given)
    found = before.compare(after)
    assert set(found.distances) == set(before) - {"xray"}
    assert list(found.distances.values()) == sorted(found.distances.values(), reverse=True)
    for change in found:
        asked = asia.query(change.variable, given=given)[change.state]
        assert change.after == pytest.approx(asked, abs=1e-12)
        assert change.before == pytest.approx(asia.query(change.variable)[change.state], abs=1e-12)
    for name, distance in found.distances.items():
        assert distance == pytest.approx(max(abs(c.change) for c in found if c.variable == name))
    back = after.compare(before)
    assert sorted(c.change for c in back) == pytest.approx(sorted(-c.change for c in found))
    assert found.to_frame()["change"].tolist() == [c.change for c in found]
    assert "no evidence → given xray=yes" in str(found)


def test_states_in_another_order_and_other_variables():
    a, b = ss.Discrete("a", ("x", "y", "z")), ss.Discrete("a", ("z", "x", "y"))
    first = ss.BayesNet(ss.TableCPD(a, [0.2, 0.3, 0.5]), ss.TableCPD(ss.Discrete("c"), [0.5, 0.5]))
    second = ss.BayesNet(ss.TableCPD(b, [0.1, 0.2, 0.7]))
    for found in (
        ss.marginals(first).compare(ss.marginals(second)),
        ss.query(first, "a").compare(ss.query(second, "a")),
    ):
        assert {c.state: c.change for c in found} == pytest.approx({"x": 0.0, "y": 0.4, "z": -0.4})
        assert found.distances == pytest.approx({"a": 0.4})
    other = ss.BayesNet(ss.TableCPD(ss.Discrete("a", ("x", "y")), [0.5, 0.5]))
    with pytest.raises(ss.errors.ScopeError, match="other states"):
        ss.marginals(first).compare(ss.marginals(other))
    with pytest.raises(ss.errors.ScopeError, match="no discrete variable in common"):
        ss.marginals(second).compare(ss.marginals(ss.BayesNet(ss.TableCPD(ss.Discrete("c"), [0.5, 0.5]))))
    with pytest.raises(ss.errors.ScopeError, match="Compare those to one question"):
        ss.query(first, "a").compare(ss.query(first, "c"))


def test_joint_answers(asia):
    before, after = asia.query(["lung", "smoke"]), asia.query(["smoke", "lung"], given={"xray": "yes"})
    for change in before.compare(after):
        assert change.after == after[{"lung": change.state[0], "smoke": change.state[1]}]
        assert change.before == before[change.state]


def test_a_chart_of_both(asia):
    found = asia.marginals().compare(asia.marginals(given={"xray": "yes"}))
    axes = found.plot(matplotlib.figure.Figure().subplots(), num_variables=2)
    names = [text.get_text() for text in axes.get_yticklabels()]
    assert names == [f"{c.variable} = {c.state}" for c in found[:4]]
    widths = [bar.get_width() for bar in axes.patches]
    assert widths == [c.before for c in found[:4]] + [c.after for c in found[:4]]
    assert axes.get_title() == "no evidence → given xray=yes"
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["before", "after"]
    assert len(ss.marginals(ss.BayesNet()).compare(ss.marginals(ss.BayesNet()))) == 0
