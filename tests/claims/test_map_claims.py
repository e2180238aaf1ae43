"""Claims of the literature about best assignments, on small models; `benchmarks/map_claims.py` has all of them.

Agreement is asserted where it does not depend on time; where a claim is about time, what has to be equal is compared.
"""

from __future__ import annotations

import pytest
from benchmarks import map_claims


def figures(finding, word):
    """The figures whose names have a word."""
    found = [value for name, value in finding.figures if word in name]
    assert found
    return found


def test_maxima_converge_less_often_than_sums():
    assert map_claims.maxima_converge_less(3, 4, (2.0,)).agrees


def test_most_variables_are_certain_where_couplings_are_weak():
    found = map_claims.most_states_are_certain(4, 3, (0.3, 1.0))
    assert found.agrees
    certain = figures(found, "one best state, convex")
    assert certain[0] > certain[1]


def test_fixed_points_of_max_product_are_strong_local_maxima():
    found = map_claims.loopy_maxima_are_strong(4, 6)
    assert found.agrees
    assert figures(found, "certificates") == [1.0]


def test_convex_numbers_converge_more_often_and_have_more_ties():
    found = map_claims.families_of_numbers(3, 4, 1.5, 150)
    assert figures(found, "converged, Bethe")[0] <= figures(found, "converged, trees")[0]
    assert figures(found, "share of ties, Bethe")[0] <= figures(found, "share of ties, trees")[0]


def test_convex_beliefs_agree_exactly_where_the_program_is_tight():
    found = map_claims.decodable_means_tight(16)
    assert found.agrees
    assert 0 < figures(found, "tight")[0] < 16


def test_messages_have_the_bound_of_the_program():
    found = map_claims.messages_beat_solvers((4, 6))
    assert max(figures(found, "above")) < 1e-4


def test_expansions_and_trees_have_the_lowest_energies():
    above = dict(map_claims.expansions_and_trees_are_best(20, 8, 40, 2, (0.3,)).figures)
    best = max(above[f"energy above the bound, {name}, noise 0.3"] for name in ("expansions", "TRW-S"))
    for name in ("swaps", "max-product", "coordinate ascent"):
        assert best < above[f"energy above the bound, {name}, noise 0.3"]


def test_pictures_are_solved_almost_exactly_and_the_truth_costs_more():
    assert map_claims.near_the_optimum(16).agrees
    assert map_claims.truth_is_not_the_optimum(16, 2).agrees


def test_dense_graphs_and_unequal_states_are_hard():
    assert map_claims.dense_graphs_are_hard(10, 6).agrees


def test_local_search_finds_the_best_of_some_variables():
    assert map_claims.local_search_for_some(4, 5).agrees


def test_one_calibration_has_all_scores():
    found = map_claims.one_calibration_for_all([("asia", 2)])
    assert figures(found, "difference")[0] < 1e-12
    assert figures(found, "scores")[0] == 4


def test_triplets_close_the_gap():
    found = map_claims.few_triplets_make_it_tight(5, 4)
    assert found.agrees
    assert figures(found, "mean number")[0] < 0.2 * figures(found, "all triplets")[0]


def test_every_claim_has_its_figures():
    """The two kinds of messages give the same numbers, whatever they take."""
    found = map_claims.distances_take_linear_time((4,), 3)
    assert len(found.figures) == 2
    assert len(map_claims.CLAIMS) == 14
    assert all(number < len(map_claims.CLAIMS) for number in map_claims.QUICK)


@pytest.mark.parametrize("size", [3])
def test_grids_have_their_edges(size):
    assert map_claims.grid(size).num_edges == 2 * size * (size - 1)
