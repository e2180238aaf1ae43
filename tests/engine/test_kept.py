"""Engines kept with a model's problem."""

from __future__ import annotations

import pickle

import pytest

import sepset as ss
from sepset.engine.kept import ENGINES, engine_for
from sepset.inference.compiled.store import FactorStore


def test_a_model_keeps_its_engines_by_method():
    asia = ss.datasets.load("asia")
    assert engine_for(asia) is engine_for(asia) is engine_for(asia, ss.CliqueTree())
    assert engine_for(asia, ss.inference.BruteForce()) is engine_for(asia, ss.inference.BruteForce())
    assert engine_for(asia, ss.inference.BruteForce()) is not engine_for(asia)


def test_an_engine_is_its_own():
    engine = ss.prepare(ss.datasets.load("asia"))
    assert engine_for(engine) is engine_for(engine, ss.CliqueTree()) is engine
    with pytest.raises(ss.errors.ArgumentError, match="An engine has its method already"):
        engine_for(engine, ss.inference.BruteForce())


def test_predictions_keep_their_engine():
    asia = ss.datasets.load("asia")
    ss.predict(asia, {"xray": ["yes"]}, targets="lung")
    assert len(asia.problem().kept) == 2  # the engine, and the factors it shares with others
    ss.predict(asia, {"xray": ["no"]}, targets="lung")
    assert len(asia.problem().kept) == 2


def test_another_model_has_another_engine():
    assert engine_for(ss.datasets.load("asia")) is not engine_for(ss.datasets.load("asia"))


def test_only_so_many_are_kept():
    asia = ss.datasets.load("asia")
    store, first = FactorStore.of(asia.problem()), engine_for(asia, ss.inference.BruteForce(limit=1000))
    for limit in range(1, 3 * ENGINES.size):
        engine_for(asia, ss.inference.BruteForce(limit=1000 + limit))
    assert len(asia.problem().kept) == ENGINES.size + 1
    assert FactorStore.of(asia.problem()) is store  # engines never take its room
    assert engine_for(asia, ss.inference.BruteForce(limit=1000)) is not first


def test_models_pickle_without_their_engines():
    asia = ss.datasets.load("asia")
    before = engine_for(asia).query("lung", given={"xray": "yes"}).values
    assert asia.problem().kept
    copy = pickle.loads(pickle.dumps(asia))
    assert not copy.problem().kept
    assert (engine_for(copy).query("lung", given={"xray": "yes"}).values == before).all()
