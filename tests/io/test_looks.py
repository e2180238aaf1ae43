"""Titles, positions, colors, comments and groups, through every format and from one to another."""

from __future__ import annotations

import pytest

import sepset as ss
from sepset.io import bif, json, net, xdsl, xmlbif
from sepset.io.looks import PROPERTIES, color, mirrored, numbers, pair
from sepset.models.drawing import Drawing, Look

BIF = """network n { property version 1.0; property "author = \\"me\\"; you"; }
variable rain { type discrete [ 2 ] { yes, no }; property "position = (73, 165)"; property cost = 3; }
variable wet { type discrete [ 2 ] { yes, no }; property position = (73,  265) ; property color = #AABBCC;
  property "comment = two <b>lines</b>"; property "title = Wet grass"; }
probability ( rain ) { property "from = ward 7"; table 0.25, 0.75; }
probability ( wet | rain ) { (yes) 0.9, 0.1; (no) 0.2, 0.8; }
"""
XMLBIF = """<BIF VERSION="0.3"><NETWORK><NAME>n</NAME><PROPERTY>author = you</PROPERTY>
<VARIABLE TYPE="nature"><NAME>rain</NAME><OUTCOME>yes</OUTCOME><OUTCOME>no</OUTCOME>
<PROPERTY>position = (73, 165)</PROPERTY><PROPERTY>a &lt; b</PROPERTY><PROPERTY></PROPERTY></VARIABLE>
<DEFINITION><FOR>rain</FOR><TABLE>0.25 0.75</TABLE><PROPERTY>sure</PROPERTY></DEFINITION></NETWORK></BIF>
"""
LOOKS = {
    "a": Look(
        (60.0, 40.0), "#e5f6f7", comment="asked\ntwice; \"quoted\" <script>alert(1)</script> & 'more' \\", group=""
    ),
    "b": Look((260.0, 340.0), "#000080", comment="", group="Lungs"),
}
TITLES = {"a": "Smokes & drinks?", "b": "Coughs <often>?"}
CODECS = {"bif": bif, "json": json, "net": net, "xdsl": xdsl, "xmlbif": xmlbif}


def model(drawing: Drawing) -> ss.BayesNet:
    a, b = ss.Discrete("a", ("no", "yes")), ss.Discrete("b", ("no", "yes"))
    return ss.BayesNet(
        ss.TableCPD(a, [0.25, 0.75]), ss.TableCPD(b, [[0.5, 0.5], [0.25, 0.75]], given=a), drawing=drawing
    )


def through(codec, found: ss.BayesNet) -> ss.BayesNet:
    back = codec.parse(codec.render(found))
    assert back == found
    return back


def test_properties_of_bif_are_kept_and_written_again():
    first = bif.parse(BIF.encode())
    drawn = first.drawing
    assert [item.text for item in drawn.network.items] == ["version 1.0", 'author = "me"; you']
    assert [item.text for item in drawn.nodes["rain"].all("property")] == ["position = (73, 165)", "cost = 3"]
    assert [item.text for table in drawn.nodes["rain"].all("table") for item in table.items] == ["from = ward 7"]
    assert dict(drawn.titles) == {"wet": "Wet grass"}
    assert drawn.looks == {
        "rain": Look((73.0, 165.0)),
        "wet": Look((73.0, 265.0), "#aabbcc", comment="two <b>lines</b>"),
    }
    again = through(bif, first)
    assert (again.drawing, bif.render(again)) == (drawn, bif.render(first))


def test_properties_of_xmlbif_are_kept_and_written_again():
    first = xmlbif.parse(XMLBIF.encode())
    assert [item.text for item in first.drawing.nodes["rain"].all("property")] == ["position = (73, 165)", "a < b"]
    assert first.drawing.looks == {"rain": Look((73.0, 165.0))}
    again = through(xmlbif, first)
    assert (again.drawing, xmlbif.render(again)) == (first.drawing, xmlbif.render(first))


@pytest.mark.parametrize(("codec", "text"), [(bif, BIF), (xmlbif, XMLBIF)], ids=["bif", "xmlbif"])
def test_both_formats_of_properties_and_json_keep_all_of_them(codec, text):
    first = codec.parse(text.encode())
    assert first.drawing.format == PROPERTIES
    assert through(xmlbif, through(bif, through(json, first))).drawing == first.drawing


@pytest.mark.parametrize("one", CODECS)
@pytest.mark.parametrize("two", CODECS)
def test_titles_and_looks_go_from_format_to_format(one, two):
    found = through(CODECS[two], through(CODECS[one], model(Drawing(TITLES, looks=LOOKS))))
    assert dict(found.drawing.titles) == TITLES
    assert dict(found.drawing.looks) == LOOKS


@pytest.mark.parametrize("format", CODECS)
def test_a_look_alone_and_a_blank_drawing(format):
    found = through(CODECS[format], model(Drawing(looks={"b": Look(color="#123456")})))
    assert found.drawing.look("b").color == "#123456"
    blank = through(CODECS[format], model(Drawing())).drawing
    assert not blank.titles
    assert not blank.looks


HOSTILE = ["(1e999, 2)", "(nan, 1)", "(1)", "(1, 2, 3)", "a b", "(٣ ٤)", "1_0 2", "(" + "9" * 500 + ", 1)", ""]


@pytest.mark.parametrize("text", HOSTILE)
def test_positions_that_are_none_are_kept_as_text_only(text):
    assert pair(text) is None
    read = bif.parse(
        f'network n {{ }} variable a {{ type discrete [ 2 ] {{ x, y }}; property "position = {text}"; }}\n'
        "probability ( a ) { table 0.5, 0.5; }".encode()
    )
    assert read.drawing.looks == {}
    assert [item.text for item in through(bif, read).drawing.nodes["a"].items] == [f"position = {text}"]


@pytest.mark.parametrize(
    "text", ["red", "#12345", "1234567", "#gggggg", '#ffffff" onload="x', "url(#a)", "", "#١٢٣٤٥٦"]
)
def test_colors_that_are_none(text):
    assert color(text) == ""


def test_numbers_and_mirrors():
    assert numbers("10 20 30 40", 4) == [10.0, 20.0, 30.0, 40.0]
    assert mirrored({}) == {}
    once = mirrored(LOOKS | {"c": Look(color="#123456")})
    assert once["a"].position == (60.0, 340.0)
    assert once["c"] == Look(color="#123456")
    assert mirrored(once) == LOOKS | {"c": Look(color="#123456")}
    huge = {"a": Look((0.0, 1.7e308)), "b": Look((0.0, 1.6e308))}
    assert mirrored(huge) == huge


def test_hugin_draws_upward():
    text = """net {} node a { states = ("x" "y"); position = (10 300); HR_Desc = "top"; }
    node b { states = ("x" "y"); position = (20 100); }
    potential (a) { data = (0.5 0.5); } potential (b | a) { data = ((1 0) (0 1)); }"""
    found = net.parse(text.encode())
    assert found.drawing.looks == {"a": Look((10.0, 100.0), comment="top"), "b": Look((20.0, 300.0))}
    assert b"position = ( 10 300 )" in net.render(found)
    assert through(bif, found).drawing.look("a").position == (10.0, 100.0)
    assert b"position = (10 300)" in net.render(through(bif, found))
