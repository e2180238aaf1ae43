"""Large text files are read by a kernel: the columns that DuckDB gives, by any number of threads."""

from __future__ import annotations

import gzip
import math
import random

import numpy as np
import pytest

import sepset as ss
from sepset.data import filecolumns, textfiles
from sepset.data.columns import Cells, Column, Levels
from sepset.data.filecolumns import ReadColumns, file_columns
from sepset.errors import SepsetError
from sepset.variables.universe import Universe
from sepset.variables.variable import Discrete, Real

NEVER = 1 << 60


@pytest.fixture
def sizes(monkeypatch):
    """Sets the limits by which files, samples and threads are chosen."""

    def choose(**limits: int) -> None:
        for name, value in limits.items():
            monkeypatch.setattr(textfiles, name, value)

    choose(SMALL=0, SMALL_TO_COMPILE=0)
    return choose


def cells(column: Column) -> list[object]:
    """What a column holds, with types; None is missing."""
    if isinstance(column, Levels):
        return [None if code < 0 else (type(column.values[code]), column.values[code]) for code in column.codes]
    values = column.values.tolist()
    absent = [False] * len(values) if column.missing is None else column.missing.tolist()
    return [
        None if gone or (isinstance(value, float) and math.isnan(value)) else (type(value), value)
        for value, gone in zip(values, absent, strict=True)
    ]


KINDS = {
    "few whole numbers": lambda rng: str(rng.randint(0, 3)),
    "texts": lambda rng: rng.choice(["low", "high", "a rather long state", "é", "straße", ""]),
    "doubles": lambda rng: repr(rng.gauss(0, 1)),
    "truth": lambda rng: rng.choice(["True", "false", "TRUE"]),
    "whole numbers": lambda rng: str(rng.randint(-1000, 10 ** rng.choice([2, 5, 17, 20]))),
    "odd": lambda rng: rng.choice(["NA", "", "1", "2.5", "x", " 3", "3 ", "007", "nan", "inf", "-0", "1e5", "+4"]),
    "quoted": lambda rng: rng.choice(
        ['"q"', '"a,b"', '"1"', "q", "1", '"x y"'] + ['"two\nlines"'] * (rng.random() < 0.01)
    ),
    "rounded": lambda rng: f"{rng.uniform(-5, 5):.{rng.randint(0, 3)}f}",
    "spaced": lambda rng: f" {rng.random()}",
    "padded": lambda rng: rng.choice(["", "0"]) + str(rng.randint(1, 10**6)),
    "alike": lambda rng: rng.choice(["abcdefgh", "abcdefg", "abcdefghi", "abcdefgh0"]) + str(rng.randint(0, 9)),
    "anything": lambda rng: "".join(rng.choice('ab"\r\n,;\0\\ é') for _ in range(rng.randint(0, 3))),
}


def random_file(rng: random.Random) -> tuple[list[str], bytes]:
    kinds = [name for name in KINDS if name != "anything" or rng.random() < 0.1]
    chosen = [rng.choice(kinds) for _ in range(rng.randint(1, 5))]
    names = [f"{kind} {place}" for place, kind in enumerate(chosen)]
    rows = [[KINDS[kind](rng) for kind in chosen] for _ in range(rng.choice([0, 1, 3, 40, 400]))]
    lines = [",".join(names), *(",".join(row) for row in rows)]
    if rng.random() < 0.1:
        lines.insert(rng.randint(1, len(lines)), rng.choice(["", " ", "a", "," * len(names)]))
    text = rng.choice(["\n", "\n", "\r\n"]).join([*lines, ""]).encode()
    if rng.random() < 0.2:
        text = text.rstrip(b"\r\n")
    return names, (b"\xef\xbb\xbf" if rng.random() < 0.05 else b"") + text


def read(path, *args, **options) -> tuple[str, object]:
    try:
        found = file_columns(path, *args, **options)
    except SepsetError as error:
        return "error", str(error)
    columns = found.columns if isinstance(found, ReadColumns) else found
    return "columns", {name: cells(column) for name, column in columns.items()}


@pytest.mark.parametrize("seed", range(8))
def test_any_file_gives_the_columns_of_duckdb(tmp_path, sizes, seed, monkeypatch):
    rng = random.Random(seed)
    taken = []
    real = textfiles.large_columns
    monkeypatch.setattr(filecolumns, "large_columns", lambda *a, **k: taken.append(real(*a, **k)) or taken[-1])
    for _ in range(25):
        names, text = random_file(rng)
        path = tmp_path / "rows.csv"
        path.write_bytes(text)
        kinds = (None, None, Real, lambda name: Discrete(name, (0, 1, 2, 3)))
        given = [variable for name in names if (variable := (rng.choice(kinds) or (lambda _: None))(name))]
        scope = Universe(given) if given else None
        missing = rng.choice([("",), ("",), ("", "NA"), ("NA",), ("", "-0", "007")])
        sizes(SMALL=NEVER)
        expected = read(path, scope, missing=missing)
        sizes(
            SMALL=0,
            SAMPLE_ROWS=rng.choice([1, 5, 100, 2048]),
            SAMPLE_DISTINCT=rng.choice([30, 50, 256]),
            MOST_DISTINCT=rng.choice([10, 32_767]),
            _FEWEST_HARD=rng.choice([0, 4096]),
            _LEAST_SHARE=64,
        )
        assert read(path, scope, missing=missing) == expected, text
    assert sum(columns is not None for columns in taken) > 4  # others are not plain, or not what is asked


def test_many_numbers_come_as_numbers(tmp_path, sizes):
    rng = np.random.default_rng(0)
    numbers, whole = rng.normal(size=3000), rng.integers(0, 2000, 3000)
    path = tmp_path / "rows.csv"
    lines = (f"{x!r},{n},{'' if n % 7 == 0 else n}" for x, n in zip(numbers.tolist(), whole.tolist(), strict=True))
    path.write_text("\n".join(["x,n,m", *lines]))
    found = file_columns(path)
    assert isinstance(found["x"], Cells)
    np.testing.assert_array_equal(found["x"].values, numbers)
    assert found["n"].values == tuple(sorted({*whole.tolist()}))
    np.testing.assert_array_equal(np.array(found["n"].values)[found["n"].codes], whole)
    assert cells(found["m"]) == [None if n % 7 == 0 else (int, n) for n in whole.tolist()]


def test_a_column_that_is_not_what_its_first_rows_are_is_read_again(tmp_path, sizes):
    sizes(SAMPLE_ROWS=300, MOST_DISTINCT=500)
    path = tmp_path / "rows.csv"
    texts = [f"{k}.5" for k in range(600)]
    path.write_text("\n".join(["late,early", *(f"{'1.0' if k < 400 else k},{t}" for k, t in enumerate(texts)), "x,x"]))
    assert read(path) == ("columns", {
        "late": [(str, "1.0" if k < 400 else str(k)) for k in range(600)] + [(str, "x")],
        "early": [(str, t) for t in texts] + [(str, "x")],
    })  # fmt: skip


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "tsv"])
def test_fits_are_those_of_a_frame(tmp_path, sizes, suffix):
    import pandas as pd

    network = ss.datasets.load("cancer")
    rows = ss.sample(network, 2000, seed=0)
    path = tmp_path / f"rows.{suffix}"
    ss.data.write_dataset(rows, path)
    frame = pd.DataFrame({v.name: [v.states[code] for code in rows.codes(v)] for v in rows.variables})
    fitted = ss.fit(network.dag, path, ss.Bayes(ss.BDeu(1))).model
    for mine, other in zip(fitted.cpds, ss.fit(network.dag, frame, ss.Bayes(ss.BDeu(1))).model.cpds, strict=True):
        np.testing.assert_array_equal(mine.values, other.values)


def test_damaged_compressed_files_are_refused(tmp_path, sizes):
    path = tmp_path / "rows.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 100)[:-9])
    with pytest.raises(SepsetError, match="rows"):
        file_columns(path)


def test_bytes_that_are_not_text_are_refused(tmp_path, sizes):
    path = tmp_path / "rows.csv"
    path.write_bytes(b"a,b\n1,\xff\n2,x\n")
    with pytest.raises(SepsetError, match="rows"):
        file_columns(path)


def test_small_files_wait_for_no_compiler(tmp_path, sizes, monkeypatch):
    sizes(SMALL=2, SMALL_TO_COMPILE=1000)
    path = tmp_path / "rows.csv"
    path.write_text("a\n1\n")
    monkeypatch.setattr(textfiles, "is_at_hand", lambda kernel: False)
    monkeypatch.setattr(textfiles, "read_cells", lambda *_: pytest.fail("it was compiled"))
    assert file_columns(path)["a"].values == (1,)


@pytest.mark.parametrize("delimiter", ["e", ".", "1", "-", " ", "\u00a7"])
def test_delimiters_that_could_be_parts_of_numbers(tmp_path, sizes, delimiter):
    path = tmp_path / "rows.csv"
    path.write_text(delimiter.join("ab") + "\n" + "".join(f"2{delimiter}{k}\n" for k in (33, 44, 55) * 200))
    sizes(SAMPLE_DISTINCT=1)
    found = read(path, Universe([Real("a"), Real("b")]), delimiter=delimiter)
    sizes(SMALL=NEVER)
    assert found == read(path, Universe([Real("a"), Real("b")]), delimiter=delimiter)


def test_many_texts_may_mean_missing(tmp_path, sizes):
    path = tmp_path / "rows.csv"
    missing = ["", *(f"m{k}" for k in range(50))]
    path.write_text("a\n" + "\n".join([*missing[1:], "x", "y", *missing[1:]]) + "\n")
    found = file_columns(path, missing=missing)["a"]
    assert found.values == ("x", "y")
    assert np.count_nonzero(np.asarray(found.codes) < 0) == 100


def test_a_file_is_read_by_parts_as_far_as_it_goes(tmp_path, monkeypatch):
    monkeypatch.setattr(textfiles, "BLOCK", 7)
    path, text = tmp_path / "rows.csv", b"a,b\n" + 30 * b"1,22\n"
    path.write_bytes(text)
    for size in (len(text), len(text) + 3, 3 * len(text)):
        assert textfiles.read_bytes(path, size).tobytes() == text
    assert textfiles.read_bytes(path, 11).tobytes() == text[:11]
    assert textfiles.count_byte(np.frombuffer(text, np.uint8), ord("2")) == 60
