"""The manners of ros2_kortex: success whatever the arm does, lasting faults, controllers that are switched off."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from action_msgs.msg import GoalStatus
from control_msgs.action import FollowJointTrajectory
from controller_manager_msgs.srv import ListControllers, SwitchController
from example_interfaces.msg import Bool
from example_interfaces.srv import Trigger
from sensor_msgs.msg import JointState
from simulation_interfaces.srv import ResetSimulation, StepSimulation

from tests.gen3 import GEN3
from tests.ros.sim_node.graph import Graph
from tests.ros.sim_node.motions import ARM, GRIPPER, PARK, arm_goal, gripper_goal, swing
from toolhand.sim.ros.driver import FIRST_STATE_S, GUIDED_M, SAG_M
from toolhand.sim.world import World
from toolhand.tool_nodes.motion.kinematics import Kinematics
from toolhand.tool_nodes.types import FloatArray

ASIDE = np.array([0.5, 0.0, 0.0, 0.0, 0.0, 0.0, -0.4])
SUCCESS = (GoalStatus.STATUS_SUCCEEDED, FollowJointTrajectory.Result.SUCCESSFUL)
Start = Callable[..., Graph]


@pytest.fixture
def kortex(start: Start) -> Graph:
    return start(driver="kortex", lockstep=True)


def world(graph: Graph) -> World:
    return graph.sim.physics.world


def step(graph: Graph, steps: int) -> None:
    graph.call(StepSimulation, "/step_simulation", steps=steps)


def follow(graph: Graph, delta: FloatArray, duration: float = 1.0, steps: int = 600) -> tuple[int, int]:
    """(status, error code) of a trajectory from where the arm is."""
    handle = graph.send(*ARM, arm_goal(swing(world(graph).arm_reference, delta, duration)))
    assert handle.accepted
    result = handle.get_result_async()
    step(graph, steps)
    ended = graph.done(result)
    return ended.status, ended.result.error_code


def switch(graph: Graph, on: list[str], off: list[str], strictness: int = SwitchController.Request.STRICT) -> Any:
    name = "/controller_manager/switch_controller"
    return graph.call(
        SwitchController, name, activate_controllers=on, deactivate_controllers=off, strictness=strictness
    )


def states(graph: Graph) -> dict[str, str]:
    answer = graph.call(ListControllers, "/controller_manager/list_controllers")
    return {controller.name: controller.state for controller in answer.controller}


def test_a_trajectory_ends_after_its_time_in_success_wherever_the_arm_is(kortex: Graph) -> None:
    assert follow(kortex, ASIDE) == SUCCESS
    assert np.abs(world(kortex).arm_position - PARK - ASIDE).max() < 0.01
    kortex.set_parameter("fault", "internal_fault")
    faults = kortex.hear(Bool, "/fault_controller/internal_fault")
    assert follow(kortex, -ASIDE) == SUCCESS, "it does not know better"
    assert np.abs(world(kortex).arm_position - PARK - ASIDE).max() < 0.01
    kortex.wait(lambda: faults and faults[-1].data)


def test_a_fault_outlasts_its_cause_until_it_is_reset_which_waits_for_the_arm_to_stand_still(kortex: Graph) -> None:
    faults = kortex.hear(Bool, "/fault_controller/internal_fault")
    kortex.set_parameter("fault", "internal_fault")
    kortex.set_parameter("fault", "")
    count = len(faults)
    kortex.wait(lambda: len(faults) > count + 2)
    assert faults[-1].data
    assert kortex.call(Trigger, "/fault_controller/reset_fault").success
    kortex.wait(lambda: not faults[-1].data)

    result = kortex.send(*ARM, arm_goal(swing(PARK, 2.0 * ASIDE, 2.0))).get_result_async()
    step(kortex, 500)
    assert np.abs(world(kortex).arm_velocity).max() > 0.3
    asked = kortex._clients["/fault_controller/reset_fault"].call_async(Trigger.Request())
    kortex.wait(lambda: faults[-1].data)
    count = len(faults)
    kortex.wait(lambda: len(faults) > count + 3)
    assert not asked.done(), "the arm moves, and time stands still"
    step(kortex, 300)
    assert kortex.done(asked).success
    assert np.abs(world(kortex).arm_velocity).max() < 2e-3
    stopped_at = world(kortex).arm_position
    step(kortex, 600)
    assert kortex.done(result).status == GoalStatus.STATUS_SUCCEEDED
    assert np.abs(world(kortex).arm_position - stopped_at).max() < 1e-3, "the rest of that trajectory is lost"


def test_a_cause_that_is_still_there_makes_the_fault_come_again(kortex: Graph) -> None:
    faults = kortex.hear(Bool, "/fault_controller/internal_fault")
    kortex.set_parameter("fault", "internal_fault")
    assert kortex.call(Trigger, "/fault_controller/reset_fault").success
    count = len(faults)
    kortex.wait(lambda: len(faults) > count + 2)
    assert all(fault.data for fault in faults[count:])


def test_a_fault_may_come_in_a_given_goal_after_a_share_of_it(kortex: Graph) -> None:
    kortex.set_parameter("fault_goal", 2)
    kortex.set_parameter("fault_share", 0.5)
    kortex.set_parameter("fault", "internal_fault")
    assert follow(kortex, ASIDE) == SUCCESS
    assert np.abs(world(kortex).arm_position - PARK - ASIDE).max() < 0.01
    assert follow(kortex, -ASIDE) == SUCCESS
    done = (PARK + ASIDE - world(kortex).arm_position)[0] / ASIDE[0]
    assert 0.4 < done < 0.7
    record = kortex.sim._driver.record()
    assert record["goals"] == 2
    assert record["goals_after"] == {"arm": 0, "jaws": 0}
    assert record["fault_s"] < record["commanded_s"], "nobody has stopped the trajectory"


def test_jaws_in_fault_stay_and_are_said_to_have_stalled(kortex: Graph) -> None:
    kortex.set_parameter("fault_goal", 1)
    kortex.set_parameter("fault_share", 0.4)
    kortex.set_parameter("fault", "internal_fault")
    result = kortex.send(*GRIPPER, gripper_goal(0.8)).get_result_async()
    step(kortex, 1500)
    ended = kortex.done(result)
    assert (ended.status, ended.result.stalled) == (GoalStatus.STATUS_SUCCEEDED, True)
    assert 0.2 < world(kortex).knuckle < 0.6


def test_a_person_who_takes_the_arm_lifts_it_and_leaves_it_in_fault(kortex: Graph) -> None:
    kinematics = Kinematics(robot=GEN3)
    before = kinematics.fk(world(kortex).arm_position)
    kortex.set_parameter("fault", "hand_guiding")
    step(kortex, 1500)
    after = kinematics.fk(world(kortex).arm_position)
    assert after[2, 3] - before[2, 3] == pytest.approx(GUIDED_M, abs=0.01)
    assert np.abs(after[:2, 3] - before[:2, 3]).max() < 0.02
    kortex.set_parameter("fault", "")
    assert kortex.sim._driver.internal_fault
    assert kortex.call(Trigger, "/fault_controller/reset_fault").success
    assert follow(kortex, ASIDE) == SUCCESS
    assert world(kortex).arm_position[0] == pytest.approx(PARK[0] + ASIDE[0], abs=0.1)


def test_controllers_are_listed_and_switched_and_take_no_goals_while_they_are_inactive(kortex: Graph) -> None:
    arm, twist = "joint_trajectory_controller", "twist_controller"
    assert states(kortex) == {
        "joint_state_broadcaster": "active",
        arm: "active",
        twist: "inactive",
        "robotiq_gripper_controller": "active",
        "fault_controller": "active",
    }
    assert not switch(kortex, ["no_controller"], []).ok
    refused = switch(kortex, [twist], [])
    assert not refused.ok
    assert "while joint based controller is running" in refused.message
    assert not switch(kortex, [arm], []).ok, "strictly, it is active already"
    assert switch(kortex, [arm], [], SwitchController.Request.BEST_EFFORT).ok

    result = kortex.send(*ARM, arm_goal(swing(PARK, ASIDE))).get_result_async()
    step(kortex, 200)
    assert switch(kortex, [twist], [arm]).ok
    step(kortex, 300)
    ended = kortex.done(result)
    assert ended.status == GoalStatus.STATUS_ABORTED
    assert "deactivate" in ended.result.error_string
    assert not kortex.send(*ARM, arm_goal(swing(world(kortex).arm_position, ASIDE))).accepted
    assert switch(kortex, [arm], [twist]).ok
    assert follow(kortex, ASIDE) == SUCCESS


def test_an_inactive_controller_of_the_gripper_takes_goals_and_does_nothing(kortex: Graph) -> None:
    assert switch(kortex, [], ["robotiq_gripper_controller"]).ok
    before, handle = world(kortex).knuckle, kortex.send(*GRIPPER, gripper_goal(0.5))
    assert handle.accepted
    result = handle.get_result_async()
    step(kortex, 500)
    assert (world(kortex).knuckle, result.done()) == (pytest.approx(before, abs=1e-3), False)
    handle.cancel_goal_async()
    step(kortex, 5)
    assert kortex.done(result).status == GoalStatus.STATUS_CANCELED


def test_without_a_connection_nothing_is_heard_until_the_driver_is_started_anew(kortex: Graph) -> None:
    heard = kortex.hear(JointState, "/joint_states")
    faults = kortex.hear(Bool, "/fault_controller/internal_fault")
    kortex.wait(lambda: heard and faults)
    result = kortex.send(*ARM, arm_goal(swing(PARK, ASIDE))).get_result_async()
    step(kortex, 200)
    kortex.set_parameter("fault", "connection_lost")
    kortex.wait(lambda: set(states(kortex).values()) == {"inactive"})
    count = len(heard), len(faults)
    step(kortex, 500)
    assert kortex.done(result).status == GoalStatus.STATUS_ABORTED
    assert (len(heard), len(faults)) == count
    assert np.abs(world(kortex).arm_velocity).max() < 2e-3
    kortex.set_parameter("fault", "")
    kortex.wait(lambda: len(heard) > count[0] and len(faults) > count[1])
    assert follow(kortex, ASIDE) == SUCCESS


def test_some_short_trajectories_are_ignored_the_same_ones_for_the_same_seed(kortex: Graph) -> None:
    def nudges() -> list[bool]:
        obeyed = []
        for number in range(12):
            before = world(kortex).arm_position[0]
            delta = np.eye(7)[0] * (0.02 if number % 2 else -0.02)
            assert follow(kortex, delta, 0.08, 150) == SUCCESS
            obeyed.append(bool(abs(world(kortex).arm_position[0] - before) > 0.01))
        return obeyed

    first = nudges()
    assert 2 <= sum(first) <= 10
    kortex.call(ResetSimulation, "/reset_simulation")
    assert nudges() == first
    kortex.set_parameter("seed", 1)
    kortex.call(ResetSimulation, "/reset_simulation")
    assert nudges() != first


def test_the_first_joint_states_come_late(start: Start) -> None:
    began = time.monotonic()
    graph = start(driver="kortex")
    heard = graph.hear(JointState, "/joint_states")
    graph.wait(lambda: heard)
    assert time.monotonic() - began > FIRST_STATE_S


def test_what_is_held_pulls_the_hand_down_by_three_millimetres(start: Start) -> None:
    heights = []
    for driver in ("ideal", "kortex"):
        graph = start(driver=driver, lockstep=True)
        place = world(graph)
        tip = place.data.body(GEN3.tip_frame).xpos
        block = place.scene.objects[0].id
        place.place_object(block, np.asarray(tip) - [0.0, 0.0, 0.02], np.array([1.0, 0.0, 0.0, 0.0]))
        heights.append([])
        result = graph.send(*GRIPPER, gripper_goal(0.8)).get_result_async()
        step(graph, 1500)
        heights[-1] = float(place.data.body(GEN3.tip_frame).xpos[2]), graph.done(result).result.stalled
    (ideal, _), (kortex, stalled) = heights
    assert stalled, "something is held"
    assert ideal - kortex == pytest.approx(SAG_M, abs=0.0008)


@pytest.mark.parametrize("fault", ["internal_fault", "connection_lost"])
def test_an_ideal_driver_has_none_of_its_faults(lockstep: Graph, fault: str) -> None:
    answer = lockstep.set_parameter("fault", fault)
    assert not answer.successful
    assert answer.reason == f"The driver ideal has no fault {fault}: start with driver:=kortex."
    assert not [name for name, _ in lockstep.node.get_service_names_and_types() if "controller_manager" in name]
