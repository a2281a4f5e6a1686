"""The Gymnasium view: as its own checker wants it, and the same episode as the session's."""

import importlib.util
import sys
import warnings
from collections.abc import Iterator

import numpy as np
import pytest

from tests.refusals import refused
from toolhand.agent_node.conversation_settings import ConversationSettings
from toolhand.agent_node.policies.scripted.policy import ScriptedPolicy
from toolhand.sim.mock.data import read_dataset
from toolhand.sim.mock.tasks import recorded_pick
from toolhand.sim.station import StationConfig
from toolhand.sim.tasks.task import Task
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.training.env.environment import Environment

gymnasium = pytest.importorskip("gymnasium")

from toolhand.training.env import gymnasium_view
from toolhand.training.env.gymnasium_view import ToolhandEnv

SMALL = StationConfig(image_size=(320, 240))
LOOK = '<tool_call>{"name": "robot.capture_image", "arguments": {}}</tool_call>'


def task_of(seed: int) -> Task:
    return recorded_pick(read_dataset(), seed)


@pytest.fixture
def env() -> Iterator[ToolhandEnv]:
    env = ToolhandEnv(Environment(SMALL, backend="mock", settings=ConversationSettings(turn_budget=3)), task_of)
    yield env
    env.close()


def test_gymnasiums_own_checker_finds_nothing(env: ToolhandEnv) -> None:
    from gymnasium.utils.env_checker import check_env

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env, skip_render_check=True)


def test_it_is_registered_and_made_by_its_name() -> None:
    made = gymnasium.make(
        "toolhand.training.env.gymnasium_view:Toolhand-v0",
        environment=Environment(SMALL, backend="mock"),
        make_task=task_of,
    )
    observation, info = made.reset(seed=3)
    assert info["task"] == task_of(3).text
    assert task_of(3).text in observation["text"]
    assert not observation["image"].any()
    names = [tool["function"]["name"] for tool in info["tools"]]
    assert "robot.capture_image" in names
    observation, reward, terminated, truncated, info = made.step(LOOK)
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert np.array_equal(observation["image"], info["messages"][0]["image"])
    assert info["error_code"] is None
    made.close()


def test_a_whole_episode_ends_with_the_sessions_total() -> None:
    env = ToolhandEnv(Environment(SMALL, backend="mock"), task_of)
    policy = ScriptedPolicy()
    env.reset(seed=1)
    ended = False
    while not ended:
        _, reward, terminated, truncated, info = env.step(policy.respond(env.session.messages()).text)
        ended = terminated or truncated
    assert terminated
    assert reward == env.session.score().total == 1.0
    assert info["success"]
    assert info["terms"] == {"grasp_point": 1.0}
    with pytest.raises(ToolError, match="The conversation is over"):
        env.step(LOOK)
    env.close()


def test_an_episode_without_turns_left_is_truncated(env: ToolhandEnv) -> None:
    env.reset(seed=2, options={"rollout": 1})
    for _ in range(2):
        env.step("no idea")
    _, reward, terminated, truncated, info = env.step("no idea")
    assert (reward, terminated, truncated) == (0.0, False, True)
    assert info["error_code"] == "INVALID_ARGUMENT"


def test_a_task_of_ones_own_and_images_of_another_size() -> None:
    env = ToolhandEnv(Environment(StationConfig(), backend="mock"), image_size=(64, 48))
    _, info = env.reset(seed=0, options={"task": task_of(5)})
    assert info["task"] == task_of(5).text
    observation, *_ = env.step(LOOK)
    assert observation["image"].shape == (48, 64, 3)
    assert env.observation_space.contains(observation)
    env.close()


def test_misuse_is_told_in_one_sentence(env: ToolhandEnv) -> None:
    with pytest.raises(ToolError, match=r"has no episode. Call reset\(\) first"):
        env.step(LOOK)
    with refused(ErrorCode.INVALID_ARGUMENT, "The options of a reset are task and rollout, not level"):
        env.reset(seed=1, options={"level": 3})


def test_without_the_package_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    spec = importlib.util.spec_from_file_location("view_without_gymnasium", gymnasium_view.__file__)
    assert spec is not None
    assert spec.loader is not None
    with refused(ErrorCode.UNAVAILABLE, r"The Gymnasium view needs the package gymnasium\.") as told:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))
    assert "[gym]" in told.value.hint
