"""One arc turned around, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.kernels.hybrid.reversal import carry_constants, read_numbers, reverse_arcs


@pytest.mark.parametrize("keep", [0.0, 1.0])
def test_one_measurement_of_one_number(keep):
    """x ~ N(1, 2) and 3x + e, e ~ N(0, 1/2): the gain is 6 / 18.5, and 1 / 18.5 of the variance is left."""
    start, above, slopes = np.array([0, 0, 1]), np.array([0]), np.array([3.0])
    kinds, order, never = np.array([2, 1], np.uint8), np.array([0]), np.zeros(1, np.uint8)
    steps, factors, *given, noise = reverse_arcs(
        start, above, slopes, np.array([2.0, 0.5]), kinds, order, keep, 2.0**-44, never
    )
    assert steps.tolist() == [1, 0]
    assert factors[0] == pytest.approx([3.0, -6.0 / 18.5], rel=1e-15)
    assert noise[0] == pytest.approx([1.0 / 18.5, 18.5], rel=1e-15)
    constants, terms = np.zeros((2, 2, 1)), np.zeros((2, 1))
    row = np.array([[0.0, 4.0]])
    carry_constants(
        start, above, slopes, np.array([1.0, 0.0]), kinds, row, steps, factors, constants, terms, keep, never
    )
    read_numbers(order, *given, constants, terms, keep, never)
    assert constants[0, :, 0] == pytest.approx([1.0 + 6.0 / 18.5, -1.0], rel=1e-15)


def test_findings_that_hardly_depend_on_a_number_are_combined_by_the_one_that_depends_most():
    """Slopes from 1e-190 to 1e-160, whose squares are no floats: no noise is scaled by much more than 2."""
    start, above = np.array([0, 0, 1, 2, 3, 4]), np.array([0, 1, 1, 1])
    slopes, kinds = np.array([1e-90, 1e-100, 1e-70, 1e-80]), np.array([2, 2, 1, 1, 1], np.uint8)
    order, never = np.array([1, 0]), np.zeros(1, np.uint8)
    steps, *_, noise = reverse_arcs(start, above, slopes, np.ones(5), kinds, order, 1.0, 2.0**-92, never)
    assert steps.reshape(-1, 2).tolist()[3:5] == [[2, 3], [4, 3]]
    assert noise[0] == pytest.approx(np.ones(5), rel=1e-12)
