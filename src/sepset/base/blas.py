"""Matrix products limited to the calling thread."""

from __future__ import annotations

import threading
from typing import Any


class SingleBlas:
    """A context in which matrix products run on the calling thread only.

    Programs compute many products of moderate size, and several callers may run at once: the threads of BLAS would
    spend their time waiting for each other. The first caller to enter sets the limit, the last to leave restores it.

    >>> with SINGLE_BLAS:
    ...     pass
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._controller: Any = None
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            self._inside += 1
            if self._inside == 1:
                self._limit = self._found().limit(limits=1)

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._limit.restore_original_limits()

    def _found(self) -> Any:
        """The BLAS libraries of this process, searched for once; that of compiled programs is loaded first."""
        if self._controller is None:
            import scipy.linalg.cython_blas
            from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

            assert scipy.linalg.cython_blas
            self._controller = ThreadpoolController().select(user_api="blas")
        return self._controller


SINGLE_BLAS = SingleBlas()
