"""The simulator behind the names of Isaac Sim and Gazebo, and a judge that knows only entities."""

import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from builtin_interfaces.msg import Time
from sensor_msgs.msg import JointState
from simulation_interfaces.msg import EntityState, Resource, SimulationState
from simulation_interfaces.srv import (
    GetEntities,
    GetEntitiesStates,
    GetSimulationState,
    LoadWorld,
    SpawnEntity,
    StepSimulation,
)
from std_msgs.msg import Header

from tests.ros.sim_node.graph import Graph
from toolhand.sim.ros import anew, entity_world
from toolhand.sim.ros.anew import SceneSpawner
from toolhand.sim.ros.entity_world import EntityWorld, HeardTopics
from toolhand.sim.scene.files import named_scene, parse_scene
from toolhand.sim.simulators import SIMULATORS
from toolhand.tool_nodes.motion.robot_model import load_robot
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.ros.calling import Deadlines

Start = Callable[..., Graph]
ISAAC, GAZEBO = SIMULATORS["isaac"], SIMULATORS["gazebo"]
ROBOT = load_robot()


def link_to(graph: Graph) -> Any:
    """What a RosLink offers, over the observer of a graph."""

    def call(kind: Any, name: str, request: Any) -> Any:
        return graph.call(
            kind, name, **{field: getattr(request, field) for field in request.get_fields_and_field_types()}
        )

    return SimpleNamespace(node=graph.node, call=call, deadlines=Deadlines())


@pytest.fixture
def isaac(start: Start) -> Graph:
    return start(simulator="isaac", real_time_factor=0.3)


def test_objects_of_a_scene_are_spawned_from_usd_after_a_reset_that_comes_late(
    isaac: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(anew, "SEEDED", ())  # there are no tools in this graph
    scene = parse_scene(
        "objects: [{name: red box, position: [0.4, 0.1]}, {name: honey, position: [0.5, -0.1], grip: 0.5}]"
    )
    link, topics = link_to(isaac), HeardTopics(isaac.node, ROBOT)
    isaac.wait(lambda: topics.time > 0.6)
    SceneSpawner(link, topics, ISAAC, ROBOT, tmp_path).begin(scene, 0)
    assert topics.time < 30.0
    assert isaac.call(GetEntities, "/get_entities").entities == ["/World/Objects/red_box_1", "/World/Objects/honey_1"]
    (spawned,) = (placed for placed in isaac.sim.physics.world.scene.objects if placed.id == "honey_1")
    assert (spawned.item, spawned.grip) == ("honey", 0.5)
    world = EntityWorld(link, topics, ISAAC, scene, ROBOT)
    held = world.hold(0.3)
    assert held[-1].time - held[0].time >= 0.3 - 1e-6
    assert [state.header for state in isaac.call(GetEntitiesStates, "/get_entities_states").states] == [
        Header(frame_id=placed.id)
        for placed in scene.objects  # Isaac Sim says neither when nor in which frame
    ]
    for name, placed in ((placed.id, placed) for placed in scene.objects):
        np.testing.assert_allclose(held[-1].objects[name].position_m, placed.position_m, atol=2e-3)
        assert held[-1].objects[name].touching == {"table"}
    times = [at for at, _ in world.log]
    np.testing.assert_allclose(np.diff(times), 0.04, atol=1e-9)
    assert [at for at, _ in world.contact_log] == times
    assert world.log is world.log  # worked out once, as long as nothing is seen anew
    world.mark()
    assert len(world.log) == len(world.contact_log) == 1
    assert world.first_motion_at is None
    with pytest.raises(ToolError, match="no entity") as refused:
        EntityWorld(link, topics, ISAAC, named_scene("example"), ROBOT)
    assert refused.value.code is ErrorCode.INTERNAL


def test_isaac_takes_no_scene_and_no_file_that_was_not_exported(isaac: Graph, tmp_path: Path) -> None:
    answer = isaac.call(LoadWorld, "/load_world", **_uri(LoadWorld, "3"))
    assert answer.result.result == LoadWorld.Response.UNSUPPORTED_FORMAT
    other = tmp_path / "other.usda"
    other.write_text('#usda 1.0\n(\n    subLayers = [@/etc/passwd@]\n    defaultPrim = "A"\n)\ndef Xform "A"\n{\n}\n')
    for file in (other, tmp_path / "none.usda", Path("/dev/zero.usda")):
        answer = isaac.call(SpawnEntity, "/spawn_entity", name="/World/Objects/a", **_uri(SpawnEntity, str(file)))
        assert answer.result.result == SpawnEntity.Response.RESOURCE_PARSE_ERROR


def _uri(kind: Any, uri: str) -> dict[str, Any]:
    """The field of a request that holds a URI, before simulation_interfaces 2 and since."""
    field = "world_resource" if kind is LoadWorld else "entity_resource"
    return {field: Resource(uri=uri)} if hasattr(kind.Request(), field) else {"uri": uri}


def test_gazebo_has_its_services_in_a_namespace_and_is_stepped_there_though_it_answers_before(start: Start) -> None:
    graph = start(simulator="gazebo", lockstep=True)
    names = {name for name, _ in graph.node.get_service_names_and_types()}
    graph.wait(lambda: "/gzserver/step_simulation" in {n for n, _ in graph.node.get_service_names_and_types()} | names)
    link, topics = link_to(graph), HeardTopics(graph.node, ROBOT)
    world = EntityWorld(link, topics, GAZEBO, named_scene("example"), ROBOT)
    held = world.hold(0.5)
    assert [round(moment.time - held[0].time, 3) for moment in held] == [0.0, 0.1, 0.2, 0.3, 0.4, 0.5]
    truth = graph.sim.physics.world.snapshot()
    for name, state in truth.objects.items():
        assert held[-1].objects[name].touching == state.touching
        np.testing.assert_allclose(held[-1].objects[name].position_m, state.position_m, atol=1e-9)
    with pytest.raises(ToolError, match="given other scenes: isaac"):
        SceneSpawner(link, topics, GAZEBO, ROBOT, Path())
    assert graph.call(GetSimulationState, "/gzserver/get_simulation_state").state.state != 1


def test_looks_at_once_and_joints_that_overtake_each_other_lose_nothing_of_the_log() -> None:
    heard: dict[str, Callable[[Any], None]] = {}
    node: Any = SimpleNamespace(create_subscription=lambda kind, topic, hear, depth: heard.update({topic: hear}))
    topics = HeardTopics(node, ROBOT)
    arm, jaws = ROBOT.arm_joints[0], ROBOT.gripper.joint

    def hear(seconds: float, name: str, position: float) -> None:
        stamp = Time(sec=int(seconds), nanosec=round(seconds % 1 * 1e9))
        heard["/joint_states"](JointState(header=Header(stamp=stamp), name=[name], position=[position]))

    for count in range(1, 20):
        hear(0.1 * count, arm, 0.1 * count)
        hear(0.1 * count - 0.01, jaws, 0.5)  # always a little behind
    assert topics.joints_at(0.5) == pytest.approx({arm: 0.5, jaws: 0.5})
    assert topics.joints_at(1.85)[jaws] == pytest.approx(0.5)
    hear(0.1, arm, 0.0)  # a reset
    assert topics.joints_at(1.0) == {arm: 0.0}

    scene, clock, second = named_scene("example"), iter(range(1, 100)), threading.Event()
    names = [placed.id for placed in scene.objects]

    def call(kind: Any, name: str, request: Any) -> Any:
        at = next(clock)
        if at == 3:
            second.wait(0.3)  # time enough for another look to be answered first
        elif at == 4:
            second.set()
        states = [EntityState(header=Header(stamp=Time(sec=at))) for _ in names]
        return SimpleNamespace(entities=names, states=states, result=SimpleNamespace(result=1, RESULT_OK=1))

    link = SimpleNamespace(call=call, deadlines=Deadlines())
    world = EntityWorld(link, topics, GAZEBO, scene, ROBOT)
    world.record()
    looks = [threading.Thread(target=world.record) for _ in range(2)]
    for look in looks:
        look.start()
    for look in looks:
        look.join()
    times = [at for at, _ in world.log]
    assert (times[0], times[-1]) == pytest.approx((1.0, 4.0))


@pytest.mark.parametrize("made", [lambda n: n, lambda n: n + 1, lambda n: max(1, n - 1)], ids=["all", "more", "fewer"])
def test_time_is_stepped_to_its_end_by_a_simulator_that_answers_first_and_counts_its_own_way(
    made: Callable[[int], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entity_world, "_STILL_S", 0.05)
    scene = named_scene("example")
    names = [placed.id for placed in scene.objects]
    done, asked = 0, 0

    def call(kind: Any, name: str, request: Any) -> Any:
        nonlocal done, asked
        if kind is StepSimulation:
            asked += made(request.steps)
        elif kind is GetEntitiesStates:
            done += min(asked - done, 3)
        stamp = Time(sec=1 + done // 100, nanosec=done % 100 * 10_000_000)
        return SimpleNamespace(
            entities=names,
            states=[EntityState(header=Header(stamp=stamp)) for _ in names],
            state=SimpleNamespace(state=SimulationState.STATE_PAUSED),
            result=SimpleNamespace(result=1, RESULT_OK=1),
        )

    topics: Any = SimpleNamespace(time=0.0, joints_at=lambda time: {})
    link = SimpleNamespace(call=call, deadlines=Deadlines(response_s=2.0))
    held = EntityWorld(link, topics, GAZEBO, scene, ROBOT).hold(0.3)
    np.testing.assert_allclose([moment.time - held[0].time for moment in held], [0.0, 0.1, 0.2, 0.3], atol=1e-6)
