"""Where nodes find the errors of rclpy's C extension."""

from rclpy import _rclpy_pybind11 as rclpy_implementation

__all__ = ["rclpy_implementation"]
