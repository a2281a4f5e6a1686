"""Whatever a model asks of whichever tool: an answer, or one sentence that says what is wrong; never a crash."""

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolhand.tool_nodes.ports import Camera
from toolhand.tool_nodes.results import ErrorCode, ToolResult
from toolhand.tool_nodes.toolbox.arguments import VARIABLE
from toolhand.tool_nodes.toolbox.toolbox import CallRecord, Session, Toolbox
from toolhand.tool_nodes.tools.spacetools.bounding_box import BoundingBoxTools
from toolhand.tool_nodes.tools.spacetools.grasping import GraspAlternatives
from toolhand.tool_nodes.tools.spacetools.robot import RobotTools
from toolhand.tool_nodes.tools.suites import Backends, make_toolbox


def tool_names() -> list[str]:
    """Every tool's name; with nothing behind the tools, this is quick."""
    nothing = cast(Any, SimpleNamespace(backend="none"))
    robot = RobotTools(cast(Camera, nothing), nothing)
    seeing = (nothing, nothing, nothing, nothing, nothing)  # pointer, detector, segmenter, depth, reader
    backends = Backends(*seeing, GraspAlternatives(), BoundingBoxTools(), robot, nothing)
    return sorted(make_toolbox(backends).specs)


NAMES = tool_names()
EXAMPLES = {name: 6 if name.startswith("code") or "ocr" in name or "spotting" in name else 20 for name in NAMES}
"""Fewer for tools that take longer."""

# No shrinking into the budget of a passing run: the examples are the same every time.
QUICK = settings(
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]
)

WORDS = [
    "red box",
    "the largest red circle",
    "coconut water",
    "violin",
    "free table left of the red box",
    "red box . bin",
    "image-0",
    "image-1",
    "image-12",
    "image-99",
    "image--1",
    "image-0.png",
    "/etc/passwd",
    "../image-0",
    r"\boxed{100,200,600,700}",
    r"\boxed{0, 0, 1000, 1000}",
    "\x08oxed{100,200,300,400}",
    r"\boxed{5,5,5,5}",
    r"\boxed{600,200,100,700}",
    r"\boxed{nan,0,inf,1e999}",
    r"\boxed{0,0,1000,1000,}",
    r"\boxed{}",
    r"\boxed{1,2}",
    "1 + 1",
    "result = mask.sum()",
    "depth.mean()",
    "raise SystemExit",
    "import os",
    "((((",
    "x" * 300,
    "x" * 301,
]

JUNK: list[Any] = [
    None,
    True,
    False,
    float("nan"),
    float("inf"),
    -float("inf"),
    -0.0,
    5e-324,
    1e308,
    10**400,
    -(10**400),
    2**63,
    -1,
    10**9,
    0.5,
    "",
    "  ",
    "\n",
    "\x00",
    "\ud800",
    "a\ud83d",
    "é\u0301",
    "\u202e",
    "😀" * 40,
    "x" * 10**6,
    "$",
    "$no",
    "$mask\n",
    "$mask.T",
    [],
    {},
    [[]],
    [[[]]],
    [None],
    [True],
    ["a"],
    [float("nan")] * 4,
    [[0.5, float("inf")]],
    [10**400] * 4,
    [[10**400, 0]],
    [[0, 0], [0]],
    [0.5] * 5000,
    [[0.5, 0.5]] * 5001,
    {"a": {"b": [1]}},
    [{"x": 1}],
    [5, 5, 5, 5],
    [9, 9, 1, 1],
    [[5, 5, 5, 5]],
    [[9, 9, 1, 1]],
    [0, 0, 1e9, 1e9],
    [[-1, -1]],
    [[[0, 0], [1, 1]]],
    [[[0, 0]]],
    [[[0, 0]] * 8],
    [[[0, 0], [10**6, 10**6]]],
    "0.5",
    "[0.5, 0.5]",
    "0",
]

ORDINARY: dict[str, Any] = {
    "image_index": 0,
    "image_idx": 0,
    "img_path": "image-0",
    "obj_name": "red box",
    "text_prompt": "red box",
    "question": "red box",
    "text_labels": ["red box"],
    "text": "red box",
    "data": "$depth",
    "point_cloud": "$cloud",
    "mask": "$mask",
    "focal_length_px": "$focal",
    "grasp_pose": "$pose",
    "expression": "1 + 1",
    "code": "result = 1",
    "bounding_box": r"\boxed{200,200,400,500}",
    "bbox_2d": [100, 100, 300, 200],
    "boxes": [[100, 100, 300, 200]],
    "boxes_3d": [[[10, 10], [90, 10], [90, 90], [10, 90], [30, 30], [110, 30], [110, 110], [30, 110]]],
    "trajectories": [[[10, 10], [300, 200]]],
    "coordinates": [[100, 100], [300, 200]],
    "position": [500, 500],
    "points": [[0.25, 0.25], [0.3, 0.3]],
    "draw_path.points": [[100, 100], [300, 200]],
    "draw_point.points": [[100, 100], [300, 200]],
    "x": 0.27,
    "y": 0.31,
    "u": 0.5,
    "v": 0.5,
    "point": [0.27, 0.31],
    "place": {"relation": "next_to", "references": [{"name": "it", "points": [[0.27, 0.31]]}]},
    "placement_point_2d": [0.5, 0.9],
    "placement_point_3d": [0.0, 0.0, 1.0],
    "box": [100, 100, 300, 200],
}
"""An argument that suits every tool that has it."""

SIDES = st.sampled_from([0, 1, 5, 28, 60, 99.5, 100])
"""Coordinates that lie in many images [px]."""
WILD = st.floats(-1e4, 1e4) | st.sampled_from([-0.0, 120, 480, 640, 1000, 1e300, -1, 5e-324])

REFERENCES = {
    "mask": ["mask", "all_mask", "empty_mask", "small_mask", "one_mask", "no_mask"],
    "point_cloud": ["cloud", "unknown_cloud", "infinite_cloud", "huge_cloud", "zero_cloud", "small_cloud", "no_cloud"],
    "focal_length_px": ["focal", "tiny_focal", "large_focal"],
    "grasp_pose": ["pose", "mirrored", "unknown_pose", "far_pose"],
    "points": ["points", "point"],
    "image_index": ["image", "crop", "foreign"],
}
"""Variables that may suit an argument."""


def ordered(sides: Sequence[float]) -> list[float]:
    """The corners of a box in their order; its sides may still be nothing."""
    x1, y1, x2, y2 = sides
    return [min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2)]


FOUR = st.lists(st.integers(0, 1000), min_size=4, max_size=4)
BOXES = (FOUR.map(ordered) | FOUR).map(lambda sides: f"\\boxed{{{','.join(map(str, sides))}}}")
PLACES = st.lists(st.integers(0, 1000), min_size=2, max_size=6).map(
    lambda numbers: f"\\boxed{{{', '.join(map(str, numbers))}}}"
)


def values_of(schema: Mapping[str, Any], name: str, numbers: st.SearchStrategy[float]) -> st.SearchStrategy[Any]:
    """Values that the JSON schema of an argument allows, often at its bounds.

    Args:
        schema: Of the argument, or of a part of it.
        name: Of the argument.
        numbers: For numbers that the schema does not bound.
    """
    if "anyOf" in schema:
        return st.one_of([values_of(one, name, numbers) for one in schema["anyOf"]])
    kind, pattern = schema["type"], schema.get("pattern")
    if kind == "number":
        low, high = schema.get("minimum", schema.get("exclusiveMinimum")), schema.get("maximum")
        if low is None or high is None:
            return numbers if low is None else st.floats(low, exclude_min=True)
        return st.sampled_from([low, high]) | st.floats(low, high) | st.integers(int(low), int(high))
    if kind == "integer":
        return st.integers(schema["minimum"], min(schema.get("maximum", 13), 13))
    if pattern == VARIABLE.pattern:
        return st.sampled_from(REFERENCES.get(name, ["depth", "mask", "image", "cloud"])).map(lambda word: f"${word}")
    if pattern and "boxed" in pattern:
        return BOXES if "box" in name else PLACES | BOXES
    if pattern and "image-" in pattern:
        return st.integers(0, 14).map(lambda number: f"image-{number}")
    if kind == "object":
        inner = {key: values_of(one, key, numbers) for key, one in schema["properties"].items()}
        needed = {key: inner.pop(key) for key in schema["required"]}
        return st.fixed_dictionaries(needed, optional=inner)
    if kind == "boolean":
        return st.booleans()
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if kind == "string":
        return st.sampled_from(WORDS) | st.text(min_size=1, max_size=20)
    low, high = schema.get("minItems", 0), schema.get("maxItems", 10)
    inner = values_of(schema["items"], name, numbers)
    found = st.lists(inner, min_size=low, max_size=max(low, min(high, low + 3)))
    return found.map(ordered) | found if "box" in name and high == 4 else found


@st.composite
def calls(draw: st.DrawFn, schema: Mapping[str, Any], names: list[str]) -> dict[str, Any]:
    """Arguments of a tool: mostly as its schema says, with something wrong here and there.

    Args:
        draw: Given by hypothesis.
        schema: The tool's.
        names: Of all variables of the conversation.
    """
    parameters = schema["function"]["parameters"]
    arguments = {}
    for name, one in parameters["properties"].items():
        if name not in parameters["required"] and draw(st.booleans()):
            continue
        choice = draw(st.integers(0, 19))
        if choice == 0:
            arguments[name] = draw(st.sampled_from(JUNK) | st.text(max_size=12))
        elif choice == 1:
            arguments[name] = f"${draw(st.sampled_from(names))}"
        else:
            arguments[name] = draw(values_of(one, name, WILD if choice == 2 else SIDES))
    if draw(st.integers(0, 19)) == 0:
        arguments[draw(st.sampled_from(["session", "self", "image", "", "x" * 500, "\ud800"]))] = draw(
            st.sampled_from(JUNK)
        )
    return arguments


def check(record: CallRecord, session: Session, before: Session) -> None:
    """What holds for every call."""
    result = record.result
    result.text.encode()
    if result.error is not None:
        error = result.error
        assert error.code is not ErrorCode.INTERNAL, error.message
        assert error.message
        assert "\n" not in str(error)
        assert len(error.message) <= 400
        assert len(str(error)) <= 1500
        assert result.text == f"Error {error.code}: {error}"
        assert record.image_index is None
        assert result.image is None
        assert session.images == before.images
        assert session.variables == before.variables
        return
    assert result.text.strip()
    assert len(result.text) < 20_200
    assert len(session.images) == len(before.images) + (result.image is not None)
    if result.image is not None:
        assert record.image_index == len(before.images)
        check_image(session, result.image)
    assert set(session.variables) == set(before.variables) | set(result.variables)
    for name in result.variables:
        assert VARIABLE.fullmatch(f"${name}")


def check_image(session: Session, image: np.ndarray) -> None:
    """The newest image of a conversation is one, and its link to a camera frame is right."""
    kept = session.images[-1]
    assert np.array_equal(kept.rgb, image)
    assert kept.rgb.dtype == np.uint8
    assert kept.rgb.ndim == 3
    assert kept.rgb.shape[2] == 3
    assert min(kept.rgb.shape) > 0
    if kept.frame is not None:
        assert kept.cut(kept.frame.depth).shape == kept.rgb.shape[:2]


def same(a: Any, b: Any) -> bool:
    """Equal, to the last bit, NaN included."""
    if isinstance(a, np.ndarray):
        return type(b) is np.ndarray and a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    if isinstance(a, Mapping):
        return set(a) == set(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if hasattr(a, "__dataclass_fields__"):
        names = a.__dataclass_fields__.keys() - {"origin"}  # an identity, which no two images share
        return type(a) is type(b) and all(same(getattr(a, name), getattr(b, name)) for name in names)
    return bool(a == b or (a != a and b != b))


def same_result(a: ToolResult, b: ToolResult) -> bool:
    fields = ("text", "image", "variables", "value")
    return str(a.error) == str(b.error) and all(same(getattr(a, name), getattr(b, name)) for name in fields)


@pytest.mark.parametrize("name", NAMES)
def test_any_arguments_have_an_answer_or_one_sentence(
    name: str, box: Toolbox, make_session: Callable[[bool], Session]
) -> None:
    schema = box.specs[name].schema()

    @settings(QUICK, max_examples=EXAMPLES[name])
    @given(calls(schema, list(make_session(False).variables)), st.integers(0, 15).map(lambda k: k == 7))
    def examples(arguments: dict[str, Any], empty: bool) -> None:
        session, before = make_session(empty), make_session(empty)
        check(box.call(name, arguments, session), session, before)

    examples()


def test_every_argument_has_an_ordinary_value(box: Toolbox) -> None:
    assert set(box.specs) == set(NAMES)
    unknown = {name for spec in box.specs.values() for name in spec.required if name not in ORDINARY}
    assert unknown == set()


@pytest.mark.parametrize("name", NAMES)
def test_an_ordinary_call_has_the_same_answer_from_two_stations_of_one_seed(
    name: str, twins: tuple[Toolbox, Toolbox], make_session: Callable[[bool], Session]
) -> None:
    required = [*twins[0].specs[name].required, *(["box"] if name == "ZoomCrop" else [])]
    arguments = {argument: ORDINARY.get(f"{name}.{argument}", ORDINARY[argument]) for argument in required}
    results = []
    for toolbox in twins:
        session = make_session(False)
        record = toolbox.call(name, arguments, session)
        check(record, session, make_session(False))
        error = record.result.error
        assert error is None or (record.motion and error.code is ErrorCode.PLAN_FAILED), record.result.text
        results.append(record.result)
    assert same_result(*results)
