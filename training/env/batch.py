"""Many episodes in one process, whose policy answers all of them at once: one batch of a model for each turn.

    sessions = [environment.open(task, seed=7, rollout=k) for k in range(8)]
    results = run_batch(sessions, OneByOne(ScriptedPolicy()))

Episodes end at different turns; the batch becomes smaller. A fault of one is no fault of the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from toolhand.agent_node.episode import Episode
from toolhand.agent_node.policy import Message, Policy, Reply, reply_problem
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.training.env.grading import EpisodeScore
from toolhand.training.env.session import EpisodeSession


class BatchPolicy(Protocol):
    """Decides the next turns of many conversations, each from itself alone."""

    name: str

    def respond_all(self, conversations: Sequence[Sequence[Message]]) -> Sequence[Reply | ToolError]:
        """The next assistant turn of each conversation, in their order; token ids and log-probabilities with each.

        Returns:
            For each a Reply, or the ToolError that ends this one alone.

        Raises:
            ToolError: As of `toolhand.agent_node.policy.Policy`: it ends all of them.
        """


class OneByOne:
    """A policy for single conversations as one for batches.

    Args:
        policy: Asked for one conversation after the other.
    """

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self.name = policy.name

    def respond_all(self, conversations: Sequence[Sequence[Message]]) -> list[Reply | ToolError]:
        """See BatchPolicy."""
        replies: list[Reply | ToolError] = []
        for conversation in conversations:
            try:
                replies.append(self._policy.respond(conversation))
            except ToolError as error:
                replies.append(error.with_traceback(None))
        return replies


@dataclass(frozen=True)
class BatchResult:
    """How one episode of a batch ended.

    Attributes:
        episode: Its record, with the tokens of each turn.
        score: Score of the episode; None after an infrastructure error: it is to be dropped.
        error: That error; None where there is a score.
    """

    episode: Episode
    score: EpisodeScore | None
    error: ToolError | None


def run_batch(sessions: Sequence[EpisodeSession], policy: BatchPolicy) -> list[BatchResult]:
    """Take all episodes to their ends, score and close them.

    Args:
        sessions: Open; each at any turn.
        policy: Answers those that are not over, in the order of `sessions`.

    Returns:
        A result for each session.

    Raises:
        ToolError: INVALID_ARGUMENT for a closed session; nothing has happened.
    """
    for session in sessions:
        session.messages()  # a closed one says so before anything has happened
    under_way = list(sessions)
    try:
        while under_way := [session for session in under_way if not session.done]:
            replies = _replies(policy, [session.messages() for session in under_way])
            for session, reply in zip(under_way, replies, strict=True):
                if isinstance(reply, ToolError):
                    session.abort(reply)
                else:
                    session.say(reply)
        return [_result(session) for session in sessions]
    finally:
        for session in sessions:
            session.close()


def _replies(policy: BatchPolicy, conversations: Sequence[Sequence[Message]]) -> list[Reply | ToolError]:
    """What the policy says; an error for each conversation that it says nothing to."""
    try:
        replies = list(policy.respond_all(conversations))
    except ToolError as error:
        return [error.with_traceback(None)] * len(conversations)
    except Exception as error:
        return [_failed(f"{type(error).__name__}: {error}.")] * len(conversations)
    if len(replies) != len(conversations):
        return [_failed(f"it gave {len(replies)} turns for {len(conversations)} conversations.")] * len(conversations)
    problems = ["" if isinstance(reply, ToolError) else reply_problem(reply) for reply in replies]
    return [_failed(problem) if problem else reply for reply, problem in zip(replies, problems, strict=True)]


def _failed(why: str) -> ToolError:
    return ToolError(ErrorCode.INTERNAL, f"The policy failed: {why}")


def _result(session: EpisodeSession) -> BatchResult:
    try:
        return BatchResult(session.episode, session.score(), None)
    except ToolError as error:
        return BatchResult(session.episode, None, error.with_traceback(None))
