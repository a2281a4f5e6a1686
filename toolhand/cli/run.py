"""`toolhand run`: one sentence, carried out, judged and reported."""

from __future__ import annotations

from toolhand.agent_node.console.narration import Narrator
from toolhand.agent_node.console.options import Unprefixed
from toolhand.agent_node.console.terminal import INTERRUPTED, Interrupt, emit, exit_status_of
from toolhand.cli.repeating import command_line, recorded
from toolhand.cli.run_command import RunCommand
from toolhand.tool_nodes.version import version


def run(command: Unprefixed[RunCommand]) -> int:
    """Carry out one sentence on the simulated robot and write a report.

    A sentence that asks for several objects has a report for each of them, and a question moves nothing.

    The run's folder holds report.html, result.json, trajectory.jsonl, the images, run.mcap, and
    safety.jsonl with every attempt to move. Ctrl-C stops the arm. A question of the policy is asked at the terminal.
    """
    from toolhand.agent_node.runs.folder import time_now
    from toolhand.tool_nodes.motion.packages import use_packages

    command.require_fit()
    about = recorded(command) | {"began": time_now(), "version": version(), "command": command_line(command)}
    use_packages(command.package_path)
    narrator, interrupt = Narrator(command.as_json), Interrupt()
    if command.transport == "ros":
        from toolhand.cli.run_over_ros import run_over_ros as carry_out
    else:
        from toolhand.cli.talk import run_in_process as carry_out
    result = carry_out(command, narrator, about, interrupt)
    if command.as_json:
        emit(result)
    return INTERRUPTED if interrupt.hit else exit_status_of(result)
