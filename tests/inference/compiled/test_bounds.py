"""The bound holds for every contraction, and is known without making one."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss
from sepset.inference.compiled import question as questions
from sepset.inference.compiled.bounds import least_entries
from support.blocks import in_blocks
from support.random_contractions import Network, eliminated, random_network, rows
from support.tolerances import EXACT


def bound(network, kept=()):
    symbolic, ranked = eliminated(network, kept)
    num = len(ranked.cards)
    inputs = questions.Inputs(
        *rows(ranked.scopes), np.arange(len(ranked.scopes)), np.arange(num), np.zeros(0, np.int64)
    )
    groups = questions.tree_groups(symbolic, len(kept))
    cards = np.array(ranked.cards, dtype=np.float64)
    last = np.arange(num - len(kept), num)
    return least_entries(inputs, cards, groups), questions.contract(inputs, cards, groups, kept=last)


@in_blocks("seed", range(60))
def test_no_contraction_is_below_the_bound(seed):
    rng = np.random.default_rng(seed)
    network = random_network(rng, num=8, num_factors=int(rng.integers(0, 16)), arity=4)
    kept = tuple(sorted(rng.choice(8, rng.integers(0, 3), replace=False).tolist()))
    least, made = bound(network, kept)
    assert 1 <= least <= made.entries * (1 + EXACT) + 1  # the number one is not among the tensors of an empty network


def test_a_complete_graph_has_half_of_its_bits():
    """Whichever variable goes first meets all others, in two tensors."""
    pairs = [[i, j] for j in range(10) for i in range(j)]
    least, made = bound(Network([4] * 10, pairs, [np.ones((4, 4))] * len(pairs)))
    assert least == pytest.approx(2.0**10)
    assert made.sizes.max() >= 2.0**10


def test_a_hopeless_model_is_refused_without_a_contraction(monkeypatch):
    asked = []
    monkeypatch.setattr(questions, "contract", lambda *args, **settings: asked.append(args))
    variables = [ss.Discrete(f"v{i}", 2) for i in range(70)]
    pairs = [(a, b) for i, a in enumerate(variables) for b in variables[:i]]
    model = ss.MarkovNet(*(ss.Table(pair, np.ones((2, 2))) for pair in pairs))
    planned, by_graph = r"\(width 69\), about 8.0 ZiB|10\^22 bytes in total", "70 variables have 40 neighbors or more"
    for ask, why in ((ss.marginals, by_graph), (ss.map_assignment, planned), (ss.log_partition, by_graph)):
        with pytest.raises(ss.TooLarge, match=why):
            ask(model, method=ss.CliqueTree())
    assert asked == []
