"""The benchmarks' own arithmetic: ratios, missing peers, limits, and what reaches the README."""

from __future__ import annotations

import time

import pytest

report = pytest.importorskip("benchmarks.report")
measure = pytest.importorskip("benchmarks.measure")
worker = pytest.importorskip("benchmarks.worker")


def test_the_ratio_is_against_the_best_peer():
    row = report.Comparison("case", 2.0, {"slow": 40.0, "quick": 1.0, "absent": "not installed"})
    assert row.best == ("quick", 1.0)
    assert row.ratio == 0.5
    assert report.ratio_text(row.ratio) == "0.5x"


@pytest.mark.parametrize(("ours", "peers"), [(1.0, {}), (1.0, {"peer": "over 60 s"}), ("failed: why", {"peer": 1.0})])
def test_no_ratio_without_both_figures(ours, peers):
    assert report.Comparison("case", ours, peers).ratio is None


def test_losses_and_failures_are_shown_like_wins():
    lost = report.Comparison("lost", 2.0, {"peer": 1.0, "other": "failed: ValueError because"})
    won = report.Comparison("won", 1.0, {"peer": 8.0, "other": "not installed"})
    text = report.Report("Title", [lost, won]).markdown()
    assert "| lost | 2 s | 1 s | failed | 0.5x |" in text
    assert "| won | 1 s | 8 s | not installed | 8x |" in text
    assert "| geometric mean |  |  |  | 2x |" in text
    assert "lost, other: failed: ValueError because" in text


@pytest.mark.parametrize(
    ("figure", "kind", "expected"),
    [
        (0.5, "s", "500 ms"),
        (12.34, "s", "12.3 s"),
        (2e-6, "s", "2 µs"),
        (2e8, "B", "200 MB"),
        (996.0, "entries", "996"),
    ],
)
def test_figures_for_people(figure, kind, expected):
    assert report.shown(figure, kind) == expected


def test_the_readme_keeps_its_text_and_gets_the_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    row = report.Comparison("case", 1.0, {"peer": 3.0}, headline="a job")
    hidden = report.Comparison("other", 1.0, {"peer": 3.0})
    report.write_results("suite", [report.Report("Title", [row, hidden])])
    readme = tmp_path / "README.md"
    readme.write_text(f"before\n{report.START}\nold\n{report.END}\nafter\n", encoding="utf-8")
    for _ in range(2):
        report.fill_readme(["suite", "never run"], readme)
    text = readme.read_text(encoding="utf-8")
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")
    assert "old" not in text
    assert text.count("| a job | 1 s | 3 s (peer) | 3x |") == 1


def test_a_timing_is_the_best_of_several_runs():
    timing = measure.measure(lambda: time.sleep(0.01), seconds=0.05)
    assert timing.runs >= 3
    assert 0.009 < timing.best <= timing.median < 1.0


def test_workers_are_stopped_and_started_again():
    lab = worker.Lab(limit=0.5)
    try:
        assert lab.ask("no_such_library", time.sleep, 0) == "not installed"
        assert lab.ask("json", time.sleep, 60) == "over 0.5 s"
        lab.limit = 30.0
        assert lab.ask("json", time.sleep, 0) is None
        assert lab.ask("json", int, "x").startswith("failed: ValueError")
    finally:
        lab.close()


def test_the_least_ratio_is_among_cases_above_the_floor_and_names_its_case():
    rows = [
        report.Comparison("tiny", 1.0, {"peer": 0.0005}),
        report.Comparison("good", 1.0, {"peer": 8.0}),
        report.Comparison("weak", 1.0, {"peer": 2.0}),
    ]
    found = report.Report("Title", rows, goals=("3x", "20x"), floor=0.001)
    assert found.worst == ("weak", 2.0)
    assert "| least of 2 where the best peer needs over 1 ms: weak |  |  | 2x | 3x |" in found.markdown()
    assert "| geometric mean |  |  | 0.2x | 20x |" in found.markdown()


def test_what_we_do_not_finish_is_the_least():
    rows = [report.Comparison("good", 1.0, {"peer": 8.0}), report.Comparison("ours failed", "over 1 s", {"peer": 8.0})]
    assert report.Report("Title", rows, floor=0.0).worst == ("ours failed", 0.0)


def test_only_the_cases_asked_for():
    lab = worker.Lab(only=["munin", "alarm"])
    told = []
    lab.progress = told.append
    assert list(lab.wanted(["alarm", "asia", "munin", "munin1"])) == ["alarm", "munin", "munin1"] == told
    assert list(worker.Lab().wanted(["asia"])) == ["asia"]


@pytest.mark.parametrize(("printed", "expected"), [("-38.5556", 5e-5), ("303.086", 5e-4), ("-3.16462", 5e-6)])
def test_half_a_unit_in_the_last_printed_place(printed, expected):
    instances = pytest.importorskip("benchmarks.instances")
    assert instances.last_place(printed) == pytest.approx(expected)
