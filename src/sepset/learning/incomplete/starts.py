"""Where EM and gradient ascent begin: estimates from the rows each family has, clusters for what is never seen.

If the children of a hidden variable do not distinguish its states, no step of EM will: it treats the states alike.
Starts here break such ties, by clusters of the rows and a little noise.
"""

from __future__ import annotations

from functools import cache
from typing import Literal, TypeAlias

import numpy as np

from sepset.base.arraytypes import AnyArray, Floats, Ints
from sepset.base.checks import one_of
from sepset.base.threads import abandonable
from sepset.cpds.cpd import CPD
from sepset.cpds.parameters import is_observed
from sepset.data.duplicates import group_rows
from sepset.errors import ModelError
from sepset.factors.algebra import Columns
from sepset.learning.blocks import PriorTerms
from sepset.learning.incomplete.expectation import Expectation
from sepset.learning.task import Task
from sepset.models.alignment import with_parameters_of
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete

Start: TypeAlias = Literal["auto", "model", "data", "random"]
"""Which parameters an iteration begins at.

"model" takes the network's own; "data" estimates each family from the rows that have it, hidden variables from
clusters; "random" draws probabilities uniformly; "auto" is "model" for blocks whose parameters are not the default and
"data" for others, among them children of hidden variables whose states no child distinguishes.
"""

STARTS = ("auto", "model", "data", "random")
CLUSTERED = 5_000
"""The largest number of rows that clusters are computed from."""

SORTED_UNINTERRUPTED = 1 << 18
"""Rows that are sorted while no Ctrl-C is heard, a tenth of a second."""


def start_model(
    task: Task,
    expectation: Expectation,
    start: Start | BayesNet,
    rng: np.random.Generator,
    terms: PriorTerms | None = None,
) -> BayesNet:
    """The network an iteration begins at.

    Args:
        terms: the terms that a prior adds to each block; they keep regressions from fitting perfectly.

    >>> from sepset.cpds.table import TableCPD
    >>> from sepset.learning.incomplete.expectation import Expectation
    >>> net = BayesNet(TableCPD(Discrete("coin"), [0.3, 0.7]))
    >>> task = Task(net, {"coin": [0, None]})
    >>> start_model(task, Expectation.of(task), "model", np.random.default_rng(0)) is net
    True
    """
    template = task.template
    if isinstance(start, BayesNet):
        return _given(expectation, with_parameters_of(template, start, "start"))
    one_of("start", start, STARTS, otherwise="a network")
    if start == "model":
        return template
    if start == "random":
        return with_tied(expectation, [_random(cpd, rng) for cpd in template.cpds])
    untold = {child for children in symmetric(task, template).values() for child in children}
    silent = [start == "data" or cpd.parameters.is_default or cpd.child.name in untold for cpd in template.cpds]
    if not any(silent):
        return template
    columns, blocks = _with_clusters(task, rng), expectation.blocks
    known = {i: term for block, term in zip(blocks.members, terms, strict=True) for i in block} if terms else {}
    made = [
        expectation.families.start(own.cpd, known.get(i)) or own.start(columns, task.dataset.weights, rng, known.get(i))
        if quiet and own.cpd.num_parameters
        else own.cpd
        for i, (own, quiet) in enumerate(zip(blocks.forms, silent, strict=True))
    ]
    return with_tied(expectation, made)


def _given(expectation: Expectation, model: BayesNet) -> BayesNet:
    """The network of a start; raises where CPDs that share parameters have different ones there."""
    for first, *others in expectation.blocks.members:
        own = model.cpds[first].parameters.arrays if others else {}
        for i in others:
            tied = model.cpds[i].parameters.arrays
            if not all(np.array_equal(array, tied[name]) for name, array in own.items()):
                raise ModelError(
                    f"{model.cpds[first]!r} and {model.cpds[i]!r} share their parameters, and have different ones in "
                    "the start. Give it the same blocks, as tie does."
                )
    return model


def with_tied(expectation: Expectation, cpds: list[CPD]) -> BayesNet:
    """The network of these CPDs, each block with the parameters of its first member."""
    blocks = expectation.blocks
    for members in blocks.members:
        for i in members[1:]:
            cpds[i] = blocks.template.cpds[i].parameters.like(cpds[members[0]])
    return blocks.template.with_parameters(cpds)


def symmetric(task: Task, model: BayesNet) -> dict[str, tuple[str, ...]]:
    """The hidden variables whose states no child distinguishes, which no step would change, and their children.

    >>> from sepset.cpds.table import TableCPD
    >>> h, x = Discrete("h"), Discrete("x")
    >>> net = BayesNet(TableCPD(h, [0.5, 0.5]), TableCPD(x, [[0.3, 0.7], [0.3, 0.7]], given=h))
    >>> symmetric(Task(net, {"x": [0, 1, 1]}), net)
    {'h': ('x',)}
    """
    missing = task.dataset.num_missing
    found: dict[str, tuple[str, ...]] = {}
    if len(task.dataset) not in missing.values():
        return found
    parameters = cache(lambda child: model.cpd(child).parameters)
    for variable in model.variables:
        if isinstance(variable, Discrete) and variable.num_states > 1 and missing[variable.name] == len(task.dataset):
            children = model.children(variable)
            if not any(parameters(child).tells(variable) for child in children):
                found[variable.name] = children
    return found


def _random(cpd: CPD, rng: np.random.Generator) -> CPD:
    """The CPD with random parameters: rows uniform on their simplex, weights and regressions near what they are."""
    found: CPD = cpd.parameters.random(rng) if cpd.num_parameters else cpd
    return found


def _with_clusters(task: Task, rng: np.random.Generator) -> Columns:
    """The columns, with a cluster of similar rows in place of each hidden variable's states."""
    columns: Columns = dict(zip(task.dataset.variables, task.dataset.columns, strict=True))
    missing = task.dataset.num_missing
    if task.dataset.num_rows not in missing.values():
        return columns
    seen = [v for v in columns if missing[v.name] < task.dataset.num_rows]
    for variable in task.template.variables:
        if isinstance(variable, Discrete) and variable not in seen and task.dataset.num_rows:
            near = [v for v in seen if v.name in task.template.children(variable)] or seen
            columns[variable] = clusters(
                [columns[v] for v in near], variable.num_states, task.dataset.num_rows, rng, task.dataset.weights
            )
    return columns


def clusters(
    columns: list[AnyArray], num: int, num_rows: int, rng: np.random.Generator, weights: Floats | None = None
) -> Ints:
    """A cluster for each row: centers drawn far apart, then a few rounds of nearest center and mean.

    Codes count as 0/1 coordinates and numbers as multiples of their standard deviation; missing cells as the mean.
    Equal rows are one with the sum of their weights, so that a weight means a repeated row, and the order of the rows
    means nothing.

    >>> found = clusters([np.array([0.0, 0.1, 5.0, 5.1])], 2, 4, np.random.default_rng(0))
    >>> bool(found[0] == found[1] != found[2] == found[3])
    True

    Reference: Arthur & Vassilvitskii (2007), k-means++.
    """
    distinct, groups, mass = _distinct(columns, num_rows, weights)
    x = _coordinates(distinct, mass)
    some, held = _some(x, mass, rng)
    centers = _far_apart(some, held, num, rng)
    for _ in range(5):
        near = _nearest(some, centers)
        filled = np.bincount(near, held, num)
        for c in np.flatnonzero(filled):
            centers[c] = held[near == c] @ some[near == c] / filled[c]
    return _nearest(x, centers)[groups]


def _distinct(columns: list[AnyArray], num_rows: int, weights: Floats | None) -> tuple[list[AnyArray], Ints, Floats]:
    """The distinct rows in the order of their values, each row's place among them, and their weights."""
    cards = [0 if column.dtype.kind == "f" else int(column.max(initial=0)) + 1 for column in columns]
    firsts, groups = group_rows(columns, cards, num_rows)
    order = _sorted([column[firsts] for column in columns]) if columns else np.arange(len(firsts))
    places = np.empty(len(firsts), np.int64)
    places[order] = np.arange(len(firsts))
    places = places[groups]
    return (
        [column[firsts[order]] for column in columns],
        places,
        np.bincount(places, weights, len(firsts)).astype(float),
    )


def _sorted(columns: list[AnyArray]) -> Ints:
    """The places of rows in the order of their values, those of the last column first."""
    if len(columns[0]) <= SORTED_UNINTERRUPTED:
        return np.lexsort(columns)
    return abandonable(lambda: np.lexsort(columns))


def _some(x: Floats, mass: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """The rows that clusters are computed from: all, or as many as are allowed, at equal steps of the weight."""
    if len(x) <= CLUSTERED:
        return x, mass
    steps = (np.arange(CLUSTERED) + rng.random()) / CLUSTERED
    chosen, counts = np.unique(_at(mass, steps), return_counts=True)
    return x[chosen], counts.astype(np.float64)


def _at(mass: Floats, shares: Floats) -> Ints:
    """The places at which these shares of the whole weight are reached."""
    ends = np.cumsum(mass)
    return np.asarray(np.searchsorted(ends, shares * ends[-1], side="right").clip(max=len(mass) - 1), np.int64)


def _far_apart(x: Floats, mass: Floats, num: int, rng: np.random.Generator) -> Floats:
    centers = x[_at(mass, rng.random(1))]
    for _ in range(num - 1):
        apart = mass * _squares(x, centers).min(axis=1)
        chosen = _at(apart if apart.sum() > 0 else mass, rng.random(1))
        centers = np.concatenate([centers, x[chosen]])
    return centers


def _nearest(x: Floats, centers: Floats) -> Ints:
    return np.asarray(_squares(x, centers).argmin(axis=1), dtype=np.int64)


def _squares(x: Floats, centers: Floats) -> Floats:
    """Squared distances, one column per center."""
    return np.stack([((x - c) ** 2).sum(axis=1) for c in centers], axis=1)


def _coordinates(columns: list[AnyArray], mass: Floats) -> Floats:
    widths = [1 if column.dtype.kind == "f" else int(column.max()) + 1 for column in columns]
    x = np.zeros((len(mass), 1 + sum(widths)))
    for column, width, end in zip(columns, widths, 1 + np.cumsum(widths), strict=True):
        found = is_observed(column)
        seen = mass[found] / max(mass[found].sum(), 1e-300)
        if column.dtype.kind == "f":
            values = column[found]
            mean = seen @ values
            spread = float(np.sqrt(seen @ (values - mean) ** 2))
            x[:, end - 1] = np.where(found, column - mean, 0.0) / (spread or 1.0)
        else:
            part = (column[:, None] == np.arange(width)).astype(np.float64)
            x[:, end - width : end] = np.where(found[:, None], part, seen @ part[found])
    return x
