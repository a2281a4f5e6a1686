"""The six skills on an image whose objects are known exactly: numbers, thresholds, images, and what they refuse."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolhand.tool_nodes.ports import Answer
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.toolbox.toolbox import CallRecord, Session, Toolbox
from toolhand.tool_nodes.tools.last.operations import reconstruct, region
from toolhand.tool_nodes.tools.last.tools import SkillTools

Call = Callable[..., CallRecord]


@pytest.fixture
def session(image: SessionImage) -> Session:
    return Session(images=[image])


@pytest.fixture
def call(finder: Any, session: Session) -> Call:
    toolbox = Toolbox([SkillTools(finder)])
    return lambda name, **arguments: toolbox.call(name, {"img_path": "image-0"} | arguments, session)


def text(record: CallRecord) -> str:
    assert record.result.ok, record.result.text
    return record.result.text.removesuffix(" (backend: known)")


def refusal(record: CallRecord, code: ErrorCode = ErrorCode.INVALID_ARGUMENT) -> str:
    error = record.result.error
    assert error is not None
    assert error.code is code
    assert record.image_index is None
    assert "\n" not in str(error)
    return str(error)


# -- what they report ------------------------------------------------------------------------------


def test_depths_are_averages_over_the_detected_boxes(call: Call) -> None:
    record = call("EstimateDepth", text_labels=["plate", "cup"])
    assert text(record).split("\n")[1:] == [
        "plate 1: average depth 1.50 m in box [60, 60, 100, 90].",
        "cup 1: average depth 1.00 m in box [20, 10, 40, 50].",
        "cup 2: average depth 2.00 m in box [120, 20, 160, 60].",
    ]
    assert record.result.value["depths"][0] == {
        "label": "plate",
        "number": 1,
        "depth": 1.5,
        "left": 60,
        "top": 60,
        "right": 100,
        "bottom": 90,
    }


def test_the_depth_of_an_image_needs_no_labels_and_looks_for_nothing(call: Call, finder: Any) -> None:
    assert text(call("EstimateDepth")) == "Depth map: 1.00 m to 3.00 m, average 2.74 m."
    assert finder.calls == ["depth_of"]


def test_an_object_without_any_depth_is_named(call: Call) -> None:
    sentence = refusal(call("EstimateDepth", text_labels=["shadow"]), ErrorCode.NO_DEPTH)
    assert "No depth is known in the box of 'shadow'" in sentence
    assert "at 'shadow'" in refusal(call("Get3DPoint", text_labels=["shadow"]), ErrorCode.NO_DEPTH)


def test_sizes_are_those_of_the_masks(call: Call) -> None:
    # 20 x 40 px without a quarter: 600 px
    assert text(call("EstimateSize", text_labels=["cup"], threshold=0.5)) == (
        "cup 1: centroid (28, 26), mask 20x40 px, 600 px in area (3.00 % of the image)."
    )


def test_patches_stand_beside_the_image_white_outside_their_masks(call: Call, image: SessionImage) -> None:
    shown = call("EstimateSize", text_labels=["cup", "plate"]).result.image
    assert shown is not None
    assert shown.shape == (100, 200 + 2 * 50, 3)
    first = shown[2:42, 202:222]
    assert np.array_equal(first[:20], image.rgb[10:30, 20:40])
    assert (first[20:, 10:] == 255).all()
    third = shown[2:42, 252:302]  # two fit under each other
    assert (third < 255).any()


def test_centroids_are_those_of_the_masks_and_boxes_are_drawn(call: Call, session: Session) -> None:
    record = call("SegmentObjects", text_labels=["plate"])
    assert text(record) == "plate 1: centroid (76, 72), score 0.70."
    shown = session.images[1]
    assert shown.frame is session.images[0].frame
    changed = (shown.rgb != session.images[0].rgb).any(axis=2)
    assert changed[60:63, 75].all()
    assert changed[62:73, 70].all()
    assert not changed[78:86, 84:95].any()  # the quarter that is no mask
    assert not changed[:, 110:].any()


def test_counts_have_the_middle_of_every_box(call: Call) -> None:
    assert text(call("CountObjects", text_labels=["cup", "plate"])) == (
        "cup: count 2, centroids (30, 30), (140, 40).\nplate: count 1, centroids (80, 74)."
    )


def test_points_are_in_the_camera_frame(call: Call) -> None:
    record = call("Get3DPoint", text_labels=["cup"])
    rows = record.result.value["places"]
    assert [row["Z"] for row in rows] == [1.0, 2.0]
    first = rows[0]
    assert 20 - 99.5 <= first["X"] * 100 / 1.0 <= 40 - 99.5
    assert 10 - 49.5 <= first["Y"] * 100 / 1.0 <= 50 - 49.5
    assert f"cup 1: [{first['X']:.3f}, {first['Y']:.3f}, 1.000] m ([X, Y, Z] in the camera frame)." in text(record)


def test_a_pixel_of_a_crop_is_the_same_point_in_space(finder: Any, image: SessionImage) -> None:
    whole = reconstruct(finder, image).value.points
    part = reconstruct(finder, image.cropped(50, 40, 150, 95).cropped(5, 10, 60, 50)).value.points
    assert np.allclose(part, whole[50:90, 55:110], atol=1e-5)


def test_the_scene_from_above_has_the_nearer_object_further_down(call: Call) -> None:
    image = call("Get3DPoint", text_labels=["cup"]).result.image
    assert image is not None
    assert image.shape == (100, 300, 3)
    above = image[:, 200:]
    red, blue = ((above == colour).all(axis=2) for colour in ((230, 30, 30), (40, 90, 240)))
    assert np.nonzero(red)[0].mean() > np.nonzero(blue)[0].mean() + 10
    assert np.nonzero(red)[1].mean() < np.nonzero(blue)[1].mean()


# -- what is not found -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["EstimateDepth", "EstimateSize", "SegmentObjects", "CountObjects", "Get3DPoint"])
def test_what_is_found_is_reported_and_what_is_not_is_said(call: Call, name: str) -> None:
    lines = text(call(name, text_labels=["violin", "plate"])).split("\n")
    assert any(line.startswith("plate") for line in lines)
    assert lines[-1] in ("violin: not found.", "violin: count 0, not found.")


def test_counting_what_is_not_there_gives_a_count_of_zero(call: Call) -> None:
    assert text(call("CountObjects", text_labels=["violin"])).startswith("violin: count 0, not found.")


@pytest.mark.parametrize("name", ["EstimateDepth", "EstimateSize", "SegmentObjects", "Get3DPoint"])
def test_nothing_found_is_an_error_that_says_what_can_be_seen(call: Call, name: str) -> None:
    sentence = refusal(call(name, text_labels=["violin", "oboe"]), ErrorCode.OBJECT_NOT_FOUND)
    assert "None of 'violin', 'oboe' was found." in sentence
    assert "I see: cup, plate" in sentence


@pytest.mark.parametrize(("threshold", "found"), [(0.0, 2), (0.4, 2), (0.41, 1), (0.9, 1)])
def test_an_object_is_detected_from_the_threshold_on(call: Call, threshold: float, found: int) -> None:
    assert f"cup: count {found}," in text(call("CountObjects", text_labels=["cup"], threshold=threshold))


def test_a_threshold_above_every_score_says_the_best_score(call: Call) -> None:
    counted = text(call("CountObjects", text_labels=["cup"], threshold=0.95))
    assert counted.startswith("cup: count 0, not found with a score as high as that.")
    sentence = refusal(call("SegmentObjects", text_labels=["cup"], threshold=0.95), ErrorCode.OBJECT_NOT_FOUND)
    assert "No detection of 'cup' has a score of at least 0.95; the best has 0.90." in sentence


def test_the_threshold_is_a_tenth_where_it_is_left_out(
    call: Call, monkeypatch: pytest.MonkeyPatch, finder: Any
) -> None:
    original = finder.detect
    monkeypatch.setattr(
        finder,
        "detect",
        lambda image, label: Answer(
            [replace(one, score=score) for one, score in zip(original(image, label).value, (0.1, 0.0999), strict=True)],
            "known",
        ),
    )
    for name in ("EstimateDepth", "EstimateSize", "SegmentObjects", "CountObjects", "Get3DPoint"):
        assert "cup 2" not in text(call(name, text_labels=["cup"]))
    assert "cup: count 1," in text(call("CountObjects", text_labels=["cup"]))


def test_a_label_that_is_repeated_is_looked_for_once(call: Call, finder: Any) -> None:
    assert text(call("CountObjects", text_labels=["plate", " plate "])).count("plate") == 1
    assert finder.calls == ["detect plate"]


# -- arguments -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        *(
            "image-1",
            "image-01",
            "image--1",
            "image-",
            "IMAGE-0",
            "image-0 ",
            "image-0.png",
            "image-٠",
            "image-9999999",
        ),
        *("/etc/passwd", "../image-0", "file:///image-0", "", 0, None, ["image-0"], "$captured_image"),
    ],
)
def test_only_images_of_the_conversation_have_names(call: Call, path: Any) -> None:
    assert 'must be "image-N" with N between 0 and 0, got' in refusal(call("EstimateDepth", img_path=path))


def test_without_an_image_there_is_nothing_to_name(finder: Any) -> None:
    record = Toolbox([SkillTools(finder)]).call("EstimateDepth", {"img_path": "image-0"}, Session())
    assert "there is none yet" in refusal(record)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"text_labels": "cup"}, 'must be a list of strings such as ["a person", "a frisbee"], got \'cup\''),
        ({"text_labels": []}, "must hold 1 to 20 strings, got 0"),
        ({"text_labels": ["cup"] * 21}, "must hold 1 to 20 strings, got 21"),
        ({"text_labels": ["cup", 3]}, "must be a string, got 3"),
        ({"text_labels": [" "]}, "must have 1 to 300 characters"),
        ({"text_labels": ["cup"], "threshold": 1.01}, "must be between 0 and 1"),
        ({"text_labels": ["cup"], "threshold": -0.1}, "must be between 0 and 1"),
        ({"text_labels": ["cup"], "threshold": float("nan")}, "must be a finite number"),
        ({"text_labels": ["cup"], "threshold": True}, "must be a number"),
        ({"text_labels": ["cup"], "size": 3}, "argument 'size' is unknown"),
        ({}, "argument 'text_labels' is missing"),
    ],
)
def test_arguments_that_do_not_fit_get_one_sentence(call: Call, arguments: dict[str, Any], words: str) -> None:
    assert words in refusal(call("EstimateSize", **arguments))


# -- zooming ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"box": [20, 10, 60, 50]}, "[20, 10, 60, 50] (40x40 px), shown as 40x40 px"),
        ({"box": [20.4, 10.6, 59.1, 50]}, "[20, 10, 60, 50] (40x40 px), shown as 40x40 px"),
        ({"box": [0, 0, 200, 100]}, "[0, 0, 200, 100] (200x100 px), shown as 200x100 px"),
        ({"box": [20, 10, 60, 50], "zoom_factor": 2.5}, "[20, 10, 60, 50] (40x40 px), shown as 100x100 px"),
        ({"center": [100, 50], "zoom_factor": 2}, "[50, 25, 150, 75] (100x50 px), shown as 200x100 px"),
        ({"center": [0, 100], "zoom_factor": 4}, "[0, 75, 50, 100] (50x25 px), shown as 200x100 px"),
        ({"center": [30, 30]}, "[0, 0, 200, 100] (200x100 px), shown as 200x100 px"),
    ],
)
def test_a_box_or_a_center_and_a_zoom_factor_name_the_region(call: Call, arguments: dict[str, Any], told: str) -> None:
    assert text(call("ZoomCrop", **arguments)) == f"Cropped the region {told}."


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "Give 'box', or 'center' and 'zoom_factor'"),
        ({"zoom_factor": 2}, "Give 'box', or 'center' and 'zoom_factor'"),
        ({"box": [1, 1, 50, 50], "center": [20, 20]}, "not both"),
        ({"box": [50, 1, 20, 50]}, "box must be [x1, y1, x2, y2] with 0 <= x1 < x2 <= 200"),
        ({"box": [1, 1, 201, 50]}, "box must be [x1, y1, x2, y2]"),
        ({"box": [1, 1, 50]}, "must be [x1, y1, x2, y2], got [1, 1, 50]"),
        ({"box": [1, 1, 50, float("inf")]}, "must be a finite number"),
        ({"box": [1, 1, 5, 5]}, "The region is 4x4 px; at least 8 px a side are needed"),
        ({"center": [201, 5], "zoom_factor": 2}, "center must lie within [0, 200] x [0, 100]"),
        ({"center": [20], "zoom_factor": 2}, "must be [x, y]"),
        ({"center": [20, 20], "zoom_factor": 0.5}, "must be between 1 and 16"),
        ({"center": [20, 20], "zoom_factor": 14}, "at least 8 px a side are needed"),
    ],
)
def test_a_region_that_is_none_is_refused(call: Call, arguments: dict[str, Any], words: str) -> None:
    assert words in refusal(call("ZoomCrop", **arguments))


def test_an_image_is_not_enlarged_without_limit(call: Call, session: Session) -> None:
    session.images.append(SessionImage(np.zeros((300, 1000, 3), np.uint8)))
    sentence = refusal(call("ZoomCrop", img_path="image-1", box=[0, 0, 1000, 300], zoom_factor=5))
    assert "would make a picture of 5000x1500 px; a side may have 4096 px" in sentence


def test_a_crop_keeps_the_link_to_the_frame_enlarged_or_not(call: Call, session: Session) -> None:
    call("ZoomCrop", box=[20, 10, 60, 50])
    call("ZoomCrop", box=[20, 10, 60, 50], zoom_factor=2)
    assert session.images[1].window == (20, 10, 60, 50)
    assert session.images[2].window == (20, 10, 60, 50)
    assert session.images[2].frame is session.images[0].frame
    assert session.images[2].size == (80, 80)
    assert "backend" not in call("ZoomCrop", box=[0, 0, 60, 50]).result.text


@settings(max_examples=100)
@given(
    st.tuples(st.integers(8, 3000), st.integers(8, 3000)),
    st.tuples(st.floats(0, 1), st.floats(0, 1)),
    st.floats(1.0, 16.0),
)
def test_a_region_about_a_center_has_the_size_asked_for_inside_the_image(
    size: tuple[int, int], center: tuple[float, float], zoom: float
) -> None:
    width, height = size
    image = SessionImage(np.zeros((1, 1, 3), np.uint8))
    wide = SessionImage(np.broadcast_to(image.rgb, (height, width, 3)))
    cx, cy = center[0] * width, center[1] * height
    try:
        found = region(wide, center=[cx, cy], zoom_factor=zoom)
    except ToolError:
        assert min(size) / zoom < 8.5
        return
    assert 0 <= found.left < found.right <= width
    assert 0 <= found.top < found.bottom <= height
    assert abs((found.right - found.left) - width / zoom) <= 0.5
    assert found.left <= cx <= found.right
    assert found.top <= cy <= found.bottom
