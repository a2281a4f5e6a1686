"""Which backends stand behind a node's services: named by parameters, made anew whenever the seed is set."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rclpy.node import Node

from toolhand.tool_nodes.backends import make_port
from toolhand.tool_nodes.motion.robot_model import RobotModel
from toolhand.tool_nodes.port_names import DEFAULT_PRESET, PortNames
from toolhand.tool_nodes.registry import Setting
from toolhand.tool_nodes.ros import parameters
from toolhand.tool_nodes.ros.parameters import NonEmpty


def load_backends(node: Node, use: Callable[..., None], *ports: str, others: tuple[str, ...] = ()) -> None:
    """Hand the node the backends that its parameters name, and fresh ones for each new value of its parameter `seed`.

    Args:
        node: Declares the parameters.
        use: Called with one backend for each of `ports`.
        ports, others: See `backend_maker`.

    Raises:
        ToolError: See `backend_maker`.
    """
    make = backend_maker(node, *ports, others=others)
    parameters.seed(node, "Seeds what is random in the backends", lambda seed: use(*make(seed)))


def backend_maker(
    node: Node, *ports: str, others: tuple[str, ...] = (), robot: RobotModel | None = None
) -> Callable[[int], Sequence[Any]]:
    """What makes the backends of a seed.

    The parameter `perception` names a preset, and one of a port's name another backend than the preset's.

    Args:
        node: Declares these parameters.
        ports: Names from `toolhand.tool_nodes.port_names.PORTS`, in the order of the backends that are made.
        others: Ports that those may need: a segmenter that takes no words asks a detector.
        robot: For backends that propose grasps; None for the default one.

    Raises:
        ToolError: INVALID_ARGUMENT for a name that is none; UNAVAILABLE where a backend cannot be loaded.
    """
    about = "Which backends, where a port names none: a preset's name"
    preset = parameters.one(node, "perception", DEFAULT_PRESET, about, NonEmpty)
    named = parameters.read(node, PortNames, only=(*ports, *others)).over(preset)

    def make(seed: int) -> Sequence[Any]:
        setting = Setting(seed, node=node, robot=robot)
        return [make_port(port, named, setting) for port in ports]

    return make
