"""Lazy namespaces: names are imported when first used, kept, and pointed to where they are missing."""

from __future__ import annotations

import subprocess
import sys

import pytest

from sepset.base.namespaces import namespace


def test_a_name_is_found_in_the_module_that_defines_it():
    from sepset.cpds.priors.dirichlet import BDeu

    find, names, all_names = namespace("sepset.priors")
    assert find("BDeu") is BDeu
    assert names() == all_names == sorted(all_names)


@pytest.mark.parametrize(
    ("module", "name", "hint"),
    [
        ("sepset.graphs", "cpdga", r"Did you mean 'cpdag'\?"),
        ("sepset", "cpdag", r"It is sepset\.graphs\.cpdag\."),
        ("sepset.priors", "nothing_like_it", r"no attribute 'nothing_like_it'"),
    ],
)
def test_a_missing_name_is_pointed_to(module, name, hint):
    find, _, _ = namespace(module)
    with pytest.raises(AttributeError, match=hint):
        find(name)


def test_names_of_python_itself_get_no_advice():
    """Tools ask every module for them; none is a misspelled name of ours."""
    find, _, _ = namespace("sepset")
    with pytest.raises(AttributeError, match=r"^module 'sepset' has no attribute '__wrapped__'$"):
        find("__wrapped__")


def test_nothing_is_imported_before_it_is_used():
    program = (
        "import sys, sepset.priors as p; "
        "assert 'sepset.cpds.priors.dirichlet' not in sys.modules; "
        "p.BDeu; assert 'sepset.cpds.priors.dirichlet' in sys.modules; assert 'BDeu' in vars(p)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
