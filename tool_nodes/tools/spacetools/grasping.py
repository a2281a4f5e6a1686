"""Grasp generation: `grasp_generator.compute_grasp`."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from toolhand.tool_nodes.drawing import draw_axes
from toolhand.tool_nodes.geometry import carried, intrinsics, project, transform
from toolhand.tool_nodes.motion.robot_model import RobotModel, load_robot
from toolhand.tool_nodes.ports import GraspGenerator
from toolhand.tool_nodes.results import ErrorCode, ToolError, ToolResult, invalid
from toolhand.tool_nodes.toolbox.arguments import FocalLength, ImageIndex, Mask, PointCloud
from toolhand.tool_nodes.toolbox.example import Example
from toolhand.tool_nodes.toolbox.toolbox import InSession, Session, tool
from toolhand.tool_nodes.tools.spacetools.in_image import hemmed_in
from toolhand.tool_nodes.tools.spacetools.proposed import require_possible
from toolhand.tool_nodes.types import BoolArray, FloatArray, Frame, GraspSet, GraspTarget

MAX_CHECKED = 24
"""Grasps tried for reachability before giving up [-]; a round figure."""

MAX_SKIPPED = 8
"""Grasps that are passed over because they are like ones that failed [-]: each takes the time of a call; a round
figure."""
_TOLD_BY = 5000
"""Points by which a cloud is known again, beside all those of the object [-]; a round figure. The noise of a camera is
in every point, so that no two of its images share so many."""
_LEAST_IN_CONTACT = 0.05
"""A grasp that is reached less than well must be likelier to succeed than this [-]: nothing is pushed aside for others.
Of three that were tried in piles, at 0.002 to 0.02, one was stopped by what stood there and one took another object."""
_LIKE_ANOTHER = 0.5
"""Share that a grasp is worth which is like one that could not be reached [-]: of such 20 in 100 can be, of others
37, among 2,700 and 12,500 pairs of grasps of packed objects."""
_LIKE_M = 0.01
"""Grasps whose pads are nearer than this are alike [m] ..."""
_LIKE_RAD = np.radians(16.0)
"""... where approach and closing direction differ by less than this: two steps of the generator's sweep."""


def require_matching(tool_name: str, cloud: np.ndarray, mask: BoolArray) -> BoolArray:
    """The mask flattened to the cloud's rows. Raises ToolError INVALID_ARGUMENT or EMPTY_MASK."""
    if mask.size != len(cloud):
        raise invalid(
            f"{tool_name}: argument 'mask' has {mask.size} pixels ({mask.shape[0]}x{mask.shape[1]}) but 'point_cloud' "
            f"has {len(cloud)} points; both must come from the same image."
        )
    flat = mask.reshape(-1)
    if not flat.any():
        raise ToolError(ErrorCode.EMPTY_MASK, f"{tool_name}: the mask is empty.", "Segment an object first.")
    return flat


@dataclass(frozen=True)
class MaskedCloud:
    """An object in its surroundings, as one camera frame shows it.

    Attributes:
        cloud: (H*W, 3) points in the camera frame [m].
        mask: (H, W), true on the object.
        focal_length_px: focal length of the drawing [px].
        rgb: image (H, W, 3) to draw on.
        frame: camera frame that cloud and mask belong to.
    """

    cloud: NDArray[np.float32]
    mask: BoolArray
    focal_length_px: float
    rgb: NDArray[np.uint8]
    frame: Frame


class GraspAlternatives:
    """The tool, wherever its grasps come from: it counts the calls, so that the same call gives the next grasp."""

    suite = "spacetools"

    @tool(
        "grasp_generator.compute_grasp",
        renamed={"image": "image_index"},
        makes=("grasp_pose",),
        repeatable=True,
        example=Example(
            {
                "point_cloud": "$point_cloud",
                "mask": "$segmentation_mask",
                "focal_length_px": "$focal_length_px",
                "image_index": 0,
            },
            before=("depth_estimator.estimate_depth_with_pointcloud", "sam2.segment_from_point"),
        ),
    )
    def compute_grasp(
        self,
        point_cloud: PointCloud,
        mask: Mask,
        focal_length_px: FocalLength,
        image_index: ImageIndex,
        session: InSession,
    ) -> ToolResult:
        """Generate a single collision-free grasp pose for a masked subset of a point cloud.

        Calling it again with the same inputs gives the next best grasp.

        Args:
            point_cloud: Variable holding the point cloud (H*W, 3) of the image.
            mask: Variable holding the segmentation mask (H, W) of the object.
            focal_length_px: Focal length in pixels.
            image_index: Index of the image that mask and cloud belong to.
            session: The conversation, which counts the grasps it was given, and notes what they are for.
        """
        flat = require_matching("grasp_generator.compute_grasp", point_cloud, mask)
        frame = image_index.require_frame()
        if not image_index.is_whole_frame:
            raise invalid(
                "grasp_generator.compute_grasp: argument 'image_index' must be a camera picture as it was taken, no "
                "part of one.",
                "What stands around the object matters.",
            )
        cloud = np.ascontiguousarray(point_cloud, np.float32)
        key = hashlib.sha256(cloud[:: max(len(cloud) // _TOLD_BY, 1)].tobytes() + cloud[flat].tobytes())
        key.update(np.packbits(flat).data)
        given = session.grasps_given.get(key.hexdigest(), 0)
        seen = MaskedCloud(cloud, mask, focal_length_px, image_index.rgb, frame)
        try:
            number, result = self._untried(seen, given, session)
        except ToolError as error:
            return hemmed_in(error, mask, frame, session.marks)
        session.grasps_given[key.hexdigest()] = number + 1
        session.grasps.note_grasp(result.variables["grasp_pose"], frame, mask)
        return result

    def _untried(self, seen: MaskedCloud, first: int, session: Session) -> tuple[int, ToolResult]:
        """From a number on the first grasp that is like none that has failed, and its number; else the first.

        A grasp fails in an image of its own: in the next one the best grasp of the same object is much the same.
        """
        answers: list[ToolResult] = []
        for number in range(first, first + MAX_SKIPPED + 1):
            answers.append(self.alternative(seen, number))
            T = answers[-1].variables["grasp_pose"]
            if not session.grasps.has_failed(seen.frame.T_base_camera @ T):
                return number, answers[-1]
            if number > first and np.array_equal(T, answers[0].variables["grasp_pose"]):  # there are no more
                break
        return first, replace(answers[0], text=f"{answers[0].text} It is like one that has failed before.")

    def alternative(self, seen: MaskedCloud, number: int) -> ToolResult:
        """The best grasp (number 0), the next best one (1), and so on; after the last one it starts again.

        Args:
            seen: The object in its surroundings.
            number: Which grasp, from 0.

        Raises:
            ToolError: NO_GRASP.
        """
        raise NotImplementedError


class GraspTools(GraspAlternatives):
    """Grasps by the analytic generator, or by whichever backend stands behind the GraspGenerator port.

    Args:
        generator: Proposes grasps.
        reachable: (T_base_gripper (4, 4), frame, target) -> how well the arm can get there, in [0, 1], 0 where it
            cannot: the chance of a grasp is multiplied by it; None accepts all.
        robot: Robot with the gripper that is drawn; the default robot where None.
    """

    def __init__(
        self,
        generator: GraspGenerator,
        reachable: Callable[[FloatArray, Frame, GraspTarget | None], float] | None = None,
        robot: RobotModel | None = None,
    ) -> None:
        self._gripper = (robot or load_robot()).gripper
        self._generator = generator
        self._reachable = reachable

    def _choose(self, grasps: GraspSet, frame: Frame, mask: BoolArray, skip: int) -> int:
        """Index of the (skip+1)-th best grasp that can be reached; wraps to the best when there are no more.

        The best is the likeliest to succeed and to be reached: one like another that could not be, or that was given
        before and is asked for again, counts half.
        """
        found: dict[int, float] = {}
        target = GraspTarget(mask)
        T_base_gripper = frame.T_base_camera @ grasps.T_camera_gripper
        pads = self._pads(T_base_gripper, grasps.widths_m)
        worth = grasps.scores.astype(float)
        for _ in range(min(len(worth), MAX_CHECKED)):
            index = int(np.argmax(worth))
            if sum(found[k] >= worth[index] for k in found) > skip:
                break  # nothing that was not tried is better
            reached = 1.0 if self._reachable is None else float(self._reachable(T_base_gripper[index], frame, target))
            if reached >= 1.0 or (reached and grasps.scores[index] > _LEAST_IN_CONTACT):
                found[index] = worth[index] * reached
            worth[_alike(T_base_gripper, pads, index)] *= _LIKE_ANOTHER
            worth[index] = -np.inf
        if not found:
            raise ToolError(
                ErrorCode.NO_GRASP,
                f"None of the {len(grasps.scores)} collision-free grasps can be reached by the arm.",
                "What stands around it may be in the way, or it is too far from the robot's base or too close to it.",
            )
        best_first = sorted(found, key=lambda k: -found[k])
        return best_first[skip % len(found)]

    def _pads(self, T: FloatArray, widths_m: FloatArray) -> FloatArray:
        """Middles (N, 3) between the pads at grasps (N, 4, 4) with jaw openings (N,) [m]."""
        openings = np.clip(widths_m, 0.0, self._gripper.max_opening)
        depths = np.array([self._gripper.pad_depth(float(opening)) for opening in openings])
        return np.asarray(T[:, :3, 3] + depths[:, None] * T[:, :3, 2])

    def alternative(self, seen: MaskedCloud, number: int) -> ToolResult:
        """See `GraspAlternatives`."""
        frame, mask = seen.frame, seen.mask
        proposed = self._generator.generate(seen.cloud, mask.reshape(-1), frame.T_base_camera)
        grasps = require_possible(proposed, self._generator, self._gripper)
        index = self._choose(grasps, frame, mask, number)
        T = carried(grasps.T_camera_gripper[index])
        h, w = mask.shape
        K = intrinsics(seen.focal_length_px, w, h)
        K[:2, 2] = frame.K[:2, 2]
        points_px = project(transform(T, self._gripper.points(float(grasps.widths_m[index]))), K)
        axes_px = project(transform(T, np.vstack([np.zeros(3), 0.06 * np.eye(3)])), K)
        shown = ", ".join(f"({x / w:.3f}, {y / h:.3f})" for x, y in points_px)
        score = float(grasps.scores[index])
        return ToolResult(
            value=(T, score),
            text=f"Generated collision-free grasp with confidence {score:.3f} from {int(mask.sum())}/{len(seen.cloud)} "
            f"masked points. Filtered {grasps.sampled} → {len(grasps.scores)} collision-free grasps. "
            f"Projected 2D gripper points: [{shown}]. Use $grasp_pose (numpy array, 4x4) to reference it.",
            image=draw_axes(seen.rgb, axes_px[0], axes_px[1:], points_px),
            variables={"grasp_pose": T},
            backend=self._generator.backend,
        )


def _alike(T: FloatArray, pads: FloatArray, index: int) -> BoolArray:
    """Which grasps (N, 4, 4), with the middles between their pads (N, 3) [m], are like one of them, (N,)."""
    near = np.linalg.norm(pads - pads[index], axis=1) < _LIKE_M
    approach = T[:, :3, 2] @ T[index, :3, 2] > np.cos(_LIKE_RAD)
    closing = np.abs(T[:, :3, 0] @ T[index, :3, 0]) > np.cos(_LIKE_RAD)
    return np.asarray(near & approach & closing, bool)
