"""Instances of the UAI 2014 competition: the partition function to the printed digits, marginals within 1e-5.

Those here take seconds; `python -m benchmarks uai` does the others.
"""

from __future__ import annotations

import math
import resource

import numpy as np
import pytest

import sepset as ss
from support.bounded import within
from support.shared_files import SHARED
from support.tolerances import CLOSE, printed

instances = pytest.importorskip("benchmarks.instances")

FAMILIES = ("CSP_12", "Grids_12", "Pedigree", "Promedus", "Segmentation", "linkage_16")
SLOW = ("Promedus_14", "Promedus_18", "Promedus_38")  # plans of 3e7 entries and more
HOPELESS = "relational_4"  # width 99
MARGINAL = 1e-5

NAMES = [name for name in instances.names() if name.startswith(FAMILIES) and name not in SLOW]
needs_files = pytest.mark.skipif(not (SHARED / "uai" / "mar").is_dir(), reason="no shared files")


@pytest.mark.parametrize("name", NAMES or [pytest.param("", marks=pytest.mark.skip(reason="no shared files"))])
def test_published_answers(name):
    model, evidence = instances.load(name)
    expected = instances.answers(name, model, evidence)
    engine = ss.prepare(model)
    log10 = float(engine.log_partition(given=evidence)) / math.log(10.0)
    assert abs(log10 - expected.log10) <= expected.slack * (1 + 1e-9)
    marginals = engine.marginals(given=evidence)
    for variable, row in zip(model.variables, expected.rows, strict=True):
        assert np.abs(marginals[variable].values - row).max() < MARGINAL, variable.name


@needs_files
def test_independent_stars_are_as_summed_by_hand():
    """The published answer of this instance is not that of its file: 0.835647 for what sums to 0.835056."""
    model, evidence = instances.load("relational_2")
    expected = instances.stars(model, evidence)
    assert by_hand() == pytest.approx(0.835056, abs=printed(6))
    assert expected.rows[0][1] == pytest.approx(by_hand(), abs=CLOSE)
    engine = ss.prepare(model)
    assert float(engine.log_partition(given=evidence)) == pytest.approx(expected.log10 * math.log(10.0), rel=1e-12)
    marginals = engine.marginals(given=evidence)
    rows = np.array([marginals[v].values for v in model.variables])
    assert np.abs(rows - np.array(expected.rows)).max() < CLOSE


def by_hand():
    """P(x0 = 1) in one star without evidence, from the numbers printed in the file."""
    u, v, leaf = (1.0, 2.45960311116), (1.0, 1.05127109638), (1.0, 1.82211880039)
    weight = [0.0, 0.0]
    for x in (0, 1):
        for z in (0, 1):
            pair = 1.0 if (x, z) == (0, 1) else 1.16183424273
            hanging = sum(leaf[y] * (1.0 if (x, y, z) == (0, 1, 0) else 1.07788415088) for y in (0, 1))
            weight[x] += u[x] * v[z] * pair * hanging**50
    return weight[1] / sum(weight)


@needs_files
def test_an_instance_above_the_limit_is_refused_with_its_figure_and_nothing_is_allocated():
    model, evidence = instances.load(HOPELESS)
    engine = ss.prepare(model)
    plan = engine.plan(given=list(evidence))
    assert plan.memory > 2**60
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for ask in (engine.log_partition, engine.marginals):
        with pytest.raises(ss.TooLarge, match=r"more than 2\^40 entries.*limit is 8\.0 GiB"):
            within(60.0, lambda ask=ask: ask(given=evidence))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1024 * 1024  # kilobytes


@needs_files
def test_the_limit_is_the_method_s():
    model, evidence = instances.load("Grids_14")
    with pytest.raises(ss.TooLarge, match="limit is"):
        ss.prepare(model, method=ss.CliqueTree(memory=2**20)).marginals(given=evidence)
