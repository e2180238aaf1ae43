"""Machine code for those functions alone that Python calls: others are optimized and translated within their callers.

Numba optimizes each function by itself, makes machine code of it, and does both again within every function that calls
it. A function that Python never calls is needed only as a part of its callers: here it stays LLVM's bitcode. Kernels of
twenty functions compile in half the time. The bitcode of a kernel from the disk, which Numba parses at once, is parsed
when another kernel is compiled that calls it: most processes only run what is there. Numba also tries all
implementations of an operator wherever it occurs, and imports all of its own modules again before each function: here
it is remembered which implementation took which types, and modules are imported once. After each of thirty passes it
finds again how long each variable lives, which the last one alone asks for; for each constraint on a type it replaces
the filters of warnings; with each block of a function that it inlines it copies the table of all its variables; and it
tells the timers of all functions being compiled of every call of LLVM. Here it does none of these.

This builds on parts of Numba that are not public. With other versions than those it was tested with, functions are
compiled as Numba does it.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator
from functools import partial
from typing import Any

import numba
from llvmlite import binding
from numba.core import event, inline_closurecall
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_lock import global_compiler_lock
from numba.core.errors import NumbaError, WarningsFixer  # type: ignore[attr-defined]  # it is not public
from numba.core.postproc import PostProcessor, VariableLifetime
from numba.core.registry import cpu_target
from numba.core.runtime import rtsys
from numba.core.target_extension import get_local_target
from numba.core.transforms import canonicalize_cfg
from numba.core.types.abstract import Poison
from numba.core.types.functions import BaseFunction
from numba.core.types.misc import unliteral
from numba.core.utils import order_by_target_specificity

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


_FOUND: dict[tuple[Any, ...], tuple[Any, bool]] = {}
_LOADED: set[Any] = set()
_MISSING = object()
_call_type = BaseFunction.get_call_type
_process = PostProcessor.run


def _found_call_type(function: Any, context: Any, args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
    """The types of a call of one of Numba's functions: the implementation that took them before is tried first."""
    key = (function, tuple(args), tuple(kws.items()))
    if any(isinstance(a, Poison) for a in (*args, *kws.values())):
        return _call_type(function, context, args, kws)
    for template, is_literal in [_FOUND[key]] if key in _FOUND else _implementations(function, context):
        made = template(context)
        try:
            found = made.apply(*((args, kws) if is_literal else _plain(args, kws)))
        except NumbaError:
            found = None
        if found is not None:
            _FOUND[key] = template, is_literal
            function._impl_keys[found.args] = made.get_impl_key(found)
            return found
    return _call_type(function, context, args, kws)  # which says what it has tried


def _implementations(function: Any, context: Any) -> Iterator[tuple[Any, bool]]:
    """In the order in which they are tried, with constants among the arguments taken as such or as variables."""
    for template in order_by_target_specificity(get_local_target(context), function.templates, fnkey=function.key[0]):
        first = bool(template.prefer_literal)
        yield template, first
        yield template, not first


def _plain(args: tuple[Any, ...], kws: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return tuple(unliteral(a) for a in args), {name: unliteral(a) for name, a in kws.items()}


class _Copies:
    """Copies of a function's blocks, made one after the other, that share one copy of their variables."""

    def __init__(self) -> None:
        self._made: dict[int, Any] = {}

    def deepcopy(self, block: Any) -> Any:
        """The copy of a block; a block that is copied again, and one of another function, begins a new set of them."""
        if id(block) in self._made or id(block.scope) not in self._made:
            self._made = {}
        return copy.deepcopy(block, self._made)


@contextlib.contextmanager
def lean() -> Iterator[None]:
    """While it lasts, this thread alone compiles, as above, and Python does not look for garbage.

    Environments, which compiled functions have for messages, are set where there is machine code.
    """
    if not is_known(numba.__version__):
        yield
        return
    context = cpu_target.target_context
    with global_compiler_lock:
        rtsys.initialize(context)
        codegen = context.codegen()
        if "_library_class" in vars(codegen):  # a function within another
            yield
            return
        with contextlib.ExitStack() as stack:
            for target, name, value in _replacements(codegen, context):
                stack.enter_context(_replaced(target, name, value))
            with uncollected():
                yield


def _replacements(codegen: Any, context: Any) -> Iterator[tuple[Any, str, Any]]:
    """The parts of Numba that are other ones meanwhile: whose, their names, and what they are."""
    typing = context.typing_context
    yield codegen, "_library_class", LeanLibrary
    yield codegen, "set_env", partial(_set_env, codegen)
    yield context, "load_additional_registries", partial(_look, context)
    yield typing, "load_additional_registries", partial(_look, typing)
    yield context, "create_cfunc_wrapper", _nothing  # of Numba's own functions, for C
    yield BaseFunction, "get_call_type", _found_call_type
    yield PostProcessor, "run", _processed
    yield WarningsFixer, "catch_warnings", _no_context
    yield inline_closurecall, "copy", _Copies()
    if not any(event._registered.values()):  # without a listener
        yield event, "install_timer", _no_context
        yield event, "trigger_event", _no_context
        yield event, "start_event", _nothing
        yield event, "end_event", _nothing


@contextlib.contextmanager
def _replaced(target: Any, name: str, value: Any) -> Iterator[None]:
    """While it lasts, an attribute of its own for an object, a class or a module."""
    before = vars(target).get(name, _MISSING)
    setattr(target, name, value)
    try:
        yield
    finally:
        if before is _MISSING:
            delattr(target, name)
        else:
            setattr(target, name, before)


def _nothing(*_: Any, **__: Any) -> None:
    """Do nothing."""


def _no_context(*_: Any, **__: Any) -> contextlib.AbstractContextManager[None]:
    """Do nothing before and after."""
    return contextlib.nullcontext()


def _processed(processor: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
    """The end of a pass over a function: how long its variables live is found where it is asked for."""
    function = processor.func_ir
    if emit_dels or function.is_generator:
        _process(processor, emit_dels, extend_lifetimes)
        return
    function.blocks = canonicalize_cfg(function.blocks)
    function.variable_lifetime, function.generator_info = VariableLifetime(function.blocks), None


def _set_env(codegen: Any, name: str, env: Any) -> None:
    if codegen._engine.is_symbol_defined(name):
        type(codegen).set_env(codegen, name, env)


def _look(context: Any) -> None:
    """Load all registries for the first time; later take what is new in them."""
    if context not in _LOADED:
        type(context).load_additional_registries(context)
        _LOADED.add(context)
    for registry in list(context._registries):
        context.install_registry(registry)
