"""Your own tool: a typed method with a docstring is its own JSON schema, its checks and its help for the model.

    python examples/03_your_own_tool.py

You will see:

    measure.distance: Measure the distance between two points of an image.
    required: ['image_index', 'start', 'end']
    The points are 0.3... m apart.
    INVALID_ARGUMENT: measure.distance: argument 'end' must hold numbers between 0 and 1, got 7: divide ...
"""

import numpy as np

from toolhand.sim.scene.generator import generate_scene
from toolhand.sim.station import Station
from toolhand.tool_nodes.geometry import backproject, pixel
from toolhand.tool_nodes.results import ErrorCode, ToolError, ToolResult
from toolhand.tool_nodes.toolbox.arguments import ImageIndex, Point2D
from toolhand.tool_nodes.toolbox.example import Example
from toolhand.tool_nodes.toolbox.toolbox import Session, Toolbox, tool
from toolhand.tool_nodes.tools.spacetools.robot import CameraTools


class MeasuringTools:
    """Lengths in a camera image."""

    suite = "measuring"

    @tool("measure.distance", example=Example({"image_index": 0, "start": [0.35, 0.55], "end": [0.6, 0.55]}))
    def distance(self, image_index: ImageIndex, start: Point2D, end: Point2D) -> ToolResult:
        """Measure the distance between two points of an image.

        Args:
            image_index: Index of a camera image.
            start: Normalized [x, y] of the first point.
            end: Normalized [x, y] of the second point.
        """
        frame = image_index.require_frame()  # IMAGE_UNUSABLE for an image that no camera took
        cloud = backproject(frame.depth, frame.K).reshape(*frame.depth.shape, 3)  # (H, W, 3) [m], camera frame
        (u0, v0), (u1, v1) = pixel(start, frame.size), pixel(end, frame.size)
        metres = float(np.linalg.norm(cloud[v0, u0] - cloud[v1, u1]))
        if not np.isfinite(metres):
            raise ToolError(ErrorCode.NO_DEPTH, "The camera sees no depth at one of the points.", "Take one beside it.")
        return ToolResult(value=metres, text=f"The points are {metres:.3f} m apart.")


if __name__ == "__main__":
    station = Station(generate_scene(seed=3))
    toolbox = Toolbox([CameraTools(station.camera), MeasuringTools()])  # any objects with @tool methods

    schema = toolbox.find("measure.distance").schema()["function"]
    print(f"{schema['name']}: {schema['description']}")
    print("required:", schema["parameters"]["required"])

    session = Session()
    toolbox.call("robot.capture_image", {}, session)
    arguments = {"image_index": 0, "start": [0.72, 0.57], "end": [0.40, 0.50]}
    print(toolbox.call("measure.distance", arguments, session).result.text)

    refused = toolbox.call(
        "measure.distance", {**arguments, "end": [7, 0]}, session
    ).result.error  # the method never ran
    assert refused is not None
    print(f"{refused.code}: {refused}")
