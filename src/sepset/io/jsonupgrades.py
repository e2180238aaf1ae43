"""Documents of older format versions, turned into those of the next one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

Document: TypeAlias = dict[str, Any]


def from_version_1(document: Document) -> Document:
    """Version 2 states CPDs by their form and by named arrays: rows, contributions and weights one below the other.

    What is not as version 1 had it stays as it is, and is refused where it is read.
    """
    states = {part["name"]: part.get("states") for part in _objects(document.get("variables"))}

    def upgraded(cpd: Any) -> Any:
        change = CHANGES.get(str(_as_object(cpd).get("kind")))
        try:
            return cpd if change is None else change(cpd, states)
        except (AttributeError, IndexError, KeyError, RecursionError, TypeError, ValueError):
            return cpd

    made = {**document, "version": 2}
    if isinstance(document.get("cpds"), list):
        made["cpds"] = [upgraded(cpd) for cpd in document["cpds"]]
    if isinstance(document.get("components"), list):
        parts = document["components"]
        made["components"] = [{**p, "cpd": upgraded(p["cpd"])} if "cpd" in _as_object(p) else p for p in parts]
    return made


def _objects(values: Any) -> list[Document]:
    listed = values if isinstance(values, list) else []
    return [value for value in listed if isinstance(value, dict) and isinstance(value.get("name"), str)]


def _as_object(value: Any) -> Document:
    return value if isinstance(value, dict) else {}


def _without(cpd: Document, *keys: str) -> Document:
    return {key: value for key, value in cpd.items() if key not in keys}


def _tree(cpd: Document, states: Document) -> Document:
    rows: list[Any] = []

    def tests(node: Any) -> Any:
        """The tests below a node, its leaves put among the rows in the order of the depth."""
        if isinstance(node, list):
            rows.append(node)
            return None
        branches = []
        for branch in node["branches"]:
            then = tests(branch["then"])
            branches.append(_without(branch, "then") | ({} if then is None else {"then": then}))
        return {**node, "branches": branches}

    tree = tests(cpd["tree"])
    return _without(cpd, "tree") | ({} if tree is None else {"tree": tree}) | {"rows": rows}


def _rule(cpd: Document, states: Document) -> Document:
    rules = cpd["rules"]
    contexts, numbers = [rule["context"] for rule in rules], [rule["probability"] for rule in rules]
    return _without(cpd, "rules") | {"contexts": contexts, "probability": numbers}


def _noisy_or(cpd: Document, states: Document) -> Document:
    own = states[cpd["child"]]
    own = list(range(own)) if isinstance(own, int) else own
    place = [(type(state), state) for state in own].index((type(cpd["on"]), cpd["on"]))
    top = {} if place == 1 else {"top": place}
    effects = [[1.0 - chance, chance] for chances in cpd["effects"] for chance in chances]
    return _without(cpd, "effects", "leak", "on") | top | {"leak": [1.0 - cpd["leak"], cpd["leak"]], "effects": effects}


def _stacked(name: str) -> Callable[[Document, Document], Document]:
    """The rows of each parent one below the other."""
    return lambda cpd, states: {**cpd, name: [row for part in cpd[name] for row in part]}


def _linear(cpd: Document, states: Document) -> Document:
    return {**_without(cpd, "by"), "given": [*cpd["by"], *cpd["given"]]}


def _kernel(cpd: Document, states: Document) -> Document:
    samples = cpd["samples"]
    arrays = {
        "width": cpd.get("width", []),
        "points": [number for part in samples for number in part["points"]],
        "weights": [number for part in samples for number in part["weights"]],
        "rows": [len(part["weights"]) for part in samples],
    }
    return _linear(_without(cpd, "samples", "width") | arrays, states)


CHANGES: dict[str, Callable[[Document, Document], Document]] = {
    "tree": _tree,
    "rule": _rule,
    "noisy_or": _noisy_or,
    "noisy_max": _stacked("effects"),
    "logistic": _stacked("weights"),
    "linear_gaussian": _linear,
    "kernel": _kernel,
}
"""How the kinds that changed are written in version 2."""

UPGRADES: tuple[Callable[[Document], Document], ...] = (from_version_1,)
"""How to turn a document of version 1, 2, ... into one of the next version."""
