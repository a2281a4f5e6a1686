"""From a job to records: made, checked, said in other words, and written down with what became of them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from toolhand.agent_node.episode import Episode
from toolhand.sim.malloc import give_back_free_memory
from toolhand.tool_nodes.port_names import DEFAULT_SENSOR
from toolhand.training.data.synthesis import checks
from toolhand.training.data.synthesis.attempts import Attempt
from toolhand.training.data.synthesis.methods import METHODS, SynthesisJob
from toolhand.training.data.synthesis.teacher_pool import TeacherPool
from toolhand.training.data.synthesis.wording import Templates, Writer, diversified
from toolhand.training.rollouts.from_episode import record_of
from toolhand.training.rollouts.images import ImageStore
from toolhand.training.tasks.kinds import task_document
from toolhand.training.tasks.splits import Split

REJECTED = "rejected"
"""Folder of what was not kept, a collection of its own within the one of what was."""

CHARACTERS_PER_TOKEN = 4
"""Tokens are counted as characters / 4, rounded up, images left out: there is no tokenizer."""


@dataclass(frozen=True)
class Made:
    """One attempt that is over.

    Attributes:
        why: One of `checks.REASONS`, or empty: it is kept.
        line: Its record; empty where there is none.
        fingerprint: See `checks.fingerprint`.
        turns, tokens: Turns and tokens of the policy; tokens by the rule of CHARACTERS_PER_TOKEN.
        calls: How often each tool was called.
        trouble: The infrastructure error, or empty.
    """

    why: str
    line: str = ""
    fingerprint: str = ""
    turns: int = 0
    tokens: int = 0
    calls: Mapping[str, int] = field(default_factory=dict)
    trouble: str = ""


@dataclass(frozen=True)
class JobResult:
    """What came of a job.

    Attributes:
        made: Its attempts, the one to be kept first.
        cpu_s: Processor time that it took [s].
    """

    job: SynthesisJob
    made: tuple[Made, ...]
    cpu_s: float


class Maker:
    """Does jobs, one after the other, in one process.

    Args:
        folder: Folder of the collection; images and long texts are written there.
        writer: Says thoughts in other words; `wording.Templates` where None.
        policy: Does the tasks in place of the scripted teachers, see `TeacherPool`.
        sensor: Name of the cameras' sensor model.
    """

    def __init__(
        self,
        folder: Path,
        split: Split = "train",
        writer: Writer | None = None,
        policy: str = "",
        sensor: str = DEFAULT_SENSOR,
    ) -> None:
        self._teachers = TeacherPool(split, policy, sensor)
        self._writer = writer or Templates()
        self._stores = {True: ImageStore(folder), False: ImageStore(folder / REJECTED)}

    def __call__(self, job: SynthesisJob) -> JobResult:
        """Do a job. Raises ToolError UNAVAILABLE where its records cannot be written."""
        began = time.process_time()
        attempts = METHODS[job.method].make(self._teachers, job)
        made = [self._made(job, k, attempt) for k, attempt in enumerate(attempts)]
        del attempts  # the episodes with their images
        give_back_free_memory()
        return JobResult(job, tuple(made), time.process_time() - began)

    def _made(self, job: SynthesisJob, number: int, attempt: Attempt) -> Made:
        why = checks.why_rejected(attempt) or METHODS[job.method].why_not(attempt)
        if not why and number:
            why = checks.BEATEN
        scored = attempt.scored
        if scored is None:
            return Made(why, trouble=attempt.trouble)
        episode, changed = scored.episode, 0
        if not why and METHODS[job.method].reworded:
            episode, changed = diversified(episode, self._writer, job.seed)
        record = record_of(
            replace(scored, episode=episode, rollout=number),
            self._stores[not why],
            task=task_document(job.kind, job.seed, self._teachers.split),
            policy=self._teachers.policy or "scripted",
            group=job.number,
            seeds={"task": job.seed, "station": scored.seed, "policy": job.seed},
        )
        labels = {
            "recipe": METHODS[job.method].recipe,
            "method": job.method,
            "kind": job.kind,
            "accepted": not why,
            "rejected": why,
            "rewritten_turns": changed,
            **attempt.labels,
        }
        record = replace(record.without_times(), labels=labels)
        return Made(
            why,
            record.to_json(self._stores[not why]),
            checks.fingerprint(attempt.task, episode),
            len(episode.turns),
            tokens_of(episode),
            checks.calls_by_tool(episode),
        )


def tokens_of(episode: Episode) -> int:
    """Tokens of all that the policy wrote, by the rule of CHARACTERS_PER_TOKEN."""
    return sum(-(-len(turn.text) // CHARACTERS_PER_TOKEN) for turn in episode.turns)
