"""Objects of a folder of one's own in the simulator's node: in its scene, in its labels, spawned, and refused."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from geometry_msgs.msg import Point, Pose, PoseStamped
from simulation_interfaces.srv import GetSpawnables, SpawnEntity
from std_msgs.msg import Header, String

from tests.ros.sim_node.graph import Graph
from tests.ros.sim_node.test_state import LATCHED
from tests.toolhand.blocks import SCENE, write_blocks
from toolhand.sim.objects.folders import OBJECTS_PATH
from toolhand.tool_nodes.results import ToolError


@pytest.fixture(autouse=True)
def no_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(OBJECTS_PATH, "")  # which is put back as it was


def test_objects_of_a_folder_stand_in_the_scene_have_labels_and_are_spawned(
    start: Callable[..., Graph], tmp_path: Path
) -> None:
    graph = start(lockstep=True, objects=str(write_blocks(tmp_path / "My_Things")), scene_yaml=SCENE)
    labels = graph.hear(String, "/sim/labels", LATCHED)
    graph.wait(lambda: labels)
    block, _ = json.loads(labels[-1].data)
    assert (block["id"], block["item"]) == ("blue_block_1", "my-things/blue-block")
    assert (block["words"]["name"], block["words"]["synonyms"]) == ("blue block", ["brick"])
    uris = [spawnable.uri for spawnable in graph.call(GetSpawnables, "/get_spawnables").spawnables]
    assert "catalogue:my-things/blue-block" in uris
    pose = Pose(position=Point(x=0.45, y=-0.05, z=0.04))
    initial = PoseStamped(header=Header(frame_id="world"), pose=pose)
    answer = graph.call(SpawnEntity, "/spawn_entity", uri="catalogue:my-things/blue-block", initial_pose=initial)
    assert (answer.result.error_message, answer.entity_name) == ("", "blue_block_2")


@pytest.mark.parametrize("objects", ["nowhere", ":"])
def test_a_folder_that_is_none_ends_the_start_in_one_sentence(start: Callable[..., Graph], objects: str) -> None:
    with pytest.raises(ToolError, match=r"^There is no object set .*: it must be a folder of meshes, or"):
        start(lockstep=True, objects=objects)
