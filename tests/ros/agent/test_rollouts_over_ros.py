"""Rollouts over graphs of ROS 2 in lockstep: the same conversations, rewards and measured stages as in process."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from tests.refusals import refused
from toolhand.agent_node.policies.scripted.policy import ScriptedPolicy
from toolhand.sim.scene.files import EXAMPLE_SCENE, load_scene
from toolhand.sim.station import StationConfig
from toolhand.sim.tasks.place import PlaceTask
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.training.env.backends import RosPool
from toolhand.training.env.environment import Environment
from toolhand.training.env.failures import Failures
from toolhand.training.env.grading import EpisodeScore
from toolhand.training.env.session import EpisodeSession

SCENE = load_scene(EXAMPLE_SCENE)
PLACE = PlaceTask(
    "Pick up the cinnamon and place it in front of the rice box",
    replace(SCENE, objects=tuple(item for item in SCENE.objects if item.id in ("cinnamon_1", "rice_box_1"))),
    ("cinnamon_1",),
    "in_front_of",
    ("rice_box_1",),
)
FAILURES = Failures({"*": {"OBJECT_NOT_FOUND": 0.3, "NO_GRASP": 0.5, "PLACE_BLOCKED": 0.2}})
SEED = 4
"""Of the group of four some are done, and some are not."""


@pytest.fixture(scope="module")
def over_ros() -> Iterator[Environment]:
    """Episodes over two graphs."""
    environment = Environment(failures=FAILURES, backend=RosPool(StationConfig(), graphs=2))
    yield environment
    environment.close()


def play(session: EpisodeSession) -> tuple[list[str], EpisodeScore]:
    """What was said, and what came of it."""
    policy = ScriptedPolicy()
    with session:
        while not session.done:
            session.say(policy.respond(session.messages()))
        return [message.text for message in session.messages()], session.score()


def test_a_group_of_four_over_two_graphs_has_the_rewards_and_stages_of_this_process(over_ros: Environment) -> None:
    here = Environment(failures=FAILURES)
    expected = [play(here.open(PLACE, SEED, rollout)) for rollout in range(4)]
    got = []
    for first in (0, 2):  # each graph has two of them, one after the other
        pair = [over_ros.open(PLACE, SEED, rollout) for rollout in (first, first + 1)]
        with refused(ErrorCode.INVALID_ARGUMENT, "All 2 graphs are in use: close a session before the next"):
            over_ros.open(PLACE, SEED)
        with ThreadPoolExecutor(2) as both:
            got += list(both.map(play, pair))
    assert [texts for texts, _ in got] == [texts for texts, _ in expected]
    assert [score.terms for _, score in got] == [score.terms for _, score in expected]
    assert len({score.total for _, score in got}) > 1, "the group is not all alike"
    for (_, score), (_, wanted) in zip(got, expected, strict=True):
        assert list(score.stages) == list(wanted.stages)
        assert score.stages == wanted.stages
    assert {name for _, score in got for name, stage in score.stages.items() if stage} >= {"held", "let_go", "at_rest"}


def test_what_a_graph_does_not_have_is_refused_before_one_is_started() -> None:
    with refused(ErrorCode.INVALID_ARGUMENT, "has its own image_size"):
        Environment(StationConfig(image_size=(320, 240)), backend="ros")
    with pytest.raises(ToolError, match="There must be 1 graph or more, got 0"):
        RosPool(StationConfig(), graphs=0)
    with pytest.raises(ToolError, match="seed must be 0 or greater"):
        RosPool(StationConfig()).take(PLACE, -1)
