"""Best assignments by relaxations of concave functions, against enumeration and against frontiers of partial ones."""

from __future__ import annotations

import itertools
import math
import re

import numpy as np
import pytest

import sepset as ss
from sepset.base.threads import OutOfTime, OutOfWork, ending_at, work_left, working
from sepset.factors.table import Table
from sepset.inference import costs
from sepset.inference.buckets import relaxed
from sepset.inference.buckets.frontier import FrontierSearch
from sepset.inference.buckets.relaxed import RelaxedSearch
from support.tolerances import CLOSE

KINDS = ("noisy", "leaky", "graded", "logistic", "softmax", "steep")


def made(rng, vs, kind, number):
    """A conditional of some variables, with the code of its child."""
    chosen = [vs[i] for i in rng.permutation(len(vs))[: rng.integers(2, len(vs) + 1)]]
    if kind in ("noisy", "leaky"):
        effects = {v: np.r_[0.0, rng.uniform(0.05, 1.0, v.num_states - 1)] for v in chosen}
        return ss.NoisyOr(ss.Discrete(f"y{number}"), effects, leak=0.01 if kind == "leaky" else 0.0), 1
    if kind == "graded":
        effects = {v: rng.dirichlet(np.ones(3), v.num_states) for v in chosen}
        return ss.NoisyMax(ss.Discrete(f"y{number}", 3), effects), int(rng.integers(1, 3))
    child = ss.Discrete(f"y{number}", 4 if kind == "softmax" else 2)
    scale = 300.0 if kind == "steep" else 2.0
    weights = {v: scale * rng.normal(size=(v.num_states, child.num_states)) for v in chosen}
    return ss.LogisticCPD(child, weights, bias=np.zeros(child.num_states)), 1


def log_probability(cpd, code, columns, num):
    """The log probability of the child's code, in plain numbers that do not underflow."""
    if isinstance(cpd, ss.LogisticCPD):
        logs = np.tile(cpd.bias, (num, 1)) + sum(w[columns[v]] for v, w in zip(cpd.parents, cpd.weights, strict=True))
        return logs[:, code] - np.logaddexp.reduce(logs, axis=1)
    level = list(cpd.influences.order).index(code)
    rows = [np.tile(cpd.influences.leak, (num, 1))]
    rows += [e[columns[v]] for v, e in zip(cpd.parents, cpd.influences.effects, strict=True)]
    upto = np.prod([row[:, : level + 1].sum(axis=1) for row in rows], axis=0)
    below = np.prod([row[:, :level].sum(axis=1) for row in rows], axis=0)
    with np.errstate(divide="ignore"):
        return np.log(np.where(upto - below > 1e-15, upto - below, 0.0))


def question(seed, kinds, coupled=False):
    """Variables, tables and functions, with the log value of every assignment."""
    rng = np.random.default_rng(seed)
    vs = [ss.Discrete(f"c{i}", 3 if i % 4 == 2 else 2) for i in range(8)]
    tables = [Table((v,), rng.dirichlet(np.ones(v.num_states))) for v in vs]
    tables.append(Table((), 0.25))
    if coupled:
        tables += [Table((vs[a], vs[b]), rng.gamma(1.0, size=(vs[a].num_states, vs[b].num_states))) for a, b in coupled]
    cpds = [made(rng, vs, kind, number) for number, kind in enumerate(kinds)]
    codes = np.indices([v.num_states for v in vs]).reshape(len(vs), -1)
    columns = dict(zip(vs, codes, strict=True))
    total = np.full(codes.shape[1], math.log(0.25))
    for table in tables[: len(vs)] + tables[len(vs) + 1 :]:
        total += np.log(table.values[tuple(columns[v] for v in table.scope)])
    for cpd, code in cpds:
        total += log_probability(cpd, code, columns, len(total))
    functions = [cpd.concave({cpd.child: code}) for cpd, code in cpds]
    return vs, tables, functions, codes.T, total


def check(vs, tables, functions, codes, values, k):
    search = FrontierSearch(tables, functions, vs)
    assert search.relaxed is not None
    found = search.run(k)
    expected = np.sort(values[values > -np.inf])[::-1][:k]
    assert found.is_proved
    np.testing.assert_allclose(found.log_values, expected, rtol=1e-9, atol=1e-9)
    places = [int(np.flatnonzero((codes == [row[v] for v in vs]).all(axis=1))[0]) for row in found.assignments]
    assert len(set(places)) == len(places)
    np.testing.assert_allclose(values[places], expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("first", KINDS)
def test_best_assignments_are_those_of_enumeration(first, seed):
    asked = question(seed, (first, *KINDS[seed : seed + 3], first))
    for k in (1, 5, 60):
        check(*asked, k)


@pytest.mark.parametrize("seed", range(3))
def test_coupled_variables_are_one(seed):
    asked = question(seed, ("leaky", "noisy", "logistic"), coupled=[(0, 1), (1, 2), (5, 6)])
    for k in (1, 7):
        check(*asked, k)
    wide = question(seed, ("leaky", "noisy"), coupled=[(i, i + 1) for i in range(7)])
    assert FrontierSearch(wide[1], wide[2], wide[0]).relaxed is None


def test_only_assignments_above_a_value():
    vs, tables, functions, _, values = question(1, ("leaky", "leaky", "logistic"))
    top = values.max()
    assert FrontierSearch(tables, functions, vs).run(1, above=top + 1e-6).assignments == []
    assert len(FrontierSearch(tables, functions, vs).run(1, above=top - 1e-6).assignments) == 1


def test_impossible_findings_have_no_assignment():
    vs = [ss.Discrete(f"c{i}") for i in range(3)]
    cpds = [ss.NoisyOr(ss.Discrete(f"y{j}"), dict.fromkeys(vs, 0.5)) for j in range(2)]
    tables = [Table((v,), [1.0, 0.0]) for v in vs]
    found = FrontierSearch(tables, [cpd.concave({cpd.child: 1}) for cpd in cpds], vs).run(2)
    assert (found.assignments, found.is_proved) == ([], True)


def diagnosis(num_causes, num_findings, seed=0, wide=(10, 30)):
    """Two layers: rare causes, and findings with a tenth of them as parents."""
    rng = np.random.default_rng(seed)
    causes = [ss.Discrete(f"c{i}") for i in range(num_causes)]
    cpds = [ss.TableCPD(v, [1 - p, p]) for v, p in zip(causes, rng.uniform(0.01, 0.1, num_causes), strict=True)]
    for j in range(num_findings):
        chosen = rng.choice(num_causes, size=rng.integers(wide[0], wide[1] + 1), replace=False)
        effects = {causes[i]: float(rng.uniform(0.05, 0.9)) for i in chosen}
        cpds.append(ss.NoisyOr(ss.Discrete(f"f{j}"), effects, leak=0.01))
    return ss.BayesNet(*cpds), {f"f{j}": 1 for j in range(num_findings)}


def test_many_findings_that_share_rare_causes():
    """The best explanation is no worse than any that differs in two causes, and its log value is that of the rows."""
    net, given = diagnosis(100, 18)
    found = ss.map_assignment(net, given=given, k=3)
    assert str(found.guarantees["assignment"]) == "exact"
    assert found.log_values[0] > found.log_values[1] > found.log_values[2]
    names = [v.name for v in net.variables if v.name not in given]
    base = np.array([int(found.assignment[name]) for name in names])
    rows = [base]
    for i in range(len(names)):
        for j in range(i, len(names)):
            row = base.copy()
            row[[i, j]] = 1 - row[[i, j]]
            rows.append(row)
    codes = np.array(rows)
    total = np.zeros(len(codes))
    columns = {net[name]: codes[:, i] for i, name in enumerate(names)}
    columns |= {net[name]: np.ones(len(codes), np.int64) for name in given}
    for cpd in net.cpds:
        total += cpd.log_probability({v: columns[v] for v in cpd.scope})
    np.testing.assert_allclose(total[0], found.log_values[0], rtol=CLOSE)
    assert total.max() <= total[0] + 1e-9
    np.testing.assert_array_less(np.sort(total)[::-1][1:2], found.log_values[1] + 1e-9)


def test_many_wide_findings_are_proved_with_work_to_spare():
    net, given = diagnosis(200, 30, wide=(30, 60))
    with working(0.4 * costs.NANOSECONDS_OF_A_SEARCH):
        assert str(ss.map_assignment(net, given=given).guarantees["assignment"]) == "exact"


def test_all_parts_of_a_question_share_one_limit(monkeypatch):
    """What is counted in an unproved search, and in all that is tried besides, is at most the work of one."""
    net, given = diagnosis(400, 60, wide=(30, 60))
    monkeypatch.setattr(costs, "NANOSECONDS_OF_A_SEARCH", 1e8)
    with working(1e12):
        with pytest.raises(ss.TooLarge, match="not certain after a search"):
            ss.map_assignment(net, given=given)
        assert 1e12 - work_left() < 1.5e8


def test_a_search_without_work_for_its_start_is_not_prepared(monkeypatch):
    vs, tables, functions, _, _ = question(2, ("leaky", "noisy"))
    monkeypatch.setattr(relaxed, "causes_of", None)
    with working(1e4):
        with pytest.raises(OutOfWork):
            RelaxedSearch.of(tables, functions, vs)
        assert work_left() == 1e4


def test_independent_causes_need_no_plan(monkeypatch):
    net, given = diagnosis(30, 6, seed=5)
    expected = ss.map_assignment(net, given=given)
    monkeypatch.setattr("sepset.inference.maxima.make_plan", None)
    monkeypatch.setattr("sepset.inference.maxima.rewritten", None)
    given |= {"c3": 0, "c4": ss.Likelihood([0.2, 0.9])}
    found = ss.map_assignment(net, given=given)
    codes = {v.name: int(found.assignment.get(v.name, given.get(v.name))) for v in net.variables}
    total = sum(cpd.log_probability({v: np.array([codes[v.name]]) for v in cpd.scope})[0] for cpd in net.cpds)
    assert found.log_value == pytest.approx(total + math.log([0.2, 0.9][codes["c4"]]), rel=1e-12)
    assert found.log_value <= expected.log_value
    with pytest.raises(TypeError, match="not callable"):  # the other way, where causes depend on each other
        ss.map_assignment(ss.BayesNet(*coupled_causes(net)), given={"f0": 1, "f1": 1, "f2": 1, "f3": 1})


def coupled_causes(net):
    """The CPDs of the same network, in which each cause but the first depends on the one before."""
    causes = [cpd for cpd in net.cpds if not cpd.parents]
    yield causes[0]
    yield from (ss.TableCPD(b.child, [[0.9, 0.1], [0.7, 0.3]], given=[a.child]) for a, b in itertools.pairwise(causes))
    yield from (cpd for cpd in net.cpds if cpd.parents)


def test_a_search_without_proof_names_its_bound_and_goes_on_with_more_time(monkeypatch):
    net, given = diagnosis(60, 12, seed=3)
    exact = ss.map_assignment(net, given=given).log_value
    monkeypatch.setattr(relaxed, "MOST_WORK", 1)
    with pytest.raises(ss.TooLarge, match="until=Until") as refused:
        ss.map_assignment(ss.BayesNet(*net.cpds), given=given)
    best, bound = map(
        float, re.search(r"log value (\S+), and none have more than (\S+)\.", str(refused.value)).groups()
    )
    assert best <= exact + 1e-4 <= bound + 2e-4
    assert math.isfinite(bound)
    longer = ss.map_assignment(ss.BayesNet(*net.cpds), given=given, until=ss.Until(seconds=600))
    np.testing.assert_allclose(longer.log_value, exact, rtol=CLOSE)


def test_a_search_ends_with_the_time():
    vs, tables, functions, _, values = question(2, ("leaky", "softmax", "leaky"))
    search = FrontierSearch(tables, functions, vs)
    with ending_at(-math.inf), pytest.raises(OutOfTime):
        search.run()
    assert search.run().log_values[0] == pytest.approx(values.max())
