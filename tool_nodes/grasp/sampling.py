"""Analytic grasp sampling: 6-DoF candidates over the object's points, checked against all that the camera saw.

In the gripper's frame +Z approaches and the fingers close along X. Every candidate
is judged at the pose where the jaws meet the object, and with the jaws open on the way there.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from toolhand.tool_nodes import geometry, workspace
from toolhand.tool_nodes.grasp.candidates import candidates
from toolhand.tool_nodes.grasp.chances import Body, Surroundings, contact_quality, features, ranked
from toolhand.tool_nodes.grasp.clearance import LEAST_HEIGHT, MOST_INTO, HandRoom, SceneHeights
from toolhand.tool_nodes.grasp.hand import TIP_GAP, Hand
from toolhand.tool_nodes.grasp.jaws import LEAST_CONTACT, Grasps, place_jaws
from toolhand.tool_nodes.grasp.seen import MIN_HEIGHT, checked_mask, flattened, object_points
from toolhand.tool_nodes.grasp.seen_depth import SeenDepth
from toolhand.tool_nodes.motion.gripper import GripperModel
from toolhand.tool_nodes.motion.robot_model import RobotModel, load_robot
from toolhand.tool_nodes.perception.levelling import levelled
from toolhand.tool_nodes.perception.shape_completion import complete_shape
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import BoolArray, FloatArray, GraspSet

_MAX_SEEN, _MAX_GUESSED = 600, 400
"""Points of the object that candidates are compared with [-]; they bound the time."""
_MAX_CHECKED = 240
"""Candidates that are checked against the scene, the best by their contact [-]; they bound the time."""
_FEW = 6
"""Where fewer grasps are clear of what was seen, those count too that push some of it aside [-]; a round figure."""
_OWN_NOISES = 1.5
"""Masked points stand out of the table by more than so many standard deviations of its noise [-]: a mask holds few
points of the table, and a card is 5 mm thick."""
_TABLE_NOISES = 3.0
"""Other points are obstacles from so many standard deviations on [-]: one in 700 of the table's own is as high."""
_EVERY = 3
"""Every third point of the gripper's volume is looked up in hidden space [-]; it bounds the time."""


@dataclass(frozen=True)
class Proposals:
    """Grasps that touch nothing that was seen, before they are ranked.

    Attributes:
        T_camera_gripper: (N, 4, 4) poses.
        width: (N,) jaw opening at contact [m].
        features: (N, F) what is known about each, as `chances.FEATURES` names it.
        sampled: How many candidates were tried.
    """

    T_camera_gripper: FloatArray
    width: FloatArray
    features: FloatArray
    sampled: int


class AnalyticGraspGenerator:
    """Proposes grasps from above, tilted, from the side and on single parts of an object, without any learned model.

    Args:
        seed: Turns the sweep of closing directions by a fraction of its step.
        robot: Robot with the gripper; the default robot where None.
    """

    backend = "analytic"

    def __init__(self, seed: int = 0, robot: RobotModel | None = None) -> None:
        self._seed = seed
        self.gripper = (robot or load_robot()).gripper
        self._hand = Hand(self.gripper)

    def seeded(self, seed: int) -> AnalyticGraspGenerator:
        """See `ports.Seeded`."""
        other = copy.copy(self)
        other._seed = seed
        return other

    def generate(self, cloud: NDArray[np.float32], mask: BoolArray, T_base_camera: FloatArray) -> GraspSet:
        """Collision-free grasps of the masked object, best first.

        Args:
            cloud: (H*W, 3) points in the camera frame [m], NaN where unknown.
            mask: (H*W,) or (H, W), true on the object.
            T_base_camera: (4, 4) pose of the camera; the base frame has z up and the table at z = 0.

        Returns:
            Grasps in the camera frame; the same input gives the same bytes.

        Raises:
            ToolError: INVALID_ARGUMENT for wrong shapes, EMPTY_MASK, NO_DEPTH when the object has no
                known points, NO_GRASP when it is too wide, too flat or hemmed in.
        """
        found = self.propose(cloud, mask, T_base_camera)
        order, scores = ranked(found.features)
        return GraspSet(
            T_camera_gripper=found.T_camera_gripper[order],
            widths_m=found.width[order],
            scores=scores,
            sampled=found.sampled,
        )

    def propose(self, cloud: NDArray[np.float32], mask: BoolArray, T_base_camera: FloatArray) -> Proposals:
        """What `generate` ranks, in no order, and what is known about each; same arguments and errors."""
        mask = checked_mask(cloud, mask, T_base_camera)
        T = np.asarray(T_base_camera, dtype=float)
        cloud = np.asarray(cloud, dtype=np.float32)
        depth, kept = SeenDepth.of(cloud, mask, T)
        kept, around, cloud = kept[depth.rows], mask[depth.rows], cloud.take(depth.rows, axis=0)
        masked = cloud[kept]
        table = levelled(cloud, around, geometry.transform_part(T, masked)[:, :2].mean(axis=0, dtype=float), T)
        T_levelled = table.T @ T
        depth, masked = replace(depth, T_base_camera=T_levelled), geometry.transform_part(T_levelled, masked)
        own = flattened(masked, table.noise)
        seen = object_points(own, max(MIN_HEIGHT, _OWN_NOISES * table.noise) if own is masked else MIN_HEIGHT)
        support = min(depth.support_height(), float(seen[:, 2].min()))
        guessed = complete_shape(seen, support, depth.seen_free)[len(seen) :]
        body = Body.of(np.vstack([seen, guessed]), support)
        seen, guessed = self._thinned(seen, _MAX_SEEN), self._thinned(guessed, _MAX_GUESSED)
        shape = np.vstack([seen, guessed]).astype(np.float32)
        phase = float(np.random.default_rng(self._seed).uniform(0.0, np.pi / 24.0))
        tried = candidates(shape, shape[: len(seen)], body.centre, body.height, phase)
        grasps = place_jaws(shape, len(seen), body.centre, tried, self._hand)
        rows = np.argsort(-contact_quality(grasps, self.gripper), kind="stable")
        rows = rows[: min(int(grasps.usable.sum()), _MAX_CHECKED)]
        least = max(LEAST_HEIGHT, _TABLE_NOISES * table.noise)
        raised = np.flatnonzero((geometry.heights(T_levelled, cloud) > workspace.TABLE_Z + least) & ~around)
        flying = depth.flying(raised)
        scene = SceneHeights(geometry.transform_part(T_levelled, cloud[raised]), flying, shape, self.gripper, least)
        T_base_gripper, room = _roomier_side(scene, grasps.T_base_gripper[rows], tried.tilt[rows] > 0.01)
        clear = room.into == 0.0
        if clear.sum() < _FEW:
            clear = room.into < MOST_INTO
        if not clear.any():
            raise _no_grasp(grasps, tried.central, shape, self.gripper)
        rows, T_base_gripper, room = rows[clear], T_base_gripper[clear], room.of(clear)
        volume = scene.gripper_points(T_base_gripper, _EVERY)
        hidden = depth.hidden(volume.reshape(-1, 3).astype(float)).reshape(volume.shape[:2]).mean(axis=1)
        about = Surroundings(room, hidden, scene.between(T_base_gripper), scene.beneath(shape))
        return Proposals(
            # By the pose that the caller has for the camera: the arm then goes to where the table says the object is.
            T_camera_gripper=geometry.invert(T) @ T_base_gripper,
            width=grasps.width[rows],
            features=features(grasps.of(rows), tried.tilt[rows], about, body, self._hand),
            sampled=len(tried),
        )

    def _thinned(self, points: FloatArray, count: int) -> FloatArray:
        """At most `count` of the points (N, 3), so that the time does not grow with the object."""
        if len(points) <= count:
            return points
        rng = np.random.default_rng(self._seed)
        return points[np.sort(rng.permutation(len(points))[:count])]


def _roomier_side(scene: SceneHeights, T_base_gripper: FloatArray, tilted: BoolArray) -> tuple[FloatArray, HandRoom]:
    """Poses (N, 4, 4) turned by half a turn where the camera on the wrist then has more room, and the room there."""
    turned = T_base_gripper.copy()
    turned[:, :3, :2] *= -1.0
    here, there = (scene.room(T, tilted) for T in (T_base_gripper, turned))
    better = there.tightness < here.tightness
    room = HandRoom(**{name: np.where(better, getattr(there, name), value) for name, value in vars(here).items()})
    return np.where(better[:, None, None], turned, T_base_gripper), room


def _no_grasp(grasps: Grasps, central: BoolArray, shape: NDArray[np.float32], gripper: GripperModel) -> ToolError:
    """Why nothing is left; central (N,) marks the candidates straight down on the object's middle."""
    if grasps.usable.any():
        return ToolError(
            ErrorCode.NO_GRASP,
            f"Every one of the {int(grasps.usable.sum())} grasps that fit the object collides with a neighbour.",
            "Move a neighbour away first.",
        )
    yaws = np.radians(np.arange(0.0, 180.0, 3.0))
    width = float(np.ptp(shape[:, :2] @ np.array([np.cos(yaws), np.sin(yaws)]), axis=0).min())
    if width > gripper.max_width:
        return ToolError(
            ErrorCode.NO_GRASP,
            f"The object is {1000 * width:.0f} mm wide at its narrowest, too wide for the gripper, which holds what is "
            f"up to {1000 * gripper.max_width:.0f} mm wide.",
            "Grasp a smaller object.",
        )
    if not (central & (grasps.overlap > LEAST_CONTACT)).any():
        height = 1000.0 * float(shape[:, 2].max() - workspace.TABLE_Z)
        return ToolError(
            ErrorCode.NO_GRASP,
            f"The object is only {height:.0f} mm high; the fingers stay {1000 * TIP_GAP:.0f} mm above the table and "
            "cannot hold it.",
        )
    return ToolError(
        ErrorCode.NO_GRASP,
        f"None of the {len(grasps.usable)} grasps that were tried closes on two faces of the object.",
        "Look from elsewhere.",
    )
