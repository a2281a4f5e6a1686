"""The perception ports of what can only look at whole camera frames with depth.

Such a backend is asked about the whole frame, and the answer is cut to what the image shows, in the image's pixels:
a crop of an object alone has no table in it that the object could stand out of. What is drawn over a camera image is
not seen by it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from toolhand.tool_nodes.perception.certainty import Candidate
from toolhand.tool_nodes.perception.instances import Instance
from toolhand.tool_nodes.perception.prompts import ALL_PROMPTS, best_in_box, signed
from toolhand.tool_nodes.perception.surface import SOLID_M, find_surface
from toolhand.tool_nodes.perception.word_pointer import names_table
from toolhand.tool_nodes.ports import Answer
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.types import (
    BoxPrompt,
    Detection,
    Everything,
    Frame,
    PointPrompt,
    Prompt,
    Segmentation,
    TextPrompt,
)

_SHOWN_SHARE = 0.4
"""Share of an object that must be inside a crop for the crop to show it [-]."""

Points = Sequence[tuple[float, float]]
"""Normalized (x, y)."""


class FramePerception(ABC):
    """Pointer, Detector, Segmenter and DepthEstimator; an image without a camera frame is IMAGE_UNUSABLE to each.

    A subclass sees objects in whole camera frames, as `toolhand.tool_nodes.perception.pixels.PixelPerception` does.

    Attributes:
        backend: name, e.g. "pixels".
        reads_truth: True if it needs what the simulator stores with a frame, which no real camera has.
        sees_photographs: False, since a photograph has no frame.
    """

    backend: str
    takes = ALL_PROMPTS
    reads_truth = False
    sees_photographs = False

    @abstractmethod
    def points(self, frame: Frame, text: str) -> list[tuple[float, float]]:
        """Normalized points of the frame on every match, best first. Raises ToolError OBJECT_NOT_FOUND."""

    @abstractmethod
    def candidates(self, frame: Frame, text: str) -> list[Candidate]:
        """`points` with their certainty, then what is not likely meant but may be; nothing for a place."""

    @abstractmethod
    def masks_at(self, frame: Frame, points: Points) -> list[Segmentation]:
        """Masks of the object under the points, best first. Raises ToolError EMPTY_MASK where there is none."""

    @abstractmethod
    def masks(self, frame: Frame) -> list[Segmentation]:
        """Masks of all objects, best first."""

    def halves_at(self, frame: Frame, points: Points) -> Points:
        """A point of the frame on each of two objects, where what is under the points may as well be both as one.

        Empty where that is clear, as with several points: they say what belongs together.
        """
        return ()

    @abstractmethod
    def depth(self, frame: Frame) -> tuple[NDArray[np.float32], float]:
        """Depth (H, W) [m], NaN where unknown, and the focal length [px]."""

    def point(self, image: SessionImage, text: str) -> Answer[list[tuple[float, float]]]:
        """See ports.Pointer."""
        with signed(self.backend):
            frame = image.require_frame("a backend that points at things in any picture (--pointer NAME)")
            found = image.from_frame(self.points(frame, text))
            points = [(float(x), float(y)) for x, y in found if 0.0 <= x <= 1.0 and 0.0 <= y <= 1.0]
            if not points:
                raise ToolError(
                    ErrorCode.OBJECT_NOT_FOUND,
                    f"{text[:60]!r} is not in the part of the camera picture that this image shows.",
                    "Look at the whole picture.",
                )
            return Answer(points, self.backend)

    def detect(self, image: SessionImage, text: str) -> Answer[list[Detection]]:
        """See ports.Detector: what is pointed at is outlined, and the outline is framed."""
        with signed(self.backend):
            named = self._named(image, text)
            found = [Instance.of_mask(cut.mask, certainty, text).detection for cut, certainty in named]
            return Answer(found, self.backend)

    def segment(self, image: SessionImage, prompt: Prompt) -> Answer[list[Segmentation]]:
        """See ports.Segmenter."""
        with signed(self.backend):
            return Answer(self._segment(image, prompt), self.backend)

    def estimate(self, image: SessionImage) -> Answer[tuple[NDArray[np.float32], float]]:
        """See ports.DepthEstimator."""
        with signed(self.backend):
            frame = image.require_frame("a backend that estimates depth from one picture (--depth NAME)")
            depth, focal = self.depth(frame)
            return Answer((np.ascontiguousarray(image.cut(depth)), focal * image.scale[0]), self.backend)

    def _segment(self, image: SessionImage, prompt: Prompt) -> list[Segmentation]:
        match prompt:
            case PointPrompt(points):
                return self._at(image, points)
            case BoxPrompt(box):
                return [best_in_box(self._everything(image), box)]
            case TextPrompt(text):
                return [Segmentation(cut.mask, cut.score * sure) for cut, sure in self._named(image, text)]
            case Everything():
                return self._everything(image)

    def _at(self, image: SessionImage, points: Points) -> list[Segmentation]:
        frame = image.require_frame()
        prompts = [(float(x), float(y)) for x, y in image.to_frame(points)]
        halves = self.halves_at(frame, prompts)
        if halves:
            first, second = (f"({x:.3f}, {y:.3f})" for x, y in image.from_frame(halves))
            raise ToolError(
                ErrorCode.AMBIGUOUS,
                f"What is there may be one thing, or two that touch: one about {first}, the other about {second}.",
                "Give several points: all on the one that is meant, or some on both if they are one thing.",
            )
        found = [_cut(segmentation, image) for segmentation in self.masks_at(frame, prompts)]
        found = [segmentation for segmentation in found if segmentation.mask.any()]
        if not found:
            where = ", ".join(f"({x:.3f}, {y:.3f})" for x, y in points)
            raise ToolError(ErrorCode.EMPTY_MASK, f"There is no object at {where}.", "Point at an object first.")
        return found

    def _named(self, image: SessionImage, text: str) -> list[tuple[Segmentation, float]]:
        """What may be meant as the image shows it, and the probability that it is."""
        frame = image.require_frame()
        table = names_table(text)
        try:
            found = _distinct(self._outlined(frame, self.candidates(frame, text)))
        except ToolError:
            if not table:
                raise
            found = []  # a table without free space is one too
        if table and not found:
            return [(_table(image, frame, self.masks(frame)), 1.0)]
        if not found:
            raise ToolError(ErrorCode.OBJECT_NOT_FOUND, f"{text[:60]!r} is a place, or nothing that has an outline.")
        shown = [(cut, sure) for segmentation, sure in found for cut in _shown(image, [segmentation])]
        if not shown:
            raise ToolError(ErrorCode.OBJECT_NOT_FOUND, f"This part of the picture does not show {text[:60]!r}.")
        return shown

    def _outlined(self, frame: Frame, candidates: Sequence[Candidate]) -> Iterator[tuple[Segmentation, float]]:
        """The object under each point that has one."""
        for candidate in candidates:
            try:
                yield self.masks_at(frame, [candidate.point])[0], candidate.certainty
            except ToolError as error:
                if error.code is not ErrorCode.EMPTY_MASK:
                    raise

    def _everything(self, image: SessionImage) -> list[Segmentation]:
        return _shown(image, self.masks(image.require_frame()))


def _table(image: SessionImage, frame: Frame, objects: Sequence[Segmentation]) -> Segmentation:
    """What the image shows of the bare table; the score is the share of it that is as even as a table is."""
    surface = find_surface(frame)
    bare = surface.inside & ~np.any([np.zeros_like(surface.inside), *(item.mask for item in objects)], axis=0)
    with np.errstate(invalid="ignore"):
        away = np.abs(np.where(bare, surface.height, np.nan))
        mask = np.ascontiguousarray(image.cut(away < SOLID_M))
        even = np.ascontiguousarray(image.cut(away < SOLID_M / 2))
    if not mask.any():
        raise ToolError(ErrorCode.OBJECT_NOT_FOUND, "This part of the picture does not show the table.")
    return Segmentation(mask, float(np.count_nonzero(even) / np.count_nonzero(mask)))


def _cut(segmentation: Segmentation, image: SessionImage) -> Segmentation:
    """A mask of the frame as a mask of the image."""
    return replace(segmentation, mask=np.ascontiguousarray(image.cut(segmentation.mask)))


def _shown(image: SessionImage, found: Sequence[Segmentation]) -> list[Segmentation]:
    """The masks of the frame that the image shows enough of, cut to it."""
    shown = []
    across, down = image.scale
    for segmentation in found:
        cut = _cut(segmentation, image)
        whole = across * down * np.count_nonzero(segmentation.mask)
        if np.count_nonzero(cut.mask) >= _SHOWN_SHARE * whole and cut.mask.any():
            shown.append(cut)
    return shown


def _distinct(found: Iterable[tuple[Segmentation, float]]) -> list[tuple[Segmentation, float]]:
    """Without the masks that came before: two points may lie on one object."""
    kept: list[tuple[Segmentation, float]] = []
    for segmentation, sure in found:
        if not any(np.array_equal(segmentation.mask, other.mask) for other, _ in kept):
            kept.append((segmentation, sure))
    return kept
