"""ROS 2 node `code_executor`: runs model-written Python in a sandbox, as the service execute_code."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node
from toolhand_interfaces.srv import ExecuteCode

from toolhand.tool_nodes.results import ToolError, invalid
from toolhand.tool_nodes.ros import parameters
from toolhand.tool_nodes.ros.parameters import Count, Seconds
from toolhand.tool_nodes.ros.spinning import run_node
from toolhand.tool_nodes.ros.status import answering, checked, success
from toolhand.tool_nodes.sandbox.executor import CodeArgument, CodeExecutor, ProgramLimits, shown, tool_result

_MODES = {ExecuteCode.Request.EXEC: "exec", ExecuteCode.Request.EVAL: "eval"}
_NAME_LENGTH = 100
"""Longest name of a session [characters]."""


@dataclass(frozen=True)
class _Parameters:
    """Parameters of the node.

    Attributes:
        wall_limit_s: Longest run of a program [s].
        sessions: Number of sessions whose results are kept, those that were used last.
    """

    wall_limit_s: Seconds = ProgramLimits.wall_s
    sessions: Count = 16


class CodeExecutorNode(Node):
    """Serves a CodeExecutor; results stay in the sessions that requests name."""

    def __init__(self) -> None:
        super().__init__("code_executor")
        own = parameters.read(self, _Parameters)
        wall_s, self._kept = own.wall_limit_s, own.sessions
        self._sessions: OrderedDict[str, dict[str, Any]] = OrderedDict()
        self._executor = CodeExecutor(ProgramLimits(wall_s=wall_s))
        try:
            self._executor.start()
        except ToolError as error:  # every call will say so; a graph without code is still a graph
            self.get_logger().warning(str(error))
        group = MutuallyExclusiveCallbackGroup()  # the default group stays free for parameters
        self.create_service(ExecuteCode, "execute_code", self._on_execute, callback_group=group)

    def destroy_node(self) -> None:
        """End the sandbox, then the node."""
        self._executor.close()
        super().destroy_node()

    def _on_execute(self, request: Any, response: Any) -> Any:
        with answering(self, response, "execute_code"):
            if request.mode not in _MODES:
                raise invalid(f"execute_code: mode must be 0 (EXEC) or 1 (EVAL), got {request.mode}.")
            mode = _MODES[request.mode]
            code = checked(CodeArgument(), request.code, "execute_code: code")
            variables = self._variables_of(request.session)
            outcome = self._executor.run(code, mode, variables, request.timeout or None)
            response.output, response.error_output = outcome.stdout, outcome.stderr
            result = tool_result(outcome, mode, self._executor.backend)
            variables.update(result.variables)
            if outcome.value is not None:
                response.result = outcome.value if outcome.note else shown(outcome.value)
            response.status = success(result.text, result.backend)
        return response

    def _variables_of(self, session: str) -> dict[str, Any]:
        """The variables of a session; the one that was used longest ago makes room."""
        if not session:
            return {}
        if len(session) > _NAME_LENGTH:
            raise invalid(f"execute_code: session must have at most {_NAME_LENGTH} characters, got {len(session)}.")
        variables = self._sessions.setdefault(session, {})
        self._sessions.move_to_end(session)
        while len(self._sessions) > self._kept:
            self._sessions.popitem(last=False)
        return variables


def main(args: list[str] | None = None) -> None:
    """Run the node."""
    run_node(CodeExecutorNode, args)


if __name__ == "__main__":
    main()
