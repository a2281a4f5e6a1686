"""Commands with the tools in this process, and the folder that each leaves."""

from __future__ import annotations

import contextlib
import functools
import logging
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from toolhand.agent_node.advice import MOVES_NOTHING, about_the_robot
from toolhand.agent_node.agent import Agent
from toolhand.agent_node.console.approve import TerminalApprover
from toolhand.agent_node.console.ask import operator_at_terminal
from toolhand.agent_node.console.narration import Narrator, say_missing
from toolhand.agent_node.console.terminal import Interrupt, chosen_by_the_user
from toolhand.agent_node.conversation_settings import ConversationSettings
from toolhand.agent_node.episode import Episode
from toolhand.agent_node.episode import summarize as summarize_episode
from toolhand.agent_node.events import Listener, ignore, nobody
from toolhand.agent_node.memory import RobotMemory
from toolhand.agent_node.policies.options import PolicyOptions
from toolhand.agent_node.policies.registry import make_policy
from toolhand.agent_node.runs.folder import SAFETY_FILE, Unwritten, clear_empty
from toolhand.agent_node.runs.mcap.recorder import Recorder
from toolhand.agent_node.runs.sentence import SentenceFolder, with_words
from toolhand.agent_node.runs.write import write_run
from toolhand.agent_node.session import SessionCommand
from toolhand.agent_node.session_kinds import session_of
from toolhand.cli import options as stations
from toolhand.cli.first_picture import first_picture, picture_file
from toolhand.cli.run_command import RunCommand
from toolhand.sim.animation import animate
from toolhand.tool_nodes.motion.guard import LOG, Mode, MotionGuard
from toolhand.tool_nodes.motion.limits import MotionLimits
from toolhand.tool_nodes.motion.robot_model import load_robot
from toolhand.training.env.episode import summarize
from toolhand.training.env.goal_from_text import judged_sentence
from toolhand.training.env.recorded import motion_log, truth_log


class ProcessSession:
    """A simulated station of this process, and a policy that carries out commands on it one after the other.

    Args:
        command: The options.
        narrator: Reporter of the end of each command.
        listener: Hears every event.
        asks: Questions of the policy are put to the person at the terminal, and wait.
        summarizes: The narrator tells how each command ended; else only where its report is.
        robot: The robot's memory.

    Attributes:
        interrupt: Ctrl-C, of the command that is carried out.
        station: The station.
        kind: The session that its policy has.
        earlier: Utterances that a replayed conversation began with.
    """

    def __init__(
        self,
        command: RunCommand,
        narrator: Narrator,
        interrupt: Interrupt,
        listener: Listener = ignore,
        asks: bool = False,
        summarizes: bool = True,
        robot: RobotMemory | None = None,
    ) -> None:
        self.interrupt, self._summarizes, self._began = interrupt, summarizes, False
        self._command, self._narrator, self._listener = command, narrator, listener
        self._picture = None if command.picture is None else picture_file(command.picture)
        self._guard = MotionGuard(
            Mode(command.approval),
            TerminalApprover(interrupted=self._is_hit),
            MotionLimits(robot=load_robot(command.robot)),
        )
        self.station = stations.named_station(
            command.scene,
            command.perception,
            command.seed,
            suite=command.suites,
            guard=self._guard,
            role=command.role,
            ports=command.ports,
            robot=command.robot,
            objects=command.objects,
        )
        self.kind = session_of(command.policy)
        answered = not asks or operator_at_terminal() is not nobody  # without questions now, the next words answer
        self._toolbox = self.kind.tools(self.station.toolbox, robot or RobotMemory(), answered)
        told = about_the_robot(load_robot(command.robot), self.station.toolbox)
        self.protocol = replace(command.written, robot=told)
        if told.startswith(MOVES_NOTHING):
            narrator.line(f"The suite {command.suites} moves nothing; --suite native does.")
        options = PolicyOptions(**asdict(command.model), seed=command.seed, turns=command.turns, stopped=self._is_hit)
        self._policy = make_policy(command.policy, self.protocol, self._toolbox.schemas(self.protocol.native), options)
        self.earlier: tuple[str, ...] = tuple(getattr(self._policy, "earlier", ()))
        self._ask = operator_at_terminal(self._policy, self._is_hit) if asks else nobody

    def _is_hit(self) -> bool:
        return self.interrupt.is_hit()

    def carry_out(
        self, asked: SessionCommand, about: Mapping[str, Any], sentence: SentenceFolder
    ) -> tuple[Episode, dict[str, Any] | None]:
        """Carry out one command of a session within `interrupt`, and write the folder of its run; record and result.

        Args:
            asked: The command; one with the session's own tools is judged.
            about: Further entries of the result.
            sentence: Folder of the words that it is a part of.
        """
        command, station, text = self._command, self.station, asked.sentence
        on_the_way, own = asked.on_the_way, not asked.suites
        with chosen_by_the_user():
            run_dir = sentence.begin(on_the_way)
        if self._began:
            station.world.clear_log()
        self._began = True
        listener = ignore if on_the_way else self._listener
        recorder = Recorder(text, lambda: station.world.time, listener, depth=command.record_depth)
        settings = asked.settings(ConversationSettings(command.turns, self.protocol))
        toolbox = self._toolbox if own else station.new_toolbox(asked.suites)
        ask = self._ask if asked.asks else nobody
        images = first_picture(self._picture, station.camera, toolbox) if asked.look else ()
        agent = Agent(asked.policy or self._policy, toolbox, settings, self._is_hit, recorder.hear, ask, images)
        missing, results = Unwritten(), list[dict[str, Any]]()

        def write(folder: Path, episode: Episode, known: Mapping[str, Any]) -> None:
            result = dict(known) | with_words(about, sentence.said, text) | asked.record | {"run_dir": str(folder)}
            results.append(result)
            if self._summarizes and not on_the_way:
                self._narrator.summary(result)
            film = functools.partial(animate, station, self._is_hit) if command.animation else None
            logs = motion_log(station), truth_log(station)
            missing.reasons += write_run(folder, episode, toolbox, result, recorder, *logs, film).reasons
            if (folder / "report.html").is_file():
                self._narrator.line(f"  report: {folder / 'report.html'}")

        ended = False
        try:
            with _attempts_logged(run_dir / SAFETY_FILE, missing):
                self.interrupt.bind(station.arm.stop)
                if own:
                    station.manipulator.return_to_park()  # a skill leaves the arm where it hides a part of the table
                self._guard.begin_command()
                if own:
                    outcome = judged_sentence(station, lambda: asked.run(agent))
                    episode, known = outcome.episode, summarize(outcome, station)
                else:
                    episode = asked.run(agent)
                    known = summarize_episode(episode)
                ended = True
                still = not any(record.motion for record in episode.records)
                sentence.keep(run_dir, lambda folder: write(folder, episode, known), on_the_way and still)
        finally:
            if recorder.heard and not ended:  # a second Ctrl-C has ended it
                with missing.noted():
                    recorder.write(run_dir, motion_log(station), None, truth=truth_log(station))
            say_missing(missing.reasons)
            clear_empty(run_dir)  # nothing is left of a run that never began
        return episode, missing.beside(results[-1]) if results else None

    def sentence(self, said: str) -> SentenceFolder:
        """The folder of the next words."""
        return SentenceFolder(self._command.runs_dir, said, self._command.keep_runs)


class _LinesOfAttempts(logging.FileHandler):
    """Says once that it cannot write, and lets the motion go on that it writes about."""

    def __init__(self, file: Path, missing: Unwritten) -> None:
        super().__init__(file, encoding="utf-8", delay=True)
        self._missing, self._failed = missing, False

    def emit(self, record: logging.LogRecord) -> None:
        if not self._failed:
            with self._fault_noted():
                super().emit(record)

    def handleError(self, record: logging.LogRecord) -> None:
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            super().handleError(record)
            return
        with self._fault_noted():
            raise error

    def close(self) -> None:
        with self._fault_noted():
            super().close()

    @contextlib.contextmanager
    def _fault_noted(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if not self._failed:
                self._missing.reasons.append(f"Cannot write {self.baseFilename}: {error.strerror}.")
            self._failed = True


@contextlib.contextmanager
def _attempts_logged(file: Path, missing: Unwritten) -> Iterator[None]:
    """Every attempt to move becomes a line of a file, which is there only if there was one."""
    handler = _LinesOfAttempts(file, missing)
    handler.addFilter(logging.Filter(LOG.name))  # others speak of other objects, and not in JSON
    log = logging.getLogger("toolhand")
    level = log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(level)
        handler.close()
