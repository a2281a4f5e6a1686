"""A `$variable` knows its images, what it is of and who made it: no call takes it for another one."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from toolhand.sim.scene.files import EXAMPLE_SCENE, load_scene
from toolhand.sim.station import Station, StationConfig
from toolhand.sim.tool_examples import run_example
from toolhand.tool_nodes.results import ErrorCode, ToolError, ToolResult
from toolhand.tool_nodes.toolbox.arguments import Data, ImageIndex, Mask, NewestPoint2D, PointCloud, Text, Unit
from toolhand.tool_nodes.toolbox.images import SessionImage, view_of
from toolhand.tool_nodes.toolbox.provenance import names_made
from toolhand.tool_nodes.toolbox.toolbox import InSession, Session, Toolbox, tool
from toolhand.tool_nodes.tools.suites import SUITES
from toolhand.tool_nodes.types import Frame

H, W = 48, 64


class Robot:
    """Cameras over a table on which something can be moved, and tools that make variables of their images.

    Attributes:
        height: How much higher the object in the middle of the table stands [m].
        fails: Tools that fail, by name.
        taken: What the motions were given.
    """

    def __init__(self) -> None:
        self.height, self.stamp = 0.0, 0.0
        self.fails: set[str] = set()
        self.taken: list[Any] = []

    def _frame(self, camera: str = "scene") -> Frame:
        self.stamp += 1.0
        depth = np.full((H, W), 1.0, np.float32)
        depth[10:40, 10:40] -= self.height
        K = np.array([[60.0, 0, W / 2], [0, 60.0, H / 2], [0, 0, 1]])
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = np.diag([1.0, -1, -1]), (0.45, 0.0, 1.0 if camera == "scene" else 1.2)
        return Frame(np.zeros((H, W, 3), np.uint8), depth, K, T, self.stamp, camera)

    def _end(self, name: str, code: ErrorCode = ErrorCode.EMPTY_MASK) -> None:
        if name in self.fails:
            raise ToolError(code, "It did not work.")

    @tool("look", repeatable=True, makes=("picture",))
    def look(self, session: InSession) -> ToolResult:
        """Take a picture."""
        self._end("look")
        session.seen = frame = self._frame()
        return ToolResult(image=frame.rgb, variables={"picture": SessionImage(frame.rgb, frame)})

    @tool("cloud", repeatable=True, makes=("cloud",))
    def cloud(self, session: InSession) -> ToolResult:
        """Take a cloud, as a live camera does: from a frame of its own."""
        self._end("cloud")
        session.seen = frame = self._frame()
        return ToolResult(image=frame.rgb, view=view_of(frame), variables={"cloud": np.zeros((H * W, 3), np.float32)})

    @tool("wrist", repeatable=True, makes=("picture", "cloud"))
    def wrist(self, session: InSession) -> ToolResult:
        """Look with the other camera."""
        frame = self._frame("wrist")
        cloud = np.zeros((H * W, 3), np.float32)
        return ToolResult(image=frame.rgb, variables={"picture": SessionImage(frame.rgb, frame), "cloud": cloud})

    @tool("segment", repeatable=True, makes=("mask",))
    def segment(self, image_index: ImageIndex, x: Unit = 0.5) -> ToolResult:
        """Make a mask."""
        self._end("segment")
        return ToolResult(image=image_index.rgb + np.uint8(1), variables={"mask": np.ones((H, W), bool)})

    @tool("segment_by_words", repeatable=True, makes=("mask",))
    def segment_by_words(self, image_index: ImageIndex, words: Text) -> ToolResult:
        """Make a mask of the same name."""
        self._end("segment_by_words")
        return ToolResult(variables={"mask": np.ones((H, W), bool)})

    @tool("find", repeatable=True, renamed={"what": "words"}, makes=("{words}_at",))
    def find(self, words: Text, image_index: ImageIndex) -> ToolResult:
        """Find a point."""
        self._end("find", ErrorCode.OBJECT_NOT_FOUND)
        return ToolResult(variables={f"{words.replace(' ', '_')}_at": (0.5, 0.5)})

    @tool("plan", repeatable=True, makes=("pose",))
    def plan(self, mask: Mask, cloud: PointCloud, image_index: ImageIndex) -> ToolResult:
        """Make a pose."""
        self._end("plan", ErrorCode.NO_GRASP)
        return ToolResult(variables={"pose": np.eye(4)})

    @tool("measure", repeatable=True, makes=("size",))
    def measure(self, mask: Mask, cloud: PointCloud) -> ToolResult:
        """Measure without a picture."""
        return ToolResult(variables={"size": [0.1, 0.1, 0.1]})

    @tool("compare", repeatable=True)
    def compare(self, image_index: ImageIndex, other: ImageIndex, mask: Mask) -> ToolResult:
        """Compare two pictures."""
        return ToolResult(text="Compared.")

    @tool("undeclared", repeatable=True)
    def undeclared(self) -> ToolResult:
        """Make something without a word of it."""
        self._end("undeclared")
        return ToolResult(variables={f"thing_{int(self.stamp)}": 1.0})

    @tool("move", motion=True)
    def move(self, pose: Data) -> ToolResult:
        """Move, and thereby the thing on the table."""
        self.taken.append(pose)
        self.height += 0.1
        return ToolResult(text="Moved.")

    @tool("put", motion=True)
    def put(self, point: NewestPoint2D) -> ToolResult:
        """Put it down."""
        return ToolResult(text="Put.")


class Talk:
    """A conversation with the robot."""

    def __init__(self) -> None:
        self.robot, self.session = Robot(), Session()
        self.box = Toolbox([self.robot])

    def do(self, name: str, **arguments: Any) -> ToolError | None:
        return self.box.call(name, arguments, self.session).result.error

    def plan(self, index: int) -> ToolError | None:
        return self.do("plan", mask="$mask", cloud="$cloud", image_index=index)

    def ready(self) -> Talk:
        """An image (0), a mask of it (1), a cloud (2) and a pose."""
        for name, arguments in (("look", {}), ("segment", {"image_index": 0}), ("cloud", {})):
            assert self.do(name, **arguments) is None
        assert self.plan(0) is None
        return self


def refused(error: ToolError | None, *words: str) -> None:
    assert error is not None
    assert error.code is ErrorCode.INVALID_ARGUMENT
    for word in words:
        assert word in str(error)


@pytest.mark.parametrize(
    ("name", "arguments", "gone"),
    [
        ("plan", {"mask": "$mask", "cloud": "$cloud", "image_index": 0}, "pose"),
        ("plan", {"mask": "$nothing", "cloud": "$cloud", "image_index": 0}, "pose"),
        ("plan", {}, "pose"),
        ("segment", {"image_index": 0}, "mask"),
        ("segment", {"image_index": 77}, "mask"),
        ("segment_by_words", {"image_index": 0, "words": "can"}, "mask"),
        ("look", {}, "picture"),
        ("cloud", {}, "cloud"),
    ],
)
def test_what_a_failed_call_was_to_make_is_gone(name: str, arguments: dict[str, Any], gone: str) -> None:
    talk = Talk().ready()
    others = set(talk.session.variables) - {gone}
    talk.robot.fails = {name}
    assert talk.do(name, **arguments) is not None
    assert set(talk.session.variables) == others
    refused(talk.do("move", pose=f"${gone}"), f"${gone}, which is gone: {name} was called to make it anew")
    assert talk.robot.taken == []


def test_only_the_variable_of_the_words_that_failed_is_gone() -> None:
    talk = Talk().ready()
    for words in ("red box", "can"):
        talk.do("find", words=words, image_index=0)
    talk.robot.fails = {"find"}
    talk.do("find", what="red box", image_index=0)
    assert {"can_at"} == {name for name in talk.session.variables if name.endswith("_at")}


def test_a_tool_that_does_not_say_what_it_makes_loses_what_it_has_made() -> None:
    talk = Talk().ready()
    talk.do("undeclared")
    talk.robot.fails = {"undeclared"}
    talk.do("undeclared")
    assert not [name for name in talk.session.variables if name.startswith("thing")]
    assert "pose" in talk.session.variables


def test_a_chain_behind_a_failed_call_never_reaches_a_motion() -> None:
    talk = Talk().ready()
    talk.robot.fails = {"segment"}
    talk.do("segment", image_index=0)
    refused(talk.plan(0), "$mask, which is gone")
    refused(talk.do("move", pose="$pose"), "$pose, which is gone")
    assert talk.robot.taken == []


def test_a_variable_is_refused_with_an_image_that_shows_something_else() -> None:
    talk = Talk().ready()
    talk.do("move", pose="$pose")
    talk.do("look")
    refused(talk.plan(3), "'mask'", "image 0", "made by segment in call 2", "'image_index'", "image 3")
    refused(talk.do("plan", mask="$mask", cloud="$cloud", image_index="$picture"), "image 0", "image 3")
    talk.do("cloud")
    refused(talk.do("measure", mask="$mask", cloud="$cloud"), "'cloud'", "image 4", "'mask'", "image 0")
    talk.do("segment", image_index=3)
    assert talk.plan(3) is None


def test_a_variable_of_another_camera_is_refused() -> None:
    talk = Talk().ready()
    talk.do("wrist")
    refused(talk.plan(0), "'cloud'", "image 3", "image 0", "wrist in call")
    refused(talk.do("measure", mask="$mask", cloud="$cloud"), "image 3", "image 0")


def test_drawings_and_further_frames_of_an_unchanged_view_are_the_same_image() -> None:
    talk = Talk().ready()
    assert talk.plan(1) is None, "the mask's own drawing"
    talk.do("look")
    assert talk.plan(3) is None, "a live camera gives another frame at each look"


def test_a_call_about_two_images_takes_what_belongs_to_one_of_them() -> None:
    talk = Talk().ready()
    talk.do("move", pose="$pose")
    talk.do("look")
    assert talk.do("compare", image_index=3, other=0, mask="$mask") is None
    refused(talk.do("compare", image_index=3, other=3, mask="$mask"), "image 0", "image 3")


def test_foreign_images_are_told_apart_by_what_was_drawn_over_them() -> None:
    talk = Talk()
    talk.session.images += [SessionImage(np.zeros((H, W, 3), np.uint8)) for _ in range(2)]
    talk.do("segment", image_index=0)
    assert talk.do("compare", image_index=2, other=2, mask="$mask") is None
    refused(talk.do("compare", image_index=1, other=1, mask="$mask"), "image 0", "image 1")


def test_a_place_is_meant_in_the_newest_image_and_may_be_of_one_from_the_same_camera() -> None:
    talk = Talk().ready()
    talk.do("find", words="bin", image_index=0)
    talk.do("wrist")
    talk.do("find", words="can", image_index=3)
    talk.do("move", pose="$pose")
    talk.do("look")
    assert talk.do("put", point="$bin_at") is None
    refused(talk.do("put", point="$can_at"), "image 3", "newest picture", "scene")
    assert talk.do("put", point=[0.5, 0.5]) is None


def test_variables_of_variables_inherit_their_image_and_what_they_are_of() -> None:
    talk = Talk().ready()
    talk.do("segment_by_words", image_index=0, words="red box")
    talk.plan(0)
    origin = talk.session.origin("pose")
    assert origin is not None
    assert {seen.index for seen in origin.images} == {0, 2}
    assert (origin.tool, origin.of) == ("plan", "words='red box'")
    talk.session.variables["pose"] = np.eye(4)
    assert talk.session.origin("pose") is None, "what was set past the toolbox has no origin"


@pytest.mark.parametrize("how", ["fork", "pickle"])
def test_a_conversation_that_goes_on_elsewhere_knows_the_same(how: str) -> None:
    talk = Talk().ready()
    twin = talk.session.fork() if how == "fork" else pickle.loads(pickle.dumps(talk.session))
    talk.session = twin
    assert talk.plan(1) is None
    talk.do("move", pose="$pose")
    talk.do("look")
    refused(talk.plan(3), "image 0", "image 3")


def test_every_tool_makes_the_variables_that_it_names() -> None:
    station = Station(load_scene(EXAMPLE_SCENE), StationConfig(suites=tuple(SUITES)))
    made = {}
    for name, spec in station.toolbox.specs.items():
        if spec.example is not None and not spec.motion:
            record, _ = run_example(name, station.toolbox, station.camera)
            assert record.result.ok, record.result.text
            assert set(record.result.variables) == names_made(spec.makes, spec.example.arguments), name
            made |= dict.fromkeys(record.result.variables, name)
    assert {"segmentation_mask", "point_cloud", "grasp_pose", "captured_image", "cropped_image"} <= set(made)


def test_at_the_station_a_failed_call_leaves_no_grasp_of_the_object_before() -> None:
    station = Station(load_scene(EXAMPLE_SCENE), StationConfig(perception="sim"))
    session = Session()

    def call(name: str, **arguments: Any) -> ToolResult:
        return station.toolbox.call(name, arguments, session).result

    given = {"point_cloud": "$point_cloud", "focal_length_px": "$focal_length_px", "mask": "$segmentation_mask"}
    call("robot.capture_image")
    call("robot.get_depth_with_pointcloud")
    x, y = call("roborefer.detect_one", obj_name="red box", image_index=0).facts["points"][0]
    assert call("sam2.segment_from_point", x=x, y=y, image_index=0).ok
    assert call("grasp_generator.compute_grasp", **given, image_index=0).ok
    failed = call("sam2.segment_from_point", x=0.02, y=0.02, image_index=0)
    assert not failed.ok
    refused(call("grasp_generator.compute_grasp", **given, image_index=0).error, "$segmentation_mask, which is gone")
    refused(call("robot.execute_grasp", grasp_pose="$grasp_pose").error, "$grasp_pose, which is gone")
    assert station.manipulator.holds() is None
