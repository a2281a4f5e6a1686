"""A scripted robot on a simulated station that is talked to, judged after every utterance."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from toolhand.agent_node.agent import Agent
from toolhand.agent_node.console.options import BackendOptions
from toolhand.agent_node.dialogue.dialogue import Dialogue
from toolhand.agent_node.dialogue.memory import OperatorMemory
from toolhand.agent_node.dialogue.skills import SUITES
from toolhand.agent_node.episode import Episode
from toolhand.agent_node.memory import RobotMemory
from toolhand.agent_node.plan.reader import PlanReader, ShippedReader
from toolhand.agent_node.policies.scripted.policy import ScriptedPolicy
from toolhand.agent_node.policy import Policy
from toolhand.bench.dialogue.expected import Uttered
from toolhand.bench.dialogue.outcomes import DialogueOutcome, Judged, RobotsTurn, judge_said
from toolhand.sim.scene.scenes import Scene
from toolhand.sim.station import Station, StationConfig
from toolhand.sim.tasks.judge import Judge
from toolhand.sim.tasks.predicates import THRESHOLDS
from toolhand.tool_nodes.results import ErrorCode, ToolError

_HOLDS_S = (THRESHOLDS.hold_s, THRESHOLDS.still_s)
"""How long the world is let alone after an utterance that moved the arm [s], as `ArrangedTask` asks."""


@dataclass(frozen=True)
class UtteranceRecord:
    """What one utterance gave.

    Attributes:
        seed: Number of the first sentence of its job in the list.
        words: Utterance of the operator.
        goal: Goal in a line of the scene's ids.
        outcome: One of `toolhand.bench.dialogue.outcomes.OUTCOMES`.
        reasons: Faults, one sentence each.
        unasked: Something moved that nobody asked for.
        error_code: Code of what went wrong.
        processor_s: Processor time until the answer, the simulation included [s].
        first_motion_s: Wall time until the first motion [s]; None without one.
        closed: An able person would ask, refuse or do nothing.
        off_mm: Distance of an object from where it was to come back to [mm]; None where none was.
    """

    seed: int
    kind: str
    words: str
    goal: str
    outcome: DialogueOutcome
    reasons: tuple[str, ...] = ()
    unasked: bool = False
    answer: str = ""
    error_code: str = ""
    processor_s: float = 0.0
    first_motion_s: float | None = None
    closed: bool = False
    off_mm: float | None = None

    def document(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)


def record_from(document: Mapping[str, Any]) -> UtteranceRecord:
    """The record of a document. Raises TypeError for another one."""
    return UtteranceRecord(**{**document, "reasons": tuple(document["reasons"])})


@dataclass
class TalkedTo:
    """A robot on a station that is talked to.

    Attributes:
        reader: Reads what is said.
    """

    station: Station
    reader: PlanReader = field(default_factory=ShippedReader)
    dialogue: Dialogue = field(init=False)

    def __post_init__(self) -> None:
        self.begin()

    def begin(self, robot: RobotMemory | None = None, operator: OperatorMemory | None = None) -> None:
        """Begin a dialogue, with these memories where there are some."""
        # The world's clock goes back with the world: a question is not older because other answers were tried before.
        self.dialogue = Dialogue(
            self._carry_out, robot, operator, clock=lambda: self.station.world.time, reader=self.reader
        )

    def _carry_out(self, sentence: str, policy: Policy | None, memory: str) -> Episode:
        toolbox = self.station.toolbox if policy is None else self.station.new_toolbox(SUITES)
        return Agent(policy or ScriptedPolicy(), toolbox).run(sentence)

    def say(self, words: str) -> RobotsTurn:
        """One utterance, to its end."""
        try:
            turn = self.dialogue.say(words)
        except ToolError as error:
            return RobotsTurn(words, str(error), False, error.code)
        return RobotsTurn(words, turn.answer, turn.success, turn.error_code, turn.question is not None)

    def judged(self, seed: int, said: Uttered) -> UtteranceRecord:
        """Say it, and judge what came of it."""
        judge, station = Judge(self.station), self.station
        station.arm.first_motion_at = None
        began, processor = time.monotonic(), time.process_time()
        turn = self.say(said.words)
        processor = time.process_time() - processor
        moved_at = station.arm.first_motion_at
        try:
            # Where no time passed nothing moved, and nothing has to come to rest.
            found = judge_said(said, turn, judge.history(_HOLDS_S if judge.sim_time_s else (0.0, 0.0)))
        except ToolError as error:
            if error.code != ErrorCode.INTERNAL:
                raise
            found = Judged("unscored", (error.message,))
        return UtteranceRecord(
            seed,
            said.kind,
            said.words,
            said.goal,
            found.outcome,
            found.reasons,
            found.unasked,
            turn.answer,
            turn.error_code or "",
            round(processor, 3),
            None if moved_at is None else round(moved_at - began, 3),
        )


def station_of(scene: Scene, seed: int, backends: BackendOptions, sleep: bool = True) -> Station:
    """A station of its own for a conversation; arguments as of `StationConfig`."""
    return Station(scene, StationConfig(**vars(backends), seed=seed % 1000, sleep=sleep))
