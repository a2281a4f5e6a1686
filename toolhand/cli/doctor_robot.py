"""`toolhand doctor --robot`: what is wrong with an arm that was just set up, from its network to its first motion."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from toolhand.agent_node.console.terminal import emit, say
from toolhand.tool_nodes.motion.robot_model import load_robot
from toolhand.tool_nodes.results import invalid
from toolhand.tool_nodes.robot_names import DEFAULT_ROBOT
from toolhand.tool_nodes.ros.client import router, use_client

KINOVA = "kinova"
"""What launch/kinova.launch.yaml starts: the default robot behind its drivers."""


def doctor_robot(robot: str, address: str, move: bool, as_json: bool) -> int:
    """Run the checks and show each as it ends.

    Args:
        robot: "kinova", or a robot as `toolhand.tool_nodes.motion.robot_model.load_robot` takes it.
        address: See `toolhand.tool_nodes.ros.bringup.findings.network`.
        move: Try the stop and a motion of 2 cm as well; needs a person at this terminal.
        as_json: One document at the end instead of lines.

    Returns:
        The exit status: 0 where every check passed.

    Raises:
        ToolError: INVALID_ARGUMENT; UNAVAILABLE without a ROS 2 client.
    """
    if move and not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise invalid("--move asks before anything moves, which needs a terminal, and this is none.", "Run it in one.")
    model = load_robot(DEFAULT_ROBOT if robot == KINOVA else robot)
    pip_client = use_client()
    from toolhand.tool_nodes.ros.bringup import Bringup
    from toolhand.tool_nodes.ros.bringup.findings import KORTEX, NO_ARM, Finding, check_all, network, problem
    from toolhand.tool_nodes.ros.link import RosLink

    def graph() -> str:
        if router(pip_client) is None:
            raise problem("No ROS 2 graph runs here: no router answers.", "toolhand up kinova")
        return "A graph can be joined."

    def found() -> Iterator[Finding]:
        passed = True
        for finding in check_all((("network", lambda: network(address or KORTEX)), ("graph", graph))):
            passed = passed and finding.passed
            yield finding
        if passed:
            with RosLink({"RCLPY_ZENOH_CLIENT": "1"}) as link:
                yield from check_all(Bringup(link, model, _ask if move else None, address != NO_ARM).checks)

    findings = []
    for finding in found():
        findings.append(finding)
        if not as_json:
            print(f"{'ok' if finding.passed else 'FAILED':7} {finding.check:13} {finding.says}", flush=True)
            if finding.hint:
                print(f"{'':21} {finding.hint}", flush=True)
    passed = all(finding.passed for finding in findings)
    if as_json:
        emit({"robot": model.name, "passed": passed, "checks": [vars(finding) for finding in findings]})
    elif passed and not move:
        say("Nothing was moved. With --move the stop is tried, and a motion of 2 cm that a person approves.")
    return 0 if passed else 1


def _ask(question: str) -> bool:
    """A person's yes at this terminal."""
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
