"""Writes what follows from the source: the stub files of the package and its namespaces, parts of the documents, and
their pictures.

`make generate` writes the files; a test fails if one of them is stale.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "sepset"
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]

from tools.documents import catalogue, filled, rooms  # noqa: E402
from tools.stubs import stubs  # noqa: E402


def documents() -> dict[Path, str]:
    """The documents with their generated parts."""
    parts = {ROOT / "docs" / "catalogue.md": catalogue(SOURCE), ROOT / "docs" / "architecture.md": rooms(SOURCE)}
    return {path: filled(path.read_text(encoding="utf-8"), part) for path, part in parts.items()}


def pictures() -> dict[Path, str]:
    """The pictures in the documents."""
    import sepset as ss

    asia = ss.datasets.load("asia")
    patient = {"dysp": "yes", "xray": "yes"}
    drawn = {
        "asia": ss.draw(asia, given={"xray": "yes"}),
        "tutorial-clinic": ss.draw(asia, beliefs=True),
        "tutorial-patient": ss.draw(asia, given=patient, compare={}),
        "tutorial-learned": ss.draw(ss.learn_structure(ss.sample(asia, 5000, seed=1)).cpdag),
    }
    return {ROOT / "docs" / "images" / f"{name}.svg": f"{picture.to_svg()}\n" for name, picture in drawn.items()}


PARTS = (stubs, documents, pictures)


def files() -> dict[Path, str]:
    """The text of every generated file."""
    return {path: text for part in PARTS for path, text in part().items()}


def main() -> None:
    """Write the files that changed."""
    for path, text in files().items():
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
