"""Code within its callers: the same numbers, and machine code for what Python calls alone."""

from __future__ import annotations

import gc

import numba
import numpy as np
import pytest
from numba.core import event
from numba.core.errors import WarningsFixer
from numba.core.postproc import PostProcessor
from numba.core.registry import cpu_target
from numba.core.types.functions import BaseFunction

from sepset.kernels.lean import LeanLibrary, is_known, lean
from support.bounded import child


@pytest.fixture
def functions():
    """A function that Python calls, and one that only it calls, which raises and makes arrays."""

    @numba.njit(no_cpython_wrapper=True, no_cfunc_wrapper=True)
    def inner(x, k):
        if k < 0:
            raise ValueError("a negative number")
        return np.sort(x)[:k]

    @numba.njit(no_cfunc_wrapper=True)
    def outer(x, k):
        return inner(x, k).sum() + inner(-x, 1)[0]

    return inner, outer


def test_numbers_and_errors_are_those_of_python(functions):
    _, outer = functions
    x = np.array([3.0, 1.0, 2.0])
    with lean():
        assert outer(x, 2) == 3.0 - 3.0
    assert outer(x, 1) == 1.0 - 3.0
    with pytest.raises(ValueError, match="a negative number"):
        outer(x, -1)


@numba.njit(no_cfunc_wrapper=True)
def mixed(whole, real, pair):
    """The same operators with arguments of other types, constants among them."""
    sums = (whole + whole, whole + real, real + whole, real + 1, 1 + whole, pair[0] + pair[1])
    return sums, max(whole, 2), max(real, 2.0), len(pair), len("abc") + whole


@numba.njit(no_cfunc_wrapper=True)
def wrong(x):
    return x + "a"


def test_operators_are_those_of_their_types():
    arguments = (3, 0.5, (1, 2.5))
    with lean():
        assert mixed(*arguments) == mixed.py_func(*arguments)
        found = mixed.nopython_signatures[0].return_type.types[0]
    assert [str(t) for t in found] == ["int64", "float64", "float64", "float64", "int64", "float64"]


def test_what_cannot_be_compiled_is_said_as_numba_says_it():
    with lean(), pytest.raises(numba.core.errors.TypingError, match="No implementation of function"):
        wrong(1.0)


def test_what_is_replaced_in_numba_is_put_back(functions):
    _, outer = functions
    context = cpu_target.target_context
    parts = [context, context.typing_context, context.codegen(), BaseFunction, PostProcessor, WarningsFixer, event]
    before = [dict(vars(part)) for part in parts[3:]]
    with lean():
        changed = [dict(vars(part)) for part in parts[3:]]
        outer(np.ones(3), 2)
    assert all(was != now for was, now in zip(before, changed, strict=True))
    assert [dict(vars(part)) for part in parts[3:]] == before
    replaced = {"load_additional_registries", "create_cfunc_wrapper", "set_env", "_library_class"}
    assert not any(replaced & vars(part).keys() for part in parts[:3])


def test_who_listens_to_numba_hears_of_every_function(functions):
    inner, outer = functions
    with event.install_recorder("numba:compile") as heard, lean():
        outer(np.ones(3), 2)
    assert {inner, outer} <= {told.data["dispatcher"] for _, told in heard.buffer}


@numba.njit(no_cfunc_wrapper=True)
def product(x, y):
    return np.dot(x, y)


def test_warnings_of_numba_are_given():
    x = np.ones((4, 4))[::2, ::2]
    with lean(), pytest.warns(numba.core.errors.NumbaPerformanceWarning, match="faster on contiguous"):
        assert product(x, x).sum() == 8.0


@numba.njit(no_cfunc_wrapper=True)
def squares(n):
    for i in range(n):
        yield i * i


@numba.njit(no_cfunc_wrapper=True)
def first_above(rows, limit):
    """Variables that live for some paths alone, loops with an else, and a generator."""
    for k, row in enumerate(rows):
        for s in squares(len(row)):
            if row[s % len(row)] > limit:
                found = row.copy()
                break
        else:
            continue
        return k, found.sum()
    return -1, 0.0


def test_variables_live_as_long_as_they_are_used():
    rows = np.arange(12.0).reshape(4, 3)
    with lean():
        assert [first_above(rows, x) for x in (-1.0, 4.5, 20.0)] == [(0, 3.0), (2, 21.0), (-1, 0.0)]


def test_only_what_python_calls_is_machine_code(functions):
    inner, outer = functions
    with lean():
        outer(np.ones(3), 2)
    libraries = [f.overloads[f.signatures[0]].library for f in (inner, outer)]
    assert [type(made) for made in libraries] == [LeanLibrary, LeanLibrary]
    assert [made.serialize_using_object_code()[1] for made in libraries[:1]] == ["bitcode"]
    assert not inner.targetctx.codegen()._engine.is_symbol_defined(libraries[0].name)


def test_bitcode_from_the_disk_is_parsed_when_a_caller_is_compiled(folder):
    """A process that runs a kernel does not parse it; one that compiles another kernel around it does."""
    start = f"import sys; sys.path.insert(0, {str(folder)!r}); import loops, numpy as np; x = np.ones(3)\n"
    kept = "\n(made,) = loops.total.overloads.values(); print(len(made.library._bitcode) > 0)\n"

    def printed(script: str) -> list[str]:
        done = child(start + script, SEPSET_CACHE_DIR=str(folder / "cache"), SEPSET_WARM="0")
        assert not done.returncode, done.stderr
        return done.stdout.split()

    assert printed("print(loops.total(x))") == ["3.0"]
    assert printed(f"print(loops.total(x)){kept}") == ["3.0", "True"]
    assert printed(f"loops.total(x){kept}print(loops.twice(x)){kept}") == ["True", "6.0", "False"]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "loops.py").write_text(LOOPS, encoding="utf-8")
    return tmp_path


LOOPS = """
from sepset.kernels.kernel import kernel

@kernel
def total(x):
    s = 0.0
    for v in x:
        s += v
    return s

@kernel
def twice(x):
    return total(x) + total(x)
"""


def test_afterward_functions_are_compiled_as_usual_and_garbage_is_collected(functions):
    _, outer = functions
    with pytest.raises(ZeroDivisionError), lean(), lean():
        raise ZeroDivisionError
    assert gc.isenabled()
    assert outer(np.ones(3), 2) == 1.0
    assert not isinstance(outer.overloads[outer.signatures[0]].library, LeanLibrary)


def test_other_versions_of_numba_compile_as_usual(functions, monkeypatch):
    monkeypatch.setattr(numba, "__version__", "0.99.0")
    inner, outer = functions
    with lean():
        assert outer(np.array([3.0, 1.0, 2.0]), 2) == 0.0
    for made in (inner, outer):
        assert not isinstance(made.overloads[made.signatures[0]].library, LeanLibrary)


@pytest.mark.parametrize("version", ["0.58.1", "0.69.0", "1.0.0", "0.x", ""])
def test_versions_that_were_not_tested(version):
    assert not is_known(version)
    assert is_known(numba.__version__)


def test_code_from_the_disk_is_a_part_of_new_callers(tmp_path):
    """One process compiles a kernel; the next loads it and what it calls, and compiles another that calls them."""
    (tmp_path / "loops.py").write_text(
        """
from sepset.kernels.kernel import kernel


@kernel
def _double(x):
    return 2.0 * x


@kernel
def total(values):
    out = 0.0
    for v in values:
        out += _double(v)
    return out


@kernel
def twice(values):
    return total(values) + _double(total(values))
"""
    )
    for name, value in (("total", 20.0), ("twice", 60.0), ("twice", 60.0)):
        script = f"""
            import sys
            sys.path.insert(0, {str(tmp_path)!r})
            import numpy as np, loops
            print(loops.{name}(np.arange(5.0)))
        """
        done = child(script, SEPSET_CACHE_DIR=str(tmp_path / "cache"))
        assert done.stdout.split() == [str(value)], done.stderr
