"""Pointing and segmentation on a simulated table: text, image, variables."""

import re

import numpy as np
import pytest

from tests.tool_nodes.tools.looking import Table
from toolhand.tool_nodes.results import ErrorCode
from toolhand.tool_nodes.toolbox.provenance import variable_name

N = r"\d\.\d{3}"


RED, WHITE = [230, 30, 30], [255, 255, 255]


@pytest.mark.parametrize("family", ["roborefer", "vlm"])
def test_one_instance_is_reported_as_in_the_papers_figures(table: Table, family: str) -> None:
    result = table.do(f"{family}.detect_one", obj_name="red box", image_index=0).result
    match = re.fullmatch(rf"Detected 1 instance\(s\) of 'red box': \[\(({N}), ({N})\)\] \(backend: sim\)", result.text)
    assert match
    x, y = (float(v) for v in match.groups())
    assert result.variables == {"red_box_detection": (x, y)}
    assert result.value == f"({x}, {y})"
    frame = table.station.camera.capture()
    assert frame.ids is not None
    ids = [placed.item for placed in table.station.scene.objects]
    assert ids[frame.ids[int(y * 480), int(x * 640)]] == "red box"


def test_all_instances_are_listed(table: Table) -> None:
    result = table.do("roborefer.detect_all", obj_name="coconut water", image_index=0).result
    point = rf"\({N}, {N}\)"
    assert re.fullmatch(
        rf"Detected 2 instance\(s\) of 'coconut water': \[{point}, {point}\] \(backend: sim\)", result.text
    )
    assert len(result.variables["coconut_water_detections"]) == 2
    assert result.value == str(result.variables["coconut_water_detections"])


def test_points_are_drawn_as_red_circles_with_white_outlines(table: Table) -> None:
    result = table.do("roborefer.detect_one", obj_name="red box", image_index=0).result
    x, y = result.variables["red_box_detection"]
    u, v = int(x * 640), int(y * 480)
    assert result.image is not None
    assert result.image[v, u].tolist() == RED
    patch = result.image[v - 7 : v + 8, u - 7 : u + 8]
    assert (patch == WHITE).all(axis=2).sum() >= 8
    untouched = np.ones((480, 640), bool)
    untouched[v - 8 : v + 9, u - 8 : u + 9] = False
    assert np.array_equal(result.image[untouched], table.session.images[0].rgb[untouched])


def test_an_object_that_is_not_there_is_answered_with_what_can_be_seen(table: Table) -> None:
    for name, code in (("banana", ErrorCode.OBJECT_NOT_FOUND), ("violin", ErrorCode.NOT_RECOGNISED)):
        error = table.refusal("roborefer.detect_one", obj_name=name, image_index=0)
        assert error.code is code
        assert name in error.message
        assert "red box" in str(error)


@pytest.mark.parametrize(
    ("obj_name", "variable"),
    [("red box", "red_box"), ("7up can", "_7up_can"), ("far-left can's lid", "far_left_can_s_lid"), ("café", "café")],
)
def test_any_name_gives_a_variable_that_can_be_referred_to(obj_name: str, variable: str) -> None:
    assert variable_name(obj_name) == variable
    assert re.fullmatch(r"[A-Za-z_]\w*", variable)


def test_a_segmentation_is_reported_as_in_the_papers_figure_6(table: Table) -> None:
    x, y = table.point("red box")
    result = table.do("sam2.segment_from_point", x=x, y=y, image_index=0).result
    assert re.fullmatch(
        rf"Segmented object at normalized coords \({x:.3f}, {y:.3f}\) with IoU score: {N}\. "
        r"Use \$segmentation_mask \(boolean array, 480x640\) to reference it\. \(backend: sim\)",
        result.text,
    )
    mask = result.variables["segmentation_mask"]
    assert mask.dtype == np.bool_
    assert mask[int(y * 480), int(x * 640)]
    assert set(result.value) == {"mask", "iou_score"}
    frame = table.station.camera.capture()
    assert frame.ids is not None
    true = frame.ids == [placed.item for placed in table.station.scene.objects].index("red box")
    assert (mask & true).sum() / (mask | true).sum() > 0.85


def test_a_mask_is_drawn_green_with_a_white_outline_and_the_point_in_red(table: Table) -> None:
    x, y = table.point("rice box")
    result = table.do("sam2.segment_from_point", x=x, y=y, image_index=0).result
    mask, before = result.variables["segmentation_mask"], table.session.images[0].rgb.astype(int)
    assert result.image is not None
    assert result.image[int(y * 480), int(x * 640)].tolist() == RED
    shift = (result.image.astype(int) - before)[mask].mean(axis=0)
    assert shift[1] > max(shift[0], shift[2])
    rows, columns = np.nonzero(mask)
    assert result.image[rows[0] - 1, columns[0]].tolist() == WHITE


def test_several_points_give_one_mask_and_all_scores(table: Table) -> None:
    x, y = table.point("rice box")
    result = table.do("sam2.segment_from_points", points=[[x, y], [x + 0.005, y]], image_index=0).result
    assert re.match(
        rf"Segmented object from 2 point\(s\) with best IoU score: {N}\. Use \$segmentation_mask", result.text
    )
    assert result.value["iou_scores"].ndim == 1
    assert result.value["mask"] is result.variables["segmentation_mask"]


def test_points_on_two_objects_are_told_apart(table: Table) -> None:
    places = [table.do("roborefer.detect_one", obj_name=name, image_index=0).result for name in ("red box", "rice box")]
    points = [next(iter(place.variables.values())) for place in places]
    result = table.do("sam2.segment_from_points", points=points, image_index=0).result
    mask = result.variables["segmentation_mask"]
    beside = [(x, y) for x, y in points if not mask[int(y * 480), int(x * 640)]]
    assert len(beside) == 1
    ((x, y),) = beside
    assert f"1 of the 2 points lies outside of it, on something else: ({x:.3f}, {y:.3f}). Use $" in result.text


def test_bare_table_has_no_mask(table: Table) -> None:
    free = np.argwhere(np.asarray(table.station.camera.capture().ids) < 0)[200_000]
    y, x = (free + 0.5) / (480, 640)
    error = table.refusal("sam2.segment_from_point", x=float(x), y=float(y), image_index=0)
    assert error.code is ErrorCode.EMPTY_MASK
    assert f"({x:.3f}, {y:.3f})" in error.message
