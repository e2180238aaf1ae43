"""Matrix products on the caller's thread alone, while many of them run."""

from __future__ import annotations

import threading
from typing import Any


class SingleBlas:
    """While anyone is inside, matrix products run on the caller's thread alone.

    Programs make many products of moderate size, and several callers may run at once: threads of the library below
    would spend their time waiting for each other. The first to enter sets the limit, the last to leave restores it.

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
        """The libraries there are, looked for once: compiled programs bring theirs along when they are first run."""
        if self._controller is None:
            import scipy.linalg.cython_blas
            from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

            assert scipy.linalg.cython_blas
            self._controller = ThreadpoolController().select(user_api="blas")
        return self._controller


SINGLE_BLAS = SingleBlas()
