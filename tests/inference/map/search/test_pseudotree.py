"""Branches of a pseudo tree are independent given the nodes above, and contexts are all that matters of these."""

import numpy as np

from sepset.inference.map.search.pseudotree import PseudoTree
from support.blocks import in_blocks


def random_tree(rng):
    n = int(rng.integers(0, 9))
    scopes = [rng.permutation(n)[: rng.integers(1, 4)].tolist() for _ in range(rng.integers(0, 12) if n else 0)]
    return scopes, PseudoTree.of(scopes, rng.integers(1, 4, n).tolist(), rng.permutation(n).tolist())


@in_blocks("seed", range(80))
def test_branches_are_independent_given_contexts(seed):
    scopes, tree = random_tree(np.random.default_rng(seed))
    node = {int(v): d + 1 for d, v in enumerate(tree.order)}
    assert sorted(node) == list(range(len(tree.order)))
    for scope in scopes:
        nodes = {node[v] for v in scope}
        assert nodes <= set(tree.path(max(nodes)))
    for d in range(1, len(tree.parents)):
        below = set(range(d, tree.last_below(d)))
        assert below == {e for e in range(len(tree.parents)) if d in tree.path(e)}
        met = {e for scope in scopes if below & {node[v] for v in scope} for e in (node[v] for v in scope)}
        assert met - below <= set(tree.contexts[d]) <= set(tree.path(d)) - {d}
        assert tree.parents[d] < d
        assert tree.parents[d] == max(tree.contexts[d], default=0)


@in_blocks("seed", range(30))
def test_kept_states_cover_everything_once_and_caches_fit(seed):
    rng = np.random.default_rng(seed)
    _, tree = random_tree(rng)
    numbers = int(rng.choice([0, 3, 30, 10**6]))
    chosen, regions = tree.cached(numbers)
    assert chosen[0]
    assert sorted(e for d in np.flatnonzero(chosen) for e in regions[d]) == list(range(len(tree.parents)))
    assert sum(tree.context_size(d) * (2 + len(regions[d])) for d in np.flatnonzero(chosen)[1:]) <= numbers
    if numbers == 10**6:
        assert chosen[1:].tolist() == [not tree.is_dead(d) for d in range(1, len(tree.parents))]
