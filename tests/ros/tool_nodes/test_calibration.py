"""Calibrations are checked for sense, and raw images become those of a pinhole camera.

The places of points in raw images are computed here one by one, by the formulas as published.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.optimize import fsolve

from rclpy_zenoh import overlay

overlay.install()

from sensor_msgs.msg import CameraInfo, RegionOfInterest
from std_msgs.msg import Header

from toolhand.tool_nodes.ros.calibration import Rectified, read_calibration, rectified_by_name
from toolhand.tool_nodes.ros.lenses import Lens
from toolhand.tool_nodes.ros.messages import (
    BadMessage,
    depth_to_image,
    info_to_intrinsics,
    intrinsics_to_info,
    make_frame,
    rgb_to_image,
)

WIDTH, HEIGHT = SIZE = 640, 480
K = np.array([[600.0, 0.0, 322.0], [0.0, 602.0, 238.0], [0.0, 0.0, 1.0]])
RAW = Rectified(image=False, depth=False)
SEEN = Rectified(image=True, depth=True)

LENSES = {
    "barrel": ("plumb_bob", [-0.3, 0.09, 0.0, 0.0]),
    "plumb_bob": ("plumb_bob", [-0.28, 0.07, 0.002, -0.0015, 0.01]),
    "pincushion": ("plumb_bob", [0.12, -0.02, -0.001, 0.001, 0.0]),
    "rational": ("rational_polynomial", [0.42, -2.6, 0.0007, -0.0004, 1.5, 0.3, -2.4, 1.4]),
    "equidistant": ("equidistant", [-0.03, 0.01, -0.005, 0.001]),
    "fisheye": ("equidistant", [0.0, 0.0, 0.0, 0.0]),
}


def raw_pixel(x: float, y: float, model: str, d: list[float], M: np.ndarray = K) -> tuple[float, float]:
    """Where a raw image shows the ray (x, y, 1): OpenCV's documentation of its camera models, term by term."""
    r = math.hypot(x, y)
    if model == "equidistant":
        theta = math.atan(r)
        theta_d = theta + d[0] * theta**3 + d[1] * theta**5 + d[2] * theta**7 + d[3] * theta**9
        bent_x, bent_y = (x * theta_d / r, y * theta_d / r) if r else (x, y)
    else:
        k1, k2, p1, p2, k3, k4, k5, k6 = (list(d) + [0.0] * 8)[:8]
        radial = (1 + k1 * r**2 + k2 * r**4 + k3 * r**6) / (1 + k4 * r**2 + k5 * r**4 + k6 * r**6)
        bent_x = x * radial + 2 * p1 * x * y + p2 * (r**2 + 2 * x**2)
        bent_y = y * radial + p1 * (r**2 + 2 * y**2) + 2 * p2 * x * y
    return M[0, 0] * bent_x + M[0, 2], M[1, 1] * bent_y + M[1, 2]


def info_of(model: str = "plumb_bob", d: Any = (), P: np.ndarray = K, **changed: Any) -> CameraInfo:
    info = intrinsics_to_info(K, SIZE, Header())
    info.distortion_model, info.d = model, [float(value) for value in d]
    info.p = np.column_stack([P, np.zeros(3)]).reshape(12)
    for name, value in changed.items():
        setattr(info, name, value)
    return info


def refused(info: CameraInfo, rectified: Rectified = RAW) -> str:
    with pytest.raises(BadMessage) as caught:
        read_calibration(info, SIZE, rectified)
    text = str(caught.value)
    assert text.endswith(".")
    assert "\n" not in text
    return text


def blob(u: float, v: float) -> np.ndarray:
    """An image of a soft white spot around a place between pixels."""
    columns, rows = np.meshgrid(np.arange(WIDTH), np.arange(HEIGHT))
    return np.exp(-((columns - u) ** 2 + (rows - v) ** 2) / (2 * 2.0**2))


def middle_of(rgb: np.ndarray) -> np.ndarray:
    grey = rgb[..., 1].astype(float)
    grey[grey < 4] = 0.0
    columns, rows = np.meshgrid(np.arange(WIDTH), np.arange(HEIGHT))
    return np.array([(grey * columns).sum(), (grey * rows).sum()]) / grey.sum()


# -- rectifying ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LENSES)
@pytest.mark.parametrize("new", [K, np.array([[500.0, 0.0, 310.0], [0.0, 510.0, 245.0], [0.0, 0.0, 1.0]])])
def test_each_rectified_pixel_shows_the_ray_of_a_pinhole_camera(name: str, new: np.ndarray) -> None:
    model, d = LENSES[name]
    M, lens = read_calibration(info_of(model, d, new), SIZE, RAW)
    assert np.array_equal(M, new)
    assert lens is not None
    u, v = lens._places
    seen = 0
    for row in range(0, HEIGHT, 37):
        for column in range(0, WIDTH, 41):
            place = raw_pixel((column - new[0, 2]) / new[0, 0], (row - new[1, 2]) / new[1, 1], model, d)
            if math.isnan(u[row, column]):
                assert not (1 <= place[0] <= WIDTH - 2 and 1 <= place[1] <= HEIGHT - 2)
                continue
            seen += 1
            assert math.dist(place, (u[row, column], v[row, column])) < 1e-6
    assert seen > 100


@pytest.mark.parametrize("name", LENSES)
@pytest.mark.parametrize("point", [(0.0, 0.0), (0.3, 0.2), (-0.35, 0.25), (0.42, -0.3), (-0.1, -0.28)])
def test_a_point_is_where_it_is_to_a_tenth_of_a_pixel_and_has_its_depth(name: str, point: tuple[float, float]) -> None:
    model, d = LENSES[name]
    z = 1.2
    raw = raw_pixel(*point, model, d)
    assert 12 < raw[0] < WIDTH - 12, "in the raw picture"
    assert 12 < raw[1] < HEIGHT - 12, "in the raw picture"
    spot = blob(*raw)
    rgb = np.rint(255 * spot)[..., None].repeat(3, axis=2).astype(np.uint8)
    depth = np.where(spot > 0.05, np.float32(z), np.float32(3.0))
    frame = make_frame(
        rgb_to_image(rgb, Header()), depth_to_image(depth, Header()), info_of(model, d), np.eye(4), rectified=RAW
    )
    where = K[:2, :2] @ point + K[:2, 2]
    assert math.dist(middle_of(frame.rgb), where) < 0.1
    column, row = np.rint(where).astype(int)
    assert frame.depth[row, column] == np.float32(z)
    rows, columns = np.nonzero(frame.depth == np.float32(z))
    assert math.dist((columns.mean(), rows.mean()), where) < 0.75
    assert set(np.unique(frame.depth[np.isfinite(frame.depth)])) <= {np.float32(z), np.float32(3.0)}


@pytest.mark.parametrize("name", LENSES)
def test_rays_of_raw_pixels_come_back(name: str) -> None:
    """Raw pixels to rays by a root finder, rays to rectified pixels: the map the other way round."""
    model, d = LENSES[name]
    _, lens = read_calibration(info_of(model, d), SIZE, RAW)
    assert lens is not None
    u, v = lens._places
    for raw in [(200.0, 150.0), (400.0, 330.0), (322.0, 60.0), (520.0, 300.0)]:

        def off(ray: np.ndarray, raw: tuple[float, float] = raw) -> list[float]:
            place = raw_pixel(float(ray[0]), float(ray[1]), model, d)
            return [place[0] - raw[0], place[1] - raw[1]]

        x, y = fsolve(off, [(raw[0] - 322.0) / 600.0, (raw[1] - 238.0) / 602.0], xtol=1e-12)
        column, row = 600.0 * x + 322.0, 602.0 * y + 238.0
        left, top = int(column), int(row)
        a, b = column - left, row - top
        weights = {(0, 0): (1 - a) * (1 - b), (0, 1): a * (1 - b), (1, 0): (1 - a) * b, (1, 1): a * b}
        found = [sum(w * side[top + i, left + j] for (i, j), w in weights.items()) for side in (u, v)]
        assert math.dist(found, raw) < 0.1


def test_without_distortion_nothing_is_touched() -> None:
    rng = np.random.default_rng(1)
    rgb, depth = rng.integers(0, 256, (HEIGHT, WIDTH, 3), np.uint8), rng.uniform(0.5, 2.0, (HEIGHT, WIDTH))
    images = rgb_to_image(rgb, Header()), depth_to_image(depth.astype(np.float32), Header())
    for rectified in (RAW, SEEN, Rectified()):
        frame = make_frame(*images, info_of(), np.eye(4), rectified=rectified)
        assert np.array_equal(frame.rgb, rgb)
        assert np.array_equal(frame.depth, depth.astype(np.float32))
        assert np.array_equal(frame.K, K)


def test_a_lens_that_bends_nothing_gives_the_same_image() -> None:
    rgb = np.random.default_rng(1).integers(0, 256, (48, 64, 3), np.uint8)
    pinhole = (60.0, 61.0, 30.5, 24.0)
    lens = Lens("plumb_bob", (0.0, 0.0, 0.0, 0.0, 0.0), pinhole, pinhole, (64, 48))
    assert np.array_equal(lens.colours(rgb), rgb)
    depth = rgb[..., 0].astype(np.float32)
    assert np.array_equal(lens.nearest(depth), depth)


@pytest.mark.parametrize("size", [(1, 1), (1, 5), (7, 1), (2, 2)])
def test_small_images_are_rectified_too(size: tuple[int, int]) -> None:
    width, height = size
    pinhole = (4.0, 4.0, (width - 1) / 2, (height - 1) / 2)
    lens = Lens("plumb_bob", (0.1, 0.0, 0.0, 0.0, 0.0), pinhole, pinhole, size)
    assert lens.colours(np.full((height, width, 3), 9, np.uint8)).shape == (height, width, 3)
    assert lens.nearest(np.ones((height, width), np.float32)).shape == (height, width)


def test_where_the_raw_image_ends_there_is_no_depth_and_no_colour() -> None:
    wide = np.array([[300.0, 0.0, 322.0], [0.0, 301.0, 238.0], [0.0, 0.0, 1.0]])
    white = rgb_to_image(np.full((HEIGHT, WIDTH, 3), 255, np.uint8), Header())
    depth = depth_to_image(np.ones((HEIGHT, WIDTH), np.float32), Header())
    frame = make_frame(white, depth, info_of("plumb_bob", [0.1, 0.0, 0.0, 0.0], wide), np.eye(4), rectified=RAW)
    assert np.isnan(frame.depth[0, 0])
    assert not frame.rgb[0, 0].any()
    assert frame.depth[238, 322] == 1.0
    assert (frame.rgb[238, 322] == 255).all()


def test_beyond_the_ray_at_which_a_polynomial_turns_back_there_is_nothing() -> None:
    """r - 0.35 r^3 turns back at r = 0.976; farther rays would show again what is nearer."""
    wide = np.array([[200.0, 0.0, 322.0], [0.0, 200.0, 238.0], [0.0, 0.0, 1.0]])
    _, lens = read_calibration(info_of("plumb_bob", [-0.35, 0.0, 0.0, 0.0], wide), SIZE, RAW)
    assert lens is not None
    columns, rows = np.meshgrid(np.arange(WIDTH), np.arange(HEIGHT))
    ray = np.hypot(columns - 322.0, rows - 238.0) / 200.0
    assert np.isnan(lens._places[0][ray > 0.98]).all()
    assert np.isfinite(lens._places[0][ray < 0.4]).all()


# -- what is rectified already -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("image", "depth", "rectified"),
    [
        ("/zed/zed_node/rgb/color/rect/image", "/zed/zed_node/depth/depth_registered", (True, True)),
        ("/zed/zed_node/rgb/image_rect_color", "/zed/zed_node/depth/depth_registered", (True, True)),
        ("/camera/color/image_raw", "/camera/depth_registered/image_rect", (False, True)),
        ("/camera/color/image_raw", "/camera/aligned_depth_to_color/image_raw", (False, False)),
        ("/camera/color/image_rect", "/camera/aligned_depth_to_color/image_raw", (True, False)),
        ("/wrist_mounted_camera/image", "/wrist_mounted_camera/depth_image", (None, None)),
        ("/direct/rectangle/image", "/d", (None, None)),
    ],
)
def test_names_of_topics_say_what_is_rectified(image: str, depth: str, rectified: tuple[Any, Any]) -> None:
    assert rectified_by_name(image, depth) == Rectified(*rectified)


def test_an_operator_knows_better_than_a_name() -> None:
    assert rectified_by_name("/a/image", "/a/depth", True) == SEEN
    assert rectified_by_name("/a/image_raw", "/a/depth", True) == SEEN
    assert rectified_by_name("/a/image_rect", "/a/depth", False) == RAW
    assert rectified_by_name("/a/image", "/a/depth/image_rect", False) == Rectified(image=False, depth=True)


BENT = LENSES["plumb_bob"]
NEW = np.array([[520.0, 0.0, 315.0], [0.0, 525.0, 242.0], [0.0, 0.0, 1.0]])


def test_a_rectified_image_has_the_matrix_p_and_is_not_bent_again() -> None:
    M, lens = read_calibration(info_of(*BENT, NEW), SIZE, SEEN)
    assert np.array_equal(M, NEW)
    assert lens is None


def test_raw_colours_beside_depth_of_the_rectified_image_become_its_pixels() -> None:
    spot = raw_pixel(0.3, 0.2, *BENT)
    rgb = np.rint(255 * blob(*spot))[..., None].repeat(3, axis=2).astype(np.uint8)
    where = NEW[:2, :2] @ (0.3, 0.2) + NEW[:2, 2]
    depth = (blob(*where) + 1.0).astype(np.float32)
    frame = make_frame(
        rgb_to_image(rgb, Header()),
        depth_to_image(depth, Header()),
        info_of(*BENT, NEW),
        np.eye(4),
        rectified=Rectified(image=False, depth=True),
    )
    assert np.array_equal(frame.K, NEW)
    assert np.array_equal(frame.depth, depth)
    assert math.dist(middle_of(frame.rgb), where) < 0.1


def test_p_that_was_left_zero_is_k_for_raw_images_only() -> None:
    unset = np.zeros((3, 3))
    M, lens = read_calibration(info_of(*BENT, unset), SIZE, RAW)
    assert np.array_equal(M, K)
    assert lens is not None
    assert "P is zero" in refused(info_of(*BENT, unset), SEEN)
    assert "P is zero" in refused(info_of(*BENT, unset), Rectified(image=False, depth=True))
    assert np.array_equal(info_to_intrinsics(info_of(P=unset), SIZE), K)


def test_distortion_of_images_that_nobody_calls_raw_or_rectified_is_refused() -> None:
    text = refused(info_of(*BENT), Rectified())
    assert "has distortion (plumb_bob, d = [-0.28, 0.07, 0.002, -0.0015, 0.01])" in text
    assert "image_is" in text
    with pytest.raises(BadMessage, match="has distortion"):
        info_to_intrinsics(info_of(*BENT), SIZE)
    assert "has distortion (equidistant" in refused(info_of(*LENSES["fisheye"]), Rectified())


def test_raw_images_of_a_stereo_pair_are_refused() -> None:
    turned = np.array([[math.cos(0.02), 0.0, math.sin(0.02)], [0.0, 1.0, 0.0], [-math.sin(0.02), 0.0, math.cos(0.02)]])
    assert "stereo pair" in refused(info_of(*BENT, NEW, r=turned.reshape(9)))
    assert "stereo pair" in refused(info_of(P=NEW, r=turned.reshape(9)))
    assert "rectifying rotation" in refused(info_of(P=NEW, r=turned.reshape(9)), Rectified())
    M, lens = read_calibration(info_of(*BENT, NEW, r=turned.reshape(9)), SIZE, SEEN)
    assert np.array_equal(M, NEW)
    assert lens is None


@pytest.mark.parametrize(
    ("model", "d", "said"),
    [
        ("thin_prism_fisheye", [0.1] * 8, "'thin_prism_fisheye', which is not known here; it must be plumb_bob, "),
        ("", [0.1, 0.0, 0.0, 0.0, 0.0], "'', which is not known"),
        ("kannala_brandt", [0.0] * 4, "'kannala_brandt', which is not known"),
        ("plumb_bob", [0.1, 0.2], "4 or 5 numbers, not [0.1, 0.2]"),
        ("plumb_bob", [0.1] * 8, "4 or 5 numbers"),
        ("rational_polynomial", [0.1] * 5, "8 numbers"),
        ("rational_polynomial", [0.1] * 14, "8 numbers"),
        ("equidistant", [0.1] * 5, "4 numbers"),
        ("equidistant", [], "4 numbers"),
        ("plumb_bob", [math.nan, 0.0, 0.0, 0.0, 0.0], "finite numbers"),
        ("plumb_bob", [-5.0, 0.0, 0.0, 0.0, 0.0], "bends the picture back"),
        ("rational_polynomial", [-5.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0], "bends the picture back"),
        ("equidistant", [-3.0, 0.0, 0.0, 0.0], "bends the picture back"),
    ],
)
def test_a_distortion_that_cannot_be_undone_is_refused(model: str, d: list[float], said: str) -> None:
    assert said in refused(info_of(model, d))


@pytest.mark.parametrize(
    ("model", "d"),
    [("plumb_bob", []), ("plumb_bob", [0.0] * 5), ("rational_polynomial", [0.0] * 8), ("", []), ("none", [0.0])],
)
def test_no_distortion_has_several_spellings(model: str, d: list[float]) -> None:
    for rectified in (RAW, SEEN, Rectified()):
        M, lens = read_calibration(info_of(model, d), SIZE, rectified)
        assert np.array_equal(M, K)
        assert lens is None


def test_numbers_beyond_the_models_own_may_be_zero() -> None:
    model, d = LENSES["rational"]
    _, lens = read_calibration(info_of(model, [*d, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]), SIZE, RAW)
    assert lens is not None
    assert lens.d == tuple(d)


# -- sense -------------------------------------------------------------------------------------------


def k(*entries: float) -> dict[str, Any]:
    return {"k": list(map(float, entries))}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (k(600, 0, 0, 0, 602, 0, 322, 238, 1), "K of the camera_info is transposed, its last row is [322, 238, 1]"),
        (k(600, 0, 0, 0, 602, 0, 0, 0, 1), "principal point at (0, 0), outside"),
        (k(600, 0, 3200, 0, 602, 238, 0, 0, 1), "principal point at (3200, 238), outside the picture of 640x480"),
        (k(600, 0, 322, 0, 602, -5, 0, 0, 1), "outside"),
        (k(600, 0, 640, 0, 602, 238, 0, 0, 1), "outside"),
        (k(0.9, 0, 0.5, 0, 1.2, 0.5, 0, 0, 1), "not in shares"),
        (k(1, 0, 0, 0, 1, 0, 0, 0, 1), "focal lengths of 1 and 1 px"),
        (k(0.0019, 0, 320, 0, 0.0019, 240, 0, 0, 1), "from 64 to 64000 px"),
        (k(6e6, 0, 320, 0, 6e6, 240, 0, 0, 1), "from 64 to 64000 px"),
        (k(600, 0, 320, 0, 200, 240, 0, 0, 1), "too different"),
        (k(600, 50, 322, 0, 602, 238, 0, 0, 1), "skew of 50 px"),
        (k(600, 0, 322, 50, 602, 238, 0, 0, 1), "skew of 50 px"),
        (k(600, 0, 322, 0, 602, 238, 0, 0, 0), "ends with the row [0, 0, 0]"),
        (k(600, 0, 322, 0, 602, 238, 0, 0, 2), "ends with the row [0, 0, 2]"),
        (k(600, 0, 322, 0, 602, 238, 0.1, 0, 1), "ends with the row [0.1, 0, 1]"),
        (k(600, 0, math.nan, 0, 602, 238, 0, 0, 1), "no calibration"),
        (k(-600, 0, 322, 0, 602, 238, 0, 0, 1), "no calibration"),
        (k(*[0] * 9), "no calibration"),
        ({"width": 1280, "height": 960}, "for pictures of 1280x960 pixels, but the image has 640x480"),
        ({"binning_x": 2, "binning_y": 2}, "binning 2x2"),
        ({"binning_x": 0, "binning_y": 2}, "binning 0x2"),
        ({"roi": RegionOfInterest(x_offset=10, width=320, height=240)}, "interest of 320x240 pixels at (10, 0)"),
        ({"roi": RegionOfInterest(y_offset=10)}, "region of interest"),
    ],
)
@pytest.mark.parametrize("rectified", [RAW, SEEN, Rectified()])
def test_a_calibration_that_no_camera_has_is_refused(changed: dict[str, Any], said: str, rectified: Rectified) -> None:
    info = info_of(**changed)
    assert said in refused(info, rectified)
    with pytest.raises(BadMessage):
        info_to_intrinsics(info, SIZE)


@pytest.mark.parametrize(
    "changed",
    [
        {"binning_x": 1, "binning_y": 1},
        {"roi": RegionOfInterest(width=640, height=480)},
        {"roi": RegionOfInterest(do_rectify=True)},
        {"r": [0.0] * 9},
        k(600.0 + 1e-9, 0, 322, 0, 602, 238, 0, 0, 1),
        k(600, 1e-7, 322, 0, 602, 238, 0, 0, 1),
    ],
)
def test_a_calibration_of_whole_images_is_taken_however_it_is_written(changed: dict[str, Any]) -> None:
    assert np.allclose(info_to_intrinsics(info_of(**changed), SIZE), K, atol=1e-6)


@pytest.mark.parametrize("P", [NEW, K * [[2.0], [2.0], [1.0]] - [[0, 0, 330], [0, 0, 240], [0, 0, 0]]])
@pytest.mark.parametrize("rectified", [RAW, SEEN, Rectified()])
def test_k_and_p_that_disagree_without_distortion_are_named(P: np.ndarray, rectified: Rectified) -> None:
    text = refused(info_of(P=P), rectified)
    assert "K and P of the camera_info disagree (fx 600, fy 602, cx 322, cy 238 and fx " in text
    assert "raw" in text
    assert "rectified" in text


def test_p_is_checked_for_sense_too() -> None:
    bad: list[Callable[[np.ndarray], Any]] = [
        lambda P: P.__setitem__((0, 2), 3200.0),
        lambda P: P.__setitem__((0, 1), 50.0),
        lambda P: P.__setitem__((2, 2), 0.0),
        lambda P: P.__setitem__((0, 0), math.nan),
    ]
    for change in bad:
        P = NEW.copy()
        change(P)
        assert refused(info_of(*BENT, P)).startswith("P of the camera_info ")
