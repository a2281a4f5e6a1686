"""What a person is shown of a motion, and the hash that an approval of it names."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.gen3 import GEN3, MAX_OPENING, time_waypoints
from tests.guarded import KINEMATICS, OVER_TABLE, PARK, a_motion, turned
from toolhand.tool_nodes.geometry import invert, look_at, pose, project, transform
from toolhand.tool_nodes.motion.approval import (
    MotionStep,
    NobodyApprover,
    PlannedMotion,
    hash_of,
    make_request,
    motion_hash,
    overlay,
    step_hash,
)
from toolhand.tool_nodes.types import FloatArray, Frame, Trajectory

LEG = turned(0.3)
PINK, WHITE = (255, 60, 200), (255, 255, 255)


def joined(first: Trajectory, second: Trajectory) -> Trajectory:
    t = np.concatenate([first.t, first.t[-1] + 0.01 + second.t])
    return Trajectory(first.joint_names, t, np.vstack([first.q, second.q]), np.vstack([first.qd, second.qd]))


def test_motions_that_differ_in_anything_have_other_hashes() -> None:
    other = time_waypoints(np.vstack([LEG.q[-1], PARK]))
    different: list[tuple[MotionStep, ...]] = [
        (LEG,),
        (LEG, LEG),
        (LEG, other),
        (other, LEG),
        (joined(LEG, other),),
        (LEG, 0.0),
        (0.0, LEG),
        (LEG, 0.01),
        (LEG, 0.01, 0.0),
        (replace(LEG, joint_names=LEG.joint_names[::-1]),),
        (replace(LEG, joint_names=("".join(LEG.joint_names),)),),
        (replace(LEG, joint_names=("\0".join(LEG.joint_names),)),),
        (replace(LEG, t=LEG.t[None]),),
        (replace(LEG, q=LEG.q.T),),
        (replace(LEG, q=LEG.qd, qd=LEG.q),),
        (replace(LEG, qd=-LEG.qd),),
        (),
    ]
    motions = [a_motion(*steps) for steps in different]
    motions += [replace(motions[0], T_end=motions[0].T_end + 1e-9), replace(motions[0], T_end=motions[0].T_end.T)]
    hashes = [motion_hash(motion) for motion in motions] + [motion_hash(motions[0], "1"), motion_hash(motions[0], "2")]
    assert len(set(hashes)) == len(hashes)
    assert {len(digest) for digest in hashes} == {64}


def test_the_same_numbers_have_the_same_hash_however_they_lie_in_memory() -> None:
    same = replace(LEG, q=np.asfortranarray(LEG.q), qd=LEG.qd.astype(">f8"), t=np.repeat(LEG.t, 2)[::2])
    assert motion_hash(a_motion(same, 0), "id") == motion_hash(a_motion(LEG, 0.0), "id")
    assert motion_hash(a_motion(LEG)) == motion_hash(a_motion(LEG), "")
    assert step_hash(same) == step_hash(LEG)
    assert len({step_hash(step) for step in (LEG, replace(LEG, qd=-LEG.qd), 0.0, 0.01)}) == 4
    assert {len(step_hash(step)) for step in (LEG, 0.01)} == {32}


def test_a_request_tells_what_the_motion_holds() -> None:
    motion = PlannedMotion("Test at x=0.4 m", (LEG, 0.02, turned(1.0)), np.diag([1.0, -1.0, -1.0, 1.0]), "home", None)
    request = make_request(motion, "7", KINEMATICS)
    assert (request.what, request.request_id, request.image) == ("Test at x=0.4 m", "7", None)
    assert request.is_true
    assert request.steps == motion.steps
    assert request.legs == motion.legs == (LEG, motion.steps[2])
    assert request.T_end is motion.T_end
    assert request.hash == motion_hash(motion, "7") != motion_hash(motion)
    assert request.duration_s == pytest.approx(LEG.t[-1] + motion.legs[1].t[-1])
    assert request.summary == (
        f"the arm moves for {LEG.t[-1]:.2f} s, no joint by more than 17 degrees",
        "the jaws move to 20 mm",
        f"the arm moves for {motion.legs[1].t[-1]:.2f} s, no joint by more than 57 degrees",
        "then: home",
    )


@given(
    step=st.integers(0, 2), name=st.sampled_from(["t", "q", "qd"]), byte=st.integers(0, 10**6), bit=st.integers(0, 7)
)
def test_one_changed_bit_anywhere_in_the_steps_or_the_end_is_another_hash(
    step: int, name: str, byte: int, bit: int
) -> None:
    request = make_request(a_motion(LEG, 0.02, turned(1.0)), "7", KINEMATICS)
    assert request.is_true

    def flipped(array: FloatArray) -> FloatArray:
        octets = bytearray(np.ascontiguousarray(array).tobytes())
        octets[byte % len(octets)] ^= 1 << bit
        return np.frombuffer(bytes(octets), np.float64).reshape(np.shape(array))

    steps = list(request.steps)
    old = steps[step]
    if isinstance(old, Trajectory):
        steps[step] = replace(old, **{name: flipped(getattr(old, name))})
    else:
        steps[step] = float(flipped(np.float64(old)))
    for changed in (replace(request, steps=tuple(steps)), replace(request, T_end=flipped(request.T_end))):
        assert hash_of(changed.steps, changed.T_end, changed.request_id) != request.hash
        assert not changed.is_true


@pytest.mark.parametrize(
    "changes",
    [
        {"hash": "ab" * 32},
        {"request_id": "8"},
        {"duration_s": 1.0},
        {"summary": ("the jaws move to 20 mm", "then: home")},
        {"summary": ()},
        {"steps": (LEG, 0.02)},
        {"steps": (0.02, LEG, 0.02)},
        {"steps": ()},
    ],
)
def test_a_request_that_says_something_else_than_its_steps_is_not_true(changes: dict[str, Any]) -> None:
    request = make_request(PlannedMotion("Test", (0.02, LEG), np.eye(4), "home", None), "7", KINEMATICS)
    assert request.is_true
    assert not replace(request, **changes).is_true


def test_nobody_approves_nothing_and_says_that_nobody_was_asked() -> None:
    request = make_request(a_motion(LEG), "7", KINEMATICS)
    decision = NobodyApprover().decide(request)
    assert decision.approved is False
    assert (decision.hash, decision.by) == (request.hash, "nobody")
    assert decision.reason == "nobody can be asked here: there is no terminal or console"


# -- the image ---------------------------------------------------------------------------------


def view(T_base_camera: FloatArray) -> Frame:
    """A black image of 640 x 480 from somewhere."""
    K = np.array([[500.0, 0.0, 320.0], [0.0, 500.0, 240.0], [0.0, 0.0, 1.0]])
    return Frame(np.zeros((480, 640, 3), np.uint8), np.ones((480, 640), np.float32), K, T_base_camera, 0.0)


def sweep(start: float, end: float) -> Trajectory:
    """The hand points down and goes around the base, from one angle to another [rad]; 0 is straight ahead."""
    return time_waypoints(OVER_TABLE + np.array([[start], [end]]) * np.eye(7)[0])


def at_angle(angle: float) -> FloatArray:
    return KINEMATICS.fk(OVER_TABLE + angle * np.eye(7)[0])


AHEAD = view(look_at((1.05, 0.0, 0.55), (0.4, 0.0, 0.3)))
MOTION = PlannedMotion("Test", (0.03, sweep(0.6, 0.2), sweep(0.2, -0.4)), at_angle(-0.4), "nothing", AHEAD)


def fingertips(T: FloatArray, opening_m: float) -> FloatArray:
    """(2, 3) in the base frame [m]."""
    return transform(T, GEN3.gripper.points(opening_m)[3:])


def seen(point: FloatArray, frame: Frame = AHEAD) -> tuple[int, int]:
    """Column and row of a point (3,) of the base frame."""
    u, v = np.round(project(transform(invert(frame.T_base_camera), point[None]), frame.K)[0]).astype(int).tolist()
    return u, v


def colour_at(image: NDArray[np.uint8], point: FloatArray, frame: Frame = AHEAD) -> tuple[int, ...]:
    u, v = seen(point, frame)
    return tuple(image[v, u].tolist())


def test_the_path_of_the_point_between_the_fingertips_is_drawn_over_the_image() -> None:
    assert MOTION.frame is not None
    image = make_request(MOTION, "7", KINEMATICS).image
    assert image is not None
    for angle in (0.55, 0.4, 0.2, 0.0, -0.2):
        middle = fingertips(at_angle(angle), 0.03).mean(axis=0)
        assert colour_at(image, middle) == PINK
        u, v = seen(middle)
        column = image[v - 6 : v + 7, u].tolist()
        assert 2 <= column.count(list(PINK)) <= 4, angle
        assert column.count(list(WHITE)) == 2, angle
    assert not AHEAD.rgb.any()


def test_the_gripper_at_the_end_is_drawn_with_x_red_y_green_and_z_blue() -> None:
    """The colours are SpaceTools' (appendix B.5)."""
    T = MOTION.T_end
    image = overlay(MOTION, AHEAD, KINEMATICS)
    for axis in range(3):
        assert int(np.argmax(colour_at(image, T[:3, 3] + 0.045 * T[:3, axis]))) == axis
        assert max(colour_at(image, T[:3, 3] + 0.06 * T[:3, axis])) < 200 or axis == 2  # the arm's ghost at most


def test_the_arm_at_the_end_is_drawn_see_through_along_its_links() -> None:
    grey = replace(AHEAD, rgb=np.full_like(AHEAD.rgb, 120))
    image = overlay(MOTION, grey, KINEMATICS)
    links = KINEMATICS.links(MOTION.legs[-1].q[-1])
    np.testing.assert_allclose(links[-1], KINEMATICS.fk(MOTION.legs[-1].q[-1])[:3, 3])
    middles = (links[:-1] + links[1:]) / 2
    inside = [
        middle for middle in middles if all(0 <= x < size for x, size in zip(seen(middle), (640, 480), strict=True))
    ]
    colours = np.array([colour_at(image, middle) for middle in inside])
    assert (np.abs(colours - (97, 134, 184)).max(axis=1) <= 1).any(), colours
    assert tuple(image[0, 0]) == (120, 120, 120)


@pytest.mark.parametrize(
    ("steps", "opening"),
    [((MAX_OPENING, LEG, 0.0), MAX_OPENING), ((LEG, 0.03, MAX_OPENING), 0.03), ((LEG,), 0.0)],
)
def test_the_gripper_is_drawn_as_wide_as_the_first_opening_of_the_motion_and_closed_without_one(
    steps: tuple[MotionStep, ...], opening: float
) -> None:
    T = pose(np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]]), (0.45, 0.0, 0.4))
    image = overlay(replace(MOTION, steps=steps, T_end=T), AHEAD, KINEMATICS)
    rows, columns = np.nonzero((image == (255, 200, 0)).all(axis=2))
    tips = [seen(tip) for tip in fingertips(T, opening)]
    lowest = columns[rows >= max(v for _, v in tips) - 4]
    assert lowest.min() == pytest.approx(min(u for u, _ in tips), abs=2)
    assert lowest.max() == pytest.approx(max(u for u, _ in tips), abs=2)


def test_what_lies_behind_the_camera_or_far_beside_the_image_is_left_out() -> None:
    """The path runs past the camera: what is before it is drawn, in pieces that nothing connects."""
    inside = fingertips(at_angle(0.0), 0.03).mean(axis=0)
    along = view(look_at(tuple(inside - np.array([0.0, 0.0, 0.02])), (inside[0], inside[1] + 1.0, inside[2])))
    image = overlay(replace(MOTION, T_end=at_angle(0.6)), along, KINEMATICS)
    ahead = fingertips(at_angle(-0.3), 0.03).mean(axis=0)
    assert colour_at(image, ahead, along) == PINK
    assert not (image == (255, 200, 0)).all(axis=2).any()
    past_and_back = replace(MOTION, steps=(sweep(-0.4, 0.4), sweep(0.4, -0.4)), T_end=at_angle(0.6))
    twice = overlay(past_and_back, along, KINEMATICS)
    assert colour_at(twice, ahead, along) == PINK
    assert 0.5 < (twice == PINK).sum() / (image == PINK).sum() < 1.5
    assert not overlay(MOTION, view(look_at((3.0, 0.0, 0.5), (6.0, 0.0, 0.5))), KINEMATICS).any()
