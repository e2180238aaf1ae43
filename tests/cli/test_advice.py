"""The commands beyond one answer."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys

import pandas as pd
import pytest
from typer.testing import CliRunner

import sepset as ss
from sepset import cli

run = CliRunner()


def shown(*arguments: str, **options):
    result = run.invoke(cli.app, list(arguments), catch_exceptions=False, **options)
    assert result.exit_code == 0, result.output
    return result.output


def parsed(*arguments: str, **options):
    return json.loads(shown(*arguments, "--json", **options))


def refused(*arguments: str) -> str:
    with pytest.raises(ss.SepsetError) as error:
        run.invoke(cli.app, list(arguments), catch_exceptions=False)
    return str(error.value)


def test_the_best_next_observation():
    found = parsed("voi", "student", "-t", "intelligence", "-g", "grade=C", "-c", "sat", "-c", "letter")
    wanted = ss.value_of_information(
        ss.datasets.load("student"), "intelligence", given={"grade": "C"}, candidates=["sat", "letter"]
    )
    assert found["reductions"] == pytest.approx(dict(wanted))
    assert "sat" in shown("voi", "student", "-t", "intelligence")
    assert "--target" in refused("voi", "student")
    priced = parsed("voi", "asia", "-t", "lung", "-c", "xray", "-c", "smoke", "--cost", "xray=10")
    assert list(priced["reductions"]) == ["smoke", "xray"]
    assert priced["costs"] == {"smoke": 1.0, "xray": 10.0}
    assert "NAME=NUMBER" in refused("voi", "asia", "-t", "lung", "--cost", "xray")
    assert "NAME=NUMBER" in refused("voi", "asia", "-t", "lung", "--cost", "xray=much")
    assert "xray" in refused("voi", "asia", "-t", "lung", "--cost", "xra=1")


def test_the_parameters_that_matter():
    found = parsed("sensitivity", "asia", "-t", "lung", "--state", "yes", "-g", "xray=yes", "-n", "3")
    wanted = ss.sensitivity(ss.datasets.load("asia"), "lung", state="yes", given={"xray": "yes"})
    assert [p["parameter"] for p in found["parameters"]] == [p.name for p in wanted[:3]]
    assert found["probability"] == pytest.approx(wanted.probability)
    assert "lung" in shown("sensitivity", "asia", "-t", "lung", "--state", "yes")
    assert shown("sensitivity", "asia", "-t", "lung", "--state", "yes", "-n", "3").count("P(") == 4
    assert "ye" in refused("sensitivity", "asia", "-t", "lung", "--state", "ye")


def test_predictions_of_every_row(tmp_path):
    rows, out = tmp_path / "rows.csv", tmp_path / "out.csv"
    pd.DataFrame({"grade": ["A", "C", None], "letter": ["strong", "weak", "weak"]}).to_csv(rows, index=False)
    wanted = ss.predict(ss.datasets.load("student"), pd.read_csv(rows), targets=["sat"]).to_frame()
    found = parsed("predict", "student", str(rows), "-t", "sat")["rows"]
    assert [row["sat"] for row in found] == wanted["sat"].tolist()
    assert [row["P(sat=high)"] for row in found] == pytest.approx(wanted["P(sat=high)"].tolist())
    assert set(parsed("predict", "student", str(rows))["rows"][0]) > {"sat", "intelligence", "difficulty"}
    shown("predict", "student", str(rows), "-t", "sat", "-o", str(out))
    assert pd.read_csv(out)["P(sat=high)"].tolist() == pytest.approx(wanted["P(sat=high)"].tolist())
    assert "P(sat=low)" in shown("predict", "student", str(rows), "-t", "sat")


def test_the_networks_that_come_along():
    found = parsed("networks")["networks"]
    assert [one["name"] for one in found] == list(ss.datasets.names())
    assert {"name": "alarm", "kind": "BayesNet", "variables": 37} in found
    assert "hailfinder" in shown("networks")


def test_a_model_on_standard_input(tmp_path):
    path = tmp_path / "asia.bif"
    ss.write(ss.datasets.load("asia"), path)
    assert parsed("info", "-", input=path.read_bytes())["variables"] == 8


def test_a_reader_that_goes_away_ends_the_command_in_silence():
    """As in `sepset sample ... | head -1`: the rows are more than a pipe holds."""
    line = [sys.executable, "-m", "sepset", "sample", "asia", "--rows", "20000", "--out", "-"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline().startswith(b"asia,")
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 141


@pytest.mark.parametrize("line", [("networks",), ("sample", "asia", "--out", "-"), ("draw", "asia"), ("--help",)])
def test_commands_that_nobody_reads_end_alike(line):
    """Tables, rows, text and help: the exit code is that of a broken pipe in a shell, and nothing is said."""
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([sys.executable, "-m", "sepset", *line], stdout=write, stderr=subprocess.PIPE)
    os.close(write)
    assert (done.returncode, done.stderr) == (141, b"")


def test_rows_through_pipes():
    """Rows drawn from a network are CSV on standard output, and rows of others come from standard input."""
    drawn = shown("sample", "student", "--rows", "4", "--seed", "1", "--out", "-")
    assert drawn.splitlines()[0] == ",".join(ss.datasets.load("student").variables.names)
    assert len(drawn.splitlines()) == 5
    rows = ss.sample(ss.datasets.load("student"), 4, seed=1).to_frame()
    wanted = ss.predict(ss.datasets.load("student"), rows.drop(columns="letter"), targets="letter")
    found = parsed("predict", "student", "-", "-t", "letter", input=drawn)["rows"]
    assert [row["P(letter=weak)"] for row in found] == pytest.approx(wanted.probabilities("letter")[:, 0].tolist())
    written = shown("predict", "student", "-", "-t", "letter", "-o", "-", input=drawn)
    assert written.splitlines()[0] == "letter,P(letter=weak),P(letter=strong)"


def test_compressed_rows_and_parquet_on_standard_input():
    frame = ss.sample(ss.datasets.load("student"), 3, seed=1).to_frame()
    for content in (gzip.compress(frame.to_csv(index=False).encode()), frame.to_parquet()):
        assert len(parsed("predict", "student", "-", "-t", "letter", input=content)["rows"]) == 3
