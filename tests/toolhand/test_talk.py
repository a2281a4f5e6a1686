"""`toolhand talk`, `toolhand dialogue`, and sentences of `toolhand run` that are more than one command."""

import json
import os
import pty
import shlex
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.toolhand.test_cli import Cli
from toolhand.agent_node.console.narration import Narrator
from toolhand.agent_node.console.terminal import Interrupt
from toolhand.agent_node.dialogue.acts import SkillAct
from toolhand.agent_node.dialogue.memory import OperatorMemory
from toolhand.agent_node.dialogue.skills import SUITES, skill_policy
from toolhand.agent_node.memory import DoneDeed, RobotMemory, SeenObject, Spot
from toolhand.agent_node.memory_file import FOLDER, MemoryFile
from toolhand.agent_node.protocol import load_protocol
from toolhand.agent_node.runs.index import list_runs
from toolhand.agent_node.session import SessionCommand
from toolhand.cli import prompt
from toolhand.cli import talk as talking
from toolhand.cli.run_command import RunCommand, TalkCommand
from toolhand.cli.run_in_process import ProcessSession


def types(lines: list[str | type[BaseException]], monkeypatch: pytest.MonkeyPatch) -> None:
    left: Iterator[str | type[BaseException]] = iter(lines)

    def typed(prompt: str = "") -> str:
        line = next(left, EOFError)
        if isinstance(line, str):
            return line
        raise line

    monkeypatch.setattr("builtins.input", typed)


def speak(
    lines: list[str | type[BaseException]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    runs: Path,
) -> tuple[int, str]:
    types(lines, monkeypatch)
    status = talking.talk(TalkCommand(scene="3", runs_dir=runs, animation=False, approval="dry-run"))  # type: ignore[arg-type]
    return status, capsys.readouterr().out


def test_a_prompt_asks_hears_the_answer_and_leaves(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    status, shown = speak(
        ["hello", "pick up the box", "number 2", "undo", "exit", "never read"], monkeypatch, capsys, tmp_path
    )
    assert status == 0
    assert "Hello." in shown
    assert "1. the leftmost one, 2. the second one from the left" in shown
    assert "Dry run" in shown
    assert "I remember nothing that I have done" in shown
    assert len(list(tmp_path.glob("*/report.html"))) == 2
    results = [json.loads(path.read_text()) for path in sorted(tmp_path.glob("*/result.json"))]
    assert [result["error_code"] for result in results] == ["AMBIGUOUS", "NOT_APPROVED"]
    assert results[0]["command"].startswith("toolhand run 'pick up the box' --scene 3")
    assert results[1]["said"] == "number 2"
    assert shlex.split(results[1]["command"])[2] == results[1]["task"] != "number 2"
    assert not (tmp_path / FOLDER).exists()  # kept as long as the session


def test_ctrl_c_closes_the_question_before_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(talking._Talk, "is_hit", lambda talk: True)
    _, shown = speak(["pick up the box", "number 2", "exit"], monkeypatch, capsys, tmp_path)
    assert "stopped after I had asked" in shown
    assert len(list(tmp_path.glob("*/report.html"))) == 1


def test_a_sentence_is_one_run_whatever_has_to_be_looked_at_on_the_way(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    words = ["pick up the blue one", "put all cans in the bowl", "where is the lemon?"]
    _, shown = speak([*words, "exit"], monkeypatch, capsys, tmp_path)
    assert "skyscraper" not in shown
    assert "Where are" not in shown
    entries = list_runs(tmp_path)
    assert [entry.words for entry in entries] == words
    for entry in entries:
        report = (Path(entry.path) / "report.html").read_text()
        assert entry.words in report
        assert "skyscraper" not in report
        assert entry.command is not None
        assert "\n" not in entry.command
        assert shlex.split(entry.command)[:2] == ["toolhand", "run"]
        assert "not restored" in report


def test_a_question_leaves_a_small_folder_and_only_the_newest_runs_are_kept(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "notes").mkdir()
    types(["where is the lemon?"] * 3 + ["exit"], monkeypatch)
    talking.talk(TalkCommand(scene="3", runs_dir=tmp_path, keep_runs=2))  # type: ignore[arg-type]
    entries = list_runs(tmp_path)
    assert len(entries) == 2
    assert (tmp_path / "notes").is_dir()
    for entry in entries:
        files = [path for path in Path(entry.path).rglob("*") if path.is_file()]
        images = [path for path in files if path.suffix == ".jpg"]
        assert sum(path.stat().st_size for path in files) < 500_000
        assert b"data:image" not in (Path(entry.path) / "report.html").read_bytes()
        assert len(images) == (Path(entry.path) / "report.html").read_text().count("<figure id=")


def test_ctrl_c_twice_leaves_and_the_end_of_the_input_does(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert (
        speak([KeyboardInterrupt, "thanks", KeyboardInterrupt, KeyboardInterrupt], monkeypatch, capsys, tmp_path)[0]
        == 130
    )
    assert speak(["thanks"], monkeypatch, capsys, tmp_path) == (
        0,
        'Speaking with the robot of scene 3. "help" says what it can do, "exit" leaves.\nYou are welcome.\n',
    )


def test_a_sentence_of_several_commands_has_a_report_for_each(cli: Cli, tmp_path: Path) -> None:
    options = ("--scene", "3", "--no-animation", "--approval", "dry-run", "--runs-dir", str(tmp_path), "--json")
    status, out, _ = cli("run", "put the honey next to the tea box ; pick up the baseball", *options)
    result = json.loads(out)
    assert status == 0  # a dry run that came to its first motion
    assert result["error_code"] == "NOT_APPROVED"
    assert 'Left: "put the honey next to the tea box"; "pick up the baseball".' in result["answer"]
    assert [run["task"] for run in result["runs"]] == ["put the honey next to the tea box"]
    assert (Path(result["runs"][0]["run_dir"]) / "report.html").is_file()


def test_another_language_is_refused_in_that_language(cli: Cli, tmp_path: Path) -> None:
    status, out, _ = cli("run", "nimm die Banane", "--runs-dir", str(tmp_path), "--json")
    assert status == 2
    assert json.loads(out)["answer"].startswith("Ich verstehe nur Englisch.")
    (folder,) = tmp_path.iterdir()
    assert (folder / "report.html").is_file(), "a refusal has its report as well"


def kept(folder: Path) -> Path:
    spot = Spot((0.48, 0.42), (0.4, 0.1, 0.0))
    robot = RobotMemory([DoneDeed("pick up the lemon", "pick", "lemon", spot)], [SeenObject("bowl", (0.2, 0.3), 5.0)])
    path = folder / FOLDER / "talk-1.json"
    operator = OperatorMemory(last_object="lemon", left=["pick up the can"], stopped_because="stopped")
    MemoryFile(path, robot=robot, operator=operator).write()
    return path


def test_what_is_remembered_is_shown_and_forgotten(cli: Cli, tmp_path: Path) -> None:
    path = kept(tmp_path)
    status, out, _ = cli("dialogue", "show", "--runs-dir", str(tmp_path))
    assert status == 0
    assert "holds: the lemon, which stood (0.480, 0.420)" in out
    assert "plan: done 0, left pick up the can (stopped)" in out
    status, out, _ = cli("dialogue", "show", "talk-1", "--runs-dir", str(tmp_path), "--json")
    assert json.loads(out)["talk-1"]["robot"]["deeds"][0]["object"] == "lemon"
    assert cli("dialogue", "forget", "talk-1", "--runs-dir", str(tmp_path))[0] == 0
    assert not path.exists()
    assert "No dialogue goes on." in cli("dialogue", "show", "--runs-dir", str(tmp_path))[1]


def test_an_unknown_dialogue_and_a_damaged_memory_are_one_sentence(cli: Cli, tmp_path: Path) -> None:
    path = kept(tmp_path)
    status, _, err = cli("dialogue", "show", "other", "--runs-dir", str(tmp_path))
    assert status == 2
    assert "There is no dialogue 'other'" in err
    path.write_bytes(path.read_bytes()[:-40])
    status, out, _ = cli("dialogue", "show", "--runs-dir", str(tmp_path))
    assert status == 1
    assert "is damaged: it is no JSON document" in out


def test_tab_completes_words_that_mean_something() -> None:
    complete = prompt._completer()
    assert [complete("und", k) for k in range(3)] == ["under ", "undo ", None]
    assert complete("lem", 0) == "lemon "
    assert complete("xyzzy", 0) is None


def test_stop_that_is_typed_while_a_line_is_carried_out_brakes_and_other_lines_wait_for_their_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    person, here = pty.openpty()
    heard: list[str] = []
    braked = threading.Event()

    def answer(line: str) -> None:
        heard.append(line)
        if line == "pick up the can":
            os.write(person, b"thanks\nROBOT please stop\n")
            assert braked.wait(20.0)

    with os.fdopen(here, "r") as keyboard:
        monkeypatch.setattr("sys.stdin", keyboard)
        monkeypatch.setattr(prompt, "is_terminal", lambda *_: True)
        types(["pick up the can", "undo"], monkeypatch)
        assert prompt.listen(answer, lambda: False, braked.set) == 0
    os.close(person)
    assert heard == ["pick up the can", "thanks", "undo"]


def test_a_command_after_a_skill_begins_at_the_park_position(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = RunCommand("", scene="3", runs_dir=tmp_path, animation=False)
    interrupt = Interrupt()
    session = ProcessSession(command, Narrator(), interrupt)
    station = session.station
    park = station.robot.park
    with interrupt:
        skill = skill_policy(SkillAct("point_at", "the honey"), RobotMemory(), load_protocol("spacetools"))
        pointed, _ = session.carry_out(
            SessionCommand("point at the honey", skill, suites=SUITES), {}, session.sentence("point at the honey")
        )
        assert pointed.success, pointed.answer
        assert np.abs(station.robot.nearest_turn(park, station.arm.state().q) - station.arm.state().q).max() > 0.1
        picked, result = session.carry_out(
            SessionCommand("pick up the honey"), {}, session.sentence("pick up the honey")
        )
    assert picked.success, picked.answer
    assert result["truth"]["picked"]
    assert station.manipulator.holds() == "honey"
