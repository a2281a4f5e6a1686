"""`bench dialogue`: its meanings know no reader, its judge tells wrong deeds and refusals apart, a list is held."""

import ast
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import toolhand.bench.dialogue
from toolhand.agent_node.console.options import BackendOptions
from toolhand.bench.commands.dialogue import Options
from toolhand.bench.dialogue.command import rows_of
from toolhand.bench.dialogue.conversation import TalkedTo, record_from, station_of
from toolhand.bench.dialogue.expected import (
    Expected,
    Uttered,
    answered,
    asked,
    counts,
    gives_length,
    quiet,
    refused,
    says_no,
    says_yes,
)
from toolhand.bench.dialogue.outcomes import RobotsTurn, judge_said
from toolhand.bench.dialogue.over import compared, met_over_mcp
from toolhand.bench.dialogue.said import load_lines, said_of
from toolhand.bench.dialogue.saying_job import said_jobs, say_lines
from toolhand.sim.scene.generator import generate_scene
from toolhand.sim.station import Station
from toolhand.sim.tasks.arranged import ArrangedTask, Placing
from toolhand.sim.tasks.judge import Judge
from toolhand.sim.tasks.places import OnTable
from toolhand.sim.tasks.task import History
from toolhand.tool_nodes.results import ErrorCode, ToolError

MEANINGS = ("expected", "said", "outcomes")
JUDGES = ("regions", "places", "arranged", "gestures")
FORBIDDEN = (
    "toolhand.agent_node",
    "toolhand.tool_nodes.language",
    "toolhand.tool_nodes.perception",
    "toolhand.training",
)
BACKENDS = BackendOptions()


@pytest.fixture(scope="module")
def station() -> Station:
    return station_of(generate_scene(3), 3, BACKENDS)


@pytest.fixture(scope="module")
def untouched(station: Station) -> History:
    """What happened while nothing was done."""
    return Judge(station).history((2.0, 0.5))


def test_meanings_and_judges_share_nothing_with_the_robot() -> None:
    dialogue, tasks = Path(toolhand.bench.dialogue.__file__).parent, Path("sim/tasks")
    for path in [*(dialogue / f"{name}.py" for name in MEANINGS), *(tasks / f"{name}.py" for name in JUDGES)]:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        imported = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        imported |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        assert not {name for name in imported if name.startswith(FORBIDDEN)}, path


@pytest.mark.parametrize(
    ("answer", "success", "code", "outcome"),
    [
        ("Picked up the salt.", True, None, "false success"),
        ('I do not understand "carefully".', False, ErrorCode.NOT_UNDERSTOOD, "refused usefully"),
        ("I find no action.", False, ErrorCode.NOT_UNDERSTOOD, "refused misleadingly"),
        ("Nothing can be put in salt_1.", False, ErrorCode.INVALID_ARGUMENT, "refused misleadingly"),
        ("Which one do you mean?", False, ErrorCode.AMBIGUOUS, "asked though clear"),
        ("The node died.", False, ErrorCode.UNAVAILABLE, "unscored"),
    ],
)
def test_a_deed_that_is_not_done_is_claimed_or_refused(
    untouched: History, answer: str, success: bool, code: ErrorCode | None, outcome: str
) -> None:
    words = "carefully lift the big box"
    task = ArrangedTask(words, untouched.scene, held=(untouched.scene.objects[1].id,))
    said = Uttered("deed", words, (Expected("deed", task),))
    assert judge_said(said, RobotsTurn(words, answer, success, code), untouched).outcome == outcome


@pytest.mark.parametrize(
    ("answer", "success", "code", "outcome"),
    [
        ('I cannot wait: "tomorrow" is a time.', False, ErrorCode.NOT_UNDERSTOOD, "as meant"),
        ("I cannot do that.", False, ErrorCode.NOT_UNDERSTOOD, "refused misleadingly"),
        ('I do not understand "tomorrow"; leave it out.', False, ErrorCode.NOT_UNDERSTOOD, "refused misleadingly"),
        ("Picked up the salt.", True, None, "false success"),
    ],
)
def test_a_refusal_quotes_and_does_not_advise_another_deed(
    untouched: History, answer: str, success: bool, code: ErrorCode | None, outcome: str
) -> None:
    words = "pick up the salt tomorrow"
    said = Uttered("time", words, (refused(words, untouched.scene, "tomorrow", kept=True),))
    assert judge_said(said, RobotsTurn(words, answer, success, code), untouched).outcome == outcome


def test_questions_are_asked_or_answered(untouched: History) -> None:
    scene = untouched.scene
    ask, answer = Uttered("tie", "a", (asked("a", scene),)), Uttered("many", "b", (answered("b", scene, counts(2)),))
    assert judge_said(ask, RobotsTurn("a", "Which?", False, ErrorCode.AMBIGUOUS), untouched).outcome == "as meant"
    assert judge_said(ask, RobotsTurn("a", "Which?", False, None, asking=True), untouched).outcome == "as meant"
    assert judge_said(ask, RobotsTurn("a", "Done.", True), untouched).outcome == "wrong answer"
    assert judge_said(answer, RobotsTurn("b", "I see 2 of them.", True), untouched).outcome == "as meant"
    assert judge_said(answer, RobotsTurn("b", "I see 3 of them.", True), untouched).outcome == "wrong answer"


def test_what_was_touched_without_being_asked_for_is_told_apart(untouched: History) -> None:
    name = untouched.scene.objects[0].id
    moved = {**untouched.after.objects}
    moved[name] = replace(moved[name], position_m=moved[name].position_m + np.array([0.03, 0.0, 0.0]))
    after = replace(untouched, after=replace(untouched.after, objects=moved))
    said = Uttered("tie", "a", (asked("a", after.scene),))
    assert judge_said(said, RobotsTurn("a", "Which?", False, ErrorCode.AMBIGUOUS), after).outcome == "moved unasked"
    assert judge_said(said, RobotsTurn("a", "Done.", True), after).outcome == "guessed at a tie"
    still = Uttered("talk", "a", (quiet("a", after.scene),))
    assert judge_said(still, RobotsTurn("a", "Done.", True), after).outcome == "false success"


def test_answers_are_read() -> None:
    assert counts(2)("There are two ketchups at (0.3, 0.4) and (0.5, 0.1).")
    assert not counts(2)("There are three ketchups.")
    assert counts(0)("I see none.")
    assert gives_length(0.17)("It is about 17.2 cm tall.")
    assert gives_length(0.06)("It is 6.1 x 5.8 x 12 cm.")
    assert not gives_length(0.17)("It is about 12 cm tall, 3 of them.")
    assert says_yes("Yes, at (0.3, 0.2).")
    assert not says_yes("No, I see none.")
    assert says_no("No, I see none.")


def test_every_line_written_by_hand_has_a_meaning_in_its_scene() -> None:
    tuned, unseen, fresh = load_lines("tuned"), load_lines("unseen"), load_lines("fresh")
    lines = tuned + unseen + fresh + load_lines("independent")
    assert len(lines) >= 850
    assert len({line.words for line in tuned} & {line.words for line in unseen}) <= 3
    assert 0.5 < np.mean([line.open for line in lines]) < 0.9
    for seed in {line.scene_seed for line in lines}:
        chosen = [line for line in lines if line.scene_seed == seed]
        now = Station(chosen[0].scene).world.snapshot()
        for line in chosen:
            assert said_of(line, now, now).options
    with pytest.raises(ToolError, match="is no meaning"):
        said_of(replace(lines[0], meaning="lemon_9 @ left side"), now, now)


def test_sentences_are_read_from_a_file_of_ones_own(tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text("- kind: hold\n  scene: 3\n  said:\n  - 'take it => ask'\n", encoding="utf-8")
    (line,) = load_lines(str(own))
    assert (line.kind, line.scene_seed, line.words, line.meaning, line.open) == ("hold", 3, "take it", "ask", False)
    assert said_jobs(str(own), BACKENDS)[0].key == "own_000_1"
    assert said_jobs(str(own), BACKENDS, reader="canonical")[0].reader == "canonical"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("- kind: hold\n  scene: 3\n  said:\n  - take it\n", 'no "sentence => meaning"'),
        ("- kind: hold\n  scene: three\n  said:\n  - take it => ask\n", "scene a whole number"),
        ("- kind: hold\n  scene: 3\n  said:\n  - take it => ask\n  also: 1\n", "group 1 of own.yaml only kind"),
        ("kind: hold\n", "no list of groups"),
    ],
)
def test_a_file_of_ones_own_that_is_wrong_is_told_where(tmp_path: Path, text: str, told: str) -> None:
    own = tmp_path / "own.yaml"
    own.write_text(text, encoding="utf-8")
    with pytest.raises(ToolError, match=told):
        load_lines(str(own))
    names = r"tuned, unseen, fresh, independent, voices, unheard or a file that ends with \.yaml"
    with pytest.raises(ToolError, match=names):
        load_lines(str(tmp_path / "none.yaml"))


@pytest.fixture
def talk(tmp_path: Path) -> str:
    """A talk of a tie, an answer to the question about it and what is no English, over the scene of seed 3."""
    path = tmp_path / "talk.yaml"
    lines = ["pick up the box => ask", "the red one => hold red_box_1", "Guten Morgen, wie geht es dir? => quiet"]
    path.write_text("".join(["- kind: talk\n  scene: 3\n  said:\n", *(f"  - '{line}'\n" for line in lines)]), "utf-8")
    return str(path)


def test_a_talk_is_judged_sentence_by_sentence(talk: str) -> None:
    [job] = said_jobs(talk, BACKENDS)
    records = say_lines(job)
    assert [(record.kind, record.outcome) for record in records] == [
        ("first turns", "as meant"),
        ("follow-ups", "as meant"),
        ("follow-ups", "as meant"),
    ]
    assert record_from(json.loads(json.dumps(records[0].document()))) == records[0]
    rows = {row["name"]: row for row in rows_of(records)}
    assert rows["follow-ups"]["success"] == 2
    assert rows["utterances: false success"]["success"] == 0


def test_a_talk_ends_the_same_over_mcp(talk: str) -> None:
    [job] = said_jobs(talk, BACKENDS)
    found = compared(job, met_over_mcp)
    assert [each.words for each in found] == [line.words for line in job.lines]
    assert all(each.same for each in found)


def test_a_list_without_talks_is_not_said_twice() -> None:
    with pytest.raises(ToolError, match="has none") as refused:
        Options(said="fresh", over="mcp")()
    assert refused.value.code is ErrorCode.INVALID_ARGUMENT


def test_what_was_done_as_meant_is_taken_back_and_measured(tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text("- kind: hold\n  scene: 3\n  said:\n  - 'take the red box => hold red_box_1'\n", encoding="utf-8")
    [job] = said_jobs(str(own), BACKENDS, undo=True)
    deed, undo = say_lines(job)
    assert (deed.kind, undo.kind, undo.outcome) == ("hold", "undo", "as meant")
    assert undo.off_mm is not None
    assert undo.off_mm < 10.0


def test_a_robot_that_cannot_begin_is_answered_for(station: Station) -> None:
    robot = TalkedTo(station)
    robot.dialogue.say = lambda words: (_ for _ in ()).throw(ToolError(ErrorCode.INVALID_ARGUMENT, "No."))  # type: ignore[method-assign]
    assert robot.say("x").error_code == ErrorCode.INVALID_ARGUMENT


def test_the_command_goes_on_where_it_was_interrupted(
    talk: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = {"said": talk, "out": tmp_path / "run", "as_json": True}
    status = Options(**options)()  # type: ignore[arg-type]
    first = json.loads(capsys.readouterr().out)
    assert Options(**options)() == status == 0  # type: ignore[arg-type]
    captured = capsys.readouterr()
    again = json.loads(captured.out)
    assert "1 of 1 are in" in captured.err
    assert first["rows"] == again["rows"]
    assert json.loads((tmp_path / "run/report.json").read_text())["utterances"]


def test_an_object_that_was_pushed_is_told_apart_from_one_that_was_carried_off(untouched: History) -> None:
    scene, (item, other) = untouched.scene, [placed.id for placed in untouched.scene.objects[:2]]
    states = {**untouched.after.objects}
    states[other] = replace(states[other], position_m=states[other].position_m + np.array([0.03, 0.0, 0.0]))
    after = replace(untouched, after=replace(untouched.after, objects=states))
    task = ArrangedTask("", scene, (Placing((item,), OnTable()),))
    said, turn = Uttered("deed", "a", (Expected("deed", task),)), RobotsTurn("a", "Placed it.", True)
    pushed = judge_said(said, turn, after)
    assert (pushed.outcome, pushed.unasked) == ("done, another thing pushed", True)
    poses = np.tile(after.poses[other][:1], (40, 1))
    poses[5:30, 2] += 0.1
    carried = replace(after, poses={**after.poses, other: poses})
    assert judge_said(said, turn, carried).outcome == "false success"
