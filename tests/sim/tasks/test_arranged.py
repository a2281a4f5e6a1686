"""Tasks of several objects, of gestures and of nothing: each says yes to what was asked for and no to its
neighbours."""

from dataclasses import replace

import numpy as np
import pytest

from tests.sim.tasks.standing import T_BASE_CAMERA, scene_of, state, tilted
from toolhand.sim.snapshot import ObjectState, Snapshot
from toolhand.sim.tasks.arranged import ArrangedTask, Placing, SortedTask, stack_task, swap_task
from toolhand.sim.tasks.gestures import HandOverTask, JawsTask, LiftedTask, ParkedTask, PointTask, UntouchedTask
from toolhand.sim.tasks.places import AtSpot, InRegion, OnTable, Related
from toolhand.sim.tasks.task import History, Score, Task
from toolhand.sim.world import LOG_PERIOD_S

AT = {
    "cola_1": (0.48, 0.0),
    "milk_1": (0.48, 0.25),
    "milk_2": (0.48, -0.30),
    "red_box_1": (0.30, 0.30),
    "black_bin_1": (0.35, -0.15),
}
SCENE = scene_of(*AT)
HOME = np.array([0.2, 0.3, 0.4])


class Nobody:
    """A transcript that no task here reads."""

    task = answer = ""
    success = False
    error_code = None
    records: tuple[()] = ()


IN_HAND = {"cola_1": state("cola_1", 0.2, 0.3, 0.4, touching="gripper")}


def history(
    *changed: ObjectState,
    before: dict[str, ObjectState] | None = None,
    hand: np.ndarray | None = None,
    first: tuple[str, ...] = (),
    opening: float | None = None,
) -> History:
    """What happened when objects came to other states; `first` were up one after the other on the way."""
    began = {name: state(name, *xy) for name, xy in AT.items()} | (before or {})
    ended = began | {each.id: each for each in changed}
    count = 20 * (len(first) + 1) if hand is None else len(hand)
    poses = {name: np.tile([*s.position_m, 1.0, 0, 0, 0], (count, 1)) for name, s in began.items()}
    for k, name in enumerate(first):
        poses[name][20 * k + 5 : 20 * k + 15, 2] += 0.1
    at_rest = tuple(Snapshot(10 + t, ended) for t in (0.0, 1.0, 2.0))
    return History(
        SCENE,
        T_BASE_CAMERA,
        Snapshot(0.0, began),
        LOG_PERIOD_S * np.arange(count),
        poses,
        (at_rest, at_rest),
        at_rest[-1],
        np.tile(HOME, (count, 1)) if hand is None else hand,
        opening_m=opening,
        parked_hand=HOME,
    )


def score(task: Task, what: History) -> Score:
    return task.score(what, Nobody())  # type: ignore[arg-type]


LEFT = ArrangedTask("", SCENE, (Placing(("cola_1",), InRegion("left side")),))


def test_an_object_in_its_place_counts_and_nothing_else_may_be_moved() -> None:
    there = state("cola_1", 0.6, -0.2)
    assert score(LEFT, history(there)).success
    assert not score(LEFT, history()).success
    assert score(LEFT, history(there, state("milk_1", 0.48, 0.265))).success
    assert not score(LEFT, history(there, state("milk_1", 0.48, 0.275))).success
    assert not score(LEFT, history(there, tilted(state("milk_1", 0.48, 0.25), 90.0))).success
    assert not score(LEFT, history(state("cola_1", 0.6, -0.2, touching="table gripper"))).success


def test_what_is_held_in_the_end_is_asked_for() -> None:
    held = state("cola_1", 0.2, 0.3, 0.4, touching="gripper")
    task = ArrangedTask("", SCENE, held=("cola_1", "milk_1"))
    assert score(task, history(held)).success
    assert not score(task, history()).success
    assert not score(
        LEFT, history(state("cola_1", 0.6, -0.2), state("milk_1", 0.2, 0.3, 0.4, touching="gripper"))
    ).success
    other = ArrangedTask("", SCENE, held=("milk_1",))
    assert not score(other, history(held)).success


def test_a_set_is_in_its_place_when_all_of_it_is() -> None:
    placings = tuple(Placing((name,), InRegion("left side")) for name in ("cola_1", "milk_1"))
    task = ArrangedTask("", SCENE, placings)
    first, second = state("cola_1", 0.6, -0.2), state("milk_1", 0.55, -0.12)
    assert score(task, history(first, second)).success
    half = score(task, history(first))
    assert not half.success
    assert half.terms["placed"] == 0.5


def test_one_of_several_is_one_and_not_two() -> None:
    task = ArrangedTask("", SCENE, (Placing(("cola_1", "milk_1"), InRegion("left side")),))
    assert score(task, history(state("milk_1", 0.6, -0.2))).success
    assert not score(task, history(state("cola_1", 0.6, -0.2), state("milk_1", 0.55, -0.12))).success


def test_the_order_of_a_sequence_counts() -> None:
    placings = tuple(Placing((name,), InRegion("left side")) for name in ("cola_1", "milk_1"))
    task = ArrangedTask("", SCENE, placings, ordered=True)
    ends = (state("cola_1", 0.6, -0.2), state("milk_1", 0.55, -0.12))
    assert score(task, history(*ends, first=("cola_1", "milk_1"))).success
    assert not score(task, history(*ends, first=("milk_1", "cola_1"))).success


def test_a_swap_needs_both_and_a_stack_its_order() -> None:
    now = Snapshot(0.0, {name: state(name, *xy) for name, xy in AT.items()})
    swap = swap_task("", SCENE, "cola_1", "milk_1", now)
    cola, milk = state("cola_1", *AT["milk_1"]), state("milk_1", *AT["cola_1"])
    assert score(swap, history(cola, milk)).success
    assert not score(swap, history(cola, state("milk_1", 0.60, 0.25))).success
    stack = stack_task("", SCENE, ("cola_1", "red_box_1"))
    top = 0.075 + 0.061
    assert score(stack, history(state("cola_1", 0.30, 0.30, top, touching="red_box_1"))).success
    assert not score(stack, history(state("cola_1", 0.30, 0.22))).success


def test_sorted_objects_are_nearer_to_their_own_kind() -> None:
    task = SortedTask("", SCENE, (("milk_1", "milk_2"), ("cola_1", "red_box_1")))
    assert not score(task, history()).success
    assert score(task, history(state("milk_2", 0.48, 0.35), state("red_box_1", 0.40, 0.0))).success


def test_nothing_moves_is_of_objects_of_the_held_one_and_of_the_hand() -> None:
    away = np.vstack([np.tile(HOME, (5, 1)), np.tile(HOME + 0.03, (5, 1)), np.tile(HOME, (5, 1))])
    assert score(UntouchedTask("", SCENE), history()).success
    assert not score(UntouchedTask("", SCENE), history(hand=away)).success
    assert score(UntouchedTask("", SCENE, hand_stays=False), history(hand=away)).success
    assert not score(UntouchedTask("", SCENE), history(state("cola_1", 0.48, 0.011))).success
    assert score(UntouchedTask("", SCENE), history(before=IN_HAND)).success
    assert not score(UntouchedTask("", SCENE), history(state("cola_1", 0.48, 0.0), before=IN_HAND)).success


def test_jaws_are_open_or_closed_and_let_go_of_what_they_held() -> None:
    assert score(JawsTask("", SCENE, "open"), history(opening=0.085)).success
    assert not score(JawsTask("", SCENE, "open"), history(opening=0.05)).success
    assert score(JawsTask("", SCENE, "closed"), history(opening=0.0)).success
    assert not score(JawsTask("", SCENE, "closed"), history(opening=0.03)).success
    assert not score(JawsTask("", SCENE, "open"), history()).success, "an opening that nobody knows"
    assert score(JawsTask("", SCENE, "open"), history(state("cola_1", 0.4, 0.0), before=IN_HAND, opening=0.085)).success
    assert not score(JawsTask("", SCENE, "open"), history(before=IN_HAND, opening=0.085)).success


def test_a_parked_arm_is_at_home() -> None:
    assert score(ParkedTask("", SCENE), history()).success
    assert not score(ParkedTask("", SCENE), history(hand=np.tile(HOME + 0.05, (5, 1)))).success


def over(xy: tuple[float, float], height: float, seconds: float) -> np.ndarray:
    count = round(seconds / LOG_PERIOD_S)
    return np.vstack([np.tile(HOME, (5, 1)), np.tile([*xy, height], (count, 1)), np.tile(HOME, (5, 1))])


@pytest.mark.parametrize(
    ("xy", "height", "seconds", "right"),
    [
        ((0.48, 0.02), 0.20, 0.5, True),
        ((0.48, 0.04), 0.20, 0.5, False),
        ((0.48, 0.02), 0.10, 0.5, False),
        ((0.48, 0.02), 0.35, 0.5, False),
        ((0.48, 0.02), 0.20, 0.3, False),
        ((0.48, 0.25), 0.20, 0.5, False),
    ],
)
def test_pointing_is_above_the_object_for_a_moment(
    xy: tuple[float, float], height: float, seconds: float, right: bool
) -> None:
    assert score(PointTask("", SCENE, ("cola_1",)), history(hand=over(xy, height, seconds))).success is right


@pytest.mark.parametrize(("x", "seconds", "right"), [(0.60, 1.2, True), (0.50, 1.2, False), (0.60, 0.8, False)])
def test_handing_over_is_to_hold_out_and_keep(x: float, seconds: float, right: bool) -> None:
    task = HandOverTask("", SCENE, ("cola_1",))
    what = history(state("cola_1", 0.2, 0.3, 0.4, touching="gripper"), before=IN_HAND)
    poses = np.tile(what.poses["cola_1"][:1], (100, 1))
    poses[10 : 10 + round(seconds / LOG_PERIOD_S), :3] = x, 0.0, 0.3
    assert score(task, replace(what, poses=what.poses | {"cola_1": poses})).success is right
    dropped = history(state("cola_1", x, 0.0), before=IN_HAND)
    assert not score(task, replace(dropped, poses=dropped.poses | {"cola_1": poses})).success


@pytest.mark.parametrize(("lowest", "right"), [(0.02, True), (0.005, False), (0.25, False)])
def test_a_little_is_above_the_table_and_not_high(lowest: float, right: bool) -> None:
    held = state("cola_1", 0.48, 0.0, 0.061 + lowest, touching="gripper")
    assert score(LiftedTask("", SCENE, ("cola_1",)), history(held)).success is right


def test_goals_say_what_is_asked_for() -> None:
    task = ArrangedTask(
        "", SCENE, (Placing(("cola_1",), Related("in", ("black_bin_1",))),), held=("milk_1",), ordered=True
    )
    assert task.goal == "cola_1 in black_bin_1, then milk_1 held"
    assert Placing(("cola_1",), OnTable()).place.words == "anywhere"
    assert AtSpot((0.3, 0.1, 0.0)).words == "at (0.300, 0.100) m"
