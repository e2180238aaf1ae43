"""The answers behind the commands: every method by its name, one distribution and its JSON."""

from __future__ import annotations

import json

import numpy as np
import pytest

import sepset as ss
from sepset.cli import answers
from sepset.cli.answers import METHODS, SEARCHES, AssignmentMethod, MethodName


@pytest.mark.parametrize("name", list(MethodName))
def test_every_method_answers_the_same(name, capsys):
    answers.query("asia", ["lung"], ["xray=yes"], method=name, as_json=True)
    found = json.loads(capsys.readouterr().out)
    # P(lung | xray = yes) of Lauritzen & Spiegelhalter's network
    assert found["values"][0] == pytest.approx(0.48871, abs=1e-5)
    assert name in METHODS or name == MethodName.auto


@pytest.mark.parametrize("name", list(AssignmentMethod))
def test_every_method_finds_the_best_assignment(name, capsys, tmp_path):
    a, b, c = (ss.Discrete(n, ["no", "yes"]) for n in "abc")
    equal = [[3.0, 1.0], [1.0, 3.0]]
    net = ss.MarkovNet(
        ss.Table((a, b), equal),
        ss.Table((b, c), equal),
        ss.Table(a, [1.0, 4.0]),
        *(ss.Table(v, [1.0, 2.0]) for v in (b, c)),
    )
    ss.write(net, tmp_path / "chain.uai")
    takes_one_step = name in ("min-cut", "qpbo", "beam-search")
    seconds = 20.0 if name in SEARCHES and not takes_one_step else None
    answers.best(str(tmp_path / "chain.uai"), method=name, seconds=seconds, as_json=True)
    found = json.loads(capsys.readouterr().out)
    assert list(found["assignments"][0].values()) == [1, 1, 1]
    assert found["log_values"][0] == pytest.approx(4.9698133)  # the logarithm of 144
    assert found["bound"] is None or found["bound"] == pytest.approx(4.9698133)
    assert name.value in {*METHODS, *SEARCHES, "auto"}


def test_wide_models_have_no_probability_and_a_bound(capsys, tmp_path):
    spin = ss.Discrete.array("spin", (45, 45))
    ss.write(ss.MarkovNet.potts(spin, 0.5, log_values=np.full((45, 45, 2), [0.0, 0.1])), tmp_path / "wide.uai")
    answers.best(str(tmp_path / "wide.uai"), as_json=True)
    found = json.loads(capsys.readouterr().out)
    assert found["probability"] is None
    assert found["bound"] == pytest.approx(found["log_values"][0])


def test_a_summary_names_states_and_costs(capsys):
    answers.info("asia", as_json=True)
    found = json.loads(capsys.readouterr().out)
    assert (found["variables"], found["factors"], found["width"]) == (8, 8, 2)
    assert found["states"]["lung"] == list(ss.datasets.load("asia")["lung"].states)


def test_pictures(capsys, tmp_path):
    answers.draw("asia", ["xray=yes"])
    assert "║ yes ██████████   100% ║" in capsys.readouterr().out
    for form, begins in (("svg", "<svg"), ("dot", "digraph {"), ("mermaid", "flowchart TD")):
        answers.draw("asia", form=answers.PictureFormat(form))
        assert capsys.readouterr().out.startswith(begins)
    answers.draw("asia", beliefs=True, strengths=True, out=tmp_path / "asia.svg")
    assert "99.0%" in (tmp_path / "asia.svg").read_text(encoding="utf-8")


def test_pictures_as_draw_makes_them(capsys, tmp_path):
    """The options are the arguments of `ss.draw`."""
    asia, out = ss.datasets.load("asia"), tmp_path / "asia.svg"
    for settings, arguments in (
        ({"given": ["xray=yes"], "prior": True}, {"given": {"xray": "yes"}, "compare": {}}),
        ({"given": ["xray=yes"], "compare": ["xray=no"]}, {"given": {"xray": "yes"}, "compare": {"xray": "no"}}),
        ({"titles": True, "layout": answers.PicturePlaces.layers}, {"titles": True, "layout": "layers"}),
        ({"group": ["signs=xray,dysp", "causes=smoke"]}, {"groups": {"signs": ["xray", "dysp"], "causes": "smoke"}}),
    ):
        answers.draw("asia", out=out, **settings)
        assert out.read_text(encoding="utf-8").strip() == ss.draw(asia, **arguments).to_svg()


def test_pictures_that_are_refused(tmp_path):
    with pytest.raises(ss.errors.NotApplicable, match="Leave out one of them"):
        answers.draw("asia", prior=True, compare=["xray=no"])
    with pytest.raises(ss.errors.NotApplicable, match="NAME=VARIABLE,VARIABLE; found 'signs'"):
        answers.draw("asia", group=["signs"])
    with pytest.raises(ss.errors.ScopeError, match="lungs"):
        answers.draw("asia", group=["signs=lungs"])
    with pytest.raises(ss.errors.FileFormatError, match="not a known format of pictures"):
        answers.draw("no such model", out=tmp_path / "asia.bmp")
    with pytest.raises(ss.errors.NotApplicable, match="Leave out --format"):
        answers.draw("asia", out=tmp_path / "asia.svg", form=answers.PictureFormat.svg)
