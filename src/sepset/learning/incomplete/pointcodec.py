"""How points of an iteration are kept in a checkpoint: as numbers, put back into the network that is being fitted."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, is_dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sepset.cpds.numbers import numbers, with_numbers
from sepset.errors import DataError, NotApplicable
from sepset.inference.checkpoint import tag_of, tagged_class
from sepset.models.bayesnet import BayesNet

if TYPE_CHECKING:
    from sepset.learning.incomplete.mstep import Reestimation
    from sepset.learning.incomplete.run import Point

KIND = "is"
"""The key under which a dictionary says what it stands for."""


@dataclass(frozen=True, slots=True, eq=False)
class PointCodec:
    """Points as plain values: of networks only the numbers are kept, and they must fit the network at hand.

    Args:
        blocks: the network that is being fitted, and the statistics of its blocks.

    >>> from sepset.cpds.table import TableCPD
    >>> from sepset.variables.variable import Discrete
    >>> from sepset.learning.incomplete.run import Ascent
    >>> from sepset.learning.task import Task
    >>> net = BayesNet(TableCPD(Discrete("coin"), [0.3, 0.7]))
    >>> task = Ascent.of(Task(net, {"coin": [0, None]}), None, "softmax")
    >>> codec = PointCodec(task.expectation.blocks)
    >>> codec.unpack(codec.pack(task.point(net))).model.cpd("coin").values.tolist()
    [0.3, 0.7]
    """

    blocks: Reestimation = field(repr=False)

    def pack(self, state: Point) -> object:
        """The point as nests of dictionaries and arrays."""
        return self._packed(state)

    def unpack(self, content: Any) -> Point:
        """The point that was packed; networks and statistics of another shape are refused."""
        from sepset.learning.incomplete.run import Point

        point = self._unpacked(content)
        if not isinstance(point, Point) or not isinstance(point.model, BayesNet):
            raise DataError("It holds no point of an iteration.")
        shapes = [np.shape(s) for s in point.statistics]
        cpds, members = self.blocks.template.cpds, self.blocks.members
        expected = [np.shape(self.blocks.families[m[0]].nothing(cpds[m[0]])) for m in members]
        if shapes != expected:
            raise DataError(f"Its statistics have the shapes {shapes}; expected {expected}.")
        return point

    def _packed(self, value: Any) -> object:
        if isinstance(value, BayesNet):
            return {KIND: "BayesNet", "numbers": [list(numbers(cpd)) for cpd in self._fitting(value)]}
        if is_dataclass(value):
            own = {f.name: self._packed(getattr(value, f.name)) for f in fields(value)}
            return {KIND: tag_of(type(value)), **own}
        if type(value) in (tuple, list):
            return type(value)(map(self._packed, value))
        if isinstance(value, dict):
            return {KIND: "dict", "content": {key: self._packed(v) for key, v in value.items()}}
        return value

    def _fitting(self, model: BayesNet) -> tuple[Any, ...]:
        """The CPDs of a network, once their kinds are those of the template."""
        for cpd, own in zip(model.cpds, self.blocks.template.cpds, strict=True):
            if type(cpd) is not type(own) or cpd.scope != own.scope:
                raise NotApplicable(f"A checkpoint keeps the numbers of {own!r}; found {cpd!r} in its place.")
        return model.cpds

    def _unpacked(self, content: Any) -> Any:
        if type(content) in (tuple, list):
            return type(content)(map(self._unpacked, content))
        if not isinstance(content, dict):
            return content
        kind = content[KIND]
        if kind == "BayesNet":
            return self._network(content["numbers"])
        if kind == "dict":
            return {key: self._unpacked(v) for key, v in content["content"].items()}
        made = {key: self._unpacked(v) for key, v in content.items() if key != KIND}
        return tagged_class(kind)(**made)

    def _network(self, content: Any) -> BayesNet:
        template = self.blocks.template
        cpds = [with_numbers(cpd, own) for cpd, own in zip(template.cpds, content, strict=True)]
        return BayesNet(*cpds, name=template.name, notes=template.notes)
