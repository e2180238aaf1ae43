"""Predictions for every row of a frame, as a public function."""

from __future__ import annotations

from collections.abc import Iterable

from sepset.engine.auto import Auto
from sepset.engine.engine import Engine
from sepset.engine.prediction import OnImpossible, Prediction
from sepset.inference.method import Method
from sepset.models.model import Model
from sepset.variables.variable import VariableLike


def predict(
    model: Model,
    frame: object,
    *,
    targets: VariableLike | Iterable[VariableLike] | None = None,
    on_impossible: OnImpossible = "raise",
    threads: int | None = None,
    progress: bool | None = None,
    method: Method | None = None,
) -> Prediction:
    r"""The posterior $P(Y \mid \mathbf e[m])$ of each target given every row of a frame; see `Engine.predict`.

    >>> import sepset as ss
    >>> predict(ss.datasets.load("student"), {"grade": ["A", None]}, targets="sat").states["sat"].tolist()
    ['high', 'low']
    """
    engine = Engine(model, Auto() if method is None else method)
    return engine.predict(frame, targets=targets, on_impossible=on_impossible, threads=threads, progress=progress)
