"""The careful teacher: works the arm move by move, checks what a pointer says, and tries again.

| name | asks | checks by the other pointer | after a grasp | failures |
|---|---|---|---|---|
| `careful` | RoboRefer first | in doubt: not one point, a word for a side, a failure before | looks | tries again |
| `careful:unchecked` | RoboRefer alone | never | - | tries again |
| `careful:always` | both | always, of room too; goes on where they agree | looks | tries again |
| `careful:persistent` | both | always, but not of room; goes on where they agree | looks | tries four times more |
| `careful:other`, `careful:either` | as `persistent`; always or half of the time another tool, and the next grasp |||
| `careful:oracle` | who does not err | never | - | is told what errs, and does what helps |
| `careful:varied` | either first | half of the time; as above | now and then | errs now and then, sees it; as above |
| `careful:exploring` | as `varied`, and three times in ten another tool for depth and outlines, or the next grasp |||

It reads the operator's words with `toolhand.tool_nodes.language` as the scripted policy does, and what tools answer;
never the truth. `varied` is for data: its choices are drawn from the seed of its options, so that a group of its
rollouts has good and bad ones, and shows how to get out of a wrong move.
"""

from __future__ import annotations

import math
import re
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from toolhand.agent_node.policies.options import PolicyOptions
from toolhand.agent_node.policies.scripted.commands import Command, parse_command
from toolhand.agent_node.policies.scripted.transcript import MISSING, Response, read_episode
from toolhand.agent_node.policies.scripted.wording import pointable
from toolhand.agent_node.policies.transport import plain_line
from toolhand.agent_node.policy import Message, Reply
from toolhand.agent_node.protocol import Protocol, load_protocol
from toolhand.tool_nodes.results import ErrorCode, ToolError, invalid
from toolhand.tool_nodes.types import ImagePoint
from toolhand.training.teacher.moves import MOST_POINTS, REASONS, Move, Plan, calls_of, render_move
from toolhand.training.teacher.reading import plainly

ALIKE = 0.06
"""Normalized distance up to which two points are the same place [-]: half an object's width in the image, more than two
pointers differ about its middle."""
RETRIES = 2
"""Further tries after a failure that another look, grasp or place may mend."""
_STREAM = 19
"""Keeps these random numbers apart from others of the same seed."""
_OTHER = {"roborefer": "vlm", "vlm": "roborefer"}
_SAME_VIEW = frozenset({ErrorCode.IK_FAILED, ErrorCode.PLAN_FAILED})
"""Refused grasps: nothing has moved, the next best grasp of the same outline will do."""
_FINAL = frozenset({ErrorCode.NOT_UNDERSTOOD, ErrorCode.NOT_APPROVED, ErrorCode.CANCELLED})
"""Errors that trying again does not mend."""

R = TypeVar("R")

ActionGenerator = Generator[Move, list[Response], R]
"""Yields moves, receives the responses to their calls, and returns nothing or the number of a register."""


@dataclass(frozen=True)
class Habits:
    """How a teacher works; shares are probabilities, 0 for never and 1 for always.

    Attributes:
        second_first: How often the second pointer is asked first.
        check_in_doubt, check_else: How often the other pointer is asked too.
        check_room: And where room is asked for: two places may both be good and far from each other.
        agree: Goes on only with what both pointers mean, or one of them twice.
        look_after: How often it looks for the object once it holds something.
        slip: How often it makes a wrong move that it then takes back.
        retries: Most attempts at a call, see RETRIES.
        told: It reads a sentence of the task generator by the grammar that made it, as one who teaches does; any other
            sentence by the robot's own reader.
        one_alone: It takes none of several objects that the words fit, and says so.
        other_depth, other_outline: How often it calls the other tool for depth, for outlines.
        doubts_scores: How often it passes over grasps whose scores are above HONEST.
        again: How often it repeats a grasp that closed on nothing, as it was, after a look.
    """

    second_first: float = 0.0
    check_in_doubt: float = 1.0
    check_else: float = 0.0
    check_room: float = 0.0
    agree: bool = False
    look_after: float = 1.0
    slip: float = 0.0
    retries: int = RETRIES
    told: bool = False
    one_alone: bool = False
    other_depth: float = 0.0
    other_outline: float = 0.0
    doubts_scores: float = 0.0
    again: int = 0


HONEST = 0.985
"""Highest score of a grasp that is believed by who knows that scores lie [-]."""
MOST_NEXT = 8
"""Grasps that are passed over because of their scores, at most [-]."""
ORACLE = "oracle"
CURES: Mapping[str, Mapping[str, Any]] = {
    "roborefer": {"second_first": 1.0},
    "vlm": {},
    "outline": {"other_outline": 1.0},
    "outline2": {},
    "depth": {"other_depth": 1.0},
    "depth2": {},
    "scores": {"doubts_scores": 1.0},
    "arm": {"again": 6},
}
"""What helps against each cause of `toolhand.training.env.worlds`, as habits."""
VARIED = Habits(0.5, 0.5, 0.4, check_room=0.2, agree=True, look_after=0.15, slip=0.03, retries=4, told=True)
_PERSISTENT = Habits(check_else=1.0, agree=True, retries=4, told=True)
HABITS: Mapping[str, Habits] = {
    "": Habits(),
    "unchecked": Habits(check_in_doubt=0.0, look_after=0.0),
    "always": Habits(check_else=1.0, check_room=1.0, agree=True, told=True),
    "persistent": _PERSISTENT,
    "other": replace(_PERSISTENT, other_depth=1.0, other_outline=1.0, doubts_scores=1.0),
    "either": replace(_PERSISTENT, other_depth=0.5, other_outline=0.5, doubts_scores=0.5),
    "varied": VARIED,
    "exploring": replace(VARIED, slip=0.0, other_depth=0.3, other_outline=0.3, doubts_scores=0.3, again=1),
    "expert": Habits(check_in_doubt=0.0, look_after=0.0, told=True, one_alone=True),
    ORACLE: Habits(check_in_doubt=0.0, look_after=0.0, told=True, retries=4),
}
"""By what follows the name and a colon."""


def careful(protocol: Protocol, options: PolicyOptions, model: str = "") -> CarefulPolicy:
    """The entry `careful` of policies. Raises ToolError INVALID_ARGUMENT for another variant or an unfit protocol."""
    if model not in HABITS:
        known = ", ".join(f"careful:{name}" if name else "careful" for name in HABITS)
        raise invalid(f"There is no policy 'careful:{model[:40]}', only {known}.")
    if protocol.calls_in_a_turn != "all":
        raise invalid("The teacher careful writes several calls in a turn; this protocol runs one.")
    habits = HABITS[model]
    if model == ORACLE:
        habits = replace(habits, **{habit: value for cause in options.told for habit, value in CURES[cause].items()})
    return CarefulPolicy(habits, protocol, options.seed, options.turns or protocol.turn_budget)


careful.session = "rules"  # type: ignore[attr-defined]


class CarefulPolicy:
    """Carries out picks, and picks with a place, move by move.

    It keeps nothing between turns: each turn it replays its play against the responses that the conversation holds.

    Args:
        protocol: Protocol that it writes; SpaceTools' where None.
        max_turns: Turns that are allowed; the last one is used for a truthful answer.
    """

    name = "careful"
    takes_answers = False

    def __init__(
        self,
        habits: Habits | None = None,
        protocol: Protocol | None = None,
        seed: int = 0,
        max_turns: int = 24,
    ) -> None:
        self._habits = habits or Habits()
        self._protocol = protocol or load_protocol("spacetools")
        self._seed = seed
        self._max_turns = max_turns

    def respond(self, conversation: Sequence[Message]) -> Reply:
        """The next turn. Raises ToolError INVALID_ARGUMENT for a conversation with another policy's turns."""
        text, turns = read_episode(conversation)
        said = [message.text for message in conversation if message.role == "assistant"]
        try:
            command = parse_command(plainly(text) if self._habits.told else text)
        except ToolError as error:
            return self._written(Move("refuse", why=_reason(error.code)))
        if command.target is None or command.form is not None:
            return self._written(Move("refuse", why=ErrorCode.NOT_UNDERSTOOD))
        plan = _ActionPlan(command, self._habits, np.random.default_rng((self._seed, _STREAM)))
        play, image_index = plan.run(), 0
        move = next(play)
        for turn, responses in zip(said[len(said) - len(turns) :], turns, strict=True):
            self._require_own(turn, move, plan.points)
            if move.kind in ("look", "grasp", "place"):
                image_index = next((one.image_index for one in responses if one.image_index is not None), image_index)
            move = play.send(responses or [MISSING])
        if len(turns) >= self._max_turns - 1 and move.kind not in ("done", "refuse"):
            return self._written(Move("refuse", why=ErrorCode.EXECUTION_FAILED))
        return self._written(move, plan.points, image_index)

    def _written(self, move: Move, points: Sequence[ImagePoint] = (), image_index: int = 0) -> Reply:
        return Reply(render_move(move, points, image_index, self._protocol))

    def _require_own(self, turn: str, move: Move, points: Sequence[ImagePoint]) -> None:
        """Refuse a turn with other calls than those of a move."""
        called = [call.name for call in self._protocol.parse(turn).calls]
        if called != [call.name for call in calls_of(move, points, 0)]:
            raise invalid(
                f"A turn of this conversation is not one of the teacher {self.name}: {plain_line(turn)}.",
                "It goes on only with conversations of its own.",
            )


class _WrongObject(Exception):
    """What is held is not what was meant: nothing mends that."""


class _Setback(Exception):
    """A failure that another try may mend."""

    def __init__(self, code: ErrorCode) -> None:
        super().__init__(code)
        self.code = code


@dataclass
class _ActionPlan:
    """One command, as moves."""

    command: Command
    habits: Habits
    rng: np.random.Generator
    points: list[ImagePoint] = field(default_factory=list)
    seen_before: list[ImagePoint] = field(default_factory=list)
    planned: bool = False
    failed: bool = False
    holding: bool = False
    empty_grasps: int = 0

    def run(self) -> ActionGenerator[None]:
        """Moves up to the answer."""
        left = self.habits.retries
        while True:
            try:
                yield from self._look()
                if not self.holding:
                    yield from self._pick()
                    self.failed = False
                if self.command.action == "place":
                    yield from self._place()
                yield Move("done")
                return
            except _WrongObject:
                yield Move("refuse", why=ErrorCode.EXECUTION_FAILED)
                return
            except _Setback as setback:
                if left == 0 or setback.code in _FINAL:
                    yield Move("refuse", why=_reason(setback.code))
                    return
                left -= 1
                self.failed = True

    def _likely(self, share: float) -> bool:
        return bool(self.rng.random() < share)

    def _either(self, share: float) -> bool:
        """As `_likely`; what is never done draws nothing."""
        return share > 0.0 and self._likely(share)

    # -- looking ---------------------------------------------------------------------------------------

    @property
    def _words(self) -> tuple[str, ...]:
        return _words_of(self.command)

    def _look(self) -> ActionGenerator[None]:
        plan = None if self.planned else plan_of(self.command)
        self.planned = True
        responses = yield Move("look", plan=plan, otherwise=self._either(self.habits.other_depth))
        self.points.clear()
        _require(responses)

    def _ask(self, move: Move) -> Generator[Move, list[Response], list[int] | ErrorCode]:
        """The registers of what a pointer gives, or its error."""
        [response, *_] = yield move
        room = max(0, MOST_POINTS - len(self.points))
        first = len(self.points) + 1
        given = response.points[:room]
        self.points += given
        if given:
            return list(range(first, first + len(given)))
        return response.error or ErrorCode.OBJECT_NOT_FOUND

    def _find(self, question: Move, doubtful: bool = False) -> ActionGenerator[int]:
        """The register of what a question means, asked of one pointer or of both.

        Args:
            question: A point or room; its pointer is chosen here.
            doubtful: It is more likely than others to be answered wrongly.

        Raises:
            _Setback: No pointer knows, or they disagree.
        """
        habits = self.habits
        pointer = "vlm" if self._likely(habits.second_first) else "roborefer"
        first = yield from self._ask(_to(question, pointer))
        doubt = doubtful or self.failed or isinstance(first, ErrorCode) or len(first) != 1
        calm = habits.check_room if question.kind == "room" else habits.check_else
        if not self._likely(habits.check_in_doubt if doubt else calm):
            if isinstance(first, ErrorCode):
                raise _Setback(first)
            if habits.one_alone and len(first) > 1:
                raise _Setback(ErrorCode.AMBIGUOUS)
            return first[0]
        second = yield from self._ask(_to(question, _OTHER[pointer]))
        return self._agreed(first, second)

    def _agreed(self, first: list[int] | ErrorCode, second: list[int] | ErrorCode) -> int:
        ours = [] if isinstance(first, ErrorCode) else first
        theirs = [] if isinstance(second, ErrorCode) else second
        for a in ours:
            if any(self._near(a, self.points[b - 1]) for b in theirs):
                return a
        before = list(self.seen_before)
        self.seen_before += [self.points[k - 1] for k in (*ours, *theirs)]
        again = next((k for k in (*ours, *theirs) if any(self._near(k, point) for point in before)), None)
        if again is not None:
            return again
        alone = ours or theirs
        if alone and not (ours and theirs) and not self.habits.agree and len(alone) == 1:
            return alone[0]
        raise _Setback(ErrorCode.AMBIGUOUS if alone else _code(first))

    def _near(self, register: int, point: ImagePoint) -> bool:
        return math.dist(self.points[register - 1], point) <= ALIKE

    # -- grasping --------------------------------------------------------------------------------------

    @property
    def _sided(self) -> bool:
        target = self.command.target
        return target is not None and bool(target.selectors or target.relation)

    def _pick(self) -> ActionGenerator[None]:
        if self._sided and self._likely(self.habits.slip):  # asks for too little, and then for what is meant
            target = self.command.target
            assert target is not None
            yield from self._ask(Move("point", "roborefer", tuple(target.plain.split())))
        register = yield from self._find(Move("point", words=self._words), self._sided)
        others = [k for k in range(1, len(self.points) + 1) if not self._near(k, self.points[register - 1])]
        if others and self._likely(self.habits.slip):  # outlines the wrong one, and then the right one
            yield Move("take", register=others[0])
        responses = yield Move("take", register=register, otherwise=self._either(self.habits.other_outline))
        if not responses[0].ok:
            raise _Setback(responses[0].error or ErrorCode.EMPTY_MASK)
        if len(responses) < 2 or not responses[1].ok:
            raise _Setback(_error(responses[-1], ErrorCode.NO_GRASP))
        for _ in range(self.empty_grasps - self.habits.again):  # the same grasp would slip again
            [response, *_] = yield Move("next")
            if not response.ok:
                break
        for _ in range(MOST_NEXT if self._either(self.habits.doubts_scores) else 0):
            if _score(responses[-1]) <= HONEST:
                break
            responses = yield Move("next")
        yield from self._grasp()
        if self._likely(self.habits.look_after):
            yield from self._look_after()

    def _grasp(self) -> ActionGenerator[None]:
        tries = 2
        while True:
            [response, *_] = yield Move("grasp")
            if response.ok:
                self.holding = True
                return
            tries -= 1
            if response.error not in _SAME_VIEW or tries == 0:
                self.empty_grasps += response.error in (ErrorCode.GRIPPER_EMPTY, ErrorCode.OBJECT_DROPPED)
                raise _Setback(_error(response, ErrorCode.EXECUTION_FAILED))
            [response, *_] = yield Move("next")
            if not response.ok:
                raise _Setback(_error(response, ErrorCode.NO_GRASP))

    def _look_after(self) -> ActionGenerator[None]:
        """Of an object that there is once: where both pointers still see it on the table, something else is held."""
        if self._sided:
            return
        for pointer in ("roborefer", "vlm"):
            found = yield from self._ask(Move("point", pointer, self._words))
            if isinstance(found, ErrorCode):
                return
        raise _WrongObject

    # -- placing ---------------------------------------------------------------------------------------

    def _place(self) -> ActionGenerator[None]:
        relation = self.command.relation or "anywhere"
        question = Move("room", words=_references_of(self.command), relation=relation)
        register = yield from self._find(question)
        [response, *_] = yield Move("place", register=register)
        if not response.ok:
            if response.error in (ErrorCode.OBJECT_DROPPED, ErrorCode.NOT_HOLDING, ErrorCode.GRIPPER_EMPTY):
                self.holding = False
            raise _Setback(_error(response, ErrorCode.PLACE_BLOCKED))


def plan_of(command: Command) -> Plan:
    """What a command says, as it is thought before the first move. Raises ToolError for places it has no word for."""
    if command.form is not None:
        raise ToolError(ErrorCode.NOT_UNDERSTOOD, "A plan names one relation and nothing else of a place.")
    if command.action != "place" or not command.relation:
        return Plan(_words_of(command))
    return Plan(_words_of(command), command.relation, _references_of(command))


def _words_of(command: Command) -> tuple[str, ...]:
    return tuple(command.target.text.split()) if command.target else ()


def _references_of(command: Command) -> tuple[str, ...]:
    named = [pointable(reference, command.relation) for reference in command.references]
    return tuple(" and ".join(named).split())


def _to(question: Move, pointer: str) -> Move:
    return Move(question.kind, pointer, question.words, question.relation)


def _require(responses: Sequence[Response]) -> None:
    failed = next((response for response in responses if not response.ok), None)
    if failed is not None:
        raise _Setback(_error(failed, ErrorCode.EXECUTION_FAILED))


def _error(response: Response, otherwise: ErrorCode) -> ErrorCode:
    return response.error or otherwise


def _score(response: Response) -> float:
    """The score that the answer of a grasp generator gives; 0 where it gives none."""
    found = re.search(r"confidence (\d\.\d+)", response.text)
    return float(found.group(1)) if found else 0.0


def _code(found: list[int] | ErrorCode) -> ErrorCode:
    return found if isinstance(found, ErrorCode) else ErrorCode.OBJECT_NOT_FOUND


def _reason(code: ErrorCode) -> str:
    return code if code in REASONS else ErrorCode.EXECUTION_FAILED
