"""`toolhand doctor`: what works here."""

from __future__ import annotations

import platform
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from toolhand.agent_node.console.options import ObjectSets
from toolhand.agent_node.console.terminal import AsJson, emit
from toolhand.cli import options
from toolhand.tool_nodes import platforms, registry
from toolhand.tool_nodes.extras import install_again
from toolhand.tool_nodes.models.table import MODELS, RealModel
from toolhand.tool_nodes.results import invalid
from toolhand.tool_nodes.version import version

if TYPE_CHECKING:
    from toolhand.sim.station import Station


_SHOWN = 20
"""Objects of a set that are listed [-]; all with --json."""


def doctor(
    objects: ObjectSets = "",
    robot: str = "",
    address: str = "",
    move: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False,
    as_json: AsJson = False,
) -> int:
    """Check this installation: versions, camera, physics, tools, one plan, and which backends each port has.

    With --objects the objects of these sets are listed by the names that scenes give them. With --robot the graph of a
    real arm is checked instead, in the order in which its parts depend on each other, up to the first fault.

    Args:
        robot: kinova, for what launch/kinova.launch.yaml starts; or the name or folder of another robot.
        address: HOST:PORT of the arm, which is looked for in the network; 192.168.1.10:10000 where none is given; none
            looks for no arm, as beside a simulator.
        move: Also try the stop, and a motion of 2 cm that a person approves at another terminal (toolhand approve).
    """
    if robot:
        from toolhand.cli.doctor_robot import doctor_robot

        return doctor_robot(robot, address, move, as_json)
    if address or move:
        raise invalid("--address and --move are of --robot.", "Name the robot: toolhand doctor --robot kinova")
    sets = _objects(objects)
    findings: dict[str, Any] = {"python": platform.python_version(), "toolhand": version()}
    findings["platform"] = f"{platform.system()} {platform.machine()}"
    if note := platforms.note():
        findings["platform"] += f": {note}"
    problems = []
    for package in ("numpy", "scipy", "mujoco", "ruckig", "PIL", "yaml", "tyro", "docstring_parser"):
        try:
            findings[package] = getattr(import_module(package), "__version__", "present")
        except ImportError as error:
            problems.append(f"{package} cannot be imported: {error}.")
    try:
        station = options.named_station("example")
        width, height = station.camera.capture().size
        findings["camera"] = f"ray camera, {width}x{height}"
        station.world.step()
        findings["physics"] = f"{station.world.model.nbody} bodies at t={station.world.time:.2f} s"
        findings["tools"] = len(station.toolbox.specs)
        findings["plan"] = f"{_plan_home(station):.2f} s to the home position"
    except Exception as error:
        problems.append(f"{type(error).__name__}: {error}")
    try:
        options.named_station("example", renderer="gl")
        findings["gl_camera"] = "available"
    except Exception:
        findings["gl_camera"] = "not available (not needed)"
    backends = {port: registry.offers(port) for port in registry.GROUPS if port != "second_pointer"}  # the pointer's
    if not backends["perception"]:
        problems.append(f"No backend is installed; install toolhand once more: {install_again()}")
    findings["devices"] = [_device_line(device) for device in devices()]
    findings["problems"] = problems
    if objects:
        findings["objects"] = sets
    models = [_model(model, backends[model.port]) for model in MODELS]
    if as_json:
        listed = {port: [vars(o) for o in offers] for port, offers in backends.items()}
        emit(findings | {"devices": devices(), "backends": listed, "models": models})
        return 1 if problems else 0
    for name, value in findings.items():
        if name == "objects":
            continue
        print(f"{name:17}{'; '.join(value) or 'none' if isinstance(value, list) else value}")
    print("\nBackends by port:")
    for port, offers in backends.items():
        for k, offer in enumerate(offers):
            print(f"{'' if k else port:17}{_described(offer)}")
    for set_name, names in sets.items():
        more = f" and {len(names) - _SHOWN} more" * (len(names) > _SHOWN)
        print(f"\nThings of the object set {set_name}: {', '.join(names[:_SHOWN])}{more}.")
    print("\nReal models (weights by folder or hub name, NAME:WEIGHTS; licences in docs/reference/tools.md):")
    for model in models:
        needs = f"; needs: {model['missing']}" if model["missing"] else ""
        print(f"{model['name']:17}{model['port']}, {model['memory']}{needs}")
    return 1 if problems else 0


def _objects(objects: str) -> dict[str, list[str]]:
    """Names of the objects of each set. Raises ToolError as `toolhand.sim.objects.chosen.choose_sets`."""
    from toolhand.sim.objects.chosen import choose_sets
    from toolhand.sim.objects.sets import object_set

    return {name: list(object_set(name)) for name in choose_sets(objects)}


def devices() -> list[dict[str, Any]]:
    """What models can run on: `name`, and of a GPU what it is and its memory [GB]; the CPU alone without torch."""
    found: list[dict[str, Any]] = [{"name": "cpu", "is": platform.processor() or platform.machine()}]
    try:
        cuda = import_module("torch").cuda
    except ImportError:
        return found
    for number in range(cuda.device_count()):
        about = cuda.get_device_properties(number)
        gigabytes = round(about.total_memory / 1e9, 1)
        found.append({"name": f"cuda:{number}", "is": about.name, "memory_gb": gigabytes})
    return found


def _device_line(device: dict[str, Any]) -> str:
    memory = f", {device['memory_gb']} GB" if "memory_gb" in device else ""
    return f"{device['name']} ({device['is']}{memory})"


def _model(model: RealModel, offers: list[registry.Offer]) -> dict[str, str]:
    """A model and what has to be installed before it can be used."""
    missing = next((offer.missing for offer in offers if offer.name == model.name), "toolhand, once more")
    return {
        "name": model.name,
        "port": model.port,
        "licence": model.licence,
        "memory": model.memory,
        "missing": missing,
    }


def _described(offer: registry.Offer) -> str:
    package = "" if offer.package == registry.PROJECT else f" (of {offer.package})"
    return f"{offer.name}{package}" + (f"; needs: {offer.missing}" if offer.missing else "")


def _plan_home(station: Station) -> float:
    """Duration of a planned motion from here to the home position [s]."""
    from toolhand.tool_nodes.types import CollisionScene, JointGoal

    home = JointGoal(station.robot.named_states["Home"])
    return station.planner.plan(station.arm.state().q, home, CollisionScene()).duration
