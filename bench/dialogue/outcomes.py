"""What became of an utterance: as meant, refused usefully or misleadingly, or claimed although it is not so."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, get_args

from toolhand.bench.dialogue.expected import Expected, Uttered, plain
from toolhand.sim.scene.scenes import Scene
from toolhand.sim.tasks.gestures import HAND_STILL_M, UntouchedTask, hand_way
from toolhand.sim.tasks.task import History, Score
from toolhand.tool_nodes.results import INFRASTRUCTURE_ERRORS, ErrorCode

DialogueOutcome = Literal[
    "as meant",
    "asked though clear",
    "refused usefully",
    "refused misleadingly",
    "failed and said so",
    "done, another thing pushed",
    "guessed at a tie",
    "wrong answer",
    "false success",
    "moved unasked",
    "unscored",
]
"""The last but the very last four claim what is not so, or move what nobody asked for."""
OUTCOMES: tuple[DialogueOutcome, ...] = get_args(DialogueOutcome)

_INTERNAL_NAME = re.compile(r"\b[a-z]+(?:_[a-z]+)*_\d+\b|reference\(s\)")
_ABSENT = (ErrorCode.OBJECT_NOT_FOUND, ErrorCode.NOT_RECOGNISED)
_OF_THE_ARM = (
    ErrorCode.PLACE_BLOCKED,
    ErrorCode.OUT_OF_WORKSPACE,
    ErrorCode.NO_GRASP,
    ErrorCode.IK_FAILED,
    ErrorCode.PLAN_FAILED,
)
"""Codes of what the arm cannot do: their sentences speak of the table, and not of words."""
_SHORT = 4
"""A word of fewer letters quotes nothing [characters]."""


@dataclass(frozen=True)
class RobotsTurn:
    """What the robot made of an utterance; it is the transcript for a task.

    Attributes:
        task: The operator's words.
        success: It said that all is done or answered.
        error_code: Code of what went wrong; None where nothing did.
        asking: A question to the operator is open now.
        records: Nothing: tasks of conversations read no calls.
    """

    task: str
    answer: str
    success: bool
    error_code: ErrorCode | None = None
    asking: bool = False
    records: tuple[()] = ()


@dataclass(frozen=True)
class Judged:
    """The outcome of an utterance.

    Attributes:
        reasons: Faults, one sentence each.
        unasked: Something was touched, or the hand moved, without being asked for.
    """

    outcome: DialogueOutcome
    reasons: tuple[str, ...] = ()
    unasked: bool = False


def judge_said(said: Uttered, turn: RobotsTurn, history: History) -> Judged:
    """The outcome by the meaning that fits best, from what was said and from what the simulator knows.

    Args:
        said: Utterance with its meanings.
        history: Simulator's record, with the two holds of `toolhand.sim.tasks.arranged.ArrangedTask`.
    """
    if turn.error_code in INFRASTRUCTURE_ERRORS:
        return Judged("unscored", (turn.answer,))
    found = [_judged(option, said, turn, history) for option in said.options]
    return min(found, key=lambda judged: OUTCOMES.index(judged.outcome))


def _judged(option: Expected, said: Uttered, turn: RobotsTurn, history: History) -> Judged:
    untouched = UntouchedTask(said.words, history.scene, hand_stays=False).score(history, turn)  # type: ignore[arg-type]
    score = option.task.score(history, turn)  # type: ignore[arg-type]
    if option.wanted == "deed":
        return _deed(said, turn, history, score, untouched)
    if not untouched.success:
        if turn.success:
            guessed = option.wanted == "asked"
            return Judged("guessed at a tie" if guessed else "false success", score.reasons, not guessed)
        return Judged("moved unasked", score.reasons, True)
    if not score.success:  # the arm moved, and nothing was touched
        return Judged("moved unasked", score.reasons, True)
    if option.wanted == "quiet":
        return Judged("as meant")
    if option.wanted == "answered":
        if turn.success:
            right = option.right(turn.answer)
            return Judged("as meant" if right else "wrong answer", () if right else (f"the answer is {turn.answer!r}",))
        return _refusal(said, turn, history.scene)
    if option.wanted == "asked":
        if turn.asking or turn.error_code == ErrorCode.AMBIGUOUS:
            return Judged("as meant")
        return Judged("wrong answer", ("it did not ask",)) if turn.success else _refusal(said, turn, history.scene)
    if turn.success:
        return Judged("false success", ("nothing was to be done, and it said that all is done",))
    return _quoted(option, said, turn, history.scene)


def _deed(said: Uttered, turn: RobotsTurn, history: History, score: Score, untouched: Score) -> Judged:
    if turn.success:
        done = all(value for name, value in score.terms.items() if name != "others")
        if done and not score.success and not score.wrong_objects:
            return Judged("done, another thing pushed", score.reasons, True)
        return Judged("as meant") if score.success else Judged("false success", score.reasons)
    moved = hand_way(history) > HAND_STILL_M
    if not untouched.success or (score.success and moved):
        reasons = score.reasons or ("it is done, and it said otherwise",)
        meant = set(score.meant) or set(history.poses)
        return Judged("failed and said so", reasons, bool(set(score.picked_up) - meant))
    if turn.asking or turn.error_code == ErrorCode.AMBIGUOUS:
        return Judged("asked though clear", (turn.answer,))
    return _refusal(said, turn, history.scene)


def _quoted(option: Expected, said: Uttered, turn: RobotsTurn, scene: Scene) -> Judged:
    words = plain(turn.answer)
    if option.quoted and not any(plain(quote) in words for quote in option.quoted):
        return Judged("refused misleadingly", (f"none of {', '.join(option.quoted)} is quoted",))
    if option.kept and re.search(r"\bleave (?:it|them|that|this|out)\b", words):
        return Judged("refused misleadingly", ("it says that the words could be left out",))
    if _INTERNAL_NAME.search(turn.answer):
        return Judged("refused misleadingly", ("it uses a name of the program",))
    return Judged("as meant")


def _refusal(said: Uttered, turn: RobotsTurn, scene: Scene) -> Judged:
    """A refusal of what could be done: misleading where it blames another object or quotes nothing of the sentence."""
    words = plain(turn.answer)
    if _INTERNAL_NAME.search(turn.answer):
        return Judged("refused misleadingly", ("it uses a name of the program",))
    if turn.error_code in _OF_THE_ARM:
        return Judged("refused usefully", (turn.answer,))
    if turn.error_code in _ABSENT and any(plain(item) in plain(said.words) for item in _words_of(scene)):
        return Judged("refused misleadingly", ("it does not find what is there",))
    content = [word for word in plain(said.words).split() if len(word) >= _SHORT]
    quotes = (plain(quote) for quote in re.findall(r'"([^"]+)"', turn.answer))
    speaks_of = any(plain(item) in words for item in _words_of(scene)) or any(
        quote and f" {quote} " in f" {plain(said.words)} " for quote in quotes
    )
    if content and not speaks_of and not any(word in words for word in content):
        return Judged("refused misleadingly", ("it quotes nothing of the sentence and speaks of no thing",))
    return Judged("refused usefully", (turn.answer,))


def _words_of(scene: Scene) -> set[str]:
    return {word for placed in scene.objects for word in (placed.item, *placed.asset.synonyms)}
