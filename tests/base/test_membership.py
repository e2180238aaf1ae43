from __future__ import annotations

from hypothesis import given, strategies as st

from sepset.base.membership import among, without

numbers = st.lists(st.integers(0, 9))


@given(numbers, numbers)
def test_items_keep_their_order_and_are_parted(items, others):
    inside, outside = among(items, others), without(items, iter(others))
    assert all(item in others for item in inside)
    assert all(item not in others for item in outside)
    assert sorted(inside + outside) == sorted(items)
    assert [i for i in items if i in inside] == inside
    assert [i for i in items if i in outside] == outside
