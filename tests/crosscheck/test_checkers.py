"""Code as the README writes it passes the type checkers, and a misspelled name does not."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import sepset

ROOT = Path(__file__).resolve().parents[2]
SOURCE = Path(sepset.__file__).parents[1]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
SNIPPETS = {
    "readme": "".join(BLOCK.findall((ROOT / "README.md").read_text(encoding="utf-8"))),
    "loaded": """
        import sepset as ss
        alarm = ss.datasets.load("alarm")
        alarm.dag.parents("HR"), alarm.cpd("HR"), alarm.sample(3)
    """,
    "read": """
        import sepset as ss
        alarm = ss.read("alarm.bif")
        alarm.dag.parents("HR"), alarm.cpd("HR"), alarm.sample(3)
    """,
    "values": """
        import sepset as ss
        coin = ss.Discrete("coin", 2)
        ss.BayesNet(ss.TableCPD(coin, [0.5, 0.5])).cpd("coin").values.round(2)
    """,
    "posterior": """
        import sepset as ss
        found = ss.fit(ss.DAG.parse("a -> b"), {"a": [0, 1], "b": [0, 1]}, ss.Bayes(ss.BDeu(10)))
        low, high = found.posterior.interval("b", 1, given={"a": 1})
    """,
    "answer": """
        from typing import assert_type
        import sepset as ss
        coin = ss.Discrete("coin", ("head", "tail"))
        assert_type(ss.query(ss.BayesNet(ss.TableCPD(coin, [0.5, 0.5])), "coin")["head"], float)
    """,
    "given": """
        import sepset as ss
        coin = ss.Discrete("coin", ("head", "tail"))
        model = ss.BayesNet(ss.TableCPD(coin, [0.5, 0.5]))
        given = {"grade": "C", "difficulty": {"easy", "hard"}}
        ss.query(model, "coin", given=given)
    """,
    "misspelled": """
        import sepset as ss
        ss.qeury
    """,
    "in_a_namespace": """
        import sepset as ss
        ss.graphs.cpdga
    """,
    "of_a_result": """
        import sepset as ss
        coin = ss.Discrete("coin", ("head", "tail"))
        ss.query(ss.BayesNet(ss.TableCPD(coin, [0.5, 0.5])), "coin").entorpy()
    """,
}
CACHE = ROOT / ".mypy_cache" / "snippets"
"""What mypy knows about the library and NumPy from earlier runs, as far as they are unchanged."""

# What other libraries say about their own types takes most of the time; only NumPy's are needed here.
MYPY = """
[mypy]
strict = True
follow_imports = silent
ignore_missing_imports = True

[mypy-pandas.*,polars.*,pyarrow.*,scipy.*,numba.*,duckdb.*,narwhals.*,networkx.*,matplotlib.*,sklearn.*,dask.*,rich.*]
follow_imports = skip
"""


def mypy(folder: Path) -> str:
    """What mypy says, a line an error."""
    (folder / "mypy.ini").write_text(MYPY)
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "mypy",
            "--config-file=mypy.ini",
            f"--cache-dir={CACHE}",
            *(f"{n}.py" for n in SNIPPETS),
        ],
        cwd=folder,
        env=os.environ | {"MYPYPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr + done.stdout
    return "\n".join(line for line in done.stdout.splitlines() if ": error: " in line)


def pyright(folder: Path) -> str:
    """What pyright says, a line an error."""
    (folder / "pyrightconfig.json").write_text(json.dumps({"extraPaths": [str(SOURCE)], "include": ["."]}))
    done = subprocess.run(
        [found_pyright(), "--pythonpath", sys.executable, "--outputjson", "--project", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr + done.stdout
    said = json.loads(done.stdout)["generalDiagnostics"]
    return "\n".join(f"{Path(e['file']).name}: {e['message']!r}" for e in said if e["severity"] == "error")


def found_pyright() -> str:
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", "")))
    found = shutil.which("pyright", path=path)
    if found is None:
        pytest.skip("pyright is not installed")
    return found


CHECKERS = {"mypy": mypy, "pyright": pyright}


def once(folder: Path, work: Callable[[Path], str]) -> str:
    """What the work returns, done by one of the processes of a run; the others wait for it."""
    result, failure = folder / "result", folder / "failure"
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        while not (result.exists() or failure.exists()):
            time.sleep(0.1)
        return result.read_text()
    try:
        for name, text in SNIPPETS.items():
            (folder / f"{name}.py").write_text(textwrap.dedent(text))
        (folder / "draft").write_text(work(folder))
        (folder / "draft").rename(result)
    except BaseException:
        failure.touch()
        raise
    return result.read_text()


@pytest.fixture(scope="module")
def errors(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The errors of a checker in all snippets, which are checked together."""
    if request.param == "mypy":
        pytest.importorskip("mypy")
    else:
        found_pyright()
    base = tmp_path_factory.getbasetemp()
    shared = os.environ.get("PYTEST_XDIST_TESTRUNUID")
    folder = base.parent / f"checkers-{shared}" if shared else base / "checkers"
    return once(folder / request.param, CHECKERS[request.param]).splitlines()


def cases(*snippets: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(
        ("errors", "snippet"), [(checker, s) for checker in CHECKERS for s in snippets], indirect=["errors"]
    )


@cases("readme", "loaded", "read", "values", "posterior", "answer", "given")
def test_code_as_people_write_it_passes(errors, snippet):
    assert [line for line in errors if line.startswith(f"{snippet}.py")] == []


@cases("misspelled", "in_a_namespace", "of_a_result")
def test_a_misspelled_name_is_found(errors, snippet):
    assert [line for line in errors if line.startswith(f"{snippet}.py")] != []
