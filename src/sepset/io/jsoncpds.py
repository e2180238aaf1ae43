"""Conditional distributions of every kind in our JSON."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.cpds.contexts import Node
from sepset.cpds.cpd import CPD, ParameterBlock
from sepset.cpds.deterministic import DeterministicCPD, MultiplexerCPD
from sepset.cpds.kerneldensity import KernelCPD
from sepset.cpds.lineargaussian import LinearGaussian
from sepset.cpds.logistic import LogisticCPD
from sepset.cpds.noisy import NoisyMax, NoisyOr
from sepset.cpds.partition import PartitionCPD
from sepset.cpds.parzen import Samples
from sepset.cpds.rules import Rule, RuleCPD
from sepset.cpds.table import TableCPD
from sepset.cpds.tree import Split, Subtree, TreeCPD
from sepset.errors import FileFormatError, NotApplicable
from sepset.io.cursor import Cursor
from sepset.io.jsonvariables import (
    Document,
    continuous_all,
    discrete,
    discrete_all,
    found,
    names,
    read_state,
    state_document,
)
from sepset.io.record import ADVICE, Misses, row_name
from sepset.variables.universe import Variables
from sepset.variables.variable import Discrete, Vector

DEPTH = 300
"""The largest depth of a tree."""

Body: TypeAlias = Callable[[Any], Document]


def cpd_document(cpd: CPD) -> Document:
    """A CPD of any kind as JSON.

    >>> cpd_document(TableCPD(Discrete("coin"), [0.25, 0.75]))
    {'kind': 'table', 'child': 'coin', 'given': [], 'rows': [[0.25, 0.75]]}
    """
    for known, kind, body in _WRITERS:
        if type(cpd) is known:
            document = {"kind": kind, "child": cpd.child.name, "given": names(cpd.parents)} | body(cpd)
            tied = cpd.block != ParameterBlock.of(None, cpd.child)
            return document | ({"block": cpd.block.name} if tied else {})
    raise NotApplicable(f"JSON has no form for {cpd!r}. Convert it to a TableCPD first.")


def _table_body(cpd: TableCPD) -> Document:
    return {"rows": cpd.table.flat.reshape(-1, cpd.child.num_states).tolist()}


def _deterministic_body(cpd: DeterministicCPD) -> Document:
    return {"codes": cpd.codes.tolist()}


def _multiplexer_body(cpd: MultiplexerCPD) -> Document:
    return {"selector": cpd.selector.name, "inputs": names(cpd.inputs)}


def _tree_body(cpd: TreeCPD) -> Document:
    return {"tree": _tree_document(cpd, cpd.partition.root)}


def _tree_document(cpd: TreeCPD, node: Node | int, depth: int = 0) -> object:
    if not isinstance(node, Node):
        return cpd.distributions[node].tolist()
    if depth > DEPTH:
        raise NotApplicable(f"JSON files store trees up to {DEPTH} tests deep; {cpd!r} is deeper.")
    routes = [[code for code, branch in enumerate(node.route) if branch == k] for k in range(len(node.branches))]
    branches = [
        {"codes": codes, "then": _tree_document(cpd, branch, depth + 1)}
        for codes, branch in zip(routes, node.branches, strict=True)
    ]
    return {"test": cpd.parents[node.axis].name, "branches": branches}


def _rule_body(cpd: RuleCPD) -> Document:
    rules = []
    for number, probability in enumerate(cpd.probability.tolist()):
        allowed = {v.name: np.flatnonzero(m[number]).tolist() for v, m in zip(cpd.scope, cpd.masks, strict=True)}
        context = {v.name: allowed[v.name] for v in cpd.scope if len(allowed[v.name]) < v.num_states}
        rules.append({"context": context, "probability": probability})
    return {"rules": rules}


def _noisy_or_body(cpd: NoisyOr) -> Document:
    effects = [effect[:, 1].tolist() for effect in cpd.influences.effects]
    return {"effects": effects, "leak": cpd.leak, "on": state_document(cpd.on)}


def _noisy_max_body(cpd: NoisyMax) -> Document:
    return {"effects": [effect.tolist() for effect in cpd.influences.effects], "leak": cpd.leak.tolist()}


def _logistic_body(cpd: LogisticCPD) -> Document:
    return {"weights": [weights.tolist() for weights in cpd.weights], "bias": cpd.bias.tolist()}


def _linear_body(cpd: LinearGaussian) -> Document:
    arrays = {key: getattr(cpd, key).reshape(-1).tolist() for key in ("intercept", "coefficients", "covariance")}
    return {"given": names(cpd.given), "by": names(cpd.by)} | arrays


def _kernel_body(cpd: KernelCPD) -> Document:
    pairs = zip(cpd.samples.points, cpd.samples.weights, strict=True)
    samples = [{"points": points.reshape(-1).tolist(), "weights": weights.tolist()} for points, weights in pairs]
    width = {} if cpd.width is None else {"width": cpd.width.tolist()}
    return {"given": names(cpd.given), "by": names(cpd.by), "samples": samples} | width


def _partition_body(cpd: PartitionCPD) -> Document:
    return {"parts": cpd.parts.tolist(), "rows": cpd.distributions.tolist()}


_WRITERS: tuple[tuple[type, str, Body], ...] = (
    (TableCPD, "table", _table_body),
    (DeterministicCPD, "deterministic", _deterministic_body),
    (TreeCPD, "tree", _tree_body),
    (RuleCPD, "rule", _rule_body),
    (MultiplexerCPD, "multiplexer", _multiplexer_body),
    (NoisyOr, "noisy_or", _noisy_or_body),
    (NoisyMax, "noisy_max", _noisy_max_body),
    (LogisticCPD, "logistic", _logistic_body),
    (PartitionCPD, "partition", _partition_body),
    (LinearGaussian, "linear_gaussian", _linear_body),
    (KernelCPD, "kernel", _kernel_body),
)


def read_cpd(item: Cursor, variables: Variables, misses: Misses) -> CPD:
    """The CPD in an entry; the rows of a table are normalized or kept as the reading says."""
    kind = item["kind"].text()
    if kind not in _READERS:
        raise item["kind"].error(f"expected one of {', '.join(_READERS)}")
    keys, read = _READERS[kind]
    item.keys("kind", "child", "given", "block", *keys)
    block = item["block"].text() if "block" in item else None
    child = found(item["child"], variables)
    if kind in ("linear_gaussian", "kernel"):
        if not isinstance(child, Vector):
            raise item["child"].error("expected a continuous variable")
        return (_read_linear if kind == "linear_gaussian" else _read_kernel)(item, child, variables, block)
    if not isinstance(child, Discrete):
        raise item["child"].error("expected a discrete variable")
    given = discrete_all(item["given"], variables)
    if kind == "table":
        return _read_table(item, child, given, block, misses)
    made: CPD = item.made(lambda: read(item, child, given, block))
    return made


def _read_table(
    item: Cursor, child: Discrete, given: tuple[Discrete, ...], block: str | None, misses: Misses
) -> TableCPD:
    rows = item["rows"].reals()
    shape = (math.prod(parent.num_states for parent in given), child.num_states)
    if rows.shape != shape:
        raise item["rows"].error(f"expected {shape[0]} rows of {shape[1]} numbers; found the shape {rows.shape}")

    def error(row: int, total: float) -> FileFormatError:
        return item["rows"].error(f"{row_name(child.name, given, row)} sums to {total:.9g}, not to one{ADVICE}")

    kept, tolerance = misses.settled(child.name, rows, error)
    return item.made(lambda: TableCPD(child, kept.reshape(-1), given=given, block=block, tolerance=tolerance))


def _read_deterministic(
    item: Cursor, child: Discrete, given: tuple[Discrete, ...], block: str | None
) -> DeterministicCPD:
    codes = item["codes"].wholes(0, child.num_states - 1)
    size = math.prod(parent.num_states for parent in given)
    if codes.size != size:
        raise item["codes"].error(f"found {codes.size} codes; the parents have {size} joint states")
    results = iter([child.states[code] for code in codes.tolist()])
    return DeterministicCPD(child, lambda *_: next(results), given=given, block=block)


def _read_multiplexer(item: Cursor, child: Discrete, given: tuple[Discrete, ...], block: str | None) -> MultiplexerCPD:
    known = Variables(given)
    inputs = discrete_all(item["inputs"], known)
    return MultiplexerCPD(child, discrete(item["selector"], known), inputs, block=block)


def _read_tree(item: Cursor, child: Discrete, given: tuple[Discrete, ...], block: str | None) -> TreeCPD:
    return TreeCPD(child, _read_subtree(item["tree"], Variables(given)), given=given, block=block)


def _read_subtree(item: Cursor, known: Variables, depth: int = 0) -> Subtree:
    if isinstance(item.value, list):
        return item.reals()
    if depth > DEPTH:
        raise item.error(f"trees are read up to {DEPTH} tests deep")
    item.keys("test", "branches")
    variable = discrete(item["test"], known)
    branches: dict[Any, Subtree] = {}
    for branch in item["branches"]:
        branch.keys("codes", "then")
        codes = branch["codes"].wholes(0, variable.num_states - 1).tolist()
        key = tuple(variable.states[code] for code in codes)
        if key in branches:
            raise branch["codes"].error("these codes have a branch already")
        branches[key] = _read_subtree(branch["then"], known, depth + 1)
    return Split(variable, branches)


def _read_rules(item: Cursor, child: Discrete, given: tuple[Discrete, ...], block: str | None) -> RuleCPD:
    known = Variables((*given, child))
    rules = []
    for entry in item["rules"]:
        entry.keys("context", "probability")
        context = {}
        for name, codes in entry["context"].items():
            variable = discrete(Cursor(name, codes.path, codes.source), known)
            allowed = codes.wholes(0, variable.num_states - 1).tolist()
            context[variable] = tuple(variable.states[code] for code in allowed)
        rules.append(Rule(context, entry["probability"].real()))
    return RuleCPD(child, rules, given=given, block=block)


def _read_noisy_or(item: Cursor, child: Discrete, given: tuple[Discrete, ...], block: str | None) -> NoisyOr:
    effects = dict(zip(given, _each(item["effects"], given), strict=True))
    return NoisyOr(child, effects, item["leak"].real(), on=read_state(item["on"]), block=block)


def _read_noisy_max(item: Cursor, child: Discrete, given: tuple[Discrete, ...], block: str | None) -> NoisyMax:
    effects = dict(zip(given, _each(item["effects"], given), strict=True))
    return NoisyMax(child, effects, item["leak"].reals(), block=block)


def _read_logistic(item: Cursor, child: Discrete, given: tuple[Discrete, ...], block: str | None) -> LogisticCPD:
    weights = dict(zip(given, _each(item["weights"], given), strict=True))
    return LogisticCPD(child, weights, item["bias"].reals(), block=block)


def _read_partition(item: Cursor, child: Discrete, given: tuple[Discrete, ...], block: str | None) -> PartitionCPD:
    rows = [row.reals() for row in item["rows"]]
    if any(len(row) != child.num_states for row in rows):
        raise item["rows"].error(f"expected rows of {child.num_states} numbers")
    return PartitionCPD(child, item["parts"].wholes(), np.array(rows), given=given, block=block)


def _each(item: Cursor, given: tuple[Discrete, ...]) -> list[Floats]:
    """The numbers of each parent."""
    if len(item) != len(given):
        raise item.error(f"found {len(item)} entries for {len(given)} parents")
    return [part.reals() for part in item]


def _read_linear(item: Cursor, child: Vector, variables: Variables, block: str | None) -> LinearGaussian:
    given, by = continuous_all(item["given"], variables), discrete_all(item["by"], variables)
    entries, size = math.prod(parent.num_states for parent in by), child.size
    width = sum(parent.size for parent in given)
    shapes = {"intercept": (entries, size), "coefficients": (entries, size, width), "covariance": (entries, size, size)}
    arrays: dict[str, Floats] = {}
    for key, shape in shapes.items():
        numbers = item[key].reals()
        if numbers.shape != (math.prod(shape),):
            raise item[key].error(f"expected {math.prod(shape)} numbers; found {numbers.size}")
        arrays[key] = numbers.reshape(shape)
    return item.made(
        lambda: LinearGaussian(
            child,
            arrays["intercept"],
            coefficients=arrays["coefficients"],
            covariance=arrays["covariance"],
            given=given,
            by=by,
            block=block,
        )
    )


def _read_kernel(item: Cursor, child: Vector, variables: Variables, block: str | None) -> KernelCPD:
    given, by = continuous_all(item["given"], variables), discrete_all(item["by"], variables)
    width = item["width"].reals() if "width" in item else None
    bare = item.made(lambda: KernelCPD(child, width=width, given=given, by=by, block=block))
    contexts = [_read_samples(part, bare.samples.size) for part in item["samples"]]
    if len(contexts) != len(bare.samples.points):
        raise item["samples"].error(f"expected {len(bare.samples.points)} contexts; found {len(contexts)}")
    samples = Samples(tuple(points for points, _ in contexts), tuple(weights for _, weights in contexts))
    if width is None and samples.num_rows:
        raise item.error("expected the width of the kernels")
    return bare if width is None else bare.from_statistics(samples, unseen="keep")


def _read_samples(item: Cursor, size: int) -> tuple[Floats, Floats]:
    points, weights = item["points"].reals(), item["weights"].reals()
    if len(points) != len(weights) * size or not (weights > 0).all():
        raise item.error(f"expected weights > 0 and {size} numbers for each; found {len(weights)} and {len(points)}")
    return points.reshape(-1, size), weights


_READERS: dict[str, tuple[tuple[str, ...], Any]] = {
    "table": (("rows",), None),
    "deterministic": (("codes",), _read_deterministic),
    "tree": (("tree",), _read_tree),
    "rule": (("rules",), _read_rules),
    "multiplexer": (("selector", "inputs"), _read_multiplexer),
    "noisy_or": (("effects", "leak", "on"), _read_noisy_or),
    "noisy_max": (("effects", "leak"), _read_noisy_max),
    "logistic": (("weights", "bias"), _read_logistic),
    "partition": (("parts", "rows"), _read_partition),
    "linear_gaussian": (("by", "intercept", "coefficients", "covariance"), None),
    "kernel": (("by", "width", "samples"), None),
}
