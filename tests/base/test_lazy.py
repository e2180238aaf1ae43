import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import sepset
from sepset.base.lazy import carry_over, lazy


class Circle:
    made = 0

    def __init__(self, radius):
        self.radius = radius

    @lazy
    def area(self):
        """The area, about three."""
        Circle.made += 1
        return 3 * self.radius**2


def test_a_value_is_computed_once_and_kept_with_the_object():
    circle, before = Circle(2), Circle.made
    assert (circle.area, circle.area, Circle.made - before) == (12, 12, 1)
    assert circle.__dict__ == {"radius": 2, "area": 12}
    assert pickle.loads(pickle.dumps(circle)).area == 12


def test_a_value_is_computed_once_for_two_objects_that_agree():
    first, second, before = Circle(2), Circle(2), Circle.made
    carry_over(first, second, "area")
    assert (first.area, second.area, Circle.made - before) == (12, 12, 1)


def test_the_class_shows_the_property():
    assert Circle.area.__doc__ == "The area, about three."


def test_threads_that_come_at_once_share_one_value():
    barrier = threading.Barrier(2)

    class Slow:
        @lazy
        def value(self):
            barrier.wait(10)  # both threads are computing it
            return object()

    slow = Slow()
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(lambda _: slow.value, range(2))
    assert first is second is slow.value


def test_threads_do_not_wait_for_other_objects():
    barrier = threading.Barrier(2)

    class Slow:
        @lazy
        def value(self):
            return barrier.wait(10)  # ends when both objects are being computed

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(lambda slow: slow.value, [Slow(), Slow()])) == [0, 1]


def test_nothing_else_keeps_attributes():
    source = Path(sepset.__file__).parent
    users = {str(f.relative_to(source)) for f in source.rglob("*.py") if "cached_property" in f.read_text("utf-8")}
    leaving = {
        f"learning/{f}.py" for f in ("incomplete/rowchoices", "missing/blockparameters", "missing/freeparameters")
    }
    assert users - leaving == {"base/lazy.py"}
