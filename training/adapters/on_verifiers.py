"""Tasks and tools in verifiers 0.4; importing this needs verifiers. Its name there is `toolhand`:

    vf-eval toolhand --env.taskset.kinds '["pick"]' --env.taskset.settings '{"backend": "physics"}' -m MODEL -b URL

    prompt ──> harness ──> model          tools travel over MCP: one server a worker, which passes each call on to
                 │ MCP                    the worker, where the episodes and their stations are
             EpisodeToolset ──> EpisodeServer ──> EpisodeSession ──> rewards, metrics

The policy calls tools in its server's own form, so the protocol is `native`; words without a call are the answer. A
rollout that has no score, since a tool broke or ran out of its time, raises while it is scored: verifiers then marks
its trace as failed and records no reward.

verifiers gives the rollouts of a task no number, so failures on purpose are drawn from the name of the trace: they
differ within a group, and from run to run.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import secrets
import threading
from collections.abc import Iterator, Mapping, Sequence
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection, Listener, answer_challenge, deliver_challenge
from typing import Any

from toolhand.agent_node.policies.chat import ImageParts, ToolNames, native_turns
from toolhand.agent_node.policy import Message
from toolhand.agent_node.protocol import load_protocol
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.training.adapters.endings import counts_of, say_last, terms_of
from toolhand.training.adapters.environments import require_engine
from toolhand.training.adapters.episodes import require_sound, shared_episodes, words_of
from toolhand.training.env.session import EpisodeSession
from toolhand.training.rollouts.plan import tasks_of, tasks_of_recipe
from toolhand.training.tasks.kinds import task_from_document
from toolhand.training.tasks.shown import ShownTask

with require_engine("verifiers"):
    import verifiers.v1 as vf
    from mcp.server.mcpserver import MCPServer
    from mcp.types import CallToolResult, ImageContent, TextContent, Tool
    from pydantic import Field
    from verifiers.v1.harnesses.null import NullHarness

NATIVE = "native"
"""The protocol: the model's server is given the tools, and parses its calls."""


class EpisodeState(vf.State):
    """What a rollout's hooks and the tool server share.

    Attributes:
        door: Where the worker answers calls: host, port, key in hexadecimal digits.
        tools: Schemas of the tools, in the function-calling form, by names that servers allow.
        score: Result: total, terms, success, calls, failed_calls; None before the end.
    """

    door: tuple[str, int, str] = ("", 0, "")
    episode: str = ""
    tools: list[dict[str, Any]] = Field(default_factory=list)
    score: dict[str, Any] | None = None


class EpisodeData(vf.TaskData):
    """A task as verifiers carries it: its document, the seed of the station, and the settings of `Episodes`."""

    document: dict[str, Any]
    seed: int
    settings: dict[str, Any]


class EpisodesConfig(vf.TasksetConfig):
    """Which tasks, and where they happen."""

    recipe: str = ""
    """Whose tasks and reward, where it is given: dirl, peria, evic or last."""
    kinds: list[str] = Field(default_factory=lambda: ["pick"])
    """Kinds of tasks, in turn, where no recipe is given."""
    n: int = Field(64, ge=1)
    """How many tasks."""
    first: int = Field(0, ge=0)
    """Seed of the first task; each has the next one."""
    split: str = "train"
    """train, validation or test."""
    settings: dict[str, Any] = Field(default_factory=dict)
    """Of `toolhand.training.adapters.episodes.Episodes`; the protocol is native."""
    tools: vf.SharedToolsetConfig = vf.SharedToolsetConfig()
    """Where the tool server runs; on this machine."""


class EpisodeTask(vf.Task[EpisodeData, EpisodeState, vf.TaskConfig]):
    """One episode, from `setup` to its rewards."""

    @property
    def key(self) -> str:
        """The task, its seed and the settings."""
        return str(vf_key(self.data.document, self.data.seed, self.data.settings))

    async def setup(self, trace: vf.Trace, runtime: vf.Runtime) -> None:
        """Open the episode, and the door for its calls."""
        rollout = int(hashlib.sha256(trace.id.encode()).hexdigest()[:7], 16)
        row = {"task": self.data.document, "seed": self.data.seed}
        session = await asyncio.to_thread(shared_episodes(self.data.settings).open, row, rollout)
        door = EpisodeServer.of_this_process()
        door.admit(trace, session)
        tools = session.tools()
        trace.state.door, trace.state.episode = door.address, trace.id
        trace.state.tools = ToolNames(tools).schemas(tools)

    @vf.stop
    async def episode_over(self, trace: vf.Trace) -> bool:
        """The turns are used up, or something ended the command."""
        session = EpisodeServer.of_this_process().session(trace.id)
        return session is not None and session.done

    async def finalize(self, trace: vf.Trace, runtime: vf.Runtime) -> None:
        """Say the answer, and score the episode.

        Raises:
            ToolError: UNAVAILABLE or INTERNAL: the rollout is to be dropped; no reward is recorded.
        """
        door = EpisodeServer.of_this_process()
        session = door.session(trace.id)
        if session is None:
            raise ToolError(ErrorCode.INTERNAL, "The rollout has no episode.")
        try:
            trace.state.score = await asyncio.to_thread(_scored, session, trace.last_reply)
        finally:
            door.dismiss(trace.id)

    @vf.reward(weight=1.0)
    async def total(self, trace: vf.Trace) -> float:
        """What the grader makes of the episode."""
        return float(_score_of(trace)["total"])

    @vf.metric
    async def episode(self, trace: vf.Trace) -> dict[str, float]:
        """The terms of the reward, true success, calls, and calls that failed."""
        score = _score_of(trace)
        return {**score["terms"], **{name: score[name] for name in ("success", "calls", "failed_calls")}}


class EpisodeTaskset(vf.Taskset[EpisodeTask, EpisodesConfig]):
    """Tasks by kind or by recipe."""

    @classmethod
    def toolsets(cls, config: EpisodesConfig) -> list[vf.Toolset]:
        """One tool server for all rollouts of a worker."""
        return [EpisodeToolset(config.tools)]

    def load(self) -> Iterator[EpisodeTask]:
        """The tasks, made one after the other.

        Raises:
            ToolError: INVALID_ARGUMENT for kinds, a recipe or settings that there are not.
        """
        config = self.config
        settings = {"recipe": config.recipe} if config.recipe else {}
        settings = settings | dict(config.settings) | {"protocol": NATIVE}
        shared_episodes(settings)
        documents = (
            tasks_of_recipe(config.recipe, config.n, config.first, config.split)
            if config.recipe
            else tasks_of(config.kinds, config.n, config.first, config.split)
        )
        for document in documents:
            seed = int(document["seed"])
            system, asked = _prompt(document, seed, settings)
            name = f"{document['kind']}-{seed}-{document['split']}"
            data = EpisodeData(
                name=name, prompt=asked, system_prompt=system, document=dict(document), seed=seed, settings=settings
            )
            yield EpisodeTask(data, config.task)


# -- calls ---------------------------------------------------------------------------------------------


class EpisodeServer:
    """Answers the calls of the tool server in the process that has the episodes; a thread for each connection.

    Attributes:
        address: Host, port and key.
    """

    _made: EpisodeServer | None = None
    _making = threading.Lock()

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)
        self._listener = Listener(("127.0.0.1", 0))
        host, port = self._listener.address
        self.address = (str(host), int(port), self._key.hex())
        self._open: dict[str, tuple[vf.Trace, EpisodeSession, threading.Lock]] = {}
        threading.Thread(target=self._welcome, daemon=True).start()

    @classmethod
    def of_this_process(cls) -> EpisodeServer:
        """The one door."""
        with cls._making:
            if cls._made is None:
                cls._made = cls()
            return cls._made

    def admit(self, trace: vf.Trace, session: EpisodeSession) -> None:
        """Take calls for a rollout; episodes whose rollout has failed since are closed."""
        for name in [name for name, (other, _, _) in list(self._open.items()) if other.is_completed]:
            self.dismiss(name)
        self._open[trace.id] = trace, session, threading.Lock()

    def session(self, episode: str) -> EpisodeSession | None:
        """The episode of a rollout, or None."""
        return self._open[episode][1] if episode in self._open else None

    def dismiss(self, episode: str) -> None:
        """Close the episode of a rollout."""
        found = self._open.pop(episode, None)
        if found is not None:
            found[1].close()

    def _welcome(self) -> None:
        while True:
            with contextlib.suppress(OSError):
                threading.Thread(target=self._serve, args=(self._listener.accept(),), daemon=True).start()

    def _serve(self, caller: Connection) -> None:
        with caller, contextlib.suppress(EOFError, OSError, AuthenticationError):  # who has no key is turned away
            deliver_challenge(caller, self._key)
            answer_challenge(caller, self._key)
            while True:
                caller.send_bytes(json.dumps(self._answer(json.loads(caller.recv_bytes()))).encode())

    def _answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        entry = self._open.get(str(request["episode"]))
        if entry is None:
            return {"words": "Not run: the episode is over.", "images": []}
        _, session, one_by_one = entry
        with one_by_one:
            if session.done:
                return {"words": "Not run: the episode is over.", "images": []}
            try:
                name = ToolNames(session.tools()).ours(str(request["tool"]))
                result = session.call(name, request["arguments"])
            except ToolError as error:
                return {"words": f"Error {error.code}: {error}", "images": []}
        return {"words": words_of(result), "images": [ImageParts("png").base64(image) for image in result.images]}


def call_through(door: Sequence[Any], episode: str, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Call a tool of an episode in another process.

    Args:
        door: Host, port and key of its EpisodeServer.

    Returns:
        `words`, and `images` as PNG in base64.
    """
    host, port, key = door
    with Client((str(host), int(port)), authkey=bytes.fromhex(str(key))) as connection:
        connection.send_bytes(json.dumps({"episode": episode, "tool": tool, "arguments": arguments}).encode())
        answer: dict[str, Any] = json.loads(connection.recv_bytes())
        return answer


class EpisodeToolset(vf.Toolset[vf.SharedToolsetConfig, EpisodeState]):
    """The tools of whatever episode a call belongs to, over MCP; which one that is verifiers tells by its state."""

    TOOL_PREFIX = None

    def register(self, mcp: MCPServer) -> None:
        """The toolbox differs from episode to episode, so the server's handlers are replaced instead of its tools."""
        server: Any = mcp
        server.list_tools = self._with_state(self.list_tools)
        server.call_tool = self._with_state(self.call_tool)

    async def list_tools(self) -> list[Tool]:
        """The tools of the episode."""
        functions = [schema["function"] for schema in self.state.tools]
        return [
            Tool(name=each["name"], description=each["description"], input_schema=each["parameters"])
            for each in functions
        ]

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> CallToolResult:
        """Pass a call on to the episode; images come back after the words that name them."""
        state = self.state
        answer = await asyncio.to_thread(call_through, state.door, state.episode, name, dict(arguments or {}))
        content: list[Any] = [TextContent(type="text", text=answer["words"])]
        content += [ImageContent(type="image", data=png, mime_type="image/png") for png in answer["images"]]
        return CallToolResult(content=content)


# -- prompts and scores --------------------------------------------------------------------------------


def vf_key(*parts: Any) -> str:
    """One name for the same parts."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=list).encode()).hexdigest()


def _prompt(document: Mapping[str, Any], seed: int, settings: Mapping[str, Any]) -> tuple[str, list[Any]]:
    """System prompt, and what the operator says; an episode is opened only where an image comes with it."""
    task = task_from_document(document)
    if not isinstance(task, ShownTask):
        form = load_protocol(NATIVE)
        return form.system_prompt(()), [vf.UserMessage(content=form.user_prompt(task.text))]
    with shared_episodes(settings).open({"task": document, "seed": seed}) as session:
        return _as_sent(session.messages())


def _as_sent(conversation: Sequence[Message]) -> tuple[str, list[Any]]:
    system, *asked = native_turns(conversation, load_protocol(NATIVE), ToolNames(()))
    messages = []
    for turn in asked:
        parts: list[Any] = []
        for part in turn.parts:
            if isinstance(part, str):
                parts.append(vf.TextContentPart(text=part))
            else:
                address = "data:image/png;base64," + ImageParts("png").base64(part)
                parts.append(vf.ImageUrlContentPart(image_url=vf.ImageUrlSource(url=address)))
        messages.append(vf.UserMessage(content=parts))
    return system.words, messages


def _scored(session: EpisodeSession, answer: str) -> dict[str, Any]:
    say_last(session, {"role": "assistant", "content": answer})
    require_sound(session)
    return {"total": float(session.score().total), "terms": terms_of(session), **counts_of(session)}


def _score_of(trace: vf.Trace) -> dict[str, Any]:
    score: dict[str, Any] | None = trace.state.score
    if score is None:
        raise ToolError(ErrorCode.INTERNAL, "The rollout has no score.")
    return score


__all__ = ["EpisodeTaskset", "NullHarness"]
"""What verifiers finds: the tasks, and the harness that plays them where none is chosen, which runs no code."""


if __name__ == "__main__":  # verifiers starts the tool server so
    EpisodeToolset.run()
