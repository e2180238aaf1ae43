"""Causes that depend on each other under wide CPDs: small tables whatever the names, against sums written out.

The causes form a chain or a tree, have names at random, and are listed at random. Sums over forty to two hundred of
them go from the leaves to the root: probabilities that no contribution exceeds a level multiply, and numbers of causes
that are present add up. Small networks are enumerated.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.special import expit

import sepset as ss
from support.tolerances import CLOSE, STANDARD_ERRORS

SHAPES = {
    "chain": lambda i: [i - 1] if i else [],
    "tree": lambda i: [(i - 1) // 2] if i else [],
    "grid": lambda i: [j for j in (i - 2, i - 1 if i % 2 else -1) if j >= 0],
}
KINDS = ("or", "max", "logistic")
WEIGHT, BIAS = 0.25, -3.0
LEAKS = {"or": [0.97, 0.03], "max": [0.9, 0.06, 0.04]}


class World:
    """A network of dependent causes with one or more findings, and what its numbers are.

    Args:
        seed: of the numbers, which belong to the places of causes.
        names: seed of their names, and of the order in which everything is listed.
    """

    def __init__(self, shape, kind, num, *, seed=0, names=0, findings=("f",)):
        rng, mix = np.random.default_rng(seed), np.random.default_rng(names)
        self.kind, self.num, self.parents = kind, num, [SHAPES[shape](i) for i in range(num)]
        self.names = [f"c{i}" for i in mix.permutation(num)]
        self.tables = [rng.dirichlet([2, 2], 2 ** len(p)).reshape([2] * len(p) + [2]) for p in self.parents]
        self.effects = rng.dirichlet([30, *[1] * (len(LEAKS.get(kind, [0, 0])) - 1)], (len(findings), num))
        self.causes = [ss.Discrete(name) for name in self.names]
        cpds = [
            ss.TableCPD(v, t, given=[self.causes[j] for j in p])
            for v, t, p in zip(self.causes, self.tables, self.parents, strict=True)
        ]
        cpds += [self.finding(name, self.effects[j], mix) for j, name in enumerate(findings)]
        self.net = ss.BayesNet([cpds[i] for i in mix.permutation(len(cpds))])

    def finding(self, name, effects, mix):
        order = mix.permutation(self.num)
        if self.kind == "or":
            return ss.NoisyOr(ss.Discrete(name), {self.causes[i]: effects[i, 1] for i in order}, leak=LEAKS["or"][1])
        if self.kind == "max":
            rows = {self.causes[i]: [[1, 0, 0], effects[i]] for i in order}
            return ss.NoisyMax(ss.Discrete(name, 3), rows, leak=LEAKS["max"])
        return ss.LogisticCPD(ss.Discrete(name), {self.causes[i]: WEIGHT for i in order}, bias=BIAS)

    def upward(self, place=-1, code=0):
        """P(finding, cause at a place has this code) for each state of the finding, from the leaves to the root."""
        join = np.convolve if self.kind == "logistic" else np.multiply
        messages = [[self.start(i, code_i) for code_i in (0, 1)] for i in range(self.num)]
        for i in reversed(range(self.num)):
            if i == place:
                messages[i][1 - code] = 0.0 * messages[i][1 - code]
            if not self.parents[i]:
                return self.ended(sum(self.tables[i][k] * messages[i][k] for k in (0, 1)))
            (above,) = self.parents[i]
            for state in (0, 1):
                row = [self.tables[i][state, k] * messages[i][k] for k in (0, 1)]
                messages[above][state] = join(messages[above][state], padded(row))
        raise AssertionError

    def start(self, i, code):
        """One cause: the chance that its contribution is at most each level; or how many are present."""
        if self.kind == "logistic":
            return np.eye(2)[code]
        return np.cumsum(self.effects[0, i]) if code else np.ones(len(LEAKS[self.kind]))

    def ended(self, total):
        if self.kind == "logistic":
            on = expit(BIAS + WEIGHT * np.arange(len(total)))
            return np.array([total @ (1 - on), total @ on])
        return np.diff(np.cumsum(LEAKS[self.kind]) * total, prepend=0.0)


def padded(rows):
    """The sum of two arrays, the shorter one with zeros after it."""
    size = max(map(len, rows))
    return sum(np.pad(row, (0, size - len(row))) for row in rows)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("shape", "num"), [("chain", 40), ("chain", 200), ("tree", 63), ("tree", 200)])
def test_posteriors_of_many_dependent_causes(shape, kind, num):
    world = World(shape, kind, num, names=num)
    total = world.upward()
    for code, chance in enumerate(total):
        found = ss.log_probability(world.net, given={"f": code})
        assert found == pytest.approx(np.log(chance), rel=CLOSE, abs=CLOSE)
    for place in (num // 3, num - 1):
        exact = np.stack([world.upward(place, k) for k in (0, 1)], axis=1) / total[:, None]
        for code in (0, len(total) - 1):
            found = ss.query(world.net, world.names[place], given={"f": code}).values
            np.testing.assert_allclose(found, exact[code], rtol=1e-7, atol=CLOSE)


def largest(world, given):
    """The entries of the largest table of a plan of all marginals."""
    net = world.net
    prepared = ss.inference.CliqueTree().prepare(net.problem())
    return prepared.plan((), [net.variables.id(name) for name in given]).largest


@pytest.mark.parametrize(
    ("shape", "num", "kind", "most"),
    [("chain", 40, "or", 8), ("chain", 200, "or", 8), ("chain", 200, "max", 18), ("tree", 200, "or", 16),
     ("tree", 200, "max", 54), ("grid", 100, "or", 16), ("grid", 100, "max", 36),
     ("chain", 40, "logistic", 2 * 39 * 40)],
)  # fmt: skip
def test_tables_have_the_width_of_the_causes_whatever_their_names(shape, num, kind, most):
    assert {largest(World(shape, kind, num, names=seed), ["f"]) <= most for seed in range(4)} == {True}


@pytest.mark.parametrize("shape", ["chain", "grid"])
def test_names_make_no_difference_to_tables(shape):
    assert len({largest(World(shape, "or", 60, names=seed), ["f"]) for seed in range(6)}) == 1


def test_several_findings_add_one_variable_each():
    world = World("chain", "or", 80, names=3, findings=("f", "g", "h"))
    assert largest(world, ["f", "g", "h"]) <= 2**6


class Enumerated:
    """All joint states of a small world and their probabilities, by the CPDs' definitions."""

    def __init__(self, world):
        self.names = [v.name for v in world.net.variables]
        sizes = [v.num_states for v in world.net.variables]
        self.rows = np.array(list(itertools.product(*map(range, sizes))))
        self.p = np.ones(len(self.rows))
        cause = np.stack([self.column(name) for name in world.names], axis=1)
        for i, parents in enumerate(world.parents):
            self.p *= world.tables[i][(*(cause[:, j] for j in parents), cause[:, i])]
        children = [name for name in self.names if name not in world.names]
        for effects, name in zip(world.effects, sorted(children), strict=True):
            self.p *= self.chance(world, effects, cause)[np.arange(len(cause)), self.column(name)]

    def chance(self, world, effects, cause):
        if world.kind == "logistic":
            on = expit(BIAS + WEIGHT * cause.sum(axis=1))
            return np.stack([1 - on, on], axis=1)
        most = np.where(cause[..., None] == 1, np.cumsum(effects, axis=1), 1.0).prod(axis=1)
        return np.diff(np.cumsum(LEAKS[world.kind]) * most, prepend=0.0, axis=1)

    def column(self, name):
        return self.rows[:, self.names.index(name)]

    def given(self, findings):
        """The probabilities of joint states that agree with findings, the others zero."""
        fits = [self.column(name) == code for name, code in findings.items()]
        return np.where(np.all(fits, axis=0), self.p, 0.0) if fits else self.p

    def joint(self, over, findings=()):
        """The probabilities of the joint states of some variables with findings."""
        sizes = [self.column(name).max() + 1 for name in over]
        table = np.zeros(sizes)
        np.add.at(table, tuple(self.column(name) for name in over), self.given(dict(findings)))
        return table


SMALL = [(shape, kind, seed) for shape in SHAPES for kind in KINDS for seed in (0, 1)]


def small(shape, kind, seed):
    world = World(shape, kind, 7, seed=seed, names=seed + 10, findings=("f", "g"))
    assert world.net.line
    return world, Enumerated(world)


@pytest.mark.parametrize(("shape", "kind", "seed"), SMALL)
def test_every_question_is_enumeration(shape, kind, seed):
    world, exact = small(shape, kind, seed)
    a, b, c = world.names[1], world.names[4], world.names[6]
    for told in ({"f": 1}, {"f": 0, "g": 1}, {"g": 1, b: 1}):
        total = exact.given(told).sum()
        assert ss.log_probability(world.net, given=told) == pytest.approx(np.log(total), abs=CLOSE)
        found = ss.marginals(world.net, given=told)
        for name in (a, c):
            np.testing.assert_allclose(found[name].values, exact.joint([name], told) / total, atol=CLOSE)
        pair = ss.query(world.net, [c, a], given=told).distribution.align([world.net[c], world.net[a]])
        np.testing.assert_allclose(pair.values, exact.joint([c, a], told) / total, atol=CLOSE)
        best = np.sort(exact.given(told))[::-1]
        results = ss.map_assignment(world.net, given=told, k=3).assignments
        for result, value in zip(results, best[:3], strict=True):
            codes = [told.get(name, result.get(name)) for name in exact.names]
            (here,) = exact.p[(exact.rows == codes).all(axis=1)]
            assert here == pytest.approx(value, rel=CLOSE)
        two = ss.map_assignment(world.net, over=[a, c], given=told)
        table = exact.joint([a, c], told)
        assert table[two[a], two[c]] == pytest.approx(table.max(), rel=CLOSE)
        value = ss.value_of_information(world.net, a, candidates=[c], given=told)[c]
        assert value == pytest.approx(information(exact.joint([a, c], told)), abs=CLOSE)


def information(joint):
    joint = joint / joint.sum()
    apart = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    return float((joint * np.log(joint / apart)).sum())


@pytest.mark.parametrize("kind", KINDS)
def test_draws_given_a_finding(kind):
    world, exact = small("tree", kind, 0)
    name, num = world.names[3], 4000
    share = np.mean(ss.sample(world.net, num, given={"f": 1, "g": 0}, seed=1)[name])
    table = exact.joint([name], {"f": 1, "g": 0})
    chance = table[1] / table.sum()
    assert abs(share - chance) < STANDARD_ERRORS * np.sqrt(chance * (1 - chance) / num)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_rows_with_gaps(shape, kind):
    world, exact = small(shape, kind, 0)
    rng = np.random.default_rng(5)
    rows = [{name: int(x) for name, x in zip(exact.names, exact.rows[i], strict=True) if rng.random() < 0.5}
            for i in rng.choice(len(exact.rows), 6, p=exact.p)]  # fmt: skip
    data = {name: [row.get(name) for row in rows] for name in exact.names}
    filled = ss.impute(world.net, data, kind="map").dataset
    target = world.names[2]
    found = ss.predict(world.net, data, targets=[target]).probabilities(target)
    for m, row in enumerate(rows):
        codes = [filled[name][m] for name in exact.names]
        (here,) = exact.p[(exact.rows == codes).all(axis=1)]
        assert here == pytest.approx(exact.given(row).max(), rel=CLOSE)
        table = exact.joint([target], {name: code for name, code in row.items() if name != target})
        np.testing.assert_allclose(found[m], table / table.sum(), atol=CLOSE)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(3))
def test_a_step_of_em_counts_contributions(shape, seed):
    """All joint states of causes and of contributions, with those of the leak, in rows with gaps."""
    num = 5
    world = World(shape, "or", num, seed=seed, names=seed + 20)
    states = np.array(list(itertools.product((0, 1), repeat=2 * num + 1)))
    cause, by = states[:, :num], states[:, num:]
    p = np.prod(
        [world.tables[i][(*(cause[:, j] for j in q), cause[:, i])] for i, q in enumerate(world.parents)], axis=0
    )
    on = np.append(world.effects[0, :, 1] * cause, np.full((len(states), 1), LEAKS["or"][1]), axis=1)
    p *= np.where(by == 1, on, 1.0 - on).prod(axis=1)
    finding, rng = by.max(axis=1), np.random.default_rng(seed)
    counts, present = np.zeros(num + 1), np.zeros(num)
    rows = []
    for _ in range(8):
        row = {world.names[i]: int(rng.integers(2)) for i in range(num) if rng.random() < 0.4}
        row |= {"f": int(rng.integers(2))} if rng.random() < 0.8 else {}
        rows.append(row)
        fits = [(finding if name == "f" else cause[:, world.names.index(name)]) == code for name, code in row.items()]
        weights = np.where(np.all(fits, axis=0), p, 0.0) if fits else p
        weights = weights / weights.sum()
        counts, present = counts + weights @ by, present + weights @ cause
    data = {name: [row.get(name) for row in rows] for name in (*world.names, "f")}
    steps = ss.Until(steps=1, tolerance=None)
    methods = [ss.EM(start="model"), ss.StepwiseEM(len(rows), start="model")]
    for method in methods:
        made = ss.fit(world.net, data, method, until=steps).model.cpd("f", kind=ss.NoisyOr)
        assert made.leak == pytest.approx(counts[-1] / len(rows), rel=1e-8)
        for i, cause_i in enumerate(world.causes):
            assert made.effects[cause_i][1] == pytest.approx(counts[i] / present[i], rel=1e-8)
        assert not made.line


@pytest.mark.parametrize("kind", ["or", "max"])
def test_slopes_of_contributions_are_differences(kind):
    """The posterior of a cause at two values of each contribution, by enumeration."""
    world, _ = small("tree", kind, 1)
    name, told, step = world.names[2], {"f": 1, "g": 0}, 1e-6
    found = ss.sensitivity(world.net, name, state=1, given=told).of("f")
    checked = 0
    for one in found:
        (parent,) = one.parents or ("",)
        if not parent or one.parents[parent] == 0 or one.state == 0:
            continue
        place, level = world.names.index(parent), one.state
        values = []
        for change in (step, -step):
            row = world.effects[0, place].copy()
            rest = np.delete(np.arange(len(row)), level)
            moved = row.copy()
            moved[level] += change
            moved[rest] *= (1.0 - moved[level]) / (1.0 - row[level])
            world.effects[0, place] = moved
            table = Enumerated(world).joint([name], told)
            values.append(table[1] / table.sum())
            world.effects[0, place] = row
        assert one.derivative == pytest.approx((values[0] - values[1]) / (2 * step), rel=1e-4, abs=1e-7)
        checked += 1
    assert checked >= world.num


@pytest.mark.parametrize("kind", KINDS)
def test_divergences_of_wide_cpds(kind):
    """Two networks of twenty causes in a chain that differ in the finding alone, by the number of causes present."""
    num = 20
    world = World("chain", kind, num, names=4)
    forward = np.zeros((2, num + 1))
    forward[0, 0], forward[1, 1] = world.tables[0]
    for table in world.tables[1:]:
        moved = table.T @ forward
        forward = np.stack([moved[0], np.roll(moved[1], 1)])
    share, number = forward.sum(axis=0), np.arange(num + 1)

    def chances(low):
        if kind == "logistic":
            on = expit(low + WEIGHT * number)
            return np.stack([1 - on, on], axis=1)
        rows = np.cumsum(np.append(1 - low, [low] if kind == "or" else [0.7 * low, 0.3 * low]))
        return np.diff(np.cumsum(LEAKS[kind]) * rows ** number[:, None], prepend=0.0, axis=1)

    def changed(low):
        child = world.net["f"]
        if kind == "logistic":
            return ss.LogisticCPD(child, dict.fromkeys(world.causes, WEIGHT), bias=low)
        if kind == "or":
            return ss.NoisyOr(child, dict.fromkeys(world.causes, low), leak=LEAKS["or"][1])
        row = [1 - low, 0.7 * low, 0.3 * low]
        return ss.NoisyMax(child, {c: [[1, 0, 0], row] for c in world.causes}, leak=LEAKS["max"])

    p, q = chances(0.2), chances(0.1)
    exact = share @ (p * np.log(p / q)).sum(axis=1)
    one, other = (world.net.with_cpds(changed(low)) for low in (0.2, 0.1))
    assert ss.evaluation.divergence(one, other).total == pytest.approx(exact, rel=1e-8)
