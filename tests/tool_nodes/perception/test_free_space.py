"""Free space found in rendered images, judged against where the objects really are."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from tests.refusals import refused
from toolhand.sim.camera.ray import make_camera, scene_camera
from toolhand.sim.scene.generator import generate_scene
from toolhand.sim.scene.scenes import PlacedObject, Scene, footprint, gap
from toolhand.sim.tasks.predicates import camera_directions
from toolhand.sim.world import World
from toolhand.tool_nodes import workspace
from toolhand.tool_nodes.catalogue import load_catalogue
from toolhand.tool_nodes.geometry import backproject, invert, pixel, project, transform
from toolhand.tool_nodes.language.places import Extent, FreeSpaceRequest
from toolhand.tool_nodes.perception import free_space
from toolhand.tool_nodes.perception.free_space import find_free_space
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import BoolArray, FloatArray, Frame

DIRECTIONS = ("left_of", "right_of", "in_front_of", "behind")
HELD_RADIUS = 0.035


@cache
def make_image(seed: int) -> tuple[Scene, Frame]:
    return rendered(generate_scene(seed))


def rendered(scene: Scene) -> tuple[Scene, Frame]:
    world = World(scene)
    return scene, make_camera("ray", world.model, world.data, scene_camera(), world.body_index).capture()


@cache
def arranged(*items: tuple[str, float, float]) -> tuple[Scene, Frame]:
    catalogue = load_catalogue()
    objects = tuple(
        PlacedObject(f"thing_{k}", name, (x, y, catalogue[name].size_m[2] / 2), 0.0)
        for k, (name, x, y) in enumerate(items)
    )
    return rendered(replace(generate_scene(0, n_objects=1), objects=objects))


def mask(frame: Frame, index: int) -> BoolArray:
    assert frame.ids is not None
    return frame.ids == index


def place(frame: Frame, relation: str, *indices: int) -> FloatArray:
    """The point (3,) in the base frame that the image shows at the place found."""
    request = FreeSpaceRequest(relation, tuple(f"thing {k}" for k in indices))  # type: ignore[arg-type]
    point = find_free_space(frame, request, [[mask(frame, k)] for k in indices])
    return shown(frame, point)


def shown(frame: Frame, point: tuple[float, float]) -> FloatArray:
    u, v = pixel(point, frame.size)
    cloud = transform(frame.T_base_camera, backproject(frame.depth, frame.K)).reshape(*frame.depth.shape, 3)
    return cloud[v, u].astype(float)


def disc(centre: FloatArray, radius: float = HELD_RADIUS) -> FloatArray:
    angles = np.arange(24) * np.pi / 12
    return centre[:2] + radius * np.column_stack([np.cos(angles), np.sin(angles)])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("relation", [*DIRECTIONS, "next_to"])
def test_an_object_set_down_beside_another_is_free_near_and_in_that_direction(seed: int, relation: str) -> None:
    scene, frame = make_image(seed)
    right, away = camera_directions(frame.T_base_camera)
    towards = {"left_of": -right, "right_of": right, "in_front_of": -away, "behind": away}
    found = 0
    for index, reference in enumerate(scene.objects):
        if reference.asset.container:
            continue
        try:
            xyz = place(frame, relation, index)
        except ToolError:
            continue
        found += 1
        assert abs(xyz[2]) < 0.008
        assert workspace.within_reach(xyz[:2])
        assert 0.01 < gap(disc(xyz), footprint(reference)) < 0.13
        others = [gap(disc(xyz), footprint(o)) for k, o in enumerate(scene.objects) if k != index]
        assert min(others) > -0.002
        if relation != "next_to":
            offset = xyz[:2] - reference.position_m[:2]
            assert offset @ towards[relation] > 0.75 * np.linalg.norm(offset)
            # Judged with a margin: what is set down there must not be in doubt.
            along = offset @ towards[relation]
            assert along - np.sqrt(max(offset @ offset - along**2, 0.0)) > 0.01
    assert found >= len(scene.objects) - 2


def test_left_of_a_group_is_left_of_both_and_near_one() -> None:
    scene, frame = arranged(("teddy bear", 0.45, 0.0), ("bunny", 0.55, 0.06))
    request = FreeSpaceRequest("left_of", ("two plushies",))
    xyz = shown(frame, find_free_space(frame, request, [[mask(frame, 0), mask(frame, 1)]]))
    assert all(xyz[1] < placed.position_m[1] - 0.03 for placed in scene.objects)
    assert 0.0 < min(gap(disc(xyz), footprint(placed)) for placed in scene.objects) < 0.12


def test_between_two_objects_is_near_the_middle_and_clear_of_both() -> None:
    scene, frame = arranged(("red box", 0.45, -0.13), ("cola", 0.45, 0.13))
    xyz = place(frame, "between", 0, 1)
    assert np.linalg.norm(xyz[:2] - [0.45, 0.0]) < 0.03
    assert min(gap(disc(xyz), footprint(placed)) for placed in scene.objects) > 0.03


@pytest.mark.parametrize("container", ["black bin", "transparent bin", "white bowl"])
def test_in_a_container_is_the_middle_of_its_floor(container: str) -> None:
    _, frame = arranged((container, 0.48, 0.05), ("red box", 0.48, -0.2))
    xyz = place(frame, "in", 0)
    assert np.linalg.norm(xyz[:2] - [0.48, 0.05]) < 0.035
    assert xyz[2] < 0.015


def test_in_a_container_keeps_off_what_is_in_it() -> None:
    scene, _ = arranged(("black bin", 0.48, 0.0))
    item = load_catalogue()["cinnamon"]
    inner = PlacedObject("inner", "cinnamon", (0.48, 0.04, 0.005 + item.size_m[2] / 2), 0.0)
    _, frame = rendered(replace(scene, objects=(*scene.objects, inner)))
    xyz = place(frame, "in", 0)
    assert xyz[2] < 0.015
    assert np.linalg.norm(xyz[:2] - [0.48, 0.04]) > 0.04


@pytest.mark.parametrize(("x", "y"), [(0.235, -0.20), (0.235, 0.24), (0.60, 0.33)])
def test_in_a_container_at_the_limit_of_reach_is_a_point_within_it(x: float, y: float) -> None:
    _, frame = arranged(("black bin", x, y), ("baseball", 0.45, 0.0))
    xyz = asked(frame, FreeSpaceRequest("in", ("thing 0",), object="thing 1"), 0, item=1)
    assert workspace.within_reach(xyz[:2])
    assert xyz[2] < 0.015


def test_a_container_beyond_reach_is_said_to_be_so() -> None:
    _, frame = arranged(("black bin", 0.80, 0.10))
    with refused(ErrorCode.OUT_OF_WORKSPACE, "beyond the arm's reach"):
        place(frame, "in", 0)


TWO_BALLS = (("black bin", 0.48, 0.0), ("baseball", 0.45, -0.3), ("baseball", 0.45, 0.3))


def test_the_first_object_in_a_bin_leaves_room_for_another_one() -> None:
    _, frame = arranged(*TWO_BALLS)
    xy = asked(frame, FreeSpaceRequest("in", ("thing 0",), object="thing 1"), 0, item=1)[:2]
    radius = load_catalogue()["baseball"].size_m[0] / 2
    width, length = load_catalogue()["black bin"].size_m[:2]
    aside, along = np.abs(xy - (0.48, 0.0))
    assert aside + radius < width / 2 - 0.004
    assert along + radius < length / 2 - 0.004
    assert length / 2 - 0.004 + along - radius > 2 * radius


def test_an_object_for_which_no_room_is_left_in_a_bin_is_refused_before_it_moves() -> None:
    scene, _ = arranged(*TWO_BALLS)
    ball = load_catalogue()["baseball"].size_m[2]
    full = (
        PlacedObject(f"inner_{k}", "baseball", (0.48, y, 0.004 + ball / 2), 0.0) for k, y in enumerate((-0.04, 0.04))
    )
    _, frame = rendered(replace(scene, objects=(*scene.objects, *full)))
    with refused(ErrorCode.PLACE_BLOCKED, "no room left in the thing 0"):
        asked(frame, FreeSpaceRequest("in", ("thing 0",), object="thing 1"), 0, item=1)


def test_an_object_goes_above_what_lies_low_in_a_bin() -> None:
    scene, _ = arranged(("grey bin", 0.48, 0.0), ("wrench", 0.45, -0.3), ("wrench", 0.45, 0.3))
    flat = (
        PlacedObject(f"inner_{k}", "wrench", (0.48 + x, 0.0, 0.019), np.pi / 2) for k, x in enumerate((-0.04, 0.03))
    )
    _, frame = rendered(replace(scene, objects=(*scene.objects, *flat)))
    x, y, z = asked(frame, FreeSpaceRequest("in", ("thing 0",), object="thing 1"), 0, item=1)
    assert np.hypot(x - 0.48, y) < 0.05
    assert z < 0.05


def test_on_a_box_is_the_middle_of_its_top() -> None:
    _, frame = arranged(("rice box", 0.45, 0.1))
    assert np.allclose(place(frame, "on", 0), [0.45, 0.1, 0.135], atol=0.006)


@pytest.mark.parametrize(
    ("relation", "items", "why"),
    [
        ("between", (("red box", 0.45, -0.04), ("cola", 0.45, 0.05)), r"too close together|in the way"),
        ("in", (("red box", 0.45, 0.0),), "not open"),
        ("on", (("tennis ball", 0.45, 0.0),), "not level"),
        ("on", (("blue cup", 0.45, 0.0),), "open"),
        ("on", (("pear", 0.45, 0.0),), "top"),
        ("on", (("ketchup", 0.45, 0.0),), "too small"),
    ],
)
def test_where_there_is_no_place_the_reason_is_told(
    relation: str, items: tuple[tuple[str, float, float], ...], why: str
) -> None:
    with refused(ErrorCode.PLACE_BLOCKED, why):
        place(arranged(*items)[1], relation, *range(len(items)))


@pytest.mark.parametrize("seed", range(3))
def test_anywhere_is_well_clear_of_everything(seed: int) -> None:
    scene, frame = make_image(seed)
    xyz = place(frame, "anywhere")
    assert workspace.within_reach(xyz[:2])
    assert min(gap(disc(xyz, 0.045), footprint(placed)) for placed in scene.objects) > 0.0


def test_a_blocked_side_names_what_is_in_the_way() -> None:
    objects = (("red box", 0.45, 0.0), ("grey bin", 0.48, -0.16), ("milk", 0.35, -0.12), ("cola", 0.59, -0.13))
    _, frame = arranged(*objects)
    named = [(name, mask(frame, k)) for k, (name, _, _) in enumerate(objects)]
    blocked = "There is no free table left of the red box within 12 cm: the grey bin, the milk, the cola and space"
    with refused(ErrorCode.PLACE_BLOCKED, blocked):
        find_free_space(frame, FreeSpaceRequest("left_of", ("red box",)), [[mask(frame, 0)]], named=named)


def test_the_limit_of_reach_is_named() -> None:
    _, frame = arranged(("red box", 0.45, -0.42))
    with pytest.raises(ToolError, match="reach") as error:
        place(frame, "left_of", 0)
    assert error.value.code == ErrorCode.OUT_OF_WORKSPACE, "no thing is in the way"


@pytest.mark.parametrize(
    ("relation", "indices"), [("between", (0,)), ("between", (0, 0)), ("left_of", ()), ("in", (0, 1)), ("under", (0,))]
)
def test_requests_that_contradict_themselves_are_refused(relation: str, indices: tuple[int, ...]) -> None:
    _, frame = arranged(("red box", 0.45, -0.13), ("cola", 0.45, 0.13))
    with refused(ErrorCode.INVALID_ARGUMENT):
        place(frame, relation, *indices)


def test_masks_of_another_shape_are_refused() -> None:
    _, frame = arranged(("red box", 0.45, -0.13), ("cola", 0.45, 0.13))
    with refused(ErrorCode.INVALID_ARGUMENT, "shape"):
        find_free_space(frame, FreeSpaceRequest("on", ("box",)), [[np.ones((4, 4), dtype=bool)]])


def test_an_empty_mask_has_no_depth() -> None:
    _, frame = arranged(("red box", 0.45, -0.13), ("cola", 0.45, 0.13))
    nothing = np.zeros(frame.depth.shape, dtype=bool)
    for relation in ("left_of", "in", "on"):
        with refused(ErrorCode.NO_DEPTH):
            find_free_space(frame, FreeSpaceRequest(relation, ("box",)), [[nothing]])  # type: ignore[arg-type]


def test_the_same_request_gives_the_same_point() -> None:
    _, frame = make_image(0)
    assert np.array_equal(place(frame, "next_to", 0), place(frame, "next_to", 0))


def test_the_cells_within_reach_are_those_whose_corners_all_are() -> None:
    shape, cell, slack = (140, 240), 0.005, 0.002
    xy, within = free_space._grid(shape)
    for i in range(0, shape[0], 3):
        for j in range(0, shape[1], 3):
            x, y = workspace.TABLE_X[0] + (i + 0.5) * cell, workspace.TABLE_Y[0] + (j + 0.5) * cell
            assert np.allclose(xy[i, j], (x, y))
            corners = [(xy[i, j] + (dx, dy)) for dx in (-slack, slack) for dy in (-slack, slack)]
            assert within[i, j] == all(workspace.within_reach(corner) for corner in corners)


def asked(frame: Frame, request: FreeSpaceRequest, *indices: int, item: int | None = None) -> FloatArray:
    """The point (3,) in the base frame that the image shows at a place of any kind."""
    masks = [[mask(frame, k)] for k in indices]
    named = [(f"thing {k}", mask(frame, k)) for k in range(3)]
    own = None if item is None else mask(frame, item)
    return shown(frame, find_free_space(frame, request, masks, named=named, item=own))


TABLE = (("tomato soup", 0.45, 0.0), ("sugar box", 0.45, 0.22), ("green bowl", 0.50, -0.22))


@pytest.mark.parametrize(
    ("region", "extent", "low", "high"),
    [
        ("left", "side", (0.2, -0.44), (0.7, -0.15)),
        ("right", "side", (0.2, 0.15), (0.7, 0.44)),
        ("front", "side", (0.6, -0.44), (0.7, 0.44)),
        ("back", "side", (0.2, -0.44), (0.4, 0.44)),
        ("middle", "", (0.4, -0.1), (0.6, 0.1)),
        ("front left", "corner", (0.57, -0.44), (0.7, -0.22)),
        ("back right", "corner", (0.2, 0.22), (0.4, 0.44)),
        ("right", "edge", (0.2, 0.34), (0.7, 0.44)),
    ],
)
def test_a_part_of_the_table_has_a_free_place(
    region: str, extent: Extent, low: tuple[float, float], high: tuple[float, float]
) -> None:
    _, frame = arranged(*TABLE)
    xy = asked(frame, FreeSpaceRequest("region", region=region, extent=extent))[:2]
    assert (low <= xy).all()
    assert (xy <= high).all()


@pytest.mark.parametrize(
    ("way", "step"), [("left", (0, -0.08)), ("right", (0, 0.08)), ("front", (0.08, 0)), ("back", (-0.08, 0))]
)
def test_a_way_is_measured_from_where_the_object_stands_which_hides_nothing(
    way: str, step: tuple[float, float]
) -> None:
    scene, frame = arranged(*TABLE)
    request = FreeSpaceRequest("moved", distance_m=0.08, way=way, object="soup")
    point = find_free_space(frame, request, [], item=mask(frame, 0))
    x, y = np.add(scene.objects[0].position_m[:2], step)
    assert point == pytest.approx(normalized(frame, x, y), abs=0.02)


def test_a_gap_is_left_between_the_edges() -> None:
    scene, frame = arranged(*TABLE)
    request = FreeSpaceRequest("left_of", ("thing 1",), distance_m=0.05, object="soup")
    x, y = asked(frame, request, 1, item=0)[:2]
    edge = footprint(scene.objects[1])[:, 1].min()
    assert y + HELD_RADIUS == pytest.approx(edge - 0.05, abs=0.015)
    assert abs(x - 0.45) < abs(y - 0.22)


def test_what_must_not_hold_leaves_another_side() -> None:
    _, frame = arranged(*TABLE)
    behind = FreeSpaceRequest("behind", ("thing 1",), denied=True)
    x, y = asked(frame, FreeSpaceRequest("next_to", ("thing 1",), also=(behind,)), 1, 1)[:2]
    assert not x < 0.45 - abs(y - 0.22)


def test_of_two_sides_each_is_a_half_of_the_table_and_not_far() -> None:
    _, frame = arranged(*TABLE)
    front = FreeSpaceRequest("in_front_of", ("thing 2",))
    x, y = asked(frame, FreeSpaceRequest("left_of", ("thing 1",), also=(front,)), 1, 2)[:2]
    assert y < 0.20
    assert x > 0.52
    assert np.hypot(x - 0.45, y - 0.22) < 0.40
    assert np.hypot(x - 0.50, y + 0.22) < 0.40


def test_a_part_of_a_container_is_inside_it() -> None:
    scene, frame = arranged(*TABLE)
    xy = asked(frame, FreeSpaceRequest("in", ("thing 2",), region="back"), 2)[:2]
    offset = xy - np.asarray(scene.objects[2].position_m[:2])
    assert offset[0] < -0.01
    assert np.hypot(*offset) < 0.06


def normalized(frame: Frame, x: float, y: float, z: float = 0.0) -> tuple[float, float]:
    uv = project(transform(invert(frame.T_base_camera), np.array([[x, y, z]])), frame.K)[0]
    return (float(uv[0]) + 0.5) / frame.size[0], (float(uv[1]) + 0.5) / frame.size[1]


def test_a_spot_is_given_back_as_it_was_said_where_it_is_free() -> None:
    _, frame = arranged(*TABLE)
    point = normalized(frame, 0.58, 0.05)
    assert find_free_space(frame, FreeSpaceRequest("at", point=point), []) == point
    beyond = normalized(frame, 0.80, 0.0)
    with pytest.raises(ToolError, match="beyond the arm's reach"):
        find_free_space(frame, FreeSpaceRequest("at", point=beyond), [])


def test_a_spot_on_which_something_stands_is_not_free() -> None:
    _, frame = arranged(*TABLE)
    named = [("soup", mask(frame, 0))]
    for spot in (normalized(frame, 0.45, 0.0), normalized(frame, 0.49, 0.0)):
        with refused(ErrorCode.PLACE_BLOCKED, "the soup is there"):
            find_free_space(frame, FreeSpaceRequest("at", point=spot), [], named=named)


def test_a_level_top_is_a_spot() -> None:
    _, frame = arranged(*TABLE)
    height = load_catalogue()["sugar box"].size_m[2]
    point = normalized(frame, 0.45, 0.22, height)
    assert find_free_space(frame, FreeSpaceRequest("at", point=point), [], named=[("box", mask(frame, 1))]) == point


def test_an_object_is_not_in_the_way_of_a_spot_that_it_hides_itself() -> None:
    _, frame = arranged(*TABLE)
    request = FreeSpaceRequest("at", point=normalized(frame, 0.42, 0.0), object="soup")
    with pytest.raises(ToolError, match="the thing 0 is there"):
        asked(frame, replace(request, object=""))
    named = [(f"thing {k}", mask(frame, k)) for k in range(3)]
    assert find_free_space(frame, request, [], named=named, item=named[0][1]) == request.point
