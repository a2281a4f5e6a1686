"""Photographs of the real world, which the core's backends cannot read: a tool is right, or says that it cannot.

The photographs are those that scikit-image ships: 19 images, and 11 faces of its `lfw_subset`, which have 25 px a
side and are enlarged here. Tools are given them shrunk, so that all of it takes seconds.
"""

import functools
import importlib.util
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from toolhand.sim.drawings import samples
from toolhand.sim.scene.files import EXAMPLE_SCENE, load_scene
from toolhand.sim.station import Station, StationConfig
from toolhand.tool_nodes.perception.drawings.photographs import evenness, is_photograph
from toolhand.tool_nodes.results import ErrorCode, ToolResult
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.toolbox.toolbox import Session, Toolbox
from toolhand.tool_nodes.tools.suites import SUITES

RGB = NDArray[np.uint8]

FILES = [
    *("astronaut.png", "brick.png", "camera.png", "cell.png", "chelsea.png", "clock_motion.png", "coffee.png"),
    *("coins.png", "grass.png", "gravel.png", "hubble_deep_field.jpg", "ihc.png", "microaneurysms.png", "moon.png"),
    *("motorcycle_left.png", "page.png", "retina.jpg", "rocket.jpg", "text.png"),
]
FACES = range(0, 99, 9)
PHOTOGRAPHS = [*FILES, *(f"face {k}" for k in FACES)]
SIDE, SIDE_LOOKED_AT, SIDE_READ = 200, 400, 96
"""Longer sides of what is cut and drawn on, looked at and read [px]."""
HONEST = {ErrorCode.NOT_RECOGNISED, ErrorCode.IMAGE_UNUSABLE}


def data() -> Path:
    spec = importlib.util.find_spec("skimage")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "data"


@functools.cache
def photograph(name: str) -> RGB:
    if name.startswith("face "):
        face = np.load(data() / "lfw_subset.npy")[int(name[5:])]
        enlarged = Image.fromarray((face * 255).astype(np.uint8)).resize((150, 150), Image.Resampling.BICUBIC)
        return np.asarray(enlarged.convert("RGB"))
    with Image.open(data() / name) as image:
        return np.asarray(image.convert("RGB"))


@functools.cache
def small(name: str, side: int = SIDE) -> RGB:
    image = Image.fromarray(photograph(name))
    image.thumbnail((side, side))
    return np.asarray(image)


def compressed(rgb: RGB) -> RGB:
    file = io.BytesIO()
    Image.fromarray(rgb).save(file, "JPEG", quality=75)
    return np.asarray(Image.open(file).convert("RGB"))


def noisy(rgb: RGB, sigma: float) -> RGB:
    noise = np.random.default_rng(1).normal(0.0, sigma, rgb.shape)
    return np.clip(rgb + noise, 0, 255).astype(np.uint8)


def test_there_are_thirty_different_photographs() -> None:
    assert len(PHOTOGRAPHS) == 30
    assert len({photograph(name).tobytes() for name in PHOTOGRAPHS}) == 30


# -- what is a photograph --------------------------------------------------------------------------


@pytest.mark.parametrize("name", PHOTOGRAPHS)
def test_a_photograph_is_known_as_one_at_any_size(name: str) -> None:
    away, uneven, _ = evenness(photograph(name))
    assert away < 0.05 or uneven > 0.15  # the limit is 0.12
    assert is_photograph(photograph(name))
    assert is_photograph(small(name))


@pytest.mark.parametrize("name", ["city_map", "formula", "table", "shapes", "cubes"])
def test_a_drawing_is_none_whatever_noise_and_compression_it_has(name: str) -> None:
    drawn: RGB = getattr(samples, name)().rgb
    for rgb in (drawn, noisy(drawn, 6.0), noisy(drawn, 12.0), compressed(drawn), drawn[::2, ::2]):
        assert evenness(rgb)[1] < 0.09  # the limit is 0.12
        assert not is_photograph(rgb)


def test_what_is_too_small_to_tell_is_taken_for_a_drawing() -> None:
    assert not is_photograph(small("chelsea.png")[:20, :20])


# -- every tool on every photograph ----------------------------------------------------------------

BOX = {"bounding_box": r"\boxed{200,200,700,800}"}
WORDS = ("cup", "cat", "red circle", "brown shape", "text")
NAMES = ("cup", "red circle", "green dot", "red circle under label A", "free table")
LOOKING: dict[str, list[dict[str, Any]]] = {
    **{name: [{"text_prompt": word} for word in WORDS] for name in ("presence_check", "concept_count", "text_segment")},
    "grounding_dino": [{"question": "cup . cat"}, {"question": "red circle"}],
    "CountObjects": [{"text_labels": ["cup", "table"]}, {"text_labels": ["red circle"]}],
    **{name: [{"text_labels": ["cup"]}] for name in ("SegmentObjects", "EstimateSize", "Get3DPoint")},
    "roborefer.detect_all": [{"obj_name": name} for name in NAMES],
    **{tool: [{"obj_name": "red circle"}] for tool in ("roborefer.detect_one", "vlm.detect_one", "vlm.detect_all")},
    "auto_segment": [{}],
    **{name: [BOX] for name in ("bbox_segment", "exemplar_segment")},
    "sam2.segment_from_point": [{"x": 0.5, "y": 0.5}],
    "sam2.segment_from_points": [{"points": [[0.5, 0.5], [0.6, 0.6]]}],
}
"""Tools that find objects, and what they are asked: none may say that something is there, or is not."""
READING = ("text_ocr", "text_spotting", "map_text_ocr", "table_ocr", "formula_ocr")
DEPTH = ("EstimateDepth", "depth_estimator.estimate_depth", "depth_estimator.estimate_depth_with_pointcloud")
CROPPING: dict[str, dict[str, Any]] = {
    "image_crop": BOX,
    "image_zoom_in": {"bbox_2d": [30, 20, 90, 70]},
    "ZoomCrop": {"box": [30, 20, 90, 70]},
    "vision_ops.point_crop": {"points": [[0.25, 0.25], [0.75, 0.5]]},
    "vision_ops.mask_crop": {"mask": "$mask"},
}
DRAWING: dict[str, dict[str, Any]] = {
    "draw_point": {"points": [[40, 30], [60, 50]]},
    "draw_box": {"boxes": [[30, 20, 70, 60]]},
    "draw_3d_bbox": {"boxes_3d": [[[20, 20], [60, 20], [60, 60], [20, 60], [30, 30], [70, 30], [70, 70], [30, 70]]]},
    "draw_trajectory": {"trajectories": [[[20, 20], [70, 60]]]},
    "draw_line": {"coordinates": [[100, 100], [300, 300]]},
    "draw_path": {"points": [[100, 100], [200, 300], [300, 100]]},
    "bounding_box": {"bounding_box": r"\boxed{100,100,400,400}"},
    "image_highlight": {"bounding_box": r"\boxed{100,100,400,400}"},
    "image_label": {"text": "here", "position": [100, 100]},
}
NOT_OF_IMAGES = ("code_executor.", "robot.", "grasp_generator.", "bounding_box.", "vision_ops.index_at")
"""What takes no image of a conversation: code, the robot, clouds and arrays."""


@pytest.fixture(scope="module", params=["sim", "pixels"])
def tools(request: pytest.FixtureRequest) -> Toolbox:
    return Station(load_scene(EXAMPLE_SCENE), StationConfig(perception=request.param, suites=SUITES)).toolbox


@pytest.fixture(params=PHOTOGRAPHS)
def name(request: pytest.FixtureRequest) -> str:
    chosen: str = request.param
    return chosen


def ask(tools: Toolbox, tool: str, rgb: RGB, **arguments: Any) -> ToolResult:
    mask = np.zeros(rgb.shape[:2], bool)
    mask[20:60, 30:90] = True
    session = Session(variables={"mask": mask}, images=[SessionImage(rgb)])
    properties = tools.specs[tool].kinds
    image = next(key for key in ("image_index", "image_idx", "img_path") if key in properties)
    return tools.call(tool, {image: "image-0" if image == "img_path" else 0, **arguments}, session).result


def test_every_tool_that_takes_an_image_is_asked(tools: Toolbox) -> None:
    asked = {*LOOKING, *READING, *DEPTH, *CROPPING, *DRAWING}
    assert {name for name in tools.specs if not name.startswith(NOT_OF_IMAGES)} == asked


def test_what_finds_objects_says_that_it_cannot(tools: Toolbox, name: str) -> None:
    for tool, questions in LOOKING.items():
        for arguments in questions:
            result = ask(tools, tool, small(name, SIDE_LOOKED_AT), **arguments)
            assert result.error is not None, (tool, arguments, result.text)
            assert result.error.code in HONEST, (tool, arguments, result.text)


def test_what_reads_or_measures_answers_or_says_that_it_cannot(tools: Toolbox, name: str) -> None:
    for tool in (*READING, *DEPTH):
        error = ask(tools, tool, small(name, SIDE_READ)).error
        assert error is None or error.code in {*HONEST, ErrorCode.NO_DEPTH}, (tool, error)


def shows(rgb: RGB, part: RGB) -> bool:
    """True if an image holds a part of it (h, w, 3) somewhere, pixel by pixel."""
    (height, width), (h, w) = rgb.shape[:2], part.shape[:2]
    corners = np.argwhere((rgb[: height - h + 1, : width - w + 1] == part[0, 0]).all(axis=2))
    return any(np.array_equal(rgb[y : y + h, x : x + w], part) for y, x in corners)


def test_what_cuts_shows_the_photographs_own_pixels(tools: Toolbox, name: str) -> None:
    rgb = small(name)
    whole = {"ZoomCrop": rgb[20:70, 30:90], "vision_ops.mask_crop": rgb[20:60, 30:90]}
    for tool, arguments in CROPPING.items():
        result = ask(tools, tool, rgb, **arguments)
        assert result.image is not None, (tool, result.text)
        if tool == "image_zoom_in":  # it shows a small part enlarged
            back = np.asarray(Image.fromarray(result.image).resize((60, 50), Image.Resampling.BOX), float)
            assert np.abs(back - rgb[20:70, 30:90]).mean() < 6.0
        else:
            assert result.image.size < rgb.size
            assert np.array_equal(result.image, whole[tool]) if tool in whole else shows(rgb, result.image), tool


def test_what_draws_changes_the_photograph_only_where_it_draws(tools: Toolbox, name: str) -> None:
    rgb = small(name)
    height, width = rgb.shape[:2]
    for tool, arguments in DRAWING.items():
        result = ask(tools, tool, rgb, **arguments)
        assert result.image is not None, (tool, result.text)
        changed = np.any(result.image != rgb, axis=2)
        assert 0 < np.count_nonzero(changed) < 0.5 * changed.size, tool
        assert not changed[height * 4 // 5 :, width * 4 // 5 :].any(), tool
