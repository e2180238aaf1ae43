from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

import oracle
from sepset import datasets
from sepset.errors import ModelError, ScopeError
from sepset.io import bif
from sepset.models.bayesnet import BayesNet
from sepset.models.markovnet import MarkovNet
from support.file_laws import assert_same_network
from support.shared_files import one_shared
from support.strategies import plain_factors

ROOT = Path(__file__).resolve().parents[2]
REPOSITORY = [
    "alarm",
    "asia",
    "cancer",
    "child",
    "earthquake",
    "hailfinder",
    "insurance",
    "sachs",
    "survey",
    "win95pts",
]
BOOKS = ["misconception", "sprinkler", "student", "umbrella"]


def test_names():
    assert list(datasets.names()) == sorted(REPOSITORY + BOOKS)


@pytest.mark.parametrize("name", datasets.names())
def test_every_dataset_loads_and_says_where_it_is_from(name):
    model = datasets.load(name)
    assert model.name == name
    about = datasets.describe(name)
    assert about.name == name
    assert all((about.description, about.source, about.authors, about.license))
    notice = (ROOT / "NOTICE").read_text(encoding="utf-8")
    entry = notice.split(f"src/sepset/datasets/{name}.json\n")[1].split("\n\n")[0]
    assert about.source in entry
    assert about.license in entry
    assert about.authors in entry
    if isinstance(model, BayesNet):
        for cpd in model.cpds:
            assert np.abs(cpd.values.sum(axis=-1) - 1).max() < 1e-12


@pytest.mark.parametrize("name", datasets.names())
def test_files_are_small(name):
    assert (ROOT / "src" / "sepset" / "datasets" / f"{name}.json").stat().st_size < 200_000


@pytest.mark.parametrize("name", REPOSITORY)
def test_networks_are_the_published_ones(name):
    published = bif.parse(gzip.decompress(one_shared(f"nets/{name}.bif.gz").read_bytes()))
    ours = datasets.load(name)
    assert_same_network(ours, published, printed=False)
    assert ours.notes == published.notes
    assert datasets.describe(name).license.startswith("CC BY-SA 3.0")


def test_an_unknown_name_raises_with_the_nearest():
    with pytest.raises(ScopeError, match=r"Unknown dataset 'alram'\. Did you mean 'alarm'\?"):
        datasets.load("alram")
    with pytest.raises(ScopeError):
        datasets.describe("../alarm")


def conditional(name, target, given):
    """One conditional probability by enumeration; findings are states."""
    model = datasets.load(name)
    factors, cards = plain_factors(model)
    evidence = {key: model[key].code(state) for key, state in given.items()}
    return dict(zip(model[target].states, oracle.conditional(factors, cards, [target], evidence), strict=True))


def test_student():
    # Koller & Friedman, section 3.2.1.2: P(i1 | g3) = 0.079, P(i1 | g3, s1) = 0.578, P(l1) = 0.502.
    assert conditional("student", "intelligence", {"grade": "C"})["high"] == pytest.approx(0.079, abs=5e-4)
    given = {"grade": "C", "sat": "high"}
    assert conditional("student", "intelligence", given)["high"] == pytest.approx(0.578, abs=5e-4)
    assert conditional("student", "letter", {})["strong"] == pytest.approx(0.502, abs=5e-4)


def test_misconception():
    # Koller & Friedman, section 4.2.1: Z = 7,201,840 and P(b1) = 0.74.
    model = datasets.load("misconception")
    assert isinstance(model, MarkovNet)
    factors, cards = plain_factors(model)
    assert np.exp(oracle.log_z(factors, cards)) == pytest.approx(7_201_840)
    assert conditional("misconception", "Bob", {})["b1"] == pytest.approx(0.736133, abs=5e-7)


def test_umbrella():
    # Russell & Norvig, section 15.2: 0.818 after one umbrella, 0.883 after two, and smoothing 0.883 for day one.
    one, two = {"umbrella[1]": True}, {"umbrella[1]": True, "umbrella[2]": True}
    assert conditional("umbrella", "rain[1]", one)[True] == pytest.approx(0.818, abs=5e-4)
    assert conditional("umbrella", "rain[2]", two)[True] == pytest.approx(0.883, abs=5e-4)
    assert conditional("umbrella", "rain[1]", two)[True] == pytest.approx(0.883, abs=5e-4)
    blocks = {cpd.block.name for cpd in datasets.load("umbrella").cpds}
    assert len(blocks) == 3


def test_sprinkler():
    # Murphy (1998): P(S | W) = 0.430, P(R | W) = 0.708, P(W) = 0.6471.
    assert conditional("sprinkler", "sprinkler", {"wet grass": True})[True] == pytest.approx(0.430, abs=5e-4)
    assert conditional("sprinkler", "rain", {"wet grass": True})[True] == pytest.approx(0.708, abs=5e-4)
    assert conditional("sprinkler", "wet grass", {})[True] == pytest.approx(0.6471, abs=5e-5)


def test_asia():
    # Lauritzen & Spiegelhalter (1988): P(dyspnoea) = 0.436, P(tub) = 0.0104, P(lung) = 0.055.
    assert conditional("asia", "dysp", {})["yes"] == pytest.approx(0.436, abs=5e-4)
    assert conditional("asia", "tub", {})["yes"] == pytest.approx(0.0104, abs=5e-5)
    assert conditional("asia", "lung", {})["yes"] == pytest.approx(0.055, abs=5e-4)


def test_earthquake():
    # Korb & Nicholson (2010): the alarm sounds with probability 0.0161.
    assert conditional("earthquake", "Alarm", {})["True"] == pytest.approx(0.016114, abs=5e-7)


def test_a_kind_can_be_asked_for():
    assert isinstance(datasets.load("misconception", kind=MarkovNet), MarkovNet)
    with pytest.raises(ModelError, match="'asia' is a BayesNet; kind= asks for a MarkovNet"):
        datasets.load("asia", kind=MarkovNet)
