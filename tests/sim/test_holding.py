"""What is held, leans or lies stays where it is; what friction cannot hold falls."""

import dataclasses
from functools import cache

import mujoco
import numpy as np
import pytest

from toolhand.bench.grasp.calls import grasp_by_tools, in_hand
from toolhand.sim.scene.clutter import clutter_scene
from toolhand.sim.scene.generator import generate_scene
from toolhand.sim.scene.scenes import PlacedObject, Scene
from toolhand.sim.station import Station, StationConfig, StationState
from toolhand.sim.world import World
from toolhand.tool_nodes.motion.robot_model import load_robot
from toolhand.tool_nodes.motion.robot_spec import load_robot_spec
from toolhand.training.grasps.trials import TrialHand

ROBOTS = ("gen3", "jaco2_j2s7s300")


@cache
def holding(item: str, robot: str) -> tuple[Scene, StationState]:
    """A moment in which a robot holds an item up, a second after the lift."""
    station = Station(generate_scene(0, required=(item,), n_objects=1), StationConfig(robot=robot))
    error = grasp_by_tools(station, 0)
    assert error is None
    station.world.step(500)
    return station.scene, station.save()


def held(item: str, robot: str) -> World:
    """A world of its own at that moment."""
    scene, state = holding(item, robot)
    world = World(scene, load_robot(robot))
    world.restore(state.world)
    return world


def slid_mm(world: World, seconds: float) -> float:
    """How far the held object moves in the hand [mm]."""
    item = world.scene.objects[0].id
    start = in_hand(world, item)
    world.step(round(seconds / world.timestep))
    return 1000 * float(np.linalg.norm(in_hand(world, item)[:3, 3] - start[:3, 3]))


@pytest.mark.parametrize("robot", ROBOTS)
@pytest.mark.parametrize("item", ["red box", "baseball", "milk"])
def test_a_held_object_does_not_creep_out_of_the_jaws(item: str, robot: str) -> None:
    assert slid_mm(held(item, robot), 20.0) < 0.02


@pytest.mark.parametrize("robot", ROBOTS)
def test_what_friction_cannot_hold_falls(robot: str) -> None:
    world = held("red box", robot)
    world.model.geom_friction[:] = [0.005, 0.0, 0.0]
    world.step(1000)
    item = world.scene.objects[0].id
    assert "gripper" not in world.snapshot().objects[item].touching


def test_an_object_that_is_pulled_harder_than_friction_holds_comes_out() -> None:
    world = held("red box", "gen3")
    body = world.model.body(world.scene.objects[0].id).id
    world.data.xfrc_applied[body, 2] = -20.0  # N; the jaws press with 80 N and slip at about 160
    assert slid_mm(world, 2.0) < 0.1
    world.data.xfrc_applied[body, 2] = -250.0
    assert slid_mm(world, 0.5) > 20.0


def test_a_light_card_with_friction_of_its_own_is_as_firm_as_one_without_and_is_lifted_by_its_edges() -> None:
    hand = TrialHand(clutter_scene("single", 5071))  # a card of 20 g, 8 mm high, its friction is 0.28
    (card,) = hand.world.scene.objects
    state = hand.world.snapshot().objects[card.id]
    across = np.zeros(9)
    mujoco.mju_quat2Mat(across, np.asarray(state.quat_wxyz))
    x = across.reshape(3, 3)[:, 0]
    width, gripper = card.asset.size_m[0], hand.world.robot.gripper
    T = np.eye(4)
    T[:3, :3] = np.column_stack([x, np.cross([0.0, 0.0, -1.0], x), [0.0, 0.0, -1.0]])
    T[:3, 3] = *state.position_m[:2], gripper.fingertip_depth(width) + 0.002
    trial = hand.grasp(T, card.id)
    assert trial is not None
    assert trial.held
    assert trial.opening_m == pytest.approx(width, abs=0.002)


def test_a_moment_in_which_something_is_held_goes_on_the_same_in_another_world() -> None:
    first = held("red box", "gen3")
    first.step(10)
    second = World(first.scene, load_robot("gen3"))
    second.restore(first.save())
    for world in (first, second):
        world.step(500)
    assert first.data.qpos.tobytes() == second.data.qpos.tobytes()


def test_the_solver_against_slip_runs_while_the_jaws_press_and_not_else(monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[int] = []
    step = mujoco.mj_step

    def spy(model: mujoco.MjModel, data: mujoco.MjData) -> None:
        used.append(model.opt.noslip_iterations)
        step(model, data)

    world = held("red box", "gen3")
    monkeypatch.setattr(mujoco, "mj_step", spy)
    world.step(5)
    assert used == [world.stick_iterations] * 5
    assert min(used) > 0
    used.clear()
    world.command_knuckle(world.robot.gripper.open_at)
    world.step(1000)
    assert used[-500:] == [0] * 500


@pytest.mark.parametrize("robot", ROBOTS)
def test_objects_on_a_slope_stay(robot: str) -> None:
    """20 s on one of 20 degrees, without the solver against slip, which nothing but a gripper turns on."""
    spec = mujoco.MjSpec()
    spec.option = load_robot_spec(load_robot(robot)).option
    spec.option.noslip_iterations = 0
    tilt = np.radians(20.0)
    spec.worldbody.add_geom(
        type=mujoco.mjtGeom.mjGEOM_BOX, size=[1, 1, 0.02], quat=[np.cos(tilt / 2), np.sin(tilt / 2), 0, 0]
    )
    for index, item in enumerate(("red box", "pudding box", "toy block")):
        PlacedObject(f"thing_{index}", item, (0.2 * index, 0.0, 0.06), 0.0).add_to(spec, index)
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, 1000)
    start = data.xpos[1:].copy()
    mujoco.mj_step(model, data, 10_000)
    assert 1000 * np.linalg.norm(data.xpos[1:] - start, axis=1).max() < 0.02


def test_what_leans_in_a_bin_or_stands_on_something_stays() -> None:
    objects = (
        PlacedObject("bin", "black bin", (0.5, 0.2, 0.04), 0.0),
        PlacedObject("leaning", "cereal box", (0.5, 0.2, 0.2), 0.0),
        PlacedObject("low", "rice box", (0.5, -0.2, 0.0675), 0.0),
        PlacedObject("high", "tea box", (0.5, -0.2, 0.165), 0.3),
    )
    world = World(dataclasses.replace(generate_scene(0), objects=objects))
    world.place_object("leaning", np.array([0.5, 0.2, 0.093]), np.array([np.cos(0.175), 0, np.sin(0.175), 0]))
    world.step(2000)
    before = world.snapshot().objects
    assert abs(before["leaning"].quat_wxyz[2]) > 0.1
    assert before["high"].position_m[2] > 0.16
    world.step(10_000)
    after = world.snapshot().objects
    assert max(1000 * np.linalg.norm(after[name].position_m - before[name].position_m) for name in before) < 0.03


def test_without_the_solver_against_slip_the_same_grasp_creeps() -> None:
    own, soft = held("red box", "gen3"), held("red box", "gen3")
    soft.model.opt.impratio, soft.stick_iterations = 10.0, 0
    assert slid_mm(own, 5.0) < 0.02 < 0.3 < slid_mm(soft, 5.0)
