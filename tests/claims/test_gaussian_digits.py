"""Answers about Gaussian networks keep their digits, however small the noise is relative to the prior."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import sepset as ss
from support.blocks import in_blocks
from support.tolerances import CLOSE

METHODS = (
    ss.CliqueTree(),
    ss.VariableElimination(),
    ss.inference.ShaferShenoy(),
    ss.inference.BeliefUpdate(),
    ss.inference.BruteForce(),
)
MEAN, VARIANCE = 1000.0, 1e4  # of the first variable of the chain
FOUND = 1100.0  # a finding one standard deviation above the mean


each_method = pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
each_noise = pytest.mark.parametrize("noise", [1e-4, 1e-6, 1e-8, 1e-10, 1e-12])


def chain(noise: float) -> ss.BayesNet:
    """x0 -> x1 -> x2, each a copy of the one before with this noise: x2 has the variance of x0 and twice the noise."""
    x = [ss.Real(f"x{i}") for i in range(3)]
    copies = (
        ss.LinearGaussian(x[i], 0.0, coefficients={x[i - 1]: 1.0}, covariance=noise, given=x[i - 1]) for i in (1, 2)
    )
    return ss.BayesNet(ss.LinearGaussian(x[0], MEAN, covariance=VARIANCE), *copies)


def switched(noise: float) -> ss.BayesNet:
    """The chain under a fair coin that moves the mean of x0 by 500."""
    coin, x = ss.Discrete("coin", ("low", "high")), [ss.Real(f"x{i}") for i in range(3)]
    first = ss.LinearGaussian(x[0], [[MEAN - 250], [MEAN + 250]], covariance=[[[VARIANCE]], [[VARIANCE]]], by=coin)
    return ss.BayesNet(ss.TableCPD(coin, [0.5, 0.5]), first, *chain(noise).cpds[1:])


@each_noise
@each_method
def test_the_mean_and_the_variance_of_a_noisy_copy(method, noise):
    answer = ss.query(chain(noise), "x2", method=method)
    assert float(answer.mean()) == pytest.approx(MEAN, rel=CLOSE)
    assert float(answer.variance()) == pytest.approx(VARIANCE + 2 * noise, rel=CLOSE)


@each_noise
@each_method
def test_the_log_density_of_a_finding(method, noise):
    variance = VARIANCE + 2 * noise
    expected = -0.5 * (math.log(2 * math.pi * variance) + (FOUND - MEAN) ** 2 / variance)
    found = ss.log_probability(chain(noise), given={"x2": FOUND}, method=method)
    assert float(found) == pytest.approx(expected, abs=CLOSE)


@each_noise
@each_method
def test_the_posterior_of_the_source_of_a_noisy_copy(method, noise):
    gain = VARIANCE / (VARIANCE + 2 * noise)
    answer = ss.query(chain(noise), "x0", given={"x2": FOUND}, method=method)
    assert float(answer.mean()) == pytest.approx(MEAN + gain * (FOUND - MEAN), rel=CLOSE)
    assert float(answer.variance()) == pytest.approx((1 - gain) * VARIANCE, abs=CLOSE * VARIANCE)


@each_noise
def test_a_mixture_over_noisy_copies(noise):
    answer = ss.query(switched(noise), "x2")
    assert float(answer.mean()) == pytest.approx(MEAN, rel=CLOSE)
    assert float(answer.variance()) == pytest.approx(250.0**2 + VARIANCE + 2 * noise, rel=CLOSE)


@pytest.mark.parametrize("noise", [1e-10, 1e-12])
def test_an_engine_agrees_with_itself(noise):
    ss.prepare(chain(noise)).check()


@pytest.mark.parametrize("noise", [1e-4, 1e-8, 1e-12])
def test_the_joint_in_moment_form(noise):
    joint = ss.cpds.joint_gaussian(chain(noise).cpds)
    expected = VARIANCE + noise * np.minimum.outer(np.arange(3), np.arange(3))
    np.testing.assert_allclose(joint.covariance, expected, rtol=CLOSE)


# Random networks, in exact arithmetic: every float is a fraction.


class Line:
    """A scalar linear Gaussian: offset + weights . parents, with this variance."""

    def __init__(self, rng: np.random.Generator, place: int) -> None:
        self.parents = [p for p in range(place) if rng.random() < 0.6]
        self.weights = rng.normal(size=len(self.parents)).tolist()
        self.offset = float(rng.normal(scale=10.0))
        self.variance = float(10.0 ** rng.uniform(-8, 4))


def network(lines: list[Line]) -> ss.BayesNet:
    x = [ss.Real(f"x{i}") for i in range(len(lines))]
    return ss.BayesNet(
        *(
            ss.LinearGaussian(
                x[i],
                line.offset,
                coefficients={x[p]: w for p, w in zip(line.parents, line.weights, strict=True)} or None,
                covariance=line.variance,
                given=[x[p] for p in line.parents],
            )
            for i, line in enumerate(lines)
        )
    )


def exact_joint(lines: list[Line]) -> tuple[list[Fraction], list[list[Fraction]]]:
    """The mean and the covariance: cov(x_i, x_j) = sum_p w_p cov(x_p, x_j), and its own variance on the diagonal."""
    mean: list[Fraction] = []
    covariance = [[Fraction(0)] * len(lines) for _ in lines]
    for i, line in enumerate(lines):
        weights = [(p, Fraction(w)) for p, w in zip(line.parents, line.weights, strict=True)]
        mean.append(Fraction(line.offset) + sum(w * mean[p] for p, w in weights))
        for j in range(i):
            covariance[i][j] = covariance[j][i] = sum((w * covariance[p][j] for p, w in weights), Fraction(0))
        covariance[i][i] = Fraction(line.variance) + sum(w * covariance[p][i] for p, w in weights)
    return mean, covariance


def exact_posterior(mean, covariance, found: dict[int, float]):
    """The mean and the covariance given findings, one after the other: a scalar division each."""
    mean, covariance = list(mean), [list(row) for row in covariance]
    for o, value in found.items():
        gains = [row[o] / covariance[o][o] for row in covariance]
        shift, across = Fraction(value) - mean[o], list(covariance[o])
        mean = [m + g * shift for m, g in zip(mean, gains, strict=True)]
        covariance = [
            [c - g * a for c, a in zip(row, across, strict=True)] for row, g in zip(covariance, gains, strict=True)
        ]
    return mean, covariance


def condition_number(covariance, places: list[int]) -> float:
    block = np.array([[float(covariance[i][j]) for j in places] for i in places])
    scale = np.sqrt(np.diag(block))
    return float(np.linalg.cond(block / np.outer(scale, scale))) if places else 1.0


def differences(seed: int) -> list[str]:
    """Where the posteriors of a random network are off by more than 1e-9 of the prior's own scale."""
    rng = np.random.default_rng(seed)
    lines = [Line(rng, place) for place in range(5)]
    mean, covariance = exact_joint(lines)
    places = rng.choice(5, size=rng.integers(0, 3), replace=False).tolist()
    if condition_number(covariance, places) > 1e3:
        return []
    found = {p: float(mean[p]) + float(rng.normal()) * math.sqrt(covariance[p][p]) for p in places}
    means, covariances = exact_posterior(mean, covariance, found)
    try:
        marginals = ss.marginals(network(lines), given={f"x{p}": value for p, value in found.items()})
        answers = {i: marginals[f"x{i}"] for i in range(5) if i not in found}
    except ss.errors.NotClosed:
        return [f"network {seed} is called improper"]
    off = []
    for i, answer in answers.items():
        deviation = math.sqrt(covariance[i][i])
        far = abs(float(answer.mean()) - float(means[i])) > CLOSE * max(deviation, abs(float(means[i])))
        wide = abs(float(answer.variance()) - float(covariances[i][i])) > CLOSE * deviation**2
        off += [f"network {seed}, x{i} given {sorted(places)}"] if far or wide else []
    return off


def test_random_networks_with_noise_of_many_scales():
    assert [place for seed in range(200) for place in differences(seed)] == []


def source_and_copies(prior: float, near: float, noise: float) -> ss.BayesNet:
    """A source with this variance, and two copies of it with these noises."""
    x, y, z = ss.Real("x"), ss.Real("y"), ss.Real("z")
    return ss.BayesNet(
        ss.LinearGaussian(x, 1.0, covariance=prior),
        ss.LinearGaussian(y, -1e6, coefficients={x: 2.5}, covariance=near, given=x),
        ss.LinearGaussian(z, 1000.0, coefficients={x: 1.0}, covariance=noise, given=x),
    )


@each_method
@pytest.mark.parametrize("near", [1e-305, 1e-300, 1e-200, 1e-20])
def test_next_to_no_noise_leaves_the_density_of_the_rest(method, near):
    """Two findings: the first fixes the source, the second is four away from it, with a variance of 2.5."""
    given = {"y": 2.5 * 100 - 1e6, "z": 100 + 1000.0 + 4.0}
    first = -0.5 * (math.log(2 * math.pi * 6.25e4) + (2.5 * 99) ** 2 / 6.25e4)
    second = -0.5 * (math.log(2 * math.pi * 2.5) + 16 / 2.5)
    found = ss.log_probability(source_and_copies(1e4, near, 2.5), given=given, method=method)
    assert float(found) == pytest.approx(first + second, rel=CLOSE)


@pytest.mark.parametrize("noise", [1e-30, 1e-12, 1.0])
@pytest.mark.parametrize("prior", [1e4, 1e150, 1e300])
def test_a_variance_next_to_an_enormous_prior(prior, noise):
    a, b, total, copy = map(ss.Real, ("a", "b", "total", "copy"))
    net = ss.BayesNet(
        ss.LinearGaussian(a, 0.0, covariance=prior),
        ss.LinearGaussian(b, 0.0, covariance=1e4 * noise),
        ss.LinearGaussian(total, 0.0, coefficients={a: 1.0, b: 1.0}, covariance=noise, given=[a, b]),
        ss.LinearGaussian(copy, 0.0, coefficients={a: 1.0}, covariance=1e-300, given=a),
    )
    exact = [Fraction(v) for v in (prior, 1e4 * noise, noise)]
    expected = exact[0] - exact[0] ** 2 / sum(exact)
    for target in ("a", "copy"):
        assert ss.query(net, target, given={"total": 1.0}).variance() == pytest.approx(float(expected), rel=CLOSE)


@pytest.mark.filterwarnings("error")
def test_what_leaves_the_range_of_floats_is_refused_and_nothing_else():
    x, y, z = map(ss.Real, "xyz")
    net = ss.BayesNet(
        ss.LinearGaussian(x, 0.0, covariance=1e300),
        ss.LinearGaussian(y, 0.0, coefficients={x: 1e8}, covariance=2.5, given=x),
        ss.LinearGaussian(z, 0.0, coefficients={x: 1.0}, covariance=1.0, given=x),
    )
    asked = (
        lambda: ss.query(net, "y"),
        lambda: ss.query(net, ["x", "y"]),
        lambda: ss.marginals(net)["y"],
        lambda: ss.predict(net, {"z": [1.0, None]}, targets="y"),
    )
    for ask in asked:
        with pytest.raises(ss.errors.NotClosed, match="leave the range of floating-point numbers"):
            ask()
    assert ss.query(net, "y", given={"z": 1.0}).variance() == pytest.approx(1e16, rel=CLOSE)
    assert ss.query(net, "x").variance() == ss.marginals(net)["x"].variance() == 1e300
    assert ss.predict(net, {"z": [None]}, targets="x").variance("x")[0] == 1e300


def test_a_density_of_numbers_sixty_digits_apart():
    """Observed numbers of 1e50 that differ by noise of 1e-6: z = 0.392 - x gives x, and y is normal around 2.5 x."""
    x, y, z = map(ss.Real, "xyz")
    net = ss.BayesNet(
        ss.LinearGaussian(x, -1e6, covariance=1e100),
        ss.LinearGaussian(y, 1e-7, coefficients={x: 2.5}, covariance=1e-12, given=x),
        ss.LinearGaussian(z, 0.392, coefficients={x: -1.0}, covariance=0.0, given=x),
    )
    given = {"z": 1.6926533508358682e50, "y": -4.2316333770896704e50}
    source = Fraction(0.392) - Fraction(given["z"])
    off = [source + 10**6, Fraction(given["y"]) - Fraction(1e-7) - Fraction(5, 2) * source]
    squares = [away**2 / Fraction(v) for away, v in zip(off, (1e100, 1e-12), strict=True)]
    expected = -0.5 * (2 * math.log(2 * math.pi) + math.log(1e100) + math.log(1e-12) + float(sum(squares)))
    found = ss.log_probability(net, given=given)
    assert float(found) == pytest.approx(expected, rel=CLOSE)
    assert found.guarantees["log_partition"] is ss.Guarantee.EXACT


# Vectors: their coordinates are correlated, so that offsets of one reach the others.


@in_blocks("seed", range(40))
def test_vectors_of_numbers_far_apart(seed):
    rng = np.random.default_rng(seed)
    offset, weights = rng.normal(size=2) * 10.0 ** rng.integers(-5, 25, 2), rng.normal(size=2)
    weights *= 10.0 ** rng.integers(-10, 11, 2)
    noise = np.array([[1.0, 0.75], [0.75, 2.0]]) * 10.0 ** int(rng.integers(-9, 9))
    u, y = ss.Real("u"), ss.Vector("y", 2)
    line = ss.LinearGaussian(y, offset, coefficients={u: weights[:, None]}, covariance=noise, given=u)
    net = ss.BayesNet(ss.LinearGaussian(u, 3.0, covariance=2.0), line)
    b, c = [Fraction(1), *map(Fraction, weights.tolist())], noise.tolist()
    mean = [Fraction(3), *(Fraction(a) + 3 * w for a, w in zip(offset.tolist(), b[1:], strict=True))]
    own = [[Fraction(c[i - 1][j - 1]) if i and j else Fraction(0) for j in range(3)] for i in range(3)]
    covariance = [[2 * b[i] * b[j] + own[i][j] for j in range(3)] for i in range(3)]
    answer = ss.query(net, y)
    for i in range(2):
        assert near(answer.mean()[i], mean[i + 1], covariance[i + 1][i + 1])
        assert answer.variance()[i] == pytest.approx(float(covariance[i + 1][i + 1]), rel=1e-9)
    values = (np.array([float(m) for m in mean[1:]]) + rng.normal(size=2) * float(noise[0, 0]) ** 0.5).tolist()
    known = {1: values[0], 2: values[1]}
    means, covariances = exact_posterior(mean, covariance, known)
    found, log = ss.query(net, u, given={y: values}), ss.log_probability(net, given={y: values})
    assert near(found.mean(), means[0], covariances[0][0])
    assert found.variance() == pytest.approx(float(covariances[0][0]), rel=1e-9)
    assert log.value == pytest.approx(exact_log_density(mean, covariance, known), rel=1e-9, abs=1e-9)
    assert set(found.guarantees.values()) == set(log.guarantees.values()) == {ss.Guarantee.EXACT}


def near(found: float, mean: Fraction, variance: Fraction) -> bool:
    """Whether a mean is right to nine digits, of its own or of the deviation."""
    return (Fraction(float(found)) - mean) ** 2 <= Fraction(1e-18) * max(mean**2, variance)


def exact_log_density(mean, covariance, found: dict[int, float]) -> float:
    """The sum over the findings of the log density of each given those before it."""
    total, known = 0.0, {}
    for o, value in found.items():
        means, covariances = exact_posterior(mean, covariance, known)
        variance, apart = covariances[o][o], Fraction(value) - means[o]
        total -= 0.5 * (math.log(2.0 * math.pi) + math.log(variance) + float(apart**2 / variance))
        known[o] = value
    return total


# Rows: the same questions in batches.


class WideLine(Line):
    """The same with numbers of sizes that are many powers of ten apart."""

    def __init__(self, rng: np.random.Generator, place: int) -> None:
        super().__init__(rng, place)
        self.weights = [w * 10.0 ** int(rng.integers(-30, 31)) for w in self.weights]
        self.offset *= 10.0 ** int(rng.integers(-30, 31))
        self.variance = float(10.0 ** rng.integers(-30, 31))


def test_rows_of_numbers_far_apart():
    exact = [rows_are_exact(seed) for seed in range(250)]
    assert np.mean(exact) > 0.95


def rows_are_exact(seed: int) -> bool:
    """Whether predictions are called exact; those that are have six digits, in means, variances and log densities."""
    rng = np.random.default_rng(seed)
    lines = [WideLine(rng, place) for place in range(5)]
    mean, covariance = exact_joint(lines)
    places, row = sorted(rng.choice(5, size=rng.integers(1, 4), replace=False).tolist()), []
    for line in lines:
        center = line.offset + sum(w * row[p] for p, w in zip(line.parents, line.weights, strict=True))
        row.append(float(center + math.sqrt(line.variance) * rng.normal()))
    known = {p: row[p] for p in places}
    hidden = [i for i in range(5) if i not in known]
    found = ss.predict(network(lines), {f"x{p}": [x, x] for p, x in known.items()}, targets=[f"x{i}" for i in hidden])
    assert found.info["residual"] >= 0.0
    if ss.Guarantee.ESTIMATE in found.guarantees.values():
        return False
    means, covariances = exact_posterior(mean, covariance, known)
    for i in hidden:
        apart = (Fraction(float(found.mean(f"x{i}")[1])) - means[i]) ** 2
        assert apart <= Fraction(1e-12) * max(means[i] ** 2, covariances[i][i])
        assert abs(Fraction(float(found.variance(f"x{i}")[1])) / covariances[i][i] - 1) <= Fraction(1e-6)
    log = exact_log_density(mean, covariance, known)
    assert found.log_probability[1] == pytest.approx(log, rel=1e-6, abs=1e-6)
    return True


def test_predictions_of_states_and_numbers_say_that_they_are_exact():
    """The moments of a mixture are exact, and so are posteriors of states."""
    found = ss.predict(switched(1e-4), {"x2": [900.0, 1100.0]}, targets=["coin", "x0"])
    assert set(found.guarantees.values()) == {ss.Guarantee.EXACT}
    assert found.info["residual"] < 1e-6
