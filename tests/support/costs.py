"""The constants of a module of costs, with the docstrings below them."""

from __future__ import annotations

import ast
import inspect
from types import ModuleType


def constants(module: ModuleType) -> dict[str, str | None]:
    """For each constant the docstring below it, or None."""
    body = ast.parse(inspect.getsource(module)).body
    found = {}
    for node, after in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, ast.Assign):
            has_text = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
            targets = node.targets[0].elts if isinstance(node.targets[0], ast.Tuple) else node.targets
            found |= dict.fromkeys((target.id for target in targets), after.value.value if has_text else None)
    return found


def check_costs(module: ModuleType, *, at_least: int) -> None:
    """Every constant is positive and says what it decides."""
    found = constants(module)
    assert len(found) >= at_least
    for name, text in found.items():
        value = getattr(module, name)
        assert all(part > 0 for part in (value if isinstance(value, tuple) else (value,))), name
        assert (text or "").endswith("."), name
