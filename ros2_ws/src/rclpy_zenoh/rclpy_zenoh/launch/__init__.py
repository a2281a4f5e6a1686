"""Runs launch files of ROS 2's YAML frontend on machines without ROS 2.

Offered are `arg`, `let`, `set_env`, `unset_env`, `group`, `include` (of YAML files), `push_ros_namespace`, `log`,
`node` and `executable`, with `if` and `unless` everywhere, and the substitutions of `substitutions.py`. Whatever else
ROS 2 knows is refused by name, so that a file never means something else here than there. What differs: `output: log`
keeps lines back and shows the last ones if the process fails; packages are those of the workspace, see `packages.py`.
"""

from rclpy_zenoh.launch.errors import LaunchError
from rclpy_zenoh.launch.graph import End, LaunchedGraph, launch, router_answers
from rclpy_zenoh.launch.plan import Argument, Plan, ProcessPlan, declared_arguments, read_plan
from rclpy_zenoh.launch.process import Usage

__all__ = [
    "Argument",
    "End",
    "LaunchError",
    "LaunchedGraph",
    "Plan",
    "ProcessPlan",
    "Usage",
    "declared_arguments",
    "launch",
    "read_plan",
    "router_answers",
]
