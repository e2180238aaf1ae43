"""The XML of UnBBayes: what is read is in tests of foreign files; here is what is refused."""

from __future__ import annotations

import pytest

from sepset.errors import FileFormatError
from sepset.io import xmlbif

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
        ('<x:owner name="a"/>', "<x:owner/>", "expected the attribute 'name'"),
        ('<x:owner name="a"/>', '<x:owner name="b"/>', "no variable 'b' is declared"),
        (
            '<x:owner name="a"/>',
            '<x:owner name="a"/><x:parents><x:parent name="b"/><x:parent name="c"/></x:parents>',
            "does not say in which order",
        ),
    ],
)
def test_what_is_refused(old, new, message):
    with pytest.raises(FileFormatError, match=message):
        xmlbif.parse(RECENT.replace(old, new).encode())
