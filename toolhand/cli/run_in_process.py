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
from toolhand.agent_node.dialogue.acts import Refused
from toolhand.agent_node.dialogue.fixed_calls import is_on_the_way
from toolhand.agent_node.dialogue.refusing import RefusingPolicy
from toolhand.agent_node.dialogue.skills import SUITES
from toolhand.agent_node.episode import Episode
from toolhand.agent_node.episode import summarize as summarize_episode
from toolhand.agent_node.events import Listener, ignore, nobody
from toolhand.agent_node.policies.options import PolicyOptions
from toolhand.agent_node.policies.registry import make_policy
from toolhand.agent_node.policy import Policy
from toolhand.agent_node.runs.folder import SAFETY_FILE, Unwritten, clear_empty
from toolhand.agent_node.runs.mcap.recorder import Recorder
from toolhand.agent_node.runs.sentence import SentenceFolder, with_words
from toolhand.agent_node.runs.write import write_run
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

    Attributes:
        interrupt: Ctrl-C, of the command that is carried out.
        station: The station.
    """

    def __init__(
        self,
        command: RunCommand,
        narrator: Narrator,
        interrupt: Interrupt,
        listener: Listener = ignore,
        asks: bool = False,
        summarizes: bool = True,
        refused: Refused | None = None,
    ) -> None:
        self.interrupt, self._summarizes = interrupt, summarizes
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
        robot = about_the_robot(load_robot(command.robot), self.station.toolbox)
        self.protocol = replace(command.written, robot=robot)
        if robot.startswith(MOVES_NOTHING):
            narrator.line(f"The suite {command.suites} moves nothing; --suite native does.")
        options = PolicyOptions(**asdict(command.model), seed=command.seed, turns=command.turns, stopped=self._is_hit)
        self._policy = make_policy(command.policy, self.protocol, self.station.toolbox.schemas(), options)
        if refused is not None:
            self._policy = RefusingPolicy(refused, self.protocol)
        self._ask = operator_at_terminal(self._policy, self._is_hit) if asks else nobody
        self._began = False

    def _is_hit(self) -> bool:
        return self.interrupt.is_hit()

    def carry_out(
        self,
        text: str,
        about: Mapping[str, Any],
        policy: Policy | None = None,
        memory: str = "",
        sentence: SentenceFolder | None = None,
    ) -> tuple[Episode, dict[str, Any] | None]:
        """Carry out one sentence within `interrupt`, and write the folder of its run; the record and the result.

        Args:
            text: The sentence.
            about: Further entries of the result.
            policy: Policy that does it; the session's own where None, whose deed is then judged.
            memory: Account of the commands before, for a policy that reads.
            sentence: Folder of the words that it is a part of; one of its own where None.
        """
        command, station = self._command, self.station
        on_the_way, sentence = is_on_the_way(policy), sentence or self.sentence(text)
        with chosen_by_the_user():
            run_dir = sentence.begin(on_the_way)
        if self._began:
            station.world.clear_log()
        self._began = True
        listener = ignore if on_the_way else self._listener
        recorder = Recorder(text, lambda: station.world.time, listener, depth=command.record_depth)
        settings = ConversationSettings(command.turns, self.protocol)
        # A skill has tools of its own, which no model is offered.
        toolbox = station.toolbox if policy is None else station.new_toolbox(SUITES)
        shown = first_picture(self._picture, station.camera, toolbox)
        agent = Agent(policy or self._policy, toolbox, settings, self._is_hit, recorder.hear, self._ask, *shown)
        missing, results = Unwritten(), list[dict[str, Any]]()

        def write(folder: Path, episode: Episode, known: Mapping[str, Any]) -> None:
            result = dict(known) | with_words(about, sentence.said, text) | {"run_dir": str(folder)}
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
                if policy is None:
                    station.manipulator.return_to_park()  # a skill leaves the arm where it hides a part of the table
                self._guard.begin_command()
                if policy is None:
                    outcome = judged_sentence(station, lambda: agent.run(text, memory=memory))
                    episode, known = outcome.episode, summarize(outcome, station)
                else:
                    episode = agent.run(text, memory=memory)
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


def run_in_process(
    command: RunCommand,
    narrator: Narrator,
    about: Mapping[str, Any],
    interrupt: Interrupt,
    refused: Refused | None = None,
) -> dict[str, Any]:
    """Carry out the sentence of a command on a simulated station of this process; its result.

    Args:
        command: The options.
        narrator: Reporter of every event and of the end.
        about: Further entries of the result.
        interrupt: Is bound to the arm.
        refused: Refusal that the sentence was read as; the policy of the command decides where None.
    """
    session = ProcessSession(command, narrator, interrupt, narrator.hear, asks=True, refused=refused)
    with interrupt:
        narrator.header(command.text, about)
        return session.carry_out(command.text, about)[1] or {}


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
