"""Images over HTTP: the newest one, its age, and no subscription once no page asks."""

import asyncio
import io
import time
from collections.abc import Iterator

import numpy as np
import pytest
from PIL import Image

pytest.importorskip("fastapi")

from fastapi import FastAPI
from fastapi.testclient import TestClient

from tests.console.fake_robot import SIZE, FakeRobot, make_image
from tests.console.test_approving import REQUEST, Clock, operators_only
from tests.waiting import until
from toolhand.console.approving import Approvals
from toolhand.console.images import LEASE_S, MOST_SENT, MOST_SIDE, ImageFeeds, add_image_routes, jpeg
from toolhand.console.layers import LAYERS, box_corners, layer_image
from toolhand.console.robot import CameraImage, MotionMark, WaitingMotion
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import Box


@pytest.fixture
def robot() -> FakeRobot:
    return FakeRobot(rate_hz=50.0)


@pytest.fixture
def approvals(robot: FakeRobot) -> Approvals:
    return Approvals(robot, operators_only)


@pytest.fixture
def client(robot: FakeRobot, approvals: Approvals) -> Iterator[TestClient]:
    app = FastAPI()
    add_image_routes(app, ImageFeeds(robot), robot, approvals)
    with TestClient(app) as made:
        yield made


def size_of(data: bytes) -> tuple[int, int]:
    return Image.open(io.BytesIO(data)).size


def test_each_request_gets_a_newer_image_with_its_age_and_size(client: TestClient) -> None:
    stamps = [""]
    for _ in range(4):
        answer = client.get("/pictures/scene.jpg", params={"after": stamps[-1]})
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "image/jpeg"
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-size"] == "640x480"
        assert 0.0 <= float(answer.headers["x-age"]) < 60.0
        assert size_of(answer.content) == SIZE
        stamps.append(answer.headers["x-stamp"])
    assert len(set(stamps)) == 5


@pytest.mark.parametrize("path", ["/pictures/foot.jpg", "/pictures/scene.jpg?layers=x", "/pictures/..%2Fscene.jpg"])
def test_what_is_no_camera_or_layer_is_not_found(client: TestClient, robot: FakeRobot, path: str) -> None:
    assert client.get(path).status_code == 404
    assert robot.listening == {}


def test_a_camera_that_no_page_asks_for_is_let_go(robot: FakeRobot) -> None:
    clock = Clock()
    feeds = ImageFeeds(robot, clock)
    assert feeds.newest("scene") is None
    until(lambda: feeds.newest("scene"))
    feeds.newest("wrist")
    assert robot.listening == {"pictures/scene": 1, "pictures/wrist": 1}
    clock.s += LEASE_S
    feeds.newest("wrist")
    clock.s += 0.1
    feeds.let_go()
    assert feeds.open == ("wrist",)
    clock.s += LEASE_S + 0.1
    feeds.let_go()
    assert (feeds.open, robot.listening) == ((), {"pictures/scene": 0, "pictures/wrist": 0})


def test_without_a_page_the_camera_is_let_go_by_itself(client: TestClient, robot: FakeRobot) -> None:
    assert client.get("/pictures/scene.jpg").status_code == 200
    assert robot.listening["pictures/scene"] == 1
    until(lambda: robot.listening["pictures/scene"] == 0)


def test_a_camera_that_a_page_waits_for_is_kept_and_a_silent_one_is_asked_for_anew(
    robot: FakeRobot, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    feeds = ImageFeeds(robot, clock)
    robot.blind = True

    async def both() -> tuple[CameraImage | None, CameraImage | None]:
        pages = [asyncio.create_task(feeds.newer("scene", "")) for _ in range(2)]
        await asyncio.sleep(0.05)
        clock.s += 2 * LEASE_S
        feeds.let_go()
        robot.blind = False
        first, second = await asyncio.gather(*pages)
        return first, second

    first, second = asyncio.run(both())
    assert first is not None
    assert second is first, "one subscription for both, and it was kept while they waited"
    robot.blind = True
    time.sleep(0.1)
    monkeypatch.setattr("toolhand.console.images.WAIT_S", 0.05)
    newest = feeds.newest("scene")
    assert newest is not None
    assert asyncio.run(feeds.newer("scene", str(newest.stamp_ns))) is None
    clock.s += 2 * LEASE_S
    feeds.let_go()
    assert feeds.open == ()


def test_an_image_is_encoded_once_and_made_smaller_where_it_is_gigantic(robot: FakeRobot) -> None:
    feeds = ImageFeeds(robot)
    until(lambda: feeds.newest("scene"))
    shown = CameraImage("scene", make_image(), 1, time.monotonic())
    assert feeds.encoded("scene", shown) is feeds.encoded("scene", shown)
    assert max(size_of(jpeg(np.zeros((3000, 5000, 3), np.uint8)))) == MOST_SIDE


def test_the_image_of_the_motion_that_waits_is_shown_by_its_hash_only(
    client: TestClient, approvals: Approvals, robot: FakeRobot
) -> None:
    from dataclasses import replace

    request = replace(REQUEST, image=make_image())
    approvals.attend(True)
    robot.ask_approval(WaitingMotion(request, time.monotonic() + 60.0))
    assert client.get("/pictures/motion.jpg").status_code == 404
    assert client.get("/pictures/motion.jpg", params={"hash": "0" * 64}).status_code == 404
    answer = client.get("/pictures/motion.jpg", params={"hash": request.hash})
    assert answer.status_code == 200
    assert size_of(answer.content) == SIZE
    robot.ask_approval(None)
    assert client.get("/pictures/motion.jpg", params={"hash": request.hash}).status_code == 404


FLAT = np.array([[0.40, -0.05, 0.0], [0.50, 0.05, 0.0]])
"""Two corners of a square on the table below its camera, base frame [m]."""
MARKS = (
    MotionMark("target", np.stack(np.meshgrid(*FLAT.T[:2], [0.0]), axis=-1).reshape(-1, 3), np.zeros((0, 2, 3))),
    *(
        MotionMark(name, np.zeros((0, 3)), FLAT[None] + (0.02 * k, 0.0, 0.0))
        for k, name in enumerate(("gripper", "path", "place", "obstacles"))
    ),
)


def test_several_layers_are_drawn_at_once_and_what_is_planned_is_listened_to_only_then(
    client: TestClient, robot: FakeRobot
) -> None:
    plain = robot.frame("scene")
    both = layer_image(plain, ["path", "obstacles"], MARKS)
    apart = [layer_image(plain, [layer], MARKS) for layer in ("path", "obstacles")]
    assert all((both != one).any() for one in (*apart, plain.rgb))
    assert not (layer_image(plain, ["target", "gripper", "path", "place"]) != plain.rgb).any(), "nothing is planned"
    assert client.get("/pictures/scene.jpg", params={"layers": "path,x"}).status_code == 404
    assert "x-marks" not in client.get("/pictures/scene.jpg").headers
    assert robot.listening.get("marks", 0) == 0
    assert client.get("/pictures/scene.jpg", params={"layers": "path,depth"}).headers["x-marks"] == "0"
    assert robot.listening["marks"] == 1
    until(lambda: robot.listening["marks"] == 0)
    robot.marked = MARKS
    client.get("/pictures/scene.jpg", params={"layers": "path"})
    assert client.get("/pictures/scene.jpg", params={"layers": "path"}).headers["x-marks"] == "5"


def test_layers_are_drawn_over_one_frame(client: TestClient, robot: FakeRobot) -> None:
    plain = robot.frame("scene")
    robot.marked = MARKS
    for layer in LAYERS:
        drawn = layer_image(plain, [layer], MARKS)
        assert drawn.shape == plain.rgb.shape
        assert (drawn != plain.rgb).any()
        answer = client.get("/pictures/scene.jpg", params={"layers": layer})
        assert answer.status_code == 200
        assert size_of(answer.content) == SIZE
    assert not (plain.rgb != make_image()).any()

    def silent(camera: str) -> None:
        raise ToolError(ErrorCode.UNAVAILABLE, f"No picture came from the {camera} camera.")

    robot.frame = silent  # type: ignore[method-assign, assignment]
    answer = client.get("/pictures/scene.jpg", params={"layers": "depth"})
    assert (answer.status_code, answer.text) == (503, "No picture came from the scene camera.")


def test_a_box_has_eight_corners() -> None:
    corners = box_corners(Box(np.eye(4), np.array([1.0, 2.0, 3.0])))
    assert sorted(map(tuple, np.abs(corners))) == [(1.0, 2.0, 3.0)] * 8
    assert len({tuple(corner) for corner in corners}) == 8


def test_what_a_page_was_sent_is_kept_for_points_in_it(robot: FakeRobot) -> None:
    feeds = ImageFeeds(robot)
    app = FastAPI()
    add_image_routes(app, feeds, robot, Approvals(robot, operators_only))
    with TestClient(app) as client:
        plain = client.get("/pictures/scene.jpg")
        assert feeds.sent("scene", int(plain.headers["x-stamp"])) == plain.content
        drawn = client.get("/pictures/scene.jpg", params={"layers": "free"})
        below = feeds.sent("scene", int(drawn.headers["x-stamp"]))
        assert below == jpeg(robot.frame("scene").rgb) != drawn.content
    assert feeds.sent("wrist", int(plain.headers["x-stamp"])) == b""
    for k in range(MOST_SENT):
        feeds.encoded("scene", CameraImage("scene", make_image()[:8, :8], 10**18 + k, 0.0))
    assert feeds.sent("scene", int(plain.headers["x-stamp"])) == b"", "too old"
    assert feeds.sent("scene", 10**18)
