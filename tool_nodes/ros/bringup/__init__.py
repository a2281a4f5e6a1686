"""The checks of an arm that is set up, from its network to its first motion (`toolhand doctor --robot`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from toolhand.tool_nodes.ros.bringup.cameras import CameraChecks
from toolhand.tool_nodes.ros.bringup.drivers import DriverChecks
from toolhand.tool_nodes.ros.bringup.motions import MotionChecks


class Bringup(DriverChecks, CameraChecks, MotionChecks):
    """Looks at a graph from a node of its own; arguments as of `Listening`."""

    @property
    def checks(self) -> Sequence[tuple[str, Callable[[], str]]]:
        """Name and method of each check, in the order in which what they look at depends on each other."""
        return (
            ("session", self.session),
            ("controllers", self.controllers),
            ("fault", self.fault),
            ("joint states", self.joint_states),
            ("clock", self.clock),
            ("limits", self.limits),
            ("cameras", self.cameras),
            ("transforms", self.transforms),
            ("pictures", self.images),
            ("approval", self.approval),
            ("stop", self.stop),
            ("first motion", self.motion),
        )
