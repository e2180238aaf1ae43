"""Matrix products on one thread: from the first caller that enters until the last leaves, also after errors."""

from __future__ import annotations

import pytest

from sepset.base.blas import SINGLE_BLAS, SingleBlas


def blas_threads():
    import scipy.linalg.cython_blas
    from threadpoolctl import ThreadpoolController

    assert scipy.linalg.cython_blas
    return [library.num_threads for library in ThreadpoolController().select(user_api="blas").lib_controllers]


def test_matrix_products_run_on_one_thread_until_the_last_leaves():
    before, guard = blas_threads(), SingleBlas()
    with guard:
        assert set(blas_threads()) <= {1}
        with guard:
            assert set(blas_threads()) <= {1}
        assert set(blas_threads()) <= {1}
    assert blas_threads() == before


def test_an_error_inside_restores_the_threads():
    before = blas_threads()
    with pytest.raises(KeyboardInterrupt), SINGLE_BLAS:
        raise KeyboardInterrupt
    assert blas_threads() == before
