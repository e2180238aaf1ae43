"""The site builds without warnings, its links lead somewhere, and every public name is in its reference."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from sepset.surface import NAMESPACES, VERBS, homes

pytestmark = pytest.mark.crosscheck
for package in ("mkdocs", "material", "mkdocstrings_handlers.python", "latex2mathml"):
    pytest.importorskip(package, reason="needs the extra docs")

ROOT = Path(__file__).resolve().parents[2]


class Page(HTMLParser):
    """The anchors of a page, and the targets of its links, pictures, scripts and styles."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.targets: list[str] = []
        self.text: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.anchors |= {value for key in ("id", "name") if (value := values.get(key))}
        self.targets += [value for key in ("href", "src") if (value := values.get(key)) is not None]

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the built site; warnings are errors."""
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", folder],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return folder


@pytest.fixture(scope="module")
def pages(site):
    return {path: Page(path) for path in sorted(site.rglob("*.html")) if path.name != "404.html"}


def broken(path, pages):
    """The links of a page inside the site that lead nowhere."""
    for target in pages[path].targets:
        parts = urlsplit(html.unescape(target))
        if parts.scheme or parts.netloc:
            continue
        file = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        anchor = unquote(parts.fragment)
        if not file.exists() or (anchor and file in pages and anchor not in pages[file].anchors):
            yield target


def test_the_tutorial_can_be_taken_as_notebooks(site):
    """Each page links to its notebook, whose cells are code and text."""
    for page in sorted((site / "tutorial").glob("[0-9]*.html")):
        notebook = json.loads(page.with_suffix(".ipynb").read_text(encoding="utf-8"))
        assert {cell["cell_type"] for cell in notebook["cells"]} == {"code", "markdown"}
        assert page.with_suffix(".ipynb").name in page.read_text(encoding="utf-8")


def test_links_lead_somewhere(pages):
    assert {str(path): found for path in pages if (found := list(broken(path, pages)))} == {}


def test_every_public_name_has_its_place(site, pages):
    listed = {"index": VERBS, **NAMESPACES}
    missing = [
        f"{space}: {name}"
        for space, table in listed.items()
        for name, module in homes(table).items()
        if f"sepset.{module}.{name}" not in pages[site / "reference" / f"{space}.html"].anchors
    ]
    assert missing == []


def test_formulas_and_examples_are_drawn(site):
    """Mathematics needs no script, and prompts of examples are not quotations."""
    for path in site.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        assert 'class="arithmatex"' not in text, path
        assert "<blockquote>" not in text, path


def test_arguments_are_lists_and_classes_have_signatures(site):
    text = (site / "reference" / "inference.html").read_text(encoding="utf-8")
    for path in (site / "reference").glob("*.html"):
        found = re.findall(r"<p>(?:Args|Attributes|Raises|Returns): .{40}", path.read_text(encoding="utf-8"), re.DOTALL)
        assert found == [], path.name
    method = text.split('id="sepset.inference.map.search.andor.AndOrSearch"')[1]
    assert "<li><code>entries</code>: the most entries" in " ".join(method.split())
    assert "AndOrSearch</span>" in method.split("<p>")[0]


def test_nothing_is_fetched(pages):
    """Pages work without a network: scripts, styles and pictures are in the site."""
    for path in pages:
        text = path.read_text(encoding="utf-8")
        assert '<script src="http' not in text, path
        assert '<link rel="stylesheet" href="http' not in text, path


@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs Chromium")
def test_the_search_works_from_a_folder(site):
    chromium = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=60000", "--dump-dom"]
    asked = f"{(site / 'how-to' / 'ask.html').as_uri()}?q=sensitivity"
    page = subprocess.run([*chromium, asked], capture_output=True, text=True, timeout=300).stdout
    assert "matching documents" in page
    assert "Sensitivity</mark> and the value of information" in page


def shown(page: Path) -> str:
    """What the blocks of a page show."""
    return "".join(page.read_text(encoding="utf-8").split('<div class="shown">')[1:])


def test_notebooks_show_their_outputs(site):
    assert [path for path in site.rglob("*.html") if "@@output-" in path.read_text(encoding="utf-8")] == []
    for page in sorted((site / "theory").glob("*.html")):
        assert page.stem in ("index", "references") or "</svg>" in shown(page), f"{page.name} shows no plot"
    for page in sorted((site / "tutorial").glob("[1-6]-*.html")):
        assert "</svg>" in shown(page), f"{page.name} shows no picture"


def test_every_card_of_the_gallery_has_a_picture(site):
    text = (site / "gallery.html").read_text(encoding="utf-8")
    cards = text.split("<h3")[1:]
    assert len(cards) > 20
    assert [card[:80] for card in cards if '<div class="shown">' not in card or 'class="highlight"' not in card] == []


def test_plots_have_the_colors_of_the_page(site):
    """Axes and letters are in the color of the text, so that they are legible on dark pages too."""
    drawn = shown(site / "theory" / "elimination.html")
    assert "currentColor" in drawn
    assert "#010203" not in drawn


def test_the_search_finds_the_reference_and_every_page(site):
    entries = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))["docs"]
    places = {entry["location"].split("#")[0] for entry in entries}
    pages = {path.relative_to(site).as_posix() for path in site.rglob("*.html") if path.name != "404.html"}
    assert pages - places == set()
    texts = " ".join(entry["title"] + " " + entry["text"] for entry in entries)
    for name in ("learn_structure", "CliqueTree", "mcar_test", "Best assignments by duals", "Give evidence"):
        assert name in texts
