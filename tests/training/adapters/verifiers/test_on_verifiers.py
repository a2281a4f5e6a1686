"""Rollouts by verifiers' own harness and tool server, against a model server that follows a script."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
import verifiers.v1 as vf
from verifiers.v1.utils.loaders import load_environment, resolve_env_config

from tests.training.adapters import twenty
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.training.adapters import on_verifiers
from toolhand.training.adapters.episodes import Episodes
from toolhand.training.tasks.kinds import task_document

SETTINGS = {"backend": "mock", "image_size": [320, 240], "turns": 4}
LOOK = ("robot__capture_image", {})
WRONG = ("robot__capture_image", {"nonsense": 1})
ANSWER = "[0.5, 0.5]"


class ScriptedModel:
    """Streams the next turn of a script, a call or words, to each request; keeps what it was asked."""

    def __init__(self) -> None:
        self.turns: list[Any] = []
        self.requests: list[dict[str, Any]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.requests.append(body)
                said = outer.turns.pop(0)
                if isinstance(said, str):
                    delta: dict[str, Any] = {"role": "assistant", "content": said}
                else:
                    call = {"name": said[0], "arguments": json.dumps(said[1])}
                    calls = [{"index": 0, "id": f"call{len(outer.requests):05d}", "type": "function", "function": call}]
                    delta = {"role": "assistant", "tool_calls": calls}
                finish = "stop" if isinstance(said, str) else "tool_calls"
                head = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "tiny"}
                usage = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}
                events = [
                    head | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
                    head | {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]},
                    head | {"choices": [], "usage": usage},
                ]
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.end_headers()
                for event in events:
                    self.wfile.write(f"data: {json.dumps(event)}\n\n".encode())
                self.wfile.write(b"data: [DONE]\n\n")

            def log_message(self, format: str, *args: Any) -> None:
                """Tests are quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    scripted = ScriptedModel()
    yield scripted
    scripted.close()


def environment(**taskset: Any) -> vf.Env:
    given = {"id": "toolhand", "kinds": ["point"], "n": 2, "first": 5, "settings": SETTINGS} | taskset
    return load_environment(resolve_env_config({"taskset": given, "agent": {"runtime": {"type": "subprocess"}}}))


def play(env: vf.Env, model: ScriptedModel, turns: list[Any]) -> vf.Trace:
    async def episode() -> Any:
        client = vf.EvalClientConfig(base_url=model.url, api_key_var="NO_KEY")
        task = next(iter(env.taskset))
        async with env.serving():
            return await env.run_episode(task, vf.ModelContext(model="tiny", client=client))

    model.turns = list(turns)
    return asyncio.run(episode()).traces[0]


def test_the_taskset_is_found_by_its_name_with_a_harness_that_runs_no_code() -> None:
    env = environment()
    tasks = list(env.taskset)
    assert isinstance(env.taskset, on_verifiers.EpisodeTaskset)
    assert [task.data.name for task in tasks] == ["point-5-train", "point-6-train"]
    assert len({task.key for task in tasks}) == 2
    (asked,) = tasks[0].data.prompt
    assert [part.type for part in asked.content] == ["text", "image_url", "text"]
    assert not env._harnesses["agent"].EXECUTES_CODE


def test_a_command_needs_no_episode_for_its_prompt() -> None:
    (task,) = environment(kinds=["pick"], n=1).taskset
    assert isinstance(task.data.prompt[0].content, str)


def test_a_rollout_calls_tools_over_mcp_and_is_worth_what_the_session_says(model: ScriptedModel) -> None:
    trace = play(environment(), model, [LOOK, WRONG, ANSWER])
    assert trace.ok, trace.errors
    with Episodes(SETTINGS | {"protocol": "native"}).open({"task": task_document("point", 5), "seed": 5}) as session:
        session.call("robot.capture_image", {})
        session.call("robot.capture_image", {"nonsense": 1})
        session.say(ANSWER)
        score = session.score()
    assert {name: reward.score for name, reward in trace.rewards.items()} == {"total": pytest.approx(score.total)}
    assert trace.reward == pytest.approx(score.total)
    for name, value in score.terms.items():
        assert trace.metrics[name] == pytest.approx(value)
    assert trace.metrics["calls"] == 2.0
    assert trace.metrics["failed_calls"] == 1.0
    offered = {tool["function"]["name"]: tool["function"]["parameters"] for tool in model.requests[0]["tools"]}
    assert "robot__capture_image" in offered
    assert "anyOf" in offered["roborefer__detect_one"]["properties"]["image_index"]
    shown = model.requests[1]["messages"][-1]
    assert shown["role"] == "tool"
    assert [part["type"] for part in shown["content"]] == ["text", "image_url"]
    assert "<image 1>" in shown["content"][0]["text"]
    assert "INVALID_ARGUMENT" in json.dumps(model.requests[2]["messages"][-1])


def test_twenty_episodes_are_worth_what_they_are_in_plain_sessions(model: ScriptedModel) -> None:
    found = []
    for one in twenty.TWENTY:
        turns = [reply if isinstance(reply, str) else (reply[0].replace(".", "__"), reply[1]) for reply in one.replies]
        trace = play(environment(n=1, first=one.seed), model, turns)
        assert trace.ok, trace.errors
        found.append(trace.reward)
    assert found == pytest.approx([one.reward for one in twenty.TWENTY], abs=twenty.SAME)


@pytest.mark.parametrize("code", [ErrorCode.UNAVAILABLE, ErrorCode.INTERNAL])
def test_a_rollout_that_has_no_score_fails_and_has_no_reward(
    model: ScriptedModel, monkeypatch: pytest.MonkeyPatch, code: ErrorCode
) -> None:
    def broken(self: Any) -> Any:
        raise ToolError(code, "The simulator is gone.")

    monkeypatch.setattr("toolhand.training.env.session.EpisodeSession.score", broken)
    trace = play(environment(), model, [ANSWER])
    assert not trace.ok
    assert "The simulator is gone." in trace.errors[-1].message
    assert trace.rewards == {}
    assert on_verifiers.EpisodeServer.of_this_process().session(trace.id) is None


def test_an_episode_whose_turns_are_used_up_stops_the_rollout(model: ScriptedModel) -> None:
    trace = play(environment(settings=SETTINGS | {"turns": 1}), model, [LOOK, LOOK, ANSWER])
    assert trace.ok, trace.errors
    assert trace.metrics["calls"] == 1.0
    assert len(model.requests) == 1


def test_calls_come_in_only_with_the_key() -> None:
    door = on_verifiers.EpisodeServer.of_this_process()
    host, port, _ = door.address
    with pytest.raises(Exception, match="digest"):
        on_verifiers.call_through((host, port, "00" * 32), "x", "robot.capture_image", {})
    assert "over" in on_verifiers.call_through(door.address, "nobody", "robot.capture_image", {})["words"]


@pytest.mark.parametrize("taskset", [{"kinds": ["no such"]}, {"recipe": "nobody's"}, {"settings": {"colour": "red"}}])
def test_what_there_is_not_is_refused(taskset: dict[str, Any]) -> None:
    refused: Callable[[], Any] = lambda: list(environment(**taskset).taskset)  # noqa: E731
    with pytest.raises(ToolError) as error:
        refused()
    assert error.value.code is ErrorCode.INVALID_ARGUMENT
