"""The `kernel` decorator: loops that run as plain Python for the first small questions, and compiled from then on.

Loading a compiler takes longer than most first questions, and compiling takes longer still. So a kernel starts as the
Python function that it is written as. Its work is estimated from the sizes of its arguments before each call, and is
added up over the process, by the kind of task; the call that would exceed `PLAIN_WORK` loads the compiled kernels of
its kind, and all later calls use them. What has been spent until then is at most what loading costs, so that no program
takes twice the time of the better choice; and who counts rows does not wait for kernels that plan contractions. Which
form answers depends on sizes alone, never on a clock, a cache or a background task.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping
from types import FunctionType, ModuleType
from typing import Any, NamedTuple, TypeVar, cast, overload

import numpy as np

F = TypeVar("F", bound=Callable[..., Any])

# Interpreted passes of a loop, about a microsecond each: together about as long as loading compiled kernels takes.
PLAIN_WORK = 600_000

# The kernels that plan and answer questions about a model are of one kind; all other folders are kinds of their own.
QUESTIONS = "compiled"
FOLDERS = {name: QUESTIONS for name in ("exact", "graphs", "hybrid")}

Work = Callable[..., float]


class Options(NamedTuple):
    """How a kernel is compiled; see `kernel`."""

    reassociate: bool
    inline: bool
    borrows: bool
    holds: bool = False
    inner: bool = False


class Meter:
    """The work that interpreted kernels of one kind have done in this process, and whether compiled ones are loaded.

    Attributes:
        spent: passes of loops so far.
        is_loaded: whether the compiled kernels answer.
    """

    def __init__(self, *, is_loaded: bool = False) -> None:
        self.spent = 0.0
        self.is_loaded = is_loaded

    def affords(self, work: Work, args: tuple[Any, ...]) -> bool:
        """Whether a call with these arguments is interpreted; its work is then spent."""
        if self.is_loaded:
            return False
        spent = self.spent + work(*args)
        if spent > PLAIN_WORK:
            return False
        self.spent = spent
        return True


class Meters:
    """The meters of all kinds of kernels, and their compiled forms.

    Attributes:
        kinds: by the name of a kind.
        compiled: those that are loaded.
        is_all: whether kinds that come later are loaded as well.
    """

    def __init__(self) -> None:
        self.kinds: dict[str, Meter] = {}
        self.compiled: dict[Kernel, Callable[..., Any]] = {}
        self.is_all = False
        self.lock = threading.RLock()

    def of(self, kind: str) -> Meter:
        """The meter of a kind, which has spent nothing at first."""
        found = self.kinds.get(kind)
        return self.kinds.setdefault(kind, Meter(is_loaded=self.is_all)) if found is None else found


class Kernel:
    """A function before compiled kernels are loaded.

    Attributes:
        function: as written.
        options: how it is compiled.
        work: the passes of its loops for given arguments; None if it is never interpreted when called from outside.
        kind: the tasks that it belongs to.
    """

    def __init__(self, function: Callable[..., Any], options: Options, work: Work | None) -> None:
        self.function, self.options, self.work = function, options, work
        self.__doc__, self.__name__ = function.__doc__, function.__name__
        self.__module__, self.__wrapped__ = function.__module__, function
        self.kind = _kind(function.__module__)

    def __call__(self, *args: Any) -> Any:
        """Run it, interpreted while that is affordable."""
        meter = METERS.of(self.kind)
        if not meter.is_loaded and (self.work is None or not meter.affords(self.work, args)):
            load(self.kind)
        if meter.is_loaded:
            return (METERS.compiled.get(self) or compiled_form(self))(*args)
        with np.errstate(all="ignore"):
            return plain(self)(*args)


def _kind(module: str | None) -> str:
    folder = (module or "").removeprefix("sepset.kernels.").partition(".")[0]
    return FOLDERS.get(folder, folder)


METERS = Meters()


def are_loaded(kind: str = QUESTIONS) -> bool:
    """Whether the compiled kernels of a kind answer, so that nothing waits for them."""
    return METERS.of(kind).is_loaded


_KERNELS: list[Kernel] = []
_PLAIN: dict[str, dict[str, Any]] = {}


@overload
def kernel(function: F) -> F: ...
@overload
def kernel(
    *,
    reassociate: bool = False,
    inline: bool = False,
    borrows: bool = False,
    holds: bool = False,
    inner: bool = False,
    work: Work | None = None,
) -> Callable[[F], F]: ...
def kernel(
    function: F | None = None,
    *,
    reassociate: bool = False,
    inline: bool = False,
    borrows: bool = False,
    holds: bool = False,
    inner: bool = False,
    work: Work | None = None,
) -> F | Callable[[F], F]:
    """A function that is compiled once that is worth it: nopython, nogil, cached on disk. Division by zero is inf.

    Args:
        reassociate: let the compiler reorder sums, which vectorizing a reduction requires; NaN and inf keep their
            meaning.
        inline: inline the function into its callers; one that is called once then compiles faster.
        borrows: the function neither creates nor returns arrays; references to its arguments are then not counted,
            which would take longer than a short function.
        holds: keep other Python threads waiting: for calls of microseconds, after which getting the GIL back from one
            of them would take longer than the call.
        inner: only kernels call it, as they do those whose names begin with an underscore: it compiles faster.
        work: about how many passes its loops take for given arguments. Without it, a call from outside always loads
            the compiled kernels; calls from other kernels are a part of theirs.
    """
    options = Options(reassociate, inline, borrows, holds, inner)
    if function is None:
        return lambda f: _decorated(f, options, work)
    return _decorated(function, options, work)


def _decorated(function: F, options: Options, work: Work | None) -> F:
    made = Kernel(function, options, work)
    _KERNELS.append(made)
    return cast(F, compiled_form(made) if METERS.of(made.kind).is_loaded else made)


def sizes(*args: Any) -> float:
    """The number of entries of all arrays among the arguments: the work of a kernel that reads each about once."""
    return float(sum(a.size for a in args if isinstance(a, np.ndarray)))


def times(passes: float) -> Work:
    """The work of a kernel that makes so many passes for each entry of its arguments."""
    return lambda *args: passes * sizes(*args)


def pairs(start: Any, members: Any) -> float:
    """The number of pairs of places, over all numbers, at which a number is found in compressed rows."""
    return float(np.square(np.bincount(members)).sum()) if len(members) else float(len(start))


def answered() -> Mapping[str, object]:
    """Which form of kernels answers questions now, `plain` or `compiled`, as a result says it in `info`.

    >>> answered()["tier"] in ("plain", "compiled")
    True
    """
    return {"tier": "compiled" if METERS.of(QUESTIONS).is_loaded else "plain"}


def load(kind: str = QUESTIONS) -> None:
    """Load the compiled kernels of a kind: every kernel module has them under the names of the interpreted ones."""
    if METERS.of(kind).is_loaded:
        return
    with METERS.lock:
        if not METERS.of(kind).is_loaded:
            for made in _KERNELS:
                if made.kind == kind:
                    compiled_form(made)
            for module in {k.__module__ for k in _KERNELS} & sys.modules.keys():
                _replace(sys.modules[module])
            METERS.of(kind).is_loaded = True


def load_all() -> None:
    """Load the compiled kernels of all kinds, now and as their modules are imported."""
    with METERS.lock:
        METERS.is_all = True
        for kind in {k.kind for k in _KERNELS} | METERS.kinds.keys():
            load(kind)


def compiled_form(made: Kernel) -> Callable[..., Any]:
    """The compiled form of a kernel, which is compiled when it is called; others of its kind are as they were."""
    with METERS.lock:
        if made not in METERS.compiled:
            METERS.compiled[made] = _compiled(made)
        return METERS.compiled[made]


def is_at_hand(kernel: Any) -> bool:
    """Whether a kernel runs without waiting for the compiler: interpreted, compiled before, or from the disk.

    For kernels that only save time over others: what they return is the same, so that no answer depends on this.
    """
    if isinstance(kernel, Kernel):
        if not METERS.of(kernel.kind).is_loaded:
            return True
        kernel = compiled_form(kernel)
    if getattr(kernel, "overloads", None):
        return True
    from sepset.kernels.compile import is_ready

    return is_ready(kernel)


def _compiled(made: Kernel) -> Callable[..., Any]:
    from sepset.kernels.compile import compiled

    return compiled(made.function, *made.options)


def _replace(module: ModuleType) -> None:
    """Bind the names of kernels in a module to their compiled form, if they have one."""
    for name, value in list(vars(module).items()):
        if isinstance(value, Kernel) and value in METERS.compiled:
            setattr(module, name, METERS.compiled[value])


def plain(made: Kernel) -> Callable[..., Any]:
    """The Python function, with kernels that it calls interpreted as well.

    Its global names are a copy of its module's: it is not affected if another thread loads the compiled kernels.
    """
    module = made.__module__
    if module not in _PLAIN:
        names = dict(vars(sys.modules[module]))
        own = {n: v for n, v in names.items() if isinstance(v, Kernel)}
        names |= {n: _function(v, names) if v.__module__ == module else plain(v) for n, v in own.items()}
        _PLAIN[module] = names
    return cast(Callable[..., Any], _PLAIN[module][made.__name__])


def _function(made: Kernel, names: dict[str, Any]) -> FunctionType:
    source = cast(FunctionType, made.function)
    return FunctionType(source.__code__, names, source.__name__, source.__defaults__, source.__closure__)
