"""Single orientation rules; together they are tested against enumerated classes in `test_latent`."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.graphs.pag import PAG
from sepset.learning.structure.skeletons import pagrules
from sepset.learning.structure.skeletons.skeleton import Skeleton

RULES = {
    "rule1": ("A o-> B o-o C", "A o-> B -> C"),
    "rule2": ("A -> B o-> C; A o-o C", "A -> B o-> C; A o-> C"),
    "rule3": ("A o-> B <-o C; A o-o D o-o C; D o-o B", "A o-> B <-o C; A o-o D o-o C; D o-> B"),
    "rule6": ("A - B o-> C", "A - B -> C"),
    "rule7": ("A -o B o-o C", "A -o B -o C"),
    "rule8": ("A -> B -> C; A o-> C", "A -> B -> C; A -> C"),
    "rule9": ("A o-> C; A o-> B; B -> D; D -> C", "A -> C; A o-> B; B -> D; D -> C"),
    "rule10": ("A o-> C; A o-> B; A o-> D; B -> C; D -> C", "A -> C; A o-> B; A o-> D; B -> C; D -> C"),
}


@pytest.mark.parametrize("rule", RULES)
def test_each_rule(rule):
    before, after = map(PAG.parse, RULES[rule])
    marks = before.marks.copy()
    assert getattr(pagrules, rule)(marks)
    assert PAG.from_marks(before.nodes, marks) == after
    assert not getattr(pagrules, rule)(marks) or rule == "rule7"


def test_lines_of_a_cycle():
    pag = PAG.parse("A o-o B o-o C o-o D o-o A")
    marks = pag.marks.copy()
    pagrules.rule5(marks)
    assert PAG.from_marks(pag.nodes, marks) == PAG.parse("A - B - C - D - A")


def test_discriminating_paths():
    pag = PAG.parse("D o-> A <-> B o-o C; A -> C")
    b, c = pag.id("B"), pag.id("C")
    path = pagrules.discriminating_path(pag.marks, b, c)
    assert [pag.nodes[i] for i in path] == ["D", "A", "B", "C"]
    assert pagrules.discriminating_path(pag.marks, c, b) is None
    for given, wanted in (("", "D o-> A <-> B <-> C; A -> C"), ("B", "D o-> A <-> B -> C; A -> C")):
        marks = pag.marks.copy()
        sets = {tuple(sorted((pag.id("D"), c))): tuple(pag.id(z) for z in given)}
        decide = pagrules.by_separating_sets(Skeleton(marks > 0, sets))
        assert pagrules.rule4(marks, decide)
        assert PAG.from_marks(pag.nodes, marks) == PAG.parse(wanted)
    assert not pagrules.rule4(pag.marks.copy(), pagrules.by_separating_sets(Skeleton(pag.marks > 0)))


def test_steps_of_potentially_directed_paths():
    pag = PAG.parse("A o-> B <-> C; A - C")
    steps = pagrules.potentially_directed(pag.marks)
    assert np.argwhere(steps).tolist() == [[0, 1]]
