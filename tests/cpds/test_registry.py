"""Tags of CPDs, and the contract suite over CPDs of every registered class and over that of CONTRIBUTING.md."""

from __future__ import annotations

import re
import sys
import types
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import sepset as ss
from sepset.cpds import registry
from sepset.cpds.cpd import CPD
from sepset.cpds.registry import KINDS, kinds, registered, tag_of
from sepset.errors import ModelError, NotApplicable
from sepset.variables.variable import Discrete
from support.cpd_contract import PARTS, check_contract, check_part
from support.every_form import every_cpd

CONTRIBUTING = Path(__file__).resolve().parents[2] / "CONTRIBUTING.md"
CPDS = every_cpd()

REFUSED = {
    "Bayes": ("noisy", "logistic", "function", "multiplexer", "kernel", "rules, contexts"),
    "EM": ("kernel", "line, a vector"),
    "gradient": ("kernel", "rules, contexts", "line, a vector"),
    "identifiability": ("line", "kernel"),
    "checkpoint": ("kernel", "line, a vector"),
    "MLE": ("kernel",),
}
"""The parts of the contract that CPDs do not fulfill, by the beginning of the names of the CPDs."""


def test_the_list_has_several_cpds_of_every_class():
    own = {tag for tag, kind in kinds().items() if kind.__module__.startswith("sepset.")}
    counts = {tag: sum(tag_of(cpd) == tag for cpd in CPDS.values()) for tag in own}
    assert min(counts.values()) >= 1, counts
    assert {tag for tag, number in counts.items() if number == 1} <= {"multiplexer"}


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("name", CPDS)
def test_every_cpd_keeps_the_contract(name, part, tmp_path):
    works = check_part(part, CPDS[name], tmp_path / "run.bin")
    assert works != name.startswith(REFUSED.get(part, ("nothing",)))


@pytest.fixture
def contributed(monkeypatch):
    """The CPD of CONTRIBUTING.md, from its text."""
    text = CONTRIBUTING.read_text(encoding="utf-8")
    section = text[text.index("## How to add a CPD") : text.index("## How to add a learning method")]
    (code,) = re.findall(r"^```python\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    module = types.ModuleType("contributed")
    vars(module).update(np=np, ss=ss, dataclass=dataclass)
    monkeypatch.setitem(sys.modules, "contributed", module)
    exec(compile(code, "CONTRIBUTING.md", "exec"), vars(module))
    yield module.GeometricCPD
    KINDS.pop("geometric", None)


def geometric(kind, name):
    a, b, x = Discrete("a"), Discrete("b", 3), Discrete("x", 4)
    return {
        "root": lambda: kind(x, 0.4),
        "one parent": lambda: kind(x, [0.2, 0.7], a, block="chances"),
        "two parents": lambda: kind(Discrete("x", 3), np.linspace(0.1, 0.9, 6), (a, b)),
    }[name]()


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("name", ["root", "one parent", "two parents"])
def test_the_cpd_of_the_document_keeps_the_contract(contributed, name, part, tmp_path):
    works = check_part(part, geometric(contributed, name), tmp_path / "run.bin")
    assert works == (part != "Bayes")


@pytest.mark.parametrize("name", ["root", "one parent", "two parents"])
def test_the_cpd_of_the_document_has_its_table(contributed, name):
    cpd = geometric(contributed, name)
    rows = []
    for chance in cpd.chances:
        left, row = 1.0, []
        for _ in range(cpd.child.num_states - 1):
            row.append(left * (1.0 - chance))
            left *= chance
        rows.append([*row, left])
    check_contract(cpd, np.reshape(rows, [v.num_states for v in cpd.scope]), tolerance=1e-12)


def test_tags_are_of_one_class_each(monkeypatch):
    monkeypatch.setattr(registry, "KINDS", dict(KINDS))
    table = kinds()["table"]
    with pytest.raises(ModelError, match="'table' is that of TableCPD"):
        registered("table")(kinds()["tree"])
    assert registered("table")(table) is table


def test_what_has_no_tag_is_refused():
    class Own:
        pass

    with pytest.raises(NotApplicable, match="Files have no form"):
        tag_of(Own())
    assert all(isinstance(cpd, CPD) for cpd in CPDS.values())


def test_the_package_is_searched_once(monkeypatch):
    registry.kinds()
    monkeypatch.setattr(registry.pkgutil, "iter_modules", None)
    assert registry.kinds()["table"].__name__ == "TableCPD"
