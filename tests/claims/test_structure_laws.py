"""Laws of scores and searches, over all DAGs of a few variables: classes, rows, weights, chain rules, optima."""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
import pytest

import sepset as ss
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.familyscores import Scorer
from sepset.learning.structure.structureprior import EdgePenalty

S = ss.structure
NAMES = "abcd"
CARDS = {"a": 2, "b": 3, "c": 2, "d": 2}


@cache
def prior_network():
    """Any distribution over the four variables, as a network that is no chain."""
    rng = np.random.default_rng(7)
    v = {name: ss.Discrete(name, card) for name, card in CARDS.items()}
    families = [("a", ()), ("b", ("a",)), ("c", ()), ("d", ("b", "c"))]
    cpds = [
        ss.TableCPD(v[x], rng.dirichlet(np.ones(CARDS[x]), [CARDS[u] for u in given]), given=[v[u] for u in given])
        for x, given in families
    ]
    return ss.BayesNet(*cpds)


@cache
def rows(is_real=False):
    rng = np.random.default_rng(3)
    if is_real:
        x = rng.normal(size=(4, 25))
        return {"a": x[0], "b": x[0] + x[1], "c": x[2], "d": x[1] - x[2] + x[3]}
    return {name: rng.integers(0, card, 25) for name, card in CARDS.items()}


def columns_of(data, weights=None):
    variables = None if data is rows(True) else [ss.Discrete(name, card) for name, card in CARDS.items()]
    return Columns.of(data, variables=variables, weights=weights)


DISCRETE = [
    S.LogLikelihood(),
    ss.BIC(),
    S.AIC(),
    ss.BDeu(3.0),
    ss.K2(),
    ss.priors.BDe(prior_network(), 5.0),
    S.QNML(),
    S.FNML(),
    S.LeaveOneOut(ss.BDeu(2.0)),
    S.BDs(2.0),
]
REAL = [S.BGe(), ss.BIC()]
ALL = [(score, False) for score in DISCRETE] + [(score, True) for score in REAL]


def dags():
    """All 543 parent lists of four nodes, by permutations: independent of the library."""
    found = set()
    for order in itertools.permutations(range(4)):
        pairs = list(itertools.combinations(order, 2))
        for size in range(7):
            found |= {tuple(sorted(chosen)) for chosen in itertools.combinations(pairs, size)}
    return sorted(found)


def class_of(edges):
    """The skeleton and the immoralities."""
    joined = {frozenset(e) for e in edges}
    into = {v: sorted(x for x, y in edges if y == v) for v in range(4)}
    colliders = {(x, v, y) for v in into for x, y in itertools.combinations(into[v], 2) if {x, y} not in joined}
    return frozenset(joined), frozenset(colliders)


def total(scorer, edges):
    return scorer.total([[x for x, y in edges if y == v] for v in range(4)])


@pytest.mark.parametrize(("score", "is_real"), ALL, ids=repr)
def test_equivalent_structures_have_equal_scores_and_only_where_said(score, is_real):
    """All 543 DAGs in their 185 classes; scores that are not equivalent differ somewhere."""
    scorer = Scorer(columns_of(rows(is_real)), score)
    by_class: dict[object, list[float]] = {}
    for edges in dags():
        by_class.setdefault(class_of(edges), []).append(total(scorer, edges))
    assert len(by_class) == 185
    assert sum(map(len, by_class.values())) == 543
    spread = max(max(found) - min(found) for found in by_class.values())
    assert (spread < 1e-8) == score.is_equivalent


def test_structure_priors_say_whether_they_are_equivalent():
    data = columns_of(rows())
    scorer = Scorer(data, ss.BIC(), EdgePenalty(0.3))
    assert scorer.is_equivalent
    assert not Scorer(data, ss.BIC(), S.PriorNetwork(ss.DAG.parse("a -> b; c; d"), 0.2)).is_equivalent


@pytest.mark.parametrize(("score", "is_real"), ALL, ids=repr)
def test_rows_in_any_order_and_whole_weights_as_copies(score, is_real):
    data, rng = rows(is_real), np.random.default_rng(0)
    order, copies = rng.permutation(25), rng.integers(0, 4, 25)
    shuffled = {name: column[order] for name, column in data.items()}
    repeated = {name: np.repeat(column, copies) for name, column in data.items()}
    kinds = {"variables": None if is_real else [ss.Discrete(n, c) for n, c in CARDS.items()]}
    plain, other = Scorer(columns_of(data), score), Scorer(Columns.of(shuffled, **kinds), score)
    weighted, longer = Scorer(columns_of(data, copies), score), Scorer(Columns.of(repeated, **kinds), score)
    for child, parents in ((0, ()), (1, (0,)), (3, (0, 2)), (2, (0, 1, 3))):
        assert other.family(child, parents) == pytest.approx(plain.family(child, parents), abs=1e-9)
        assert weighted.family(child, parents) == pytest.approx(longer.family(child, parents), abs=1e-9)


@pytest.mark.parametrize("score", [ss.BDeu(3.0), ss.K2(), S.LogLikelihood(), ss.BIC()], ids=repr)
def test_fractional_weights_lie_between_whole_ones(score):
    """A score is continuous in the weights: half a row is between none and one."""
    found = []
    for weight in (0.0, 0.5, 1.0, 1.0 + 1e-9):
        weights = np.ones(25)
        weights[0] = weight
        found.append(Scorer(columns_of(rows(), weights), score).family(1, (0,)))
    assert min(found[0], found[2]) < found[1] < max(found[0], found[2])
    assert found[3] == pytest.approx(found[2], abs=1e-6)


@pytest.mark.parametrize("score", [ss.BDeu(3.0), ss.K2(), ss.priors.BDe(prior_network(), 5.0)], ids=repr)
def test_evidence_is_the_product_of_predictions_in_any_order_of_rows(score):
    """Each row given those before it: the mean of the posterior, updated one row at a time, by hand."""
    data = rows()
    child, parents = 3, (0, 2)
    names, r = [NAMES[p] for p in parents], CARDS[NAMES[child]]
    if isinstance(score, ss.BDeu | ss.K2):
        pseudo = np.full((2, 2, r), 1.0 if isinstance(score, ss.K2) else 3.0 / (4 * r))
    else:
        pseudo = 5.0 * _marginal(prior_network(), [*names, NAMES[child]])
    whole = Scorer(columns_of(data), score).family(child, parents)
    for seed in range(3):
        counts, logs = pseudo.copy(), 0.0
        for row in np.random.default_rng(seed).permutation(25):
            at = tuple(int(data[name][row]) for name in names)
            x = int(data[NAMES[child]][row])
            logs += np.log(counts[at][x] / counts[at].sum())
            counts[at][x] += 1
        assert logs == pytest.approx(whole, abs=1e-9)


def _marginal(net, names):
    """The joint of some variables by multiplying all tables and summing."""
    found = np.zeros([CARDS[n] for n in names])
    for states in itertools.product(*(range(c) for c in CARDS.values())):
        at = dict(zip(CARDS, states, strict=True))
        p = 1.0
        for cpd in net.cpds:
            p *= cpd.to_table().values[tuple(at[u.name] for u in cpd.parents)][at[cpd.child.name]]
        found[tuple(at[n] for n in names)] += p
    return found


def test_a_parent_never_lowers_the_likelihood_and_can_lower_others():
    data = columns_of(rows())
    likelihood, *others = (Scorer(data, s) for s in (S.LogLikelihood(), ss.BIC(), ss.BDeu(3.0), ss.K2()))
    families = [(c, u) for c in range(4) for k in range(3) for u in itertools.combinations(range(4), k) if c not in u]
    gains = [(s.additions(c, u) - s.family(c, u)) for s in (likelihood, *others) for c, u in families]
    by_score = np.split(np.array(gains), 4)
    assert np.nanmin(by_score[0]) > -1e-9
    assert all(np.nanmin(g) < 0 < np.nanmax(g) or np.nanmax(g) < 0 for g in by_score[1:])


@pytest.mark.parametrize("score", [ss.BIC(), ss.BDeu(3.0)], ids=repr)
def test_no_search_is_better_than_the_best_of_all_dags(score):
    """Searches over graphs, classes and orders: acyclic, at most the best of 543, at least their start."""
    rng = np.random.default_rng(5)
    a = rng.integers(0, 2, 60)
    data = {"a": a, "b": (a + (rng.random(60) < 0.3)) % 3, "c": rng.integers(0, 2, 60)}
    data["d"] = np.where(rng.random(60) < 0.8, a ^ data["c"], rng.integers(0, 2, 60))
    scorer = Scorer(columns_of(data), score)
    best = max(total(scorer, edges) for edges in dags())
    start = ss.DAG.parse("a -> b; b -> c; c -> d")
    begun = S.score(start, data, score=score).total
    for method in (ss.HillClimb(), ss.HillClimb(tabu=5, restarts=2), S.FirstAscent(), S.OBS(), S.BOSS(), ss.GES()):
        found = ss.learn_structure(data, method=method, score=score, start=start)
        assert begun - 1e-9 <= found.score <= best + 1e-9
        assert found.score == pytest.approx(S.score(found.dag, data, score=score).total, abs=1e-9)
    assert ss.learn_structure(data, method=ss.ExactSearch(), score=score).score == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_hill_climbing_makes_the_moves_of_a_search_that_scores_everything(seed):
    """All legal changes of every step scored from their rows, without a cache: the same scores step by step."""
    rng = np.random.default_rng(seed)
    table = rng.integers(0, 2, (5, 80))
    for k in range(1, 5):
        table[k] = np.where(rng.random(80) < 0.7, table[rng.integers(k)] ^ table[0], table[rng.integers(k)])
    data = {f"v{k}": table[k] for k in range(5)}

    def family(child, parents):
        groups: dict[tuple[int, ...], list[int]] = {}
        for row in range(80):
            counts = groups.setdefault(tuple(int(table[p, row]) for p in sorted(parents)), [0, 0])
            counts[table[child, row]] += 1
        fit = sum(n * np.log(n / sum(c)) for c in groups.values() for n in c if n)
        return fit - 0.5 * np.log(80) * 2 ** len(parents)

    def score(edges):
        return sum(family(v, [x for x, y in edges if y == v]) for v in range(5))

    def neighbors(edges):
        pairs = list(itertools.permutations(range(5), 2))
        yield from (edges | {p} for p in pairs if p not in edges and p[::-1] not in edges)
        yield from (edges - {p} for p in sorted(edges))
        yield from (edges - {p} | {p[::-1]} for p in sorted(edges))

    edges: frozenset[tuple[int, int]] = frozenset()
    trace = []
    while True:
        legal = [e for e in neighbors(edges) if not any(_reaches(e, y, x) for x, y in e)]
        after = max(legal, key=lambda e: round(score(e), 7))
        if score(after) <= score(edges) + 1e-7:
            break
        edges = after
        trace.append(score(edges))
    found = ss.learn_structure(data, method=ss.HillClimb(), score=ss.BIC())
    assert len(trace) > 2
    assert np.asarray(found.trace)[: len(trace)] == pytest.approx(trace, abs=1e-6)
    assert {(f"v{x}", f"v{y}") for x, y in edges} == set(found.graph.edges)


def _reaches(edges, x, y):
    seen, left = {x}, [x]
    while left:
        left += [b for a, b in edges if a == left[0] and b not in seen]
        seen.update(b for a, b in edges if a == left[0])
        left.pop(0)
    return y in seen


def intervened_rows(seed):
    """A chain a -> b -> c in which b was set in about half of the rows; the rows, and the mask."""
    rng = np.random.default_rng(seed)
    was_set = rng.random(80) < 0.5
    a = rng.integers(0, 2, 80)
    b = np.where(was_set, rng.integers(0, 2, 80), np.where(rng.random(80) < 0.85, a, 1 - a))
    return {"a": a, "b": b, "c": np.where(rng.random(80) < 0.8, b, 1 - b)}, {"b": was_set}


@pytest.mark.parametrize("seed", range(3))
def test_interventions_make_equivalent_structures_unequal(seed):
    """All 25 DAGs scored by counting: searches end at the best, forests too, and searches of classes refuse."""
    data, was_set = intervened_rows(seed)

    def family(child, parents):
        kept = ~was_set.get(child, np.zeros(80, bool))
        counts: dict[tuple[int, ...], list[int]] = {}
        for row in np.flatnonzero(kept):
            counts.setdefault(tuple(int(data[p][row]) for p in parents), [0, 0])[data[child][row]] += 1
        fit = sum(n * np.log(n / sum(c)) for c in counts.values() for n in c if n)
        return fit - 0.5 * np.log(80) * 2 ** len(parents)

    scores = {}
    for order in itertools.permutations("abc"):
        pairs = list(itertools.combinations(order, 2))
        for edges in (c for size in range(4) for c in itertools.combinations(pairs, size)):
            scores[frozenset(edges)] = sum(family(v, sorted(x for x, y in edges if y == v)) for v in "abc")
    assert len(scores) == 25
    best, forest = max(scores.values()), max(v for e, v in scores.items() if max(_indegrees(e)) <= 1)
    for method in (ss.HillClimb(), ss.HillClimb(tabu=3), S.FirstAscent(), S.BOSS(), S.OBS(), ss.ExactSearch()):
        found = ss.learn_structure(data, method=method, interventions=was_set)
        assert scores[frozenset(found.graph.edges)] == pytest.approx(found.score, abs=1e-9)
        assert found.score == pytest.approx(best, abs=1e-9)
    assert ss.learn_structure(data, method=S.Branching(), interventions=was_set).score == pytest.approx(forest)
    for method in (ss.ChowLiu(), S.Forest(), ss.GES(), S.KES(), S.PlateauWalk()):
        with pytest.raises(ss.SepsetError, match="without interventions"):
            ss.learn_structure(data, method=method, interventions=was_set)
    with pytest.raises(ss.SepsetError, match="without interventions"):
        ss.structure_posterior(data, method=S.TreePosterior(), interventions=was_set)


def _indegrees(edges):
    return [sum(y == v for _, y in edges) for v in "abc"]
