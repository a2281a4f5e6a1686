"""Pick an object up by calling the tools yourself, as a program: look, point, outline, grasp.

The gripper says what it holds; whether the object really left the table only the simulator knows.

    python examples/02_a_pick_in_python.py

You will see:

    red box outlined: ... pixels
    Generated collision-free grasp with confidence 0...
    Grasp executed successfully in ... s. The gripper holds an object 0.0... m wide...
    truth: the red box touches gripper
"""

from toolhand.sim import Station, StationConfig, generate_scene

station = Station(generate_scene(seed=3), StationConfig(perception="pixels", seed=0))  # RGB-D only, no simulator truth
variables = station.session.variables

station.call("robot.capture_image")  # image 0
station.call("robot.get_depth_with_pointcloud")  # $point_cloud, $focal_length_px
station.call("roborefer.detect_one", obj_name="red box", image_index=0)
x, y = variables["red_box_detection"]
station.call("sam2.segment_from_point", x=x, y=y, image_index=0)  # $segmentation_mask
print("red box outlined:", variables["segmentation_mask"].sum(), "pixels")

# An array travels by its name, never through the model's text.
grasp = station.call(
    "grasp_generator.compute_grasp",
    point_cloud="$point_cloud",
    mask="$segmentation_mask",
    focal_length_px="$focal_length_px",
    image_index=0,
)
print(grasp.text)
# Planned, checked, run; then the object is carried to the park pose.
print(station.call("robot.execute_grasp", grasp_pose="$grasp_pose").text)

touching = station.world.snapshot().objects["red_box_1"].touching  # no tool reads this
print("truth: the red box touches", *touching)
