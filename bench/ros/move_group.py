"""The planner `moveit` over the double of move_group, each a node with a session of its own in this process."""

from __future__ import annotations

import contextlib
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import rclpy
from rclpy.context import Context
from rclpy.executors import ExternalShutdownException, MultiThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.signals import SignalHandlerOptions

from agent_node.policies.scripted.policy import ScriptedPolicy
from rclpy_zenoh.wire import start_router
from sim.ros.graph import started_graph, station_anew
from sim.ros.move_group_double import MoveGroupDouble
from sim.station import StationConfig
from sim.tasks.tasks import paper_task
from tool_nodes.drivers.moveit import MoveItPlanner
from tool_nodes.motion.checked_planner import checked
from tool_nodes.motion.robot_model import load_robot
from tool_nodes.ports import Planner
from tool_nodes.ros.calling import Deadlines
from tool_nodes.ros.client import environment
from tool_nodes.ros.link import RosLink
from training.env.episode import run_episode

SENTENCES = 20
"""Sentences of the paper, see `sim.tasks.tasks.paper_task`."""

_JOIN_S = 20.0
"""A bound against hanging [s]."""


@contextlib.contextmanager
def over_double(
    robot: str,
    make: Callable[..., Node] = MoveGroupDouble,
    deadlines: Deadlines | None = None,
    interrupted: Callable[[], bool] = lambda: False,
) -> Iterator[tuple[Planner, Any]]:
    """The planner, checked as in the node motion, and the node that answers it, until the block ends.

    Args:
        robot: Name of the robot.
        make: Class of the node that answers.
        deadlines: How long the planner waits.
        interrupted: Polled meanwhile; see MoveItPlanner.
    """
    with start_router() as router:
        variables = {"RCLPY_ZENOH_ROUTER": router.endpoint}
        with _served(make, robot, variables) as double, RosLink(variables) as link:
            model = load_robot(robot)
            yield checked(MoveItPlanner(link.node, model, deadlines=deadlines, interrupted=interrupted), model), double


def pick_through_graph(planner: str, seeds: Iterable[int], robot: str) -> Iterator[tuple[int, str, str, bool]]:
    """Carry out a sentence of the paper for each seed in one graph, in lockstep: each picks, some place besides.

    Args:
        planner: Name of the planner of `motion`; for moveit the double answers.
        seeds: Seeds of the scenes, sentences and perception.
        robot: Name of the robot.

    Yields:
        The seed, the sentence, what was answered where the task was not done, else nothing, and whether it is scored.
    """
    config = StationConfig(robot=robot)
    arguments = {"lockstep": "true", "robot": robot, "planner": planner}
    if planner == "moveit":
        arguments["move_group"] = "double"
    with tempfile.TemporaryDirectory() as folder, started_graph(arguments | {"runs_dir": folder}) as graph:
        for seed in seeds:
            task = paper_task(seed % SENTENCES, seed=seed)
            with station_anew(graph, task.scene, replace(config, seed=seed)) as station:
                outcome = run_episode(station, ScriptedPolicy(), task)
            done = outcome.truth is not None and outcome.truth.success
            yield seed, task.text, "" if done else outcome.episode.answer or "no answer", outcome.scored


@contextlib.contextmanager
def _served(make: Callable[..., Node], robot: str, variables: dict[str, str]) -> Iterator[Node]:
    context = Context()
    with environment(variables):
        rclpy.init(args=[], context=context, signal_handler_options=SignalHandlerOptions.NO)
    node = make(context=context, parameter_overrides=[Parameter("robot", value=robot)])
    executor = MultiThreadedExecutor(2, context=context)
    executor.add_node(node)

    def spin() -> None:
        with contextlib.suppress(ExternalShutdownException):
            executor.spin()

    thread = threading.Thread(target=spin, daemon=True)
    thread.start()
    try:
        yield node
    finally:
        executor.shutdown(timeout_sec=1.0)
        thread.join(_JOIN_S)
        node.destroy_node()
        context.try_shutdown()
