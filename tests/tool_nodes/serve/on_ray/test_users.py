"""Who uses what is served: stations, rollouts on actors, ROS nodes. All of it is as in process, to the last pixel."""

import hashlib
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.ros.conftest import router
from tests.ros.tool_nodes.comparing import Both
from tests.ros.tool_nodes.conftest import (
    domain,
    executor,
    fake_camera,
    make_node,
    start,
    station,
)
from tests.tool_nodes.serve.conftest import Running, a_folder
from toolhand.agent_node.policies.scripted.policy import ScriptedPolicy
from toolhand.sim.scene.files import EXAMPLE_SCENE, load_scene
from toolhand.sim.station import Station, StationConfig
from toolhand.sim.tasks.sentences import PAPER_SENTENCES
from toolhand.sim.tasks.tasks import paper_task
from toolhand.tool_nodes.perception.presets import PIXELS
from toolhand.tool_nodes.ros.calling import Deadlines
from toolhand.tool_nodes.ros.remote import remote_toolbox
from toolhand.tool_nodes.serve.calling import connect
from toolhand.tool_nodes.serve.config import METHODS
from toolhand.tool_nodes.serve.status import rows
from toolhand.training.env.episode import run_episode
from toolhand.training.rollouts.collection import read_rollouts
from toolhand.training.rollouts.engine import collect
from toolhand.training.rollouts.options import PROCESSES, RAY, WorkerOptions
from toolhand.training.rollouts.plan import RolloutPlan, tasks_of

__all__ = ["domain", "executor", "fake_camera", "make_node", "router", "start", "station"]

YAML = "ports:\n" + "".join(f"  {port}: {getattr(PIXELS, port)}\n" for port in METHODS)
YAML += "cluster: {cpus: 4, store_gb: 0.3}\n"
SIZE = (320, 240)


@pytest.fixture(scope="module", autouse=True)
def running() -> Iterator[Running]:
    with a_folder() as service:
        service.up(YAML)
        yield service


def told(perception: str, number: int) -> tuple[Any, ...]:
    """Whether a sentence was carried out, all that was said, and every image."""
    task = paper_task(number, 0)
    place = Station(task.scene, StationConfig(perception=perception, image_size=SIZE, sleep=True))
    outcome = run_episode(place, ScriptedPolicy(), task)
    said = [(message.role, message.text) for message in outcome.episode.messages]
    images = [hashlib.sha256(image.rgb.tobytes()).hexdigest() for image in outcome.episode.session.images]
    assert outcome.truth is not None
    return outcome.truth.success, outcome.episode.answer, said, images


@pytest.mark.parametrize("number", range(len(PAPER_SENTENCES)))
def test_a_sentence_is_carried_out_as_in_process(number: int) -> None:
    before = sum(row["calls"] for row in rows())
    served = told("served", number)
    connect().report()
    assert served == told("pixels", number)
    assert served[0]
    assert sum(row["calls"] for row in rows()) > before


def test_rollouts_on_actors_are_those_of_processes(tmp_path: Path) -> None:
    plan = RolloutPlan(tasks_of(["pick", "pick_and_place"], 3), group_size=2, perception="pixels")
    collected = []
    for on, perception in ((PROCESSES, "pixels"), (RAY, "served")):
        folder = tmp_path / on
        report = collect(replace(plan, perception=perception), folder, WorkerOptions(2, on))
        assert (report.done, dict(report.dropped)) == (6, {})
        images = {
            str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in folder.rglob("*.png")
        }
        collected.append(([record.without_times() for record in read_rollouts(folder)], images))
    assert collected[0] == collected[1]
    assert len(collected[0][0]) == 6


def test_ros_nodes_ask_what_is_served(start: Any, fake_camera: Any, make_node: Any) -> None:
    nodes = Path(__file__).parents[3] / "ros" / "tool_nodes" / "nodes_process.py"
    assert os.environ["TOOLHAND_SERVE"]  # which the nodes inherit
    start(str(nodes), "--ros-args", "-p", "perception:=served", "-p", "use_sim_time:=true").expect("ready")
    local = Station(load_scene(EXAMPLE_SCENE), StationConfig(perception="pixels")).toolbox
    both = Both(local, remote_toolbox(make_node("agent"), Deadlines(availability_s=60.0, response_s=60.0)))
    both("robot.capture_image")
    both("robot.get_depth_with_pointcloud")
    (point,) = both("roborefer.detect_one", obj_name="coconut water", image_index=0).variables.values()
    both("sam2.segment_from_points", points=[list(point)], image_index=0)
    both("depth_estimator.estimate_depth", image_index=0)
    cloud = {"point_cloud": "$point_cloud", "mask": "$segmentation_mask", "focal_length_px": "$focal_length_px"}
    both("grasp_generator.compute_grasp", **cloud, image_index=0)
    both.refused("vlm.detect_one", obj_name="purple elephant", image_index=0)
