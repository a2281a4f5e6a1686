"""The motion node with the planner `moveit`: objects are picked and placed by paths from a double of move_group."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from rclpy.parameter import Parameter

from toolhand.sim.ros.move_group_double import MoveGroupDouble
from toolhand.tool_nodes.drivers.moveit import MoveItPlanner
from toolhand.tool_nodes.motion.checked_planner import CheckedPlanner
from toolhand.tool_nodes.ros.moveit_messages import HELD, TIPS, WALLS


def test_an_object_is_picked_placed_and_picked_again_by_the_paths_of_move_group(make_cell: Any, target: Any) -> None:
    cell = make_cell(lockstep=True, use_sim_time=True, planner="moveit", availability_deadline_s=30.0)
    assert isinstance(cell.motion._planner, CheckedPlanner)
    assert isinstance(cell.motion._planner._planner, MoveItPlanner)
    asked: list[str] = []
    hold, held_back, released = threading.Event(), threading.Event(), threading.Event()

    class Counting(MoveGroupDouble):
        def _on_plan(self, request: Any, response: Any) -> Any:
            asked.append("path")
            if hold.is_set():
                held_back.set()
                released.wait(120.0)
            return super()._on_plan(request, response)

        def _on_line(self, request: Any, response: Any) -> Any:
            asked.append("line")
            return super()._on_line(request, response)

    double = cell.spin(lambda context: Counting(context=context, parameter_overrides=[Parameter("seed", value=3)]))
    cell.start_simulator(lockstep=True)
    pose = target.T_base_gripper
    _, result = cell.grasp(pose).end()
    assert result.status.success, result.status.message
    assert set(double._cell._attached) == {HELD, WALLS, TIPS}
    _, result = cell.place(target.place).end()
    assert result.status.success, result.status.message
    assert set(double._cell._attached) == {WALLS, TIPS}
    block = next(item for item in target.scene.objects if item.item == "toy block")
    moved = pose.copy()
    moved[:2, 3] += np.subtract(target.place[:2], block.position_m[:2])
    _, result = cell.grasp(moved).end()
    assert result.status.success, result.status.message
    assert result.opening > 0.01
    # To the pre-grasp, home, above the place, home, to the pre-grasp, home; down and up again each time.
    assert asked.count("path") >= 6
    assert asked.count("line") >= 6
    # A stop does not wait for an answer that does not come.
    hold.set()
    waiting = cell.place(target.place)
    cell.wait(held_back.is_set, "a question to move_group")
    assert cell.stop().success
    _, result = waiting.end()
    released.set()
    assert result.status.error_code == "STOPPED", result.status.message
    cell.assert_still()
