"""FCI and RFCI against all maximal ancestral graphs of up to four nodes, and against DAGs with latent variables."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from sepset.graphs.graph import DAG
from sepset.graphs.pag import PAG
from sepset.graphs.separation import d_separated
from sepset.learning.structure.independence.oracles import Callback, DSeparation
from sepset.learning.structure.skeletons.latent import FCI, RFCI, possibly_separating
from support.ancestral import classes, shared_marks
from support.random_dags import random_dag


def oracle_of(stated):
    def independent(xs, ys, given):
        x, y = sorted((int(xs[0]), int(ys[0])))
        return (x, y, sum(1 << int(z) for z in given)) in stated

    return Callback(independent)


@pytest.mark.parametrize("n", [2, 3, 4])
def test_fci_gives_what_all_members_of_a_class_share(n):
    found = classes(n)
    assert len(found) >= {2: 2, 3: 5, 4: 20}[n]
    names = [str(i) for i in range(n)]
    for stated, members in found.items():
        pag = FCI(test=oracle_of(stated)).ask(names).graph
        np.testing.assert_array_equal(pag.marks, shared_marks(members))


@pytest.mark.parametrize("n", [3, 4])
def test_marks_of_rfci_are_right(n):
    names = [str(i) for i in range(n)]
    for stated, members in classes(n).items():
        marks, wanted = RFCI(test=oracle_of(stated)).ask(names).graph.marks, shared_marks(members)
        assert ((marks > 0) | (wanted == 0)).all()
        sure = (marks > 1) & (wanted > 0)
        np.testing.assert_array_equal(marks[sure], wanted[sure])


def test_graphs_with_latent_variables():
    """Arrowheads are at nodes that are not ancestors in the true graph, and tails at ancestors."""
    for seed in range(12):
        dag = random_dag(9, 0.3, seed)
        observed = dag.nodes[:6]
        above = {y: {x for x in dag.nodes if _reaches(dag, x, y)} for y in dag.nodes}
        fci = FCI(test=DSeparation(dag)).ask(observed).graph
        rfci = RFCI(test=DSeparation(dag)).ask(observed).graph
        for pag in (fci, rfci):
            for x, y in itertools.permutations(observed, 2):
                assert pag.mark(x, y) != "arrow" or y not in above[x]
                assert pag.mark(x, y) != "tail" or y in above[x]
        for x, y in itertools.combinations(observed, 2):
            rest = [z for z in observed if z not in (x, y)]
            sets = itertools.chain.from_iterable(itertools.combinations(rest, k) for k in range(5))
            assert fci.has_edge(x, y) != any(d_separated(dag, x, y, given=given) for given in sets)


def _reaches(dag, x, y):
    return x == y or any(_reaches(dag, child, y) for child in dag.children(x))


def test_the_textbook_example():
    found = FCI(test=DSeparation(DAG.parse("A -> B <- H -> C <- D"))).ask("ABCD")
    assert found.graph == PAG.parse("A o-> B <-> C <-o D")
    assert found.separating_sets[("A", "D")] == ()


def test_nodes_that_may_separate():
    marks = PAG.parse("A o-> B <-> C <-> D; E o-o A").marks
    assert possibly_separating(marks)[0].tolist() == [False, True, True, True, True]
