r"""`ADTree`: counts of any columns from a sparse tree of counts, without another pass over the rows.

A node stands for the rows in which some columns have given values. Below it, each later column divides its rows by
value, but the most common value is left out: its counts are the node's own less those of the other values,

$$M[\mathbf u, x^*, \mathbf z] = M[\mathbf u, \mathbf z] - \sum_{x \ne x^*} M[\mathbf u, x, \mathbf z].$$

Nodes of few rows keep a list of them. Nodes are made when a question first needs them.
"""

from __future__ import annotations

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.checks import whole
from sepset.errors import NotApplicable
from sepset.learning.structure.columns import Columns


class ADTree:
    """A tree of counts that grows as it is asked.

    When it is worth it, measured on ALARM: a table of three columns takes about 70 microseconds from the grown tree
    (170 with growing it) whatever the number of rows, and 125 by counting 20,000 rows, 360 by counting 70,000. A search
    needs no single tables: it scores all additions to a family in one compiled pass, at 6 microseconds per family of
    20,000 rows, and 60 of 70,000. So searches count rows; the tree is for single tables that are asked again.

    Args:
        columns: rows, as `learn_structure` takes them: discrete, without missing cells, with whole weights.
        leaf_rows: nodes of up to so many rows keep a list of rows.

    Reference: Moore & Lee (1998); Komarek & Moore (2000) for growing it on demand.
    Guarantee: exact counts.
    Tested by: learning/structure/test_adtree.py::test_counts_against_direct_counting

    >>> tree = ADTree({"a": [0, 0, 1, 1], "b": ["x", "y", "y", "y"]})
    >>> tree.counts((1, 0)).tolist()
    [[1.0, 0.0], [1.0, 2.0]]
    """

    def __init__(self, columns: object, *, leaf_rows: int = 16) -> None:
        whole("ADTree(leaf_rows=)", leaf_rows)
        columns = columns if isinstance(columns, Columns) else Columns.of(columns)
        if columns.is_real.any() or not columns.is_complete or columns.weights.dtype.kind not in "iu":
            raise NotApplicable(
                "ADTree() counts discrete columns without missing cells or interventions, with weights that are whole "
                "numbers. Use Columns.joint, which counts any."
            )
        self.columns, self.leaf_rows = columns, leaf_rows
        self.num_counts = 0
        self._root = _Node(np.arange(columns.num_rows), columns.weights)
        self.num_counts = 1

    def counts(self, columns: tuple[int, ...]) -> Floats:
        """The table of counts of some columns, one axis each in the order given.

        Args:
            columns: numbers of different columns.
        """
        self.columns.check_places(columns=columns)
        order = np.argsort(columns, kind="stable")
        table = self._table(self._root, tuple(int(columns[k]) for k in order))
        return np.transpose(table, np.argsort(order, kind="stable")) if columns else table

    def _table(self, node: _Node, columns: tuple[int, ...]) -> Floats:
        cards = tuple(int(self.columns.cards[c]) for c in columns)
        if not columns:
            return np.array(float(node.weight))
        if len(node.rows) <= self.leaf_rows:
            return self._listed(node, columns, cards)
        common, children = self._divided(node, columns[0])
        table = np.zeros(cards)
        for value, child in children.items():
            table[value] = self._table(child, columns[1:])
        table[common] = self._table(node, columns[1:]) - table.sum(0)
        return table

    def _divided(self, node: _Node, column: int) -> tuple[int, dict[int, _Node]]:
        """The most common value, and nodes for the other values that occur."""
        known = node.divisions.get(column)
        if known is None:
            codes = self.columns.codes[column][node.rows]
            weights = self.columns.weights
            totals = np.bincount(codes, weights[node.rows], int(self.columns.cards[column]))
            common = int(totals.argmax())
            parts = {int(v): node.rows[codes == v] for v in np.flatnonzero(totals) if v != common}
            known = common, {value: _Node(rows, weights) for value, rows in parts.items()}
            node.divisions[column] = known
            self.num_counts += 1 + len(parts)
        return known

    def _listed(self, node: _Node, columns: tuple[int, ...], cards: tuple[int, ...]) -> Floats:
        table = np.zeros(cards)
        codes = self.columns.codes[:, node.rows]
        np.add.at(table, tuple(codes[c] for c in columns), self.columns.weights[node.rows])
        return table

    def __repr__(self) -> str:
        return f"ADTree({self.columns!r}; {self.num_counts:,} counts)"


class _Node:
    """Some rows, their weight, and their divisions by column so far."""

    __slots__ = ("divisions", "rows", "weight")

    def __init__(self, rows: Ints, weights: Ints) -> None:
        self.rows = rows
        self.weight = weights[rows].sum()
        self.divisions: dict[int, tuple[int, dict[int, _Node]]] = {}
