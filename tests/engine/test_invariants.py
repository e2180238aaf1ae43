"""The public check: it passes on sound engines of every kind, and finds each fault that is planted."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import oracle
import sepset as ss
from sepset.engine import invariants
from sepset.errors import BrokenInvariant
from sepset.factors.table import Table
from sepset.inference.exact.shafershenoy import ShaferShenoy
from sepset.inference.exact.tree import PreparedTree
from support.blocks import in_blocks
from support.random_gaussians import hybrid_net, linear_net
from support.random_models import random_case, random_evidence
from support.terminal import printed

METHODS = (ss.CliqueTree(), ss.VariableElimination(), ShaferShenoy(), ss.inference.BruteForce())


@in_blocks("seed", range(25))
def test_sound_engines_pass(seed):
    rng = np.random.default_rng([seed, 59])
    case = random_case(rng)
    given, plain = random_evidence(rng, case)
    engine = ss.prepare(case.model, method=METHODS[seed % len(METHODS)])
    if oracle.log_z(case.factors, case.cards, plain) == -math.inf:
        with pytest.raises(ss.ImpossibleEvidence):
            engine.check(given=given)
    else:
        report = engine.check(given=given, seed=seed)
        assert all(one.holds for one in report)
        assert ("total_of_one" in {one.name for one in report}) == case.model.problem().is_normalized


@pytest.mark.parametrize("name", ["asia", "student", "alarm", "child"])
def test_published_networks_pass(name):
    report = ss.prepare(ss.datasets.load(name)).check()
    assert report["total_of_one"].deviation < 1e-12
    assert "running intersection" in str(report)


def test_a_model_with_everything_observed_passes():
    a = ss.Discrete("a")
    assert len(ss.prepare(ss.BayesNet(ss.TableCPD(a, [0.3, 0.7]))).check(given={"a": 1})) == 7
    assert len(ss.prepare(ss.BayesNet()).check()) == 7


def test_continuous_models_pass():
    rng = np.random.default_rng(4)
    nodes = oracle.random_linear_gaussian(rng, 5)
    assert len(ss.prepare(linear_net(nodes)).check(given={"x1": 0.5})) == 5
    assert len(ss.prepare(hybrid_net(*oracle.random_clg(rng, 3, 2))).check(given={"x0": 0.2})) == 5


def spoiled(monkeypatch, change):
    """Every calibration passes through `change`."""
    sound = PreparedTree.calibrate
    monkeypatch.setattr(PreparedTree, "calibrate", lambda self, *args: change(sound(self, *args)))


def test_faults_are_found(monkeypatch):
    engine = ss.prepare(ss.datasets.load("asia"))

    def uncalibrated(made):
        skewed = made.beliefs[0] * Table(made.beliefs[0].scope[0], [1.0, 2.0])
        return replace(made, beliefs=(skewed, *made.beliefs[1:]))

    def off(made):
        return replace(made, log_partition=made.log_partition + 1e-6)

    def rescaled(made):
        return replace(made, beliefs=(made.beliefs[0] * Table((), 2.0), *made.beliefs[1:]))

    for change, law in ((uncalibrated, "calibration"), (off, "log partition"), (rescaled, "reparameterization")):
        with monkeypatch.context() as patch:
            spoiled(patch, change)
            with pytest.raises(BrokenInvariant, match=law) as caught:
                engine.check()
            assert isinstance(caught.value, AssertionError)
    engine.check()


def test_wrong_marginals_are_found(monkeypatch):
    engine = ss.prepare(ss.datasets.load("asia"))
    sound = engine.prepared.marginals

    def wrong(evidence):
        read, log_partition = sound(evidence)
        return lambda v: Table(read(v).scope, read(v).values[::-1]), log_partition

    monkeypatch.setattr(engine.prepared, "marginals", wrong)
    with pytest.raises(BrokenInvariant, match="marginals"):
        engine.check()


def test_broken_trees_are_found(monkeypatch):
    def broken(made):
        tree = made.tree

        def refuse():
            raise ss.errors.ModelError("no path")

        parts = {"clusters": tree.clusters, "edges": tree.edges, "sepsets": tree.sepsets}
        return replace(made, tree=SimpleNamespace(**parts, check_running_intersection=refuse))

    spoiled(monkeypatch, broken)
    with pytest.raises(BrokenInvariant, match="running intersection is off by inf"):
        ss.prepare(ss.datasets.load("asia")).check()


def test_rows_that_miss_one_count_against_the_model_not_the_engine():
    a, b = ss.Discrete("a"), ss.Discrete("b")
    net = ss.BayesNet(ss.TableCPD(a, [0.5, 0.5 + 5e-10]), ss.TableCPD(b, [[0.5, 0.5], [0.2, 0.8 - 5e-10]], given=a))
    report = ss.prepare(net).check()
    assert 1e-12 < report["total_of_one"].deviation < report["total_of_one"].tolerance


def test_reports_read_well():
    report = invariants.CheckReport((invariants.Check("calibration", 1e-16, tolerance=1e-9),))
    assert str(report) == "calibration 1.0e-16 <= 1e-09"
    assert "1.0e-16 <= 1e-09" in printed(report)
    assert len(report) == 1


@pytest.mark.parametrize(
    "given", [range(27), range(30), [*range(26), "y"]], ids=["three hidden", "all", "with the child"]
)
def test_cpds_without_a_table_are_checked_for_the_evidence(given):
    parents = [ss.Discrete(f"c{i}") for i in range(30)]
    weights = np.random.default_rng(0).normal(size=30)
    net = ss.BayesNet(
        *(ss.TableCPD(p, [0.6, 0.4]) for p in parents),
        ss.LogisticCPD(ss.Discrete("y"), dict(zip(parents, weights, strict=True)), bias=-0.5),
    )
    seen = {"y" if i == "y" else f"c{i}": 1 for i in given}
    report = ss.prepare(net).check(given=seen)
    assert {"calibration", "marginals", "gradient"} <= {one.name for one in report}
    with pytest.raises(ss.errors.TooLarge, match="Observe more of its parents"):
        ss.prepare(net).check()
