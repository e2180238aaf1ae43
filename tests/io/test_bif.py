from __future__ import annotations

import gzip
import re

import numpy as np
import pytest
from hypothesis import given, strategies as st

from sepset.cpds.table import TableCPD
from sepset.errors import FileFormatError
from sepset.io import bif
from sepset.io.record import Reading
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete
from support.blocks import in_blocks
from support.bounded import within
from support.file_laws import accept_or_refuse, assert_same_network, mutated, refusal
from support.shared_files import each_shared, one_shared
from support.strategies import bayes_nets

SMALL = """
network "my net" { property version 1.0; property "it; is quoted"; }
// two variables
variable rain { type discrete [ 2 ] { yes, no }; property position = (73, 165) ; }
variable "wet grass" { type discrete[3] { <0.5, Asy/Patch, "a b" }; } /* a comment { ( */
probability ( rain ) { table 0.25, 0.75; }
probability ( "wet grass" | rain ) {
  (no) 0.5 0.25 0.25;
  (yes) 0.1, 0.2, 0.7;
}
"""

DOG = """network d { } variable f { type discrete [2] { t, f }; } variable l { type discrete [2] { t, f }; }
probability ( f ) { table 0.15 0.85; } probability ( l | f ) { table 0.6 0.05 0.4 0.95; }"""


def test_names_states_comments_and_properties():
    net = bif.parse(SMALL.encode())
    assert net.name == "my net"
    assert net["rain"].states == ("yes", "no")
    assert net["wet grass"].states == ("<0.5", "Asy/Patch", "a b")
    assert net.cpd("wet grass").values.tolist() == [[0.1, 0.2, 0.7], [0.5, 0.25, 0.25]]
    assert net.notes == ()


def test_a_table_runs_over_the_child_first():
    # The format's own example: light-on given family-out, 0.6 0.05 0.4 0.95.
    assert bif.parse(DOG.encode()).cpd("l").values.tolist() == [[0.6, 0.4], [0.05, 0.95]]


def test_the_default_fills_what_rows_leave():
    text = SMALL.replace("(no) 0.5 0.25 0.25;", "default 0 0.5 0.5;")
    assert bif.parse(text.encode()).cpd("wet grass").values.tolist() == [[0.1, 0.2, 0.7], [0, 0.5, 0.5]]


def test_an_unknown_name_is_no_name():
    assert bif.parse(b"network unknown { }").name == ""
    assert bif.parse(b'network "unknown" { }').name == "unknown"
    assert bif.parse(b"network { }").name == ""


@pytest.mark.parametrize(
    ("old", "new", "line", "column", "message"),
    [
        ("network", "netwrk", 2, 1, "found 'netwrk'; expected 'network' at the start"),
        ("[ 2 ]", "[ 3 ]", 4, 47, "declares 3 states and lists 2"),
        ("yes, no }", "yes, yes }", 4, 44, "lists this state twice"),
        ("discrete [ 2 ]", "continuous", 4, 22, "expected 'discrete' as the type of 'rain'"),
        ('variable "wet grass"', "variable rain", 5, 10, "declared twice"),
        ("0.25, 0.75", "0.25, x", 6, 36, "found 'x'; expected a number"),
        ("0.25, 0.75", "0.25, nan", 6, 36, "found 'nan'; expected a number"),
        ("0.25, 0.75", "1.25, -0.25", 6, 36, "found '-0.25'; expected a number of at least zero"),
        ("0.25, 0.75", "0.25", 6, 34, "has 1 numbers; it needs 2"),
        ("0.25, 0.75", "0.25, 0.7", 6, 30, "the row of rain sums to 0.95"),
        ("(no) 0.5 0.25", "(no) 0.5 0.28", 8, 3, "given rain='no' sums to 1.03"),
        ("(no) 0.5 0.25 0.25;", "", 7, 15, "has no row (no) and no default"),
        ("(no)", "(nope)", 8, 4, "Did you mean 'no'?"),
        ("(no)", "(yes)", 9, 3, "gives this row twice"),
        ("(no)", "(no, no)", 8, 4, "has 1 parents; expected a state of each"),
        ("(no) 0.5", "(no)", 8, 17, "the row has 2 numbers; 'wet grass' has 3 states"),
        ("| rain", "| snow", 7, 15, "no variable 'snow' is declared"),
        ("probability ( rain )", "probability ( rain | rain )", 6, 15, "name one variable twice"),
        ("probability ( rain )", 'probability ( rain | "wet grass" )', 6, 54, "has 2 numbers; it needs 6"),
        ("table 0.25", "tabel 0.25", 6, 24, "expected '}', 'table', 'default' or '('"),
        ("a comment { ( */", "a comment", 5, 71, "found '/* a comment"),
        ('"a b"', '"a b', 7, 25, "not closed"),
    ],
)
def test_what_is_refused_and_where(old, new, line, column, message):
    assert old in SMALL
    error = refusal(bif, SMALL.replace(old, new, 1))
    assert message in str(error)
    assert (error.line, error.column) == (line, column)


def test_thirds_of_two_digits_are_divided_by_their_sum_with_a_note():
    net = bif.parse(SMALL.replace("(no) 0.5 0.25 0.25", "(no) 0.33 0.33 0.33", 1).encode())
    np.testing.assert_allclose(net.cpd("wet grass").values[1], 1 / 3, rtol=1e-12)
    assert "the largest deviation from one was 0.01" in net.notes[0]


@in_blocks("cut", range(0, len(SMALL.strip()) - 1, 7))
def test_a_truncated_file_is_refused(cut):
    text = SMALL.strip()[:cut]
    try:
        net = bif.parse(text.encode())
    except FileFormatError:
        return
    assert "variable rain" not in text
    assert len(net.variables) == 0


def test_a_cycle_is_named():
    text = """network c { } variable a { type discrete [1] { x }; } variable b { type discrete [1] { x }; }
    probability ( a | b ) { (x) 1; } probability ( b | a ) { (x) 1; }"""
    assert "a -> b -> a make a cycle" in str(refusal(bif, text))


def test_huge_tables_are_refused_before_they_are_made():
    names = [f"v{i}" for i in range(40)]
    head = "network n { } " + "".join(f"variable {n} {{ type discrete [2] {{ a, b }}; }} " for n in names)
    for body in ("default 0.5 0.5;", "table 0.5 0.5;", f"({', '.join('a' * 39)}) 0.5 0.5;", ""):
        text = head + f"probability ( v0 | {', '.join(names[1:])} ) {{ {body} }}"
        error = within(3.0, lambda text=text: refusal(bif, text))
        assert error.line == 1
    wide = head.replace("[2] { a, b }", "[999999999] { a, b }", 1)
    assert "declares 999999999 states" in str(refusal(bif, wide))


def test_the_defaults_of_a_file_have_a_limit_in_all():
    names = [f"v{i}" for i in range(24)]
    text = "network n { } " + "".join(f"variable {n} {{ type discrete [2] {{ a, b }}; }} " for n in names)
    for i in (21, 22, 23):
        text += f"probability ( v{i} | {', '.join(names[:20])} ) {{ default 0.5 0.5; }} "
    within(10.0, lambda: refusal(bif, text * 8))


def test_words_are_quoted_only_when_they_must_be():
    names = ("Asy/Patch", "<0.5", "3.0", "0_6Hrs", ">=7.5", "12+", "Transp.", "5-12")
    net = BayesNet(TableCPD(Discrete("a-b_c", names), [1, 0, 0, 0, 0, 0, 0, 0]))
    assert b'"' not in bif.render(net)
    for name in (
        "table",
        "two words",
        "a//b",
        "/*",
        "x[1,2]",
        'quo"te',
        "back\\slash",
        "line\nend",
        "größe",
        "|",
        "a,b",
    ):
        other = BayesNet(TableCPD(Discrete(name, ("default", name)), [0.5, 0.5]))
        assert_same_network(bif.parse(bif.render(other)), other, printed=True)


@given(bayes_nets())
def test_networks_come_back(net):
    assert_same_network(bif.parse(bif.render(net)), net, printed=True)


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), st.text(st.characters(exclude_categories=["Cs"])))
def test_any_name_comes_back(name, title):
    net = BayesNet(TableCPD(Discrete(name, (name, name + "'")), [0.25, 0.75]), name=title)
    back = bif.parse(bif.render(net))
    assert back.name == title
    assert_same_network(back, net, printed=True)


@given(mutated(SMALL.encode()) | mutated(DOG.encode()))
def test_damaged_files_are_read_or_refused(data):
    accept_or_refuse(bif, data)


@given(st.binary(max_size=200) | st.text(alphabet='{}()[];|,"/*ab01. \n').map(str.encode))
def test_noise_is_refused(data):
    accept_or_refuse(bif, b"network n { }" + data)
    accept_or_refuse(bif, data)


def test_latin_1_and_byte_order_marks():
    text = SMALL.replace("Asy/Patch", "größe")
    for data in (text.encode("latin-1"), b"\xef\xbb\xbf" + text.encode()):
        assert bif.parse(data)["wet grass"].states[1] == "größe"


ROW = re.compile(r"\(([^()]*)\)\s*([^;]*);")
BLOCK = re.compile(r"probability \( ([^|)]*?)(?: \| ([^)]*))? \) \{(.*?)\n\}", re.DOTALL)


def plainly_read(text: str) -> dict[str, tuple[list[str], list[list[float]]]]:
    """Each child's parents, and its rows in file order: written as plainly as the published files allow."""
    found = {}
    for child, parents, body in BLOCK.findall(text):
        rows = [numbers for _, numbers in ROW.findall(body)] or [body.split("table")[1].split(";")[0]]
        found[child] = (parents.split(", ") if parents else [], [[float(x) for x in r.split(",")] for r in rows])
    return found


@each_shared("nets/*.bif.gz")
def test_published_networks(path):
    data = gzip.decompress(path.read_bytes())
    kept, net = bif.parse(data, reading=Reading(normalize=False)), bif.parse(data)
    plain = plainly_read(data.decode())
    assert sorted(plain) == sorted(net.variables.names)
    for name, (parents, rows) in plain.items():
        assert list(net.parents(name)) == parents
        cpd = kept.cpd(name)
        # bnlearn writes rows with the first parent fastest.
        shape = [*(p.num_states for p in reversed(cpd.parents)), cpd.child.num_states]
        written = np.array(rows).reshape(shape).transpose([*reversed(range(len(parents))), len(parents)])
        assert (cpd.values == written).all()
        sums = net.cpd(name).values.sum(axis=-1)
        assert np.abs(sums - 1).max() < 1e-12
        assert np.abs(net.cpd(name).values - written).max() < 1e-6
    if len(data) < 1_000_000:
        assert_same_network(bif.parse(bif.render(net)), net, printed=True)
    misses = sum(abs(sum(row) - 1) > 1e-12 for _, rows in plain.values() for row in rows)
    assert bool(net.notes) == bool(misses)
    if misses:
        assert f"Renormalized {misses} row" in net.notes[0]


def test_the_largest_network_is_read_quickly():
    data = gzip.decompress(one_shared("nets/munin.bif.gz").read_bytes())
    net = within(5.0, lambda: bif.parse(data))  # 0.2 s on a quiet core
    assert len(net.variables) == 1041


@each_shared("formats/*.bif")
def test_other_files(path):
    accept_or_refuse(bif, path.read_bytes())
    if path.name in ("tree.bif", "asia_bool.bif"):
        assert len(bif.parse(path.read_bytes()).variables) in (9, 8)
    if path.name == "BIFReader_file4.bif":
        error = refusal(bif, path.read_bytes())
        assert (error.line, error.column) == (58, 46)
