"""Normalizers found together are those that each component finds alone."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import sepset as ss
from sepset.errors import ModelError
from sepset.factors.sparse import SparseTable
from sepset.factors.table import Table
from sepset.models.chaincomponent import ChainComponent
from sepset.models.chainnormalizers import FEWEST, normalize_together


def _components(rng, num, scale=1.0):
    """Components of one shape over variables of their own, with factors whose axes are in some order."""
    cards = rng.integers(1, 4, 5)
    scopes = [(0, 1), (1, 2, 3), (4, 0)] if rng.random() < 0.5 else [(2, 0), (3, 1, 4), (0, 1)]
    made = []
    for i in range(num):
        v = [ss.Discrete(f"v{i}_{k}", int(card)) for k, card in enumerate(cards)]
        sizes = [tuple(cards[list(scope)]) for scope in scopes]
        factors = [
            Table([v[k] for k in s], scale * rng.exponential(size=d)) for s, d in zip(scopes, sizes, strict=True)
        ]
        made.append(ChainComponent(v[:2], *factors, given=v[2:]))
    return made


def _by_enumeration(part):
    """One over the sum of the product of all factors, by the states of all parents."""
    found = {}
    parents = [v for v in part.parents if any(v in f.scope for f in part.factors)]
    for given in itertools.product(*(v.states for v in parents)):
        total = 0.0
        for own in itertools.product(*(v.states for v in part.variables)):
            at = dict(zip((*part.variables, *parents), (*own, *given), strict=True))
            total += np.exp(sum(f.log_value({v: at[v] for v in f.scope}) for f in part.factors))
        found[given] = 1.0 / total
    return parents, found


def _same(part, alone):
    assert set(part.normalizer.scope) == set(alone.normalizer.scope)
    theirs = alone.normalizer.align(part.normalizer.scope)
    np.testing.assert_allclose(part.normalizer.log_values, theirs.log_values, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_they_are_what_each_finds_alone(seed):
    rng = np.random.default_rng(seed)
    parts = _components(rng, FEWEST + seed % 3)
    normalize_together(parts)
    for part in parts:
        assert "normalizer" in part.__dict__
        _same(part, ChainComponent(part.variables, *part.factors, given=part.parents))
    parents, found = _by_enumeration(parts[-1])
    for given, value in found.items():
        states = dict(zip(parents, given, strict=True))
        assert parts[-1].normalizer.log_value(states) == pytest.approx(np.log(value), abs=1e-12)


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_numbers_far_from_one_are_left(scale):
    parts = _components(np.random.default_rng(0), FEWEST, scale)
    normalize_together(parts)
    assert not any("normalizer" in part.__dict__ for part in parts)
    for part in parts:
        plain = ChainComponent(part.variables, *(f / Table((), [scale]) for f in part.factors), given=part.parents)
        logs = plain.normalizer.align(part.normalizer.scope).log_values - 3 * np.log(scale)
        np.testing.assert_allclose(part.normalizer.log_values, logs, rtol=1e-12)


def test_few_sparse_and_impossible_ones_are_left():
    few = _components(np.random.default_rng(1), FEWEST - 1)
    u, a = ss.Discrete("u"), ss.Discrete("a")
    sparse = [ChainComponent(a, SparseTable.from_table(Table((u, a), [[1.0, 0.0], [0.0, 2.0]]))) for _ in range(FEWEST)]
    impossible = [ChainComponent(a, Table((u, a), [[0.0, 0.0], [1.0, 2.0]])) for _ in range(FEWEST)]
    known = [ChainComponent.of_cpd(ss.TableCPD(a, [0.5, 0.5])) for _ in range(FEWEST)]
    normalize_together([*few, *sparse, *impossible, *known])
    assert not any("normalizer" in part.__dict__ for part in (*few, *sparse, *impossible, *known))
    with pytest.raises(ModelError, match="no positive value given"):
        impossible[0].normalizer  # it raises


def test_a_chain_graph_of_many_components_eliminates_none(monkeypatch):
    monkeypatch.setattr(Table, "eliminate", None)
    rng = np.random.default_rng(2)
    v = [ss.Discrete(f"v{i}") for i in range(40)]
    parts = [ChainComponent(v[i], Table((v[i], v[i - 1]), rng.exponential(size=(2, 2)))) for i in range(1, 40)]
    found = ss.query(ss.ChainGraph(*parts, ss.TableCPD(v[0], [0.25, 0.75])), "v39")
    belief = np.array([0.25, 0.75])
    for part in parts:
        table = part.factors[0].values
        belief = (table / table.sum(axis=0)) @ belief
    np.testing.assert_allclose(found.values, belief, rtol=1e-12)
