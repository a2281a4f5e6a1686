"""The numbers that decide a score, at both sides of each, written out: no threshold is compared with itself."""

from dataclasses import replace

import numpy as np
import pytest

from tests.refusals import refused
from tests.sim.tasks import standing
from tests.sim.tasks.standing import T_BASE_CAMERA, scene_of, snapshot, tilted
from toolhand.sim.snapshot import ObjectState, Snapshot
from toolhand.sim.tasks.predicates import (
    PlaceVerdict,
    Relation,
    Thresholds,
    camera_directions,
    judge_pick,
    judge_place,
    relation_fault,
    relation_holds,
)
from toolhand.sim.tasks.task import History, held_ids
from toolhand.sim.world import LOG_PERIOD_S
from toolhand.tool_nodes import workspace
from toolhand.tool_nodes.geometry import look_at
from toolhand.tool_nodes.results import ErrorCode, ToolError

NAMES = ("cola_1", "milk_1", "milk_2", "red_box_1", "tuna_can_1", "ketchup_1", "black_bin_1", "white_bowl_1")
SCENE = scene_of(*NAMES)
HEIGHT = {name: SCENE.find(name).asset.size_m[2] for name in NAMES}


def state(name: str, x: float, y: float, up: float = 0.0, touching: str = "table") -> ObjectState:
    """Upright and at rest, so far over the table."""
    return standing.state(name, x, y, workspace.TABLE_Z + HEIGHT[name] / 2 + up, touching=touching)


BEFORE = snapshot(
    state("cola_1", 0.48, 0.0),
    state("milk_1", 0.48, 0.3),
    state("milk_2", 0.48, -0.3),
    state("red_box_1", 0.3, 0.3),
    state("tuna_can_1", 0.3, -0.3),
)


def over(seconds: float, *states: ObjectState) -> list[Snapshot]:
    """The states, and all else as before, at the beginning, in the middle and at the end of some time."""
    objects = {**BEFORE.objects, **{each.id: each for each in states}}
    return [Snapshot(5.0 + share * seconds, objects) for share in (0.0, 0.5, 1.0)]


# -- picking -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("up_m", "touching", "picked"),
    [
        (0.0505, "gripper", True),
        (0.0495, "gripper", False),
        (-0.06, "gripper", False),
        (0.06, "red_box_1", False),
    ],
)
def test_a_pick_is_five_centimetres_up_in_the_gripper(up_m: float, touching: str, picked: bool) -> None:
    history = over(2.0, state("cola_1", 0.48, 0.0, up_m, touching))
    assert judge_pick(BEFORE, history, ["cola_1"]) is picked


@pytest.mark.parametrize(("seconds", "enough"), [(2.0, True), (1.995, True), (1.98, False), (1.0, False)])
def test_a_hold_is_two_seconds_long(seconds: float, enough: bool) -> None:
    history = over(seconds, state("cola_1", 0.48, 0.0, 0.06, "gripper"))
    if enough:
        assert judge_pick(BEFORE, history, ["cola_1"])
    else:
        with refused(ErrorCode.INTERNAL, rf"^The snapshots cover {seconds:.2f} s, judging needs 2 s\.$"):
            judge_pick(BEFORE, history, ["cola_1"])


def risen(seconds: float, up_m: float = 0.06) -> History:
    """A logged episode in which the cola was up for some time, and then put down."""
    steps = round(seconds / LOG_PERIOD_S)
    start = BEFORE.objects["cola_1"]
    poses = np.tile(np.concatenate([start.position_m, start.quat_wxyz]), (steps + 30, 1))
    poses[15 : 15 + steps, 2] += up_m
    times = LOG_PERIOD_S * np.arange(len(poses))
    return History(SCENE, T_BASE_CAMERA, BEFORE, times, {"cola_1": poses}, (), BEFORE)


@pytest.mark.parametrize(
    ("seconds", "up_m", "lifted"),
    [(2.0, 0.06, True), (1.9, 0.06, False), (1.0, 0.06, False), (3.0, 0.0505, True), (3.0, 0.0495, False)],
)
def test_lifted_is_five_centimetres_up_for_two_seconds_on_end(seconds: float, up_m: float, lifted: bool) -> None:
    assert (risen(seconds, up_m).lifted == {"cola_1"}) is lifted


def test_what_is_up_from_the_start_is_up_for_two_seconds_too() -> None:
    for steps, lifted in ((round(2.0 / LOG_PERIOD_S), True), (round(2.0 / LOG_PERIOD_S) - 1, False)):
        poses = risen(3.0).poses["cola_1"][15 : 15 + steps]
        assert bool(replace(risen(3.0), poses={"cola_1": poses}).lifted) is lifted


def test_two_short_lifts_are_not_one_long_one() -> None:
    once = risen(1.2)
    poses = np.vstack([once.poses["cola_1"], once.poses["cola_1"]])
    assert not replace(once, poses={"cola_1": poses}, times=LOG_PERIOD_S * np.arange(len(poses))).lifted


def test_an_object_that_is_dropped_or_swapped_during_the_hold_is_no_pick() -> None:
    cola, milk = state("cola_1", 0.48, 0.0, 0.06, "gripper"), state("milk_1", 0.48, 0.3, 0.06, "gripper")
    held, other = over(2.0, cola), over(2.0, milk)
    both = ["cola_1", "milk_1"]
    assert judge_pick(BEFORE, held, both)
    assert judge_pick(BEFORE, other, both)
    assert not judge_pick(BEFORE, [held[0], held[1], other[2]], both)
    assert not judge_pick(BEFORE, [held[0], replace(BEFORE, time=6.0), held[2]], both)
    let_go = over(2.0, replace(cola, touching=frozenset({"milk_1"})))
    assert not judge_pick(BEFORE, [held[0], let_go[1], held[2]], both)


def test_what_the_gripper_holds_is_off_the_table() -> None:
    states = (
        state("cola_1", 0.48, 0.0, 0.06, "gripper"),
        state("milk_1", 0.48, 0.3, 0.0, "table gripper"),
        state("milk_2", 0.48, -0.3, 0.06, "arm"),
    )
    assert held_ids(over(1.0, *states)[0]) == {"cola_1"}


# -- placing -------------------------------------------------------------------------------------


def place(
    *states: ObjectState,
    relation: Relation | str = "right_of",
    references: tuple[str, ...] = ("milk_2",),
    seconds: float = 0.5,
) -> PlaceVerdict:
    history = over(seconds, *states)
    return judge_place(SCENE, BEFORE, history, "cola_1", relation, references, T_BASE_CAMERA)  # type: ignore[arg-type]


PLACED = state("cola_1", 0.48, -0.18)


@pytest.mark.parametrize(
    ("touching", "released"),
    [
        ("table", True),
        ("table red_box_1", True),
        ("table gripper", False),
        ("table arm", False),
        ("table gripper arm", False),
    ],
)
def test_an_object_that_leans_on_the_gripper_or_on_the_arm_is_not_let_go(touching: str, released: bool) -> None:
    verdict = place(replace(PLACED, touching=frozenset(touching.split())))
    assert verdict == (PlaceVerdict(True, ()) if released else PlaceVerdict(False, ("cola_1 is not released.",)))


def test_it_is_let_go_and_still_throughout_and_not_only_in_the_end() -> None:
    good = over(0.5, PLACED)
    for wrong, reason in (
        (replace(PLACED, touching=frozenset({"table", "gripper"})), "cola_1 is not released."),
        (replace(PLACED, velocity=np.array([0.03, 0.0, 0.0, 0.0, 0.0, 0.0])), "cola_1 does not lie still."),
    ):
        for index in range(3):
            history = list(good)
            history[index] = replace(over(0.5, wrong)[index])
            verdict = judge_place(SCENE, BEFORE, history, "cola_1", "right_of", ["milk_2"], T_BASE_CAMERA)
            assert verdict == PlaceVerdict(False, (reason,)), index


@pytest.mark.parametrize(
    ("velocity", "still"),
    [
        ((0.019, 0.0, 0.0, 0.0, 0.0, 0.0), True),
        ((0.021, 0.0, 0.0, 0.0, 0.0, 0.0), False),
        ((0.0, 0.015, 0.015, 0.0, 0.0, 0.0), False),
        ((0.0, 0.0, 0.0, 0.29, 0.0, 0.0), True),
        ((0.0, 0.0, 0.0, 0.0, 0.0, -0.31), False),
        ((0.0, 0.0, 0.0, 0.2, 0.2, 0.2), False),
        ((0.0, 0.0, -0.019, 0.0, 0.29, 0.0), True),
    ],
)
def test_still_is_slower_than_two_centimetres_and_three_tenths_of_a_radian_a_second(
    velocity: tuple[float, ...], still: bool
) -> None:
    verdict = place(replace(PLACED, velocity=np.array(velocity)))
    assert verdict == (PlaceVerdict(True, ()) if still else PlaceVerdict(False, ("cola_1 does not lie still.",)))


@pytest.mark.parametrize(("seconds", "enough"), [(0.5, True), (0.495, True), (0.48, False)])
def test_an_object_lies_for_half_a_second(seconds: float, enough: bool) -> None:
    if enough:
        assert place(PLACED, seconds=seconds).ok
    else:
        with pytest.raises(ToolError, match=r"judging needs 0\.5 s\.$"):
            place(PLACED, seconds=seconds)


@pytest.mark.parametrize("direction", [(1.0, 0.0), (0.0, -1.0), (-0.6, -0.8)])
@pytest.mark.parametrize(("moved_m", "where_it_was"), [(0.019, True), (0.021, False)])
def test_a_reference_stays_within_two_centimetres(
    direction: tuple[float, float], moved_m: float, where_it_was: bool
) -> None:
    x, y = 0.48 + moved_m * direction[0], -0.3 + moved_m * direction[1]
    verdict = place(PLACED, state("milk_2", x, y))
    reasons = () if where_it_was else ("milk_2 was moved by 2.1 cm.",)
    assert verdict.reasons == reasons


@pytest.mark.parametrize(
    ("degrees", "axis", "upright"), [(29, 0, True), (31, 0, False), (31, 1, False), (170, 2, True)]
)
def test_what_leans_by_thirty_degrees_has_toppled_and_what_turns_on_the_spot_has_not(
    degrees: float, axis: int, upright: bool
) -> None:
    verdict = place(PLACED, tilted(BEFORE.objects["tuna_can_1"], degrees, axis))
    assert verdict.reasons == (() if upright else ("tuna_can_1 toppled.",))


@pytest.mark.parametrize(("below_m", "fell"), [(0.001, True), (-0.001, False)])
def test_what_is_below_the_table_fell_off_it(below_m: float, fell: bool) -> None:
    low = replace(BEFORE.objects["red_box_1"], position_m=np.array([0.3, 0.3, workspace.TABLE_Z - below_m]))
    assert place(PLACED, low).reasons == (("red_box_1 fell off the table.",) if fell else ())


def test_what_happens_in_the_last_moment_counts() -> None:
    good, moved = over(0.5, PLACED), over(0.5, PLACED, state("milk_2", 0.48, -0.33))
    verdict = judge_place(SCENE, BEFORE, [*good[:2], moved[2]], "cola_1", "right_of", ["milk_2"], T_BASE_CAMERA)
    assert verdict.reasons == ("milk_2 was moved by 3.0 cm.",)
    back = judge_place(SCENE, BEFORE, [*moved[:2], good[2]], "cola_1", "right_of", ["milk_2"], T_BASE_CAMERA)
    assert back.ok


def test_what_lies_in_a_bin_may_lie_but_nothing_else_may_topple() -> None:
    black_bin = state("black_bin_1", 0.5, 0.1)
    lying = tilted(state("cola_1", 0.5, 0.1, touching="black_bin_1"), 90)
    lying = replace(lying, position_m=np.array([0.5, 0.1, workspace.TABLE_Z + 0.033]))
    before = Snapshot(0.0, {**BEFORE.objects, black_bin.id: black_bin})
    for tipped, reasons in ((False, ()), (True, ("tuna_can_1 toppled.",))):
        can = tilted(BEFORE.objects["tuna_can_1"], 90 if tipped else 0)
        objects = {**before.objects, "cola_1": lying, "tuna_can_1": can}
        history = [Snapshot(time, objects) for time in (5.0, 5.5)]
        assert judge_place(SCENE, before, history, "cola_1", "in", ["black_bin_1"], T_BASE_CAMERA).reasons == reasons


def test_other_thresholds_can_be_asked_for() -> None:
    wide = Thresholds(gap_m=0.3, lift_m=0.03, hold_s=1.0, still_s=0.2)
    far = state("cola_1", 0.48, -0.02)
    assert "more than 15 cm" in place(far).reasons[0]
    history = over(0.2, far)
    assert judge_place(SCENE, BEFORE, history, "cola_1", "right_of", ["milk_2"], T_BASE_CAMERA, wide).ok
    objects = history[0].objects
    assert relation_holds("right_of", "cola_1", ["milk_2"], SCENE, objects, T_BASE_CAMERA, wide)
    assert not relation_holds("right_of", "cola_1", ["milk_2"], SCENE, objects, T_BASE_CAMERA)
    assert judge_pick(BEFORE, over(1.0, state("cola_1", 0.48, 0.0, 0.04, "gripper")), ["cola_1"], wide)


def test_no_history_is_no_evidence() -> None:
    with refused(ErrorCode.INTERNAL, r"cover 0\.00 s, judging needs 0\.5 s"):
        judge_place(SCENE, BEFORE, [], "cola_1", "right_of", ["milk_2"], T_BASE_CAMERA)
    with pytest.raises(ToolError, match=r"cover 0\.00 s, judging needs 2 s"):
        judge_pick(BEFORE, [], ["cola_1"])


def test_every_fault_is_told() -> None:
    lying = tilted(replace(PLACED, touching=frozenset({"gripper"}), velocity=np.full(6, 1.0)), 90)
    verdict = place(lying, state("milk_2", 0.48, -0.4))
    assert verdict.reasons[:4] == (
        "cola_1 is not released.",
        "cola_1 does not lie still.",
        "milk_2 was moved by 10.0 cm.",
        "cola_1 toppled.",
    )
    assert len(verdict.reasons) == 5


@pytest.mark.parametrize(("up_m", "stands"), [(0.009, True), (0.011, False)])
def test_anywhere_is_standing_on_the_table(up_m: float, stands: bool) -> None:
    verdict = place(state("cola_1", 0.6, 0.1, up_m), relation="anywhere", references=())
    assert verdict.reasons == (() if stands else ("cola_1 does not stand on the table.",))


# -- relations -----------------------------------------------------------------------------------


def fault(relation: Relation, references: tuple[str, ...], *states: ObjectState) -> str | None:
    objects = {each.id: each for each in states}
    found = relation_fault(relation, states[0].id, references, SCENE, objects, T_BASE_CAMERA)
    assert relation_holds(relation, states[0].id, references, SCENE, objects, T_BASE_CAMERA) is (found is None)
    return found


@pytest.mark.parametrize(
    ("across_m", "apart_m", "between"),
    [(0.09, 0.2, True), (0.11, 0.2, False), (-0.11, 0.2, False), (0.145, 0.5, True), (0.155, 0.5, False)],
)
def test_between_is_within_half_of_the_way_from_one_to_the_other_and_fifteen_centimetres(
    across_m: float, apart_m: float, between: bool
) -> None:
    ends = state("milk_1", 0.5, apart_m / 2), state("milk_2", 0.5, -apart_m / 2)
    found = fault("between", ("milk_1", "milk_2"), state("cola_1", 0.5 + across_m, 0.0), *ends)
    assert found == (None if between else "cola_1 is not between milk_1 and milk_2.")


@pytest.mark.parametrize(("along_m", "between"), [(0.012, True), (0.008, False), (0.188, True), (0.192, False)])
def test_between_is_a_centimetre_inside_of_both(along_m: float, between: bool) -> None:
    ends = state("milk_1", 0.5, 0.1), state("milk_2", 0.5, -0.1)
    found = fault("between", ("milk_1", "milk_2"), state("cola_1", 0.57, 0.1 - along_m), *ends)
    assert (found is None) is between


def test_between_looks_across_the_way_also_where_it_runs_slantwise() -> None:
    ends = state("milk_1", 0.4, -0.2), state("milk_2", 0.7, 0.2)
    middle, across = np.array([0.55, 0.0]), np.array([-0.8, 0.6])
    for distance, between in ((0.14, True), (-0.14, True), (0.16, False), (-0.16, False)):
        moved = state("cola_1", *(middle + distance * across))
        assert (fault("between", ("milk_1", "milk_2"), moved, *ends) is None) is between, distance


@pytest.mark.parametrize(("up_m", "on"), [(0.009, True), (0.011, False), (-0.009, True), (-0.011, False)])
def test_on_is_within_a_centimetre_of_the_top(up_m: float, on: bool) -> None:
    top = HEIGHT["red_box_1"]
    moved = state("tuna_can_1", 0.3, 0.3, top + up_m, "red_box_1")
    found = fault("on", ("red_box_1",), moved, BEFORE.objects["red_box_1"])
    assert found == (None if on else "tuna_can_1 is not on top of red_box_1.")


@pytest.mark.parametrize("relation", ["left_of", "next_to"])
@pytest.mark.parametrize(("gap_m", "near"), [(0.001, True), (0.149, True), (0.151, False)])
def test_beside_is_apart_and_at_most_fifteen_centimetres_away(relation: Relation, gap_m: float, near: bool) -> None:
    half = SCENE.find("milk_1").asset.size_m[1] / 2 + SCENE.find("cola_1").asset.size_m[1] / 2
    moved = state("cola_1", 0.48, 0.3 - half - gap_m)
    found = fault(relation, ("milk_1",), moved, BEFORE.objects["milk_1"])
    assert found == (None if near else "cola_1 is 15 cm away, more than 15 cm.")
    touching = replace(moved, touching=frozenset({"table", "milk_1"}))
    assert fault(relation, ("milk_1",), touching, BEFORE.objects["milk_1"]) == "cola_1 is not apart from milk_1."


def test_apart_is_not_to_touch_and_not_to_overlap() -> None:
    touching = SCENE.find("milk_1").asset.size_m[1]
    other = BEFORE.objects["milk_1"]
    assert fault("next_to", ("milk_1",), state("milk_2", 0.48, 0.3 - touching + 0.002), other) is not None
    assert fault("next_to", ("milk_1",), state("milk_2", 0.48, 0.3 - touching - 0.002), other) is None


def test_a_fault_names_the_relation_and_every_reference() -> None:
    group = (BEFORE.objects["milk_1"], state("tuna_can_1", 0.48, 0.2))
    found = fault("in_front_of", ("milk_1", "tuna_can_1"), state("cola_1", 0.36, 0.25), *group)
    assert found == "cola_1 is not in front of milk_1 and tuna_can_1."


@pytest.mark.parametrize("roll", [0.0, 0.4, -0.4])
def test_a_camera_in_a_corner_looks_along_the_diagonal_however_it_is_rolled(roll: float) -> None:
    T = look_at((1.1, 0.6, 0.6), (0.5, 0.0, 0.0))
    rolled = T.copy()
    rolled[:3, :3] = T[:3, :3] @ np.array(
        [[np.cos(roll), -np.sin(roll), 0.0], [np.sin(roll), np.cos(roll), 0.0], [0.0, 0.0, 1.0]]
    )
    right, away = camera_directions(rolled)
    assert away == pytest.approx([-(0.5**0.5), -(0.5**0.5)])
    assert np.linalg.norm(right) == pytest.approx(1.0)
    if roll == 0.0:
        assert right == pytest.approx([-(0.5**0.5), 0.5**0.5])


@pytest.mark.parametrize(
    ("angle", "behind"), [(0, True), (42, False), (35, True), (-35, True), (-42, False), (180, False)]
)
def test_a_direction_has_45_degrees_on_either_side_also_in_a_slanting_view(angle: float, behind: bool) -> None:
    """Less a centimetre: at 12 cm that leaves 41.6 degrees."""
    T = look_at((1.1, 0.6, 0.6), (0.5, 0.0, 0.0))
    course = np.radians(225.0 + angle)
    moved = state("cola_1", 0.5 + 0.12 * np.cos(course), 0.12 * np.sin(course))
    objects = {each.id: each for each in (moved, state("milk_1", 0.5, 0.0))}
    assert relation_holds("behind", "cola_1", ["milk_1"], SCENE, objects, T) is behind


@pytest.mark.parametrize(("off_m", "on"), [(0.010, True), (0.018, False), (-0.018, False)])
@pytest.mark.parametrize("axis", [0, 1])
def test_on_a_bottle_is_on_its_cap(axis: int, off_m: float, on: bool) -> None:
    """The cap of the ketchup is 2.8 cm wide, the bottle 5.6 cm."""
    place_of = np.array([0.5, 0.0]) + off_m * np.eye(2)[axis]
    moved = state("tuna_can_1", *place_of, HEIGHT["ketchup_1"], "ketchup_1")
    found = fault("on", ("ketchup_1",), moved, state("ketchup_1", 0.5, 0.0))
    assert found == (None if on else "tuna_can_1 is not on top of ketchup_1.")


@pytest.mark.parametrize(
    ("container", "offset", "inside"),
    [
        ("black_bin_1", (0.055, 0.0), True),
        ("black_bin_1", (0.057, 0.0), False),
        ("black_bin_1", (0.0, -0.070), True),
        ("black_bin_1", (0.0, -0.072), False),
        ("black_bin_1", (0.05, 0.065), True),
        ("white_bowl_1", (0.060, 0.0), True),
        ("white_bowl_1", (0.0, 0.062), False),
        ("white_bowl_1", (0.05, 0.05), False),
        ("white_bowl_1", (-0.04, 0.04), True),
    ],
)
def test_in_is_a_centimetre_inside_the_opening(container: str, offset: tuple[float, float], inside: bool) -> None:
    """The bin's opening is 13.2 by 16.2 cm, the bowl's a disc of 14.2 cm."""
    moved = state("tuna_can_1", 0.5 + offset[0], offset[1], 0.01, container)
    found = fault("in", (container,), moved, state(container, 0.5, 0.0))
    assert found == (None if inside else f"tuna_can_1 is not in {container}.")
