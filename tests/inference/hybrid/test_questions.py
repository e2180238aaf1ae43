"""Single questions about regressions: held to exact rational arithmetic and to enumerated mixtures."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import norm

import oracle
import sepset as ss
from sepset.inference import costs
from sepset.inference.gaussian.widths import Widths
from sepset.inference.hybrid.questions import RegressionQuestions
from sepset.inference.result import Guarantee
from sepset.variables.evidence import Evidence
from support.blocks import in_blocks
from support.exact_gaussians import Line, cancelling_lines, joint_of, network, random_findings, random_lines
from support.random_gaussians import hybrid_net
from support.tolerances import CLOSE, EXACT, STANDARD_ERRORS

METHODS = (
    ss.CliqueTree(),
    ss.VariableElimination(),
    ss.VariableElimination(prune=False),
    ss.inference.BeliefUpdate(),
    ss.inference.ShaferShenoy(),
    ss.inference.BruteForce(),
    ss.inference.RecursiveConditioning(),
    ss.inference.CutsetConditioning(),
)
DIGITS = 1e-9  # relative error of log densities, also where the noise is at the rounding of the findings


def posterior(joint, found):
    for place, value in found.items():
        joint = joint.given(place, value)
    return joint


def errors(marginal, place, before, after):
    """Of the mean, relative to its deviation before the findings or its size, and of the variance, relative to it."""
    deviation = math.sqrt(before.covariance[place][place])
    scale = max(deviation, abs(float(before.mean[place])), abs(float(after.mean[place])), 1e-300)
    variance = after.covariance[place][place]
    apart = abs(float(marginal.variance()) - float(variance))
    far = abs(float(marginal.mean()) - float(after.mean[place])) / scale
    return far, apart / float(variance) if variance > 0 else apart / max(deviation**2, 1e-300)


@pytest.mark.parametrize("part", range(10))
def test_ill_conditioned_networks_meet_exact_arithmetic(part):
    """200 networks each, noise over 18 orders of magnitude and none at all, CPDs and parents in random orders."""
    for seed in range(200 * part, 200 * part + 200):
        rng = np.random.default_rng(seed)
        lines = random_lines(rng, int(rng.integers(1, 8)))
        before = joint_of(lines)
        found = random_findings(rng, before, 3)
        after = posterior(before, found)
        engine = ss.prepare(network(lines, rng), method=METHODS[seed % len(METHODS)])
        given = {f"x{place}": value for place, value in found.items()}
        answers = engine.marginals(given=given)
        for place in set(range(len(lines))) - set(found):
            far, wide = errors(answers[f"x{place}"], place, before, after)
            if far >= 1e-8:
                said = engine.query(f"x{place}", given=given).guarantees["marginals"]
                assert said is not Guarantee.EXACT, (seed, place)
            assert far < 1e-6, (seed, place)
            assert wide < CLOSE, (seed, place)
        check_log(engine.log_probability(given=given), after.log_density, seed)


def check_log(log, expected, seed):
    assert log.guarantees["log_partition"] is Guarantee.EXACT, seed
    assert float(log) == pytest.approx(expected, abs=DIGITS * max(1.0, abs(expected))), seed


@in_blocks("seed", range(240), 60)
def test_lines_that_nearly_undo_others_meet_exact_arithmetic(seed):
    """Slopes cancel to a billionth; three orders of the same lines, whose sums are rounded differently."""
    rng = np.random.default_rng([seed, 2])
    lines = cancelling_lines(rng, int(rng.integers(3, 9)))
    before = joint_of(lines)
    found = random_findings(rng, before, 4)
    after = posterior(before, found)
    given = {f"x{place}": value for place, value in found.items()}
    for _ in range(3):
        engine = ss.prepare(network(lines, rng))
        check_log(engine.log_probability(given=given), after.log_density, seed)
        for place in set(range(len(lines))) - set(found):
            answer = engine.query(f"x{place}", given=given)
            far, wide = errors(answer, place, before, after)
            assert answer.guarantees["marginals"] is Guarantee.EXACT, (seed, place)
            assert far < 1e-8, (seed, place)
            assert wide < CLOSE, (seed, place)


def lines_by_states(rng, cards):
    """For each number the discrete variables its line depends on, and a line for each of their joint states."""
    num = int(rng.integers(1, 6))
    base = cancelling_lines(rng, num) if num > 2 else random_lines(rng, num, certain=0.0)
    made = []
    for line in base:
        by = [d for d in range(len(cards)) if rng.random() < 0.5]
        cases = {}
        for states in itertools.product(*(range(cards[d]) for d in by)):
            shift = rng.normal() * 10.0 ** rng.uniform(-8, 1) * max(1.0, abs(line.offset))
            steps = rng.normal(size=len(line.weights)) * 10.0 ** rng.uniform(-9, -1, len(line.weights))
            weights = tuple((np.array(line.weights) * (1.0 + steps)).tolist())
            noise = line.variance * float(10.0 ** rng.uniform(-1, 1))
            cases[states] = Line(line.parents, weights, float(line.offset + shift), noise)
        made.append((by, cases))
    return made


def hybrid_of(rng, priors, made):
    d, x = [ss.Discrete(f"d{i}", len(p)) for i, p in enumerate(priors)], [ss.Real(f"x{i}") for i in range(len(made))]
    cpds = [ss.TableCPD(variable, prior) for variable, prior in zip(d, priors, strict=True)]
    for child, (by, cases) in zip(x, made, strict=True):
        shape, parents = [len(priors[i]) for i in by], next(iter(cases.values())).parents
        order = rng.permutation(len(parents)).tolist()
        lines = list(cases.values())
        slopes = np.array([[line.weights[k] for k in order] for line in lines]).reshape(*shape, 1, len(order))
        cpds.append(
            ss.LinearGaussian(
                child,
                np.array([line.offset for line in lines]).reshape(shape) if by else lines[0].offset,
                coefficients=slopes if parents else None,
                covariance=np.array([line.variance for line in lines]).reshape(shape) if by else lines[0].variance,
                given=[x[parents[k]] for k in order],
                by=[d[i] for i in by],
            )
        )
    return ss.BayesNet(*(cpds[i] for i in rng.permutation(len(cpds))))


@in_blocks("seed", range(240), 60)
def test_ill_conditioned_mixtures_meet_exact_arithmetic(seed):
    """Up to 27 contexts whose lines differ a little or much; log densities of single questions and of rows."""
    rng = np.random.default_rng([seed, 3])
    cards = rng.integers(2, 4, int(rng.integers(1, 4))).tolist()
    priors, made = [rng.dirichlet(np.ones(c)) for c in cards], lines_by_states(rng, cards)
    contexts = list(itertools.product(*map(range, cards)))
    joints = [joint_of([cases[tuple(c[i] for i in by)] for by, cases in made]) for c in contexts]
    found = random_findings(rng, joints[int(rng.integers(len(joints)))], 4)
    after = [posterior(joint, found) for joint in joints]
    logs = np.array([j.log_density + sum(math.log(p[s]) for p, s in zip(priors, c, strict=True))
                     for j, c in zip(after, contexts, strict=True)])  # fmt: skip
    total, given = float(logsumexp(logs)), {f"x{place}": value for place, value in found.items()}
    engine, shares = ss.prepare(hybrid_of(rng, priors, made)), np.exp(logs - total)
    check_log(engine.log_probability(given=given), total, seed)
    if found:
        rows = engine.log_probabilities({name: [value] for name, value in given.items()})
        assert rows[0] == pytest.approx(total, abs=DIGITS * max(1.0, abs(total)))
    for i, card in enumerate(cards):
        answer = engine.query(f"d{i}", given=given)
        expected = [shares[[c[i] == state for c in contexts]].sum() for state in range(card)]
        assert answer.guarantees["marginals"] is Guarantee.EXACT
        np.testing.assert_allclose(answer.values, expected, atol=1e-8)
    for place in set(range(len(made))) - set(found):
        answer = engine.query(f"x{place}", given=given)
        mean = sum(float(share * float(j.mean[place])) for share, j in zip(shares, after, strict=True))
        scale = max(abs(mean), *(math.sqrt(j.covariance[place][place]) for j in joints))
        assert float(answer.mean()) == pytest.approx(mean, abs=1e-8 * scale)


@in_blocks("seed", range(40))
def test_joints_modes_and_residuals_meet_exact_arithmetic(seed):
    rng = np.random.default_rng([seed, 1])
    lines = random_lines(rng, 5, certain=0.0)
    before = joint_of(lines)
    found = random_findings(rng, before, 2)
    after = posterior(before, found)
    hidden = [i for i in range(5) if i not in found]
    asked = rng.permutation(hidden).tolist()[:3]
    engine = ss.prepare(network(lines, rng), method=METHODS[seed % len(METHODS)])
    given = {f"x{place}": value for place, value in found.items()}
    answer = engine.query([f"x{i}" for i in asked], given=given)
    assert [v.name for v in answer.scope] == [f"x{i}" for i in asked]
    scale = np.array([max(math.sqrt(before.covariance[i][i]), abs(float(before.mean[i]))) for i in asked])
    spread = np.array([math.sqrt(after.covariance[i][i]) for i in asked])
    expected = np.array([[float(after.covariance[i][j]) for j in asked] for i in asked])
    np.testing.assert_allclose(
        answer.distribution.covariance / np.outer(spread, spread), expected / np.outer(spread, spread), atol=1e-8
    )
    np.testing.assert_allclose(answer.distribution.mu / scale, [float(after.mean[i]) for i in asked] / scale, atol=1e-8)
    best = engine.map_assignment(given=given).assignment
    assert [best[f"x{i}"] / s for i, s in zip(asked, scale, strict=True)] == pytest.approx(
        [float(after.mean[i]) / s for i, s in zip(asked, scale, strict=True)], abs=1e-8
    )
    assert answer.info["residual"] < 1e-6
    assert set(answer.guarantees.values()) == {Guarantee.EXACT}


def cells_of(cards, given):
    names = list(cards)
    return [
        dict(zip(names, codes, strict=True))
        for codes in itertools.product(*(range(c) for c in cards.values()))
        if all(codes[names.index(n)] == given[n] for n in names if n in given)
    ]


def enumerated(families, cards, nodes, given):
    """The log weight of each discrete cell with the evidence, and its posterior moments of all reals."""
    values = {n: v for n, v in given.items() if n not in cards}
    names = [node.child for node in nodes]
    out = []
    for cell in cells_of(cards, given):
        log = sum(
            math.log(table[(*(cell[p] for p in parents), cell[child])])
            if table[(*(cell[p] for p in parents), cell[child])] > 0
            else -math.inf
            for child, parents, table in families
        )
        lines = [
            oracle.LinearGaussian(n.child, n.continuous, *n.cases[tuple(cell[d] for d in n.discrete)]) for n in nodes
        ]
        index, mean, covariance = oracle.dense_gaussian(lines)
        at = [index[n][0] for n in values]
        log += oracle.gaussian_log_density(list(values.values()), mean[at], covariance[np.ix_(at, at)]) if at else 0.0
        rest, mean, covariance = oracle.condition_gaussian(mean, covariance, at, list(values.values()))
        back = {i: n for n, (i,) in index.items()}
        out.append((cell, log, [back[i] for i in rest], mean, covariance))
    assert names
    return out


@in_blocks("seed", range(48))
def test_hybrids_meet_the_enumerated_mixture(seed):
    rng = np.random.default_rng([seed, 2])
    families, cards, nodes = oracle.random_clg(rng, int(rng.integers(1, 4)), int(rng.integers(1, 4)))
    net = hybrid_net(families, cards, nodes)
    given = {n: int(rng.integers(c)) for n, c in cards.items() if rng.random() < 0.2}
    given |= {n.child: float(rng.normal()) for n in nodes if rng.random() < 0.4}
    cells = enumerated(families, cards, nodes, given)
    logs = np.array([log for _, log, *_ in cells])
    method = METHODS[seed % len(METHODS)]
    if not (logs > -math.inf).any():
        with pytest.raises(ss.ImpossibleEvidence):
            ss.marginals(net, given=given, method=method)
        return
    share = np.exp(logs - logsumexp(logs))
    assert float(ss.log_probability(net, given=given, method=method)) == pytest.approx(logsumexp(logs), abs=CLOSE)
    for name in (n for n in cards if n not in given):
        expected = [
            sum(p for p, (cell, *_) in zip(share, cells, strict=True) if cell[name] == s) for s in range(cards[name])
        ]
        np.testing.assert_allclose(ss.query(net, name, given=given, method=method).values, expected, atol=CLOSE)
    for place, name in enumerate(cells[0][2]):
        mean = sum(p * m[place] for p, (_, _, _, m, _) in zip(share, cells, strict=True))
        second = sum(p * (c[place, place] + m[place] ** 2) for p, (_, _, _, m, c) in zip(share, cells, strict=True))
        for answer in (
            ss.query(net, name, given=given, method=method),
            ss.marginals(net, given=given, method=method)[name],
        ):
            assert float(answer.mean()) == pytest.approx(mean, abs=CLOSE)
            assert float(answer.variance()) == pytest.approx(second - mean**2, abs=CLOSE)
    peaks = [
        log - 0.5 * np.linalg.slogdet(2 * np.pi * c)[1] if log > -math.inf else -math.inf for _, log, _, _, c in cells
    ]
    best = ss.map_assignment(net, given=given, method=method)
    assert best.log_value == pytest.approx(max(peaks), abs=CLOSE)
    top = cells[int(np.argmax(peaks))]
    assert best.assignment == pytest.approx({**{n: s for n, s in top[0].items() if n not in given},
                                             **dict(zip(top[2], top[3], strict=True))}, abs=1e-7)  # fmt: skip


def test_draws_follow_the_posterior():
    rng = np.random.default_rng(5)
    families, cards, nodes = oracle.random_clg(rng, 2, 3)
    net, given = hybrid_net(families, cards, nodes), {nodes[-1].child: 0.4}
    cells = enumerated(families, cards, nodes, given)
    logs = np.array([log for _, log, *_ in cells])
    share = np.exp(logs - logsumexp(logs))
    rows = ss.sample(net, 4000, given=given, seed=1).to_frame("pandas")
    for name in cards:
        expected = np.array(
            [sum(p for p, (cell, *_) in zip(share, cells, strict=True) if cell[name] == s) for s in range(cards[name])]
        )
        counts = np.array([(rows[name] == s).mean() for s in range(cards[name])])
        assert (np.abs(counts - expected) <= STANDARD_ERRORS * np.sqrt(expected * (1 - expected) / 4000) + EXACT).all()
    for place, name in enumerate(cells[0][2]):
        mean = sum(p * m[place] for p, (_, _, _, m, _) in zip(share, cells, strict=True))
        second = sum(p * (c[place, place] + m[place] ** 2) for p, (_, _, _, m, c) in zip(share, cells, strict=True))
        assert abs(rows[name].mean() - mean) < STANDARD_ERRORS * np.sqrt((second - mean**2) / 4000)


VECTOR, NUMBER, COIN = ss.Vector("v", 2), ss.Real("y"), ss.Discrete("coin")
ROOT = np.array([[2.0, 1.0], [1.0, 1.0]])
VECTORS = ss.BayesNet(
    ss.TableCPD(COIN, [0.4, 0.6]),
    ss.LinearGaussian(VECTOR, [[0.0, 1.0], [2.0, -1.0]], covariance=[ROOT, 4 * ROOT], by=COIN),
    ss.LinearGaussian(NUMBER, 0.5, coefficients=[[1.0, -2.0]], covariance=0.3, given=VECTOR),
)


def test_vectors_in_contexts():
    means, spreads = np.array([[0.0, 1.0], [2.0, -1.0]]), np.array([ROOT, 4 * ROOT])
    slope, value = np.array([1.0, -2.0]), 1.2
    center, variance = 0.5 + means @ slope, np.array([slope @ s @ slope + 0.3 for s in spreads])
    logs = np.log([0.4, 0.6]) + norm.logpdf(value, center, np.sqrt(variance))
    share = np.exp(logs - logsumexp(logs))
    found = ss.query(VECTORS, "v", given={"y": value})
    gains = np.array([s @ slope / v for s, v in zip(spreads, variance, strict=True)])
    after = means + gains * (value - center)[:, None]
    np.testing.assert_allclose(found.mean(), share @ after, atol=CLOSE)
    assert float(found.log_partition) == pytest.approx(logsumexp(logs), abs=EXACT)
    drawn = ss.prepare(VECTORS).sample_columns(10, given={"y": value})
    assert drawn["v"].shape == (10, 2)
    assert ss.map_assignment(VECTORS, given={"y": value}).assignment["v"].shape == (2,)


def test_a_context_in_which_a_finding_is_certain_outweighs_all_others():
    """x is 5 for sure in one state, and has a density there in the other."""
    x, y = ss.Real("x"), ss.Real("y")
    net = ss.BayesNet(
        ss.TableCPD(COIN, [0.999, 0.001]),
        ss.LinearGaussian(x, [5.0, 5.0], covariance=[1.0, 0.0], by=COIN),
        ss.LinearGaussian(y, 0.0, coefficients=1.0, covariance=1.0, given=x),
    )
    for method in METHODS:
        assert ss.query(net, "coin", given={"x": 5.0}, method=method).values.tolist() == [0.0, 1.0]
        assert float(ss.log_probability(net, given={"x": 5.0}, method=method)) == pytest.approx(math.log(0.001))
        assert ss.query(net, "coin", given={"x": 5.5}, method=method).values.tolist() == [1.0, 0.0]


def test_contexts_that_are_impossible_do_not_count_as_certain():
    """Two coins: x is certain only where both are one, which the second coin's table excludes."""
    a, b, x, z = ss.Discrete("a"), ss.Discrete("b"), ss.Real("x"), ss.Real("z")
    net = ss.BayesNet(
        ss.TableCPD(a, [0.5, 0.5]),
        ss.TableCPD(b, [[0.5, 0.5], [1.0, 0.0]], given=a),
        ss.LinearGaussian(x, np.full((2, 2), 5.0), covariance=[[1.0, 2.0], [3.0, 0.0]], by=(a, b)),
        ss.LinearGaussian(z, [0.0, 1.0], covariance=[1.0, 1.0], by=b),
    )
    found = ss.query(net, ["a", "b"], given={"x": 5.0, "z": 0.5}).values
    expected = np.array([[0.25 / math.sqrt(1.0), 0.25 / math.sqrt(2.0)], [0.5 / math.sqrt(3.0), 0.0]])
    np.testing.assert_allclose(found, expected / expected.sum(), atol=EXACT)


def test_evidence_against_a_relation_names_its_findings_and_it():
    x, y, z = map(ss.Real, "xyz")
    net = ss.BayesNet(
        ss.LinearGaussian(x, 0.0, covariance=1.0),
        ss.LinearGaussian(y, 1.0, coefficients=2.0, covariance=0.0, given=x),
        ss.LinearGaussian(z, 0.0, coefficients=1.0, covariance=1.0, given=y),
    )
    said = r"x=1.0, y=4.0 contradict each other\. .* Without noise: y given x\."
    for method in METHODS:
        with pytest.raises(ss.ImpossibleEvidence, match=said) as caught:
            ss.marginals(net, given={"x": 1.0, "y": 4.0, "z": 0.0}, method=method)
        assert "z=" not in str(caught.value)
        assert float(ss.log_probability(net, given={"x": 1.0, "y": 4.0}, method=method)) == -math.inf


def test_scales_of_all_sizes():
    """Variances from 1e-200 to 1e200 in one chain of copies."""
    x = [ss.Real(f"x{i}") for i in range(3)]
    for prior, noise in itertools.product((1e-200, 1e-20, 1.0, 1e20, 1e200), repeat=2):
        net = ss.BayesNet(
            ss.LinearGaussian(x[0], 1.0, covariance=prior),
            *(ss.LinearGaussian(x[i], 0.0, coefficients=1.0, covariance=noise, given=x[i - 1]) for i in (1, 2)),
        )
        assert float(ss.query(net, "x2").variance()) == pytest.approx(prior + 2 * noise, rel=EXACT)
        answer = ss.query(net, "x0", given={"x2": 1.0})
        assert float(answer.variance()) == pytest.approx(1 / (1 / prior + 0.5 / noise), rel=EXACT)


def test_numbers_beyond_the_range_of_floats_are_refused():
    x, y = ss.Real("x"), ss.Real("y")
    net = ss.BayesNet(
        ss.LinearGaussian(x, 0.0, covariance=1e300),
        ss.LinearGaussian(y, 0.0, coefficients=1e100, covariance=1.0, given=x),
    )
    with pytest.raises(ss.errors.NotClosed, match="range of floating-point numbers"):
        ss.query(net, "x", given={"y": 1.0})


def test_many_contexts_are_refused_before_anything_is_allocated():
    coins = [ss.Discrete(f"c{i}") for i in range(40)]
    x = [ss.Real(f"x{i}") for i in range(40)]
    chain = [ss.LinearGaussian(x[0], [0.0, 1.0], covariance=[1.0, 2.0], by=coins[0])]
    chain += [
        ss.LinearGaussian(x[i], [0.0, 1.0], coefficients=[1.0, 0.5], covariance=[1.0, 2.0], given=x[i - 1], by=coins[i])
        for i in range(1, 40)
    ]
    net = ss.BayesNet(*(ss.TableCPD(c, [0.5, 0.5]) for c in coins), *chain)
    with pytest.raises(ss.TooLarge, match="joint states"):
        ss.query(net, "x39")
    assert float(ss.query(net, "x1").mean()) == pytest.approx((0.5 + (1.0 + 0.5 * 0.5)) / 2)


def test_only_what_a_question_needs_is_swept():
    chain = [ss.Real(f"x{i}") for i in range(costs.NUMBERS_SWEPT + 10)]
    cpds = [ss.LinearGaussian(chain[0], 0.0, covariance=1.0)]
    cpds += [
        ss.LinearGaussian(child, 0.0, coefficients=1.0, covariance=1.0, given=parent)
        for parent, child in itertools.pairwise(chain)
    ]
    problem = ss.BayesNet(*cpds).problem()
    widths = Widths(problem)
    assert widths.covers([5], Evidence())
    assert not widths.covers([len(chain) - 1], Evidence())
    assert widths.covers([len(chain) - 1], Evidence(reals={500: np.zeros(1)}))
    assert RegressionQuestions.of(ss.datasets.load("asia").problem(), ss.CliqueTree()) is None
