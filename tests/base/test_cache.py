"""Caches: bounded, least recently used, thread-safe; slots that do not drop each other's values."""

from __future__ import annotations

import threading

from sepset.base.cache import Cache, Kept, Slot


def test_the_cache_is_bounded_least_recently_used_and_safe_between_threads():
    cache = Cache(2)
    made = []

    def get(key):
        return cache.get(key, lambda: made.append(key) or key)

    for key in ("a", "b", "a", "c", "a", "b"):
        assert get(key) == key
    assert made == ["a", "b", "c", "b"]
    threads = [threading.Thread(target=lambda i=i: [get(f"{i}{j}") for j in range(50)]) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(cache) == len(list(cache)) == 2
    cache.clear()
    assert len(cache) == 0


def test_a_value_is_replaced_in_its_place():
    cache = Cache(2)
    for key in ("a", "b"):
        cache.get(key, lambda key=key: key)
    cache.put("a", "better")
    cache.put("c", "never asked")
    assert list(cache) == ["a", "b"]
    assert cache.get("a", lambda: "again") == "better"


def test_nothing_is_a_value_too():
    cache, made = Cache(), []
    for _ in range(2):
        assert cache.get("none", lambda: made.append(1)) is None
    assert made == [1]


def test_threads_that_miss_at_once_share_what_was_kept_first():
    cache, inside = Cache(), threading.Barrier(2)
    found = []

    def make():
        inside.wait()  # both are making it
        return object()

    threads = [threading.Thread(target=lambda: found.append(cache.get("key", make))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found[0] is found[1]


def test_an_error_while_making_keeps_nothing():
    cache = Cache()
    try:
        cache.get("key", lambda: 1 // 0)
    except ZeroDivisionError:
        assert len(cache) == 0
    assert cache.get("key", lambda: 3) == 3


def test_slots_do_not_drop_each_others_values():
    one, many = Slot[int]("one"), Slot[int]("many", size=3)
    kept = Kept()
    assert kept.get(one, lambda: 1) == 1
    for key in range(10):
        assert kept.get(many, lambda key=key: key, key) == key
    assert kept.get(one, lambda: 2) == 1
    assert len(kept) == 4
    assert kept.get(Slot[int]("one"), lambda: 5) == 5  # a slot is known by itself, not by its name
    kept.clear()
    assert len(kept) == 0


def test_finding_makes_nothing_and_counts_as_a_use():
    cache = Cache[int](3)
    for key in (1, 2, 3):
        cache.get(key, lambda key=key: 10 * key)
    assert (cache.find(1), cache.find(7), len(cache)) == (10, None, 3)
    cache.get(4, lambda: 40)
    assert sorted(cache) == [1, 3, 4]
