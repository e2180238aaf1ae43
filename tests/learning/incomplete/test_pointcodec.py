"""Interrupted and resumed fits equal uninterrupted ones to the bit, for every method and every form of CPD."""

from __future__ import annotations

import importlib
import pkgutil
import typing
from dataclasses import dataclass, replace

import numpy as np
import pytest

from sepset import learning
from sepset.cpds.numbers import numbers
from sepset.cpds.priors.dirichlet import Dirichlet
from sepset.cpds.table import TableCPD
from sepset.errors import DataError, NotApplicable
from sepset.inference import checkpoint
from sepset.inference.iterate import Until
from sepset.inference.result import Status
from sepset.learning.classify.latentclass import latent_class
from sepset.learning.fit import fit
from sepset.learning.incomplete.em import EM, HardEM, IncrementalEM
from sepset.learning.incomplete.gradient import GradientAscent
from sepset.learning.incomplete.pointcodec import KIND, PointCodec
from sepset.learning.incomplete.run import Ascent, Climbing
from sepset.learning.task import Task
from sepset.variables.variable import Discrete, Real
from support.every_form import discrete_forms, network

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
        [a.tobytes() for cpd in found.model.cpds for a in numbers(cpd)],
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
    for module in pkgutil.iter_modules(learning.__path__, "sepset.learning."):
        importlib.import_module(module.name)
    found = {}
    for kind in Climbing.__subclasses__():
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
    ascent = Ascent.of(Task(net, rows), None, "softmax")
    return PointCodec(ascent.expectation.blocks), ascent


def test_what_does_not_fit_the_network_is_refused():
    net = network(discrete_forms(np.random.default_rng(1))["tree"], np.random.default_rng(2))
    codec, ascent = codec_of(net, holes(net))
    packed = codec.pack(ascent.point(net))
    assert codec.unpack(packed).objective == ascent.point(net).objective
    few = {**packed["model"], "numbers": packed["model"]["numbers"][:-1]}
    wrong = [[np.full(a.shape, 2.0) for a in cpd] for cpd in packed["model"]["numbers"]]
    for change in (
        {"statistics": packed["statistics"][:-1]},
        {"statistics": (np.zeros(1), *packed["statistics"][1:])},
        {"model": few},
        {"model": {**few, "numbers": wrong}},
        {"model": None},
        {"no such field": 1},
        {KIND: "Task"},
        {KIND: "EM"},
        {KIND: "os.system"},
        {KIND: "nothing.Here"},
    ):
        with pytest.raises((DataError, NotApplicable, ValueError, TypeError)):
            codec.unpack({**packed, **change})
    with pytest.raises(DataError, match="no point"):
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
    codec, ascent = codec_of(net, holes(net))

    @dataclass(frozen=True)
    class Own:
        x: int

    with pytest.raises(NotApplicable, match="A checkpoint stores"):
        codec.pack(replace(ascent.point(net), memory=Own(1)))
    kept = codec.unpack(codec.pack(replace(ascent.point(net), memory={"a": [1, (2.0, net)]})))
    assert kept.memory["a"][1][1].cpds[0].values.tobytes() == net.cpds[0].values.tobytes()


def test_networks_of_other_forms_are_refused():
    forms = discrete_forms(np.random.default_rng(1))
    net = network(forms["tree"], np.random.default_rng(2))
    codec, ascent = codec_of(net, holes(net))
    other = net.with_cpds(TableCPD(net.variables["x"], forms["tree"].to_table().values, forms["tree"].parents))
    with pytest.raises(NotApplicable, match="keeps the numbers of"):
        codec.pack(replace(ascent.point(net), model=other))
