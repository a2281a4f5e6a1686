"""OpenEnv's own harness, server and client over the environment."""

import base64
import contextlib
import io
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from openenv.core.harness import MCPHarnessAdapter, ModelStepResult, SessionMCPBridge, build_harness_rollout_func
from openenv.core.llm_client import LLMResponse, ToolCall
from PIL import Image

from toolhand.agent_node.policies.scripted.policy import ScriptedPolicy
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.training.adapters.episodes import Episodes
from toolhand.training.adapters.on_openenv import EpisodeAction, EpisodeClient, EpisodeSessions, server_of
from toolhand.training.tasks.kinds import task_document

ROW: dict[str, Any] = {"task": task_document("pick_and_place", 3), "seed": 3}
SETTINGS = {"protocol": "native", "reward": "stages", "image_size": (160, 120), "timestep": 0.004}

Script = list[tuple[str, dict[str, Any]] | str]


@pytest.fixture(scope="module")
def episodes() -> Iterator[Episodes]:
    made = Episodes(SETTINGS)
    yield made
    made.close()


@pytest.fixture(scope="module")
def scripts() -> list[Script]:
    """What the scripted policy does; all but the place; a bad call; nothing but an answer."""
    plain = Episodes(SETTINGS | {"protocol": "spacetools"})
    with plain.open(ROW) as session:
        policy = ScriptedPolicy()
        while not session.done:
            session.say(policy.respond(session.messages()))
        calls: Script = [(call.name, dict(call.arguments)) for t in session.episode.turns for call in t.parsed.calls]
        answer = session.episode.answer
    bad = [calls[0], ("robot.capture_image", {"zoom": 2}), ("robot.fly", {}), "Done."]
    held = calls[: 1 + [name for name, _ in calls].index("robot.execute_grasp")]
    return [[*calls, answer], [*held, "I give up."], bad, ["No."]]


@pytest.fixture(scope="module")
def expected(episodes: Episodes, scripts: list[Script]) -> list[float]:
    """The same replies to plain sessions."""
    totals = []
    for script in scripts:
        with episodes.open(ROW) as session:
            for reply in script:
                session.say(reply) if isinstance(reply, str) else session.call(*reply)
            totals.append(session.score().total)
    assert len(set(totals)) > 2, "these rollouts must differ"
    return totals


def model_step(script: Script, heard: list[Any]) -> Any:
    """A model that says what is in a script."""
    left = list(script)

    def step(messages: Any, tools: Any, sampling: Any) -> ModelStepResult:
        heard.append([messages[-1], tools])
        reply = left.pop(0)
        if isinstance(reply, str):
            return ModelStepResult(LLMResponse(content=reply, tool_calls=[]), [1], [2], [-0.5])
        name, arguments = reply
        call = ToolCall(id=f"call{len(left)}", name=name.replace(".", "__"), args=arguments)
        return ModelStepResult(LLMResponse(content="", tool_calls=[call]), [1], [2], [-0.5])

    return step


@pytest.fixture(scope="module")
def address(episodes: Episodes) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = server_of(episodes, port, at_once=2)
    assert server.config.host == "127.0.0.1", "on this machine alone"
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.01)
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join()


@contextlib.contextmanager
def client_of(address: str) -> Iterator[Any]:
    with EpisodeClient(base_url=address, message_timeout_s=300.0).sync() as client:
        yield client


def test_a_harness_gets_the_same_rewards_for_the_same_replies(
    episodes: Episodes, scripts: list[Script], expected: list[float]
) -> None:
    waiting = iter(scripts)
    rollout = build_harness_rollout_func(
        session_factory=EpisodeSessions(episodes),
        harness_adapter=MCPHarnessAdapter(),
        model_step_builder=lambda trainer, session: model_step(next(waiting), []),
        limits=type(
            "Limits",
            (),
            {"max_turns": 30, "sampling": {}, "max_tool_calls_per_turn": None, "max_total_tool_calls": None},
        )(),
    )
    made = rollout([ROW] * len(scripts), None)
    assert made["env_reward"] == pytest.approx(expected)
    assert [metrics["success"] for metrics in made["verify_metrics"]] == [1.0, 0.0, 0.0, 0.0]
    assert made["verify_metrics"][0]["relation_true"] == 1.0


def test_a_session_shows_images_and_says_what_went_wrong(episodes: Episodes) -> None:
    session = EpisodeSessions(episodes).create(ROW, seed=3)
    assert [message["role"] for message in session.initial_messages()] == ["system", "user"]
    names = [tool.name for tool in session.list_tools()]
    assert "robot__capture_image" in names
    looked = session.call_tool("robot__capture_image", {})
    head, _, data = looked.metadata["images"][0].partition(",")
    assert head == "data:image/png;base64"
    assert Image.open(io.BytesIO(base64.b64decode(data))).size == (160, 120)
    assert "<image 0>" in looked.data
    wrong = session.call_tool("robot__fly", {})
    assert wrong.metadata["error_code"] == ErrorCode.UNKNOWN_TOOL
    assert wrong.error is not None
    assert "robot.fly" in wrong.error
    answer = SessionMCPBridge(session).handle_request(
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "reset"}}
    )
    assert "Reserved" in answer["error"]["message"]
    session.close()
    with pytest.raises(ToolError, match="is closed"):
        session.call_tool("robot__capture_image", {})


def test_a_broken_rollout_is_unscored(episodes: Episodes) -> None:
    session = EpisodeSessions(episodes).create(ROW)
    session.session._sound = False  # as after a call that ran out of its time
    verified = session.verify([{"role": "assistant", "content": "Done."}])
    assert verified.env_reward is None
    assert verified.artifacts["dropped"].startswith("A tool broke")
    session.close()


def test_what_is_no_row_is_refused(episodes: Episodes) -> None:
    with pytest.raises(ToolError, match="is a mapping, not str"):
        EpisodeSessions(episodes).create("pick it up")


def test_a_server_gives_the_same_rewards_for_the_same_replies(
    address: str, scripts: list[Script], expected: list[float]
) -> None:
    rewards = []
    for script in scripts:
        with client_of(address) as client:
            client.reset(**ROW)
            for reply in script:
                result = (
                    client.step(EpisodeAction(turn=reply))
                    if isinstance(reply, str)
                    else client.step(EpisodeAction(tool=reply[0], arguments=reply[1]))
                )
            assert client.state().step_count == len(script)
        assert result.done
        rewards.append(result.reward)
    assert rewards == pytest.approx(expected)
    assert result.observation.success is False


def test_clients_have_episodes_of_their_own_with_images(address: str) -> None:
    with client_of(address) as one, client_of(address) as other:
        begun = one.reset(**ROW)
        other.reset(task=ROW["task"] | {"seed": 4}, seed=3)
        assert len(begun.observation.tools) > 10
        assert [message["role"] for message in begun.observation.messages] == ["system", "user"]
        images = [
            np.asarray(Image.open(io.BytesIO(base64.b64decode(result.observation.messages[0]["image"]))))
            for result in (client.step(EpisodeAction(tool="robot.capture_image")) for client in (one, other))
        ]
        assert images[0].shape == images[1].shape == (120, 160, 3)
        assert (images[0] != images[1]).any(), "each has its own scene"
        refused = one.step(EpisodeAction(tool="robot.fly"))
        assert refused.observation.error_code == "UNKNOWN_TOOL"
        assert not refused.done


def test_misuse_of_a_server_is_told(address: str) -> None:
    with client_of(address) as client:
        with pytest.raises(RuntimeError, match="A row of an episode has"):
            client.reset()
        client.reset(**ROW)
        with pytest.raises(RuntimeError, match="a turn, or a tool"):
            client.step(EpisodeAction())
