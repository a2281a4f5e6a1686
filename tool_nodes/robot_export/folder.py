"""Everything that other planners need of a robot, as one folder that appears whole or not at all."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from toolhand.tool_nodes.files import write_folder
from toolhand.tool_nodes.motion.robot_model import RobotModel
from toolhand.tool_nodes.results import invalid, unavailable
from toolhand.tool_nodes.robot_export import curobo_files, moveit_files
from toolhand.tool_nodes.robot_export.description import describe, exported_urdf
from toolhand.tool_nodes.robot_export.shapes import link_shapes
from toolhand.tool_nodes.robot_export.spheres import EXCESS, Ball, cover_links
from toolhand.tool_nodes.robot_export.touching import NEVER_WITHIN, SAMPLES, IgnoredPair, ignored_pairs, touching_balls


@dataclass(frozen=True, eq=False)
class CollisionModel:
    """What planners are told about collisions of a robot with itself and others; not to be changed.

    Attributes:
        balls: Spheres by links, in their frames.
        pairs: Pairs of links that are not checked, and why.
        ignored: The same and the pairs whose spheres touch where the robot is known to be free, as cuRobo writes them.
    """

    balls: dict[str, list[Ball]]
    pairs: list[IgnoredPair]
    ignored: curobo_files.Ignored


@cache
def collision_model(robot: RobotModel, seed: int = 0) -> CollisionModel:
    """The collision model of a robot.

    Args:
        robot: The robot.
        seed: Seed of the configurations in which pairs of links are tried, 0 or more.
    """
    balls = cover_links(link_shapes(robot))
    pairs = ignored_pairs(robot, seed)
    ignored = {(pair.first, pair.second) for pair in pairs} | touching_balls(robot, balls)
    return CollisionModel(balls, pairs, curobo_files.ignored_map(list(ignored)))


@dataclass(frozen=True)
class Exported:
    """What was written.

    Attributes:
        folder: The folder.
        files: Paths in it, in alphabetical order.
        spheres: Number of collision spheres.
        pairs: Number of pairs of links that are not checked.
        checked: Number of pairs that are.
    """

    folder: Path
    files: tuple[str, ...]
    spheres: int
    pairs: int
    checked: int


def export_robot(robot: RobotModel, folder: Path, seed: int = 0) -> Exported:
    """Write what MoveIt, cuRobo and cuMotion need of a robot.

    Args:
        robot: The robot.
        folder: A folder that does not exist yet, or is empty.
        seed: Seed of the configurations in which pairs of links are tried, 0 or more.

    Raises:
        ToolError: INVALID_ARGUMENT for a folder that holds something, or a robot that the files cannot say;
            UNAVAILABLE where it cannot be written.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise invalid(f"{folder} exists and is not an empty folder; an export never replaces anything.")
    names, model = describe(robot), collision_model(robot, seed)
    urdf, meshes = exported_urdf(robot)
    path, assets = f"config/{names.name}.urdf", "."
    texts = {
        path: urdf,
        f"config/{names.name}.srdf": moveit_files.srdf(robot, model.pairs),
        "curobo/v0.7.yml": _yaml(curobo_files.curobo_v1(robot, model.balls, model.ignored, path, assets)),
        "curobo/v0.8.yml": _yaml(curobo_files.curobo_v2(robot, model.balls, model.ignored, path, assets)),
        f"curobo/{names.name}.xrdf": _yaml(curobo_files.xrdf(robot, model.balls, model.ignored)),
        **{f"config/{name}": _yaml(document) for name, document in moveit_files.parameters(robot).items()},
        **moveit_files.package_files(robot),
        "README.md": _readme(robot, model, seed),
    }
    files = {name: text.encode() for name, text in texts.items()}
    files |= {f"meshes/{name}": content for name, content in meshes.items()}
    try:
        write_folder(folder, files)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise unavailable(f"Cannot write {folder}: {reason}.", "Check the folder and its free space.") from error
    links = len(model.balls)
    return Exported(
        folder=folder,
        files=tuple(sorted(files)),
        spheres=sum(map(len, model.balls.values())),
        pairs=len(model.pairs),
        checked=links * (links - 1) // 2 - len(model.pairs),
    )


def _yaml(document: dict[str, Any]) -> str:
    return yaml.dump(document, Dumper=_Plain, sort_keys=False, default_flow_style=None, width=120)


class _Plain(yaml.SafeDumper):
    """Without anchors: the readers of these files know none."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _readme(robot: RobotModel, model: CollisionModel, seed: int) -> str:
    names = describe(robot)
    return _README.format(
        robot=names.name,
        package=names.package,
        links=len(model.balls),
        spheres=sum(map(len, model.balls.values())),
        excess=1000 * EXCESS,
        near=1000 * NEVER_WITHIN,
        samples=SAMPLES,
        seed=seed,
    )


_README = """# {robot} for MoveIt, cuRobo and cuMotion

Written by `toolhand robot export` from one model: the URDF, the spheres and the limits are the same in every file.

- **MoveIt 2** (Jazzy and later): this folder is the package `{package}`. Put it into a workspace's `src`, build it, and
  `ros2 launch {package} move_group.launch.py`. Groups: manipulator, gripper.
- **cuRobo**: `curobo/v0.7.yml` and `curobo/v0.8.yml`. Their paths are relative to this folder: give it to
  `ContentPath` as the root of assets, or replace both paths by absolute ones.
- **cuMotion**: `curobo/{robot}.xrdf` together with `config/{robot}.urdf`.
- **ros2_control**: `config/ros2_controllers.yaml`, for a simulator that hosts a controller manager. The driver of a
  real arm brings its own.

{spheres} spheres cover {links} links and stick out by {excess:g} mm at most. Those of the base reach into the table
that it stands on: leave the table out beneath the base, or every plan starts in collision.
Pairs of links that came within {near:g} mm in none of {samples} configurations (seed {seed}) are not checked.
"""
