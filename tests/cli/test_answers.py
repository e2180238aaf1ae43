"""The answers behind the commands: every method by its name, one distribution and its JSON."""

from __future__ import annotations

import json

import pytest

import sepset as ss
from sepset.cli import answers
from sepset.cli.answers import METHODS, MethodName


@pytest.mark.parametrize("name", list(MethodName))
def test_every_method_answers_the_same(name, capsys):
    answers.query("asia", ["lung"], ["xray=yes"], method=name, as_json=True)
    found = json.loads(capsys.readouterr().out)
    # P(lung | xray = yes) of Lauritzen & Spiegelhalter's network
    assert found["values"][0] == pytest.approx(0.48871, abs=1e-5)
    assert name in METHODS or name == MethodName.auto


def test_a_summary_names_states_and_costs(capsys):
    answers.info("asia", as_json=True)
    found = json.loads(capsys.readouterr().out)
    assert (found["variables"], found["factors"], found["width"]) == (8, 8, 2)
    assert found["states"]["lung"] == list(ss.datasets.load("asia")["lung"].states)
