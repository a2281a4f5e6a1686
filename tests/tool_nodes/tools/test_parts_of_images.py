"""Every tool that cuts or enlarges an image keeps its link to the camera frame: all others work on the part."""

from typing import Any

import numpy as np
import pytest

from toolhand.sim.scene.files import EXAMPLE_SCENE, load_scene
from toolhand.sim.station import Station, StationConfig
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.toolbox.toolbox import Session

BOX = (180, 200, 270, 320)
"""Around one of the two coconut waters of the example scene [px]."""

_CORNERS = [[180.2 / 640, 200.2 / 480], [269.8 / 640, 319.8 / 480]]
_PERIA = rf"\boxed{{{1000 * 180 / 640:.3f},{1000 * 200 / 480:.3f},{1000 * 270 / 640:.3f},{1000 * 320 / 480:.3f}}}"

CUTS: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "point_crop": [("vision_ops.point_crop", {"image_index": 0, "points": _CORNERS})],
    "mask_crop": [("vision_ops.mask_crop", {"image_index": 0, "mask": "$around"})],
    "image_crop": [("image_crop", {"image_index": 0, "bounding_box": _PERIA})],
    "image_zoom_in": [("image_zoom_in", {"bbox_2d": BOX})],
    "ZoomCrop": [("ZoomCrop", {"img_path": "image-0", "box": BOX})],
    "ZoomCrop enlarged": [("ZoomCrop", {"img_path": "image-0", "box": BOX, "zoom_factor": 2.0})],
    "ZoomCrop enlarged unevenly": [("ZoomCrop", {"img_path": "image-0", "box": BOX, "zoom_factor": 2.35})],
    "ZoomCrop about a center": [("ZoomCrop", {"img_path": "image-0", "center": [225, 260], "zoom_factor": 4.0})],
    "a crop of an enlarged crop": [
        ("ZoomCrop", {"img_path": "image-0", "box": [150, 170, 300, 340], "zoom_factor": 3.0}),
        ("ZoomCrop", {"img_path": "image-1", "box": [91, 91, 361, 451]}),
    ],
    "an enlarged crop of an enlarged crop": [
        ("ZoomCrop", {"img_path": "image-0", "box": [150, 170, 300, 340], "zoom_factor": 1.5}),
        ("image_zoom_in", {"image_idx": 1, "bbox_2d": [45, 45, 179, 225]}),
        ("ZoomCrop", {"img_path": "image-2", "box": [0, 0, 134, 180], "zoom_factor": 1.7}),
    ],
}


@pytest.fixture(scope="module", params=["sim", "pixels"])
def station(request: pytest.FixtureRequest) -> Station:
    config = StationConfig(perception=request.param, suites=("spacetools", "peria", "evic", "last"))
    return Station(load_scene(EXAMPLE_SCENE), config)


def _call(station: Station, session: Session, name: str, **arguments: Any) -> Any:
    result = station.toolbox.call(name, arguments, session).result
    assert result.error is None, f"{name}: {result.text}"
    return result


@pytest.fixture
def session(station: Station) -> Session:
    session = Session()
    _call(station, session, "robot.capture_image")
    around = np.zeros((480, 640), bool)
    around[BOX[1] : BOX[3], BOX[0] : BOX[2]] = True
    session.variables["around"] = around
    return session


@pytest.mark.parametrize("cut", CUTS)
def test_depth_points_masks_counts_and_3d_are_those_of_the_frame(station: Station, session: Session, cut: str) -> None:
    for name, arguments in CUTS[cut]:
        _call(station, session, name, **arguments)
    index, part = len(session.images) - 1, session.images[-1]
    frame = session.images[0].frame
    assert part.frame is frame
    assert frame is not None
    width, height = part.size

    depth = _call(station, session, "depth_estimator.estimate_depth", image_index=index).value
    assert depth["depth_map"].shape == (height, width)
    seen = _call(station, session, "depth_estimator.estimate_depth_with_pointcloud", image_index=0).value
    assert np.array_equal(depth["depth_map"], part.cut(seen["depth_map"]), equal_nan=True)
    assert depth["focal_length_px"] == pytest.approx(seen["focal_length_px"] * part.scale[0])

    for tool, arguments in (
        ("depth_estimator.estimate_depth_with_pointcloud", {"image_index": index}),
        ("roborefer.detect_one", {"image_index": index, "obj_name": "coconut water"}),
        ("EstimateDepth", {"img_path": f"image-{index}", "text_labels": ["coconut water"]}),
        ("SegmentObjects", {"img_path": f"image-{index}", "text_labels": ["coconut water"]}),
    ):
        _call(station, session, tool, **arguments)
    cloud = session.variables["point_cloud"]
    x, y = session.variables["coconut_water_detection"]

    whole = _call(station, session, "sam2.segment_from_point", image_index=0, **_in_frame(part, (x, y))).value["mask"]
    mask = _call(station, session, "sam2.segment_from_point", image_index=index, x=x, y=y).value["mask"]
    assert np.array_equal(mask, part.cut(whole))
    assert np.count_nonzero(mask) > 0.1 * mask.size

    # The cloud of the part lies on the cloud of the frame, to less than a pixel at this distance.
    same = part.cut(seen["point_cloud"].reshape(*whole.shape, 3)).reshape(-1, 3)
    assert np.nanmax(np.abs(cloud - same)) < 0.0015

    found = _call(station, session, "Get3DPoint", img_path=f"image-{index}", text_labels=["coconut water"])
    told = _call(station, session, "Get3DPoint", img_path="image-0", text_labels=["coconut water"])
    (place,) = found.value["places"]
    off = [np.linalg.norm([place[axis] - other[axis] for axis in "XYZ"]) for other in told.value["places"]]
    assert min(off) < 0.01, (found.text, told.text)

    counted = _call(station, session, "CountObjects", img_path=f"image-{index}", text_labels=["coconut water"])
    assert "coconut water: count 1" in counted.text, counted.text


def _in_frame(part: SessionImage, point: tuple[float, float]) -> dict[str, float]:
    ((x, y),) = part.to_frame([point])
    return {"x": float(x), "y": float(y)}
