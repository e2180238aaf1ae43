"""The certificate of a search against all DAGs of four columns."""

from __future__ import annotations

import math

import pytest

from sepset.cpds.priors.dirichlet import K2, BDeu
from sepset.errors import ArgumentError, ScopeError
from sepset.graphs.graph import DAG
from sepset.inference.result import Guarantee
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.constraints import Constraints
from sepset.learning.structure.exact.certificate import certify
from sepset.learning.structure.exact.enumeration import all_dags
from sepset.learning.structure.familyscores import Scorer
from support.score_tables import dependent_rows

ROWS = dependent_rows(3, 4, 60)
DATA = Columns.of(ROWS)


def totals(score):
    scorer, names = Scorer(DATA, score), DATA.names
    found = {}
    for dag in all_dags(names):
        found[dag] = scorer.total([[names.index(p) for p in dag.parents(n)] for n in names])
    return found


@pytest.mark.parametrize("score", [BDeu(1.0), K2()], ids=repr)
def test_scores_against_enumeration(score):
    every = totals(score)
    graph = DAG(DATA.names, [(DATA.names[0], DATA.names[1])])
    reference = DAG(DATA.names[::-1], [(DATA.names[2], DATA.names[3])])
    found = certify(graph, ROWS, score=score, reference=reference)
    trees = [value for dag, value in every.items() if all(len(dag.parents(n)) <= 1 for n in dag.nodes)]
    assert found.scores["optimum"] == pytest.approx(max(every.values()))
    assert found.scores["tree"] == pytest.approx(max(trees))
    assert found.scores["empty"] == pytest.approx(next(v for dag, v in every.items() if not dag.edges))
    assert found.gap == pytest.approx(max(every.values()) - found.score)
    assert found.above("reference") == pytest.approx(found.score - found.scores["reference"])
    assert found.guarantees["gap"] is Guarantee.EXACT
    assert not found.is_optimal
    best = max(every, key=every.get)
    assert certify(best, ROWS, score=score).is_optimal


def test_constraints_bind_the_optimum_and_not_the_reference():
    first, second = DATA.names[:2]
    rules = Constraints(forbidden=[(first, second), (second, first)])
    reference = DAG(DATA.names, [(first, second)])
    found = certify(DAG(DATA.names, []), ROWS, constraints=rules, reference=reference)
    free = certify(DAG(DATA.names, []), ROWS)
    assert found.scores["optimum"] <= free.scores["optimum"]
    assert "reference" in found.scores


def test_too_many_columns_have_no_optimum():
    found = certify(DAG(DATA.names, []), ROWS, exact_columns=3)
    assert math.isnan(found.gap)
    assert not found.is_optimal
    assert "optimum" not in found.scores
    with pytest.raises(ArgumentError, match="'optimum'; there are empty, tree"):
        found.above("optimum")
    assert found.to_frame()["structure"].tolist() == ["learned", "empty", "tree"]
    assert "tree" in found._repr_html_()


def test_a_column_that_is_not_there():
    with pytest.raises(ScopeError):
        certify(DAG.parse("x0 -> nowhere"), ROWS)
