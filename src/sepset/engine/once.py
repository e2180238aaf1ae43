"""The first question to a small network: only what is relevant to it is looked at, and nothing is prepared."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from sepset.engine.bound import positions_of
from sepset.engine.default import DEFAULT_METHOD
from sepset.engine.jointfindings import has_joints
from sepset.factors.table import Table
from sepset.inference import costs
from sepset.inference.exact.direct import Part, direct_joint
from sepset.inference.result import EVERYTHING_EXACT, QueryResult
from sepset.models.bayesnet import BayesNet
from sepset.variables.evidence import Given, resolve
from sepset.variables.findings import Findings
from sepset.variables.variable import VariableLike

WHOLE = slice(None)
GUARANTEES = {part: EVERYTHING_EXACT[part] for part in ("marginals", "log_partition")}


def answer_once(model: Any, targets: VariableLike | Iterable[VariableLike], given: Given) -> QueryResult | None:
    """The joint of the targets if this is the first question to a discrete network and a small one; None otherwise.

    Small is a matter of the question: the number of ancestors of targets and findings, and the sizes of products. A
    second question to the same network prepares an engine for it and all later ones.

    Guarantee: exact.
    Tested by: engine/test_once.py::test_first_answers_are_those_of_enumeration

    >>> import sepset as ss
    >>> round(answer_once(ss.datasets.load("asia"), "lung", {"xray": "yes"})["yes"], 4)
    0.4887
    """
    if type(model) is not BayesNet or model.__dict__.keys() & {"_problem", "_was_asked"}:
        return None
    if given is not None and has_joints(given):
        return None
    evidence, variables = resolve(given, model.variables), model.variables
    asked = positions_of(model, targets)
    model.__dict__["_was_asked"] = True
    if evidence.weights or evidence.soft or evidence.reals or not evidence.codes.keys().isdisjoint(asked):
        return None
    families = _families(model, {*asked, *evidence.codes})
    parts = None if families is None else _parts(model, families, evidence.codes)
    if families is None or parts is None:
        return None
    scope: Any = [variables[v] for v in families]
    number = {v: i for i, v in enumerate(families)}
    local = [Part(tuple([number[v] for v in part.members]), part.values) for part in parts]
    places = [number[v] for v in asked]
    found = direct_joint(local, [v.num_states for v in scope], places)
    if found is None:
        return None
    table = Table._make(tuple([scope[i] for i in places]), found[0].reshape(-1))
    return QueryResult(
        table,
        found[1],
        method=DEFAULT_METHOD,
        guarantees=GUARANTEES,
        info={"tier": "plain"},
        findings=Findings(evidence, variables),
    )


def _families(model: BayesNet, start: Collection[int]) -> dict[int, tuple[int, ...]] | None:
    """Each variable to be considered with its parents; None if there are too many or one is not discrete."""
    found: dict[int, tuple[int, ...]] = {}
    waiting, place, cpds = list(start), model.variables.id, model.cpds
    while waiting:
        v = waiting.pop()
        if v in found:
            continue
        if len(found) == costs.DIRECT_VARIABLES or not model.variables[v].is_discrete:
            return None
        found[v] = tuple([place(parent.name) for parent in cpds[v].parents])
        waiting += found[v]
    return found


def _parts(model: BayesNet, families: Mapping[int, tuple[int, ...]], codes: Mapping[int, int]) -> list[Part] | None:
    """The tables of the families at the findings; None if a CPD has other factors than one table."""
    parts = []
    for v, parents in families.items():
        cpd = model.cpds[v]
        made = cpd.decomposition()
        if made is None or len(made.factors) != 1:
            return None
        (factor,) = made.factors
        if type(factor) is not Table or factor.scope != cpd.scope:
            return None
        values, scope = factor.values, (*parents, v)
        if not codes.keys().isdisjoint(scope):
            values = values[tuple([codes.get(u, WHOLE) for u in scope])]
            scope = tuple([u for u in scope if u not in codes])
        parts.append(Part(scope, values))
    return parts
