from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest
from hypothesis import given, strategies as st

import sepset as ss
from sepset.io import net, xdsl
from sepset.models.drawing import Drawing, Look
from support.shared_files import one_shared

FILE = """<?xml version="1.0" encoding="UTF-8"?>
<smile version="1.0" id="clinic" numsamples="777" seed="12">
<nodes>
<cpt id="smoke" diagtype="observation" ranked="true"><state id="no"/><state id="yes" fault="true"/>
<probabilities>0.7 0.3</probabilities><property id="cost">12 &lt; 13</property></cpt>
<cpt id="cough" target="true"><state id="no"/><state id="yes"/><parents>smoke</parents>
<probabilities>0.9 0.1 0.4 0.6</probabilities></cpt>
</nodes>
<observationcost><cost id="smoke">1.5</cost></observationcost>
<extensions><genie version="1.0" app="GeNIe" name="A clinic" faultnameformat="nodestate">
<node id="smoke"><name>Smokes &amp; drinks?</name><interior color="e5f6f7"/><position>10 20 110 60</position>
<comment>  asked
twice </comment></node>
<submodel id="lungs"><name>Lungs</name><position>200 20 300 60</position>
<node id="cough"><name>Coughs?</name><position>30 40 130 80</position></node></submodel>
<textbox><caption>From the ward</caption><position>5 6 70 80</position></textbox>
</genie></extensions>
</smile>
"""


def tree(text: str | bytes) -> object:
    """An XML text as nested tuples, without the space between elements, attributes and nodes in any order."""

    def read(element: ElementTree.Element) -> object:
        inside = [read(child) for child in element]
        if element.tag == "nodes":
            inside.sort(key=repr)
        text = element.text or ""
        return (element.tag, sorted(element.attrib.items()), text.strip() if inside else text, inside)

    return read(ElementTree.fromstring(text))


def contents(text: bytes) -> object:
    """The tree of a file with the numbers and parents of its nodes at the end, as they are written."""
    found = ElementTree.fromstring(text)
    for node in found.findall("nodes/cpt"):
        node[:] = sorted(node, key=lambda child: (child.tag != "state", child.tag != "parents", child.tag))
    return tree(ElementTree.tostring(found))


def test_all_that_a_file_has_is_written_again():
    first = xdsl.render(xdsl.parse(FILE.encode()))
    assert contents(first) == contents(FILE.encode())
    assert xdsl.render(xdsl.parse(first)) == first


def test_a_published_drawing_is_written_again():
    text = one_shared("formats/benefits.xdsl").read_bytes()
    kept = ElementTree.fromstring(xdsl.render(xdsl.parse(text))).find("extensions")
    drawn = ElementTree.fromstring(text).find("extensions")
    assert tree(ElementTree.tostring(kept)) == tree(ElementTree.tostring(drawn))


def test_titles_are_known_and_go_to_other_formats():
    model = xdsl.parse(FILE.encode())
    assert dict(model.drawing.titles) == {"smoke": "Smokes & drinks?", "cough": "Coughs?"}
    labels = net.parse(net.render(model)).drawing.titles
    assert labels == model.drawing.titles
    back = xdsl.parse(xdsl.render(net.parse(net.render(model))))
    assert back.drawing.titles == model.drawing.titles


def test_looks_are_known_and_windows_of_submodels_are_below_each_other():
    model = xdsl.parse(FILE.encode())
    assert model.drawing.looks == {
        "smoke": Look((60.0, 40.0), "#e5f6f7", comment="asked\ntwice"),
        "cough": Look((80.0, 160.0), group="Lungs"),
    }
    picture = ss.draw(model)
    assert picture.sketch.groups == ("Lungs",)
    assert [box.position for box in picture.sketch.boxes] == [(60.0, 40.0), (80.0, 160.0)]


@pytest.mark.parametrize("position", ["1e999 0 1 1", "a b c d", "1 2", "", "nan nan nan nan", "1 2 3 4 5"])
def test_positions_that_are_none_are_written_again(position):
    text = FILE.replace("10 20 110 60", position)
    model = xdsl.parse(text.encode())
    assert model.drawing.look("smoke").position is None
    assert contents(xdsl.render(model)) == contents(text.encode())
    ss.draw(model).to_svg()


def test_nodes_that_are_gone_are_not_drawn():
    kept = ElementTree.fromstring(xdsl.render(xdsl.parse(FILE.encode()).subnetwork("smoke")))
    assert [node.get("id") for node in kept.iter("node")] == ["smoke"]
    assert kept.find(".//submodel[@id='lungs']/name").text == "Lungs"


def test_a_name_of_the_network_that_the_file_cannot_have_is_read_back():
    model = xdsl.parse(FILE.encode())
    renamed = ss.BayesNet(*model.cpds, name="two words", drawing=model.drawing)
    back = xdsl.parse(xdsl.render(renamed))
    assert back.name == "two words"
    assert back.drawing.titles == model.drawing.titles


def test_a_title_that_xml_cannot_express_does_not_prevent_writing():
    cpd = ss.TableCPD(ss.Discrete("a", ("x", "y")), [0.5, 0.5])
    back = xdsl.parse(xdsl.render(ss.BayesNet(cpd, drawing=Drawing({"a": "one\x01two"}))))
    assert back.drawing.titles == {"a": "onetwo"}


@given(
    st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1), st.sampled_from(["xdsl", "net"])
)
def test_any_title_is_written_as_text(title, format):
    codec = {"xdsl": xdsl, "net": net}[format]
    model = ss.BayesNet(ss.TableCPD(ss.Discrete("a", ("x", "y")), [0.5, 0.5]), drawing=Drawing({"a": title}))
    back = codec.parse(codec.render(model))
    assert back == model
    assert back.drawing.titles.get("a", "a") == (title if title.strip() else "a")


@pytest.mark.parametrize("hostile", ["</comment><cpt/>", "]]>", "<!-- -->", "&amp;lt;script&gt;"])
def test_markup_in_a_comment_stays_text(hostile):
    text = FILE.replace("asked", hostile.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"))
    found = ElementTree.fromstring(xdsl.render(xdsl.parse(text.encode())))
    assert hostile in found.find(".//node[@id='smoke']/comment").text
    assert len(found.findall("nodes/cpt")) == 2
