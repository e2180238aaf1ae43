from __future__ import annotations

from sepset.base.entries import Entries
from sepset.errors import StateError


class Coin(Entries):
    def keys(self):
        return ("head", "tail")

    def __getitem__(self, key):
        if key not in self.keys():
            raise StateError(f"There is no {key!r}.")
        return 0.5


def test_entries_are_found_and_listed():
    assert "head" in Coin()
    assert "edge" not in Coin()
    assert Coin().get("tail") == 0.5
    assert Coin().get("edge") is None
    assert dict(Coin().items()) == {"head": 0.5, "tail": 0.5}
