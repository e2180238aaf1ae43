"""Machine code for those functions alone that Python calls: others are optimized and translated within their callers.

Numba optimizes each function by itself, makes machine code of it, and does both again within every function that calls
it. A function that Python never calls is needed only as a part of its callers: here it stays LLVM's bitcode. Kernels of
twenty functions compile in half the time. The bitcode of a kernel from the disk, which Numba parses at once, is parsed
when another kernel is compiled that calls it: most processes only run what is there.

This builds on parts of Numba that are not public. With other versions than those it was tested with, functions are
compiled as Numba does it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numba
from llvmlite import binding
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target
from numba.core.runtime import rtsys

from sepset.base.memory import uncollected

FUNCTION, ENTRY = "_ZN", "_ZN7cpython"
"""How the names of compiled functions begin, and of those among them that Python calls."""


MACHINE_CODE = "machine code"
"""The kind of a library on disk that Python calls."""

OLDEST, NEWEST = (0, 59), (0, 68)
"""The versions of Numba whose code libraries are as expected here."""


def is_known(version: str) -> bool:
    """Whether a version of Numba is one of those that this was tested with.

    >>> is_known("0.60.0"), is_known("0.99.0dev1"), is_known("1.0")
    (True, False, False)
    """
    parts = [int(part) for part in version.split(".")[:2] if part.isdecimal()]
    return OLDEST <= tuple(parts) <= NEWEST


class LeanLibrary(JITCodeLibrary):  # type: ignore[misc]  # numba is untyped
    """The code of a compiled function: machine code if Python calls it, else bitcode."""

    _bitcode = b""  # of machine code from the disk, until a caller is compiled

    def _is_inner(self) -> bool:
        """Whether only compiled functions call it; without functions, it is machine code from the disk."""
        names = [f.name for f in self._final_module.functions if not f.is_declaration]
        return any(n.startswith(FUNCTION) for n in names) and not any(n.startswith(ENTRY) for n in names)

    def _optimize_final_module(self) -> None:
        if not self._is_inner():
            super()._optimize_final_module()

    def _finalize_final_module(self) -> None:
        if self._is_inner():
            self._finalize_dynamic_globals()
            self._finalized = True
        else:
            super()._finalize_final_module()

    def serialize_using_object_code(self) -> Any:
        """The library as it is kept on disk: machine code, bitcode, and the names that the bitcode defines."""
        if self._is_inner():
            return self.serialize_using_bitcode()
        name, _, (code, bitcode) = super().serialize_using_object_code()
        module = self._get_module_for_linking()
        defined = [v.name for v in (*module.functions, *module.global_variables) if not v.is_declaration]
        return name, MACHINE_CODE, (code, bitcode, defined)

    @classmethod
    def _unserialize(cls, codegen: Any, state: Any) -> Any:
        name, kind, data = state
        if kind != MACHINE_CODE:
            return super()._unserialize(codegen, state)
        library = codegen.create_library(name)
        code, library._bitcode, defined = data
        library.enable_object_caching()
        library._set_compiled_object(code)
        library._finalize_final_module()
        codegen._engine._defined_symbols.update(defined)
        return library

    def _get_module_for_linking(self) -> Any:
        if self._bitcode:
            self._shared_module, self._bitcode = binding.parse_bitcode(self._bitcode), b""
        return super()._get_module_for_linking()


@contextlib.contextmanager
def lean() -> Iterator[None]:
    """While it lasts, this thread alone compiles, as above, and Python does not look for garbage.

    Environments, which compiled functions have for messages, are set where there is machine code.
    """
    if not is_known(numba.__version__):
        yield
        return
    codegen = cpu_target.target_context.codegen()

    def set_env(name: str, env: Any) -> None:
        if codegen._engine.is_symbol_defined(name):
            type(codegen).set_env(codegen, name, env)

    with global_compiler_lock:
        rtsys.initialize(cpu_target.target_context)
        if "_library_class" in vars(codegen):  # a function within another
            yield
            return
        codegen._library_class, codegen.set_env = LeanLibrary, set_env
        try:
            with uncollected():
                yield
        finally:
            del codegen._library_class, codegen.set_env
