"""Conversions of models that need inference."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from sepset.base.foreign import translated
from sepset.base.membership import without
from sepset.base.text import listing
from sepset.cpds.table import TableCPD
from sepset.engine.engine import Engine
from sepset.engine.kept import engine_for
from sepset.errors import NotApplicable, TooLarge
from sepset.factors.table import Table
from sepset.graphs.elimination import eliminate_graph
from sepset.graphs.equivalence import directed_imap
from sepset.graphs.graph import DAG, UndirectedGraph
from sepset.inference.plan import interaction_graph
from sepset.models.bayesnet import BayesNet
from sepset.models.model import Model
from sepset.variables.variable import Discrete, VariableLike

MOST_ENTRIES = 2**27
"""The largest table of a network that is made of another model: a gibibyte."""


@translated
def to_bayes_net(model: Model, *, order: Sequence[VariableLike] | None = None) -> BayesNet:
    r"""A Bayesian network with the distribution of any discrete model: a minimal I-map with CPDs by inference.

    The graph is triangulated and oriented along `order`, so that each CPD is a ratio of clique marginals. Parent states
    of probability zero get a uniform row, which a note reports.

    Reference: Koller & Friedman, section 4.5.2.
    Guarantee: exact.
    Tested by: api/test_conversions.py::test_conversion_keeps_the_distribution

    >>> import sepset as ss
    >>> ss.models.to_bayes_net(ss.datasets.load("misconception")).dag.num_edges
    5
    """
    if isinstance(model, BayesNet) and order is None:
        return model
    continuous = [v.name for v in model.variables if not v.is_discrete]
    if continuous:
        raise NotApplicable(f"Conversion by inference is for discrete models; {listing(continuous)} are continuous.")
    problem = model.problem()
    everything = problem.relevant(range(len(problem.variables)), prune=False)
    hidden = [v.name for v in problem.variables[problem.num_visible :]]
    graph = _without(interaction_graph(problem, everything), hidden)
    dag = directed_imap(graph, order=_names(order))
    _require_small(model, dag)
    engine = engine_for(model)
    notes: list[str] = []
    cpds = [_conditional(engine, name, dag.parents(name), notes) for name in dag.topological_order]
    return BayesNet(*cpds, name=model.name, notes=[*model.notes, *notes])


def _without(graph: UndirectedGraph, hidden: Sequence[str]) -> UndirectedGraph:
    """The graph after summing `hidden` out: their neighbors are joined."""
    if not hidden:
        return graph
    visible = without(graph, hidden)
    fill = eliminate_graph(graph, hidden, keep=visible).fill_edges
    return UndirectedGraph(graph.nodes, [*graph.edges, *fill]).subgraph(visible)


def _require_small(model: Model, dag: DAG) -> None:
    """Raise if a table of the network would be too large, before smaller ones are made."""
    sizes = {v.name: v.num_states for v in model.variables if isinstance(v, Discrete)}
    entries = {name: math.prod(sizes[n] for n in (name, *dag.parents(name))) for name in dag.nodes}
    largest = max(entries, key=entries.__getitem__, default=None)
    if largest is not None and entries[largest] > MOST_ENTRIES:
        raise TooLarge(
            f"The table of {largest} given {len(dag.parents(largest))} parents would have {entries[largest]:.3g} "
            f"entries; at most {MOST_ENTRIES:,} are allowed. Try another order=, or ask the model itself."
        )


def _names(order: Iterable[VariableLike] | None) -> list[str] | None:
    return None if order is None else [v if isinstance(v, str) else v.name for v in order]


def _conditional(engine: Engine, child: str, parents: Sequence[str], notes: list[str]) -> TableCPD:
    joint: Table = engine.query([*parents, child]).distribution
    rows = joint.values.reshape(-1, joint.shape[-1])
    totals = rows.sum(axis=1, keepdims=True)
    empty = int((totals == 0).sum())
    if empty:
        notes.append(f"{child}: {empty} parent states have probability zero; their rows are uniform.")
    values = np.divide(rows, totals, out=np.full_like(rows, 1.0 / rows.shape[1]), where=totals > 0)
    *given, variable = joint.scope
    return TableCPD.normalized(variable, values.reshape(joint.shape), given=tuple(given))
