"""What has come of an utterance while it is carried out."""

from __future__ import annotations

from dataclasses import dataclass, field

from toolhand.agent_node.episode import Episode
from toolhand.tool_nodes.results import ErrorCode


@dataclass
class TurnSoFar:
    """What has come of an utterance while it is carried out.

    Attributes:
        answers: Sentences for the operator, in order.
        episodes: Episodes so far, in order.
        code: Code of the first object that went wrong; None where nothing did, or it has no code.
        failed: Something went wrong.
        lifted: Object that was picked up for the skill that comes next; empty for none.
    """

    answers: list[str] = field(default_factory=list)
    episodes: list[Episode] = field(default_factory=list)
    code: ErrorCode | None = None
    failed: bool = False
    lifted: str = ""

    def fail(self, code: ErrorCode | None, answer: str) -> None:
        """Note what went wrong first."""
        self.answers.append(answer)
        self.code = self.code if self.failed else code
        self.failed = True
