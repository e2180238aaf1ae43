from __future__ import annotations

from hypothesis import given, strategies as st

from sepset.base.membership import Entries, among, without
from sepset.errors import StateError

numbers = st.lists(st.integers(0, 9))


@given(numbers, numbers)
def test_items_keep_their_order_and_are_parted(items, others):
    inside, outside = among(items, others), without(items, iter(others))
    assert all(item in others for item in inside)
    assert all(item not in others for item in outside)
    assert sorted(inside + outside) == sorted(items)
    assert [i for i in items if i in inside] == inside
    assert [i for i in items if i in outside] == outside


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
