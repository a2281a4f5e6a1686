"""`toolhand bench sets`: answers to the papers' public sets, marked as their authors mark them."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import tyro

from agent_node.console.options import (
    COLOUR_AND_DEPTH,
    POLICY,
    BackendOptions,
    ProtocolName,
    Suite,
    Unprefixed,
    require_at_least,
)
from agent_node.console.terminal import AsJson, say
from agent_node.policies.options import ModelSettings
from agent_node.runs.folder import encode, write_atomically
from bench.perception.metrics import format_means, mean_row
from bench.stats import format_rows, machine, publish, rate_row
from tool_nodes.results import invalid
from training.data.sets import SETS, load_set
from training.data.sets.predictions import MOST_IN_A_ROW, marked_answers, read_predictions
from training.data.sets.public_set import KEPT_PROBLEMS, MarkedAnswer
from training.data.sets.question import Question, shown

_DEFAULT_MODEL = ModelSettings()
SHOWN_PROBLEMS = 12
"""A report for people shows this many problems [-]; the JSON document has the first 100 of each kind."""

SetName = Annotated[str, tyro.conf.arg(name="set", metavar="NAME", help=f"Which set: {', '.join(SETS)}.")]


def bench_sets(
    set_name: SetName,
    path: Path,
    predictions: Path | None = None,
    policy: Annotated[str | None, POLICY] = None,
    split: str | None = None,
    protocol: ProtocolName = "peria",
    suite: Suite | None = None,
    backends: Unprefixed[BackendOptions] = COLOUR_AND_DEPTH,
    limit: int | None = None,
    save: Path | None = None,
    strict: bool = False,
    model: ModelSettings = _DEFAULT_MODEL,
    as_json: AsJson = False,
) -> int:
    """Mark predictions for a public set of the papers, or ask a policy its questions with tools over the pictures.

    Nothing is downloaded. Questions without a prediction are worth 0, and so are those that could not be asked for want
    of a tool or of the policy; bad rows are reported, left out and counted.

    The project's own presets of perception know the robot's pictures and drawings; photographs are seen by models that
    are chosen by --pointer, --segmenter and so on.

    Args:
        path: The folder that the set's files are in, as its publisher has them.
        predictions: A file of JSON lines {"id": "...", "answer": "..."}; without it a policy is asked.
        split: One split of the set; every one that is there if left out.
        suite: Suites of tools, several with commas; those of the protocol if left out.
        limit: Number of questions to mark, 1 or more, from the first.
        save: Write the policy's answers to this file, as predictions, also where it is broken off.
        strict: Stop at the first bad row.
    """
    if (predictions is None) == (policy is None):
        raise invalid("Give either predictions or a policy.")
    if limit is not None:
        require_at_least(1, limit=limit)
    if save is not None and (policy is None or not save.parent.is_dir()):
        raise invalid(f"Answers of a policy are saved, in a folder that exists: {save}.")
    began = time.perf_counter()
    reader = load_set(set_name, path, split, strict, limit)
    public_set = reader.public_set
    bad: list[str] = []
    given: dict[str, str] = {}
    if predictions is not None:
        given, bad = read_predictions(predictions, strict)
        unknown = set(given)

        def answer_to(question: Question) -> str | None:
            unknown.discard(question.id)
            return given.get(question.id)

    else:
        unknown = set()
        ask = _asking(str(policy), protocol, suite or protocol, backends, model)

        def answer_to(question: Question) -> str | None:
            say(f"question {question.id}")
            if (answer := ask(question)) is not None:
                given[question.id] = answer
            return answer

    try:
        marked = marked_answers(reader, answer_to)
    finally:
        if save is not None:
            lines = [json.dumps({"id": name, "answer": said}, ensure_ascii=False) for name, said in given.items()]
            write_atomically(save, encode("".join(f"{line}\n" for line in lines)))
    strangers = sorted(unknown) if limit is None else []
    results, asked = marked.answers, marked.asked
    document = {
        "bench": "sets",
        "machine": machine(),
        "set": public_set.name,
        "split": split,
        "policy": policy,
        "metric": public_set.metric,
        "total": round(public_set.total(asked), 4) if results else None,
        "total_of_scored": round(public_set.total(results), 4) if results else None,
        "total_is": public_set.total_in_words,
        "rows": _rows(asked, marked.lost),
        "asked": len(asked),
        "unanswered": marked.unanswered,
        "unscored": marked.unscored,
        "stopped": None if marked.stopped is None else f"{marked.stopped.code}: {marked.stopped}",
        "skipped_rows": reader.skipped,
        "bad_predictions": len(bad),
        "unknown_predictions": len(strangers),
        "problems": [
            *reader.problems,
            *bad[:KEPT_PROBLEMS],
            *(f"There is no question {shown(name)}." for name in strangers[:KEPT_PROBLEMS]),
        ],
        "wall_s": round(time.perf_counter() - began, 1),
    }
    publish(document, _report, as_json)
    return 0 if results and not marked.lost else 1


def _asking(
    spec: str, protocol: str, suite: str, backends: BackendOptions, model: ModelSettings
) -> Callable[[Question], str | None]:
    """A function that asks a policy one question. Says before the first one which tools see no photographs.

    Raises:
        ToolError: INVALID_ARGUMENT for names that are none; UNAVAILABLE where a backend or its extra is missing.
    """
    from agent_node.policies.options import PolicyOptions
    from agent_node.policies.registry import make_policy
    from agent_node.protocol import load_protocol
    from tool_nodes.backends import make_ports
    from tool_nodes.tools.suites import parse_suites, require_installed
    from training.data.sets.asking import answer_of, picture_toolbox, ports_asked

    form, suites = load_protocol(protocol), parse_suites(suite)
    backends.ports.require_no_robot()
    require_installed(suites, backends.perception, backends.ports)
    made = make_ports(backends.perception, backends.ports)
    toolbox = picture_toolbox(made, suites)
    policy = make_policy(spec, form, toolbox.schemas(), PolicyOptions(**asdict(model)))
    named = backends.ports.over(backends.perception)
    blind = [f"{port} {getattr(named, port)}" for port in made.blind_to_photographs(ports_asked(suites))]
    if blind:
        say(
            f"These cannot look at photographs, and their tools will say so: {', '.join(blind)}. "
            "Others can be chosen, e.g. with --pointer and --segmenter: see toolhand doctor."
        )
    return lambda question: answer_of(policy, question, toolbox, form)


def _rows(asked: list[MarkedAnswer], lost: list[Question]) -> list[dict[str, Any]]:
    """A row a category and one for all: a rate with its Wilson interval where all marks are 0 or 1, else a mean.

    Args:
        asked: Mark of each answer, 0 where the question was lost.
        lost: The questions that an infrastructure error took; how many they are stands in their row.
    """
    categories: dict[str, list[float]] = {}
    for question, score in asked:
        categories.setdefault(question.category, []).append(score)
    unscored = Counter(question.category for question in lost)
    if len(categories) > 1 or not categories:
        categories["all questions"] = [score for _, score in asked]
        unscored["all questions"] = len(lost)
    whole = all(score in (0.0, 1.0) for _, score in asked)
    return [
        (rate_row(name, int(sum(scores)), len(scores)) if whole else mean_row(name, [[score] for score in scores]))
        | {"unscored": unscored[name]}
        for name, scores in categories.items()
    ]


def _report(document: Mapping[str, Any]) -> str:
    rows = document["rows"]
    lines = [format_means(rows) if rows and "mean" in rows[0] else format_rows(rows)]
    total = "-" if document["total"] is None else f"{100 * document['total']:.1f} %"
    if document["unscored"] and document["total"] is not None:
        total += f" ({100 * document['total_of_scored']:.1f} % of those that were scored)"
    lines.append(f"{SETS[document['set']].title}: {document['metric']}; {document['total_is']}: {total}")
    if document["unscored"]:
        lines.append(f"{document['unscored']} of {document['asked']} questions could not be asked, and count as wrong")
    if document["stopped"]:
        lines.append(f"stopped after {MOST_IN_A_ROW} such questions in a row: {document['stopped']}")
    for key in ("unanswered", "skipped_rows", "bad_predictions", "unknown_predictions"):
        if document[key]:
            lines.append(f"{key.replace('_', ' ')}: {document[key]}")
    problems = document["problems"]
    lines += [f"  {problem}" for problem in problems[:SHOWN_PROBLEMS]]
    if len(problems) > SHOWN_PROBLEMS:
        lines.append(f"  and {len(problems) - SHOWN_PROBLEMS} more; --json names the first 100 of each kind")
    return "\n".join(lines)
