"""Compiled kernels: Numba in nopython mode, without the GIL, cached where it is safe.

Numba keys its disk cache on one source file, so that editing a callee leaves cached callers stale. Here the cache
lives in the user's cache directory under a hash of a kernel's file, of every kernel file it imports, and of the
versions that compiled them. The cache is a convenience: a folder that cannot be written is read, damage is a miss, and
where there is no folder at all everything still works.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core import caching, config, serialize
from numba.core.registry import CPUDispatcher
from numba.core.types.misc import unliteral
from numba.core.typing.typeof import typeof_impl

from sepset.base.threads import num_processors
from sepset.kernels import lean as lean_code, vectorcode
from sepset.kernels.diskcache import Lock, SealedFiles
from sepset.kernels.forms import OneForm
from sepset.kernels.kernel import Kernel, compiled_form
from sepset.kernels.lean import lean

F = TypeVar("F", bound=Callable[..., Any])
LOGGER = logging.getLogger("sepset")

# How often a kernel that only saves time is wanted before it is worth seconds of compiling.
OFTEN = 200
_WANTED: Counter[Any] = Counter()


def _look_up_quietly() -> None:
    """Make Numba find the types of results without running Python.

    Numba calls a Python function for the type of every array that a kernel returns. A Ctrl-C during the kernel would be
    raised there, and leave the kernel as a SystemError; with a cached type it is raised after the kernel.
    """
    if hasattr(serialize, "_numba_unpickle"):
        serialize._numba_unpickle = cache(serialize._numba_unpickle)


_look_up_quietly()


@typeof_impl.register(Kernel)
def _type_of_kernel(kernel: Kernel, context: Any) -> Any:
    """That of its compiled form, for a kernel that has the name of an interpreted one."""
    return typeof_impl(compiled_form(kernel), context)


@cache
def source_hash(path: Path) -> str:
    """A hash of a kernel file, of the kernel files it imports, and of the versions of Python and Numba."""
    digest = hashlib.sha256(f"{numba.__version__} {sys.version}".encode())
    own = Path(__file__), Path(lean_code.__file__), Path(vectorcode.__file__)
    for source in sorted(_sources(path, set(own))):
        digest.update(source.name.encode())
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def _sources(path: Path, known: set[Path]) -> set[Path]:
    """The file and all that it imports from this package, added to those already known."""
    known.add(path)
    for name in re.findall(r"^from sepset\.kernels\.([\w.]+) import", path.read_text(), re.MULTILINE):
        callee = Path(__file__).parent.joinpath(*name.split(".")).with_suffix(".py")
        if callee not in known:
            _sources(callee, known)
    return known


@cache
def cache_directory() -> Path | None:
    """Where compiled kernels are kept, or None where there is no such folder and none can be made."""
    base = os.environ.get("SEPSET_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
    try:
        root = Path(base).expanduser().absolute() if base else Path.home() / ".cache"
        directory = root / "sepset" / "kernels"
        if not directory.is_dir():
            directory.mkdir(parents=True, exist_ok=True)
        return directory
    except (OSError, RuntimeError):
        return None


def lock(name: str) -> Lock:
    """A lock between the processes that share the folder of compiled kernels, in a folder next to it."""
    return Lock((cache_directory() or Path("nowhere")).with_name("locks") / name)


class _Locator(caching._CacheLocator):  # type: ignore[misc]  # numba is untyped
    """Places every kernel's cache in one directory, under a name with the hash of its sources."""

    def __init__(self, py_func: Any, py_file: str) -> None:
        self._stamp = source_hash(Path(py_file))
        self._disambiguator = f"{Path(py_file).stem}-{py_func.__code__.co_firstlineno}-{self._stamp}"

    def get_cache_path(self) -> str:
        return str(cache_directory())

    def get_source_stamp(self) -> str:
        return self._stamp

    def get_disambiguator(self) -> str:
        return self._disambiguator

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> _Locator | None:
        return cls(py_func, py_file) if cache_directory() is not None else None


class _Implementation(caching.CompileResultCacheImpl):  # type: ignore[misc]  # numba is untyped
    _locator_classes = (_Locator,)


def is_ready(kernel: Any) -> bool:
    """Whether a kernel is compiled, or on disk; or was wanted often enough, if no other process will compile it."""
    if config.DISABLE_JIT or kernel.overloads or _is_kept(kernel._cache):
        return True
    _WANTED[kernel] += 1
    return not (_has_helper() and isinstance(kernel._cache, _KernelCache)) and _WANTED[kernel] > OFTEN


def _is_kept(cached: Any) -> bool:
    """Whether a kernel is on disk, for some kind of arguments; where there is no folder, nothing is."""
    return isinstance(cached, _KernelCache) and Path(cached._cache_file._index_path).is_file()


def _has_helper() -> bool:
    """Whether another process may compile kernels in the background."""
    is_python = "python" in Path(sys.executable or "").name and not getattr(sys, "frozen", False)
    return os.environ.get("SEPSET_WARM") != "0" and is_python and num_processors() >= 2


def _warm_up() -> None:
    """Start a process that compiles the other kernels in the background; `SEPSET_WARM=0` prevents it."""
    if not _has_helper():
        return
    running = lock("warm")
    if not running.acquire(wait=False):  # another process compiles
        return
    running.release()
    source = str(Path(__file__).parents[2])
    path = os.pathsep.join(part for part in (source, os.environ.get("PYTHONPATH", "")) if part)
    quiet = subprocess.DEVNULL
    with contextlib.suppress(OSError):
        started = subprocess.Popen(
            [sys.executable, "-m", "sepset.kernels.warm"],
            env={**os.environ, "SEPSET_WARM": "0", "PYTHONPATH": path},
            stdin=quiet,
            stdout=quiet,
            stderr=quiet,
            start_new_session=True,
        )
        started.returncode = 0  # it is never waited for
        LOGGER.info("process %d compiles other kernels in the background; SEPSET_WARM=0 prevents that", started.pid)


class _KernelCache(caching.FunctionCache):  # type: ignore[misc]  # numba is untyped
    """A function cache whose failures are misses, and of which one process at a time compiles what is missing.

    Attributes:
        is_own: whether the kernel is the library's, for which others are compiled ahead.
    """

    _impl_class = _Implementation
    _noticed = False
    is_own = False

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        locator, base = self._impl.locator, self._impl.filename_base
        self._cache_file = SealedFiles(locator.get_cache_path(), base, locator.get_source_stamp())
        self._lock = lock(base)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        found = self._loaded(sig, target_context)
        if found is None:
            self._notice()
            if self._lock.acquire():  # who waited for it finds what the other has compiled
                found = self._loaded(sig, target_context)
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        with contextlib.suppress(Exception):  # a disk that is full, a folder that cannot be written
            super().save_overload(sig, data)

    def saved(self, dispatcher: Any) -> list[tuple[Any, ...]]:
        """The types of arguments for which the kernel is on disk."""
        with contextlib.suppress(Exception):
            _, *here = self._index_key((), dispatcher.targetctx.codegen())
            return [key[0] for key in self._cache_file._load_index() if list(key[1:]) == here]
        return []

    def _loaded(self, sig: Any, target_context: Any) -> Any:
        """The kernel on disk; None if there is none or it cannot be used, whatever the reason."""
        with contextlib.suppress(Exception), lean():
            return super().load_overload(sig, target_context)
        return None

    def compiled(self, compile_it: Callable[[Any], Any], sig: Any) -> Any:
        """Compile, or load, and give the lock back."""
        try:
            with lean():
                return compile_it(sig)
        finally:
            self._lock.release()

    def _notice(self) -> None:
        """Say, once per process, that compiling takes a moment."""
        if _KernelCache._noticed:
            return
        _KernelCache._noticed = True
        LOGGER.info("compiling kernels into %s, once on this machine", self.cache_path)
        if sys.stderr.isatty():
            print("sepset: compiling kernels, once on this machine (up to a minute)...", file=sys.stderr)
        if self.is_own:
            _warm_up()


def _call_template(original: Callable[..., Any], args: Any, kws: Any) -> Any:
    """The call of one kernel from another: literal numbers do not compile the callee once more."""
    return original([unliteral(a) for a in args], {k: unliteral(a) for k, a in dict(kws).items()})


class Inner(CPUDispatcher):  # type: ignore[misc]  # numba is untyped
    """A compiled function that only compiled ones call: without an entry for Python, which runs it as it is written."""

    def __call__(self, *args: Any) -> Any:
        """Run it, interpreted."""
        return self.py_func(*args)


def compiled(function: F, reassociate: bool, inline: bool, borrows: bool, holds: bool, inner: bool) -> F:
    """The function compiled on first use for each kind of arguments; the options are those of `kernel`."""
    if config.DISABLE_JIT:
        return function
    private = inner or function.__name__.startswith("_")  # called only by kernels, it needs no Python wrapper
    dispatcher = numba.njit(
        nogil=not holds,
        error_model="numpy",
        fastmath={"reassoc", "contract", "nsz"} if reassociate else False,
        inline="always" if inline else "never",
        no_cpython_wrapper=private,
        no_cfunc_wrapper=True,
        _nrt=not borrows,
    )(function)
    if private:
        dispatcher.__class__ = Inner
    dispatcher.get_call_template = partial(_call_template, dispatcher.get_call_template)
    if cache_directory() is not None and Path(function.__code__.co_filename).is_file():
        kept = dispatcher._cache = _KernelCache(dispatcher.py_func)
        kept.is_own = function.__module__.startswith("sepset.kernels.")
        dispatcher.compile = partial(kept.compiled, dispatcher.compile)
        dispatcher.compile = OneForm(dispatcher, dispatcher.compile, partial(kept.saved, dispatcher))
    return dispatcher  # type: ignore[no-any-return]
