"""Noisy-or and noisy-max against their definitions, at 30 parents, and learned from data."""

from __future__ import annotations

import itertools
import math
import pickle

import numpy as np
import pytest

import oracle
from sepset.api.questions import map_assignment
from sepset.cpds.noisy import NoisyMax, NoisyOr
from sepset.cpds.priors.dirichlet import Dirichlet
from sepset.cpds.priors.weights import NormalWeights
from sepset.cpds.table import TableCPD
from sepset.errors import DataError, NotApplicable, TooLarge
from sepset.models.bayesnet import BayesNet
from sepset.semiring import MAX
from sepset.variables.universe import Universe
from sepset.variables.variable import Discrete
from support.bounded import within
from support.cpd_contract import check_contract, joint_states, random_rows

FEVER, FLU, COLD = (Discrete(name, (False, True)) for name in ("fever", "flu", "cold"))


def or_table(parents, chances, leak, on=1):
    """P(off) = (1 - leak) * product of (1 - chance of each parent's state), cell by cell."""
    table = np.zeros([*(p.num_states for p in parents), 2])
    for cell in joint_states(parents):
        off = (1 - leak) * math.prod(1 - chances[i][code] for i, code in enumerate(cell))
        table[cell][1 - on], table[cell][on] = off, 1 - off
    return table


def max_table(child, parents, effects, leak):
    """The distribution of the largest contribution, by summing over all of them."""
    k = child.num_states
    table = np.zeros([*(p.num_states for p in parents), k])
    for cell in joint_states(parents):
        rows = [leak, *(effects[i][code] for i, code in enumerate(cell))]
        for zs in itertools.product(range(k), repeat=len(rows)):
            table[cell][max(zs)] += math.prod(row[z] for row, z in zip(rows, zs, strict=True))
    return table


def test_the_worked_number():
    cpd = NoisyOr(FEVER, given={FLU: 0.8, COLD: 0.4}, leak=0.01)
    assert cpd.to_table()[True, True][1] == pytest.approx(1 - 0.2 * 0.6 * 0.99, abs=1e-15)
    assert cpd.to_table()[True, True][1] == pytest.approx(0.8812, abs=1e-12)
    assert (cpd.on, cpd.leak, cpd.num_parameters) == (True, 0.01, 3)
    assert cpd.effects[FLU].tolist() == [0.0, 0.8]
    check_contract(cpd, or_table((FLU, COLD), [[0, 0.8], [0, 0.4]], 0.01), tolerance=1e-12)


@pytest.mark.parametrize("num_parents", [0, 1, 3, 4, 5])
@pytest.mark.parametrize("leak", [0.0, 0.05, 1.0])
def test_contract_of_noisy_or(num_parents, leak):
    parents = tuple(Discrete(f"p{i}") for i in range(num_parents))
    chances = [[0.0, c] for c in (0.3, 1.0, 0.0, 0.6, 0.9)[:num_parents]]
    cpd = NoisyOr(Discrete("y"), {p: c[1] for p, c in zip(parents, chances, strict=True)}, leak=leak)
    if leak == 0.0 or leak == 1.0:
        return check_contract_without_learning(cpd, or_table(parents, chances, leak))
    return check_contract(cpd, or_table(parents, chances, leak), tolerance=1e-12)


def check_contract_without_learning(cpd, table):
    from support.cpd_contract import check_factors, check_irrelevance, check_manners, check_numbers, check_sampling

    check_factors(cpd, table)
    check_numbers(cpd, table)
    check_irrelevance(cpd, table, 1e-12)
    check_sampling(cpd, table, 0)
    check_manners(cpd, table)


def test_more_states_and_another_on():
    graded, child = Discrete("graded", ("none", "some", "much")), Discrete("y", ("yes", "no"))
    chances = [[0.0, 0.3, 0.8], [0.1, 0.1], [0.5]]
    given = {graded: {"some": 0.3, "much": 0.8}, Discrete("q"): [0.1, 0.1], Discrete("one", 1): [0.5]}
    cpd = NoisyOr(child, given, leak=0.2, on="yes")
    check_contract(cpd, or_table(tuple(given), chances, 0.2, on=0), tolerance=1e-12)
    assert cpd.irrelevant({}) == (cpd.parents[1], cpd.parents[2])
    same = NoisyOr(child, {graded: 0.3}, on="yes").effects[graded]
    assert same.tolist() == [0.0, 0.3, 0.3]


def test_false_is_off_wherever_it_stands():
    parent, child = Discrete("p", (True, False)), Discrete("y", (True, False))
    cpd = NoisyOr(child, {parent: 0.7})
    assert cpd.to_table()[True].tolist() == pytest.approx([0.7, 0.3])
    assert cpd.to_table()[False].tolist() == [0.0, 1.0]


def test_a_certain_cause_makes_the_others_irrelevant():
    cpd = NoisyOr(FEVER, {FLU: 1.0, COLD: 0.4})
    assert cpd.irrelevant({"flu": True}) == (COLD,)
    assert cpd.irrelevant({"flu": False}) == ()


def test_thirty_parents_take_milliseconds_and_no_table():
    parents = tuple(Discrete(f"p{i}") for i in range(30))
    chances = np.linspace(0.01, 0.5, 30)
    cpd = NoisyOr(Discrete("y"), dict(zip(parents, chances, strict=True)), leak=0.02)
    factors = within(1.0, cpd.factors)
    assert sum(f.size for f in factors) == 4 + 29 * 8
    assert len(cpd.auxiliaries) == 29
    product = factors[0]
    for i, factor in enumerate(factors[1:]):
        product = (product * factor).marginalize([cpd.auxiliaries[i]]).condition({parents[i]: i % 2})
    found = product.condition({parents[29]: 1}).values
    off = 0.98 * math.prod(1 - c for i, c in enumerate(chances) if i % 2)
    np.testing.assert_allclose(found, [off, 1 - off], rtol=1e-12)
    with pytest.raises(TooLarge, match="entries"):
        cpd.to_table()
    rng = np.random.default_rng(0)
    rows = {p: rng.integers(2, size=10_000) for p in parents}
    drawn = cpd.sample(rows, 10_000, rng)
    logs = cpd.log_probability({**rows, cpd.child: drawn})
    exact = 0.98 * np.prod([np.where(rows[p] == 1, 1 - c, 1.0) for p, c in zip(parents, chances, strict=True)], axis=0)
    np.testing.assert_allclose(np.exp(logs), np.where(drawn == 1, 1 - exact, exact), rtol=1e-10)
    expected = (1 - exact).sum()
    assert abs(drawn.sum() - expected) < 5 * math.sqrt((exact * (1 - exact)).sum())


def test_auxiliaries_cannot_collide():
    first, second = (NoisyOr(Discrete(n), {Discrete(f"p{i}"): 0.5 for i in range(5)}) for n in ("x", "y"))
    assert not set(first.auxiliaries) & set(second.auxiliaries)
    assert first.auxiliaries[0] != Discrete(first.auxiliaries[0].name)
    assert first.auxiliaries == NoisyOr(first.child, dict.fromkeys(first.parents, 0.1)).auxiliaries


def test_auxiliaries_of_array_elements_are_not_the_elements():
    pixels = Discrete.array("pixel", 3)
    cpd = NoisyOr(pixels[1], {Discrete(f"p{i}"): 0.5 for i in range(5)})
    variables = Universe([pixels, *cpd.auxiliaries])
    assert [variables.id(v) for v in cpd.auxiliaries] == [3, 4, 5, 6]
    assert variables.id(pixels[1]) == 1
    assert cpd.auxiliaries[0].name == "pixel[1](max 1)"
    assert pickle.loads(pickle.dumps(cpd.auxiliaries)) == cpd.auxiliaries
    assert cpd.auxiliaries[0].prev.part == "max 1"


@pytest.mark.parametrize("cards", [(), (2,), (2, 3), (2, 1, 2), (3, 2, 2, 2)])
@pytest.mark.parametrize("seed", [0, 1])
def test_contract_of_noisy_max(cards, seed):
    rng = np.random.default_rng(seed)
    child, parents = Discrete("x", 3), tuple(Discrete(f"p{i}", card) for i, card in enumerate(cards))
    leak = oracle.random_rows(rng, (1, 3), deterministic=0.0, zeros=0.0)[0]
    effects = [oracle.random_rows(rng, (card, 3), deterministic=0.3, zeros=0.3) for card in cards]
    cpd = NoisyMax(child, dict(zip(parents, effects, strict=True)), leak=leak)
    check_contract(cpd, max_table(child, parents, effects, leak), tolerance=1e-12)


def test_noisy_max_of_two_states_is_noisy_or():
    given = {FLU: 0.8, COLD: 0.4}
    plain = NoisyOr(FEVER, given, leak=0.1)
    graded = NoisyMax(FEVER, {p: [[1, 0], [1 - c, c]] for p, c in given.items()}, leak=[0.9, 0.1])
    np.testing.assert_allclose(graded.to_table().values, plain.to_table().values, rtol=0, atol=1e-15)
    assert graded.num_parameters == plain.num_parameters == 3


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: NoisyOr(Discrete("x", 3), {FLU: 0.5}), "two states.*Use NoisyMax"),
        (lambda: NoisyOr(FEVER, {FLU: 1.5}), "effect of flu is 1.5"),
        (lambda: NoisyOr(FEVER, {FLU: math.nan}), "effect of flu is nan"),
        (lambda: NoisyOr(FEVER, {FLU: 0.5}, leak=-0.1), "effect of the leak is -0.1"),
        (lambda: NoisyOr(FEVER, {FLU: [0.1, 0.2, 0.3]}), "2 states of flu; found"),
        (lambda: NoisyMax(FEVER, {FLU: [[1, 0], [0.5, 0.4]]}), r"row \(flu=True\) sums to 0.9"),
        (lambda: NoisyMax(FEVER, {FLU: [[1, 0]]}), "contribution of flu has the shape"),
        (lambda: NoisyMax(FEVER, {FLU: [[1, 0], [0, 1]]}, leak=[0.5, 0.4]), r"row \(the leak\) sums to 0.9"),
        (lambda: NoisyOr(FEVER, {FLU: 0.5}, on="maybe"), "Unknown state 'maybe'"),
    ],
)
def test_bad_input_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def exact_statistics(cpd, table):
    """Every joint state with a count equal to its probability under uniform parents, times a thousand."""
    cells = np.array(list(joint_states(cpd.scope)))
    rows = {v: cells[:, axis] for axis, v in enumerate(cpd.scope)}
    return cpd.statistics(rows, 1000.0 * table.reshape(-1))


def test_estimates_recover_a_noisy_or():
    parents = tuple(Discrete(f"p{i}") for i in range(4))
    chances = [0.9, 0.5, 0.2, 0.05]
    truth = or_table(parents, [[0, c] for c in chances], 0.1)
    start = NoisyOr(Discrete("y"), dict.fromkeys(parents, 0.5), leak=0.5, block="shared")
    learned = start.from_statistics(exact_statistics(start, truth))
    assert learned.block == start.block
    assert learned.leak == pytest.approx(0.1, abs=1e-5)
    found = [learned.effects[p] for p in parents]
    np.testing.assert_allclose(found, [[0, c] for c in chances], atol=1e-5)


def test_estimates_recover_a_noisy_max():
    child, parents = Discrete("x", 3), (Discrete("a", 2), Discrete("b", 3))
    effects = [np.array([[1, 0, 0], [0.3, 0.5, 0.2]]), np.array([[1, 0, 0], [0.6, 0.3, 0.1], [0.2, 0.2, 0.6]])]
    leak = np.array([0.8, 0.15, 0.05])
    truth = max_table(child, parents, effects, leak)
    start = NoisyMax(child, dict(zip(parents, effects, strict=True)), leak=[0.4, 0.3, 0.3])
    learned = start.from_statistics(exact_statistics(start, truth))
    np.testing.assert_allclose(learned.leak, leak, atol=1e-5)
    for parent, effect in zip(parents, effects, strict=True):
        np.testing.assert_allclose(learned.effects[parent], effect, atol=1e-5)


def test_thirty_parents_are_learned_without_a_table():
    parents = tuple(Discrete(f"p{i}") for i in range(30))
    cpd = NoisyOr(Discrete("y"), {p: 0.02 + 0.01 * i for i, p in enumerate(parents)}, leak=0.05)
    rows = random_rows(cpd, 300, 0)
    learned = cpd.from_statistics(cpd.statistics(rows))
    assert learned.log_probability(rows).sum() >= cpd.log_probability(rows).sum()


def test_pseudo_counts_pull_towards_one_half():
    cpd = NoisyOr(FEVER, {FLU: 0.9}, leak=0.0)
    rows = {FLU: np.ones(10, np.int64), FEVER: np.ones(10, np.int64)}
    learned = cpd.from_statistics(cpd.statistics(rows), Dirichlet(2.0))
    assert learned.effects[FLU][1] == pytest.approx(12 / 14, abs=1e-6)
    assert learned.leak == 0.0


def test_unseen_parent_states_follow_the_policy():
    cpd = NoisyOr(FEVER, {FLU: 0.9, COLD: 0.3}, leak=0.1)
    stats = cpd.statistics({FLU: np.zeros(4, np.int64), COLD: np.array([0, 1, 0, 1]), FEVER: np.array([0, 1, 1, 0])})
    assert cpd.from_statistics(stats).effects[FLU].tolist() == [0.0, 0.5]
    with pytest.raises(DataError, match="in the data: flu=True"):
        cpd.from_statistics(stats, unseen="raise")


def test_forbidden_data_and_other_priors_are_refused():
    cpd = NoisyOr(FEVER, {FLU: 0.9})
    stats = cpd.statistics({FLU: np.array([0]), FEVER: np.array([1])})
    with pytest.raises(DataError, match="Give it a leak"):
        cpd.from_statistics(stats)
    with pytest.raises(NotApplicable, match="Dirichlet"):
        cpd.from_statistics(stats, NormalWeights(1.0))
    with pytest.raises(DataError, match="its own statistics"):
        cpd.from_statistics(np.ones(4))


def test_a_child_of_one_state_leaves_its_parents_alone():
    parents = [Discrete(f"p{i}") for i in range(30)]
    child = NoisyMax(Discrete("c", 1), {p: [[1.0], [1.0]] for p in parents})
    net = BayesNet(*(TableCPD(p, [0.25, 0.75]) for p in parents), child)
    best = map_assignment(net, k=2)
    np.testing.assert_allclose(best.probabilities, [0.75**30, 0.75**29 * 0.25], rtol=1e-12)
    assert map_assignment(net, over=["p3", "c"]).assignment["p3"] == 1


def test_what_is_whole_for_maxima_is_one_table_of_all_free_variables():
    rng, num_whole = np.random.default_rng(4), 0
    for _ in range(300):
        cards = rng.choice([1, 2, 3], rng.integers(0, 6), p=[0.1, 0.7, 0.2]).tolist()
        child, parents = Discrete("x", int(rng.choice([1, 2, 3]))), [Discrete(f"p{i}", c) for i, c in enumerate(cards)]
        alike = [oracle.random_rows(rng, (3, child.num_states), deterministic=0.2, zeros=0.2) for _ in range(2)]
        cpd = NoisyMax(child, {p: alike[rng.integers(2)][: p.num_states] for p in parents}, leak=alike[0][0])
        given = {v: int(rng.integers(v.num_states)) for v in (child, *parents) if rng.random() < 0.3}
        if cpd.is_whole(given):
            parts = cpd.decomposed(given, MAX).filled
            assert len(parts) == 1
            assert {*cpd.parents} - {*given} <= {*parts[0].scope}
            num_whole += 1
    assert num_whole > 50


def test_products_and_tables_that_are_too_large_are_not_whole():
    parents = [Discrete(f"p{i}") for i in range(30)]
    differing = NoisyOr(Discrete("x"), {p: 0.1 + 0.02 * i for i, p in enumerate(parents)}, leak=0.1)
    alike = NoisyOr(Discrete("y"), dict.fromkeys(parents, 0.3), leak=0.1)
    seen = dict.fromkeys(parents[10:], 0)
    for cpd, given, expected in (
        (differing, {differing.child: 1}, False),  # 2^30 entries
        (differing, {differing.child: 1, **seen}, True),
        (differing, {differing.child: 0, **seen}, False),  # a product of the causes
        (alike, {alike.child: 1, **seen}, False),  # a chain of the number of causes
    ):
        assert cpd.is_whole(given) == expected
