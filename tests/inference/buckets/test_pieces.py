"""Problems divided at single variables: the division by removing variables one by one, best values by enumeration."""

from __future__ import annotations

import itertools

import numpy as np

import sepset as ss
from sepset.inference.buckets.frontier import FrontierSearch
from sepset.inference.buckets.pieces import PieceSearch, divided
from support.noisy_networks import assert_best, findings, noisy_network
from support.tolerances import CLOSE


def connected(scopes, without):
    """For each scope a number that it shares with those it is connected to, if a variable is removed."""
    label = list(range(len(scopes)))
    for i, j in itertools.combinations(range(len(scopes)), 2):
        if set(scopes[i]) & set(scopes[j]) - {without} and label[i] != label[j]:
            old, new = label[j], label[i]
            label = [new if one == old else one for one in label]
    return label


def test_pieces_share_the_variables_that_separate_them_and_no_other_one_separates_wide_scopes():
    for seed in range(60):
        rng = np.random.default_rng(seed)
        scopes = [sorted(rng.permutation(9)[: rng.integers(0, 4)].tolist()) for _ in range(rng.integers(1, 9))]
        is_wide, cuts = (rng.random(len(scopes)) < 0.5).tolist(), set(rng.permutation(9)[:6].tolist())
        pieces, home = divided(scopes, is_wide, cuts)
        assert sorted(i for piece in pieces for i in piece.members) == list(range(len(scopes)))
        assert all(any(is_wide[i] for i in piece.members) for piece in pieces[1:])
        assert all(piece.cut in cuts and home[piece.cut] == piece.above < i for i, piece in enumerate(pieces) if i)
        held = [{v for i in piece.members for v in scopes[i]} for piece in pieces]
        for v in range(9):
            having = [i for i, one in enumerate(held) if v in one]
            assert all(pieces[i].cut == v or home.get(v, 0) == i for i in having)
        for piece, v in itertools.product(pieces, cuts):
            label = connected(scopes, v)
            wide = [i for i in piece.members if is_wide[i] and v in scopes[i] and len(scopes[i]) > 1]
            assert len({label[i] for i in wide}) < 2


def test_best_values_are_those_of_enumeration(monkeypatch):
    """Zeros, ties, variables of one state, likelihoods, and some variables summed out."""
    monkeypatch.setattr("sepset.inference.rewriting.MOST_TABLED", 0)
    best, used = PieceSearch.best, []
    monkeypatch.setattr(PieceSearch, "best", lambda self, prepare: used.append(1) or best(self, prepare))
    for seed in range(24):
        rng = np.random.default_rng(seed)
        net, vs, joint = noisy_network(rng, int(rng.integers(10, 13)), is_tree=True)
        given, joint = findings(rng, vs, joint)
        over = None if rng.random() < 0.5 else [v.name for v in vs if rng.random() < 0.7] or [vs[0].name]
        assert_best(net, vs, joint, given, over, 1)
    assert len(used) > 7


def noisy_tree(rng, num, width):
    """Noisy-ors, each with up to two others and causes of its own as parents; leaks and strengths with them."""
    effects, cpds = [ss.Discrete(f"y{i}") for i in range(num)], []
    parts = []
    for i, child in enumerate(effects):
        inner = effects[2 * i + 1 : 2 * i + 3]
        own = [ss.Discrete(f"c{i}_{j}") for j in range(width - len(inner))]
        chances, strengths, leak = rng.uniform(0.01, 0.5, len(own)), rng.uniform(0.05, 0.95, width), rng.uniform(0, 0.1)
        cpds += [ss.TableCPD(c, [1 - p, p]) for c, p in zip(own, chances, strict=True)]
        cpds.append(ss.NoisyOr(child, dict(zip([*inner, *own], strengths, strict=True)), leak=leak))
        parts.append((len(inner), chances, strengths, leak))
    return ss.BayesNet(*cpds), parts


def enumerated(parts, i=0):
    """The largest log weights with an effect off and on, from those of the effects that are its parents."""
    num, chances, strengths, leak = parts[i]
    below = [enumerated(parts, j) for j in range(2 * i + 1, 2 * i + 1 + num)]
    logs, off = np.zeros(1), np.full(1, np.log1p(-leak))
    for pair, strength in zip([*below, *np.log(np.stack([1 - chances, chances], axis=1))], strengths, strict=True):
        logs, off = np.add.outer(logs, pair).ravel(), np.add.outer(off, [0.0, np.log1p(-strength)]).ravel()
    return (logs + off).max(), (logs + np.log(-np.expm1(off))).max()


def test_a_tree_of_wide_forms_takes_one_search_for_each_state_of_the_variables_between(monkeypatch):
    run, searches = FrontierSearch.run, []
    monkeypatch.setattr(
        FrontierSearch, "run", lambda self, *args: searches.append(len(self._order)) or run(self, *args)
    )
    net, parts = noisy_tree(np.random.default_rng(0), 7, 17)
    found = ss.map_assignment(net)
    np.testing.assert_allclose(found.log_value, max(enumerated(parts)), rtol=CLOSE)
    codes = [[v.states.index(found.assignment[v.name]) for v in net.variables]]
    rows = ss.Dataset.from_codes(net.variables, np.array(codes))
    np.testing.assert_allclose(net.log_probability(rows), [found.log_value], rtol=CLOSE)
    assert len(searches) <= 2 * 7
    assert max(searches) <= 17
