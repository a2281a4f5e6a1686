"""The world: lockstep, the same bytes for the same seed, and broken physics is never a result."""

import os
import subprocess
import sys
from pathlib import Path

import mujoco
import numpy as np
import pytest

from tests.gen3 import NAMED_STATES
from tests.refusals import refused
from toolhand.sim.scene.files import load_scene
from toolhand.sim.scene.generator import generate_scene
from toolhand.sim.world import LOG_PERIOD_S, World
from toolhand.tool_nodes.results import ErrorCode, ToolError

ROOT = Path(__file__).parents[2]

EPISODE = """
import hashlib
from toolhand.agent_node.policies.scripted.policy import ScriptedPolicy
from toolhand.training.env.episode import run_episode
from toolhand.training.env.goal_from_text import task_from_text
from toolhand.sim.scene.generator import generate_scene
from toolhand.sim.station import Station
from tests.stations import FAST
station = Station(generate_scene(7, required=("cinnamon", "rice box")), FAST)
task = task_from_text("Pick up the cinnamon and place it to the left of the rice box", station)
outcome = run_episode(station, ScriptedPolicy(), task)
digest = hashlib.sha256()
for time, qpos in station.world.log:
    digest.update(repr(time).encode() + qpos.tobytes())
for message in outcome.episode.messages:
    digest.update(message.text.encode())
for picture in outcome.episode.session.images:
    digest.update(picture.rgb.tobytes())
print(len(station.world.log), outcome.truth, digest.hexdigest())
"""


def small_world() -> World:
    return World(generate_scene(0, required=("toy block",), n_objects=1))


def test_a_whole_episode_gives_the_same_bytes_in_two_processes() -> None:
    runs = []
    for hash_seed in ("1", "2"):
        environment = os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-c", EPISODE]
        runs.append(subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True))
    first, second = (run.communicate()[0] for run in runs)
    assert [run.returncode for run in runs] == [0, 0]
    assert first == second
    assert int(first.split()[0]) > 100
    assert "'picked': True, 'placed': True" in first


def test_two_worlds_of_one_scene_move_alike_to_the_last_bit() -> None:
    first, second = (World(generate_scene(3)) for _ in range(2))
    for world in (first, second):
        world.command_arm(np.asarray(NAMED_STATES["Home"], float))
        world.command_knuckle(0.5)
        world.step(300)
    assert first.data.qpos.tobytes() == second.data.qpos.tobytes()
    assert first.time == second.time


def test_another_seed_gives_another_world() -> None:
    first, second = World(generate_scene(3)).snapshot(), World(generate_scene(4)).snapshot()
    assert {name: state.position_m.tolist() for name, state in first.objects.items()} != {
        name: state.position_m.tolist() for name, state in second.objects.items()
    }


def test_time_advances_by_steps_and_by_nothing_else() -> None:
    world = small_world()
    start = world.time
    world.snapshot()
    world.command_arm(world.arm_position)
    assert world.time == start
    world.step(10)
    assert world.time == pytest.approx(start + 10 * world.timestep)


def test_the_robot_starts_parked_and_the_objects_at_rest() -> None:
    world = World(generate_scene(5))
    assert np.abs(world.arm_position - NAMED_STATES["Park"]).max() < 2e-3
    assert np.abs(world.arm_velocity).max() < 1e-2
    for placed in world.scene.objects:
        state = world.snapshot().objects[placed.id]
        assert np.linalg.norm(state.velocity[:3]) < 0.02
        assert np.abs(state.position_m - placed.position_m).max() < 5e-3


def test_a_snapshot_says_what_touches_what(tmp_path: Path) -> None:
    path = tmp_path / "stack.yaml"
    path.write_text(
        "objects:\n"
        "  - {name: red box, position: [0.45, 0.10]}\n"
        "  - {name: toy block, position: [0.45, 0.10, 0.125]}\n"
        "  - {name: cinnamon, position: [0.45, -0.20]}\n"
    )
    world = World(load_scene(path))
    world.hold(0.6)
    objects = world.snapshot().objects
    assert objects["red_box_1"].touching == {"table", "toy_block_1"}
    assert objects["toy_block_1"].touching == {"red_box_1"}
    assert objects["cinnamon_1"].touching == {"table"}


def test_a_gripped_block_touches_the_gripper_and_a_lifted_one_not_the_table() -> None:
    world = small_world()
    world.model.opt.gravity[:] = 0.0
    hand = world.data.body("end_effector_link")
    joint = world.model.body("toy_block_1").jntadr[0]
    address = world.model.jnt_qposadr[joint]
    world.data.qpos[address : address + 3] = hand.xpos + hand.xmat.reshape(3, 3)[:, 2] * 0.135
    world.command_knuckle(0.8)
    world.step(400)
    assert world.snapshot().objects["toy_block_1"].touching == {"gripper"}


def test_holding_gives_snapshots_from_the_first_to_the_last_moment() -> None:
    world = small_world()
    start = world.time
    history = world.hold(0.5)
    assert [s.time - start for s in history] == pytest.approx([0.0, 0.1, 0.2, 0.3, 0.4, 0.5])


def test_the_log_has_a_state_every_period_and_none_from_before_the_start() -> None:
    world = small_world()
    start = world.time
    assert world.log == []
    world.step(round(1.0 / world.timestep))
    times = [time for time, _ in world.log]
    assert times[0] >= start
    assert len(times) == pytest.approx(1.0 / LOG_PERIOD_S, abs=1)
    assert np.diff(times) == pytest.approx(LOG_PERIOD_S, abs=world.timestep)


def test_a_state_in_the_log_is_a_copy() -> None:
    world = small_world()
    world.step(50)
    kept = world.log[0][1].copy()
    world.data.qpos[:] = 7.0
    assert np.array_equal(world.log[0][1], kept)


@pytest.mark.parametrize(("field", "name"), [("qpos", "BADQPOS"), ("qvel", "BADQVEL"), ("ctrl", "BADCTRL")])
def test_a_state_that_is_not_finite_is_an_internal_error(field: str, name: str) -> None:
    world = small_world()
    getattr(world.data, field)[0] = np.nan
    with refused(ErrorCode.INTERNAL, f"physics reported {name} after t=0.4"):
        world.step(3)


def test_broken_physics_stays_broken_however_often_one_steps() -> None:
    world = small_world()
    world.data.qpos[0] = np.inf
    for _ in range(3):
        with pytest.raises(ToolError):
            world.hold(0.1)


def test_any_warning_of_the_physics_is_an_internal_error() -> None:
    world = small_world()
    world.data.warning[mujoco.mjtWarning.mjWARN_CONTACTFULL].number = 1
    with refused(ErrorCode.INTERNAL, "CONTACTFULL"):
        world.step()


def test_broken_physics_writes_nothing_to_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    world = small_world()
    world.data.qpos[0] = np.nan
    with pytest.raises(ToolError):
        world.step()
    assert list(tmp_path.iterdir()) == []
    assert capfd.readouterr() == ("", "")
