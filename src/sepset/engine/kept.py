"""A cache of engines, one per model and method, with the model's problem: later questions reuse earlier plans."""

from __future__ import annotations

from sepset.base.cache import Slot
from sepset.engine.auto import Auto, Task
from sepset.engine.engine import Engine
from sepset.inference.method import Method
from sepset.models.model import Model

ENGINES: Slot[Engine] = Slot("engines, by method and model", size=8)
"""The engines cached with one problem; models are immutable, so an engine never becomes stale."""


def engine_for(model: Model, task: Task, method: Method | None = None) -> Engine:
    """The engine that answers this kind of question, made on the first one.

    >>> import sepset as ss
    >>> asia = ss.datasets.load("asia")
    >>> engine_for(asia, "query") is engine_for(asia, "map")
    True
    """
    chosen = Auto().select(task) if method is None else method
    if not isinstance(model, Model) or type(chosen).__hash__ is None:
        return Engine(model, chosen)
    return model.problem().kept.get(ENGINES, lambda: Engine(model, chosen), key=(chosen, id(model)))
