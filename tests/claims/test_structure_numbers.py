"""Numbers of structure scores that were computed independently: gaps of supergraphs, violations of orders, limits."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.special import betaln
from scipy.stats import chi2

import sepset as ss
from sepset.kernels.structure.climbing import DELETE
from sepset.kernels.structure.familyscores import log_rise
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.familyscores import Scorer
from sepset.learning.structure.search.moves import SearchedGraph
from sepset.learning.structure.search.stochastic import moves


def test_the_gap_of_a_needless_edge_is_half_a_chi_square():
    """An independent pair of 5,000 rows: twice the gain has one degree of freedom, and does not vanish."""
    rng = np.random.default_rng(0)
    gaps = []
    for _ in range(300):
        counts = rng.multinomial(5000, [0.25] * 4)
        cells = {"a": [0, 0, 1, 1], "b": [0, 1, 0, 1]}
        scorer = Scorer(Columns.of(cells, weights=counts), ss.structure.LogLikelihood())
        gaps.append(2 * (scorer.family(1, (0,)) - scorer.family(1, ())))
    assert np.mean(gaps) == pytest.approx(1.0, abs=0.25)
    assert np.mean(np.array(gaps) > chi2.ppf(0.95, 1)) == pytest.approx(0.05, abs=0.035)


def test_likelihood_is_the_entropy_and_the_violations_of_an_order():
    """score / M = -H(all) - sum I(X_i; predecessors that are not parents | parents), for every order that fits."""
    rng = np.random.default_rng(1)
    rows = {name: rng.integers(0, 2, 50) for name in "abcd"}
    columns = Columns.of(rows)
    scorer = Scorer(columns, ss.structure.LogLikelihood())
    parents = {0: (), 1: (0,), 2: (), 3: (1,)}

    def entropy(chosen):
        shares = columns.joint(tuple(chosen)).ravel() / 50 if chosen else np.ones(1)
        return -sum(p * np.log(p) for p in shares if p > 0)

    score = scorer.total([parents[v] for v in range(4)]) / 50
    checked = 0
    for order in itertools.permutations(range(4)):
        if all(order.index(p) < order.index(v) for v, above in parents.items() for p in above):
            violations = 0.0
            for place, v in enumerate(order):
                rest = [u for u in order[:place] if u not in parents[v]]
                given = list(parents[v])
                violations += (
                    entropy([v, *given]) + entropy([*rest, *given]) - entropy([v, *rest, *given]) - entropy(given)
                )
            assert score == pytest.approx(-entropy(range(4)) - violations)
            checked += 1
    assert checked == 4


def test_a_vanishing_prior_is_degenerate():
    """X = Y in 40 rows: the log odds for the edge grow without limit as the sample size of BDeu vanishes."""
    cells = {"a": [0, 1], "b": [0, 1]}
    found = []
    for size in (1.0, 1e-2, 1e-4, 1e-8):
        scorer = Scorer(Columns.of(cells, weights=[20, 20]), ss.BDeu(size))
        found.append(scorer.family(1, (0,)) - scorer.family(1, ()))
    assert found == pytest.approx([26.9, 32.5, 37.2, 46.4], abs=0.1)


def test_a_vanishing_prior_removes_a_noisy_edge():
    """35, 15, 15, 35 of 100 rows: the log odds for the edge fall without limit as the sample size of BDeu vanishes."""
    cells = {"a": [0, 0, 1, 1], "b": [0, 1, 0, 1]}
    found = []
    for size in (1.0, 1e-2, 1e-4, 1e-8):
        scorer = Scorer(Columns.of(cells, weights=[35, 15, 15, 35]), ss.BDeu(size))
        found.append(scorer.family(1, (0,)) - scorer.family(1, ()))
    assert found == pytest.approx([5.46, 1.04, -3.57, -12.78], abs=0.006)


def test_stirling_with_its_plus_sign():
    """log Gamma(x) is about (x - 1/2) log x - x + log(2 pi) / 2; at 7.3 it is 7.1365 against 7.1479."""
    x = 7.3
    stirling = (x - 0.5) * np.log(x) - x + 0.5 * np.log(2 * np.pi)
    assert stirling == pytest.approx(7.1365, abs=6e-5)
    assert log_rise(1.0, x - 1.0) == pytest.approx(7.1479, abs=6e-5)
    assert 0 < log_rise(1.0, x - 1.0) - stirling < 1 / (12 * x)


def test_a_step_of_hill_climbing_scores_the_families_it_changed():
    """One pass over all pairs, then at most two children's additions per move, not all pairs again."""
    net = ss.datasets.load("alarm")
    data = net.sample(500, seed=2)
    n = len(net.variables)
    found = ss.learn_structure(data, method=ss.HillClimb())
    moves = len(found.trace)
    assert moves > 30
    assert found.num_scores <= n * n + 2 * n * moves
    assert found.num_scores < n * n * moves / 5


def test_missing_cells_couple_the_parameters_of_a_family():
    """Eight rows of X -> Y, 0, 2 or 3 values of X missing: the two rows of P(Y | X) depend on each other.

    The posterior is a mixture over completions of products of Beta distributions; its correlation is summed by hand,
    and its evidence is that of the library.
    """
    x, y = [1, 1, 1, 1, 0, 0, 0, 0], [1, 1, 1, 0, 0, 0, 0, 1]
    found = []
    for missing in ((), (0, 4), (0, 3, 4)):
        logs, means, squares = [], [], []
        for filled in itertools.product((0, 1), repeat=len(missing)):
            full = list(x)
            for row, value in zip(missing, filled, strict=True):
                full[row] = value
            counts = np.zeros((2, 2))
            np.add.at(counts, (full, y), 1)
            heads = counts.sum(1)
            logs.append(betaln(*(1 + heads)) + sum(betaln(*(1 + row)) for row in counts))
            a, b = 1 + counts[:, 1], 1 + counts[:, 0]
            means.append(a / (a + b))
            squares.append(a * (a + 1) / (a + b) / (a + b + 1))
        weights = np.exp(logs) / np.exp(logs).sum()
        mean, square = weights @ np.array(means), weights @ np.array(squares)
        product = weights @ np.prod(means, axis=1)  # independent given a completion
        found.append((product - mean.prod()) / np.sqrt((square - mean**2).prod()))
        rows = {"x": [None if k in missing else v for k, v in enumerate(x)], "y": y}
        both = [ss.Discrete("x", 2), ss.Discrete("y", 2)]
        exact = ss.structure.CompletionSum(ss.K2())
        answer = ss.structure.log_evidence(ss.DAG.parse("x -> y"), rows, method=exact, variables=both)
        assert answer.value == pytest.approx(np.log(np.exp(logs).sum()), abs=1e-9)
    assert found[0] == pytest.approx(0.0, abs=1e-12)
    assert found[2] < found[1] < -0.01


def scorer_of(cells, weights, score):
    return Scorer(Columns.of(cells, weights=weights), score)


def test_five_tosses_in_a_row_and_left_out_one_by_one():
    """Heads, tails, tails, heads, heads under a uniform prior: 1/60; each predicted from the other four: 1/72."""
    tosses = {"coin": ["h", "t", "t", "h", "h"]}
    assert np.exp(Scorer(Columns.of(tosses), ss.K2()).family(0, ())) == pytest.approx(1 / 60)
    assert np.exp(Scorer(Columns.of(tosses), ss.structure.LogLikelihood()).family(0, ())) == pytest.approx(108 / 3125)
    left_out = ss.structure.LeaveOneOut(ss.K2())
    assert np.exp(Scorer(Columns.of(tosses), left_out).family(0, ())) == pytest.approx(1 / 72)


def test_k2_imagines_more_rows_with_more_parents():
    """Two imaginary rows of a binary column alone, eight given a parent of four states; BDeu always as many."""
    for contexts, expected in ((1, 2.0), (4, 8.0)):
        assert ss.K2().pseudo_counts((contexts, 2)).sum() == expected
        assert ss.BDeu(2.0).pseudo_count(np.array(float(contexts)), 2) * 2 * contexts == pytest.approx(2.0)


PAIR = {"x": [0, 0, 1, 1], "y": [0, 1, 0, 1]}


def cells_of(p):
    """The joint of a fair coin and its copy, which is right with probability 1/2 + p."""
    return np.array([0.25 + p / 2, 0.25 - p / 2, 0.25 - p / 2, 0.25 + p / 2])


def test_scores_per_row_of_k2():
    for size, none, some, zero in ((100, -1.42798, -1.42230, -1.44204), (1_000, -1.39275, -1.37519, -1.39529)):
        scorer = scorer_of(PAIR, size * cells_of(0.1), ss.K2())
        assert scorer.total([(), ()]) / size == pytest.approx(none, abs=6e-6)
        assert scorer.total([(), (0,)]) / size == pytest.approx(some, abs=6e-6)
        assert scorer_of(PAIR, size * cells_of(0.0), ss.K2()).total([(), (0,)]) / size == pytest.approx(zero, abs=6e-6)


@pytest.mark.parametrize(
    ("score", "boundary"),
    [
        (ss.BIC(), (0.1911, 0.1069, 0.0557, 0.0415, 0.0206)),
        (ss.K2(), (0.1366, 0.0845, 0.0469, 0.0356, 0.0183)),
        (ss.BDeu(1.0), (0.2167, 0.1184, 0.0604, 0.0447, 0.0219)),
    ],
    ids=repr,
)
def test_the_dependence_from_which_an_edge_is_preferred(score, boundary):
    for size, p in zip((20, 100, 500, 1_000, 5_000), boundary, strict=True):
        gains = []
        for near in (p - 1e-4, p + 1e-4):
            scorer = scorer_of(PAIR, size * cells_of(near), score)
            gains.append(scorer.family(1, (0,)) - scorer.family(1, ()))
        assert gains[0] < 0 < gains[1]
        table = (size * cells_of(p)).reshape(2, 2)
        expected = np.outer(table.sum(1), table.sum(0)) / size
        assert ((table - expected) ** 2 / expected).sum() == pytest.approx(4 * p**2 * size)  # the statistic of the test


@pytest.mark.parametrize(("score", "limit"), [(ss.K2(), 1.3297), (ss.BDeu(1.0), -0.98857)], ids=repr)
def test_evidence_is_a_constant_away_from_the_penalized_likelihood(score, limit):
    gaps = []
    for size in (100, 1_000_000):
        evidence = scorer_of(PAIR, size * cells_of(0.1), score).total([(), (0,)])
        gaps.append(evidence - scorer_of(PAIR, size * cells_of(0.1), ss.BIC()).total([(), (0,)]))
    assert gaps[1] == pytest.approx(limit, abs=1e-4)
    assert abs(gaps[0] - gaps[1]) < 0.04


def climbed(scorer, names, kinds, edges=frozenset()):
    """Greedy search by rescoring every graph that the kinds of moves reach, with its path of moves."""
    path = []

    def total(chosen):
        return scorer.total([[names.index(x) for x, y in chosen if y == v] for v in names])

    def is_acyclic(chosen):
        left = set(names)
        while free := {v for v in left if not any(y == v and x in left for x, y in chosen)}:
            left -= free
        return not left

    while True:
        found = {}
        for x, y in itertools.permutations(names, 2):
            if "add" in kinds and not {(x, y), (y, x)} & edges:
                found[f"{x}->{y}"] = edges | {(x, y)}
            if "delete" in kinds and (x, y) in edges:
                found[f"-{x}->{y}"] = edges - {(x, y)}
            if "reverse" in kinds and (x, y) in edges:
                found[f"~{x}->{y}"] = edges - {(x, y)} | {(y, x)}
        legal = {move: total(after) for move, after in found.items() if is_acyclic(after)}
        best = max(legal, key=lambda move: round(legal[move], 6), default=None)
        if best is None or legal[best] <= total(edges) + 1e-9:
            return path, total(edges), edges
        path.append(best)
        edges = found[best]


def joint_of(names, families):
    """All states of binary columns, and their probabilities; a family gives the probability of one by its parents."""
    states = np.array(list(itertools.product((0, 1), repeat=len(names))))
    p = np.ones(len(states))
    for v, (parents, ones) in families.items():
        place = np.zeros(len(states), int)
        for u in parents:
            place = 2 * place + states[:, names.index(u)]
        one = np.asarray(ones)[place]
        p *= np.where(states[:, names.index(v)] == 1, one, 1 - one)
    return {v: states[:, k] for k, v in enumerate(names)}, p


def test_additions_alone_end_below_additions_and_deletions():
    families = {
        "a": ("", [0.5]), "b": ("a", [0.95, 0.20]), "c": ("a", [0.05, 0.85]), "d": ("bc", [0.80, 0.90, 0.30, 0.75])
    }  # fmt: skip
    cells, p = joint_of("abcd", families)
    scorer = scorer_of(cells, 10_000 * p, ss.BIC())
    path, score, _ = climbed(scorer, "abcd", ("add",))
    assert path == ["a->c", "a->b", "a->d", "b->d", "c->d"]
    assert score == pytest.approx(-18580.17596, abs=1e-5)
    path, score, edges = climbed(scorer, "abcd", ("add", "delete"))
    assert path[-1] == "-a->d"
    assert score == pytest.approx(-18561.75528, abs=1e-5)
    assert edges == {("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")}


def test_reversals_leave_where_additions_and_deletions_stay():
    start = frozenset({("c", "a")})
    cells, p = joint_of("abc", {"a": ("", [0.5]), "b": ("", [0.5]), "c": ("ab", [0.75, 0.95, 0.10, 0.70])})
    scorer = scorer_of(cells, 5_000 * p, ss.BIC())
    path, stuck, _ = climbed(scorer, "abc", ("add", "delete"), start)
    assert (path, stuck) == (["b->c", "b->a"], pytest.approx(-9082.279, abs=1e-3))
    path, free, _ = climbed(scorer, "abc", ("add", "delete", "reverse"), start)
    assert (path, free) == (["b->c", "~c->a"], pytest.approx(-9078.020, abs=1e-3))
    assert free - stuck == pytest.approx(0.5 * np.log(5_000))
    cells, p = joint_of("abc", {"a": ("", [0.5]), "b": ("", [0.5]), "c": ("ab", [0.10, 0.20, 0.70, 0.95])})
    path, _, _ = climbed(scorer_of(cells, 5_000 * p, ss.BIC()), "abc", ("add", "delete", "reverse"), start)
    assert path[0] == "b->a"  # other CPDs: stuck although reversals are allowed


def test_the_last_of_five_columns_has_more_families_than_sets_of_three():
    """Up to three of four predecessors: 15 sets, more than the 10 sets of three columns."""
    task = ss.structure.parent_set_scores(
        {name: [0, 1, 1, 0, 1, 0] for name in "abcde"},
        variables=[ss.Discrete(name, 2) for name in "abcde"],
        constraints=ss.structure.Constraints(max_parents=3, tiers=[[name] for name in "abcde"]),
    )
    assert [len(task.of(k)[0]) for k in range(5)] == [1, 2, 4, 8, 15]


TOSSES = {"x": ["h", "h", "t", "t"], "y": ["h", "t", "h", "t"]}


def test_shares_of_twenty_tosses_of_two_coins():
    """3, 6, 5 and 6 of 20: the shares, and how far those of 20 and of 9 fair tosses stray."""
    states = [ss.Discrete(name, ("h", "t")) for name in "xy"]
    fitted = ss.fit(ss.DAG.parse("x -> y"), ss.Dataset(TOSSES, variables=states, weights=[3, 6, 5, 6]), ss.MLE()).model
    assert ss.query(fitted, "x")["h"] == pytest.approx(0.45)
    assert ss.query(fitted, "y")["h"] == pytest.approx(0.40)
    assert ss.query(fitted, "y", given={"x": "h"})["h"] == pytest.approx(1 / 3)
    assert ss.query(fitted, "y", given={"x": "t"})["h"] == pytest.approx(5 / 11)
    drawn = np.random.default_rng(0)
    for tosses, deviation in ((20, 0.1118), (9, 0.1667)):
        assert drawn.binomial(tosses, 0.5, 200_000).std() / tosses == pytest.approx(deviation, rel=0.01)


def test_the_information_that_an_edge_needs():
    """27, 22, 25 and 26 of 100 tosses: 0.1853 nats, and an edge needs log(100) / 2 = 2.3026, or 0.0230 per row."""
    scorer = scorer_of(TOSSES, [27, 22, 25, 26], ss.structure.LogLikelihood())
    gain = scorer.family(1, (0,)) - scorer.family(1, ())
    assert gain == pytest.approx(0.1853, abs=5e-5)
    penalized = scorer_of(TOSSES, [27, 22, 25, 26], ss.BIC())
    assert penalized.family(1, (0,)) - penalized.family(1, ()) == pytest.approx(-2.1173, abs=5e-5)
    assert (gain + 2.1173) / 100 == pytest.approx(0.0230, abs=5e-5)


def test_the_gap_to_the_penalized_likelihood_of_a_hundred_rows():
    for score, gap in ((ss.K2(), 1.2932), (ss.BDeu(1.0), -0.9912)):
        evidence = scorer_of(PAIR, 100 * cells_of(0.1), score).total([(), (0,)])
        assert evidence - scorer_of(PAIR, 100 * cells_of(0.1), ss.BIC()).total([(), (0,)]) == pytest.approx(
            gap, abs=6e-5
        )


def test_two_needless_parameters_cost_the_logarithm_of_the_rows():
    families = {
        "a": ("", [0.5]), "b": ("a", [0.95, 0.20]), "c": ("a", [0.05, 0.85]), "d": ("bc", [0.80, 0.90, 0.30, 0.75])
    }  # fmt: skip
    cells, p = joint_of("abcd", families)
    scorer = scorer_of(cells, 10_000 * p, ss.BIC())
    assert scorer.family(3, (1, 2)) - scorer.family(3, (0, 1, 2)) == pytest.approx(18.42068, abs=1e-5)  # 4 of them


def test_the_parameters_of_alarm_and_of_its_best_trees():
    net = ss.datasets.load("alarm")
    assert (len(net.variables), net.dag.num_edges, net.num_parameters) == (37, 46, 509)
    tree = ss.learn_structure(net.sample(5_000, seed=0), method=ss.ChowLiu())
    fitted = tree.fit().model
    assert (tree.dag.num_edges, fitted.num_parameters) in ((35, 218), (36, 219))


def test_three_edges_that_can_be_removed_have_seven_variants():
    """What a search that keeps all visited graphs meets below a chain of four: every subset of its edges but itself."""
    columns = Columns.of({name: [0, 1, 1, 0, 1, 0, 0, 1] for name in "abcd"})
    scorer, allowed = Scorer(columns, ss.BIC()), ss.structure.Constraints().bind(columns.names)
    waiting, seen = [((), (0,), (1,), (2,))], set()
    while waiting:
        graph = SearchedGraph(scorer, allowed, waiting.pop())
        for move in moves(graph):
            if move.kind == DELETE:
                after = graph.parents_of()
                after[move.target].remove(move.source)
                key = tuple(map(tuple, after))
                waiting += [key] if key not in seen else []
                seen.add(key)
    assert len(seen) == 7
