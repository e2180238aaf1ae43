"""Learning structures from the command line: the same as the function, with one line for bad input."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import sepset as ss
from sepset import cli

run = CliRunner()


def invoked(*arguments: object) -> str:
    result = run.invoke(cli.app, [str(a) for a in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def parsed(*arguments: object) -> dict[str, object]:
    found: dict[str, object] = json.loads(invoked(*arguments, "--json"))
    return found


@pytest.fixture
def csv(tmp_path: Path) -> Path:
    path = tmp_path / "asia.csv"
    ss.data.write_dataset(ss.datasets.load("asia").sample(2_000, seed=1), path)
    return path


def test_learn_is_the_function(csv: Path, tmp_path: Path) -> None:
    out = tmp_path / "model.json"
    facts = parsed("learn", csv, "-o", out, "--score", "bdeu", "-a", "4")
    expected = ss.learn_structure(str(csv), score=ss.BDeu(4.0))
    assert facts["score"] == pytest.approx(expected.score)
    assert {tuple(edge) for edge in facts["edges"]} == set(expected.dag.edges)  # type: ignore[attr-defined]
    model = ss.read(out)
    assert isinstance(model, ss.BayesNet)
    assert set(model.dag.edges) == set(expected.dag.edges)
    assert "structure" in invoked("learn", csv, "-o", out)


@pytest.mark.parametrize("method", ["hill-climb", "ges", "pc", "mmhc", "exact", "chow-liu"])
def test_every_method(csv: Path, tmp_path: Path, method: str) -> None:
    limit = () if method == "pc" else ("--max-parents", 2)  # tests join what they do not separate
    facts = parsed("learn", csv, "-o", tmp_path / "model.bif", "-m", method, *limit)
    assert 4 <= len(facts["edges"]) <= 10  # type: ignore[arg-type]


@pytest.mark.parametrize("score", ["bic", "aic", "bdeu", "k2", "qnml", "fnml"])
def test_every_score(csv: Path, tmp_path: Path, score: str) -> None:
    assert (
        parsed("learn", csv, "-o", tmp_path / "model.json", "--score", score, "-m", "hill-climb")["score"] is not None
    )


def test_knowledge(csv: Path, tmp_path: Path) -> None:
    facts = parsed(
        *("learn", csv, "-o", tmp_path / "model.json", "--require", "asia->xray", "--forbid", "smoke->lung"),
        *("--tiers", "asia,smoke; lung", "--max-parents", "2", "--steps", "200"),
    )
    edges = {tuple(edge) for edge in facts["edges"]}  # type: ignore[attr-defined]
    assert ("asia", "xray") in edges
    assert not edges & {("smoke", "lung"), ("lung", "smoke"), ("lung", "asia")}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--require", "asia"), "source -> target"),
        (("--require", "asia->nowhere"), "not a column"),
        (("--require", "asia->xray", "--forbid", "asia->xray"), "both require and forbid"),
        (("--tiers", "asia;;smoke"), "--tiers"),
        (("--score", "bge"), "discrete"),
        (("-m", "ges", "--score", "k2"), "GES"),
        (("-m", "pc", "--score", "bic"), "PC() uses no score"),
        (("-m", "ges", "--level", "0.1"), "--level goes with pc and mmhc; the method is ges"),
        (("-m", "exact", "--checkpoint", "file"), "ExactSearch() keeps no checkpoint"),
    ],
)
def test_bad_input(csv: Path, tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    result = run.invoke(cli.app, ["learn", str(csv), "-o", str(tmp_path / "model.json"), *words])
    assert result.exit_code != 0
    assert message in str(result.exception) + result.output


def test_markov_networks(csv: Path, tmp_path: Path) -> None:
    rows = ss.BayesNet(
        ss.LinearGaussian(ss.Real("x"), 0.0, covariance=1.0),
        ss.LinearGaussian(ss.Real("y"), 1.0, coefficients=[1.0], given=[ss.Real("x")], covariance=1.0),
        ss.LinearGaussian(ss.Real("z"), 0.0, coefficients=[1.0], given=[ss.Real("y")], covariance=1.0),
    ).sample(300, seed=1)
    path, out = tmp_path / "numbers.csv", tmp_path / "model.json"
    ss.data.write_dataset(rows, path)
    facts = parsed("learn", path, "-o", out, "--method", "graphical-lasso")
    expected = ss.learn_structure(str(path), method=ss.GraphicalLasso())
    assert facts["edges"] == [list(edge) for edge in expected.graph.edges] == [["x", "y"], ["y", "z"]]
    assert facts["compelled"] == []
    assert ss.read(out).graph == expected.graph
    facts = parsed("learn", path, "-o", out, "--method", "neighborhoods", "--penalty", "0.2")
    assert facts["method"] == repr(ss.structure.NeighborhoodSelection(0.2))
    refused = run.invoke(cli.app, ["learn", str(csv), "-o", str(out), "--penalty", "0.2"])
    assert refused.exit_code != 0
    assert "--penalty" in str(refused.exception) + refused.output


@pytest.mark.parametrize("method", ["find-hidden", "latent-tree"])
def test_hidden_variables(tmp_path: Path, method: str) -> None:
    star = ss.classify.latent_class([ss.Discrete(n) for n in "abcd"], 2, name="h")
    flip = [[0.9, 0.1], [0.1, 0.9]]
    net = star.with_cpds(*(ss.TableCPD(star.variables[n], flip, given=star.variables["h"]) for n in "abcd"))
    csv, out = tmp_path / "rows.csv", tmp_path / "model.json"
    ss.data.write_dataset(net.sample(500, seed=0).select(list("abcd")), csv)
    facts = parsed("learn", csv, "-o", out, "-m", method)
    assert sorted(facts["edges"]) == [["H1", n] for n in "abcd"]  # type: ignore[call-overload]
    assert ss.read(out).variables["H1"].num_states == 2


def test_rows_with_missing_cells(tmp_path: Path) -> None:
    rows = ss.datasets.load("asia").sample(300, seed=2).to_frame()
    rows.loc[::7, "smoke"] = None
    csv, out = tmp_path / "asia.csv", tmp_path / "model.json"
    rows.to_csv(csv, index=False)
    facts = parsed("learn", csv, "-o", out, "--method", "structural-em", "--hidden", "kind=2")
    expected = ss.learn_structure(
        str(csv), method=ss.StructuralEM(ss.HillClimb(tabu=20)), variables=[ss.Discrete("kind", 2)]
    )
    assert facts["score"] == pytest.approx(expected.score)
    assert set(ss.read(out).variables.names) == {*rows.columns, "kind"}


def test_mixed_rows_with_missing_cells(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    kind = rng.choice(["low", "high"], 300)
    rows = pd.DataFrame({"kind": kind, "x": 3.0 * (kind == "high") + rng.normal(size=300)})
    rows.loc[::7, "kind"], rows.loc[3::7, "x"] = None, None
    csv, out = tmp_path / "rows.csv", tmp_path / "model.json"
    rows.to_csv(csv, index=False)
    refused = run.invoke(cli.app, ["learn", str(csv), "-o", str(out)])
    assert "'kind' misses 43 cells" in str(refused.exception or refused.output)
    assert "--method structural-em" in str(refused.exception or refused.output)
    facts = parsed("learn", csv, "-o", out, "--method", "structural-em")
    assert facts["edges"] == [["kind", "x"]]
    found = ss.read(out).cpd("x")
    assert sorted(np.ravel(found.intercept)) == pytest.approx([0.0, 3.0], abs=0.3)


def test_columns_that_tell_nothing(csv: Path, tmp_path: Path) -> None:
    """They are refused in one line that names the option; with it they are left out, and named."""
    out, frame = tmp_path / "model.json", pd.read_csv(csv)
    frame["where"], frame["row"], frame["x"] = "here", [f"r{k}" for k in range(len(frame))], frame["xray"]
    frame.to_csv(csv, index=False)
    refused = run.invoke(cli.app, ["learn", str(csv), "-o", str(out)])
    assert refused.exit_code != 0
    assert "'where' is constant" in str(refused.exception or refused.output)
    assert "--drop-uninformative" in str(refused.exception or refused.output)
    assert not out.exists()
    told = run.invoke(cli.app, ["learn", str(csv), "-o", str(out), "--drop-uninformative", "--json"])
    assert told.exit_code == 0
    facts = json.loads(told.stdout)
    assert facts["dropped"] == ["where", "row", "x"]
    assert "Left out: 'where', 'row', 'x'." in told.stderr
    assert set(ss.read(out).variables.names) == set(frame.columns) - {"where", "row", "x"}


def test_the_test_follows_from_the_columns(tmp_path: Path) -> None:
    """A chain of numbers, and numbers that depend on a state: each found by the test of its kind."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    y = x + rng.normal(size=400)
    kind = rng.choice(["low", "high"], 400)
    numbers = pd.DataFrame({"x": x, "y": y, "z": y + rng.normal(size=400)})
    mixed = pd.DataFrame({"kind": kind, "x": x + 3 * (kind == "high"), "y": rng.normal(size=400)})
    for frame, expected in ((numbers, {("x", "y"), ("y", "z")}), (mixed, {("kind", "x")})):
        path = tmp_path / "rows.csv"
        frame.to_csv(path, index=False)
        for method in ("pc", "mmhc"):
            facts = parsed("learn", path, "-o", tmp_path / "model.json", "-m", method)
            assert {tuple(sorted(edge)) for edge in facts["edges"]} == expected  # type: ignore[attr-defined]
