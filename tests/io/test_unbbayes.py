"""The XML of UnBBayes: the order of several parents, and what is refused; the rest is in tests of foreign files."""

from __future__ import annotations

import pytest

from sepset.api.questions import query
from sepset.errors import FileFormatError
from sepset.io import xmlbif
from support.tolerances import EXACT

RECENT = """<x:XMLBIF xmlns:x="u"><x:network><x:variables>
<x:variable name="a" type="DiscreteProbabilistic"><x:state name="no"/><x:state name="yes"/></x:variable>
</x:variables><x:conditionalDistributionSet><x:conditionalDistribution><x:owner name="a"/><x:CPT>
<x:dependentParentIndex index="0">0.25</x:dependentParentIndex>
<x:dependentParentIndex index="1">0.75</x:dependentParentIndex>
</x:CPT></x:conditionalDistribution></x:conditionalDistributionSet></x:network></x:XMLBIF>"""


def test_the_file_is_read():
    assert xmlbif.parse(RECENT.encode()).cpd("a").values.tolist() == [0.25, 0.75]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("DiscreteProbabilistic", "Utility", "found a variable of type 'Utility'"),
        ("0.75", "0.85", "the row of a sums to 1.1"),
        ("0.75", "high", "found 'high'; expected a number"),
        ('index="1"', 'index="0"', "expected each index from 0 to 1 once"),
        ('index="1"', 'index="2"', "expected each index from 0 to 1 once"),
        ('index="1"', "", "expected each index from 0 to 1 once"),
        ('<x:owner name="a"/>', "<x:owner/>", "expected the attribute 'name'"),
        ('<x:owner name="a"/>', '<x:owner name="b"/>', "no variable 'b' is declared"),
        (
            '<x:owner name="a"/>',
            '<x:owner name="a"/><x:parents><x:parent name="b"/><x:parent name="c"/></x:parents>',
            "lists the parents 'b', 'c'; the structure's edges give none",
        ),
    ],
)
def test_what_is_refused(old, new, message):
    with pytest.raises(FileFormatError, match=message):
        xmlbif.parse(RECENT.replace(old, new).encode())


# Chest clinic as version 0.4 has it: the numbers are P(dyspnoea | E, B) of Lauritzen & Spiegelhalter (1988), which is
# 0.9 for E and B, 0.7 for E alone, 0.8 for B alone, and 0.1 for neither. The first parent listed runs fastest.

CLINIC = """<BIF><HEADER><NAME>Chest-clinic</NAME></HEADER><NETWORK><VARIABLES>
<VAR NAME='B' TYPE='discrete'><LABEL>Has bronchitis</LABEL>
<STATENAME>yes</STATENAME><STATENAME>no</STATENAME></VAR>
<VAR NAME='D' TYPE='discrete'><LABEL>Dyspnoea?</LABEL><STATENAME>yes</STATENAME><STATENAME>no</STATENAME></VAR>
<VAR NAME='E' TYPE='discrete'><STATENAME>yes</STATENAME><STATENAME>no</STATENAME></VAR></VARIABLES><POTENTIAL>
<POT><PRIVATE NAME='B'/><CONDSET/><DPIS><DPI INDEXES='0'>0.25 0.75</DPI></DPIS></POT>
<POT><PRIVATE NAME='E'/><CONDSET/><DPIS><DPI INDEXES='0'>0.5 0.5</DPI></DPIS></POT>
<POT><PRIVATE NAME='D'/><CONDSET><CONDLEM NAME='E'/><CONDLEM NAME='B'/></CONDSET><DPIS>
<DPI INDEXES='0'>0.9 0.1</DPI><DPI INDEXES='1'>0.8 0.2</DPI><DPI INDEXES='2'>0.7 0.3</DPI><DPI INDEXES='3'>0.1 0.9</DPI>
</DPIS></POT></POTENTIAL></NETWORK></BIF>"""


def test_the_first_parent_runs_fastest_in_version_04():
    net = xmlbif.parse(CLINIC.encode())
    found = {(e, b): query(net, "D", given={"E": e, "B": b})["yes"] for e in ("yes", "no") for b in ("yes", "no")}
    expected = {("yes", "yes"): 0.9, ("yes", "no"): 0.7, ("no", "yes"): 0.8, ("no", "no"): 0.1}
    assert found == pytest.approx(expected, abs=EXACT)
    assert net.drawing.titles == {"B": "Has bronchitis", "D": "Dyspnoea?"}
    assert not net.notes


# c given a and b (two and three states): the numbers are 0.0, 0.1, ... in the order of the file.


def recent(version: str, listed: str, edges: str, turn: bool = False) -> str:
    def variable(name: str, states: int) -> str:
        inside = "".join(f'<state name="{name}{i}"/>' for i in range(states))
        return f'<variable name="{name}" type="DiscreteProbabilistic">{inside}</variable>'

    def table(name: str, parents: str, numbers: list[float]) -> str:
        given = "".join(f'<parent index="{i}" name="{p}"/>' for i, p in enumerate(parents))
        cells = [f'<dependentParentIndex index="{i}">{x}</dependentParentIndex>' for i, x in enumerate(numbers)]
        body = "".join(reversed(cells) if turn else cells)
        head = f'<owner name="{name}"/>' + (f"<parents>{given}</parents>" if parents else "")
        return f"<conditionalDistribution>{head}<CPT>{body}</CPT></conditionalDistribution>"

    numbers = [number for i in range(6) for number in (i / 10, 1 - i / 10)]
    tables = table("a", "", [0.5, 0.5]) + table("b", "", [0.5, 0.25, 0.25]) + table("c", listed, numbers)
    return (
        f'<XMLBIF version="{version}"><network><variables>{variable("a", 2)}{variable("b", 3)}{variable("c", 2)}'
        f'</variables><structure>{"".join(f"""<edge child="c" parent="{p}"/>""" for p in edges)}</structure>'
        f"<conditionalDistributionSet>{tables}</conditionalDistributionSet></network></XMLBIF>"
    )


@pytest.mark.parametrize("turn", [False, True], ids=["in order", "turned"])
@pytest.mark.parametrize(
    ("version", "listed", "edges", "fastest"),
    [
        ("0.5", "ab", "ab", "a"),
        ("0.5", "ba", "ba", "b"),
        ("0.5", "ab", "ba", "b"),
        ("0.6", "ba", "ab", "b"),
        ("0.6", "ab", "ba", "a"),
        ("0.6", "ab", "ab", "b"),
    ],
)
def test_later_versions_are_read_as_unbbayes_reads_them(version, listed, edges, fastest, turn):
    net = xmlbif.parse(recent(version, listed, edges, turn).encode())
    for i in range(2):
        for j in range(3):
            number = i + 2 * j if fastest == "a" else j + 3 * i
            found = query(net, "c", given={"a": f"a{i}", "b": f"b{j}"})["c0"]
            assert found == pytest.approx(number / 10, abs=EXACT)
    assert bool(net.notes) == (listed[0] != fastest)
