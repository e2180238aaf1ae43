"""Structures from tests of independence: PC with G tests on rows of ALARM and HEPAR2, at the same level."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import Any

from benchmarks.measure import Timing, measure
from benchmarks.report import Comparison, Report, seconds
from benchmarks.worker import Lab

ROOT = Path(__file__).resolve().parents[1]
CASES = {"ALARM": ("alarm_20000", 5_000), "HEPAR2": ("hepar2_20000", 20_000)}
LEVEL = 0.05
PATIENCE = 900.0  # seconds for a peer that needs minutes

Learned = tuple[Timing, list[tuple[str, str]]]


def folder() -> Path:
    """The folder of rows: `data/structure` in `SEPSET_SHARED`, or in `shared` next to the repository."""
    return Path(os.environ.get("SEPSET_SHARED", ROOT.parent / "shared")) / "data" / "structure"


@lru_cache(maxsize=2)
def frame_of(name: str) -> Any:
    """The first rows of a file as a pandas frame of categories, without constant columns."""
    import pandas as pd

    file, rows = CASES[name]
    frame = pd.read_csv(folder() / f"{file}.csv.gz", dtype=str).iloc[:rows]
    return frame.loc[:, frame.nunique() > 1].astype("category")


def learn_sepset(name: str) -> Learned:
    from sepset.learning.structure.columns import Columns
    from sepset.learning.structure.learned import StructureTask
    from sepset.learning.structure.skeletons.pc import PC

    task = StructureTask(Columns.of(frame_of(name)))
    method = PC(level=LEVEL)
    found = method.learn(task)
    edges = [(min(edge), max(edge)) for edge in found.graph.edges]
    return measure(lambda: method.learn(task)), sorted(edges)


def code_sepset(name: str) -> Timing:
    from sepset.learning.structure.columns import Columns

    frame = frame_of(name)
    return measure(lambda: Columns.of(frame))


def learn_pyagrum(name: str) -> Learned:
    import pyagrum as gum

    gum.setNumberOfThreads(1)
    frame = frame_of(name).astype(str)
    found: list[Any] = []
    learner = gum.BNLearner(frame)
    learner.setNumberOfThreads(1)
    learner.usePC()
    learner.useG2Test()
    learner.setPCAlpha(LEVEL)
    learner.setPCStable(True)
    timing = measure(lambda: found.append(learner.learnPDAG()))
    pairs = [*found[-1].arcs(), *found[-1].edges()]
    edges = [sorted((learner.nameFromId(a), learner.nameFromId(b))) for a, b in pairs]
    return timing, sorted((a, b) for a, b in edges)


def learn_causallearn(name: str) -> Learned:
    """It takes an array of codes, which is made before."""
    import numpy as np
    from causallearn.search.ConstraintBased.PC import pc

    frame = frame_of(name)
    codes = np.column_stack([column.cat.codes for _, column in frame.items()])
    found: list[Any] = []
    timing = measure(lambda: found.append(pc(codes, LEVEL, "gsq", stable=True, show_progress=False, verbose=False)))
    names = list(frame.columns)
    edges = [sorted((names[a], names[b])) for a, b in np.argwhere(np.triu(found[-1].G.graph != 0)).tolist()]
    return timing, sorted((a, b) for a, b in edges)


def compared(lab: Lab, name: str) -> list[Comparison]:
    """The times of learning, of coding, and whether the edges are the same."""
    ours = lab.ask("sepset", learn_sepset, name)
    agrum = lab.ask("pyagrum", learn_pyagrum, name, limit=PATIENCE)
    causal = lab.ask("causallearn", learn_causallearn, name, limit=PATIENCE)
    case = f"{name}, {CASES[name][1]:,} rows"
    head = f"PC on {CASES[name][1]:,} rows of {name}" if name == "HEPAR2" else ""
    same = "" if isinstance(causal, str) or isinstance(ours, str) else "equal" if causal[1] == ours[1] else "different"
    return [
        Comparison(case, _time(ours), {"pyagrum": _time(agrum)}, target="3x", headline=head),
        Comparison(case, _time(ours), {"causallearn": _time(causal)}, target="20x"),
        Comparison(f"{case}: skeleton against causal-learn's", same or "no peer"),
        Comparison(f"{case}: coding", seconds(lab.ask("sepset", code_sepset, name))),
    ]


def _time(outcome: Learned | str) -> float | str:
    return outcome if isinstance(outcome, str) else seconds(outcome[0])


def run(lab: Lab) -> list[Report]:
    """One table: PC with the G test."""
    names = list(CASES)[:1] if lab.quick else list(CASES)
    rows = [one for name in lab.wanted(names) for one in compared(lab, name)]
    note = (
        f"The order-independent PC algorithm with G tests at level {LEVEL}, degrees of freedom by the states that "
        "occur, from codes to a graph with directions. pyAgrum has another rule for degrees of freedom, and finds "
        "other edges."
    )
    return [Report("Structures from tests of independence", rows, note, has_mean=False)]
