"""Checkpoints keep plain values to the bit, are written whole, and run nothing."""

from __future__ import annotations

import ast
import hashlib
import json
import math
import os
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp

import sepset
from sepset.errors import DataError, NotApplicable
from sepset.inference import checkpoint
from sepset.inference.checkpoint import DTYPES, dump, load, save

FLOATS = st.floats(allow_nan=True, allow_infinity=True)
ARRAYS = hnp.arrays(
    st.sampled_from([np.dtype(d) for d in DTYPES]), hnp.array_shapes(min_dims=0, max_dims=3, min_side=0)
)
LEAVES = st.none() | st.booleans() | st.integers() | FLOATS | st.text() | ARRAYS
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


def same(left, right):
    """Equal in kind and to the bit; NaN is NaN."""
    if type(left) is not type(right):
        return False
    if isinstance(left, np.ndarray | np.generic):
        return left.dtype == right.dtype and left.shape == right.shape and left.tobytes() == right.tobytes()
    if isinstance(left, tuple | list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict):
        return list(left) == list(right) and all(same(left[k], right[k]) for k in left)
    if isinstance(left, float):
        return (math.isnan(left) and math.isnan(right)) or (
            left == right and math.copysign(1, left) == math.copysign(1, right)
        )
    return left == right


@given(VALUES)
def test_plain_values_come_back_to_the_bit(value):
    assert same(load(dump(value), "file"), value)


def test_single_numbers_and_orders_of_memory_come_back():
    content = {"f": np.float64(0.1), "i": np.int32(3), "a": np.asfortranarray(np.arange(6.0).reshape(2, 3))}
    found = load(dump(content), "file")
    assert same(found["f"], content["f"])
    assert same(found["i"], content["i"])
    assert found["a"].flags.f_contiguous
    assert not found["a"].flags.writeable
    strided = np.arange(24.0).reshape(4, 6)[::2, ::3]
    assert same(load(dump(strided), "file"), strided.copy())
    swapped = np.arange(3).astype(">i4")
    assert load(dump(swapped), "file").tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "value",
    [object(), {1: 2}, {1, 2}, np.array([object()]), np.array(["a"]), 1j, b"x", np.datetime64("2020-01-01"), Path("x")],
)
def test_what_is_not_plain_is_refused(value):
    for content in (value, [value], {"x": (value,)}):
        with pytest.raises(NotApplicable, match="A checkpoint stores"):
            dump(content)


def forged(text, numbers=b""):
    """A file with any content and the right checksum."""
    body = text.encode() + b"\n" + numbers
    return b"sepset checkpoint 2 " + hashlib.sha256(body).hexdigest().encode() + b"\n" + body


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "3",
        "[1, 2, 3]",
        '[["array", 0], []]',
        '[["array", 0], [["|O", [1], "C"]]]',
        '[["array", 0], [["<f8", [1], "K"]]]',
        '[["array", 0], [["<f8", [-1], "C"]]]',
        '[["array", 0], [["<f8", [99999999999999999999], "C"]]]',
        '[["array", 0], [["<f8", [true], "C"]]]',
        '[["array", 0], [["<f8", "abc", "C"]]]',
        '[["array", "x"], []]',
        '[["float", "many"], []]',
        '[["object", {}], []]',
        '[["dict", [1]], []]',
        '[{"a": 1}, []]',
        '[["list", 5], []]',
        '[["tuple"], []]',
        "[" * 100_000,
        '[["list", ' * 2000 + "1" + "]" * 2000 + ", []]",
        "[1" + "0" * 5000 + ", []]",
    ],
)
def test_forged_files_are_refused(text):
    with pytest.raises(DataError, match="has invalid content"):
        load(forged(text), "file")


def test_bytes_that_belong_to_nothing_are_refused():
    assert load(forged('[["array", 0], [["<f8", [1], "C"]]]', bytes(8)), "file").tolist() == [0.0]
    for size in (7, 9):
        with pytest.raises(DataError, match="has invalid content"):
            load(forged('[["array", 0], [["<f8", [1], "C"]]]', bytes(size)), "file")


@given(st.binary(max_size=200))
def test_random_bytes_are_no_checkpoint(data):
    with pytest.raises(DataError, match="is not a checkpoint"):
        load(data, "file")


@given(st.data())
def test_any_changed_byte_is_found(data):
    whole = dump({"a": np.arange(4.0), "b": "text"})
    place = data.draw(st.integers(0, len(whole) - 1))
    change = data.draw(st.integers(1, 255))
    with pytest.raises(DataError):
        load(whole[:place] + bytes([whole[place] ^ change]) + whole[place + 1 :], "file")
    with pytest.raises(DataError):
        load(whole[:place], "file")


def test_files_appear_whole_or_not_at_all(tmp_path, monkeypatch):
    file = tmp_path / "run.bin"
    save([1], file)
    monkeypatch.setattr(os, "fsync", lambda number: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        save([2], file)
    assert load(file.read_bytes(), "file") == [1]
    assert list(tmp_path.iterdir()) == [file]


def test_links_are_followed(tmp_path):
    (tmp_path / "real").mkdir()
    target, link = tmp_path / "real" / "run.bin", tmp_path / "link.bin"
    save([1], target)
    link.symlink_to(target)
    save([2], link)
    assert link.is_symlink()
    assert load(target.read_bytes(), "file") == [2]


def test_the_second_line_is_json_that_people_can_read(tmp_path):
    save({"about": "walk", "trace": np.zeros(2)}, tmp_path / "run.bin")
    head, text, rest = (tmp_path / "run.bin").read_bytes().split(b"\n", 2)
    assert head.startswith(b"sepset checkpoint 2 ")
    assert json.loads(text)[0] == ["dict", {"about": "walk", "trace": ["array", 0]}]
    assert rest == bytes(16)


def test_nothing_in_the_library_runs_what_a_file_holds():
    """No module imports a serializer that runs code, nor calls `eval`, `exec` or NumPy's pickles."""
    words = re.compile("pickle|dill|joblib|marshal|shelve|eval|exec|__import__")
    texts = {file: file.read_text() for file in Path(sepset.__file__).parent.rglob("*.py")}
    for file, text in texts.items():
        for node in ast.walk(ast.parse(text)) if words.search(text) else ():
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = {getattr(node, "module", None), *(a.name for a in node.names)}
                assert not names & {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "marshal", "shelve"}, file
            if isinstance(node, ast.Call):
                called = getattr(node.func, "id", None)
                assert called not in ("eval", "exec", "__import__"), (file, node.lineno)
                assert not any(k.arg == "allow_pickle" for k in node.keywords), (file, node.lineno)


def test_states_are_made_of_tagged_dataclasses():
    @dataclass(frozen=True)
    class Corner:
        x: int

    class Plain:
        pass

    @dataclass
    class Acts:
        def __post_init__(self):
            raise AssertionError

    try:
        assert checkpoint.tagged("corner")(Corner) is Corner
        assert checkpoint.tag_of(Corner) == "corner"
        assert checkpoint.tagged_class("corner") is Corner
        for kind, tag in ((Corner, "corner"), (Plain, "plain"), (Acts, "acts")):
            with pytest.raises(NotApplicable, match="only hold fields"):
                checkpoint.tagged(tag)(kind)
    finally:
        del checkpoint.TAGS["corner"]
    with pytest.raises(NotApplicable, match="have a tag"):
        checkpoint.tag_of(Corner)
    for tag in ("corner", None, []):
        with pytest.raises(NotApplicable, match="No class is registered"):
            checkpoint.tagged_class(tag)
