"""Progress bars appear in terminals if the computation is long, or on request."""

from __future__ import annotations

from sepset.base import progress
from sepset.base.progress import Bar


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
