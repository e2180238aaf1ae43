"""Tables of comparisons: in the terminal, as small text files, and in the README. Peers' wins are shown like ours."""

from __future__ import annotations

import math
import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich import box
from rich.table import Table as RichTable
from rich.text import Text

from benchmarks.measure import CLOCK, Timing
from benchmarks.worker import Outcome

RESULTS = Path(__file__).parent / "results"
README = Path(__file__).resolve().parents[1] / "README.md"
START, END = "<!-- bench:start -->", "<!-- bench:end -->"
HEADLINES = "## In short"
README_HEADER = ("| | sepset | best peer | ratio |", "|---|---:|---:|---:|")

Figure = float | str
"""A number, or why there is none."""


def seconds(outcome: Outcome) -> Figure:
    """The best run's time, or why there is none."""
    return outcome.best if isinstance(outcome, Timing) else outcome


@dataclass(frozen=True)
class Comparison:
    """One case: our figure and each peer's; smaller is better.

    Attributes:
        kind: "s" for seconds, "B" for bytes, "entries" for table entries, "ns" for nanoseconds, "error" for a
            difference, "score" for minus a score, "number" for any other number.
        target: our goal, as text.
        headline: the name of this case in the README; empty to leave it out.
    """

    case: str
    ours: Figure
    peers: Mapping[str, Figure] = field(default_factory=dict)
    kind: str = "s"
    target: str = ""
    headline: str = ""

    @property
    def best(self) -> tuple[str, float] | None:
        """The best peer and its figure."""
        known = [(value, name) for name, value in self.peers.items() if not isinstance(value, str)]
        return (min(known)[1], min(known)[0]) if known else None

    @property
    def ratio(self) -> float | None:
        """The best peer's figure divided by ours: above one we are ahead; none of scores that are not positive."""
        if self.best is None or isinstance(self.ours, str):
            return None
        if self.kind == "score" and min(self.best[1], self.ours) <= 0.0:
            return None
        return self.best[1] / max(self.ours, 1e-12)


@dataclass(frozen=True)
class Report:
    """One table of a suite.

    Attributes:
        goals: our goals for the smallest ratio and the geometric mean.
        floor: a case whose best peer needs less than this counts in the mean, not in the smallest ratio; None to leave
            the smallest ratio out.
        has_mean: whether the geometric mean of the ratios is meaningful.
        versus: the name of the ratio.
        headline: the name in the README of the geometric mean of this table; empty to leave it out.
    """

    title: str
    comparisons: Sequence[Comparison]
    note: str = ""
    goals: tuple[str, str] = ("", "")
    floor: float | None = None
    has_mean: bool = True
    versus: str = "best peer / sepset"
    headline: str = ""

    @property
    def columns(self) -> list[str]:
        """The peers that appear, in order of appearance."""
        return list(dict.fromkeys(name for one in self.comparisons for name in one.peers))

    def rows(self) -> list[list[str]]:
        """All cells as text, a header first, the smallest ratio and the geometric mean last if there are several."""
        header = ["", "sepset", *self.columns, self.versus, "target"]
        body = [self._row(one) for one in self.comparisons]
        ratios = self.ratios
        blank = ["" for _ in self.columns]
        if self.worst is not None:
            which = f" where the best peer needs over {shown(self.floor, 's')}" if self.floor else ""
            label = f"least of {self.num_counted}{which}: {self.worst[0]}"
            body.append([label, "", *blank, ratio_text(self.worst[1]), self.goals[0]])
        if len(ratios) > 1 and self.has_mean:
            body.append(["geometric mean", "", *blank, ratio_text(geometric_mean(ratios)), self.goals[1]])
        keep = [i for i in range(len(header)) if i < 2 or any(row[i] for row in body)]
        return [[row[i] for i in keep] for row in [header, *body]]

    @property
    def ratios(self) -> list[float]:
        """The ratios of all cases that have one."""
        return [one.ratio for one in self.comparisons if one.ratio is not None]

    @property
    def _counted(self) -> list[Comparison]:
        """The cases that count for the smallest ratio."""
        return [one for one in self.comparisons if one.best is not None and one.best[1] > (self.floor or 0.0)]

    @property
    def num_counted(self) -> int:
        """The number of cases with a peer's figure above the floor."""
        return len(self._counted)

    @property
    def worst(self) -> tuple[str, float] | None:
        """The case with the smallest ratio, among those whose best peer is above the floor; zero if we have none."""
        ratios = [(one.ratio or 0.0, one.case) for one in self._counted]
        return (min(ratios)[1], min(ratios)[0]) if ratios and self.floor is not None else None

    def _row(self, one: Comparison) -> list[str]:
        peers = [shown(one.peers[name], one.kind) if name in one.peers else "" for name in self.columns]
        return [one.case, shown(one.ours, one.kind), *peers, ratio_text(one.ratio), one.target]

    @property
    def failures(self) -> list[str]:
        """The failures and their reasons, so that a failure is not mistaken for slowness."""
        figures = [(one.case, {"sepset": one.ours, **one.peers}) for one in self.comparisons]
        return [
            f"{case}, {name}: {figure}"
            for case, row in figures
            for name, figure in row.items()
            if isinstance(figure, str) and figure.startswith("failed")
        ]

    def markdown(self) -> str:
        """The table as text."""
        header, *body = self.rows()
        lines = ["| " + " | ".join(row) + " |" for row in (header, *body)]
        rule = "|---|" + "---:|" * (len(header) - 1)
        note = [" ".join([self.note, *(f"{failure}." for failure in self.failures)]).strip(), ""]
        return "\n".join([f"## {self.title}", "", *note, lines[0], rule, *lines[1:], ""])

    def __rich__(self) -> RichTable:
        header, *body = self.rows()
        table = RichTable(
            title=self.title, caption="\n".join([self.note, *self.failures]), box=box.SIMPLE_HEAD, title_justify="left"
        )
        for i, name in enumerate(header):
            table.add_column(name, justify="left" if i == 0 else "right")
        place = header.index(self.versus) if self.versus in header else -1
        for row in body:
            table.add_row(*(colored(text) if i == place else text for i, text in enumerate(row)))
        return table


def shown(figure: Figure, kind: str) -> str:
    """A figure as text with its unit.

    >>> shown(0.00042, "s"), shown(3.4e6, "B"), shown(13_900_000, "entries"), shown("not installed", "s")
    ('420 µs', '3.4 MB', '1.39e+07', 'not installed')
    """
    if isinstance(figure, str):
        return figure.partition(":")[0]
    if kind == "number":
        return f"{figure:.4g}"
    if kind == "score":
        return f"{figure:,.1f}"
    if kind == "entries":
        return f"{figure:,.0f}" if figure < 1e6 else f"{figure:.3g}"
    if kind in ("ns", "error"):
        return f"{figure:.2g} ns" if kind == "ns" else f"{figure:.1e}"
    if kind == "B":
        return f"{figure / 1e6:.3g} MB" if figure < 1e9 else f"{figure / 1e9:.3g} GB"
    for scale, unit in ((1.0, "s"), (1e-3, "ms")):
        if figure >= scale:
            return f"{figure / scale:.3g} {unit}"
    return f"{figure / 1e-6:.3g} µs"


def ratio_text(ratio: float | None) -> str:
    """A ratio as text; empty if there is none.

    >>> ratio_text(20.04), ratio_text(0.312), ratio_text(None)
    ('20x', '0.31x', '')
    """
    return "" if ratio is None else f"{ratio:.0f}x" if ratio >= 10 else f"{ratio:.2g}x"


def geometric_mean(ratios: Sequence[float]) -> float:
    """The geometric mean, which treats 2x and 0.5x symmetrically."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def colored(text: str) -> Text:
    """The text in green if we are ahead, in red if a peer is."""
    value = float(text.removesuffix("x")) if text else 1.0
    return Text(text, style="green" if value > 1 else "red" if value < 1 else "")


def machine() -> str:
    """A description of the machine and the clock, for the reader of a result."""
    clock = "CPU seconds" if os.environ.get(CLOCK) == "cpu" else "seconds on the wall clock"
    load = os.getloadavg()[0]
    busy = "; other work was running" if load > (os.cpu_count() or 1) else ""
    return (
        f"One thread each, best run, {clock}. {platform.machine()}, {os.cpu_count()} cores, "
        f"Python {platform.python_version()}, load {load:.1f}{busy}."
    )


def write_results(suite: str, reports: Iterable[Report]) -> Path:
    """Write a suite's tables as text, with the rows for the README."""
    parts = list(reports)
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{suite}.md"
    legend = "Ratios are the best peer's figure divided by ours: above 1 sepset is ahead, below 1 the peer is."
    body = "\n".join(part.markdown() for part in parts)
    lines = [headline_row(one) for part in parts for one in part.comparisons if one.headline]
    lines += [mean_row(part) for part in parts if part.headline and part.ratios]
    headlines = "\n".join([HEADLINES, "", *README_HEADER, *lines, ""]) if lines else ""
    path.write_text(f"# {suite}\n\n{machine()} {legend}\n\n{body}\n{headlines}", encoding="utf-8")
    return path


def headline_row(one: Comparison) -> str:
    """One row of the README's table."""
    missing = "; ".join(f"{name}: {why}" for name, why in one.peers.items()) or "no peer was run"
    best = missing if one.best is None else f"{shown(one.best[1], one.kind)} ({one.best[0]})"
    return f"| {one.headline} | {shown(one.ours, one.kind)} | {best} | {ratio_text(one.ratio)} |"


def mean_row(part: Report) -> str:
    """A table's geometric mean as a row of the README's table, with the smallest ratio."""
    least = "" if part.worst is None else f"; least {ratio_text(part.worst[1])}, {part.worst[0]}"
    label = f"{part.headline}, geometric mean of {len(part.ratios)}{least}"
    return f"| {label} | | | {ratio_text(geometric_mean(part.ratios))} |"


def fill_readme(suites: Sequence[str], readme: Path = README) -> None:
    """Write the headline rows of all suites between the README's two markers."""
    rows = [row for suite in suites for row in _kept(RESULTS / f"{suite}.md")]
    text = readme.read_text(encoding="utf-8") if readme.is_file() else ""
    if not rows or START not in text or END not in text:
        return
    before, after = text.split(START)[0], text.split(END)[1]
    source = "One thread each; ratio = best peer / sepset. Every case, with clock and load, is in `benchmarks/results`."
    table = "\n".join((*README_HEADER, *rows))
    readme.write_text(f"{before}{START}\n{table}\n\n{source}\n{END}{after}", encoding="utf-8")


def _kept(path: Path) -> list[str]:
    if not path.is_file():
        return []
    section = path.read_text(encoding="utf-8").partition(HEADLINES)[2]
    return [line for line in section.splitlines() if line.startswith("| ") and line not in README_HEADER]
