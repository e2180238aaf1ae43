"""Structures by score: greedy equivalence search on a thousand columns, its growth, and searches compared on ALARM."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from benchmarks import networks
from benchmarks.measure import Timing, measure
from benchmarks.report import RESULTS, Comparison, Report, seconds
from benchmarks.structuretests import folder
from benchmarks.worker import Lab

SEED = 0
DEGREE = 3.0
LARGE = (1_000, 10_000)
GROWTH = ((125, 10_000), (250, 10_000), (500, 10_000), (250, 2_500), (250, 5_000), (250, 20_000))
PATIENCE = 900.0
ROWS = 5_000
METHODS: dict[str, Callable[[Any], Any]] = {
    "HillClimb()": lambda structure: structure.HillClimb(),
    "FirstAscent()": lambda structure: structure.FirstAscent(),
    "Annealing()": lambda structure: structure.Annealing(),
    "HillClimb(tabu=20)": lambda structure: structure.HillClimb(tabu=20),
    "DataPerturbation()": lambda structure: structure.DataPerturbation(),
    "GES()": lambda structure: structure.GES(),
    "OBS()": lambda structure: structure.OBS(),
    "OptimalReinsertion()": lambda structure: structure.OptimalReinsertion(),
    "BOSS()": lambda structure: structure.BOSS(),
    "BOSS(5)": lambda structure: structure.BOSS(5),
}

Scored = tuple[Timing, float, float]


@lru_cache(maxsize=1)
def sampled(num_columns: int, num_rows: int) -> Any:
    """Rows of a random network: mean degree 3, two to four states, rows of CPDs uniform on the simplex."""
    import numpy as np

    import sepset as ss

    rng = np.random.default_rng(SEED)
    cards = rng.integers(2, 5, num_columns)
    order = rng.permutation(num_columns)
    edges: set[tuple[int, int]] = set()
    while len(edges) < int(num_columns * DEGREE / 2):
        a, b = sorted(rng.choice(num_columns, 2, replace=False).tolist())
        edges.add((a, b))
    codes = np.empty((num_columns, num_rows), np.int64)
    for place, column in enumerate(order.tolist()):
        parents = [int(order[a]) for a, b in sorted(edges) if b == place]
        context = np.zeros(num_rows, np.int64)
        for parent in parents:
            context = context * cards[parent] + codes[parent]
        table = rng.dirichlet(np.ones(cards[column]), int(np.prod(cards[parents]))).cumsum(1)
        drawn = (rng.random(num_rows)[:, None] > table[context]).sum(1)
        codes[column] = np.minimum(drawn, cards[column] - 1)
    return ss.Dataset({f"v{k}": codes[k] for k in range(num_columns)})


def greedy_classes(num_columns: int, num_rows: int) -> Scored:
    """The time, the score, and the largest memory of the process in GB."""
    import resource

    import sepset as ss

    data, found = sampled(num_columns, num_rows), list[Any]()
    timing = measure(lambda: found.append(ss.learn_structure(data, method=ss.GES(), threads=1)))
    return timing, found[-1].score, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0


@lru_cache(maxsize=1)
def alarm() -> Any:
    """The first rows of ALARM."""
    import pandas as pd

    import sepset as ss

    frame = pd.read_csv(folder() / "alarm_20000.csv.gz", dtype=str, keep_default_na=False).iloc[:ROWS]
    return ss.Dataset(frame.loc[:, frame.nunique() > 1])


def search(method: str) -> Scored:
    """The time, the score, and how far it is below that of the true structure."""
    import sepset as ss

    chosen, found = METHODS[method](ss.structure), list[Any]()
    data = alarm()
    truth = ss.structure.score(networks.load(networks.paths()["alarm"]).dag, data).total
    timing = measure(lambda: found.append(ss.learn_structure(data, method=chosen, threads=1)))
    return timing, found[-1].score, truth - found[-1].score


def plot_growth(seconds_of: Mapping[tuple[int, int], float], path: Path) -> None:
    """A picture of seconds by columns, of 10,000 rows each, and by rows, of 250 columns each, on logarithmic axes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 3), layout="constrained")
    panels = {"columns (10,000 rows)": (1, 10_000, 0), "rows (250 columns)": (0, 250, 1)}
    for axes, (label, (fixed, value, free)) in zip(figure.subplots(1, 2), panels.items(), strict=True):
        points = sorted((size[free], time) for size, time in seconds_of.items() if size[fixed] == value)
        axes.loglog(*zip(*points, strict=True), "o-")
        axes.set(xlabel=label, ylabel="seconds")
    figure.suptitle("Greedy equivalence search")
    figure.savefig(path)


def run(lab: Lab) -> list[Report]:
    """Two tables: greedy equivalence search by size, and searches by score and time."""
    sizes = GROWTH[:1] if lab.quick else (*GROWTH, LARGE)
    grown, searched, times = [], [], dict[tuple[int, int], float]()
    for columns, rows in sizes:
        found = lab.ask("sepset", greedy_classes, columns, rows, limit=PATIENCE)
        case, is_large = f"{columns:,} columns, {rows:,} rows", (columns, rows) == LARGE
        time, memory = (found, found) if isinstance(found, str) else (seconds(found[0]), found[2])
        if not isinstance(time, str):
            times[columns, rows] = time
        head = "GES, 1,000 columns of 10,000 rows" if is_large else ""
        grown.append(Comparison(case, time, target="180 s" if is_large else "", headline=head))
        if is_large:
            grown.append(Comparison(f"{case}: memory", memory, kind="B", target="2 GB"))
    for method in list(METHODS)[:3] if lab.quick else METHODS:
        found = lab.ask("sepset", search, method, limit=PATIENCE)
        score = "" if isinstance(found, str) else f": score {found[1]:.1f}, {found[2]:+.1f} below the true structure"
        searched.append(Comparison(method + score, found if isinstance(found, str) else seconds(found[0])))
    if len(times) == len(GROWTH) + 1 and not lab.only:
        plot_growth(times, RESULTS / "structuresearch.svg")
    note = "A random network of mean degree 3 with two to four states; BIC; from coded columns to the class."
    return [
        Report("Greedy equivalence search", grown, f"{note} structuresearch.svg plots it.", has_mean=False),
        Report(f"Searches for the structure of ALARM, {ROWS:,} rows", searched, "BIC.", has_mean=False),
    ]
