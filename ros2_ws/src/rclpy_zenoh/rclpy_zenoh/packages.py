"""Where ROS packages lie: beside this distribution, in a colcon workspace or in site-packages, and in folders that the
environment names.

A package is a folder with a `package.xml`; its interfaces, launch files and executables are found without a build.
"""

from __future__ import annotations

import os
from pathlib import Path

PACKAGE_PATH = "RCLPY_ZENOH_PACKAGE_PATH"
"""Environment variable: more folders of packages, separated as in PATH; the first counts most."""

WORKSPACE, INSTALLED = Path(__file__).parents[2], Path(__file__).parents[1]
"""The `src` folder of the workspace that holds this distribution's source, where it is used from there; and the folder
that holds this package, where other distributions install theirs."""


def package_folders() -> dict[str, Path]:
    """Packages by name, sorted by where they are found: what counts most comes last."""
    more = [Path(folder) for folder in os.environ.get(PACKAGE_PATH, "").split(os.pathsep) if folder]
    manifests = [
        file for folder in reversed([*more, WORKSPACE, INSTALLED]) for file in sorted(folder.glob("*/package.xml"))
    ]
    return {file.parent.name: file.parent for file in manifests}
