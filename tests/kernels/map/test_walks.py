"""Walks over wired models: possible states given the others, and distances from roots."""

import itertools

import networkx as nx
import numpy as np

from sepset.inference.map.search.workspace import Workspace
from sepset.inference.wiring import Wiring
from sepset.kernels.map import walks
from support.blocks import in_blocks
from support.wired import random_problem


@in_blocks("seed", range(30))
def test_states_that_are_possible_given_the_others(seed):
    rng = np.random.default_rng(seed)
    wiring = Wiring.of(random_problem(rng))
    codes = (rng.random(wiring.num_variables) * wiring.plugs.cards).astype(np.int64)
    out = np.zeros(len(codes), np.int64)
    walks.free_states(wiring.wires, wiring.unary, wiring.factors, codes, np.empty(4), out)
    for i, count in enumerate(out.tolist()):
        touching = [f for f in range(wiring.num_factors) if i in wiring.scope(f)]
        states = 0
        for x in range(int(wiring.plugs.cards[i])):
            codes_x = np.where(np.arange(len(codes)) == i, x, codes)
            values = [wiring.table(f)[tuple(codes_x[wiring.scope(f)])] for f in touching]
            states += min([*values, wiring.logs(i)[x]]) > -np.inf
        assert count == states


@in_blocks("seed", range(50))
def test_depths_are_distances_from_the_first_root_of_each_component(seed):
    rng = np.random.default_rng(seed)
    wiring = Wiring.of(random_problem(rng))
    n = wiring.num_variables
    graph = nx.empty_graph(n)
    for f in range(wiring.num_factors):
        graph.add_edges_from(itertools.combinations(wiring.scope(f).tolist(), 2))
    roots, out = rng.permutation(n), np.zeros(n, np.int64)
    walks.depths(wiring.wires, wiring.factors, roots, np.empty(n, np.int64), out)
    for part in nx.connected_components(graph):
        root = next(i for i in roots.tolist() if i in part)
        known = nx.single_source_shortest_path_length(graph, root)
        assert {i: int(out[i]) for i in part} == known
    members, _ = Workspace(wiring, 4).strips(1, rng)
    assert set(members.tolist()) <= set(np.flatnonzero(wiring.plugs.cards > 1).tolist())
