"""Derivatives of posteriors in fractions, by enumeration: entries of 1e-300, zeros, nearly independent variables."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import sepset as ss
from sepset.engine.effects import wholeeffects

LOWEST = {"tiny": -300, "rare": -30, "unlikely": -14, "plain": -3}


def drawn_net(rng):
    """Five variables; rows of very different entries, or all nearly alike."""
    variables, cpds = [ss.Discrete(f"v{i}", int(rng.integers(2, 4))) for i in range(5)], []
    for i, child in enumerate(variables):
        parents = [v for v in variables[:i] if rng.random() < 0.55][-3:]
        shape, kind = (*(p.num_states for p in parents), child.num_states), rng.choice([*LOWEST, "alike"])
        if kind == "alike":
            values = rng.dirichlet(np.ones(shape[-1])) * (1 + 10.0 ** rng.uniform(-15, -6) * rng.normal(size=shape))
        else:
            values = 10.0 ** rng.uniform(LOWEST[kind], 0, size=shape)
        if rng.random() < 0.2:
            values *= rng.random(shape) < 0.8
            values[..., 0] += values.sum(axis=-1) == 0
        cpds.append(ss.TableCPD(child, values / values.sum(axis=-1, keepdims=True), given=parents))
    return ss.BayesNet(*cpds)


def ancestors(net, names):
    found = set()
    while names:
        found |= names
        names = {p.name for name in names for p in net.cpd(name).parents} - found
    return [v.name for v in net.variables if v.name in found]


class Enumerated:
    """P(target = code, given) and P(given) in fractions, with their derivatives in every entry."""

    def __init__(self, net, target, code, given):
        self.net, names = net, ancestors(net, {target, *given})
        self.cpds = [net.cpd(name) for name in names]
        self.tables = [{at: Fraction(float(x)) for at, x in np.ndenumerate(cpd.values)} for cpd in self.cpds]
        self.sums, self.slopes = [Fraction(0)] * 2, [[{} for _ in self.cpds] for _ in range(2)]
        for codes in itertools.product(*(range(net[name].num_states) for name in names)):
            at = dict(zip(names, codes, strict=True))
            if all(at[name] == found for name, found in given.items()):
                self._add(at, (0, 1) if at[target] == code else (1,))

    def _add(self, at, which):
        places = [tuple(at[v.name] for v in (*cpd.parents, cpd.child)) for cpd in self.cpds]
        entries = [table[place] for table, place in zip(self.tables, places, strict=True)]
        for k in which:
            self.sums[k] += math.prod(entries)
            for i, place in enumerate(places):
                part = math.prod(entries[:i] + entries[i + 1 :], start=Fraction(1))
                self.slopes[k][i][place] = self.slopes[k][i].get(place, Fraction(0)) + part

    def derivative(self, child, place):
        """The derivative of the posterior in one entry, the others of its row in proportion."""
        (i,) = [i for i, cpd in enumerate(self.cpds) if cpd.child.name == child] or [None]
        if i is None:
            return Fraction(0)
        others = [(*place[:-1], x) for x in range(self.net[child].num_states) if x != place[-1]]
        rest = sum(self.tables[i][o] for o in others)
        shares = [self.tables[i][o] / rest if rest else Fraction(1, len(others)) for o in others]
        moved = [
            slopes[i].get(place, 0) - sum(s * slopes[i].get(o, 0) for s, o in zip(shares, others, strict=True))
            for slopes in self.slopes
        ]
        part, whole = self.sums
        return (moved[0] * whole - moved[1] * part) / whole**2


def compared(seed):
    rng = np.random.default_rng([seed, 91])
    net = drawn_net(rng)
    names = [v.name for v in net.variables]
    target = str(rng.choice(names))
    given = {name: int(rng.integers(net[name].num_states)) for name in names if name != target and rng.random() < 0.4}
    code = int(rng.integers(net[target].num_states))
    truth = Enumerated(net, target, code, given)
    if not truth.sums[1]:
        return None
    return net, truth, ss.sensitivity(net, target, state=code, given=given)


@pytest.mark.parametrize("seed", range(30))
def test_derivatives_are_those_of_fractions(seed):
    asked = compared(seed)
    if asked is None:
        return
    net, truth, found = asked
    assert "derivatives" not in found.guarantees
    assert found.probability == pytest.approx(float(truth.sums[0] / truth.sums[1]), rel=1e-12)
    for variable in net.variables:
        for one in found.of(variable):
            place = (*(one.parents[p.name] for p in net.cpd(variable).parents), one.state)
            right = truth.derivative(variable.name, place)
            assert abs(Fraction(one.derivative) - right) <= max(Fraction(1e-9) * abs(right), Fraction(5e-324)), one.name


def test_most_of_these_questions_need_whole_numbers(monkeypatch):
    """Without them the same derivatives are estimates, unless rounding does not matter."""
    monkeypatch.setattr(wholeeffects, "MOST_NANOSECONDS", 0.0)
    asked = [one for one in map(compared, range(12)) if one is not None]
    estimates = [found for _, _, found in asked if "derivatives" in found.guarantees]
    assert len(estimates) >= 3
    assert all(found.info["relative_error"] > 1e-9 for found in estimates)


def test_entries_of_factors():
    """The derivative of P(a = 1) in an entry of a potential that hardly depends on `a`."""
    a, b = ss.Discrete("a"), ss.Discrete("b")
    first, second = [0.3, 0.7], [[1.0, 2.0], [1.0 + 2.0**-50, 2.0 - 2.0**-51]]
    found = ss.sensitivity(ss.MarkovNet(ss.Table(a, first), ss.Table([a, b], second)), "a", state=1)
    f, s = [Fraction(x) for x in first], [[Fraction(x) for x in row] for row in second]
    part, whole = f[1] * sum(s[1]), f[0] * sum(s[0]) + f[1] * sum(s[1])
    for one in found.of("a"):
        right = (Fraction(one.state) * sum(s[1]) * whole - sum(s[one.state]) * part) / whole**2
        assert one.derivative == pytest.approx(float(right), rel=1e-15)
    for one in found.of("b"):
        right = (one.parents["a"] * f[1] * whole - f[one.parents["a"]] * part) / whole**2
        assert one.derivative == pytest.approx(float(right), rel=1e-15)


@pytest.mark.parametrize("kind", ["tree", "rules"])
def test_leaves_and_rules_that_hardly_matter(kind):
    """Cells that several entries share, against the same network of tables."""
    a, b, c = (ss.Discrete(name) for name in "abc")
    rows = {0: [0.25, 0.75], 1: [0.25 + 2.0**-45, 0.75 - 2.0**-45]}
    if kind == "tree":
        cpd = ss.TreeCPD(c, ss.cpds.Split(a, {0: rows[0], 1: ss.cpds.Split(b, rows)}))
    else:
        contexts = [({a: 0}, rows[0]), ({a: 1, b: 0}, rows[0]), ({a: 1, b: 1}, rows[1])]
        rules = [({**context, c: x}, row[x]) for context, row in contexts for x in (0, 1)]
        cpd = ss.RuleCPD(c, rules, given=[a, b])
    roots = [ss.TableCPD(a, [0.5, 0.5]), ss.TableCPD(b, [0.625, 0.375])]
    found = ss.sensitivity(ss.BayesNet(*roots, cpd), "b", state=1, given={"c": 1})
    truth = Enumerated(ss.BayesNet(*roots, cpd.to_table()), "b", 1, {"c": 1})
    for one in found.of("a"):
        assert one.derivative == pytest.approx(float(truth.derivative("a", (one.state,))), rel=1e-9)
    assert found.of("a")[0].derivative != 0.0
    (shared,) = [one for one in found.of("c") if one.state == 1 and one.parents == {"a": 0}]
    both = sum(truth.derivative("c", (0, code, 1)) for code in (0, 1))
    assert shared.derivative == pytest.approx(float(both), rel=1e-9)
