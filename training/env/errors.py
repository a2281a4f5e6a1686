"""Errors of what stands behind the tools: ports around other ports, each with a cause that a policy can notice.

    pointer = NeighbourPoint(station.ports.pointer, key=(7,), strength=0.8)    # a Pointer like any other

| kind | port | what it gets wrong | sign in what the tool says | what helps |
|---|---|---|---|---|
| `wrong_point` | pointer | gives another object's point | - | asking again, the other pointer |
| `neighbour` | pointer | takes an object for the one beside it | low resolution, a grid | the other pointer |
| `merged` | segmenter | outlines two neighbours as one | two objects, a low IoU | `sam2.segment_from_points` |
| `hole` | camera | has no depth in `strength` of the image | how much is unknown | `depth_estimator.*` |
| `scale` | estimator | takes all distances for shorter | its scale is not sure | `robot.get_depth*` |
| `lying_score` | generator | rates best what closes above flat objects | flat objects' scores | the next grasp |
| `miss` | manipulator | stops 4 cm short and 1 cm aside | how far off it stopped | a look, the same motion |

All but `wrong_point` and `miss` **last**: they are the same in every call of an episode and for all rollouts of a
group, and to ask again is of no use. A sign is there whether this very answer is wrong or not: it tells of the
cause. `toolhand.training.env.failures` puts errors behind tools, and draws when those err that do not last.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from toolhand.tool_nodes.geometry import transform
from toolhand.tool_nodes.ports import Answer
from toolhand.tool_nodes.results import ToolError
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.types import (
    BoolArray,
    Everything,
    FloatArray,
    Frame,
    Grasped,
    GraspSet,
    GraspTarget,
    PointPrompt,
    Prompt,
    Segmentation,
)

_Points = list[tuple[float, float]]

NOTE = "Note:"
"""Begins each sign, so that protocols which shorten what tools say can keep it."""
ANOTHER = 0.03
"""Least distance from all right points at which a point counts as on another object [shares of the image]."""
CLUTTER = 0.25
"""What is farther away than this is nobody's neighbour [shares of the image]; a round figure."""
GRID = 0.02
"""Step of a coarse pointer's coordinates [shares of the image]: 6 px of 320, a third of a small object."""
SHORTER = 0.2
"""How much shorter all distances are, at strength 1 [shares]: of 0.9 m the height of a large object."""
FLAT_M = 0.1
"""Objects that are lower than this are flat [m]: half of the products."""
LIARS = 6
"""Grasps that hold nothing and are rated best, at strength 1 [-]."""
SHORT_M, ASIDE_M = 0.04, 0.01
"""How far from its pose the hand stops, back along the approach and across the fingers [m]."""
_STREAM = 23
"""Keeps these random numbers apart from others of the same seed."""


class PortError:
    """A port that errs.

    Args:
        inner: The port around which it is; what it does not spoil is done by that one.
        key: Seeds all that is drawn; of a lasting error the same in every call.
        strength: How much it errs, in [0, 1].

    Attributes:
        port: Name of the port, see `toolhand.tool_nodes.toolbox.spec.ToolSpec.port`.
        lasting: It errs in every call of an episode alike; else in those that are drawn, with the strength as the rate.
        sign: Sentence in which a tool tells the cause; empty where nothing tells.
        erred: True where its result is not that of the port around which it is.
    """

    port: ClassVar[str]
    lasting: ClassVar[bool] = True
    sign: str = ""

    def __init__(self, inner: Any, key: tuple[int, ...], strength: float = 1.0) -> None:
        self._inner, self._key, self._strength = inner, key, strength
        self.erred = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def _rng(self, *purpose: int) -> np.random.Generator:
        return np.random.default_rng((*self._key, _STREAM, *purpose))


class WrongPoint(PortError):
    """Gives the point of another object; as the other pointer where there is none."""

    port, lasting = "pointer", False

    def point(self, image: SessionImage, text: str) -> Answer[_Points]:
        """See ports.Pointer."""
        right = self._inner.point(image, text)
        others = [p for p in self._all(image) if all(math.dist(p, q) >= ANOTHER for q in right.value)]
        if not others:
            return Answer(right.value, right.backend)
        self.erred = True
        return Answer([others[int(self._rng().integers(len(others)))]], right.backend)

    def _all(self, image: SessionImage) -> _Points:
        """A point on each object; none where nothing else is seen."""
        try:
            return list(self._inner.point(image, "everything").value)
        except ToolError:
            return []


class NeighbourPoint(WrongPoint):
    """Reads the image at low resolution: takes an object in clutter for the one beside it, and points on a grid."""

    lasting = True
    sign = "The image was read at low resolution."

    def point(self, image: SessionImage, text: str) -> Answer[_Points]:
        """See ports.Pointer; of free space it is right."""
        right = self._inner.point(image, text)
        given, everything = list(right.value), self._all(image)
        of_objects = all(any(math.dist(p, q) < ANOTHER for q in everything) for p in given)
        if text != "everything" and of_objects and self._rng(zlib.crc32(text.encode())).random() < self._strength:
            others = [p for p in everything if all(math.dist(p, q) >= ANOTHER for q in given)]
            beside = [min(others, key=lambda other: math.dist(other, p), default=p) for p in given]
            given = [q if math.dist(p, q) < CLUTTER else p for p, q in zip(given, beside, strict=True)]
            self.erred = given != right.value
        return Answer([(_on_grid(x), _on_grid(y)) for x, y in dict.fromkeys(given)], right.backend)


class Merged(PortError):
    """Outlines an object together with the one beside it."""

    port = "segmenter"
    sign = "It may be two objects."

    def segment(self, image: SessionImage, prompt: Prompt) -> Answer[list[Segmentation]]:
        """See ports.Segmenter; only what is under points is merged."""
        found = self._inner.segment(image, prompt)
        if not isinstance(prompt, PointPrompt) or Everything not in self._inner.takes:
            return Answer(found.value, found.backend)
        best, *rest = found.value
        gap = ndimage.distance_transform_edt(~best.mask)
        others = [each.mask for each in self._inner.segment(image, Everything()).value]
        near = min((m for m in others if not (m & best.mask).any()), key=lambda m: gap[m].min(), default=best.mask)
        if self._rng().random() >= self._strength or gap[near].min() > CLUTTER * best.mask.shape[1]:
            return Answer(found.value, found.backend)
        self.erred = True
        both = best.mask | near
        score = best.score * float(best.mask.sum() / both.sum())
        return Answer([Segmentation(both, score), *rest], found.backend)


class Hole(PortError):
    """A camera without depth in large parts of its image."""

    port = "camera"

    def capture(self) -> Frame:
        """See ports.Camera."""
        frame = self._inner.capture()
        waves = ndimage.gaussian_filter(self._rng().standard_normal(frame.depth.shape), frame.depth.shape[0] / 16)
        depth = np.where(waves < np.quantile(waves, self._strength), np.float32(np.nan), frame.depth)
        self.sign = f"Depth is unknown in {100 * np.isnan(depth).mean():.0f} % of the image."
        self.erred = bool((np.isnan(depth) & np.isfinite(frame.depth)).any())
        return replace(frame, depth=depth)


class Scale(PortError):
    """Estimates depth without knowing the scale of what it sees."""

    port = "estimator"
    sign = "The scale of the distances is not sure."

    def estimate(self, image: SessionImage) -> Answer[tuple[NDArray[np.float32], float]]:
        """See ports.DepthEstimator."""
        right = self._inner.estimate(image)
        depth, focal = right.value
        self.erred = self._strength > 0.0
        return Answer((depth * np.float32(1.0 - SHORTER * self._strength), focal), right.backend)


class LyingScore(PortError):
    """Rates grasps of flat objects best that close above them."""

    port = "generator"
    sign = "Scores of flat objects are not calibrated."

    def generate(self, cloud: NDArray[np.float32], mask: BoolArray, T_base_camera: FloatArray) -> GraspSet:
        """See ports.GraspGenerator."""
        right: GraspSet = self._inner.generate(cloud, mask, T_base_camera)
        count = min(round(LIARS * self._strength), len(right.scores))
        if not count or np.nanmax(transform(T_base_camera, cloud[mask.reshape(-1)])[:, 2]) > FLAT_M:
            return right
        self.erred = True
        chosen = np.linspace(0, len(right.scores) - 1, count).astype(int)
        above = right.T_camera_gripper[chosen].copy()
        above[:, :3, 3] -= 2.0 * SHORT_M * above[:, :3, 2]
        scores = np.concatenate([np.linspace(0.999, 0.99, count), np.minimum(right.scores, 0.98)])
        return replace(
            right,
            T_camera_gripper=np.concatenate([above, right.T_camera_gripper]),
            widths_m=np.concatenate([right.widths_m[chosen], right.widths_m]),
            scores=scores,
        )


class Miss(PortError):
    """A hand that stops before it is there."""

    port, lasting = "manipulator", False
    sign = f"The hand stopped {1000 * math.hypot(SHORT_M, ASIDE_M):.0f} mm from the pose."

    def grasp(
        self, T_base_gripper: FloatArray, frame: Frame, target: GraspTarget | None = None, speed: float = 1.0
    ) -> Grasped:
        """See ports.GraspAndPlace."""
        self.erred = True
        T = T_base_gripper.copy()
        T[:3, 3] += self._rng().choice([-1.0, 1.0]) * ASIDE_M * T[:3, 0] - SHORT_M * T[:3, 2]
        grasped: Grasped = self._inner.grasp(T, frame, target, speed)
        return grasped


ERRORS: Mapping[str, type[PortError]] = {
    "wrong_point": WrongPoint,
    "neighbour": NeighbourPoint,
    "merged": Merged,
    "hole": Hole,
    "scale": Scale,
    "lying_score": LyingScore,
    "miss": Miss,
}
"""By kind."""


def _on_grid(value: float) -> float:
    return min(max(round(value / GRID) * GRID, GRID), 1.0 - GRID)
