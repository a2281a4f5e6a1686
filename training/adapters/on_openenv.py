"""The environment as OpenEnv takes it, in process and served; this needs OpenEnv (docs/guides/train_with_engines.md).

In process, for a harness that owns the loop, or the `rollout_func` of a trainer:

    sessions = EpisodeSessions(Episodes({"protocol": "native"}))
    session = sessions.create({"task": task_document("pick", 7)}, seed=7)

Served, one episode for each WebSocket, on this machine alone, since its tools run code that a model wrote:

    server_of(Episodes(), port=8000).run()
    with EpisodeClient(base_url="http://127.0.0.1:8000").sync() as client:
        client.reset(task=task_document("pick", 7), seed=7)
        client.step(EpisodeAction(tool="robot.capture_image"))
        client.step(EpisodeAction(turn="<answer>It cannot be done.</answer>")).reward

An infrastructure error is no reward: it is None, which OpenEnv calls unscored, and `dropped` names the error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from toolhand.agent_node.policies.chat import ImageParts, ToolNames
from toolhand.agent_node.policy import Message
from toolhand.tool_nodes.files import MIB
from toolhand.tool_nodes.results import ToolError, invalid
from toolhand.training.adapters.endings import say_last, scored_or_dropped
from toolhand.training.adapters.environments import require_engine
from toolhand.training.adapters.episodes import NOT_SCORED, Episodes, words_of
from toolhand.training.adapters.loopback_gate import LoopbackGate
from toolhand.training.env.session import EpisodeSession

with require_engine("openenv"):
    import uvicorn
    from openenv.core.client_types import StepResult
    from openenv.core.env_client import EnvClient
    from openenv.core.env_server.http_server import create_app
    from openenv.core.env_server.interfaces import Environment as ServedEnvironment
    from openenv.core.env_server.mcp_types import Tool
    from openenv.core.env_server.types import Action, Observation, State
    from openenv.core.harness import ResourceSession, ResourceSessionFactory, ToolResult, VerifyResult
    from openenv.core.harness.rollout import RESERVED_TOOL_NAMES
    from pydantic import Field

HOST = "127.0.0.1"
"""Where a server listens: on this machine alone."""

MOST_BYTES = 4 * MIB
"""Longest message of a client [bytes], far above a turn."""

MOST_AT_ONCE = 8
"""Episodes of a server at once, by default; a simulated station takes about 40 MB."""


class EpisodeResource(ResourceSession):
    """One rollout of a harness. Dots in names of tools are `__`, as model servers ask for.

    Args:
        session: Just opened; closed with this.
    """

    def __init__(self, session: EpisodeSession) -> None:
        self.session = session
        self._names = ToolNames(session.tools())
        self._images = ImageParts("png")

    def initial_messages(self) -> list[dict[str, Any]]:
        """The prompt in the form of chat completions; images are data URLs."""
        return [{"role": message.role, "content": self._content(message)} for message in self.session.messages()]

    def list_tools(self) -> list[Tool]:
        """The tools with their schemas."""
        functions = [schema["function"] for schema in self._names.schemas(self.session.tools())]
        return [Tool(name=f["name"], description=f["description"], input_schema=f["parameters"]) for f in functions]

    def call_tool(self, name: str, arguments: dict[str, Any]) -> ToolResult:
        """Call a tool; what a model got wrong is in the answer.

        Returns:
            `data`: the tool's words. `metadata`: `error_code`, and `images` as data URLs. `error`: the words again,
            where the call failed.

        Raises:
            KeyError: For the names that OpenEnv keeps for itself.
            ToolError: INVALID_ARGUMENT for arguments that are not JSON values, and after the end.
        """
        if name in RESERVED_TOOL_NAMES:
            raise KeyError(f"Reserved orchestration tool: {name}")
        result = self.session.call(self._names.ours(name), arguments)
        words, code = words_of(result), result.error_code
        metadata = {
            "error_code": None if code is None else str(code),
            "images": [self._url(image) for image in result.images],
        }
        return ToolResult(words, result.done, metadata, None if code is None else words)

    def verify(self, transcript: list[dict[str, Any]], final_state: Any | None = None) -> VerifyResult:
        """Score the episode. The transcript's last message is the answer, where it is the policy's and calls nothing.

        Returns:
            `env_reward`: the total; None where the rollout is to be dropped. `metrics`: its terms, and `success`.
            `artifacts`: `reasons` and `stages`; the error of a dropped one.
        """
        say_last(self.session, transcript[-1] if transcript else {})
        score, error = scored_or_dropped(self.session)
        if score is None:
            return VerifyResult(None, True, {}, {"dropped": str(error)})
        stages = {name: stage.first_at_s for name, stage in score.stages.items() if stage}
        metrics = {**score.terms, "success": float(score.truth.success)}
        return VerifyResult(float(score.total), True, metrics, {"reasons": list(score.truth.reasons), "stages": stages})

    def close(self) -> None:
        """Give the station back."""
        self.session.close()

    def _content(self, message: Message) -> str | list[dict[str, Any]]:
        if message.image is None:
            return message.text
        image = {"type": "image_url", "image_url": {"url": self._url(message.image)}}
        return [image, {"type": "text", "text": message.text}]

    def _url(self, image: Any) -> str:
        return f"data:image/png;base64,{self._images.base64(image)}"


class EpisodeSessions(ResourceSessionFactory[EpisodeResource]):
    """Opens rollouts.

    Args:
        episodes: Source of the rows.
    """

    def __init__(self, episodes: Episodes) -> None:
        self._episodes = episodes

    def create(self, task: Any, seed: int | None = None, episode_id: str | None = None) -> EpisodeResource:
        """Open one.

        Args:
            task: A row as of `Episodes.open`, also with `rollout`, which of its group it is.
            seed: Instead of the row's.
            episode_id: Not needed.

        Raises:
            ToolError: INVALID_ARGUMENT for what is no row; those of `Environment.open`.
        """
        return EpisodeResource(opened(self._episodes, task, seed))


class EpisodeAction(Action):
    """One of: a whole turn in the protocol's form (in `native`, plain words are the answer), or a call of one tool."""

    turn: str = Field(default="", description="A whole assistant turn.")
    tool: str = Field(default="", description="Name of the tool to call.")
    arguments: dict[str, Any] = Field(default_factory=dict, description="Of the call, by name.")


class EpisodeObservation(Observation):
    """What the policy reads because of its turn; the whole prompt at first. The reward comes at the end."""

    messages: list[dict[str, Any]] = Field(default_factory=list, description="role, text, and picture: PNG in base64.")
    tools: list[dict[str, Any]] = Field(default_factory=list, description="Schemas of the tools; at first alone.")
    error_code: str | None = Field(default=None, description="Of the first call that failed.")
    terms: dict[str, float] = Field(default_factory=dict, description="What the reward is made of; at the end.")
    success: bool | None = Field(default=None, description="What was asked for is done; at the end.")
    dropped: str = Field(default="", description="The error of a rollout that has no reward and is to be left out.")


class EpisodeEnvironment(ServedEnvironment[EpisodeAction, EpisodeObservation, State]):
    """One episode at a time; a server makes one of these for each WebSocket.

    Args:
        episodes: Shared by all of a server.
    """

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, episodes: Episodes) -> None:
        super().__init__()
        self._episodes = episodes
        self._session: EpisodeSession | None = None
        self._images = ImageParts("png")
        self._state = State()

    def reset(self, seed: int | None = None, episode_id: str | None = None, **row: Any) -> EpisodeObservation:
        """Begin the episode of a row, `task` and so on; see `Episodes.open`.

        Raises:
            ToolError: INVALID_ARGUMENT for a row that names no task that can be done there.
        """
        self.close()
        self._state = State(episode_id=episode_id, step_count=0)
        try:
            self._session = opened(self._episodes, row, seed)
        except ToolError as error:
            if error.code not in NOT_SCORED:
                raise
            return EpisodeObservation(done=True, dropped=str(error))
        return EpisodeObservation(messages=self._plain(self._session.messages()), tools=self._session.tools())

    def step(self, action: EpisodeAction, timeout_s: float | None = None, **_: Any) -> EpisodeObservation:
        """Take a turn.

        Raises:
            ToolError: INVALID_ARGUMENT before a reset, after the end, and for an action with both a turn and a call.
        """
        session = self._session
        if session is None:
            raise invalid("The environment has no episode.", "Reset it first.")
        if bool(action.turn) == bool(action.tool):
            raise invalid("An action has a turn, or a tool with its arguments.")
        result = session.call(action.tool, action.arguments) if action.tool else session.say(action.turn)
        self._state.step_count += 1
        code = None if result.error_code is None else str(result.error_code)
        seen = {"messages": self._plain(result.messages), "error_code": code}
        if not result.done:
            return EpisodeObservation(**seen)
        score, error = scored_or_dropped(session)
        if score is None:
            return EpisodeObservation(**seen, done=True, dropped=str(error))
        return EpisodeObservation(
            **seen, done=True, reward=float(score.total), terms=dict(score.terms), success=score.truth.success
        )

    @property
    def state(self) -> State:
        """The episode's name, and how many turns were taken."""
        return self._state

    def close(self) -> None:
        """Give the station back."""
        if self._session is not None:
            self._session.close()
        self._session = None

    def _plain(self, messages: Sequence[Message]) -> list[dict[str, Any]]:
        return [
            {
                "role": message.role,
                "text": message.text,
                "image": None if message.image is None else self._images.base64(message.image),
            }
            for message in messages
        ]


class EpisodeClient(EnvClient[EpisodeAction, EpisodeObservation, State]):
    """Speaks to a server of `server_of`."""

    def _step_payload(self, action: EpisodeAction) -> dict[str, Any]:
        payload: dict[str, Any] = action.model_dump()
        return payload

    def _parse_result(self, payload: dict[str, Any]) -> StepResult[EpisodeObservation]:
        reward, done = payload.get("reward"), bool(payload.get("done"))
        observation = EpisodeObservation(**payload.get("observation", {}) | {"reward": reward, "done": done})
        return StepResult(observation=observation, reward=reward, done=done)

    def _parse_state(self, payload: dict[str, Any]) -> State:
        return State(**payload)


def server_of(episodes: Episodes, port: int, at_once: int = MOST_AT_ONCE) -> uvicorn.Server:
    """A server of episodes on this machine alone; `run()` serves until Ctrl-C.

    Args:
        episodes: Source of the rows that clients name.
        port: 0 for one that is free.
        at_once: Episodes at the same time, 1 or more.
    """
    app = create_app(
        lambda: EpisodeEnvironment(episodes),
        EpisodeAction,
        EpisodeObservation,
        env_name="toolhand",
        max_concurrent_envs=at_once,
    )
    gate = LoopbackGate(app)
    return uvicorn.Server(uvicorn.Config(gate, host=HOST, port=port, log_level="warning", ws_max_size=MOST_BYTES))


def opened(episodes: Episodes, row: Any, seed: int | None) -> EpisodeSession:
    """The episode of a row, with another seed where one is given. Raises ToolError as `Episodes.open`."""
    if not isinstance(row, Mapping):
        raise invalid(f"A row of an episode is a mapping, not {type(row).__name__}.")
    row = dict(row) if seed is None else {**row, "seed": seed}
    rollout = row.get("rollout", 0)
    if type(rollout) is not int or not 0 <= rollout < 2**31:
        raise invalid("A row's rollout is a whole number, 0 or more.")
    return episodes.open(row, rollout)
