"""`toolhand view`: the clouds of a recorded run, as files, as images, or in a window."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import tyro
from PIL import Image

from toolhand.agent_node.console.terminal import AsJson, emit, say
from toolhand.agent_node.runs.mcap import RUN_FILE
from toolhand.agent_node.runs.mcap.frames import BASE_FRAME, recorded_frames
from toolhand.tool_nodes.clouds.files import ColouredCloud, write_cloud
from toolhand.tool_nodes.clouds.image import draw_cloud
from toolhand.tool_nodes.geometry import backproject, transform
from toolhand.tool_nodes.results import invalid
from toolhand.tool_nodes.types import Frame

MOST = 200
"""Most images of a run that become clouds [images]: 1 GB of files."""

SIZE = 640, 480
"""Width and height of one view [px]."""

SIDEWAYS_M = 0.35
"""How far the first view's eye stands beside the camera, in shares of its distance [-]: enough to see depth."""


def view(
    run: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")],
    camera: Literal["scene", "wrist"] = "scene",
    out: Path | None = None,
    base_frame: str = BASE_FRAME,
    window: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False,
    as_json: AsJson = False,
) -> int:
    """Write the clouds of a run that was recorded with --record-depth as PLY files, and an image of each.

    Args:
        run: Folder of the run, its run.mcap, or an MCAP file of a camera's topics.
        camera: Which camera's images.
        out: Folder for the files; `clouds` beside the recording where it is not given.
        base_frame: Frame of the robot's base in the transforms; clouds are in it.
        window: Show the clouds in Open3D's window as well (extra open3d), one after the other.
    """
    recording = run / RUN_FILE if run.is_dir() else run
    if not recording.is_file():
        raise invalid(f"There is no recording {recording}.", "`toolhand runs` lists the runs.")
    if window:
        from toolhand.tool_nodes.drivers import open3d

        open3d.library()  # said before anything is written
    folder = out or recording.parent / "clouds"
    files = []
    for number, frame in enumerate(recorded_frames(recording, camera, base_frame, say)):
        if number == MOST:
            raise invalid(f"{recording} has more than {MOST} pictures with depth; those after {MOST} are left out.")
        cloud, name = cloud_of(frame), f"{camera}_{number:03d}"
        write_cloud(folder / f"{name}.ply", cloud.points, cloud.colours)
        Image.fromarray(image_of(cloud, frame)).save(folder / f"{name}.png")
        files.append({"ply": str(folder / f"{name}.ply"), "png": str(folder / f"{name}.png"), "stamp": frame.stamp})
        say(f"  {name}: {len(cloud.points)} points")
        if window:
            open3d.show([cloud], name)
    if as_json:
        emit({"folder": str(folder), "clouds": files})
    else:
        print(f"{folder}: {len(files)} clouds, a .ply and a .png each")
    return 0


def cloud_of(frame: Frame) -> ColouredCloud:
    """The points of an image in the base frame [m], with its colours. Raises ToolError INVALID_ARGUMENT where none."""
    points = np.asarray(transform(frame.T_base_camera, backproject(frame.depth, frame.K)), float)
    known = np.isfinite(points).all(axis=1)
    if not known.any():
        raise invalid("A picture of the run has no depth at all.")
    return ColouredCloud(points[known], frame.rgb.reshape(-1, 3)[known])


def image_of(cloud: ColouredCloud, frame: Frame) -> np.ndarray:
    """Two views of a cloud beside each other: from beside the camera that took it, and from above."""
    assert cloud.colours is not None
    middle, eye = np.median(cloud.points, axis=0), frame.T_base_camera[:3, 3]
    away = float(np.linalg.norm(eye - middle))
    beside = eye + SIDEWAYS_M * away * frame.T_base_camera[:3, 0]
    views = (beside, middle + np.array([0.0, 0.0, away]))
    return np.hstack([draw_cloud(cloud.points, cloud.colours, at, middle, SIZE) for at in views])
