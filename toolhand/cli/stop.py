"""`toolhand stop`: brake the arm of the graph that runs, and latch; next to nothing is loaded for it."""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
from typing import NoReturn

CONFIRMED, NOT_CONFIRMED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130
"""Exit status; not confirmed is everything but a measured rest, or a reset that was taken."""

ANSWER_S = 30.0
"""Longest wait for the answer; a stop answers within its own deadline, which is a parameter of the motion node [s]."""


class _Parser(argparse.ArgumentParser):
    """Complains in one sentence."""

    def error(self, message: str) -> NoReturn:
        _say(f"INVALID_ARGUMENT: {message[:1].upper()}{message[1:].rstrip('.')}. See toolhand stop --help.")
        raise SystemExit(BAD_INPUT)


def main(argv: list[str] | None = None) -> int:
    """Brake the arm of the graph that runs, and latch; --reset allows motions again.

    Returns the exit status: 0 confirmed, 1 not confirmed or no graph, 2 for wrong input.
    """
    parser = _Parser(
        prog="toolhand stop",
        description="Stop the arm of the graph that runs: it brakes, every motion and command ends, and nothing moves "
        "until --reset. The exit status is 0 only if all joints were measured at rest.",
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--reset", action="store_true", help="allow motions again, after a stop that was confirmed")
    what.add_argument(
        "--reset-fault", action="store_true", help="have the driver brake the arm and forget a fault that it reports"
    )
    parser.add_argument("--domain", type=int, help="ROS domain; otherwise that of ROS_DOMAIN_ID, or 0")
    parser.add_argument("--router", help="endpoint of the router; otherwise RCLPY_ZENOH_ROUTER, or tcp/127.0.0.1:7447")
    given = parser.parse_args(argv)
    name = "/reset_stop" if given.reset else "/reset_fault" if given.reset_fault else "/stop"
    try:
        if importlib.util.find_spec("rclpy") is None:
            return _over_zenoh(name, given.domain, given.router)
        return _over_rclpy(name, given.domain, given.router)
    except KeyboardInterrupt:
        _say(f"STOPPED: Interrupted; whether {name} was carried out is not known.")
        return INTERRUPTED


def _over_zenoh(name: str, domain: int | None, router: str | None) -> int:
    from dataclasses import replace

    from rclpy_zenoh.trigger import NoServerError, call_trigger
    from rclpy_zenoh.wire import SessionError, SessionOptions, WireError

    try:
        options = replace(SessionOptions.from_environment(), shared_memory=False)
        options = replace(options, domain=options.domain if domain is None else domain)
        options = replace(options, router=options.router if router is None else router)
    except SessionError as error:
        _say(f"INVALID_ARGUMENT: {error}")
        return BAD_INPUT
    try:
        answers = call_trigger(name, options, ANSWER_S)
    except (SessionError, NoServerError) as error:
        return no_graph(str(error))
    except WireError as error:
        return not_confirmed(str(error))
    done = all(answer.success for answer in answers)
    return report(done, " ".join(dict.fromkeys(answer.message for answer in answers if answer.success == done)))


def _over_rclpy(name: str, domain: int | None, router: str | None) -> int:
    if router is not None:
        _say(
            "INVALID_ARGUMENT: --router is for machines without ROS 2; the middleware of this one is set up elsewhere."
        )
        return BAD_INPUT
    from toolhand.tool_nodes.results import ToolError
    from toolhand.tool_nodes.ros.link import trigger_once

    try:
        answer = trigger_once(name, domain, ANSWER_S)
    except ToolError as error:
        return not_confirmed(str(error))
    where = os.environ.get("ROS_DOMAIN_ID", "") or "0" if domain is None else domain
    return no_graph(f"Nobody serves {name} in domain {where}.") if answer is None else report(*answer)


def report(done: bool, message: str) -> int:
    """Show an answer. Returns the exit status."""
    if not done:
        return not_confirmed(message)
    print(message, flush=True)
    return CONFIRMED


def not_confirmed(message: str) -> int:
    """Say why it is not known that the arm stands still. Returns the exit status."""
    _say(f"NOT CONFIRMED: {message}")
    return NOT_CONFIRMED


def no_graph(why: str) -> int:
    """Say that no graph could be reached. Returns the exit status."""
    _say(
        f"UNAVAILABLE: The stop was not delivered: {why} "
        "An arm that moves all the same has an emergency stop of its own."
    )
    return NOT_CONFIRMED


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
