import pickle

from sepset.base.lazy import lazy


class Circle:
    made = 0

    def __init__(self, radius):
        self.radius = radius

    @lazy
    def area(self):
        """Three, about."""
        Circle.made += 1
        return 3 * self.radius**2


def test_a_value_is_computed_once_and_kept_with_the_object():
    circle, before = Circle(2), Circle.made
    assert (circle.area, circle.area, Circle.made - before) == (12, 12, 1)
    assert circle.__dict__ == {"radius": 2, "area": 12}
    assert pickle.loads(pickle.dumps(circle)).area == 12


def test_the_class_shows_the_property():
    assert Circle.area.__doc__ == "Three, about."
