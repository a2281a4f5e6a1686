"""Carries out single acts, and has what came of them remembered."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from toolhand.agent_node.dialogue.acts import (
    Act,
    Deed,
    FollowUp,
    GroupAct,
    QuestionAct,
    Refused,
    SkillAct,
    SmallTalk,
    Unsure,
)
from toolhand.agent_node.dialogue.answering import question_of, which_command
from toolhand.agent_node.dialogue.clauses import parses
from toolhand.agent_node.dialogue.follow_ups import WHERE_IT_WAS, FollowUps
from toolhand.agent_node.dialogue.learning import learn, named_thing, note_failure
from toolhand.agent_node.dialogue.looking import LookPolicy, MeasurePolicy, measured
from toolhand.agent_node.dialogue.looking import found as looked
from toolhand.agent_node.dialogue.measured import SeenBox
from toolhand.agent_node.dialogue.memory import OperatorMemory
from toolhand.agent_node.dialogue.naming import OTHER, named_again, others, resolved
from toolhand.agent_node.dialogue.questions import NOTHING_REAL, question_policy
from toolhand.agent_node.dialogue.sequences import steps_of
from toolhand.agent_node.dialogue.skills import skill_policy
from toolhand.agent_node.dialogue.sorting import CHECK
from toolhand.agent_node.dialogue.telling import names_seen
from toolhand.agent_node.dialogue.wordings import is_place, joints, table
from toolhand.agent_node.episode import Episode
from toolhand.agent_node.memory import POINTED, RobotMemory, Spot, at_point, without_point
from toolhand.agent_node.open_question import OpenQuestion
from toolhand.agent_node.policies.scripted.commands import parse_command
from toolhand.agent_node.policies.scripted.points import the
from toolhand.agent_node.policy import Policy
from toolhand.agent_node.protocol import Protocol
from toolhand.tool_nodes.language.phrases import parse_noun_phrase
from toolhand.tool_nodes.language.speeds import at_that_speed, spoken_speed
from toolhand.tool_nodes.language.viewpoint import in_the_picture
from toolhand.tool_nodes.language.words import tokenize
from toolhand.tool_nodes.results import NOT_THERE, ErrorCode, ToolError

CarryOut = Callable[[str, Policy | None, str], Episode]
"""Carries out one command: its sentence, the policy that does it (None: the session's own), and what is remembered, as
text for a model. It raises ToolError where the command cannot begin."""
Check = Callable[[str], ToolError | None]
"""Why the session's policy will not read a command; None where it may."""

BACK_M = 0.01
"""A thing that is put back stands where it stood, up to this [m]; further off the answer says how far."""
_HANDED = re.compile(r"\bover\b|\bto me\b|\b(?:give|hand|pass)(?: it)? me\b|\bgimme\b")
"""Words of handing over that mean more than to pick up."""
_HIDDEN = frozenset(
    {
        ErrorCode.OBJECT_NOT_FOUND,
        ErrorCode.NOT_RECOGNISED,
        ErrorCode.EMPTY_MASK,
        ErrorCode.NO_DEPTH,
        ErrorCode.NO_GRASP,
        ErrorCode.IK_FAILED,
        ErrorCode.PLAN_FAILED,
        ErrorCode.PLACE_BLOCKED,
        ErrorCode.OUT_OF_WORKSPACE,
    }
)
"""Codes of what a hand over the table may bring about."""
OTHER_ONE = ("the other one", "the other", "other one", "the second one")
"""A thing of the name that was spoken of last, but another one."""
_IT_ALONE = re.compile(
    r"(?:(?:please|now|just) )*[a-z]+ (?:up )?(?:it|that|this|them|one)(?: (?:up|down|now|please|there|away))*[ .!?]*"
)
"""An order of something that nobody has named."""
WHERE_TO = 'I see no bin: where shall I put {}? Answer such as "in the bowl" or "on the left side of the table".'
"""Question about a thing that is to be gone, where there is no bin."""
_A_BIT = re.compile(
    r"^(?:just )?(?:(?:a|another) (?:little )?(?:bit|little|lot|tad|touch)|slightly|much|even|then|and) (?:more )?"
)
"""What may stand before a place that is said alone."""

_MORE = re.compile(r"\b(?:more|even (?:more|further|farther))\b(?= (?:to|left|right|back|forwards?|backwards?)\b)")
"""Other words for "further" in a place that is said alone."""


@dataclass
class TurnSoFar:
    """What has come of an utterance while it is carried out.

    Attributes:
        answers: Sentences for the operator, in order.
        episodes: Episodes so far, in order.
        code: Code of the first thing that went wrong; None where nothing did, or it has no code.
        failed: Something went wrong.
    """

    answers: list[str] = field(default_factory=list)
    episodes: list[Episode] = field(default_factory=list)
    code: ErrorCode | None = None
    failed: bool = False

    def fail(self, code: ErrorCode | None, answer: str) -> None:
        """Note what went wrong first."""
        self.answers.append(answer)
        self.code = self.code if self.failed else code
        self.failed = True


def no_plan(words: str) -> str:
    """The refusal to go on where no plan is left."""
    return f'There is no plan that I could go on with: nothing is left to "{words}".'


class Doer:
    """Carries out single acts.

    Args:
        run, check, protocol, clock: See `Dialogue`.
        robot, operator: Memories, which are changed.
    """

    def __init__(
        self,
        run: CarryOut,
        robot: RobotMemory,
        operator: OperatorMemory,
        check: Check,
        protocol: Protocol,
        clock: Callable[[], float],
    ) -> None:
        self._run, self._robot, self._operator, self._check = run, robot, operator, check
        self._protocol, self._clock = protocol, clock
        self._follow_ups = FollowUps(robot, operator, clock)
        self._offers = False

    def act(self, act: Act, said: str, turn: TurnSoFar) -> list[str] | None:
        """Carry out one act.

        Args:
            act: Act that is asked for.
            said: Words of the operator for it.
            turn: Gets what comes of it.

        Returns:
            Steps in its place where it stands for others, else None.

        Raises:
            ToolError: For what cannot begin, or is not there.
        """
        operator = self._operator
        match act:
            case SmallTalk(kind):
                turn.answers.append(table("smalltalk")[kind].answer)
            case Refused(code, message):
                turn.fail(code, message)
            case Unsure(commands):
                operator.question = which_command(commands, self._clock())
                turn.fail(ErrorCode.AMBIGUOUS, operator.question.text)
            case FollowUp():
                return self._follow_up(act, said, turn)
            case GroupAct():
                return self._group(act, said, turn)
            case QuestionAct(kind, things, asked):
                meant = tuple(self._last_thing() or each if each in ("it", "that", "them") else each for each in things)
                meant = tuple(self._the_other(turn) if each in OTHER_ONE else each for each in meant)
                policy = question_policy(QuestionAct(kind, meant, asked), self._robot, self._protocol)
                self._fixed(said, policy, turn)
            case SkillAct(name, thing, speed):
                if steps := self._lifted_first(act, said):
                    return [at_that_speed(step, said) for step in steps]
                if self._is_deed(act, said):
                    self._deed(said, turn)
                else:
                    named = self._last_thing() if thing in ("it", "that", "them") else thing
                    kept = spoken_speed(operator.pace)
                    share = kept.share if speed == 1.0 and kept is not None and spoken_speed(said) is None else speed
                    self._fixed(said, skill_policy(SkillAct(name, named, share), self._robot, self._protocol), turn)
                    # What is held out is let go of there.
                    self._offers = name == "hand_over" and not turn.failed and self._robot.held is not None
            case Deed(text):
                self._deed(text, turn, spoken=said)
        return None

    def _group(self, act: GroupAct, said: str, turn: TurnSoFar) -> list[str]:
        """The steps of what a look has to come before."""

        def measure(points: Sequence[tuple[float, float]]) -> list[SeenBox | None]:
            turn.episodes.append(self._run(said, MeasurePolicy(points, self._protocol), ""))
            return measured(turn.episodes[-1], len(points))

        def look(phrases: Sequence[str]) -> Mapping[str, list[tuple[float, float]]]:
            turn.episodes.append(self._run(said, LookPolicy(phrases, self._protocol), ""))
            return looked(turn.episodes[-1])

        if self._last_thing() and {"it", "that", "them"} & set(act.place.split()):
            named = the(self._last_thing())
            act = replace(act, place=re.sub(r"\b(?:it|that|them)\b", named, act.place, count=1))
        steps = steps_of(act, look, measure)
        if not steps:
            turn.answers.append("Things of one colour stand together.")
        for step in steps:
            problem = None if step == CHECK else self._check(WHERE_IT_WAS.sub("on the table", step))
            if problem is not None:
                raise problem
        return [step if step == CHECK else at_that_speed(step, said) for step in steps]

    def _lifted_first(self, act: SkillAct, said: str) -> list[str]:
        """The steps of "hand over the can" and of "lift the can a little" where the hand is empty; none elsewhere."""
        if self._robot.held is not None or act.thing in ("", "it", "that", "them"):
            return []
        handed = act.name == "hand_over" and _HANDED.search(said.lower()) is not None
        # A pick lifts to the one height of the park position, which is more than a little.
        then = "hand it over" if handed else "hold it a little above the table" if act.name == "lift_a_little" else ""
        return [f"pick up {the(act.thing.removeprefix('the '))}", then] if then else []

    def _is_deed(self, act: SkillAct, said: str) -> bool:
        """Whether words of a skill are a plain command here: "give me the can" picks it up, where it is not held."""
        held = self._robot.held
        words = set(said.lower().rstrip(".!").split())
        if act.name not in ("open_gripper", "hand_over", "lift_a_little"):
            return False
        if act.name == "open_gripper" and (self._offers or not words & {"let", "release"}):
            return False
        if act.name == "hand_over" and held is not None:
            return bool(act.thing) and without_point(parse_noun_phrase(act.thing).plain) != held.thing
        little = {"little", "bit", "slightly", "higher", "touch", "tad"} & words
        if little or (act.name != "open_gripper" and held is not None):
            return False
        if act.name != "open_gripper" and not (act.thing or self._last_thing()):
            return False
        text = resolved(said, self._last_thing(), held is not None)
        return self._check(text) is None and parses(text)

    def _fixed(self, said: str, policy: Policy, turn: TurnSoFar) -> None:
        """Have a fixed policy carry out a question or a skill."""
        episode = self._run(said, policy, "")
        turn.episodes.append(episode)
        learn(self._robot, said, episode, self._clock())
        if episode.error_code is None:
            turn.answers.append(episode.answer)
            return
        asked = question_of(episode, said, self._clock(), self.seen)
        if episode.error_code is ErrorCode.AMBIGUOUS and asked.candidates:
            self._operator.question = asked
            turn.fail(ErrorCode.AMBIGUOUS, asked.text)
        else:
            turn.fail(episode.error_code, episode.answer)

    def _follow_up(self, act: FollowUp, said: str, turn: TurnSoFar) -> list[str] | None:
        if act.kind in ("undo", "undo_last", "put_back"):
            if act.kind != "undo_last" and (steps := self._follow_ups.sequence_back(act)):
                return [at_that_speed(step, said) for step in steps]
            command = at_that_speed(self._follow_ups.taking_back(act), said)
            self._deed(command, turn, taking_back=act.kind != "put_back" or act.words in ("", "them"))
            return None
        if act.kind in ("go_on", "skip"):
            raise ToolError(ErrorCode.INVALID_ARGUMENT, no_plan(act.words))
        meant = self._follow_ups.meant(act)
        if isinstance(meant, str):
            turn.answers.append(meant)
            return None
        return [at_that_speed(step, said) for step in meant]

    def _deed(self, said: str, turn: TurnSoFar, taking_back: bool = False, spoken: str = "") -> None:
        """Have the session's policy carry out one command, and remember what came of it.

        Args:
            said: The command.
            turn: Gets what comes of it.
            taking_back: It takes an earlier deed back.
            spoken: Words of the operator, where they are others.
        """
        said = self._with_verb(said)
        seen = self.seen(said)
        if seen != said and not taking_back:
            turn.answers.append(f'In the camera\'s picture that is "{seen}".')
        text = self._follow_ups.now(self._follow_ups.placed_where(seen.rstrip(" .!")))
        text = resolved(seen if text == seen.rstrip(" .!") else text, self._last_thing(), self._robot.held is not None)
        text = self._without_other(at_that_speed(text, self._operator.pace), turn)
        if not parses(text) and _IT_ALONE.fullmatch(" ".join(map(str, tokenize(text)))):
            raise ToolError(ErrorCode.AMBIGUOUS, f'I do not know what is meant in "{said}": name the thing.')
        stood = self._spot_in(text) if taking_back else None
        nameless = self._robot.held is None and _names_no_kind(text)
        before = self._names(text, turn) if nameless else Counter[str]()
        episode = self._from_home(text, turn)
        deed = learn(self._robot, text, episode, self._clock(), undone=taking_back)
        if nameless and self._robot.held is not None and len(gone := before - self._names(text, turn)) == 1:
            self._robot.deeds[-1] = replace(self._robot.deeds[-1], known_as=next(iter(gone)))
        also_moved = _also_moved(episode)
        if not episode.success and episode.error_code not in (None, ErrorCode.AMBIGUOUS):
            note_failure(self._robot, text, str(episode.error_code), self._clock())
        back = taking_back and deed is not None and deed.success and deed.action == "place"
        beside_m = _apart(stood, deed.after) if back and deed is not None else 0.0
        if back:
            self._follow_ups.note_taken_back()
        operator = self._operator
        if deed is not None:
            operator.last_thing = deed.thing
        elif thing := named_thing(text):
            operator.last_thing = thing
        if not taking_back and (episode.success or episode.error_code is not ErrorCode.NOT_UNDERSTOOD):
            operator.last_said = named_again(text, operator.last_thing)
        if episode.error_code is ErrorCode.AMBIGUOUS:
            operator.question = question_of(episode, text, self._clock(), self.seen)
            turn.fail(ErrorCode.AMBIGUOUS, operator.question.text)
        elif episode.error_code in NOT_THERE and _no_bin(text, spoken):
            operator.question = OpenQuestion(WHERE_TO.format(the(named_thing(text) or "it")), text, self._clock())
            turn.fail(ErrorCode.AMBIGUOUS, operator.question.text)
        elif episode.error_code is not None or not episode.success:
            turn.fail(episode.error_code, episode.answer)
        else:
            where = "where it stood" if beside_m <= BACK_M else f"{100 * beside_m:.1f} cm beside where it stood"
            speed = spoken_speed(text)
            slowly = f" {speed.told}" if speed is not None else ""
            said_back = f"I have put the {operator.last_thing} back {where}.{slowly}"
            turn.answers.append(said_back if back else _plainly(episode.answer, operator.last_thing))
        turn.answers += [also_moved] if also_moved else []

    def _names(self, said: str, turn: TurnSoFar) -> Counter[str]:
        """What is recognised on the table, and how many of each."""
        turn.episodes.append(self._run(said, LookPolicy([NOTHING_REAL], self._protocol), ""))
        errors = [record.result.error for record in turn.episodes[-1].records]
        told = next((error.message for error in errors if error is not None and error.code in NOT_THERE), "")
        return Counter({name: number for name, _, number in names_seen(told)})

    def _without_other(self, text: str, turn: TurnSoFar) -> str:
        """A command with the point of "the other can": the one that was not spoken of or moved before.

        Raises:
            ToolError: AMBIGUOUS where several are others, OBJECT_NOT_FOUND where none is.
        """
        found = OTHER.search(text)
        if found is None:
            return text
        named = self._other_of(found["noun"], found.group(), turn)
        return f"{text[: found.start()]}{named}{text[found.end() :]}"

    def _the_other(self, turn: TurnSoFar) -> str:
        """Words with a point for the other thing of the name that was spoken of last. Raises ToolError."""
        name = without_point(self._last_thing())
        if not name:
            raise ToolError(ErrorCode.NOT_UNDERSTOOD, "I do not know which other one is meant.", "Name the thing.")
        return self._other_of(name, "the other one", turn)

    def _other_of(self, name: str, said: str, turn: TurnSoFar) -> str:
        turn.episodes.append(self._run(said, LookPolicy([name], self._protocol), ""))
        points = others(looked(turn.episodes[-1]).get(name, []), self._robot, name)
        if len(points) != 1:
            code = ErrorCode.AMBIGUOUS if points else ErrorCode.OBJECT_NOT_FOUND
            raise ToolError(code, f'I see {len(points)} that "{said}" may mean.', "Say which one by its place.")
        return f"the {name} at {at_point(points[0])}"

    def _from_home(self, text: str, turn: TurnSoFar) -> Episode:
        """Run a command from where the camera sees the table: a hand that a skill has left over it goes home first.

        An empty one goes only once it is seen what is meant, or where the command has failed: it may be one about which
        the operator has to be asked, and that moves nothing.
        """
        robot = self._robot
        if robot.over_table and parses(text) and (robot.held is not None or self._is_clear(text, turn)):
            self._go_home(turn)
        episode = self._run(text, None, robot.text())
        turn.episodes.append(episode)
        if robot.over_table and episode.error_code in _HIDDEN and not _has_moved(episode) and self._go_home(turn):
            episode = self._run(text, None, robot.text())
            turn.episodes.append(episode)
        return episode

    def _is_clear(self, text: str, turn: TurnSoFar) -> bool:
        """Whether a look finds one thing for each that a command names."""
        command = parse_command(text)
        named = [thing.text for thing in (command.target, *command.references) if thing is not None]
        if not named:
            return True
        turn.episodes.append(self._run(text, LookPolicy(named, self._protocol), ""))
        try:
            points = looked(turn.episodes[-1])
        except ToolError:
            return False
        return all(len(points.get(name, ())) == 1 for name in named)

    def _go_home(self, turn: TurnSoFar) -> bool:
        policy = skill_policy(SkillAct("park"), self._robot, self._protocol, on_the_way=True)
        turn.episodes.append(self._run("go home", policy, ""))
        learn(self._robot, "go home", turn.episodes[-1], self._clock())
        return turn.episodes[-1].error_code is None

    def _with_verb(self, said: str) -> str:
        """A place alone goes on with the last thing: "a bit further left" is where to put it."""
        words = said.strip().rstrip(".!").lower()
        while words.split(" ", 1)[0].rstrip(",") in (*joints()["leads"], "no", "nope"):
            words = words.partition(" ")[2]
        if not (self._robot.held or self._operator.last_thing) or parses(said):
            return said
        words = _MORE.sub("further", words)
        start = _A_BIT.sub("", words).split()
        put = f"put it {words}"
        return put if is_place([*start, ""]) and parses(put) else said

    def _spot_in(self, text: str) -> Spot | None:
        """Where the thing stood that a command puts back: the newest spot that it names by its point."""
        spots = [deed.before for deed in reversed(self._robot.deeds) if deed.before is not None]
        return next((spot for spot in spots if at_point(spot.point) in text), None)

    def _last_thing(self) -> str:
        """Words for what "it" means: with its point where that is known."""
        return self._follow_ups.last_thing()

    def seen(self, words: str) -> str:
        """Words with left and right as the camera sees them."""
        return in_the_picture(words, self._operator.whose_left == "robot")


def _names_no_kind(text: str) -> bool:
    """Whether a command picks up a thing by words that name no kind: "pick up the dark red one"."""
    command = parse_command(text) if parses(text) else None
    return command is not None and command.target is not None and command.action == "pick" and not command.target.head


def _no_bin(text: str, spoken: str) -> bool:
    """Whether a command is to the bin, and the operator has named none: "get rid of it"."""
    command = parse_command(text) if parses(text) else None
    named = command is not None and [reference.plain for reference in command.references] == ["bin"]
    return named and bool(spoken) and "bin" not in tokenize(spoken)


def _has_moved(episode: Episode) -> bool:
    """Whether a motion of an episode was done."""
    return any(record.motion and record.result.ok for record in episode.records)


def _also_moved(episode: Episode) -> str:
    """What the pictures say of other things that an episode has moved; "" where it has moved none."""
    facts = [fact for record in episode.records for fact in record.result.facts.values() if isinstance(fact, Mapping)]
    points = [at_point((point[0], point[1])) for fact in facts for point in fact.get("pushed") or ()]
    return f"I have moved something else, too: what is at {' and '.join(points)} now." if points else ""


def _plainly(answer: str, thing: str) -> str:
    """An answer without the point by which a thing was told from others."""
    return re.sub(rf"(?<=\b{re.escape(thing)}) {POINTED.pattern[2:]}", "", answer) if thing else answer


def _apart(spot: Spot | None, other: Spot | None) -> float:
    """Distance of two spots along the table [m]; 0 where one is not known."""
    return 0.0 if spot is None or other is None else math.dist(spot.position_m[:2], other.position_m[:2])
