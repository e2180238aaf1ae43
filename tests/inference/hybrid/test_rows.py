"""Rows of networks with discrete and real variables, held to enumeration over all states with dense normals."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.stats import norm

import oracle
import sepset as ss
from sepset.errors import ModelError, NotApplicable, TooLarge
from sepset.inference import costs
from sepset.inference.cliquetree.method import CliqueTree
from sepset.inference.evidencerows import EvidenceRows, Workers
from sepset.inference.exact.bruteforce import BruteForce
from sepset.inference.hybrid.rows import HybridRows
from sepset.inference.method import AnswersRows, CompletesRows, CountsRows, TakesValues
from sepset.variables.evidence import Evidence
from support.blocks import in_blocks
from support.hybrid_rows import evidence_of, log_density, mixture_of, moments_of, products_of, random_case
from support.tolerances import CLOSE, STANDARD_ERRORS

ONE = Workers(1)
seeds = in_blocks("seed", range(40))


def prepared_for(net):
    return CliqueTree().prepare(net.problem())


def test_capabilities():
    net, _, _ = random_case(1)
    prepared = prepared_for(net)
    for capability in (AnswersRows, CompletesRows, CountsRows, TakesValues):
        assert isinstance(prepared, capability)


@seeds
def test_log_partitions_and_posteriors(seed):
    net, plain, rows = random_case(seed)
    found = prepared_for(net).answer_rows(evidence_of(net, rows), range(len(net.variables)), ONE)
    cards = plain[1]
    for i, row in enumerate(rows):
        exact = mixture_of(plain, row)
        assert found.log_partition[i] == pytest.approx(exact.log_evidence, abs=CLOSE)
        for v, variable in enumerate(net.variables):
            if variable.name in cards:
                expected = exact.discrete_marginal([variable.name], cards)
                np.testing.assert_allclose(found.probabilities[v][i], expected, rtol=0, atol=CLOSE)
            else:
                mean, variance = moments_of(plain, row, variable.name)
                assert found.moments[v].mean[i] == pytest.approx(mean, abs=CLOSE)
                assert found.moments[v].variance[i] == pytest.approx(variance, abs=CLOSE)


@seeds
def test_log_partitions_need_not_enumerate_what_nobody_asks_for(seed):
    """Without real targets, missing numbers below what was found leave the question, and their contexts with them."""
    net, plain, rows = random_case(seed)
    evidence, prepared = evidence_of(net, rows), prepared_for(net)
    alone, all_ = (prepared.rows.num_choices(evidence, t) for t in ((), range(len(net.variables))))
    assert (alone <= all_).all()
    found = prepared.answer_rows(evidence, (), ONE).log_partition
    np.testing.assert_allclose(found, [mixture_of(plain, row).log_evidence for row in rows], rtol=0, atol=CLOSE)
    for v, variable in enumerate(net.variables):
        if variable.is_discrete:
            chances = prepared.answer_rows(evidence, (v,), ONE).probabilities[v]
            expected = [mixture_of(plain, row).discrete_marginal([variable.name], plain[1]) for row in rows]
            np.testing.assert_allclose(chances, expected, rtol=0, atol=CLOSE)


@seeds
def test_expected_statistics(seed):
    net, plain, rows = random_case(seed)
    weights = np.random.default_rng(seed).random(len(rows))
    prepared = prepared_for(net)
    found = prepared.summed_marginals(evidence_of(net, rows), weights, ONE)
    counts, moments = products_of(plain, rows, weights)
    for cpd, factor in zip(net.cpds, found.factors, strict=True):
        name = cpd.child.name
        if name in counts:
            np.testing.assert_allclose(factor, counts[name], rtol=0, atol=1e-8)
        else:
            np.testing.assert_allclose(factor, list(moments[name].values()), rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(
        found.log_partition, [mixture_of(plain, row).log_evidence for row in rows], rtol=0, atol=CLOSE
    )
    one = prepared.factor_marginals(evidence_of(net, rows).evidence(0))
    again = prepared.summed_marginals(evidence_of(net, rows[:1]), np.ones(1), ONE).factors
    for a, b in zip(one, again, strict=True):
        np.testing.assert_allclose(a, b, atol=CLOSE)


@seeds
def test_most_probable_completions(seed):
    net, plain, rows = random_case(seed)
    found = prepared_for(net).complete_rows(evidence_of(net, rows), ONE)
    for i, row in enumerate(rows):
        exact = mixture_of(plain, row)
        best = max(map(log_density, exact.components))
        assert found.log_value[i] == pytest.approx(best, abs=CLOSE)
        states = {net.variables[v].name: int(c) for v, c in zip(found.rows.positions, found.rows.codes[i], strict=True)}
        part = next(p for p in exact.components if p.assignment == states)
        assert log_density(part) == pytest.approx(best, abs=CLOSE)
        for v, value in zip(found.rows.real_positions, found.rows.reals[i], strict=True):
            name = net.variables[v].name
            expected = row[name] if name in row else part.mean[exact.index[name][0]]
            assert value == pytest.approx(expected, abs=CLOSE)


@seeds
def test_modes_of_each_variable(seed):
    """Discrete ones by their posterior; of a mixture no point near a component has a larger density than its mode."""
    net, plain, rows = random_case(seed, num_rows=3)
    found = prepared_for(net).mode_rows(evidence_of(net, rows), range(len(net.variables)), ONE)
    for i, row in enumerate(rows):
        exact = mixture_of(plain, row)
        for column, v in enumerate(found.rows.positions):
            marginal = exact.discrete_marginal([net.variables[v].name], plain[1])
            assert marginal[found.rows.codes[i, column]] >= marginal.max() - CLOSE
        for column, v in enumerate(found.rows.real_positions):
            name, value = net.variables[v].name, found.rows.reals[i, column]
            if name in row:
                assert value == row[name]
                continue
            at = exact.index[name][0]
            parts = [
                (w, p.mean[at], math.sqrt(p.cov[at, at])) for w, p in zip(exact.weights, exact.components, strict=True)
            ]
            grid = np.array([m + s * t for _, m, s in parts for t in np.linspace(-2, 2, 81)] + [value])
            density = sum(w * norm.pdf(grid, m, s) for w, m, s in parts)
            assert density[-1] >= density.max() * (1 - 1e-6)


@in_blocks("seed", range(6))
def test_draws_have_the_joint_posterior(seed):
    """Frequencies of joint states, and moments of numbers given them, within standard errors."""
    net, plain, rows = random_case(seed, num_rows=2, most_discrete=3, most_real=3)
    count = 6000
    evidence = evidence_of(net, rows)
    repeated = evidence.take(np.repeat(np.arange(2), count))
    found = prepared_for(net).draw_rows(repeated, range(len(net.variables)), np.random.default_rng(seed), ONE)
    for i, row in enumerate(rows):
        exact, mine = mixture_of(plain, row), slice(i * count, (i + 1) * count)
        codes, reals = found.rows.codes[mine], found.rows.reals[mine]
        for part, p in zip(exact.components, exact.weights, strict=True):
            states = [part.assignment[net.variables[v].name] for v in found.rows.positions]
            same = (codes == states).all(axis=1)
            assert abs(same.mean() - p) <= STANDARD_ERRORS * math.sqrt(p * (1 - p) / count) + 1e-12
            if same.sum() < 300:
                continue
            names = [net.variables[v].name for v in found.rows.real_positions]
            for column, name in enumerate(names):
                if name in row:
                    assert (reals[same, column] == row[name]).all()
            free = [n for n in names if n not in row]
            at = [exact.index[n][0] for n in free]
            drawn = reals[same][:, [names.index(n) for n in free]]
            spread = np.sqrt(np.diag(part.cov)[at])
            error = STANDARD_ERRORS / math.sqrt(same.sum())
            assert (np.abs(drawn.mean(axis=0) - part.mean[at]) <= error * spread).all()
            if free:
                apart = np.abs(np.cov(drawn.T).reshape(len(free), -1) - part.cov[np.ix_(at, at)])
                assert (apart <= error * math.sqrt(2) * np.outer(spread, spread)).all()


def test_rows_that_miss_very_many_numbers_are_asked_about_one_by_one(monkeypatch):
    """A batch has a matrix of all pairs of missing numbers; the messages of a chain need none."""
    x = [ss.Real(f"x{i}") for i in range(10)]
    first = ss.LinearGaussian(x[0], 0.5, covariance=1.0)
    rest = (ss.LinearGaussian(b, 0.1, coefficients=0.6, covariance=0.5, given=a) for a, b in itertools.pairwise(x))
    net = ss.BayesNet(first, *rest)
    cells = np.random.default_rng(0).normal(size=(3, 10))
    cells[:, [1, 2, 5, 8, 9]] = np.nan
    evidence, prepared, everyone = (
        EvidenceRows((), np.zeros((3, 0), np.int32), range(10), cells),
        prepared_for(net),
        range(10),
    )

    def ask(prepared):
        found, modes = prepared.answer_rows(evidence, everyone, ONE), prepared.mode_rows(evidence, everyone, ONE)
        moments = [part for v in everyone for part in found.moments[v]]
        return (
            found.log_partition,
            np.array(moments),
            modes.rows.reals,
            prepared.complete_rows(evidence, ONE).rows.reals,
        )

    together = ask(prepared)
    monkeypatch.setattr(costs, "MOST_CONTEXT_ENTRIES", 50)  # five missing of ten: 25 loadings and 50 gains
    whole, batches = HybridRows.answers, []
    monkeypatch.setattr(
        HybridRows, "answers", lambda own, rows, *rest: batches.append(len(rows)) or whole(own, rows, *rest)
    )
    for alone, expected in zip(ask(prepared_for(net)), together, strict=True):
        np.testing.assert_allclose(alone, expected, atol=CLOSE)
    assert batches[0] == 0
    drawn = prepared_for(net).draw_rows(evidence, everyone, np.random.default_rng(0), ONE)
    assert not np.isnan(drawn.rows.reals).any()
    monkeypatch.setattr(costs, "MOST_CONTEXT_ENTRIES", 24)
    with pytest.raises(TooLarge, match="10 numbers that a row misses"):
        BruteForce().prepare(net.problem()).best(Evidence(), everyone)


@pytest.mark.parametrize("limit", [1, 3])
@pytest.mark.parametrize("seed", range(10))
def test_rows_with_many_contexts_are_asked_about_one_by_one(seed, limit, monkeypatch):
    net, _, rows = random_case(seed)
    evidence, prepared = evidence_of(net, rows), prepared_for(net)
    everyone = range(len(net.variables))
    together = prepared.answer_rows(evidence, everyone, ONE), prepared.complete_rows(evidence, ONE)
    modes = prepared.mode_rows(evidence, everyone, ONE)
    monkeypatch.setattr(costs, "CONTEXTS_ENUMERATED_PER_ROW", limit)
    alone = prepared.answer_rows(evidence, everyone, ONE), prepared.complete_rows(evidence, ONE)
    np.testing.assert_allclose(alone[0].log_partition, together[0].log_partition, atol=CLOSE)
    np.testing.assert_allclose(alone[1].log_value, together[1].log_value, atol=CLOSE)
    for v in everyone:
        if net.variables[v].is_discrete:
            np.testing.assert_allclose(alone[0].probabilities[v], together[0].probabilities[v], atol=CLOSE)
        else:
            np.testing.assert_allclose(alone[0].moments[v].mean, together[0].moments[v].mean, atol=1e-8)
            np.testing.assert_allclose(alone[0].moments[v].variance, together[0].moments[v].variance, atol=1e-8)
    again = prepared.mode_rows(evidence, everyone, ONE)
    np.testing.assert_array_equal(again.rows.codes, modes.rows.codes)
    np.testing.assert_allclose(again.rows.reals, modes.rows.reals, atol=1e-6)
    drawn = prepared.draw_rows(evidence, everyone, np.random.default_rng(0), ONE)
    assert (drawn.rows.codes >= 0).all()
    assert not np.isnan(drawn.rows.reals).any()


@pytest.mark.parametrize("seed", range(10))
def test_parts_change_nothing(seed, monkeypatch):
    net, _, rows = random_case(seed, num_rows=12)
    evidence = evidence_of(net, rows)
    everyone = range(len(net.variables))
    whole, weights = prepared_for(net), np.ones(12)
    answers, counts = whole.answer_rows(evidence, everyone, ONE), whole.summed_marginals(evidence, weights, ONE)
    for name, value in (("CHOICES_AT_ONCE", 3), ("GAIN_ENTRIES_AT_ONCE", 4), ("CHOICES_CACHED", 0)):
        monkeypatch.setattr(costs, name, value)
    parts = prepared_for(net)
    np.testing.assert_allclose(parts.answer_rows(evidence, everyone, ONE).log_partition, answers.log_partition)
    for a, b in zip(parts.summed_marginals(evidence, weights, ONE).factors, counts.factors, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10)


@in_blocks("seed", range(15))
def test_new_values_are_those_of_a_new_problem(seed):
    net, plain, rows = random_case(seed)
    rng = np.random.default_rng(seed + 100)
    families, cards, nodes = plain
    changed = [
        (child, parents, oracle.random_rows(rng, table.shape, deterministic=0.0, zeros=0.0))
        for child, parents, table in families
    ]
    moved = [
        node._replace(cases={c: (tuple(2.0 * w for w in ws), a + 1.0, 0.5 * v) for c, (ws, a, v) in node.cases.items()})
        for node in nodes
    ]
    from support.random_gaussians import hybrid_net

    other = hybrid_net(changed, cards, moved)
    values = [f.values if hasattr(f, "values") else f for f in other.problem().factors()]
    evidence, prepared = evidence_of(net, rows), prepared_for(net)
    before = prepared.answer_rows(evidence, (), ONE).log_partition
    made = prepared.with_values(values)
    np.testing.assert_allclose(
        made.answer_rows(evidence, (), ONE).log_partition,
        [mixture_of((changed, cards, moved), row).log_evidence for row in rows],
        atol=CLOSE,
    )
    np.testing.assert_array_equal(prepared.answer_rows(evidence, (), ONE).log_partition, before)
    again = prepared.with_values({len(net.cpds) - 1: values[-1]})
    assert again.problem.factor(len(net.cpds) - 1) is values[-1]


def test_values_that_do_not_fit_are_refused():
    d, x, y = ss.Discrete("d"), ss.Real("x"), ss.Real("y")
    net = ss.BayesNet(ss.TableCPD(d, [0.5, 0.5]), ss.LinearGaussian(x, [0.0, 1.0], covariance=1.0, by=d))
    prepared = prepared_for(net)
    with pytest.raises(ModelError, match=r"Factor 1 is over 'd', 'x'; found Regression\(y\)"):
        prepared.with_values({1: ss.LinearGaussian(y, covariance=1.0).regression})
    with pytest.raises(ModelError, match="One array per factor was expected: 2; found 1"):
        prepared.with_values([np.array([0.5, 0.5])])


IMPOSSIBLE = ss.BayesNet(
    ss.TableCPD(D := ss.Discrete("d"), [1.0, 0.0]),
    ss.LinearGaussian(X := ss.Real("x"), [0.0, 1.0], covariance=1.0, by=D),
)


def test_impossible_rows():
    rows = evidence_of(IMPOSSIBLE, [{"d": 1}, {"x": 0.5}, {"d": 1, "x": 0.5}])
    prepared = prepared_for(IMPOSSIBLE)
    found = prepared.answer_rows(rows, [0, 1], ONE)
    assert (found.log_partition == -np.inf).tolist() == [True, False, True]
    assert np.isnan(found.probabilities[0]).all(axis=1).tolist() == [True, False, True]
    assert np.isnan(found.moments[1].mean).tolist() == [True, False, True]
    for values in (
        prepared.complete_rows(rows, ONE),
        prepared.mode_rows(rows, [0, 1], ONE),
        prepared.draw_rows(rows, [0, 1], np.random.default_rng(0), ONE),
    ):
        assert (values.log_value == -np.inf).tolist() == [True, False, True]
        assert np.isnan(values.rows.reals[0, 0])
        assert values.rows.codes[:, 0].tolist() == [1, 0, 1]
    counts = prepared.summed_marginals(rows, np.ones(3), ONE)
    assert counts.factors[0].tolist() == [1.0, 0.0]
    with pytest.raises(ss.ImpossibleEvidence):
        prepared.factor_marginals(rows.evidence(0))


def test_no_rows():
    prepared = prepared_for(IMPOSSIBLE)
    rows = evidence_of(IMPOSSIBLE, [])
    assert prepared.answer_rows(rows, [0, 1], ONE).log_partition.shape == (0,)
    assert prepared.complete_rows(rows, ONE).rows.reals.shape == (0, 1)
    assert prepared.draw_rows(rows, [0, 1], np.random.default_rng(0), ONE).rows.codes.shape == (0, 1)
    counts = prepared.summed_marginals(rows, np.zeros(0), ONE)
    assert not counts.factors[0].any()
    assert not counts.factors[1].any()


def test_too_many_contexts_for_statistics():
    states = [ss.Discrete(f"s{i}", 4) for i in range(9)]
    x = [ss.Real(f"x{i}") for i in range(3)]
    net = ss.BayesNet(
        *(ss.TableCPD(s, np.full(4, 0.25)) for s in states),
        *(ss.LinearGaussian(x[i], covariance=1.0, by=states[3 * i : 3 * i + 3]) for i in range(3)),
    )
    rows = evidence_of(net, [{"x0": 1.0}])
    with pytest.raises(TooLarge, match="262,144"):
        prepared_for(net).summed_marginals(rows, np.ones(1), ONE)
    assert prepared_for(net).answer_rows(rows, (), ONE).log_partition == pytest.approx(norm.logpdf(1.0))


def test_hidden_states_that_no_number_depends_on_are_not_enumerated():
    """Twenty hidden discrete variables beside one context: expected counts as of the discrete part alone."""
    chain = [ss.Discrete(f"s{i}", 3) for i in range(20)]
    rng = np.random.default_rng(0)
    x = ss.Real("x")
    tables = [ss.TableCPD(chain[0], [0.2, 0.3, 0.5])] + [
        ss.TableCPD(chain[i], rng.dirichlet(np.ones(3), 3), given=chain[i - 1]) for i in range(1, 20)
    ]
    line = ss.LinearGaussian(x, [0.0, 2.0, 4.0], covariance=[1.0, 0.5, 2.0], by=chain[10])
    net = ss.BayesNet(*tables, line)
    rows = evidence_of(net, [{"x": 1.5, "s3": 1}])
    found = prepared_for(net).summed_marginals(rows, np.ones(1), ONE)
    likelihood = norm.pdf(1.5, [0.0, 2.0, 4.0], np.sqrt([1.0, 0.5, 2.0]))
    exact = ss.prepare(ss.BayesNet(*tables)).observe({"s3": 1, "s10": ss.Likelihood(likelihood)})
    for i in range(1, 20):
        expected = exact.query([f"s{i - 1}", f"s{i}"]).values
        np.testing.assert_allclose(found.factors[i], expected, atol=CLOSE)


def test_auxiliary_variables_of_discrete_cpds_are_summed_out():
    *causes, e = (ss.Discrete(n) for n in "abcfghe")
    x = ss.Real("x")
    roots = [ss.TableCPD(v, [0.4, 0.6]) for v in causes]
    cause = ss.NoisyOr(e, dict(zip(causes, [0.8, 0.3, 0.6, 0.1, 0.2, 0.5], strict=True)), leak=0.1)
    line = ss.LinearGaussian(x, [0.0, 2.0], covariance=[1.0, 0.5], by=e)
    net = ss.BayesNet(*roots, cause, line)
    assert cause.auxiliaries
    plain = ss.BayesNet(*roots, cause.to_table(), line)
    cells = [{"x": 1.0}, {"a": 1, "x": 0.2}, {"e": 1, "b": 0}, {}]
    one, other = (prepared_for(n).answer_rows(evidence_of(n, cells), [0, 6, 7], ONE) for n in (net, plain))
    np.testing.assert_allclose(one.log_partition, other.log_partition, atol=CLOSE)
    np.testing.assert_allclose(one.probabilities[6], other.probabilities[6], atol=CLOSE)
    best, same = (prepared_for(n).complete_rows(evidence_of(n, cells), ONE) for n in (net, plain))
    np.testing.assert_array_equal(best.rows.codes, same.rows.codes)
    np.testing.assert_allclose(best.log_value, same.log_value, atol=CLOSE)


# Relations without noise


SWITCH = ss.BayesNet(
    ss.TableCPD(C := ss.Discrete("c"), [0.3, 0.7]),
    ss.LinearGaussian(X, [0.0, 5.0], covariance=[1.0, 0.0], by=C),
    ss.LinearGaussian(Y := ss.Real("y"), 0.0, coefficients={X: 1.0}, covariance=0.25, given=X),
)


def test_a_context_without_noise_beside_one_with_it():
    """Given y the contexts weigh as N(y; 0, 1.25) and N(y; 5, 0.25); given x = 5, the second is certain."""
    rows = evidence_of(SWITCH, [{"y": 4.0}, {"x": 5.0}, {"x": 4.0}, {"x": 5.0, "y": 4.5}, {}])
    found = prepared_for(SWITCH).answer_rows(rows, [0, 1, 2], ONE)
    weights = np.array([0.3 * norm.pdf(4.0, 0.0, math.sqrt(1.25)), 0.7 * norm.pdf(4.0, 5.0, 0.5)])
    share = weights / weights.sum()
    np.testing.assert_allclose(found.probabilities[0][0], share, atol=CLOSE)
    assert found.probabilities[0][1:4].tolist() == [[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]
    mean, spread = np.array([3.2, 5.0]), np.array([0.2, 0.0])
    assert found.moments[1].mean[0] == pytest.approx(share @ mean)
    assert found.moments[1].variance[0] == pytest.approx(share @ (spread + mean**2) - (share @ mean) ** 2)
    expected = [
        math.log(weights.sum()),
        math.log(0.7),
        math.log(0.3 * norm.pdf(4.0)),
        math.log(0.7 * norm.pdf(4.5, 5.0, 0.5)),
        0.0,
    ]
    np.testing.assert_allclose(found.log_partition, expected, atol=CLOSE)
    best = prepared_for(SWITCH).complete_rows(rows, ONE)
    assert best.rows.codes[:, 0].tolist() == [1, 1, 0, 1, 1]
    assert best.rows.reals[0].tolist() == [5.0, 4.0]
    modes = prepared_for(SWITCH).mode_rows(rows, [1], ONE)
    assert modes.rows.reals[0, 0] == 5.0


LAW = ss.BayesNet(
    ss.LinearGaussian(X, 0.5, covariance=1.0),
    ss.LinearGaussian(W := ss.Real("w"), -1.0, covariance=3.0),
    ss.LinearGaussian(Y, 1.0, coefficients={X: 2.0, W: -1.0}, covariance=0.0, given=[X, W]),
    ss.LinearGaussian(Z := ss.Real("z"), 0.0, coefficients={Y: 1.0}, covariance=0.5, given=Y),
)
LAW_MEAN = np.array([0.5, -1.0, 3.0, 3.0])
RISE = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [2.0, -1.0, 0.0], [2.0, -1.0, 1.0]])
LAW_COVARIANCE = RISE @ np.diag([1.0, 3.0, 0.5]) @ RISE.T


@pytest.mark.parametrize(
    "given", [c for n in range(4) for c in itertools.combinations("xwyz", n) if set(c) != set("xwy")]
)
def test_a_law_between_numbers(given):
    """Every conditional of a singular normal distribution, by a pseudo-inverse."""
    names = "xwyz"
    values = {"x": 0.25, "w": -2.0, "y": 3.5, "z": 4.0}
    row = {n: values[n] for n in given}
    o, m = ([names.index(n) for n in names if (n in row) == flag] for flag in (True, False))
    gain = LAW_COVARIANCE[np.ix_(m, o)] @ np.linalg.pinv(LAW_COVARIANCE[np.ix_(o, o)])
    mean = LAW_MEAN[m] + gain @ (np.array([values[names[i]] for i in o]) - LAW_MEAN[o])
    spread = np.diag(LAW_COVARIANCE[np.ix_(m, m)] - gain @ LAW_COVARIANCE[np.ix_(o, m)])
    found = prepared_for(LAW).answer_rows(evidence_of(LAW, [row]), range(4), ONE)
    for place, i in enumerate(m):
        assert found.moments[i].mean[0] == pytest.approx(mean[place], abs=CLOSE)
        assert found.moments[i].variance[0] == pytest.approx(spread[place], abs=CLOSE)
    if o:
        expected = oracle.gaussian_log_density([values[names[i]] for i in o], LAW_MEAN[o], LAW_COVARIANCE[np.ix_(o, o)])
        assert found.log_partition[0] == pytest.approx(expected, abs=CLOSE)
    drawn = prepared_for(LAW).draw_rows(evidence_of(LAW, [row] * 50), range(4), np.random.default_rng(0), ONE)
    x, w, y, _ = drawn.rows.over((), range(4)).reals.T
    np.testing.assert_allclose(y, 1.0 + 2.0 * x - w, atol=1e-9)


def test_numbers_that_break_a_law_are_impossible_and_those_that_keep_it_are_certain():
    rows = evidence_of(LAW, [{"x": 0.1, "w": 0.3, "y": 1.0 + 0.2 - 0.3}, {"x": 0.1, "w": 0.3, "y": 1.0}])
    found = prepared_for(LAW).answer_rows(rows, (), ONE).log_partition
    assert found[0] == pytest.approx(norm.logpdf(0.1, 0.5) + norm.logpdf(0.3, -1.0, math.sqrt(3.0)))
    assert found[1] == -np.inf


def test_copies_of_a_sum_are_consistent_or_not():
    """Two sums of the same two numbers, without noise: the second is known from the first."""
    a, b, s, t = (ss.Real(n) for n in "abst")
    net = ss.BayesNet(
        ss.LinearGaussian(a, 0.0, covariance=0.3),
        ss.LinearGaussian(b, 0.0, covariance=0.7),
        ss.LinearGaussian(s, 0.1, coefficients=[[1.1, 0.7]], covariance=0.0, given=[a, b]),
        ss.LinearGaussian(t, -0.3, coefficients=[[3.3, 2.1]], covariance=0.0, given=[a, b]),
    )
    rows = evidence_of(net, [{"s": 1.3, "t": 3.0 * 1.2 - 0.3}, {"s": 1.3, "t": 3.0}, {"s": 1.3}])
    found = prepared_for(net).answer_rows(rows, range(4), ONE)
    variance = 1.1**2 * 0.3 + 0.7**2 * 0.7
    expected = norm.logpdf(1.3, 0.1, math.sqrt(variance))
    np.testing.assert_allclose(found.log_partition, [expected, -np.inf, expected], atol=CLOSE)
    np.testing.assert_allclose(found.moments[3].mean[[0, 2]], 3.3, atol=CLOSE)
    np.testing.assert_allclose(found.moments[0].mean[[0, 2]], 1.1 * 0.3 * 1.2 / variance, atol=CLOSE)
    rest = 0.3 - (1.1 * 0.3) ** 2 / variance
    np.testing.assert_allclose(found.moments[0].variance[[0, 2]], rest, atol=CLOSE)


# Digits


@pytest.mark.parametrize("noise", [1e-2, 1e-6, 1e-10, 1e-14])
def test_small_noise_keeps_its_digits(noise):
    """x0 -> x1 -> x2, copies with tiny noise of a wide prior: means, variances and densities to ten digits."""
    x = [ss.Real(f"x{i}") for i in range(3)]
    copies = (ss.LinearGaussian(x[i], 0.0, coefficients=1.0, covariance=noise, given=x[i - 1]) for i in (1, 2))
    net = ss.BayesNet(ss.LinearGaussian(x[0], 1000.0, covariance=1e4), *copies)
    rows = evidence_of(net, [{}, {"x2": 1100.0}, {"x0": 1100.0}, {"x0": 1000.0, "x2": 1000.0}])
    found = prepared_for(net).answer_rows(rows, range(3), ONE)
    total, gain = 1e4 + 2 * noise, 1e4 / (1e4 + 2 * noise)
    np.testing.assert_allclose(found.moments[2].variance[0], total, rtol=1e-12)
    np.testing.assert_allclose(found.moments[0].variance[1], gain * 2 * noise, rtol=1e-10)
    middle = 1.0 / (1.0 / noise + 1.0 / (1e4 + noise))
    np.testing.assert_allclose(found.moments[1].variance[1], middle, rtol=1e-10)
    np.testing.assert_allclose(found.moments[0].mean[1], 1000.0 + gain * 100.0, rtol=1e-13)
    np.testing.assert_allclose(found.moments[2].variance[2], 2 * noise, rtol=1e-12)
    np.testing.assert_allclose(found.moments[1].variance[3], noise / 2, rtol=1e-12)
    expected = [0.0, norm.logpdf(1100.0, 1000.0, math.sqrt(total)), norm.logpdf(1100.0, 1000.0, 100.0)]
    np.testing.assert_allclose(found.log_partition[:3], expected, rtol=1e-12)


def test_large_means_keep_their_digits():
    far = 1e8
    near, away = (
        ss.BayesNet(
            ss.LinearGaussian(X, shift + 1.0, covariance=1.0),
            ss.LinearGaussian(Y, 0.0, coefficients=1.0, covariance=0.5, given=X),
        )
        for shift in (0.0, far)
    )
    cells = [{"y": 1.5}, {"x": 2.0}]
    moved = [{n: v + far for n, v in row.items()} for row in cells]
    one = prepared_for(near).answer_rows(evidence_of(near, cells), [0, 1], ONE)
    other = prepared_for(away).answer_rows(evidence_of(away, moved), [0, 1], ONE)
    np.testing.assert_allclose(other.moments[0].mean - far, one.moments[0].mean, atol=1e-6)
    np.testing.assert_allclose(other.log_partition, one.log_partition, atol=1e-6)


# Vectors, and models without regressions


def test_vectors_are_regressed_coordinate_by_coordinate():
    """A vector between numbers, never observed itself: the dense joint says the rest."""
    rng = np.random.default_rng(3)
    p = ss.Vector("p", 3)
    root, B, b = rng.normal(size=(3, 3)), rng.normal(size=(3, 1)), rng.normal(size=(1, 3))
    net = ss.BayesNet(
        ss.LinearGaussian(X, 1.0, covariance=2.0),
        ss.LinearGaussian(p, rng.normal(size=3), coefficients=B, covariance=root @ root.T, given=X),
        ss.LinearGaussian(Y, -1.0, coefficients=b, covariance=0.3, given=p),
    )
    joint = ss.cpds.joint_gaussian(net.cpds)
    at = {"x": 0, "y": 4}
    mean, covariance = joint.mu[[0, 4]], joint.covariance[np.ix_([0, 4], [0, 4])]
    rows = [{"x": 0.3}, {"y": 1.1}, {"x": 0.3, "y": 1.1}]
    found = prepared_for(net).answer_rows(evidence_of_reals(net, rows), [0, 2], ONE)
    for i, row in enumerate(rows):
        seen = [at[n] // 4 for n in row]
        expected = oracle.gaussian_log_density(list(row.values()), mean[seen], covariance[np.ix_(seen, seen)])
        assert found.log_partition[i] == pytest.approx(expected, abs=CLOSE)
    gain = covariance[0, 1] / covariance[1, 1]
    assert found.moments[0].mean[1] == pytest.approx(mean[0] + gain * (1.1 - mean[1]))
    assert found.moments[0].variance[1] == pytest.approx(covariance[0, 0] - gain * covariance[0, 1])
    products = prepared_for(net).summed_marginals(evidence_of_reals(net, rows[2:]), np.ones(1), ONE).factors[1]
    rest = np.array([1, 2, 3])
    o = np.array([0, 4])
    gain = joint.covariance[np.ix_(rest, o)] @ np.linalg.inv(joint.covariance[np.ix_(o, o)])
    hidden = joint.mu[rest] + gain @ (np.array([0.3, 1.1]) - joint.mu[o])
    z = np.array([1.0, 0.3, *hidden])
    expected = np.outer(z, z)
    expected[2:, 2:] += joint.covariance[np.ix_(rest, rest)] - gain @ joint.covariance[np.ix_(o, rest)]
    np.testing.assert_allclose(products[0], expected, atol=1e-8)


def evidence_of_reals(net, rows):
    places = {v.name: i for i, v in enumerate(net.variables)}
    names = ("x", "y")
    reals = np.array([[row.get(n, np.nan) for n in names] for row in rows])
    return EvidenceRows((), np.zeros((len(rows), 0), np.int32), tuple(places[n] for n in names), reals)


def test_markov_networks_have_no_regressions_and_are_asked_row_by_row():
    net, _, _ = random_case(3)
    undirected = net.markov_net()
    prepared = prepared_for(undirected)
    assert not isinstance(prepared, AnswersRows)
    mixed = undirected.condition({})
    assert not isinstance(prepared_for(mixed), CountsRows)
    with pytest.raises(NotApplicable):
        prepared_for(net).factor_marginals(ss.variables.evidence.Evidence(weights={0: np.ones(2)}))
