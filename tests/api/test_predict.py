"""The public function for frames."""

from __future__ import annotations

import numpy as np

import sepset as ss
from sepset.api.predict import predict
from sepset.inference.exact.bruteforce import BruteForce
from support.tolerances import CLOSE


def test_the_function_is_the_engines_answer():
    net = ss.datasets.load("asia")
    rows = net.sample(40, seed=0).select(["xray", "dysp", "smoke"])
    for method in (None, BruteForce()):
        found = predict(net, rows, targets=["lung"], method=method, threads=1, progress=False)
        expected = ss.prepare(net).predict(rows, targets=["lung"])
        np.testing.assert_allclose(found.probabilities("lung"), expected.probabilities("lung"), atol=CLOSE)
        assert isinstance(found.states, ss.Dataset)
