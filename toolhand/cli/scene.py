"""`toolhand scene`: what stands on the table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from toolhand.agent_node.console.options import DEFAULT_ROBOT_OPTIONS, ObjectSets, RobotOptions, SensorName, Unprefixed
from toolhand.agent_node.console.terminal import AsJson, chosen_by_the_user, emit, save_png
from toolhand.cli import options
from toolhand.cli.options import PngFile, SceneName
from toolhand.tool_nodes.port_names import DEFAULT_SENSOR, PortNames
from toolhand.tool_nodes.results import invalid

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from toolhand.sim.scene.scenes import Scene


def scene(
    scene: Annotated[SceneName, tyro.conf.Positional] = "example",
    image: PngFile = None,
    view: Literal["scene", "wrist", "overview"] = "scene",
    sensor: SensorName = DEFAULT_SENSOR,
    objects: ObjectSets = "",
    save: Annotated[Path | None, tyro.conf.arg(metavar="YAML")] = None,
    usd: Annotated[Path | None, tyro.conf.arg(metavar="USDA")] = None,
    robot: Unprefixed[RobotOptions] = DEFAULT_ROBOT_OPTIONS,
    as_json: AsJson = False,
) -> int:
    """Show a scene: what stands on the table, where, and how large it is; --image writes an image of it.

    Args:
        view: Which image: of the scene camera, of the camera on the wrist, or a spectator's.
        save: Write the scene to this YAML file, which gives it back to the last bit.
        usd: Write scene and robot to this .usda file, for Isaac Sim and other simulators (extra usd).
    """
    from toolhand.sim.scene.files import scene_document, scene_yaml

    robot.require_known()
    if usd is not None and usd.suffix != ".usda":
        raise invalid(f"Cannot write {usd}: a USD file's name must end in .usda.")
    chosen = options.named_scene(scene, objects)
    if image is not None:
        save_png(image, _image(chosen, view, sensor, robot.robot))
    if save is not None:
        _save(save, scene_yaml(chosen), "YAML")
    if usd is not None:
        _save(usd, _exported(chosen, robot.robot), "USD")
    document = scene_document(chosen)
    if as_json:
        emit(document)
        return 0
    print(f"{'name':24}{'kind':10}{'colour':14}{'x':>7}{'y':>7}   size [m]")
    for entry in document["objects"]:
        x, y, _ = entry["position_m"]
        size = " x ".join(f"{s:.3f}" for s in entry["size_m"])
        print(f"{entry['name']:24}{entry['kind']:10}{entry['colour']:14}{x:7.3f}{y:7.3f}   {size}")
    return 0


def _exported(scene: Scene, robot: str) -> str:
    from toolhand.sim.usd.stage import usd_text
    from toolhand.tool_nodes.motion.robot_model import load_robot

    return usd_text(scene, load_robot(robot))


def _save(path: Path, text: str, kind: str) -> None:
    from toolhand.agent_node.runs.folder import write_atomically

    if path.is_dir():
        raise invalid(f"Cannot write {path}: it is a folder.", f"Name a {kind} file.")
    with chosen_by_the_user():
        write_atomically(path, text.encode())


def _image(scene: Scene, view: str, sensor: str, robot: str) -> NDArray[np.uint8]:
    from toolhand.sim.camera.ray import overview_camera
    from toolhand.sim.station import Station, StationConfig
    from toolhand.tool_nodes.workspace import IMAGE_SIZE

    station = Station(scene, StationConfig(robot=robot, ports=PortNames(sensor=sensor)))
    if view == "overview":
        return station.make_camera(overview_camera(IMAGE_SIZE)).capture().rgb
    return (station.wrist_camera if view == "wrist" else station.camera).capture().rgb
