"""Engines kept with a model's problem."""

from __future__ import annotations

import pickle

import sepset as ss
from sepset.engine.kept import ENGINES, engine_for
from sepset.inference.compiled.store import FactorStore


def test_a_model_keeps_its_engines_by_method():
    asia = ss.datasets.load("asia")
    assert engine_for(asia, "query") is engine_for(asia, "marginals")
    assert engine_for(asia, "query", ss.BruteForce()) is engine_for(asia, "map", ss.BruteForce())
    assert engine_for(asia, "query", ss.BruteForce()) is not engine_for(asia, "query")


def test_another_model_has_another_engine():
    assert engine_for(ss.datasets.load("asia"), "query") is not engine_for(ss.datasets.load("asia"), "query")


def test_only_so_many_are_kept():
    asia = ss.datasets.load("asia")
    store, first = FactorStore.of(asia.problem()), engine_for(asia, "query", ss.BruteForce(limit=1000))
    for limit in range(1, 3 * ENGINES.size):
        engine_for(asia, "query", ss.BruteForce(limit=1000 + limit))
    assert len(asia.problem().kept) == ENGINES.size + 1
    assert FactorStore.of(asia.problem()) is store  # engines never take its room
    assert engine_for(asia, "query", ss.BruteForce(limit=1000)) is not first


def test_models_pickle_without_their_engines():
    asia = ss.datasets.load("asia")
    before = ss.query(asia, "lung", given={"xray": "yes"}).values
    copy = pickle.loads(pickle.dumps(asia))
    assert not copy.problem().kept
    assert (ss.query(copy, "lung", given={"xray": "yes"}).values == before).all()
