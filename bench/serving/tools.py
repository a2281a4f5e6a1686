"""The tools that are called: one that costs nothing, and one that works as a model on one GPU does."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from toolhand.tool_nodes.ports import Answer
from toolhand.tool_nodes.toolbox.images import SessionImage

BATCH_S = 0.02
"""What a batch of the busy tool takes, however large it is [s]: a small model on a GPU."""

QUICK, BUSY, PIXELS = "bench_quick", "bench_busy", "pixels"
"""Names of the pointers that are called; the third is the shipped one."""

PointsAnswer = Answer[list[tuple[float, float]]]

_device = threading.Lock()
"""Lets one batch at a time be computed."""


class QuickTool:
    """Looks at a few pixels; the Pointer port."""

    backend = QUICK

    def point(self, image: SessionImage, text: str) -> PointsAnswer:
        """See ports.Pointer."""
        seen = float(image.rgb[::32, ::32].mean()) / 255.0
        far = 0.0 if image.frame is None else float(image.frame.depth[::32, ::32].mean())
        return Answer([(seen, far)], self.backend)


class BusyTool:
    """Takes `BATCH_S` for as many requests as it is given at once; the Pointer port."""

    backend = BUSY

    def batch(self, requests: Sequence[tuple[SessionImage, str]]) -> list[PointsAnswer]:
        """The answers to a batch."""
        with _device:
            time.sleep(BATCH_S)
        return [Answer([(0.5, 0.5)], self.backend) for _ in requests]

    def point(self, image: SessionImage, text: str) -> PointsAnswer:
        """See ports.Pointer."""
        return self.batch([(image, text)])[0]


@contextmanager
def installed(folder: Path) -> Iterator[None]:
    """Within it, this process and those that it starts know the two tools as backends, as if pip had installed them."""
    info = folder / "toolhand_bench_tools-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: toolhand-bench-tools\nVersion: 1.0\n")
    entries = f"{QUICK} = {__name__}:QuickTool\n{BUSY} = {__name__}:BusyTool\n"
    (info / "entry_points.txt").write_text(f"[toolhand.pointer]\n{entries}")
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(folder), *([before] if before else [])])
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        os.environ.pop("PYTHONPATH") if before is None else os.environ.update(PYTHONPATH=before)
