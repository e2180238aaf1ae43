import pickle

import pytest
from hypothesis import given, strategies as st

from sepset import errors
from sepset.errors import FileFormatError, MissingExtra, SepsetError, listing, nearest, require

TREE = {
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
    assert issubclass(kind, TREE[name])
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


@pytest.mark.parametrize(
    ("asked", "valid", "clause"),
    [
        ("hgih", ("low", "high"), " Did you mean 'high'?"),
        ("HIGH", ("low", "high"), " Did you mean 'high'?"),
        ("zzz", ("low", "high"), ""),
        ("1", (0, 1), " Did you mean 1?"),
        (True, ("True", "False"), " Did you mean 'True'?"),
        ("x", (), ""),
        ("Low", ("low", "LOW"), " Did you mean 'LOW'?"),
    ],
)
def test_nearest(asked, valid, clause):
    assert nearest(asked, valid) == clause


@given(st.text(), st.lists(st.text() | st.integers() | st.booleans()))
def test_nearest_only_suggests_what_is_valid(asked, valid):
    clause = nearest(asked, valid)
    assert clause == "" or any(clause == f" Did you mean {v!r}?" for v in valid)


def test_listing():
    assert listing([]) == ""
    assert listing(["a", 1]) == "'a', 1"
    assert listing(range(8)) == "0, 1, 2, 3, 4, 5, 6, 7"
    assert listing(range(9), limit=2) == "0, 1, ... (9 in all)"
    assert listing(n for n in (1, 2)) == "1, 2"


def test_require():
    assert require("math", "plot", "arithmetic").sqrt(4.0) == 2.0
    with pytest.raises(MissingExtra, match=r"plots needs 'no_such_module'.*pip install 'sepset\[plot\]'"):
        require("no_such_module", "plot", "plots")


def test_nearest_can_ask_for_more_in_common():
    assert nearest("h1", ["h2"]) == " Did you mean 'h2'?"
    assert nearest("h1", ["h2"], cutoff=0.7) == ""
    assert nearest("Lung", ["lung"], cutoff=1.0) == " Did you mean 'lung'?"
