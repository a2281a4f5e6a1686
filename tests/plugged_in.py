"""A package of somebody else's in a folder: a segmenter that looks at nothing but the pixels that it is shown."""

from __future__ import annotations

from pathlib import Path

MODULE = '''
"""Outlines what has the colour under a point."""

import numpy as np

from tool_nodes.ports import Answer
from tool_nodes.types import PointPrompt, Segmentation


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
'''


def install(folder: Path) -> Path:
    """What pip leaves in a folder of sys.path after installing such a package."""
    (folder / "one_colour.py").write_text(MODULE, encoding="utf-8")
    info = folder / "one_colour-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: one-colour\nVersion: 1.2\n", encoding="utf-8")
    (info / "INSTALLER").write_text("pip\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(
        "[toolhand.segmenter]\none_colour = one_colour:OfOneColour\nneedy = one_colour:Absent [gpu]\n", encoding="utf-8"
    )
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: one-colour\nVersion: 1.2\nProvides-Extra: gpu\n"
        'Requires-Dist: no-such-package-for-sure; extra == "gpu"\n',
        encoding="utf-8",
    )
    return folder
