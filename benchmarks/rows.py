"""Fitting to a file of rows: against DuckDB, which only puts the same file into a table."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np

from benchmarks.measure import Timing, measure
from benchmarks.report import Comparison, Report, seconds
from benchmarks.worker import Lab

NUM_ROWS = 1_000_000


def fit_insurance(path: str) -> Timing:
    import sepset as ss

    dag = ss.datasets.load("insurance").dag
    return measure(lambda: ss.fit(dag, path, ss.Bayes(ss.BDeu(1))))


def fit_chain(path: str) -> Timing:
    """A chain over the columns in their order."""
    import sepset as ss

    with open(path) as rows:
        names = rows.readline().strip().split(",")
    dag = ss.DAG(names, list(pairwise(names)))
    return measure(lambda: ss.fit(dag, path))


def table_duckdb(path: str) -> Timing:
    import duckdb

    def load() -> None:
        with duckdb.connect() as connection:
            connection.execute("CREATE TABLE rows AS SELECT * FROM read_csv(?)", [path])

    return measure(load)


def _write_texts(path: Path) -> None:
    import sepset as ss

    ss.data.write_dataset(ss.sample(ss.datasets.load("insurance"), NUM_ROWS, seed=0), path)


def _write_whole(path: Path) -> None:
    _write_lines(path, np.random.default_rng(0).integers(0, 4, (NUM_ROWS // 2, 27)).tolist(), str)


def _write_doubles(path: Path) -> None:
    _write_lines(path, np.random.default_rng(0).normal(size=(NUM_ROWS // 2, 10)).tolist(), repr)


def _write_lines(path: Path, rows: list[list[float]], text: Callable[[float], str]) -> None:
    names = ",".join(f"x{k}" for k in range(len(rows[0])))
    path.write_text("\n".join([names, *(",".join(map(text, row)) for row in rows)]))


CASES = {
    f"insurance, {NUM_ROWS:,} rows of 27 texts": (_write_texts, fit_insurance),
    f"a chain, {NUM_ROWS // 2:,} rows of 27 whole numbers": (_write_whole, fit_chain),
    f"a chain, {NUM_ROWS // 2:,} rows of 10 doubles": (_write_doubles, fit_chain),
}


def run(lab: Lab) -> list[Report]:
    """One table: seconds to fit a graph to a CSV file, and to load the file into DuckDB."""
    rows = []
    for name, (write, fit) in CASES.items():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rows.csv"
            write(path)
            ours = seconds(lab.ask("sepset", fit, str(path)))
            peer = seconds(lab.ask("sepset", table_duckdb, str(path)))
        rows.append(Comparison(name, ours, {"duckdb": peer}, target="1.5 times DuckDB"))
    return [Report("Fitting a graph to a CSV file", rows, "DuckDB: CREATE TABLE AS SELECT * of the file, no more.")]
