"""The judge's view of a simulator in another process is that of a world in this one."""

from collections.abc import Iterator

import numpy as np
import pytest

from rclpy_zenoh.launch import launch
from toolhand.agent_node.episode import Episode
from toolhand.sim.animation import animate
from toolhand.sim.ros.station import RosStation, has_simulator
from toolhand.sim.scene.files import EXAMPLE_SCENE, load_scene
from toolhand.sim.station import Station, StationConfig
from toolhand.sim.tasks.judge import Judge
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.ros.calling import Deadlines
from toolhand.tool_nodes.ros.link import RosLink
from toolhand.tool_nodes.toolbox.toolbox import Session
from toolhand.training.env.goal_from_text import task_from_text

LAUNCH = """
launch:
  - node:
      pkg: toolhand_bringup
      exec: sim_node
      name: sim
      param: [{name: lockstep, value: true}, {name: image_width, value: 64}, {name: image_height, value: 48}]
"""


@pytest.fixture(scope="module")
def link(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RosLink]:
    """A graph of the simulator alone, in lockstep."""
    file = tmp_path_factory.mktemp("launch") / "sim.launch.yaml"
    file.write_text(LAUNCH)
    with launch(file, domain=31, router_port=0) as graph:
        graph.wait_ready(60.0, ["/sim/get_truth", "/step_simulation", "/get_current_world", "/sim/mark"])
        with RosLink(graph.environment) as link:
            yield link


def test_the_world_is_the_one_of_this_process(link: RosLink) -> None:
    remote, local = RosStation(link, StationConfig()), Station(load_scene(EXAMPLE_SCENE))
    assert has_simulator(link)
    assert remote.scene == local.scene
    np.testing.assert_array_equal(remote.scene_camera().T_base_camera, local.scene_camera().T_base_camera)
    for one, other in zip(remote.world.hold(0.3), local.world.hold(0.3), strict=True):
        assert one.time == pytest.approx(other.time, abs=1e-9)
        for name, state in other.objects.items():
            np.testing.assert_array_equal(one.objects[name].position_m, state.position_m)
            np.testing.assert_array_equal(one.objects[name].velocity, state.velocity)
            assert one.objects[name].touching == state.touching
    assert remote.world.model.nq == local.world.model.nq


def test_a_mark_begins_the_log_anew(link: RosLink) -> None:
    station = RosStation(link, StationConfig())
    station.world.hold(0.2)
    assert station.world.log
    station.arm.first_motion_at = None
    assert station.world.log == []
    assert station.arm.first_motion_at is None
    station.world.hold(0.2)
    times = [t for t, _ in station.world.log]
    assert times == sorted(times)
    assert station.world.log[0][1].shape == (station.world.model.nq,)


def test_a_command_that_nobody_carried_out_is_judged_as_not_done(link: RosLink) -> None:
    station = RosStation(link, StationConfig())
    task = task_from_text("pick up the far coconut water", station)
    assert task.goal == "pick coconut_water_1"
    judge = Judge(station)
    score = judge.score(task, Episode(task.text, [], [], Session()))
    assert score.terms == {"picked": False}
    assert judge.sim_time_s > 0


def test_the_film_is_made_from_the_log(link: RosLink, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolhand.sim.animation.ANIMATION_FRAMES", 2)
    monkeypatch.setattr("toolhand.sim.animation.ANIMATION_SIZE", (32, 24))
    station = RosStation(link, StationConfig())
    station.world.hold(0.4)
    frames, times = animate(station)
    assert [frame.shape for frame in frames] == [(24, 32, 3)] * 2
    assert times[0] == 0.0


def test_a_graph_without_tools_is_told_as_such(link: RosLink) -> None:
    station = RosStation(link, StationConfig())
    link.deadlines = Deadlines(availability_s=0.2)
    result = station.toolbox.call("robot.capture_image", {}, Session()).result
    assert result.error is not None
    assert result.error.code is ErrorCode.UNAVAILABLE
    assert "get_depth" in str(result.error)
    with pytest.raises(ToolError, match="No node serves /no_such_service"):
        link.trigger("/no_such_service")
