"""EM takes the same steps as pyAgrum's, iteration by iteration, from the same start and with the same prior."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import sepset as ss
from sepset.api.learning import fit
from sepset.cpds.priors.dirichlet import Dirichlet
from sepset.inference.iterate import Until
from sepset.learning.incomplete.em import EM

gum = pytest.importorskip("pyagrum")
pd = pytest.importorskip("pandas")
peers = pytest.importorskip("benchmarks.peers")
pytestmark = pytest.mark.crosscheck


@pytest.mark.parametrize(("name", "num_rows", "share"), [("asia", 300, 0.2), ("sachs", 400, 0.1)])
@pytest.mark.parametrize("iterations", [1, 2, 5])
def test_iterations_agree(name, num_rows, share, iterations):
    net = ss.datasets.load(name)
    codes = net.sample(num_rows, seed=1).matrix().astype(np.int64)
    codes[np.random.default_rng(0).random(codes.shape) < share] = -1
    frame = pd.DataFrame(codes.astype(str), columns=net.variables.names).replace("-1", "?")
    # pyAgrum gives up where the likelihood alone falls, as it may under a prior: far from the optimum it rises.
    first = ss.BayesNet.random(net.dag, states={v.name: v.states for v in net.variables}, seed=2)
    start = peers.to_pyagrum(first)
    learner = gum.BNLearner(frame, start, ["?"])
    learner.useSmoothingPrior(1.0)
    learner.useEM(1e-14, 0.0)
    learner.EMdisableEpsilon()
    learner.EMdisableMinEpsilonRate()
    learner.EMsetMaxIter(iterations)
    theirs = learner.learnParameters(start)
    rows = ss.Dataset.from_codes(first.variables, codes[:, [net.variables.id(v.name) for v in first.variables]])
    rule = Until(steps=iterations, tolerance=None)
    ours = fit(first, rows, EM(prior=Dirichlet(1.0), start="model"), until=rule).model
    for cpd in ours.cpds:
        table, names = theirs.cpt(cpd.child.name), [v.name for v in cpd.scope]
        axes = [names.index(n) for n in reversed(table.names)]
        assert_allclose(table.toarray(), cpd.values.transpose(axes), atol=1e-12)
