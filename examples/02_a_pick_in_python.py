"""Pick a thing up by calling the tools yourself, as a program: look, point, outline, grasp.

The gripper says what it holds; whether the thing really left the table only the simulator knows.

    python examples/02_a_pick_in_python.py

You will see:

    red box outlined: ... pixels
    Generated collision-free grasp with confidence 0...
    Grasp executed successfully in ... s. The gripper holds an object 0.0... m wide...
    truth: the red box touches gripper
"""

from typing import Any

from sim.scene.generator import generate_scene
from sim.station import Station, StationConfig
from tool_nodes.results import ToolResult
from tool_nodes.toolbox.toolbox import Session

station = Station(generate_scene(seed=3), StationConfig(perception="pixels", seed=0))  # RGB-D only, no simulator truth
session = Session()


def use(tool: str, **arguments: Any) -> ToolResult:
    """Call a tool; raise its ToolError where it failed."""
    result = station.toolbox.call(tool, arguments, session).result
    if result.error is not None:
        raise result.error
    return result


use("robot.capture_image")  # image 0
use("robot.get_depth_with_pointcloud")  # $point_cloud, $focal_length_px
use("roborefer.detect_one", obj_name="red box", image_index=0)
x, y = session.variables["red_box_detection"]
use("sam2.segment_from_point", x=x, y=y, image_index=0)  # $segmentation_mask
print("red box outlined:", session.variables["segmentation_mask"].sum(), "pixels")

# An array travels by its name, never through the model's text.
grasp = use(
    "grasp_generator.compute_grasp",
    point_cloud="$point_cloud",
    mask="$segmentation_mask",
    focal_length_px="$focal_length_px",
    image_index=0,
)
print(grasp.text)
print(use("robot.execute_grasp", grasp_pose="$grasp_pose").text)  # planned, checked, run; then carried to the park pose

touching = station.world.snapshot().objects["red_box_1"].touching  # no tool reads this
print("truth: the red box touches", *touching)
