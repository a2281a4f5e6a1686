"""`simulation_interfaces`: states, steps, worlds, resets; and the faults of the clock."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from action_msgs.msg import GoalStatus
from rosgraph_msgs.msg import Clock
from simulation_interfaces.action import SimulateSteps
from simulation_interfaces.msg import Result, SimulationState, SimulatorFeatures
from simulation_interfaces.srv import (
    GetCurrentWorld,
    GetSimulationState,
    GetSimulatorFeatures,
    LoadWorld,
    ResetSimulation,
    SetSimulationState,
    StepSimulation,
)
from std_msgs.msg import String
from std_srvs.srv import Trigger

from tests.ros.sim_node.graph import Graph
from tests.ros.sim_node.motions import ARM, PARK, arm_goal, swing
from tests.ros.sim_node.test_state import LATCHED
from toolhand.sim.ros.simulation import MAX_STEPS
from toolhand.sim.scene.files import named_scene, parse_scene, scene_yaml
from toolhand.sim.world import World
from toolhand.tool_nodes.ros.messages import nanoseconds

STEPS = (SimulateSteps, "/simulate_steps")
BOMB = "a0: &a0 {b: 1}\n" + "".join(f"a{k}: &a{k} {{<<: [{', '.join([f'*a{k - 1}'] * 10)}]}}\n" for k in range(1, 10))
"""Under a kilobyte that would keep the physics waiting for a day."""
TURN = np.array([0.3, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])


def set_state(graph: Graph, state: int) -> Result:
    return graph.call(SetSimulationState, "/set_simulation_state", state=SimulationState(state=state)).result


def state(graph: Graph) -> int:
    return graph.call(GetSimulationState, "/get_simulation_state").state.state


def truth(graph: Graph) -> dict[str, Any]:
    response = graph.call(Trigger, "/sim/get_truth")
    assert response.success
    return json.loads(response.message)


def test_what_is_advertised_is_served(lockstep: Graph) -> None:
    features = lockstep.call(GetSimulatorFeatures, "/get_simulator_features").features
    services = {name for name, _ in lockstep.node.get_service_names_and_types()}
    needed = {
        SimulatorFeatures.SPAWNING: "/spawn_entity",
        SimulatorFeatures.DELETING: "/delete_entity",
        SimulatorFeatures.ENTITY_STATE_GETTING: "/get_entity_state",
        SimulatorFeatures.ENTITY_STATE_SETTING: "/set_entity_state",
        SimulatorFeatures.ENTITY_INFO_GETTING: "/get_entity_info",
        SimulatorFeatures.ENTITY_BOUNDS: "/get_entity_bounds",
        SimulatorFeatures.SPAWNABLES: "/get_spawnables",
        SimulatorFeatures.NAMED_POSES: "/get_named_poses",
        SimulatorFeatures.SIMULATION_RESET: "/reset_simulation",
        SimulatorFeatures.STEP_SIMULATION_ACTION: "/simulate_steps/_action/send_goal",
        SimulatorFeatures.WORLD_LOADING: "/load_world",
        SimulatorFeatures.WORLD_UNLOADING: "/unload_world",
        SimulatorFeatures.WORLD_INFO_GETTING: "/get_current_world",
        SimulatorFeatures.AVAILABLE_WORLDS: "/get_available_worlds",
    }
    for feature, service in needed.items():
        assert (feature in list(features.features)) == (service in services), service


def test_a_playing_simulation_can_be_paused_stepped_and_played(playing: Graph) -> None:
    world = playing.sim.physics.world
    assert state(playing) == SimulationState.STATE_PLAYING
    refused = playing.call(StepSimulation, "/step_simulation", steps=1).result
    assert refused.result == Result.RESULT_INCORRECT_STATE
    assert "pause" in refused.error_message
    assert set_state(playing, SimulationState.STATE_PAUSED).result == Result.RESULT_OK
    before = world.time
    assert playing.call(StepSimulation, "/step_simulation", steps=5).result.result == Result.RESULT_OK
    assert world.time == pytest.approx(before + 0.01)
    assert set_state(playing, SimulationState.STATE_PLAYING).result == Result.RESULT_OK
    playing.wait(lambda: world.time > before + 0.05)


def test_the_state_it_is_in_already_is_said(lockstep: Graph) -> None:
    code = set_state(lockstep, SimulationState.STATE_PAUSED).result
    assert code == SetSimulationState.Response.ALREADY_IN_TARGET_STATE


def test_in_lockstep_nobody_can_let_time_pass_by_itself(lockstep: Graph) -> None:
    refused = set_state(lockstep, SimulationState.STATE_PLAYING)
    assert refused.result == SetSimulationState.Response.INCORRECT_TRANSITION
    assert "lockstep" in refused.error_message
    assert set_state(lockstep, SimulationState.STATE_QUITTING).result != Result.RESULT_OK


def test_stopping_goes_back_to_the_beginning(lockstep: Graph) -> None:
    lockstep.send(*ARM, arm_goal(swing(PARK, TURN)))
    lockstep.call(StepSimulation, "/step_simulation", steps=200)
    assert set_state(lockstep, SimulationState.STATE_STOPPED).result == Result.RESULT_OK
    assert state(lockstep) == SimulationState.STATE_STOPPED
    assert np.array_equal(lockstep.sim.physics.world.data.qpos, World(named_scene("example")).data.qpos)
    lockstep.call(StepSimulation, "/step_simulation", steps=1)
    assert state(lockstep) == SimulationState.STATE_PAUSED


def test_too_many_steps_are_refused(lockstep: Graph) -> None:
    refused = lockstep.call(StepSimulation, "/step_simulation", steps=MAX_STEPS + 1).result
    assert refused.result == Result.RESULT_OPERATION_FAILED
    assert not lockstep.send(*STEPS, SimulateSteps.Goal(steps=MAX_STEPS + 1)).accepted


def test_steps_by_the_action_tell_how_far_they_are(lockstep: Graph) -> None:
    seen: list[Any] = []
    before = lockstep.sim.physics.world.time
    handle = lockstep.send(*STEPS, SimulateSteps.Goal(steps=95), feedback=seen.append)
    outcome = lockstep.done(handle.get_result_async())
    assert outcome.status == GoalStatus.STATUS_SUCCEEDED
    assert outcome.result.result.result == Result.RESULT_OK
    assert lockstep.sim.physics.world.time == pytest.approx(before + 0.19)
    lockstep.wait(lambda: seen and seen[-1].feedback.remaining_steps == 0)
    assert seen[-1].feedback.completed_steps == 95


def test_steps_by_the_action_can_be_cancelled_and_do_not_keep_others_waiting(lockstep: Graph) -> None:
    handle = lockstep.send(*STEPS, SimulateSteps.Goal(steps=MAX_STEPS))
    result = handle.get_result_async()
    lockstep.wait(lambda: lockstep.sim.physics.world.time > 0.5)
    assert truth(lockstep)["time"] > 0.5
    lockstep.done(handle.cancel_goal_async())
    assert lockstep.done(result).status == GoalStatus.STATUS_CANCELED
    assert lockstep.call(StepSimulation, "/step_simulation", steps=1).result.result == Result.RESULT_OK


def test_a_world_is_loaded_to_the_last_bit(lockstep: Graph) -> None:
    scene = named_scene("7")
    labels = lockstep.hear(String, "/sim/labels", LATCHED)
    lockstep.call(StepSimulation, "/step_simulation", steps=50)
    answer = lockstep.call(LoadWorld, "/load_world", resource_string=scene_yaml(scene))
    assert answer.result.result == Result.RESULT_OK
    assert answer.world.name == scene.name
    assert lockstep.sim.physics.world.scene == scene
    assert np.array_equal(lockstep.sim.physics.world.data.qpos, World(scene).data.qpos)
    assert lockstep.sim.physics.world.time == World(scene).time
    lockstep.wait(lambda: labels and scene.objects[-1].id in labels[-1].data)
    current = lockstep.call(GetCurrentWorld, "/get_current_world").world
    assert parse_scene(current.world_resource.resource_string) == scene


def test_loading_a_world_ends_the_motion_on_its_way(lockstep: Graph) -> None:
    result = lockstep.send(*ARM, arm_goal(swing(PARK, TURN))).get_result_async()
    lockstep.call(StepSimulation, "/step_simulation", steps=100)
    lockstep.call(LoadWorld, "/load_world", uri="3")
    assert lockstep.done(result).status == GoalStatus.STATUS_ABORTED
    assert "reset" in lockstep.done(result).result.error_string


@pytest.mark.parametrize(
    ("fields", "code", "words"),
    [
        ({}, LoadWorld.Response.NO_RESOURCE, "Give"),
        ({"uri": "no_such_file.yaml"}, LoadWorld.Response.RESOURCE_PARSE_ERROR, "no scene"),
        ({"resource_string": "objects: 3"}, LoadWorld.Response.RESOURCE_PARSE_ERROR, "objects must be a list"),
        ({"resource_string": BOMB}, LoadWorld.Response.RESOURCE_PARSE_ERROR, "merge keys are not allowed"),
        ({"resource_string": "[1, 2"}, LoadWorld.Response.RESOURCE_PARSE_ERROR, "no plain YAML"),
    ],
)
def test_a_bad_world_is_refused_and_the_old_one_stays(
    lockstep: Graph, fields: dict[str, str], code: int, words: str
) -> None:
    before = lockstep.sim.physics.world
    answer = lockstep.call(LoadWorld, "/load_world", **fields)
    assert answer.result.result == code
    assert words in answer.result.error_message
    assert lockstep.sim.physics.world is before


def test_a_reset_of_all_is_the_beginning_again(lockstep: Graph) -> None:
    lockstep.send(*ARM, arm_goal(swing(PARK, TURN)))
    lockstep.call(StepSimulation, "/step_simulation", steps=300)
    assert lockstep.call(ResetSimulation, "/reset_simulation").result.result == Result.RESULT_OK
    fresh = World(named_scene("example"))
    assert lockstep.sim.physics.world.time == fresh.time
    assert np.array_equal(lockstep.sim.physics.world.data.qpos, fresh.data.qpos)


def test_a_reset_of_the_state_keeps_the_time_and_one_of_the_time_the_state(lockstep: Graph) -> None:
    lockstep.send(*ARM, arm_goal(swing(PARK, TURN)))
    lockstep.call(StepSimulation, "/step_simulation", steps=700)
    moved, later = lockstep.sim.physics.world.arm_position, lockstep.sim.physics.world.time
    scopes = ResetSimulation.Request
    lockstep.call(ResetSimulation, "/reset_simulation", scope=scopes.SCOPE_TIME)
    assert lockstep.sim.physics.world.time < later
    assert np.array_equal(lockstep.sim.physics.world.arm_position, moved)
    now = lockstep.sim.physics.world.time
    lockstep.call(StepSimulation, "/step_simulation", steps=50)
    lockstep.call(ResetSimulation, "/reset_simulation", scope=scopes.SCOPE_STATE)
    assert lockstep.sim.physics.world.time == pytest.approx(now + 0.1)
    assert np.abs(lockstep.sim.physics.world.arm_position - PARK).max() < 1e-3


def test_the_truth_has_the_log_since_the_mark(lockstep: Graph) -> None:
    assert truth(lockstep)["first_motion_wall_s"] is None
    lockstep.send(*ARM, arm_goal(swing(PARK, TURN)))
    lockstep.call(StepSimulation, "/step_simulation", steps=200)
    told, world = truth(lockstep), lockstep.sim.physics.world
    assert told["first_motion_wall_s"] is not None
    assert told["time"] == world.time
    assert told["log"]["times"] == [t for t, _ in world.log]
    assert np.array_equal(np.array(told["log"]["qpos"][-1]), world.log[-1][1])
    snapshot = world.snapshot()
    for name, item in told["objects"].items():
        assert np.array_equal(item["position_m"], snapshot.objects[name].position_m)
        assert set(item["touching"]) == snapshot.objects[name].touching
    assert lockstep.call(Trigger, "/sim/mark").success
    told = truth(lockstep)
    assert told["log"]["times"] == []
    assert told["first_motion_wall_s"] is None


def test_a_paused_clock_stands_still_and_goes_on(playing: Graph) -> None:
    clocks, world = playing.hear(Clock, "/clock"), playing.sim.physics.world
    playing.wait(lambda: clocks)
    playing.set_parameter("fault", "clock_pause")
    playing.wait(lambda: len(clocks) > 3 and len({nanoseconds(c.clock) for c in clocks[-3:]}) == 1)
    stood_at = world.time
    playing.set_parameter("fault", "")
    playing.wait(lambda: world.time > stood_at + 0.1)


def test_a_clock_jumps_forward_once(playing: Graph) -> None:
    clocks = playing.hear(Clock, "/clock")
    playing.wait(lambda: clocks)
    playing.set_parameter("fault", "clock_jump")
    playing.wait(lambda: nanoseconds(clocks[-1].clock) > round((playing.sim.physics.world.time + 9.0) * 1e9))
    times = np.array([nanoseconds(c.clock) for c in clocks])
    assert (np.diff(times) > 9e9).sum() == 1


def test_time_may_pass_as_fast_as_it_can(start: Callable[..., Graph]) -> None:
    graph = start(real_time_factor=0.0)
    world = graph.sim.physics.world
    result = graph.send(*ARM, arm_goal(swing(PARK, TURN, 5.0))).get_result_async()
    assert graph.done(result).status == GoalStatus.STATUS_SUCCEEDED
    assert graph.set_parameter("real_time_factor", 1).successful
    assert world.time > 5.0


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [("fault", "fire", "gripper_jam"), ("real_time_factor", -1.0, "from 0"), ("seed", "x", "whole number")],
)
def test_a_wrong_value_at_run_time_is_refused_with_a_sentence(
    lockstep: Graph, name: str, value: Any, words: str
) -> None:
    answer = lockstep.set_parameter(name, value)
    assert not answer.successful
    assert words in answer.reason
