r"""Markov networks near a dependency network.

The network has a factor per variable and per edge, $Q(\mathbf x) \propto \exp(\sum_i b_i(x_i) + \sum_{ij} w_{ij}(x_i,
x_j))$, and minimizes the mean divergence of conditionals over rows, which is convex:

$$\min_{b, w} \; \frac1M \sum_m \sum_i \text{KL}\big(P_i(\cdot \mid \mathbf x^m_{-i}) \,\|\,
Q(\cdot \mid \mathbf x^m_{-i})\big)$$
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import rel_entr

from sepset.base.arraytypes import Bools, Floats, Ints
from sepset.base.checks import generator, whole
from sepset.base.display import Report, Shown
from sepset.base.numerics.optimize import minimize, softmax
from sepset.errors import NotApplicable
from sepset.factors.table import Table
from sepset.inference.result import Guarantee, Guarantees, Result
from sepset.learning.structure.dependency.gibbs import Conditionals, PseudoGibbs, Question
from sepset.learning.structure.dependency.stationary import fixed_point, full_conditionals
from sepset.models.markovnet import MarkovNet
from sepset.models.rows import complete


@dataclass(frozen=True, eq=False, repr=False)
class Conversion(Report, Result):
    """A Markov network, and how far its conditionals are from the CPDs.

    Attributes:
        model: the network.
        divergence: the mean divergence of the conditionals of a row, summed over variables, in nats; zero if the CPDs
            are conditionals of such a network.
        num_rows: the number of rows compared.
    """

    model: MarkovNet
    divergence: float
    num_rows: int = field(kw_only=True)

    def __repr__(self) -> str:
        return f"Conversion({self.model!r}; divergence {self.divergence:.4g} over {self.num_rows} rows)"

    def _shown(self) -> Shown:
        facts = [("model", repr(self.model)), ("divergence", f"{self.divergence:.6g}"), ("rows", str(self.num_rows))]
        return Shown((), facts, "Conversion")


def converted(net: Conditionals, *, num_rows: int, rows: object, seed: Any) -> Conversion:
    """The Markov network of pairs whose conditionals are nearest; see `DependencyNet.markov_net`."""
    codes, weights = _rows(net, num_rows, rows, seed)
    fit = PairFit(net, codes, weights)
    point = minimize(fit.loss, np.zeros(fit.size))
    values: Guarantees = {"divergence": Guarantee.LOCAL_OPTIMUM}
    return Conversion(
        fit.model(point), fit.divergence(point), num_rows=len(codes), method="pairwise conversion", guarantees=values
    )


def _rows(net: Conditionals, num_rows: int, rows: object, seed: Any) -> tuple[Ints, Floats]:
    """The rows to compare on, and their weights."""
    variables = net.variables
    if rows is not None:
        columns, size = complete(rows, variables)
        if not size:
            raise NotApplicable("There are no rows to compare conditionals on.")
        return np.column_stack([columns[v] for v in variables]), np.full(size, 1.0 / size)
    cards = tuple(int(card) for card in variables.cards)
    if math.prod(cards) <= whole("num_rows", num_rows, least=1):
        joint = fixed_point(full_conditionals(net), cards).reshape(-1)
        kept = np.flatnonzero(joint > 0)
        return np.column_stack(np.unravel_index(kept, cards)), joint[kept]
    codes = PseudoGibbs().rows(Question.about(net, [], {}), num_rows, seed=generator(seed))
    return codes, np.full(num_rows, 1.0 / num_rows)


class PairFit:
    """The loss of weights: a bias per state, and a weight per pair of states of each edge."""

    def __init__(self, net: Conditionals, codes: Ints, weights: Floats) -> None:
        self.variables, self.weights = net.variables, weights
        cards = [int(card) for card in self.variables.cards]
        self.offsets = np.concatenate([[0], np.cumsum(cards)]).astype(np.int64)
        self.blocks = [slice(a, b) for a, b in zip(self.offsets, self.offsets[1:], strict=False)]
        total = int(self.offsets[-1])
        self.states = np.zeros((len(codes), total))
        for k in range(len(cards)):
            self.states[np.arange(len(codes)), self.offsets[k] + codes[:, k]] = 1.0
        self.wanted = np.empty((len(codes), total))
        for cpd, block in zip(net.cpds, self.blocks, strict=True):
            given = {p: codes[:, self.variables.id(p)] for p in cpd.parents}
            self.wanted[:, block] = cpd.probabilities(given, len(codes))
        self.edges = sorted({_pair(self.variables.id(p), k) for k, cpd in enumerate(net.cpds) for p in cpd.parents})
        self.places = np.argwhere(self._mask(total))
        self.size = total + len(self.places)

    def _mask(self, total: int) -> Bools:
        mask = np.zeros((total, total), np.bool_)
        for a, b in self.edges:
            mask[self.blocks[a], self.blocks[b]] = True
        return mask

    def _matrix(self, point: Floats) -> Floats:
        total = int(self.offsets[-1])
        matrix = np.zeros((total, total))
        matrix[self.places[:, 0], self.places[:, 1]] = point[total:]
        return matrix

    def conditionals(self, point: Floats) -> Floats:
        """The network's distribution of each variable given the others, for every row."""
        half = self._matrix(point)
        logits = point[: int(self.offsets[-1])] + self.states @ (half + half.T)
        return np.concatenate([softmax(logits[:, block]) for block in self.blocks], axis=1)

    def loss(self, point: Floats) -> tuple[float, Floats]:
        """The mean divergence and its gradient."""
        found = self.conditionals(point)
        slope = (found - self.wanted) * self.weights[:, None]
        products = self.states.T @ slope
        both = products + products.T
        pairs = both[self.places[:, 0], self.places[:, 1]]
        return self._divergence(found), np.concatenate([slope.sum(0), pairs])

    def _divergence(self, found: Floats) -> float:
        return float(self.weights @ rel_entr(self.wanted, found).sum(1))

    def divergence(self, point: Floats) -> float:
        """The mean divergence."""
        return self._divergence(self.conditionals(point))

    def model(self, point: Floats) -> MarkovNet:
        """The network with these weights."""
        half, factors = self._matrix(point), []
        for k, variable in enumerate(self.variables):
            bias = point[self.blocks[k]]
            factors.append(Table(variable, np.exp(bias - bias.max())))  # type: ignore[arg-type]  # discrete
        for a, b in self.edges:
            weights = half[self.blocks[a], self.blocks[b]]
            factors.append(Table((self.variables[a], self.variables[b]), np.exp(weights - weights.max())))  # type: ignore[arg-type]
        return MarkovNet(*factors, variables=tuple(self.variables))


def _pair(a: int, b: int) -> tuple[int, int]:
    return (a, b) if a < b else (b, a)
