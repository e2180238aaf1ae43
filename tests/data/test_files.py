import csv
import gzip
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import given, settings, strategies as st

from sepset.api.learning import fit
from sepset.api.questions import predict
from sepset.cpds.table import TableCPD
from sepset.data import Counts, Dataset, files, read_dataset, write_dataset
from sepset.errors import ArgumentError, DataError, FileFormatError, MissingExtra, SepsetError, TooLarge
from sepset.models.bayesnet import BayesNet
from sepset.variables.universe import Universe
from sepset.variables.variable import Discrete, Real
from support.random_rows import NAMES, datasets, one_type

SUFFIXES = [".csv", ".tsv", ".csv.gz", ".parquet", ".feather", ".arrow"]
FEATHER = (".feather", ".arrow")
ONE_CASE = tuple(name for name in NAMES if name != "A")


def put(folder: Path, text: str | bytes, name: str = "rows.csv") -> Path:
    file = folder / name
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return file


@pytest.mark.parametrize("suffix", SUFFIXES)
@settings(max_examples=25, deadline=None)
@given(dataset=datasets(states=one_type, min_variables=1, names=ONE_CASE))
def test_round_trip(suffix, dataset):
    with TemporaryDirectory() as folder:
        file = Path(folder) / f"it's a[1]*?{suffix}"
        write_dataset(dataset, file)
        assert os.listdir(folder) == [file.name]
        assert dataset.equals(read_dataset(file, dataset.variables))


def test_names_that_differ_by_case_alone(tmp_path):
    dataset = Dataset({"a": ["x"], "A": ["y"]})
    write_dataset(dataset, tmp_path / "rows.csv")
    assert read_dataset(tmp_path / "rows.csv").equals(dataset)
    with pytest.raises(DataError, match=r"differ by case alone.*'a', 'A'.*Use CSV"):
        write_dataset(dataset, tmp_path / "rows.parquet")
    pa.parquet.write_table(pa.table({"a": ["x"], "A": ["y"]}), tmp_path / "other.parquet")
    assert read_dataset(tmp_path / "other.parquet").equals(dataset)


def test_suggested_types(tmp_path):
    file = put(tmp_path, 'i,f,b,s,z,q\n1,1,TRUE,x,007,""\n-20,2.5,false,3,1,\n,,,,,a\n')
    dataset = read_dataset(file)
    assert [*dataset.variables] == [
        Discrete("i", (-20, 1)),
        Real("f"),
        Discrete("b", (False, True)),
        Discrete("s", ("3", "x")),
        Discrete("z", ("007", "1")),
        Discrete("q", ("", "a")),
    ]
    assert dataset.row(0) == {"i": 1, "f": 1.0, "b": True, "s": "x", "z": "007", "q": ""}
    assert dataset.row(2) == {"i": None, "f": None, "b": None, "s": None, "z": None, "q": "a"}


def test_states_are_matched_by_how_they_print(tmp_path):
    file = put(tmp_path, "i,f,b,s,t\n1,1,true,3.0,True\n2,2.50,FALSE,<0.5,False\n")
    variables = [
        Discrete("i", (1, 2)),
        Discrete("f", (1.0, 2.5)),
        Discrete("b", (False, True)),
        Discrete("s", ("<0.5", "3.0")),
        Discrete("t", ("True", "False")),
    ]
    dataset = read_dataset(file, variables)
    assert dataset.matrix().tolist() == [[0, 0, 1, 1, 0], [1, 1, 0, 0, 1]]


def test_text_wins_where_a_string_and_a_number_print_alike(tmp_path):
    both = Discrete("x", (1, "1"))
    assert read_dataset(put(tmp_path, "x\n1\n"), [both]).states("x").tolist() == ["1"]
    with pytest.raises(DataError, match="print alike"):
        write_dataset(Dataset({"x": [1, "1"]}, [both]), tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()


def test_missing_texts_and_delimiters(tmp_path):
    file = put(tmp_path, 'a;b\nNA;1,5\n"NA";?\n')
    dataset = read_dataset(file, delimiter=";", missing=("NA", "?"))
    assert list(dataset.rows()) == [{"a": None, "b": "1,5"}, {"a": "NA", "b": None}]
    with pytest.raises(ArgumentError, match="one character"):
        read_dataset(file, delimiter="||")


def test_one_text_means_missing_as_a_whole(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,b\nNA,N\n1,A\n")
    rows = read_dataset(path, missing="NA")
    assert [rows[name].tolist() for name in rows] == [[None, 1], ["N", "A"]]


def test_unwanted_columns_are_ignored_and_absent_ones_refused(tmp_path):
    file = put(tmp_path, "grade,other\nA,junk\n")
    assert read_dataset(file, [Discrete("grade", ("A",))]).variables.names == ("grade",)
    with pytest.raises(DataError, match=r"rows\.csv: No column for variable 'grades'.*Did you mean 'grade'"):
        read_dataset(file, [Discrete("grades", ("A",))])
    absent = read_dataset(file, [Real("r")], missing_columns="allow")
    assert (absent.num_rows, absent.row(0)) == (1, {"r": None})


def test_unknown_states_name_file_column_and_row(tmp_path):
    file = put(tmp_path, "g,r\nlow,1\nhgih,x\n")
    with pytest.raises(DataError, match=r"rows\.csv: Column 'g', row 1: unknown state 'hgih'.*Did you mean 'high'"):
        read_dataset(file, [Discrete("g", ("low", "high"))])
    with pytest.raises(DataError, match=r"rows\.csv: Column 'r': row 1 holds 'x'"):
        read_dataset(file, [Real("r")])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "names the columns; found no names"),
        (b"a,a\n1,2\n", "repeated names 'a'"),
        (b"a,\n1,2\n", "empty or repeated names ''"),
        (b"a,b\n1,2\n3\n", r"rows\.csv:3:1: .*Expected Number of Columns: 2 Found: 1"),
        (b"a,b\n1,2\n3,4,5\n", r"rows\.csv:3:1: .*Found: 3"),
        (b'a,b\n1,2\n"3,4\n', r"rows\.csv:3:1: .*unterminated quote"),
        (b"a,b\n1,\xff\n", r"rows\.csv:2:1: .*utf-8"),
        (b"\xff,b\n1,2\n", "first line cannot be read"),
    ],
)
def test_malformed_text(tmp_path, content, message):
    with pytest.raises(FileFormatError, match=message):
        read_dataset(put(tmp_path, content))


def test_malformed_files(tmp_path):
    with pytest.raises(FileFormatError, match=r"bad\.parquet"):
        read_dataset(put(tmp_path, b"PAR1 not really", "bad.parquet"))
    with pytest.raises(FileFormatError, match=r"bad\.feather"):
        read_dataset(put(tmp_path, b"ARROW1 not really, and this is long enough", "bad.feather"))
    with pytest.raises(FileFormatError, match=r"bad\.csv\.gz"):
        read_dataset(put(tmp_path, b"a\n1\n", "bad.csv.gz"))
    whole = gzip.compress(b"a\n" + b"".join(b"%d\n" % i for i in range(5000)))
    with pytest.raises(FileFormatError, match=r"cut\.csv\.gz"):
        read_dataset(put(tmp_path, whole[:10], "cut.csv.gz"))
    with pytest.raises(FileFormatError, match="no such file"):
        read_dataset(tmp_path / "absent.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(FileFormatError, match="not a regular file"):
        read_dataset(tmp_path / "folder.csv")
    for name in ("rows.xls", "rows", "rows.parquet.gz", "rows.feather.gz"):
        with pytest.raises(FileFormatError, match="names no format"):
            read_dataset(tmp_path / name)


@settings(max_examples=60, deadline=None)
@given(content=st.binary(max_size=40))
def test_any_bytes_give_rows_or_one_clear_error(content):
    with TemporaryDirectory() as folder:
        for name in ("rows.csv", "rows.parquet", "rows.feather"):
            try:
                assert read_dataset(put(Path(folder), content, name)).num_rows >= 0
            except SepsetError as error:
                message = str(error)
            else:
                message = name
            assert name in message


def test_patterns_in_names_are_not_expanded(tmp_path):
    put(tmp_path, "a\n1\n", "rows1.csv")
    file = put(tmp_path, "a\n2\n", "rows[1].csv")
    assert read_dataset(file).states("a").tolist() == [2]
    with pytest.raises(FileFormatError, match="no such file"):
        read_dataset(tmp_path / "rows?.csv")


@pytest.mark.parametrize("suffix", [suffix for suffix in SUFFIXES if suffix not in FEATHER])
def test_arrow_is_not_needed(tmp_path, monkeypatch, suffix):
    columns = {"s": ["x", None], "i": [3, None], "b": [None, True], "r": [0.5, None], "n": [None, None]}
    variables = [
        Discrete("s", "xy"),
        Discrete("i", (3, 4)),
        Discrete("b", (False, True)),
        Real("r"),
        Discrete("n", "ab"),
    ]
    dataset = Dataset(columns, variables)
    for library in ("pyarrow", "pandas", "polars"):
        monkeypatch.setitem(sys.modules, library, None)
    for part in (dataset, dataset[:0]):
        write_dataset(part, tmp_path / f"rows{suffix}")
        assert part.equals(read_dataset(tmp_path / f"rows{suffix}", variables))


def test_windows_lines_marks_and_quotes(tmp_path):
    file = put(tmp_path, "\ufeffa,b\r\nx,1\r\n#y,2\r\n")
    assert list(read_dataset(file).rows()) == [{"a": "x", "b": 1}, {"a": "#y", "b": 2}]


def test_header_alone(tmp_path):
    file = put(tmp_path, "a,b\n")
    assert read_dataset(file, [Discrete("a"), Real("b")]).num_rows == 0
    with pytest.raises(DataError, match="Column 'a' has no values"):
        read_dataset(file)


def test_parquet_keeps_types_and_refuses_mixtures(tmp_path):
    dataset = Dataset({"i": [3, None], "b": [True, None], "r": [0.5, None], "s": ["x", None]})
    write_dataset(dataset, tmp_path / "rows.parquet")
    assert read_dataset(tmp_path / "rows.parquet").variables == dataset.variables
    with pytest.raises(DataError, match="no common column type"):
        write_dataset(Dataset({"x": ["a", 1]}), tmp_path / "mixed.parquet")
    write_dataset(Dataset({"x": ["a", 1]}), tmp_path / "mixed.csv")
    assert read_dataset(tmp_path / "mixed.csv", [Discrete("x", (1, "a"))]).states("x").tolist() == ["a", 1]


def test_writing_is_all_or_nothing(tmp_path):
    file = put(tmp_path, "old")
    with pytest.raises(DataError, match="nothing to write"):
        write_dataset(Dataset({}), file)
    with pytest.raises(DataError, match="print alike"):
        write_dataset(Dataset({"x": [1, "1"]}), file)
    assert (file.read_text(), os.listdir(tmp_path)) == ("old", ["rows.csv"])
    with pytest.raises(FileNotFoundError, match="cannot write into the folder"):
        write_dataset(Dataset({"x": [1]}), tmp_path / "absent" / "rows.csv")


def test_an_interrupted_file_stays_as_it_was(tmp_path, monkeypatch):
    file = put(tmp_path, "old")
    rows = Dataset({"x": ["a", "b"] * 1000})
    monkeypatch.setattr(files, "CELLS", 1)
    parts: list[int] = []

    def interrupted(*columns, strict):
        parts.append(1)
        if len(parts) == 3:
            raise KeyboardInterrupt
        return zip(*columns, strict=strict)

    monkeypatch.setattr(files, "zip", interrupted, raising=False)
    with pytest.raises(KeyboardInterrupt):
        write_dataset(rows, file)
    assert (file.read_text(), os.listdir(tmp_path)) == ("old", ["rows.csv"])


def test_what_the_disk_refuses_is_said_of_the_file(tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, "TextIOWrapper", full)
    with pytest.raises(OSError, match=r"No space left on device: nothing was written: .*rows\.csv"):
        write_dataset(Dataset({"x": [1.5]}), tmp_path / "rows.csv")
    monkeypatch.undo()
    with pytest.raises(FileFormatError, match=r"rows\.csv: cannot be written as UTF-8"):
        write_dataset(Dataset({"x": ["a\ud800"]}), tmp_path / "rows.csv")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".csv.gz"])
def test_text_is_as_other_readers_expect_it(tmp_path, suffix):
    texts = ["plain", "", "a,b", "a\tb", 'say "no"', "two\nlines", "\r", "#note", " padded ", "é"]
    numbers = [0.1, -1e-300, 1e22, 123456789012.0, float("inf"), 2.0, -0.0, 5e-324, 1 / 3, 1e16]
    file = tmp_path / f"rows{suffix}"
    write_dataset(Dataset({"a,b": texts, "n": numbers, "flag": [True, False] * 5}), file)
    with (gzip.open if suffix.endswith("gz") else open)(file, "rt", encoding="utf-8", newline="") as lines:
        found = list(csv.reader(lines, delimiter="\t" if suffix == ".tsv" else ","))
    assert found[0] == ["a,b", "n", "flag"]
    assert found[1:] == [[t, repr(n), str(i % 2 == 0)] for i, (t, n) in enumerate(zip(texts, numbers, strict=True))]


def test_many_numbers_are_written_as_python_prints_them(tmp_path):
    rng = np.random.default_rng(3)
    x = rng.normal(size=files.MANY) * 10.0 ** rng.integers(-300, 300, files.MANY)
    y = np.where(rng.random(files.MANY) < 0.2, np.nan, rng.integers(0, 50, files.MANY) / 4)
    file = tmp_path / "rows.csv"
    write_dataset(Dataset({"x": x, "y": y}, [Real("x"), Real("y")]), file)
    lines = [f"{a!r},{'' if b != b else repr(b)}" for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    assert file.read_text().splitlines() == ["x,y", *lines]


def test_many_columns_are_written_without_planning_each(tmp_path, monkeypatch):
    rows = Dataset({f"v{i}": ["a", None, "b"] for i in range(20_000)})
    with pytest.raises(TooLarge, match=r"at most 10,000 columns; found 20,000\. Use CSV"):
        write_dataset(rows, tmp_path / "rows.parquet")
    monkeypatch.setattr(files, "connected", None)
    write_dataset(rows, tmp_path / "rows.csv")
    names, *cells = (tmp_path / "rows.csv").read_text().splitlines()
    assert names.split(",") == list(rows.variables.names)
    assert [set(line.split(",")) for line in cells] == [{"a"}, {""}, {"b"}]


@pytest.mark.parametrize("delimiter", ["", "ab", '"', "\n"])
def test_delimiters_are_one_character(tmp_path, delimiter):
    with pytest.raises(ArgumentError, match="delimiter= is one character"):
        write_dataset(Dataset({"x": ["a"]}), tmp_path / "rows.csv", delimiter=delimiter)


def test_rows_keep_their_order_in_large_files(tmp_path):
    codes = np.random.default_rng(0).integers(-1, 4, (300_000, 1))
    dataset = Dataset.from_codes([Discrete("a", 4)], codes)
    for suffix in (".csv", ".parquet"):
        write_dataset(dataset, tmp_path / f"rows{suffix}")
        assert dataset.equals(read_dataset(tmp_path / f"rows{suffix}", dataset.variables))


def test_states_are_data_not_commands(tmp_path):
    hostile = "'); DROP TABLE codes; --"
    dataset = Dataset({hostile: [hostile, '"']}, Universe([Discrete(hostile, (hostile, '"'))]))
    for suffix in SUFFIXES:
        write_dataset(dataset, tmp_path / f"rows{suffix}")
        assert dataset.equals(read_dataset(tmp_path / f"rows{suffix}", dataset.variables))


@pytest.mark.parametrize("between", [";", "\t", "|"])
def test_another_delimiter_is_suggested(between, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text(between.join(["a", "b"]) + "\n" + between.join(["x", "y"]) + "\n" + between.join(["z", "w"]) + "\n")
    advice = f"delimiter={between!r}"
    assert advice in read_dataset(path).notes[0]
    a, b = Discrete("a", ("x", "z")), Discrete("b", ("w", "y"))
    model = BayesNet(TableCPD(a, [0.5, 0.5]), TableCPD(b, [[0.5, 0.5], [0.5, 0.5]], given=a))
    for ask in (
        lambda: read_dataset(path, [a, b]),
        lambda: fit(model, path),
        lambda: predict(model, path, targets="b"),
    ):
        with pytest.raises(DataError) as refused:
            ask()
        assert advice in str(refused.value)
    assert read_dataset(path, [a, b], delimiter=between).row(0) == {"a": "x", "b": "y"}
    assert not read_dataset(path, delimiter=between).notes


@pytest.mark.parametrize("suffix", FEATHER)
def test_feather_files_of_others_are_read_wherever_rows_are(suffix, tmp_path):
    """Categories and their order are those of the file; text, numbers and nulls are as in the frame."""
    frame = pd.DataFrame({"g": pd.Categorical(["x", "y", None], ["y", "x"]), "n": [1.5, np.nan, 3.0], "N": [1, 2, 1]})
    file = tmp_path / f"rows{suffix}"
    pa.feather.write_feather(frame, file)
    assert read_dataset(file).equals(Dataset(frame))
    assert Counts.of(str(file), [(Discrete("g", "yx"),)], missing="skip").table("g").tolist() == [1.0, 1.0]


@pytest.mark.parametrize("suffix", FEATHER)
def test_feather_without_arrow_says_what_to_install(suffix, tmp_path, monkeypatch):
    file = tmp_path / f"rows{suffix}"
    write_dataset(Dataset({"x": ["a"]}), file)
    for module in ("pyarrow", "pyarrow.feather"):
        monkeypatch.setitem(sys.modules, module, None)
    for ask in (lambda: read_dataset(file), lambda: write_dataset(Dataset({"x": ["a"]}), file)):
        with pytest.raises(MissingExtra, match=r"sepset\[pandas\]"):
            ask()
