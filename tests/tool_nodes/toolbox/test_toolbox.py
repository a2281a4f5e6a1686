"""The toolbox: schemas from signatures, checks before calls, failures as results."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolhand.tool_nodes.results import ErrorCode, ToolError, ToolResult
from toolhand.tool_nodes.toolbox.arguments import Data, ImageIndex, Mask, Point2D, Text, Unit
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.toolbox.toolbox import CallRecord, Session, Toolbox, tool
from toolhand.tool_nodes.types import Frame


def frame(value: int = 0) -> Frame:
    rgb = np.full((4, 6, 3), value, np.uint8)
    return Frame(rgb, np.ones((4, 6), np.float32), np.eye(3), np.eye(4), stamp=float(value))


class Tools:
    """Fakes, one for every way in which a call can end."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []

    @tool("robot.capture_image", aliases=["camera.capture"])
    def capture(self) -> ToolResult:
        """Capture an image."""
        seen = frame(len(self.calls))
        self.calls.append({})
        return ToolResult(text="Captured.", image=seen.rgb, variables={"captured_image": SessionImage(seen.rgb, seen)})

    @tool("sam2.segment", renamed={"image": "image_index"})
    def segment(self, x: Unit, y: Unit, image_index: ImageIndex) -> ToolResult:
        """Segment the object at a point.

        The mask has the
        size of the image.

        Args:
            x: Normalized x, from
                the left.
            y: Normalized y.
            image_index: Index of the image.
        """
        self.calls.append({"x": x, "y": y, "image": image_index})
        mask = np.ones(image_index.rgb.shape[:2], bool)
        return ToolResult(mask, "Segmented.", image=image_index.rgb + np.uint8(1), variables={"mask": mask})

    @tool("sam2.area")
    def area(self, mask: Mask, label: Text = "thing") -> ToolResult:
        """Count pixels."""
        self.calls.append({"mask": mask, "label": label})
        return ToolResult(int(mask.sum()), f"{label}: {int(mask.sum())} px")

    @tool("robot.place", motion=True)
    def place(self, point: Point2D) -> ToolResult:
        """Place the held object."""
        raise ToolError(ErrorCode.NOT_HOLDING, "The gripper is empty.", "Grasp first.")

    @tool("image.widen")
    def widen(self, image_index: ImageIndex) -> ToolResult:
        """Add a colour bar."""
        return ToolResult(image=np.concatenate([image_index.rgb, image_index.rgb], axis=1))

    @tool("test.crash")
    def crash(self, data: Data) -> ToolResult:
        """Fail inside."""
        raise ZeroDivisionError("division by zero")

    @tool("test.partial")
    def partial(self) -> ToolResult:
        """Fail, with leftovers."""
        error = ToolError(ErrorCode.NO_DEPTH, "No depth.")
        return ToolResult(image=frame().rgb, variables={"leftover": 1}, error=error)

    @tool("test.none")
    def nothing(self) -> ToolResult:
        """Forget the result."""
        return None  # type: ignore[return-value]


def error_of(record: CallRecord) -> ToolError:
    assert record.result.error is not None
    return record.result.error


def refusal(name: str, arguments: Any, session: Session | None = None) -> str:
    tools = Tools()
    error = error_of(Toolbox([tools]).call(name, arguments, session or Session()))
    assert error.code is ErrorCode.INVALID_ARGUMENT
    assert tools.calls == []
    return error.message


def test_the_schema_is_the_signature_and_the_docstring() -> None:
    schema = next(s for s in Toolbox([Tools()]).schemas() if s["function"]["name"] == "sam2.segment")
    assert schema == {
        "type": "function",
        "function": {
            "name": "sam2.segment",
            "description": "Segment the object at a point. The mask has the size of the image.",
            "parameters": {
                "type": "object",
                "properties": {
                    "x": {
                        "type": "number",
                        "minimum": 0.0,
                        "maximum": 1.0,
                        "description": "Normalized x, from the left.",
                    },
                    "y": {"type": "number", "minimum": 0.0, "maximum": 1.0, "description": "Normalized y."},
                    "image_index": {
                        "anyOf": [
                            {"type": "integer", "minimum": 0},
                            {
                                "type": "string",
                                "pattern": r"^\$[A-Za-z_]\w*$",
                                "description": "variable holding a picture",
                            },
                        ],
                        "description": "Index of the image.",
                    },
                },
                "required": ["x", "y", "image_index"],
                "additionalProperties": False,
            },
        },
    }


def test_schemas_are_sorted_by_name_and_arguments_with_defaults_are_optional() -> None:
    schemas = [schema["function"] for schema in Toolbox([Tools()]).schemas()]
    names = [schema["name"] for schema in schemas]
    assert names == sorted(names)
    assert "camera.capture" not in names
    assert schemas[names.index("sam2.area")]["parameters"]["required"] == ["mask"]


def test_an_argument_without_a_kind_is_refused_when_the_toolbox_is_built() -> None:
    class Untyped:
        @tool("test.untyped")
        def run(self, x: float) -> ToolResult:
            """No kind."""
            return ToolResult(x)

    with pytest.raises(TypeError, match=r"test\.untyped: argument 'x' needs a kind"):
        Toolbox([Untyped()])


def test_two_tools_of_one_name_are_refused_when_the_toolbox_is_built() -> None:
    with pytest.raises(ValueError, match="two tools are called"):
        Toolbox([Tools(), Tools()])


def test_a_call_resolves_images_and_variables_and_keeps_what_it_returns() -> None:
    tools, session = Tools(), Session()
    box = Toolbox([tools])
    assert box.call("robot.capture_image", {}, session).image_index == 0
    record = box.call("sam2.segment", {"x": 0.5, "y": 0, "image_index": 0}, session)
    assert record.image_index == 1
    assert session.variables["mask"] is record.result.variables["mask"]
    area = box.call("sam2.area", {"mask": "$mask"}, session)
    assert area.result.ok
    assert area.result.value == 24
    assert area.image_index is None
    assert tools.calls[-1]["mask"] is session.variables["mask"]
    assert tools.calls[-1]["label"] == "thing"


def test_a_new_value_replaces_a_variable_and_images_keep_their_indices() -> None:
    session = Session()
    box = Toolbox([Tools()])
    first, second = (box.call("robot.capture_image", {}, session) for _ in range(2))
    assert (first.image_index, second.image_index) == (0, 1)
    assert session.images[0].rgb is first.result.image
    assert session.variables["captured_image"].rgb is second.result.image
    newest = session.newest_frame()
    assert newest is not None
    assert newest.stamp == 1.0


@pytest.mark.parametrize("image", [{"image_index": 0}, {"image": 0}, {"image_index": "$captured_image"}])
def test_a_drawing_keeps_the_frame_it_was_drawn_on_however_the_image_was_named(image: dict[str, Any]) -> None:
    session = Session()
    box = Toolbox([Tools()])
    box.call("robot.capture_image", {}, session)
    record = box.call("sam2.segment", {"x": 0.5, "y": 0.5, **image}, session)
    assert record.result.ok
    assert session.images[1].frame is session.images[0].frame is not None


def test_an_image_of_another_size_has_no_frame() -> None:
    session = Session()
    box = Toolbox([Tools()])
    box.call("robot.capture_image", {}, session)
    box.call("image.widen", {"image_index": 0}, session)
    assert session.images[1].frame is None


def test_aliases_and_renamed_arguments_reach_the_same_tool() -> None:
    tools, session = Tools(), Session()
    box = Toolbox([tools])
    assert box.call("camera.capture", {}, session).result.text == "Captured."
    assert box.call("sam2.segment", {"x": 0, "y": 0, "image": 0}, session).result.ok
    assert tools.calls[-1]["image"] is session.images[0]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"x": "0.5", "y": 0, "image_index": 0}, "argument 'x' must be a number, got '0.5'"),
        ({"x": float("nan"), "y": 0, "image_index": 0}, "argument 'x' must be a finite number, got nan"),
        ({"x": 0, "y": 320, "image_index": 0}, "argument 'y' must be between 0 and 1, got 320"),
        ({"x": 0, "y": 10**400, "image_index": 0}, "argument 'y' must be a finite number"),
        ({"x": 0, "y": 0}, "argument 'image_index' is missing"),
        ({"x": 0, "y": 0, "image_index": 7}, "argument 'image_index' must be between 0 and 0, got 7"),
        ({"x": 0, "y": 0, "image_index": -1}, "argument 'image_index' must be between 0 and 0, got -1"),
        ({"x": 0, "y": 0, "image_index": 0, "z": 1}, "argument 'z' is unknown; allowed: x, y, image_index"),
        ({"x": 0, "y": 0, "image_index": 0, "image": 0}, "argument 'image' is given twice"),
        ([0.5, 0.5, 0], "arguments must be a JSON object, got list"),
        (None, "arguments must be a JSON object, got NoneType"),
    ],
)
def test_wrong_arguments_are_refused_with_a_sentence_before_the_tool_runs(arguments: Any, sentence: str) -> None:
    message = refusal("sam2.segment", arguments, Session(images=[SessionImage(frame().rgb, frame())]))
    assert message.startswith("sam2.segment: ")
    assert sentence in message


def test_all_wrong_arguments_are_named_at_once() -> None:
    message = refusal("sam2.segment", {"x": 2, "why": 1})
    assert message == (
        "sam2.segment: argument 'why' is unknown; allowed: x, y, image_index; argument 'y' is missing; "
        "argument 'image_index' is missing; argument 'x' must be between 0 and 1, got 2."
    )


def test_a_missing_variable_and_a_misshapen_mask_are_refused() -> None:
    session = Session(variables={"mask": np.ones(24, bool)})
    assert "refers to $gone, which does not exist; known variables: $mask (boolean array, 24)" in refusal(
        "sam2.area", {"mask": "$gone"}, session
    )
    assert "must be a boolean segmentation mask (H, W), got shape (24,)" in refusal(
        "sam2.area", {"mask": "$mask"}, session
    )


def test_an_unknown_tool_is_answered_with_the_nearest_names() -> None:
    error = error_of(Toolbox([Tools()]).call("robot.captur_image", {}, Session()))
    assert error.code is ErrorCode.UNKNOWN_TOOL
    assert error.message == "There is no tool 'robot.captur_image'."
    assert error.hint.startswith("Did you mean robot.capture_image")


def test_a_name_that_resembles_nothing_is_answered_with_all_tools_and_cut() -> None:
    error = error_of(Toolbox([Tools()]).call("§" * 1000, {}, Session()))
    assert error.code is ErrorCode.UNKNOWN_TOOL
    assert len(error.message) < 100
    assert "robot.capture_image, robot.place, sam2.area" in error.hint


def test_an_error_of_the_tool_is_its_result_and_its_text_names_the_code() -> None:
    record = Toolbox([Tools()]).call("robot.place", {"point": [0.5, 0.5]}, Session())
    assert not record.result.ok
    assert record.result.text == "Error NOT_HOLDING: The gripper is empty. Grasp first."


def test_a_crash_is_an_internal_error_that_names_tool_and_cause() -> None:
    record = Toolbox([Tools()]).call("test.crash", {"data": np.zeros((2, 2))}, Session())
    error = error_of(record)
    assert error.code is ErrorCode.INTERNAL
    assert error.message == "test.crash failed inside: ZeroDivisionError: division by zero."
    assert isinstance(error.__cause__, ZeroDivisionError)


def test_a_tool_that_returns_no_result_is_an_internal_error() -> None:
    error = error_of(Toolbox([Tools()]).call("test.none", {}, Session()))
    assert error.code is ErrorCode.INTERNAL
    assert "NoneType" in error.message


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("robot.place", {"point": [0.5, 0.5]}), ("test.crash", {"data": np.zeros(2)}), ("test.partial", {}), ("gone", {})],
)
def test_nothing_enters_the_session_when_a_call_fails(name: str, arguments: dict[str, Any]) -> None:
    session = Session(variables={"mask": 1})
    record = Toolbox([Tools()]).call(name, arguments, session)
    assert not record.result.ok
    assert record.image_index is None
    assert session.variables == {"mask": 1}
    assert session.images == []


def test_a_record_holds_the_arguments_as_they_were_written() -> None:
    box = Toolbox([Tools()])
    written = {"mask": "$gone"}
    record = box.call("sam2.area", written, Session())
    written["mask"] = "changed"
    assert record.arguments == {"mask": "$gone"}
    assert box.call("sam2.area", [1], Session()).arguments == {"arguments": [1]}
    assert record.wall_s >= 0.0


def test_only_motion_tools_are_motions() -> None:
    box = Toolbox([Tools()])
    assert box.is_motion("robot.place")
    assert not box.is_motion("robot.capture_image")
    assert not box.is_motion("no.such.tool")


def test_a_record_says_whether_its_tool_moves_the_robot() -> None:
    box = Toolbox([Tools()])
    assert box.call("robot.place", {"point": [0.5, 0.5]}, Session()).motion
    assert not box.call("robot.capture_image", {}, Session()).motion
    assert not box.call("no.such.tool", {}, Session()).motion


def test_names_that_are_only_half_alike_are_told_too() -> None:
    with pytest.raises(ToolError) as caught:
        Toolbox([Tools()]).find("segment_mask")
    assert caught.value.hint == "Did you mean sam2.segment?"


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(["$captured_image", "$mask", "$mask\n", "$"]),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.text(max_size=8), children, max_size=3),
    max_leaves=10,
)
NAMES = st.sampled_from([*Toolbox([Tools()]).specs, "camera.capture"]) | st.text(max_size=20)
KEYS = st.sampled_from(["x", "y", "image", "image_index", "mask", "label", "point", "data"]) | st.text(max_size=5)


@given(NAMES, JSON | st.dictionaries(KEYS, JSON, max_size=4))
def test_arbitrary_json_arguments_never_raise_and_never_crash_a_tool(name: str, arguments: Any) -> None:
    seen = frame()
    session = Session({"captured_image": SessionImage(seen.rgb, seen), "mask": np.ones((4, 6), bool)})
    record = Toolbox([Tools()]).call(name, arguments, session)
    error = record.result.error
    if error is None:
        assert not record.result.text.startswith("Error")
    elif error.code is ErrorCode.INTERNAL:
        assert name in ("test.crash", "test.none")
    else:
        assert record.result.text == f"Error {error.code}: {error}"
        assert session.images == []
