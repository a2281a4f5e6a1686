"""One episode by its verbs, for engines that own the loop.

    with environment.open(task, seed=7) as session:
        session.messages()                                   # what the policy reads first, images included
        session.call("robot.capture_image", {}).text         # an engine that parses calls itself
        session.say("<answer>Done.</answer>").done           # an engine that hands over whole turns
        session.score().total

Every engine's interface is a thin view of these verbs:

| engine | open | act | score | close |
|---|---|---|---|---|
| here | `open`, `messages`, `tools` | `call`, `say` | `score` | `close` |
| OpenEnv `ResourceSession` | `create`, `initial_messages`, `list_tools` | `call_tool`: `call` | `verify` | `close` |
| TRL `environment_factory` | `reset(**row)` | a method for each tool: `call` | `get_reward`: `score().total` | - |
| verl `BaseTool` | `create` | `execute`: `call` | `calc_reward`: `score().total` | `release` |
| verl `AgentLoopBase` | `run` | `say(Reply(text, token_ids=...))` | `reward_score`: `score().total` | end of `run` |
| verifiers `Task` | `setup` | `@vf.tool`: `call` | `@vf.reward`: `score().terms[name]` | `finalize` |
| Gymnasium | `reset(seed=)` | `step(text)`: `say` | `reward`: `score().total` | `close` |
| skyrl-gym | `init(prompt)` | `step(action)`: `say` | `reward`: `score().total` | `close` |
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toolhand.agent_node.calls import ToolCall
from toolhand.agent_node.conversation import Conversation
from toolhand.agent_node.episode import Episode, Turn
from toolhand.agent_node.policies.chat import Completion, ToolNames, canonical
from toolhand.agent_node.policy import Message, Reply
from toolhand.agent_node.protocol import Protocol
from toolhand.sim.snapshot import Snapshot
from toolhand.sim.station import StationState
from toolhand.sim.tasks.task import Task
from toolhand.tool_nodes.results import INFRASTRUCTURE_ERRORS, ErrorCode, ToolError, invalid, unavailable
from toolhand.tool_nodes.toolbox.toolbox import Tools
from toolhand.training.env.backends import StationLease
from toolhand.training.env.failures import ran_out_of_time
from toolhand.training.env.grading import EpisodeScore, Grader


@dataclass(frozen=True, eq=False)
class TurnResult:
    """What one assistant turn brought.

    Attributes:
        messages: Messages that the policy reads because of it: one for each call; none after an answer.
        error_code: Error code of the first call that failed, or INVALID_ARGUMENT for a turn that could not be read;
            None where all went well.
        done: The episode is over.
    """

    messages: tuple[Message, ...]
    error_code: ErrorCode | None
    done: bool

    @property
    def text(self) -> str:
        """The words, without protocol markup."""
        return "\n".join(message.words for message in self.messages)

    @property
    def images(self) -> tuple[NDArray[np.uint8], ...]:
        """The images that came with them, uint8 RGB (H, W, 3) each."""
        return tuple(message.image for message in self.messages if message.image is not None)

    @property
    def image(self) -> NDArray[np.uint8] | None:
        """The last of them, or None."""
        return self.images[-1] if self.images else None


@dataclass(frozen=True)
class ScoredEpisode:
    """An episode that is over, with all that its record has of the session.

    Attributes:
        episode: The complete conversation.
        score: Reward and truth.
        tools: Schemas of the tools that were offered.
        seed, rollout: Seed and rollout number that it was opened with.
        turn_ends_s: For each turn the simulated time when its calls were over [s], see EpisodeSession.
    """

    episode: Episode
    score: EpisodeScore
    tools: Sequence[Mapping[str, Any]]
    seed: int
    rollout: int
    turn_ends_s: tuple[float | None, ...]


@dataclass(frozen=True)
class SavedEpisode:
    """An episode so far, with the station that it is at; any number of sessions can go on from it.

    Attributes:
        station: The physics, the cameras and what the robot knows; this part can be pickled.
        before: The objects before the robot moved.
        turn_ends_s: End of each turn so far, see EpisodeSession [s].
    """

    station: StationState
    conversation: Conversation
    task: Task
    before: Snapshot
    turn_ends_s: tuple[float | None, ...] = ()


class EpisodeSession:
    """One episode; made by `Environment.open`. Verbs come one after the other, from any thread.

    An infrastructure error (UNAVAILABLE or INTERNAL: a backend that is gone, a crash inside, physics that broke) is
    never a score: `score` raises it, and the episode is to be dropped. After `close` every verb raises
    INVALID_ARGUMENT; `episode` stays.

    Args:
        conversation: Just begun, or restored.
        grader: Makes the total.
        turn_ends_s: Ends of the turns that a restored conversation has already [s].

    Attributes:
        seed, rollout: Seed and rollout number that it was opened with.
        turn_ends_s: For each turn the simulated time since the beginning when its calls were over [s], which tells in
            which turn a stage was reached; None where the station did not say.

    Raises:
        ToolError: The error that ended the conversation where it was over before its first turn.
    """

    def __init__(
        self,
        task: Task,
        conversation: Conversation,
        tools: Tools,
        lease: StationLease,
        grader: Grader,
        seed: int = 0,
        rollout: int = 0,
        turn_ends_s: tuple[float | None, ...] = (),
    ) -> None:
        self.task, self.seed, self.rollout = task, seed, rollout
        self.turn_ends_s = turn_ends_s
        self._conversation, self._tools, self._lease, self._grader = conversation, tools, lease, grader
        self._sound, self._closed = True, False
        self._score: EpisodeScore | ToolError | None = None
        episode = conversation.episode
        if conversation.done and not episode.turns:
            raise ToolError(episode.error_code or ErrorCode.INTERNAL, episode.answer)

    @property
    def episode(self) -> Episode:
        """The record so far; complete when it is done."""
        return self._conversation.episode

    @property
    def done(self) -> bool:
        """The episode is over: answered, failed, stopped or scored."""
        return self._conversation.done

    @property
    def healthy(self) -> bool:
        """The station can still be trusted: no call ran out of its time, and nothing broke."""
        return self._sound

    def messages(self) -> tuple[Message, ...]:
        """The whole conversation, with images, as the policy reads it next."""
        return self._open().messages

    def tools(self) -> list[dict[str, Any]]:
        """JSON schemas of the tools, sorted by name, in the function-calling form of chat templates."""
        self._open()
        return self._tools.schemas()

    def call(self, name: str, arguments: Mapping[str, Any]) -> TurnResult:
        """Call one tool. The record has it as a whole turn in the protocol's form, as if the policy had said it.

        What a model may have got wrong (an unknown tool, bad arguments) comes back as `error_code` and `text`.

        Args:
            arguments: By name; JSON values.

        Raises:
            ToolError: INVALID_ARGUMENT for arguments that are not JSON values, and after the end; nothing has happened.
        """
        protocol = self._open().episode.protocol
        try:
            json.dumps(arguments)
        except (TypeError, ValueError, RecursionError) as error:
            raise invalid(f"The arguments of a call are JSON values by name: {error}.") from error
        return self.say(protocol.render_turn("", (ToolCall(str(name), arguments),)))

    def say(self, turn: str | Reply) -> TurnResult:
        """Say one whole assistant turn: calls, or the answer, in the protocol's form.

        In the protocol `native` words without any markup are the answer, as with a server that parses calls itself.

        Args:
            turn: The policy's turn after `messages()`; a Reply brings the token ids and log-probabilities along.

        Raises:
            ToolError: INVALID_ARGUMENT for what is no turn, and after the end; nothing has happened.
        """
        conversation = self._open()
        reply = Reply(turn) if isinstance(turn, str) else turn
        if isinstance(reply, Reply) and isinstance(reply.text, str):
            reply = _marked_up(reply, conversation.episode.protocol)
        before = len(conversation.messages)
        taken = conversation.step(reply)
        broken = conversation.episode.error_code in INFRASTRUCTURE_ERRORS or any(map(ran_out_of_time, taken.calls))
        self._sound = self._sound and not broken
        self.turn_ends_s = (*self.turn_ends_s, self._time_after(taken))
        return TurnResult(conversation.messages[before + 1 :], taken.error_code, conversation.done)

    def _time_after(self, turn: Turn) -> float | None:
        """Simulated time when a turn is over [s]; a station is asked only where the turn let time pass."""
        if not any(record.motion for record in turn.calls):
            return self.turn_ends_s[-1] if self.turn_ends_s else 0.0
        try:
            return self._lease.judge.sim_time_s
        except ToolError:  # such as a simulator in another process that is gone: the score will say so
            return None

    def abort(self, error: ToolError) -> None:
        """End the episode because no turn will come, e.g. since the policy cannot be reached; no fault of the station.

        Raises:
            ToolError: INVALID_ARGUMENT after the end.
        """
        self._open().abort(error)

    def score(self) -> EpisodeScore:
        """What came of it; an episode that is not over ends with TURN_BUDGET. Asked again, it says the same.

        Raises:
            ToolError: UNAVAILABLE or INTERNAL, each time: the episode has no score and is to be dropped. That of a
                grader that cannot grade such a task.
        """
        conversation = self._open()
        if self._score is None:
            if not conversation.done:
                turns = len(conversation.episode.turns)
                conversation.abort(ToolError(ErrorCode.TURN_BUDGET, f"Ended after {turns} turns, without an answer."))
            try:
                self._score = self._judged()
            except ToolError as error:
                self._score = error.with_traceback(None)
        if isinstance(self._score, ToolError):
            failure = self._score
            raise ToolError(failure.code, failure.message, failure.hint, failure.backend)
        return self._score

    def _judged(self) -> EpisodeScore:
        episode = self.episode
        if episode.error_code in INFRASTRUCTURE_ERRORS:
            raise ToolError(episode.error_code, f"The episode has no score: {episode.answer}")
        try:
            truth = self._lease.judge.score(self.task, episode)
        except ToolError:
            self._sound = False
            raise
        return self._grader(self.task, episode, truth)

    def scored(self) -> ScoredEpisode:
        """The whole episode with its score, which outlives the session. Raises as `score`."""
        score = self.score()
        return ScoredEpisode(self.episode, score, self.tools(), self.seed, self.rollout, self.turn_ends_s)

    def object_ids_at(self, image_index: int, points: Sequence[tuple[float, float]]) -> tuple[str, ...] | None:
        """What points of an image truly lie on, for measuring; never shown to a policy.

        Args:
            image_index: Index of one of the conversation's images.
            points: Normalized (x, y) of it, from the top left.

        Returns:
            For each point the id of an object, or ""; None where unknown, as of a crop or a drawing.
        """
        self._open()
        images = self.episode.session.images
        image = images[image_index] if 0 <= image_index < len(images) else None
        if image is None or image.frame is None:
            return None
        in_frame = [(float(x), float(y)) for x, y in image.to_frame(points)]
        if not all(0.0 <= value <= 1.0 for point in in_frame for value in point):
            return None
        return self._lease.object_ids_at(image.frame, in_frame)

    def save(self) -> SavedEpisode:
        """The episode so far, between two turns: a whole group can start from it.

        Raises:
            ToolError: UNAVAILABLE where a call ran out of its time or something broke: what has not ended may still
                change the station. INVALID_ARGUMENT where it is not one of the physics in this process.
        """
        conversation = self._open()
        if not self._sound:
            raise unavailable("A call ran out of its time or broke: this station can no longer be saved.")
        return SavedEpisode(
            self._lease.save(), conversation.fork(), self.task, self._lease.judge.before, self.turn_ends_s
        )

    def close(self) -> None:
        """Give the station back. More than once is once."""
        if not self._closed:
            self._closed = True
            self._lease.release(self._sound)

    def __enter__(self) -> EpisodeSession:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _open(self) -> Conversation:
        if self._closed:
            raise invalid("The session is closed.", "Open another one.")
        return self._conversation


def _marked_up(reply: Reply, protocol: Protocol) -> Reply:
    """In `native`, a turn of plain words as the answer that it is."""
    tags = (protocol.call, protocol.answer)
    if protocol.tools != "none" or any(f"<{tag}>" in reply.text for tag in tags):
        return reply
    return replace(reply, text=canonical(Completion(words=reply.text), protocol, ToolNames(())))
