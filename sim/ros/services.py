"""How the simulator's services answer: in the physics thread, with one sentence where they refuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from simulation_interfaces.msg import Resource, Result

from toolhand.sim.ros.awaiting import awaited
from toolhand.sim.ros.physics import Physics
from toolhand.sim.simulators import Simulator
from toolhand.sim.world import World
from toolhand.tool_nodes.results import ToolError

ServiceWork = Callable[[World, Any, Any], None]


class RefusedError(Exception):
    """Why a request is not carried out: a code of `Result` or of the service, and one sentence."""

    def __init__(self, code: int, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code


class Services:
    """Makes services of `simulation_interfaces` whose work is done in the physics thread.

    Args:
        physics: Does the work.
        simulator: Simulator whose names the services have.
    """

    def __init__(self, node: Node, physics: Physics, simulator: Simulator) -> None:
        self.node = node
        self.physics = physics
        self.simulator = simulator
        self.group = ReentrantCallbackGroup()

    def name(self, service: str) -> str:
        """What a service of `simulation_interfaces` is called."""
        return self.simulator.service(service) if self.simulator.services else service

    def add(self, kind: Any, name: str, work: ServiceWork) -> None:
        """Serve `name`: `work(world, request, response)` fills the response, or raises RefusedError or ToolError."""

        async def handle(request: Any, response: Any) -> Any:
            job = self.physics.call(lambda world: work(world, request, response))
            await self.answer(job, response)
            return response

        self.node.create_service(kind, self.name(name), handle, callback_group=self.group)

    async def answer(self, job: Any, response: Any) -> None:
        """Wait for a future, and write how it went into `response.result`."""
        try:
            await awaited(self.node, job)
        except RefusedError as error:
            response.result = Result(result=error.code, error_message=str(error))
        except ToolError as error:
            response.result = Result(result=Result.RESULT_OPERATION_FAILED, error_message=str(error))
        except Exception as error:  # one bad request must not end the simulation
            self.node.get_logger().error(f"{type(response).__name__} failed inside: {error!r}")
            sentence = f"Failed inside: {type(error).__name__}: {error}"
            response.result = Result(result=Result.RESULT_OPERATION_FAILED, error_message=sentence)
        else:
            response.result = Result(result=Result.RESULT_OK)


def resource_of(request: Any, field: str) -> tuple[str, str]:
    """(uri, resource_string) of a request: as fields of its own until Kilted, as a `Resource` after it."""
    holder = getattr(request, field, request)
    return holder.uri, holder.resource_string


def put_uri(message: Any, uri: str) -> None:
    """Set the URI of a `Spawnable`, in the form of the distribution."""
    if hasattr(message, "entity_resource"):
        message.entity_resource = Resource(uri=uri)
    else:
        message.uri = uri
