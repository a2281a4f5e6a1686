"""Questions of the policy at a terminal: who is asked, what an answer is, and a whole run that goes on with one."""

import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import numpy as np
import pytest

from toolhand.agent_node.console.ask import TerminalOperator, operator_at_terminal
from toolhand.agent_node.events import OperatorAnswer, OperatorQuestion, nobody
from toolhand.agent_node.policies.scripted.policy import ScriptedPolicy
from toolhand.cli.replay import load
from toolhand.tool_nodes.results import ErrorCode, ToolError

WHICH = OperatorQuestion("Which can: the left one or the right one?", 3, np.zeros((4, 6, 3), np.uint8))


class Terminal:
    """A terminal with a person at it, who types as soon as the prompt is there."""

    def __init__(self) -> None:
        self.person, self.here = pty.openpty()
        self.stdin = os.fdopen(self.here, "r", closefd=False)
        self.stderr: TextIO = Typing(self)
        self.types = b""
        self.shown = ""


class Typing:
    """The screen: what is written to it makes the person type."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal

    def write(self, text: str) -> int:
        self._terminal.shown += text
        return len(text)

    def flush(self) -> None:
        """Nothing is held back."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Terminal]:
    made = Terminal()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(
        "toolhand.agent_node.console.ask.forget_typed", lambda stdin: os.write(made.person, made.types)
    )  # what is typed from then on is the answer
    yield made
    os.close(made.person)
    os.close(made.here)


@pytest.mark.parametrize(
    ("types", "answer"),
    [
        (b"the left one\n", OperatorAnswer("the left one")),
        (b"0.25 0.5\n", OperatorAnswer(point=(0.25, 0.5))),
        (b"(0.25, 0.5)\n", OperatorAnswer(point=(0.25, 0.5))),
        (b"1 1.0\n", OperatorAnswer(point=(1.0, 1.0))),
        (b"1.5 0.2\n", OperatorAnswer("1.5 0.2")),
        (b"12.5, .2\n", OperatorAnswer("12.5, .2")),
        (b"the one at 0.25 0.5\n", OperatorAnswer("the one at 0.25 0.5")),
        (b"\x1b[2Jleft\n", OperatorAnswer("[2Jleft")),
        (b"\n", None),
    ],
)
def test_what_is_typed_is_the_answer(terminal: Terminal, types: bytes, answer: OperatorAnswer | None) -> None:
    terminal.types = types
    assert TerminalOperator(terminal.stdin, terminal.stderr)(WHICH) == answer
    assert "Which can: the left one or the right one?" in terminal.shown
    assert "Answer in words" in terminal.shown
    assert "image-3.png" in terminal.shown


def test_nobody_at_the_terminal_is_no_answer(terminal: Terminal) -> None:
    assert TerminalOperator(terminal.stdin, terminal.stderr, deadline_s=0.2)(WHICH) is None
    assert "Nobody answered within 0.2 s." in terminal.shown


def test_an_interrupt_ends_the_question(terminal: Terminal) -> None:
    with pytest.raises(ToolError) as caught:
        TerminalOperator(terminal.stdin, terminal.stderr, interrupted=lambda: True)(WHICH)
    assert caught.value.code is ErrorCode.STOPPED


def test_without_a_terminal_nobody_is_asked() -> None:
    assert operator_at_terminal(ScriptedPolicy()) is nobody


def test_a_run_at_a_terminal_goes_on_with_the_answer_and_is_replayed_with_it(tmp_path: Path) -> None:
    person, here = pty.openpty()
    scene = tmp_path / "two.yaml"
    places = "".join(f"  - {{name: coconut water, position: [0.45, {y}]}}\n" for y in (0.15, -0.15))
    scene.write_text(f"objects:\n{places}")
    runs = tmp_path / "runs"
    command = ["run", "pick up the coconut water", "--no-animation", "--json", "--runs-dir", str(runs)]
    command += ["--scene", str(scene)]
    with subprocess.Popen(
        [sys.executable, "-m", "toolhand", *command], stdin=here, stderr=here, stdout=subprocess.PIPE, text=True
    ) as process:
        os.close(here)
        shown = ""
        while "an empty line ends the command" not in shown:
            shown += os.read(person, 4096).decode()
        while not shown.rstrip(" ").endswith(">"):
            shown += os.read(person, 4096).decode()
        os.write(person, b"the left one\n")
        try:
            while part := os.read(person, 4096):
                shown += part.decode()
        except OSError:  # the terminal is gone with the process
            pass
        result = json.loads(process.communicate()[0])
    os.close(person)
    assert process.returncode == 0
    assert result["success"]
    assert result["truth"]["picked"]
    assert result["judged_against"]["goal"] == "pick coconut_water_2"
    assert "hears   the left one" in shown
    (folder,) = runs.iterdir()
    assert OperatorAnswer("the left one") in [step.event for step in load(folder).steps]
    again = subprocess.run(
        [sys.executable, "-m", "toolhand", "replay", str(folder), "--again"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "the same as recorded" in again.stdout, again.stdout + again.stderr
