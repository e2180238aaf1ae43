"""Fitting to a file of rows: against DuckDB, which only puts the same file into a table."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.measure import Timing, measure
from benchmarks.report import Comparison, Report, seconds
from benchmarks.worker import Lab

NUM_ROWS = 1_000_000


def fit_sepset(path: str) -> Timing:
    import sepset as ss

    dag = ss.datasets.load("insurance").dag
    return measure(lambda: ss.fit(dag, path, ss.Bayes(ss.BDeu(1))))


def table_duckdb(path: str) -> Timing:
    import duckdb

    def load() -> None:
        with duckdb.connect() as connection:
            connection.execute("CREATE TABLE rows AS SELECT * FROM read_csv(?)", [path])

    return measure(load)


def run(lab: Lab) -> list[Report]:
    """One table: seconds to fit a graph of 27 variables to a CSV file, and to load it into DuckDB."""
    import sepset as ss

    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "rows.csv")
        ss.data.write_dataset(ss.sample(ss.datasets.load("insurance"), NUM_ROWS, seed=0), path)
        ours, peer = seconds(lab.ask("sepset", fit_sepset, path)), seconds(lab.ask("sepset", table_duckdb, path))
    row = Comparison(f"insurance, {NUM_ROWS:,} rows", ours, {"duckdb": peer}, target="1.5 times DuckDB")
    return [Report("Fitting a graph to a CSV file", [row], "DuckDB: CREATE TABLE AS SELECT * of the file, no more.")]
