"""Refusals before anything large is made: the first rows tell whether sums over missing cells are hopeless."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from sepset.base.arraytypes import Bools
from sepset.data.dataset import Dataset
from sepset.data.missingness import Glimpse
from sepset.engine.default import DEFAULT_METHOD
from sepset.graphs import costs
from sepset.graphs.csr import CSR, csr, near_hub, pairs_within_rows, sorted_pairs
from sepset.graphs.graph import DAG
from sepset.graphs.names import Names
from sepset.graphs.ordering import OrderingTask, refuse_hopeless
from sepset.inference.evidencerows import ROWS_LOOKED_AT, check_numbers
from sepset.inference.plan import ENTRY_BYTES
from sepset.inference.refusals import refuse_minors
from sepset.problem import Problem
from sepset.variables.variable import Real

WIDE = 1000
"""The number of nodes from which rows are looked at first: to code fewer columns takes no longer."""

COLUMNS = 2**15
"""The number of columns that are looked at: those of nodes nearest to one of many children."""

LARGEST_FAMILY = 64
"""The most missing members of a family whose pairs are listed."""


def refuse_rows(dag: DAG, data: object, known: Iterable[str] = ()) -> None:
    """Raise if the sums over the missing cells of one of the first rows are hopeless by clique trees.

    Every family of a graph is a factor or a count, and what varies has at least two states: no table over the missing
    members of a family is smaller than of two states each. Only a part of a large graph is looked at, whose tables are
    no larger.

    Args:
        known: the names of variables that are given, whose cells may be others than their columns suggest.

    >>> refuse_rows(DAG.parse("A -> B"), {"A": ["a", None], "B": [None, "b"]})
    """
    if len(dag) < WIDE:
        return
    nodes = near_hub(dag.child_csr, COLUMNS, is_symmetric=False)
    given = set(known)
    found = Glimpse.of(data, [dag.nodes[i] for i in nodes.tolist()])
    is_discrete, hidden = np.zeros(len(dag), bool), np.zeros(len(dag), bool)
    is_discrete[nodes] = found.is_discrete & [dag.nodes[i] not in given for i in nodes.tolist()]
    missing = found.is_missing & is_discrete[nodes, None]
    hidden[nodes] = missing[:, missing.sum(axis=0).argmax()]
    families = _families(dag, hidden, is_discrete)
    if np.diff(families[0]).max() <= LARGEST_FAMILY:  # others are refused by the size of their table
        places = np.flatnonzero(hidden)
        weights, none = np.full(len(places), 2.0), np.zeros(len(places), np.int64)
        names, bits = Names(dag.nodes.__getitem__, places), math.log2(DEFAULT_METHOD.memory / ENTRY_BYTES)
        graph = _married(families, len(places))
        refuse_hopeless(OrderingTask(names, *graph, weights, none, bits, costs.READS_BEFORE_REFUSAL))


def refuse_row(problem: Problem, rows: Dataset, memory: int) -> None:
    """Raise if the sums over the missing cells of one of the first rows are hopeless in a large network.

    >>> from sepset.variables.universe import Universe
    >>> refuse_row(Problem(Universe(), ()), Dataset({"coin": ["head", None]}), 2**30)
    """
    if problem.variables.all_discrete and rows.num_rows:
        is_missing = np.array([column[:ROWS_LOOKED_AT] for column in rows.columns]) < 0
        seen = ~is_missing[:, is_missing.sum(axis=0).argmax()]
        known = problem.variables.ids(v for v, is_seen in zip(rows.variables, seen.tolist(), strict=True) if is_seen)
        refuse_minors(problem, (), known.tolist(), memory)


def refuse_numbers(rows: Dataset) -> None:
    """Raise if one of the first rows misses so many numbers that their covariances take too much memory.

    >>> refuse_numbers(Dataset({"x": [0.5, None]}))
    """
    columns = zip(rows.variables, rows.columns, strict=True)
    reals = [column[:ROWS_LOOKED_AT] for variable, column in columns if isinstance(variable, Real)]
    check_numbers(int(np.isnan(np.array(reals)).sum(axis=0).max(initial=0)) if reals else 0)


def _families(dag: DAG, hidden: Bools, is_discrete: Bools) -> CSR:
    """The hidden members of the family of each node of several states, numbered among the hidden ones."""
    start, parents = dag.parent_csr
    children = np.repeat(np.arange(len(dag)), np.diff(start))
    kept, alone, number = hidden[parents] & is_discrete[children], np.flatnonzero(hidden), np.cumsum(hidden) - 1
    owners = np.concatenate([children[kept], alone])
    return csr(owners, number[np.concatenate([parents[kept], alone])], len(dag))


def _married(families: CSR, num: int) -> CSR:
    """The graph in which the members of each family are neighbors."""
    pairs = pairs_within_rows(families)
    both = sorted_pairs(np.concatenate([pairs, pairs[:, ::-1]]), num)
    return csr(both[:, 0], both[:, 1], num)
