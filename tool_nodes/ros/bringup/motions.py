"""The motion node: approval, the stop, and a first motion."""

from __future__ import annotations

from toolhand_interfaces.msg import StopState

from toolhand.tool_nodes.motion.guard import Mode
from toolhand.tool_nodes.ros.bringup.findings import problem
from toolhand.tool_nodes.ros.bringup.listening import Listening
from toolhand.tool_nodes.ros.stop_state import QOS as STOP_QOS
from toolhand.tool_nodes.ros.stop_state import TOPIC as STOP_TOPIC

_MOTION_S = 150.0
"""How long the first motion may take [s]: two minutes for the person, the rest for 4 cm at a fifth of the speed."""


class MotionChecks(Listening):
    """What moves, or keeps from moving; each check returns a sentence, or raises ToolError."""

    def approval(self) -> str:
        """No motion runs without a person's yes."""
        mode = self._parameter("motion", "approval")
        if mode == Mode.AUTO:
            raise problem(
                "The motion node lets motions run without asking (approval is auto).",
                "toolhand up kinova approval:=ask-motion, its default.",
            )
        return f"Motions ask before they run ({mode})."

    def stop(self) -> str:
        """The stop is served, and no stop is latched; with a person at hand it is tried."""
        for name in ("/stop", "/reset_stop"):
            if not self._link.offers(name):
                raise problem(
                    f"Nobody serves {name}: the motion node is not in the graph.",
                    "toolhand up kinova, and look at the log of the node motion.",
                )
        state = self._hear(StopState, STOP_TOPIC, STOP_QOS)
        if state is not None and state.latched:
            raise problem("A stop is latched: nothing may move.", "toolhand stop --reset, once nobody is near the arm.")
        if self._ask is None:
            return "The stop is served, and none is latched."
        said = self._link.trigger("/stop")
        if not self._ask("The stop was tried and confirmed. Allow motions again?"):
            raise problem(
                "The stop was tried and stays latched, as you chose.", "toolhand stop --reset allows motions."
            )
        self._link.trigger("/reset_stop")
        return f"The stop works: {said}"

    def motion(self) -> str:
        """Two centimetres up and back, planned, shown and approved."""
        if self._ask is None:
            return "The arm was not moved; --move has it moved by 2 cm, once a person has approved."
        return self._link.trigger("/try_motion", _MOTION_S)
