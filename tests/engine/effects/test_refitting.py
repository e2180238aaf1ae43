"""Posteriors under soft findings as functions of one parameter, against proportional fitting of the changed joint."""

from __future__ import annotations

import math

import numpy as np
import pytest

import sepset as ss
from sepset.engine.effects.refitting import Refitted

STUDENT = ss.datasets.load("student")
NAMES = STUDENT.variables.names
SAT, LETTER = ss.Soft([0.2, 0.8]), ss.Soft([0.6, 0.4])
GIVENS = {
    "one": {"sat": SAT},
    "with a state": {"sat": SAT, "grade": "C"},
    "two": {"sat": SAT, "letter": LETTER},
    "a joint": {("letter", "sat"): ss.Soft([[0.1, 0.2], [0.3, 0.4]])},
    "with a likelihood": {"sat": SAT, "grade": ss.Likelihood([0.5, 0.2, 0.9])},
    "on the target": {"intelligence": ss.Soft([0.3, 0.7])},
}


def answer(given, tables):
    """The posterior of high intelligence, by fitting the whole joint of a network with these tables."""
    letters = {name: chr(97 + place) for place, name in enumerate(NAMES)}
    axes = ["".join(letters[v.name] for v in (*cpd.parents, cpd.child)) for cpd in STUDENT.cpds]
    values = [tables.get(cpd.child.name, cpd.values) for cpd in STUDENT.cpds]
    table = np.einsum(",".join(axes) + "->" + "".join(letters.values()), *values)
    for _ in range(400):
        for key, finding in given.items():
            names = key if isinstance(key, tuple) else (key,)
            places = [NAMES.index(name) for name in names]
            rest = tuple(i for i in range(len(NAMES)) if i not in places)
            shape = [len(STUDENT[name].states) if name in names else 1 for name in NAMES]
            now = table.sum(axis=rest)
            if isinstance(finding, ss.Soft):
                target = np.transpose(np.reshape(finding.probabilities, [len(STUDENT[n].states) for n in names]),
                                      np.argsort(places))  # fmt: skip
                table = table * (target / now).reshape(shape)
            elif isinstance(finding, str):
                table = table * np.array([float(s == finding) for s in STUDENT[key].states]).reshape(shape)
    if any(isinstance(f, ss.Likelihood) for f in given.values()):
        return likely(given, tables)
    high = STUDENT["intelligence"].states.index("high")
    place = NAMES.index("intelligence")
    return table.sum(axis=tuple(i for i in range(len(NAMES)) if i != place))[high] / table.sum()


def likely(given, tables):
    """The same with a likelihood on the grade, as a query of the changed network."""
    cpds = [
        ss.TableCPD(cpd.child, np.reshape(tables[cpd.child.name], -1), given=cpd.parents)
        for cpd in STUDENT.cpds
        if cpd.child.name in tables
    ]
    return ss.query(STUDENT.with_cpds(*cpds), "intelligence", given=given)["high"]


def varied(parameter, theta):
    """The child's table with one parameter changed and the rest of its row in proportion."""
    cpd = STUDENT.cpd(parameter.child)
    row = tuple(p.states.index(parameter.parents[p.name]) for p in cpd.parents)
    state = cpd.child.states.index(parameter.state)
    table = cpd.values.copy()
    table[row] = table[row] * (1.0 - theta) / (1.0 - table[(*row, state)])
    table[(*row, state)] = theta
    return {parameter.child: table}


@pytest.mark.parametrize("given", GIVENS.values(), ids=GIVENS)
def test_every_value_of_every_parameter(given):
    found = ss.sensitivity(STUDENT, "intelligence", state="high", given=given)
    every = [parameter for name in NAMES for parameter in found.of(name)]
    assert len(every) == 26
    for parameter in every[::3]:
        assert not parameter.is_local
        assert parameter.probability(parameter.value) == pytest.approx(found.probability, abs=1e-9)
        for theta in (0.15, 0.85):
            expected = answer(given, varied(parameter, theta))
            assert parameter.probability(theta) == pytest.approx(expected, abs=1e-8), str(parameter)


def test_ranges_and_solutions():
    found = ss.sensitivity(STUDENT, "intelligence", state="high", given=GIVENS["two"])
    for parameter in found[:4]:
        low, high = parameter.range
        inside = [parameter.probability(t) for t in np.linspace(0.01, 0.99, 21)]
        assert low - 1e-9 <= min(inside)
        assert high + 1e-9 >= max(inside)
        wanted = 0.5 * (found.probability + inside[3])
        theta = parameter.theta(wanted)
        assert parameter.probability(theta) == pytest.approx(wanted, abs=1e-9)
        assert parameter.theta(1.5) is None


def test_the_slope_is_the_derivative_of_the_function():
    found = ss.sensitivity(STUDENT, "intelligence", state="high", given=GIVENS["a joint"])
    for parameter in found[:6]:
        ends = [parameter.probability(parameter.value + d) for d in (-1e-6, 1e-6)]
        assert parameter.derivative == pytest.approx((ends[1] - ends[0]) / 2e-6, abs=1e-6)


def test_entries_of_factors_up_to_infinity():
    net = ss.datasets.load("misconception")
    first, second = net.variables.names[:2]
    given = {second: ss.Soft([0.3, 0.7])}
    found = ss.sensitivity(net, first, state=net[first].states[0], given=given)
    low, high = found[0].range
    assert 0.0 <= low <= found.probability <= high <= 1.0
    assert found[0].probability(found[0].value) == pytest.approx(found.probability, abs=1e-9)
    joint = {(first, second): ss.Soft([[0.1, 0.2], [0.3, 0.4]])}
    third = net.variables.names[2]
    both = ss.sensitivity(net, third, state=net[third].states[0], given=joint)
    assert [len(found) + found.num_without_effect, len(both) + both.num_without_effect] == [16, 16]
    stated = {one.name for one in both.of(second)}  # the joint distribution of the two is given, whatever its factor
    assert both.num_without_effect == len(stated) == 4
    assert stated.isdisjoint(map(str, both))


def test_findings_that_become_impossible():
    one = Refitted(np.array([[0.5, 1.0], [0.0, 0.0]]), np.array([[0.0, 0.0], [0.1, 0.4]]), (np.array([0.5, 0.5]),))
    assert math.isnan(one.probability(0.0))
    assert one.probability(0.7) == pytest.approx(0.5 * 0.5 + 0.5 * 0.25)
    assert one.range(1.0) == pytest.approx((0.375, 0.375))
