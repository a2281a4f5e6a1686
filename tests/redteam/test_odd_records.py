"""Records, plans, results and data sets with something else in a field: one sentence, and no fault inside."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import toolhand.cli.options
from tests.redteam.odd_values import ODD, changed, nested, places
from tests.training.data.rollouts_at_hand import collection, rollout
from toolhand.agent_node.events import CommandEnded, Thought
from toolhand.agent_node.runs.mcap.recorder import Recorder
from toolhand.cli import main as cli
from toolhand.tool_nodes import plain_json
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.training.rollouts.branching import plan_of
from toolhand.training.rollouts.collection import read_rollouts, shard_path
from toolhand.training.rollouts.images import ImageStore
from toolhand.training.rollouts.plan import PLAN_FILE, RolloutPlan, planned_in
from toolhand.training.tasks.kinds import task_document

LONGEST = 900
"""Of what is told of one odd value [characters]."""


def _record(folder: Path) -> dict[str, Any]:
    """A record's document with everything that a record can say."""
    calls = [len(turn.calls) for turn in rollout(ImageStore(folder)).turns]
    collection(folder, 2, seed=0, task=task_document("pick", 0))
    document: dict[str, Any] = json.loads(shard_path(folder, 0).read_text().splitlines()[0])
    for turn, count in zip(document["turns"], calls, strict=True):
        turn |= {"ended_s": 1.0, "labels": {"objects": [["red box 1"]] * count}, "prompt_tokens": 3, "problem": "p"}
    document["truth"] |= {"picked_up": ["red box 1"], "meant": ["red box 1"]}
    labels = {"accepted": False, "rejected": "why", "method": "views"}
    return document | {"labels": labels, "seeds": {"task": 1}, "error_code": "NO_GRASP"}


def _with_first(folder: Path, document: Any) -> None:
    """Put a document in the place of the first record."""
    shard = shard_path(folder, 0)
    lines = shard.read_text().splitlines()
    shard.write_text("\n".join([json.dumps(document), *lines[1:]]) + "\n")


def _told(words: Sequence[str], capsys: pytest.CaptureFixture[str]) -> str:
    """What a command says; it may end with any status, but never with a fault inside."""
    try:
        cli._run_command([str(word) for word in words], "--json" in words)
    finally:
        told = capsys.readouterr()
    said = told.out + told.err
    assert "INTERNAL" not in said, said[-600:]
    assert "Traceback" not in said
    return told.err


WHOLE = (
    "id",
    "task",
    "text",
    "tools",
    "terms",
    "total",
    "truth",
    "stages",
    "error_code",
    "labels",
    "seeds",
    "protocol",
)
WITHIN = (
    ("truth", "success"),
    ("truth", "reasons"),
    ("truth", "picked_up"),
    ("truth", "meant"),
    ("truth", "meant", 0),
    ("truth", "terms"),
    ("task", "kind"),
    ("task", "seed"),
    ("labels", "accepted"),
    ("labels", "rejected"),
    ("labels", "method"),
    ("stages", "held"),
    ("terms", "picked"),
    ("seeds", "task"),
    ("messages",),
    ("turns",),
    ("messages", 0, "role"),
    ("messages", 3, "text"),
    ("messages", 3, "image"),
    ("messages", 3, "image_index"),
    ("turns", 0, "calls"),
    ("turns", 1, "calls", 0),
    ("turns", 1, "calls", 0, "tool"),
    ("turns", 0, "ended_s"),
    ("turns", 1, "calls", 0, "arguments"),
    ("turns", 1, "calls", 0, "arguments", "image_index"),
    ("turns", 1, "calls", 0, "arguments", "obj_name"),
    ("turns", 1, "calls", 1, "error_code"),
    ("turns", 1, "calls", 0, "image"),
    ("turns", 1, "labels"),
    ("turns", 1, "labels", "objects"),
    ("turns", 1, "labels", "objects", 0),
    ("turns", 1, "labels", "objects", 0, 0),
    ("turns", 1, "thought"),
    ("turns", 1, "times"),
    ("turns", 1, "prompt"),
    ("turns", 1, "prompt", "imaged"),
    ("turns", 1, "span"),
)
PLACES = [*((name,) for name in WHOLE), *WITHIN]
KINDS = ("nothing", "null", "a list", "an object", "a whole number", "a text", "a huge number", "deep lists")


@pytest.mark.parametrize("place", PLACES, ids=lambda place: ".".join(map(str, place)))
def test_a_record_with_something_else_in_a_field_is_no_fault_inside(
    place: tuple[str | int, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "rollouts"
    document = _record(folder)
    for k, odd in enumerate(ODD.values()):
        _with_first(folder, changed(document, place, odd))
        heard: list[ToolError] = []
        list(read_rollouts(folder, heard.append))
        assert all(error.code is ErrorCode.INVALID_ARGUMENT and len(str(error)) < LONGEST for error in heard)
        assert all("\n" not in str(error) for error in heard)
        if heard:  # every command passes it over
            continue
        _told(("rollouts", "show", folder, "--json"), capsys)
        _told(("rollouts", "show", folder, "--rollout", "00000-000"), capsys)
        _told(("rollouts", "measure", folder), capsys)
        _told(("rollouts", "group", folder, "--out", tmp_path / "group.html"), capsys)
        _told(("data", "show", folder, "--html", tmp_path / "sample.html"), capsys)
        for form, layout in (("chat", "calls"), ("sharegpt", "text")):
            out = tmp_path / f"{form}-{layout}-{k}"
            _told(
                (
                    "data",
                    "export",
                    "--from",
                    folder,
                    "--out",
                    out,
                    "--format",
                    form,
                    "--layout",
                    layout,
                    "--keep",
                    "all",
                ),
                capsys,
            )


@pytest.mark.parametrize(
    ("place", "odd", "told"),
    [
        (("tools",), "", "tools holds no schemas of tools"),
        (("tools",), "[1]", "tools must be a list of schemas"),
        (("tools",), '{"function": {"name": "a"}}', "tools must be a list of schemas"),
        (("tools",), '[{"function": {"name": 7}}]', "tools must be a list of schemas"),
        (("tools",), "[" * 1000, "tools holds no schemas of tools"),
        (("truth", "success"), "yes", "truth.success must be true or false"),
        (("truth", "reasons"), "sixteen words", "truth.reasons must be a list of texts"),
        (("truth", "meant"), [["a"]], "truth.meant must be a list of texts"),
        (("turns", 0, "labels", "objects"), 7, "has labels whose objects are not 1 lists of names or null"),
        (("turns", 0, "labels", "objects"), [None, None], "has labels whose objects are not 1 lists"),
        (("turns", 0, "labels", "objects"), {"a": 1}, "has labels whose objects are not 1 lists"),
        (("turns", 0, "labels", "objects", 0), [1], "has labels whose objects are not 1 lists"),
        (("turns", 0, "calls", 0, "arguments"), nested(501), "it is nested too deeply"),
        (("labels", "why"), nested(900, "a"), "it is nested too deeply"),
    ],
)
def test_what_the_types_of_a_record_leave_open_is_checked(
    place: tuple[str | int, ...], odd: Any, told: str, tmp_path: Path
) -> None:
    _with_first(tmp_path, changed(_record(tmp_path), place, odd))
    with pytest.raises(ToolError, match="line 1: ") as caught:
        list(read_rollouts(tmp_path))
    assert told in caught.value.message
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT


def test_a_point_that_no_float_can_hold_is_near_no_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = _record(tmp_path)
    point = {"tool": "sam2.segment_from_point", "arguments": {"x": 10**400, "y": 0.5}, "words": "outlined"}
    document["turns"][2] |= {"calls": [point], "labels": {}}
    document["turns"][1]["calls"][0]["words"] = "Points of 'box': (0.31, 0.52)."
    _with_first(tmp_path, document)
    assert "Passed over" not in _told(("rollouts", "measure", tmp_path), capsys)


PLAN = RolloutPlan(
    tasks=(task_document("pick_and_place", 0),),
    settings={
        "temperature": 0.5,
        "max_tokens": 100,
        "deadline_s": 3.0,
        "token_budget": 5,
        "cost_budget": 1.0,
        "price_prompt": 0.0,
        "price_completion": 0.0,
        "logprobs": False,
        "guided": "vllm",
        "led_by": "scripted",
    },
)


@pytest.mark.parametrize("kind", KINDS)
def test_a_plan_with_something_else_in_a_field_is_one_sentence_or_a_plan(kind: str, tmp_path: Path) -> None:
    document = PLAN.document()
    for place in [(), *places(document)]:
        if not place and kind == "nothing":
            continue
        (tmp_path / PLAN_FILE).write_text(json.dumps(changed(document, place, ODD[kind])))
        planned, _ = planned_in(tmp_path)
        assert planned is None or planned >= 0
        plan = _read_or_refused(lambda: plan_of(tmp_path))
        assert plan is None or plan.rollouts == planned or kind == "nothing"


@pytest.mark.parametrize("kind", KINDS)
def test_a_result_with_something_else_in_a_field_is_listed_and_replayed(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_station(*arguments: Any, **options: Any) -> None:
        raise ToolError(ErrorCode.INVALID_ARGUMENT, "Here the simulator would begin.")

    monkeypatch.setattr(toolhand.cli.options, "named_station", no_station)
    result = {
        "task": "x",
        "answer": "a",
        "success": True,
        "error_code": None,
        "turns": 1,
        "tool_calls": 2,
        "wall_s": 3.0,
        "truth": {"picked": True, "score": 1},
        "judged_against": {"goal": "g", "source": "s"},
        "scene": "example",
        "perception": "sim",
        "policy": "scripted",
        "seed": 0,
        "scene_seed": 0,
        "suite": "spacetools",
        "turn_budget": 8,
        "protocol": "spacetools",
        "approval": "auto",
        "role": "operator",
        "robot": "gen3",
        "ports": {"pointer": "sim"},
    }
    for number, place in enumerate(places(result)):
        run = tmp_path / "runs" / f"20261126-0000{number:02d}-1"
        run.mkdir(parents=True)
        document = changed(result, place, ODD[kind])
        _quiet(Recorder("x", lambda: 0.0)).write(run, None, document, "none")
        (run / "result.json").write_text(json.dumps(document))
        (run / "trajectory.jsonl").write_text('{"messages": [{"role": "user", "content": []}]}\n')
        for more in ((), ("--again",), ("--again", "--trusted", "--json")):
            _told(("replay", run, *more), capsys)
    _told(("runs", tmp_path / "runs"), capsys)
    _told(("runs", tmp_path / "runs", "--json"), capsys)
    _told(("runs", tmp_path / "runs", "--text", "x", "--code", "NO_GRASP", "--failed"), capsys)


def _quiet(recorder: Recorder) -> Recorder:
    """A recorder that has heard a run of one thought and an answer."""
    recorder.hear(Thought("hm"))
    recorder.hear(CommandEnded("a"))
    return recorder


def _read_or_refused(read: Callable[[], Any]) -> Any:
    """What is read; None where one sentence says why not."""
    try:
        return read()
    except ToolError as error:
        refusal = error
    assert refusal.code is ErrorCode.INVALID_ARGUMENT
    assert len(str(refusal)) < LONGEST
    return None


@pytest.mark.parametrize("depth", [10, 500, 501, 940, 1500, 10_000, 100_000])
@pytest.mark.parametrize("key", ["", "a"])
def test_a_document_is_read_where_it_can_be_written_again(depth: int, key: str) -> None:
    text = (f'{{"{key}":' if key else "[") * depth + "1" + ("}" if key else "]") * depth
    read: Callable[[], Any] = lambda: plain_json.load(text)  # noqa: E731
    if depth <= plain_json.MOST_DEPTH:
        assert json.loads(json.dumps(read(), indent=2)) is not None
        return
    with pytest.raises(plain_json.PlainJsonError, match="nested too deeply"):
        read()


@pytest.mark.parametrize(
    "words",
    [
        ("rollouts", "show"),
        ("rollouts", "measure"),
        ("rollouts", "group"),
        ("data", "show"),
        ("runs",),
        ("replay",),
        ("rollouts", "branch", "--out", "out"),
        ("data", "export", "--out", "out", "--from"),
        ("run", "pick up the red box", "--robot"),
        ("run", "pick up the red box", "--scene"),
    ],
    ids=" ".join,
)
def test_a_name_that_is_too_long_for_a_file_is_a_mistake_of_the_operator(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    said = _told((*words, "x" * 300), capsys)
    assert said.startswith("INVALID_ARGUMENT: ")
