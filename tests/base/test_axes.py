"""Axes to draw on, and their tick labels."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import sepset as ss
from sepset.base.axes import axes_of, count_steps, mark_sizes, named_columns, named_rows, tick_label
from sepset.errors import TooLarge

plt = pytest.importorskip("matplotlib.pyplot")
figures = pytest.importorskip("matplotlib.figure")


@pytest.fixture
def axes():
    return figures.Figure().subplots()


def labels(axis, figure):
    figure.canvas.draw()
    return [label.get_text() for label in axis.get_ticklabels() if label.get_text()]


def test_given_axes_or_the_current_ones(axes):
    assert axes_of(axes) is axes
    plt.switch_backend("agg")
    current = plt.figure().gca()
    assert axes_of() is current
    plt.close("all")


def test_results_drawn_many_times_open_one_figure():
    import sepset as ss

    plt.switch_backend("agg")
    asia = ss.datasets.load("asia")
    rows = asia.sample(60, seed=0)
    results = [
        ss.fit(asia, rows, ss.Bayes(ss.BDeu(1))),
        ss.evaluation.calibration_curve(asia, rows, target="dysp"),
        ss.evaluation.goodness_of_fit(asia, rows, num_draws=5),
        ss.evaluation.learning_curve(
            {"one": ss.evaluation.Learner(asia, ss.Bayes(ss.BDeu(1)))}, asia, sizes=[10, 20], repeats=2
        ),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for result in results:
            for _ in range(25):
                drawn = result.plot()
            assert drawn.get_xlabel()
            assert drawn.get_ylabel()
    assert len(plt.get_fignums()) == 1
    plt.close("all")


def test_steps_are_integers_and_values_have_no_offset(axes):
    axes.plot(np.arange(1, 6), -1220.8 - np.array([0.085, 0.044, 0.043, 0.042, 0.042]))
    count_steps(axes)
    found = labels(axes.xaxis, axes.figure)
    assert all("." not in text for text in found)
    assert all("1220" in text for text in labels(axes.yaxis, axes.figure))


def test_steps_drawn_over_what_the_axes_held_before(axes):
    axes.bar(["left", "right"], [0.2, 0.8])
    axes.set_yscale("log")
    axes.plot([1, 2, 3], [2000.0, 3000.0, 3500.0])
    count_steps(axes)
    assert "1000" in labels(axes.yaxis, axes.figure)


def test_sizes_are_written_as_they_are(axes):
    axes.plot([100, 250, 20_000], [1.0, 0.5, 0.1])
    mark_sizes(axes, [100, 250, 20_000])
    assert labels(axes.xaxis, axes.figure) == ["100", "250", "20,000"]
    assert axes.get_xscale() == "log"


def test_labels_get_room_where_axes_are_alone(axes):
    axes_of(axes)
    assert axes.figure.get_layout_engine() is not None
    pair = figures.Figure().subplots(1, 2)
    axes_of(pair[0])
    assert pair[0].figure.get_layout_engine() is None


def test_nothing_leaves_the_figure(axes):
    """Long names of rows and columns are cut or turned, and stay inside the figure."""
    axes_of(axes)
    axes.barh(range(3), [1.0, 2.0, 3.0])
    named_rows(axes, ["a variable with an exceedingly long name = a state with one too", "b", "c"])
    named_columns(axes, [f"a rather long state {k}" for k in range(4)])
    axes.figure.draw_without_rendering()
    box, whole = axes.get_tightbbox(), axes.figure.bbox
    assert whole.x0 - 1 <= box.x0
    assert box.x1 <= whole.x1 + 1
    assert whole.y0 - 1 <= box.y0
    assert {label.get_rotation() for label in axes.get_xticklabels()} == {90.0}


def test_figures_grow_for_many_rows_on_request(axes):
    height = axes.figure.get_figheight()
    named_rows(axes, [str(k) for k in range(80)])
    assert axes.figure.get_figheight() == height
    named_rows(axes, [str(k) for k in range(80)], grow=True)
    assert axes.figure.get_figheight() > 2 * height


def test_labels_are_cut_and_are_not_formulas():
    assert tick_label("over $100") == r"over \$100"
    assert len(tick_label("x" * 100)) == 43


def test_letters_and_lines_have_the_color_of_the_style():
    """So that charts and graphs are legible on dark pages too."""
    from matplotlib.colors import same_color

    import sepset as ss

    clinic = ss.datasets.load("asia")
    effects = ss.sensitivity(clinic, "lung", state="yes", given={"xray": "yes"})
    with plt.style.context("dark_background"):
        graph = ss.plotting.graph(clinic.dag, figures.Figure().subplots())
        assert all(same_color(text.get_color(), "white") for text in graph.texts)
        tornado = effects.plot(figures.Figure().subplots())
        assert all(same_color(text.get_color(), "white") for text in tornado.texts)
        assert all(same_color(text.get_bbox_patch().get_facecolor()[:3], "black") for text in tornado.texts)
    with plt.rc_context({"axes.facecolor": "none"}):
        assert all(text.get_bbox_patch() is None for text in effects.plot(figures.Figure().subplots()).texts)


def test_charts_of_very_many_bars_are_refused_before_anything_is_drawn():
    v = [ss.Discrete(f"v{i}", 2) for i in range(1001)]
    found = ss.marginals(ss.BayesNet(*(ss.TableCPD(x, [0.5, 0.5]) for x in v)))
    axes = figures.Figure().subplots()
    wide = ss.Table([ss.Discrete("many", 2001)], np.ones(2001))
    for chart in (found, wide):
        with pytest.raises(TooLarge, match="at most 2,000 bars"):
            chart.plot(axes)
    assert not axes.patches
