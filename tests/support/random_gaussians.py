"""Networks of the library from the oracle's linear-Gaussian and hybrid nodes, number by number."""

from __future__ import annotations

import itertools

import numpy as np

import sepset as ss


def linear_net(nodes):
    """A Bayesian network of scalar linear Gaussians."""
    reals = {node.child: ss.Real(node.child) for node in nodes}
    return ss.BayesNet(
        *(
            ss.LinearGaussian(
                reals[node.child],
                node.offset,
                coefficients=np.array(node.weights).reshape(1, -1) if node.parents else None,
                covariance=node.variance,
                given=[reals[p] for p in node.parents],
            )
            for node in nodes
        )
    )


def hybrid_net(families, cards, nodes):
    """A conditional linear Gaussian network of scalar reals."""
    states = {name: ss.Discrete(name, card) for name, card in cards.items()}
    reals = {node.child: ss.Real(node.child) for node in nodes}
    tables = [ss.TableCPD(states[child], table, given=[states[p] for p in given]) for child, given, table in families]
    return ss.BayesNet(*tables, *(conditional(node, states, reals) for node in nodes))


def conditional(node, states, reals):
    by = [states[name] for name in node.discrete]
    cells = list(itertools.product(*(range(v.num_states) for v in by)))
    shape = tuple(v.num_states for v in by)
    weights = np.array([node.cases[cell][0] for cell in cells], dtype=float).reshape(*shape, 1, len(node.continuous))
    offset = np.array([node.cases[cell][1] for cell in cells], dtype=float).reshape(*shape, 1)
    variance = np.array([node.cases[cell][2] for cell in cells], dtype=float).reshape(*shape, 1, 1)
    given = [reals[name] for name in node.continuous]
    return ss.LinearGaussian(
        reals[node.child], offset, coefficients=weights if given else None, covariance=variance, given=given, by=by
    )
