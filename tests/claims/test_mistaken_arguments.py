"""A mistaken argument ends in an error of the library, whichever function it is given to."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import itertools
import pickle
from enum import Enum
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

import sepset as ss
from sepset.base.annotations import fits, is_ours, settings
from sepset.base.foreign import OFTEN, TakesNames, translated
from sepset.base.namespaces import INNER
from sepset.inference.wiring import Wiring
from sepset.learning.structure.columns import Columns
from sepset.surface import NAMESPACES, VERBS, homes
from support.blocks import in_blocks
from support.everything import EVERYTHING, A, B, C, D, made, net, rows

ASIA = ss.datasets.load("asia")
ROWS = ASIA.sample(30, seed=1)
MORAL = ss.graphs.moralize(ASIA.dag)
X, Y = ss.Discrete("x"), ss.Discrete("y", 3)
R = ss.Real("r")
EDGE = ss.DAG.parse("a -> b")


class Odd:
    """A value of no kind."""

    def __repr__(self) -> str:
        return "Odd()"


MANY = 10**6
MISTAKES = [
    np.array(3), None, float("nan"), float("inf"), -1, 1.5, 1j, True, 10**30, b"abc", "", "zz", Odd(), [], {}, {1},
    [None], ["lung", "lung"], [["lung"], ["tub"]], ("lung", 3), {None: None}, {"zz": 1}, range(3), ss.CliqueTree,
    ss.CliqueTree(), len, np.ones((2, 2)), np.zeros(0), np.array([None, "a"], object), ASIA, ASIA.dag,
    MORAL, X, ROWS.take([]), MANY,
]  # fmt: skip
CALLS = {
    "query": (ss.query, {"model": ASIA, "targets": "lung", "given": {"smoke": "yes"}, "method": None}),
    "map_assignment": (ss.map_assignment, {"model": ASIA, "given": {"smoke": "yes"}, "over": ["lung"], "k": 2}),
    "sample": (ss.sample, {"model": ASIA, "num_rows": 2, "given": {"smoke": "yes"}, "seed": 0}),
    "predict": (ss.predict, {"model": ASIA, "data": ROWS, "targets": "lung"}),
    "plan": (ss.plan, {"model": ASIA, "targets": "lung", "given": ["smoke"]}),
    "fit": (
        ss.fit,
        {"structure": ASIA.dag, "data": ROWS, "method": ss.Bayes(ss.BDeu(1)), "variables": None, "seed": 0},
    ),
    "impute": (ss.impute, {"model": ASIA, "data": ROWS, "kind": "mode"}),
    "sensitivity": (ss.sensitivity, {"model": ASIA, "target": "lung", "state": "yes", "given": {}}),
    "value_of_information": (ss.value_of_information, {"model": ASIA, "target": "lung", "candidates": ["tub"]}),
    "d_separated": (ss.d_separated, {"graph": ASIA.dag, "x": "asia", "y": "xray", "given": "either"}),
    "separated": (ss.graphs.separated, {"graph": MORAL, "x": "asia", "y": "xray", "given": "either"}),
    "elimination_order": (ss.graphs.elimination_order, {"graph": MORAL, "cards": 2, "method": None, "last": "lung"}),
    "ancestors": (ss.graphs.ancestors, {"graph": ASIA.dag, "nodes": "lung"}),
    "hide_cells": (ss.missing.hide_cells, {"data": ROWS, "mechanism": ss.missing.MCAR(0.2), "seed": 0}),
    "tie": (ss.learning.tie, {"net": ASIA, "groups": {"a": ["lung"]}}),
    "divergence": (ss.evaluation.divergence, {"p": ASIA, "q": ASIA}),
    "calibration_curve": (
        ss.evaluation.calibration_curve,
        {"model": ASIA, "data": ROWS, "target": "lung", "state": "yes"},
    ),
    "do": (ASIA.do, {"interventions": {"lung": "yes"}}),
    "subnetwork": (ASIA.subnetwork, {"variables": "lung"}),
    "random": (ss.BayesNet.random, {"dag": ASIA.dag, "states": 2, "seed": 0}),
    "DAG": (ss.DAG, {"nodes": ["a", "b"], "edges": [("a", "b")]}),
    "DAG.parse": (ss.DAG.parse, {"text": "a -> b"}),
    "Discrete": (ss.Discrete, {"name": "a", "states": 2}),
    "Dataset": (ss.Dataset, {"data": {"a": [0, 1]}, "variables": None}),
    "TableCPD": (ss.TableCPD, {"child": X, "table": [[0.5, 0.5]] * 3, "given": Y}),
    "NoisyOr": (ss.NoisyOr, {"child": X, "given": {ss.Discrete("u"): 0.5}, "leak": 0.1}),
    "LinearGaussian": (ss.LinearGaussian, {"child": R, "intercept": 0.0, "covariance": 1.0}),
    "Table": (ss.Table, {"scope": [X, Y], "values": np.ones((2, 3))}),
    "Gaussian": (ss.Gaussian, {"scope": [R], "mean": [0.0], "covariance": [[1.0]]}),
    "StudentT": (ss.factors.StudentT, {"degrees": 3.0, "location": [0.0], "dispersion": [[1.0]]}),
    "SparseTable": (ss.factors.SparseTable, {"scope": [X, Y], "codes": [[0, 1]], "values": [0.5]}),
    "KernelCPD": (ss.cpds.KernelCPD, {"child": R, "given": [], "rows": {"r": [0.5, 1.5]}}),
    "from_codes": (ss.Dataset.from_codes, {"variables": [X], "codes": {"x": [0, 1]}, "weights": [1.0, 2.0]}),
    "bootstrap_mean": (ss.evaluation.bootstrap_mean, {"values": [0.5, 1.5], "weights": [1.0, 1.0], "num_draws": 9}),
    "reliability_curve": (ss.evaluation.reliability_curve, {"probabilities": [0.2, 0.7], "outcomes": [0, 1]}),
    "roc_area": (ss.recommend.roc_area, {"scores": [0.9, 0.1], "relevant": [True, False]}),
    "least_cost_action": (ss.classify.least_cost_action, {"probabilities": [[0.6, 0.4]], "costs": np.eye(2)}),
    "consensus_graph": (ss.structure.consensus_graph, {"names": ["a", "b"], "edges": np.zeros((2, 2))}),
    "edge_recovery": (
        ss.structure.edge_recovery,
        {"truth": EDGE, "found": SimpleNamespace(names="ab", edges=np.array([[0.0, 0.5], [0.25, 0.0]]))},
    ),
    "num_dags": (ss.structure.num_dags, {"num_nodes": 3}),
    "rounds": (ss.evaluation.Holdout().rounds, {"data": ROWS, "rng": np.random.default_rng(0)}),
    "prepare": (ss.CliqueTree().prepare, {"problem": ASIA.problem()}),
    "promises": (ss.CliqueTree().promises, {"problem": ASIA.problem()}),
    "hyperparameters": (ss.BDeu(1).hyperparameters, {"cpds": ASIA.cpds[:1]}),
    "with_parameters": (ASIA.with_parameters, {"cpds": ASIA.cpds}),
}


def arguments(function, given: dict) -> dict:
    """The arguments by the names that the function has, in order."""
    names = list(inspect.signature(function).parameters)
    return {name if name in names else names[i]: value for i, (name, value) in enumerate(given.items())}


@pytest.mark.parametrize(("function", "given"), CALLS.values(), ids=CALLS.keys())
def test_mistakes_are_refused_in_our_own_words(function, given):
    right, raw = arguments(function, given), []
    function(**right)
    for name in right:
        for mistake in MISTAKES:
            try:
                function(**{**right, name: mistake})
            except (ss.SepsetError, OSError):
                continue
            except Exception as error:  # every other kind is a mistake of the library
                raw.append((name, mistake, error))
    assert raw == []


MISSING, LOSSES = ss.missing, ss.evaluation
INSIDE = {
    "share of a mechanism": (
        lambda: MISSING.hide_cells(ROWS, MISSING.MCAR("much")),
        "probability= of (MCAR|Hiding) is ",
    ),
    "share of a hiding": (
        lambda: MISSING.hide_cells(ROWS, MISSING.MNAR({"lung": MISSING.Hiding([0.1, "x"], given="smoke")})),
        "probability= of Hiding is ",
    ),
    "what a hiding's function gives": (
        lambda: MISSING.hide_cells(ROWS, MISSING.MNAR({"lung": MISSING.Hiding(lambda _: "x", given="smoke")})),
        "'lung' is one number per row; its function gave 'x'",
    ),
    "model of a mechanism": (
        lambda: MISSING.is_mar(MISSING.ObservabilityModel(ROWS, MISSING.MCAR(0.5))),
        "model= of ObservabilityModel is a BayesNet",
    ),
    "columns of an order": (
        lambda: ss.learn_structure(ROWS, method=ss.structure.KnownOrder(["lung", len])),
        "order= of KnownOrder is several strings",
    ),
    "drawing of a network": (lambda: ss.BayesNet(drawing=3), "drawing= is a models.Drawing; found 3"),
    "targets of a loss": (lambda: LOSSES.ZeroOne([["lung"]]), "names its variables"),
    "name of a group": (lambda: ss.draw(ASIA, groups={3: ["lung"]}), "a string; found 3"),
    "states set by an intervention": (lambda: ASIA.do({"lung": ["", 1]}), "found"),
    "chance set by an intervention": (lambda: ASIA.do({"lung": {"yes": "x"}}), "the probability of 'yes'"),
    "name of a dataset": (lambda: ss.datasets.load(np.zeros(3)), "name= is a string"),
    "kind of a dataset": (lambda: ss.datasets.load("asia", kind=3), "kind= is a type or None"),
    "algorithm": (lambda: ss.inference.run({}, 3.0, until=3), "method= is "),
    "maker of factors": (lambda: ss.testing.check_factor_laws(3), "make= is a function"),
    "things compared": (lambda: ss.testing.assert_close(Odd(), 3), r"are compared, .*found Odd\(\)"),
    "parents of a family": (lambda: ss.data.Counts([(X, Odd())], [np.ones(2)], num_rows=2), "A family is"),
    "variables that are no names": (lambda: ss.data.Moments.of(ROWS, iter([{}])), "found {}"),
    "tiny image": (lambda: ss.plotting.save(lambda axes: axes, "a.png", size=(5e-324, 5)), "size= is"),
    "giant image": (lambda: ss.plotting.save(lambda axes: axes, "a.png", size=(1e6, 5)), "at most 400"),
}


@pytest.mark.parametrize(("ask", "words"), INSIDE.values(), ids=INSIDE.keys())
def test_a_mistake_inside_an_argument_is_named(ask, words):
    with pytest.raises(ss.SepsetError, match=words):
        ask()


def test_functions_of_states_take_as_many_as_there_are():
    same, either = {"given": Y}, {"parents": [Y]}
    asks = {
        "DeterministicCPD": lambda rule: ss.cpds.DeterministicCPD(X, rule, **same),
        "deterministic": lambda rule: ss.factors.SparseTable.deterministic(X, rule=rule, **either),
        "Feature": lambda rule: ss.models.Feature([Y], rule),
    }
    for ask in asks.values():
        ask(lambda y: y % 2)
        for wrong in (lambda: 0, lambda x, y: 0, lambda *, y: 0):
            with pytest.raises(ss.errors.ArgumentError, match=r"The function takes .*; there are 1 "):
                ask(wrong)


def test_what_would_take_forever_is_refused():
    words = ss.classify.MultinomialNaiveBayes(
        X, Y, class_probabilities=[0.5, 0.5], word_probabilities=np.full((2, 3), 1 / 3)
    )
    for ask in (words.network, lambda n: ss.learning.meta_network(ASIA, n), ss.structure.num_dags):
        for many in (10**12, 2**70):
            with pytest.raises(ss.TooLarge):
                ask(many)


def public_functions():
    for table in (*NAMESPACES.values(), VERBS):
        for name, module in homes(table).items():
            found = getattr(importlib.import_module(f"sepset.{module}"), name)
            if inspect.isroutine(found) and not inspect.isgeneratorfunction(found):
                yield pytest.param(found, id=name)
    yield from (pytest.param(getattr(ss.plotting, name), id=f"plotting.{name}") for name in ss.plotting.__all__)


@in_blocks("function", [param.values[0] for param in public_functions()])
def test_every_public_function_looks_at_its_arguments_after_a_failure(function):
    assert hasattr(function, "__wrapped__")


def public_classes():
    for space, table in NAMESPACES.items():
        for name in homes(table):
            found = getattr(getattr(ss, space), name)
            if not inspect.isclass(found) or name in INNER or issubclass(found, Exception | Enum):
                continue
            is_made = inspect.isfunction(found.__init__) and not inspect.isabstract(found)
            if is_made and not getattr(found, "_is_protocol", False):
                yield pytest.param(found, id=f"{space}.{name}")


@in_blocks("cls", [param.values[0] for param in public_classes()])
def test_every_public_class_names_a_mistaken_argument_of_a_new_object(cls):
    with pytest.raises(ss.errors.ArgumentError, match=f"^{cls.__name__} (has no zzz=|cannot be called like this)"):
        cls(zzz=1)


def function_of(member):
    """The function behind a method of a class; what is none as it is."""
    return member.__func__ if isinstance(member, classmethod | staticmethod) else member


def methods_of(kind):
    """The methods of a class that say which argument is mistaken, by name."""
    for name in dir(kind):
        function = function_of(inspect.getattr_static(kind, name))
        is_ours = inspect.isfunction(function) and function.__module__.startswith("sepset.")
        if is_ours and not name.startswith("_") and function not in OFTEN:
            yield name, function


@in_blocks("cls", [param.values[0] for param in public_classes()])
def test_every_method_of_a_public_class_looks_at_its_arguments_after_a_failure(cls):
    assert [name for name, function in methods_of(cls) if not hasattr(function, "__wrapped__")] == []


def columns():
    return Columns.of(rows())


MORE = {
    "discrete variable": lambda: A,
    "real variable": lambda: R,
    "vector": lambda: ss.Vector("v", 2),
    "array of variables": lambda: ss.Discrete.array("pixel", (2, 2)),
    "variables": lambda: net().variables,
    "assignment": lambda: ss.map_assignment(net(), method=ss.ICM()).assignment,
    "block of factors": lambda: ss.factors.FactorBlock([[0, 1]], (2, 2), values=np.ones((1, 2, 2))),
    "single factor": lambda: ss.factors.Single(ss.Table(A, [0.5, 0.5]), [0]),
    "chain component": lambda: ss.models.ChainComponent((A, B), ss.Table((A, B), [[1, 2], [3, 1]])),
    "score table": lambda: ss.structure.parent_set_scores(rows(), score=ss.BDeu(1)),
    "drawing": lambda: ss.models.Drawing({"a": "A"}, looks={"a": ss.models.Look((0.0, 1.0))}),
    "BDeu": lambda: ss.BDeu(1),
    "Dirichlet": lambda: ss.priors.Dirichlet(1.0),
    "NormalGamma": lambda: ss.priors.NormalGamma(0.0, 1.0, shape=1.0, rate=1.0),
    "NormalMean": lambda: ss.priors.NormalMean(0.0, 1.0, noise=1.0),
    "GammaPrecision": lambda: ss.priors.GammaPrecision(1.0, 1.0, mean=0.0),
    "Potts": lambda: ss.potentials.Potts(0.5),
    "family": lambda: ss.learning.ExponentialFamily([[0.0], [1.0]]),
    "count tree": lambda: ss.structure.ADTree(rows()),
    "planned counts": lambda: ss.structure.CountPlan.of(columns(), [(0, 1)]).collect(columns()),
    "bound of a divergence": lambda: ss.learning.DivergenceBound(2, smallest=0.1),
}
"""What is not shown as a table, and so not among everything that is shown."""

NOT_MADE = {"CliqueSubtree", "MergeOrder"}  # made by a search for orders of merging
NOT_MADE |= {"MarkovFitResult", "StrongLocalMaximum"}  # results of base classes that are made here
NOT_MADE |= {"Persistency", "TreePosterior"}  # methods


@cache
def held(name):
    """A value that a user holds: made when a test first asks for it, not where tests are collected."""
    return MORE[name]() if name in MORE else made(name)


HELD = [*EVERYTHING, *MORE]


def test_one_of_every_public_class_of_values_is_made_here():
    kinds = {base for name in HELD for base in type(held(name)).__mro__}
    public = {param.values[0] for param in public_classes()}
    missing = {kind.__name__ for kind in public if issubclass(kind, TakesNames) and kind not in kinds}
    assert missing <= NOT_MADE


@in_blocks("name", list(HELD))
def test_a_mistaken_argument_of_a_method_is_named(name):
    value = held(name)
    for method, _ in methods_of(type(value)):
        call = getattr(value, method)
        parameters = inspect.signature(call).parameters.values()
        if all(p.kind is not p.VAR_KEYWORD for p in parameters):
            with pytest.raises(ss.errors.ArgumentError, match=rf"{method} has no zzz=.* It takes "):
                call(zzz=1)
        if all(p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters):
            with pytest.raises(ss.errors.ArgumentError, match=rf"{method} takes "):
                call(*[Odd()] * 12)


def settings_in(values):
    """The settings of values of ours, and of those that they are made of."""
    seen = {}
    while values:
        value = values.pop()
        if isinstance(value, tuple | list | dict):
            values += value.values() if isinstance(value, dict) else value
        elif is_ours(value) and id(value) not in seen:
            seen[id(value)] = value  # kept, so that no other one gets its number
            found = list(settings(value))
            values += [setting for _, _, setting in found]
            yield from ((type(value).__name__, name, hint, setting) for name, hint, setting in found)


@in_blocks("name", list(HELD))
def test_every_setting_is_of_its_annotated_kind(name):
    """Otherwise a right one would be called mistaken, after an error that has nothing to do with it."""
    wrong = [(kind, part) for kind, part, hint, value in settings_in([held(name)]) if not fits(value, hint)]
    assert wrong == []


CODES = {A: np.array([0, 1]), B: np.array([0, 1]), C: np.array([1, 1]), D: np.array([0, 0])}
RIGHT = {
    "assignment": [{"a": "low", "b": "no", "c": "no", "d": "no"}, {"a": "low"}, {"x": 0.5}],
    "child": [A],
    "codes": [CODES, np.array([[0]])],
    "context": [{A: "low"}, {B: "no"}],
    "data": [rows, {"x": [1.0, 2.0], "k": ["a", "b"]}],
    "evidence": [{"a": "low"}],
    "given": [{"d": "yes"}, {}, A],
    "interventions": [{"a": "low"}],
    "kept": [["a"], ["x"]],
    "kind": ["pandas"],
    "level": [0.9],
    "names": [["a"]],
    "node": ["a"],
    "nodes": [["a", "b"]],
    "num_rows": [2],
    "out": ["a", "x"],
    "place": [0],
    "position": [0],
    "rng": [np.random.default_rng(0)],
    "rows": [CODES, [0], rows],
    "scope": [["a"], [A], ["x"]],
    "source": ["a"],
    "state": ["low"],
    "target": ["a", "b"],
    "targets": ["a"],
    "text": ["a -> b"],
    "values": [[0.25, 0.75]],
    "variable": ["a", A],
    "variables": ["a", ["x"]],
    "xs": ["a"],
    "ys": ["b"],
}
"""Right arguments by the name of the parameter, of which one is taken that a method accepts."""


def right_arguments(call, needed):
    """Arguments that a method accepts, as far as they are known here; a mistake in one is then met in its place."""
    options = [[one() if inspect.isfunction(one) else one for one in RIGHT.get(name, [None])] for name in needed]
    tried = [dict(zip(needed, values, strict=True)) for values in itertools.islice(itertools.product(*options), 12)]
    for given in tried:
        with contextlib.suppress(Exception):
            call(**given)
            return given
    return tried[0]


AMOUNTS = {"indent", "num_draws", "num_points"}
"""Parameters of which a million is no mistake: it is done, and takes seconds; a thousand is no mistake either."""


def mistakes_in(name, parameter):
    """The mistakes that an argument of a method is tried with."""
    is_chain = (name, parameter) == ("dependency network", "num_rows")
    return [1000 if m is MANY and (is_chain or parameter in AMOUNTS) else m for m in MISTAKES]


@pytest.mark.parametrize("name", HELD)
def test_mistakes_are_refused_by_methods_in_our_own_words(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    value, raw = held(name), []
    for method, _ in methods_of(type(value)):
        call = getattr(value, method)
        parameters = [p for p in inspect.signature(call).parameters.values() if p.kind is not p.VAR_KEYWORD]
        many = {p.name for p in parameters if p.kind is p.VAR_POSITIONAL}
        needed = [p.name for p in parameters if p.default is p.empty and p.name not in many]
        right = right_arguments(call, needed)
        for parameter, mistake in [(p.name, m) for p in parameters for m in mistakes_in(name, p.name)]:
            try:
                call(mistake) if parameter in many else call(**{**right, parameter: mistake})
            except (ss.SepsetError, OSError):
                continue
            except Exception as error:  # every other kind is a mistake of the library
                raw.append((method, parameter, mistake, error))
    assert raw == []


def test_signatures_and_pickles_of_methods_stay():
    assert str(inspect.signature(ASIA.parents)).startswith("(variable: ")
    assert str(inspect.signature(ss.EM)).startswith("(prior: ")
    assert pickle.loads(pickle.dumps(ASIA.parents))("lung") == ("smoke",)
    assert pickle.loads(pickle.dumps(ss.EM(restarts=3))) == ss.EM(restarts=3)


def test_errors_inside_a_function_given_by_the_user_stay_as_they_are():
    def statistic(rows):
        raise ValueError("mine")

    with pytest.raises(ValueError, match=r"^mine$"):
        ss.evaluation.bootstrap(ROWS, statistic)


def test_an_error_without_a_mistaken_argument_stays_as_it_is():
    @translated
    def broken(number: int) -> float:
        return 1 / (number - 1)

    with pytest.raises(ZeroDivisionError):
        broken(1)


LINE = ss.LinearGaussian(R, 0.0, coefficients={ss.Real("u"): 1.0}, covariance=1.0, given=ss.Real("u"))
PAIR = ss.factors.StudentT(3.0, [0.0, 1.0], dispersion=np.eye(2))
SHAPES = {
    "points of two numbers": lambda: PAIR.log_density(np.ones(6)),
    "points with three axes": lambda: PAIR.log_density(np.ones((1, 3, 2))),
    "columns of other lengths": lambda: LINE.statistics({R: np.ones(3), LINE.given[0]: np.ones(2)}),
    "a column of objects": lambda: LINE.statistics({R: np.ones(1), LINE.given[0]: np.array([Odd()])}),
    "names of a graph": lambda: ss.DAG.from_arrays([("a",)], sources=[], targets=[]),
    "names of a graph with marks": lambda: ss.graphs.PAG.from_marks([len], np.zeros((1, 1))),
    "a covariance without numbers": lambda: ss.priors.NormalGamma(0.0, 1.0, shape=1.0, rate=1.0).log_density(
        np.zeros((1, 1)), np.zeros((0, 1)), is_theta=False
    ),
    "uses of a regression": lambda: ss.priors.NormalGamma(0.0, 1.0, shape=1.0, rate=1.0).log_predictives(
        np.ones((1, 2, 3, 0)), np.ones((2, 3, 1))
    ),
}


@pytest.mark.parametrize("ask", SHAPES.values(), ids=SHAPES.keys())
def test_what_has_another_shape_is_refused(ask):
    with pytest.raises(ss.SepsetError, match=r"found"):
        ask()


def paired():
    """A wiring of three variables in pairs, and so one that TRWS takes."""
    return Wiring.of(ss.MarkovNet(ss.Table([A, B], np.ones((2, 2))), ss.Table([B, C], np.ones((2, 2)))).problem())


@pytest.mark.parametrize("method", [ss.TRWS(), ss.MPLP()], ids=["TRWS", "MPLP"])
@pytest.mark.parametrize("messages", [np.zeros(1), np.zeros((2, 8)), np.zeros(8, np.int64), "zero"])
def test_kernels_get_one_message_for_each_place(method, messages):
    """They write there without a look."""
    wiring = paired()
    assert len(method.proof(wiring, np.zeros(8))) == 8
    for ask in (method.passed, method.decodings):
        with pytest.raises(ss.errors.ArgumentError, match="messages= are 8 floats"):
            ask(wiring, messages)


NUMBERS = {
    "states of some variables": lambda: ss.AlphaExpansion().options(np.zeros(2, np.int64), (0, 1), cards=np.full(3, 2)),
    "states of a pair": lambda: ss.AlphaBetaSwap().options(np.zeros(3, np.int64), (0, 1), cards=np.full(2, 2)),
    "a mask that is none": lambda: held("score table").best(0, -0.5),
    "a length that is none": lambda: ss.missing.equivalent_neighbor(net(), ["b", "c", "d"], distance=float("nan")),
    "a feature that is no number": lambda: made("structure posterior").probability(ss.DAG),
}


@pytest.mark.parametrize("ask", NUMBERS.values(), ids=NUMBERS.keys())
def test_numbers_that_are_none_are_refused(ask):
    with pytest.raises(ss.SepsetError, match="found"):
        ask()
