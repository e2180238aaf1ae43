"""The README for package indexes, which show neither pictures nor links with relative addresses.

The build of the package calls this hook. The picture becomes its drawing in characters, and links to files of the
repository become their words; `docs/images/asia.txt` is tested to be that drawing.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

PICTURE = re.compile(r"^!\[[^\]]*\]\((?P<file>docs/images/[\w-]+)\.svg\)$", re.MULTILINE)
LINK = re.compile(r"\[(?P<words>[^\]\n]+)\]\((?!https?:|#)[^)\s]+\)")
CODE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)


class Readme(MetadataHookInterface):
    """The hook that sets the long description."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the description from the README."""
        root = Path(self.root)
        text = (root / "README.md").read_text(encoding="utf-8")
        drawn = PICTURE.sub(
            lambda found: f"```text\n{(root / found['file']).with_suffix('.txt').read_text('utf-8')}```", text
        )
        parts = CODE.split(drawn)  # code is at the odd places
        parts[::2] = [LINK.sub(r"\g<words>", part) for part in parts[::2]]
        metadata["readme"] = {"content-type": "text/markdown", "text": "".join(parts)}
