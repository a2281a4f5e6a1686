"""`toolhand bench sentences`: what is easily half understood, done as meant or refused in the right words."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from agent_node.console.terminal import AsJson, say
from agent_node.policies.scripted.commands import Command, parse_command
from agent_node.policies.scripted.policy import ScriptedPolicy
from bench.sentence_maker import Sentence, make_sentences
from bench.stats import format_report, machine, publish, rate_row
from sim.station import Station, StationConfig
from sim.tasks.tasks import task_of
from tool_nodes.language.referring import refer
from tool_nodes.results import ErrorCode, ToolError
from tool_nodes.types import ObjectView
from training.episode import run_episode
from training.goal_from_text import true_views
from training.parallel import run_jobs

Result = Literal["done as meant", "refused rightly", "refused though fine", "refused in other words", "false success"]
RESULTS: tuple[Result, ...] = (
    "done as meant", "refused rightly", "refused though fine", "refused in other words", "false success",
)  # fmt: skip
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


def judge_refusal(sentence: Sentence, answer: str) -> Result:
    """Whether a refusal is right, and names the words that the operator should change."""
    if sentence.wanted == "deed":
        return "refused though fine"
    said = " ".join(answer.lower().replace("-", " ").split())
    fits = sentence.wanted == "refusal" and all(" ".join(words.lower().split()) in said for words in sentence.quoted)
    asked = sentence.wanted == "question" and "which" in said
    return "refused rightly" if fits or asked else "refused in other words"


def judge_words(sentence: Sentence, views: Sequence[ObjectView]) -> Judgement:
    """Read a sentence and compare what it says of the true scene (views in its order) with what it means."""
    ids = [placed.id for placed in sentence.scene.objects]
    try:
        command = parse_command(sentence.text)
        targets, references = _meant(command, views)
    except ToolError as error:
        return Judgement(sentence, "words", judge_refusal(sentence, str(error)), f"{error.code}: {error}")
    same = sentence.wanted == "deed" and command.relation == sentence.relation
    same = same and {ids[k] for k in targets} <= set(sentence.target_ids) and bool(targets)
    same = same and {ids[k] for k in references} == set(sentence.reference_ids)
    return Judgement(sentence, "words", "done as meant" if same else "false success", command.understood)


def _meant(command: Command, views: Sequence[ObjectView]) -> tuple[list[int], list[int]]:
    """Indices of the targets and the references. Raises ToolError AMBIGUOUS where the robot would ask."""
    found = []
    for phrase in [*([command.target] if command.target else []), *command.references]:
        meant = refer(phrase.text, views)
        if len(meant) > 1 and not (phrase.plural or phrase.indefinite):
            raise ToolError(ErrorCode.AMBIGUOUS, f"Which {phrase.plain} do you mean? There are several.")
        found.append(meant)
    first = found.pop(0) if command.target else []
    return first, [k for meant in found for k in meant]


def judge_physics(sentence: Sentence) -> Judgement:
    """Let the scripted policy carry out a sentence in simulation and judge it by the simulator's truth."""
    station = Station(sentence.scene, StationConfig(seed=sentence.scene.seed % 1000))
    before = {name: state.position_m for name, state in station.world.snapshot().objects.items()}
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
        result = judge_refusal(sentence, answer)
    return Judgement(sentence, "physics", result, answer)


def crashed(sentence: Sentence, why: str) -> Judgement:
    """An episode that gave nothing: a refusal for no reason."""
    return Judgement(sentence, "physics", "refused in other words", why)


def judge_all(sentences: Sequence[Sentence], physics: int = 0, jobs: int = 1) -> list[Judgement]:
    """Every sentence by its words, and so many of them, spread over all, in physics."""
    judged: list[Judgement] = []
    views: list[ObjectView] = []
    scene = None
    for sentence in sentences:
        if sentence.scene is not scene:
            scene, views = sentence.scene, true_views(Station(sentence.scene))
        judged.append(judge_words(sentence, views))
    chosen = [sentences[k * len(sentences) // physics] for k in range(min(physics, len(sentences)))]
    return judged + run_jobs(judge_physics, chosen, jobs, crashed)


def rows_of(judged: Sequence[Judgement]) -> list[dict[str, Any]]:
    """Rates of each result, by level."""
    rows = []
    for level in ("words", "physics"):
        chosen = [j for j in judged if j.level == level]
        rows += [
            rate_row(f"{level}: {result}", sum(j.result == result for j in chosen), len(chosen))
            for result in RESULTS
            if chosen
        ]
    return rows


def bench_sentences(n: int = 400, seed: int = 0, physics: int = 0, jobs: int = 1, as_json: AsJson = False) -> int:
    """Say sentences that are easily half understood; each is to be done as meant or refused in the right words.

    The exit status is 1 if any was done otherwise than meant.

    Args:
        n: Sentences, over random scenes; all are read and compared with what they mean.
        seed: Of sentences and scenes.
        physics: So many of them are carried out in simulation as well.
        jobs: Processes for those.
    """
    if min(n, jobs) < 1 or min(seed, physics) < 0:
        raise ToolError(ErrorCode.INVALID_ARGUMENT, "n and jobs must be 1 or more, seed and physics 0 or more.")
    began = time.monotonic()
    sentences = make_sentences(n, seed)
    say(f"{n} sentences, seed {seed}, {min(physics, n)} of them in physics")
    judged = judge_all(sentences, physics, jobs)
    false = [j for j in judged if j.result == "false success"]
    worth_showing = [j for j in judged if j.result in ("refused though fine", "refused in other words")]
    document = {
        "bench": "sentences",
        "seed": seed,
        "machine": machine(),
        "rows": rows_of(judged),
        "families": dict(Counter(sentence.family for sentence in sentences)),
        "results": dict(Counter(j.result for j in judged)),
        "unscored": 0,
        "failures": [
            {"level": j.level, "family": j.sentence.family, "text": j.sentence.text, "result": j.result,
             "answer": j.answer}
            for j in [*false, *worth_showing]
        ],
        "wall_s": round(time.monotonic() - began, 1),
    }  # fmt: skip
    publish(document, lambda document: format_report({**document, "errors": {}}, "errors", _failure_line), as_json)
    return 1 if false else 0


def _failure_line(failure: Mapping[str, Any]) -> str:
    return f"{failure['result']} ({failure['family']}): {failure['text']!r}: {failure['answer']}"
