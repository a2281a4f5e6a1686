"""The 3D view: what it draws, what it reads, and who reaches it."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import httpx
import numpy as np
import pytest
import websockets.sync.client
from fastapi import FastAPI
from fastapi.testclient import TestClient
from websockets.exceptions import InvalidStatus

from tests.console.fake_robot import FakeRobot
from tests.console.test_approving import REQUEST, operators_only
from tests.guarded import KINEMATICS, a_motion
from tests.waiting import until
from toolhand.console.approving import Approvals, MotionTimeline
from toolhand.console.robot import JointPositions, MotionMark, WaitingMotion
from toolhand.console.scene_routes import add_scene_routes
from toolhand.console.scene_view import LONGEST_URDF, SECRET_HEADER, RobotScene, _answers, _Drawn, safe_urdf
from toolhand.console.seats import Seats
from toolhand.tool_nodes.motion.approval import make_request
from toolhand.tool_nodes.results import ToolError

URDF = FakeRobot().description()


@pytest.fixture
def robot() -> FakeRobot:
    return FakeRobot()


@pytest.fixture
def view(robot: FakeRobot) -> Iterator[RobotScene]:
    seats = Seats()
    seats.enter("operator")
    seats.enter("observer")
    made = RobotScene(robot, Approvals(robot, operators_only), seats)
    yield made
    made.close()


def test_visers_own_port_answers_only_who_knows_the_secret(view: RobotScene) -> None:
    address = f"127.0.0.1:{view.port}"
    for headers in ({}, {SECRET_HEADER: ""}, {SECRET_HEADER: "guess"}, {"Origin": f"http://{address}"}):
        answer = httpx.get(f"http://{address}/", headers=headers, trust_env=False)
        assert (answer.status_code, answer.text) == (403, "This port belongs to the console.\n")
        with pytest.raises(InvalidStatus, match="403"):
            websockets.sync.client.connect(f"ws://{address}/", additional_headers=headers, proxy=None)
    twice = [(SECRET_HEADER, view.secret), (SECRET_HEADER, view.secret)]
    assert httpx.get(f"http://{address}/", headers=twice, trust_env=False).status_code == 403
    known = httpx.get(f"http://{address}/", headers={SECRET_HEADER: view.secret}, trust_env=False)
    assert known.status_code == 200
    assert view.secret not in known.text


def test_only_the_operators_slider_moves_the_blue_arm_and_only_while_it_operates(view: RobotScene) -> None:
    view.preview("observer", 2.0)
    view.preview("nobody", 2.0)
    assert view.preview_s == 0.0
    view.preview("operator", 1.0)
    view.preview("observer", 0.0)
    assert view.preview_s == 1.0
    view._seats.step_down("operator")
    assert view.preview_s == 0.0, "it is the slider of an observer now"


def test_viser_itself_answers_no_browser_that_wants_more_than_to_look(view: RobotScene) -> None:
    assert view.port
    assert view._server._websock_server._incoming_handlers == {}


def test_the_pages_lead_to_it_and_nothing_is_listened_to_for_nobody(view: RobotScene, robot: FakeRobot) -> None:
    app = FastAPI()
    add_scene_routes(app, view)
    with TestClient(app) as client:
        page = client.get("/scene/")
        assert page.status_code == 200
        assert "'wasm-unsafe-eval'" in page.headers["content-security-policy"]
        assert view.secret not in page.text
    assert robot.listening == {}
    sent = asyncio.run(first_message(app))
    assert sent[0] == {"type": "websocket.accept", "subprotocol": "viser-v1.1.1", "headers": []}
    assert sent[1]["type"] == "websocket.send"
    assert len(sent[1]["bytes"]) > 10
    assert robot.listening == {}, "who has not drawn anything yet does not look"


async def first_message(app: Any) -> list[Any]:
    """What a browser gets that leaves with the first message of viser."""
    sent: list[Any] = []
    arrived = asyncio.Event()
    coming = [{"type": "websocket.connect"}]

    async def receive() -> Any:
        if coming:
            return coming.pop(0)
        await asyncio.wait_for(arrived.wait(), 30.0)
        return {"type": "websocket.disconnect", "code": 1000}

    async def send(message: Any) -> None:
        sent.append(message)
        if message["type"] == "websocket.send":
            arrived.set()

    scope = {
        "type": "websocket",
        "path": "/scene",
        "raw_path": b"/scene",
        "query_string": b"",
        "client": ("127.0.0.1", 50000),
        "headers": [(b"host", b"127.0.0.1")],
        "subprotocols": ["viser-v1.1.1"],
        "scheme": "ws",
    }
    await app(scope, receive, send)
    return sent


def test_a_viser_that_has_ended_is_started_anew(view: RobotScene) -> None:
    app = FastAPI()
    add_scene_routes(app, view)
    with TestClient(app) as client:
        assert client.get("/scene/").status_code == 200
        first = view.port
        view._server.stop()
        until(lambda: not _answers(first))
        assert client.get("/scene/").status_code == 200
        assert _answers(view.port)
        sent = asyncio.run(first_message(app))
        assert [message["type"] for message in sent[:2]] == ["websocket.accept", "websocket.send"]


def test_without_viser_the_page_says_so() -> None:
    class Broken:
        secret = ""

        @property
        def port(self) -> int:
            raise ToolError("UNAVAILABLE", "The 3D view needs viser and yourdfpy.")  # type: ignore[arg-type]

    app = FastAPI()
    add_scene_routes(app, Broken())  # type: ignore[arg-type]
    with TestClient(app) as client:
        answer = client.get("/scene/")
        assert (answer.status_code, answer.headers["content-type"]) == (503, "text/plain; charset=utf-8")
        assert "needs viser" in answer.text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no markup",
        "<robot>",
        '<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><robot name="r"><link name="&x;"/></robot>',
        '<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]><robot name="&b;"/>',
        "<robot>" + " " * LONGEST_URDF + "</robot>",
    ],
)
def test_a_description_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ToolError, match="robot's description"):
        safe_urdf(text)


def test_no_file_that_a_description_names_is_read() -> None:
    mesh = '<visual><geometry><mesh filename="file:///etc/passwd"/></geometry></visual>'
    text = (
        f'<robot name="r"><link name="a">{mesh}<visual><geometry><box size="1 1 1"/></geometry></visual></link></robot>'
    )
    assert "passwd" not in safe_urdf(text)
    assert "box" in safe_urdf(text)
    texture = '<robot name="r"><material name="m"><texture filename="/etc/passwd"/></material></robot>'
    assert "passwd" not in safe_urdf(texture)


class Scene:
    """Notes what is put into it."""

    def __init__(self) -> None:
        self.objects: dict[str, Any] = {}

    def remove_by_name(self, name: str) -> None:
        self.objects = {key: value for key, value in self.objects.items() if not (key + "/").startswith(name + "/")}

    def __getattr__(self, method: str) -> Any:
        def add(name: str, *args: Any, **options: Any) -> Any:
            item = type("Thing", (), {"args": args, **options})()
            self.objects[name] = item
            return item

        return add


def test_what_is_drawn_is_where_the_legs_say(robot: FakeRobot) -> None:
    scene = Scene()
    drawn = _Drawn(type("Server", (), {"scene": scene})())
    assert not drawn.motion_changes(None)
    first, second = REQUEST.legs
    names = first.joint_names
    drawn.robot(URDF, JointPositions(names, first.q[0], 0))
    hand = next(name for name in scene.objects if name.startswith("/robot/") and "bracelet" in name)
    end = second.q[-1]
    request = replace(make_request(a_motion(*REQUEST.steps), "8", KINEMATICS), T_end=KINEMATICS.fk(end))
    assert drawn.motion_changes(WaitingMotion(request, 0.0))
    assert not drawn.motion_changes(WaitingMotion(request, 0.0))
    for time_s, q in ((0.0, first.q[0]), (first.duration, first.q[-1]), (REQUEST.duration_s, end)):
        drawn.ghost(time_s)
        drawn.robot(URDF, JointPositions(names, q, 0))
        ghost, arm = scene.objects[hand.replace("/robot", "/ghost")], scene.objects[hand]
        np.testing.assert_allclose(ghost.position, arm.position, atol=1e-6)
        np.testing.assert_allclose(ghost.wxyz, arm.wxyz, atol=1e-6)
    (segments, _colour) = scene.objects["/path"].args
    timeline = MotionTimeline(request)
    for number in (0, len(segments) // 2, len(segments) - 1):
        moment = timeline.at(timeline.duration_s * number / len(segments))
        hand_at = KINEMATICS.fk(np.array([*moment.positions.values()]))[:3, 3]
        np.testing.assert_allclose(segments[number][0], hand_at, atol=1e-5)
    drawn.frame(robot.frame("scene"))
    assert {"/cloud", "/obstacles"} <= set(scene.objects)
    assert drawn.motion_changes(None)
    assert not {"/path", "/goal"} & set(scene.objects)


def test_what_a_planned_motion_is_about_is_drawn_until_it_has_ended(robot: FakeRobot) -> None:
    scene = Scene()
    drawn = _Drawn(type("Server", (), {"scene": scene})())
    line, none = np.array([[[0.4, 0.0, 0.0], [0.5, 0.0, 0.1]]]), np.zeros((0, 2, 3))
    marks = (MotionMark("target", line[0], none), MotionMark("gripper", none[:, 0], line))
    obstacles = MotionMark("obstacles", none[:, 0], line)
    assert not drawn.marks(())
    assert drawn.marks((*marks, obstacles))
    assert {"/marks/0", "/marks/1"} <= set(scene.objects)
    np.testing.assert_array_equal(scene.objects["/marks/1"].args[0], line)
    drawn.frame(robot.frame("scene"), (*marks, obstacles))
    np.testing.assert_array_equal(scene.objects["/obstacles"].args[0], line)
    assert drawn.marks(())
    assert not [name for name in scene.objects if name.startswith("/marks")]
    drawn.frame(robot.frame("scene"), ())
    assert len(scene.objects["/obstacles"].args[0]) >= 12, "what the camera sees"
