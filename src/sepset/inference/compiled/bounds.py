r"""A bound on every contraction of given cliques, known before one is chosen.

A message has the entries of its sepset. The variable $v$ that is first summed out within a clique is then only in the
two tensors that are multiplied, which together have the scopes of all the clique's inputs with $v$: the larger of them
has at least half of these bits,

$$\max_t \log_2 |t| \ge \tfrac12 \min_v \sum_{u \in N_v} \log_2 |u|, \qquad N_v = \bigcup_{v \in \mathbf S_i}
\mathbf S_i.$$
"""

from __future__ import annotations

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.inference.compiled.contraction import Groups, Inputs


def least_entries(inputs: Inputs, cards: Floats, groups: Groups) -> float:
    """A number of entries that the tensors of every pairwise contraction of these cliques reach together.

    Args:
        cards: the number of states by rank.

    Cost: the squares of the scopes.
    """
    logs = np.log2(cards)
    messages = np.repeat(np.arange(len(groups.start) - 1), np.diff(groups.start))
    bits = np.bincount(messages, weights=logs[groups.members], minlength=len(groups.start) - 1)
    total = float(np.exp2(np.minimum(bits, 1000.0)).sum())
    if total > 2.0**100:
        return total
    tensor, scope = _entries(inputs)
    tensor, scope = np.append(tensor, len(inputs.numbers) + messages), np.append(scope, groups.members)
    met = _met(tensor, scope, groups.group, logs)
    least = np.full(len(groups.start) - 1, np.inf)
    np.minimum.at(least, groups.group[groups.group >= 0], met[groups.group >= 0])
    half = least[least < np.inf].max(initial=0.0) / 2
    return max(total, float(2.0 ** min(half, 1000.0)))


def _entries(inputs: Inputs) -> tuple[Ints, Ints]:
    """The factors used and their open variables as pairs (number among those used, rank)."""
    first, sizes = inputs.start[inputs.numbers], np.diff(inputs.start)[inputs.numbers]
    tensor = np.repeat(np.arange(len(sizes)), sizes)
    places = np.arange(len(tensor)) + np.repeat(first - np.cumsum(sizes) + sizes, sizes)
    rank = inputs.rank[inputs.members[places]]
    return tensor[rank >= 0], rank[rank >= 0]


def _met(tensor: Ints, scope: Ints, group: Ints, logs: Floats) -> Floats:
    """For each rank the bits of all variables in the inputs of its clique that have it in scope."""
    n = len(group)
    number, sizes = np.unique(tensor, return_counts=True)
    starts = np.cumsum(sizes) - sizes
    home = group[np.minimum.reduceat(scope, starts)] if len(number) else number
    own = np.flatnonzero(group[scope] == np.repeat(home, sizes))
    which = np.repeat(np.arange(len(number)), sizes)[own]
    counts = sizes[which]
    others = np.arange(counts.sum()) + np.repeat(starts[which] - np.cumsum(counts) + counts, counts)
    pairs = np.unique(np.repeat(scope[own], counts) * n + scope[others])
    return np.asarray(np.bincount(pairs // n, weights=logs[pairs % n], minlength=n), dtype=np.float64)
