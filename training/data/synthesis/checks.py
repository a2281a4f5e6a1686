"""What is kept: a trajectory is judged by its task's own score and by how it was come by, never by what it says of
itself."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from itertools import pairwise

from toolhand.agent_node.episode import Episode
from toolhand.sim.tasks.task import Task
from toolhand.tool_nodes.results import ErrorCode
from toolhand.training.data.synthesis.attempts import Attempt
from toolhand.training.rewards.words import canonical_call, plain

INFRASTRUCTURE = "infrastructure"
TRUNCATED = "truncated"
WRONG = "wrong"
NO_TOOL = "no tool used"
MALFORMED = "malformed turn"
REPEATS = "repeats itself"
BEATEN = "beaten by a shorter one"
GIVEN_AWAY = "answer in the question"
OTHER_TOOLS = "other tools than its teacher's"
NO_FAILURE = "no failure happened"
NOT_CHECKED = "failure not checked"
DUPLICATE = "duplicate"

REASONS = (
    INFRASTRUCTURE, BEATEN, TRUNCATED, WRONG, NO_TOOL, MALFORMED, REPEATS, GIVEN_AWAY, OTHER_TOOLS,
    NO_FAILURE, NOT_CHECKED, DUPLICATE,
)  # fmt: skip
"""Why an attempt is kept apart; the first that holds is its reason."""

_NEXT_BEST = "grasp_generator.compute_grasp"
"""Called again it gives the next best grasp: no repetition."""
_OPTIONS = re.compile(r"\bor\b|\([A-E]\)|\b[A-E][.:)]", re.IGNORECASE)
"""What a question says where it lists the answers that it takes."""


def why_rejected(attempt: Attempt) -> str:
    """One of REASONS by what an attempt is in itself, or empty where it may be kept."""
    episode = attempt.episode
    if episode is None or attempt.score is None:
        return INFRASTRUCTURE
    if attempt.labels.get("beaten"):
        return BEATEN
    if episode.error_code is ErrorCode.TURN_BUDGET or not answered(episode):
        return TRUNCATED
    if not attempt.right:
        return WRONG
    if not any(record.result.ok for record in episode.records):
        return NO_TOOL
    if any(turn.parsed.problem or any(call.problem for call in turn.parsed.calls) for turn in episode.turns):
        return MALFORMED
    if repeats(episode):
        return REPEATS
    if gives_away(attempt.task.text, episode.answer):
        return GIVEN_AWAY
    return ""


def answered(episode: Episode) -> bool:
    """The policy itself ended it, with an answer."""
    return bool(episode.turns) and episode.turns[-1].parsed.answer is not None


def repeats(episode: Episode) -> bool:
    """A call that had worked is made again at once (E-ViC, Eq. 2, C1); one that failed may be."""
    records = episode.records
    return any(
        before.result.ok
        and before.name != _NEXT_BEST
        and not _empty(before.result.text, before.image_index)
        and canonical_call(before.name, before.arguments) == canonical_call(after.name, after.arguments)
        for before, after in pairwise(records)
    )


def gives_away(question: str, answer: str) -> bool:
    """A question without options says its own answer, a number or a few words."""
    said, asked = plain(answer), plain(question)
    if not said or len(said.split()) > 4 or said in ("yes", "no") or _OPTIONS.search(question):
        return False
    return re.search(rf"(?<![\w.]){re.escape(said)}(?![\w]|\.\d)", asked) is not None


def fingerprint(task: Task, episode: Episode) -> str:
    """Hexadecimal digits, the same where the same is asked about the same objects, and done, and answered."""
    calls = [canonical_call(record.name, record.arguments) for record in episode.records]
    objects = [
        [placed.id, placed.item, *(round(float(value), 4) for value in placed.position_m)]
        for placed in task.scene.objects
    ]
    said = json.dumps([task.text, objects, calls, plain(episode.answer)], default=str)
    return hashlib.sha256(said.encode()).hexdigest()


def calls_by_tool(episode: Episode) -> dict[str, int]:
    """How often each tool was called, sorted by name."""
    names: Sequence[str] = [record.name for record in episode.records]
    return {name: names.count(name) for name in sorted(set(names))}


def _empty(text: str, image_index: int | None) -> bool:
    return not text and image_index is None
