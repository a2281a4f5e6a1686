"""Pointing models behind a server, and GraspGen's own, against servers that do whatever a test asks of them."""

from __future__ import annotations

import base64
import io
import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import msgpack
import numpy as np
import pytest
import zmq
from PIL import Image

from tests.tool_nodes.models import bright
from tests.tool_nodes.models.tiny import make_image
from toolhand.sim.scene.files import EXAMPLE_SCENE, load_scene
from toolhand.sim.station import Station
from toolhand.tool_nodes import geometry
from toolhand.tool_nodes.models.graspgen import GraspGen
from toolhand.tool_nodes.models.graspgen_wire import MAX_BYTES, packed, unpacked
from toolhand.tool_nodes.models.pointing_server import KEY, PointingServer, RoboRefer
from toolhand.tool_nodes.results import ErrorCode, ToolError

Reply = Callable[[BaseHTTPRequestHandler, dict[str, Any]], None]


class ChatServer:
    """A server of chat completions; `reply` decides what it does."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.reply: Reply = says("[(0.5, 0.5)]")
        self.over = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.requests.append({"path": self.path} | body)
                outer.headers.append(dict(self.headers))
                outer.reply(self, body)

            def log_message(self, format: str, *args: Any) -> None:
                """Tests are quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.block_on_close = False
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def close(self) -> None:
        self.over.set()
        self._server.shutdown()
        self._server.server_close()


def answers(data: bytes, status: int = 200) -> Reply:
    def reply(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        handler.send_response(status)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)

    return reply


def says(text: Any) -> Reply:
    return answers(json.dumps({"choices": [{"message": {"content": text}}]}).encode())


@pytest.fixture
def server() -> Iterator[ChatServer]:
    chat = ChatServer()
    yield chat
    chat.close()


def refused(pointer: PointingServer) -> ToolError:
    with pytest.raises(ToolError) as raised:
        pointer.point(make_image(), "red can")
    assert raised.value.backend == pointer.backend
    return raised.value


def test_the_server_is_shown_the_image_and_asked_in_the_models_words(server: ChatServer) -> None:
    server.reply = says("[(0.25, 0.75), (0.5, 0.5)]")
    answer = RoboRefer(f"Zhoues/RoboRefer-2B-SFT@{server.url}/").point(make_image(), "the red can")
    assert (answer.value, answer.backend) == ([(0.25, 0.75), (0.5, 0.5)], "roborefer")
    (request,) = server.requests
    assert (request["path"], request["model"], request["temperature"]) == (
        "/v1/chat/completions",
        "Zhoues/RoboRefer-2B-SFT",
        0.0,
    )
    image, words = request["messages"][0]["content"]
    assert words["text"].startswith("Please point out the red can. Your answer should be formatted as a list of tuples")
    sent = Image.open(io.BytesIO(base64.b64decode(image["image_url"]["url"].removeprefix("data:image/png;base64,"))))
    np.testing.assert_array_equal(np.asarray(sent), make_image().rgb)


@pytest.mark.parametrize("name", sorted(bright.make_images()))
def test_a_point_lies_where_the_server_saw_it(server: ChatServer, name: str) -> None:
    def reply(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        data = body["messages"][0]["content"][0]["image_url"]["url"].partition(",")[2]
        x, y = bright.brightest(np.asarray(Image.open(io.BytesIO(base64.b64decode(data))))[..., 0])
        says(f"[({1000 * x:.0f}, {1000 * y:.0f})]")(handler, body)

    server.reply = reply
    image = bright.make_images()[name]
    found = PointingServer(f"m@{server.url}?scale=1000").point(image, "spot").value
    assert bright.offset_px(image, found[0]) < 1.0


def test_many_at_once_are_asked_at_once_and_answered_each_on_its_own(server: ChatServer) -> None:
    together = threading.Barrier(4)

    def reply(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        together.wait(20)
        asked = body["messages"][0]["content"][1]["text"]
        (says("[(0.1, 0.2)]") if "can" in asked.split(".")[0] else answers(b"too hot", 503))(handler, body)

    server.reply = reply
    pointer = PointingServer(f"m@{server.url}?batch=4")
    found = pointer.batch(
        [(make_image(), "can"), (make_image(), "mug"), (make_image(), "red can"), (make_image(), "box")]
    )
    assert [None if isinstance(one, ToolError) else one.value for one in found] == [
        [(0.1, 0.2)],
        None,
        [(0.1, 0.2)],
        None,
    ]
    assert isinstance(found[1], ToolError)
    assert (found[1].code, found[1].backend) == (ErrorCode.UNAVAILABLE, "pointing")
    assert "answers with status 503: too hot" in found[1].message


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (answers(b"<html>"), "answers with what is no chat completion: <html>"),
        (answers(b"{}"), "no chat completion"),
        (says(None), "no chat completion"),
        (answers(b"x" * 5_000_000), "sent an answer of more than 4 MiB"),
        (answers(b'{"error": "no\x07 such model"}', 404), 'answers with status 404: {"error": "no such model"}'),
    ],
)
def test_what_is_no_answer_is_said_in_a_sentence(server: ChatServer, reply: Reply, words: str) -> None:
    server.reply = reply
    error = refused(PointingServer(f"m@{server.url}"))
    assert error.code is ErrorCode.UNAVAILABLE
    assert words in error.message


def test_a_server_that_is_silent_or_drips_is_left_after_the_deadline(server: ChatServer) -> None:
    def drips(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        handler.send_response(200)
        handler.end_headers()
        while not server.over.wait(0.02):
            try:
                handler.wfile.write(b" ")
            except OSError:
                return

    silent: Reply = lambda handler, body: server.over.wait(20) and None  # noqa: E731
    for reply in (silent, drips):
        server.reply = reply
        began = time.monotonic()
        error = refused(PointingServer(f"m@{server.url}?deadline=0.3"))
        assert error.code is ErrorCode.UNAVAILABLE
        assert "did not answer within 0.3 s" in error.message
        assert time.monotonic() - began < 15.0, "it hung"


def test_a_server_that_is_not_there_is_named() -> None:
    error = refused(PointingServer("m@http://127.0.0.1:9/v1"))
    assert error.message.startswith("127.0.0.1:9 cannot be reached")


def test_the_key_is_sent_where_nobody_else_reads_it(server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY, "secret")
    RoboRefer(f"m@{server.url}").point(make_image(), "can")
    assert server.headers[0]["Authorization"] == "Bearer secret"


# -- GraspGen --------------------------------------------------------------------------------------


class GraspServer:
    """Answers on ZeroMQ in GraspGen's format; `reply` makes an answer, as bytes or a document, of a request."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.reply: Callable[[dict[str, Any]], Any] = lambda request: {}
        self._socket = zmq.Context.instance().socket(zmq.REP)
        self._socket.setsockopt(zmq.LINGER, 0)
        self.port = self._socket.bind_to_random_port("tcp://127.0.0.1")
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while not self._over.is_set():
            if not self._socket.poll(20):
                continue
            request = unpacked(self._socket.recv(), msgpack)
            self.requests.append(request)
            answer = self.reply(request)
            if answer is None:  # a server that died in the middle
                self._over.wait(20)
                return
            self._socket.send(answer if isinstance(answer, bytes) else packed(answer, msgpack))

    def close(self) -> None:
        self._over.set()
        self._thread.join(20)
        self._socket.close()


@pytest.fixture
def graspgen() -> Iterator[GraspServer]:
    server = GraspServer()
    yield server
    server.close()


@pytest.fixture(scope="module")
def table() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Cloud (N, 3) and mask (N,) of the object that stands most by itself, the camera's pose, and its middle (3,)."""
    station = Station(load_scene(EXAMPLE_SCENE))
    seen = station.camera.capture()
    cloud = geometry.backproject(seen.depth, seen.K)
    assert seen.ids is not None
    base = geometry.transform(seen.T_base_camera, cloud)
    objects = [seen.ids.reshape(-1) == number for number in np.unique(seen.ids[seen.ids >= 0])]
    middles = [np.nanmean(base[mask], axis=0) for mask in objects]
    apart = [min(np.hypot(*(a - b)[:2]) for b in middles if b is not a) for a in middles]
    narrow = [np.ptp(base[mask][~np.isnan(base[mask][:, 0])][:, :2], axis=0).min() < 0.07 for mask in objects]
    chosen = int(np.argmax(np.where(narrow, apart, 0.0)))
    return cloud, objects[chosen], seen.T_base_camera, middles[chosen]


def from_above(request: dict[str, Any]) -> dict[str, Any]:
    """Grasps straight down about the middle of the cloud, at many depths and angles; one far away, one too deep."""
    poses, scores = [], []
    for depth in np.arange(-0.2, 0.0, 0.01):
        for angle in np.arange(0.0, np.pi, np.pi / 12):
            pose = np.eye(4, dtype=np.float32)
            pose[:3, :3] = geometry.rotation_z(angle) @ np.diag([1.0, -1.0, -1.0])
            pose[2, 3] = -depth
            poses.append(pose)
            scores.append(0.5 + depth)
    away, through = poses[0].copy(), poses[0].copy()
    away[0, 3], through[2, 3] = 1.0, -0.3
    return {
        "grasps": np.array([*poses, away, through], np.float32),
        "confidences": np.array([*scores, 0.99, 0.98], np.float32),
        "num_grasps": len(poses) + 2,
        "timing": {"infer_ms": np.float64(12.5)},
    }


def test_grasps_come_back_in_the_cameras_frame_and_only_those_that_hold(
    graspgen: GraspServer, table: tuple[np.ndarray, ...]
) -> None:
    cloud, mask, T_base_camera, middle = table
    graspgen.reply = from_above
    found = GraspGen(f"127.0.0.1:{graspgen.port}?grasps=300").generate(cloud, mask, T_base_camera)
    (request,) = graspgen.requests
    assert (request["action"], request["num_grasps"], request["grasp_threshold"]) == ("infer", 300, -1.0)
    assert request["point_cloud"].dtype == np.float32
    np.testing.assert_allclose(request["point_cloud"].mean(axis=0), 0.0, atol=1e-5)
    assert 0 < len(found.scores) < found.sampled
    assert list(found.scores) == sorted(found.scores, reverse=True)
    assert found.scores[0] < 0.98, "a grasp beside the object or through the table is none"
    assert ((found.widths_m > 0.0) & (found.widths_m < 0.085)).all()
    T_base_gripper = T_base_camera @ found.T_camera_gripper
    assert (np.linalg.norm(T_base_gripper[:, :2, 3] - middle[:2], axis=1) < 0.03).all()
    np.testing.assert_allclose(T_base_gripper[:, 2, 2], -1.0, atol=1e-5)


def test_another_gripper_is_put_deeper_along_the_approach(graspgen: GraspServer, table: tuple[np.ndarray, ...]) -> None:
    cloud, mask, T_base_camera, _ = table
    graspgen.reply = from_above
    plain = GraspGen(f"127.0.0.1:{graspgen.port}").generate(cloud, mask, T_base_camera)
    deeper = GraspGen(f"127.0.0.1:{graspgen.port}?shift=0.01").generate(cloud, mask, T_base_camera)
    heights = [(T_base_camera @ one.T_camera_gripper)[:, 2, 3] for one in (plain, deeper)]
    common = sorted(set(np.round(plain.scores, 4)) & set(np.round(deeper.scores, 4)))[0]
    first, second = (
        h[np.isclose(one.scores, common, atol=1e-4)][0] for h, one in zip(heights, (plain, deeper), strict=True)
    )
    assert first - second == pytest.approx(0.01, abs=1e-4)


def turned(**more: Any) -> dict[str, Any]:
    return {"grasps": np.eye(4, dtype=np.float32)[None], "confidences": np.ones(1, np.float32)} | more


@pytest.mark.parametrize(
    ("answer", "code", "words"),
    [
        ({"error": "CUDA out of\nmemory"}, ErrorCode.UNAVAILABLE, "failed: CUDA out of memory"),
        (turned(grasps=np.zeros((0, 4, 4), np.float32)), ErrorCode.NO_GRASP, "proposes no grasp"),
        (
            turned(confidences=np.ones(2, np.float32)),
            ErrorCode.UNAVAILABLE,
            "grasps of shape (1, 4, 4) and scores of (2,)",
        ),
        (turned(grasps=np.full((1, 4, 4), np.nan, np.float32)), ErrorCode.UNAVAILABLE, "grasps of shape"),
        (turned(grasps=2.0 * np.eye(4)[None]), ErrorCode.UNAVAILABLE, "poses that are no rotations"),
        (turned(), ErrorCode.NO_GRASP, "None of the 1 grasps"),
        (b"\xc1", ErrorCode.UNAVAILABLE, "cannot be read: it is no msgpack"),
        (b"\x01", ErrorCode.UNAVAILABLE, "cannot be read: it is no map"),
    ],
)
def test_an_answer_that_is_of_no_use_is_said_in_a_sentence(
    graspgen: GraspServer, table: tuple[np.ndarray, ...], answer: Any, code: ErrorCode, words: str
) -> None:
    cloud, mask, T_base_camera, _ = table
    graspgen.reply = lambda request: answer
    with pytest.raises(ToolError) as raised:
        GraspGen(f"127.0.0.1:{graspgen.port}").generate(cloud, mask, T_base_camera)
    assert (raised.value.code, raised.value.backend) == (code, "graspgen")
    assert words in raised.value.message


def test_a_server_that_dies_is_left_and_the_next_call_has_a_socket_of_its_own(
    graspgen: GraspServer, table: tuple[np.ndarray, ...]
) -> None:
    cloud, mask, T_base_camera, _ = table
    generator = GraspGen(f"127.0.0.1:{graspgen.port}?deadline=0.3")
    graspgen.reply = lambda request: None
    for _ in range(2):
        with pytest.raises(ToolError, match=r"did not answer within 0\.3 s"):
            generator.generate(cloud, mask, T_base_camera)


def test_each_request_is_answered_on_its_own(graspgen: GraspServer, table: tuple[np.ndarray, ...]) -> None:
    cloud, mask, T_base_camera, _ = table
    graspgen.reply = from_above
    generator = GraspGen(f"127.0.0.1:{graspgen.port}")
    fine, empty = generator.batch([(cloud, mask, T_base_camera), (cloud, np.zeros_like(mask), T_base_camera)])
    assert len(fine.scores)
    assert isinstance(empty, ToolError)
    assert empty.code is ErrorCode.EMPTY_MASK


def test_an_array_of_objects_is_never_read() -> None:
    """msgpack_numpy would give its bytes to pickle.loads."""
    import pickle

    hostile = {b"nd": True, b"type": b"O", b"kind": b"O", b"shape": [1], b"data": pickle.dumps([print])}
    for kind in (hostile, hostile | {b"type": "|O"}, hostile | {b"type": "<f4"}, hostile | {b"type": [["a", "<f4"]]}):
        with pytest.raises(ValueError, match="an array in it"):
            unpacked(msgpack.packb({"grasps": kind}), msgpack)
    with pytest.raises(ValueError, match="has more than"):
        unpacked(b"\0" * (MAX_BYTES + 1), msgpack)


def test_arrays_go_over_the_wire_as_msgpack_numpy_writes_them() -> None:
    """Bytes of msgpack_numpy 0.4.8: `packb({"a": numpy.float32([[1, 2]])}, default=encode)`."""
    data = packed({"a": np.array([[1.0, 2.0]], np.float32)}, msgpack)
    assert data == (
        b"\x81\xa1a\x85\xc4\x02nd\xc3\xc4\x04type\xa3<f4\xc4\x04kind\xc4\x00\xc4\x05shape\x92\x01\x02\xc4\x04data\xc4\x08"
        + np.array([1.0, 2.0], "<f4").tobytes()
    )
    np.testing.assert_array_equal(unpacked(data, msgpack)["a"], [[1.0, 2.0]])
