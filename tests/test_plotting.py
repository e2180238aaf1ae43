"""Pictures: what is drawn where, without a screen."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss
from sepset import plotting
from sepset.api.learning import fit
from sepset.errors import MissingExtra
from sepset.learning.evaluation.calibration import reliability_curve
from sepset.learning.incomplete.em import EM

figure = pytest.importorskip("matplotlib.figure")


@pytest.fixture
def axes():
    return figure.Figure().subplots()


def test_calibration_curves_share_axes(axes):
    curves = {"a": reliability_curve([0.1, 0.9], [0, 1]), "b": reliability_curve([0.4, 0.6], [1, 0])}
    found = plotting.calibration_curves(curves, axes)
    drawn = [line for line in found.lines if line.get_marker() == "o"]
    assert [line.get_xdata().tolist() for line in drawn] == [c.predicted.tolist() for c in curves.values()]


def test_traces_fall_towards_the_best(axes):
    dag = ss.DAG.parse("h -> x; h -> y; h -> z")
    rows = ss.BayesNet.random(dag, seed=1).sample(100, seed=0).select(["x", "y", "z"])
    fits = {str(s): fit(dag, rows, EM(restarts=1), variables=[ss.Discrete("h")], seed=s) for s in (0, 1)}
    found = plotting.traces(fits, axes)
    for line, one in zip(found.lines, fits.values(), strict=True):
        assert len(line.get_ydata()) == len(one.trace)
        assert (np.diff(line.get_ydata()) <= 1e-9).all()
    assert found.get_yscale() == "log"


def test_children_are_drawn_below_their_parents(axes):
    asia = ss.datasets.load("asia")
    found = plotting.graph(asia, axes)
    places = {text.get_text(): text.get_position() for text in found.texts}
    assert all(places[parent][1] > places[child][1] for parent, child in asia.dag.edges)
    assert len(set(places.values())) == 8
    assert set(places) == set(asia.variables.names)
    plotting.graph(ss.DAG([], []), axes)


def test_differences_of_two_graphs(axes):
    truth, learned = ss.DAG.parse("a -> b -> c; d"), ss.DAG.parse("b -> a; b -> c; c -> d")
    found = plotting.graph_difference(truth, learned, ax=axes)
    named = [text.get_text() for text in found.get_legend().get_texts()]
    assert named == ["common (1)", "missing (0)", "extra (1)", "other direction (1)"]
    assert sum(patch.get_gid() == "edge" for patch in found.patches) == 3
    found.figure.canvas.draw()
    classes = plotting.graph_difference(ss.graphs.cpdag(truth), learned, ax=figure.Figure().subplots())
    assert classes.get_legend().get_texts()[3].get_text() == "other direction (2)"
    with pytest.raises(ss.errors.ModelError, match="same nodes"):
        plotting.graph_difference(truth, ss.DAG.parse("a -> b"), ax=axes)


def test_confidence_in_edges(axes):
    rows = ss.datasets.load("sprinkler").sample(300, seed=1)
    posterior = ss.structure_posterior(rows, method=ss.structure.Exhaustive())
    found = plotting.edge_confidence(posterior, axes, least=0.2)
    joined = posterior.edges + posterior.edges.T
    shown = [f"{min(1.0, p):.2f}" for p in joined[np.triu_indices(4, 1)] if p >= 0.2]
    labels = [text.get_text() for text in found.texts if text.get_text() not in posterior.names]
    assert sorted(labels) == sorted(shown)
    found.figure.canvas.draw()
    with pytest.raises(ss.errors.ArgumentError, match="least="):
        plotting.edge_confidence(posterior, axes, least=2.0)


def test_learned_graphs_of_all_kinds():
    rows = ss.datasets.load("sprinkler").sample(500, seed=1)
    for method in (ss.HillClimb(), ss.GES(), ss.FCI(), ss.structure.Forest()):
        found = ss.learn_structure(rows, method=method)
        drawn = found.plot(figure.Figure().subplots())
        assert {text.get_text() for text in drawn.texts} == set(rows.variables.names)
        assert sum(patch.get_gid() == "edge" for patch in drawn.patches) == found.graph.num_edges
        drawn.figure.canvas.draw()


def test_pictures_are_saved_without_a_window(tmp_path):
    for suffix in ("png", "svg", "pdf"):
        path = tmp_path / f"graph.{suffix}"
        plotting.save(lambda ax: plotting.graph(ss.DAG.parse("a -> b"), ax), path)
        assert path.stat().st_size > 500
    with pytest.raises(ss.errors.FileFormatError, match=r"'\.xyz' is not a known image format"):
        plotting.save(lambda ax: None, tmp_path / "graph.xyz")


def test_current_axes_by_default():
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("agg")
    current = plt.figure().gca()
    assert plotting.graph(ss.DAG.parse("a -> b")) is current
    plt.close("all")


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtra, match=r"sepset\[plot\]"):
        plotting.save(lambda ax: None, "x.png")


def test_many_or_long_states_lie_down(axes):
    states = tuple(f"a rather long state {k}" for k in range(9))
    answer = ss.query(ss.BayesNet(ss.TableCPD(ss.Discrete("x", states), np.full(9, 1 / 9))), "x")
    found = answer.plot(axes)
    assert [label.get_text() for label in found.get_yticklabels()] == list(states)
    assert (found.get_xlabel(), found.get_xlim()) == ("probability", (0.0, 1.0))
    assert [bar.get_width() for bar in found.patches] == pytest.approx([1 / 9] * 9)


def test_a_joint_of_two_is_a_heat_map_with_its_numbers(axes):
    found = ss.query(ss.datasets.load("asia"), ["lung", "bronc"]).plot(axes)
    assert [text.get_text() for text in found.texts] == ["0.0315", "0.0235", "0.418", "0.526"]
    assert found.images[0].colorbar.ax.get_ylabel() == "probability"


def test_a_real_variable_in_each_state_of_a_discrete_one(axes):
    a, x = ss.Discrete("a", ("low", "high")), ss.Real("x")
    model = ss.BayesNet(ss.TableCPD(a, [0.25, 0.75]), ss.LinearGaussian(x, [0.0, 4.0], covariance=[1.0, 4.0], by=a))
    found = ss.query(model, ["a", "x"]).plot(axes)
    for line, share in zip(found.lines, (0.25, 0.75), strict=True):
        assert np.trapezoid(line.get_ydata(), line.get_xdata()) == pytest.approx(share, abs=1e-3)
    assert found.get_title() == "P(a, x)"
    with pytest.raises(ss.SepsetError, match="has a picture if"):
        ss.query(ss.BayesNet(*model.cpds, ss.LinearGaussian(ss.Real("y"), covariance=1.0)), ["a", "x", "y"]).plot(axes)


@pytest.mark.parametrize(
    ("draw", "argument"),
    [
        (lambda: ss.plotting.calibration_curves(None), "curves="),
        (lambda: ss.plotting.traces([1, 2]), "fits="),
        (lambda: ss.plotting.edge_confidence(None), "posterior="),
        (lambda: ss.plotting.save(lambda axes: None, None), "path="),
        (lambda: ss.plotting.save(lambda axes: None, "a.png", size=3), "size="),
    ],
)
def test_mistaken_arguments_are_named(draw, argument):
    with pytest.raises(ss.errors.ArgumentError, match=argument):
        draw()
