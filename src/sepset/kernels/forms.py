"""One compiled form of a kernel for writable and for read-only arrays.

Numba compiles a function again for each combination of writable and read-only arguments. An array that a kernel only
reads may be either: here such arguments are always taken as read-only, so that one form serves. Which they are is read
from the source; where it is mistaken the compiler says so, and the form of the given arguments is compiled.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import Any

from numba.core import types
from numba.core.compiler_lock import global_compiler_lock
from numba.core.errors import TypingError
from numba.core.sigutils import normalize_signature
from numba.core.targetconfig import ConfigStack
from numba.core.types.containers import NamedTuple

from sepset.base.threads import not_listening
from sepset.kernels.kernel import Kernel

WRITERS = frozenset({"fill", "itemset", "put", "resize", "sort"})
"""Methods of arrays that change them."""

VIEWS = frozenset({"asarray", "ascontiguousarray", "ravel", "reshape", "transpose", "view"})
"""Functions and methods that return a view of an array, or the array itself."""

READERS = frozenset({"abs", "bool", "enumerate", "float", "int", "len", "max", "min", "range", "sum", "zip"})
"""Functions of Python that change no argument."""


class OneForm:
    """Compiles a function for given types of arguments, which may share their code with others.

    Attributes:
        dispatcher: the function.
        compile_it: compiles or loads the code for given types.
        saved: the types for which there is code on disk: the source is read only if none of them serve.
    """

    def __init__(
        self, dispatcher: Any, compile_it: Callable[[Any], Any], saved: Callable[[], Iterable[tuple[Any, ...]]]
    ) -> None:
        self.dispatcher, self.compile_it, self.saved = dispatcher, compile_it, saved
        self._served: set[tuple[Any, ...]] = set()

    def __call__(self, signature: Any) -> Any:
        """The code, which the function runs for arguments of these types from then on."""
        given = tuple(normalize_signature(signature)[0])
        with not_listening(), global_compiler_lock:
            shared = given if given in self.dispatcher.overloads else self._shared(given)
            if shared == given:
                return self.compile_it(signature)
            try:
                code = self.compile_it(shared)
            except TypingError:
                return self.compile_it(signature)
            if given not in self._served:
                self.dispatcher._insert([a._code for a in given], code, False)
                self._served.add(given)
            return code

    def _shared(self, given: tuple[Any, ...]) -> tuple[Any, ...]:
        """The types whose code serves: of code that is there, or to be compiled."""
        is_inner = len(ConfigStack()) > 0  # where the caller is compiled, tuples are passed as they are
        for known in itertools.chain(self.dispatcher.overloads, self.saved()):
            if serves(known, given, arrays_only=is_inner):
                return tuple(known)
        return one_form(self.dispatcher.py_func, given, arrays_only=is_inner)


def serves(known: Sequence[Any], given: Sequence[Any], *, arrays_only: bool = False) -> bool:
    """Whether code for known types runs with arguments of the types given: some that it reads may be writable."""
    return len(known) == len(given) and all(
        k == g or ((isinstance(g, types.Array) or not arrays_only) and k == read_only(g))
        for k, g in zip(known, given, strict=True)
    )


def one_form(function: Any, given: tuple[Any, ...], *, arrays_only: bool = False) -> tuple[Any, ...]:
    """The types of arguments with arrays that the function only reads as read-only."""
    written = written_arguments(function)
    return tuple(
        t if at in written or (arrays_only and not isinstance(t, types.Array)) else read_only(t)
        for at, t in enumerate(given)
    )


def read_only(kind: Any) -> Any:
    """The type of arrays that are not written, and of named tuples of such arrays; other types as they are."""
    if isinstance(kind, types.Array) and kind.mutable:
        return kind.copy(readonly=True)
    if isinstance(kind, NamedTuple):
        return NamedTuple([read_only(t) for t in kind], kind.instance_class)
    return kind


@cache
def written_arguments(function: Any) -> frozenset[int]:
    """The positions of the arguments that are arrays which a function may write, or return; all without its source."""
    source, names = _parsed(function), _arguments(function)
    if source is None:
        return frozenset(range(len(names)))
    views = _views(source)
    found = set(_written(source, function)) & (arrays(function) | set(names))
    while new := {whole for name in found for whole in views.get(name, ()) if whole not in found}:
        found |= new
    return frozenset(at for at, name in enumerate(names) if name in found)


@cache
def arrays(function: Any) -> frozenset[str]:
    """The names in a function that are arrays, or tuples of them: they have entries, fields or methods."""
    source = _parsed(function)
    found = set()
    for node in () if source is None else ast.walk(source):
        if isinstance(node, ast.Subscript | ast.Attribute):
            found |= set(_wholes(node))
        elif isinstance(node, ast.Call) and (callee := _callee(node, function)) is not None:
            inner = [name in arrays(callee) for name in _arguments(callee)]
            found |= {name for is_array, a in zip(inner, node.args, strict=False) if is_array for name in _wholes(a)}
    return frozenset(found)


@cache
def _parsed(function: Any) -> ast.FunctionDef | None:
    """The source of a function; None if it is not there, or was changed since the function was made."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    except (OSError, SyntaxError):
        return None
    if not isinstance(tree, ast.FunctionDef) or tuple(a.arg for a in tree.args.args) != _arguments(function):
        return None
    tree.decorator_list = []  # an estimate of its work has the same names
    return tree


def _arguments(function: Any) -> tuple[str, ...]:
    """The names of a function's arguments."""
    code = function.__code__
    return tuple(code.co_varnames[: code.co_argcount])


def _views(tree: ast.FunctionDef) -> dict[str, set[str]]:
    """For each local name, the names that it may be a view of."""
    found: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        bound: list[tuple[ast.expr, ast.expr]] = []
        if isinstance(node, ast.Assign):
            bound = [pair for target in node.targets for pair in _pairs(target, node.value)]
        elif isinstance(node, ast.For):
            bound = [(node.target, node.iter)]
        for target, value in bound:
            if isinstance(target, ast.Name):
                found.setdefault(target.id, set()).update(_wholes(value))
    return found


def _pairs(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    """The names of an assignment, each with what it is bound to."""
    if not isinstance(target, ast.Tuple):
        return [(target, value)]
    values = value.elts if isinstance(value, ast.Tuple) else [value] * len(target.elts)
    return list(zip(target.elts, values, strict=True))


def _written(tree: ast.FunctionDef, function: Any) -> Iterator[str]:
    """The names whose entries are set, which are returned whole, or which are passed to what may set entries."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del):
            yield from _wholes(node)
        elif isinstance(node, ast.AugAssign):
            yield from _wholes(node.target)
        elif isinstance(node, ast.Return) and node.value is not None:
            parts = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            yield from (part.id for part in parts if isinstance(part, ast.Name))
        elif isinstance(node, ast.Call):
            yield from _given_away(node, function)


def _given_away(call: ast.Call, function: Any) -> Iterator[str]:
    """The names that a call may write to."""
    if isinstance(call.func, ast.Attribute):
        if call.func.attr in WRITERS:
            yield from _wholes(call.func.value)
        return
    callee, name = _callee(call, function), getattr(call.func, "id", "")
    if callee is None and (name in READERS or name not in function.__globals__):
        return  # a local name is that of a number's type
    known_places = next((at for at, a in enumerate(call.args) if isinstance(a, ast.Starred)), len(call.args))
    for at, argument in enumerate(call.args):
        if callee is None or at >= known_places or at in written_arguments(callee):
            yield from _wholes(argument)


def _callee(call: ast.Call, function: Any) -> Any:
    """The kernel that is called, as it is written; None for other functions, and for the function itself."""
    found = function.__globals__.get(call.func.id) if isinstance(call.func, ast.Name) else None
    written = found.function if isinstance(found, Kernel) else getattr(found, "py_func", None)
    return None if written is function else written


def _wholes(expression: ast.expr) -> Iterator[str]:
    """The names that an expression is, or is a part or a view of."""
    if isinstance(expression, ast.Subscript | ast.Attribute | ast.Starred):
        yield from _wholes(expression.value)
    elif isinstance(expression, ast.Name):
        yield expression.id
    elif isinstance(expression, ast.IfExp | ast.Tuple):
        parts = expression.elts if isinstance(expression, ast.Tuple) else [expression.body, expression.orelse]
        yield from (name for part in parts for name in _wholes(part))
    elif isinstance(expression, ast.Call) and getattr(expression.func, "attr", None) in VIEWS:
        yield from (name for part in (expression.func, *expression.args) for name in _wholes(part))
