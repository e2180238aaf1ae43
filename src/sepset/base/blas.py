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
        self._libraries: list[Any] | None = None
        self._limited: list[tuple[Any, int]] = []

    def __enter__(self) -> None:
        with self._lock:
            self._inside += 1
            if self._inside == 1:
                numbers = [(library, library.num_threads) for library in self._found()]
                self._limited = [(library, number) for library, number in numbers if number != 1]
                for library, _ in self._limited:
                    library.set_num_threads(1)

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                for library, number in self._limited:
                    library.set_num_threads(number)

    def _found(self) -> list[Any]:
        """The BLAS libraries of this process, searched for once; that of compiled programs is loaded first."""
        if self._libraries is None:
            import scipy.linalg.cython_blas
            from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

            assert scipy.linalg.cython_blas
            self._libraries = ThreadpoolController().select(user_api="blas").lib_controllers
        return self._libraries


SINGLE_BLAS = SingleBlas()
