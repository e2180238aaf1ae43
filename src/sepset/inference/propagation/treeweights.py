r"""Probabilities of edges in random spanning trees.

$$\rho_e = w_e R_e, \qquad \sum_e \rho_e = n - \text{number of components}$$

for uniform spanning trees, where $R_e$ is the effective resistance between the ends of an edge (Kirchhoff).
"""

from __future__ import annotations

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.inference.propagation.passing import Beliefs
from sepset.inference.wiring import Wiring
from sepset.kernels.propagation.traversal import spanning_forest

DENSE = 1000
"""The largest number of variables for which resistances are computed, by a dense inverse."""

CHUNK = 2**12
"""The number of tables that are looked at together."""

TREES = 8
"""The least number of trees that cover the edges of larger graphs."""


def edge_probabilities(wiring: Wiring) -> Floats:
    """The probability of each factor over two variables in a random spanning tree (forest, if it has components).

    Uniform trees up to a thousand variables; beyond that a few trees that cover all edges. Several factors over the
    same variables share the probability of their edge.

    Cost: the inverse of a matrix, or a few spanning trees.
    Reference: Wainwright, Jaakkola & Willsky (2005); Koller & Friedman, box 13.A.
    Guarantee: in the spanning tree polytope.
    Tested by: inference/propagation/test_treeweights.py::test_probabilities_are_those_of_all_spanning_trees
    """
    if not wiring.num_factors:
        return np.ones(0)
    pairs = np.sort(wiring.plugs.scope.reshape(-1, 2), axis=1)
    edges, which, counts = np.unique(pairs, axis=0, return_inverse=True, return_counts=True)
    n = wiring.num_variables
    found = _resistances(edges, n) if n <= DENSE else _covering(wiring, which.reshape(-1))
    return np.asarray((np.minimum(found, 1.0) / counts)[which.reshape(-1)])


def _resistances(edges: Ints, n: int) -> Floats:
    """The effective resistance of each edge, all of weight one."""
    i, j = edges.T
    laplacian = np.zeros((n, n))
    np.add.at(laplacian, (i, i), 1.0)
    np.add.at(laplacian, (j, j), 1.0)
    laplacian[i, j] -= 1.0
    laplacian[j, i] -= 1.0
    labels = _components(edges, n)
    inverse = np.linalg.inv(laplacian + (labels[:, None] == labels[None]))
    return np.asarray(inverse[i, i] + inverse[j, j] - 2.0 * inverse[i, j])


def _components(edges: Ints, n: int) -> Ints:
    from scipy import sparse

    graph = sparse.coo_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(n, n))
    return np.asarray(sparse.csgraph.connected_components(graph, directed=False)[1])


def _covering(wiring: Wiring, which: Ints) -> Floats:
    """The fraction of trees that have each edge, where each tree prefers the edges that few before it have."""
    counts, num = np.zeros(int(which.max()) + 1), 0
    while num < TREES or not counts.all():
        counts[which[spanning_tree(wiring, -counts[which]) > 0]] += 1
        num += 1
    return np.asarray(counts / num)


def spanning_tree(wiring: Wiring, weights: Floats) -> Floats:
    """One for each factor of a spanning tree of largest weight (a forest, if there are components), zero for others."""
    n, left_out = wiring.num_variables, np.zeros(wiring.num_factors, np.uint8)
    order = np.argsort(-weights, kind="stable")
    spanning_forest(wiring.wires, order, np.arange(n), np.full(n, -1, np.int64), left_out)
    return np.asarray(1.0 - left_out, np.float64)


def informations(beliefs: Beliefs) -> Floats:
    r"""The mutual information of the belief of each pair, $I_e = \sum \beta_e \log \frac{\beta_e}{b_i b_j}$."""
    wiring, found = beliefs.wiring, np.zeros(beliefs.wiring.num_factors)
    shapes = wiring.plugs.cards[wiring.plugs.scope].reshape(-1, 2)
    for shape in np.unique(shapes, axis=0):
        alike = np.flatnonzero((shapes == shape).all(axis=1))
        for first in range(0, len(alike), CHUNK):
            chosen = alike[first : first + CHUNK]
            found[chosen] = _information(_pair_beliefs(beliefs, chosen))
    return found


def _pair_beliefs(beliefs: Beliefs, factors: Ints) -> Floats:
    """The log beliefs of factors over two variables of the same numbers of states, `[factors, states, states]`."""
    wiring = beliefs.wiring
    logs = wiring.tables(factors) / beliefs.rhos[factors][:, None, None]
    for axis in (0, 1):
        slots = wiring.plugs.starts[factors] + axis
        states = np.arange(logs.shape[1 + axis])
        own = beliefs.logs[wiring.plugs.states[wiring.plugs.scope[slots]][:, None] + states]
        sent = beliefs.messages[wiring.wires.messages[slots][:, None] + states]
        logs = logs + np.expand_dims(np.where(own > -np.inf, own - np.where(own > -np.inf, sent, 0.0), own), 2 - axis)
    logs = logs - logs.max(axis=(1, 2), keepdims=True)
    return np.asarray(logs - np.log(np.exp(logs).sum(axis=(1, 2), keepdims=True)))


def _information(logs: Floats) -> Floats:
    """The mutual information of normalized log tables; the products of small marginals may be too small for numbers."""
    joint = np.exp(logs)
    with np.errstate(divide="ignore"):
        first, second = np.log(joint.sum(axis=2, keepdims=True)), np.log(joint.sum(axis=1, keepdims=True))
    possible = joint > 0.0
    ratios = np.where(possible, logs, 0.0) - np.where(possible, first, 0.0) - np.where(possible, second, 0.0)
    return np.asarray((joint * ratios).sum(axis=(1, 2)))
