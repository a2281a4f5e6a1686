"""Installs launch files, parameters and the robot description; the nodes themselves come with `pip install -e .`.

`launch` and `urdf` here are links to the folders of the repository. setup.cfg holds the table of executables, which
the launcher of machines without ROS 2 reads too.
"""

import os
from glob import glob

from setuptools import setup

NAME = "toolhand_bringup"
SHARE = f"share/{NAME}"
ROBOTS = sorted(os.path.dirname(file) for file in glob("urdf/*/robot.yaml"))

setup(
    name=NAME,
    version="0.2.0",
    packages=[NAME],
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (SHARE, ["package.xml"]),
        (f"{SHARE}/launch", sorted(glob("launch/*.launch.yaml"))),
        (f"{SHARE}/launch/params", sorted(glob("launch/params/*.yaml"))),
        *((f"{SHARE}/{robot}", sorted(glob(f"{robot}/*.urdf") + glob(f"{robot}/*.yaml"))) for robot in ROBOTS),
    ],
    description="Launch files, parameters, robot description and executables of Toolhand's nodes.",
    license="Apache-2.0",
    zip_safe=True,
)
