"""Fitting, judging and imputing from the command line: the same as the functions, with one line for bad input."""

from __future__ import annotations

import itertools
import json
import sys
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from typer.testing import CliRunner

import sepset as ss
from sepset import cli
from sepset.api.learning import fit
from sepset.cpds.priors.dirichlet import BDeu
from sepset.graphs.graph import DAG
from sepset.learning.estimation.estimators import Bayes
from sepset.learning.evaluation.divergence.relativeentropy import divergence
from sepset.learning.evaluation.losses import ConditionalLogLoss, ZeroOne, evaluate

run = CliRunner()


def shown(*arguments: object) -> str:
    result = run.invoke(cli.app, [str(a) for a in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def parsed(*arguments: object):
    return json.loads(shown(*arguments, "--json"))


@pytest.fixture
def asia() -> ss.BayesNet:
    return ss.datasets.load("asia")


@pytest.fixture(params=[".csv", ".parquet"])
def rows(request, tmp_path, asia) -> Path:
    path = tmp_path / f"rows{request.param}"
    ss.data.write_dataset(asia.sample(500, seed=1), path)
    return path


@pytest.fixture
def csv(tmp_path, asia) -> Path:
    path = tmp_path / "asia.csv"
    ss.data.write_dataset(asia.sample(500, seed=1), path)
    return path


@pytest.fixture
def holes(tmp_path, asia) -> Path:
    drawn = asia.sample(300, seed=2)
    codes = drawn.matrix().copy()
    codes[np.random.default_rng(0).random(codes.shape) < 0.1] = -1
    path = tmp_path / "holes.csv"
    ss.data.write_dataset(ss.Dataset.from_codes(asia.variables, codes), path)
    return path


def test_fit_is_the_function(rows, tmp_path, asia):
    out = tmp_path / "model.json"
    facts = parsed("fit", "asia", rows, "-o", out, "-m", "bdeu", "-a", "10")
    expected = fit(asia, asia.sample(500, seed=1), Bayes(BDeu(10)))
    assert facts["log_likelihood"] == pytest.approx(expected.log_likelihood)
    assert facts["rows"] == 500
    assert divergence(expected.model, ss.read(out)).total == pytest.approx(0.0, abs=1e-12)


def test_structures_in_words_files_and_classifiers(csv, tmp_path, asia):
    out = tmp_path / "model.json"
    shown("fit", "smoke -> lung; smoke -> bronc", csv, "-o", out)
    assert set(ss.read(out).dag.edges) == {("smoke", "lung"), ("smoke", "bronc")}
    text = tmp_path / "graph.txt"
    text.write_text("smoke -> lung <- asia\n", encoding="utf-8")
    shown("fit", text, csv, "-o", out, "-m", "k2")
    assert ss.read(out).parents("lung") == ("smoke", "asia")
    shown("fit", "naive", csv, "-o", out, "--target", "dysp", "-m", "k2")
    assert ss.read(out).children("dysp") == tuple(n for n in asia.variables.names if n != "dysp")
    shown("fit", "tan", csv, "-o", out, "--target", "dysp", "-m", "k2")
    assert ss.read(out).dag.num_edges == 7 + 6


def test_missing_cells_go_to_em(holes, tmp_path, monkeypatch, capsys):
    out = tmp_path / "model.bif"
    facts = parsed("fit", "asia", holes, "-o", out, "-m", "em", "-a", "5", "--steps", "50")
    trace = facts["trace"]
    assert facts["status"] in ("converged", "step limit")
    assert all(after >= before - 1e-9 * abs(before) for before, after in itertools.pairwise(trace))
    assert facts["iterations"] == len(trace) > 1
    assert "Use --method em" in refused(monkeypatch, capsys, "fit", "asia", str(holes), "-o", str(out))
    assert parsed("fit", "asia", holes, "-o", out, "-m", "hard-em", "-a", "5")["status"] == "converged"


ITERATIVE = {
    "EM(acceleration='squarem')": (ss.EM(acceleration="squarem"), ["em", "--acceleration", "squarem"]),
    "EM(acceleration='aitken')": (ss.EM(acceleration="aitken"), ["em", "--acceleration", "aitken"]),
    "EM(acceleration='conjugate')": (ss.EM(acceleration="conjugate"), ["em", "--acceleration", "conjugate"]),
    "StepwiseEM()": (ss.StepwiseEM(), ["stepwise-em"]),
    "StepwiseEM(batch=50)": (ss.StepwiseEM(batch=50), ["stepwise-em", "--batch", "50"]),
    "GradientAscent()": (ss.GradientAscent(), ["gradient"]),
    "GradientAscent(optimizer='conjugate')": (
        ss.GradientAscent(optimizer="conjugate"),
        ["gradient", "--optimizer", "conjugate"],
    ),
    "GradientAscent(optimizer='steepest')": (
        ss.GradientAscent(optimizer="steepest"),
        ["gradient", "--optimizer", "steepest"],
    ),
    "GradientAscent(optimizer='stochastic', batch=30)": (
        ss.GradientAscent(optimizer="stochastic", batch=30),
        ["gradient", "--optimizer", "stochastic", "--batch", "30"],
    ),
}


@pytest.mark.parametrize("name", ITERATIVE)
def test_methods_that_iterate_are_the_functions(name, holes, tmp_path, asia):
    method, words = ITERATIVE[name]
    facts = parsed("fit", "asia", holes, "-o", tmp_path / "model.json", "--steps", "4", "--seed", "3", "-m", *words)
    expected = fit(asia, holes, method, until=ss.Until(steps=4), seed=3)
    assert facts["method"] == name
    assert facts["log_likelihood"] == pytest.approx(expected.log_likelihood, rel=1e-12)
    assert facts["trace"] == pytest.approx(expected.trace.tolist(), rel=1e-12)


def test_every_way_of_the_methods_is_offered():
    from sepset.cli.learning import Acceleration, Optimizer
    from sepset.learning.incomplete import em, gradient

    assert tuple(Acceleration) == get_args(em.Accelerated)
    assert tuple(Optimizer) == get_args(gradient.Optimizer)


def test_hidden_variables(csv, tmp_path):
    out = tmp_path / "mixture.json"
    facts = parsed(
        *("fit", "kind -> smoke; kind -> lung; kind -> bronc", csv, "-o", out),
        *("-m", "em", "-a", "1", "--hidden", "kind=3", "--steps", "20", "--seed", "3"),
    )
    assert ss.read(out)["kind"].num_states == 3
    assert facts["parameters"] == 2 + 3 * 3


def test_weights_are_a_column(tmp_path):
    path, out = tmp_path / "weighted.csv", tmp_path / "coin.json"
    path.write_text("coin,times\nhead,3\ntail,1\n", encoding="utf-8")
    shown("fit", "coin;", path, "-o", out, "--weights", "times")
    assert ss.read(out).cpd("coin").values.tolist() == [0.75, 0.25]
    shown("fit", out, path, "-o", out, "--weights", "times")
    assert ss.read(out).cpd("coin").values.tolist() == [0.75, 0.25]


def test_what_people_see(csv, tmp_path):
    text = shown("fit", "asia", csv, "-o", tmp_path / "model.json", "-m", "bdeu")
    assert "log-likelihood" in text


def test_evaluate_is_the_function(rows, asia):
    facts = parsed("evaluate", "asia", rows, "-t", "dysp", "--truth", "asia")
    data = asia.sample(500, seed=1)
    expected = evaluate(asia, data, ZeroOne("dysp"), ConditionalLogLoss("dysp"))
    for loss, risk in expected.items():
        assert facts["losses"][loss.name]["mean"] == pytest.approx(risk.mean)
    assert facts["divergence"] == 0.0
    assert 0 <= facts["calibration"]["dysp"] < 0.1
    text = shown("evaluate", "asia", rows, "-t", "dysp")
    assert "expected calibration error of dysp" in text


def test_cross_validation(csv):
    facts = parsed("evaluate", "asia", csv, "-t", "dysp", "--folds", "5", "-m", "bdeu")
    assert set(facts["losses"]["log-loss"]) == {"pooled_mean", "mean_of_folds", "spread"}
    assert facts["losses"]["log-loss"]["pooled_mean"] == pytest.approx(2.3, abs=0.3)
    assert "pooled mean" in " ".join(shown("evaluate", "asia", csv, "--folds", "3").split())


def test_impossible_rows_are_infinite_and_still_json(tmp_path):
    path = tmp_path / "impossible.csv"
    asia = ss.datasets.load("asia")
    row = dict.fromkeys(asia.variables.names, "no") | {"lung": "yes", "either": "no"}
    path.write_text(",".join(row) + "\n" + ",".join(row.values()) + "\n", encoding="utf-8")
    assert parsed("evaluate", "asia", path)["losses"]["log-loss"]["mean"] == "inf"


def test_calibration_is_drawn(csv, tmp_path):
    picture = tmp_path / "calibration.svg"
    shown("evaluate", "asia", csv, "-t", "dysp", "--plot", picture)
    assert "<svg" in picture.read_text(encoding="utf-8")


def test_impute_fills_every_cell(holes, tmp_path, asia):
    out = tmp_path / "full.csv"
    facts = parsed("impute", "asia", holes, "-o", out)
    before, after = (ss.data.read_dataset(path, asia.variables) for path in (holes, out))
    assert after.is_complete
    assert facts["filled"] == sum(before.num_missing.values())
    for v in asia.variables:
        seen = before.codes(v) >= 0
        np.testing.assert_array_equal(after.codes(v)[seen], before.codes(v)[seen])
    assert "cells of 300 rows filled" in shown("impute", "asia", holes, "-o", tmp_path / "again.parquet")


def test_several_draws(holes, tmp_path, asia):
    facts = parsed("impute", "asia", holes, "-o", tmp_path / "drawn.csv", "--copies", "3", "--seed", "4")
    assert [Path(f).name for f in facts["files"]] == ["drawn-1.csv", "drawn-2.csv", "drawn-3.csv"]
    first, second = (ss.data.read_dataset(f, asia.variables) for f in facts["files"][:2])
    assert first.is_complete
    assert not first.equals(second)


def test_long_files_are_filled_part_by_part(holes, tmp_path, monkeypatch, asia):
    shown("impute", "asia", holes, "-o", tmp_path / "whole.csv")
    monkeypatch.setattr("sepset.cli.learning.PART", 70)
    shown("impute", "asia", holes, "-o", tmp_path / "parts.csv", "--progress")
    assert (tmp_path / "whole.csv").read_text() == (tmp_path / "parts.csv").read_text()


def test_hidden_variables_are_filled_on_request(tmp_path, asia):
    path, out = tmp_path / "narrow.csv", tmp_path / "wide.csv"
    ss.data.write_dataset(asia.sample(20, seed=0).select(["xray", "dysp"]), path)
    shown("impute", "asia", path, "-o", out)
    assert ss.data.read_dataset(out).variables.names == ("xray", "dysp")
    shown("impute", "asia", path, "-o", out, "--hidden")
    assert set(ss.data.read_dataset(out, asia.variables).variables.names) == set(asia.variables.names)


def refused(monkeypatch, capsys, *arguments: str) -> str:
    monkeypatch.setattr(sys, "argv", ["sepset", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("sepset: ")
    assert captured.err.count("\n") == 1
    return captured.err


def test_bad_input_ends_with_one_line(csv, tmp_path, monkeypatch, capsys):
    def error(*arguments):
        return refused(monkeypatch, capsys, *map(str, arguments))

    out = tmp_path / "out.json"
    assert "Did you mean 'asia'" in error("fit", "assia", csv, "-o", out)
    assert "smok" in error("fit", "smok -> lung", csv, "-o", out)
    assert "no such file" in error("fit", "asia", tmp_path / "none.csv", "-o", out)
    assert "needs the class variable" in error("fit", "naive", csv, "-o", out)
    assert "Did you mean 'dysp'" in error("fit", "naive", csv, "-o", out, "--target", "dyps")
    assert "mle has no prior" in error("fit", "asia", csv, "-o", out, "-a", "5")
    assert "NAME=STATES" in error("fit", "k -> smoke", csv, "-o", out, "-m", "em", "--hidden", "k")
    assert "Bayesian networks" in error("fit", "misconception", csv, "-o", out)
    assert "no column 'times'" in error("fit", "asia", csv, "-o", out, "--weights", "times")
    assert "numbers" in error("fit", "asia", csv, "-o", out, "--weights", "smoke")
    assert "Did you mean 'dysp'" in error("evaluate", "asia", csv, "-t", "dyps")
    for kind in ("map", "mode", "mean"):
        one = ["impute", "asia", csv, "-o", tmp_path / "x.csv", "--kind", kind, "--copies", "2"]
        assert f"Copies of a {kind} are all the same. Use --kind draw" in error(*one)
    assert "is not a known format" in error("fit", "asia", csv, "-o", tmp_path / "out.xyz")
    assert "no directory" in error("fit", "asia", csv, "-o", tmp_path / "none" / "out.json")
    assert "no directory" in error("impute", "asia", csv, "-o", tmp_path / "none" / "out.csv")
    assert "not a known image format" in error("evaluate", "asia", csv, "-t", "dysp", "--plot", tmp_path / "p.xyz")
    assert "--target" in error("evaluate", "asia", csv, "--plot", tmp_path / "p.png")
    assert not out.exists()


@pytest.mark.parametrize("command", ["fit", "evaluate", "impute"])
def test_bad_files_of_rows_end_with_one_line(command, tmp_path, monkeypatch, capsys):
    files = {
        "empty.csv": b"",
        "header.csv": b"smoke,lung\n",
        "ragged.csv": b"smoke,lung\nyes,no\nyes\n",
        "other.csv": b"u,v\nyes,no\n",
        "states.csv": b"smoke,lung\nyes,perhaps\n",
        "noise.csv": bytes(range(128, 256)),
        "empty.parquet": b"",
        "noise.parquet": bytes(range(256)),
        "rows.txt": b"smoke,lung\nyes,no\n",
    }
    place = ["-o", str(tmp_path / ("out.json" if command == "fit" else "out.csv"))] if command != "evaluate" else []
    for name, content in files.items():
        path = tmp_path / name
        path.write_bytes(content)
        if (command, name) == ("impute", "header.csv"):
            continue  # no rows have no holes
        refused(monkeypatch, capsys, command, "asia", str(path), *place)
    refused(monkeypatch, capsys, command, "asia", str(tmp_path), *place)
    refused(monkeypatch, capsys, command, "asia", str(tmp_path / "none.csv"), *place)


def test_settings_that_would_be_passed_over_are_refused(csv, tmp_path, monkeypatch, capsys):
    def error(*arguments):
        return refused(monkeypatch, capsys, *map(str, arguments))

    fits = ["fit", "asia", csv, "-o", tmp_path / "out.json"]
    assert "mle does not iterate; --steps goes with em" in error(*fits, "--steps", 3)
    assert "--steps, --checkpoint goes with em" in error(*fits, "-m", "k2", "--steps", 3, "--checkpoint", "x")
    assert "goes with em, hard-em, stepwise-em, gradient." in error(*fits, "--steps", 3)
    assert "--acceleration goes with em; found hard-em" in error(*fits, "-m", "hard-em", "--acceleration", "aitken")
    assert "--optimizer goes with gradient; found em" in error(*fits, "-m", "em", "--optimizer", "lbfgs")
    for others in (["em"], ["gradient"], ["gradient", "--optimizer", "steepest"]):
        assert "--batch goes with stepwise-em" in error(*fits, "--batch", 10, "-m", *others)
    assert "--unseen goes with mle" in error(*fits, "-m", "em", "--unseen", "uniform")
    assert "--target names the class" in error(*fits, "-t", "dysp")
    assert "--states go with a graph" in error(*fits, "--hidden", "k=2")
    assert "go with --folds" in error("evaluate", "asia", csv, "--unseen", "uniform")
    assert "go with --folds" in error("evaluate", "asia", csv, "-a", "3")
    assert not list(tmp_path.glob("out*"))


def test_places_are_refused_before_any_work(csv, tmp_path, monkeypatch, capsys):
    def error(*arguments):
        return refused(monkeypatch, capsys, *map(str, arguments))

    monkeypatch.setattr("sepset.cli.learning.load", lambda name: pytest.fail("work was done"))
    for suffix, command in ((".json", ["fit", "asia", csv]), (".csv", ["impute", "asia", csv])):
        place = tmp_path / f"folder{suffix}"
        place.mkdir()
        assert "Is a directory" in error(*command, "-o", place)
    assert "names no format of rows" in error("impute", "asia", csv, "-o", tmp_path / "x.xlsx")
    assert "no directory" in error("evaluate", "asia", csv, "-t", "dysp", "--plot", tmp_path / "none" / "p.png")


def test_states_of_columns_can_be_said(tmp_path, monkeypatch, capsys):
    """A column that holds one state only: the message says how to name the others, and that works."""
    path, out = tmp_path / "rows.csv", tmp_path / "model.json"
    path.write_text("a,b\nx,u\nx,v\n", encoding="utf-8")
    told = refused(monkeypatch, capsys, "fit", "a -> b", str(path), "-o", str(out))
    assert "say --states NAME=STATE,STATE" in told
    shown("fit", "a -> b", path, "-o", out, "-m", "k2", "--states", "a=x,y")
    assert ss.read(out).variables["a"].states == ("x", "y")
    assert "say --states" in refused(monkeypatch, capsys, "fit", "h -> b", str(path), "-o", str(out))


def test_rows_can_be_filled_where_they_are(holes, asia):
    before = ss.data.read_dataset(holes, asia.variables)
    shown("impute", "asia", holes, "-o", holes)
    after = ss.data.read_dataset(holes, asia.variables)
    assert after.is_complete
    assert after.num_rows == before.num_rows


def test_fits_go_on_from_checkpoints(holes, tmp_path):
    common = ["fit", "asia", holes, "-m", "em", "-a", "5"]
    whole = parsed(*common, "-o", tmp_path / "whole.json")
    parsed(*common, "-o", tmp_path / "part.json", "--steps", "2", "--checkpoint", tmp_path / "em.state")
    rest = parsed(*common, "-o", tmp_path / "part.json", "--checkpoint", tmp_path / "em.state")
    assert rest["trace"] == whole["trace"]
    assert (tmp_path / "part.json").read_bytes() == (tmp_path / "whole.json").read_bytes()


def test_texts_that_mean_nothing(tmp_path):
    path, out = tmp_path / "rows.csv", tmp_path / "model.json"
    path.write_text("a,b\nx,u\ny,NA\n-,u\nx,v\n", encoding="utf-8")
    shown("fit", "a -> b", path, "-o", out, "-m", "em", "--missing", "NA", "--missing", "-")
    assert ss.read(out).variables["a"].states == ("x", "y")
    shown("impute", out, path, "-o", tmp_path / "full.csv", "--missing", "NA", "--missing", "-")
    assert ss.data.read_dataset(tmp_path / "full.csv").is_complete
    assert parsed("evaluate", out, path, "--missing", "NA", "--missing", "-")["rows"] == 4


def test_an_interrupted_fit_writes_what_it_has(holes, tmp_path, monkeypatch, asia):
    from sepset.learning.incomplete.em import EM

    steps = iter(range(3))

    def step(self, task, state, rng, step=EM.step):
        if next(steps, None) is None:
            raise KeyboardInterrupt
        return step(self, task, state, rng)

    monkeypatch.setattr(EM, "step", step)
    out = tmp_path / "out.json"
    result = run.invoke(cli.app, ["fit", "asia", str(holes), "-o", str(out), "-m", "em", "--json"])
    assert result.exit_code == 130
    assert json.loads(result.output)["status"] == "interrupted"
    assert json.loads(result.output)["iterations"] == 3
    assert ss.read(out).dag == asia.dag


def test_graphs_of_one_node(tmp_path):
    path, out = tmp_path / "coins.csv", tmp_path / "coin.json"
    path.write_text("coin\nhead\ntail\n", encoding="utf-8")
    shown("fit", "coin;", path, "-o", out)
    assert ss.read(out).dag == DAG.parse("coin")


@pytest.mark.parametrize(
    "method", [["-m", "bdeu"], ["-m", "k2"], ["-m", "em", "-a", "4"], ["-m", "hard-em", "-a", "4"]]
)
def test_priors_of_mixed_columns(method, tmp_path):
    """One row a class leaves every variance to the prior, which the columns tell."""
    path, out = tmp_path / "rows.csv", tmp_path / "model.json"
    path.write_text("k,x\na,1.5\nb,3.5\n", encoding="utf-8")
    shown("fit", "k -> x", path, "-o", out, *method)
    line = ss.read(out).cpd("x")
    assert (line.covariance > 0).all()
    assert line.intercept[0, 0] < line.intercept[1, 0]
    assert parsed("evaluate", out, path, "-k", 2, *method)["folds"] == 2


@pytest.mark.parametrize(
    "words",
    [["predict", "asia", "{}", "-t", "lung"], ["evaluate", "asia", "{}"], ["fit", "asia", "{}", "-o", "x.json"]],
)
def test_a_file_with_semicolons_is_told(words, tmp_path, monkeypatch, capsys):
    path = tmp_path / "rows.csv"
    path.write_text("smoke;lung\nyes;no\n")
    told = refused(monkeypatch, capsys, *(word.format(path) for word in words))
    assert "if ';' is between cells, write the file with commas" in told
