"""Rows with missing cells of random conditional linear Gaussian networks, and what the oracle says about each."""

from __future__ import annotations

import math

import numpy as np

import oracle
from sepset.data.dataset import Dataset
from sepset.inference.evidencerows import EvidenceRows
from support.random_gaussians import hybrid_net


def random_case(seed, num_rows=6, share=0.5, most_discrete=4, most_real=5):
    """A network, its plain description, and rows (one mapping each) in which cells are missing at random."""
    rng = np.random.default_rng(seed)
    num = int(rng.integers(0, most_discrete + 1)), int(rng.integers(1, most_real + 1))
    families, cards, nodes = oracle.random_clg(rng, *num)
    net = hybrid_net(families, cards, nodes)
    drawn = net.sample(num_rows, rng)
    rows = []
    for i in range(num_rows):
        row = {}
        for v in net.variables:
            if rng.random() >= share:
                row[v.name] = int(drawn.codes(v)[i]) if v.is_discrete else float(drawn.values(v)[i])
        rows.append(row)
    return net, (families, cards, nodes), rows


def evidence_of(net, rows):
    """The rows as evidence by position."""
    columns = {}
    for v in net.variables:
        missing = -1 if v.is_discrete else np.nan
        columns[v.name] = np.array([row.get(v.name, missing) for row in rows], int if v.is_discrete else float)
    if not rows:
        columns = {name: column.reshape(0) for name, column in columns.items()}
    return EvidenceRows.of(Dataset.from_codes(net.variables, columns), net.problem().variables)


def mixture_of(plain, row):
    """The exact posterior of one row, one component per joint state of the discrete variables."""
    families, cards, nodes = plain
    states = {name: value for name, value in row.items() if name in cards}
    values = {name: value for name, value in row.items() if name not in cards}
    return oracle.clg_mixture(families, cards, nodes, states, values)


def moments_of(plain, row, name):
    """The mean and the variance of a real variable in one row."""
    if name in row:
        return row[name], 0.0
    found = mixture_of(plain, row)
    mean, covariance = found.moments()
    at = found.index[name][0]
    return mean[at], covariance[at, at]


def log_density(part):
    """The log weight of a component at the mean of what is missing."""
    size = len(part.mean)
    if not size:
        return part.log_weight
    return part.log_weight - 0.5 * (size * math.log(2 * math.pi) + np.linalg.slogdet(part.cov)[1])


def products_of(plain, rows, weights):
    """For each family the expected products of (1, real parents, child) or the expected counts, by enumeration."""
    families, cards, nodes = plain
    counts = {child: np.zeros([cards[n] for n in (*parents, child)]) for child, parents, _ in families}
    moments = {n.child: {cell: np.zeros((len(n.continuous) + 2,) * 2) for cell in n.cases} for n in nodes}
    for row, weight in zip(rows, weights, strict=True):
        found = mixture_of(plain, row)
        for part, share in zip(found.components, found.weights, strict=True):
            for child, parents, _ in families:
                counts[child][tuple(part.assignment[n] for n in (*parents, child))] += weight * share
            for node in nodes:
                names = (*node.continuous, node.child)
                free = [n for n in names if n not in row]
                at = [found.index[n][0] for n in free]
                z = np.array([1.0, *(row[n] if n in row else part.mean[found.index[n][0]] for n in names)])
                product = np.outer(z, z)
                places = [1 + names.index(n) for n in free]
                product[np.ix_(places, places)] += part.cov[np.ix_(at, at)]
                cell = tuple(part.assignment[n] for n in node.discrete)
                moments[node.child][cell] += weight * share * product
    return counts, moments
