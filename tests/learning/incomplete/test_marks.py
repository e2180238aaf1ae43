"""Marks of unfinished fits differ wherever answers may."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.cpds.lineargaussian import LinearGaussian
from sepset.cpds.numbers import numbers, with_numbers
from sepset.cpds.priors.dirichlet import BDeu, Dirichlet
from sepset.cpds.table import TableCPD
from sepset.data.dataset import Dataset
from sepset.errors import DataError
from sepset.graphs.graph import DAG
from sepset.learning.fit import fit
from sepset.learning.incomplete.em import EM
from sepset.learning.incomplete.marks import about, mark
from sepset.learning.incomplete.run import Ascent
from sepset.learning.task import Task, template_of
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete, Real
from support.every_form import all_forms, discrete_forms, network

ROWS = {"a": [0, 0, 1, 1, 1, 0], "b": [0, 1, 1, 1, 0, 0]}
FORMS = sorted(all_forms(np.random.default_rng(0)))


def test_marks_of_checkpoints_depend_on_rows_weights_and_settings():
    net = template_of(DAG.parse("a -> b"), ROWS)
    marks = {
        about(EM(), Task(net, ROWS)),
        about(EM(restarts=2), Task(net, ROWS)),
        about(EM(), Task(net, {**ROWS, "a": [1, 0, 1, 1, 1, 0]})),
        about(EM(), Task(net, ROWS, np.arange(6.0))),
    }
    assert len(marks) == 4
    assert about(EM(), Task(net, ROWS)) in marks


def test_marks_of_checkpoints_depend_on_the_graph_and_its_numbers():
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


def test_marks_of_checkpoints_depend_on_lines():
    x = Real("x")
    nets = [BayesNet(LinearGaussian(x, mean, covariance=1.0)) for mean in (0.0, 1.0)]
    assert len({about(EM(), Task(net, {"x": [0.5, 2.0]})) for net in nets}) == 2


@pytest.mark.parametrize("name", FORMS)
def test_marks_depend_on_the_numbers_of_every_form(name):
    one, other = (all_forms(np.random.default_rng(seed))[name] for seed in (1, 2))
    again = all_forms(np.random.default_rng(1))[name]
    assert mark(one) == mark(again) == mark(with_numbers(other, numbers(one)))
    assert (mark(one) == mark(other)) is (not numbers(one))


@pytest.mark.parametrize("name", [n for n in FORMS if numbers(all_forms(np.random.default_rng(0))[n])])
def test_marks_see_the_last_bit_of_every_array(name):
    cpd = all_forms(np.random.default_rng(1))[name]
    for place, array in enumerate(numbers(cpd)):
        changed = [a.copy() for a in numbers(cpd)]
        flat = changed[place].reshape(-1)
        flat[-1] = np.nextafter(array.reshape(-1)[-1], np.inf)
        assert mark(with_numbers(cpd, changed)) != mark(cpd)


def test_marks_do_not_depend_on_what_was_computed_since():
    for cpd in all_forms(np.random.default_rng(4)).values():
        before = mark(cpd)
        _ = cpd.factors(), cpd.num_parameters, hash(cpd.child), cpd.auxiliaries, repr(cpd)
        assert mark(cpd) == before
    net = network(discrete_forms(np.random.default_rng(4))["tree"], np.random.default_rng(5))
    before = mark(net)
    _ = net.dag, net.problem(), net.to_table if hasattr(net, "to_table") else None
    assert mark(net) == before


def whole_mark(method, **more):
    net = template_of(DAG.parse("a -> b"), ROWS)
    ascent = Ascent.of(Task(net, ROWS, **more), method.prior, method.parameterization)
    return about(method, ascent.task, ascent.alphas)


def test_marks_depend_on_long_priors():
    alphas = [np.full((2, 2), 2.0), np.array([[2.0, 2.0], [2.0, 2.5]])]
    priors = [
        None,
        Dirichlet(1.0),
        Dirichlet(2.0),
        BDeu(4.0),
        *({"b": Dirichlet(a), ...: Dirichlet(1.0)} for a in alphas),
    ]
    priors.append({"b": Dirichlet(alphas[0]), "a": Dirichlet(1.0 + 1e-15)})
    assert len({whole_mark(EM(prior=p)) for p in priors}) == len(priors)
    assert whole_mark(EM(prior=BDeu(4.0))) == whole_mark(EM(prior=BDeu(4.0)))


def test_marks_depend_on_held_out_rows_and_starts():
    held = [{"a": [0, 1], "b": [1, 1]}, {"a": [0, 1], "b": [1, 0]}, {"a": [0, 1], "b": [1, None]}, None]
    assert len({whole_mark(EM(holdout=h)) for h in held}) == 4
    net = template_of(DAG.parse("a -> b"), ROWS)
    assert whole_mark(EM(holdout=held[0])) == whole_mark(EM(holdout=Dataset(held[0], net.variables)))
    tables = [TableCPD(net.variables["a"], [p, 1 - p]) for p in (0.25, 0.5)]
    assert len({whole_mark(EM(start=net.with_cpds(t))) for t in tables} | {whole_mark(EM())}) == 3


def test_marks_depend_on_seeds_but_not_on_threads_or_on_how_far_a_generator_is():
    seeds = [np.random.default_rng(n) for n in (0, 1)]
    assert len({whole_mark(EM(), rng=rng) for rng in seeds}) == 2
    before = whole_mark(EM(), rng=seeds[0])
    seeds[0].random(5)
    assert whole_mark(EM(), rng=seeds[0]) == before == whole_mark(EM(threads=3))
    assert whole_mark(EM(), rng=np.random.default_rng()) == whole_mark(EM(), rng=np.random.default_rng())


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
    assert len({mark(v) for v in values}) == len(values)
    assert mark({1, 2}) == mark({2, 1})
    loop: list[object] = []
    loop.append(loop)
    assert mark(loop)


def test_marks_do_not_depend_on_where_things_are():
    class Own:
        __slots__ = ()

    first, second = Own(), Own()
    assert repr(first) != repr(second)
    assert mark(first) == mark(second) != mark(object())
