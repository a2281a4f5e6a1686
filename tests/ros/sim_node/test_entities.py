"""Objects on the table as entities."""

import json
import math
from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from geometry_msgs.msg import Point, Pose, PoseStamped, Quaternion, Twist, Vector3
from sensor_msgs.msg import Image
from simulation_interfaces.msg import Bounds, EntityFilters, EntityState, Result
from simulation_interfaces.srv import (
    DeleteEntity,
    GetEntities,
    GetEntitiesStates,
    GetEntityInfo,
    GetEntityState,
    GetSpawnables,
    ResetSimulation,
    SetEntityState,
    SpawnEntity,
    StepSimulation,
)
from std_msgs.msg import Header, String

from tests.ros.sim_node.graph import Graph
from tests.ros.sim_node.motions import ARM, PARK, arm_goal, swing
from tests.ros.sim_node.test_state import LATCHED
from toolhand.sim.objects import sets
from toolhand.sim.objects.sets import find_asset
from toolhand.sim.objects.shapes import shaped
from toolhand.sim.ros.entities import _item, uri_of
from toolhand.sim.ros.labels import described
from toolhand.tool_nodes.catalogue import Description

TURN = np.array([0.3, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])


def at(x: float, y: float, z: float, yaw: float = 0.0) -> Pose:
    return Pose(position=Point(x=x, y=y, z=z), orientation=Quaternion(z=math.sin(yaw / 2), w=math.cos(yaw / 2)))


def spawn(graph: Graph, pose: Pose, frame: str = "world", **fields: Any) -> Any:
    initial = PoseStamped(header=Header(frame_id=frame), pose=pose)
    return graph.call(SpawnEntity, "/spawn_entity", initial_pose=initial, **({"uri": "catalogue:cola"} | fields))


def entities(graph: Graph, **filters: Any) -> list[str]:
    answer = graph.call(GetEntities, "/get_entities", filters=EntityFilters(**filters))
    assert answer.result.result == Result.RESULT_OK
    return list(answer.entities)


def test_all_objects_are_entities_and_a_filter_chooses(lockstep: Graph) -> None:
    ids = [placed.id for placed in lockstep.sim.physics.world.scene.objects]
    assert entities(lockstep) == ids
    assert entities(lockstep, filter="^coconut") == [name for name in ids if name.startswith("coconut")]
    states = lockstep.call(GetEntitiesStates, "/get_entities_states")
    snapshot = lockstep.sim.physics.world.snapshot()
    assert [s.pose.position.x for s in states.states] == [snapshot.objects[name].position_m[0] for name in ids]


@pytest.mark.parametrize(
    ("filters", "code"),
    [
        ({"filter": "("}, Result.RESULT_OPERATION_FAILED),
        ({"filter": "^(\\w+)+$"}, Result.RESULT_OPERATION_FAILED),
        ({"filter": r"(\w)\1"}, Result.RESULT_OPERATION_FAILED),
        ({"filter": r"\w*" * 9 + "!"}, Result.RESULT_OPERATION_FAILED),
        ({"filter": "a" * 300}, Result.RESULT_OPERATION_FAILED),
        ({"bounds": Bounds(type=Bounds.TYPE_SPHERE)}, Result.RESULT_FEATURE_UNSUPPORTED),
    ],
)
def test_filters_that_cannot_be_served_are_refused(lockstep: Graph, filters: dict[str, Any], code: int) -> None:
    answer = lockstep.call(GetEntities, "/get_entities", filters=EntityFilters(**filters))
    assert answer.result.result == code
    assert answer.result.error_message


def test_what_is_spawned_stands_there_and_the_others_stay(lockstep: Graph) -> None:
    world = lockstep.sim.physics.world
    labels = lockstep.hear(String, "/sim/labels", LATCHED)
    before, time, count = world.snapshot(), world.time, len(world.scene.objects)
    answer = spawn(lockstep, at(0.45, 0.0, 0.065, yaw=0.5))
    assert answer.result.result == Result.RESULT_OK, answer.result.error_message
    assert answer.entity_name == "cola_1"
    assert len(world.scene.objects) == count + 1
    assert world.time == time
    after = world.snapshot().objects
    assert np.allclose(after["cola_1"].position_m, [0.45, 0.0, 0.065])
    for name, state in before.objects.items():
        assert np.allclose(after[name].position_m, state.position_m, atol=1e-6)
    lockstep.wait(lambda: labels and "cola_1" in labels[-1].data)
    assert spawn(lockstep, at(0.45, 0.2, 0.3)).entity_name == "cola_2"


@pytest.mark.parametrize("name", ["base_link", "camera_link", "gripper", "a/b", "a" * 65])
def test_a_name_that_cannot_be_an_entitys_is_refused(lockstep: Graph, name: str) -> None:
    before = entities(lockstep)
    answer = spawn(lockstep, at(0.45, 0.0, 0.065), name=name)
    assert answer.result.result == SpawnEntity.Response.NAME_INVALID
    assert entities(lockstep) == before


def test_a_request_that_fails_inside_is_answered_and_the_simulation_goes_on(
    lockstep: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = entities(lockstep)
    with monkeypatch.context() as patch:
        patch.setattr("toolhand.sim.world.build_model", Mock(side_effect=KeyError("a defect")))
        answer = spawn(lockstep, at(0.45, 0.0, 0.065))
    assert answer.result.result == Result.RESULT_OPERATION_FAILED
    assert "a defect" in answer.result.error_message
    assert entities(lockstep) == before
    assert spawn(lockstep, at(0.45, 0.0, 0.065)).result.result == Result.RESULT_OK


def test_the_arm_moves_on_while_something_is_spawned_and_deleted(lockstep: Graph) -> None:
    world = lockstep.sim.physics.world
    result = lockstep.send(*ARM, arm_goal(swing(PARK, TURN))).get_result_async()
    lockstep.call(StepSimulation, "/step_simulation", steps=200)
    moving = world.arm_velocity
    spawn(lockstep, at(0.45, 0.0, 0.065))
    assert np.array_equal(world.arm_velocity, moving)
    lockstep.call(StepSimulation, "/step_simulation", steps=100)
    lockstep.call(DeleteEntity, "/delete_entity", entity="cola_1")
    lockstep.call(StepSimulation, "/step_simulation", steps=400)
    assert lockstep.done(result).result.error_code == 0
    assert np.abs(world.arm_position - PARK - TURN).max() < 0.01


def test_an_image_shows_what_was_spawned(lockstep: Graph) -> None:
    images = lockstep.hear(Image, "/zed/zed_node/rgb/color/rect/image")
    ids = lockstep.hear(Image, "/sim/scene_camera/instance_ids")
    lockstep.wait(lambda: images and ids)
    count = len(lockstep.sim.physics.world.scene.objects)
    spawn(lockstep, at(0.45, 0.05, 0.065))
    lockstep.wait(lambda: (np.frombuffer(ids[-1].data, "<i4") == count).any())


@pytest.mark.parametrize(
    ("pose", "fields", "code"),
    [
        (at(0.4, 0.0, 0.1), {"uri": "catalogue:elephant"}, SpawnEntity.Response.NO_RESOURCE),
        (at(0.4, 0.0, 0.1), {"resource_string": "<sdf/>"}, SpawnEntity.Response.UNSUPPORTED_FORMAT),
        (at(math.nan, 0.0, 0.1), {}, SpawnEntity.Response.INVALID_POSE),
        (at(900.0, 0.0, 0.1), {}, SpawnEntity.Response.INVALID_POSE),
        (Pose(orientation=Quaternion(w=0.0)), {}, SpawnEntity.Response.INVALID_POSE),
        (at(0.4, 0.0, 0.1), {"frame": "moon"}, SpawnEntity.Response.INVALID_POSE),
        (at(0.4, 0.0, 0.1), {"name": "gripper"}, SpawnEntity.Response.NAME_INVALID),
        (at(0.4, 0.0, 0.1), {"name": "a b"}, SpawnEntity.Response.NAME_INVALID),
        (at(0.4, 0.0, 0.1), {"name": "cinnamon_1"}, SpawnEntity.Response.NAME_NOT_UNIQUE),
    ],
)
def test_what_cannot_be_spawned_is_refused(lockstep: Graph, pose: Pose, fields: dict[str, Any], code: int) -> None:
    before = lockstep.sim.physics.world.scene
    answer = spawn(lockstep, pose, **fields)
    assert answer.result.result == code
    assert answer.result.error_message
    assert lockstep.sim.physics.world.scene is before


def test_a_name_that_is_taken_may_be_changed(lockstep: Graph) -> None:
    assert spawn(lockstep, at(0.4, 0.0, 0.3), name="cinnamon_1", allow_renaming=True).entity_name == "cinnamon_2"


def test_what_is_deleted_is_gone_and_a_reset_brings_it_back(lockstep: Graph) -> None:
    before = entities(lockstep)
    spawn(lockstep, at(0.45, 0.0, 0.065))
    assert lockstep.call(DeleteEntity, "/delete_entity", entity=before[0]).result.result == Result.RESULT_OK
    assert entities(lockstep) == [*before[1:], "cola_1"]
    missing = lockstep.call(DeleteEntity, "/delete_entity", entity=before[0]).result
    assert missing.result == Result.RESULT_NOT_FOUND
    lockstep.call(ResetSimulation, "/reset_simulation", scope=ResetSimulation.Request.SCOPE_SPAWNED)
    assert entities(lockstep) == before


def test_all_may_be_deleted(lockstep: Graph) -> None:
    for name in entities(lockstep):
        lockstep.call(DeleteEntity, "/delete_entity", entity=name)
    assert entities(lockstep) == []
    assert lockstep.call(StepSimulation, "/step_simulation", steps=3).result.result == Result.RESULT_OK


def test_an_entity_is_moved_and_flies_as_told(lockstep: Graph) -> None:
    name = entities(lockstep)[2]
    state = EntityState(pose=at(0.5, 0.0, 0.4, yaw=1.0), twist=Twist(linear=Vector3(x=0.5), angular=Vector3(z=2.0)))
    answer = lockstep.call(SetEntityState, "/set_entity_state", entity=name, state=state)
    assert answer.result.result == Result.RESULT_OK
    seen = lockstep.call(GetEntityState, "/get_entity_state", entity=name).state
    assert seen.header.frame_id == "world"
    assert seen.pose.position == state.pose.position
    assert seen.pose.orientation.z == pytest.approx(math.sin(0.5))
    assert seen.twist.linear.x == pytest.approx(0.5)
    assert seen.twist.angular.z == pytest.approx(2.0)
    lockstep.call(StepSimulation, "/step_simulation", steps=50)
    later = lockstep.call(GetEntityState, "/get_entity_state", entity=name).state
    assert later.pose.position.x == pytest.approx(0.55, abs=0.005)
    assert later.pose.position.z < 0.37


def test_an_entity_is_not_moved_to_nowhere(lockstep: Graph) -> None:
    name = entities(lockstep)[0]
    bad = EntityState(pose=at(math.inf, 0.0, 0.4))
    answer = lockstep.call(SetEntityState, "/set_entity_state", entity=name, state=bad)
    assert answer.result.result == SetEntityState.Response.INVALID_POSE
    wild = EntityState(pose=at(0.4, 0.0, 0.4), twist=Twist(linear=Vector3(x=math.nan)))
    answer = lockstep.call(SetEntityState, "/set_entity_state", entity=name, state=wild)
    assert answer.result.result == Result.RESULT_OPERATION_FAILED


def test_an_entity_tells_what_it_is(lockstep: Graph) -> None:
    placed = lockstep.sim.physics.world.scene.objects[0]
    info = lockstep.call(GetEntityInfo, "/get_entity_info", entity=placed.id)
    assert info.info.description == placed.item
    unknown = lockstep.call(GetEntityInfo, "/get_entity_info", entity="nobody")
    assert unknown.result.result == Result.RESULT_NOT_FOUND


def test_every_spawnable_can_be_spawned_by_its_uri(lockstep: Graph) -> None:
    spawnables = lockstep.call(GetSpawnables, "/get_spawnables").spawnables
    assert len(spawnables) > 20
    assert spawn(lockstep, at(0.45, 0.0, 0.3), uri=spawnables[5].uri).result.result == Result.RESULT_OK


@pytest.fixture
def fruits(monkeypatch: pytest.MonkeyPatch) -> None:
    """An object set "my_fruits", whose keys have underscores, blanks and signs that a URI encodes."""
    objects = {
        key: shaped(key.replace("_", " "), "lemon", (0.09, 0.06, 0.06), 0.2, (245, 120, 40), kind="fruit")
        for key in ("green_mango", "ripe mango", "half_ripe mango", "é100%")
    }
    found = sets.object_set
    monkeypatch.setattr(sets, "object_set", lambda name: objects if name == "my_fruits" else found(name))


@pytest.mark.usefixtures("fruits")
@pytest.mark.parametrize(
    ("uri", "entity", "item"),
    [
        ("catalogue:my_fruits/green_mango", "green_mango_1", "my_fruits/green_mango"),
        ("my_fruits/ripe_mango", "ripe_mango_1", "my_fruits/ripe mango"),
        ("catalogue:my_fruits/half_ripe%20mango", "half_ripe_mango_1", "my_fruits/half_ripe mango"),
        ("catalogue:my_fruits/%C3%A9100%25", "é100__1", "my_fruits/é100%"),
        ("catalogue:coconut_water", "coconut_water_1", "coconut water"),
    ],
)
def test_an_object_of_a_set_is_spawned_by_its_name_whatever_signs_it_has(
    start: Callable[..., Graph], uri: str, entity: str, item: str
) -> None:
    graph = start(lockstep=True, scene_yaml="objects: [{name: red box, position: [0.6, 0.2]}]")
    labels = graph.hear(String, "/sim/labels", LATCHED)
    answer = spawn(graph, at(0.45, 0.0, 0.065), uri=uri)
    assert (answer.result.error_message, answer.entity_name) == ("", entity)
    info = graph.call(GetEntityInfo, "/get_entity_info", entity=entity)
    assert info.info.description == item
    graph.wait(lambda: labels and entity in labels[-1].data.encode().decode("unicode_escape"))
    words = described(json.loads(labels[-1].data)[-1])
    assert words.name == find_asset(item).name
    assert type(words) is Description
    assert words.words == find_asset(item).words


@pytest.mark.usefixtures("fruits")
@pytest.mark.parametrize("item", ["my_fruits/green_mango", "my_fruits/ripe mango", "my_fruits/é100%", "tuna can"])
def test_the_uri_of_an_object_gives_its_name_again(item: str) -> None:
    assert _item(uri_of(item)) == item
