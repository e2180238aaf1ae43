"""Products that findings leave: the same function of everything else, in smaller factors."""

from __future__ import annotations

import numpy as np

import sepset as ss
from sepset.inference.exact.products import with_products
from sepset.variables.evidence import Evidence


def a_network(rng):
    """Noisy-ors, tables without structure, tables that are products at one state, functions; one-state variables."""
    variables = [ss.Discrete(f"v{i}", int(rng.choice([1, 2, 2, 2, 3]))) for i in range(6)]
    cpds = []
    for i, v in enumerate(variables):
        parents = [variables[p] for p in rng.choice(i, min(i, int(rng.integers(0, 4))), replace=False)]
        shape = [p.num_states for p in parents]
        kind = int(rng.integers(4)) if parents and v.num_states == 2 else 0
        if kind == 1:
            cpds.append(ss.NoisyOr(v, {p: rng.random(p.num_states) for p in parents}, leak=float(rng.choice([0, 0.1]))))
        elif kind == 2:
            rows = [rng.random(n) * rng.choice([0.0, 1.0, 1e-3], n) for n in shape]
            off = np.array(1.0)
            for row in rows:
                off = np.multiply.outer(off, row)
            cpds.append(ss.TableCPD(v, np.stack([1 - off, off], axis=-1), given=parents))
        elif kind == 3:
            cpds.append(ss.DeterministicCPD(v, lambda *codes: int(all(codes)), given=parents))
        else:
            table = rng.dirichlet(np.ones(v.num_states), shape)
            cpds.append(ss.TableCPD(v, table, given=parents))
    return ss.BayesNet(*[cpds[i] for i in rng.permutation(len(cpds))])


def whole_product(problem, codes):
    """The product of all factors at the findings, over all variables."""
    cards, total = problem.variables.cards.tolist(), 1.0
    for number in range(problem.num_factors):
        scope, values = problem.scope(number), problem.factor(number).values
        order = np.argsort(scope, kind="stable")
        shape = [cards[v] if v in scope else 1 for v in range(len(cards))]
        total = total * values.transpose(order).reshape(shape)
    return np.broadcast_to(total, cards)[tuple(codes.get(v, slice(None)) for v in range(len(cards)))]


def test_products_are_what_they_were():
    divided = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        problem = a_network(rng).problem()
        chosen = rng.choice(problem.num_visible, int(rng.integers(1, 5)), replace=False).tolist()
        codes = {v: int(rng.integers(problem.variables.cards[v])) for v in chosen}
        made = with_products(problem, Evidence(codes))
        if made is None or len(problem.variables) > problem.num_visible:
            continue
        divided += 1
        assert made.num_factors > problem.num_factors
        np.testing.assert_allclose(whole_product(made, codes), whole_product(problem, codes), rtol=1e-14)
    assert divided > 50


def test_what_is_nearly_a_product_is_not_divided():
    a, b, c = (ss.Discrete(name) for name in "abc")
    off = np.multiply.outer([0.9, 0.3], [0.8, 0.2])
    for change, is_divided in ((0.0, True), (1e-12, False)):
        table = np.stack([off, 1 - off], axis=-1)
        table[1, 1] += [change, -change]
        net = ss.BayesNet(ss.TableCPD(a, [0.5, 0.5]), ss.TableCPD(b, [0.5, 0.5]), ss.TableCPD(c, table, given=[a, b]))
        assert (with_products(net.problem(), Evidence({net.variables.id("c"): 0})) is not None) == is_divided
