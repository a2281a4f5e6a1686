"""Argument kinds: what they accept, and the sentence they refuse with."""

import re
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.toolbox import arguments as kinds
from toolhand.tool_nodes.toolbox.arguments import ArgumentType, InvalidValue, Level
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.toolbox.toolbox import Session
from toolhand.tool_nodes.tools.evic.visual_tools import ImageNumberArgument

ALL_KINDS = [
    kinds.Text,
    kinds.Unit,
    kinds.FocalLength,
    kinds.ImageIndex,
    kinds.Data,
    kinds.Mask,
    kinds.PointCloud,
    kinds.Points2D,
    kinds.Point2D,
    kinds.Point3D,
    kinds.Pose,
]


def kind_of(annotation: Any) -> ArgumentType:
    return get_args(annotation)[1]


def session() -> Session:
    image = np.zeros((4, 6, 3), np.uint8)
    return Session(
        variables={
            "mask": np.ones((4, 6), bool),
            "depth": np.full((4, 6), 0.5, np.float32),
            "cloud": np.zeros((24, 3), np.float32),
            "focal": 600.0,
            "point": (0.25, 0.75),
            "picture": SessionImage(image, None),
            "broken": [[1.0, 2.0], [3.0]],
        },
        images=[SessionImage(image, None)],
    )


def parse(annotation: Any, value: Any) -> Any:
    return kind_of(annotation).parse(value, session())


def refusal(annotation: Any, value: Any) -> str:
    with pytest.raises(InvalidValue) as caught:
        parse(annotation, value)
    return str(caught.value)


@pytest.mark.parametrize("value", [0, 1, 0.5, np.float32(0.5), np.int64(1)])
def test_a_unit_number_in_range_becomes_a_float(value: Any) -> None:
    number = parse(kinds.Unit, value)
    assert type(number) is float
    assert number == float(value)


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (True, "must be a number, got True"),
        ("0.5", "must be a number, got '0.5'"),
        (None, "must be a number, got None"),
        ([0.5], "must be a number, got [0.5]"),
        (float("nan"), "must be a finite number, got nan"),
        (float("inf"), "must be a finite number, got inf"),
        (10**400, "must be a finite number, got an integer beyond the range of a float"),
        (-0.1, "must be between 0 and 1, got -0.1"),
        (1.5, "must be between 0 and 1, got 1.5"),
        ("$focal", "must be a number, got '$focal'"),
    ],
)
def test_a_unit_number_is_refused_with_a_sentence(value: Any, sentence: str) -> None:
    assert refusal(kinds.Unit, value).startswith(sentence)


def test_a_focal_length_may_come_from_a_variable_and_must_be_positive() -> None:
    assert parse(kinds.FocalLength, "$focal") == 600.0
    assert refusal(kinds.FocalLength, 0) == "must be greater than 0 and at most 1e+06, got 0"
    assert refusal(kinds.FocalLength, "$mask").startswith("must be a number, got array(")
    assert refusal(kinds.FocalLength, "$") == "must be a variable such as $name, got '$'"
    assert refusal(kinds.FocalLength, "$a b") == "must be a variable such as $name, got '$a b'"


def test_an_unknown_variable_is_refused_with_those_that_exist() -> None:
    sentence = refusal(kinds.Mask, "$segmentation_mask")
    assert sentence.startswith("refers to $segmentation_mask, which does not exist")
    for known in ("$mask (boolean array, 4x6)", "$depth (numpy array, 4x6)", "$focal (float)", "$point (list of 2)"):
        assert known in sentence
    assert "$picture (image, 4x6x3)" in sentence


def test_without_variables_the_sentence_says_so() -> None:
    with pytest.raises(InvalidValue, match="known variables: none yet"):
        kind_of(kinds.Mask).parse("$mask", Session())


def test_a_text_is_stripped_and_never_resolved() -> None:
    assert parse(kinds.Text, "  red box ") == "red box"
    assert parse(kinds.Text, "$mask") == "$mask"


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ("   ", "must have 1 to 300 characters, got 0"),
        ("x" * 301, "must have 1 to 300 characters, got 301"),
        (7, "must be a string, got 7"),
    ],
)
def test_a_text_is_refused_when_empty_too_long_or_no_string(value: Any, sentence: str) -> None:
    assert refusal(kinds.Text, value) == sentence


def test_a_text_may_have_all_characters_that_are_allowed() -> None:
    assert parse(kinds.Text, f" {'x' * 300} ") == "x" * 300


@pytest.mark.parametrize(
    ("value", "described"), [(7, "int"), ("seven", "str"), ({}, "dict"), ((1, 2), "list of 2"), (0.5, "float")]
)
def test_a_value_is_described_by_its_kind(value: Any, described: str) -> None:
    assert kinds.describe(value) == described


def test_a_value_is_shown_in_one_line_of_60_characters() -> None:
    assert kinds.show(np.zeros((2, 1))) == "array([[0.],        [0.]])"
    assert kinds.shortened("x" * 60) == "x" * 60
    assert kinds.shortened("x" * 61) == "x" * 57 + "..."


def test_an_image_is_found_by_its_index_or_by_a_variable() -> None:
    here = session()
    assert kind_of(kinds.ImageIndex).parse(0, here) is here.images[0]
    assert kind_of(kinds.ImageIndex).parse("$picture", here) is here.variables["picture"]


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (1, "must be between 0 and 0, got 1"),
        (-1, "must be between 0 and 0, got -1"),
        pytest.param(10**5000, "must be between 0 and 0, got a value of type int too large to show", id="huge"),
        (True, "must be the integer index of an image, got True"),
        (0.5, "must be the integer index of an image, got 0.5"),
        (1.0, "must be between 0 and 0, got 1"),
        (float("nan"), "must be the integer index of an image, got nan"),
        (float("inf"), "must be the integer index of an image, got inf"),
        ("0", "must be the integer index of an image, got '0'"),
        ("$focal", "must be the integer index of an image, got 600.0"),
    ],
)
def test_a_bad_image_index_is_refused_with_the_range(value: Any, sentence: str) -> None:
    assert refusal(kinds.ImageIndex, value) == sentence


@pytest.mark.parametrize("value", [0, 0.0, -0.0])
def test_a_whole_number_is_an_index_however_it_is_written(value: float) -> None:
    here = session()
    assert kind_of(kinds.ImageIndex).parse(value, here) is here.images[0]
    number = ImageNumberArgument().parse(value, here)
    assert (number, type(number)) == (0, int)


@pytest.mark.parametrize("value", [0.5, True, False, float("nan"), float("-inf"), 1e300, "0", None])
def test_no_other_value_is_the_number_of_an_image(value: Any) -> None:
    for kind in (kind_of(kinds.ImageIndex), ImageNumberArgument()):
        with pytest.raises(InvalidValue) as caught:
            kind.parse(value, session())
        assert caught.value.level is Level.INDEX


@pytest.mark.parametrize(("value", "here"), [("0", session()), (True, session()), (7, session()), (0, Session())])
def test_whatever_is_wrong_with_an_image_index_is_wrong_in_the_first_level(value: Any, here: Session) -> None:
    with pytest.raises(InvalidValue) as caught:
        kind_of(kinds.ImageIndex).parse(value, here)
    assert caught.value.level is Level.INDEX


@pytest.mark.parametrize(
    ("annotation", "value"), [(kinds.Unit, "1"), (kinds.Unit, 2), (kinds.Text, 7), (kinds.Mask, 1), (kinds.Mask, "$no")]
)
def test_what_is_wrong_with_any_other_value_is_wrong_in_its_type(annotation: Any, value: Any) -> None:
    with pytest.raises(InvalidValue) as caught:
        parse(annotation, value)
    assert caught.value.level is Level.TYPE


def test_data_may_be_numbers_a_mask_or_an_image_but_no_text() -> None:
    here = session()
    data = kind_of(kinds.Data)
    assert data.parse("$mask", here) is here.variables["mask"]
    assert data.parse("$picture", here) is here.variables["picture"].rgb
    assert (
        refusal(kinds.Data, np.array(["a"]))
        == "must be a numeric array (H, W) or (H, W, C) of numbers, got numpy array, 1"
    )


def test_an_image_index_before_the_first_image_says_how_to_get_one() -> None:
    with pytest.raises(InvalidValue, match="none was taken"):
        kind_of(kinds.ImageIndex).parse(0, Session())


def test_an_image_without_a_camera_frame_says_so() -> None:
    with pytest.raises(ToolError, match="no link to a camera frame") as caught:
        session().images[0].require_frame()
    assert caught.value.code is ErrorCode.IMAGE_UNUSABLE


def test_arrays_come_unchanged_from_their_variables() -> None:
    here = session()
    for annotation, name in ((kinds.Mask, "mask"), (kinds.PointCloud, "cloud"), (kinds.Data, "depth")):
        assert kind_of(annotation).parse(f"${name}", here) is here.variables[name]


@pytest.mark.parametrize(
    ("annotation", "value", "sentence"),
    [
        (kinds.Mask, "$depth", "must be a boolean segmentation mask (H, W), got numpy array, 4x6"),
        (kinds.Mask, np.ones(5, bool), "must be a boolean segmentation mask (H, W), got shape (5,)"),
        (kinds.Mask, [[True]], "must be a $variable holding a boolean segmentation mask (H, W), got [[True]]"),
        (kinds.Mask, "mask", "must be a $variable holding a boolean segmentation mask (H, W), got 'mask'"),
        (kinds.Mask, "$picture", "must be a boolean segmentation mask (H, W), got image, 4x6x3"),
        (kinds.PointCloud, "$depth", "must be a point cloud (N, 3), got shape (4, 6)"),
        (kinds.PointCloud, "$mask", "must be a point cloud (N, 3) of numbers, got boolean array, 4x6"),
        (kinds.Points2D, [[0.1, 0.2], [0.3]], "must be a list of [x, y] points, got a ragged list"),
        (kinds.Points2D, "$broken", "must be a list of [x, y] points, got a ragged list"),
        (kinds.Points2D, [0.1, 0.2], "must be a list of [x, y] points, got shape (2,)"),
        (kinds.Points2D, [], "must be a list of [x, y] points, got shape (0,)"),
        (kinds.Point2D, [0.5, float("nan")], "must not hold NaN or infinite numbers"),
        (
            kinds.Point2D,
            [320, 240],
            "must hold numbers between 0 and 1, got 320: divide pixels by the picture's width and height, 6 and 4",
        ),
        (kinds.Point2D, [0.5, -0.5], "must hold numbers between 0 and 1, got -0.5"),
        (kinds.Point2D, ["a", "b"], "must be a point [x, y] of numbers, got list of 2"),
        (kinds.Point2D, [True, False], "must be a point [x, y] of numbers, got list of 2"),
        (kinds.Point2D, [10**400, 0], "must be a point [x, y] of numbers, got list of 2"),
        (kinds.Point2D, 0.5, "must be a point [x, y], written as numbers or as a $variable, got 0.5"),
        (kinds.Point3D, [0, 0, float("inf")], "must not hold NaN or infinite numbers"),
        (kinds.Pose, [[1, 0], [0, 1]], "must be a pose (4, 4), got shape (2, 2)"),
    ],
)
def test_an_array_of_the_wrong_kind_is_refused_with_what_is_wanted(annotation: Any, value: Any, sentence: str) -> None:
    assert refusal(annotation, value) == sentence


@pytest.mark.parametrize(("value", "expected"), [([0, 1], (0.0, 1.0)), ("$point", (0.25, 0.75))])
def test_a_point_becomes_a_float_array_also_when_written_in_integers(value: Any, expected: tuple[float, ...]) -> None:
    point = parse(kinds.Point2D, value)
    assert point.dtype == np.float64
    assert point.tolist() == list(expected)


def test_a_value_nested_deeper_than_python_can_print_is_refused_with_a_sentence() -> None:
    nested: Any = []
    for _ in range(100_000):
        nested = [nested]
    assert refusal(kinds.Mask, nested).endswith("got a value of type list too large to show")


def test_a_long_value_is_cut_in_the_sentence() -> None:
    assert len(refusal(kinds.Unit, "x" * 10_000)) < 100


@pytest.mark.parametrize("annotation", ALL_KINDS)
def test_a_pattern_in_a_schema_accepts_what_resolve_accepts(annotation: Any) -> None:
    schema = kind_of(annotation).schema()
    reference = schema if "pattern" in schema else next((s for s in schema.get("anyOf", ()) if "pattern" in s), None)
    if reference is None:
        assert schema["type"] in ("number", "integer", "string")
    else:
        assert re.search(reference["pattern"], "$grasp_pose_2")
        assert not re.search(reference["pattern"], "grasp_pose")
        assert reference["description"].startswith("variable holding a ")


def test_schemas_state_the_ranges_and_shapes_that_parsing_enforces() -> None:
    assert kind_of(kinds.Unit).schema() == {"type": "number", "minimum": 0.0, "maximum": 1.0}
    focal = kind_of(kinds.FocalLength).schema()["anyOf"][0]
    assert focal == {"type": "number", "exclusiveMinimum": 0.0, "maximum": 1e6}
    assert kind_of(kinds.Text).schema() == {"type": "string", "minLength": 1, "maxLength": 300}
    literal = kind_of(kinds.Points2D).schema()["anyOf"][0]
    number = {"type": "number", "minimum": 0.0, "maximum": 1.0}
    assert literal == {"type": "array", "items": {"type": "array", "items": number, "minItems": 2, "maxItems": 2}}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(["$mask", "$broken", "$x"]),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.text(), children, max_size=3),
    max_leaves=12,
)


@given(st.sampled_from(ALL_KINDS), JSON)
def test_any_json_value_is_either_parsed_or_refused_as_a_bad_value(annotation: Any, value: Any) -> None:
    try:
        parsed = parse(annotation, value)
    except InvalidValue as problem:
        sentence = str(problem)
    else:
        sentence = "" if parsed is None else "must be what was parsed"
    assert sentence.startswith(("must ", "refers to "))
