"""Approval of motions: what is approved is what runs, once, soon, and in the world that was shown."""

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from tests.gen3 import NAMED_STATES, pad_depth
from tests.stations import restored
from toolhand.sim.scene.files import parse_scene
from toolhand.sim.scene.scenes import Scene
from toolhand.sim.station import Station, StationConfig
from toolhand.tool_nodes.geometry import invert, pose, project, transform
from toolhand.tool_nodes.motion.approval import Decision, MotionRequest, motion_hash
from toolhand.tool_nodes.motion.guard import Mode, MotionGuard
from toolhand.tool_nodes.motion.manipulation import Manipulator
from toolhand.tool_nodes.motion.plans import GraspPlan
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.scene_change import changed
from toolhand.tool_nodes.types import CollisionScene, FloatArray, Frame, JointGoal

AT = (0.45, 0.0)
GRASP = pose(np.diag([1.0, -1.0, -1.0]), (*AT, 0.025 + pad_depth(0.046)))


def block_at(x: float, y: float) -> Scene:
    return parse_scene(f"objects:\n  - {{name: toy block, position: [{x}, {y}]}}\n")


@dataclass
class Person:
    """Approves, after having done something."""

    meanwhile: Callable[[], None] = lambda: None
    answer: Callable[[MotionRequest], Decision] = lambda request: Decision(True, "", request.hash, "person")
    asked: list[MotionRequest] = field(default_factory=list)

    def decide(self, request: MotionRequest) -> Decision:
        self.asked.append(request)
        self.meanwhile()
        return self.answer(request)


class ShownCamera:
    """The camera of a station, until it is given another one's image."""

    def __init__(self, station: Station) -> None:
        self._station = station
        self.other: Frame | None = None

    def capture(self) -> Frame:
        return self.other or self._station.camera.capture()


class Cell:
    """A station whose manipulator asks a person, with a clock that stands still."""

    def __init__(self, mode: Mode = Mode.ASK, person: Person | None = None) -> None:
        self.station = restored(block_at(*AT))
        self.person = person or Person()
        self.now_s = 100.0
        self.camera = ShownCamera(self.station)
        self.guard = MotionGuard(mode, self.person, clock=lambda: self.now_s)
        self.manipulator = Manipulator(self.station.arm, self.station.planner, self.camera, guard=self.guard)
        self._before, self._time_s = self.joints, self.station.world.time

    @property
    def joints(self) -> bytes:
        return self.station.world.data.qpos.tobytes()

    def plan(self) -> GraspPlan:
        return self.manipulator.plan_grasp(GRASP, self.camera.capture())

    def refused(self, plan: GraspPlan) -> ToolError:
        """The error of a grasp; the simulator's truth is that nothing has moved."""
        with pytest.raises(ToolError) as caught:
            self.manipulator.run_grasp(plan)
        assert self.joints == self._before
        assert self.station.world.time == self._time_s
        return caught.value


def test_a_motion_that_a_person_approves_runs_and_the_next_one_is_asked_for_anew() -> None:
    cell = Cell()
    assert cell.manipulator.grasp(GRASP, cell.camera.capture()).opening_m > 0.03
    (request,) = cell.person.asked
    assert request.what == "Grasp with the gripper at x=0.450 m, y=0.000 m, z=0.166 m"
    assert request.duration_s > 1.0
    assert len(request.legs) == 2
    assert "straight up by at most 120 mm and to the park position" in request.summary[-1]
    np.testing.assert_allclose(request.T_end, GRASP)
    cell.manipulator.place(np.array([0.45, 0.1, 0.0]), cell.camera.capture())
    assert len(cell.person.asked) == 2
    assert cell.person.asked[1].what.startswith("Place the held object at")


def test_the_image_of_a_request_shows_the_path_and_leaves_the_frame_alone() -> None:
    cell = Cell()
    frame = cell.camera.capture()
    before = frame.rgb.copy()
    cell.person.answer = lambda request: Decision(False, "no", request.hash, "person")
    cell.refused(cell.manipulator.plan_grasp(GRASP, frame))
    image = cell.person.asked[0].image
    assert image is not None
    assert image.shape == frame.rgb.shape
    drawn = (image != before).any(axis=-1)
    assert 200 < drawn.sum() < 20_000
    u, v = project(transform(invert(frame.T_base_camera), np.array([[*AT, 0.02]])), frame.K)[0].astype(int)
    assert drawn[v - 40 : v + 40, u - 40 : u + 40].any()
    assert (frame.rgb == before).all()


def test_where_nobody_can_be_asked_nothing_moves() -> None:
    cell = Cell()
    manipulator = Manipulator(cell.station.arm, cell.station.planner, cell.camera, guard=MotionGuard(Mode.ASK))
    before = cell.joints
    with pytest.raises(ToolError, match="nobody can be asked here") as caught:
        manipulator.grasp(GRASP, cell.camera.capture())
    assert caught.value.code is ErrorCode.NOT_APPROVED
    assert cell.joints == before


def test_a_dry_run_says_what_it_would_do_and_moves_nothing() -> None:
    cell = Cell(Mode.DRY_RUN)
    error = cell.refused(cell.plan())
    assert error.code is ErrorCode.NOT_APPROVED
    assert error.message.startswith("Dry run: Grasp with the gripper at x=0.450 m")
    assert "nothing has moved" in error.message
    assert not cell.person.asked


@pytest.mark.parametrize(
    ("own", "asked", "asks", "moves"),
    [
        (Mode.ASK, Mode.AUTO, 1, False),
        (Mode.AUTO, Mode.ASK, 1, False),
        (Mode.DRY_RUN, Mode.AUTO, 0, False),
        (Mode.DRY_RUN, Mode.ASK, 0, False),
        (Mode.ASK, Mode.DRY_RUN, 0, False),
        (Mode.AUTO, Mode.AUTO, 0, True),
    ],
)
def test_a_caller_can_make_the_mode_stricter_and_never_weaker(own: Mode, asked: Mode, asks: int, moves: bool) -> None:
    cell = Cell(own, Person(answer=lambda request: Decision(False, "no", request.hash, "person")))
    plan = cell.plan()
    with cell.guard.at_least(asked):
        if moves:
            assert cell.manipulator.run_grasp(plan).opening_m > 0.03
        else:
            assert cell.refused(plan).code is ErrorCode.NOT_APPROVED
    assert cell.guard.in_force is own
    assert len(cell.person.asked) == asks


@pytest.mark.parametrize(
    "answer",
    [
        lambda request: Decision(False, "too close to the lamp", request.hash, "person"),
        lambda request: Decision(True, "", "0" * 64, "person"),
        lambda request: Decision(True, "", "", "person"),
        lambda request: Decision("yes", "", request.hash, "person"),  # type: ignore[arg-type]
        lambda request: Decision(1, "", request.hash, "person"),  # type: ignore[arg-type]
        lambda request: Decision(True, "", request.request_id, "person"),
        lambda request: Decision(True, "", request.hash.upper(), "person"),
    ],
)
def test_only_a_plain_yes_to_the_very_request_approves(answer: Callable[[MotionRequest], Decision]) -> None:
    cell = Cell(person=Person(answer=answer))
    assert cell.refused(cell.plan()).code is ErrorCode.NOT_APPROVED


def test_a_refusal_tells_the_persons_reason() -> None:
    cell = Cell(person=Person(answer=lambda request: Decision(False, "my hand is there", request.hash, "person")))
    assert cell.refused(cell.plan()).message == "The motion was not approved: my hand is there; nothing has moved."


def _arrays(plan: GraspPlan) -> dict[str, FloatArray]:
    found = {"end": plan.T_base_gripper}
    for number, leg in enumerate(plan.legs):
        found |= {f"t{number}": leg.t, f"q{number}": leg.q, f"qd{number}": leg.qd}
    return found


@pytest.mark.parametrize("name", ["t0", "q0", "qd0", "t1", "q1", "qd1", "end"])
def test_an_array_that_changes_after_the_question_voids_the_approval(name: str) -> None:
    cell = Cell()
    plan = cell.plan()
    array = _arrays(plan)[name]

    def tamper() -> None:
        middle = tuple(size // 2 for size in array.shape)
        array[middle] = np.nextafter(array[middle], np.inf)

    cell.person.meanwhile = tamper
    error = cell.refused(plan)
    assert error.code is ErrorCode.NOT_APPROVED
    assert "not the one that was approved" in error.message


def test_every_element_of_every_array_is_in_the_hash() -> None:
    cell = Cell()
    plan = cell.plan()
    known = motion_hash(plan.motion())
    assert known == motion_hash(plan.motion())
    rng = np.random.default_rng(0)
    for array in _arrays(plan).values():
        for index in rng.integers(0, array.size, 20):
            kept = array.flat[index]
            array.flat[index] = np.nextafter(kept, np.inf)
            assert motion_hash(plan.motion()) != known
            array.flat[index] = kept
    assert motion_hash(plan.motion()) == known
    wider = replace(plan, opening_m=0.05)
    assert motion_hash(wider.motion()) != known
    other_order = replace(plan, legs=plan.legs[::-1])
    assert motion_hash(other_order.motion()) != known


def test_an_approval_is_void_after_thirty_seconds() -> None:
    cell = Cell()
    plan = cell.plan()
    capture = cell.camera.capture

    def slow() -> Frame:
        cell.now_s += 30.5
        return capture()

    cell.camera.capture = slow  # type: ignore[method-assign]
    error = cell.refused(plan)
    assert error.code is ErrorCode.NOT_APPROVED
    assert "older than 30 s" in error.message


def test_an_approval_cannot_be_used_for_the_same_motion_again() -> None:
    cell = Cell()
    plan = cell.plan()
    cell.person.answer = lambda request: Decision(False, "", request.hash, "person")
    cell.refused(plan)
    first = cell.person.asked[0]
    cell.person.answer = lambda request: Decision(True, "", first.hash, "person")
    error = cell.refused(plan)
    assert error.message == "The approval names another motion; nothing has moved."


def test_an_arm_that_was_moved_meanwhile_voids_the_approval() -> None:
    cell = Cell()
    plan = cell.plan()
    away = NAMED_STATES["Park"] + np.array([0.05, 0, 0, 0, 0, 0, 0])
    nudge = cell.station.planner.plan(cell.station.arm.state().q, JointGoal(away), CollisionScene())
    cell.person.meanwhile = lambda: (cell.station.arm.follow(nudge), None)[1]
    with pytest.raises(ToolError, match="The arm has moved") as caught:
        cell.manipulator.run_grasp(plan)
    assert caught.value.code is ErrorCode.SCENE_CHANGED
    assert np.abs(cell.station.arm.state().q - away).max() < 0.01


@pytest.mark.parametrize("direction", [(1.0, 0.0), (0.0, -1.0), (0.7, 0.7)])
@pytest.mark.parametrize("shift_m", [0.005, 0.008])
def test_an_object_that_was_moved_meanwhile_voids_the_approval(shift_m: float, direction: tuple[float, float]) -> None:
    cell = Cell()
    plan = cell.plan()
    x, y = (AT[i] + shift_m * direction[i] for i in range(2))
    cell.person.meanwhile = lambda: setattr(
        cell.camera, "other", Station(block_at(x, y), StationConfig(seed=1)).camera.capture()
    )
    error = cell.refused(plan)
    assert error.code is ErrorCode.SCENE_CHANGED
    assert "The scene has changed" in error.message


def test_noise_alone_is_no_change_of_the_scene() -> None:
    first, *others = (Station(block_at(*AT), StationConfig(seed=seed)).camera.capture() for seed in range(4))
    assert np.mean(first.depth != others[0].depth) > 0.5
    assert not any(changed(first, other) for other in others)


def test_the_way_home_is_a_motion_like_others() -> None:
    cell = Cell(person=Person(answer=lambda request: Decision(False, "", request.hash, "person")))
    park = NAMED_STATES["Park"]
    away = park + np.array([0.4, 0.2, 0.0, -0.2, 0.0, 0.0, 0.0])
    cell.station.arm.follow(cell.station.planner.plan(park, JointGoal(away), CollisionScene()))
    left = cell.joints
    with pytest.raises(ToolError) as caught:
        cell.manipulator.return_to_park()
    assert caught.value.code is ErrorCode.NOT_APPROVED
    assert cell.joints == left
    cell.person.answer = lambda request: Decision(True, "", request.hash, "person")
    cell.manipulator.return_to_park()
    assert np.abs(cell.station.arm.state().q - park).max() < 0.01
    assert [request.what.split(",")[0] for request in cell.person.asked] == ["Return to the park position"] * 2


def test_every_attempt_is_one_line_of_json(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "toolhand.safety")
    cell = Cell(person=Person(answer=lambda request: Decision(False, "no\nreally", request.hash, "person")))
    cell.refused(cell.plan())
    cell.person.answer = lambda request: Decision(True, "fine", request.hash, "person")
    cell.manipulator.run_grasp(cell.plan())
    lines = [record.getMessage() for record in caplog.records if record.name == "toolhand.safety"]
    assert not [line for line in lines if "\n" in line]
    entries = [json.loads(line) for line in lines]
    assert [entry["outcome"] for entry in entries] == ["asked", "refused", "asked", "begun"]
    assert entries[1]["code"] == "NOT_APPROVED"
    assert entries[1]["by"] == "person"
    assert entries[3]["hash"] == cell.person.asked[1].hash


def test_no_tool_leads_to_an_approval() -> None:
    station = Station(block_at(*AT))
    names = [name.lower() for name in station.toolbox.specs]
    assert not [name for name in names if "approv" in name or "guard" in name or "token" in name]
    for spec in station.toolbox.specs.values():
        assert "approv" not in json.dumps(spec.schema()).lower()


def test_an_attempt_that_cannot_even_be_planned_is_recorded_too(caplog: pytest.LogCaptureFixture) -> None:
    cell = Cell(Mode.AUTO)
    far = GRASP.copy()
    far[0, 3] = 3.0
    with pytest.raises(ToolError):
        cell.manipulator.grasp(far, cell.camera.capture())
    (line,) = [record.getMessage() for record in caplog.records if record.name == "toolhand.safety"]
    entry = json.loads(line)
    assert (entry["outcome"], entry["what"], entry["code"]) == ("refused", "plan a grasp", "OUT_OF_WORKSPACE")


def test_a_stop_while_the_person_thinks_is_recorded_and_moves_nothing(caplog: pytest.LogCaptureFixture) -> None:
    cell = Cell()

    def stop() -> None:
        raise ToolError(ErrorCode.STOPPED, "The question was interrupted; nothing has moved.")

    cell.person.meanwhile = stop
    assert cell.refused(cell.plan()).code is ErrorCode.STOPPED
    entry = json.loads(caplog.records[-1].getMessage())
    assert (entry["outcome"], entry["code"]) == ("refused", "STOPPED")
