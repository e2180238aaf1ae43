"""Pictures with beliefs: the marginals of variables in their boxes, evidence marked, and the strength of edges."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sepset.graphs.pictures.sketch import Box, Link, Row, Sketch

if TYPE_CHECKING:
    from sepset.engine.engine import Engine
    from sepset.engine.view import View
    from sepset.problem import Problem
    from sepset.variables.evidence import Given

WIDEST, NARROWEST = 5.0, 0.7
"""The width of the strongest edge, and of one without any information."""


def believed(sketch: Sketch, views: Sequence[View]) -> Sketch:
    """The sketch with the beliefs of one view or of two in its boxes, and the evidence marked and told below.

    >>> import sepset as ss
    >>> seen = ss.prepare(ss.datasets.load("student")).observe({"grade": "C"})
    >>> found = believed(ss.datasets.load("student")._sketch(), [seen])
    >>> found.caption, [box.name for box in found.boxes if box.observed]
    ('given grade = C', ['grade'])
    """
    variables = views[-1].engine.model.variables
    answers = [view.marginals() for view in views]
    found = []
    for box in sketch.boxes:
        if box.kind != "variable" or box.name not in variables:
            found.append(box)
            continue
        observed = [box.name in _observed(view) for view in views]
        marginals = [answer[box.name] for answer in answers]
        rows = (
            _state_rows(variables[box.name], marginals, any(observed))
            if variables[box.name].is_discrete
            else (_number_rows(marginals))
        )
        found.append(replace(box, rows=rows, observed=any(observed)))
    texts = [told(view) for view in views]
    if len(views) > 1:
        return replace(sketch, boxes=tuple(found), cases=tuple(texts))
    return replace(sketch, boxes=tuple(found), caption=texts[0] if views[0].given else "")


def _observed(view: View) -> set[str]:
    """The names of the variables that findings are about."""
    return {name for key in view.given for name in ((key,) if isinstance(key, str) else key)}


def told(view: View) -> str:
    """The findings of a view as a text."""
    found = (f"{key if isinstance(key, str) else ', '.join(key)} = {finding}" for key, finding in view.given.items())
    return f"given {', '.join(found)}" if view.given else "without evidence"


def _state_rows(variable: Any, marginals: Sequence[Any], observed: bool) -> tuple[Row, ...]:
    shares = [[float(p) for p in marginal.values] for marginal in marginals]
    columns = list(zip(*shares, strict=True))
    return tuple(
        Row(str(state), found, observed and max(found) > 0.0)
        for state, found in zip(variable.states, columns, strict=True)
    )


def _number_rows(marginals: Sequence[Any]) -> tuple[Row, ...]:
    """The mean and the standard deviation of a real variable, or of each coordinate of a vector, in each case."""
    import numpy as np

    found = []
    for marginal in marginals:
        means, variances = np.atleast_1d(marginal.mean()), np.atleast_1d(marginal.variance())
        texts = [
            f"{m:.4g} ± {v**0.5:.3g}" if v else f"{m:.6g}" for m, v in zip(means.flat, variances.flat, strict=True)
        ]
        found.append(Row(", ".join(texts)))
    return tuple(found)


def strengthened(sketch: Sketch, engine: Engine, given: Given) -> Sketch:
    """The sketch with edges as wide as the mutual information of the two variables that they join.

    >>> import sepset as ss
    >>> student = ss.datasets.load("student")
    >>> found = strengthened(student._sketch(), ss.prepare(student), None)
    >>> max(found.links, key=lambda link: link.width).title
    'grade -> letter: 0.3618 nats'
    """
    variables = engine.model.variables
    known = {k for k, box in enumerate(sketch.boxes) if _discrete(box, variables)}
    values = [
        engine.mutual_information(*_names(sketch, link), given=given) if {link.source, link.target} <= known else None
        for link in sketch.links
    ]
    most = max((value for value in values if value is not None), default=0.0)
    links = [link if v is None else _wide(sketch, link, v, most) for link, v in zip(sketch.links, values, strict=True)]
    return sketch.with_links(links)


FACTORS_APART = 40
"""How many factors, at equal distances, are looked at for two variables that depend on many others."""


def require_strengths(engine: Engine, given: Given) -> None:
    """Raise if the information of two variables that an edge joins is refused: before a large model is sketched."""
    from sepset.models.bayesnet import BayesNet
    from sepset.models.markovnet import MarkovNet

    model, problem = engine.model, engine.prepared.problem
    if not isinstance(model, BayesNet | MarkovNet):  # others have edges besides those of their factors
        return
    last = range(problem.num_factors - 1, -1, -1)
    some = [*_edges(problem, last[: len(last) // 2 : max(1, len(last) // FACTORS_APART)])]  # later ones depend on more
    pairs = some or [*itertools.islice(_edges(problem, last), 1)]
    if pairs:
        pair = pairs[0] if len(pairs) == 1 else max(pairs, key=lambda both: int(problem.ancestral(both)[0].sum()))
        engine.mutual_information(*(problem.variables[v].name for v in pair), given=given)


def _edges(problem: Problem, numbers: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Two discrete variables of each of some factors that have so many."""
    for number in numbers:
        joined = [v for v in problem.scope(number) if v < problem.num_visible and problem.variables.cards[v] > 0]
        if len(joined) > 1:
            yield joined[0], joined[-1]


def _discrete(box: Box, variables: Any) -> bool:
    return box.kind == "variable" and box.name in variables and bool(variables[box.name].is_discrete)


def _names(sketch: Sketch, link: Link) -> tuple[str, str]:
    return sketch.boxes[link.source].name, sketch.boxes[link.target].name


def _wide(sketch: Sketch, link: Link, value: float, most: float) -> Link:
    width = NARROWEST + (WIDEST - NARROWEST) * max(0.0, value) / most if most > 0.0 else NARROWEST
    return replace(link, width=width, title=f"{' -> '.join(_names(sketch, link))}: {max(0.0, value):.4g} nats")
