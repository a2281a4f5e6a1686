"""The edges of what the toolbox takes and keeps: old images, images that are none, declarations, long errors."""

import threading
from typing import Annotated, Any

import numpy as np
import pytest

from tests.refusals import refused
from toolhand.tool_nodes.results import ErrorCode, ToolResult
from toolhand.tool_nodes.stop_latch import StopLatch
from toolhand.tool_nodes.toolbox.arguments import (
    ArrayArgument,
    ImageIndex,
    InvalidValue,
    Level,
    NumberArgument,
    Text,
    image_at,
)
from toolhand.tool_nodes.toolbox.images import PackedImage, SessionImage, view_of
from toolhand.tool_nodes.toolbox.limits import CallHistory, CallLimiter, CallLimits
from toolhand.tool_nodes.toolbox.toolbox import Session, Toolbox, tool
from toolhand.tool_nodes.types import Frame


def make_image(seed: int = 0) -> SessionImage:
    rgb = np.random.default_rng(seed).integers(0, 256, (6, 8, 3), dtype=np.uint8)
    K = np.array([[50.0, 0.0, 4.0], [0.0, 60.0, 3.0], [0.0, 0.0, 1.0]])
    frame = Frame(rgb, np.ones((6, 8), np.float32), K, np.diag([1.0, -1.0, -1.0, 1.0]), 7.5, "wrist")
    return SessionImage(rgb, frame)


# -- images that are too old to be used --------------------------------------------------------


def test_a_packed_image_has_its_pixels_and_no_frame() -> None:
    for kept in (make_image(), SessionImage(make_image(1).rgb[::-1, ::2])):
        packed = PackedImage(kept)
        np.testing.assert_array_equal(packed.rgb, kept.rgb)
        assert packed.rgb.dtype == np.uint8
        assert (packed.shape, packed.frame, packed.window) == (kept.rgb.shape, None, None)
        assert isinstance(packed.packed, bytes)


@pytest.mark.parametrize(
    ("dropped", "asked", "oldest"),
    [((1, 2), 1, 3), ((1, 2), 2, 3), ((1, 2, 3), 1, 4), ((1,), 1, 2), ((0, 1, 2, 3), 0, 4), ((1, 2, 4), 2, 3)],
)
def test_a_dropped_image_is_told_with_those_that_are_left(dropped: tuple[int, ...], asked: int, oldest: int) -> None:
    images = [PackedImage(make_image(k)) if k in dropped else make_image(k) for k in range(5)]
    session = Session(images=list(images))
    with pytest.raises(InvalidValue) as caught:
        image_at(session, asked)
    assert str(caught.value) == (
        f"refers to image {asked}, which is too old and was dropped: usable are 0 and {oldest} to 4; "
        "look again with robot.capture_image"
    )
    assert caught.value.level is Level.INDEX
    kept = next(k for k in range(5) if k not in dropped)
    assert image_at(session, kept) is images[kept]


def test_the_view_of_a_part_has_its_principal_point_moved() -> None:
    frame = make_image().require_frame()
    whole, part = view_of(frame), make_image().cropped(3, 1, 7, 5).view
    assert part is not None
    np.testing.assert_allclose(whole.K, frame.K)
    np.testing.assert_allclose(part.K, [[50.0, 0.0, 1.0], [0.0, 60.0, 2.0], [0.0, 0.0, 1.0]])
    for view in (whole, part):
        assert (view.camera, view.stamp, view.K.dtype) == ("wrist", 7.5, np.float64)
        np.testing.assert_array_equal(view.T_base_camera, frame.T_base_camera)
    assert frame.K[0, 2] == 4.0


def test_another_focal_length_keeps_the_principal_point_and_how_high_a_pixel_is() -> None:
    np.testing.assert_allclose(make_image().intrinsics(100.0), [[100.0, 0.0, 4.0], [0.0, 120.0, 3.0], [0.0, 0.0, 1.0]])


# -- images that are none ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong",
    [
        np.zeros((4, 4, 3), np.float32),
        np.zeros((4, 4, 3), np.int16),
        np.zeros((4, 4), np.uint8),
        np.zeros((4, 4, 4), np.uint8),
        np.zeros((4, 4, 1), np.uint8),
        np.zeros((1, 4, 4, 3), np.uint8),
        np.zeros((0, 4, 3), np.uint8),
        np.zeros((4, 0, 3), np.uint8),
    ],
)
def test_what_a_tool_shows_is_an_image(wrong: Any) -> None:
    with refused(ErrorCode.INTERNAL) as caught:
        CallLimiter().check_image("draw", wrong)
    assert caught.value.message == f"draw made a picture of type {wrong.dtype} and shape {wrong.shape}."


@pytest.mark.parametrize(("height", "width", "fits"), [(10, 10, True), (11, 2, False), (2, 11, False), (1, 1, True)])
def test_an_image_has_sides_up_to_a_limit(height: int, width: int, fits: bool) -> None:
    limiter = CallLimiter(CallLimits(image_side=10))
    rgb = np.zeros((height, width, 3), np.uint8)
    if fits:
        limiter.check_image("draw", rgb)
        return
    with refused(ErrorCode.INVALID_ARGUMENT) as caught:
        limiter.check_image("draw", rgb)
    assert caught.value.message == f"draw: the picture would be {width}x{height}; a side may have 10 px."
    CallLimiter(CallLimits(image_side=2)).check_image("draw", np.zeros((2, 2, 3), np.uint8))


# -- declarations --------------------------------------------------------------------------------


class Declared:
    """Two tools, one with all that can be declared and one with nothing."""

    suite = "test"

    @tool("plain")
    def plain(self, text: Text) -> ToolResult:
        """Says nothing."""
        return ToolResult(text="")

    @tool(
        "full",
        aliases=("whole", "all"),
        renamed={"phrase": "text"},
        motion=True,
        stepwise=True,
        timeout_s=None,
        repeatable=True,
    )
    def full(
        self,
        text: Text,
        focal: Annotated[float, NumberArgument(0.0, 9.0, reference=True)] = 1.0,
        mask: Annotated[Any, ArrayArgument("mask (H, W)", (None, None), boolean=True)] = None,
    ) -> ToolResult:
        """Says
        more. And more.

        Args:
            text: What to
                say.
        """
        return ToolResult(text=text)


def test_a_tool_has_the_plain_defaults() -> None:
    class Own:
        suite = "test"
        plain = tool("plain")(Declared.plain)

    spec = Toolbox([Own()]).specs["plain"]
    assert (spec.name, spec.suite, spec.description) == ("plain", "test", "Says nothing.")
    assert (spec.aliases, dict(spec.renamed), spec.motion, spec.stepwise) == ((), {}, False, False)
    assert (spec.timeout_s, spec.repeatable, spec.required, spec.given) == (30.0, False, ("text",), ())


def test_what_is_declared_of_a_tool_is_what_it_has() -> None:
    def again(function: Any) -> Any:
        return tool(
            "full",
            aliases=iter(("whole", "all")),
            renamed={"phrase": "text"},
            motion=True,
            stepwise=True,
            timeout_s=None,
            repeatable=True,
        )(function)

    class Own:
        suite = "test"
        full = again(Declared.full)

    box = Toolbox([Own()])
    spec = box.specs["full"]
    assert (spec.aliases, dict(spec.renamed), spec.motion, spec.stepwise) == (
        ("whole", "all"),
        {"phrase": "text"},
        True,
        True,
    )
    assert (spec.timeout_s, spec.repeatable, spec.required) == (None, True, ("text",))
    assert box.find("whole") is box.find("all") is spec
    assert box.is_motion("all")
    assert not box.is_motion("nothing")


def test_only_a_motion_is_a_job_that_a_stop_ends() -> None:
    class Moving(Declared):
        jobs = 0

        def job(self) -> Any:
            self.jobs += 1
            return StopLatch().job()

    provider = Moving()
    box = Toolbox([provider])
    for name, jobs in (("plain", 0), ("full", 1), ("plain", 1)):
        assert box.call(name, {"text": "a"}, Session()).result.error is None
        assert provider.jobs == jobs


@pytest.mark.parametrize("printed", [True, False])
def test_a_provider_says_whether_its_tools_are_those_of_a_paper(printed: bool) -> None:
    provider = Declared()
    provider.printed = printed  # type: ignore[attr-defined]
    assert Toolbox([provider]).specs["plain"].printed is printed


def test_a_schema_describes_what_is_documented_and_names_what_a_variable_must_hold() -> None:
    (schema,) = [one for one in Toolbox([Declared()]).schemas() if one["function"]["name"] == "full"]
    function = schema["function"]
    assert function["description"] == "Says more. And more."
    assert function["parameters"]["required"] == ["text"]
    properties = function["parameters"]["properties"]
    assert list(properties) == ["text", "focal", "mask"]
    assert properties["text"]["description"] == "What to say."
    assert "description" not in properties["focal"]
    number, reference = properties["focal"]["anyOf"]
    assert number["type"] == "number"
    assert reference["description"] == "variable holding a number"
    assert properties["mask"]["description"] == "variable holding a mask (H, W)"


def test_the_newest_frame_is_that_of_the_newest_image_that_has_one() -> None:
    first, second = make_image(0), make_image(1)
    assert Session().newest_frame() is None
    assert Session(images=[SessionImage(first.rgb)]).newest_frame() is None
    images = [first, second, SessionImage(first.rgb)]
    assert Session(images=images).newest_frame() is second.frame


# -- errors, threads, the same call again --------------------------------------------------------


def test_many_problems_are_told_up_to_a_length_and_then_counted() -> None:
    limiter = CallLimiter(CallLimits(error_characters=20))
    assert limiter.joined([]) == ""
    assert limiter.joined(["a" * 30]) == "a" * 30
    assert limiter.joined(["a" * 10, "b" * 10]) == f"{'a' * 10}; {'b' * 10}"
    assert "b" not in limiter.joined(["a" * 10, "b" * 11])


def test_a_call_with_a_deadline_has_a_thread_of_its_own_that_holds_nobody_up() -> None:
    seen: list[threading.Thread] = []

    def work() -> ToolResult:
        seen.append(threading.current_thread())
        return ToolResult(text="done")

    assert CallLimiter().run("look", work, 5.0).text == "done"
    assert (seen[0].name, seen[0].daemon) == ("tool look", True)


def test_the_same_values_in_another_order_are_the_same_call() -> None:
    limiter, history = CallLimiter(), CallHistory()
    assert limiter.note(history, "say", {"a": 1, "b": [1, {"x": 2, "y": 3}]}, False) == 1
    assert limiter.note(history, "say", {"b": [1, {"y": 3, "x": 2}], "a": 1}, False) == 2
    assert limiter.note(history, "say", {"b": [1, {"y": 3, "x": 4}], "a": 1}, False) == 1


class Wrong:
    """Tools that answer with what is no answer."""

    suite = "test"

    @tool("none")
    def none(self) -> ToolResult:
        """Gives nothing."""
        return "a text"  # type: ignore[return-value]

    @tool("shown")
    def shown(self, image_index: ImageIndex) -> ToolResult:
        """Gives a picture of another size."""
        return ToolResult(text="", image=np.zeros((3, 3, 3), np.uint8))


def test_an_answer_that_is_none_is_an_error_of_the_tool() -> None:
    error = Toolbox([Wrong()]).call("none", {}, Session()).result.error
    assert error is not None
    assert error.code is ErrorCode.INTERNAL
    assert error.message == "none failed inside: TypeError: it returned str, not a ToolResult."


def test_a_drawing_of_another_size_has_no_frame_and_its_own_pixels() -> None:
    session = Session(images=[make_image()])
    Toolbox([Wrong()]).call("shown", {"image_index": 0}, session)
    assert session.images[1].frame is None
    assert session.images[1].rgb.shape == (3, 3, 3)
    foreign = Session(images=[SessionImage(make_image().rgb)])
    Toolbox([Wrong()]).call("shown", {"image_index": 0}, foreign)
    assert foreign.images[1].rgb.shape == (3, 3, 3)
