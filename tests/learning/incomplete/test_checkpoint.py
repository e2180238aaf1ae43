"""Resumed fits equal uninterrupted ones to the bit, for every method and form of CPD; fingerprints of fits."""

from __future__ import annotations

import importlib
import pkgutil
import typing
from dataclasses import dataclass, replace

import numpy as np
import pytest

from sepset import learning
from sepset.api.learning import fit
from sepset.cpds.lineargaussian import LinearGaussian
from sepset.cpds.priors.dirichlet import BDeu, Dirichlet
from sepset.cpds.table import TableCPD
from sepset.data.dataset import Dataset
from sepset.errors import DataError, NotApplicable
from sepset.graphs.graph import DAG
from sepset.inference import checkpoint
from sepset.inference.iterate import Until
from sepset.inference.result import Status
from sepset.learning.classify.latentclass import latent_class
from sepset.learning.incomplete.checkpoint import KIND, IterateCodec, about, fingerprint
from sepset.learning.incomplete.em import EM, HardEM, IncrementalEM
from sepset.learning.incomplete.gradient import GradientAscent
from sepset.learning.incomplete.run import EMTask, IterativeEstimator
from sepset.learning.task import Task
from sepset.models.bayesnet import BayesNet
from sepset.models.defaults import template_of
from sepset.variables.variable import Discrete, Real
from support.every_form import all_forms, discrete_forms, network

FORMS = sorted(discrete_forms(np.random.default_rng(0)))
METHODS = [
    EM(),
    EM(acceleration="squarem"),
    EM(prior=Dirichlet(0.5)),
    HardEM(),
    IncrementalEM(3),
    GradientAscent(memory=3),
]
MIXED = latent_class([Real("x"), Discrete("y", 3), Real("z")], 2, correlated=True)


def numbers(cpd):
    return cpd.parameters.arrays


def holes(net, count=40, seed=3):
    """Rows of a network with a third of the cells missing."""
    rows = net.sample(count, seed=seed)
    codes = rows.matrix().astype(np.int64)
    codes[np.random.default_rng(seed).random(codes.shape) < 0.35] = -1
    return type(rows).from_codes(net.variables, codes)


def mixed_rows(count=40):
    rng = np.random.default_rng(8)
    z = rng.normal(size=count) + 3.0 * rng.integers(2, size=count)
    x = [None if rng.random() < 0.2 else float(v) for v in rng.normal(size=count) - z]
    return {"x": x, "y": rng.integers(3, size=count).tolist(), "z": z.tolist()}


def content(found):
    """Everything that two fits could differ in, as bytes."""
    return (
        [a.tobytes() for cpd in found.model.cpds for a in numbers(cpd).values()],
        found.trace.tobytes(),
        found.log_likelihood,
        found.status,
        [s.tobytes() for s in found.state.state.statistics],
        found.state.generator,
    )


def resumed(run, file, total):
    """A run in pieces, a new one every other step."""
    for steps in (0, *range(1, total, 2), total):
        found = run(until=Until(steps=steps, tolerance=None), checkpoint=file)
    return found


@pytest.mark.parametrize("method", METHODS, ids=repr)
@pytest.mark.parametrize("form", FORMS)
def test_every_form_resumes_to_the_bit(form, method, tmp_path):
    net = network(discrete_forms(np.random.default_rng(1))[form], np.random.default_rng(2))
    if isinstance(method.prior, Dirichlet) and form == "logistic":
        method = EM()
    data = holes(net)

    def run(**more):
        return fit(net, data, method, seed=4, **more)

    steps = 2 if form == "logistic" else 4
    whole = run(until=Until(steps=steps, tolerance=None))
    assert content(resumed(run, tmp_path / "run.bin", steps)) == content(whole)


@pytest.mark.parametrize("method", METHODS[:2] + METHODS[3:], ids=repr)
def test_mixtures_resume_to_the_bit(method, tmp_path):
    data = mixed_rows()

    def run(**more):
        return fit(MIXED, data, method, seed=4, **more)

    whole = run(until=Until(steps=4, tolerance=None))
    assert content(resumed(run, tmp_path / "run.bin", 4)) == content(whole)


def every_method():
    """Each method of climbing that the library has, with each of the choices that its settings name."""
    for module in pkgutil.walk_packages(learning.__path__, "sepset.learning."):
        importlib.import_module(module.name)
    found = {}
    for kind in IterativeEstimator.__subclasses__():
        if kind.__module__.startswith("sepset."):
            found[kind.__name__] = kind()
            for name, hint in typing.get_type_hints(kind.__init__).items():
                for choice in choices(hint) if name not in ("start", "parameterization") else ():
                    found[f"{kind.__name__}({name}={choice!r})"] = kind(**{name: choice})
    return found


def choices(hint):
    """The texts that a type lists."""
    parts = typing.get_args(hint)
    return [c for part in parts for c in ([part] if isinstance(part, str) else choices(part))]


@pytest.mark.parametrize("name", sorted(every_method()))
def test_hidden_variables_and_restarts_resume_to_the_bit(name, tmp_path):
    net = latent_class([Discrete(n, 2) for n in "abcd"], 3)
    data = holes(network(discrete_forms(np.random.default_rng(5))["table"], np.random.default_rng(6)), 80)
    rows = {n: data.column(m).tolist() for n, m in zip("abcd", data.variables.names, strict=False)}
    rows = {n: [None if c < 0 else c for c in cells] for n, cells in rows.items()}
    method = replace(every_method()[name], restarts=3)

    def run(**more):
        return fit(net, rows, method, seed=11, **more)

    whole = run(until=Until(steps=6, tolerance=None))
    assert content(resumed(run, tmp_path / "run.bin", 6)) == content(whole)


def test_an_interrupted_search_for_a_start_resumes_to_the_bit(tmp_path):
    net = latent_class([Discrete(n, 2) for n in "abc"], 2)
    rows = {n: np.random.default_rng(ord(n)).integers(2, size=30).tolist() for n in "abc"}

    class Cut(EM):
        left = -1

        def step(self, task, state, rng):
            Cut.left -= 1
            if Cut.left == 0:
                raise KeyboardInterrupt
            return EM.step(self, task, state, rng)

    whole = fit(net, rows, Cut(restarts=4), seed=1)
    for Cut.left in (3, 25, 45):
        cut = fit(net, rows, Cut(restarts=4), seed=1, checkpoint=tmp_path / "run.bin")
        assert cut.status is Status.INTERRUPTED
    found = fit(net, rows, Cut(restarts=4), seed=1, checkpoint=tmp_path / "run.bin")
    assert content(found) == content(whole)


def codec_of(net, rows):
    em_task = EMTask.of(Task(net, rows))
    return IterateCodec(em_task.expectation.blocks), em_task


def test_what_does_not_fit_the_network_is_refused():
    net = network(discrete_forms(np.random.default_rng(1))["tree"], np.random.default_rng(2))
    codec, em_task = codec_of(net, holes(net))
    packed = codec.pack(em_task.evaluate(net))
    assert codec.unpack(packed).objective == em_task.evaluate(net).objective
    cpds = packed["model"]["cpds"]
    assert [cpd[KIND] for cpd in cpds][:3] == ["table", "table", "tree"]
    few = {**packed["model"], "cpds": cpds[:-1]}
    wrong = [{n: a if n == KIND else np.full(a.shape, 2.0) for n, a in cpd.items()} for cpd in cpds]
    other = [{**cpd, KIND: "partition"} for cpd in cpds]
    for change in (
        {"statistics": packed["statistics"][:-1]},
        {"statistics": (np.zeros(1), *packed["statistics"][1:])},
        {"model": few},
        {"model": {**few, "cpds": wrong}},
        {"model": {**few, "cpds": other}},
        {"model": None},
        {"no such field": 1},
        {KIND: "Task"},
        {KIND: "EM"},
        {KIND: "os.system"},
        {KIND: "nothing.Here"},
    ):
        with pytest.raises((DataError, NotApplicable, ValueError, TypeError)):
            codec.unpack({**packed, **change})
    with pytest.raises(DataError, match="not hold the state"):
        codec.unpack(3)


def test_forged_states_are_data_errors(tmp_path):
    """Whatever a file says it is made of, what comes of it is one kind of error."""
    net = network(discrete_forms(np.random.default_rng(1))["table"], np.random.default_rng(2))
    data, file = holes(net), tmp_path / "run.bin"
    fit(net, data, EM(), until=1, checkpoint=file)
    good = checkpoint.load(file.read_bytes(), "file")
    for state in (
        None,
        {},
        {KIND: "os.system"},
        {KIND: "Task", "template": 1, "source": 2},
        {**good["state"], "model": 1},
    ):
        checkpoint.save({**good, "state": state}, file)
        with pytest.raises(DataError, match="another version"):
            fit(net, data, EM(), until=2, checkpoint=file)


def test_states_of_foreign_classes_are_refused():
    net = network(discrete_forms(np.random.default_rng(1))["table"], np.random.default_rng(2))
    codec, em_task = codec_of(net, holes(net))

    @dataclass(frozen=True)
    class Own:
        x: int

    with pytest.raises(NotApplicable, match="A checkpoint stores"):
        codec.pack(replace(em_task.evaluate(net), memory=Own(1)))
    kept = codec.unpack(codec.pack(replace(em_task.evaluate(net), memory={"a": [1, (2.0, net)]})))
    assert kept.memory["a"][1][1].cpds[0].values.tobytes() == net.cpds[0].values.tobytes()


def test_networks_of_other_forms_are_refused():
    forms = discrete_forms(np.random.default_rng(1))
    net = network(forms["tree"], np.random.default_rng(2))
    codec, em_task = codec_of(net, holes(net))
    other = net.with_cpds(TableCPD(net.variables["x"], forms["tree"].to_table().values, given=forms["tree"].parents))
    with pytest.raises(NotApplicable, match="keeps the arrays of"):
        codec.pack(replace(em_task.evaluate(net), model=other))


ROWS = {"a": [0, 0, 1, 1, 1, 0], "b": [0, 1, 1, 1, 0, 0]}
EVERY_FORM = sorted(all_forms(np.random.default_rng(0)))


def test_fingerprints_of_checkpoints_depend_on_rows_weights_and_settings():
    net = template_of(DAG.parse("a -> b"), ROWS)
    marks = {
        about(EM(), Task(net, ROWS)),
        about(EM(restarts=2), Task(net, ROWS)),
        about(EM(), Task(net, {**ROWS, "a": [1, 0, 1, 1, 1, 0]})),
        about(EM(), Task(net, ROWS, weights=np.arange(6.0))),
    }
    assert len(marks) == 4
    assert about(EM(), Task(net, ROWS)) in marks


def test_fingerprints_of_checkpoints_depend_on_the_graph_and_its_numbers():
    """Networks that print alike: another graph, other parameters, other states, a shared block."""
    a, b, c = (Discrete(n) for n in "abc")
    rows = {"a": [0, 1], "b": [1, None], "c": [0, 1]}
    pair = [[0.2, 0.8], [0.6, 0.4]]
    roots = [TableCPD(a, [0.5, 0.5]), TableCPD(b, pair, given=a)]
    nets = [
        BayesNet(*roots, TableCPD(c, pair, given=b)),
        BayesNet(*roots, TableCPD(c, pair, given=a)),
        BayesNet(*roots, TableCPD(c, [[0.2, 0.8], [0.5, 0.5]], given=b)),
        BayesNet(*roots, TableCPD(c, pair, given=b, block="other")),
    ]
    assert len({repr(net) for net in nets}) == 1
    assert len({about(EM(), Task(net, rows)) for net in nets}) == len(nets)


def test_fingerprints_of_checkpoints_depend_on_lines():
    x = Real("x")
    nets = [BayesNet(LinearGaussian(x, mean, covariance=1.0)) for mean in (0.0, 1.0)]
    assert len({about(EM(), Task(net, {"x": [0.5, 2.0]})) for net in nets}) == 2


@pytest.mark.parametrize("name", EVERY_FORM)
def test_fingerprints_depend_on_the_numbers_of_every_form(name):
    one, other = (all_forms(np.random.default_rng(seed))[name] for seed in (1, 2))
    again = all_forms(np.random.default_rng(1))[name]
    assert fingerprint(one) == fingerprint(again) == fingerprint(other.parameters.with_arrays(numbers(one)))
    assert (fingerprint(one) == fingerprint(other)) is (not numbers(one))


@pytest.mark.parametrize("name", [n for n in EVERY_FORM if numbers(all_forms(np.random.default_rng(0))[n])])
def test_fingerprints_see_the_last_bit_of_every_array(name):
    cpd = all_forms(np.random.default_rng(1))[name]
    for place, array in numbers(cpd).items():
        changed = {name: a.copy() for name, a in numbers(cpd).items()}
        flat = changed[place].reshape(-1)
        flat[-1] = np.nextafter(array.reshape(-1)[-1], np.inf)
        assert fingerprint(cpd.parameters.with_arrays(changed)) != fingerprint(cpd)


def test_fingerprints_do_not_depend_on_what_was_computed_since():
    for cpd in all_forms(np.random.default_rng(4)).values():
        before = fingerprint(cpd)
        _ = cpd.factors(), cpd.num_parameters, hash(cpd.child), cpd.auxiliaries, repr(cpd)
        assert fingerprint(cpd) == before
    net = network(discrete_forms(np.random.default_rng(4))["tree"], np.random.default_rng(5))
    before = fingerprint(net)
    _ = net.dag, net.problem(), net.to_table if hasattr(net, "to_table") else None
    assert fingerprint(net) == before


def whole_print(method, **more):
    net = template_of(DAG.parse("a -> b"), ROWS)
    em_task = EMTask.of(Task(net, ROWS, **more), method.prior, method.parameterization)
    return about(method, em_task.task, em_task.terms)


def test_fingerprints_depend_on_long_priors():
    alphas = [np.full((2, 2), 2.0), np.array([[2.0, 2.0], [2.0, 2.5]])]
    priors = [
        None,
        Dirichlet(1.0),
        Dirichlet(2.0),
        BDeu(4.0),
        *({"b": Dirichlet(a), ...: Dirichlet(1.0)} for a in alphas),
    ]
    priors.append({"b": Dirichlet(alphas[0]), "a": Dirichlet(1.0 + 1e-15)})
    assert len({whole_print(EM(prior=p)) for p in priors}) == len(priors)
    assert whole_print(EM(prior=BDeu(4.0))) == whole_print(EM(prior=BDeu(4.0)))


def test_fingerprints_depend_on_held_out_rows_and_starts():
    held = [{"a": [0, 1], "b": [1, 1]}, {"a": [0, 1], "b": [1, 0]}, {"a": [0, 1], "b": [1, None]}, None]
    assert len({whole_print(EM(holdout=h)) for h in held}) == 4
    net = template_of(DAG.parse("a -> b"), ROWS)
    assert whole_print(EM(holdout=held[0])) == whole_print(EM(holdout=Dataset(held[0], net.variables)))
    tables = [TableCPD(net.variables["a"], [p, 1 - p]) for p in (0.25, 0.5)]
    assert len({whole_print(EM(start=net.with_cpds(t))) for t in tables} | {whole_print(EM())}) == 3


def test_fingerprints_depend_on_seeds_but_not_on_threads_or_on_how_far_a_generator_is():
    seeds = [np.random.default_rng(n) for n in (0, 1)]
    assert len({whole_print(EM(), rng=rng) for rng in seeds}) == 2
    before = whole_print(EM(), rng=seeds[0])
    seeds[0].random(5)
    assert whole_print(EM(), rng=seeds[0]) == before == whole_print(EM(threads=3))
    assert whole_print(EM(), rng=np.random.default_rng()) == whole_print(EM(), rng=np.random.default_rng())


def test_a_checkpoint_of_another_noisy_or_is_refused(tmp_path):
    file = tmp_path / "run.bin"
    nets = [network(discrete_forms(np.random.default_rng(s))["noisy-or"], np.random.default_rng(9)) for s in (1, 2)]
    data = {v.name: [0, 1, None, 1] for v in nets[0].variables}
    fit(nets[0], data, EM(), until=1, checkpoint=file)
    with pytest.raises(DataError, match="belongs to"):
        fit(nets[1], data, EM(), until=1, checkpoint=file)


def test_kinds_of_values_are_told_apart():
    values = [
        None, 0, 0.0, False, "", "0", (), [], {}, set(), b"", (0,), [0], (0, 0), ((0,), 0), (0, (0,)), {"a": 0}, {0},
        np.zeros(1), np.zeros(1, np.float32), np.zeros((1, 1)), np.zeros(0), np.array([None]), {"a": 0, "b": 1}, -0.0,
        float("nan"), {1, 2}, np.float64(0.0), Discrete("a"), Discrete("a", 3), Discrete("b"), Real("a"), int,
        Discrete("a", (False, True)),
    ]  # fmt: skip
    assert len({fingerprint(v) for v in values}) == len(values)
    assert fingerprint({1, 2}) == fingerprint({2, 1})
    loop: list[object] = []
    loop.append(loop)
    assert fingerprint(loop)


def test_fingerprints_do_not_depend_on_where_things_are():
    class Own:
        __slots__ = ()

    first, second = Own(), Own()
    assert repr(first) != repr(second)
    assert fingerprint(first) == fingerprint(second) != fingerprint(object())


def test_fingerprints_do_not_depend_on_modules():
    """Code may move between the writing of a checkpoint and its reading."""
    kinds = [type("Own", (), {"__module__": module, "__slots__": ()}) for module in ("sepset.here", "sepset.there")]
    assert repr(kinds[0]) != repr(kinds[1])
    for left, right in (kinds, [kind() for kind in kinds], [{"kind": kind} for kind in kinds]):
        assert fingerprint(left) == fingerprint(right)
    assert fingerprint(kinds[0]) != fingerprint(type("Other", (), {})) != fingerprint(kinds[0]())
