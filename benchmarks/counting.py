"""Parameters of ALARM from complete rows: frames in memory, codes, and a Parquet file that need not fit in memory."""

from __future__ import annotations

import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any

from benchmarks.measure import Timing, measure, now, peak_memory
from benchmarks.report import Comparison, Report, seconds
from benchmarks.worker import Lab

SIZES = (20_000, 200_000, 1_000_000)
KINDS = ("categorical", "str", "one object per state", "one object per cell")
SEPARATE = 200_000  # rows up to which each cell has its own string: a million would take gigabytes
CHUNK = 1_000_000
ROW_GROUP = 250_000
FILE_ROWS, LONG_FILE_ROWS = 4_000_000, 50_000_000
CLUSTER_ROWS, LONG_CLUSTER_ROWS = 4_000_000, 50_000_000
MEMORY = 2 << 30
SAMPLE = 2  # chunks of the file that are also counted in memory
PATIENCE = 1800.0  # seconds for a file that is written, or counted, once


def _alarm() -> Any:
    import sepset as ss

    return ss.datasets.load("alarm")


@lru_cache(maxsize=2)
def frame_of(rows: int, kind: str) -> Any:
    """Rows of ALARM as a pandas frame: categories, pandas' own strings, or Python strings, shared by cells or not.

    Sharing of objects between cells determines how fast they are coded, so both extremes are measured.
    """
    frame = _alarm().sample(rows, seed=0).to_frame("pandas")
    if kind == "categorical":
        return frame
    if kind == "str":
        return frame.astype("str")
    if kind == "one object per cell":
        cells = {name: [str(state).encode().decode() for state in column] for name, column in frame.items()}
        return type(frame)(cells, dtype=object)
    return frame.astype(object)


def fit_sepset(rows: int, kind: str) -> Timing:
    from sepset.api.learning import fit
    from sepset.learning.estimation.estimators import MLE

    frame, model, method = frame_of(rows, kind), _alarm(), MLE(unseen="uniform")
    fit(model, frame, method)
    return measure(lambda: fit(model, frame, method))


def fit_pgmpy(rows: int, kind: str) -> Timing:
    from pgmpy.models import DiscreteBayesianNetwork

    frame, model = frame_of(rows, kind), _alarm()
    bare = DiscreteBayesianNetwork()
    bare.add_nodes_from(model.variables.names)
    bare.add_edges_from((parent.name, cpd.child.name) for cpd in model.cpds for parent in cpd.parents)
    return measure(lambda: bare.copy().fit(frame))


def fit_pyagrum(rows: int, kind: str) -> Timing:
    """With a prior of one case per row of a table: without one, pyAgrum rejects contexts that never occur."""
    import pyagrum as gum

    gum.setNumberOfThreads(1)
    frame, model = frame_of(rows, kind), _alarm()
    bare = gum.BayesNet()
    for cpd in model.cpds:
        bare.add(gum.LabelizedVariable(cpd.child.name, "", [str(state) for state in cpd.child.states]))
    for cpd in model.cpds:
        for parent in cpd.parents:
            bare.addArc(parent.name, cpd.child.name)

    def learn() -> object:
        learner = gum.BNLearner(frame, bare)
        learner.setNumberOfThreads(1)
        learner.useSmoothingPrior(1)
        return learner.learnParameters(bare.dag())

    return measure(learn)


def fit_pomegranate(rows: int, kind: str) -> Timing:
    """It takes a tensor of codes, which is made from the frame's columns."""
    import numpy as np
    import torch
    from pomegranate.bayesian_network import BayesianNetwork

    torch.set_num_threads(1)
    frame, model = frame_of(rows, kind), _alarm()
    place = {name: k for k, name in enumerate(model.variables.names)}
    parents = {cpd.child.name: tuple(place[p.name] for p in cpd.parents) for cpd in model.cpds}
    structure = tuple(parents[name] for name in place)

    def learn() -> object:
        codes = [frame[name].astype("category").cat.codes.to_numpy() for name in place]
        rows = torch.from_numpy(np.stack(codes, axis=1).astype(np.int64))
        return BayesianNetwork(structure=structure).fit(rows)

    return measure(learn)


PEERS = {"pgmpy": fit_pgmpy, "pyagrum": fit_pyagrum, "pomegranate": fit_pomegranate}


def compared(lab: Lab, rows: int, kind: str) -> Comparison:
    case = f"ALARM, {rows:,} rows, {kind}"
    lab.progress(case)
    peers = {name: seconds(lab.ask(name, fit, rows, kind, limit=PATIENCE)) for name, fit in PEERS.items()}
    is_headline = kind == "categorical" and rows == max(SIZES)
    headline = f"fit ALARM's tables to {rows:,} rows of a pandas frame" if is_headline else ""
    target = "10x" if kind == "categorical" else "1x"
    return Comparison(case, seconds(lab.ask("sepset", fit_sepset, rows, kind)), peers, target=target, headline=headline)


def count_codes(rows: int) -> Timing:
    from sepset.data.counts import Counts

    model = _alarm()
    data = model.sample(rows, seed=0)
    Counts.of(data, model.cpds)
    return measure(lambda: Counts.of(data, model.cpds))


def count_columns(rows: int) -> Timing:
    """One `numpy.bincount` per column: no families, only a lower bound for their time."""
    import numpy as np

    model = _alarm()
    data = model.sample(rows, seed=0)
    columns = [data.codes(variable) for variable in model.variables]
    return measure(lambda: [np.bincount(column) for column in columns])


def coded(lab: Lab, rows: int) -> Comparison:
    floor = {"numpy": seconds(lab.ask("numpy", count_columns, rows))}
    return Comparison(f"ALARM, {rows:,} rows", seconds(lab.ask("sepset", count_codes, rows)), floor, target="0.5x")


def file_of(rows: int) -> Path:
    """A Parquet file of ALARM's rows with dictionary columns, written once in chunks and kept with temporary files."""
    path = Path(tempfile.gettempdir()) / f"sepset-bench-alarm-{rows}.parquet"
    if path.is_file():
        return path
    from pyarrow import parquet

    partial = path.with_suffix(".partial")
    first = _alarm().sample(1, seed=0).to_frame("pyarrow")
    with parquet.ParquetWriter(partial, first.schema) as writer:
        for chunk in range(rows // CHUNK):
            table = _alarm().sample(CHUNK, seed=chunk).to_frame("pyarrow")
            writer.write_table(table, row_group_size=ROW_GROUP)
    partial.rename(path)
    return path


def write_file(rows: int) -> float:
    return float(file_of(rows).stat().st_size)


def count_file(rows: int) -> tuple[Timing, list[Any]]:
    """DuckDB in a separate process; its peak memory shows whether rows were read into memory."""
    from sepset.data.counts import Counts

    path, model = file_of(rows), _alarm()
    start = now()
    counts = Counts.of(path, model.cpds)
    taken = now() - start
    assert counts.num_rows == rows
    return Timing(taken, taken, 1, peak_memory()), list(counts.tables)


def count_cluster(rows: int) -> tuple[Timing, list[Any]]:
    """The same call on a Dask frame, with two workers in separate processes."""
    import multiprocessing
    import time

    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    from sepset.data.counts import Counts

    multiprocessing.current_process()._config["daemon"] = False  # type: ignore[attr-defined]  # it may have children
    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None, "memory_limit": MEMORY}
    with LocalCluster(**settings) as cluster, Client(cluster):
        frame = dd.read_parquet(file_of(rows), split_row_groups=True)
        start = time.perf_counter()
        counts = Counts.of(frame, _alarm().cpds)
        taken = time.perf_counter() - start
    return Timing(taken, taken, 1), list(counts.tables)


def count_sample(rows: int, chunks: int) -> str:
    """Whether the file's first chunks, counted through DuckDB, give what counting them in memory gives."""
    import duckdb
    import numpy as np

    from sepset.data.counts import Counts

    model = _alarm()
    with duckdb.connect() as connection:
        part = connection.sql(f"SELECT * FROM '{file_of(rows)}' LIMIT {chunks * CHUNK}")
        there = Counts.of(part, model.cpds)
    data = model.sample(CHUNK, seed=0).concat(*(model.sample(CHUNK, seed=k) for k in range(1, chunks)))
    here = Counts.of(data, model.cpds)
    same = all(np.array_equal(a, b) for a, b in zip(here.tables, there.tables, strict=True))
    return "equal" if same else "different"


def stored(lab: Lab) -> list[Comparison]:
    """The file through DuckDB and through a cluster, and whether they agree."""
    import numpy as np

    rows, shared = (LONG_FILE_ROWS, LONG_CLUSTER_ROWS) if lab.long else (FILE_ROWS, CLUSTER_ROWS)
    lab.progress(f"writing {rows:,} rows")
    for size in {rows, shared}:
        lab.ask("sepset", write_file, size, fresh=True, limit=PATIENCE)
    lab.progress("DuckDB")
    through = lab.ask("sepset", count_file, rows, fresh=True, limit=PATIENCE)
    same = lab.ask("sepset", count_sample, rows, SAMPLE, fresh=True, limit=PATIENCE)
    lab.progress("a Dask cluster of two workers")
    spread = lab.ask("distributed", count_cluster, shared, fresh=True, limit=PATIENCE)
    timing = through if isinstance(through, str) else through[0]
    case = f"{rows:,} rows of Parquet"
    found = [
        Comparison(f"{case}, DuckDB", seconds(timing)),
        Comparison(
            f"{case}, DuckDB: peak memory",
            timing if isinstance(timing, str) else float(timing.peak),
            kind="B",
            target="under 2 GB",
        ),
        Comparison(f"{SAMPLE * CHUNK:,} of them, DuckDB against memory", same),
        Comparison(
            f"{shared:,} rows, Dask cluster of two workers", spread if isinstance(spread, str) else spread[0].best
        ),
    ]
    if not isinstance(spread, str) and not isinstance(through, str) and rows == shared:
        same = all(np.array_equal(a, b) for a, b in zip(through[1], spread[1], strict=True))
        found.append(Comparison("all of them, Dask against DuckDB", "equal" if same else "different"))
    return found


def run(lab: Lab) -> list[Report]:
    """Three tables: fits from frames, counts from codes, counts of a stored file."""
    sizes = SIZES[:1] if lab.quick else SIZES
    fits = [compared(lab, rows, kind) for kind in KINDS for rows in sizes if kind != KINDS[-1] or rows <= SEPARATE]
    codes = [coded(lab, rows) for rows in sizes]
    fair = (
        "From a pandas frame to a fitted network, maximum likelihood. pyAgrum has a smoothing prior, since it rejects "
        "contexts that never occur; pomegranate takes codes, which are made from the frame within its time."
    )
    floor = "All 37 families at once against one bincount for each of the 37 columns, which counts no family."
    store = (
        "Family counts by group-bys in the engine that stores the rows; peak memory is that of the whole process. The "
        "cluster's time is on the wall clock."
    )
    return [
        Report("Parameters from complete data", fits, fair),
        Report("Counts from codes", codes, floor, has_mean=False, versus="bincounts / sepset"),
        Report("Counts of a stored file", stored(lab), store, has_mean=False),
    ]
