"""A policy without a model: rules that pick and place by words, looking again when something goes wrong.

The policy keeps nothing between turns. Each turn it replays its script against the responses that the
conversation holds, so the same conversation always gives the same turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from toolhand.agent_node.calls import ToolCall
from toolhand.agent_node.policies.scripted import wording
from toolhand.agent_node.policies.scripted.answers import with_two
from toolhand.agent_node.policies.scripted.asking import OperatorDialogue, where_of, which_two
from toolhand.agent_node.policies.scripted.clearing import FAILED_TWICE, MOST_GRASPS, Again, InTheWay, Stuck, is_poor
from toolhand.agent_node.policies.scripted.commands import Command, parse_command, share_of
from toolhand.agent_node.policies.scripted.hand import left_empty, left_in_hand, of_what_is_held, renamed
from toolhand.agent_node.policies.scripted.offered import candidates_in
from toolhand.agent_node.policies.scripted.points import (
    SAME_POINT,
    at,
    by_side,
    middle,
    moved_to,
    near,
    nearest,
    still_there,
    untried,
)
from toolhand.agent_node.policies.scripted.steps import (
    BEFORE_MOTION,
    FINAL,
    LOST,
    NO_PLACE,
    NOT_LOOKED_AT,
    SAME_VIEW,
    AnotherCommand,
    Done,
    Script,
    ScriptPart,
    ScriptStep,
    Setback,
    Unseen,
    Withdrawn,
    next_calls,
    unmet,
)
from toolhand.agent_node.policies.scripted.transcript import Response, read_episode
from toolhand.agent_node.policy import Message, Reply
from toolhand.agent_node.protocol import Protocol, load_protocol
from toolhand.tool_nodes.language.phrases import NounPhrase
from toolhand.tool_nodes.language.places import FreeSpaceRequest, the
from toolhand.tool_nodes.place_argument import place_document
from toolhand.tool_nodes.results import NOT_THERE, ErrorCode, ToolError
from toolhand.tool_nodes.types import ImagePoint

MOVED = 0.06
"""Normalized distance from which a reference is another one than before."""
AT_POINT = 0.06
"""Normalized distance up to which an object is at a point that is said: less than lies between two side by side."""
IN_REGION = 0.08
"""Normalized distance within which another place is in the same part of the table: half of a corner."""


class ScriptedPolicy:
    """Works the SpaceTools tools by rules.

    Args:
        max_retries: Further tries after a failure that another look, grasp or place point may mend.
        max_turns: Turns that the agent allows; the last one is used for a truthful answer.
        protocol: Protocol that it writes; SpaceTools' where None.
    """

    name = "scripted"
    speed_of, candidates_of = staticmethod(share_of), staticmethod(candidates_in)

    def __init__(self, max_retries: int = 2, max_turns: int = 24, protocol: Protocol | None = None) -> None:
        self._max_retries, self._max_turns = max_retries, max_turns
        self._protocol = protocol or load_protocol("spacetools")

    def respond(self, conversation: Sequence[Message]) -> Reply:
        """The next turn: a thought and tool calls, or a thought and the answer."""
        text, turns = read_episode(conversation)
        try:
            command = parse_command(text)
        except ToolError as error:
            return self._answer("That is not a command I can carry out.", f"{error.code}: {wording.refusal(error)}")
        episode = _Episode(command, self._max_retries)
        one_call = self._protocol.calls_in_a_turn != "all"
        try:
            thought, calls = next_calls(episode.run(), turns, one_call)
            if len(turns) >= self._max_turns - 1:
                raise Done("No turns are left.", episode.failure(ErrorCode.TURN_BUDGET, "no turns are left to finish"))
        except Done as end:
            return self._answer(end.thought, end.answer)
        return Reply(self._protocol.render_turn(wording.untagged(thought), calls))

    def _answer(self, thought: str, answer: str) -> Reply:
        return Reply(self._protocol.render_turn(wording.untagged(thought), (), wording.untagged(answer)))


class _Episode:
    """One command, as a script of steps. `holding` is what the tools have reported so far."""

    def __init__(self, command: Command, max_retries: int) -> None:
        self._max_retries = max_retries
        self._dialogue = OperatorDialogue()
        self._begin(command)

    def _begin(self, command: Command) -> None:
        self._command = command
        self._retries_left = self._max_retries
        self._tries, self._trouble = 1, ""
        self._image: int | None = None
        self._target: ImagePoint | None = None
        self._alike: tuple[ImagePoint, ...] = ()
        self._likeness = command.target.text if command.target else ""
        self._references: list[list[ImagePoint]] = []
        self._spot: ImagePoint | None = None
        self._failed_spots: list[ImagePoint] = []
        self._refusal: Response | None = None
        self._failed_grasps, self._wrong, self._way = 0, False, InTheWay()
        self._segmented = self._missed = self._unseen = self._moved = self._hand_seen = self._has_cloud = False
        self._called = ""
        self.holding = command.target is None

    @property
    def _name(self) -> str:
        target = self._command.target
        return the(target.text) if target else the(self._called) if self._called else "the held object"

    @property
    def _where(self) -> str:
        return where_of(self._command)

    def _told(self, deed: str) -> str:
        return f"{deed} {self._command.manner}".rstrip()

    def run(self) -> Script:
        """Steps until `Done`. The first one after an answer of the operator says how that was understood."""
        steps = self._steps()
        responses = None
        while True:
            step = next(steps) if responses is None else steps.send(responses)
            heard, self._dialogue.understood = self._dialogue.understood, ""
            responses = yield replace(step, thought=f"{heard} {step.thought}".strip())

    def _steps(self) -> Script:
        while True:
            try:
                yield from self._attempt()
            except Setback as setback:
                self._recover(setback)
            except Again as again:
                self._segmented, self._failed_grasps, self._moved, self._image = False, 0, True, again.image
            except AnotherCommand as said:
                self._begin(said.command)
                self._dialogue.understood = f"You have given another command: {said.command.understood}."
            except Withdrawn as said:
                sentence = f'you have answered "{said}" to my question'
                raise Done("The operator wants no more of it.", self.failure(ErrorCode.CANCELLED, sentence)) from said

    def _attempt(self) -> Script:
        if not self.holding and self._segmented:
            yield from self._next_grasp()
            yield from self._grasp()
        elif not self.holding:
            self._has_cloud = self._image is None
            if self._image is None:
                yield from self._look("depth")
            if not self.holding:  # the first look tells what is in the hand already
                yield from self._find()
                yield from self._segment()
                yield from self._grasp()
        if self._image is None:
            yield from self._look("")
        if self._command.action == "pick":
            thought = "The gripper holds it, and it is gone from where it stood; the pick is done."
            raise Done(thought, self._told(f"Picked up {self._name}.") + self._way.told)
        if self._command.target is None and not self._references:
            yield from self._find()
        else:
            yield from self._find_spot()
        yield from self._put()

    def _recover(self, setback: Setback) -> None:
        """Prepare another try. Raises Done when the failure is final or the tries are used up."""
        code = setback.response.error or ErrorCode.INTERNAL
        hopeless = code is ErrorCode.OUT_OF_WORKSPACE and not self.holding
        again = isinstance(setback, Unseen) and not self._unseen
        self._unseen = self._unseen or again
        hopeless = hopeless or (code in FINAL and not again) or (code in LOST and self._command.target is None)
        if isinstance(setback, Stuck):
            hopeless, self.holding, self._wrong = True, setback.holds, setback.holds
        slipped = code in LOST and not self.holding and self._way.goes_on  # what lies otherwise now may be grasped
        self._retries_left += slipped
        if hopeless or self._retries_left == 0 or self._way.grasps >= MOST_GRASPS:
            tried = f" after {self._tries} tries" if self._tries > 1 else ""
            could = "did" if code is ErrorCode.NOT_APPROVED else "could"
            answer = self.failure(code, f"{could} not {setback.doing}{tried}: {setback.response.text}")
            raise Done(f"I could not {setback.doing}, and another try would not help.", answer)
        self._retries_left -= 1
        self._trouble = setback.doing
        self._tries += 1
        self._segmented = self._segmented and code in SAME_VIEW and not self.holding
        self._image = self._image if self._segmented else setback.response.image_index if slipped else None

    def failure(self, code: ErrorCode, sentence: str) -> str:
        """A coded answer that says what happened and what is held now."""
        if self.holding:
            known = self._command.target is not None or bool(self._called)
            held = left_in_hand(self._wrong, code in LOST and self._command.target is None, known, self._name)
        else:
            held = left_empty(code, self._segmented, self._moved)
        sentence = sentence.strip().rstrip(".")
        return f"{code}: {sentence[0].upper()}{sentence[1:]}{held and f'; {held}'}."

    def _look(self, purpose: str) -> Script:
        again = f"I could not {self._trouble}; I look again" if self._trouble else f"I need to find {self._name}"
        calls = [ToolCall("robot.capture_image", {})]
        calls += [ToolCall("robot.get_depth_with_pointcloud", {})] if purpose else []
        responses = yield ScriptStep(f"{again}: a picture{' with ' + purpose if purpose else ''}.", tuple(calls))
        self._require(responses, "look at the table")
        self._image = responses[0].image_index if responses[0].image_index is not None else 0
        self._segmented = False
        if not self._hand_seen:
            yield from self._take_in(responses[0].held)

    def _take_in(self, called: str | None) -> Script:
        """What the first look says of the hand. Raises Done where the command is not of what it holds."""
        self._hand_seen, self._called = True, called or ""
        try:
            self._command = of_what_is_held(self._command, called)
        except ToolError as error:
            other = renamed(self._command, called)
            if other is not None:  # what stands on the table cannot be what is held
                [seen] = yield ScriptStep(f"Is {the(other.text)} what I hold?", (self._detect(other.text),))
            if other is None or seen.error is not ErrorCode.OBJECT_NOT_FOUND:
                answer = f"{error.code}: {error.message} Nothing has moved. {error.hint}"
                raise Done("The hand is full, and that is not what the command is about.", answer) from error
            self._command = replace(self._command, target=None, held_as=other)
        self.holding = self._command.target is None

    def _require(self, responses: Sequence[Response], doing: str) -> None:
        for failed in (response for response in responses if not response.ok):
            raise Setback(doing, failed)

    def _detect(self, phrase: str, only_one: bool = False) -> ToolCall:
        return ToolCall(
            f"roborefer.detect_{'one' if only_one else 'all'}", {"obj_name": phrase, "image_index": self._image}
        )

    def _ask_spot(self, item: ImagePoint | None = None, at: ImagePoint | None = None) -> ToolCall:
        if self._command.relation == "moved" and not (item or at):
            why = "what I hold stands nowhere, so I do not know from where that way begins: say where to put it"
            raise Done("I hold it.", self.failure(ErrorCode.INVALID_ARGUMENT, why))
        place = FreeSpaceRequest("at", point=at) if at else self._command.place()
        asked: dict[str, Any] = {"place": place_document(place, [] if at else self._references)}
        return ToolCall("robot.find_place", asked | ({"item": [round(v, 4) for v in item]} if item else {}))

    def _named_references(self) -> list[str]:
        return [wording.pointable(reference, self._command.relation) for reference in self._command.references]

    def _find(self) -> Script:
        """Locate the target, every reference and a place for it, before anything moves."""
        command, target = self._command, self._command.target
        wanted = [target] if target else []
        sides = bool(target and not target.point and any(s.positional for s in target.selectors))
        phrases = [*wanted, *command.references]
        asked = [phrase.plain if phrase.point else phrase.text for phrase in wanted] + self._named_references()
        calls = [self._detect(words) for words in (*asked, *([target.plain] if target and sides else []))]
        names = " and ".join(the(phrase.text) for phrase in phrases)
        where = ScriptStep(f"Where {'are' if len(phrases) > 1 else 'is'} {names}?", tuple(calls))
        found = (yield where) if calls else []
        if target:
            plain = found[-1] if sides else None
            self._target = yield from self._choose(target, found[0], plain)
            self._likeness = target.plain if sides or target.point else target.text
            self._alike = (plain or found[0]).points
        self._references = []
        for phrase, response in zip(command.references, found[len(wanted) : len(phrases)], strict=True):
            points = self._choose_reference(phrase, response)
            if len(points) > 1 and not (phrase.plural or phrase.indefinite):
                index, meant = yield from self._dialogue.which(command, phrase, points, self._detect)
                references = tuple(meant if reference == phrase else reference for reference in command.references)
                self._command, points = replace(command, references=references), [points[index]]
                command = self._command
            self._references.append(points)
        own = len(command.references if command.form is None else command.form.references)
        number = sum(map(len, self._references[:own]))
        if command.relation in ("between", "in_line") and number != 2:
            understand = partial(with_two, command=command)
            self._command = yield from self._dialogue.how(which_two(command, number), understand)
            yield from self._find()
            return
        if command.action == "place":
            item = self._target if target and command.relation not in ("on", "anywhere") else None
            ask = self._ask_spot(item)
            [room] = yield ScriptStep(f"Where is there room for {self._name} {self._where}?", (ask,))
            self._check_spot(room)

    def _points(self, phrase: NounPhrase, response: Response) -> tuple[ImagePoint, ...]:
        said, points = phrase.point, response.points
        if points and (said is None or near(nearest(points, said), said, AT_POINT)):
            return points if said is None else (said,)
        error = response.error or ErrorCode.OBJECT_NOT_FOUND
        other = f"; the nearest one is at {at(nearest(points, said))}" if said and points else ""
        text = response.text if response.error else f"no '{phrase.text}' in the picture{other}"
        if error in NOT_THERE and self._missed:
            answer = self.failure(error, f"I cannot find {the(phrase.text)}: {text}")
            raise Done(f"Still no {phrase.text} in a second picture.", answer)
        self._missed = self._missed or error in NOT_THERE
        raise unmet(f"find {the(phrase.text)}", Response(text, error))

    def _choose(self, phrase: NounPhrase, response: Response, plain: Response | None) -> ScriptPart[ImagePoint]:
        """The point of the target. Sides are judged here when the pointer shows every candidate."""
        if plain is not None or phrase.point is not None:
            # After a motion it may lie elsewhere than was said.
            seen = (plain or response).points
            now = moved_to(seen, self._alike, self._target) if self._moved and self._target else None
            if (found := now or by_side(phrase, seen, bool(response.points))) is not None:
                return found
        points = self._points(phrase, response)
        if len(points) == 1 or phrase.indefinite:
            return points[0]
        if self._target is not None:
            return nearest(points, self._target)
        index, _ = yield from self._dialogue.which(self._command, phrase, points, self._detect)
        return points[index]

    def _choose_reference(self, phrase: NounPhrase, response: Response) -> list[ImagePoint]:
        """The points of a reference, without that of the target."""
        others = [p for p in self._points(phrase, response) if self._target is None or not near(p, self._target)]
        if not others:
            sentence = f"{self._name} and {the(phrase.text)} are the same thing"
            raise Done("Target and reference are one thing.", self.failure(ErrorCode.INVALID_ARGUMENT, sentence))
        return others

    def _check_spot(self, response: Response) -> None:
        """Remember the place point, or give up before anything moves."""
        self._spot = response.points[0] if response.points else None
        if response.points:
            return
        code = response.error or ErrorCode.PLACE_BLOCKED
        if code in NO_PLACE or code in FINAL - NOT_LOOKED_AT:
            raise Done(
                "There is no room there; better to say so before moving anything.",
                self.failure(code, f"cannot place {self._name} {self._where}: {response.text}"),
            )
        raise unmet(f"find a place {self._where}", Response(response.text, code, response.image_index))

    def _segment(self) -> Script:
        assert self._target is not None
        x, y = self._target
        spot = f"; free room {self._where} at {at(self._spot)}" if self._spot else ""
        cloud = [] if self._has_cloud else [ToolCall("robot.get_depth_with_pointcloud", {})]
        calls = [*cloud, ToolCall("sam2.segment_from_point", {"x": x, "y": y, "image_index": self._image})]
        calls += [wording.grasp_call(self._image)] * (1 + self._failed_grasps)
        calls.append(ToolCall("robot.what_is_in_the_way", {"point": [x, y]}))
        responses = yield ScriptStep(
            f"{self._name.capitalize()} is at {at(self._target)}{spot}. I need its mask and a grasp.", tuple(calls)
        )
        *responses, way = responses[len(cloud) :]
        self._way.look(way)
        yield from self._way.first(self._name, self._image)
        if is_poor(responses[0], responses[-1]) or self._failed_grasps >= FAILED_TWICE:
            yield from self._way.others(self._name, self._image)
        if not responses[0].ok:
            raise unmet(f"segment {self._name}", responses[0])
        if not responses[-1].ok:  # what the ones before it gave is gone
            raise Setback(f"find a grasp for {self._name}", responses[-1])
        self._segmented = True

    def _next_grasp(self) -> Script:
        responses = yield ScriptStep(
            "The arm cannot do that grasp; nothing moved, so the next best one.", (wording.grasp_call(self._image),)
        )
        if not responses[0].ok:
            self._segmented = False
            raise Setback(f"find another grasp for {self._name}", responses[0])

    def _grasp(self) -> Script:
        call = ToolCall("robot.execute_grasp", {"grasp_pose": "$grasp_pose"})
        [response] = yield ScriptStep(f"A collision-free grasp of {self._name} is there; I execute it.", (call,))
        self._moved = self._moved or response.error not in BEFORE_MOTION
        self._way.grasps += response.error not in BEFORE_MOTION
        if response.error is ErrorCode.WRONG_OBJECT:
            yield from self._hold_another(response)
            return
        if not response.ok:
            self._failed_grasps += response.error in (ErrorCode.GRIPPER_EMPTY, ErrorCode.OBJECT_DROPPED)
            raise Setback(f"pick up {self._name}", response)
        self.holding, self._image = True, response.image_index

    def _hold_another(self, response: Response) -> Script:
        """Something else was lifted than what was pointed at: one like it will do where any was asked for."""
        self.holding = self._wrong = True
        target = self._command.target
        if target is None or not target.indefinite or len(self._alike) < 2:
            if self._way.goes_on:
                self.holding = self._wrong = False
                yield from self._way.put_down(self._name)
            raise Setback(f"pick up {self._name}", response)
        yield from self._look("")
        [seen] = yield ScriptStep(f"I hold another thing. Is it {self._name} too?", (self._detect(self._likeness),))
        if seen.error not in (None, ErrorCode.OBJECT_NOT_FOUND) or len(seen.points) >= len(self._alike):
            raise Setback(f"pick up {self._name}", response)
        self._wrong = False

    def _find_spot(self) -> Script:
        """Ask for the place again on the fresh image; keep the earlier one if the words now mean another object."""
        kept = self._spot if wording.is_measured(self._command.form) else None
        calls = (self._ask_spot(at=kept), *map(self._detect, self._named_references()))
        responses = yield ScriptStep(f"I hold it. Where exactly is there room {self._where} now?", calls)
        stays = all(r.ok for r in responses[1:]) and all(
            any(near(p, q, MOVED) for p in r.points)
            for before, r in zip(self._references, responses[1:], strict=True)
            for q in before
        )
        fresh = responses[0].points[0] if responses[0].points and stays else None
        if kept and responses[0].error in NO_PLACE:
            raise unmet(f"place {self._name} {self._where}", responses[0])
        keeps = self._command.relation == "in" and not self._failed_spots  # it was chosen for the object's size
        best = self._spot if fresh and self._spot and keeps else fresh or self._spot
        beside = [point for group in self._references for point in group]
        offered = self._refusal.offered if self._refusal else None
        spot = best and untried(best, middle(beside) or best, self._failed_spots, offered, partial(self._stays, beside))
        if spot is None:
            none_left = self._refusal or Response("no free place is left to try", ErrorCode.PLACE_BLOCKED)
            raise unmet(f"place {self._name} {self._where}", responses[0] if not responses[0].ok else none_left)
        self._spot = spot

    def _stays(self, references: list[ImagePoint], spot: ImagePoint) -> bool:
        form, reach = self._command.form, IN_REGION if self._command.relation == "region" else SAME_POINT
        if form is None or form.relation == "in":
            return still_there(self._command.relation, spot, references)
        return not wording.is_measured(form) and self._spot is not None and near(spot, self._spot, reach)

    def _put(self) -> Script:
        assert self._spot is not None
        spot = self._spot
        call = ToolCall("robot.place_object_at_2d_location", {"placement_point_2d": [round(x, 4) for x in spot]})
        [response] = yield ScriptStep(f"There is room {self._where} at {at(spot)}; I place it there.", (call,))
        # What lies beside the place that was pointed at may be an object.
        if response.raised and self._failed_spots and self._command.relation not in ("in", "on", "at"):
            self.holding, response = False, Response(response.raised, ErrorCode.PLACE_BLOCKED)
        if response.ok:
            doubt = f" {response.unverified}." if response.unverified else ""
            placed = self._told(f"Placed {self._name} {wording.put_at(self._command, self._where, spot)}.{doubt}")
            end = "I cannot see it there." if doubt else "The object is down."
            raise Done(f"The gripper is open. {end}", placed + self._way.told)
        self._failed_spots.append(spot)
        self._refusal, self.holding = response, self.holding and response.error not in LOST
        raise Setback(f"place {self._name} {self._where}", response)
