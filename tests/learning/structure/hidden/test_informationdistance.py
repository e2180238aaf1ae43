"""Information distances add up along the paths of a tree."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.hidden.grouping import latent_links
from sepset.learning.structure.hidden.informationdistance import column_distances, information_distance
from support.latent_trees import random_latent_tree, splits


@pytest.mark.parametrize("num_states", [2, 3])
def test_distances_of_a_network_add_up(num_states: int) -> None:
    """A hidden chain of two nodes with two leaves each, which may have more states."""
    rng = np.random.default_rng(num_states)
    h, k = ss.Discrete("h", num_states), ss.Discrete("k", num_states)
    leaves = [ss.Discrete(n, num_states + extra) for n, extra in zip("abcd", (0, 1, 2, 0), strict=True)]

    def drawn(child: ss.Discrete, parent: ss.Discrete) -> ss.TableCPD:
        table = rng.dirichlet(np.ones(child.num_states), parent.num_states) + np.eye(
            parent.num_states, child.num_states
        )
        return ss.TableCPD(child, table / 2.0, given=parent)

    net = ss.BayesNet(
        ss.TableCPD(h, rng.dirichlet(5 * np.ones(num_states))),
        drawn(k, h),
        *(drawn(leaf, parent) for leaf, parent in zip(leaves, (h, h, k, k), strict=True)),
    )
    d = {pair: information_distance(ss.query(net, list(pair)).values, num_states) for pair in ("ab", "cd", "ac", "bd")}
    d |= {pair: information_distance(ss.query(net, list(pair)).values, num_states) for pair in ("ad", "bc")}
    assert d["ac"] + d["bd"] == pytest.approx(d["ad"] + d["bc"], abs=1e-9)
    assert d["ac"] + d["bd"] > d["ab"] + d["cd"] + 1e-3
    through = sum(information_distance(ss.query(net, [x, "h"]).values, num_states) for x in "ab")
    assert d["ab"] == pytest.approx(through, abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_a_network_is_recovered_from_its_pairs(seed: int) -> None:
    """Random binary latent trees, from the exact joint of every pair of observed variables."""
    rng = np.random.default_rng(seed)
    truth = random_latent_tree(11, rng)
    variables = [ss.Discrete(f"v{i}") for i in range(truth.num_nodes)]
    order, cpds = [0], [ss.TableCPD(variables[0], [0.4, 0.6])]
    while len(order) < truth.num_nodes:
        for a, b in truth.edges:
            for parent, child in ((a, b), (b, a)):
                if parent in order and child not in order:
                    p, q = rng.uniform(0.65, 0.95, 2)
                    cpds.append(ss.TableCPD(variables[child], [[p, 1 - p], [1 - q, q]], given=variables[parent]))
                    order.append(child)
    engine = ss.prepare(ss.BayesNet(*cpds))
    size = truth.num_observed
    apart = np.zeros((size, size))
    for i in range(size):
        for j in range(i):
            joint = engine.query([variables[i], variables[j]]).values
            apart[i, j] = apart[j, i] = information_distance(joint, 2)
    number, edges = latent_links(apart).contracted(1e-7)
    assert number == truth.num_nodes
    assert splits(edges, range(size)) == splits(truth.edges, range(size))


def test_columns_that_are_constant_equal_or_independent() -> None:
    rows = {"a": [0, 0, 1, 1], "b": [0, 1, 0, 1], "c": ["x"] * 4, "d": [1, 1, 0, 0]}
    found = column_distances(Columns.of(rows, variables=[ss.Discrete("c", ("x",))]), 2)
    assert found[0, 3] == pytest.approx(0.0, abs=1e-12)
    assert np.isinf(found[0, [1, 2]]).all()
