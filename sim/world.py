"""The simulated table with the robot and its objects: MuJoCo in lockstep.

Simulated time advances only inside `step`. The same scene and the same commands give the same bytes.
"""

from __future__ import annotations

import copy
import pickle
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from toolhand.sim.contacts import ContactReader, Contacts, touching
from toolhand.sim.malloc import give_back_large_blocks
from toolhand.sim.model import build_model
from toolhand.sim.scene.scenes import Scene
from toolhand.sim.snapshot import ObjectState, Snapshot
from toolhand.tool_nodes.motion.robot_model import RobotModel, load_robot
from toolhand.tool_nodes.motion.robot_spec import gripper_links, load_robot_spec
from toolhand.tool_nodes.results import ErrorCode, ToolError, invalid
from toolhand.tool_nodes.types import FloatArray

SETTLE_S = 0.4
"""Time in which objects that were put down come to rest before an episode begins [s]."""

# MuJoCo would append its warnings to a file in the current folder; `World.step` reports them instead.
mujoco.set_mju_user_warning(lambda text: None)
give_back_large_blocks()

LOG_PERIOD_S = 0.04
"""Spacing of the states kept for the animation, and of the checks that the physics is sound [s]."""

TIMESTEPS_S = (0.001, 0.002, 0.004)
"""Time steps that a world may have [s]: whole fractions of LOG_PERIOD_S and of what judges wait."""

_SQUEEZE = 0.2
"""Share of the gripper's greatest force from which on its jaws press on something; moving freely they need 0.04 (Gen3)
and 0.06 (Jaco2) [-]; a round figure."""

_RESTS = 0.1
"""Share of its weight with which an object presses down that rests on another one [-]: what stands beside one and leans
against it presses with less; a round figure."""
_NO_WARNINGS = bytes(4 * int(mujoco.mjtWarning.mjNWARNING))
"""MuJoCo's counters of warnings without any."""
_SLEEP = int(mujoco.mjtEnableBit.mjENBL_SLEEP)
_AWAKE_COUNTS = ("nbody_awake", "ntree_awake", "nparent_awake", "nv_awake")
"""What MuJoCo leaves out of a state that it pickles."""


def check_timestep(timestep: float) -> None:
    """Raises ToolError INVALID_ARGUMENT unless a world may have such a time step [s]."""
    if timestep not in TIMESTEPS_S:
        allowed = ", ".join(f"{step:g}" for step in TIMESTEPS_S)
        raise invalid(f"The time step must be one of {allowed} s, got {timestep}.")


@dataclass(frozen=True)
class WorldState:
    """A moment of a world, about 40 kB and the log; it can be pickled.

    Attributes:
        timestep: [s].
        sleep: Whether what rests sleeps.
        physics: MuJoCo's whole state, packed; only a world of the same scene can read it.
        contacts: Contacts of the newest logged state; None where nothing was logged.
        next_log: When the next state is logged [s].
    """

    scene: Scene
    robot: str
    timestep: float
    sleep: bool
    physics: bytes
    awake: tuple[int, ...]
    log: tuple[tuple[float, FloatArray], ...]
    contact_log: tuple[tuple[float, Contacts], ...]
    contacts: Contacts | None
    next_log: float


class World:
    """Physics of one scene.

    Args:
        robot: Which robot; the default one where None.
        timestep: One of TIMESTEPS_S; as the robot's folder says where None, 2 ms for those that are shipped [s].
        sleep: Bodies at rest are not computed until something touches them: a step is four times as fast, and moves
            differ in the last digits. `snapshot` and `hold`, which read the truth, wake everything.

    Attributes:
        stick_iterations: Iterations of MuJoCo's solver without slip [-], in each step in which the jaws press on
            something, so that it does not creep. In all other steps friction is as stiff as `impratio` makes it.
        log: (time [s], qpos), a state every LOG_PERIOD_S.
        contact_log: (time [s], what touches what) of the same states, as found by the step that led to each.
        body_names: Owner of each of the model's bodies: the id of an object, "table", "gripper" or "arm".

    Raises:
        ToolError: INVALID_ARGUMENT for another time step.
    """

    def __init__(
        self, scene: Scene, robot: RobotModel | None = None, timestep: float | None = None, sleep: bool = False
    ) -> None:
        if timestep is not None:
            check_timestep(timestep)
        self.robot = robot or load_robot()
        self._timestep, self._sleep = timestep, sleep
        self._gripper_links = gripper_links(load_robot_spec(self.robot), self.robot)
        self.log: list[tuple[float, FloatArray]] = []
        self.contact_log: list[tuple[float, Contacts]] = []
        self._next_log = 0.0
        self._begin(scene)

    def _begin(self, scene: Scene) -> None:
        """The robot parked and everything settled, with a fresh model."""
        self._compile(scene)
        self._positions[self._arm_qpos] = self.robot.park
        self.command_arm(self.robot.park)
        mujoco.mj_forward(self.model, self.data)
        self._next_log = 0.0
        with self._awake():
            self.step(round(SETTLE_S / self.timestep))
        self.clear_log()
        self._contacts.last = None
        self._next_log = self.time
        self._start = scene, copy.copy(self.data), self._next_log

    def _compile(self, scene: Scene) -> None:
        """A fresh model and state, and where in them objects are."""
        self.model = build_model(scene, self.robot)
        if self._timestep is not None:
            self.model.opt.timestep = self._timestep
        if self._sleep:
            self.model.opt.enableflags |= _SLEEP
        self.scene = scene
        self.data = mujoco.MjData(self.model)
        self._seen = mujoco.MjData(self.model) if self._sleep else self.data
        # Views: they stay right for as long as the state is this object.
        self._positions, self._velocities, self._references = self.data.qpos, self.data.qvel, self.data.ctrl
        self._warnings = self.data.warning.number
        joints = [self.model.joint(name) for name in self.robot.arm_joints]
        self._arm_qpos = _together([int(joint.qposadr[0]) for joint in joints])
        self._arm_dof = _together([int(joint.dofadr[0]) for joint in joints])
        self._arm_ctrl = _together([self.model.actuator(name).id for name in self.robot.arm_joints])
        self._knuckle_qpos = int(self.model.joint(self.robot.gripper.joint).qposadr[0])
        self._knuckle_dof = int(self.model.joint(self.robot.gripper.joint).dofadr[0])
        self._knuckle_ctrl = self.model.actuator(self.robot.gripper.joint).id
        self._bodies = {placed.id: self.model.body(placed.id).id for placed in scene.objects}
        self.body_names = self._names_of_bodies()
        self._contacts = ContactReader(self.model, self.body_names)
        self.stick_iterations, self.model.opt.noslip_iterations = self.model.opt.noslip_iterations, 0
        self._forces = self.data.actuator_force
        self._squeeze = _SQUEEZE * float(self.model.actuator_forcerange[self._knuckle_ctrl, 1])
        self._timestep_s = float(self.model.opt.timestep)
        self._steps_unchecked, self._steps_between_checks = 0, round(LOG_PERIOD_S / self._timestep_s)

    # -- moments -----------------------------------------------------------------------------------

    def reset(self, scene: Scene | None = None) -> None:
        """Make everything as it is in a new world, to the last bit.

        Args:
            scene: Scene on the table; the first one where None, which takes no time.
        """
        first, start, next_log = self._start
        if self.scene is not first or scene not in (None, first):
            self._begin(scene or first)
            return
        mujoco.mj_copyData(self.data, self.model, start)
        self.clear_log()
        self._contacts.last = None
        self._next_log, self._steps_unchecked = next_log, 0

    def save(self) -> WorldState:
        """The moment, for `restore`; the world goes on unchanged."""
        awake = tuple(getattr(self.data, name) for name in _AWAKE_COUNTS)
        physics = zlib.compress(pickle.dumps(self.data), 1)
        logs = tuple(self.log), tuple(self.contact_log), self._contacts.last, self._next_log
        return WorldState(self.scene, self.robot.name, self.timestep, self._sleep, physics, awake, *logs)

    def restore(self, state: WorldState) -> None:
        """Go back, or on, to a saved moment of this world or of one like it; what follows is the same to the last bit.

        Raises:
            ToolError: INVALID_ARGUMENT for a state of another scene, robot, time step or sleep; nothing has changed.
        """
        if state.scene != self.scene:
            names = [f'"{scene.name or scene.seed}"' for scene in (state.scene, self.scene)]
            raise _foreign("scene", *names)
        if state.robot != self.robot.name:
            raise _foreign("robot", state.robot, self.robot.name)
        if state.timestep != self.timestep:
            raise _foreign("time step", f"{state.timestep:g} s", f"{self.timestep:g} s")
        if state.sleep != self._sleep:
            raise _foreign("sleep", str(state.sleep), str(self._sleep))
        physics = pickle.loads(zlib.decompress(state.physics))
        for name, count in zip(_AWAKE_COUNTS, state.awake, strict=True):
            setattr(physics, name, count)
        mujoco.mj_copyData(self.data, self.model, physics)
        self.log[:], self.contact_log[:], self._contacts.last = state.log, state.contact_log, state.contacts
        self._next_log, self._steps_unchecked = state.next_log, 0

    def change_objects(self, scene: Scene) -> None:
        """Put other objects on the table.

        Time goes on; the robot and the objects whose id stays keep their state, and the log begins anew.
        """
        robot = [body for body in range(self.model.nbody) if self.body_names[body] in ("arm", "gripper")]
        state = {self.model.body(body).name: self._joint_state(body) for body in [*robot, *self._bodies.values()]}
        before = self.data
        self._compile(scene)
        for name, (qpos, qvel) in state.items():
            body = mujoco.mj_name2id(self.model, mujoco.mjtObj.mjOBJ_BODY, name)
            if body >= 0:
                mine = self._joint_state(body)
                mine[0][:], mine[1][:] = qpos, qvel
        self.data.ctrl[:] = before.ctrl
        self.set_time(before.time)
        mujoco.mj_forward(self.model, self.data)

    def _joint_state(self, body: int) -> tuple[FloatArray, FloatArray]:
        """Views of the positions and velocities of a body's own joint; empty where it has none."""
        if self.model.body_jntnum[body] == 0:
            return np.zeros(0), np.zeros(0)
        joint = self.model.body_jntadr[body]
        free = self.model.jnt_type[joint] == int(mujoco.mjtJoint.mjJNT_FREE)
        qpos, qvel = self.model.jnt_qposadr[joint], self.model.jnt_dofadr[joint]
        return self.data.qpos[qpos : qpos + (7 if free else 1)], self.data.qvel[qvel : qvel + (6 if free else 1)]

    def place_object(
        self, object_id: str, position_m: FloatArray, quat_wxyz: FloatArray, velocity: FloatArray | None = None
    ) -> None:
        """Put an object somewhere else at once.

        Args:
            position_m: (3,) body origin, base frame [m].
            quat_wxyz: (4,) rotation, base frame; of any length but zero.
            velocity: (6,) linear [m/s], then angular [rad/s], base frame; at rest where it is None.
        """
        body = self._bodies[object_id]
        qpos, qvel = self._joint_state(body)
        qpos[:3], qpos[3:] = position_m, quat_wxyz / np.linalg.norm(quat_wxyz)
        qvel[:] = 0.0 if velocity is None else velocity
        if velocity is not None:
            # MuJoCo has a free body's angular velocity in the body's own frame.
            turn = np.zeros(4)
            mujoco.mju_negQuat(turn, qpos[3:])
            mujoco.mju_rotVecQuat(qvel[3:], velocity[3:], turn)
        mujoco.mj_forward(self.model, self.data)
        self._contacts.last = None

    def set_time(self, time: float) -> None:
        """Set the clock [s]; the log begins anew."""
        self.data.time = time
        self.clear_log()
        self._next_log = time

    def clear_log(self, keep: int = 0) -> None:
        """Forget all that was logged but the newest `keep` states."""
        for log in (self.log, self.contact_log):
            del log[: len(log) - keep]

    def _log(self) -> None:
        self.log.append((self.time, self._positions.copy()))
        self.contact_log.append((self.time, self._contacts.follow(self.data, self._seen_awake)))
        self._next_log += LOG_PERIOD_S

    def _names_of_bodies(self) -> list[str]:
        """Per body id: the object's id, "table" for the world, "gripper" or "arm" for the robot."""
        names = []
        by_body = {body: name for name, body in self._bodies.items()}
        for body in range(self.model.nbody):
            root = self.model.body_rootid[body]
            if root in by_body:
                names.append(by_body[root])
            elif body == 0:
                names.append("table")
            else:
                names.append("gripper" if self.model.body(body).name in self._gripper_links else "arm")
        return names

    @property
    def timestep(self) -> float:
        """[s]."""
        return self._timestep_s

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return float(self.data.time)

    @property
    def body_index(self) -> dict[int, int]:
        """Body id to index into `scene.objects`."""
        return {self._bodies[placed.id]: index for index, placed in enumerate(self.scene.objects)}

    def command_arm(self, q: FloatArray) -> None:
        """Position reference (n,) of the arm's servos [rad]."""
        self._references[self._arm_ctrl] = q

    def command_knuckle(self, angle: float) -> None:
        """Position reference of the gripper's driven joint [rad]."""
        self._references[self._knuckle_ctrl] = angle

    @property
    def arm_reference(self) -> FloatArray:
        """The commanded (n,) [rad]."""
        return self._references[self._arm_ctrl].copy()

    @property
    def arm_position(self) -> FloatArray:
        """The measured (n,) [rad]."""
        return self._positions[self._arm_qpos].copy()

    @property
    def arm_velocity(self) -> FloatArray:
        """The measured (n,) [rad/s]."""
        return self._velocities[self._arm_dof].copy()

    @property
    def knuckle(self) -> float:
        """Measured position of the gripper's driven joint [rad]."""
        return float(self._positions[self._knuckle_qpos])

    @property
    def knuckle_velocity(self) -> float:
        """[rad/s]."""
        return float(self._velocities[self._knuckle_dof])

    @property
    def opening_m(self) -> float:
        """Measured jaw opening [m]."""
        return float(np.clip(self.robot.gripper.opening(self.knuckle), 0.0, None))

    def step(self, count: int = 1) -> None:
        """Advance by `count` time steps.

        Raises:
            ToolError: INTERNAL on a MuJoCo warning, at the latest a log period after NaN, and then in every step; such
                an episode has no score.
        """
        model, data, started = self.model, self.data, self.data.time
        option, forces, knuckle = model.opt, self._forces, self._knuckle_ctrl
        for _ in range(count):
            option.noslip_iterations = self.stick_iterations if abs(forces[knuckle]) > self._squeeze else 0
            mujoco.mj_step(model, data)
            if data.time >= self._next_log:
                self._log()
        option.noslip_iterations = 0
        self._steps_unchecked += count
        if self._steps_unchecked >= self._steps_between_checks or self._warnings.tobytes() != _NO_WARNINGS:
            self.check_health(started)

    def pass_time(self, count: int) -> None:
        """Let `count` time steps pass without physics: for a world in which nothing moves."""
        self.data.time += count * self.timestep
        while self.data.time >= self._next_log:
            self._log()

    def check_health(self, since: float | None = None) -> None:
        """Raise ToolError INTERNAL on a MuJoCo warning or NaN; `since` [s] is given because MuJoCo resets its clock."""
        since = self.time if since is None else since
        self._steps_unchecked = 0
        for kind in np.flatnonzero(self._warnings):
            name = mujoco.mjtWarning(kind).name.removeprefix("mjWARN_")
            raise ToolError(ErrorCode.INTERNAL, f"The physics reported {name} after t={since:.3f} s.")
        if not (np.isfinite(self._positions).all() and np.isfinite(self._velocities).all()):
            raise ToolError(ErrorCode.INTERNAL, f"The physics state is not finite after t={since:.3f} s.")

    @contextmanager
    def _awake(self) -> Iterator[None]:
        """Within it nothing sleeps: what sleeps has no contacts, and would count as touching nothing."""
        before = self.model.opt.enableflags
        self.model.opt.enableflags = before & ~_SLEEP
        try:
            yield
        finally:
            self.model.opt.enableflags = before

    def _seen_awake(self) -> mujoco.MjData:
        """The state with everything awake; where something sleeps it is a copy, so that looking changes nothing."""
        if not self._sleep:
            return self.data
        mujoco.mj_copyData(self._seen, self.model, self.data)
        with self._awake():
            mujoco.mj_forward(self.model, self._seen)
        return self._seen

    def snapshot(self) -> Snapshot:
        """The objects' true state, for judging; perception and planning never see it."""
        data = self._seen_awake()
        contacts = self._contacts.read(data)
        objects = {}
        for name, body in self._bodies.items():
            velocity = np.zeros(6)
            mujoco.mj_objectVelocity(self.model, data, mujoco.mjtObj.mjOBJ_BODY, body, velocity, 0)
            objects[name] = ObjectState(
                id=name,
                position_m=data.xpos[body].copy(),
                quat_wxyz=data.xquat[body].copy(),
                velocity=np.concatenate([velocity[3:], velocity[:3]]),
                touching=touching(contacts, name),
            )
        return Snapshot(time=self.time, objects=objects)

    def resting_on(self, name: str) -> frozenset[str]:
        """Ids of the objects that press down on one with a part of their weight, by the physics' contact forces."""
        data = self._seen_awake()
        least = {other: _RESTS * self.model.body_subtreemass[body] for other, body in self._bodies.items()}
        gravity = float(np.linalg.norm(self.model.opt.gravity))
        pressed = self._contacts.pressed(self.model, data, name)
        return frozenset(other for other, force in pressed.items() if force >= least[other] * gravity)

    def hold(self, seconds: float, every: float = 0.1) -> Sequence[Snapshot]:
        """Let time pass with the last commands; snapshots every `every` seconds, first and last included.

        What sleeps may sleep on, since it moves by less than `opt.sleep_tolerance` (1 mm/s); the snapshots are awake.

        Raises:
            ToolError: INTERNAL on a MuJoCo warning or NaN.
        """
        self.check_health()
        history = [self.snapshot()]
        for _ in range(round(seconds / every)):
            self.step(round(every / self.timestep))
            history.append(self.snapshot())
        self.check_health()
        return history


def _foreign(what: str, its: str, mine: str) -> ToolError:
    return invalid(f"The saved state has another {what}: {its}, where this world has {mine}.")


def _together(indices: Sequence[int]) -> slice | NDArray[np.intp]:
    """Indices that follow each other as a slice, which numpy reads ten times as fast as a list."""
    first = indices[0]
    if list(indices) == list(range(first, first + len(indices))):
        return slice(first, first + len(indices))
    return np.array(indices)
