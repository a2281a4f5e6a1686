"""Shared by all tests."""

import ctypes
import gc
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest
from hypothesis import settings

SLOW = {
    Path(__file__).parent / place
    for place in (
        "agent_node/dialogue/test_dialogue_physics.py",
        "agent_node/mcp",
        "agent_node/policies",
        "agent_node/scripted/test_every_word.py",
        "agent_node/test_protocol_suites.py",
        "bench",
        "extensions",
        "papers/test_peria_text.py",
        "properties",
        "redteam",
        "ros",
        "sim/mock/test_data.py",
        "sim/scene/test_scenes.py",
        "sim/tasks/test_tasks.py",
        "sim/test_robots.py",
        "sim/test_world.py",
        "sim/test_world_changes.py",
        "test_docs.py",
        "test_examples.py",
        "tool_nodes/grasp/test_sampling.py",
        "tool_nodes/models",
        "tool_nodes/motion/test_approval.py",
        "tool_nodes/motion/test_stop.py",
        "tool_nodes/perception/test_free_space.py",
        "tool_nodes/sandbox",
        "tool_nodes/tools/test_manipulation.py",
        "papers/test_photographs.py",
        "sim/objects/test_folders.py",
        "sim/scene/test_clutter.py",
        "sim/tasks/test_crowds.py",
        "sim/tasks/test_generation.py",
        "sim/tasks/test_stages.py",
        "sim/test_holding.py",
        "sim/test_moments.py",
        "sim/test_perception.py",
        "tool_nodes/motion/planners",
        "tool_nodes/motion/test_proven_grasps.py",
        "tool_nodes/perception/test_certainty.py",
        "tool_nodes/perception/test_flat.py",
        "tool_nodes/perception/test_parts.py",
        "tool_nodes/perception/test_pixels.py",
        "tool_nodes/peria/test_drawing_scores.py",
        "tool_nodes/robot_export",
        "tool_nodes/text",
        "tool_nodes/tools/test_into_containers.py",
        "tool_nodes/tools/test_second_view.py",
        "tool_nodes/calibration/test_solving.py",
        "tool_nodes/motion/test_side_grasps.py",
        "tool_nodes/tools/test_bounding_box.py",
        "tool_nodes/tools/test_depth_and_values.py",
        "tool_nodes/tools/test_grasps_of_a_cloud.py",
        "tool_nodes/tools/test_parts_of_pictures.py",
        "tool_nodes/tools/test_skills.py",
        "test_wheel.py",
        "toolhand",
        "training",
    )
}
"""What starts processes, graphs or models, runs whole episodes, or computes for ten seconds and more: left out by
`--fast`, which `make check` gives. A new file is fast until it is listed."""

ON_REQUEST = {Path(__file__).parent / place for place in ("console/browser", "tool_nodes/serve/on_ray")}
"""What needs a browser, or a machine of its own for many minutes, and runs only where it is named: `make test-console`,
`make test-serve`."""


WHOLE = {
    Path(__file__).parent / place
    for place in (
        "bench/grasp/test_trial.py",
        "bench/perception/test_calibration.py",
        "bench/test_crowded.py",
        "extensions/test_hardware.py",
        "extensions/test_task.py",
        "ros/agent/test_object_sets.py",
        "ros/agent/test_rollouts_over_ros.py",
        "ros/agent/test_same_dialogues.py",
        "ros/agent/test_whole_graph.py",
    )
}
"""Whole systems for a minute and more each: graphs, packages that are installed, trainings, benchmarks. Every part of
them has tests of its own; `make test-whole` runs these, every night and before a release."""

LONGEST = (
    "tests/ros/agent/test_running_graph.py",
    "ros2_ws/src/rclpy_zenoh/tests/launch/test_graph.py",
    "tests/properties/test_every_tool.py",
    "tests/test_wheel.py",
    "tests/test_examples.py",
)
"""Modules of 10 s of processor time and more with graphs and processes to wait for, the longest first: what is begun
last keeps one worker busy while the others have nothing left."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest modules; the others stay in their order."""
    rank = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: rank.get(item.nodeid.partition("::")[0], len(rank)))


def pytest_collection_finish() -> None:
    """All modules and 17,000 tests stay to the end: no later collection looks through them again."""
    gc.collect()
    gc.freeze()


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--fast` is for `make check`, `--whole` for `make test-whole`."""
    parser.addoption("--fast", action="store_true", help="leave out the folders and files of SLOW")
    parser.addoption("--whole", action="store_true", help="run the files of WHOLE, and nothing else")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out what is asked for by another command; True is yes, None asks the next in line."""
    if config.getoption("--whole"):
        return True if collection_path.is_file() and collection_path not in WHOLE else None
    if collection_path in ON_REQUEST | WHOLE:
        named = [config.invocation_params.dir / arg.split("::")[0] for arg in config.args]
        return None if any(path.is_relative_to(collection_path) for path in named) else True
    return True if config.getoption("--fast") and collection_path in SLOW else None


@pytest.fixture(scope="module", autouse=True)
def memory_is_given_back() -> Iterator[None]:
    """Worlds and pictures are tens of MB, which neither Python's collector counts nor glibc returns by itself."""
    yield
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


# A shell that starts something in the background lets it ignore Ctrl-C, and so would every process that a test starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples every time: a test that fails can be run again. No deadline: this must not depend on the machine.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")
