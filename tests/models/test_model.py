"""The members of every model, whatever its kind."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given, settings

import sepset as ss
from sepset.cpds.table import TableCPD
from sepset.errors import ModelError, ScopeError
from sepset.factors.gaussian import CanonicalGaussian
from sepset.factors.table import Table
from sepset.models import model as model_module
from sepset.models.bayesnet import BayesNet
from sepset.models.markovnet import MarkovNet
from sepset.models.model import Model, is_cpd, is_factor, offers
from sepset.problem import Problem
from sepset.variables.variable import Discrete, Real
from support import strategies
from support.terminal import printed


@given(strategies.bayes_nets() | strategies.markov_nets() | strategies.chain_graphs())
@settings(max_examples=60)
def test_every_model_offers_the_same(model):
    assert isinstance(model, Model)
    assert isinstance(model.problem(), Problem)
    assert model.problem() is model.problem()
    assert len(model) == len(model.variables) == len(list(model))
    for variable in model:
        assert variable in model
        assert variable.name in model
        assert model[variable.name] == model[variable] == variable
    assert "no such name at all" not in model
    with pytest.raises(ScopeError):
        model["no such name at all"]
    assert len(repr(model)) < 200
    assert model._repr_html_().startswith("<table>")
    assert set(model.factor_graph().variables) == set(model.variables)


def test_names_and_notes():
    a = Discrete("a")
    net = BayesNet(TableCPD(a, [0.5, 0.5]), name="coin", notes=["row 3 was renormalized"])
    assert net.name == "coin"
    assert net.notes == ("row 3 was renormalized",)
    assert MarkovNet(notes="one note").notes == ("one note",)
    assert "renormalized" in net._repr_html_()
    assert all(part in printed(net) for part in ("coin", "kind", "BayesNet", "note", "renormalized"))
    with pytest.raises(ModelError, match="name is a string"):
        BayesNet(name=3)


def test_membership_is_read_from_the_type():
    improper = CanonicalGaussian([Real("x")], [[0.0]], h=[1.0], g=0.0)
    assert is_factor(improper)
    assert is_factor(Table(Discrete("a"), [1, 2]))
    assert not is_factor(3)
    assert not is_factor(Table)
    assert is_cpd(TableCPD(Discrete("a"), [0.5, 0.5]))
    assert not is_cpd(improper)
    assert offers(Discrete("a"), "name")


def every_kind_of_model():
    """One of each class, built from the same objects twice."""
    a, b, x = ss.Discrete("a"), ss.Discrete("b"), ss.Real("x")
    table = ss.TableCPD(a, [0.25, 0.75])
    line = ss.LinearGaussian(x, [0.0, 1.0], covariance=[1.0, 2.0], by=a)
    net = ss.BayesNet(table, ss.NoisyOr(b, {a: 0.5}), line)
    kernel = ss.BayesNet(table, ss.KernelCPD(x, {"a": [0, 1], "x": [0.5, 1.5]}, width=0.5, by=a))
    pair = ss.ChainComponent((a, b), ss.Table((a, b), [[5, 1], [1, 5]]))
    return {
        "BayesNet": net,
        "kernels": kernel,
        "MarkovNet": net.markov_net(),
        "log-linear": ss.MarkovNet.log_linear([ss.models.Feature(a, [0, 1])], [0.75]),
        "grid": ss.MarkovNet.potts(ss.Discrete.array("pixel", (3, 3), states=4), 1.5),
        "FactorGraph": ss.FactorGraph(net),
        "ChainGraph": ss.ChainGraph(pair),
        "empty": ss.BayesNet(),
    }


@pytest.mark.parametrize("kind", every_kind_of_model())
def test_models_are_equal_by_value(kind):
    """Also where one of them has been used, was copied, or has another name."""
    first, second = every_kind_of_model()[kind], every_kind_of_model()[kind]
    if kind not in ("kernels", "empty"):
        ss.marginals(first)
    assert first == second
    assert hash(first) == hash(second)
    assert pickle.loads(pickle.dumps(first)) == second
    assert {first: 1}[second] == 1


def test_models_of_other_kinds_or_numbers_differ():
    models = list(every_kind_of_model().values())
    assert all((m == n) == (i == j) for i, m in enumerate(models) for j, n in enumerate(models))
    net = models[0]
    assert net != net.cpds
    assert net == ss.BayesNet(*reversed(net.cpds))
    assert net == ss.BayesNet(*net.cpds, name="another", notes=["a note"])
    assert net != net.with_cpds(ss.TableCPD(net.cpd("a").child, [0.5, 0.5]))


def test_the_collector_pauses_when_a_large_problem_is_made(monkeypatch):
    seconds = []
    monkeypatch.setattr(model_module, "LARGE", 3)
    monkeypatch.setattr(model_module, "pause_collection", seconds.append)
    small, large = (ss.BayesNet(*(ss.TableCPD(ss.Discrete(f"v{i}"), [0.5, 0.5]) for i in range(n))) for n in (2, 3))
    small.problem()
    assert not seconds
    large.problem()
    large.problem()
    assert seconds == 2 * [model_module.SECONDS_OF_PAUSE]  # while it is made, and after that
