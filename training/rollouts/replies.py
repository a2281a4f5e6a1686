"""What the processes of a collection are asked for, and what they tell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from toolhand.tool_nodes.results import ToolError


@dataclass(frozen=True)
class RolloutOrder:
    """One rollout of a plan, by the numbers of its group and in it."""

    group: int
    rollout: int


@dataclass(frozen=True)
class RolloutBrief:
    """What a collection is watched and counted by."""

    total: float
    true_success: bool
    turns: int
    calls: int
    times: Mapping[str, float]


@dataclass(frozen=True)
class RolloutReply:
    """One rollout as it is returned to the caller.

    Attributes:
        line: Its record; the images are in the store.
        brief: Summary of the record.
        cpu_s: CPU time that it took [s].
        peak_mb: Most memory that the process has had so far [MB].
    """

    line: str
    brief: RolloutBrief
    cpu_s: float
    peak_mb: float


@dataclass(frozen=True)
class Halt:
    """No worker can do a rollout of the plan: a wrong plan, a full disk."""

    error: ToolError
