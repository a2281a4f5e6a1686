"""`toolhand talk`: a prompt at the terminal that stays, for one dialogue with one robot."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from toolhand.agent_node.console.narration import Narrator, say_missing
from toolhand.agent_node.console.options import Unprefixed
from toolhand.agent_node.console.terminal import Interrupt, plain, tell
from toolhand.agent_node.episode import Episode
from toolhand.agent_node.events import ignore
from toolhand.agent_node.memory import RobotMemory
from toolhand.agent_node.memory_file import FOLDER
from toolhand.agent_node.open_question import ANSWER_WITHIN_S
from toolhand.agent_node.runs.folder import Unwritten, time_now
from toolhand.agent_node.session import SessionCommand, SessionSetup, SessionTurn
from toolhand.cli.prompt import listen
from toolhand.cli.repeating import command_line, recorded
from toolhand.cli.run_command import RunCommand, TalkCommand
from toolhand.tool_nodes.results import ToolError
from toolhand.tool_nodes.version import version

_LATE_S = 0.5
"""So much after a question is too old the prompt says that it is closed [s]."""


def talk(command: Unprefixed[TalkCommand]) -> int:
    """Speak with the simulated robot at a prompt that stays, until "exit", the end of the input, or Ctrl-C twice.

    It remembers what it asked, holds and did, so that "the left one", "put it back" and "undo" mean something. Each
    sentence has a folder and a report as with `toolhand run`, questions too; --keep-runs N deletes older ones. Ctrl-C
    stops the arm.
    """
    from toolhand.tool_nodes.motion.packages import use_packages

    command.require_fit()
    if command.transport == "ros":
        from toolhand.cli.talk_over_ros import talk_over_ros

        return talk_over_ros(command)
    use_packages(command.package_path)
    narrator = Narrator()
    path = command.runs_dir / FOLDER / f"talk-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.json"
    session = _Talk(command, narrator, path)
    tell(plain(f'Speaking with the robot of scene {command.scene}. "help" says what it can do, "exit" leaves.'))
    try:
        return listen(session.answer, session.is_hit, session.brake)
    finally:
        path.unlink(missing_ok=True)  # kept as long as the session
        with contextlib.suppress(OSError):
            path.parent.rmdir()


def run_in_process(
    command: RunCommand, narrator: Narrator, about: Mapping[str, Any], interrupt: Interrupt
) -> dict[str, Any]:
    """Carry out one sentence in a session of its own; arguments as of `toolhand.cli.run_over_ros.run_over_ros`.

    Returns:
        The result of the only command; of several, the outcome, and their results as `runs`.
    """
    talk = _Talk(command, narrator, None, about, interrupt)
    for words in talk.earlier:
        narrator.line(f"\nBefore it was said: {words}")
        talk.hear(words)
    narrator.header(command.text, about)
    turn = talk.hear(command.text)
    if talk.as_said:
        return talk.results[-1] if talk.results else {}
    result = {
        "task": command.text,
        "answer": turn.answer,
        "success": turn.success,
        "truth": None,
        "error_code": turn.error_code,
        "tool_calls": sum(episode.tool_calls for episode in turn.episodes),
        "turns": sum(len(episode.turns) for episode in turn.episodes),
    }
    if not (len(turn.episodes) == 1 and turn.answer == turn.episodes[0].answer):
        narrator.line(f"\n{turn.answer}")
    return result | dict(about) | {"runs": talk.results}


class _Talk:
    """One session with a simulated station, at the terminal.

    Args:
        command: The options.
        narrator: Reporter of what is told, and of the end of each command.
        path: File in which the memory is kept; None keeps none.
        about: Further entries of the result of a single sentence, which is told step by step; None at the prompt.
        interrupt: Ctrl-C of a single sentence.

    Attributes:
        results: Result of every command of the last utterance.
        earlier: Utterances that a replayed conversation began with.
        as_said: The last utterance was one command, which puts its own questions.
    """

    def __init__(
        self,
        command: RunCommand,
        narrator: Narrator,
        path: Path | None,
        about: Mapping[str, Any] | None = None,
        interrupt: Interrupt | None = None,
    ) -> None:
        from toolhand.cli.run_in_process import ProcessSession

        self._command, self._narrator, self._about = command, narrator, about
        self._interrupt = interrupt
        told = about is not None  # at the prompt answers are shown, and the steps that lead to them are in the report
        listener = narrator.hear if told else ignore
        robot = RobotMemory()
        self._session = process = ProcessSession(
            command, narrator, interrupt or Interrupt(), listener, asks=told, summarizes=told, robot=robot
        )
        begin = process.kind.once if told else process.kind.begin
        self._dialogue = begin(
            SessionSetup(
                self._carry_out,
                robot,
                narrator.line,
                lambda: self._session.interrupt.is_hit(),
                path=path,
                protocol=process.protocol,
            )
        )
        self.as_said, self.earlier = False, process.earlier
        self._sentence = self._session.sentence("")
        self.results: list[dict[str, Any]] = []

    def hear(self, words: str) -> SessionTurn:
        """What comes of an utterance; Ctrl-C stops the arm meanwhile."""
        self.results, self.as_said = [], False
        if self.is_hit():
            self._dialogue.note_stop()
        self._session.interrupt = interrupt = self._interrupt or Interrupt()
        arm = self._session.station.arm
        if self._interrupt is None:
            arm.reset_stop()  # of the utterance before: the person who stopped it speaks again
        self._sentence = self._session.sentence(words)
        missing = Unwritten()
        try:
            with interrupt:
                interrupt.bind(arm.stop)
                turn = self._dialogue.say(words)
            again = command_line(self._command, words)
            with missing.noted():
                self._sentence.end(turn.answer, turn.success, turn.error_code, again)
        finally:
            self._sentence.close()
            say_missing(missing.reasons)
        return turn

    def is_hit(self) -> bool:
        """Ctrl-C was typed while the last words were carried out."""
        return self._session.interrupt.is_hit()

    def brake(self) -> None:
        """Stop the arm, as Ctrl-C does."""
        self._session.interrupt.brake()
        tell("Stopping: the arm holds its position.")

    def answer(self, line: str) -> None:
        """Say what comes of a line, and what goes wrong in one sentence."""
        try:
            turn = self.hear(line)
        except ToolError as error:
            tell(plain(f"{error.code}: {error}"))
            return
        tell(plain(turn.answer))
        if turn.question is not None:
            timer = threading.Timer(ANSWER_WITHIN_S + _LATE_S, self._close_question)
            timer.daemon = True
            timer.start()

    def _close_question(self) -> None:
        closed = self._dialogue.close_old_question()
        if closed:
            tell(f"\n{closed}")

    def _carry_out(self, asked: SessionCommand) -> Episode:
        own = {"began": time_now(), "version": version()}
        about = dict(self._about if self._about is not None else recorded(self._command) | own)
        about["command"] = command_line(self._command, asked.sentence)
        self.as_said = asked.asks
        episode, result = self._session.carry_out(asked, about, self._sentence)
        self.results += [result] if result is not None else []
        return episode
