"""A key, an assignment or a number of rows that is none ends in an error of the library, whichever answer is asked."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

import sepset as ss
from support.everything import EVERYTHING

ASIA = ss.datasets.load("asia")
ROWS = ASIA.sample(40, seed=1)
X, Y, D = ss.Real("x"), ss.Real("y"), ss.Discrete("d")
MIXED = ss.BayesNet(
    ss.TableCPD(D, [0.5, 0.5]),
    ss.LinearGaussian(X, [0.0, 1.0], covariance=1.0, by=D),
    ss.LinearGaussian(Y, 0.0, coefficients={X: 1.0}, covariance=0.5, given=X),
)
LEARNERS = {"one": ss.evaluation.Learner(ASIA, ss.Bayes(ss.K2()))}
KEYS = [(), ("lung", "tub"), None, 2.5, [], ["lung"], {}, {"zzz": 1}, object(), "zzz", b"lung", 1j, {"lung"}]
KEYS += [np.ones((2, 2)), np.array(["lung", "tub"])]
"""What is no key of any of these answers."""

KEYED = {
    "marginals": lambda: ss.marginals(ASIA),
    "real marginals": lambda: ss.marginals(MIXED),
    "answer about a number": lambda: ss.query(MIXED, "x"),
    "answer about two numbers": lambda: ss.query(MIXED, ["x", "y"]),
    "best assignment": lambda: ss.map_assignment(ASIA),
    "sensitivity": lambda: ss.sensitivity(ASIA, "lung", state="yes"),
    "information": lambda: ss.value_of_information(ASIA, "lung"),
    "contexts": lambda: ss.learning.context_coverage(ASIA, ROWS),
    "counts": lambda: ss.data.Counts.of(ROWS, [("lung", ["smoke"])]),
    "scores": lambda: ss.structure.score(ASIA.dag, ROWS),
    "checks": lambda: ss.prepare(ASIA).check(),
    "ranking scores": lambda: made(EVERYTHING["ranking scores"]),
    "recommendations": lambda: made(EVERYTHING["recommendations"]),
    "array of variables": lambda: ss.Discrete.array("p", (3, 3)),
}


def graphs() -> object:
    columns = ROWS.select(["lung", "tub"])
    return ss.structure_posterior(columns, score=ss.BDeu(1), method=ss.structure.Exhaustive())


METHODS = {
    "compare marginals": lambda: ss.marginals(ASIA).compare,
    "compare answers": lambda: ss.query(ASIA, "lung").compare,
    "density of parameters": lambda: ss.fit(ASIA, ROWS, ss.Bayes(ss.BDeu(1))).posterior.log_density,
    "condition a mixture": lambda: ss.query(MIXED, ["x", "y"]).distribution.condition,
    "check an assignment": lambda: ss.max_marginals(ASIA).is_best,
    "draws of states": lambda: ss.query(ASIA, "lung").sample,
    "draws of numbers": lambda: ss.query(MIXED, "x").sample,
    "first rows": lambda: ROWS.head,
    "probability of a feature": lambda: graphs().probability,
    "mean of a curve": lambda: ss.evaluation.learning_curve(LEARNERS, ROWS, sizes=[10, 20], repeats=2).mean,
}


@cache
def made(what: Callable[[], object]) -> object:
    """An answer, found when a test first asks for it and not where tests are collected."""
    return what()


def mistakes(answers, *, but=()):
    return [
        pytest.param(answer, key, id=f"{name} {key!r:.20}")
        for name, answer in answers.items()
        for key in KEYS
        if (name, repr(key)) not in but
    ]


@pytest.mark.parametrize(("answer", "key"), mistakes(KEYED, but={("array of variables", "()")}))
def test_what_is_no_key_is_said_to_be_none(answer, key):
    found = made(answer)
    with pytest.raises(ss.SepsetError):
        found[key]


@pytest.mark.parametrize("name", ["marginals", "best assignment", "information", "scores"])
def test_what_is_no_name_is_absent(name):
    assert "zzz" not in made(KEYED[name])
    assert made(KEYED[name]).get("zzz", 3) == 3


FINE = {("condition a mixture", "{}"), ("condition a mixture", "{'zzz': 1}")}  # nothing of it is fixed
FINE |= {("probability of a feature", "('lung', 'tub')")}  # an edge


@pytest.mark.parametrize(("ask", "key"), mistakes(METHODS, but=FINE))
def test_what_is_no_argument_is_said_to_be_none(ask, key):
    method = made(ask)
    with pytest.raises(ss.SepsetError):
        method(key)


@pytest.mark.parametrize("name", ["draws of states", "draws of numbers"])
def test_numbers_of_draws(name):
    draw = made(METHODS[name])
    for count in (-1, 2.5, True, np.array([1, 2])):
        with pytest.raises(ss.errors.ArgumentError, match="num_rows"):
            draw(count)
    with pytest.raises(ss.TooLarge, match="more memory than is available"):
        draw(10**20)
    assert len(next(iter(draw(3).values()))) == 3


def test_no_path_has_a_zero_character():
    for ask in (lambda: ss.read("\0.bif"), lambda: ss.write(ASIA, "a\0.bif")):
        with pytest.raises(ss.errors.FileFormatError, match="zero character"):
            ask()


def test_several_variables_are_not_one():
    for find in (ASIA.variables.ids, ASIA.variables.places, ASIA.variables.found_places):
        for one in (None, 3, "lung", ASIA["lung"], object()):
            with pytest.raises(ss.errors.ScopeError, match="Several variables were expected"):
                find(one)
        for wrong in ([None], ["lung", 3], [object()], [["lung"]]):
            with pytest.raises(ss.errors.ScopeError, match="A variable or its name was expected"):
                find(wrong)


def test_other_parameters_have_the_scopes_of_the_old_ones():
    cpds = ASIA.cpds
    assert ASIA.with_parameters(iter(cpds)) == ASIA
    with pytest.raises(ss.errors.ModelError, match="one CPD per variable, 8 in all; found 7"):
        ASIA.with_parameters(cpds[1:])
    for other in (cpds[::-1], [None, *cpds[1:]], "abcdefgh"):
        with pytest.raises(ss.errors.ScopeError, match=r"scope of the old one; in the place of TableCPD\(asia"):
            ASIA.with_parameters(other)
    for wrong in (None, 3, ASIA.cpd):
        with pytest.raises(ss.errors.ArgumentError, match="cpds="):
            ASIA.with_parameters(wrong)


def test_notes_are_several_strings():
    for wrong in (None, "one note", [3], 3):
        with pytest.raises(ss.errors.ArgumentError, match="notes="):
            ROWS.with_notes(wrong)


ASKED = {
    "sensitivity of no state": lambda: ss.sensitivity(ASIA, "lung", state=None),
    "a sample given nothing": lambda: ss.sample(ASIA, 2, given=0),
    "a drawing given nothing": lambda: ss.draw(ASIA, given=""),
    "a seed that is a truth": lambda: ss.sample(ASIA, 2, seed=True),
    "a seed that is a list": lambda: ss.sample(ASIA, 2, seed=[]),
    "an unused seed": lambda: ss.map_assignment(ASIA, seed="zzz"),
    "an unused rule of stopping": lambda: ss.map_assignment(ASIA, until="zzz"),
    "an unused checkpoint": lambda: ss.map_assignment(ASIA, checkpoint=3),
    "threads": lambda: ASIA.sample(2, threads=0.5),
    "missing columns": lambda: ss.Dataset({"a": [1]}, missing_columns="zzz"),
    "variables that are a text": lambda: ss.Dataset({"a": [1]}, ""),
    "a leak that is no number": lambda: ss.NoisyOr(D, given={ss.Discrete("e"): 0.5}, leak=[]),
    "a space of a potential": lambda: ss.potentials.pairwise([], ss.potentials.Potts(1.0), space="zzz"),
    "a largest size": lambda: ss.read(b"MARKOV 1 2 0", max_bytes=float("nan")),
    "an order of norms": lambda: ss.evaluation.parameter_distance(ASIA, ASIA, order=None),
    "a method that is empty": lambda: ss.graphs.elimination_order(ASIA.dag, method=[]),
    "what to do with impossible rows": lambda: ss.classify.Classifier(ASIA, "lung").predict(ROWS, on_impossible="zzz"),
    "codes that are numbers": lambda: ss.potentials.Parity().log_values([0.5, 1.0]),
    "relevant items": lambda: ss.recommend.precision_at(True, 2),
    "a frame as a method": lambda: ss.map_assignment(ASIA, method=Frame()),
    "a column that is none": lambda: ss.predict(ASIA, {"smoke": 3}, targets="lung"),
}
"""What was answered by a guess at what was meant, or with an error of Python's own."""


class Frame:
    """It has a length, and `assign` means something else, as in frames of pandas."""

    def assign(self, **columns):
        return self

    def __len__(self):
        return 0


@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)
def test_nothing_is_guessed(ask):
    with pytest.raises(ss.SepsetError):
        ask()
