"""Images of a conversation: crops and drawings find their way back to the camera frame."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from toolhand.tool_nodes.geometry import backproject, intrinsics, project
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.types import Frame

WIDTH, HEIGHT = 60, 40


def camera_image(width: int = WIDTH, height: int = HEIGHT) -> SessionImage:
    """A frame in which every pixel has its own colour and depth."""
    v, u = np.mgrid[:height, :width]
    rgb = np.stack([u, v, u + v], axis=-1).astype(np.uint8)
    depth = (1.0 + 0.01 * u + 0.001 * v).astype(np.float32)
    return SessionImage(rgb, Frame(rgb, depth, intrinsics(50.0, width, height), np.eye(4), stamp=0.0))


@st.composite
def boxes(draw: st.DrawFn, width: int = WIDTH, height: int = HEIGHT) -> tuple[int, int, int, int]:
    left, top = draw(st.integers(0, width - 1)), draw(st.integers(0, height - 1))
    return left, top, draw(st.integers(left + 1, width)), draw(st.integers(top + 1, height))


@st.composite
def crops(draw: st.DrawFn) -> SessionImage:
    """The frame's image, a crop of it, or a crop of that."""
    image = camera_image()
    for _ in range(draw(st.integers(0, 2))):
        image = image.cropped(*draw(boxes(*image.size)))
    return image


@st.composite
def enlargements(draw: st.DrawFn) -> SessionImage:
    """A crop that is shown larger, smaller or stretched, and perhaps a crop of that."""
    image = draw(crops()).resized(draw(st.integers(1, 150)), draw(st.integers(1, 150)))
    return image.cropped(*draw(boxes(*image.size))) if draw(st.booleans()) else image


POINTS = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=4)


@given(crops(), POINTS)
def test_points_go_to_the_frame_and_back(image: SessionImage, points: list[tuple[float, float]]) -> None:
    there = image.to_frame(points)
    assert there.shape == (len(points), 2)
    assert ((there >= -1e-12) & (there <= 1 + 1e-12)).all()
    np.testing.assert_allclose(image.from_frame(there), points, atol=1e-9)


@given(crops(), POINTS)
def test_a_point_of_a_crop_names_the_same_pixel_of_the_frame(
    image: SessionImage, points: list[tuple[float, float]]
) -> None:
    assume(all(max(point) < 1 for point in points))
    # Where a point lies on the border of two pixels, rounding may take either.
    scaled = np.array(points) * image.size
    assume((np.abs(scaled - np.round(scaled)) > 1e-6).all())
    frame = image.require_frame()
    for (x, y), (fx, fy) in zip(points, image.to_frame(points), strict=True):
        here = image.rgb[int(y * image.size[1]), int(x * image.size[0])]
        assert np.array_equal(here, frame.rgb[int(fy * HEIGHT), int(fx * WIDTH)])


@given(boxes(), st.data())
def test_a_crop_of_a_crop_is_one_crop_of_the_frame(box: tuple[int, int, int, int], data: st.DataObject) -> None:
    first = camera_image().cropped(*box)
    left, top, right, bottom = data.draw(boxes(*first.size))
    twice = first.cropped(left, top, right, bottom)
    x, y = box[:2]
    once = camera_image().cropped(x + left, y + top, x + right, y + bottom)
    assert twice.window == once.window
    assert np.array_equal(twice.rgb, once.rgb)


@given(crops())
def test_what_is_cut_from_an_array_of_the_frame_lies_under_the_image(image: SessionImage) -> None:
    frame = image.require_frame()
    assert np.array_equal(image.cut(frame.rgb), image.rgb)
    assert image.cut(frame.depth).shape == image.rgb.shape[:2]


@given(crops())
def test_points_in_space_project_onto_their_own_pixels_of_a_crop(image: SessionImage) -> None:
    width, height = image.size
    frame = image.require_frame()
    K = image.intrinsics(frame.K[0, 0])
    depth = np.ascontiguousarray(image.cut(frame.depth))
    whole = np.ascontiguousarray(image.cut(backproject(frame.depth, frame.K).reshape(HEIGHT, WIDTH, 3)))
    np.testing.assert_allclose(backproject(depth, K), whole.reshape(-1, 3), atol=1e-5)
    v, u = np.mgrid[:height, :width]
    np.testing.assert_allclose(project(whole.reshape(-1, 3), K), np.column_stack([u.ravel(), v.ravel()]), atol=1e-3)


def test_a_crop_may_lie_beside_the_optical_axis() -> None:
    K = camera_image().cropped(40, 0, 60, 10).intrinsics(50.0)
    assert K.tolist() == [[50.0, 0.0, 29.5 - 40], [0.0, 50.0, 19.5], [0.0, 0.0, 1.0]]


@given(enlargements(), POINTS)
def test_points_of_an_enlarged_image_go_to_the_frame_and_back(
    image: SessionImage, points: list[tuple[float, float]]
) -> None:
    there = image.to_frame(points)
    assert ((there >= -1e-9) & (there <= 1 + 1e-9)).all()
    np.testing.assert_allclose(image.from_frame(there), points, atol=1e-6)


@given(enlargements())
def test_an_enlarged_image_shows_what_its_own_intrinsics_say(image: SessionImage) -> None:
    """The middle of each pixel is on the same line of sight as the place of the frame that it shows."""
    frame = image.require_frame()
    width, height = image.size
    v, u = np.mgrid[:height, :width].reshape(2, -1)
    seen = image.to_frame(np.column_stack([(u + 0.5) / width, (v + 0.5) / height])) * frame.size - 0.5
    directions = np.column_stack([seen, np.ones(len(seen))]) @ np.linalg.inv(frame.K).T
    K = image.intrinsics(frame.K[0, 0] * image.scale[0])
    np.testing.assert_allclose(project(directions, K), np.column_stack([u, v]), atol=1e-6)
    assert image.view is not None
    np.testing.assert_allclose(image.view.K, K, atol=1e-9)


@given(enlargements())
def test_what_is_cut_for_an_enlarged_image_is_what_lies_under_its_pixels(image: SessionImage) -> None:
    columns, rows = np.meshgrid(np.arange(WIDTH), np.arange(HEIGHT))
    width, height = image.size
    v, u = np.mgrid[:height, :width].reshape(2, -1)
    under = image.to_frame(np.column_stack([(u + 0.5) / width, (v + 0.5) / height])) * (WIDTH, HEIGHT)
    np.testing.assert_array_equal(image.cut(columns).ravel(), np.floor(under[:, 0] + 1e-9).clip(max=WIDTH - 1))
    np.testing.assert_array_equal(image.cut(rows).ravel(), np.floor(under[:, 1] + 1e-9).clip(max=HEIGHT - 1))


def test_a_part_that_begins_in_the_middle_of_a_pixel_has_the_later_ones_under_it() -> None:
    """Also where it is as large as what it shows."""
    part = camera_image().resized(2 * WIDTH, 2 * HEIGHT).cropped(1, 3, 21, 13).resized(10, 5)
    assert part.window == (0.5, 1.5, 10.5, 6.5)
    columns, rows = np.meshgrid(np.arange(WIDTH), np.arange(HEIGHT))
    assert part.cut(columns)[0].tolist() == list(range(1, 11))
    assert part.cut(rows)[:, 0].tolist() == list(range(2, 7))


def test_a_foreign_image_is_assumed_to_be_seen_by_its_middle_with_square_pixels() -> None:
    K = SessionImage(np.zeros((10, 20, 3), np.uint8)).intrinsics(30.0)
    np.testing.assert_allclose(K, intrinsics(30.0, 20, 10))
    assert K[0, 0] == K[1, 1] == 30.0


def test_the_same_size_is_the_same_image_and_a_foreign_one_may_have_another() -> None:
    image = camera_image()
    assert image.resized(WIDTH, HEIGHT) is image
    assert SessionImage(image.rgb).resized(30, 20).frame is None
    assert not image.resized(120, 80).is_whole_frame
    assert image.is_whole_frame


def test_size_is_width_then_height() -> None:
    assert camera_image().size == (WIDTH, HEIGHT)
    assert camera_image().cropped(1, 2, 11, 5).size == (10, 3)


def test_a_crop_does_not_share_its_pixels_with_the_image() -> None:
    image = camera_image()
    crop = image.cropped(0, 0, 30, 20)
    crop.rgb[:] = 0
    assert image.rgb[5, 5].tolist() == [5, 5, 10]


def test_a_drawing_shows_the_same_part_of_the_frame() -> None:
    crop = camera_image().cropped(10, 5, 30, 25)
    drawing = crop.redrawn(np.full_like(crop.rgb, 9))
    assert drawing.frame is crop.frame
    assert drawing.window == (10, 5, 30, 25)
    assert (drawing.rgb == 9).all()
    assert crop.rgb[0, 0].tolist() == [10, 5, 15]


@pytest.mark.parametrize("size", [(41, 60), (40, 61), (20, 30), (60, 40)])
def test_an_image_of_another_size_loses_the_link(size: tuple[int, int]) -> None:
    other = camera_image().redrawn(np.zeros((*size, 3), np.uint8))
    assert other.frame is None
    assert other.window is None


@pytest.mark.parametrize(
    "box", [(0, 0, 0, 10), (5, 0, 5, 10), (10, 0, 5, 10), (-1, 0, 5, 5), (0, -1, 5, 5), (0, 0, 61, 5), (0, 0, 5, 41)]
)
def test_a_part_that_is_empty_or_outside_is_no_part(box: tuple[int, int, int, int]) -> None:
    with pytest.raises(ValueError, match="is no part of a 60x40 picture"):
        camera_image().cropped(*box)


def test_a_foreign_image_can_be_cropped_and_drawn_on_but_has_no_frame() -> None:
    foreign = SessionImage(camera_image().rgb)
    crop = foreign.cropped(10, 5, 12, 6)
    assert crop.rgb.tolist() == [[[10, 5, 15], [11, 5, 16]]]
    assert crop.frame is crop.window is None
    assert foreign.redrawn(foreign.rgb + np.uint8(1)).frame is None
    for ask in (
        foreign.require_frame,
        lambda: foreign.to_frame([(0, 0)]),
        lambda: foreign.from_frame([(0, 0)]),
        lambda: foreign.cut(np.zeros((HEIGHT, WIDTH))),
    ):
        with pytest.raises(ToolError, match="no link to a camera frame") as caught:
            ask()
        assert caught.value.code is ErrorCode.IMAGE_UNUSABLE


def test_points_outside_a_crop_come_back_outside_of_it() -> None:
    crop = camera_image().cropped(30, 0, 60, 20)
    assert crop.from_frame([(0.25, 0.75)]).tolist() == [[-0.5, 1.5]]
