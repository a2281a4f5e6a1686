"""Relations and verdicts: what counts as what. Numbers at both sides of each threshold: test_thresholds.py."""

from dataclasses import replace

import numpy as np
import pytest

from tests.refusals import refused
from tests.sim.tasks import standing
from tests.sim.tasks.standing import T_BASE_CAMERA, scene_of, snapshot, tilted
from toolhand.sim.snapshot import ObjectState, Snapshot
from toolhand.sim.tasks.predicates import (
    RELATIONS,
    PlaceVerdict,
    Relation,
    camera_directions,
    judge_pick,
    judge_place,
    relation_holds,
    score,
)
from toolhand.tool_nodes.results import ErrorCode

HERE = (0.48, 0.0)

# Cola can: radius 2.9 cm. Milk carton: half side 3.2 cm. Red box: half sides 2.9 and 4.5 cm, 7.5 cm high.
STANDING = {"cola_1": HERE, "milk_1": (0.48, 0.30), "milk_2": (0.48, -0.30), "red_box_1": (0.30, 0.30)}


def state(name: str, xy: tuple[float, float], z: float | None = None, touching: str = "table") -> ObjectState:
    return standing.state(name, *xy, *(() if z is None else (z,)), touching=touching)


def over(seconds: float, *states: ObjectState) -> list[Snapshot]:
    return [snapshot(*states, time=10 + share * seconds) for share in (0.0, 0.5, 1.0)]


def holds(relation: Relation, references: tuple[str, ...], *states: ObjectState) -> bool:
    """Whether the first state's object stands in the relation."""
    objects = {each.id: each for each in states}
    return relation_holds(relation, states[0].id, references, scene_of(*objects), objects, T_BASE_CAMERA)


# ---- Directions ----


def test_the_camera_s_right_is_the_base_s_left_and_away_is_towards_the_robot() -> None:
    right, away = camera_directions(T_BASE_CAMERA)
    assert right == pytest.approx([0, 1], abs=1e-9)
    assert away == pytest.approx([-1, 0], abs=1e-9)


def test_a_camera_straight_above_still_has_directions() -> None:
    T = np.eye(4)
    T[:3, :3] = np.array([[0, 1, 0], [1, 0, 0], [0, 0, -1]]).T
    right, away = camera_directions(T)
    assert right == pytest.approx([0, 1])
    assert away == pytest.approx([-1, 0])


OFFSETS: dict[Relation, tuple[float, float]] = {
    "left_of": (0.0, -0.12),
    "right_of": (0.0, 0.12),
    "in_front_of": (0.12, 0.0),
    "behind": (-0.12, 0.0),
}


@pytest.mark.parametrize("said", OFFSETS)
@pytest.mark.parametrize("true", OFFSETS)
def test_exactly_one_of_the_four_directions_holds(said: Relation, true: Relation) -> None:
    dx, dy = OFFSETS[true]
    moved = state("milk_1", (HERE[0] + dx, HERE[1] + dy))
    assert holds(said, ("cola_1",), moved, state("cola_1", HERE)) == (said == true)


@pytest.mark.parametrize(
    ("dx", "expected"), [(0.0, True), (0.105, True), (-0.105, True), (0.115, False), (-0.115, False), (0.13, False)]
)
def test_a_direction_needs_45_degrees_with_a_centimetre_to_spare(dx: float, expected: bool) -> None:
    moved = state("milk_1", (HERE[0] + dx, -0.12))
    assert holds("left_of", ("cola_1",), moved, state("cola_1", HERE)) is expected


@pytest.mark.parametrize("relation", ["left_of", "next_to"])
def test_what_touches_or_floats_is_not_beside(relation: Relation) -> None:
    cola = state("cola_1", HERE)
    assert holds(relation, ("cola_1",), state("milk_1", (0.48, -0.1)), cola)
    assert not holds(relation, ("cola_1",), state("milk_1", (0.48, -0.1), touching="table cola_1"), cola)
    assert not holds(relation, ("cola_1",), state("milk_1", (0.48, -0.1), z=0.12), cola)


def test_next_to_holds_in_every_direction() -> None:
    for angle in np.linspace(0, 2 * np.pi, 9):
        moved = state("milk_1", (HERE[0] + 0.14 * np.cos(angle), 0.14 * np.sin(angle)))
        assert holds("next_to", ("cola_1",), moved, state("cola_1", HERE))


def test_left_of_a_group_is_left_of_all_of_it_and_near_the_nearest() -> None:
    group = (state("cola_1", (0.48, 0.0)), state("milk_1", (0.48, -0.13)))
    names = ("cola_1", "milk_1")
    assert holds("left_of", names, state("milk_2", (0.48, -0.26)), *group)
    assert not holds("left_of", names, state("milk_2", (0.55, -0.10)), *group)
    assert not holds("left_of", names, state("milk_2", (0.48, 0.12)), *group)
    assert not holds("left_of", names, state("milk_2", (0.48, -0.40)), *group)


# ---- In and on ----

BIN = state("black_bin_1", (0.5, 0.3))


@pytest.mark.parametrize(
    ("dx", "z", "touching", "expected"),
    [
        (0.0, 0.065, "black_bin_1", True),
        (0.05, 0.065, "black_bin_1", True),
        (0.06, 0.065, "black_bin_1", False),
        (0.10, 0.061, "table", False),
        (0.0, 0.128, "black_bin_1", True),
        (0.0, 0.135, "black_bin_1", False),
        (0.0, 0.065, "gripper", False),
    ],
)
def test_in_needs_the_centre_over_the_floor_the_bottom_below_the_rim_and_contact(
    dx: float, z: float, touching: str, expected: bool
) -> None:
    moved = state("cola_1", (0.5 + dx, 0.3), z, touching)
    assert holds("in", ("black_bin_1",), moved, BIN) is expected


def test_in_may_rest_on_another_object_in_the_bin_but_not_on_one_outside() -> None:
    lemon = state("lemon_1", (0.5, 0.3), 0.031, "black_bin_1 cola_1")
    outside = state("lemon_1", (0.5, 0.1), 0.031, "black_bin_1 cola_1")
    moved = state("cola_1", (0.5, 0.3), 0.10, "lemon_1")
    assert holds("in", ("black_bin_1",), moved, BIN, lemon)
    assert not holds("in", ("black_bin_1",), moved, BIN, outside)


def test_in_follows_a_turned_bin() -> None:
    half = np.pi / 4
    turned = replace(BIN, quat_wxyz=np.array([np.cos(half), 0.0, 0.0, np.sin(half)]))
    moved = state("cola_1", (0.5, 0.365), 0.065, "black_bin_1")
    assert holds("in", ("black_bin_1",), moved, BIN)
    assert not holds("in", ("black_bin_1",), moved, turned)


def test_only_containers_take_objects_in() -> None:
    for name in ("red_box_1", "blue_cup_1"):
        with refused(ErrorCode.INVALID_ARGUMENT, "no container"):
            holds("in", (name,), state("cola_1", HERE), state(name, (0.5, 0.3)))


@pytest.mark.parametrize(
    ("dx", "touching", "expected"),
    [
        (0.0, "red_box_1", True),
        (0.025, "red_box_1", True),
        (0.035, "red_box_1", False),
        (0.0, "red_box_1 table", False),
        (0.0, "gripper", False),
    ],
)
def test_on_needs_contact_and_the_centre_over_the_top(dx: float, touching: str, expected: bool) -> None:
    moved = state("tuna_can_1", (0.5 + dx, 0.0), 0.075 + 0.018, touching)
    assert holds("on", ("red_box_1",), moved, state("red_box_1", (0.5, 0.0))) is expected


# ---- Arguments ----


@pytest.mark.parametrize(
    ("relation", "references", "said"),
    [
        ("under", ("cola_1",), r"is not a relation.* the relations are in, on, left_of, "),
        ("between", ("cola_1",), r"^\"between\" takes 2 reference\(s\), not 1\.$"),
        ("in", ("cola_1", "cola_1"), r"^\"in\" takes 1 reference\(s\), not 2\.$"),
        ("next_to", (), r"^\"next_to\" takes at least one reference\(s\), not 0\.$"),
        ("left_of", ("tea_1",), r"^There is no object \"tea_1\", there are milk_1, cola_1\.$"),
    ],
)
def test_questions_that_make_no_sense_are_refused(relation: Relation, references: tuple[str, ...], said: str) -> None:
    with refused(ErrorCode.INVALID_ARGUMENT, said):
        holds(relation, references, state("milk_1", (0.48, -0.1)), state("cola_1", HERE))


def test_there_are_eight_relations() -> None:
    assert len(RELATIONS) == len(set(RELATIONS)) == 8


# ---- Picking ----

BEFORE = snapshot(*(state(name, xy) for name, xy in STANDING.items()))


def lifted(name: str, rise: float, touching: str = "gripper") -> ObjectState:
    old = BEFORE.objects[name]
    return state(name, STANDING[name], old.position_m[2] + rise, touching)


def rest(*but: str) -> list[ObjectState]:
    return [each for name, each in BEFORE.objects.items() if name not in but]


def test_any_of_the_targets_counts_and_nothing_else() -> None:
    history = over(2.0, lifted("milk_2", 0.1), *rest("milk_2"))
    assert judge_pick(BEFORE, history, ["milk_1", "milk_2"])
    assert not judge_pick(BEFORE, history, ["milk_1"])


def test_two_objects_in_the_air_are_no_pick() -> None:
    history = over(2.0, lifted("cola_1", 0.1), lifted("red_box_1", 0.1, "cola_1"), *rest("cola_1", "red_box_1"))
    assert not judge_pick(BEFORE, history, ["cola_1"])


# ---- Placing ----

PLACED = state("cola_1", (0.48, -0.20))


def judge(*states: ObjectState) -> PlaceVerdict:
    history = over(0.5, *states, *rest(*(each.id for each in states)))
    return judge_place(scene_of(*STANDING), BEFORE, history, "cola_1", "right_of", ["milk_2"], T_BASE_CAMERA)


def test_a_ball_that_rolled_over_has_not_toppled() -> None:
    ball = state("tennis_ball_1", (0.48, 0.1))
    cola = state("cola_1", HERE)
    scene = scene_of("tennis_ball_1", "cola_1")
    history = over(0.5, tilted(ball, 120), cola)
    verdict = judge_place(
        scene,
        snapshot(state("tennis_ball_1", (0.3, 0.1)), cola),
        history,
        "tennis_ball_1",
        "next_to",
        ["cola_1"],
        T_BASE_CAMERA,
    )
    assert verdict.ok, verdict


# ---- What is never scored ----


@pytest.mark.parametrize(
    "broken",
    [
        {"position_m": np.array([np.nan, 0, 0.1])},
        {"quat_wxyz": np.array([np.inf, 0, 0, 0])},
        {"velocity": np.full(6, np.nan)},
    ],
)
def test_broken_physics_is_an_error_and_never_a_score(broken: dict) -> None:
    bad = replace(state("red_box_1", STANDING["red_box_1"]), **broken)
    with refused(ErrorCode.INTERNAL, "red_box_1"):
        judge(PLACED, bad)
    with refused(ErrorCode.INTERNAL, "red_box_1"):
        judge_pick(BEFORE, over(2.0, lifted("cola_1", 0.1), bad, *rest("cola_1", "red_box_1")), ["cola_1"])


def test_a_pick_and_a_place_give_a_point_each() -> None:
    good, bad = PlaceVerdict(True), PlaceVerdict(False, ("x",))
    assert [score(False), score(True), score(True, bad), score(True, good)] == [0, 1, 1, 2]


# ---- Objects that do not stand upright at the start ----


def test_what_lay_at_the_start_may_be_turned_and_rolled_and_has_not_toppled() -> None:
    lying = tilted(state("milk_1", HERE, z=0.03), 90)
    turned = replace(lying, quat_wxyz=np.array([0.5, 0.5, 0.5, 0.5]))  # a quarter about the vertical
    rolled = replace(lying, quat_wxyz=np.array([0.5, 0.5, 0.5, -0.5]))
    before = snapshot(lying, state("cola_1", (0.3, 0.3)))
    for after in (turned, rolled):
        history = over(0.5, after, state("cola_1", (0.3, 0.3)))
        verdict = judge_place(scene_of(*before.objects), before, history, "milk_1", "anywhere", (), T_BASE_CAMERA)
        assert verdict == PlaceVerdict(True)


def test_what_stood_askew_and_turns_about_the_vertical_has_not_toppled() -> None:
    askew = tilted(state("milk_1", HERE), 20)
    c, s = np.cos(np.pi / 2), np.sin(np.pi / 2)  # half a turn about the vertical, before the tilt
    w, x, _, _ = askew.quat_wxyz
    turned = replace(askew, quat_wxyz=np.array([c * w, c * x, s * x, s * w]))
    before = snapshot(askew)
    verdict = judge_place(scene_of("milk_1"), before, over(0.5, turned), "milk_1", "anywhere", (), T_BASE_CAMERA)
    assert "toppled" not in " ".join(verdict.reasons)


def test_a_long_object_that_is_raised_at_one_end_is_not_up() -> None:
    before = snapshot(tilted(state("milk_1", HERE, z=0.03), 90))
    raised = state("milk_1", HERE, z=0.09, touching="gripper table")
    assert not judge_pick(before, over(2.0, raised), ("milk_1",))
    assert judge_pick(before, over(2.0, replace(raised, touching=frozenset({"gripper"}))), ("milk_1",))
