"""The simulator's truth, for judges, benchmarks and simulated perception only: no robot could know it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import mujoco
from rclpy.node import Node
from std_msgs.msg import String
from std_srvs.srv import Trigger

from toolhand.sim.contacts import Contacts
from toolhand.sim.ros.awaiting import awaited
from toolhand.sim.ros.driver import Driver
from toolhand.sim.ros.labels import label
from toolhand.sim.ros.physics import Physics
from toolhand.sim.ros.services import Services
from toolhand.sim.ros.state import LATCHED
from toolhand.sim.world import World


class TruthServer:
    """Serves sim/labels, sim/get_truth and sim/mark.

    Args:
        services: The node, and the group of its services.
        driver: Knows when an injected fault came.
    """

    def __init__(self, services: Services, driver: Driver) -> None:
        self._driver = driver
        self._node: Node = services.node
        self._physics: Physics = services.physics
        self._labels = self._node.create_publisher(String, "sim/labels", LATCHED)
        self._labelled: tuple[int, mujoco.MjModel] | None = None
        for name, callback in (("sim/get_truth", self._get_truth), ("sim/mark", self._mark)):
            self._node.create_service(Trigger, name, callback, callback_group=services.group)

    def observe(self, world: World) -> None:
        """Publish the labels when the world changed or was reset; called in the physics thread."""
        now = self._physics.generation, world.model
        if self._labelled is None or now[0] != self._labelled[0] or now[1] is not self._labelled[1]:
            self._labelled = now
            self._labels.publish(String(data=json.dumps([label(placed) for placed in world.scene.objects])))

    async def _get_truth(self, request: Any, response: Any) -> Any:
        truth = await awaited(self._node, self._physics.call(self._truth))
        response.success, response.message = True, json.dumps(truth)
        return response

    def _truth(self, world: World) -> dict[str, Any]:
        snapshot = world.snapshot()
        return {
            "robot": world.robot.name,
            "time": snapshot.time,
            "first_motion_wall_s": self._physics.first_motion_at,
            "driver": self._driver.record(),
            "objects": {
                name: {
                    "position_m": state.position_m.tolist(),
                    "quat_wxyz": state.quat_wxyz.tolist(),
                    "velocity": state.velocity.tolist(),
                    "touching": sorted(state.touching),
                }
                for name, state in snapshot.objects.items()
            },
            "log": {
                "times": [t for t, _ in world.log],
                "qpos": [qpos.tolist() for _, qpos in world.log],
                "contacts": _changes(world.contact_log),
            },
        }

    async def _mark(self, request: Any, response: Any) -> Any:
        await awaited(self._node, self._physics.call(self._begin_log))
        response.success = True
        return response

    def _begin_log(self, world: World) -> None:
        world.clear_log()
        self._physics.first_motion_at = None


def _changes(contact_log: Sequence[tuple[float, Contacts]]) -> list[tuple[float, list[tuple[str, str]] | None]]:
    """The log of contacts; None where they are those of the state before."""
    before = [None, *(contacts for _, contacts in contact_log)]
    return [
        (time, None if contacts == last else sorted(contacts))
        for (time, contacts), last in zip(contact_log, before, strict=False)
    ]
