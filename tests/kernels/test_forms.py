"""One compiled form serves writable and read-only arrays; what a kernel writes is never taken as read-only."""

from __future__ import annotations

import signal
import threading
from types import SimpleNamespace
from typing import NamedTuple

import numba
import numpy as np
import pytest
from numba.core import types
from numba.core.errors import TypingError

from sepset.base.threads import interruptible
from sepset.kernels.compile import compiled
from sepset.kernels.forms import OneForm, one_form, serves, written_arguments
from sepset.kernels.kernel import Kernel, Options

FLOATS = types.Array(types.float64, 1, "C")
FIXED = FLOATS.copy(readonly=True)


class Pair(NamedTuple):
    left: np.ndarray
    right: np.ndarray


def kernel(function):
    return Kernel(function, Options(False, False, False), None)


@kernel
def put(out, at, value):
    out[at] = value


@kernel
def total(values):
    found = 0.0
    for v in values:
        found += v
    return found


def reads(a, b, out):
    size, half = len(a), a[: len(b)]
    for i in range(size):
        out[i] = a[i] + total(b) + half[0]


def writes_a_slice(a, b):
    part = a[1:]
    part[0] += b[0]


def writes_one_of_two(a, b, first):
    target = a if first else b
    target[0] = 1.0


def writes_through_another(a, b):
    put(a, 0, total(b))


def writes_among_several(a, b, c):
    given = b, 0
    put(*given, c[0])
    return total(a)


def writes_a_row(a, b):
    for row in a:
        row[0] = b[0]


def writes_a_field(pair, other):
    pair.left[0] = other.right[0]


def sorts(a, b):
    a.sort()
    return b[0]


def returns(a, b):
    return a, b[0]


def swaps(a, b, out):
    a, out = out, a
    out[0] = b[0]


@pytest.mark.parametrize(
    ("function", "written"),
    [
        (reads, {2}),
        (writes_a_slice, {0}),
        (writes_one_of_two, {0, 1}),
        (writes_through_another, {0}),
        (writes_among_several, {1, 2}),
        (writes_a_row, {0}),
        (writes_a_field, {0}),
        (sorts, {0}),
        (returns, {0}),
        (swaps, {0, 2}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_is_written(function, written):
    assert written_arguments(function) == written


def estimated(work):
    return lambda function: function


def size(*arrays):
    return sum(a.size for a in arrays)


@estimated(work=lambda a, b: size(a, b))
def reads_what_its_work_is_estimated_from(a, b):
    return a[0] + b[0]


def test_an_estimate_of_its_work_is_no_part_of_a_function():
    assert written_arguments(reads_what_its_work_is_estimated_from) == frozenset()


def test_without_its_source_a_function_may_write_everything(monkeypatch):
    made: dict[str, object] = {}
    exec("def typed_in(a, b):\n    return a[0] + b[0]\n", made)
    assert written_arguments(made["typed_in"]) == {0, 1}

    def changed(a, b):
        return a[0] + b[0]

    monkeypatch.setattr("inspect.getsource", lambda _: "def changed(b, c):\n    return b[0]\n")
    assert written_arguments(changed) == {0, 1}


def test_types_of_arrays_that_are_read():
    pair = types.NamedTuple([FLOATS, FLOATS], Pair)
    fixed = types.NamedTuple([FIXED, FIXED], Pair)
    assert one_form(reads, (FLOATS, FIXED, FLOATS)) == (FIXED, FIXED, FLOATS)
    assert one_form(writes_a_field, (pair, pair)) == (pair, fixed)
    assert one_form(writes_a_field, (pair, pair), arrays_only=True) == (pair, pair)
    assert one_form(put.function, (FLOATS, types.int64, types.float64)) == (FLOATS, types.int64, types.float64)


def calls_itself(a, b, k):
    if k:
        calls_itself(b, a, k - 1)


def test_a_function_that_calls_itself_may_write():
    assert written_arguments(calls_itself) >= {0, 1}


def test_what_serves():
    pair, fixed = (types.NamedTuple([t, t], Pair) for t in (FLOATS, FIXED))
    assert serves((FIXED, FLOATS), (FLOATS, FLOATS))
    assert serves((FIXED, FLOATS), (FIXED, FLOATS))
    assert not serves((FIXED, FLOATS), (FLOATS, FIXED))
    assert not serves((FIXED,), (FLOATS, FLOATS))
    assert serves((fixed,), (pair,))
    assert serves((fixed,), (fixed,), arrays_only=True)
    assert not serves((fixed,), (pair,), arrays_only=True)


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_a_form_on_disk_serves_without_the_source(tmp_path, monkeypatch):
    monkeypatch.setattr("sepset.kernels.compile.cache_directory", lambda: tmp_path)
    for is_first in (True, False):
        shift = compiled(writes_a_slice, False, False, False, False, False)
        a = np.zeros(3)
        shift(a, np.ones(3))
        assert a.tolist() == [0.0, 1.0, 0.0]
        assert bool(shift.stats.cache_hits) is not is_first
        monkeypatch.setattr("sepset.kernels.forms.one_form", None)


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_one_form_serves(tmp_path, monkeypatch):
    monkeypatch.setattr("sepset.kernels.compile.cache_directory", lambda: tmp_path)
    shift = compiled(writes_a_slice, False, False, False, False, False)
    fixed = np.ones(3)
    fixed.flags.writeable = False
    for given in (np.ones(3), fixed, np.ones(3)):
        a = np.zeros(3)
        shift(a, given)
        assert a.tolist() == [0.0, 1.0, 0.0]
    assert len(shift.overloads) == 1
    with pytest.raises(TypingError):
        shift(fixed, np.ones(3))
    assert fixed.tolist() == [1.0, 1.0, 1.0]


def test_ctrl_c_does_not_wait_for_the_compiler():
    begun, over, ran = threading.Event(), threading.Event(), []

    def compile_it(_):
        begun.set()
        over.wait()

    def interrupt():
        begun.wait()
        signal.raise_signal(signal.SIGINT)

    form = OneForm(SimpleNamespace(overloads={(FIXED,): None}, py_func=total.function), compile_it, tuple)
    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        interruptible(lambda cancel: ran.append(form((FIXED,))))
    assert not over.is_set()
    over.set()
    assert ran == []
