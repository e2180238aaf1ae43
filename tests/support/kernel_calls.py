"""Parts of what fused kernels do, each asked for alone."""

from __future__ import annotations

import numpy as np

from sepset.kernels.compiled import contraction, instructions as columns, planning

NONE = np.zeros(0, np.int64)
NEVER = np.zeros(1, np.uint8)


def _matrix(rows, width):
    return np.array(rows, dtype=np.int64).reshape(-1, width)


def run(w, *, store=None, rows=(), copies=(), fixed=(), codes=(), old=None, dirty=None, ops=(), groups=(),
        exponents=None, flags=None, spans=(), maximize=False, cancel=NEVER, roots=(), reads=(), out=None):  # fmt: skip
    """One run; whatever is not given is empty."""
    return contraction.run(
        w,
        np.empty(0) if store is None else store,
        _matrix(rows, 6),
        _matrix(copies, 4),
        np.array(fixed, dtype=np.int64).reshape(2, -1),
        np.array(codes, dtype=np.int64),
        np.array(codes if old is None else old, dtype=np.int64),
        np.ones(max(16, 0 if exponents is None else len(exponents)), np.uint8) if dirty is None else dirty,
        _matrix(ops, columns.WIDTH),
        _matrix(groups, 4),
        np.zeros(8, np.int64) if exponents is None else exponents,
        np.zeros(2, np.int64) if flags is None else flags,
        _matrix(spans, 2),
        maximize,
        cancel,
        _matrix(roots, 3),
        _matrix(reads, 3),
        np.empty(0) if out is None else out,
    )


def adjacency(start, members, num):
    """The graph that joins the members of every row."""
    return planning.scope_graph(start, members, np.arange(len(start) - 1), np.arange(num), NONE, num)[2:]


def eliminate(start, neighbors, order, cards=None):
    """Message scopes, where each goes, and what absorbs it; with states, the sizes too."""
    found = planning.eliminate(start, neighbors, order, np.ones(len(order)) if cards is None else cards, np.inf, 0)
    return found[:4] if cards is None else found[:5]
