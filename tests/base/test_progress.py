"""Progress bars appear in terminals and notebooks if the computation is long, or on request, and tell when it ends."""

from __future__ import annotations

import math
import sys
import types

import pytest

from sepset.base import progress
from sepset.base.progress import Bar, Moment, Trend, html_bar, text_bar


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until it is moved."""

    class Clock:
        now = 100.0

        def monotonic(self) -> float:
            return self.now

    made = Clock()
    monkeypatch.setattr(progress, "time", made)
    return made


class Handle:
    """A display of a notebook that records what it has shown."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def update(self, bundle, raw):
        assert raw
        self.texts.append(bundle["text/html"])


@pytest.fixture
def notebook(monkeypatch):
    """The handles of the displays that a notebook was asked for."""
    handles: list[Handle] = []

    def display(bundle, raw, display_id):
        assert raw
        assert display_id
        handles.append(Handle())
        return handles[-1]

    shell = types.SimpleNamespace(kernel=object())
    package, module = types.ModuleType("IPython"), types.ModuleType("IPython.display")
    package.get_ipython, module.display = lambda: shell, display
    monkeypatch.setitem(sys.modules, "IPython", package)
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    return handles


def test_nothing_outside_a_terminal(capsys):
    with Bar() as bar:
        bar.report(1, 10)
    assert capsys.readouterr().err == ""


def test_nothing_for_short_work_in_a_terminal(capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with Bar() as bar:
        bar.report(1, 10)
    assert capsys.readouterr().err == ""


def test_long_work_and_asking_for_it_show_a_bar(capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    for wanted in (None, True):
        with Bar(wanted, "rows") as bar:
            bar.report(1, 10)
            bar.report(10, 10)
        assert "rows" in capsys.readouterr().err


def test_a_refused_bar_stays_away(capsys):
    with Bar(False) as bar:
        bar.report(1, 10)
    assert capsys.readouterr().err == ""


def test_a_bar_inside_another_stays_away(capsys):
    with Bar(False) as outer, Bar(True, "inner") as bar:
        outer.report(1, 10)
        bar.report(1, 10)
    assert capsys.readouterr().err == ""
    with Bar(True, "next") as bar:
        bar.report(1, 10)
    assert "next" in capsys.readouterr().err


def test_a_notebook_shows_the_bar_and_clears_it(notebook, clock):
    with Bar(what="rows") as bar:
        bar.report(1, 10)
        assert not notebook
        clock.now += 5.0
        bar.report(5, 10)
        bar.report(6, 10)  # too soon after the last
        clock.now += 5.0
        bar.report(10, 10)
    assert notebook[0].texts == [
        '<progress max="1" value="0.5"></progress> rows 50% about 5 s left',
        '<progress max="1" value="1"></progress> rows 100% about 1 s left',
        "",
    ]


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_what_ends_early_clears_the_bar(notebook, error):
    def work():
        with Bar(True) as bar:
            bar.report(1, 10)
            raise error

    with pytest.raises(error):
        work()
    assert notebook[0].texts[-1] == ""
    assert Bar(True).is_wanted


def test_a_shell_without_a_kernel_is_no_notebook(notebook, monkeypatch):
    monkeypatch.setattr(sys.modules["IPython"], "get_ipython", lambda: types.SimpleNamespace())
    assert progress.notebook_display() is None


def test_an_estimate_ends_the_bar_before_its_total(notebook, clock):
    with Bar(True) as bar:
        for step in range(1, 5):
            clock.now += 2.0
            bar.report(step, 1000, f"step {step}", left=lambda: 24.0)
    assert notebook[0].texts[-2] == '<progress max="1" value="0.25"></progress> step 4 25% about 24 s left'


def test_a_resumed_count_is_timed_from_where_it_began(notebook, clock):
    with Bar(True) as bar:
        for step in (501, 502):
            clock.now += 1.0
            bar.report(step, 512)
    assert notebook[0].texts[-2].endswith("about 10 s left")


def test_nothing_known_only_moves(notebook):
    with Bar(True) as bar:
        bar.report(3, None, "a < b")
    assert notebook[0].texts[0] == '<progress max="1"></progress> a &lt; b'


@pytest.mark.parametrize("rate", [0.5, 0.9, 0.99])
def test_a_geometric_trend_ends_where_the_series_does(rate):
    trend, goal, points = Trend(1e-8), 1e-8, 30
    for step in range(points):
        trend.add(0.25 * step, 7.0 * rate**step)
    last = (math.log(goal) - math.log(7.0)) / math.log(rate)
    assert trend.left() == pytest.approx(max(0.0, 0.25 * (last - points + 1)), rel=1e-9)


def test_a_linear_trend_ends_at_zero():
    trend = Trend(0.0)
    for second in range(11):
        trend.add(2.0 * second, 100.0 - 5.0 * second)
    assert trend.left() == pytest.approx(20.0)


def test_a_change_of_pace_is_noticed():
    """The second half of the series falls ten times faster than the first."""
    trend = Trend(1e-6)
    for step in range(20):
        trend.add(step, 0.99**step)
    for step in range(20, 60):
        trend.add(step, 0.99**20 * 0.9 ** (step - 20))
    assert trend.left() == pytest.approx((math.log(0.99**20 * 0.9**39) - math.log(1e-6)) / -math.log(0.9), rel=1e-6)


@pytest.mark.parametrize(
    "measures",
    [[], [1.0, 0.5], [1.0] * 9, [0.1, 0.2, 0.3, 0.4, 0.5], [math.inf] * 9, [math.nan] * 9, [0.0] * 9, [-1.0] * 9],
    ids=["none", "few", "constant", "rising", "infinite", "undefined", "zero", "negative"],
)
def test_no_trend_no_estimate(measures):
    for goal in (0.0, 1e-8):
        trend = Trend(goal)
        for second, measure in enumerate(measures):
            trend.add(second, measure)
        assert trend.left() is None


def test_a_trend_that_is_long_over_is_unknown():
    trend = Trend(0.0)
    for second in range(10):
        trend.add(second, 11.0 - second)
    assert [trend.left(now) for now in (9.0, 10.0, 12.0, 13.0)] == [2.0, 1.0, 0.0, None]


def test_steps_at_the_same_time_give_no_estimate():
    trend = Trend(1e-8)
    for measure in (1.0, 0.5, 0.25, 0.125, 0.0625):
        trend.add(3.0, measure)
    assert trend.left() is None


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.0, "about 1 s left"),
        (89.0, "about 89 s left"),
        (91.0, "about 2 min left"),
        (7200.0, "about 2 h left"),
        (3e5, "about 3 days left"),
        (math.inf, ""),
        (None, ""),
    ],
)
def test_times_in_words(seconds, words):
    assert Moment("x", None, seconds).time == words


def test_texts_are_not_markup():
    assert "<b>" not in html_bar(Moment("<b>", 0.5, 1.0))
    assert text_bar(Moment("<b>", None, None)) == "<b>"


def test_what_comes_before_the_steps_is_noted_by_the_bar_around_it(notebook, clock):
    Bar.note("no bar is there")
    with Bar(True) as bar, Bar(True, "inner"):
        Bar.note("start 1")
        clock.now += 10.0
        Bar.note("start 2")
        clock.now += 10.0
        bar.report(1, 2, "step 1")
    Bar.note("the bar is gone")
    assert notebook[0].texts[:2] == [html_bar(Moment("start 1", None, None)), html_bar(Moment("start 2", None, None))]
    assert "step 1 50%" in notebook[0].texts[2]
    assert len(notebook) == 1
