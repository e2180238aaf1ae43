"""Contractions: every tree gives the sum over all states, and the reverse sweep every marginal."""

from __future__ import annotations

import numpy as np

from sepset.inference.compiled.contraction import ONE, tree_groups
from support.blocks import in_blocks
from support.random_contractions import Network, assembled, contracted, eliminated, product_sum, random_network, summed


def tensors(made, network):
    """Every tensor of a contraction, step by step with einsum."""
    found = [np.array(1.0), *network.tables]
    for result, first, second in made.steps:
        assert result == len(found)
        scopes = made.scopes[first], made.scopes[second], made.scopes[result]
        found.append(product_sum(found[first], scopes[0], found[second], scopes[1], scopes[2]))
    return found


def total(found, made):
    return np.prod([found[root].sum() for root in made.roots])


@in_blocks("seed", range(25))
def test_the_roots_multiply_to_the_sum_over_all_states(seed):
    made, network = contracted(random_network(np.random.default_rng(seed), num=1 + seed % 8))
    np.testing.assert_allclose(total(tensors(made, network), made), summed(network, ()), rtol=1e-12)


@in_blocks("seed", range(25))
def test_the_reverse_sweep_gives_the_marginal_of_every_variable_and_factor(seed):
    network = random_network(np.random.default_rng(seed))
    num_factors = len(network.scopes)
    made, network = contracted(network, targets=True, num_factors=num_factors)
    reads, products = np.split(made.reads, [len(network.cards)])
    assert made.num_forward <= len(made.steps)
    found = tensors(made, network)
    for scopes, homes in (([[r] for r in range(len(network.cards))], reads), (network.scopes[:num_factors], products)):
        for scope, home in zip(scopes, homes.tolist(), strict=True):
            assert list(made.scopes[home]) == list(scope)
            truth = summed(network, scope)
            # Other components only scale a marginal, and those are left out.
            scale = found[home].sum()
            if truth.sum() > 0:
                np.testing.assert_allclose(found[home] / scale, truth / truth.sum(), rtol=1e-10, atol=1e-15)


@in_blocks("seed", range(12))
def test_kept_variables_stay_together(seed):
    rng = np.random.default_rng(seed)
    network = random_network(rng)
    kept = sorted(rng.choice(7, 1 + seed % 3, replace=False).tolist())
    made, ranked = contracted(network, kept)
    (root,) = made.roots
    last = list(range(7 - len(kept), 7))
    assert list(made.scopes[root]) == last
    np.testing.assert_allclose(tensors(made, ranked)[root], summed(ranked, last), rtol=1e-12)


@in_blocks("seed", range(10))
def test_cliques_come_children_first_and_take_each_tensor_once(seed):
    network = random_network(np.random.default_rng(seed))
    symbolic, _ = eliminated(network)
    groups = tree_groups(symbolic)
    made, _ = contracted(network)
    for clique, sepset in enumerate(groups.sepsets):
        own = np.flatnonzero(groups.group == clique)
        assert len(own)
        assert all(groups.group[r] > clique for r in sepset)
        assert all({*made.scopes[t]} <= {*own.tolist(), *sepset} for t in made.inboxes[clique])
    boxed = [t for box in made.inboxes for t in box]
    assert len(boxed) == len(set(boxed))


def test_work_and_entries_count_unions_and_results():
    cards, a, b = [2, 3, 4], np.ones((2, 3)), np.ones((3, 4))
    made, network = contracted(Network(cards, [[0, 1], [1, 2]], [a, b]))
    sizes = [int(np.prod([network.cards[r] for r in scope])) for scope in made.scopes]
    assert made.entries == sum(sizes)
    assert made.sizes.tolist() == sizes
    unions = [{*made.scopes[a], *made.scopes[b]} for _, a, b in made.steps]
    assert assembled(made).work == sum(made.size(union) for union in unions)


def test_an_empty_contraction_has_no_steps():
    made, _ = contracted(Network([], [], []))
    assert made.steps == []
    assert made.roots.tolist() == []
    assert made.scopes == [()]
    assert assembled(made).work == 0


def test_equal_scopes_are_multiplied_before_anything_grows():
    # Three tables on one variable and a wide one: the small ones meet first.
    ones = np.ones
    network = Network([5, 9, 9], [[0], [0], [0], [0, 1], [0, 2]], [*(ones(5),) * 3, ones((5, 9)), ones((5, 9))])
    made, _ = contracted(network)
    small = [result for result, a, b in made.steps if b != ONE and len(made.scopes[a]) == len(made.scopes[b]) == 1]
    assert len(small) >= 2
