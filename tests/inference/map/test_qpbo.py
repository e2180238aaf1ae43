"""Roof duality: bounds and persistent states of any binary model in pairs."""

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog

import sepset as ss
from sepset.inference.assignment import AssignmentTask, assign
from sepset.inference.map.binary import BinaryEnergy
from sepset.inference.map.qpbo import roof_dual
from sepset.variables.evidence import Evidence
from support.blocks import in_blocks
from support.wired import local_polytope, random_binary


@in_blocks("seed", range(300))
def test_bounds_and_persistent_states_by_enumeration(seed):
    rng = np.random.default_rng(seed)
    task = AssignmentTask(random_binary(rng, zeros=0.1 * (seed % 2), integer=seed % 3 == 0), Evidence(), rng=rng)
    wiring = task.wiring
    joint = [np.array(c, np.int64) for c in itertools.product(*(range(int(c)) for c in wiring.plugs.cards))]
    values = [wiring.log_value(codes) for codes in joint]
    if max(values) == -np.inf:
        return
    found = assign(ss.QPBO(), task)
    assert found.log_values[0] <= max(values) + 1e-9
    assert found.bound >= max(values) - 1e-9
    assert found.certificate.check()
    best = [codes for codes, value in zip(joint, values, strict=True) if value >= max(values) - 1e-9]
    kept = found.persistent
    assert any((codes[kept] == found.codes[0][kept]).all() for codes in best)
    for codes, value in zip(joint, values, strict=True):
        assert wiring.log_value(np.where(kept, found.codes[0], codes)) >= value - 1e-9  # never worse
    if found.guarantee is ss.Guarantee.EXACT:
        assert found.log_values[0] == pytest.approx(max(values), abs=1e-9)


@in_blocks("seed", range(60))
def test_the_bound_is_the_linear_program_over_the_local_polytope(seed):
    rng = np.random.default_rng(seed)
    wiring = AssignmentTask(random_binary(rng, one_state=0.0), Evidence()).wiring
    energy = BinaryEnergy.of(wiring, ss.QPBO())
    assert roof_dual(energy).least == pytest.approx(-local_polytope(wiring), abs=1e-7)


def test_improvements_never_hurt_and_are_seeded():
    rng = np.random.default_rng(5)
    spin = ss.Discrete.array("spin", (6, 6), states=(-1, 1))
    net = ss.MarkovNet.ising(spin, rng.normal(size=len(spin.grid_edges())), field=rng.normal(size=(6, 6)) * 0.1)
    exact = ss.map_assignment(net)
    values = [ss.map_assignment(net, method=ss.QPBO(improvements=k), seed=1).log_value for k in (0, 3, 30)]
    assert values == sorted(values)
    assert values[-1] <= exact.log_value + 1e-9
    again = ss.map_assignment(net, method=ss.QPBO(improvements=30), seed=1)
    assert again.log_value == values[-1]
    assert all(exact.assignment[name] == state for name, state in again.persistent.items())


def test_settings_are_checked():
    with pytest.raises(ss.errors.ArgumentError, match="improvements"):
        ss.QPBO(improvements=-1)


def half_integral(fields, products):
    """The maximum of a sum of terms in single variables and of products of two, each product in the hull of its values.

    Reference: Hammer, Hansen & Simeone (1984), whose solutions have only the numbers zero, a half and one.
    """
    n, rows, right = len(fields), [], []
    for k, (i, j) in enumerate(products):
        for signs, most in (({i: -1.0}, 0.0), ({j: -1.0}, 0.0), ({i: 1.0, j: 1.0}, 1.0)):
            row = np.zeros(n + len(products))
            row[n + k] = -1.0 if most else 1.0
            row[list(signs)] = list(signs.values())
            rows.append(row)
            right.append(most)
    gains = np.concatenate([fields, list(products.values())])
    limits = {"A_ub": np.array(rows), "b_ub": right} if rows else {}
    found = linprog(-gains, **limits, bounds=(0.0, 1.0), method="highs-ds")
    return -found.fun, found.x[:n]


@in_blocks("seed", range(60))
def test_persistent_states_are_the_whole_numbers_of_the_half_integral_program(seed):
    rng = np.random.default_rng([seed, 77])
    n = int(rng.integers(2, 7))
    variables, alone = [ss.Discrete(f"v{i}") for i in range(n)], rng.normal(size=(n, 2)) * rng.choice([0.3, 1.0, 2.0])
    pairs = {pair: rng.normal(size=(2, 2)) for pair in itertools.combinations(range(n), 2) if rng.random() < 0.7}
    tables = [ss.Table.from_log([v], logs) for v, logs in zip(variables, alone, strict=True)]
    tables += [ss.Table.from_log([variables[i], variables[j]], logs) for (i, j), logs in pairs.items()]
    fields, constant, products = alone[:, 1] - alone[:, 0], alone[:, 0].sum(), {}
    for (i, j), logs in pairs.items():
        constant += logs[0, 0]
        fields[i] += logs[1, 0] - logs[0, 0]
        fields[j] += logs[0, 1] - logs[0, 0]
        products[i, j] = logs[0, 0] + logs[1, 1] - logs[0, 1] - logs[1, 0]
    bound, numbers = half_integral(fields, products)
    np.testing.assert_allclose(2 * numbers, np.rint(2 * numbers), atol=1e-7)
    found = ss.map_assignment(ss.MarkovNet(*tables), method=ss.QPBO())
    assert found.bound == pytest.approx(constant + bound, abs=1e-7)
    whole = {f"v{i}": round(float(x)) for i, x in enumerate(numbers) if abs(x - round(x)) < 1e-7}
    assert dict(found.persistent) == whole
