"""The best assignment of some variables, all others summed out."""

import itertools

import numpy as np
import pytest

import sepset as ss
from sepset.inference.assignment import AssignmentTask, assign
from sepset.inference.map.marginal import marginalmap
from sepset.inference.map.marginal.marginalmap import MarginalMAP
from support.blocks import in_blocks
from support.marginal import chain, random_question, scored


@pytest.mark.parametrize("search", ["auto", "exact", "local", "branch"])
@in_blocks("seed", range(40))
def test_every_search_by_enumeration(seed, search):
    problem, evidence, over = random_question(np.random.default_rng(seed))
    expected = scored(problem, evidence, over)
    best, task = max(expected.values()), AssignmentTask(problem, evidence, over=over)
    if best == -np.inf:
        with pytest.raises(ss.ImpossibleEvidence):
            assign(MarginalMAP(search), task)
        return
    found = assign(MarginalMAP(search, entries=4), task)
    codes = tuple(found.codes[0][np.searchsorted(task.wiring.free, over)].tolist())
    assert found.log_values[0] == pytest.approx(expected[codes], abs=1e-9)
    assert found.log_values[0] <= best + 1e-9 <= found.bound + 2e-9
    if search != "local":
        assert found.log_values[0] == pytest.approx(best, abs=1e-9)
        assert found.guarantee is ss.Guarantee.EXACT
    assert found.certificate is None or found.certificate.check()


def test_chains_with_inputs_are_wide_for_maxima_only():
    net = chain(40, np.random.default_rng(0))
    over, given = [f"y{i}" for i in range(1, 41)], {"x40": 1}
    with pytest.raises(ss.errors.TooLarge):
        ss.prepare(net, method=ss.CliqueTree(memory=2**20)).map_assignment(over=over, given=given)
    local = ss.map_assignment(net, over=over, given=given, method=MarginalMAP("local"))
    assert local.guarantees["assignment"] is ss.Guarantee.LOCAL_OPTIMUM
    score = ss.log_partition(net, given={**dict(local.assignment), **given})
    assert local.log_value == pytest.approx(float(score), abs=1e-9)
    small = chain(8, np.random.default_rng(1))
    names, given = [f"y{i}" for i in range(1, 9)], {"x8": 1}
    values = {
        states: float(ss.log_partition(small, given={**given, **dict(zip(names, states, strict=True))}))
        for states in itertools.product(range(2), repeat=8)
    }
    proved = ss.map_assignment(small, over=names, given=given, method=MarginalMAP("branch", entries=2))
    assert proved.log_value == pytest.approx(max(values.values()), abs=1e-9)
    assert tuple(proved.assignment[n] for n in names) == max(values, key=values.get)


def test_names_and_orders_do_not_matter():
    net = ss.datasets.load("asia")
    over = ["lung", "smoke", "tub"]
    expected = ss.map_assignment(net, over=over, given={"dysp": "yes"})
    for names in itertools.permutations(over):
        for search in ("local", "branch"):
            found = ss.map_assignment(net, over=names, given={"dysp": "yes"}, method=MarginalMAP(search))
            assert found.log_value == pytest.approx(expected.log_value, abs=1e-9)
            assert dict(found.assignment) == dict(expected.assignment)


def test_runs_resume_start_anywhere_and_bad_settings_are_refused(tmp_path):
    net = chain(12, np.random.default_rng(3))
    over = [f"y{i}" for i in range(1, 13)]
    whole = ss.map_assignment(net, over=over, method=MarginalMAP("branch", entries=2))
    path = tmp_path / "c"
    ss.map_assignment(net, over=over, method=MarginalMAP("branch", entries=2), until=1, checkpoint=path)
    rest = ss.map_assignment(net, over=over, method=MarginalMAP("branch", entries=2), checkpoint=path)
    assert (rest.log_value, rest.bound) == (whole.log_value, whole.bound)
    again = ss.map_assignment(net, over=over, start=whole, method=MarginalMAP("local"), until=1)
    assert again.log_value >= whole.log_value - 1e-9
    with pytest.raises(ss.errors.ArgumentError, match="search"):
        MarginalMAP("best")
    with pytest.raises(ss.errors.NotApplicable, match="MarginalMAP finds one assignment"):
        ss.map_assignment(net, over=over, k=2, method=MarginalMAP())


@pytest.mark.parametrize("search", ["exact", "local", "branch", "auto"])
def test_numbers_may_be_observed(search):
    a, b, y = ss.Discrete("a"), ss.Discrete("b"), ss.Real("y")
    means = np.array([[0.0, 1.0], [2.0, 3.0]])
    net = ss.BayesNet(
        ss.TableCPD(a, [0.3, 0.7]), ss.TableCPD(b, [0.6, 0.4]), ss.LinearGaussian(y, means, covariance=1.0, by=[a, b])
    )
    found = ss.map_assignment(net, over=["a"], given={"y": 1.7}, method=ss.inference.MarginalMAP(search=search))
    densities = np.exp(-0.5 * (1.7 - means) ** 2) / np.sqrt(2.0 * np.pi)
    scores = [0.3, 0.7] * (densities @ [0.6, 0.4])
    assert found.log_value == pytest.approx(np.log(scores.max()))
    assert found.assignment["a"] == int(np.argmax(scores))


def test_sums_that_are_too_large_are_refused_before_any_query(monkeypatch):
    rng, names = np.random.default_rng(0), [f"v{i}" for i in range(1200)]
    edges = [(names[p], names[i]) for i in range(3, 1200) for p in set(rng.integers(0, i, 3).tolist())]
    net = ss.BayesNet.random(ss.DAG(names, edges))
    monkeypatch.setattr(marginalmap, "first_codes", None)
    with pytest.raises(ss.TooLarge):
        ss.map_assignment(net, over=names[::10], method=ss.inference.MarginalMAP(search="local"))


def test_numbers_are_not_searched_for():
    a, y = ss.Discrete("a"), ss.Real("y")
    net = ss.BayesNet(ss.TableCPD(a, [0.3, 0.7]), ss.LinearGaussian(y, [0.0, 1.5], covariance=1.0, by=a))
    with pytest.raises(ss.errors.NotApplicable, match="found real variables: 'y'"):
        ss.map_assignment(net, over=["a", "y"], method=MarginalMAP())
