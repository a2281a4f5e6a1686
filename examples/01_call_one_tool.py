"""Call one tool: look at the table, find an object by name, outline it.

A tool is called by name with JSON arguments, as a model calls it. What it returns is a `ToolResult`; images and
arrays stay in the `Session` under a number (`image_index`) or a name (`$segmentation_mask`).

    python examples/01_call_one_tool.py

You will see:

    Captured 640x480 image...
    baseball at (0.7..., 0.5...)
    mask of ... pixels, shape (480, 640)
    OBJECT_NOT_FOUND: ...unicorn...
"""

from toolhand.sim import Station, generate_scene
from toolhand.tool_nodes.toolbox.toolbox import Session

station = Station(generate_scene(seed=3))  # a simulated table, camera and arm; no GPU, no OpenGL
session = Session()  # what one conversation collects

looked = station.toolbox.call("robot.capture_image", {}, session)
print(looked.result.text)

station.toolbox.call("roborefer.detect_one", {"obj_name": "baseball", "image_index": looked.image_index}, session)
x, y = session.variables["baseball_detection"]  # normalized: (0, 0) is the top left, (1, 1) the bottom right
print(f"baseball at ({x}, {y})")

station.toolbox.call("sam2.segment_from_point", {"x": x, "y": y, "image_index": 0}, session)
mask = session.variables["segmentation_mask"]  # bool (H, W)
print(f"mask of {mask.sum()} pixels, shape {mask.shape}")

# A wrong call is no exception: the code says which stage failed, the sentence what to do.
missing = station.toolbox.call("roborefer.detect_one", {"obj_name": "unicorn", "image_index": 0}, session)
error = missing.result.error
assert error is not None
print(f"{error.code}: {error}")
