"""A node closes with the maximum over its states of its functions and its children's values."""

import numpy as np

from sepset.inference.map.search.boundedtree import BoundedTree
from sepset.kernels.map.andor import AT, HITS, NODES, and_or, context, later
from support.sparse import joint, sparse_wiring

NEVER = np.zeros(1, np.uint8)


def test_a_search_in_single_moves_is_that_in_one_run_and_stops_when_told():
    rng = np.random.default_rng(5)
    wiring = sparse_wiring(rng, n=8, factors=9, zeros=0.0)
    tree = BoundedTree.of(wiring, np.zeros(int(wiring.wires.messages[-1])), entries=2, cache=10**4)
    one, two = tree.frames(), tree.frames()
    and_or(tree.tree, one, 10**6, 0.0, np.ones(1, np.uint8))
    assert one.counters.tolist() == two.counters.tolist()  # canceled before the first move
    and_or(tree.tree, one, 10**6, 0.0, NEVER)
    while two.counters[AT] >= 0:
        and_or(tree.tree, two, 1, 0.0, NEVER)
    assert one.counters.tolist() == two.counters.tolist()
    assert one.counters[NODES] > 1
    assert one.counters[HITS] > 0
    assert np.isclose(tree.constant + one.best[0], joint(wiring).max())
    np.testing.assert_array_equal(one.values, two.values)


def test_contexts_have_places_of_their_own_and_bounds_add_up():
    rng = np.random.default_rng(6)
    wiring = sparse_wiring(rng, n=8, factors=9, zeros=0.0)
    tree = BoundedTree.of(wiring, np.zeros(int(wiring.wires.messages[-1])), entries=64, cache=10**4)
    for d in range(1, len(tree.pseudo.parents)):
        codes, found = np.zeros(len(tree.pseudo.parents), np.int64), set()
        for joint_state in np.ndindex(*(tree.pseudo.cards[e] for e in tree.pseudo.contexts[d])):
            codes[list(tree.pseudo.contexts[d])] = joint_state
            found.add(context(tree.tree, codes, d))
        assert found == set(range(tree.pseudo.context_size(d)))
    frames = tree.frames()
    total = later(tree.tree, frames, 0, int(tree.tree.firsts[0]))
    assert np.isclose(tree.constant + total, joint(wiring).max())  # mini-buckets that are not partitioned are exact
