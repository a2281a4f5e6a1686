"""The grasp generator `graspgen`: GraspGen (Murali et al. 2025, arXiv 2507.13097) behind its own server,
`graspgen:HOST:PORT`.

GraspGen's code and weights are NVIDIA's, for research and evaluation only, not for commercial use. None of it is
here: this is a client of its protocol (ZeroMQ REQ/REP, msgpack). The server sees the object's points alone; what it
proposes is checked here against the gripper in use and against everything else that the camera saw.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from toolhand.tool_nodes import geometry, workspace
from toolhand.tool_nodes.grasp.clearance import SceneHeights
from toolhand.tool_nodes.grasp.seen import checked_mask, object_points
from toolhand.tool_nodes.models.batched import BatchingBackend
from toolhand.tool_nodes.models.graspgen_wire import UnreadableError, packed, unpacked
from toolhand.tool_nodes.models.loading import needed
from toolhand.tool_nodes.models.spec import NumberOptions, Option, parse_address
from toolhand.tool_nodes.motion.gripper import GripperModel
from toolhand.tool_nodes.motion.robot_model import RobotModel, load_robot
from toolhand.tool_nodes.results import ErrorCode, ToolError, unavailable
from toolhand.tool_nodes.types import BoolArray, FloatArray, GraspSet

PORT = 5556
"""Where GraspGen's server listens if nothing else is said."""
DEADLINE_S = 25.0
"""Longest wait for an answer [s]: a tool's call may take 30."""
SAMPLES = 200
"""Grasps that are asked for; num_grasps of its client."""
MAX_GRASPS = 10_000
"""Most grasps that an answer may have; a round figure."""
_TIP_GAP = 0.004
"""Least gap between a fingertip and the table [m]; as the analytic generator keeps it."""
_SHOWN = 160
"""Characters of a server's answer that a message repeats."""


@dataclass(frozen=True)
class _Scene:
    """What a grasp is checked against: the camera's pose, all points (N, 3) and the object's (M, 3) in the base
    frame."""

    T_base_camera: FloatArray
    points: NDArray[np.float32]
    mask: BoolArray
    shape: FloatArray


class GraspGen(BatchingBackend[GraspSet]):
    """A GraspGenerator.

    Args:
        model: HOST or HOST:PORT; behind a question mark `grasps` (how many are asked for), `threshold` (least
            confidence), `shift` [m] (how much farther along the approach the gripper in use is put than the one that
            the server's weights are for: a 2F-140's grasps serve a 2F-85 so) and `deadline` [s].
        robot: Robot with the gripper; the default robot where None.

    Raises:
        ToolError: INVALID_ARGUMENT for another address or option; UNAVAILABLE without the extra `models`.
    """

    backend = "graspgen"
    batch_size = 1
    OPTIONS: ClassVar[NumberOptions] = {
        "grasps": Option(SAMPLES, 1, MAX_GRASPS),
        "threshold": Option(0.0, 0.0, 1.0),
        "shift": Option(0.0, -0.2, 0.2),
        "deadline": Option(DEADLINE_S, 0.1, 600.0),
    }

    def __init__(self, model: str, robot: RobotModel | None = None) -> None:
        self.address, self._numbers = parse_address(self.backend, model, PORT, self.OPTIONS)
        self.gripper = (robot or load_robot()).gripper
        self._zmq, self._msgpack = needed("zmq"), needed("msgpack")
        self._lock = threading.Lock()

    def generate(self, cloud: NDArray[np.float32], mask: BoolArray, T_base_camera: FloatArray) -> GraspSet:
        """See ports.GraspGenerator."""
        return self.one(cloud, mask, T_base_camera).value

    def batch(self, requests: Sequence[tuple[Any, ...]]) -> list[Any]:
        """See ports.Batched; a GraspSet is not signed."""
        answers = super().batch(requests)
        return [answer if isinstance(answer, ToolError) else answer.value for answer in answers]

    def one(self, *request: Any) -> Any:
        """One answer, signed. Raises ToolError."""
        answer = super().batch([request])[0]
        if isinstance(answer, ToolError):
            raise answer
        return answer

    def _answer(self, requests: Sequence[tuple[Any, ...]]) -> list[GraspSet | ToolError]:
        answers: list[GraspSet | ToolError] = []
        for request in requests:
            try:
                answers.append(self._proposed(*request))
            except ToolError as error:
                answers.append(error)
        return answers

    def _proposed(self, cloud: NDArray[np.float32], mask: BoolArray, T_base_camera: FloatArray) -> GraspSet:
        flat = checked_mask(cloud, mask, T_base_camera)
        T = np.asarray(T_base_camera, float)
        cloud = np.asarray(cloud, np.float32)
        known = np.isfinite(cloud).all(axis=1)
        points, flat = geometry.transform(T, cloud[known]), flat[known]
        shape = object_points(points[flat])
        middle = shape.mean(axis=0)
        # In the base's directions, about its own middle: up is up, as the network has learned it.
        answer = self._ask(
            {
                "action": "infer",
                "point_cloud": (shape - middle).astype(np.float32),
                "grasp_threshold": self._numbers["threshold"] or -1.0,
                "num_grasps": int(self._numbers["grasps"]),
                "topk_num_grasps": -1,
            }
        )
        poses, scores = _grasps(answer)
        poses[:, :3, 3] += middle + self._numbers["shift"] * poses[:, :3, 2]
        kept, widths = usable(poses, _Scene(T, points, flat, shape), self.gripper)
        if not kept.any():
            raise ToolError(
                ErrorCode.NO_GRASP,
                f"None of the {len(poses)} grasps that GraspGen proposes is free of collision and fits the gripper.",
                "Look from elsewhere, or move a neighbour away first.",
            )
        order = np.flatnonzero(kept)[np.argsort(-scores[kept], kind="stable")]
        return GraspSet(geometry.invert(T) @ poses[order], widths[order], scores[order], len(poses))

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """The server's answer. A socket that has waited in vain cannot be used again, so each request has its own."""
        zmq, deadline_ms = self._zmq, int(1000 * self._numbers["deadline"])
        with self._lock, zmq.Context.instance().socket(zmq.REQ) as socket:
            socket.setsockopt(zmq.LINGER, 0)
            socket.setsockopt(zmq.SNDTIMEO, deadline_ms)
            socket.setsockopt(zmq.RCVTIMEO, deadline_ms)
            try:
                socket.connect(f"tcp://{self.address}")
                socket.send(packed(request, self._msgpack))
                data = socket.recv()
            except zmq.Again as error:
                raise self._unavailable(f"did not answer within {deadline_ms / 1000:g} s") from error
            except zmq.ZMQError as error:
                raise self._unavailable(f"cannot be reached: {error}") from error
        try:
            answer = unpacked(data, self._msgpack)
        except UnreadableError as error:
            raise self._unavailable(f"gave an answer that cannot be read: {error}") from error
        if "error" in answer:
            raise self._unavailable(f"failed: {' '.join(str(answer['error']).split())[:_SHOWN]}")
        return answer

    def _unavailable(self, what: str) -> ToolError:
        return unavailable(f"GraspGen's server {self.address} {what}.")


def _grasps(answer: dict[str, Any]) -> tuple[FloatArray, FloatArray]:
    """Poses (M, 4, 4) and confidences (M,) of an answer. Raises ToolError UNAVAILABLE, or NO_GRASP for none."""
    poses, scores = (np.array(answer.get(name, ()), float) for name in ("grasps", "confidences"))
    if not poses.size:
        raise ToolError(ErrorCode.NO_GRASP, "GraspGen proposes no grasp for this object.", "Look from elsewhere.")
    fits = poses.ndim == 3 and poses.shape[1:] == (4, 4) and scores.shape == (len(poses),) and len(poses) <= MAX_GRASPS
    if not fits or not (np.isfinite(poses).all() and np.isfinite(scores).all()):
        raise unavailable(f"GraspGen gave grasps of shape {poses.shape} and scores of {scores.shape}.")
    if not geometry.is_rigid(poses, geometry.ROUNDED):
        raise unavailable("GraspGen gave poses that are no rotations.")
    return poses, np.clip(scores, 0.0, 1.0)


def usable(poses: FloatArray, scene: _Scene, gripper: GripperModel) -> tuple[BoolArray, FloatArray]:
    """(which poses (N, 4, 4) of the base frame close on the object and touch nothing else, jaw openings (N,) [m])."""
    depth = gripper.pad_depth(gripper.max_opening)
    half_width, half_height = gripper.pad_half_size
    local = (scene.shape[None] - poses[:, None, :3, 3]) @ poses[:, :3, :3]
    between = (np.abs(local[..., 1]) < half_width) & (np.abs(local[..., 2] - depth) < half_height)
    between &= np.abs(local[..., 0]) < gripper.max_opening / 2.0
    low = np.where(between, local[..., 0], np.inf).min(axis=1)
    high = np.where(between, local[..., 0], -np.inf).max(axis=1)
    held = low <= high
    # The jaws close about the gripper's middle plane: the farther side says how wide they have to be.
    widths = np.where(held, 2.0 * np.maximum(np.abs(low), np.abs(high)), 0.0)
    tip = gripper.fingertip_depth(gripper.max_opening)
    reach = gripper.max_opening / 2.0 + gripper.finger_thickness
    up = poses[:, 2, :3]
    lowest = poses[:, 2, 3] + up[:, 2] * tip - np.abs(up[:, 0]) * reach - np.abs(up[:, 1]) * gripper.finger_half_width
    heights = SceneHeights(scene.points, scene.mask, scene.shape.astype(np.float32), gripper)
    clear, _ = heights.clear(poses, np.ones(len(poses), bool))
    return held & clear & (widths <= gripper.max_width) & (lowest > workspace.TABLE_Z + _TIP_GAP), widths
