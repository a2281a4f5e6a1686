"""What somebody meets who types: names that are nearly right, help, colours, the Tab key, and where words go."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.toolhand.test_cli import Cli
from toolhand.agent_node.calls import ToolCall
from toolhand.agent_node.console.narration import Narrator
from toolhand.agent_node.events import CommandBegan, NoteAdded, OperatorTold, Thought, ToolCalled
from toolhand.cli.commands import COMMANDS, Group
from toolhand.cli.completion import _bash, _fish, words_by_command
from toolhand.tool_nodes.names import did_you_mean


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (["rnu"], "Did you mean run?"),
        (["doctr"], "Did you mean doctor?"),
        (["bench", "gras"], "Did you mean grasp?"),
        (["run", "pick up the red box", "--perception", "pixel"], "Did you mean pixels?"),
        (["run", "pick up the red box", "--grasps", "analytc"], "Did you mean analytic?"),
    ],
)
def test_a_name_that_is_nearly_right_is_answered_with_the_right_one(typed: list[str], meant: str, cli: Cli) -> None:
    ended = cli(*typed)
    assert ended.status == 2
    assert meant in ended.err


def test_a_name_that_is_like_nothing_gets_no_guess(cli: Cli) -> None:
    assert "Did you mean" not in cli("bench", "foo").err
    assert did_you_mean("x" * 100_000, ["run"]) == ""


@pytest.mark.parametrize("words", [["help"], ["help", "run"], ["help", "bench"], ["help", "bench", "grasp"]])
def test_help_as_a_word_is_help(words: list[str], cli: Cli) -> None:
    asked, option = cli(*words), cli(*words[1:], "--help")
    assert asked.status == option.status == 0
    assert asked.out == option.out != ""


def test_no_color_is_heeded_by_help_and_complaints(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    helped, complained = cli("run", "--help"), cli("run", "x", "--sceen", "3")
    assert "\x1b[" not in helped.out + complained.err
    assert "--scene" in helped.out
    assert "--sceen" in complained.err


def completed(script: str, *words: str) -> list[str]:
    """What bash offers for the last word."""
    quoted = " ".join(f"'{word}'" for word in ("toolhand", *words))
    program = (
        f"{script}\nCOMP_WORDS=({quoted}); COMP_CWORD={len(words)}; _toolhand; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    )
    done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=True, timeout=60)
    return done.stdout.split()


def test_the_tab_key_completes_commands_and_options() -> None:
    words = words_by_command()
    script = _bash(words)
    assert completed(script, "") == list(COMMANDS)
    assert completed(script, "ru") == ["run", "runs"]
    assert completed(script, "bench", "gra") == ["grasp"]
    assert completed(script, "run", "x", "--sc") == ["--scene"]
    assert "--n" in completed(script, "bench", "grasp", "--")
    groups = [name for name, entry in COMMANDS.items() if isinstance(entry, Group)]
    assert all(f"__fish_seen_subcommand_from {name}" in _fish(words) for name in groups)


def test_the_story_of_a_run_is_on_stdout_unless_that_is_for_the_document(
    cli: Cli, capsys: pytest.CaptureFixture[str]
) -> None:
    told = cli("run", "sing a song")
    assert "I find no action" in told.out or "not done (NOT_UNDERSTOOD)" in told.out
    assert "report:" in told.out
    document = cli("run", "sing a song", "--json")
    assert json.loads(document.out)["error_code"] == "NOT_UNDERSTOOD"
    assert "report:" in document.err


def test_a_reader_that_goes_away_does_not_end_the_deed(tmp_path: Path) -> None:
    (tmp_path / "alone.yaml").write_text("objects:\n  - {name: red box, position: [0.45, 0.1]}\n")
    run = f"{sys.executable} -m toolhand run 'pick up the red box' --scene alone.yaml --no-animation"
    done = subprocess.run(
        ["bash", "-c", f"{run} | head -1"], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=300
    )
    assert len(done.stdout.splitlines()) == 1
    assert "Traceback" not in done.stderr
    (folder,) = (tmp_path / "runs").iterdir()
    assert json.loads((folder / "result.json").read_text())["success"] is True


def test_a_dry_run_whose_plan_is_within_the_limits_is_no_failure(cli: Cli) -> None:
    ended = cli("run", "pick up the red box", "--approval", "dry-run", "--no-animation", "--json")
    assert ended.status == 0
    assert ended.document["answer"].startswith("Did not pick up the red box: Dry run: ")
    assert ended.document["answer"].count("othing has moved") == 1
    assert "planned, and within the limits" in ended.err


def test_a_motion_that_nobody_can_approve_is_told_once(cli: Cli) -> None:
    ended = cli("run", "pick up the red box", "--approval", "ask-motion", "--no-animation", "--json")
    assert ended.status == 1
    assert ended.document["answer"].count("othing has moved") == 1


def test_the_simulators_word_is_told_to_people(capsys: pytest.CaptureFixture[str]) -> None:
    basis = {"goal": "pick red_box_1", "source": "the sentence"}
    Narrator().summary(
        {
            "answer": "Done.",
            "success": True,
            "truth": {"picked": True, "placed": False, "score": 1},
            "judged_against": basis,
        }
    )
    assert "simulator's judgement: picked, not placed (score 1 of 2)" in capsys.readouterr().out
    Narrator().summary(
        {
            "answer": "No.",
            "error_code": "AMBIGUOUS",
            "truth": None,
            "judged_against": {"goal": "nothing: which one?", "source": "x"},
        }
    )
    told = capsys.readouterr().out
    assert "None" not in told
    assert "not done (AMBIGUOUS); not judged: which one?" in told
    assert "judged against" not in told
    Narrator().summary({"answer": "I see no banana here.", "success": False, "error_code": None, "truth": None})
    assert "answered; nothing was moved" in capsys.readouterr().out


def test_whatever_a_model_writes_is_told_in_lines_that_a_terminal_can_show(capsys: pytest.CaptureFixture[str]) -> None:
    hostile = "\x1b[2K\x1b[1A\rStopped: at rest" + "x" * 100_000
    narrator = Narrator()
    told = [ToolCalled(ToolCall(hostile, {hostile: hostile})), Thought(hostile), OperatorTold(hostile)]
    for event in (*told, CommandBegan(hostile), NoteAdded(hostile)):
        narrator.hear(event)
        out = capsys.readouterr().out
        assert len(out) < 11_000
        assert out.rstrip("\n").isprintable()
    narrator.summary({"answer": hostile, "success": True})
    assert capsys.readouterr().out.endswith("characters in all)\n  done\n"), "the verdict is never cut off"


def test_a_tool_that_fails_says_so_on_stderr(cli: Cli) -> None:
    ended = cli("call", "roborefer.detect_all", '{"obj_name": "unicorn", "image_index": 0}')
    assert (ended.status, ended.out) == (1, "")
    assert "unicorn" in ended.err


def test_depth_over_ros_is_refused_and_not_left_out(cli: Cli) -> None:
    ended = cli("run", "pick up the red box", "--transport", "ros", "--record-depth")
    assert ended.status == 2
    assert "--record-depth is for --transport process." in ended.err
