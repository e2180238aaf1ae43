"""Rearranged contraction trees: the same sums at no more cost, the same tree every time, within the memory."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import sepset as ss
from sepset.inference import costs
from sepset.inference.compiled import question as questions, treesearch
from sepset.inference.compiled.compiler import Compiler
from sepset.inference.compiled.contraction import ONE, Products, follow
from sepset.inference.compiled.treesearch import cheaper_tree, estimated, is_searched
from support.blocks import in_blocks
from support.method_contract import check_method
from support.random_contractions import NONE, Network, contracted, product_sum, random_network, rows, summed
from support.random_models import markov_net, random_case, random_evidence
from support.tolerances import EXACT
from support.zero_cases import check, model_of, zero_case


@pytest.fixture
def always(monkeypatch):
    """Every tree is searched, however small."""
    monkeypatch.setattr(costs, "ENTRIES_BEFORE_TREE_SEARCH", -1)
    monkeypatch.setattr(costs, "SHARE_OF_TREE_SEARCH", 10.0)


def ends(ranked, num_kept=0, *, targets=False, num_factors=0):
    num = len(ranked.cards)
    kept = np.arange(num - num_kept, num)
    return {"kept": kept, "targets": np.arange(num if targets else 0), "num_factors": num_factors}


def followed(ranked, tree, **asked):
    num = len(ranked.cards)
    inputs = questions.Inputs(*rows(ranked.scopes), np.arange(len(ranked.scopes)), np.arange(num), NONE)
    return follow(inputs, np.array(ranked.cards, dtype=np.float64), tree, **asked)


def random_tree(rng, num):
    """Products of inputs taken in pairs at random, until one is left."""
    left, made = list(range(num)), []
    while len(left) > 1:
        a, b = (left.pop(int(rng.integers(len(left)))) for _ in range(2))
        left.append(num + len(made))
        made.append((a, b))
    return np.array(made, dtype=np.int64).reshape(-1, 2)


def tensors(made, network):
    found = [np.array(1.0), *network.tables]
    for result, a, b in made.steps:
        assert result == len(found)
        found.append(product_sum(found[a], made.scopes[a], found[b], made.scopes[b], made.scopes[result]))
    return found


def check_sums(made, network, num_factors):
    """Roots and reads against sums over all states."""
    found = tensors(made, network)
    np.testing.assert_allclose(math.prod(found[t].sum() for t in made.roots), summed(network, ()), rtol=1e-11)
    scopes = [*([r] for r in range(len(network.cards))), *network.scopes[:num_factors]]
    for scope, home in zip(scopes, made.reads.tolist(), strict=True):
        truth = summed(network, scope)
        if truth.sum() > 0:
            np.testing.assert_allclose(found[home] / found[home].sum(), truth / truth.sum(), rtol=1e-10, atol=1e-15)


@in_blocks("seed", range(15))
def test_every_tree_gives_the_sums_over_all_states(seed):
    """Random trees, over one-state variables, empty scopes and unconnected parts."""
    rng = np.random.default_rng(seed)
    network = random_network(rng, num=2 + seed % 6)
    num_factors = len(network.scopes)
    _, ranked = contracted(network)
    tree = Products(random_tree(rng, len(ranked.scopes)), len(ranked.scopes) * len(ranked.cards))
    made, _ = followed(ranked, tree, **ends(ranked, targets=True, num_factors=num_factors))
    check_sums(made, ranked, num_factors)


@in_blocks("seed", range(15))
def test_a_searched_tree_gives_the_sums_over_all_states(seed):
    network = random_network(np.random.default_rng(seed), num_factors=12)
    num_factors = len(network.scopes)
    made, ranked = contracted(network, targets=True, num_factors=num_factors)
    asked = ends(ranked, targets=True, num_factors=num_factors)
    found = cheaper_tree(made, **asked, share=100.0)
    other, _ = followed(ranked, found.tree, **asked)
    check_sums(other, ranked, num_factors)


@in_blocks("seed", range(10))
def test_kept_variables_stay_together(seed):
    rng = np.random.default_rng(seed)
    kept = sorted(rng.choice(7, 1 + seed % 3, replace=False).tolist())
    made, ranked = contracted(random_network(rng), kept)
    asked = ends(ranked, len(kept))
    other, _ = followed(ranked, cheaper_tree(made, **asked, share=100.0).tree, **asked)
    (root,) = other.roots
    last = list(range(7 - len(kept), 7))
    assert list(other.scopes[root]) == last
    np.testing.assert_allclose(tensors(other, ranked)[root], summed(ranked, last), rtol=1e-12)


@in_blocks("seed", range(8))
def test_steps_that_remove_variables_are_cliques_children_first(seed):
    rng = np.random.default_rng(seed)
    _, ranked = contracted(random_network(rng))
    tree = Products(random_tree(rng, len(ranked.scopes)), len(ranked.scopes) * len(ranked.cards))
    made, groups = followed(ranked, tree, **ends(ranked))
    operands = [{a, b} - {ONE} for _, a, b in made.steps[: made.num_forward]]
    assert (groups.group >= 0).all()
    for clique, sepset in enumerate(groups.sepsets):
        own = {*np.flatnonzero(groups.group == clique).tolist()}
        assert own
        assert all(groups.group[r] > clique for r in sepset)
        box = made.inboxes[clique]
        assert {r for t in box for r in made.scopes[t]} == own | {*sepset}
        assert {*box} in operands


def plain_estimate(made, steps=None):
    """The cost of all steps, or of some, from sets of variables."""
    total = 0.0
    for d, a, b in made.steps if steps is None else steps:
        union = made.size({*made.scopes[a], *made.scopes[b]})
        moved = [made.size(made.scopes[t]) for t in (a, b, d)]
        rate = costs.NANOSECONDS_PER_STREAMED_ENTRY if union <= max(moved) else costs.NANOSECONDS_PER_ENTRY
        total += costs.NANOSECONDS_PER_PRODUCT * union + rate * sum(moved) + costs.NANOSECONDS_PER_STEP
    return total


def expensive(seed, *, num=60, num_factors=240, card=4):
    """Pairs over more variables than a word has bits, whose tables grow large."""
    rng = np.random.default_rng(seed)
    scopes = [sorted(rng.choice(num, 2, replace=False).tolist()) for _ in range(num_factors)]
    near = [sorted({a, (a + 1 + int(b) % 7) % num}) for a, b in scopes]
    return Network([card] * num, near, [np.ones((card, card))] * num_factors)


@pytest.mark.parametrize("seed", range(4))
def test_the_estimate_never_grows(seed):
    """Along the tree found, counted independently; an answer without derivatives costs what the search says."""
    made, ranked = contracted(expensive(seed))
    asked = ends(ranked)
    found = cheaper_tree(made, **asked)
    other, _ = followed(ranked, found.tree, **asked)
    assert estimated(made) == pytest.approx(plain_estimate(made), rel=EXACT)
    assert estimated(other) == pytest.approx(plain_estimate(other), rel=EXACT)
    assert found.cost <= found.first
    products = [plain_estimate(other, [step]) for step in other.steps if step[2] != ONE]
    assert sum(products) == pytest.approx(found.cost, rel=EXACT)
    assert len(products) == len(found.tree.rows)


def test_expensive_trees_become_much_cheaper():
    gains = []
    for seed in range(4):
        made, ranked = contracted(expensive(seed), targets=True)
        found = cheaper_tree(made, **ends(ranked, targets=True))
        gains.append(found.first / found.cost)
        assert is_searched(made)
    assert min(gains) >= 1.0
    assert np.prod(gains) ** (1 / len(gains)) > 1.2


def test_equal_questions_have_equal_trees():
    made, ranked = contracted(expensive(0), targets=True)
    first, second = (cheaper_tree(made, **ends(ranked, targets=True)) for _ in range(2))
    np.testing.assert_array_equal(first.tree.rows, second.tree.rows)
    assert first[1:] == second[1:]


def test_small_plans_are_not_searched(monkeypatch):
    monkeypatch.setattr(questions, "cheaper_tree", None)
    for name in ("asia", "alarm", "insurance"):
        ss.marginals(ss.datasets.load(name))


@pytest.mark.parametrize("seed", range(30))
def test_every_question_as_enumeration_answers_it(seed, always):
    rng = np.random.default_rng(seed)
    case = random_case(rng) if seed % 2 else markov_net(rng)
    check_method(ss.CliqueTree(), case, *random_evidence(rng, case), rng)


@pytest.mark.parametrize("zeros", ["auto", "dense", "sparse"])
@pytest.mark.parametrize("seed", range(5))
def test_zeros(seed, zeros, always):
    factors = zero_case(seed, 0.25)
    engine = ss.CliqueTree(zeros=zeros).prepare(model_of(factors).problem())
    check(engine, factors, {})
    for a, c in itertools.product(range(3), range(0, 4, 3)):
        check(engine, factors, {"a": a, "c": c})
    check(engine, factors, {"b": np.array([0.0, 2.0]), "e": 1})


def grid(side, card, seed=0):
    rng = np.random.default_rng(seed)
    at = {(i, j): ss.Discrete(f"v{i}.{j}", card) for i in range(side) for j in range(side)}
    pairs = [((i, j), near) for i, j in at for near in ((i + 1, j), (i, j + 1)) if near in at]
    return ss.MarkovNet(*(ss.Table([at[a], at[b]], rng.random((card, card))) for a, b in pairs))


def compiled(model, memory):
    engine = ss.prepare(model, method=ss.CliqueTree(memory=memory))
    tables = engine.prepared
    pattern = tables.compiler.planner.pattern(ss.variables.Evidence())
    return tables.compiler.question("marginals", tables.compiler.planner.hidden(pattern), pattern)


def test_searched_and_unsearched_plans_give_the_same_marginals(monkeypatch):
    model = grid(6, 5)
    searched = {v.name: ss.prepare(model).marginals()[v.name].values for v in model.variables[:12]}
    total = ss.log_partition(model)
    assert compiled(model, 2**33).contraction.num_forward > 0
    monkeypatch.setattr(questions, "is_searched", lambda made: False)
    plain = ss.prepare(model, method=ss.CliqueTree(order=ss.graphs.MinFill()))
    for name, values in searched.items():
        np.testing.assert_allclose(values, plain.marginals()[name].values, rtol=1e-9)
    assert float(total) == pytest.approx(float(plain.log_partition()), rel=1e-12)


def test_a_plan_that_fits_still_fits(monkeypatch):
    """The search never turns an answer into a refusal, and need is what is allocated."""
    model = grid(6, 4)
    monkeypatch.setattr(questions, "is_searched", lambda made: False)
    need = compiled(model, 2**33).need
    monkeypatch.undo()
    found = compiled(model, need)
    assert found.need <= need
    with pytest.raises(ss.TooLarge):
        compiled(model, found.need // 8)


def test_a_tree_beyond_the_memory_is_not_taken(monkeypatch):
    model = grid(5, 4)
    monkeypatch.setattr(costs, "ENTRIES_BEFORE_TREE_SEARCH", -1)
    wide = random_tree(np.random.default_rng(0), 40)
    free = compiled(model, 2**33)
    tree = Products(wide, 40 * 25)
    monkeypatch.setattr(questions, "cheaper_tree", lambda *args, **settings: treesearch.Found(tree, 0.0, 1.0))
    kept = compiled(model, 2 * free.need)
    assert kept.need <= 2 * free.need
    np.testing.assert_array_equal(kept.tree.group >= 0, True)


def test_a_search_ends_when_it_is_interrupted(monkeypatch):
    """The flag ends it after one stage; Ctrl-C then reaches the caller."""
    from sepset.kernels.compiled import trees

    made, ranked = contracted(expensive(1))
    seen = []

    def stopped(rows, *rest):
        schedule, num_moves, seed = rest[-4:-1]
        found = trees_anneal(rows, *rest[:-1], np.ones(1, np.uint8))
        first = trees_anneal(rows, *rest[:-4], schedule[:1], num_moves, seed, np.zeros(1, np.uint8))
        np.testing.assert_array_equal(found[0], first[0])
        seen.append(len(schedule))
        raise KeyboardInterrupt

    trees_anneal = trees.anneal
    monkeypatch.setattr(trees, "anneal", stopped)
    for uninterrupted in (0, 10**9):
        monkeypatch.setattr(costs, "ROTATIONS_UNINTERRUPTED", uninterrupted)
        with pytest.raises(KeyboardInterrupt):
            cheaper_tree(made, **ends(ranked))
    assert len(seen) == 2


def question_of(engine):
    tables = engine.prepared
    return tables.compiler.all_marginals(tables.compiler.planner.pattern(ss.variables.Evidence()))[1]


def test_repeated_questions_get_a_longer_search():
    """From the third time on, with the same answers; the plan shown is then that of the cheaper one."""
    model = grid(6, 5, seed=3)
    engine = ss.prepare(model)
    first = {v.name: engine.marginals()[v.name].values for v in model.variables}
    seen = [question_of(engine) for _ in range(3)]
    later = {v.name: engine.marginals()[v.name].values for v in model.variables}
    assert seen[0].nanoseconds >= seen[-1].nanoseconds
    assert question_of(engine) is seen[-1]
    for name, values in first.items():
        np.testing.assert_allclose(later[name], values, rtol=1e-9)


def test_every_kind_of_repeated_question_keeps_its_answer():
    model = grid(6, 5, seed=4)
    target, other = model.variables[0], model.variables[20]
    prepared = ss.prepare(model).prepared
    nothing, rng = ss.variables.Evidence(), np.random.default_rng
    first, *rest = [
        (
            prepared.query([0, 20], nothing).distribution.values,
            prepared.log_partition(nothing),
            prepared.best(nothing, range(36)).log_value,
            prepared.factor_marginals(nothing)[3],
        )
        for _ in range(4)
    ]
    for found in rest:
        for one, same in zip(first, found, strict=True):
            np.testing.assert_allclose(same, one, rtol=1e-9)
    for _ in range(4):
        assert len(prepared.sample(3, nothing, rng(0))) == 36
    assert first[0].shape == (target.num_states, other.num_states)


def test_a_question_that_does_not_fit_is_planned_once_more(monkeypatch):
    """With a longer search for the order, before it is refused. One that fits follows its greedy order."""
    model, efforts = grid(6, 4), []
    planned = Compiler._planned

    def noted(self, kind, targets, pattern, effort, *method):
        efforts.append(effort == costs.LATER_ORDER_PASSES)
        return planned(self, kind, targets, pattern, effort, *method)

    monkeypatch.setattr(Compiler, "_planned", noted)
    need = compiled(model, 2**33).need
    with pytest.raises(ss.TooLarge):
        compiled(model, need // 16)
    with pytest.raises(ss.TooLarge):
        compiled(model, 2**10)
    assert efforts == [False, True, False]
