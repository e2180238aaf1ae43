"""Results of fitting Markov networks, and Gaussian networks given by their concentration matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.base.text import described
from sepset.factors.gaussian import CanonicalGaussian
from sepset.learning.fit import FitResult
from sepset.models.markovnet import MarkovNet
from sepset.variables.variable import Vector


@dataclass(frozen=True, eq=False, repr=False)
class MarkovFitResult(FitResult):
    """A fitted Markov network; the attributes are those of `FitResult`.

    Attributes:
        model: the network.
    """

    model: MarkovNet  # type: ignore[assignment]

    def __repr__(self) -> str:
        return (
            f"MarkovFitResult({self.model!r}; {described(self.method)}; log-likelihood {self.log_likelihood:.7g}; "
            f"{self.status.value})"
        )


def gaussian_markov_net(variables: Sequence[Vector], mean: Floats, concentration: Floats) -> MarkovNet:
    r"""The normalized Gaussian network with one factor per variable and one per nonzero entry of $\Theta$.

    $$\log p(\mathbf x) = \tfrac12 \log\det\tfrac{\Theta}{2\pi}
    - \tfrac12 (\mathbf x - \mu)^\top \Theta (\mathbf x - \mu)$$

    >>> from sepset.variables.variable import Real
    >>> gaussian_markov_net([Real("x"), Real("y")], np.zeros(2), np.array([[2.0, 1.0], [1.0, 2.0]])).graph
    UndirectedGraph(x - y)
    """
    pull = concentration @ mean
    constant = 0.5 * (np.linalg.slogdet(concentration)[1] - len(mean) * math.log(2.0 * math.pi) - float(mean @ pull))
    own = [
        CanonicalGaussian((v,), [[concentration[i, i]]], h=[pull[i]], g=constant if i == 0 else 0.0)
        for i, v in enumerate(variables)
    ]
    pairs = np.argwhere(np.triu(concentration, 1))
    shared = [
        CanonicalGaussian((variables[i], variables[j]), [[0.0, k], [k, 0.0]], h=[0.0, 0.0])
        for i, j in pairs
        for k in [concentration[i, j]]
    ]
    return MarkovNet(*own, *shared, variables=variables)
