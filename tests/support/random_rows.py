"""Hypothesis strategies for variables and rows, kept as plain lists of cells."""

from hypothesis import strategies as st

from sepset.data import Dataset
from sepset.variables.variable import Discrete, Real

NAMES = (
    "a",
    "A",
    "two words",
    "Asy/Patch",
    "naïve",
    "变量",
    "it's",
    'say "hi"',
    "a,b",
    "x;y",
    "[t-1]",
    "SELECT",
    "#",
    " ",
)
WORDS = (
    "",
    "low",
    "high",
    "<0.5",
    "3.0",
    "3",
    "True",
    "0_6Hrs",
    "NA",
    "null",
    "été",
    'a"b',
    "a,b",
    "line\nbreak",
    " x ",
    "#c",
)

text_states = st.lists(st.sampled_from(WORDS) | st.text("xyz\t'é", max_size=3), min_size=1, max_size=5, unique=True)
int_states = st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3), min_size=1, max_size=5, unique=True)
float_states = st.lists(st.floats(allow_nan=False), min_size=1, max_size=4, unique=True)
bool_states = st.sampled_from([(True,), (False, True), (True, False)])
one_type = st.one_of(text_states, int_states, float_states, bool_states)


def variable(name: str, states: st.SearchStrategy = one_type) -> st.SearchStrategy:
    """A discrete variable with states of one type, or a real one."""
    return states.map(lambda s: Discrete(name, s)) | st.just(Real(name))


def cells(v: Discrete | Real) -> st.SearchStrategy:
    """A cell of a variable's column; None is missing."""
    known = st.sampled_from(v.states) if isinstance(v, Discrete) else st.floats(allow_nan=False)
    return st.none() | known


@st.composite
def tables(draw, states: st.SearchStrategy = one_type, min_variables: int = 0, names=NAMES):
    """Variables and, for each, a list of cells of one common length."""
    chosen = draw(st.lists(st.sampled_from(names), unique=True, min_size=min_variables, max_size=4))
    variables = [draw(variable(name, states)) for name in chosen]
    size = draw(st.integers(0, 6))
    return variables, {v.name: draw(st.lists(cells(v), min_size=size, max_size=size)) for v in variables}


@st.composite
def datasets(draw, **settings):
    """A dataset made of such a table."""
    variables, columns = draw(tables(**settings))
    return Dataset(columns, variables)
