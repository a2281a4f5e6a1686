"""Whether a sentence that is easily half understood is done as meant, or refused in the right words."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tests.bench.said.meaning import Sentence
from tests.bench.said.sentences import Utterance
from toolhand.agent_node.policies.scripted.commands import Command, parse_command
from toolhand.agent_node.policies.scripted.hand import of_what_is_held
from toolhand.agent_node.policies.scripted.policy import ScriptedPolicy
from toolhand.agent_node.policies.scripted.refusals import EXAMPLES
from toolhand.sim.station import Station, StationConfig
from toolhand.sim.tasks.task import Task
from toolhand.sim.tasks.tasks import task_of
from toolhand.tool_nodes.language.places import place_words
from toolhand.tool_nodes.language.referring import refer
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import ObjectView
from toolhand.training.env.episode import run_episode
from toolhand.training.env.goal_from_text import task_from_text, true_views

Result = Literal["done as meant", "refused rightly", "refused though fine", "refused in other words", "false success"]
_STAYED_M = 0.01
"""What was not to be moved has moved by less than this [m]."""


@dataclass(frozen=True)
class Judgement:
    """What became of one sentence.

    Attributes:
        sentence: The sentence and what it means.
        level: "words" for the reading alone, "physics" for an episode judged by the simulator's truth.
        result: "false success" is every deed other than the one that was meant.
        answer: The refusal, or what was understood or done.
    """

    sentence: Sentence
    level: Literal["words", "physics"]
    result: Result
    answer: str


_INTERNAL_NAME = re.compile(r"\b[a-z]+(?:_[a-z]+)*_\d+\b|reference\(s\)")
_ABSENT = (ErrorCode.OBJECT_NOT_FOUND, ErrorCode.NOT_RECOGNISED)
_SPARE = 3
"""A refusal that repeats the whole of a sentence with more words than this beside the right ones tells nothing [-]."""


def judge_refusal(sentence: Sentence, answer: str) -> Result:
    """Whether a refusal ("CODE: its words") is right: what an operator has to change is what it quotes.

    The examples that follow every refusal do not count, a code of the looking is none of a parser, "I do not know" is
    of things and not of places, and names of the program are not for operators.
    """
    if sentence.wanted == "deed":
        return "refused though fine"
    code, _, said = answer.replace(EXAMPLES, "").partition(": ")
    said = _plain(said)
    quoted = all(_plain(words) in said for words in sentence.quoted)
    whole = _plain(sentence.text)
    spare = len(whole.split()) - max((len(words.split()) for words in sentence.quoted), default=0)
    vague = whole in said and spare > _SPARE and all(_plain(words) in whole for words in sentence.quoted)
    looked = code in _ABSENT
    if sentence.wanted == "question":
        fits = code == ErrorCode.AMBIGUOUS
    elif sentence.wanted == "absence":
        fits = looked and quoted
    else:
        taken_for_a_thing = "i do not know '" in said and not sentence.looked_for
        fits = quoted and not vague and not taken_for_a_thing and not (sentence.kept and "leave" in said)
    return "refused rightly" if fits and not _INTERNAL_NAME.search(said) else "refused in other words"


def _plain(words: str) -> str:
    return " ".join(words.lower().replace("-", " ").rstrip(".?!").split())


def judge_words(sentence: Sentence, views: Sequence[ObjectView], said: Utterance | None = None) -> Judgement:
    """Read a sentence and compare what it says of the true scene (views in its order) with what it means.

    What the gripper holds comes from `said`.
    """
    ids = [placed.id for placed in sentence.scene.objects]
    try:
        command = parse_command(sentence.text)
        if said is not None and said.holds:
            grasped = parse_command(said.after).target
            command = of_what_is_held(command, grasped.text if grasped else "")
        targets, references = _meant(command, views, said)
    except ToolError as error:
        answer = f"{error.code}: {error}"
        return Judgement(sentence, "words", judge_refusal(sentence, answer), answer)
    same = sentence.wanted == "deed" and {ids[k] for k in targets} <= set(sentence.target_ids) and bool(targets)
    if sentence.where or command.form is not None:
        same = same and command.form is not None and _tells(place_words(command.place()), sentence.where)
    else:
        same = same and command.relation == sentence.relation
        same = same and {ids[k] for k in references} == set(sentence.reference_ids)
    return Judgement(sentence, "words", "done as meant" if same else "false success", command.understood)


def _tells(told: str, where: Sequence[str]) -> bool:
    """Whether a place is told with all of some words."""
    return bool(where) and all(words.replace("-", " ") in told or words.replace("-", "") in told for words in where)


def _meant(command: Command, views: Sequence[ObjectView], said: Utterance | None) -> tuple[list[int], list[int]]:
    """Indices of the targets and the references. Raises ToolError, e.g. AMBIGUOUS where the robot would ask."""
    found = []
    for phrase in [*([command.target] if command.target else []), *command.references]:
        meant = refer(phrase.text, views)
        several = phrase.plural and phrase is not command.target
        if len(meant) > 1 and not (several or phrase.indefinite):
            raise ToolError(ErrorCode.AMBIGUOUS, f"Which {phrase.plain} do you mean? There are several.")
        found.append(meant)
    first = found.pop(0) if command.target else []
    if said is not None and said.holds and not command.target:
        first = [[placed.id for placed in said.scene.objects].index(said.holds)]
    elif not command.target:
        raise ToolError(ErrorCode.NOT_HOLDING, "The gripper holds nothing to place.")
    references = [k for meant in found for k in meant]
    if command.relation == "in" and not any(views[k].container for k in references):
        names = " and ".join(views[k].name for k in references)
        raise ToolError(ErrorCode.PLACE_BLOCKED, f"There is no room inside {names}: no container.")
    return first, references


_BETTER: tuple[Result, ...] = (
    "done as meant",
    "refused rightly",
    "refused in other words",
    "refused though fine",
    "false success",
)


def judge_said(said: Utterance, views: Sequence[ObjectView]) -> Judgement:
    """`judge_words` by the meaning that fits best."""
    judged = [judge_words(option, views, said) for option in said.options]
    return min(judged, key=lambda judgement: _BETTER.index(judgement.result))


def judge_physics(said: Utterance) -> Judgement:
    """Let the scripted policy carry out a sentence in simulation and judge it by the simulator's truth."""
    station = Station(said.scene, StationConfig(seed=said.scene.seed % 1000))
    if said.after:
        run_episode(station, ScriptedPolicy(), task_from_text(said.after, station))
    sentence = judge_said(said, true_views(station)).sentence
    before = {name: state.position_m for name, state in station.world.snapshot().objects.items()}
    task: Task = task_from_text(sentence.text, station)
    if not sentence.where:
        task = task_of(sentence.text, sentence.scene, sentence.target_ids, sentence.relation, sentence.reference_ids)
    outcome = run_episode(station, ScriptedPolicy(), task)
    answer = f"{outcome.episode.error_code}: " * bool(outcome.episode.error_code) + outcome.episode.answer
    after = station.world.snapshot().objects
    moved = [name for name in before if np.linalg.norm(after[name].position_m - before[name]) > _STAYED_M]
    result: Result
    if outcome.episode.success:
        right = sentence.wanted == "deed" and outcome.truth is not None and outcome.truth.success
        result = "done as meant" if right else "false success"
    elif moved and sentence.wanted != "deed":
        result = "false success"
    else:
        result = min((judge_refusal(option, answer) for option in said.options), key=_BETTER.index)
    return Judgement(sentence, "physics", result, answer)


def judge_all(sentences: Sequence[Utterance]) -> list[Judgement]:
    """Every sentence by its words."""
    judged: list[Judgement] = []
    views: list[ObjectView] = []
    scene = None
    for said in sentences:
        if said.scene is not scene:
            scene, views = said.scene, true_views(Station(said.scene))
        judged.append(judge_said(said, views))
    return judged
