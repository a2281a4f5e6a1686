"""The park position, trials of a grasp, and changes of the scene."""

from __future__ import annotations

import io
from unittest.mock import Mock

import mujoco
import numpy as np
import pytest
from PIL import Image

from tests.gen3 import GEN3, NAMED_STATES, TIP_FRAME, load_robot_spec, pad_depth
from tests.guarded import KINEMATICS, RecordingArm
from toolhand.sim.scene.files import EXAMPLE_SCENE, load_scene
from toolhand.sim.station import Station
from toolhand.tool_nodes import workspace
from toolhand.tool_nodes.geometry import intrinsics, invert, look_at, project, transform
from toolhand.tool_nodes.motion.approval import Decision, MotionRequest
from toolhand.tool_nodes.motion.guard import Mode, MotionGuard
from toolhand.tool_nodes.motion.kinematics import Kinematics
from toolhand.tool_nodes.motion.limits import MotionLimits
from toolhand.tool_nodes.motion.manipulation import Manipulator
from toolhand.tool_nodes.motion.planner import EmbeddedPlanner
from toolhand.tool_nodes.motion.returning import TRIAL_M
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.scene_change import changed_around, looks_otherwise_around
from toolhand.tool_nodes.types import FloatArray, Frame

# -- the parked arm stays out of the scene camera's image ----------------------------------------


@pytest.fixture(scope="module")
def model() -> mujoco.MjModel:
    return load_robot_spec().compile()


def in_image(points: FloatArray) -> bool:
    T_camera_base = invert(look_at(workspace.SCENE_CAMERA_POSITION, workspace.SCENE_CAMERA_TARGET))
    x, y, z = (points @ T_camera_base[:3, :3].T + T_camera_base[:3, 3]).T
    half_width, half_height = workspace.IMAGE_SIZE[0] / 2, workspace.IMAGE_SIZE[1] / 2
    u, v = (workspace.SCENE_CAMERA_FOCAL_PX * coordinate / z for coordinate in (x, y))
    return bool(((np.abs(u) < half_width) & (np.abs(v) < half_height) & (z > 0)).any())


def parked(model: mujoco.MjModel, state: str = "Park") -> mujoco.MjData:
    data = mujoco.MjData(model)
    data.qpos[:7] = NAMED_STATES[state]
    mujoco.mj_forward(model, data)
    return data


def dense_box(half: FloatArray) -> FloatArray:
    axis = np.linspace(-1, 1, 9)
    return np.stack(np.meshgrid(axis, axis, axis), axis=-1).reshape(-1, 3) * half


def test_park_leaves_the_image_of_the_scene_camera_free(model: mujoco.MjModel) -> None:
    data = parked(model)
    for geom in range(model.ngeom):
        link = model.body(model.geom_bodyid[geom]).name
        if link in ("base_link", "shoulder_link"):
            continue
        size = model.geom_size[geom]
        half = size if model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_BOX else np.array([size[0], size[0], size[1]])
        points = data.geom_xpos[geom] + dense_box(half) @ data.geom_xmat[geom].reshape(3, 3).T
        assert not in_image(points), model.geom(geom).name


def test_a_tall_box_held_at_park_is_outside_the_image(model: mujoco.MjModel) -> None:
    tip = parked(model).body(TIP_FRAME)
    below_pads = np.array([0, 0, pad_depth(0.08) - 0.02 + 0.10])
    points = tip.xpos + (below_pads + dense_box(np.array([0.04, 0.04, 0.10]))) @ tip.xmat.reshape(3, 3).T
    assert not in_image(points)


def test_the_image_check_sees_an_arm_that_is_not_parked(model: mujoco.MjModel) -> None:
    data = parked(model, "Home")
    assert in_image(data.body("robotiq_85_left_finger_tip_link").xpos[None])


def test_park_points_straight_down_near_the_base() -> None:
    T = Kinematics().fk(NAMED_STATES["Park"])
    np.testing.assert_allclose(T[:3, 2], [0, 0, -1], atol=1e-3)
    np.testing.assert_allclose(T[:3, 3], [0.18, 0.0, 0.56], atol=1e-3)


def test_park_keeps_three_centimetres_from_itself_and_the_table() -> None:
    spec = load_robot_spec()
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[1, 1, 0.1])
    for geom in spec.geoms:
        geom.margin = 0.03
    data = parked(spec.compile())
    assert data.ncon == 0


# -- the first motion of an arm: 2 cm, planned, asked about, and back ------------------------------


class Operator:
    """Says yes or no, and keeps what was shown."""

    def __init__(self, yes: bool) -> None:
        self.yes = yes
        self.shown: list[MotionRequest] = []

    def decide(self, request: MotionRequest) -> Decision:
        self.shown.append(request)
        return Decision(self.yes, "test", request.hash, "" if self.yes else "no")


def manipulator(arm: RecordingArm, operator: Operator, mode: Mode) -> Manipulator:
    frame = Frame(
        np.zeros((48, 64, 3), np.uint8), np.ones((48, 64), np.float32), intrinsics(60.0, 64, 48), np.eye(4), 0.0
    )
    camera = Mock(**{"capture.return_value": frame})
    guard = MotionGuard(mode, operator, MotionLimits(robot=GEN3))
    return Manipulator(arm, EmbeddedPlanner(robot=GEN3), camera, guard=guard)


@pytest.mark.parametrize("mode", [Mode.AUTO, Mode.ASK])
def test_the_first_motion_is_two_centimetres_up_and_back_once_a_person_has_said_yes(mode: Mode) -> None:
    arm, operator = RecordingArm(), Operator(yes=True)
    began = arm.q.copy()
    height = manipulator(arm, operator, mode).try_motion()
    assert height == pytest.approx(TRIAL_M, abs=1e-4)
    up, back = arm.followed
    path = np.array([KINEMATICS.fk(q)[:3, 3] for q in (*up.q, *back.q)])
    assert np.abs(path[:, :2] - path[0, :2]).max() < 1e-3
    assert np.ptp(path[:, 2]) == pytest.approx(TRIAL_M, abs=1e-3)
    assert np.allclose(KINEMATICS.fk(arm.q), KINEMATICS.fk(began), atol=1e-4)
    assert not arm.openings
    (shown,) = operator.shown
    assert shown.what.startswith("Try the arm: straight up")


@pytest.mark.parametrize(
    ("mode", "yes", "asked"), [(Mode.AUTO, False, 1), (Mode.ASK, False, 1), (Mode.DRY_RUN, True, 0)]
)
def test_nothing_moves_where_a_person_says_no_and_a_dry_run_asks_nobody(mode: Mode, yes: bool, asked: int) -> None:
    arm, operator = RecordingArm(), Operator(yes=yes)
    with pytest.raises(ToolError) as caught:
        manipulator(arm, operator, mode).try_motion()
    assert caught.value.code is ErrorCode.NOT_APPROVED
    assert len(operator.shown) == asked
    assert not arm.followed


# -- whether an image without depth shows the same around a point as a later frame ----------------


MOVED = "cinnamon_1"
Point = tuple[float, float]


@pytest.fixture(scope="module")
def before_and_after() -> tuple[Frame, Frame, Point, Point]:
    """Two frames between which one object is moved by 10 cm, the point where it was, and one on another object."""
    station = Station(load_scene(EXAMPLE_SCENE))
    before, objects = station.camera.capture(), station.world.snapshot().objects
    places = np.array([objects[name].position_m for name in (MOVED, "red_box_1")])
    pixels = project(transform(invert(before.T_base_camera), places), before.K) / before.size
    station.world.place_object(MOVED, objects[MOVED].position_m + np.array([0.0, 0.1, 0.0]), objects[MOVED].quat_wxyz)
    there, other = (tuple(map(float, pixel)) for pixel in pixels)
    return before, station.camera.capture(), there, other


def as_shown(frame: Frame, size: tuple[int, int] | None = None, brighter: float = 1.0) -> np.ndarray:
    """The image as a page has shown it: JPEG, perhaps smaller, and in another light."""
    image = Image.fromarray((frame.rgb * brighter).clip(0, 255).astype(np.uint8))
    out = io.BytesIO()
    (image.resize(size) if size else image).save(out, "jpeg", quality=85)
    return np.asarray(Image.open(out))


@pytest.mark.parametrize("size", [None, (320, 240)])
def test_an_object_that_has_moved_is_noticed_by_colour(
    before_and_after: tuple[Frame, Frame, Point, Point], size: tuple[int, int] | None
) -> None:
    before, after, there, other = before_and_after
    assert looks_otherwise_around(as_shown(before, size), after, there)
    assert changed_around(before, after, there)
    assert not looks_otherwise_around(as_shown(before, size), after, other)
    assert not looks_otherwise_around(as_shown(after, size), after, there)
    assert not changed_around(before, after, other)


def test_light_that_changes_everything_alike_is_no_change(before_and_after: tuple[Frame, Frame, Point, Point]) -> None:
    before, _, there, other = before_and_after
    for point in (there, other, (0.0, 0.0), (1.0, 1.0)):
        assert not looks_otherwise_around(as_shown(before, brighter=0.95), before, point)
