import pickle

import pytest

from sepset import errors
from sepset.errors import FileFormatError, SepsetError

TREE = {
    "ArgumentError": (ValueError, TypeError),
    "ScopeError": ValueError,
    "StateError": ValueError,
    "ModelError": ValueError,
    "DataError": ValueError,
    "ImpossibleEvidence": ValueError,
    "FileFormatError": ValueError,
    "TooLarge": MemoryError,
    "NotClosed": ArithmeticError,
    "NotApplicable": TypeError,
    "MissingExtra": ImportError,
    "BrokenInvariant": AssertionError,
}


@pytest.mark.parametrize("name", TREE)
def test_each_error_is_ours_and_a_built_in_one(name):
    kind = getattr(errors, name)
    assert issubclass(kind, SepsetError)
    wanted = TREE[name]
    assert all(issubclass(kind, built_in) for built_in in (wanted if isinstance(wanted, tuple) else (wanted,)))
    assert kind.__doc__


def test_the_tree_is_complete():
    ours = {n for n, e in vars(errors).items() if isinstance(e, type) and issubclass(e, SepsetError)}
    assert ours == {*TREE, "SepsetError"}


@pytest.mark.parametrize("name", TREE)
def test_errors_survive_pickling(name):
    error = getattr(errors, name)("what happened")
    back = pickle.loads(pickle.dumps(error))
    assert (type(back), str(back)) == (type(error), str(error))


@pytest.mark.parametrize("name", TREE)
def test_errors_are_made_by_name_as_distributed_libraries_do(name):
    kind = getattr(errors, name)
    made = kind.__new__(kind, "what happened")
    assert (type(made), made.args) == (kind, ("what happened",))


def test_file_errors_say_where():
    error = FileFormatError("found ';'", file="net.bif", line=3, column=7)
    assert str(error) == "net.bif:3:7: found ';'"
    assert (error.message, error.file, error.line, error.column) == ("found ';'", "net.bif", 3, 7)
    back = pickle.loads(pickle.dumps(error))
    assert (str(back), back.line) == (str(error), 3)
    assert str(FileFormatError("empty", file="net.bif")) == "net.bif: empty"
    assert str(FileFormatError("empty")) == "<text>: empty"
