"""Files of other tools are read as those tools read them, and what was drawn in them is not lost."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

import sepset as ss
from support.shared_files import one_shared
from support.tolerances import EXACT

# One variable `x` with states s0, s1, ... and these numbers, as each format writes it.


def bif(states: list[str], row: str) -> str:
    names = ", ".join(states)
    return (
        f"network n {{ }} variable x {{ type discrete [ {len(states)} ] {{ {names} }}; }} "
        f"probability ( x ) {{ table {row.replace(' ', ', ')}; }}"
    )


def xmlbif(states: list[str], row: str) -> str:
    outcomes = "".join(f"<OUTCOME>{state}</OUTCOME>" for state in states)
    return (
        f'<BIF VERSION="0.3"><NETWORK><NAME>n</NAME><VARIABLE TYPE="nature"><NAME>x</NAME>{outcomes}</VARIABLE>'
        f"<DEFINITION><FOR>x</FOR><TABLE>{row}</TABLE></DEFINITION></NETWORK></BIF>"
    )


def uai(states: list[str], row: str) -> str:
    return f"BAYES 1 {len(states)} 1 1 0 {len(states)} {row}"


def net(states: list[str], row: str) -> str:
    names = " ".join(f'"{state}"' for state in states)
    return f"net {{ }} node x {{ states = ( {names} ); }} potential ( x ) {{ data = ( {row} ); }}"


def xdsl(states: list[str], row: str) -> str:
    names = "".join(f'<state id="{state}" />' for state in states)
    return (
        f'<smile version="1.0" id="n"><nodes><cpt id="x">{names}'
        f"<probabilities>{row}</probabilities></cpt></nodes></smile>"
    )


FORMATS = {".bif": bif, ".xmlbif": xmlbif, ".uai": uai, ".net": net, ".xdsl": xdsl}
each_format = pytest.mark.parametrize("suffix", FORMATS)
ROUNDED = {
    "three digits": "0.333 0.333 0.333",
    "six digits": " ".join(["0.083333"] * 12),  # sums to 0.999996
    "single precision": "0.345277 0.654721",
}


def written(folder: Path, suffix: str, row: str) -> Path:
    path = folder / f"file{suffix}"
    path.write_text(FORMATS[suffix]([f"s{i}" for i in range(len(row.split()))], row))
    return path


def values(model: ss.models.Model) -> np.ndarray:
    (name,) = model.variables.names
    return ss.query(model, name).values


@pytest.mark.parametrize("row", ROUNDED.values(), ids=ROUNDED)
@each_format
def test_rows_rounded_on_printing_are_read_and_noted(tmp_path, suffix, row):
    model = ss.read(written(tmp_path, suffix, row))
    numbers = np.array(row.split(), dtype=float)
    np.testing.assert_allclose(values(model), numbers / numbers.sum(), rtol=EXACT)
    assert "Renormali" in " ".join(model.notes)


@each_format
def test_rows_can_be_kept_as_written(tmp_path, suffix):
    model = ss.read(written(tmp_path, suffix, "0.333 0.333 0.333"), normalize=False)
    (name,) = model.variables.names
    assert model.cpd(name).values.tolist() == [0.333] * 3


@each_format
def test_rows_that_are_wrong_are_refused(tmp_path, suffix):
    with pytest.raises(ss.errors.FileFormatError, match="sum"):
        ss.read(written(tmp_path, suffix, "0.3 0.3 0.3"))


@pytest.mark.parametrize("suffix", [s for s in FORMATS if s not in (".uai", ".net")])
def test_no_tolerance_is_advised_for_rows_of_zeros(tmp_path, suffix):
    with pytest.raises(ss.errors.FileFormatError, match=r"sums to 0; it should sum to one$"):
        ss.read(written(tmp_path, suffix, "0 0 0"), tolerance=1.0)


@each_format
def test_a_larger_miss_can_be_allowed(tmp_path, suffix):
    model = ss.read(written(tmp_path, suffix, "0.3 0.3 0.3"), tolerance=0.2)
    np.testing.assert_allclose(values(model), 1 / 3, rtol=EXACT)
    assert model.notes


@pytest.mark.parametrize("row", ["3 5", "10 90", "250 750", "1.5 3580.5"])
def test_potentials_of_hugin_are_normalized_as_hugin_does(tmp_path, row):
    model = ss.read(written(tmp_path, ".net", row))
    numbers = np.array(row.split(), dtype=float)
    np.testing.assert_allclose(values(model), numbers / numbers.sum(), rtol=EXACT)
    assert model.notes


def test_a_zero_that_was_rounded_below_is_zero_and_noted(tmp_path):
    model = ss.read(written(tmp_path, ".net", "0.25 0.7500001 -1.19e-7"))
    np.testing.assert_allclose(values(model), np.array([0.25, 0.7500001, 0.0]) / 1.0000001, rtol=EXACT)
    assert model.notes


@pytest.mark.parametrize("name", ["test1.net", "test2.net"])
def test_published_files_of_hugin_are_read(name):
    assert ss.read(one_shared(f"formats/{name}")).notes


# b given a, as UnBBayes writes it: P(a) = (0.2, 0.8), P(b | a) = ((0.3, 0.7), (0.6, 0.4)).

CLASSIC = """<mstns:BIF VERSION="0" xmlns:mstns="http://localhost/xml/model.xsd">
<mstns:HEADER><mstns:NAME>two</mstns:NAME><mstns:CREATOR>UnBBayes</mstns:CREATOR></mstns:HEADER>
<mstns:NETWORK>
<mstns:VARIABLES>
<mstns:VAR NAME="a" TYPE="discrete" XPOS="1" YPOS="2"><mstns:LABEL>first</mstns:LABEL>
<mstns:STATENAME>no</mstns:STATENAME><mstns:STATENAME>yes</mstns:STATENAME></mstns:VAR>
<mstns:VAR NAME="b" TYPE="discrete" XPOS="3" YPOS="4"><mstns:LABEL>second</mstns:LABEL>
<mstns:STATENAME>no</mstns:STATENAME><mstns:STATENAME>yes</mstns:STATENAME></mstns:VAR>
</mstns:VARIABLES>
<mstns:STRUCTURE><mstns:ARC CHILD="b" PARENT="a"/></mstns:STRUCTURE>
<mstns:POTENTIAL>
<mstns:POT><mstns:PRIVATE NAME="a"/><mstns:CONDSET/><mstns:DPIS>
<mstns:DPI INDEXES="0">0.2</mstns:DPI><mstns:DPI INDEXES="0">0.8</mstns:DPI>
</mstns:DPIS></mstns:POT>
<mstns:POT><mstns:PRIVATE NAME="b"/><mstns:CONDSET><mstns:CONDLEM NAME="a"/></mstns:CONDSET><mstns:DPIS>
<mstns:DPI INDEXES="0">0.3</mstns:DPI><mstns:DPI INDEXES="0">0.7</mstns:DPI>
<mstns:DPI INDEXES="1">0.6</mstns:DPI><mstns:DPI INDEXES="1">0.4</mstns:DPI>
</mstns:DPIS></mstns:POT>
</mstns:POTENTIAL>
</mstns:NETWORK>
</mstns:BIF>
"""
RECENT = """<xbifns:XMLBIF version="0.6" xmlns:xbifns="http://unbbayes.sourceforge.net/xml/XMLBIF_0_6.xsd">
<xbifns:header><xbifns:name>two</xbifns:name><xbifns:creator>UnBBayes</xbifns:creator></xbifns:header>
<xbifns:network>
<xbifns:variables>
<xbifns:variable name="a" type="DiscreteProbabilistic" xPos="1" yPos="2">
<xbifns:description>first</xbifns:description><xbifns:state name="no"/><xbifns:state name="yes"/></xbifns:variable>
<xbifns:variable name="b" type="DiscreteProbabilistic" xPos="3" yPos="4">
<xbifns:description>second</xbifns:description><xbifns:state name="no"/><xbifns:state name="yes"/></xbifns:variable>
</xbifns:variables>
<xbifns:structure><xbifns:edge child="b" parent="a"/></xbifns:structure>
<xbifns:conditionalDistributionSet>
<xbifns:conditionalDistribution type="Discrete"><xbifns:owner name="a"/><xbifns:CPT>
<xbifns:dependentParentIndex index="0">0.2</xbifns:dependentParentIndex>
<xbifns:dependentParentIndex index="1">0.8</xbifns:dependentParentIndex>
</xbifns:CPT></xbifns:conditionalDistribution>
<xbifns:conditionalDistribution type="Discrete"><xbifns:owner name="b"/>
<xbifns:parents><xbifns:parent index="0" name="a"/></xbifns:parents><xbifns:CPT>
<xbifns:dependentParentIndex index="0">0.3</xbifns:dependentParentIndex>
<xbifns:dependentParentIndex index="1">0.7</xbifns:dependentParentIndex>
<xbifns:dependentParentIndex index="2">0.6</xbifns:dependentParentIndex>
<xbifns:dependentParentIndex index="3">0.4</xbifns:dependentParentIndex>
</xbifns:CPT></xbifns:conditionalDistribution>
</xbifns:conditionalDistributionSet>
</xbifns:network>
</xbifns:XMLBIF>
"""
PREFIXED = """<ns:BIF VERSION="0.3" xmlns:ns="http://www.cs.ubc.ca/labs/lci/fopi/ve/XMLBIFv0_3"><ns:NETWORK>
<ns:NAME>two</ns:NAME>
<ns:VARIABLE TYPE="nature"><ns:NAME>a</ns:NAME><ns:OUTCOME>no</ns:OUTCOME><ns:OUTCOME>yes</ns:OUTCOME></ns:VARIABLE>
<ns:VARIABLE TYPE="nature"><ns:NAME>b</ns:NAME><ns:OUTCOME>no</ns:OUTCOME><ns:OUTCOME>yes</ns:OUTCOME></ns:VARIABLE>
<ns:DEFINITION><ns:FOR>a</ns:FOR><ns:TABLE>0.2 0.8</ns:TABLE></ns:DEFINITION>
<ns:DEFINITION><ns:FOR>b</ns:FOR><ns:GIVEN>a</ns:GIVEN><ns:TABLE>0.3 0.7 0.6 0.4</ns:TABLE></ns:DEFINITION>
</ns:NETWORK></ns:BIF>
"""


@pytest.mark.parametrize(
    "text", [CLASSIC, RECENT, PREFIXED], ids=["UnBBayes 0.4", "UnBBayes 0.6", "XMLBIF 0.3 with a prefix"]
)
def test_xml_networks_with_a_namespace_are_read(tmp_path, text):
    (tmp_path / "two.xml").write_text(text)
    model = ss.read(tmp_path / "two.xml")
    assert [(v.name, v.states) for v in model.variables] == [("a", ("no", "yes")), ("b", ("no", "yes"))]
    joint = ss.query(model, ["a", "b"]).values
    np.testing.assert_allclose(joint, [[0.06, 0.14], [0.48, 0.32]], rtol=EXACT)


def test_xml_networks_with_a_default_namespace_are_read(tmp_path):
    (tmp_path / "two.xml").write_text(PREFIXED.replace("ns:", "").replace(":ns=", "="))
    assert ss.query(ss.read(tmp_path / "two.xml"), "b")["yes"] == pytest.approx(0.46, abs=EXACT)


@pytest.mark.parametrize("evidence", ["1 0 1", "1\n1 0 1"], ids=["one sample", "a number of samples"])
def test_evidence_at_the_end_of_a_uai_file_is_noted(tmp_path, evidence):
    (tmp_path / "two.uai").write_text(f"BAYES 2 2 2 2  1 0  2 0 1  2 0.2 0.8  4 0.3 0.7 0.6 0.4\n{evidence}\n")
    model = ss.read(tmp_path / "two.uai")
    assert ss.query(model, "x1")[1] == pytest.approx(0.46, abs=EXACT)
    assert "evidence" in " ".join(model.notes).lower()


def test_rows_of_zeros_that_cannot_occur_are_read(tmp_path):
    (tmp_path / "two.uai").write_text("BAYES 2 2 2 2  1 0  2 0 1  2 1 0  4 0.3 0.7 0 0")
    model = ss.read(tmp_path / "two.uai")
    np.testing.assert_allclose(ss.query(model, ["x0", "x1"]).values, [[0.3, 0.7], [0, 0]], atol=EXACT)


# What people draw.

DRAWN = """<?xml version="1.0" encoding="UTF-8"?>
<smile version="1.0" id="clinic">
<nodes>
<cpt id="smoke" diagtype="observation" ranked="true"><state id="no"/><state id="yes"/>
<probabilities>0.7 0.3</probabilities></cpt>
<cpt id="cough" diagtype="target"><state id="no"/><state id="yes" fault="true"/><parents>smoke</parents>
<probabilities>0.9 0.1 0.4 0.6</probabilities></cpt>
</nodes>
<extensions><genie version="1.0" app="GeNIe" name="A clinic">
<node id="smoke"><name>Does the patient smoke?</name><interior color="e5f6f7"/><outline color="0000bb"/>
<font color="000000" name="Arial" size="8"/><position>10 20 110 60</position><comment>asked twice</comment></node>
<submodel id="lungs"><name>Lungs</name><interior color="ffffff"/><position>200 20 300 60</position>
<node id="cough"><name>Does the patient cough?</name><interior color="ccffff"/><position>30 40 130 80</position></node>
</submodel>
<textbox><caption>From the ward</caption><position>5 6 70 80</position></textbox>
</genie></extensions>
</smile>
"""


def rewritten(folder: Path, suffix: str, text: str) -> str:
    """The text of a file that was read and written."""
    source, target = folder / f"source{suffix}", folder / f"target{suffix}"
    source.write_text(text)
    ss.write(ss.read(source), target)
    return target.read_text()


@pytest.mark.parametrize(
    ("path", "kept"),
    [
        pytest.param(".//node[@id='smoke']/name", "Does the patient smoke?", id="title"),
        pytest.param(".//node[@id='smoke']/position", "10 20 110 60", id="position"),
        pytest.param(".//node[@id='smoke']/interior[@color='e5f6f7']", None, id="color"),
        pytest.param(".//node[@id='smoke']/comment", "asked twice", id="comment"),
        pytest.param(".//cpt[@id='smoke'][@diagtype='observation']", None, id="diagnostic type"),
        pytest.param(".//cpt[@id='cough']/state[@fault='true']", None, id="fault"),
        pytest.param(".//submodel[@id='lungs']/name", "Lungs", id="submodel"),
        pytest.param(".//submodel[@id='lungs']/node[@id='cough']/name", "Does the patient cough?", id="its node"),
        pytest.param(".//textbox/caption", "From the ward", id="text box"),
    ],
)
def test_a_drawing_of_genie_survives(tmp_path, path, kept):
    found = ElementTree.fromstring(rewritten(tmp_path, ".xdsl", DRAWN)).find(path)
    assert found is not None
    assert kept is None or found.text == kept


@pytest.mark.parametrize(
    "kept", [r'label\s*=\s*"Does the patient smoke\?"\s*;', r"position\s*=\s*\(\s*10\s+20\s*\)\s*;"]
)
def test_a_drawing_of_hugin_survives(tmp_path, kept):
    text = (
        'net { } node smoke { states = ("no" "yes"); label = "Does the patient smoke?"; position = (10 20); } '
        "potential ( smoke ) { data = ( 0.7 0.3 ); }"
    )
    assert re.search(kept, rewritten(tmp_path, ".net", text))


def test_a_name_that_is_no_identifier_is_the_title_in_genie(tmp_path):
    pressure = ss.Discrete("blood pressure", ("very low", "high"))
    ss.write(ss.BayesNet(ss.TableCPD(pressure, [0.5, 0.5])), tmp_path / "one.xdsl")
    titles = ElementTree.parse(tmp_path / "one.xdsl").findall(".//extensions/genie//node/name")
    assert [title.text for title in titles] == ["blood pressure"]
