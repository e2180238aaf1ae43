"""The argument of a failed call that is not of the annotated kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import ArrayLike

from sepset.base.annotations import described, fits, misfit, misfit_within
from sepset.learning.missing.mechanisms import MCAR, MNAR, Hiding
from sepset.learning.missing.observability import ObservabilityModel
from sepset.models.bayesnet import BayesNet


@pytest.mark.parametrize(
    ("value", "hint", "expected"),
    [
        (3, int, True),
        (np.int64(3), int, True),
        (True, int, False),
        (3, float, True),
        ("3", float, False),
        (None, int | None, True),
        ("a", Literal["a", "b"], True),
        (1, Literal["a", "b"], False),
        (["a"], Iterable[str], True),
        (["a", 1], Sequence[str], False),
        (np.array(3), Iterable[str], False),
        ({"a": 1}, Mapping[str, int], True),
        ({"a": "b"}, Mapping[str, int], False),
        (("a", 1), tuple[str, int], True),
        (("a",), tuple[str, int], False),
        (len, Callable[[Any], int], True),
        (3, Callable[[Any], int], False),
        ([[1, 2.5]], ArrayLike, True),
        (["a"], ArrayLike, False),
        (object(), Any, True),
    ],
)
def test_values_and_kinds(value, hint, expected):
    assert fits(value, hint) == expected


def ask(model: str, *targets: str, given: Mapping[str, int] | None = None, seed: int = 0) -> None: ...


@pytest.mark.parametrize(
    ("args", "kwargs", "expected"),
    [
        (("a",), {}, ""),
        (("a", "b"), {"seed": 3}, ""),
        ((1,), {}, "model= is a string; found 1."),
        (("a", "b", 2), {}, "targets= is a string; found 2."),
        (("a",), {"given": 3, "seed": "x"}, "given= is a mapping or None; found 3."),
    ],
)
def test_the_first_misfit_is_named(args, kwargs, expected):
    assert misfit(ask, args, kwargs) == expected


def test_kinds_in_words():
    assert described(int | float | None) == "a whole number, a number or None"
    assert described(Iterable[str | int]) == "several strings or whole numbers"
    assert described(ArrayLike) == "numbers"


def test_names_for_type_checkers_alone_are_those_that_the_module_imports():
    """`Weights` is an alias there, and a class of another module."""
    from sepset.engine.engine import Engine

    count = Engine.expected_counts
    assert misfit(count, (None, {"a": [0]}), {"weights": None}) == ""
    assert misfit(count, (None, {"a": [0]}), {"weights": "w", "families": 3}).startswith("families= is ")


def hide(mechanism: Any, data: Any = None) -> None: ...


EMPTY = BayesNet()


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (MCAR(0.5), ""),
        (MCAR("much"), "probability= of MCAR is "),
        (MNAR({"a": Hiding(0.5)}), ""),
        (MNAR(3), "columns= of MNAR is a mapping; found 3."),
        ([MCAR(0.5), MNAR(3)], "columns= of MNAR is a mapping; found 3."),
        (ObservabilityModel(EMPTY, MNAR(3)), "columns= of MNAR is a mapping; found 3."),
        (ObservabilityModel(3, MCAR(0.5)), "model= of ObservabilityModel is a BayesNet; found 3."),
        ("MCAR", ""),
    ],
)
def test_a_setting_that_does_not_fit_is_named(given, expected):
    found = misfit_within(hide, (), {"mechanism": given})
    assert found.startswith(expected)
    assert bool(found) == bool(expected)


def test_a_list_that_holds_itself_has_an_end():
    endless: list[Any] = [MCAR(0.5)]
    endless.append(endless)
    assert not misfit_within(hide, (endless,), {})
