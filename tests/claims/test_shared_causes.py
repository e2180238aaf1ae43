"""Posteriors of many causes under many findings that share them, against sums over subsets of the findings.

$$P(\\text{all on}, c_i) = \\sum_{S} (-1)^{|S|} \\prod_{j \\in S} (1 - \\lambda_{j0}) \\prod_i \\ldots$$

The terms cancel, so that they are added in rational arithmetic (Heckerman, 1989).
"""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

import sepset as ss


def diagnosis(seed, num_findings, num_causes, least):
    """Priors of causes, leaks, and the strengths of each finding's causes, which are listed in an order of its own."""
    rng = np.random.default_rng(seed)
    priors = rng.uniform(0.001, 0.2, num_causes)
    strengths = []
    for _ in range(num_findings):
        chosen = rng.choice(num_causes, rng.integers(least, num_causes + 1), replace=False)
        strengths.append({int(i): float(rng.uniform(0.05, 0.95)) for i in chosen})
    return priors, rng.uniform(0.0, 0.01, num_findings), strengths


def network(priors, leaks, strengths):
    causes = [ss.Discrete(f"c{i}") for i in range(len(priors))]
    cpds = [ss.TableCPD(c, [1 - p, p]) for c, p in zip(causes, priors, strict=True)]
    for j, (leak, strength) in enumerate(zip(leaks, strengths, strict=True)):
        cpds.append(ss.NoisyOr(ss.Discrete(f"f{j}"), {causes[i]: s for i, s in strength.items()}, leak=leak))
    return ss.BayesNet(cpds)


def subset_sums(priors, leaks, strengths, found=None):
    """The probability of all findings, and with each cause present; by default all findings are on."""
    present = [Fraction(float(p)) for p in priors]
    absent = [Fraction(float(1 - p)) for p in priors]
    total, joint, whole = Fraction(0), [Fraction(0)] * len(priors), Fraction(1)
    for j in () if found is None else np.flatnonzero(np.array(found) == 0).tolist():
        whole *= 1 - Fraction(float(leaks[j]))
        for i, strength in strengths[j].items():
            present[i] *= 1 - Fraction(strength)
    on = range(len(leaks)) if found is None else np.flatnonzero(found).tolist()
    for subset in itertools.chain.from_iterable(itertools.combinations(on, n) for n in range(len(on) + 1)):
        sign = whole * (-1) ** len(subset)
        for j in subset:
            sign *= 1 - Fraction(float(leaks[j]))
        off = list(present)
        for j in subset:
            for i, strength in strengths[j].items():
                off[i] *= 1 - Fraction(strength)
        product = sign
        for yes, no in zip(off, absent, strict=True):
            product *= yes + no
        total += product
        for i, (yes, no) in enumerate(zip(off, absent, strict=True)):
            joint[i] += product * yes / (yes + no)
    return total, joint


NUM, CAUSES, WIDEST = 45, 30, 14


def mostly_off(on, seed=3):
    """A network whose findings are too many to be on all at once, and these findings."""
    priors, leaks, strengths = diagnosis(seed, NUM, CAUSES, WIDEST)
    parts = priors, leaks, [dict(list(strength.items())[:WIDEST]) for strength in strengths]
    found = [int(j in on) for j in range(NUM)]
    return parts, network(*parts), found, {f"f{j}": x for j, x in enumerate(found)}


def test_findings_that_are_off_couple_no_causes():
    """Their links have one state left; values of the same findings that come later have states of their own."""
    parts, net, *_ = mostly_off(())
    for on in ((0,), (4, 7)):
        _, _, found, given = mostly_off(on)
        total, joint = subset_sums(*parts, found)
        expected = [float(exact / total) for exact in joint]
        marginals = ss.marginals(net, given=given)
        np.testing.assert_allclose([marginals[f"c{i}"].values[1] for i in range(CAUSES)], expected, rtol=1e-9)
        np.testing.assert_allclose(ss.log_probability(net, given=given), np.log(float(total)), rtol=1e-11)
        np.testing.assert_allclose(ss.query(net, "c3", given=given).values[1], expected[3], rtol=1e-9)
    num = 20_000
    drawn = ss.sample(net, num, given=given, seed=1)
    for i, p in enumerate(expected):
        assert abs(np.mean(np.asarray(drawn[f"c{i}"]) == 1) - p) < 6 * np.sqrt(p * (1 - p) / num) + 1 / num


def test_findings_of_few_causes_that_are_off():
    """Their CPDs are tables, which are products at these findings."""
    rng, num = np.random.default_rng(5), 160
    priors, leaks = rng.integers(1, 8, num) / 32, rng.integers(0, 2, 2 * num) / 32  # of few digits: fractions are short
    chosen = [rng.choice(num, 2 + j % 2, replace=False).tolist() for j in range(2 * num)]
    parts = priors, leaks, [{i: int(rng.integers(1, 8)) / 8 for i in causes} for causes in chosen]
    found = [int(j in (4, 7)) for j in range(2 * num)]
    net, given = network(*parts), {f"f{j}": x for j, x in enumerate(found)}
    total, joint = subset_sums(*parts, found)
    expected = [float(exact / total) for exact in joint]
    marginals = ss.marginals(net, given=given)
    np.testing.assert_allclose([marginals[f"c{i}"].values[1] for i in range(num)], expected, rtol=1e-9)
    np.testing.assert_allclose(ss.log_probability(net, given=given), np.log(float(total)), rtol=1e-11)
    np.testing.assert_allclose(ss.query(net, "c3", given=given).values[1], expected[3], rtol=1e-9)
    rows = {name: [x] for name, x in given.items()}
    np.testing.assert_allclose(ss.predict(net, rows, targets=["c8"]).probabilities("c8")[0, 1], expected[8], rtol=1e-9)
    drawn = ss.sample(net, 4_000, given=given, seed=1)
    for i, p in enumerate(expected):
        assert abs(np.mean(np.asarray(drawn[f"c{i}"]) == 1) - p) < 6 * np.sqrt(p * (1 - p) / 4_000) + 1 / 4_000


def test_rows_of_findings_that_are_off():
    """Each row is answered by itself where no program serves all, and the row that couples most is refused first."""
    (parts, net, *_), rows = mostly_off(()), [mostly_off(on)[2] for on in ((), (2,), (4, 7), (1, 2, 3))]
    frame = {f"f{j}": [row[j] for row in rows] for j in range(NUM)}
    exact = [subset_sums(*parts, row) for row in rows]
    found = ss.predict(net, frame, targets=["c3", "c8"])
    for name in ("c3", "c8"):
        expected = [float(joint[int(name[1:])] / total) for total, joint in exact]
        np.testing.assert_allclose(found.probabilities(name)[:, 1], expected, rtol=1e-9)
    with pytest.raises(ss.TooLarge):
        ss.predict(net, {name: [*column, 1] for name, column in frame.items()}, targets=["c3"])


def test_sensitivity_to_findings_that_are_off():
    """Numerator and denominator are linear in each parameter: two values of it tell their slopes."""
    (priors, leaks, strengths), net, found, given = mostly_off((4, 7))
    slopes = {
        row["parameter"]: row["derivative"]
        for row in ss.sensitivity(net, "c3", state=1, given=given).to_frame().to_dict("records")
    }
    total, joint = subset_sums(priors, leaks, strengths, found)
    off = next(j for j in range(NUM) if 3 in strengths[j] and not found[j])
    for j in (off, 7):
        changed = [dict(strength) for strength in strengths]
        changed[j][3] = 0.5
        other = subset_sums(priors, leaks, changed, found)
        step = Fraction(1, 2) - Fraction(strengths[j][3])
        numerator, denominator = (other[1][3] - joint[3]) / step, (other[0] - total) / step
        expected = float((numerator * total - joint[3] * denominator) / total**2)
        name = next(name for name in (f"P(f{j}=1 | c3=1)", f"P(f{j}=0 | c3=1)") if name in slopes)
        np.testing.assert_allclose(slopes[name] * (1 if "=1 |" in name else -1), expected, rtol=1e-8)


def test_expected_counts_of_findings_that_are_off():
    """One step of EM from a start, for the prior of each cause: the mean of its posteriors."""
    (parts, net, *_), rows = mostly_off(()), [mostly_off(on)[2] for on in ((), (2,), (4, 7))]
    frame = {f"f{j}": [row[j] for row in rows] for j in range(NUM)}
    exact = [subset_sums(*parts, row) for row in rows]
    fitted = ss.fit(net, frame, method=ss.EM(start=net), until=ss.Until(1)).model
    for i in range(CAUSES):
        expected = np.mean([float(joint[i] / total) for total, joint in exact])
        np.testing.assert_allclose(fitted.cpd(f"c{i}").values[1], expected, rtol=1e-7)


@pytest.mark.parametrize(
    ("seed", "num_findings", "num_causes", "least"), [(0, 7, 30, 8), (1, 6, 40, 2), (2, 8, 20, 20)]
)
def test_posteriors_of_causes_that_many_findings_share(seed, num_findings, num_causes, least):
    parts = diagnosis(seed, num_findings, num_causes, least)
    net, given = network(*parts), {f"f{j}": 1 for j in range(num_findings)}
    total, joint = subset_sums(*parts)
    found = ss.marginals(net, given=given)
    for i, exact in enumerate(joint):
        np.testing.assert_allclose(found[f"c{i}"].values[1], float(exact / total), rtol=1e-9)
    np.testing.assert_allclose(ss.query(net, "c3", given=given).values[1], float(joint[3] / total), rtol=1e-9)
    np.testing.assert_allclose(ss.log_probability(net, given=given), np.log(float(total)), rtol=1e-11)


@pytest.mark.parametrize("least", [10, 60])
def test_the_width_is_that_of_the_findings_whatever_the_order_of_parents(least):
    net = network(*diagnosis(4, 14, 60, least))
    plan = ss.inference.CliqueTree().prepare(net.problem()).plan((), [net.variables.id(f"f{j}") for j in range(14)])
    assert plan.width <= 15
    posterior = ss.query(net, "c0", given={f"f{j}": 1 for j in range(14)})
    assert posterior.guarantees["marginals"] is ss.Guarantee.EXACT
