"""The operator's question at the terminal: a pseudo-terminal types, and only a plain yes after the question counts."""

from __future__ import annotations

import io
import os
import pty
import select
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import numpy as np
import pytest
from PIL import Image

from toolhand.agent_node.console.approve import TerminalApprover
from toolhand.tool_nodes.motion.approval import Decision, MotionRequest
from toolhand.tool_nodes.results import ErrorCode, ToolError


def request(what: str = "Grasp with the gripper at x=0.450 m") -> MotionRequest:
    image = np.full((4, 6, 3), 90, np.uint8)
    return MotionRequest(what, ("the jaws move to 85 mm",), (), np.eye(4), 1.0, "ab" * 32, "12345678abc", image)


class Terminal:
    """A pseudo-terminal, and somebody at its keyboard."""

    def __init__(self) -> None:
        self.keyboard, end = pty.openpty()
        raw = io.FileIO(end, "r+")
        self.stream: TextIO = io.TextIOWrapper(raw, encoding="utf-8", write_through=True)
        self.seen = ""

    def type(self, text: str) -> None:
        os.write(self.keyboard, text.encode())

    def wait_for(self, text: str) -> None:
        until = time.monotonic() + 20.0
        while text not in self.seen:
            assert time.monotonic() < until, self.seen
            if select.select([self.keyboard], [], [], 0.05)[0]:
                self.seen += os.read(self.keyboard, 4096).decode()

    def close(self) -> None:
        self.stream.close()
        os.close(self.keyboard)


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    made = Terminal()
    yield made
    made.close()


def decide(terminal: Terminal, folder: Path, *typed: str, what: str = "Grasp") -> Decision:
    """What comes of a question when these lines are typed, each when it is asked for."""
    approver = TerminalApprover(folder, terminal.stream, terminal.stream)
    decisions: list[Decision] = []
    asking = threading.Thread(target=lambda: decisions.append(approver.decide(request(what))))
    asking.start()
    for prompt, text in zip(("Let it move?", "Why not?"), typed, strict=False):
        terminal.wait_for(prompt)
        terminal.type(text + "\n")
    asking.join(20.0)
    return decisions[0]


def test_a_yes_approves_the_request_that_was_shown(terminal: Terminal, tmp_path: Path) -> None:
    decision = decide(terminal, tmp_path, "y")
    assert decision == Decision(True, "", "ab" * 32, "terminal")
    assert "the jaws move to 85 mm" in terminal.seen
    (image,) = tmp_path.iterdir()
    assert str(image) in terminal.seen
    assert Image.open(image).size == (6, 4)


@pytest.mark.parametrize("answer", ["n", "", "no", "yep", "approved", "y e s", "yy", "1"])
def test_anything_but_a_plain_yes_refuses_with_the_reason(terminal: Terminal, tmp_path: Path, answer: str) -> None:
    assert decide(terminal, tmp_path, answer, "wrong thing") == Decision(False, "wrong thing", "ab" * 32, "terminal")


def test_what_was_typed_before_the_question_is_no_answer(terminal: Terminal, tmp_path: Path) -> None:
    terminal.type("y\ny\n")
    assert decide(terminal, tmp_path, "n", "").approved is False


def test_text_cannot_draw_over_the_question(terminal: Terminal, tmp_path: Path) -> None:
    decide(terminal, tmp_path, "n", "", what="Grasp\x1b[2J\r\n  hash 00 \x07")
    assert "Grasp[2J  hash 00" in terminal.seen
    assert "\x1b" not in terminal.seen


def test_without_a_terminal_nothing_is_approved_and_nothing_is_read(tmp_path: Path) -> None:
    keyboard, screen = io.StringIO("y\n"), io.StringIO()
    decision = TerminalApprover(tmp_path, keyboard, screen).decide(request())
    assert (decision.approved, decision.by) == (False, "nobody")
    assert keyboard.tell() == 0
    assert not screen.getvalue()


def test_a_question_ends_at_its_deadline(terminal: Terminal, tmp_path: Path) -> None:
    approver = TerminalApprover(tmp_path, terminal.stream, terminal.stream, deadline_s=0.05)
    decision = approver.decide(request())
    assert (decision.approved, decision.by) == (False, "nobody")
    assert "within 0.05 s" in decision.reason


def test_an_interrupt_ends_the_question(terminal: Terminal, tmp_path: Path) -> None:
    with pytest.raises(ToolError) as caught:
        TerminalApprover(tmp_path, terminal.stream, terminal.stream, lambda: True).decide(request())
    assert caught.value.code is ErrorCode.STOPPED
