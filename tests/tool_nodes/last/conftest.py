"""An image whose objects are known exactly, and a finder that sees just these."""

import numpy as np
import pytest
from numpy.typing import NDArray

from toolhand.tool_nodes.perception.instances import Instance
from toolhand.tool_nodes.ports import Answer
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.types import Detection, Frame

WIDTH, HEIGHT, FOCAL = 200, 100, 100.0
OBJECTS = {
    "cup": [((20, 10, 40, 50), 0.9, 1.0), ((120, 20, 160, 60), 0.4, 2.0)],
    "plate": [((60, 60, 100, 90), 0.7, 1.5)],
    "shadow": [((170, 70, 190, 95), 0.8, np.nan)],
}
"""Name to (box [px], score, depth [m]) of each; everything else is 3 m away."""


class KnownObjects:
    """Answers like the object finder, from THINGS. Masks are the boxes without their lower right quarters."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def detect(self, image: SessionImage, text: str) -> Answer[list[Detection]]:
        self.calls.append(f"detect {text}")
        if text not in OBJECTS:
            raise ToolError(ErrorCode.OBJECT_NOT_FOUND, f"no {text!r} here; I see: {', '.join(OBJECTS)}")
        found = [Instance.of_mask(self._mask(box), score, text).detection for box, score, _ in OBJECTS[text]]
        return Answer(found, "known")

    def outline(self, image: SessionImage, one: Detection) -> Answer[Instance]:
        self.calls.append("outline")
        assert one.point is not None
        x, y = one.point
        for objects in OBJECTS.values():
            for box, score, _ in objects:
                if self._mask(box)[int(y * HEIGHT), int(x * WIDTH)]:
                    return Answer(Instance.of_mask(self._mask(box), score), "known")
        raise ToolError(ErrorCode.EMPTY_MASK, "There is no object there.")

    def depth_of(self, image: SessionImage) -> Answer[tuple[NDArray[np.float32], float]]:
        self.calls.append("depth_of")
        return Answer((np.ascontiguousarray(image.cut(image.require_frame().depth)), FOCAL), "known")

    def _mask(self, box: tuple[int, int, int, int]) -> NDArray[np.bool_]:
        left, top, right, bottom = box
        mask = np.zeros((HEIGHT, WIDTH), bool)
        mask[top:bottom, left:right] = True
        mask[(top + bottom) // 2 : bottom, (left + right) // 2 : right] = False
        return mask


@pytest.fixture
def finder() -> KnownObjects:
    return KnownObjects()


@pytest.fixture
def image() -> SessionImage:
    depth = np.full((HEIGHT, WIDTH), 3.0, np.float32)
    for objects in OBJECTS.values():
        for (left, top, right, bottom), _, metres in objects:
            depth[top:bottom, left:right] = metres
    rgb = np.random.default_rng(5).integers(80, 170, (HEIGHT, WIDTH, 3), dtype=np.uint8)
    K = np.array([[FOCAL, 0.0, 99.5], [0.0, FOCAL, 49.5], [0.0, 0.0, 1.0]])
    return SessionImage(rgb, Frame(rgb, depth, K, np.eye(4), 0.0))
