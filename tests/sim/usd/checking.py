"""A scene exported to USD, checked by OpenUSD's validators and read back beside the physics."""

import copy
from collections.abc import Iterator
from dataclasses import dataclass, field

import mujoco
import numpy as np

from tests.sim.usd.reading import ReadStage, validation_issues
from toolhand.sim.model import build_model
from toolhand.sim.scene.files import named_scene
from toolhand.sim.usd.stage import usd_text
from toolhand.tool_nodes.motion.robot_model import RobotModel, load_robot
from toolhand.tool_nodes.types import FloatArray

SURROUNDINGS = "table"
"""What of the world a robot stands on."""
WITHIN = {"mass": 1e-3, "inertia": 1e-3, "drive": 1e-2, "pose_mm": 0.1, "shape_mm": 0.1, "limit_rad": 1e-4}
"""What may differ at most: masses, inertias and drives as parts of them [-], poses and half sizes [mm]; figures of an
exporter that loses nothing but digits."""
_NUDGE = 1e-4
"""By how much a joint is moved to measure its drive [rad] or [rad/s]: far from the limit of its force."""
_FAR = 1e3
"""A reference that drives a joint with all its force [rad]; a round figure."""


@dataclass(frozen=True)
class UsdJob:
    """A scene to export.

    Attributes:
        scene: Name of the scene.
        robot: Which robot.
        postures: Postures of the arm and the jaws that are compared.
    """

    scene: str
    robot: str
    postures: int


@dataclass(frozen=True)
class UsdRecord:
    """What came back.

    Attributes:
        issues: Lines of OpenUSD's validators.
        geoms, lost: Geoms of the physics, and those of them that are not in the file.
        worst: Greatest difference of each kind, see WITHIN.
    """

    job: UsdJob
    issues: list[str] = field(default_factory=list)
    geoms: int = 0
    lost: int = 0
    worst: dict[str, float] = field(default_factory=dict)

    @property
    def right(self) -> bool:
        """Nothing is missing, wrong or criticised."""
        within = all(value <= WITHIN[name] for name, value in self.worst.items())
        return not self.issues and not self.lost and within


def check_scene(job: UsdJob) -> UsdRecord:
    """Export a scene, validate it, and read it back."""
    scene, robot = named_scene(job.scene), load_robot(job.robot)
    text = usd_text(scene, robot)
    model, stage = build_model(scene, robot), ReadStage(text)
    worst = dict.fromkeys(WITHIN, 0.0)
    _compare_bodies(model, stage, worst)
    lost = _compare_shapes(model, stage, worst)
    _compare_drives(model, robot, stage, worst)
    _compare_poses(model, robot, stage, worst, job.postures)
    issues = [*validation_issues(text), *_mimic_issues(stage), *_contact_issues(model, robot, stage, job.postures)]
    return UsdRecord(job, issues, model.ngeom, lost, worst)


def _mimic_issues(stage: ReadStage) -> list[str]:
    """Joints that mimic another one and have no finite limits, which Isaac Sim refuses, or not the same law twice."""
    following = {name: joint for name, joint in stage.joints.items() if joint.follows or joint.follows_newton}
    lines = [f"{name} has no finite limits" for name, joint in following.items() if not np.isfinite(joint.limits).all()]
    return lines + [
        f"{name} follows otherwise in PhysX than in Newton"
        for name, joint in following.items()
        if joint.follows != joint.follows_newton
    ]


def _contact_issues(model: mujoco.MjModel, robot: RobotModel, stage: ReadStage, postures: int) -> list[str]:
    """Pairs of links that overlap in some posture, and touch in only one of the physics and the stage.

    What overlaps is found by a physics without any rule about who touches whom.
    """
    ruleless = copy.copy(model)
    touching = (model.geom_contype != 0) | (model.geom_conaffinity != 0)
    ruleless.geom_contype[touching], ruleless.geom_conaffinity[touching] = 1, 1
    ruleless.body_contype[:], ruleless.body_conaffinity[:] = 1, 1
    ruleless.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_FILTERPARENT)
    ruleless.exclude_signature[:] = 0
    ruleless.body_weldid[:] = np.arange(model.nbody)
    apart = stage.filtered() | {frozenset((joint.parent, joint.child)) for joint in stage.joints.values()}
    found = set()
    for data in _postures(ruleless, robot, postures):
        overlapping = _touching(ruleless, data)
        own = mujoco.MjData(model)
        own.qpos[:] = data.qpos
        mujoco.mj_kinematics(model, own)
        allowed = _touching(model, own)
        for pair in overlapping:
            paths = frozenset(_path(model, body) if body else f"/World/{SURROUNDINGS}" for body in pair)
            if (pair in allowed) == (paths in apart):
                found.add(" and ".join(sorted(paths)))
    return [f"{pair} touch in one and not in the other" for pair in sorted(found)]


def _touching(model: mujoco.MjModel, data: mujoco.MjData) -> set[frozenset[int]]:
    """Pairs of the robot's links, and of a link and the world, that overlap."""
    mujoco.mj_collision(model, data)
    bodies = {frozenset(int(model.geom_bodyid[geom]) for geom in contact.geom) for contact in data.contact}
    return {
        pair for pair in bodies if all(body == 0 or _path(model, body).startswith("/World/Robot/") for body in pair)
    }


def _path(model: mujoco.MjModel, body: int) -> str:
    group = "Robot" if model.body(int(model.body_rootid[body])).name == model.body(1).name else "Objects"
    return f"/World/{group}/{model.body(body).name}"


def _raise_to(worst: dict[str, float], name: str, value: float) -> None:
    worst[name] = max(worst[name], float(value))


def _compare_bodies(model: mujoco.MjModel, stage: ReadStage, worst: dict[str, float]) -> None:
    for body in range(1, model.nbody):
        mass = float(model.body_mass[body])
        if mass == 0.0:
            continue
        path = _path(model, body)
        _raise_to(worst, "mass", abs(stage.masses.get(path, 0.0) / mass - 1))
        R = np.zeros(9)
        mujoco.mju_quat2Mat(R, model.body_iquat[body])
        inertia = R.reshape(3, 3) @ np.diag(model.body_inertia[body]) @ R.reshape(3, 3).T
        difference = np.abs(stage.inertias.get(path, np.zeros((3, 3))) - inertia).max()
        _raise_to(worst, "inertia", difference / np.abs(inertia).max())


def _compare_shapes(model: mujoco.MjModel, stage: ReadStage, worst: dict[str, float]) -> int:
    """How many geoms have no shape where they are, of their size, friction and kind."""
    free = dict(stage.shapes)
    lost = 0
    for geom in range(model.ngeom):
        body = int(model.geom_bodyid[geom])
        R = np.zeros(9)
        mujoco.mju_quat2Mat(R, model.geom_quat[geom])
        half, plane = model.geom_aabb[geom, 3:], int(model.geom_type[geom]) == int(mujoco.mjtGeom.mjGEOM_PLANE)
        centre = model.geom_pos[geom] + (0.0 if plane else R.reshape(3, 3) @ model.geom_aabb[geom, :3])
        touches = bool(model.geom_contype[geom] or model.geom_conaffinity[geom])
        path, best = "", np.inf
        for name, (its_body, T, its_half, its_touch, friction) in free.items():
            if its_touch != touches or its_body != (_path(model, body) if body else ""):
                continue
            if touches and abs(float(friction or 0.0) - model.geom_friction[geom, 0]) > 1e-6:
                continue
            size = 0.0 if plane else float(np.abs(np.sort(its_half) - np.sort(half)).max())
            off = max(float(np.linalg.norm(T[:3, 3] - centre)), size)
            if off < best:
                path, best = name, off
        # An ellipsoid is a mesh of its volume, which reaches a little further out.
        slack = 0.02 * half.max() if int(model.geom_type[geom]) == int(mujoco.mjtGeom.mjGEOM_ELLIPSOID) else 0.0
        if best > slack + WITHIN["shape_mm"] / 1000:
            lost += 1  # what stands for it elsewhere or in another size is counted as left over, too
        else:
            del free[path]
            _raise_to(worst, "shape_mm", 1000 * max(best - slack, 0.0))
    return lost + len(free)


def _compare_drives(model: mujoco.MjModel, robot: RobotModel, stage: ReadStage, worst: dict[str, float]) -> None:
    """Gains and greatest forces as they act in the physics, measured by moving each joint a little."""
    for name in robot.joints:
        still = _drive_force(model, name, 0.0, 0.0, 0.0)
        measured = (
            (still - _drive_force(model, name, _NUDGE, 0.0, 0.0)) / _NUDGE,
            (still - _drive_force(model, name, 0.0, _NUDGE, 0.0)) / _NUDGE,
            _drive_force(model, name, 0.0, 0.0, _FAR),
        )
        drive = stage.joints[name].drive
        for own, its in zip(measured, drive or (0.0, 0.0, 0.0), strict=True):
            _raise_to(worst, "drive", abs(its / own - 1))
    for joint in range(model.njnt):
        name = model.joint(joint).name
        if name in stage.joints and model.jnt_limited[joint]:
            difference = np.abs(np.array(stage.joints[name].limits) - model.jnt_range[joint]).max()
            _raise_to(worst, "limit_rad", difference)


def _drive_force(model: mujoco.MjModel, joint: str, position: float, speed: float, reference: float) -> float:
    """Force of a joint's servo [N m] along its motion, with what mimics it, where the joint is moved from rest."""
    data, along = mujoco.MjData(model), _along(model, joint)
    data.ctrl[model.actuator(joint).id] = reference
    for dof, gear in along.items():
        data.qpos[model.jnt_qposadr[model.dof_jntid[dof]]] += gear * position
        data.qvel[dof] = gear * speed
    mujoco.mj_forward(model, data)
    return float(sum(gear * data.qfrc_actuator[dof] for dof, gear in along.items()))


def _along(model: mujoco.MjModel, joint: str) -> dict[int, float]:
    """By how much each degree of freedom moves where a joint moves by 1, those that mimic it included."""
    chosen = model.joint(joint).id
    along = {int(model.jnt_dofadr[chosen]): 1.0}
    for row in range(model.neq):
        if int(model.eq_obj2id[row]) == chosen:
            along[int(model.jnt_dofadr[model.eq_obj1id[row]])] = float(model.eq_data[row, 1])
    return along


def _compare_poses(
    model: mujoco.MjModel, robot: RobotModel, stage: ReadStage, worst: dict[str, float], postures: int
) -> None:
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    for body in range(1, model.nbody):
        path = _path(model, body)
        if path.startswith("/World/Objects/"):
            _raise_to(worst, "pose_mm", _apart_mm(stage.placed(path), _physical(data, body)))
    for data in _postures(model, robot, postures):
        poses = stage.poses({name: float(data.joint(name).qpos[0]) for name in robot.joints})
        for body in range(1, model.nbody):
            name = model.body(body).name
            if name in poses:
                _raise_to(worst, "pose_mm", _apart_mm(poses[name], _physical(data, body)))
            elif _path(model, body).startswith("/World/Robot/") and model.body_mass[body] > 0:
                worst["pose_mm"] = np.inf


def _postures(model: mujoco.MjModel, robot: RobotModel, postures: int) -> Iterator[mujoco.MjData]:
    """The physics with the arm and the jaws somewhere in their ranges, the same places each time."""
    data, rng = mujoco.MjData(model), np.random.default_rng(0)
    lower, upper = robot.sampled_range
    jaws = robot.gripper.open_at, robot.gripper.closed_at
    for _ in range(postures):
        for name, value in zip(robot.joints, [*rng.uniform(lower, upper), rng.uniform(*jaws)], strict=True):
            for dof, gear in _along(model, name).items():
                data.qpos[model.jnt_qposadr[model.dof_jntid[dof]]] = gear * value
        mujoco.mj_kinematics(model, data)
        yield data


def _physical(data: mujoco.MjData, body: int) -> FloatArray:
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = data.xmat[body].reshape(3, 3), data.xpos[body]
    return T


def _apart_mm(first: FloatArray, second: FloatArray) -> float:
    """How far apart two poses are [mm]: of their origins, or of points 10 cm from them where they are turned."""
    arms = np.hstack([0.1 * np.eye(3), np.zeros((3, 1))])
    points = np.vstack([arms, np.ones((1, 4))])
    return 1000 * float(np.linalg.norm((first @ points - second @ points)[:3], axis=0).max())
