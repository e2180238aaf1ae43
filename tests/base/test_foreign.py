"""Names and arguments of other libraries."""

from __future__ import annotations

import copy
import inspect
import pickle
import re
from pathlib import Path

import pytest

import sepset as ss
from sepset.base.foreign import ARGUMENTS, CALLED_HERE, ELSEWHERE, MEMBERS, NOT_YET, hint, translated
from sepset.errors import ArgumentError
from sepset.surface import elsewhere
from support.blocks import in_blocks


def public(path):
    found = ss
    for part in path.split("."):
        found = getattr(found, part)
    return found


@in_blocks("word", list(CALLED_HERE))
def test_what_it_is_called_here_exists(word):
    assert public(CALLED_HERE[word]) is not None
    assert word not in dir(ss)


def test_what_is_not_there_yet_is_not_there():
    assert not {name.lower() for name in dir(ss)} & NOT_YET


def names_of_peers() -> dict[str, list[str]]:
    """The first name of each piece of code in the left columns of the tables for those who come from elsewhere."""
    text = (Path(__file__).resolve().parents[2] / "docs" / "migrating.md").read_text(encoding="utf-8")
    found = {}
    for part in text.split("\n## ")[1:4]:
        cells = [re.split(r"(?<!\\)\|", line)[1] for line in part.splitlines() if line.startswith("| `")]
        codes = [code for cell in cells for code in re.findall(r"`([^`]+)`", cell)]
        names = [re.match(r"(?:gum\.|gnb\.|skbn\.|model\.)?([\w.]+)", code)[1].replace(".", "_") for code in codes]
        found[part.split("\n")[0]] = names
    return found


def test_every_name_that_the_tables_translate_has_a_hint():
    told = set(dir(ss)) | {*CALLED_HERE, *ARGUMENTS, *MEMBERS, "method"}
    tables = names_of_peers()
    assert {"map_query", "TabularCPD"} < set(tables["pgmpy"])
    assert {"boot_strength", "hc"} < set(tables["bnlearn (R)"])
    silent = [name for names in tables.values() for name in names if name not in told and not elsewhere(name)]
    assert silent == []


def test_a_name_with_two_meanings_is_told_both():
    with pytest.raises(AttributeError, match=r"It is sepset.structure.TreeSearch. What others call so is sepset.str"):
        ss.TreeSearch


def test_far_names_are_not_suggested():
    with pytest.raises(AttributeError, match=r"no attribute 'dump'\.$"):
        ss.dump


@translated
def ask(model, targets, *, given=None, seed=0):
    """A question."""
    return model, targets, given, seed


class Held:
    @translated
    def __init__(self, child, *, given=()):
        self.child = child


def test_a_right_call_goes_through():
    assert ask("m", "t", given=1) == ("m", "t", 1, 0)
    assert ask(targets="t", model="m") == ("m", "t", None, 0)
    assert Held("x").child == "x"
    assert str(inspect.signature(ask)) == "(model, targets, *, given=None, seed=0)"
    assert ask.__doc__ == "A question."


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ask("m", "t", evidence={}), r"ask has no evidence=; here it is given=\. It takes model, targets, giv"),
        (lambda: ask("m", "t", random_state=1), "here it is seed="),
        (lambda: ask("m", "t", sead=1), "ask has no sead=. Did you mean 'seed'"),
        (lambda: ask("m", "t", variance=1), "ask has no variance="),
        (lambda: ask("m", "t", {"a": 1}), "by position, and the rest by name. Findings are given=."),
        (lambda: ask("m", "t", model="m"), "is given model twice, by position and by name. It takes model,"),
        (lambda: ask("m", "t", "u", "v"), r"Several targets are one list: \['t', 'u', 'v'\]"),
        (lambda: ask("m"), "ask needs 'targets'"),
        (lambda: ask(targets="t"), "ask needs 'model'"),
        (lambda: Held("x", parents=()), "Held has no parents=; here it is given="),
        (lambda: Held("x", 1), "Held takes 'child' by position"),
        (lambda: Held(), "Held needs 'child'"),
    ],
)
def test_a_wrong_call_says_what_is_right(call, message):
    with pytest.raises(ArgumentError, match=message):
        call()


def test_an_error_inside_is_its_own():
    @translated
    def broken(value):
        return value + "text"

    @translated
    def deeper(value):
        return ask(value)

    with pytest.raises(TypeError, match="unsupported operand"):
        broken(1)
    with pytest.raises(ArgumentError, match="ask needs 'targets'"):
        deeper(1)


def test_an_interruption_is_an_interruption():
    """Ctrl-C as a compiled function is entered comes as an error of the interpreter, whose cause it is."""

    @translated
    def interrupted(cause):
        raise SystemError from cause

    with pytest.raises(KeyboardInterrupt):
        interrupted(KeyboardInterrupt())
    with pytest.raises(SystemError):
        interrupted(None)


def test_synonyms_are_no_arguments_of_their_own():
    taken = {p for verb in (ss.query, ss.sample, ss.fit, ss.predict) for p in inspect.signature(verb).parameters}
    assert not taken & set(ARGUMENTS)
    assert hint("query") == ""


@pytest.mark.parametrize(
    ("ask", "reason"),
    [
        (lambda e: e.query("lung", {"smoke": "yes"}), "Engine.query takes 'targets' by position.*Findings are given="),
        (lambda e: e.query("lung", evidence={"smoke": "yes"}), "Engine.query has no evidence=; here it is given="),
        (lambda e: e.query("lung", "smoke"), "Several targets are one list"),
        (lambda e: e.marginals({"smoke": "yes"}), "Engine.marginals takes its arguments by name. Findings are given="),
        (lambda e: e.predict({"smoke": ["yes"]}, "lung"), "Engine.predict takes 'data' by position"),
        (lambda e: e.observe(evidence={}), "Engine.observe has no evidence=; here it is given="),
        (lambda e: e.observe({"smoke": "yes"}).query(), "View.query needs 'targets'"),
        (lambda e: e.model.sample(3, random_state=1), "BayesNet.sample has no random_state=; here it is seed="),
    ],
)
def test_methods_say_what_their_arguments_are_called(ask, reason):
    with pytest.raises(ArgumentError, match=reason):
        ask(ss.prepare(ss.datasets.load("asia")))


def test_an_error_inside_a_method_is_its_own():
    class Broken:
        def __iter__(self):
            raise TypeError("no such thing")

    with pytest.raises(TypeError, match="no such thing"):
        ss.prepare(ss.datasets.load("asia")).query(Broken())


@pytest.mark.parametrize("name", MEMBERS)
def test_models_say_how_it_is_done_here(name):
    asia = ss.datasets.load("asia")
    with pytest.raises(AttributeError, match=f"no attribute '{name}'; "):
        getattr(asia, name)
    assert not hasattr(asia, name)


def test_other_names_have_a_plain_error():
    with pytest.raises(AttributeError, match=r"^'BayesNet' object has no attribute 'color'$"):
        _ = ss.datasets.load("asia").color


@pytest.mark.parametrize(
    "text",
    [
        "model.cpd('lung')",
        "model.cpds",
        "model.variables.names",
        "model['lung'].states",
        "model['lung'].num_states",
        "model.dag.edges",
        "ss.graphs.markov_blanket(model.dag, 'lung')",
        "model.sample(2, 1)",
        "ss.draw(model).to_dot()",
    ],
)
def test_the_ways_that_are_named_work(text):
    assert eval(text, {"model": ss.datasets.load("asia"), "ss": ss})


def test_models_with_hints_are_still_copied_and_pickled():
    asia = ss.datasets.load("asia")
    assert copy.deepcopy(asia) == pickle.loads(pickle.dumps(asia)) == asia


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ss.EM(n_init=3), r"EM has no n_init=; here it is restarts=\."),
        (lambda: ss.HillClimb(tabu_length=3), r"HillClimb has no tabu_length=\."),
        (lambda: ss.BDeu(equivalent_sample_size=3), r"BDeu has no equivalent_sample_size=; here it is sample_size=\."),
        (lambda: ss.Bayes(prior_type="K2"), r"Bayes has no prior_type=; here it is prior=\."),
    ],
)
def test_settings_of_methods_say_what_they_are_called(call, message):
    with pytest.raises(ArgumentError, match=message):
        call()


def test_settings_of_methods_that_are_arguments_of_verbs_here():
    verbs = set(inspect.signature(ss.fit).parameters) | set(inspect.signature(ss.learn_structure).parameters)
    for advice in ELSEWHERE.values():
        assert set(re.findall(r"(\w+)= ", advice)) <= verbs
    with pytest.raises(ArgumentError, match=r"EM has no max_iter=; here it is until= of the verb"):
        ss.EM(max_iter=5)
    with pytest.raises(
        ArgumentError, match=r"HillClimb has no max_indegree=; here it is constraints= of learn_structure"
    ):
        ss.HillClimb(max_indegree=3)
    with pytest.raises(ss.errors.ModelError, match=r"The graph alone is DAG"):
        ss.BayesNet([("a", "b")])


def test_every_verb_says_what_its_arguments_are_called():
    functions = [getattr(ss, name) for name in dir(ss) if inspect.isfunction(getattr(ss, name))]
    for function in functions:
        with pytest.raises(ArgumentError, match=f"{function.__name__} has no no_such_argument="):
            function(no_such_argument=1)
