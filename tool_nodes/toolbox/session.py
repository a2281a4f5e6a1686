"""What one conversation has collected: variables and where they come from, images, grasps."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from toolhand.tool_nodes.toolbox.arguments import SessionArgument
from toolhand.tool_nodes.toolbox.grasp_memory import GraspMemory
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.toolbox.limits import CallHistory
from toolhand.tool_nodes.toolbox.marks import Marks
from toolhand.tool_nodes.toolbox.provenance import VariableOrigin
from toolhand.tool_nodes.types import Frame


@dataclass
class Session:
    """What one conversation has collected.

    Attributes:
        variables: `$variables`, the one that was set last at the end.
        images: Images with stable indices.
        history: The last call.
        forgotten: Names of variables that were dropped, and why, for the answer to who refers to one.
        origins: Where the variables come from, by name.
        seen: The newest frame that a tool of the robot has captured; None before the first.
        grasps_given: How many grasps it was given for each object, by a digest of cloud and mask.
        grasps: Targets of the grasps it has computed, and the object that is held.
        calls: How many calls a policy has made so far; None where the agent looks for itself.
        speed: Share of the allowed speed at which the robot grasps and places, in (0, 1].
        marks: The objects that the newest image with marks has numbered; None before the first.
    """

    variables: dict[str, Any] = field(default_factory=dict)
    images: list[SessionImage] = field(default_factory=list)
    history: CallHistory = field(default_factory=CallHistory, repr=False)
    forgotten: dict[str, str] = field(default_factory=dict, repr=False)
    origins: dict[str, VariableOrigin] = field(default_factory=dict, repr=False)
    seen: Frame | None = field(default=None, repr=False)
    grasps_given: dict[str, int] = field(default_factory=dict, repr=False)
    grasps: GraspMemory = field(default_factory=GraspMemory, repr=False)
    calls: int | None = 0
    speed: float = 1.0
    marks: Marks | None = field(default=None, repr=False)

    @contextlib.contextmanager
    def at_speed(self, share: float) -> Iterator[None]:
        """Within it the robot grasps and places at this share of the allowed speed, or slower where that was asked."""
        before, self.speed = self.speed, min(self.speed, share)
        try:
            yield
        finally:
            self.speed = before

    def fork(self) -> Session:
        """The same once more, to go on by itself; images and arrays, which are never written into, are shared."""
        return Session(
            dict(self.variables),
            list(self.images),
            replace(self.history),
            dict(self.forgotten),
            dict(self.origins),
            self.seen,
            dict(self.grasps_given),
            self.grasps.fork(),
            self.calls,
            self.speed,
            self.marks,
        )

    def origin(self, name: str) -> VariableOrigin | None:
        """Where a variable comes from; None where that is not known."""
        origin = self.origins.get(name)
        return origin if origin is not None and origin.value is self.variables.get(name) else None

    def keep(self, name: str, origin: VariableOrigin) -> None:
        """Set a variable."""
        self.forget((name,), "")
        self.forgotten.pop(name, None)
        self.variables[name], self.origins[name] = origin.value, origin

    def forget(self, names: Iterable[str], why: str) -> None:
        """Drop those of some variables that there are; `why` completes "$name, which is gone: "."""
        for name in names:
            if name in self.variables:
                del self.variables[name]
                self.origins.pop(name, None)
                self.forgotten[name] = why

    def newest_frame(self) -> Frame | None:
        """The frame of the newest camera image."""
        return next((i.frame for i in reversed(self.images) if i.frame is not None), None)


InSession = Annotated[Session, SessionArgument()]
"""A parameter of a tool that is given the conversation, by the toolbox: what a tool remembers of it is kept there."""
