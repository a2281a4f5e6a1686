"""Twenty episodes, their replies and what these are worth: every engine's adapter must find the same."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from toolhand.agent_node.calls import ToolCall
from toolhand.agent_node.protocol import Protocol
from toolhand.training.adapters.episodes import Episodes
from toolhand.training.tasks.kinds import make_task, task_document

SETTINGS = {"backend": "mock", "image_size": [320, 240], "turns": 4}
"""Of the episodes, beside the protocol."""
SAME = 1e-5
"""Largest difference of two rewards that are the same [-]: the last digit that is noted, and rounding."""
Reply = tuple[str, dict[str, Any]] | str
"""A call, or the answer."""

_LOOK: Reply = ("robot.capture_image", {})
_WRONG: Reply = ("robot.capture_image", {"nonsense": 1})


@dataclass(frozen=True)
class Scripted:
    """An episode.

    Attributes:
        seed: Of its task "point", and of the station.
        replies: What is said in it.
        reward: What it is worth in all.
    """

    seed: int
    replies: tuple[Reply, ...]
    reward: float

    @property
    def row(self) -> dict[str, Any]:
        """As engines are given it."""
        return {"task": task_document("point", self.seed), "seed": self.seed}

    def written(self, protocol: Protocol) -> list[str]:
        """Its replies in the text of a protocol."""
        return [
            protocol.render_turn("", (), reply)
            if isinstance(reply, str)
            else protocol.render_turn("I look.", (ToolCall(*reply),), None)
            for reply in self.replies
        ]


def _replies(seed: int) -> list[tuple[Reply, ...]]:
    """At once in the middle of the object, after a look beside it, after a bad call with two points, and no point."""
    x, y = np.mean(make_task("point", seed).truth, axis=0)  # type: ignore[attr-defined]
    return [
        (f"[{x:.3f}, {y:.3f}]",),
        (_LOOK, f"[{min(x + 0.03 * (seed + 1), 1):.3f}, {y:.3f}]"),
        (_WRONG, _LOOK, f"[{x:.3f}, {y:.3f}] [0.100, {y:.3f}]"),
        (_LOOK, _WRONG, _LOOK, "I do not see it."),
    ]


_REWARDS = (
    (0.999997, 0.985405, 0.400937, 0.0),
    (0.999996, 0.523927, 0.391729, 0.0),
    (0.999998, 0.428419, 0.417684, 0.0),
    (0.999998, 0.345388, 0.509518, 0.0),
    (0.999996, 0.267664, 0.999996, 0.0),
)
"""Of each task and script, as plain sessions gave them on 27 November 2026."""

TWENTY = tuple(
    Scripted(seed, replies, reward)
    for seed, rewards in enumerate(_REWARDS)
    for replies, reward in zip(_replies(seed), rewards, strict=True)
)


def plain_reward(episodes: Episodes, one: Scripted) -> float:
    """What a session without an engine makes of the same replies."""
    with episodes.open(one.row) as session:
        for reply in one.replies:
            if isinstance(reply, str):
                session.say(reply)
            else:
                session.call(*reply)
        return float(session.score().total)
