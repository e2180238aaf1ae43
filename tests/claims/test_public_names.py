"""Every part of the library can be reached from the package, and the package says which version it is."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import sepset as ss
from support.bounded import child

VERSION = tomllib.loads((Path(__file__).resolve().parents[2] / "pyproject.toml").read_text())["project"]["version"]


def test_the_package_tells_its_version():
    assert ss.__version__ == VERSION


@pytest.mark.parametrize(("module", "name"), [("plotting", "graph"), ("sklearn", "BayesNetClassifier")])
def test_modules_are_reached_from_the_package(module, name):
    done = child(f"import sepset as ss\nprint({module!r} in dir(ss), callable(ss.{module}.{name}))")
    assert done.stdout.split() == ["True", "True"], done.stderr
