"""Your own backend: what stands behind a port. Here a pointer that finds an object by the colour that its words name.

A tool asks a port, never a model: a class with the methods of `Pointer` can point for `roborefer.*` and `vlm.*`, in
process and over ROS. Under a name, `--pointer colour` chooses it; an installed package offers it in its pyproject.toml:

    [project.entry-points."toolhand.pointer"]
    colour = "my_package.colour:ColourPointer"

    python examples/04_your_own_backend.py

You will see:

    Detected 1 instance(s) of 'red': [(0.3..., 0.3...)] (backend: colour)
    OBJECT_NOT_FOUND: Nothing here is magenta. ...
"""

import numpy as np
from PIL import ImageColor

from toolhand.sim.scene.generator import generate_scene
from toolhand.sim.station import Station
from toolhand.tool_nodes.ports import Answer
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.toolbox.toolbox import Session, Toolbox
from toolhand.tool_nodes.tools.spacetools.pointing import RoboReferTools
from toolhand.tool_nodes.tools.spacetools.robot import CameraTools


class ColourPointer:
    """Points at the middle of what has a named colour. It needs the pixels alone: no depth, no calibration."""

    backend = "colour"

    def point(self, image: SessionImage, text: str) -> Answer[list[tuple[float, float]]]:
        """See ports.Pointer: normalized (x, y), best first. Raises ToolError OBJECT_NOT_FOUND."""
        try:
            wanted = np.array(ImageColor.getrgb(text), float)
        except ValueError:
            raise ToolError(ErrorCode.OBJECT_NOT_FOUND, f"{text[:60]!r} is no colour.", "Name one, e.g. red.") from None
        # Shade changes how bright a colour is, not its direction.
        rgb = image.rgb.astype(float)
        cosine = rgb @ wanted / (np.linalg.norm(rgb, axis=-1) * np.linalg.norm(wanted) + 1e-9)
        rows, columns = np.nonzero((cosine > 0.97) & (rgb.max(axis=-1) > 60))
        if len(rows) < 50:
            raise ToolError(ErrorCode.OBJECT_NOT_FOUND, f"Nothing here is {text}.", "Name another colour.")
        width, height = image.size
        middle = float(np.median(columns)) / width, float(np.median(rows)) / height
        return Answer([middle], self.backend)


if __name__ == "__main__":
    station = Station(generate_scene(seed=3))
    toolbox = Toolbox([CameraTools(station.camera), RoboReferTools(ColourPointer())])  # the same tools, another pointer
    session = Session()
    toolbox.call("robot.capture_image", {}, session)
    for colour in ("red", "magenta"):
        result = toolbox.call("roborefer.detect_one", {"obj_name": colour, "image_index": 0}, session).result
        print(result.text if result.error is None else f"{result.error.code}: {result.error}")
