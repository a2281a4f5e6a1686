"""`toolhand ros`: the ros2 command line of rclpy_zenoh, under Toolhand's name."""

from __future__ import annotations

from rclpy_zenoh.cli import main as ros2


def main(argv: list[str]) -> int:
    """Look into a ROS 2 graph, call and command it: the ros2 command without ROS 2.

    Takes words such as ["topic", "list"] and returns the exit status, see `rclpy_zenoh.cli.main`.
    """
    return ros2(argv, prog="toolhand ros")
