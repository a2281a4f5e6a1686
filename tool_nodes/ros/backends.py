"""Which perception stands behind a node's services: named by a parameter, made anew whenever the seed is set."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Protocol

from rclpy.node import Node

from tool_nodes.perception.pixels import PixelPerception
from tool_nodes.ports import DepthEstimator, Pointer, Segmenter
from tool_nodes.results import ErrorCode, ToolError
from tool_nodes.ros import parameters

FACTORIES: Mapping[str, str] = {"sim": "sim.ros.perception:factory", "pixels": "tool_nodes.ros.backends:pixels"}
"""Short names, each of a `Factory` as "module:function"."""


class Perception(Pointer, Segmenter, DepthEstimator, Protocol):
    """Everything that the perception nodes ask for."""


Factory = Callable[[Node], Callable[[int], Perception]]
"""Called once with the node, gives what makes a fresh perception of a seed."""


def pixels(node: Node) -> Callable[[int], Perception]:
    """Colour and depth only; nothing is random."""
    return lambda seed: PixelPerception()


def load_perception(node: Node, use: Callable[[Perception], None]) -> None:
    """Hand the node the perception that its parameters `perception` and `seed` name, and a fresh one for each new seed.

    `perception` is "sim", "pixels", or a `Factory` of your own as "module:function".

    Raises:
        ToolError: INVALID_ARGUMENT for another name; UNAVAILABLE where its module cannot be imported.
    """
    make = _factory(parameters.text(node, "perception", "sim", "sim, pixels, or a factory as module:function"))(node)
    parameters.seed(node, "Seeds the noise of the simulated perception", lambda seed: use(make(seed)))


def _factory(name: str) -> Factory:
    module_name, colon, function = FACTORIES.get(name, name).partition(":")
    if not (colon and module_name and function):
        raise ToolError(
            ErrorCode.INVALID_ARGUMENT,
            f"Parameter perception must be {' or '.join(FACTORIES)}, or a factory as module:function, got {name!r}.",
        )
    try:
        factory: Factory = getattr(import_module(module_name), function)
    except (ImportError, AttributeError) as error:
        raise ToolError(ErrorCode.UNAVAILABLE, f"The perception {name!r} cannot be loaded: {error}.") from error
    return factory
