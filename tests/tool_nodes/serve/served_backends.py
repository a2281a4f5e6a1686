"""Backends of somebody else's package that do on request what goes wrong in real ones."""

from pathlib import Path

MODULE = '''
import os
import time

import numpy as np

from toolhand.tool_nodes.ports import Answer
from toolhand.tool_nodes.results import ErrorCode, ToolError


class Obedient:
    """Does what its words say. The answer is a list of two numbers."""

    backend = "obedient"

    def __init__(self, model=""):
        self.begun = time.monotonic()
        if model == "absent":
            raise ToolError(ErrorCode.UNAVAILABLE, "There are no weights.")
        time.sleep(float(model or 0))

    def point(self, image, text):
        word, _, rest = text.partition(" ")
        match word:
            case "process":
                return Answer([(os.getpid(), 0.0)], self.backend)
            case "sum":
                return Answer([(float(image.rgb.sum()), float(image.rgb.flags.writeable))], self.backend)
            case "pillow":
                import PIL

                return Answer([tuple(float(part) for part in PIL.__version__.split(".")[:2])], self.backend)
            case "gpu":
                return Answer([(float(os.environ.get("CUDA_VISIBLE_DEVICES") or -1), 0.0)], self.backend)
            case "sleep":
                time.sleep(float(rest))
            case "echo":
                time.sleep(0.01)
                return Answer([(float(rest), float(os.getpid()))], self.backend)
            case "die":
                os.kill(os.getpid(), 9)
            case "hang":
                sum(range(10**12))
            case "memory":
                np.ones((1000, 1000, 1000, 1000))
            case "absent":
                raise ToolError(ErrorCode.OBJECT_NOT_FOUND, "It is not there.", "Look.")
            case "broken":
                raise ZeroDivisionError("no")
            case "exit":
                raise SystemExit(3)
            case "interrupt":
                raise KeyboardInterrupt
            case "unsendable":
                return Answer([(0.0, (lambda: (yield))())], self.backend)
        return Answer([(1.0, 1.0)], self.backend)

    def segment(self, image, prompt):
        raise ToolError(ErrorCode.EMPTY_MASK, "Nothing.")


class Batched(Obedient):
    """20 ms for as many as there are."""

    backend = "batched"

    def batch(self, requests):
        time.sleep(0.02)
        return [Answer([(float(len(requests)), float(os.getpid()))], self.backend) for _ in requests]

    def point(self, image, text):
        return self.batch([(image, text)])[0]
'''


def install(folder: Path) -> Path:
    """What pip leaves in a folder of sys.path."""
    info = folder / "served_backends-1.0.dist-info"
    info.mkdir(parents=True)
    (folder / "served_backends.py").write_text(MODULE, encoding="utf-8")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: served-backends\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(
        "[toolhand.pointer]\nobedient = served_backends:Obedient\nbatched = served_backends:Batched\n", encoding="utf-8"
    )
    return folder
