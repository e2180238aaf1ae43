"""SGS, IC and Cheng's phases with oracles; their numbers of questions."""

from __future__ import annotations

import math

import pytest

from sepset.api.structure import learn_structure
from sepset.errors import TooLarge
from sepset.graphs.equivalence import cpdag, immoralities
from sepset.graphs.graph import DAG, skeleton
from sepset.learning.structure.independence.oracles import Callback, DSeparation
from sepset.learning.structure.skeletons.phases import IC, SGS, Cheng
from support.random_dags import random_dag

STUDENT = DAG.parse("D -> G; I -> G; I -> S; G -> L")


@pytest.mark.parametrize("method", [SGS, IC, Cheng])
def test_an_oracle_gives_the_exact_class(method):
    for seed in range(12):
        dag = random_dag(6, 0.4, seed)
        found = method(test=DSeparation(dag)).ask(dag.nodes)
        assert found.graph == cpdag(dag)
        assert found.conflicts == ()


def test_the_student_network_takes_80_tests():
    found = SGS(test=DSeparation(STUDENT)).ask("DIGSL")
    assert found.num_tests == 80
    assert {frozenset(e) for e in skeleton(found.graph).edges} == set(map(frozenset, ("DG", "IG", "IS", "GL")))
    assert [set(triple) for triple in immoralities(found.graph)] == [{"D", "G", "I"}]


def test_few_parents_need_small_sets():
    for seed in range(6):
        dag = random_dag(7, 0.4, seed, max_parents=2)
        found = IC(test=DSeparation(dag), max_condition=2).ask(dag.nodes)
        assert found.graph == cpdag(dag)
        assert found.num_tests <= math.comb(7, 2) * sum(math.comb(5, k) for k in range(3))


def test_too_many_sets_are_refused_before_the_first_question():
    asked = []
    oracle = Callback(lambda *names: asked.append(names) or True)
    for method in (SGS, IC):
        with pytest.raises(TooLarge, match="max_condition"):
            method(test=oracle).ask([f"v{i}" for i in range(40)])
    assert not asked
    assert SGS(test=oracle, max_condition=0).ask([f"v{i}" for i in range(40)]).graph.num_edges == 0


def test_phases_ask_less_than_all_sets():
    dag = random_dag(8, 0.25, 0)
    cheng = Cheng(test=DSeparation(dag)).ask(dag.nodes)
    assert cheng.num_tests < SGS(test=DSeparation(dag)).ask(dag.nodes).num_tests


@pytest.mark.parametrize("method", [SGS(), IC()], ids=repr)
def test_all_sets_of_very_many_columns_are_refused_before_rows_are_read(method):
    with pytest.raises(TooLarge, match=r"All sets of 16000 columns are up to about 9.662e\+4823 tests"):
        method.check_columns(16_000)
    with pytest.raises(TooLarge, match="All sets of 1500 columns"):
        learn_structure({f"x{i}": [[]] for i in range(1500)}, method=method)
