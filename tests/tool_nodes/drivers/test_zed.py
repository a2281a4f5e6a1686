"""A ZED over a double of pyzed.sl, made of the signatures of 5.4.0: images, and one sentence for each fault."""

import ast
import inspect
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from tests.refusals import refused
from tests.tool_nodes.drivers.fake_zed import ZedState, installed, make_sl
from tests.tool_nodes.drivers.signatures import TABLE
from toolhand.sim.scene.files import EXAMPLE_SCENE, load_scene
from toolhand.sim.station import Station, StationConfig
from toolhand.tool_nodes import registry
from toolhand.tool_nodes.drivers import zed
from toolhand.tool_nodes.drivers.zed import ZedDevice, ZedImage, ZedOptions, load_sdk
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import Frame

LONG_S = 60.0
SHORT_S = 0.1


@pytest.fixture(scope="module")
def frame() -> Frame:
    return Station(load_scene(EXAMPLE_SCENE), StationConfig()).camera.capture()


@pytest.fixture
def state(frame: Frame) -> ZedState:
    return ZedState(frame)


@pytest.fixture
def warnings() -> list[str]:
    return []


Take = Callable[..., ZedImage]


@pytest.fixture
def take(state: ZedState, warnings: list[str]) -> Take:
    """An image of one device, which stays open from one call to the next."""
    devices: dict[str, ZedDevice] = {}

    def image(text: str = "", seconds: float = LONG_S) -> ZedImage:
        if text not in devices:
            devices[text] = ZedDevice(make_sl(state), ZedOptions.read(text), 2, warnings.append)
        return devices[text].image(time.monotonic() + seconds)

    return image


@pytest.fixture
def refusal(take: Take) -> Callable[..., ToolError]:
    def fail(text: str = "", seconds: float = SHORT_S) -> ToolError:
        with pytest.raises(ToolError) as caught:
            take(text, seconds)
        assert "\n" not in caught.value.message
        assert caught.value.code is ErrorCode.UNAVAILABLE
        return caught.value

    return fail


def test_an_image_is_rgb_with_depth_in_metres_and_its_own_calibration(take: Take, frame: Frame) -> None:
    image = take()
    assert np.array_equal(image.rgb, frame.rgb)
    assert image.rgb.flags.c_contiguous
    assert np.array_equal(image.depth, frame.depth, equal_nan=True)
    assert np.array_equal(image.K, frame.K)
    assert image.depth.dtype == np.float32
    assert image.stamp_ns > 10**18


def test_it_asks_for_metres_image_axes_and_depth_of_this_image_alone(take: Take, state: ZedState) -> None:
    take("31415?depth=neural_light&resolution=hd720")
    given = state.opened[0].given
    named = {key: value.name for key, value in vars(given).items() if hasattr(value, "name")}
    assert (named["coordinate_units"], named["coordinate_system"]) == ("METER", "IMAGE")
    assert (named["depth_mode"], named["camera_resolution"]) == ("NEURAL_LIGHT", "HD720")
    assert (given.depth_stabilization, state.opened[0]._serial) == (0, 31415)
    assert isinstance(given.open_timeout_sec, float)  # though the deadline was a whole number


def test_an_image_does_not_change_when_the_next_is_taken(take: Take, state: ZedState, frame: Frame) -> None:
    first = take()
    state.change = lambda bgra, depth: (bgra // np.uint8(2), depth * np.float32(0.5))
    second = take()
    assert np.array_equal(first.rgb, frame.rgb)
    assert np.array_equal(first.depth, frame.depth, equal_nan=True)
    assert not np.array_equal(second.rgb, first.rgb)


def test_hidden_too_near_and_too_far_are_all_unknown(take: Take, state: ZedState) -> None:
    def spoil(bgra: np.ndarray, depth: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        depth[0, :5] = (np.nan, -np.inf, np.inf, 0.0, -1.0)
        return bgra, depth

    state.change = spoil
    assert np.isnan(take().depth[0, :5]).all()


def test_a_smaller_image_has_the_calibration_of_its_size(take: Take, frame: Frame) -> None:
    image = take("?width=320")
    assert image.rgb.shape == (240, 320, 3)
    np.testing.assert_allclose(image.K[:2], frame.K[:2] / 2.0)


def test_warnings_are_said_once_and_the_image_is_used(take: Take, state: ZedState, warnings: list[str]) -> None:
    state.opens, state.grabs = ["CONFIGURATION_FALLBACK"], ["POTENTIAL_CALIBRATION_ISSUE"] * 9
    take(), take()
    assert [text.split(": ")[1] for text in warnings] == ["CONFIGURATION_FALLBACK.", "POTENTIAL_CALIBRATION_ISSUE."]


def test_a_corrupted_frame_is_passed_over_and_nothing_but_such_is_refused(
    take: Take, state: ZedState, refusal: Callable[..., ToolError]
) -> None:
    state.grabs = ["CORRUPTED_FRAME", "CAMERA_REBOOTING"]
    assert take().rgb.any()
    assert state.grabs == []
    state.grabs = ["CORRUPTED_FRAME"] * 10_000
    assert "the picture is corrupted" in refusal().message


def test_a_camera_that_is_pulled_out_is_one_sentence_and_opened_again(
    take: Take, state: ZedState, refusal: Callable[..., ToolError]
) -> None:
    take()
    state.grabs, state.opens = ["CAMERA_NOT_DETECTED"], ["CAMERA_NOT_DETECTED"]
    assert refusal().message == "The ZED gives no picture: CAMERA_NOT_DETECTED."
    assert state.closed == 1
    error = refusal()
    assert error.message == "The ZED cannot be opened: CAMERA_NOT_DETECTED."
    assert "cable" in error.hint
    assert take().rgb.any()  # plugged in again
    assert len(state.opened) == 3


@pytest.mark.parametrize("name", TABLE["enums"]["ERROR_CODE"])
def test_every_code_of_the_sdk_is_a_warning_or_an_error(
    name: str, take: Take, state: ZedState, warnings: list[str]
) -> None:
    members = TABLE["enums"]["ERROR_CODE"]
    state.grabs = [name] * 3
    if members.index(name) <= members.index("SUCCESS"):
        assert take().rgb.any()
        assert len(warnings) == (name != "SUCCESS")
    else:
        with pytest.raises(ToolError, match=f"gives no picture: {name}\\."):
            take()


def test_an_image_from_before_the_request_is_stale(state: ZedState, refusal: Callable[..., ToolError]) -> None:
    state.lag_ns = 5 * 10**9
    assert " s too old for the request" in refusal().message


def test_time_that_goes_back_is_refused_once(take: Take, state: ZedState, refusal: Callable[..., ToolError]) -> None:
    take()
    state.clock_ns = lambda: time.time_ns() - 3600 * 10**9
    assert "went back by 3" in refusal().message
    assert take().stamp_ns < time.time_ns() - 3599 * 10**9


def test_an_image_without_a_stamp_is_refused(state: ZedState, refusal: Callable[..., ToolError]) -> None:
    state.clock_ns = lambda: 0
    assert refusal().message == "The ZED's picture has no time stamp."


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"unit": "MILLIMETER"}, "coordinate_units must be METER, but the SDK has MILLIMETER"),
        ({"system": "RIGHT_HANDED_Y_UP"}, "coordinate_system must be IMAGE, but the SDK has RIGHT_HANDED_Y_UP"),
        ({"distortion": 0.1}, "not rectified"),
        ({"calibrated": (1280, 720)}, "calibration is for pictures of 1280x720 pixels, but they have 640x480"),
        ({"change": lambda bgra, depth: (bgra[..., :3], depth)}, "must be 640x480 BGRA of uint8"),
        ({"change": lambda bgra, depth: (bgra[:9], depth)}, "must be 640x480 BGRA of uint8"),
        ({"change": lambda bgra, depth: (bgra, depth[:9])}, "must be 640x480 of float32"),
        ({"change": lambda bgra, depth: (bgra, depth.astype(np.uint16))}, "must be 640x480 of float32"),
    ],
)
def test_what_is_not_as_this_project_measures_is_refused(
    change: dict[str, Any], sentence: str, state: ZedState, refusal: Callable[..., ToolError]
) -> None:
    for key, value in change.items():
        setattr(state, key, value)
    with np.errstate(invalid="ignore"):
        assert sentence in refusal().message
    assert state.closed == ("change" not in change)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("left", "serial number must be a whole number, as in zed:31415, not 'left'"),
        ("-1", "serial number"),
        ("?speed=2", "no option 'speed=2': it takes depth, resolution, width"),
        ("?depth", "no option 'depth'"),
        ("?depth=GUESS", "depth must be neural_light, neural, "),
        ("?resolution=9K", "resolution must be auto, "),
        ("?width=3", "width must be from 160 to 3840 px, not '3'"),
        ("?width=6e2", "width must be"),
    ],
)
def test_options_that_are_not_allowed_are_named(text: str, sentence: str) -> None:
    with refused(ErrorCode.INVALID_ARGUMENT) as caught:
        ZedOptions.read(text)
    assert sentence in caught.value.message


def test_images_are_not_enlarged(refusal: Callable[..., ToolError]) -> None:
    assert "640 px wide and are not enlarged to 1280 px" in refusal("?width=1280").message


def test_a_mode_that_the_installed_sdk_lacks_is_named(
    monkeypatch: pytest.MonkeyPatch, refusal: Callable[..., ToolError]
) -> None:
    shorter = [name for name in TABLE["enums"]["DEPTH_MODE"] if name != "NEURAL_LIGHT"]
    monkeypatch.setitem(TABLE["enums"], "DEPTH_MODE", shorter)
    assert "SDK has no DEPTH_MODE NEURAL_LIGHT: it has NONE, PERFORMANCE" in refusal("?depth=neural_light").message


@pytest.mark.parametrize("other", [False, True], ids=["nothing", "the other project's"])
def test_without_the_sdk_the_sentence_says_where_it_comes_from(other: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyzed", type(sys)("pyzed") if other else None)
    with pytest.raises(ToolError) as caught:
        load_sdk()
    assert caught.value.message.startswith("The camera 'zed' needs pyzed.sl, which cannot be imported: ")
    assert "get_python_api.py" in caught.value.hint
    assert "another project's" in caught.value.hint


# -- the table ---------------------------------------------------------------------------------------


def test_everything_that_the_adapter_names_stands_in_the_table() -> None:
    named = set()
    for node in ast.walk(ast.parse(inspect.getsource(zed))):
        if isinstance(node, ast.Attribute):
            words = ast.unparse(node).replace("self._sl.", "sl.").split(".")
            if words[0] == "sl" and len(words) > 1:
                named.add(tuple(words[1:3]))
    assert ("UNIT", "METER") in named
    assert ("Camera",) in named
    for first, *rest in named:
        members = TABLE["enums"].get(first)
        assert members is not None or first in TABLE["classes"], first
        assert not rest or rest[0] in (members or ()) or rest[0] == "SUCCESS", (first, rest)


def test_the_double_has_nothing_that_the_table_lacks(take: Take, state: ZedState) -> None:
    take("31415?width=320")
    assert {"Camera.grab", "Mat.get_data", "InitParameters.set_from_serial_number"} <= state.used
    sl = make_sl(state)
    camera = sl.Camera()
    with pytest.raises(AttributeError, match=r"has no Camera.snap"):
        camera.snap()
    with pytest.raises(TypeError):
        camera.grab(1, 2)
    with pytest.raises(TypeError, match="not of right type"):
        sl.InitParameters(open_timeout_sec=5)
    with pytest.raises(TypeError):
        sl.InitParameters(depth="NEURAL")
    with pytest.raises(AttributeError):
        sl.InitParameters().speed = 1
    with pytest.raises(AttributeError):
        _ = sl.SENSING_MODE


# -- the camera of a node ----------------------------------------------------------------------------


class Node:
    """What the camera needs of a node."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def get_logger(self) -> Any:
        return type("Logger", (), {"warning": lambda _, text: self.said.append(text)})()


@pytest.fixture
def camera(state: ZedState) -> Iterator[Callable[..., Any]]:
    """Makes the camera as the camera node does, with a pose that is known."""
    from rclpy_zenoh import overlay

    overlay.install()
    from geometry_msgs.msg import TransformStamped

    class Transforms:
        def lookup_transform(self, base: str, frame_id: str, stamp: Any, timeout: Any) -> Any:
            assert (base, frame_id) == ("base_link", "zed_left_camera_frame_optical")
            message = TransformStamped()
            message.transform.translation.x, message.transform.rotation.w = 0.7, 1.0
            return message

    made = []
    with installed(state):

        def make(spec: str = "zed", deadline_s: float = LONG_S, lost: Any = lambda: None) -> Any:
            setting = registry.Setting(node=Node())
            options = {"camera": "scene", "transforms": Transforms(), "base_frame": "base_link", "lost": lost}
            made.append(registry.make("camera", spec, setting, deadline_s=deadline_s, **options))
            return made[-1]

        yield make
        for one in made:
            one.close()


def test_it_is_a_camera_by_name(camera: Callable[..., Any], frame: Frame) -> None:
    taken = camera("zed:31415?depth=neural_light").capture()
    assert np.array_equal(taken.rgb, frame.rgb)
    assert np.array_equal(taken.depth, frame.depth, equal_nan=True)
    assert (taken.camera, taken.frame_id, taken.T_base_camera[0, 3]) == (
        "scene",
        "zed_left_camera_frame_optical",
        0.7,
    )
    assert abs(taken.stamp - time.time()) < LONG_S


def test_a_grab_that_never_returns_is_one_sentence_and_the_node_ends(
    camera: Callable[..., Any], state: ZedState
) -> None:
    released, ended = threading.Event(), []
    state.grabs = [lambda: released.wait() and "SUCCESS"]
    hanging = camera(deadline_s=0.05, lost=lambda: ended.append(1))
    for _ in range(zed.SILENT_DEADLINES):
        assert not ended
        with pytest.raises(ToolError, match=r"has not answered within 0.05 s\."):
            hanging.capture()
    assert ended
    released.set()


@pytest.mark.parametrize(
    ("change", "code", "sentence"),
    [
        (lambda bgra, depth: (bgra * np.uint8(0), depth), ErrorCode.UNAVAILABLE, "The ZED's picture is black."),
        (lambda bgra, depth: (bgra, depth * np.nan), ErrorCode.NO_DEPTH, "No pixel of the ZED's picture has depth."),
        (
            lambda bgra, depth: (bgra, depth * np.float32(1000.0)),
            ErrorCode.UNAVAILABLE,
            "it seems to be in millimetres: it must be in metres.",
        ),
    ],
)
def test_an_image_that_nobody_can_work_with_is_refused(
    change: Any, code: ErrorCode, sentence: str, camera: Callable[..., Any], state: ZedState
) -> None:
    state.change = change
    with refused(code) as caught:
        camera().capture()
    assert sentence in caught.value.message


def test_a_calibration_that_no_camera_has_is_refused(camera: Callable[..., Any], state: ZedState) -> None:
    K = state.frame.K.copy()
    K[0, 0] = np.nan
    state.frame = Frame(**vars(state.frame) | {"K": K})
    with pytest.raises(ToolError, match="K of the ZED's calibration holds NaN"):
        camera().capture()


def test_an_error_of_the_library_itself_is_one_sentence(camera: Callable[..., Any], state: ZedState) -> None:
    def raise_it(bgra: np.ndarray, depth: np.ndarray) -> Any:
        raise RuntimeError("Unknown Mat data_type value: 9")

    state.change = raise_it
    with pytest.raises(ToolError, match=r"SDK failed: RuntimeError: Unknown Mat data_type value: 9\."):
        camera().capture()


def test_it_is_closed_when_it_is_needed_no_more(camera: Callable[..., Any], state: ZedState) -> None:
    one = camera()
    one.capture()
    one.close()
    assert state.closed == 1
    assert one.capture().rgb.any()
