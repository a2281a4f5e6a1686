"""How a rollout ends, the same for every engine: its last words are said, and it is scored or dropped."""

from __future__ import annotations

from typing import Any

from toolhand.agent_node.policies.chat import Completion, ToolNames, canonical
from toolhand.tool_nodes.results import ToolError
from toolhand.training.adapters.episodes import NOT_SCORED, require_sound
from toolhand.training.env.grading import EpisodeScore
from toolhand.training.env.session import EpisodeSession


def say_last(session: EpisodeSession, message: Any) -> None:
    """Let an episode hear the last message of a chat: its answer, or calls that the engine could not read.

    Nothing is said where the episode is over, and where the message is not the policy's, has calls that the engine has
    read, or has no words.

    Args:
        session: Open.
        message: In the form of chat completions; its content is words, or parts with `text`.
    """
    if session.done or message.get("role") != "assistant" or message.get("tool_calls"):
        return
    content = message.get("content") or ""
    words = content if isinstance(content, str) else "\n".join(str(part.get("text", "")) for part in content)
    if words.strip():
        session.say(canonical(Completion(words=words), session.episode.protocol, ToolNames(())))


def terms_of(session: EpisodeSession) -> dict[str, float]:
    """What the reward is made of. Raises ToolError as `EpisodeSession.score`."""
    return {name: float(value) for name, value in session.score().terms.items()}


def counts_of(session: EpisodeSession) -> dict[str, float]:
    """What is worth logging beside the reward: success, calls, failed_calls. Raises as `EpisodeSession.score`."""
    calls = [record for turn in session.episode.turns for record in turn.calls]
    failed = sum(not record.result.ok for record in calls)
    return {"success": float(session.score().truth.success), "calls": float(len(calls)), "failed_calls": float(failed)}


def scored_or_dropped(session: EpisodeSession) -> tuple[EpisodeScore | None, ToolError | None]:
    """The score, or why the rollout is to be dropped. Raises ToolError of a grader that cannot grade such a task."""
    try:
        require_sound(session)
        return session.score(), None
    except ToolError as error:
        if error.code not in NOT_SCORED:
            raise
        return None, error.with_traceback(None)
