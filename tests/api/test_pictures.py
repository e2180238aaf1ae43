"""The verb `draw`: what is drawn, what is asked, what is refused."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import networkx as nx
import numpy as np
import pytest

import sepset as ss
from sepset.engine.view import View

ASIA = ss.datasets.load("asia")


def boxes(picture):
    return {box.name: box for box in picture.sketch.boxes}


def test_beliefs_come_with_evidence():
    assert not boxes(ss.draw(ASIA))["lung"].rows
    assert boxes(ss.draw(ASIA, beliefs=True))["lung"].rows[0].shares == pytest.approx((0.055,))
    assert boxes(ss.draw(ASIA, given={"xray": "yes"}))["lung"].rows[0].shares == pytest.approx((0.4887,), abs=1e-4)
    only = boxes(ss.draw(ASIA, given={}))["lung"]
    assert only.rows[0].shares == pytest.approx((0.055,))
    assert not only.observed


def test_two_states_side_by_side():
    picture = ss.draw(ASIA, given={"xray": "yes"}, compare={})
    assert boxes(picture)["lung"].rows[0].shares == pytest.approx((0.055, 0.4887), abs=1e-4)
    assert picture.sketch.cases == ("without evidence", "given xray = yes")


def test_a_view_is_drawn_as_its_model_with_its_findings():
    view = ss.prepare(ASIA).observe({"xray": "yes"})
    ours, theirs = boxes(ss.draw(view)), boxes(ss.draw(ASIA, given={"xray": "yes"}))
    assert set(ours) == set(theirs)
    assert ours["lung"].rows[0].shares == pytest.approx(theirs["lung"].rows[0].shares)
    assert ours["xray"].observed


def test_groups():
    picture = ss.draw(ASIA, groups={"causes": ["asia", "smoke"], "one": "xray"})
    assert picture.sketch.groups == ("causes", "one")
    groups = {name: box.group for name, box in boxes(picture).items()}
    assert (groups["asia"], groups["smoke"], groups["xray"], groups["tub"]) == (0, 0, 1, -1)
    with pytest.raises(ss.errors.ScopeError, match=r"names 'smok'.*smoke"):
        ss.draw(ASIA, groups={"causes": ["smok"]})


def test_what_is_refused():
    with pytest.raises(ss.errors.ModelError, match="is drawn; found a str"):
        ss.draw("asia")
    with pytest.raises(ss.errors.NotApplicable, match="are of a model; found a DAG"):
        ss.draw(ASIA.dag, given={"xray": "yes"})
    with pytest.raises(ss.errors.StateError, match="maybe"):
        ss.draw(ASIA, given={"xray": "maybe"})


def test_other_orders_of_variables():
    rng = np.random.default_rng(0)
    for _ in range(3):
        other = ss.BayesNet(*(ASIA.cpds[k] for k in rng.permutation(8)))
        found = boxes(ss.draw(other, given={"xray": "yes"}))
        for name, box in boxes(ss.draw(ASIA, given={"xray": "yes"})).items():
            assert [row.label for row in found[name].rows] == [row.label for row in box.rows]
            assert np.array([row.shares for row in found[name].rows]) == pytest.approx(
                np.array([row.shares for row in box.rows])
            )


def drawn_net(**looks):
    a, b = ss.Discrete("a", ("no", "yes")), ss.Discrete("b", ("no", "yes"))
    drawing = ss.models.Drawing({"a": "A <title>", "b": "b"}, looks=looks)
    return ss.BayesNet(ss.TableCPD(a, [0.5, 0.5]), ss.TableCPD(b, [[0.5, 0.5], [0.2, 0.8]], given=a), drawing=drawing)


APART = {"a": ss.models.Look((500.0, 900.0)), "b": ss.models.Look((100.0, 200.0))}


def texts(picture):
    """The places of the texts in the picture's SVG."""
    root = ElementTree.fromstring(picture.to_svg())
    found = root.iter("{http://www.w3.org/2000/svg}text")
    return {text.text: (float(text.get("x")), float(text.get("y"))) for text in found}


def test_places_of_the_file_are_used():
    model = drawn_net(**APART)
    by_default, by_request, layers = (texts(ss.draw(model, layout=how)) for how in (None, "file", "layers"))
    assert by_default == by_request
    assert by_default["a"][0] - by_default["b"][0] == pytest.approx(400.0, abs=0.2)
    assert by_default["a"][1] - by_default["b"][1] == pytest.approx(700.0, abs=0.2)
    assert layers["a"][1] < layers["b"][1]
    assert ss.draw(model, layout="layers").to_text() == ss.draw(model).to_text()


def test_beliefs_are_shown_in_the_places_of_the_file():
    found = texts(ss.draw(drawn_net(**APART), given={"b": "yes"}))
    assert found["a"][1] - found["b"][1] == pytest.approx(700.0, abs=0.2)


@pytest.mark.parametrize("places", [{}, {"a": APART["a"]}, {"a": APART["a"], "b": APART["a"]}])
def test_files_without_places_are_drawn_in_layers(places):
    model = drawn_net(**places)
    assert texts(ss.draw(model)) == texts(ss.draw(model, layout="layers"))
    with pytest.raises(ss.errors.NotApplicable, match=r"layout='file' needs .*layout='layers'"):
        ss.draw(model, layout="file")


def test_other_layouts_are_refused():
    with pytest.raises(ss.errors.NotApplicable, match=r"found 'layer'.*layers"):
        ss.draw(ASIA, layout="layer")
    with pytest.raises(ss.errors.NotApplicable, match="needs a position of every node"):
        ss.draw(ASIA.dag, layout="file")


def test_titles_comments_and_groups_are_shown_as_text():
    comment = "</title><script>alert(1)</script>\nsecond line"
    model = drawn_net(a=ss.models.Look(comment=comment), b=ss.models.Look(group="<g>"))
    picture = ss.draw(model)
    assert "<script" not in picture.to_svg() + picture._repr_html_() + model._repr_html_()
    root = ElementTree.fromstring(picture.to_svg())
    assert f"a: A <title>\n{comment}" in [found.text for found in root.iter("{http://www.w3.org/2000/svg}title")]
    assert picture.sketch.groups == ("<g>",)
    assert [box.group for box in picture.sketch.boxes] == [-1, 0]
    assert ss.draw(model, groups={"mine": "a"}).sketch.groups == ("mine",)
    assert "A <title>" not in texts(picture)
    titled = ss.draw(model, titles=True)
    assert "A <title>" in texts(titled)
    assert "A <title>" in titled.to_text()
    assert [row.label for row in boxes(ss.draw(model, titles=True, beliefs=True))["a"].rows] == [
        "A <title>",
        "no",
        "yes",
    ]
    assert boxes(ss.draw(ss.prepare(model).observe({}), titles=True))["a"].rows[0].label == "A <title>"


def test_a_group_without_members_is_not_shown():
    model = drawn_net(a=ss.models.Look(group="one"), b=ss.models.Look(group="two"))
    assert ss.draw(model.subnetwork("a")).sketch.groups == ("one",)


def contrast(one, two):
    """The contrast ratio of two colors, as the guidelines for web contents (WCAG 2.1) define it."""

    def luminance(color):
        shares = [c / 255 for c in color]
        linear = [s / 12.92 if s <= 0.03928 else ((s + 0.055) / 1.055) ** 2.4 for s in shares]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted([luminance(one), luminance(two)])
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("color", ["#000000", "#ffffff", "#ffff00", "#000080", "#ff0000", "#00ff00", "#e5f6f7"])
def test_names_are_legible_on_any_color(color):
    svg = ss.draw(drawn_net(a=ss.models.Look(color=color))).to_svg()
    opacity = float(svg.split(f'fill="{color}" fill-opacity="')[1].split('"')[0])
    own = [int(color[k : k + 2], 16) for k in (1, 3, 5)]
    for text, page in (((0x1F, 0x23, 0x28), (255, 255, 255)), ((0xE6, 0xED, 0xF3), (0x0D, 0x11, 0x17))):
        fill = [opacity * c + (1 - opacity) * p for c, p in zip(own, page, strict=True)]
        assert contrast(text, fill) >= 4.5


def test_graphs_of_networkx_and_lists_of_edges_are_drawn():
    edges = [("smoke", "lung"), ("lung", "xray")]
    wanted = str(ss.draw(ss.DAG(edges)))
    assert str(ss.draw(edges)) == str(ss.draw(nx.DiGraph(edges))) == wanted
    assert str(ss.draw(nx.Graph(edges))) == str(ss.draw(ss.UndirectedGraph(edges))) != wanted
    with pytest.raises(ss.SepsetError, match=r"found a str\. Texts are read by DAG"):
        ss.draw("smoke -> lung")
    with pytest.raises(ss.SepsetError, match="found a list"):
        ss.draw([])


def test_beliefs_that_are_refused_are_refused_before_others_are_read(monkeypatch):
    read = []

    class Answers:
        def __getitem__(self, name):
            read.append(name)
            raise ss.TooLarge("The last depends on the most.")

    monkeypatch.setattr(View, "marginals", lambda view: Answers())
    with pytest.raises(ss.TooLarge):
        ss.draw(ASIA, beliefs=True)
    assert read == [ASIA.variables.names[-1]]
