"""A package of somebody else's in a folder: backends that look at nothing but the pixels that they are shown."""

from pathlib import Path

from tests.extensions import package

MODULE = '''
"""Outlines what has the colour under a point, points at what is red, and takes what is dark to be near."""

import numpy as np

from toolhand.tool_nodes.ports import Answer
from toolhand.tool_nodes.types import PointPrompt, Segmentation


class OfOneColour:
    backend = "one_colour"
    takes = frozenset({PointPrompt})

    def __init__(self, model=""):
        self.reach = float(model or 60)
        self.shown = []

    def segment(self, image, prompt):
        self.shown.append(image.rgb)
        height, width = image.rgb.shape[:2]
        x, y = prompt.points[0]
        wanted = image.rgb[min(int(y * height), height - 1), min(int(x * width), width - 1)].astype(float)
        near = np.linalg.norm(image.rgb - wanted, axis=2) < self.reach
        return Answer([Segmentation(near, 0.5)], self.backend)


class DarkIsNear:
    backend = "dark_is_near"

    def estimate(self, image):
        depth = 1.0 + image.rgb.mean(axis=2, dtype=np.float32) / np.float32(255)
        return Answer((depth, 2.0 * image.rgb.shape[1]), self.backend)


class Reddest:
    backend = "reddest"

    def point(self, image, text):
        red = image.rgb[..., 0].astype(int) - image.rgb[..., 1]
        v, u = np.unravel_index(red.argmax(), red.shape)
        height, width = red.shape
        return Answer([((u + 0.5) / width, (v + 0.5) / height)], self.backend)
'''


def install(folder: Path) -> Path:
    """What pip leaves in a folder of sys.path after installing such a package."""
    entry_points = {
        "toolhand.segmenter": {"one_colour": "one_colour:OfOneColour", "needy": "one_colour:Absent [gpu]"},
        "toolhand.depth": {"dark_is_near": "one_colour:DarkIsNear"},
        "toolhand.pointer": {"reddest": "one_colour:Reddest"},
    }
    return package.install(folder, "one_colour", MODULE, entry_points, {"gpu": ["no-such-package-for-sure"]}).folder
