"""Where EM and gradient ascent begin: estimates from the rows each family has, clusters for what is never seen.

A hidden variable whose children do not tell its states apart stays so: every step treats the states alike. Starts here
break such ties, from clusters of the rows and with a little noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from sepset.base.arraytypes import AnyArray, Bools, Floats, Ints
from sepset.base.checks import one_of
from sepset.cpds.cpd import CPD
from sepset.cpds.lineargaussian import LinearGaussian
from sepset.cpds.logistic import LogisticCPD
from sepset.cpds.noisy import NoisyMax, NoisyOr
from sepset.cpds.parameters import multinomials
from sepset.cpds.table import TableCPD
from sepset.errors import NotApplicable
from sepset.factors.algebra import Columns
from sepset.learning.incomplete.expectation import Expectation
from sepset.learning.incomplete.families import contributing
from sepset.learning.incomplete.gaussianfamily import GaussianFamily
from sepset.learning.task import Task
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete

Start: TypeAlias = Literal["auto", "model", "data", "random"]
"""Which parameters an iteration begins at.

"model" takes the network's own; "data" estimates each family from the rows that have it, hidden variables from
clusters; "random" draws probabilities uniformly; "auto" is "model" for blocks that say something and "data" for others,
children of hidden variables whose states nothing tells apart among them.
"""

STARTS = ("auto", "model", "data", "random")
CLUSTERED = 5_000
"""The most rows that are looked at for clusters."""


def start_model(
    task: Task,
    expectation: Expectation,
    start: Start | BayesNet,
    rng: np.random.Generator,
    alphas: Sequence[Any] | None = None,
) -> BayesNet:
    """The network an iteration begins at.

    Args:
        alphas: what the prior adds to each block's statistics, where there is one; it keeps lines off perfect fits.

    >>> from sepset.cpds.table import TableCPD
    >>> from sepset.learning.incomplete.expectation import Expectation
    >>> net = BayesNet(TableCPD(Discrete("coin"), [0.3, 0.7]))
    >>> task = Task(net, {"coin": [0, None]})
    >>> start_model(task, Expectation.of(task), "model", np.random.default_rng(0)) is net
    True
    """
    if isinstance(start, BayesNet):
        return start
    one_of("start", start, STARTS, otherwise="a network")
    template = task.template
    if start == "model":
        return template
    if start == "random":
        return with_tied(expectation, [random_cpd(cpd, rng) for cpd in template.cpds])
    untold = _untold(task)
    silent = [start == "data" or says_nothing(cpd) or cpd.child.name in untold for cpd in template.cpds]
    if not any(silent):
        return template
    columns = _with_clusters(task, rng)
    members = expectation.blocks.members
    known = {i: a for group, a in zip(members, alphas or [None] * len(members), strict=True) for i in group}
    made = [
        _from_data(expectation, i, columns, task.row_weights, rng, known[i]) if quiet else cpd
        for i, (cpd, quiet) in enumerate(zip(template.cpds, silent, strict=True))
    ]
    return with_tied(expectation, made)


def with_tied(expectation: Expectation, cpds: list[CPD]) -> BayesNet:
    """The network of these CPDs, each block with the parameters of its first member."""
    blocks = expectation.blocks
    for members in blocks.members:
        for i in members[1:]:
            cpds[i] = _like(blocks.template.cpds[i], cpds[members[0]])
    return BayesNet(*cpds, name=blocks.template.name, notes=blocks.template.notes)


def _like(cpd: CPD, other: CPD) -> CPD:
    """The CPD with the parameters of one it is tied to."""
    if isinstance(cpd, LinearGaussian) and isinstance(other, LinearGaussian):
        return cpd.with_parameters(other.intercept, other.coefficients, other.covariance)
    known = multinomials(other)
    if known is not None:
        return cpd.from_statistics(known.parameters * known.multiplicities)
    if isinstance(other, NoisyOr | NoisyMax):
        return contributing(cpd, [other.influences.leak[None, :], *other.influences.effects])
    if isinstance(cpd, LogisticCPD) and isinstance(other, LogisticCPD):
        return LogisticCPD(cpd.child, dict(zip(cpd.parents, other.weights, strict=True)), other.bias, block=cpd.block)
    return cpd


def says_nothing(cpd: CPD) -> bool:
    """Whether a CPD has the parameters that a bare graph gives it: uniform rows, or a standard normal.

    >>> from sepset.cpds.table import TableCPD
    >>> says_nothing(TableCPD(Discrete("x"), [0.5, 0.5])), says_nothing(TableCPD(Discrete("x"), [0.4, 0.6]))
    (True, False)
    """
    if isinstance(cpd, LinearGaussian):
        plain = not cpd.intercept.any() and not cpd.coefficients.any()
        return plain and bool((cpd.covariance == np.eye(cpd.child.size)).all())
    known = multinomials(cpd)
    if known is None:
        return False
    return bool(np.allclose(known.parameters, 1.0 / cpd.child.num_states, rtol=0, atol=1e-12))  # type: ignore[union-attr]


def _untold(task: Task) -> set[str]:
    """The children of hidden variables none of whose children tells their states apart, which no step would change."""
    template, missing = task.template, task.dataset.num_missing
    hidden = [v for v in template.variables if isinstance(v, Discrete) and missing[v.name] == task.dataset.num_rows]
    found: set[str] = set()
    for variable in hidden:
        children = template.children(variable)
        if variable.num_states > 1 and not any(_tells(template.cpd(child), variable) for child in children):
            found.update(children)
    return found


def _tells(cpd: CPD, parent: Discrete) -> bool:
    """Whether a table or line differs between the states of a parent; other CPDs are taken to."""
    if isinstance(cpd, TableCPD):
        rows = np.moveaxis(cpd.values, cpd.parents.index(parent), 0)
        return bool((rows != rows[:1]).any())
    if not isinstance(cpd, LinearGaussian):
        return True
    place, shape = cpd.by.index(parent), [v.num_states for v in cpd.by]
    arrays = [a.reshape(*shape, -1) for a in (cpd.intercept, cpd.coefficients, cpd.covariance) if a.size]
    parts = [np.moveaxis(a, place, 0) for a in arrays]
    return any(bool((part != part[:1]).any()) for part in parts)


def random_cpd(cpd: CPD, rng: np.random.Generator) -> CPD:
    """The CPD with random parameters: rows uniform on their simplex, weights and lines near zero."""
    if not cpd.num_parameters:
        return cpd
    known = multinomials(cpd)
    if known is not None:
        return cpd.from_statistics(rng.exponential(size=len(known.parameters)) + 1e-9)
    if isinstance(cpd, NoisyOr | NoisyMax):
        tables = [cpd.influences.leak[None, :], *cpd.influences.effects]
        drawn = [rng.dirichlet(np.ones(t.shape[1]), len(t)) for t in tables]
        kept = zip(tables, drawn, cpd._free(), strict=True)
        return contributing(cpd, [np.where(free[:, None], new, old) for old, new, free in kept])
    if isinstance(cpd, LogisticCPD):
        weights = {p: rng.normal(size=w.shape) for p, w in zip(cpd.parents, cpd.weights, strict=True)}
        return LogisticCPD(cpd.child, weights, rng.normal(size=cpd.bias.shape), block=cpd.block)
    if isinstance(cpd, LinearGaussian):
        noise = rng.normal(size=cpd.intercept.shape) * np.sqrt(np.diagonal(cpd.covariance, axis1=1, axis2=2))
        return cpd.with_parameters(cpd.intercept + noise, cpd.coefficients.copy(), cpd.covariance.copy())
    raise NotApplicable(f"{cpd!r} has no random start; give start='model' and its parameters.")


def _from_data(
    expectation: Expectation,
    place: int,
    columns: Columns,
    weights: Floats | None,
    rng: np.random.Generator,
    alpha: Any = None,
) -> CPD:
    """One CPD from the rows that have all of its family, with a pseudo-count of noise in every cell."""
    cpd, family = expectation.blocks.template.cpds[place], expectation.blocks.families[place]
    if not cpd.num_parameters:
        return cpd
    whole = np.all([_found(columns[v]) for v in cpd.scope], axis=0)
    share = np.ones(int(whole.sum())) if weights is None else weights[whole]
    rows: Columns = {v: columns[v][whole] for v in cpd.scope}
    if isinstance(family, GaussianFamily) and isinstance(cpd, LinearGaussian):
        return _line(cpd, family, rows, share, columns, alpha)
    known = multinomials(cpd)
    if known is None:
        return random_cpd(cpd, rng)
    return cpd.from_statistics(cpd.statistics(rows, share) + rng.uniform(0.5, 1.5, len(known.parameters)))


def _line(
    cpd: LinearGaussian, family: GaussianFamily, rows: Columns, share: Floats, columns: Columns, alpha: Any
) -> CPD:
    """A line for each context, with a few rows of all contexts together added so that none is degenerate."""
    size = len(family.center)
    if len(share) <= size or not share.sum() > 0:
        seen = columns[cpd.child][_found(columns[cpd.child])]
        spread = float(seen.var()) if len(seen) else 1.0
        flat = np.full((len(cpd.intercept), 1), family.center[-1])
        return cpd.with_parameters(flat, np.zeros_like(cpd.coefficients), np.full_like(cpd.covariance, spread or 1.0))
    stats = family.complete(cpd, rows, share)
    pooled = stats.sum(axis=0)
    return family.estimate(cpd, stats + pooled * ((size + 1.0) / pooled[0, 0]), alpha)


def _found(column: AnyArray) -> Bools:
    return np.asarray(~np.isnan(column) if column.dtype.kind == "f" else column >= 0)


def _with_clusters(task: Task, rng: np.random.Generator) -> Columns:
    """The columns, with a cluster of similar rows in place of each hidden variable's states."""
    columns: Columns = {v: np.asarray(task.dataset.column(v)) for v in task.template.variables}
    seen = [v for v in columns if _found(columns[v]).any()]
    for variable in task.template.variables:
        if isinstance(variable, Discrete) and variable not in seen and task.dataset.num_rows:
            near = [v for v in seen if v.name in task.template.children(variable)] or seen
            columns[variable] = clusters([columns[v] for v in near], variable.num_states, task.dataset.num_rows, rng)
    return columns


def clusters(columns: list[AnyArray], num: int, num_rows: int, rng: np.random.Generator) -> Ints:
    """A cluster for each row: centers drawn far apart, then a few rounds of nearest center and mean.

    Codes count as 0/1 coordinates and numbers as multiples of their standard deviation; missing cells as the mean.

    >>> found = clusters([np.array([0.0, 0.1, 5.0, 5.1])], 2, 4, np.random.default_rng(0))
    >>> bool(found[0] == found[1] != found[2] == found[3])
    True

    Reference: Arthur & Vassilvitskii (2007), k-means++.
    """
    x = _coordinates(columns, num_rows)
    some = x if num_rows <= CLUSTERED else x[np.sort(rng.choice(num_rows, CLUSTERED, replace=False))]
    centers = _far_apart(some, num, rng)
    for _ in range(5):
        near = _nearest(some, centers)
        mass = np.bincount(near, minlength=num)
        for c in np.flatnonzero(mass):
            centers[c] = some[near == c].mean(axis=0)
    return _nearest(x, centers)


def _far_apart(x: Floats, num: int, rng: np.random.Generator) -> Floats:
    centers = x[rng.integers(len(x), size=1)]
    for _ in range(num - 1):
        apart = _squares(x, centers).min(axis=1)
        total = apart.sum()
        chosen = rng.choice(len(x), p=apart / total) if total > 0 else rng.integers(len(x))
        centers = np.concatenate([centers, x[chosen : chosen + 1]])
    return centers


def _nearest(x: Floats, centers: Floats) -> Ints:
    return np.asarray(_squares(x, centers).argmin(axis=1), dtype=np.int64)


def _squares(x: Floats, centers: Floats) -> Floats:
    """Squared distances, one column a center."""
    return np.stack([((x - c) ** 2).sum(axis=1) for c in centers], axis=1)


def _coordinates(columns: list[AnyArray], num_rows: int) -> Floats:
    parts = [np.zeros((num_rows, 1))]
    for column in columns:
        found = _found(column)
        if column.dtype.kind == "f":
            seen = column[found]
            part = np.where(found, column - seen.mean(), 0.0)[:, None] / (seen.std() or 1.0)
        else:
            part = (column[:, None] == np.arange(int(column.max()) + 1)).astype(np.float64)
            part = np.where(found[:, None], part, part[found].mean(axis=0))
        parts.append(part)
    return np.concatenate(parts, axis=1)
