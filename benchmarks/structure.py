"""Hill climbing by BIC on common rows: time against pyAgrum's, and scores against published ones of bnlearn in R."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import Any

from benchmarks.measure import Timing, measure
from benchmarks.report import Comparison, Figure, Report, seconds
from benchmarks.worker import Lab

ROOT = Path(__file__).resolve().parents[1]
ROWS = Path(os.environ.get("SEPSET_SHARED", ROOT.parent / "shared")) / "data" / "structure"
PATIENCE = 900.0
LARGE = 1_000_000
CASES = {  # the ratio that is our goal, and the score of plain hill climbing by bnlearn 4.9.4
    "alarm_20000": ("10x", -211452.3),
    "hailfinder_5000": ("5x", -251607.3),
    "insurance_5000": ("", -68209.2),
    "hepar2_20000": ("", -651021.7),
    "andes_5000": ("10x", -468211.4),
    "link_2000": ("10x", None),
    "pigs_5000": ("10x", -1674695.8),
}
MOST = {"alarm_20000": "210400", "pigs_5000": "1674534"}  # of the default method; the true graph of ALARM has 210349.6


@lru_cache(maxsize=1)
def frame_of(case: str) -> Any:
    """The rows as a pandas frame of categories, constant columns dropped."""
    import pandas as pd

    if case == "alarm_1000000":
        import sepset as ss

        return ss.datasets.load("alarm").sample(LARGE, seed=0).to_frame("pandas")
    frame = pd.read_csv(ROWS / f"{case}.csv.gz", dtype=str, keep_default_na=False)
    return frame.loc[:, frame.nunique() > 1].astype("category")


def dataset_of(case: str) -> Any:
    """The rows, coded."""
    import sepset as ss

    return ss.Dataset(frame_of(case))


def climb_sepset(case: str) -> tuple[Timing, float]:
    """The time of plain hill climbing from coded rows, and its score."""
    import sepset as ss

    data = dataset_of(case)
    ss.learn_structure(data[:500], method=ss.HillClimb(), score=ss.BIC(), until=3, threads=1)
    found: list[Any] = []
    timing = measure(lambda: found.append(ss.learn_structure(data, method=ss.HillClimb(), score=ss.BIC(), threads=1)))
    return timing, found[-1].score


def climb_pyagrum(case: str) -> tuple[Timing, float]:
    """The time of its greedy hill climbing from loaded rows, and the score of its graph as we compute it."""
    import pyagrum as gum

    import sepset as ss

    frame = frame_of(case)

    def learner() -> Any:
        made = gum.BNLearner(frame)
        made.setNumberOfThreads(1)
        made.useScoreBIC()
        made.useNoPrior()
        made.useGreedyHillClimbing()
        return made

    prepared, graphs = learner(), []
    timing = measure(lambda: graphs.append(prepared.learnDAG()))
    edges = [(prepared.nameFromId(a), prepared.nameFromId(b)) for a, b in graphs[-1].arcs()]
    graph = ss.DAG(list(frame.columns), edges)
    return timing, ss.structure.score(graph, dataset_of(case), score=ss.BIC()).total


def default_score(case: str) -> tuple[Timing, float]:
    """The time and score of the default method."""
    import sepset as ss

    data = dataset_of(case)
    found: list[Any] = []
    timing = measure(lambda: found.append(ss.learn_structure(data, score=ss.BIC(), threads=1)))
    return timing, found[-1].score


def coding(case: str) -> Timing:
    frame_of(case)
    return measure(lambda: dataset_of(case))


def _time(outcome: Any) -> Figure:
    return seconds(outcome[0] if isinstance(outcome, tuple) else outcome)


def _score(outcome: Any) -> Figure:
    return -outcome[1] if isinstance(outcome, tuple) else str(outcome)


def run(lab: Lab) -> list[Report]:
    """The tables of this suite."""
    names = [name for name in CASES if (ROWS / f"{name}.csv.gz").is_file()]
    names += [] if lab.quick else ["alarm_1000000"]
    names = [name for name in names if not lab.only or name.startswith(lab.only)]
    times, scores, defaults, codings = [], [], [], []
    for name in names:
        lab.progress(name)
        goal, published = CASES.get(name, ("10x", None))
        ours = lab.ask("sepset", climb_sepset, name, limit=PATIENCE)
        theirs = lab.ask("pyagrum", climb_pyagrum, name, limit=PATIENCE)
        best = lab.ask("sepset", default_score, name, limit=PATIENCE)
        times.append(Comparison(name, _time(ours), {"pyagrum": _time(theirs)}, target=goal))
        peers = {"pyagrum": _score(theirs), **({} if published is None else {"bnlearn (published)": -published})}
        scores.append(Comparison(name, _score(ours), peers, kind="score"))
        case, most = f"{name}, default method", MOST.get(name, "")
        defaults.append(Comparison(case, _score(best), {"pyagrum": _score(theirs)}, kind="score", target=most))
        times.append(Comparison(case, _time(best), {"pyagrum": _time(theirs)}))
        codings.append(Comparison(name, seconds(lab.ask("sepset", coding, name)), {}))
    note = "One thread. Rows are coded (ours) and loaded (pyAgrum's) before; the time of that is in the last table."
    return [
        Report("Hill climbing by BIC", times, note),
        Report(
            "Minus the score in nats: smaller is better",
            [*scores, *defaults],
            "Equal rows, natural logarithms.",
            has_mean=False,
        ),
        Report("Coding the rows of a frame of categories", codings, has_mean=False),
    ]
