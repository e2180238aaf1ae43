"""EM raises what it should, ends where it should, and finds the published numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose

from sepset.api.learning import fit
from sepset.cpds.priors.dirichlet import BDeu, Dirichlet
from sepset.cpds.table import TableCPD
from sepset.data.dataset import Dataset
from sepset.errors import ArgumentError, ImpossibleEvidence, NotApplicable
from sepset.graphs.graph import DAG
from sepset.inference.exact.elimination import VariableElimination
from sepset.inference.iterate import Until
from sepset.inference.result import Guarantee, Status
from sepset.learning.estimation.estimators import MLE
from sepset.learning.incomplete.em import EM, HardEM, IncrementalEM, dealt, one_pass
from sepset.learning.incomplete.gradient import GradientAscent
from sepset.learning.incomplete.run import SHORT_RUN, EMTask
from sepset.learning.incomplete.stepwise import StepwiseEM
from sepset.learning.task import Task
from sepset.models.bayesnet import BayesNet
from sepset.models.defaults import template_of
from sepset.variables.variable import Discrete
from support.random_incomplete import completions, expected_counts, incomplete, log_likelihood

ONE_PART_IN_A_TRILLION = 1e-12
ACCELERATED = [EM(acceleration=name) for name in ("squarem", "aitken", "conjugate")]

TEXT = [(1, 1)] * 13 + [(1, 0)] * 16 + [(0, 1)] * 9 + [(0, 0)] * 4 + [(None, 1)]
"""The counts of Koller & Friedman, section 19.1.3, with X missing in one row (x0, y1)."""


def text_rows():
    return {"x": [x for x, _ in TEXT], "y": [y for _, y in TEXT]}


def never_falls(trace, before):
    """Not by more than a trillionth; rows that are certain have a log-likelihood of zero, up to one rounding each."""
    values = np.concatenate([[before], trace])
    rounding = 8 * 16 * np.finfo(float).eps
    assert (np.diff(values) >= -ONE_PART_IN_A_TRILLION * np.abs(values[1:]) - rounding).all(), np.diff(values)


@pytest.mark.parametrize(
    "method",
    [EM(), *ACCELERATED, EM(start="random"), EM(start="data"), IncrementalEM(3), EM(restarts=4)],
)
def test_the_text_example_reaches_its_fractions(method):
    found = fit(DAG.parse("x -> y"), text_rows(), method, until=Until(steps=40, tolerance=None))
    x, y = found.model.cpd("x").values, found.model.cpd("y").values
    assert_allclose(x[1], 651 / 946, rtol=1e-12)
    assert_allclose(y[:, 1], [207 / 295, 299 / 651], rtol=1e-12)
    posterior = x * y[:, 1] / (x @ y[:, 1])
    assert_allclose(posterior[1], 13 / 22, rtol=1e-12)
    assert_allclose(found.log_likelihood, -54.592212, atol=5e-7)
    assert found.status is Status.STEP_LIMIT


METHODS = [EM(start="model"), *(replace(m, start="model") for m in ACCELERATED), IncrementalEM(2, start="model"),
           HardEM(start="model")]  # fmt: skip


@given(incomplete(), st.sampled_from(METHODS), st.sampled_from([None, Dirichlet(0.3), BDeu(2.0)]))
@settings(max_examples=80)
def test_no_step_lowers_the_objective(case, method, prior):
    net, rows = case
    chosen = replace(method, prior=prior)
    em_task = EMTask.of(Task(net, rows), prior, threads=1)
    rng = np.random.default_rng(0)
    point = chosen.init(em_task, rng)
    for _ in range(8):
        before = point.objective
        point, info = chosen.step(em_task, point, rng)
        assert info.objective == point.objective
        if before > -np.inf:
            never_falls([point.objective], before)


@given(incomplete())
@settings(max_examples=40)
def test_one_step_is_the_ratio_of_expected_counts(case):
    net, rows = case
    found = fit(net, rows, EM(start="model"), until=1)
    for cpd in net.cpds:
        counts = expected_counts(net, rows)[cpd.child.name]
        sums = counts.sum(axis=-1, keepdims=True)
        uniform = np.full(counts.shape, 1.0 / cpd.child.num_states)
        wanted = np.divide(counts, sums, out=uniform, where=sums > 1e-25)
        assert_allclose(found.model.cpd(cpd.child).values, wanted, atol=1e-11)
    assert_allclose(found.log_likelihood, log_likelihood(found.model, rows), rtol=1e-11, atol=1e-11)


@given(incomplete(), st.sampled_from(["softmax", "theta"]))
@settings(max_examples=30)
def test_priors_add_their_pseudo_counts(case, parameterization):
    net, rows = case
    found = fit(net, rows, EM(prior=Dirichlet(1.5), parameterization=parameterization, start="model"), until=1)
    added = 1.5 if parameterization == "softmax" else 0.5
    for cpd in net.cpds:
        counts = expected_counts(net, rows)[cpd.child.name] + added
        assert_allclose(found.model.cpd(cpd.child).values, counts / counts.sum(axis=-1, keepdims=True), atol=1e-11)


@given(incomplete(max_variables=3, num_rows=6))
@settings(max_examples=25)
def test_fixed_points_are_stationary(case):
    net, rows = case
    found = fit(net, rows, EM(start="random", threads=1), until=Until(steps=1500, tolerance=1e-15)).model
    counts = expected_counts(found, rows)
    for cpd in found.cpds:
        M = counts[cpd.child.name]
        slope = M - cpd.values * M.sum(axis=-1, keepdims=True)  # the gradient in softmax parameters
        assert np.abs(slope).max() < 2e-5 * rows.num_rows


@given(incomplete(max_variables=3))
@settings(max_examples=20)
def test_complete_rows_take_one_step_to_maximum_likelihood(case):
    net, _ = case
    rows = net.sample(20, seed=1)
    found = fit(net, rows, EM(start="model"))
    wanted = fit(net, rows, MLE(unseen="uniform"))
    for cpd in net.cpds:
        assert_allclose(found.model.cpd(cpd.child).values, wanted.model.cpd(cpd.child).values, atol=1e-12)
    assert found.num_iterations <= 2
    assert_allclose(found.log_likelihood, wanted.log_likelihood, rtol=1e-12, atol=1e-12)


@given(incomplete(num_rows=6), st.integers(1, 4))
@settings(max_examples=25)
def test_free_energy_is_a_lower_bound_that_is_met(case, parts):
    net, rows = case
    em_task = EMTask.of(Task(net, rows), threads=1)
    method = IncrementalEM(parts, start="model")
    point = method.init(em_task, np.random.default_rng(0))
    assert_allclose(point.objective, log_likelihood(net, rows), rtol=1e-10, atol=1e-10)
    for _ in range(4):
        point, _ = method.step(em_task, point, np.random.default_rng(0))
        assert point.objective <= log_likelihood(point.model, rows) + 1e-9


@given(incomplete(num_rows=6))
@settings(max_examples=25)
def test_hard_em_terminates_where_completions_repeat(case):
    net, rows = case
    found = fit(net, rows, HardEM(start="model"), until=Until(steps=200, tolerance=None))
    assert found.status is Status.CONVERGED
    best = sum(np.log(max(p for _, p in completions(found.model, row))) for row in rows.rows())
    assert_allclose(found.trace[-1], best, rtol=1e-10, atol=1e-10)
    assert_allclose(found.log_likelihood, log_likelihood(found.model, rows), rtol=1e-10, atol=1e-10)


def latent_rows(num_rows=600):
    dag = DAG.parse("h -> a; h -> b; h -> c; h -> d")
    net = BayesNet.random(dag, states={"h": 2, "a": 3, "b": 2, "c": 2, "d": 2}, seed=5)
    return dag, net, net.sample(num_rows, seed=1).select(["a", "b", "c", "d"])


def test_hidden_variables_break_symmetry_and_beat_independence():
    dag, _, rows = latent_rows()
    found = fit(dag, rows, EM(), variables=[Discrete("h", 2)])
    alone = fit(DAG.parse("a; b; c; d"), rows)
    assert found.log_likelihood > alone.log_likelihood + 20
    assert found.info["hidden"] == "h"
    assert found.info["starting_points"] == 5
    assert found.guarantees["parameters"] is Guarantee.STATIONARY


def test_a_symmetric_start_stays_symmetric():
    _, net, rows = latent_rows(100)
    flat = template_of(net.dag, rows, [Discrete("h", 2)])
    stuck = fit(flat, rows, EM(start="model", restarts=1), until=20).model
    assert_allclose(stuck.cpd("a").values[0], stuck.cpd("a").values[1], atol=1e-12)
    moved = fit(flat, rows, EM(restarts=1), until=20).model
    assert np.abs(moved.cpd("a").values[0] - moved.cpd("a").values[1]).max() > 0.01


@pytest.mark.parametrize("method", ACCELERATED)
def test_acceleration_saves_steps_and_ends_at_the_same_optimum(method):
    _, net, rows = latent_rows()
    rule = Until(steps=5000, tolerance=1e-12)
    plain = fit(net, rows, EM(start="model"), until=rule)
    fast = fit(net, rows, replace(method, start="model"), until=rule)
    assert fast.num_iterations < 0.5 * plain.num_iterations
    assert_allclose(fast.log_likelihood, plain.log_likelihood, rtol=1e-9)
    never_falls(fast.trace[1:], fast.trace[0])


def test_more_restarts_never_begin_lower():
    """The starting points of n + 1 restarts are those of n and one more, of which the best goes on."""
    dag, _, rows = latent_rows(300)
    em_task = EMTask.of(Task(template_of(dag, rows, [Discrete("h", 3)]), rows), threads=1)
    best = [EM(restarts=n).init(em_task, np.random.default_rng(4)).objective for n in range(2, 9)]
    assert best == sorted(best)
    assert best[-1] > best[0]
    alone = [EM()._short_run(em_task, own, i, SHORT_RUN) for i, own in enumerate(np.random.default_rng(4).spawn(8))]
    assert best == [max(p.objective for p in alone[:n]) for n in range(2, 9)]


def test_seeds_reproduce_and_threads_do_not_matter():
    dag, _, rows = latent_rows(300)

    def values(**more):
        found = fit(dag, rows, EM(**more), variables=[Discrete("h", 2)], seed=7, until=15)
        return [c.values.tobytes() for c in found.model.cpds]

    assert values() == values()
    assert values(threads=1) == values(threads=2)


@pytest.mark.parametrize("method", [EM(), *ACCELERATED, IncrementalEM(3), HardEM()])
def test_interrupted_and_resumed_is_the_same_to_the_bit(method, tmp_path, monkeypatch):
    dag, _, rows = latent_rows(200)
    file = tmp_path / "em.bin"

    def run(until, **more):
        return fit(dag, rows, method, variables=[Discrete("h", 2)], seed=2, until=Until(until, tolerance=None), **more)

    whole = run(6)
    cut = run(3, checkpoint=file)
    resumed = run(6, checkpoint=file)
    assert cut.num_iterations == min(3, whole.num_iterations)
    assert [c.values.tobytes() for c in whole.model.cpds] == [c.values.tobytes() for c in resumed.model.cpds]
    assert whole.trace.tolist() == resumed.trace.tolist()


def test_ctrl_c_returns_the_best_so_far(monkeypatch):
    _, net, rows = latent_rows(100)
    from sepset.learning.incomplete.expectation import Expectation

    calls, real = [], Expectation.expect

    def expect(self, model, rows=None):
        calls.append(1)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return real(self, model, rows)

    monkeypatch.setattr(Expectation, "expect", expect)
    found = fit(net, rows, EM(start="model", restarts=1))
    assert (found.status, found.num_iterations) == (Status.INTERRUPTED, 3)
    assert found.log_likelihood == found.trace[-1] > found.trace[0]


def test_ctrl_c_between_starting_points_returns_the_best_of_them(monkeypatch):
    dag, _, rows = latent_rows(100)
    real, calls = EM.first, []

    def first(self, task, model):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(self, task, model)

    monkeypatch.setattr(EM, "first", first)
    found = fit(dag, rows, EM(restarts=5), variables=[Discrete("h", 2)])
    assert found.status is Status.INTERRUPTED
    assert found.num_iterations == 0


def test_checkpoints_of_other_rows_are_refused(tmp_path):
    from sepset.errors import DataError

    file = tmp_path / "em.bin"
    fit(DAG.parse("x -> y"), text_rows(), EM(), checkpoint=file, until=2)
    with pytest.raises(DataError, match="belongs to"):
        fit(DAG.parse("x -> y"), {"x": [0, 1, 1], "y": [1, None, 0]}, EM(), checkpoint=file)


def test_tied_cpds_pool_their_expected_counts():
    a, b = Discrete("a"), Discrete("b")
    net = BayesNet(TableCPD(a, [0.3, 0.7], block="coin"), TableCPD(b, [0.3, 0.7], block="coin"))
    rows = Dataset({"a": [0, 0, 1, None], "b": [1, 0, None, None]}, [a, b])
    found = fit(net, rows, EM(), until=Until(steps=200, tolerance=None)).model
    assert_allclose(found.cpd("a").values, [3 / 5, 2 / 5], rtol=1e-12)  # five tosses are known, three of them heads
    assert found.cpd("a").values.tolist() == found.cpd("b").values.tolist()


def test_settings_are_checked_and_shown():
    assert repr(EM()) == "EM()"
    assert repr(EM(acceleration="squarem", restarts=3)) == "EM(restarts=3, acceleration='squarem')"
    with pytest.raises(ArgumentError, match="Did you mean 'squarem'"):
        EM(acceleration="squaren")
    with pytest.raises(ArgumentError):
        IncrementalEM(0)
    for kind in (EM, HardEM, IncrementalEM, StepwiseEM, GradientAscent):
        for wrong in ({"restarts": 0}, {"restarts": "x"}, {"parameterization": "other"}):
            with pytest.raises(ArgumentError, match=f"{next(iter(wrong))}= is"):
                kind(**wrong)
    with pytest.raises(ArgumentError):
        EM(threads=0)
    with pytest.raises(ArgumentError):
        fit(DAG.parse("x -> y"), text_rows(), EM(start="nowhere"))
    with pytest.raises(NotApplicable, match="theta"):
        fit(DAG.parse("x -> y"), text_rows(), EM(prior=Dirichlet(0.5), parameterization="theta"))


def test_held_out_rows_end_it_early():
    dag, net, rows = latent_rows(60)
    others = net.sample(400, seed=9).select(["a", "b", "c", "d"])
    hidden, rule = [Discrete("h", 6)], Until(steps=300, tolerance=1e-10)
    watched = fit(dag, rows, EM(holdout=others, restarts=1), variables=hidden, until=rule)
    free = fit(dag, rows, EM(restarts=1), variables=hidden, until=rule)

    def score(model):
        return log_likelihood(model, Dataset(others, model.variables, missing_columns="allow"))

    assert watched.status is Status.COMPLETED
    assert watched.num_iterations < free.num_iterations
    assert score(watched.model) > score(free.model)
    assert "holdout=" in repr(watched.method)
    assert len(repr(EM(holdout={"a": list(range(100))}))) < 40
    given_rows = Dataset(rows, watched.model.variables, missing_columns="allow")
    assert_allclose(watched.log_likelihood, log_likelihood(watched.model, given_rows), rtol=1e-10)


def test_held_out_rows_end_resumed_runs_where_they_would_have(tmp_path):
    dag, _, rows = latent_rows(60)
    _, _, others = latent_rows(40)
    method = EM(holdout=others.take(np.arange(40)[::-1][:15]), restarts=1, start="random")
    more = {"variables": [Discrete("h", 2)], "seed": 3}
    whole = fit(dag, rows, method, **more, until=Until(steps=500, tolerance=None))
    file = tmp_path / "run.bin"
    for steps in (2, 4, 500, 500):
        parts = fit(dag, rows, method, **more, until=Until(steps=steps, tolerance=None), checkpoint=file)
    assert parts.status is whole.status
    assert parts.trace.tolist() == whole.trace.tolist()
    assert parts.log_likelihood == whole.log_likelihood


def test_a_first_step_that_lowers_held_out_rows_is_not_made():
    """The held-out rows are just what the start expects; the rows to learn from say otherwise."""
    coin = Discrete("coin")
    net = BayesNet(TableCPD(coin, [0.5, 0.5]))
    found = fit(net, {"coin": [0, 0, 0, None]}, EM(holdout={"coin": [0, 1]}, start="model"))
    assert found.status is Status.COMPLETED
    assert found.model.cpd("coin").values.tolist() == [0.5, 0.5]


def test_time_limits_end_it():
    found = fit(DAG.parse("x -> y"), text_rows(), EM(), until=Until(steps=None, tolerance=None, seconds=0.05))
    assert found.status is Status.TIME_LIMIT


@pytest.mark.parametrize("rows", [{"a": [0, 1, 0], "b": [0, 0, None]}, {"a": [0, 1, 0], "b": [0, None, None]}])
def test_impossible_rows_are_named_with_holes_or_without(rows):
    """Row 1 says what the start excludes; EM refuses it in the same words."""
    a, b = Discrete("a"), Discrete("b")
    net = BayesNet(TableCPD(a, [1.0, 0.0]), TableCPD(b, [[0.5, 0.5], [0.5, 0.5]], given=a))
    messages = []
    for method in (EM(start="model"), HardEM(start="model")):
        with pytest.raises(ImpossibleEvidence, match="1 of 3 different rows have probability zero: rows 1,") as caught:
            fit(net, rows, method)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


def test_rows_of_weight_zero_may_be_impossible():
    a = Discrete("a")
    found = fit(BayesNet(TableCPD(a, [1.0, 0.0])), {"a": [0, 1]}, HardEM(start="model"), weights=[1.0, 0.0])
    assert found.model.cpd("a").values.tolist() == [1.0, 0.0]


EVERY = (
    EM(start="model"),
    EM(start="model", acceleration="squarem"),
    HardEM(start="model"),
    IncrementalEM(start="model", parts=2),
    StepwiseEM(start="model", batch=3),
    GradientAscent(start="model"),
)


@pytest.mark.parametrize("method", EVERY, ids=repr)
def test_any_exact_method_of_inference_gives_the_same_fit(method):
    """Variable elimination has no batches of rows: it is asked one question after the other."""
    net = BayesNet.random(DAG.parse("h -> a; h -> b"), seed=3)
    rows = {"a": [0, 1, 1, None, 0, 1], "b": [0, 1, None, 1, 0, 0]}
    rule = Until(steps=4, tolerance=None)
    plain = fit(net, rows, method, until=rule)
    found = fit(net, rows, replace(method, inference=VariableElimination()), until=rule)
    assert_allclose(found.trace, plain.trace, rtol=1e-9)
    for cpd, other in zip(found.model.cpds, plain.model.cpds, strict=True):
        assert_allclose(cpd.values, other.values, rtol=1e-7, atol=1e-12)
    assert found.guarantees == plain.guarantees


def test_inference_is_a_method():
    with pytest.raises(ArgumentError, match=r"inference= takes a method such as CliqueTree\(\); found 3"):
        fit(DAG.parse("x"), {"x": [0, 1, None]}, EM(inference=3))


@given(incomplete(num_rows=8), st.integers(1, 5))
@settings(max_examples=25)
def test_parts_add_up_to_all_rows(case, parts):
    net, rows = case
    task = EMTask.of(Task(net, rows), threads=1)
    found = dealt(task, net, parts)
    whole = task.expectation.expect(net)
    for one, other in zip(found.statistics, whole.statistics, strict=True):
        assert_allclose(one, other, rtol=1e-11, atol=1e-12)
    assert len(found.memory) == parts


@given(incomplete(num_rows=8))
@settings(max_examples=25)
def test_one_part_is_ordinary_em(case):
    net, rows = case
    task = EMTask.of(Task(net, rows), threads=1)
    one = one_pass(task, dealt(task, net, 1))
    plain, _ = EM().step(task, task.evaluate(net), np.random.default_rng(0))
    assert_allclose(one.objective, plain.objective, rtol=1e-10, atol=1e-10)
