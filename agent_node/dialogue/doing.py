"""Carries out single acts, and has what came of them remembered."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from toolhand.agent_node.dialogue.acts import AnswerAct, Deed, FollowUp, GroupAct, QuestionAct, Refused, SkillAct
from toolhand.agent_node.dialogue.answering import question_of
from toolhand.agent_node.dialogue.follow_ups import FollowUps
from toolhand.agent_node.dialogue.looking import LookPolicy, MeasurePolicy, measured
from toolhand.agent_node.dialogue.looking import found as looked
from toolhand.agent_node.dialogue.measured import SeenBox
from toolhand.agent_node.dialogue.memory import OperatorMemory
from toolhand.agent_node.dialogue.naming import called, is_nameless, mapped, name_of, objects_of, others
from toolhand.agent_node.dialogue.questions import question_policy
from toolhand.agent_node.dialogue.reading import act_of, spread
from toolhand.agent_node.dialogue.renaming import called_otherwise, not_found, only_other
from toolhand.agent_node.dialogue.sequences import steps_of
from toolhand.agent_node.dialogue.skills import skill_policy
from toolhand.agent_node.dialogue.turn import TurnSoFar
from toolhand.agent_node.episode import Episode
from toolhand.agent_node.memory import POINTED, DoneDeed, RobotMemory, Spot, at_point, learn_of
from toolhand.agent_node.open_question import OpenQuestion
from toolhand.agent_node.plan.reading import read_plan, say_act, sentence
from toolhand.agent_node.plan.spoken import bare_phrase, noun_phrase
from toolhand.agent_node.plan.types import ObjectRef, PlacePart, PlanAct
from toolhand.agent_node.policies.scripted.points import near
from toolhand.agent_node.policy import Policy
from toolhand.agent_node.protocol import Protocol
from toolhand.tool_nodes.language.speeds import spoken_speed
from toolhand.tool_nodes.language.unfound import NOTHING_REAL, Unfound, names_seen
from toolhand.tool_nodes.language.words import is_plural
from toolhand.tool_nodes.results import NOT_THERE, ErrorCode, ToolError

CarryOut = Callable[[str, Policy | None, str], Episode]
"""Carries out one command: its sentence, the policy that does it (None: the session's own), and what is remembered, as
text for a model. It raises ToolError where the command cannot begin."""
Check = Callable[[str], ToolError | None]
"""Why the session's policy will not read a command; None where it may."""

BACK_M = 0.01
"""An object that is put back stands where it stood, up to this [m]; further off the answer says how far."""
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


_MOST_NAMES = 4
"""Most tries of one act with other names in it [-]: no act has more than three objects."""
NO_PLAN = "There is no plan that I could go on with: nothing is left to be done."


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
        self._follow_ups = FollowUps(robot, operator)
        self._held_before = False

    def act(self, plan: PlanAct, turn: TurnSoFar) -> list[str] | None:
        """Carry out one act; what nothing here is called by, but for one object, is taken for that, or asked about.

        Args:
            plan: Act that is asked for.
            turn: Gets what comes of it.

        Returns:
            Steps in its place where it stands for others, in the robot's words, else None.

        Raises:
            ToolError: For what cannot begin, or is not there.
        """
        answers, told = list(turn.answers), []
        for left in reversed(range(_MOST_NAMES)):
            before, error, steps = len(turn.episodes), None, None
            try:
                steps = self._once(plan, turn)
            except ToolError as raised:
                error = raised
            code = error.code if error is not None else turn.code if turn.failed else None
            episodes = turn.episodes[before:]
            if code not in NOT_THERE or any(map(_has_moved, episodes)):
                break
            unfound = [each for episode in episodes for each in not_found(episode)]
            meant, taken = called_otherwise(plan, unfound) if left else (plan, [])
            if meant == plan:
                if self._asks_about(plan, unfound, turn, answers):
                    return None
                break
            told += taken
            plan, turn.answers, turn.failed, turn.code = meant, [*answers, *told], False, None
        if error is not None:
            raise error
        if turn.code is ErrorCode.NOT_HOLDING and self._is_unknown_it(plan):
            turn.code = ErrorCode.AMBIGUOUS
            turn.answers[-1] = 'I hold nothing, and do not know what is meant by "it": name it.'
        return steps

    def _is_unknown_it(self, plan: PlanAct) -> bool:
        """Whether an act is about "it", and nothing was spoken of before."""
        return bool(plan.objects) and plan.objects[0].quantity == "it" and self._follow_ups.last_object() is None

    def _asks_about(self, plan: PlanAct, unfound: Sequence[Unfound], turn: TurnSoFar, answers: Sequence[str]) -> bool:
        """Ask whether the only object that all but the name of one fits is meant; False where there is none."""
        look = partial(self._look, turn, say_act(plan))
        moves = isinstance(act_of(plan), Deed | SkillAct)
        found = only_other(plan, unfound[-1], look) if moves and unfound else None
        if found is None:
            return False
        text, meant = found
        self._operator.question = OpenQuestion(text, "", self._clock(), left=(say_act(meant),))
        turn.answers, turn.failed = list(answers), False
        turn.fail(ErrorCode.AMBIGUOUS, text)
        return True

    def _look(self, turn: TurnSoFar, said: str, phrases: Sequence[str]) -> dict[str, list[tuple[float, float]]]:
        """Where all that some phrases name is, on the way to what is said. Raises ToolError as `looking.found`."""
        turn.episodes.append(self._run(said, LookPolicy(phrases, self._protocol), ""))
        return looked(turn.episodes[-1])

    def _once(self, plan: PlanAct, turn: TurnSoFar) -> list[str] | None:
        if plan.condition is not None or plan.otherwise:
            return self._where_it_holds(plan, turn)
        if isinstance(said := act_of(plan), FollowUp):
            return self._follow_up(said, plan, turn)
        if plan.kind == "pick" and self._robot.held is not None and plan.objects[0].quantity == "it":
            turn.answers.append(f"I hold the {self._robot.held.object} already.")
            return None
        plan = self._without_others(self._follow_ups.resolved(plan), turn)
        plan = replace(plan, speed=plan.speed or self._operator.pace)
        if len(parts := spread((plan,))) > 1:
            return [say_act(each) for each in parts]
        act, step = act_of(plan), say_act(plan)
        match act:
            case AnswerAct(answer):
                turn.answers.append(answer)
            case Refused(code, message):
                turn.fail(code, message)
            case GroupAct():
                return self._group(plan, turn)
            case QuestionAct():
                self._fixed(step, question_policy(act, self._robot, self._protocol), turn)
                self._note_spoken_of(plan, turn)
            case SkillAct():
                if steps := self._lifted_first(act, plan, turn):
                    return steps
                turn.lifted = ""
                self._fixed(step, skill_policy(act, self._robot, self._protocol), turn)
                self._note_spoken_of(plan, turn)
            case Deed():
                return self._deed(plan, turn)
        return None

    def _where_it_holds(self, act: PlanAct, turn: TurnSoFar) -> list[str]:
        """The step of an act whose condition holds; none of another one."""
        if act.otherwise and self._held_before:
            return []
        if act.condition is not None:
            condition = self._follow_ups.known(act.condition)
            self._held_before = self._sees(condition, turn)
            if not self._held_before:
                turn.answers.append(f"I see no {bare_phrase(condition)}.")
                return []
            self._operator.last_object = name_of(condition)
        return [say_act(each) for each in spread((replace(act, condition=None, otherwise=False),))]

    def _sees(self, ref: ObjectRef, turn: TurnSoFar) -> bool:
        """Whether a look finds an object. Raises ToolError as `looking.found`."""
        phrase = bare_phrase(ref)
        return bool(self._look(turn, f"is there {noun_phrase(ref)}", [phrase]).get(phrase))

    def _note_spoken_of(self, plan: PlanAct, turn: TurnSoFar) -> None:
        """ "It" means the only object of a question or a skill from now on."""
        named = [ref for ref in plan.objects if not ref.is_many]
        if self._robot.held is None and not turn.failed and len(named) == 1 and (name := name_of(named[0])):
            self._operator.last_object = name

    def _group(self, plan: PlanAct, turn: TurnSoFar) -> list[str]:
        """The steps of what a look has to come before."""
        said = say_act(plan)

        def measure(points: Sequence[tuple[float, float]]) -> list[SeenBox | None]:
            turn.episodes.append(self._run(said, MeasurePolicy(points, self._protocol), ""))
            return measured(turn.episodes[-1], len(points))

        look = partial(self._look, turn, said)
        steps = [replace(step, speed=plan.speed) for step in steps_of(plan, look, measure)]
        if not steps:
            turn.answers.append("Things of one colour stand together.")
        for step in steps:
            if (problem := self.problem(step)) is not None:
                raise problem
        return [say_act(step) for step in steps]

    def problem(self, step: PlanAct) -> ToolError | None:
        """Why the session's policy cannot do a deed, as far as its words show; None for what is no deed."""
        if not isinstance(act_of(step), Deed):
            return None
        known = [PlacePart("spot", "on the table") if part.kind == "was" else part for part in step.place]
        plain = mapped(replace(step, place=tuple(known), speed=""), _known_by_words)
        return self._check(sentence(plain))

    def _lifted_first(self, act: SkillAct, plan: PlanAct, turn: TurnSoFar) -> list[str]:
        """The steps of a skill with an object that is not held, where the hand is empty; none elsewhere.

        What was picked up for it and is not held all the same is not picked up over and over.
        """
        if self._robot.held is not None or not plan.objects or plan.objects[0].quantity == "it":
            return []
        name = name_of(plan.objects[0])
        if act.name not in ("hand_over", "lift_a_little", "upright") or turn.lifted == name:
            return []
        turn.lifted = name
        # A pick lifts to the one height of the park position, which is more than a little.
        it = (ObjectRef("it"),)
        then = replace(plan, kind="hold_low", objects=()) if act.name == "lift_a_little" else replace(plan, objects=it)
        return [say_act(replace(plan, kind="pick")), say_act(then)]

    def _fixed(self, said: str, policy: Policy, turn: TurnSoFar) -> None:
        """Have a fixed policy carry out a question or a skill."""
        episode = self._run(said, policy, "")
        turn.episodes.append(episode)
        learn_of(self._robot, said, episode.records, self._clock())
        if episode.error_code is None:
            turn.answers.append(episode.answer)
            return
        asked = question_of(episode, said, self._clock())
        if episode.error_code is ErrorCode.AMBIGUOUS and asked.candidates:
            self._operator.question = asked
            turn.fail(ErrorCode.AMBIGUOUS, asked.text)
        else:
            turn.fail(episode.error_code, episode.answer)

    def _follow_up(self, act: FollowUp, plan: PlanAct, turn: TurnSoFar) -> list[str] | None:
        if act.kind in ("undo", "undo_last", "put_back"):
            if act.kind != "undo_last" and (steps := self._follow_ups.sequence_back(act)):
                return [_at_speed(step, plan.speed) for step in steps]
            back = replace(self._follow_ups.taking_back(act), speed=plan.speed)
            named = act.object is not None and act.object.quantity not in ("it", "them")
            self._deed(back, turn, taking_back=act.kind != "put_back" or not named)
            return None
        if act.kind in ("go_on", "skip"):
            raise ToolError(ErrorCode.INVALID_ARGUMENT, NO_PLAN)
        meant = self._follow_ups.meant(act)
        if isinstance(meant, str):
            turn.answers.append(meant)
            return None
        return [_at_speed(step, plan.speed) for step in meant]

    def _deed(self, said: PlanAct, turn: TurnSoFar, taking_back: bool = False) -> list[str] | None:
        """Have the session's policy carry out one deed, and remember what came of it.

        Args:
            said: The deed.
            turn: Gets what comes of it.
            taking_back: It takes an earlier deed back.

        Returns:
            The step in its place where it puts several objects of a plural, else None.
        """
        act = self._follow_ups.now(self._follow_ups.placed_where(said))
        act = replace(act, speed=act.speed or self._operator.pace)
        text, [ref] = sentence(act), act.objects
        stood = self._spot_in(act) if taking_back else None
        nameless = self._robot.held is None and act.kind == "pick" and is_nameless(ref)
        before = self._names(text, turn) if nameless else Counter[str]()
        episode = self._from_home(act, text, turn)
        now_s = self._clock()
        deed = learn_of(self._robot, text, episode.records, now_s, taking_back, name_of(ref))
        if nameless and self._robot.held is not None and len(gone := before - self._names(text, turn)) == 1:
            self._robot.deeds[-1] = replace(self._robot.deeds[-1], known_as=next(iter(gone)))
        also_moved = _also_moved(episode)
        if not episode.success and episode.error_code not in (None, ErrorCode.AMBIGUOUS):
            failed = DoneDeed(text, "pick" if act.kind == "pick" else "place", name_of(ref), success=False)
            self._robot.note(replace(failed, error_code=str(episode.error_code), time_s=now_s))
        back = taking_back and deed is not None and deed.success and deed.action == "place"
        beside_m = _apart(stood, deed.after) if back and deed is not None else 0.0
        if back:
            self._follow_ups.note_taken_back()
        operator = self._operator
        operator.last_object = deed.object if deed is not None else name_of(ref) or operator.last_object
        if not taking_back:
            known = operator.last_object if ref.quantity == "it" else ""
            operator.last_said = say_act(replace(said, objects=(called(known),)) if known else said)
        if episode.error_code is ErrorCode.AMBIGUOUS:
            asked = question_of(episode, say_act(act), self._clock())
            if act.kind == "put" and asked.phrase and asked.phrase in ref.words and is_plural(ref.words.split()[-1]):
                return [say_act(replace(said, objects=(replace(ref, quantity="all"),)))]
            operator.question = asked
            turn.fail(ErrorCode.AMBIGUOUS, asked.text)
        elif episode.error_code is not None or not episode.success:
            turn.fail(episode.error_code, episode.answer)
        else:
            where = "where it stood" if beside_m <= BACK_M else f"{100 * beside_m:.1f} cm beside where it stood"
            speed = spoken_speed(text)
            slowly = f" {speed.told}" if speed is not None else ""
            said_back = f"I have put the {operator.last_object} back {where}.{slowly}"
            turn.answers.append(said_back if back else _plainly(episode.answer, operator.last_object))
        turn.answers += [also_moved] if also_moved else []
        return None

    def _names(self, said: str, turn: TurnSoFar) -> Counter[str]:
        """What is recognised on the table, and how many of each."""
        turn.episodes.append(self._run(said, LookPolicy([NOTHING_REAL], self._protocol), ""))
        errors = [record.result.error for record in turn.episodes[-1].records]
        told = next((error.message for error in errors if error is not None and error.code in NOT_THERE), "")
        return Counter({name: number for name, _, number in names_seen(told)})

    def _without_others(self, act: PlanAct, turn: TurnSoFar) -> PlanAct:
        """An act with the point of "the other can": not the can of the same act, or the one that was moved before.

        Raises:
            ToolError: AMBIGUOUS where several are others, OBJECT_NOT_FOUND where none is.
        """
        named = objects_of(act)
        asked = next((ref for ref in named if ref.quantity in ("the other", "another")), None)
        if asked is None:
            return act
        name = self._operator.last_object if is_nameless(asked) else bare_phrase(asked)
        if not name:
            raise ToolError(ErrorCode.NOT_UNDERSTOOD, "I do not know which other one is meant.", "Name the thing.")
        said, plain = noun_phrase(asked), name_of(called(name))
        head = plain.rpartition(" ")[2]
        first = next((ref for ref in named if ref != asked and name_of(ref).rpartition(" ")[2] == head), None)
        phrases = [name] if first is None or first.point is not None else [name, bare_phrase(first)]
        found = self._look(turn, said, phrases)
        points = found.get(name, [])
        if first is None:
            points = others(points, self._robot, name)
        else:
            # Of two alike the first may be either, as what is said of it holds for both.
            own = [first.point] if first.point is not None else found.get(bare_phrase(first), [])
            taken = own[:1] if len(own) == 1 or len(points) == 2 else own
            points = [point for point in points if not any(near(point, each) for each in taken)]
            if len(taken) == 1:
                act = mapped(act, lambda ref: called(name_of(ref), taken[0]) if ref == first else ref)
        if not points or (len(points) > 1 and asked.quantity == "the other"):
            code = ErrorCode.AMBIGUOUS if points else ErrorCode.OBJECT_NOT_FOUND
            raise ToolError(code, f'I see {len(points)} that "{said}" may mean.', "Say which one by its place.")
        return mapped(act, lambda ref: called(plain, points[0]) if ref == asked else ref)

    def _from_home(self, act: PlanAct, text: str, turn: TurnSoFar) -> Episode:
        """Run a command from where the camera sees the table: a hand that a skill has left over it goes home first.

        An empty one goes only once it is seen what is meant, or where the command has failed: it may be one about which
        the operator has to be asked, and that moves nothing.
        """
        robot = self._robot
        if robot.over_table and self._check(text) is None and (robot.held is not None or self._is_clear(act, turn)):
            self._go_home(turn)
        episode = self._run(text, None, robot.text())
        turn.episodes.append(episode)
        if robot.over_table and episode.error_code in _HIDDEN and not _has_moved(episode) and self._go_home(turn):
            episode = self._run(text, None, robot.text())
            turn.episodes.append(episode)
        return episode

    def _is_clear(self, act: PlanAct, turn: TurnSoFar) -> bool:
        """Whether a look finds one object for each that a deed names."""
        known = [ref for ref in objects_of(act) if ref.point is None and name_of(ref)]
        named = list(dict.fromkeys(bare_phrase(ref) for ref in known))
        if not named:
            return True
        try:
            points = self._look(turn, sentence(act), named)
        except ToolError:
            return False
        return all(len(points.get(name, ())) == 1 for name in named)

    def _go_home(self, turn: TurnSoFar) -> bool:
        policy = skill_policy(SkillAct("park"), self._robot, self._protocol, on_the_way=True)
        turn.episodes.append(self._run("go home", policy, ""))
        learn_of(self._robot, "go home", turn.episodes[-1].records, self._clock())
        return turn.episodes[-1].error_code is None

    def _spot_in(self, act: PlanAct) -> Spot | None:
        """Where the object stood that an act puts back: the newest spot that it names by its point."""
        spots = [deed.before for deed in reversed(self._robot.deeds) if deed.before is not None]
        return next((spot for spot in spots if spot.point == act.place[0].point), None)


def _at_speed(step: str, speed: str) -> str:
    """A step as slow as was asked for, where it does not say so itself."""
    [act] = read_plan(step)
    return say_act(replace(act, speed=act.speed or speed))


def _known_by_words(ref: ObjectRef) -> ObjectRef:
    """An object as a command may name it that nothing was said before."""
    if ref.quantity in ("it", "them"):
        return called("thing")
    return replace(ref, quantity="a") if ref.quantity in ("the other", "another") else ref


def _has_moved(episode: Episode) -> bool:
    """Whether a motion of an episode was done."""
    return any(record.motion and record.result.ok for record in episode.records)


def _also_moved(episode: Episode) -> str:
    """What the images say of other objects that an episode has moved; "" where it has moved none."""
    facts = [fact for record in episode.records for fact in record.result.facts.values() if isinstance(fact, Mapping)]
    points = [at_point((point[0], point[1])) for fact in facts for point in fact.get("pushed") or ()]
    return f"I have moved something else, too: what is at {' and '.join(points)} now." if points else ""


def _plainly(answer: str, obj: str) -> str:
    """An answer without the point by which an object was told from others."""
    return re.sub(rf"(?<=\b{re.escape(obj)}) {POINTED.pattern[2:]}", "", answer) if obj else answer


def _apart(spot: Spot | None, other: Spot | None) -> float:
    """Distance of two spots along the table [m]; 0 where one is not known."""
    return 0.0 if spot is None or other is None else math.dist(spot.position_m[:2], other.position_m[:2])
