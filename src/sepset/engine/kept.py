"""A cache of engines, one per model and method, with the model's problem: later questions reuse earlier plans."""

from __future__ import annotations

from sepset.base.cache import Slot
from sepset.engine.default import DEFAULT_METHOD
from sepset.engine.engine import Engine
from sepset.errors import ArgumentError
from sepset.inference.method import Method
from sepset.models.model import MODEL_MEMBERS, Model, NamedModel, offers

ENGINES: Slot[Engine] = Slot("engines, by method and model", size=8)
"""The engines cached with one problem; models are immutable, so an engine never becomes stale."""


def engine_for(model: Model | Engine, method: Method | None = None) -> Engine:
    """The engine of a model and a method, made when it is first asked for; an engine is its own.

    Guarantee: a second question finds the first one's plans.
    Tested by: engine/test_kept.py::test_a_model_keeps_its_engines_by_method

    >>> import sepset as ss
    >>> asia = ss.datasets.load("asia")
    >>> engine_for(asia) is engine_for(asia) is engine_for(asia, ss.CliqueTree())
    True
    """
    if isinstance(model, Engine):
        return _itself(model, method)
    if type(method).__hash__ is None or not (isinstance(model, NamedModel) or offers(model, *MODEL_MEMBERS)):
        return Engine(model, method)
    chosen = None if method is None or method == DEFAULT_METHOD else method
    return model.problem().kept.get(ENGINES, lambda: Engine(model, method), key=(chosen, id(model)))


def _itself(engine: Engine, method: Method | None) -> Engine:
    if method is not None and method != engine.method:
        raise ArgumentError(f"An engine has its method already, {engine.method!r}; found method={method!r}.")
    return engine
