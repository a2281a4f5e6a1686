"""`toolhand bench planners`: every planner is asked the same questions, and carries out sentences in a graph of ROS 2.

`moveit` is asked over the double of move_group: that shows that the messages are right, not how MoveIt plans.
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from agent_node.console.options import DEFAULT_ROBOT_OPTIONS, RobotOptions, Unprefixed, require_at_least
from agent_node.console.terminal import AsJson, say
from bench.planner_problems import draw_question, faults
from bench.stats import format_report, machine, publish, rate_row, timing_row
from tool_nodes.motion.planner import EmbeddedPlanner
from tool_nodes.motion.robot_model import load_robot
from tool_nodes.ports import Planner
from tool_nodes.results import invalid
from tool_nodes.ros.client import use_client

PLANNERS = ("embedded", "moveit")
"""Planners that can be asked without a robot, and without another maker's software."""


def bench_planners(
    planners: tuple[str, ...] = PLANNERS,
    n: int = 200,
    first_seed: int = 0,
    picks: int = 20,
    robot: Unprefixed[RobotOptions] = DEFAULT_ROBOT_OPTIONS,
    as_json: AsJson = False,
) -> int:
    """Ask planners for paths, refusals and exact poses, and let them pick things through the graph of ROS 2.

    Args:
        planners: Which planners; moveit answers by its double.
        n: Questions to each.
        first_seed: Seed of the first question and of the first pick.
        picks: Picks by each through a graph; 0 for none.
    """
    require_at_least(1, n=n)
    require_at_least(0, first_seed=first_seed, picks=picks)
    if unknown := [name for name in planners if name not in PLANNERS]:
        raise invalid(f"The planner {unknown[0]!r} cannot be asked here: it must be {' or '.join(PLANNERS)}.")
    robot.require_known()
    began = time.monotonic()
    rows: list[dict[str, Any]] = []
    failures: list[dict[str, Any]] = []
    unscored = 0
    for name in dict.fromkeys(planners):
        rows += _asked(name, n, first_seed, robot.robot, failures)
        if picks:
            row, missing = _picked(name, picks, first_seed, robot.robot, failures)
            rows.append(row)
            unscored += missing
    document = {
        "bench": "planners",
        "machine": machine(),
        "robot": robot.robot,
        "seeds": [first_seed, first_seed + n - 1],
        "rows": rows,
        "unscored": unscored,
        "causes": dict(Counter(failure["kind"] for failure in failures)),
        "failures": failures,
        "wall_s": round(time.monotonic() - began, 1),
    }
    publish(document, lambda document: format_report(document, "causes", _failure_line), as_json)
    return 0


def _asked(name: str, n: int, first_seed: int, robot_name: str, failures: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """How many of n questions a planner answers as it has to, and how long that takes."""
    robot = load_robot(robot_name)
    right, seconds = 0, []
    with _planner(name, robot_name) as planner:
        for seed in range(first_seed, first_seed + n):
            question = draw_question(seed, robot)
            began = time.monotonic()
            wrong = faults(planner, question, robot)
            seconds.append(time.monotonic() - began)
            right += not wrong
            failures += [{"planner": name, "kind": question.kind, "seed": seed, "cause": cause} for cause in wrong]
    say(f"{name}: {right} of {n} questions answered as they have to be")
    return [rate_row(f"{name}: questions", right, n), timing_row(f"{name}: question and judge", seconds)]


@contextlib.contextmanager
def _planner(name: str, robot: str) -> Iterator[Planner]:
    if name == "embedded":
        yield EmbeddedPlanner(0, load_robot(robot))
        return
    use_client()
    from bench.ros.move_group import over_double

    with over_double(robot) as (planner, _):
        yield planner


def _picked(
    name: str, n: int, first_seed: int, robot: str, failures: list[dict[str, Any]]
) -> tuple[dict[str, Any], int]:
    """How many sentences of the paper are carried out, each in a scene of its own, and how many are not scored."""
    use_client()
    from bench.ros.move_group import pick_through_graph

    done = unscored = 0
    for seed, text, error, scored in pick_through_graph(name, range(first_seed, first_seed + n), robot):
        done += not error
        unscored += not scored
        say(f"{name}: {text!r}, seed {seed}: {error or 'done'}")
        failures += [{"planner": name, "kind": "a sentence", "seed": seed, "cause": error}] if error else []
    return rate_row(f"{name}: sentences through the graph", done, n - unscored), unscored


def _failure_line(failure: Mapping[str, Any]) -> str:
    return f"{failure['planner']}, {failure['kind']}, seed {failure['seed']}: {failure['cause']}"
