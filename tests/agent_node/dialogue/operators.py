"""A robot made of text for dialogues: commands that do as they say, are asked about, or fail."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from toolhand.agent_node.calls import ToolCall
from toolhand.agent_node.dialogue.acts import Act
from toolhand.agent_node.dialogue.dialogue import Dialogue
from toolhand.agent_node.dialogue.looking import LookPolicy, MeasurePolicy
from toolhand.agent_node.dialogue.reading import act_of
from toolhand.agent_node.episode import Episode, Exchange, Turn
from toolhand.agent_node.memory import without_point
from toolhand.agent_node.plan.reading import read_plan
from toolhand.agent_node.policies.scripted.commands import parse_command
from toolhand.agent_node.policy import Policy, Reply
from toolhand.agent_node.protocol import ParsedTurn
from toolhand.tool_nodes.results import ErrorCode, ToolError, ToolResult
from toolhand.tool_nodes.toolbox.toolbox import CallRecord, Session

STOOD = {"stood": [0.48, 0.42], "stood_m": [0.4, 0.1, 0.0]}
PUT = {"found": [0.3, 0.6], "found_m": [0.5, -0.2, 0.0], "wanted": [0.3, 0.6], "wanted_m": [0.5, -0.2, 0.0]}


def named_thing(sentence: str) -> str:
    """The plain name of the object of a command; empty where it names none."""
    target = parse_command(sentence).target
    return "" if target is None else without_point(target.plain)


def read(text: str) -> list[Act]:
    """The acts of a plan's text, in order."""
    return [act_of(act) for act in read_plan(text)]


def record(name: str, facts: Mapping[str, Any], error: ToolError | None = None, **arguments: Any) -> CallRecord:
    motion = name.startswith("robot.") and name != "robot.capture_image"
    return CallRecord(name, arguments, ToolResult(text="", facts=facts, error=error), None, 0.0, 0.0, motion)


def lifted(**facts: Any) -> CallRecord:
    return record("robot.execute_grasp", {"grasped": STOOD | facts})


def put(**facts: Any) -> CallRecord:
    return record("robot.place_object_at_2d_location", {"placed": PUT | facts})


@dataclass
class TextRobot:
    """Carries out commands, each with the records and the answer that its words call for.

    Attributes:
        said: Commands that it was given, in order, looks included; deeds are those without them.
        sees: What a look finds: points of phrases.
        endings: Endings of the next commands: an error's code and its sentence, or None for success.
    """

    said: list[str] = field(default_factory=list)
    memories: list[str] = field(default_factory=list)
    endings: list[tuple[ErrorCode, str] | None] = field(default_factory=list)
    points: Mapping[str, list[list[float]]] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    holding: bool = False
    sees: Mapping[str, list[tuple[float, float]]] = field(default_factory=dict)
    deeds: list[str] = field(default_factory=list)

    def _look(self, sentence: str, policy: LookPolicy) -> Episode:
        nothing = ToolError(ErrorCode.OBJECT_NOT_FOUND, "nothing of that name")
        looked = [
            record("roborefer.detect_all", {"points": self.sees[phrase]}, obj_name=phrase)
            if self.sees.get(phrase)
            else record("roborefer.detect_all", {}, nothing, obj_name=phrase)
            for phrase in policy.phrases
        ]
        return episode_of(sentence, looked)

    def __call__(self, sentence: str, policy: Policy | None, memory: str) -> Episode:
        self.said.append(sentence)
        self.memories.append(memory)
        if isinstance(policy, LookPolicy):
            return self._look(sentence, policy)
        if isinstance(policy, MeasurePolicy):  # nothing can be measured in a text
            return episode_of(sentence, [])
        self.deeds.append(sentence)
        if policy is not None:  # a skill, or an answer: nothing is moved in a text
            done = episode_of(sentence, [])
            done.success, done.answer = True, "Done."
            return done
        ending = self.endings.pop(0) if self.endings else None
        records = [record("roborefer.detect_all", {"points": p}, obj_name=n) for n, p in self.points.items()]
        episode = Episode(sentence, [], [], Session())
        if ending is None:
            picks = "pick up" in sentence.lower()
            if picks or not self.holding:
                records.append(lifted(**self.facts.get("grasped", {})))
            if not picks:
                back = {"found": STOOD["stood"], "found_m": STOOD["stood_m"]} if "(0.480, 0.420)" in sentence else {}
                records.append(put(**(back | self.facts.get("placed", {}))))
            self.holding = picks
            episode.answer = f"{'Picked up' if picks else 'Placed'} the {named_thing(sentence) or 'held object'}."
            episode.success = True
        else:
            episode.error_code, episode.answer = ending
        episode.turns = episode_of(sentence, records).turns
        return episode


def episode_of(sentence: str, records: list[CallRecord]) -> Episode:
    episode = Episode(sentence, [], [], Session())
    turn = Turn(Reply(""), ParsedTurn("", (), None))
    turn.exchanges = [Exchange(ToolCall(each.name, dict(each.arguments)), "", each) for each in records]
    episode.turns.append(turn)
    return episode


@dataclass
class Clock:
    """Seconds that a test lets pass."""

    now_s: float = 1000.0

    def __call__(self) -> float:
        return self.now_s


def dialogue(carries_out: TextRobot, **options: Any) -> Dialogue:
    return Dialogue(carries_out, clock=options.pop("clock", Clock()), **options)
