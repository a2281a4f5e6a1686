"""Modules that nodes import from rclpy.impl."""
