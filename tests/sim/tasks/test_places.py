"""Places of one's own judgement: for each where an object counts as there, and where it does not."""

from dataclasses import replace

import numpy as np
import pytest

from tests.sim.tasks.standing import T_BASE_CAMERA, ZERO, scene_of, state
from toolhand.sim.scene.scenes import PlacedObject
from toolhand.sim.snapshot import ObjectState
from toolhand.sim.tasks.places import (
    AllOf,
    AtDistance,
    AtSpot,
    Change,
    Closer,
    Farthest,
    GoalPlace,
    InLine,
    InPart,
    InRegion,
    NotRelated,
    Nudged,
    OnTable,
    Related,
    Towards,
    Upright,
)
from toolhand.sim.tasks.regions import PARTS, TABLE_REGIONS, in_region
from toolhand.tool_nodes import workspace

BEFORE = {
    "cola_1": (0.48, 0.0),
    "milk_1": (0.48, 0.30),
    "milk_2": (0.48, -0.30),
    "red_box_1": (0.30, 0.30),
    "tuna_can_1": (0.30, -0.20),
    "white_bowl_1": (0.60, 0.0),
}
# Cola can: radius 2.9 cm, 12.2 cm high. Milk carton: half side 3.2 cm. Red box: half sides 2.9 and 4.5 cm, 7.5 cm high.


SCENE = scene_of(*BEFORE)


def fault(place: GoalPlace, *at: float, touching: str = "table", name: str = "cola_1") -> str | None:
    """What is wrong with an object at a point, that was where BEFORE says."""
    before = {each: state(each, *xy) for each, xy in BEFORE.items()}
    change = Change(SCENE, before, before | {name: state(name, *at, touching=touching)}, T_BASE_CAMERA)
    return place.fault(name, change)


BOTH = AllOf((Towards("left", "milk_1"), Towards("front", "milk_1")))
STEPS = [
    (OnTable(), (0.3, 0.1), (0.3, 0.1, 0.2)),
    (OnTable(elsewhere=True), (0.42, 0.0), (0.44, 0.0)),
    (InRegion("left side"), (0.5, -0.11), (0.5, -0.09)),
    (InRegion("right side"), (0.5, 0.11), (0.5, 0.09)),
    (InRegion("front"), (0.59, 0.1), (0.57, 0.1)),
    (InRegion("back"), (0.43, 0.1), (0.45, 0.1)),
    (InRegion("middle"), (0.51, 0.14), (0.51, 0.16)),
    (InRegion("front left corner"), (0.57, -0.22), (0.57, 0.22)),
    (InRegion("back right corner"), (0.35, 0.22), (0.35, 0.15)),
    (InRegion("left edge"), (0.4, -0.31), (0.4, -0.29)),
    (InRegion("left side"), (0.5, -0.2), (0.5, -0.2, 0.3)),
    (Related("right_of", ("milk_2",)), (0.48, -0.2), (0.48, 0.1)),
    (NotRelated("next_to", ("milk_1",)), (0.48, 0.0), (0.48, 0.22)),
    (Towards("behind", "milk_1"), (0.38, 0.2), (0.50, 0.2)),
    (Towards("left", "milk_1"), (0.48, 0.0), (0.48, -0.1)),
    (BOTH, (0.55, 0.2), (0.45, 0.2)),
    (AtDistance(0.05, "left", "milk_1"), (0.48, 0.187), (0.48, 0.15)),  # edge to edge 5.2 and 8.9 cm
    (AtDistance(0.20, "left", "milk_1"), (0.48, 0.01), (0.48, 0.09)),
    (AtDistance(0.05, "left", "milk_1"), (0.48, 0.187), (0.375, 0.30)),
    (Nudged("left"), (0.48, -0.03), (0.48, 0.03)),
    (Nudged("left"), (0.48, -0.03), (0.48, -0.2)),
    (Nudged("front", 0.10), (0.59, 0.01), (0.54, 0.0)),
    (Nudged("front", 0.10), (0.58, 0.0), (0.58, 0.08)),
    (Closer("milk_1"), (0.48, 0.03), (0.48, 0.01)),
    (Closer("milk_1", away=True), (0.48, -0.03), (0.48, 0.03)),
    (Closer("operator"), (0.51, 0.0), (0.45, 0.0)),
    (Closer("robot"), (0.45, 0.0), (0.51, 0.0)),
    (Farthest("milk_1"), (0.44, -0.43), (0.44, -0.1)),
    (InLine(("milk_1", "milk_2")), (0.52, 0.1), (0.54, 0.1)),
    (AtSpot((0.30, 0.0, 0.061)), (0.309, 0.0), (0.311, 0.0)),
    (AtSpot((0.30, 0.0, 0.061)), (0.3, 0.0), (0.3, 0.0, 0.1)),
    (AtSpot((0.30, 0.0, 0.061), 0.04), (0.335, 0.0), (0.345, 0.0)),
]


@pytest.mark.parametrize(("place", "there", "not_there"), STEPS)
def test_a_place_has_a_border(place: GoalPlace, there: tuple[float, ...], not_there: tuple[float, ...]) -> None:
    assert fault(place, *there) is None
    assert fault(place, *not_there), place.words


def test_the_part_of_a_container_is_inside_it() -> None:
    bowl, inside = (0.60, 0.0), 0.04
    front, back = InPart("white_bowl_1", "front"), InPart("white_bowl_1", "behind")
    at = (bowl[0] + 0.01, 0.0, inside)
    assert fault(front, *at, touching="white_bowl_1", name="tuna_can_1") is None
    assert fault(back, *at, touching="white_bowl_1", name="tuna_can_1")
    assert fault(front, bowl[0] + 0.15, 0.0, name="tuna_can_1"), "in front of the bowl is not in its front"


def test_what_lies_is_not_upright() -> None:
    before = {each: state(each, *xy) for each, xy in BEFORE.items()}
    lying = ObjectState(
        "cola_1", np.array([0.48, 0, 0.029]), np.array([0.5**0.5, 0.5**0.5, 0, 0]), np.zeros(6), frozenset({"table"})
    )
    assert Upright().fault("cola_1", Change(SCENE, before, before, T_BASE_CAMERA)) is None
    assert Upright().fault("cola_1", Change(SCENE, before, before | {"cola_1": lying}, T_BASE_CAMERA))


@pytest.mark.parametrize(("quat_wxyz", "stands"), [((1, 0, 0, 0), False), ((0.5**0.5, 0, 0.5**0.5, 0), True)])
def test_what_rolls_stands_on_its_end(quat_wxyz: tuple[float, ...], stands: bool) -> None:
    scene = replace(SCENE, objects=(*SCENE.objects, PlacedObject("torch", "flashlight", ZERO, 0.0)))
    before = {each: state(each, *xy) for each, xy in BEFORE.items()}
    torch = ObjectState("torch", np.array([0.2, 0, 0.065]), np.array(quat_wxyz), np.zeros(6), frozenset({"table"}))
    fault = Upright().fault("torch", Change(scene, before, before | {"torch": torch}, T_BASE_CAMERA))
    assert (fault is None) == stands


@pytest.mark.parametrize("region", TABLE_REGIONS)
def test_the_arm_reaches_a_spot_well_inside_of_every_region(region: str) -> None:
    grid = np.stack(np.meshgrid(np.arange(0.2, 0.7, 0.01), np.arange(-0.44, 0.45, 0.01)), axis=-1).reshape(-1, 2)
    found = [xy for xy in grid[workspace.reachable(grid)] if in_region(region, xy)]  # type: ignore[arg-type]
    assert len(found) > 30, region
    assert any(PARTS[region].outside_m(xy) < 0.03 for xy in found)  # type: ignore[index]


def test_opposite_regions_share_no_point() -> None:
    grid = np.stack(np.meshgrid(np.arange(0.2, 0.7, 0.02), np.arange(-0.44, 0.45, 0.02)), axis=-1).reshape(-1, 2)
    for first, second in (("left side", "right side"), ("front", "back"), ("left edge", "middle")):
        assert not any(in_region(first, xy) and in_region(second, xy) for xy in grid)  # type: ignore[arg-type]
