"""The numbered objects of an image, which later calls name by their numbers."""

from __future__ import annotations

from dataclasses import dataclass

from toolhand.tool_nodes.results import ErrorCode, ToolError, invalid
from toolhand.tool_nodes.types import Frame, GraspTarget


@dataclass(frozen=True, eq=False)
class Marks:
    """What an image has numbered.

    Attributes:
        frame: The image.
        objects: Mask (H, W) and one point of each object; the first has the number 1.
    """

    frame: Frame
    objects: tuple[GraspTarget, ...]

    def find(self, number: int, now: Frame) -> GraspTarget:
        """The object of a number, which still stands where it was numbered.

        Args:
            number: Number in the image, from 1.
            now: The newest image of the same camera.

        Raises:
            ToolError: INVALID_ARGUMENT for a number that was not given; SCENE_CHANGED where it has moved, or is hidden.
        """
        if not 1 <= number <= len(self.objects):
            known = f"1 to {len(self.objects)}" if self.objects else "none"
            raise invalid(f"There is no mark {number}; the marks of the newest robot.look are {known}.")
        found = self.objects[number - 1]
        from toolhand.tool_nodes.scene_change import what_became_of  # scipy: nobody else here needs it

        became = "" if now is self.frame else what_became_of(found.mask, self.frame, now)
        if became:
            raise ToolError(
                ErrorCode.SCENE_CHANGED,
                f"What has mark {number} {became} since it was numbered.",
                "Call robot.look for new marks.",
            )
        return found

    def at(self, column: int, row: int) -> int | None:
        """The number of the object at a pixel; None where there is none."""
        return next((n for n, each in enumerate(self.objects, 1) if each.mask[row, column]), None)
