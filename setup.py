"""What pyproject.toml cannot say: packages of several folders, and a description without links into the repository."""

from __future__ import annotations

import re
from pathlib import Path

from setuptools import find_namespace_packages, setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent
CLIENT, WORKSPACE = "ros2_ws/src/rclpy_zenoh", "ros2_ws/src"
FOLDERS = ("agent_node", "bench", "console", "sim", "tool_nodes", "training", "urdf")
"""Folders beside `toolhand/`; each is the package of that name in toolhand, e.g. `sim/` is `toolhand.sim`."""

ROS_PACKAGES = ["toolhand_bringup", "toolhand_interfaces"]
"""Their folders as they are: definitions, launch files, and the table of executables, which the launcher reads."""


class Build(build_py):
    """As usual, but for colcon's setup.py, which is no module of the package."""

    def find_package_modules(self, package: str, package_dir: str) -> list[tuple[str, str, str]]:
        """(package, module, file) of each."""
        return [] if package in ROS_PACKAGES else super().find_package_modules(package, package_dir)


def description() -> str:
    """README.md without images and without links to files, of which their words stay: a wheel has no such files."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    text = re.sub(r"^!\[[^]]*\]\([^)]*\)\n+", "", text, flags=re.MULTILINE)
    return re.sub(r"\[([^]]+)\]\((?!https?:)[^)]*\)", r"\1", text)


setup(
    cmdclass={"build_py": Build},
    packages=[
        *find_namespace_packages(".", include=["toolhand", "toolhand.*"]),
        *(
            f"toolhand.{name}"
            for name in find_namespace_packages(".", include=[*FOLDERS, *(f"{folder}.*" for folder in FOLDERS)])
        ),
        *find_namespace_packages(CLIENT, include=["rclpy_zenoh*"]),
        *ROS_PACKAGES,
    ],
    package_dir={"rclpy_zenoh": f"{CLIENT}/rclpy_zenoh"}
    | {f"toolhand.{folder}": folder for folder in FOLDERS}
    | {name: f"{WORKSPACE}/{name}" for name in ROS_PACKAGES},
    long_description=description(),
    long_description_content_type="text/markdown",
)
