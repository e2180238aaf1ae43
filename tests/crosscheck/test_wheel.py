"""The built wheel in an empty environment: the demo and the command line, on every Python that is found."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PYTHONS = ("python3.11", "python3.12", "python3.13")
OFFLINE = (
    "No matching distribution",
    "Could not find a version",
    "ConnectionError",
    "Max retries",
    "Temporary failure",
)


def run(*command: object, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "SEPSET", "COVERAGE", "VIRTUAL_ENV"))}
    return subprocess.run(
        [str(part) for part in command], cwd=cwd, env=clean | environment, capture_output=True, text=True, timeout=900
    )


def installed(*command: object) -> None:
    """Run pip; without what it would fetch the test is left out."""
    done = run(*command)
    if done.returncode and any(word in done.stderr for word in OFFLINE):
        pytest.skip("the packages cannot be fetched")
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    installed(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, ROOT)
    (built,) = folder.glob("sepset-*.whl")
    return built


def test_the_description_needs_no_repository(wheel):
    """Package indexes show no picture and no link with a relative address: the picture is in characters."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        text = archive.read(name).decode("utf-8").partition("\n\n")[2]
    assert (ROOT / "docs" / "images" / "asia.txt").read_text(encoding="utf-8") in text
    assert re.findall(r"\]\((?!https?:|#)[^)]*\)", text) == []
    assert "Tutorial · How to" in text


def interpreter(name: str) -> str | None:
    """A Python by its name: on the path, or among the versions of pyenv, whose names on the path may lead nowhere."""
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates = [shutil.which(name), *sorted(versions.glob(f"{name.removeprefix('python')}*/bin/{name}"))]
    return next((str(c) for c in candidates if c is not None and run(c, "-c", "pass").returncode == 0), None)


@pytest.fixture(scope="module", params=PYTHONS)
def python(request, wheel, tmp_path_factory) -> Path:
    """A Python whose environment has the wheel and what it requires."""
    found = interpreter(request.param)
    if found is None:
        pytest.skip(f"there is no {request.param}")
    folder = tmp_path_factory.mktemp(request.param) / "venv"
    if run(found, "-m", "venv", folder).returncode:
        pytest.skip(f"{request.param} makes no environments")
    made = folder / "bin" / "python"
    installed(made, "-m", "pip", "install", "--quiet", wheel)
    return made


def test_the_demo_runs(python, tmp_path):
    done = run(
        python, "-P", ROOT / "examples" / "demo.py", cwd=tmp_path, SEPSET_CACHE_DIR=str(tmp_path), SEPSET_WARM="0"
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "HYPOVOLEMIA" in done.stdout


def test_a_first_answer_from_the_wheel(python, tmp_path):
    """With an empty cache, and without the compiler."""
    script = (
        "import sys, sepset as ss; "
        "print(round(float(ss.query(ss.datasets.load('asia'), 'lung', given={'xray': 'yes'})['yes']), 4), "
        "'numba' in sys.modules, 'site-packages' in ss.__file__)"
    )
    done = run(python, "-c", script, cwd=tmp_path, SEPSET_CACHE_DIR=str(tmp_path / "empty"))
    assert done.stdout.split() == ["0.4887", "False", "True"], done.stderr
    assert not (tmp_path / "empty").exists()


def test_the_command_line_from_the_wheel(python, tmp_path):
    done = run(python.with_name("sepset"), "query", "asia", "--target", "lung", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "0.055" in done.stdout
