"""The command line: answers for people and for programs, and one line for bad input."""

from __future__ import annotations

import json
import math
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import sepset as ss
from sepset import cli
from support.bounded import child

run = CliRunner()


@pytest.fixture
def asia(tmp_path) -> str:
    path = tmp_path / "asia.bif"
    ss.write(ss.datasets.load("asia"), path)
    return str(path)


@pytest.fixture
def hybrid(tmp_path) -> str:
    d, x, y = ss.Discrete("d", 2), ss.Real("x"), ss.Real("y")
    net = ss.BayesNet(
        ss.TableCPD(d, [0.25, 0.75]),
        ss.LinearGaussian(x, [0.0, 4.0], covariance=1.0, by=d),
        ss.LinearGaussian(y, 0.0, coefficients=1.0, covariance=1.0, given=x),
    )
    path = tmp_path / "hybrid.json"
    ss.write(net, path)
    return str(path)


def shown(*arguments: str) -> str:
    result = run.invoke(cli.app, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def parsed(*arguments: str):
    return json.loads(shown(*arguments, "--json"))


def refused(monkeypatch, capsys, *arguments: str) -> str:
    """The one line that bad input gets, with exit code 2."""
    monkeypatch.setattr(sys, "argv", ["sepset", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("sepset: ")
    assert captured.err.count("\n") == 1
    return captured.err


def test_info(asia):
    facts = parsed("info", asia)
    assert (facts["kind"], facts["variables"], facts["factors"]) == ("BayesNet", 8, 8)
    assert facts["largest domain"] == 2
    assert facts["width"] == 2
    assert set(facts["states"]["lung"]) == {"yes", "no"}
    text = shown("info", asia)
    assert "BayesNet" in text
    assert "dysp" in text


def test_built_in_networks_need_no_file():
    assert parsed("info", "student")["variables"] == 5


def test_query_and_its_guarantee(asia):
    answer = parsed("query", asia, "-t", "lung", "-g", "xray=yes")
    place = answer["states"][0].index("yes")
    assert answer["variables"] == ["lung"]
    assert answer["values"][place] == pytest.approx(0.4887, abs=5e-5)
    assert answer["guarantees"] == {"marginals": "exact", "log_partition": "exact"}
    expected = float(ss.log_probability(ss.datasets.load("asia"), given={"xray": "yes"}))
    assert answer["log_partition"] == pytest.approx(expected)
    assert "0.48" in shown("query", asia, "-t", "lung", "-g", "xray=yes")


@pytest.mark.parametrize("method", ["auto", "elimination", "clique-tree", "brute-force"])
def test_every_method_gives_the_same_joint(asia, method):
    answer = parsed("query", asia, "-t", "tub", "-t", "lung", "-g", "dysp=yes", "-m", method)
    assert answer["variables"] == ["tub", "lung"]
    assert sum(map(sum, answer["values"])) == pytest.approx(1)
    first = parsed("query", asia, "-t", "tub", "-t", "lung", "-g", "dysp=yes")
    assert [v for row in answer["values"] for v in row] == pytest.approx([v for row in first["values"] for v in row])


def test_without_a_target_every_marginal(asia):
    answer = parsed("query", asia, "-g", "xray=yes")
    assert [m["variables"][0] for m in answer["marginals"]] == list(ss.datasets.load("asia").variables.names)
    assert all(sum(m["values"]) == pytest.approx(1) for m in answer["marginals"])
    assert "probability" in shown("query", asia)


def test_evidence_in_words(tmp_path):
    grade = ss.Discrete("grade", ("A", "B", "C=", "A|B"))
    net = ss.BayesNet(ss.TableCPD(grade, [0.1, 0.2, 0.3, 0.4]), ss.TableCPD(ss.Discrete("a=b", 2), [0.3, 0.7]))
    path = str(tmp_path / "odd.json")
    ss.write(net, path)

    def values(finding):
        return parsed("query", path, "-t", "grade", "-g", finding)["values"]

    assert values("grade!=A") == pytest.approx([0, 2 / 9, 3 / 9, 4 / 9])
    assert values("grade=A|B") == [0, 0, 0, 1]
    assert values("grade=A|C=") == pytest.approx([0.25, 0, 0.75, 0])
    assert values("grade=C=") == [0, 0, 1, 0]
    assert parsed("query", path, "-t", "a=b", "-g", "a=b=1")["values"] == [0, 1]


def test_states_that_are_not_strings_are_matched_by_how_they_print(tmp_path):
    net = ss.BayesNet(
        ss.TableCPD(ss.Discrete("flag", (False, True)), [0.5, 0.5]),
        ss.TableCPD(ss.Discrete("level", (0.5, 2)), [0.1, 0.9]),
    )
    path = str(tmp_path / "typed.json")
    ss.write(net, path)
    assert parsed("query", path, "-t", "flag", "-g", "flag=True")["values"] == [0, 1]
    assert parsed("query", path, "-t", "level", "-g", "level=0.5")["values"] == [1, 0]


def test_map(asia):
    answer = parsed("map", asia, "-g", "xray=yes", "-k", "3")
    assert len(answer["assignments"]) == 3
    assert answer["log_values"] == sorted(answer["log_values"], reverse=True)
    expected = ss.map_assignment(ss.datasets.load("asia"), given={"xray": "yes"})
    assert answer["assignments"][0] == dict(expected.assignment)
    assert answer["probability"] == pytest.approx(expected.probability)
    assert parsed("map", asia, "--over", "lung")["assignments"] == [{"lung": "no"}]
    assert "log value" in shown("map", asia, "-k", "2")


def test_sample(asia, tmp_path):
    rows = parsed("sample", asia, "-n", "5", "-g", "xray=yes", "-s", "3")["rows"]
    assert len(rows) == 5
    assert {row["xray"] for row in rows} == {"yes"}
    assert parsed("sample", asia, "-n", "5", "-g", "xray=yes", "-s", "3")["rows"] == rows
    out = tmp_path / "rows.csv"
    shown("sample", asia, "-n", "7", "-o", str(out))
    assert len(out.read_text(encoding="utf-8").splitlines()) == 8
    assert "first 50 of 60 rows" in shown("sample", asia, "-n", "60")
    assert parsed("sample", asia, "-n", "0")["rows"] == []


def test_plan(asia):
    found = parsed("plan", asia, "-t", "lung", "-g", "xray=yes", "-g", "dysp")
    assert found["width"] >= 1
    assert "xray" not in found["order"]
    planned = ss.plan(ss.read(asia), "lung", given={"xray": "yes", "dysp": "yes"})
    assert (found["memory_bytes"], found["total_size"]) == (planned.memory, planned.total_size)
    assert found["memory_bytes"] >= 8 * found["total_size"]
    assert "Plan: " in shown("plan", asia)


def test_convert_round_trip(asia, tmp_path):
    target = tmp_path / "asia.xmlbif"
    shown("convert", asia, str(target))
    mine, other = (parsed("query", file, "-t", "lung", "-g", "xray=yes") for file in (asia, str(target)))
    assert mine["states"] == other["states"]
    assert mine["values"] == pytest.approx(other["values"])


def test_hybrid_models(hybrid):
    answer = parsed("query", hybrid, "-t", "x")
    assert answer["weights"] == pytest.approx([0.25, 0.75])
    assert [m[0] for m in answer["means"]] == pytest.approx([0.0, 4.0])
    answer = parsed("query", hybrid, "-t", "x", "-g", "d=1", "-g", "y=4")
    assert (answer["mean"], answer["covariance"]) == (pytest.approx([4.0]), [[pytest.approx(0.5)]])
    marginals = parsed("query", hybrid, "-g", "y=4")["marginals"]
    assert [m["variables"] for m in marginals] == [["d"], ["x"], ["y"]]
    assert "variance" in shown("query", hybrid)
    assert "mean" in shown("query", hybrid, "-t", "x")
    assert "covariance" in shown("query", hybrid, "-t", "x", "-t", "y", "-g", "d=0")
    assert set(parsed("map", hybrid)["assignments"][0]) == {"d", "x", "y"}
    assert parsed("sample", hybrid, "-n", "2", "-g", "y=4")["rows"][0]["y"] == 4.0
    assert "real" in shown("info", hybrid)


def test_bad_input_ends_with_one_line(asia, hybrid, tmp_path, monkeypatch, capsys):
    def error(*arguments):
        return refused(monkeypatch, capsys, *arguments)

    assert "no built-in network with that name. Did you mean 'asia'" in error("info", "asya")
    assert "Unknown variable 'lnug'. Did you mean 'lung'" in error("query", asia, "-t", "lnug")
    assert "Did you mean 'xray'" in error("query", asia, "-t", "lung", "-g", "xrya=yes")
    assert "Unknown state 'yess' for xray" in error("query", asia, "-g", "xray=yess")
    assert "Did you mean 'yes'" in error("query", asia, "-g", "xray=yess")
    assert "Evidence is written NAME=STATE; found 'xray'" in error("query", asia, "-g", "xray")
    assert "xray appears twice" in error("query", asia, "-g", "xray=yes", "-g", "xray=no")
    assert "probability zero: lung='yes', either='no' contradict" in error(
        "query", asia, "-g", "lung=yes", "-g", "either=no"
    )
    assert "probability zero" in error("map", asia, "-g", "lung=yes", "-g", "either=no")
    assert "probability zero" in error("sample", asia, "-g", "lung=yes", "-g", "either=no")
    assert "asked for twice" in error("query", asia, "-t", "lung", "-t", "lung")
    assert "x is continuous and was given 'big'" in error("query", hybrid, "-g", "x=big")
    assert "x is continuous and cannot be" in error("query", hybrid, "-g", "x!=1")
    broken = tmp_path / "broken.bif"
    broken.write_text("network x {\nvariable", encoding="utf-8")
    assert "broken.bif" in error("info", str(broken))
    (tmp_path / "what.txt").write_text("?", encoding="utf-8")
    error("info", str(tmp_path / "what.txt"))
    error("convert", asia, str(tmp_path / "out.unknown"))
    error("convert", asia, str(tmp_path / "missing" / "out.bif"))
    error("info", str(tmp_path))


def sepset(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sepset", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def test_in_a_process_of_its_own(asia):
    good = sepset("query", asia, "-t", "lung", "--json")
    assert good.returncode == 0
    assert math.isclose(sum(json.loads(good.stdout)["values"]), 1.0)
    bad = sepset("query", asia, "-t", "lnug")
    assert (bad.returncode, bad.stdout) == (2, "")
    assert bad.stderr.count("\n") == 1
    assert "Traceback" not in bad.stderr
    usage = sepset("query")
    assert usage.returncode == 2
    assert "Missing argument" in usage.stderr


def test_help_loads_nothing_that_it_does_not_need():
    script = """
        import sys
        from sepset.cli import main

        sys.argv = ["sepset", "--help"]
        try:
            main()
        finally:
            print("loaded", *sorted({name.partition(".")[0] for name in sys.modules}), file=sys.stderr)
    """
    done = child(script)
    assert done.returncode == 0, done.stderr
    loaded = done.stderr.split("loaded ")[1].split()
    assert not {"numpy", "scipy", "numba", "pandas", "polars", "duckdb", "pyarrow", "matplotlib"} & set(loaded)
    for command in ("info", "convert", "query", "map", "sample", "plan"):
        assert command in done.stdout


def test_places_are_refused_before_any_work(tmp_path, monkeypatch, capsys):
    (tmp_path / "folder.bif").mkdir()
    (tmp_path / "folder.csv").mkdir()
    monkeypatch.setattr("sepset.cli.answers.load", lambda name: pytest.fail("work was done"))
    assert "Is a directory" in refused(monkeypatch, capsys, "convert", "asia", str(tmp_path / "folder.bif"))
    assert "no directory" in refused(monkeypatch, capsys, "convert", "asia", str(tmp_path / "none" / "x.bif"))
    for place, why in (("folder.csv", "Is a directory"), ("none/x.csv", "no directory"), ("x.foo", "format of rows")):
        assert why in refused(monkeypatch, capsys, "sample", "asia", "-o", str(tmp_path / place))


def test_more_rows_than_memory_holds_is_one_line(monkeypatch, capsys):
    assert "more memory than is available" in refused(monkeypatch, capsys, "sample", "asia", "-n", "99999999999999")


def test_seeds_below_zero_are_refused():
    told = run.invoke(cli.app, ["sample", "asia", "-s", "-1"])
    assert told.exit_code == 2
    assert "--seed" in told.output
