"""Structure learning against plain enumeration: scores, classes, optima and posteriors of four columns."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import sepset as ss
import support.plain_structures as plain
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.familyscores import Scorer

ST = ss.structure
NAMES = ("a", "b", "c", "d")
CARDS = (2, 3, 2, 2)
VARIABLES = [ss.Discrete(name, card) for name, card in zip(NAMES, CARDS, strict=True)]


def case(seed, *, fractions=False):
    """Dependent rows with weights, as the library and as the oracle take them."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, CARDS, (40, 4))
    for k in (1, 2, 3):
        copied = rng.random(40) < 0.6
        codes[:, k] = np.where(copied, (codes[:, k - 1] + codes[:, 0]) % CARDS[k], codes[:, k])
    weights = rng.random(40) + 0.1 if fractions else rng.integers(0, 4, 40).astype(float)
    data = ss.Dataset.from_codes(VARIABLES, codes.astype(np.int32), weights=weights)
    return data, plain.Counted(codes.tolist(), weights.tolist(), CARDS)


def prior_network():
    """A network over the columns, and its joint by multiplication."""
    rng = np.random.default_rng(9)
    first, second = rng.dirichlet(np.ones(2)), rng.dirichlet(np.ones(3), 2)
    third, fourth = rng.dirichlet(np.ones(2)), rng.dirichlet(np.ones(2), (3, 2))
    a, b, c, d = VARIABLES
    net = ss.BayesNet(
        ss.TableCPD(a, first), ss.TableCPD(b, second, given=a), ss.TableCPD(c, third),
        ss.TableCPD(d, fourth, given=(b, c)),
    )  # fmt: skip
    return net, np.einsum("a,ab,c,bcd->abcd", first, second, third, fourth)


def scores(counted):
    """Each score of the library, and the plain one."""
    net, joint = prior_network()
    return [
        (ST.LogLikelihood(), counted.likelihood),
        (ss.BIC(), counted.bic),
        (ST.AIC(), counted.aic),
        (ss.K2(), counted.evidence(counted.k2)),
        (ss.BDeu(3.0), counted.evidence(counted.bdeu(3.0))),
        (ST.BDs(3.0), counted.evidence(counted.bds(3.0))),
        (ss.priors.BDe(net, 5.0), counted.evidence(counted.bde(5.0, joint))),
    ]


@pytest.mark.parametrize("fractions", [False, True])
def test_every_family(fractions):
    data, counted = case(0, fractions=fractions)
    listed = scores(counted) + ([] if fractions else [(ST.LeaveOneOut(ss.K2()), counted.left_out)])
    for score, family in listed:
        scorer = Scorer(Columns(data), score)
        for child in range(4):
            others = [v for v in range(4) if v != child]
            for size in range(4):
                for given in itertools.combinations(others, size):
                    wanted = family(child, frozenset(given))
                    assert scorer.family(child, given) == pytest.approx(wanted, abs=1e-9), (score, child, given)


def test_gaussian_families_and_their_classes():
    values = np.random.default_rng(1).normal(size=(30, 4)) @ np.random.default_rng(2).normal(size=(4, 4)) + 5
    scorer = Scorer(Columns.of(dict(zip(NAMES, values.T, strict=True))), ST.BGe())
    family = plain.bge(values)
    for child in range(4):
        for size in range(4):
            for given in itertools.combinations([v for v in range(4) if v != child], size):
                assert scorer.family(child, given) == pytest.approx(family(child, frozenset(given)), abs=1e-8)
    for members in plain.classes(4)[::9]:
        assert np.ptp([scorer.total(m) for m in members]) < 1e-8


def test_members_of_all_185_classes():
    """Scores that say so are equal on every class; K2 and BDs are not on some."""
    data, counted = case(1)
    assert (len(plain.dags(4)), len(plain.classes(4))) == (543, 185)
    left_out = (ST.LeaveOneOut(ss.BDeu(3.0)), None)
    for score, _ in [*scores(counted), left_out]:
        scorer = Scorer(Columns(data), score)
        spread = max(np.ptp([scorer.total(m) for m in members]) for members in plain.classes(4))
        assert (spread < 1e-8) == score.is_equivalent, score


@pytest.mark.parametrize("seed", [3, 4])
def test_the_best_of_all_dags_of_forests_and_along_an_order(seed):
    data, counted = case(seed)
    for score, family in ((ss.BIC(), counted.bic), (ss.K2(), counted.evidence(counted.k2))):
        values = {m: plain.total(family, m) for m in plain.dags(4)}
        for way in ("dynamic", "astar", "integer"):
            found = ss.learn_structure(data, method=ss.ExactSearch(way), score=score)
            assert found.score == found.bound == pytest.approx(max(values.values()), abs=1e-9)
        ranked = [one.score for one in ST.k_best(ST.parent_set_scores(data, score=score), 12)]
        assert ranked == pytest.approx(sorted(values.values(), reverse=True)[:12], abs=1e-9)
        branchings = max(value for m, value in values.items() if all(len(given) <= 1 for given in m))
        trees = ST.Branching() if score == ss.K2() else ss.ChowLiu()
        assert ss.learn_structure(data, method=trees, score=score).score == pytest.approx(branchings, abs=1e-9)
        order = (2, 0, 3, 1)
        along = max(
            v for m, v in values.items() if all(order.index(p) < order.index(c) for c in range(4) for p in m[c])
        )
        found = ss.learn_structure(data, method=ST.KnownOrder([NAMES[k] for k in order]), score=score)
        assert found.score == pytest.approx(along, abs=1e-9)
        for method in (ss.HillClimb(), ST.BOSS(), ST.OBS(), ST.Annealing(rounds=3), ST.FirstAscent(2)):
            assert ss.learn_structure(data, method=method, score=score).score <= max(values.values()) + 1e-9


def test_posteriors_of_edges_and_paths():
    data, counted = case(5)
    family = counted.evidence(counted.bdeu(1.0))
    graphs = plain.dags(4)
    logs = np.array([plain.total(family, m) for m in graphs])
    edges = np.array([[[float(a in m[b]) for b in range(4)] for a in range(4)] for m in graphs])
    paths = np.array([[[float(a == b or plain.has_path(m, a, b)) for b in range(4)] for a in range(4)] for m in graphs])
    orders = np.array([plain.num_orders(m) for m in graphs])
    along = np.array([all(p < child for child in range(4) for p in m[child]) for m in graphs])
    is_tree = np.array([sorted(map(len, m)) == [0, 1, 1, 1] for m in graphs])  # each tree from every root

    def averaged(weights, values):
        return np.tensordot(weights / weights.sum(), values, 1)

    uniform = np.exp(logs - logs.max())
    for method, weights in (
        (ST.Exhaustive(), uniform),
        (ST.TianHe(0), uniform),
        (ST.BestStructures(543), uniform),
        (ST.KoivistoSood(0), uniform * orders),
        (ST.AlongOrder(NAMES, 10), uniform * along),
    ):
        found = ss.structure_posterior(data, method=method)
        np.testing.assert_allclose(found.edges, averaged(weights, edges), atol=1e-9)
        if not isinstance(method, ST.AlongOrder):
            np.testing.assert_allclose(found.paths, averaged(weights, paths), atol=1e-9)
    trees = ss.structure_posterior(data, method=ST.TreePosterior()).edges
    undirected = averaged(uniform * is_tree, edges)
    np.testing.assert_allclose(trees + trees.T, undirected + undirected.T, atol=1e-9)


def test_predictions_of_all_dags_and_along_an_order():
    """The probability of one more row is a quotient of evidences: summed over all rows it is one."""
    data, counted = case(6)
    graphs = plain.dags(4)

    def evidence(rows, weights, chosen):
        more = plain.Counted(rows, weights, CARDS)
        logs = [plain.total(more.evidence(more.bdeu(1.0)), m) for m in chosen]
        return max(logs) + math.log(sum(math.exp(x - max(logs)) for x in logs))

    forward = [m for m in graphs if all(p < child for child in range(4) for p in m[child])]
    found = ss.structure_posterior(data, method=ST.AlongOrder(NAMES, 1))
    rows = list(itertools.product(*(range(card) for card in CARDS)))
    before = evidence(counted.rows, counted.weights, forward)
    answers = [float(found.log_predictive(dict(zip(NAMES, [[x] for x in row], strict=True)))) for row in rows]
    assert math.fsum(map(math.exp, answers)) == pytest.approx(1.0, abs=1e-9)
    for row, answer in list(zip(rows, answers, strict=True))[::7]:
        after = evidence([*counted.rows, list(row)], [*counted.weights, 1.0], forward)
        assert answer == pytest.approx(after - before, abs=1e-9)


BY_TESTS = [ss.PC, ST.SGS, ST.IC, ST.Cheng, ST.GrowShrink, ST.IAMB, ST.InterIAMB, ST.FastIAMB]


@pytest.mark.parametrize("method", BY_TESTS)
def test_oracles_give_the_class_of_every_seventh(method):
    for members in plain.classes(4)[::7]:
        dag = ss.DAG(NAMES, [(NAMES[a], NAMES[b]) for b, given in enumerate(members[0]) for a in given])
        found = method(test=ST.DSeparation(dag)).ask(NAMES).graph
        directed, undirected = plain.class_edges(members)
        assert {(NAMES.index(a), NAMES.index(b)) for a, b in found.directed} == directed
        assert {frozenset(map(NAMES.index, pair)) for pair in found.undirected} == undirected


@pytest.mark.parametrize("method", [ss.GES(), ST.KES(runs=3), ST.BOSS(), ST.GRaSP()], ids=repr)
def test_expected_counts_give_the_class_of_every_seventeenth(method):
    """Very many rows' worth of a random distribution over each class."""
    rng = np.random.default_rng(0)
    cells = np.array(list(itertools.product((0, 1), repeat=4)))
    states = [ss.Discrete(name, 2) for name in NAMES]
    for members in plain.classes(4)[::17]:
        p = np.ones(16)
        for child, given in enumerate(members[0]):
            place = sum((cells[:, q] * 2**k for k, q in enumerate(sorted(given))), np.zeros(16, int))
            one = rng.uniform(0.05, 0.95, 2 ** len(given))[place]
            p *= np.where(cells[:, child] == 1, one, 1 - one)
        data = ss.Dataset.from_codes(states, cells.astype(np.int32), weights=1e10 * p)
        found = ss.learn_structure(data, method=method).cpdag
        directed, undirected = plain.class_edges(members)
        assert {(NAMES.index(a), NAMES.index(b)) for a, b in found.directed} == directed
        assert {frozenset(map(NAMES.index, pair)) for pair in found.undirected} == undirected


def test_the_likelihood_of_complete_graphs_and_of_trees():
    """Any complete graph has minus the entropy of the joint; the best of 16 trees is Chow and Liu's, from any root."""
    data, counted = case(7)
    size = counted.total

    def entropy(*columns):
        table = counted.counts(columns[0], frozenset(columns[1:]))
        return -math.fsum(m / size * math.log(m / size) for t in table.values() for m in t.values())

    scorer = Scorer(Columns(data), ST.LogLikelihood())
    for order in itertools.permutations(range(4)):
        complete = [order[: order.index(child)] for child in range(4)]
        assert scorer.total(complete) == pytest.approx(-size * entropy(0, 1, 2, 3), abs=1e-9)
    rooted = [m for m in plain.dags(4) if sorted(map(len, m)) == [0, 1, 1, 1]]
    assert len({plain.key_of(m)[0] for m in rooted}) == 16
    best = max(plain.total(counted.likelihood, m) for m in rooted)
    for root in NAMES:
        found = ss.learn_structure(data, method=ss.ChowLiu(root=root), score=ST.LogLikelihood())
        edges = [(NAMES.index(a), NAMES.index(b)) for a, b in found.dag.edges]
        shared = math.fsum(entropy(a) + entropy(b) - entropy(a, b) for a, b in edges)
        assert found.score == pytest.approx(best, abs=1e-9)
        assert found.score == pytest.approx(size * (shared - sum(map(entropy, range(4)))), abs=1e-9)
