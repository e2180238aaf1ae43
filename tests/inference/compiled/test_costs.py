"""The constants: each is a positive number, says what it means, and has its name nowhere else."""

from __future__ import annotations

import ast
import inspect

from sepset.inference.compiled import costs


def constants():
    """Each constant with the docstring below it."""
    body = ast.parse(inspect.getsource(costs)).body
    for node, after in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, ast.Assign):
            said = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) and after.value.value
            targets = node.targets[0].elts if isinstance(node.targets[0], ast.Tuple) else node.targets
            yield from ((target.id, said) for target in targets)


def test_every_constant_says_what_it_decides():
    found = dict(constants())
    assert len(found) > 30
    assert all(isinstance(said, str) and said.endswith(".") for said in found.values())


def test_every_constant_is_positive():
    for name, _ in constants():
        value = getattr(costs, name)
        assert all(part > 0 for part in (value if isinstance(value, tuple) else (value,)))


def test_lanes_and_tasks_are_in_order():
    assert list(costs.LANES) == sorted(costs.LANES, reverse=True)
    assert costs.SHORTEST_TASK_SECONDS < costs.LONGEST_TASK_SECONDS
    assert costs.ENTRIES_PER_SINK_FOR_GROUPS_LATER < costs.ENTRIES_PER_SINK_FOR_GROUPS
