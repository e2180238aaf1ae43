"""Trees from distances: exact where distances add up."""

from __future__ import annotations

import numpy as np

from sepset.learning.structure.hidden.grouping import joined_links, latent_links, neighbor_joining
from support.blocks import in_blocks
from support.latent_trees import random_latent_tree, splits


@in_blocks("seed", range(30))
def test_random_trees_are_recovered(seed: int) -> None:
    """Leaves, observed inner nodes and hidden ones, from the distances of the observed nodes only."""
    rng = np.random.default_rng(seed)
    truth = random_latent_tree(int(rng.integers(3, 25)), rng)
    observed = range(truth.num_observed)
    for number, edges in (
        latent_links(truth.distances).contracted(1e-9),
        joined_links(truth.distances).contracted(1e-9),
    ):
        assert number == truth.num_nodes
        assert splits(edges, observed) == splits(truth.edges, observed)


def test_all_edges_contracted_leave_the_observed_nodes() -> None:
    truth = random_latent_tree(15, np.random.default_rng(0))
    number, edges = latent_links(truth.distances).contracted(np.inf)
    assert (number, len(edges)) == (truth.num_observed, truth.num_observed - 1)


def test_small_and_disconnected() -> None:
    assert latent_links(np.zeros((1, 1))).contracted(1e-9) == (1, [])
    assert latent_links(np.array([[0.0, 1.0], [1.0, 0.0]])).contracted(1e-9) == (2, [(0, 1)])
    assert neighbor_joining(np.zeros((0, 0))) == []
    apart = np.full((5, 5), np.inf)
    apart[:3, :3] = 2.0 - 2.0 * np.eye(3)
    np.fill_diagonal(apart, 0.0)
    for links in (latent_links(apart), joined_links(apart)):
        assert links.contracted(1e-9) == (6, [(0, 5), (1, 5), (2, 5)])


def test_a_pair_at_infinity_is_joined_through_the_center() -> None:
    apart = np.array([[0.0, 1.0, 1.0], [1.0, 0.0, np.inf], [1.0, np.inf, 0.0]])
    assert latent_links(apart).contracted(1e-9) == (3, [(0, 1), (0, 2)])
