"""Structure priors as products over edges, against their definitions on all graphs of three nodes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest

import sepset as ss
from sepset.graphs.equivalence import i_equivalent
from sepset.learning.structure.structureprior import (
    EdgePenalty,
    EdgeProbabilities,
    PriorNetwork,
    StructurePrior,
    UniformSizes,
    UniformStructures,
)

NAMES = ("a", "b", "c")
EXPECTED = ss.DAG(NAMES, [("a", "b"), ("c", "b")])


def all_dags() -> list[ss.DAG]:
    found = []
    for chosen in itertools.product(range(3), repeat=3):
        edges = [
            (x, y)[:: 1 if c == 1 else -1]
            for c, (x, y) in zip(chosen, itertools.combinations(NAMES, 2), strict=True)
            if c
        ]
        try:
            found.append(ss.DAG(NAMES, edges))
        except ss.SepsetError:
            continue
    assert len(found) == 25
    return found


def differing(dag: ss.DAG) -> int:
    return sum(len(set(dag.parents(v)) ^ set(EXPECTED.parents(v))) for v in NAMES)


CASES: list[tuple[StructurePrior, Callable[[ss.DAG], float]]] = [
    (UniformStructures(), lambda dag: 0.0),
    (EdgePenalty(0.3), lambda dag: dag.num_edges * math.log(0.3)),
    (PriorNetwork(EXPECTED, 0.2), lambda dag: differing(dag) * math.log(0.2)),
    (EdgeProbabilities(default=0.25), lambda dag: dag.num_edges * math.log(1 / 3)),
    (UniformSizes(), lambda dag: -sum(math.log(math.comb(2, len(dag.parents(v)))) for v in NAMES)),
]


def log_prior(prior: StructurePrior, dag: ss.DAG) -> float:
    odds, sizes = prior.log_odds(NAMES), prior.log_sizes(3)
    edges = sum(odds[NAMES.index(x), NAMES.index(y)] for x, y in dag.directed)
    return float(edges + sum(sizes[len(dag.parents(v))] for v in NAMES))


@pytest.mark.parametrize(("prior", "definition"), CASES, ids=lambda case: repr(case) if not callable(case) else "")
def test_priors_against_enumeration(prior: StructurePrior, definition: Callable[[ss.DAG], float]) -> None:
    dags = all_dags()
    offsets = [log_prior(prior, dag) - definition(dag) for dag in dags]
    assert offsets == pytest.approx([offsets[0]] * len(dags))
    pairs = [(one, other) for one in dags for other in dags if i_equivalent(one, other)]
    is_equal = all(math.isclose(definition(one), definition(other), abs_tol=1e-12) for one, other in pairs)
    assert prior.is_equivalent == is_equal


def test_an_order_forbids_edges_against_it() -> None:
    odds = EdgeProbabilities(order=("c", "a", "b")).log_odds(NAMES)
    assert odds[0, 2] == odds[1, 0] == odds[1, 2] == -np.inf
    assert odds[2, 0] == odds[0, 1] == 0.0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: EdgePenalty(0), "factor"),
        (lambda: PriorNetwork(EXPECTED, 1.5), "factor"),
        (lambda: EdgeProbabilities({("a", "b"): 2.0}), "0 to 1"),
        (lambda: EdgeProbabilities({("a", "z"): 0.5}).log_odds(NAMES), "not a column"),
        (lambda: EdgeProbabilities(order=("a", "b")).log_odds(NAMES), "leaves out"),
    ],
)
def test_bad_settings(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ss.SepsetError, match=message):
        make()
