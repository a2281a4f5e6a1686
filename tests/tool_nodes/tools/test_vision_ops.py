"""Crops by points and by masks: what they show, say and keep, on camera images and on foreign ones."""

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.toolbox.toolbox import CallRecord, Session, Toolbox
from toolhand.tool_nodes.tools.spacetools.vision_ops import VisionOps
from toolhand.tool_nodes.types import Frame

TOOLBOX = Toolbox([VisionOps()])


def make_image(width: int = 40, height: int = 30, linked: bool = True) -> SessionImage:
    """Every pixel has a colour of its own."""
    v, u = np.mgrid[:height, :width]
    rgb = np.stack([u, v, (u + v) % 256], axis=2).astype(np.uint8)
    depth = np.full((height, width), 1.0, np.float32)
    return SessionImage(rgb, Frame(rgb, depth, np.eye(3), np.eye(4), 0.0) if linked else None)


def call(tool: str, image: SessionImage, variable: Any = None, **arguments: Any) -> tuple[CallRecord, Session]:
    session = Session({"mask": variable}, [image])
    record = TOOLBOX.call(f"vision_ops.{tool}", {"image_index": 0, **arguments}, session)
    return record, session


def error_of(tool: str, image: SessionImage, variable: Any = None, **arguments: Any) -> ToolError:
    record, session = call(tool, image, variable, **arguments)
    assert record.result.error is not None
    assert len(session.images) == 1
    return record.result.error


def disc(width: int = 40, height: int = 30) -> np.ndarray:
    v, u = np.mgrid[:height, :width]
    return (u - 20) ** 2 + (v - 12) ** 2 <= 36


def test_a_crop_holds_the_pixels_of_all_points_and_no_more() -> None:
    record, session = call("point_crop", make_image(), points=[[0.25, 0.5], [0.5, 0.8], [0.3, 0.7]])
    assert record.result.text == (
        "Cropped the image to box (10, 15, 21, 25) of 11x10 px around 3 point(s). "
        "Use $cropped_image (image, 10x11x3) to reference it."
    )
    assert np.array_equal(record.result.value, make_image().rgb[15:25, 10:21])
    assert np.array_equal(session.images[1].rgb, record.result.value)


def test_a_crop_can_be_named_and_keeps_its_link_to_the_camera_frame() -> None:
    image = make_image()
    _, session = call("point_crop", image, points=[[0.25, 0.5], [0.5, 0.8]])
    crop = session.variables["cropped_image"]
    assert crop.frame is image.frame
    assert crop.window == session.images[1].window == (10, 15, 21, 25)
    again = TOOLBOX.call("image_ops.point_crop", {"image": "$cropped_image", "points": [[0, 0], [0.4, 0.4]]}, session)
    assert session.images[2].window == (10, 15, 15, 20)
    assert again.result.ok


def test_a_foreign_image_can_be_cropped_too() -> None:
    _, session = call("point_crop", make_image(linked=False), points=[[0, 0], [1, 1]])
    assert session.images[1].frame is None
    assert session.images[1].size == (40, 30)


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=6))
@settings(max_examples=60)
def test_every_point_lies_in_its_crop_or_the_crop_is_refused(points: list[tuple[float, float]]) -> None:
    record, session = call("point_crop", make_image(), points=[list(point) for point in points])
    pixels = np.array([(min(int(x * 40), 39), min(int(y * 30), 29)) for x, y in points])
    too_thin = (np.ptp(pixels, axis=0) < 1).any()
    assert record.result.ok == (not too_thin)
    if record.result.ok:
        left, top, right, bottom = session.images[1].window or ()
        assert [left, top] == pixels.min(axis=0).tolist()
        assert [right - 1, bottom - 1] == pixels.max(axis=0).tolist()


@pytest.mark.parametrize(
    ("points", "sentence"),
    [
        ([[0.5, 0.5]], "the points span 1x1 px, but a crop needs at least 2x2 px."),
        ([[0.1, 0.5], [0.9, 0.5]], "the points span 33x1 px"),
        ([[0.1, 0.5], [1.5, 0.5]], "between 0 and 1"),
        ("$none", "is an empty list."),
    ],
)
def test_points_without_an_area_give_one_sentence(points: Any, sentence: str) -> None:
    session = Session({"none": np.zeros((0, 2))}, [make_image()])
    error = TOOLBOX.call("vision_ops.point_crop", {"image_index": 0, "points": points}, session).result.error
    assert error is not None
    assert error.code is ErrorCode.INVALID_ARGUMENT
    assert sentence in error.message


def test_a_masked_crop_is_tight_and_white_outside_the_mask() -> None:
    mask = disc()
    record, session = call("mask_crop", make_image(), mask, mask="$mask")
    assert re.fullmatch(
        r"Cropped the masked region to box \(14, 6, 27, 19\) of 13x13 px\. The mask covers 9\.4% of the image and "
        r"66\.9% of the crop\. Use \$masked_crop \(image, 13x13x3\) to reference it\.",
        record.result.text,
    )
    inside = mask[6:19, 14:27]
    assert np.array_equal(record.result.value[inside], make_image().rgb[6:19, 14:27][inside])
    assert (record.result.value[~inside] == 255).all()
    assert session.variables["masked_crop"].window == session.images[1].window == (14, 6, 27, 19)


@pytest.mark.parametrize(
    ("mask", "code", "sentence"),
    [
        (np.zeros((30, 40), bool), ErrorCode.EMPTY_MASK, "the mask is empty"),
        (np.ones((40, 30), bool), ErrorCode.INVALID_ARGUMENT, "has shape (40, 30), but the image is 40x30"),
        (np.ones((30, 40)), ErrorCode.INVALID_ARGUMENT, "must be a boolean"),
        (np.eye(30, 40, dtype=bool) & (np.arange(40) < 1), ErrorCode.INVALID_ARGUMENT, "the mask spans 1x1 px"),
    ],
)
def test_a_mask_that_does_not_fit_gives_one_sentence(mask: np.ndarray, code: ErrorCode, sentence: str) -> None:
    error = error_of("mask_crop", make_image(), mask, mask="$mask")
    assert error.code is code
    assert sentence in error.message


def test_crops_are_tools_of_spacetools_that_do_not_move_the_robot() -> None:
    for name in ("vision_ops.point_crop", "vision_ops.mask_crop"):
        assert TOOLBOX.specs[name].suite == "spacetools"
        assert TOOLBOX.specs[name].aliases == (name.replace("vision_ops", "image_ops"),)
        assert not TOOLBOX.is_motion(name)
