"""Every planner of the project, ready to be asked: the suites in this folder are the same for all of them."""

import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import pytest

from rclpy_zenoh import overlay

overlay.install()

from tests.gen3 import GEN3
from tests.tool_nodes.motion.planners.fake_curobo import newer, older, over_curobo
from tests.tool_nodes.motion.planners.fake_moveit_py import over_moveit_py
from tests.tool_nodes.motion.planners.over_double import over_double
from toolhand.tool_nodes.motion.planner import EmbeddedPlanner
from toolhand.tool_nodes.ports import Planner
from toolhand.tool_nodes.ros.calling import Deadlines


@contextlib.contextmanager
def embedded() -> Iterator[Planner]:
    yield EmbeddedPlanner(0, GEN3)


@contextlib.contextmanager
def moveit() -> Iterator[Planner]:
    """Over the double of move_group, with all that a question and its answer become on the way."""
    with over_double("gen3", deadlines=Deadlines(availability_s=30.0, response_s=60.0)) as (planner, _):
        yield planner


PLANNERS: dict[str, Callable[[], AbstractContextManager[Planner]]] = {
    "embedded": embedded,
    "moveit": moveit,
    "moveit_py": over_moveit_py,
    "curobo_0_7": lambda: over_curobo(older),
    "curobo_0_8": lambda: over_curobo(newer),
}


@pytest.fixture(scope="module", params=PLANNERS)
def planner(request: pytest.FixtureRequest) -> Iterator[Planner]:
    with PLANNERS[request.param]() as planner:
        yield planner
