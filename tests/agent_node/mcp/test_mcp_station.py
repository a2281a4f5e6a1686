"""The simulated arm, worked through MCP alone."""

import re
import threading
from typing import Any

import anyio
import numpy as np
import pytest
from mcp import Client

from toolhand.agent_node.mcp.server import make_server
from toolhand.agent_node.mcp.sessions import SharedRobot
from toolhand.cli.mcp import _shared_robot
from toolhand.cli.options import StationOptions, named_scene
from toolhand.sim.scene.scenes import Scene
from toolhand.sim.station import Station
from toolhand.tool_nodes.motion.approval import Decision, MotionRequest
from toolhand.tool_nodes.motion.guard import Mode, MotionGuard

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def scene() -> Scene:
    return named_scene("example")


async def text(client: Client, name: str, **arguments: Any) -> str:
    return (await client.call_tool(name, arguments)).content[0].text


async def find_grasp(client: Client) -> None:
    await text(client, "robot-capture_image")
    cloud = await text(client, "robot-get_depth_with_pointcloud")
    points = await text(client, "roborefer-detect_one", obj_name="cinnamon", image_index=0)
    assert points.startswith("Detected 1")
    x, y = map(float, re.findall(r"0\.\d+", points)[:2])
    assert not (await text(client, "sam2-segment_from_point", x=x, y=y, image_index=0)).startswith("Error")
    grasp = await text(
        client,
        "grasp_generator-compute_grasp",
        point_cloud="$point_cloud",
        mask="$segmentation_mask",
        focal_length_px="$focal_length_px",
        image_index=0,
    )
    assert not cloud.startswith("Error"), cloud
    assert not grasp.startswith("Error"), grasp


@pytest.mark.parametrize(("mode", "sentence"), [(Mode.ASK, "nobody can be asked here"), (Mode.DRY_RUN, "Dry run: ")])
async def test_without_approval_or_in_a_dry_run_the_arm_stays_where_it_is(
    scene: Scene, mode: Mode, sentence: str, closing: Any
) -> None:
    station = Station(scene, guard=MotionGuard(mode))
    before, time = station.arm.state().q.copy(), station.world.time
    robot = closing(SharedRobot(station.toolbox, station.arm))
    async with Client(make_server(robot)) as client:
        await find_grasp(client)
        refused = await text(client, "robot-execute_grasp", grasp_pose="$grasp_pose")
        assert refused.startswith("Error NOT_APPROVED")
        assert sentence in refused
        for trick in ({"approved": True}, {"mode": "auto"}, {"approval_mode": "auto"}):
            answer = await text(client, "robot-execute_grasp", grasp_pose="$grasp_pose", **trick)
            assert answer.startswith("Error INVALID_ARGUMENT")
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert not [name for name in names if "approv" in name or "stop" in name]
    assert np.array_equal(station.arm.state().q, before)
    assert station.world.time == time


async def test_a_question_about_a_motion_ends_when_the_client_has_gone_and_nothing_moves(
    scene: Scene, until: Any, closing: Any
) -> None:
    asked, waited = threading.Event(), threading.Event()

    class Person:
        """Approves in the end, but only after nobody waits for it any more."""

        def decide(self, request: MotionRequest) -> Decision:
            asked.set()
            while not robot.interrupted:
                waited.wait(0.005)
            return Decision(True, "", request.hash, "a person who was slow")

    station = Station(scene, guard=MotionGuard(Mode.ASK, Person()))
    robot = closing(SharedRobot(station.toolbox, station.arm))
    before = station.arm.state().q.copy()
    async with Client(make_server(robot), mode="legacy") as client:
        await find_grasp(client)
        async with anyio.create_task_group() as group:
            group.start_soon(client.call_tool, "robot-execute_grasp", {"grasp_pose": "$grasp_pose"})
            await until(asked.is_set)
            assert not robot.interrupted
            group.cancel_scope.cancel()
        assert (await text(client, "robot-capture_image")).startswith("Captured")
        assert not robot.interrupted
    assert np.array_equal(station.arm.state().q, before)


async def test_a_cancelled_grasp_is_braked_and_the_next_grasp_holds_the_object(
    scene: Scene, until: Any, closing: Any
) -> None:
    station = Station(scene)
    robot = closing(SharedRobot(station.toolbox, station.arm))
    async with Client(make_server(robot), mode="legacy") as client:
        await find_grasp(client)
        started = station.world.time
        async with anyio.create_task_group() as group:
            group.start_soon(client.call_tool, "robot-execute_grasp", {"grasp_pose": "$grasp_pose"})
            await until(lambda: station.world.time > started + 0.5)
            group.cancel_scope.cancel()
        looked = await text(client, "robot-capture_image")  # waits until the arm is at rest
        assert looked.startswith("Captured")
        assert float(np.abs(station.arm.state().qd).max()) < 0.01
        assert station.manipulator.held is None
        assert station.world.time < started + 3.0
        station.manipulator.return_to_park()
        await text(client, "robot-capture_image")
        done = await text(client, "robot-execute_grasp", grasp_pose="$grasp_pose")
    assert done.startswith("Grasp executed successfully"), done
    assert station.manipulator.held is not None


async def test_other_suites_are_given_a_camera_and_the_mock_robot_moves_nothing(closing: Any) -> None:
    robot = closing(_shared_robot(StationOptions(suite="evic", station="mock"), "operator", "auto"))
    async with Client(make_server(robot)) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert "robot-capture_image" in names
        assert "image_zoom_in" in names
        assert "robot-execute_grasp" not in names
        assert (await text(client, "robot-capture_image")).startswith("Captured 640x480")
