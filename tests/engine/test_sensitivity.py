"""Sensitivity functions against enumeration with changed tables: values, slopes, ranges and inverses."""

from __future__ import annotations

import io
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import oracle
import sepset as ss
from sepset.api.questions import sensitivity
from support.blocks import in_blocks
from support.random_models import markov_net, names_of, random_evidence, structured_net, table_net
from support.tolerances import CLOSE

THETAS = (0.0, 0.07, 0.5, 0.93, 1.0)


def changed(table, row, code, theta):
    """The table with one parameter at `theta`, the rest of its row in proportion, or alike where there is none."""
    new = table.reshape(-1, table.shape[-1]).copy()
    others = np.delete(np.arange(table.shape[-1]), code)
    rest = new[row, others].sum()
    new[row, others] = new[row, others] * (1 - theta) / rest if rest > 0 else (1 - theta) / len(others)
    new[row, code] = theta
    return new.reshape(table.shape)


def posterior(factors, cards, name, code, plain):
    if oracle.log_z(factors, cards, plain) == -math.inf:
        return math.nan
    return float(oracle.conditional(factors, cards, [name], plain)[code])


def question(rng, case):
    """A target, a state of it, and possible evidence that leaves the target open."""
    target = case.variables[rng.integers(len(case.variables))]
    for _ in range(20):
        given, plain = random_evidence(rng, case)
        given = {k: f for k, f in given.items() if k not in (target, target.name)}
        plain = {k: w for k, w in plain.items() if k != target.name}
        if oracle.log_z(case.factors, case.cards, plain) > -math.inf:
            return target, int(rng.integers(target.num_states)), given, plain
    return target, int(rng.integers(target.num_states)), {}, {}


@in_blocks("seed", range(25))
def test_functions_pass_through_recomputed_posteriors(seed):
    rng = np.random.default_rng([seed, 53])
    case = table_net(rng)
    if not case.variables:
        return
    target, code, given, plain = question(rng, case)
    found = sensitivity(case.model, target, state=target.states[code], given=given)
    now = posterior(case.factors, case.cards, target.name, code, plain)
    assert found.probability == pytest.approx(now, abs=CLOSE)
    by_child = {scope[-1]: i for i, (scope, _) in enumerate(case.factors)}
    every = [one for v in case.variables for one in found.of(v)]
    assert len(every) == sum(t.size for _, t in case.factors if t.shape[-1] > 1)
    assert (np.diff(np.abs(found.derivatives)) <= 0).all()
    np.testing.assert_array_equal(found.derivatives, [one.derivative for one in found])
    check_listed_once(found, every)
    for i in rng.permutation(len(every))[:12].tolist():
        check_one(every[i], every[i].derivative, by_child, case, target.name, code, plain)


def check_listed_once(found, every):
    """Each parameter or its complement is listed, or moves the posterior nowhere: by the ends of its range."""
    listed, flat = {one.name for one in found}, 0.0
    assert len(listed) == len(found)
    for one in every:
        row = [other for other in every if (other.child, other.parents) == (one.child, one.parents)]
        is_shared = len(row) == 2
        width = max(abs(p - found.probability) for p in map(one.probability, (0.25, 0.75)) if not math.isnan(p))
        assert sum(other.name in listed for other in (row if is_shared else [one])) == int(width > 1e-12), one.name
        assert not (is_shared and one.name in listed and one.value > 0.5)
        flat += (width <= 1e-12) / (2 if is_shared else 1)
    assert found.num_without_effect == flat


def check_one(one, derivative, by_child, case, name, code, plain):
    number = by_child[one.child]
    scope, table = case.factors[number]
    variables = case.model.variables
    assert one.derivative == pytest.approx(derivative, abs=1e-12)
    if not case.model.cpd(one.child).parameters.is_table:
        check_structured(one, number, case, name, code, plain)
        return
    cell = tuple(variables[n].code(one.parents[n]) for n in scope[:-1])
    row = int(np.ravel_multi_index(cell, table.shape[:-1])) if cell else 0
    own = variables[one.child].code(one.state)
    assert one.value == pytest.approx(table[(*cell, own)], rel=1e-12)
    values = []
    for theta in THETAS:
        new = (scope, changed(table, row, own, theta))
        truth = posterior([*case.factors[:number], new, *case.factors[number + 1 :]], case.cards, name, code, plain)
        assert one.probability(theta) == pytest.approx(truth, rel=1e-7, abs=1e-9, nan_ok=True)
        if not math.isnan(truth):
            values.append(truth)
            back = one.theta(truth)
            if back is not None and abs(one.derivative) > 1e-6:
                assert one.probability(back) == pytest.approx(truth, abs=1e-7)
    low, high = one.range
    assert low - 1e-9 <= min(values)
    assert max(values) <= high + 1e-9
    step = 1e-5 if one.value < 0.5 else -1e-5
    difference = (one.probability(one.value + step) - one.probability(one.value)) / step
    assert one.derivative == pytest.approx(difference, rel=1e-2, abs=1e-3)


def rebuilt(cpd, row, column, theta):
    """The table of a structured CPD with one of its own parameters at `theta`, the rest of its row in proportion."""
    own = cpd.parameters
    rows = changed(own.varied.rows, row, column, theta)
    if isinstance(cpd, ss.NoisyOr | ss.NoisyMax):
        every = own.rows.copy()
        every[own.free] = rows
        return own.from_rows(every).to_table().values
    if isinstance(cpd, ss.RuleCPD):
        every = own.probabilities.copy()
        every[own.arranged] = rows
        return own.from_probabilities(every).to_table().values
    return own.from_rows(rows).to_table().values


def check_weight(one, number, case, name, code, plain):
    """At a changed weight one state of the child is more probable by a factor, in the rows of one parent's state."""
    scope, table = case.factors[number]
    variables = case.model.variables

    def truth(change):
        place = tuple(variables[n].code(one.parents[n]) if n in one.parents else slice(None) for n in scope[:-1])
        new = table.copy()
        new[(*place, variables[one.child].code(one.state))] *= math.exp(change)
        factors = [*case.factors[:number], (scope, new / new.sum(axis=-1, keepdims=True)), *case.factors[number + 1 :]]
        return posterior(factors, case.cards, name, code, plain)

    for change in (-3.0, 0.5, 2.0):
        assert one.probability(one.value + change) == pytest.approx(truth(change), rel=1e-7, abs=1e-9, nan_ok=True)
    assert one.derivative == pytest.approx((truth(1e-5) - truth(-1e-5)) / 2e-5, abs=1e-7)


def check_structured(one, number, case, name, code, plain):
    cpd = case.model.cpd(one.child)
    if one.weight:
        check_weight(one, number, case, name, code, plain)
        return
    own = cpd.parameters
    column = own.varied.codes.tolist().index(cpd.child.code(one.state))
    alike = [r for r in range(len(own.varied.rows)) if own.varied_context(r) == one.parents]
    row = next(r for r in alike if own.varied.rows[r, column] == pytest.approx(one.value, abs=1e-12))
    for theta in THETAS:
        new = (case.factors[number][0], rebuilt(cpd, row, column, theta))
        truth = posterior([*case.factors[:number], new, *case.factors[number + 1 :]], case.cards, name, code, plain)
        assert one.probability(theta) == pytest.approx(truth, rel=1e-7, abs=1e-9, nan_ok=True)


@in_blocks("seed", range(40))
def test_structured_cpds_are_varied_by_their_own_parameters(seed):
    rng = np.random.default_rng([seed, 54])
    case = structured_net(rng)
    target, code, given, plain = question(rng, case)
    found = sensitivity(case.model, target, state=target.states[code], given=given)
    assert found.probability == pytest.approx(posterior(case.factors, case.cards, target.name, code, plain), abs=CLOSE)
    by_child = {scope[-1]: i for i, (scope, _) in enumerate(case.factors)}
    assert {one.child for one in found}.isdisjoint(found.left_out)
    every = [one for v in case.variables for one in found.of(v)]
    for i in rng.permutation(len(every))[:6].tolist():
        check_one(every[i], every[i].derivative, by_child, case, target.name, code, plain)


@pytest.fixture
def student():
    return ss.datasets.load("student")


def test_a_likelihood_on_the_target_stays_in_the_product(student):
    factors = [(names_of(c.to_table().scope), c.to_table().values) for c in student.cpds]
    cards = {v.name: v.num_states for v in student.variables}
    given = {"intelligence": ss.Likelihood([0.2, 0.9]), "grade": "C"}
    plain = {"intelligence": np.array([0.2, 0.9]), "grade": 2}
    found = ss.prepare(student).sensitivity("intelligence", state="high", given=given)
    assert found.probability == pytest.approx(posterior(factors, cards, "intelligence", 1, plain))
    number = next(i for i, (scope, _) in enumerate(factors) if scope[-1] == "intelligence")
    one = found.of("intelligence")[0]
    for theta in (0.1, 0.6):
        code = student["intelligence"].code(one.state)
        new = (factors[number][0], changed(factors[number][1], 0, code, theta))
        truth = posterior([*factors[:number], new, *factors[number + 1 :]], cards, "intelligence", 1, plain)
        assert one.probability(theta) == pytest.approx(truth)


def test_impossible_target_states_can_become_possible():
    a, b = ss.Discrete("a"), ss.Discrete("b")
    net = ss.BayesNet(ss.TableCPD(a, [1.0, 0.0]), ss.TableCPD(b, [[0.5, 0.5], [0.25, 0.75]], given=a))
    found = sensitivity(net, "a", state=1, given={"b": 0})
    assert found.probability == 0.0
    one = next(p for p in found.of("a") if p.state == 1)
    assert one.probability(0.5) == pytest.approx(0.25 / 0.75)
    assert one.theta(1 / 3) == pytest.approx(0.5)
    assert one.theta(2.0) is None
    assert one.range == pytest.approx((0.0, 1.0))


def test_limits_where_the_evidence_becomes_impossible():
    a, b = ss.Discrete("a"), ss.Discrete("b")
    net = ss.BayesNet(ss.TableCPD(a, [0.4, 0.6]), ss.TableCPD(b, [[1.0, 0.0], [0.5, 0.5]], given=a))
    one = next(p for p in sensitivity(net, "a", state=1, given={"b": 1}).of("a") if p.state == 1)
    assert math.isnan(one.probability(0.0))
    assert one.range == pytest.approx((1.0, 1.0))
    with pytest.raises(ss.errors.ArgumentError, match="theta= is a number from 0 to 1"):
        one.probability(1.5)
    assert one.theta(0.5) is None


def test_views(student):
    from rich.console import Console

    found = ss.prepare(student).sensitivity("intelligence", state="high", given={"grade": "C"})
    assert repr(found).startswith("SensitivityResult(P(intelligence='high') = 0.0789474, 14 parameters")
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(found)
    assert "P(grade='C' | intelligence='high', difficulty='easy')" in console.export_text()
    assert len(found[:3]) == 3
    assert found[-1] == list(found)[-1]
    assert found.guarantees["marginals"] is ss.Guarantee.EXACT
    assert found.of("sat")
    assert all(p.child == "sat" for p in found.of("sat"))
    with pytest.raises(IndexError):
        found[1000]


@in_blocks("seed", range(10))
def test_entries_of_undirected_models(seed):
    """The posterior at every changed entry, also far above its present value."""
    rng = np.random.default_rng([seed, 55])
    case = markov_net(rng)
    if not case.variables or not oracle.log_z(case.factors, case.cards, {}) > -math.inf:
        return
    target, code, given, plain = question(rng, case)
    found = sensitivity(case.model, target, state=target.states[code], given=given)
    every = [one for v in case.variables for one in found.of(v)]
    assert len(every) == sum(table.size for scope, table in case.factors if scope)
    assert len(found) + found.num_without_effect == len(every)
    by_scope = {}
    for number, (scope, _) in enumerate(case.factors):
        by_scope.setdefault(tuple(scope), []).append(number)
    for one in [every[i] for i in rng.permutation(len(every))[:8].tolist()]:
        assert one.name.startswith("phi(")
        states = {**one.parents, one.child: one.state}
        (numbers,) = [n for scope, n in by_scope.items() if tuple(states) == scope]
        cell = tuple(case.model.variables[n].code(s) for n, s in states.items())
        number = next(n for n in numbers if case.factors[n][1][cell] == pytest.approx(one.value))
        truths = []
        for theta in (0.0, 0.4, 3.0):
            table = case.factors[number][1].copy()
            table[cell] = theta
            new = [*case.factors[:number], (case.factors[number][0], table), *case.factors[number + 1 :]]
            truths.append(posterior(new, case.cards, target.name, code, plain))
            if numbers == [number]:
                assert one.probability(theta) == pytest.approx(truths[-1], rel=1e-7, abs=1e-9, nan_ok=True)
        low, high = one.range
        if numbers == [number] and not np.isnan(truths).any():
            assert low - 1e-9 <= min(truths) <= max(truths) <= high + 1e-9


def test_constraints_have_no_entries():
    bits = [ss.Discrete(f"b{i}") for i in range(9)]
    unary = [ss.Table(b, [1.0, 2.0]) for b in bits]
    net = ss.MarkovNet(*unary, ss.potentials.over_scopes([bits], ss.potentials.Parity()))
    found = sensitivity(net, "b0", state=1, given={"b1": 1})
    every = [one for b in bits for one in found.of(b)]
    assert len(every) == 18
    assert {one.child for one in every} == {b.name for b in bits}


def test_the_neighbors_of_a_wide_logistic_cpd():
    parents, y = [ss.Discrete(f"p{i}") for i in range(30)], ss.Discrete("y")
    wide = ss.LogisticCPD(y, {p: 0.1 + 0.37 * np.sqrt(i) for i, p in enumerate(parents)}, bias=-1.0)
    net = ss.BayesNet(*(ss.TableCPD(p, [0.7, 0.3]) for p in parents), wide)
    given = {"y": 1} | {p.name: 1 for p in parents[2:]}
    found = sensitivity(net, "p0", state=1, given=given)
    assert found.left_out == ()
    one = next(one for one in found.of("p1") if one.state == 1)
    for theta in (0.0, 0.5, 1.0):
        changed_net = net.with_cpds(ss.TableCPD(parents[1], [1.0 - theta, theta]))
        assert one.probability(theta) == pytest.approx(ss.query(changed_net, "p0", given=given)[1], abs=CLOSE)


def test_refusals(student, monkeypatch):
    monkeypatch.setattr("sepset.engine.sensitivity.MOST_JOINT", 1)
    engine = ss.prepare(student)
    with pytest.raises(ss.errors.ScopeError, match="observed already"):
        engine.sensitivity("grade", state="A", given={"grade": "A"})
    with pytest.raises(ss.errors.StateError, match="Did you mean 'high'"):
        engine.sensitivity("intelligence", state="hihg")
    local = engine.sensitivity("intelligence", state="high", given={"sat": ss.Soft([0.5, 0.5])})[0]
    assert local.is_local
    for question in (lambda: local.probability(0.5), lambda: local.range, lambda: local.theta(0.5)):
        with pytest.raises(ss.errors.NotApplicable, match="only the derivative"):
            question()
    a, x = ss.Discrete("a"), ss.Real("x")
    hybrid = ss.BayesNet(ss.TableCPD(a, [0.5, 0.5]), ss.LinearGaussian(x, [0.0, 1.0], covariance=1.0, by=a))
    with pytest.raises(ss.errors.NotApplicable, match="'x' is a real variable"):
        ss.sensitivity(hybrid, "x", state=1)
    b = ss.Discrete("b")
    net = ss.BayesNet(ss.TableCPD(a, [1.0, 0.0]), ss.TableCPD(b, [[0.5, 0.5]] * 2, given=a))
    with pytest.raises(ss.ImpossibleEvidence, match="a=1"):
        ss.prepare(net).sensitivity("b", state=1, given={"a": 1})


def test_a_posterior_that_is_stated_does_not_depend_on_parameters():
    """The target's own soft finding fixes it; a table prints its derivatives."""
    engine = ss.prepare(ss.datasets.load("student"))
    given = {"intelligence": ss.Soft([0.4, 0.6]), "grade": "B"}
    found = engine.sensitivity("intelligence", state="high", given=given)
    assert found.probability == pytest.approx(0.6, abs=1e-11)
    np.testing.assert_allclose(found.derivatives, 0.0, atol=1e-9)
    assert "derivative" in str(found)


A, B, X, Y = ss.Discrete("a"), ss.Discrete("b", 3), ss.Real("x"), ss.Real("y")
CAUSES = [ss.Discrete(f"cause{i}") for i in range(22)]


def beside_reals(order):
    """Two tables, a noisy-or of many causes, and lines by them."""
    cpds = [
        ss.TableCPD(A, [0.3, 0.7]),
        ss.TableCPD(B, [[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]], given=A),
        ss.NoisyOr(ss.Discrete("c"), {A: 0.4, **dict.fromkeys(CAUSES, 0.1)}, leak=0.05),
        *(ss.TableCPD(v, [0.8, 0.2]) for v in CAUSES),
        ss.LinearGaussian(X, [0.0, 1.0, 3.0], covariance=[1.0, 2.0, 0.5], by=B),
        ss.LinearGaussian(Y, [0.0, -1.0], coefficients=[1.0, 0.5], covariance=[1.0, 0.3], given=X, by=ss.Discrete("c")),
    ]
    return ss.BayesNet(*(cpds[i] for i in order(range(len(cpds)))))


@pytest.mark.parametrize("order", [list, reversed])
@pytest.mark.parametrize(
    "given", [{"y": 0.3}, {"x": 1.0, "y": -0.5, "c": 1}, {"y": 0.3, "b": ss.Soft([0.2, 0.3, 0.5])}, {}], ids=str
)
def test_real_findings_weigh_the_states_whose_tables_are_varied(order, given):
    """The probability at another value of an entry is that of the network with the row changed."""
    net = beside_reals(order)
    found = ss.sensitivity(net, "a", state=1, given=given)
    assert set(found.left_out) == {"x", "y"}
    assert found.probability == pytest.approx(ss.query(net, "a", given=given)[1], abs=1e-9)
    theta = 0.55
    for parameter in (*found.of("a"), *found.of("b")):
        table = net.cpd(parameter.child).values.copy()
        row = table[parameter.parents["a"]] if parameter.child == "b" else table
        row *= (1.0 - theta) / (1.0 - row[parameter.state])
        row[parameter.state] = theta
        changed = net.with_cpds(ss.TableCPD(net[parameter.child], table, given=net.cpd(parameter.child).parents))
        assert parameter.probability(theta) == pytest.approx(ss.query(changed, "a", given=given)[1], abs=1e-7)


def test_impossible_findings_beside_reals():
    line = ss.LinearGaussian(X, [0.0, 1.0], covariance=0.0, by=A)
    net = ss.BayesNet(ss.TableCPD(A, [0.3, 0.7]), line, ss.TableCPD(B, [[0.2, 0.3, 0.5]] * 2, given=A))
    with pytest.raises(ss.ImpossibleEvidence):
        ss.sensitivity(net, "b", state=1, given={"x": 0.5})


@pytest.mark.parametrize("given", [{}, {"x": 0.7}])
def test_kernel_densities_weigh_states_where_they_are_observed(given):
    kernel = ss.KernelCPD(X, {"a": [0, 1, 1], "x": [0.0, 1.0, 2.0]}, width=0.8, by=A)
    net = ss.BayesNet(ss.TableCPD(A, [0.3, 0.7]), ss.TableCPD(B, [[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]], given=A), kernel)
    found = ss.sensitivity(net, "b", state=1, given=given)
    (first,) = (p for p in found.of("a") if p.state == 0)
    changed = ss.query(net.with_cpds(ss.TableCPD(A, [0.9, 0.1])), "b", given=given)
    assert first.probability(0.9) == pytest.approx(changed[1], abs=1e-9)
    assert found.left_out == ("x",)


@pytest.mark.parametrize("seed", [0, 11, 26, 31])
def test_derivatives_have_their_digits(seed):
    """Against rational arithmetic: the posterior is a ratio of two lines in each parameter."""
    net = _with_small_entries(seed)
    found = ss.sensitivity(net, "v0", state=1, given={"v3": 1, "v4": 1})
    assert "derivatives" not in found.guarantees
    assert "relative_error" not in found.info
    assert all(abs(float(Fraction(one.derivative) / _derivative(net, one) - 1)) <= 1e-6 for one in found)


def test_parameters_that_matter_only_far_from_their_value_are_listed():
    """P(b = 1 | a = 0) = 1 - 2^-40 hides `a`; at zero the finding would nearly prove it."""
    a, b = ss.Discrete("a"), ss.Discrete("b")
    rows = [[2.0**-40, 1.0 - 2.0**-40], [2.0**-41, 1.0 - 2.0**-41]]
    net = ss.BayesNet(ss.TableCPD(a, [0.5, 0.5]), ss.TableCPD(b, rows, given=a))
    found = ss.sensitivity(net, "a", state=1, given={"b": 1})
    assert found.num_without_effect == 0
    (one,) = [one for one in found if one.parents == {"a": 0}]
    assert one.range[1] == 1.0


def test_contributions_whose_differences_cancel_are_estimates():
    """A noisy-or whose table is computed: P(a | c) hardly depends on the leak, which nearly always acts."""
    a, c = ss.Discrete("a"), ss.Discrete("c")
    leak = 1.0 - 2.0**-30
    net = ss.BayesNet(ss.TableCPD(a, [0.5, 0.5]), ss.NoisyOr(c, {a: 0.3}, leak=leak))
    found = ss.sensitivity(net, "a", state=1, given={"c": 1})
    q, kept = Fraction(0.3), Fraction(2) ** -30
    part, whole = 1 - kept * (1 - q), 2 - kept * (2 - q)
    right = ((1 - q) * whole - (2 - q) * part) / whole**2  # in the leak
    (one,) = [one for one in found.of("c") if not one.parents and one.state == 1]
    error = abs(float(Fraction(one.derivative) / right - 1))
    assert error <= max(1e-9, found.info.get("relative_error", 0.0))


def _with_small_entries(seed):
    rng = np.random.default_rng(seed)
    variables, cpds = [ss.Discrete(f"v{i}", 2) for i in range(5)], []
    for i, child in enumerate(variables):
        parents = [j for j in range(i) if rng.random() < 0.6]
        p = 10.0 ** rng.uniform(-12, -0.01, size=(2,) * len(parents))
        p = 1 - p if rng.random() < 0.3 else p
        cpds.append(ss.TableCPD(child, np.stack([1 - p, p], -1), given=[variables[j] for j in parents]))
    return ss.BayesNet(*cpds)


def _derivative(net, one):
    """The derivative of P(v0 = 1 | v3 = 1, v4 = 1) in one entry of a table, the other of its row in proportion."""
    ends = [_joints(net, one, Fraction(theta)) for theta in (0, 1)]
    theta = Fraction(float(net.cpd(one.child).values[(*one.parents.values(), one.state)]))
    (b, d), (a, c) = ends[0], [end - start for start, end in zip(*ends, strict=True)]
    return (a * d - b * c) / (c * theta + d) ** 2


def _joints(net, one, theta):
    part = whole = Fraction(0)
    for codes in itertools.product((0, 1), repeat=3):
        states = {f"v{i}": code for i, code in enumerate((*codes, 1, 1))}
        weight = Fraction(1)
        for cpd in net.cpds:
            at = {v.name: states[v.name] for v in cpd.parents}
            if cpd.child.name == one.child and at == dict(one.parents):
                weight *= theta if states[cpd.child.name] == one.state else 1 - theta
            else:
                weight *= Fraction(float(cpd.values[(*at.values(), states[cpd.child.name])]))
        whole += weight
        part += weight if codes[0] == 1 else 0
    return part, whole
