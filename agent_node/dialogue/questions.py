"""Answers to questions by a policy of fixed calls: images, points, outlines and boxes. Nothing moves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from toolhand.agent_node.calls import ToolCall
from toolhand.agent_node.dialogue.acts import QuestionAct
from toolhand.agent_node.dialogue.comparing import Comparing
from toolhand.agent_node.dialogue.fixed_calls import FixedCalls, at_once
from toolhand.agent_node.dialogue.relating import APART_CM, Relating, cm
from toolhand.agent_node.dialogue.telling import bare, joined, side_words, sides
from toolhand.agent_node.memory import DoneDeed, RobotMemory
from toolhand.agent_node.policies.scripted.points import near, nearest, side_of
from toolhand.agent_node.policies.scripted.steps import Done, Script, ScriptPart, ScriptStep
from toolhand.agent_node.policy import Policy
from toolhand.agent_node.protocol import Protocol
from toolhand.tool_nodes.language.places import the
from toolhand.tool_nodes.language.words import GENERIC, counted, one_of
from toolhand.tool_nodes.results import ErrorCode
from toolhand.tool_nodes.types import ImagePoint

_HEIGHT_CM, _SIDE_CM = 1.0, 2.0
"""What a height and a side err by, mostly [cm]: of 62 catalogue products that the camera measured 95 % were within 0.8
and 1.6."""
_ALIKE_M = 0.015
"""Distances that differ by less are called the same [m]: both may err by `APART_CM`."""
_MOST_MEASURED = 4
"""Objects of one name that are measured; more than that nobody wants to hear."""
_TOLD_DEEDS = 4
"""Deeds that are told, the newest."""

WHAT_IT_DOES = (
    'I pick things up and put them down: "pick up the lemon", "put the can left of the bowl", "undo". I do several in '
    'a row: "put both cans in the bin; go home". I answer questions: "what do you see", "how big is the box", "how far '
    'is the can away from the bowl", "what are you holding", "can you reach the pear". I also can: "open the gripper", '
    '"close the gripper", "go home", "lift it a little", "point at the pear", "hand over the pear", "stand it up", '
    '"look again", "hold still"; each of them slowly, such as "slowly, go home". "Stop" stops me at once.'
)
"""Answer to what it can do."""
HELP = (
    'Say in plain English what to do, for example "pick up the lemon" or "put it in the bowl". If several things fit '
    'I ask; answer "the left one" or "number 2". "Undo" takes the last step back, "go on" goes on with a plan, "why '
    'not" says what went wrong, "what can you do" lists the rest.'
)
"""Answer to a call for help."""

_REASONS: Mapping[str, str] = {
    ErrorCode.NOT_UNDERSTOOD: "I did not understand the words.",
    ErrorCode.AMBIGUOUS: "I did not know which one was meant.",
    ErrorCode.NOT_RECOGNISED: "I was not sure what the things on the table are.",
    ErrorCode.OBJECT_NOT_FOUND: "I did not see it on the table.",
    ErrorCode.EMPTY_MASK: "I could not tell the thing from what is around it.",
    ErrorCode.NO_DEPTH: "My camera measured no depth there.",
    ErrorCode.NO_GRASP: "I found no way to grip it: too wide, too flat, or too close to other things.",
    ErrorCode.OUT_OF_WORKSPACE: "It is out of my reach.",
    ErrorCode.PLACE_BLOCKED: "There was no free level place large enough.",
    ErrorCode.IK_FAILED: "My arm cannot bend so as to get there.",
    ErrorCode.PLAN_FAILED: "I found no way there that touches nothing.",
    ErrorCode.SCENE_CHANGED: "Something on the table moved while I was planning.",
    ErrorCode.NOT_APPROVED: "The motion was not approved.",
    ErrorCode.STOPPED: "I was stopped.",
    ErrorCode.CANCELLED: "It was called off.",
    ErrorCode.EXECUTION_FAILED: "The arm could not finish the motion.",
    ErrorCode.CONTROLLER_FAULT: "The arm's controller reported a fault.",
    ErrorCode.GRIPPER_EMPTY: "My gripper closed without holding anything.",
    ErrorCode.OBJECT_DROPPED: "The thing slipped out of my gripper.",
    ErrorCode.WRONG_OBJECT: "I had gripped something else, or more than the thing.",
    ErrorCode.NOT_HOLDING: "There was nothing in my gripper.",
    ErrorCode.ALREADY_HOLDING: "There was something in my gripper already.",
    ErrorCode.TURN_BUDGET: "I ran out of steps.",
    ErrorCode.TIMEOUT: "Something took too long to answer.",
    ErrorCode.UNAVAILABLE: "A part of the robot did not answer.",
}
"""Why a deed failed, by its code."""


def question_policy(act: QuestionAct, memory: RobotMemory, protocol: Protocol) -> Policy:
    """The policy that answers one question.

    Args:
        act: The question.
        memory: Memory of the robot.
        protocol: Protocol that the policy writes.
    """
    return FixedCalls("questions", lambda: _Answering(act, memory).script(), protocol, only_answers=True)


class _Answering(Comparing, Relating):
    """The script of one question."""

    def script(self) -> Script:
        scripts: Mapping[str, Callable[[], Script]] = {
            "see": self._see,
            "how_many": self._how_many,
            "where_is": self._where,
            "is_there": self._is_there,
            "nearest_to_me": self._nearest_to_me,
            "nearest_to_you": self._nearest_to_you,
            "nearest": self._nearest_to_object,
            "size": self._size,
            "apart": self._apart,
            "holding": self._holding,
            "reach": self._reach,
            "most": self._most,
            "more": self._more,
            "what_stands": self._what_stands,
            "empty": self._empty,
            "colour": self._colour,
            "related": self._related,
            "which_side": self._which_side,
            "nearer": self._nearer,
            "what_is": self._what_is,
            "did": lambda: at_once("I remember what I did.", self._did()),
            "why_not": lambda: at_once("I remember what I did.", self._why_not()),
            "can": lambda: at_once("Everybody may ask that.", WHAT_IT_DOES),
            "help": lambda: at_once("Everybody may ask that.", HELP),
        }
        return scripts[self._act.kind]()

    def _object(self, index: int = 0) -> str:
        return self._act.objects[index] if index < len(self._act.objects) else "thing"

    # -- answers -------------------------------------------------------------------------------

    def _see(self) -> Script:
        yield from self._look()
        found = yield from self._named()
        held = f" I hold the {self._hand}." if self._hand else ""
        if not found:
            raise Done("The table is empty.", f"I see nothing on the table.{held}")
        raise Done("I have looked.", f"I see {counted(len(found), 'thing')}. {sides(found)}{held}")

    def _how_many(self) -> Script:
        asked = bare(self._object())
        if one_of(asked) in GENERIC:
            yield from self._see()
        yield from self._look()
        [response] = yield from self._all([asked])
        if not response.ok and response.error is not ErrorCode.OBJECT_NOT_FOUND:
            raise Done("I cannot count them.", f"{response.error}: {response.text}")
        points = sorted(response.points)
        hidden = "What another thing hides, or what touches another thing, I may miss."
        if not points:
            raise Done("There are none.", f"None: {response.text.rstrip('.')}. {hidden}")
        where = yield from self._told_places(points)
        raise Done("I have counted.", f"{counted(len(points), asked).capitalize()}: {where}. {hidden}")

    def _where(self) -> Script:
        yield from self._look()
        obj = self._object()
        points = yield from self._points(obj)
        where = yield from self._told_places(points)
        if len(points) == 1:
            raise Done(
                "I see it.",
                f"{the(bare(obj)).capitalize()} is {where}; I know its place to about {APART_CM:.0f} cm.",
            )
        raise Done("I see several.", f"{counted(len(points), bare(obj)).capitalize()}: {where}.")

    def _told_places(self, points: Sequence[ImagePoint]) -> ScriptPart[str]:
        """ "on the left, near the bowl; in the middle" of points."""
        found = yield from self._named()
        told = []
        for point in points:
            others = [(name, at) for name, at in found if name != "thing" and not any(near(at, own) for own in points)]
            place = side_words(point)
            if others:
                name, at = min(others, key=lambda other: abs(other[1][0] - point[0]) + abs(other[1][1] - point[1]))
                place += f", near the {name}" if near(at, point, _NEAR) else ""
            told.append(place if len(points) == 1 else f"one {place}")
        return "; ".join(told)

    def _is_there(self) -> Script:
        yield from self._look()
        obj = self._object()
        [response] = yield from self._all([obj])
        if response.ok:
            where = yield from self._told_places(response.points)
            number = "" if len(response.points) == 1 else f"{counted(len(response.points), bare(obj))}: "
            raise Done("I see it.", f"Yes: {number}{where}.")
        if response.error is ErrorCode.NOT_RECOGNISED:
            raise Done("I know no such thing.", f"No, none that I would know: {response.text.rstrip('.')}.")
        if response.error is not ErrorCode.OBJECT_NOT_FOUND:
            raise Done("I cannot tell.", f"{response.error}: {response.text}")
        if self._hand and bare(obj) == self._hand:
            raise Done("I hold it.", f"Yes: I hold the {self._hand}.")
        raise Done("I do not see it.", f"No: {response.text.rstrip('.')}.")

    def _nearest_to_me(self) -> Script:
        yield from self._look()
        found = yield from self._named()
        boxes = yield from self._boxes([at for _, at in found])
        rows = [(box.from_camera_m, name, at) for (name, at), box in zip(found, boxes, strict=True) if box is not None]
        raise Done("I have measured.", self._told_nearest(rows, "you, who are on the camera's side"))

    def _nearest_to_you(self) -> Script:
        yield from self._look()
        call = ToolCall("roborefer.detect_one", {"obj_name": "thing closest to the robot", "image_index": self._image})
        [response] = yield ScriptStep("Which one is closest to me?", (call,))
        if not response.ok:
            raise Done("I cannot tell.", f"{response.error}: {response.text}")
        found = yield from self._named()
        at = nearest([point for _, point in found], response.points[0])
        name = next(name for name, point in found if point == at)
        raise Done("I have looked.", f"The {name} is nearest to me, {side_words(at)}.")

    def _nearest_to_object(self) -> Script:
        yield from self._look()
        obj = self._object(len(self._act.objects) - 1)
        points = yield from self._points(obj)
        self._require_one(points, obj)
        found = yield from self._named()
        others = [(name, at) for name, at in found if not near(at, points[0])]
        if len(self._act.objects) > 1:
            kind = yield from self._points(self._object())
            others = [each for each in others if any(near(each[1], point) for point in kind)]
        boxes = yield from self._boxes([points[0], *(at for _, at in others)])
        own, rest = boxes[0], boxes[1:]
        if own is None:
            raise Done("I cannot measure it.", f"{ErrorCode.EMPTY_MASK}: I cannot tell how far others are from it.")
        rows = [(own.distance_m(box), n, at) for (n, at), box in zip(others, rest, strict=True) if box is not None]
        if rows and self._act.word == "farthest from":
            distance, name, at = max(rows)
            away = f"{side_words(at)}, {cm(distance)} from middle to middle"
            told = f"The {name} is farthest from {the(bare(obj))}, {away}."
            raise Done("I have measured.", told)
        raise Done("I have measured.", self._told_nearest(rows, the(bare(obj)), apart=True))

    @staticmethod
    def _told_nearest(rows: Sequence[tuple[float, str, ImagePoint]], to: str, apart: bool = False) -> str:
        if not rows:
            return "I see nothing else on the table."
        first, *rest = sorted(rows)
        away = f", {cm(first[0])} from middle to middle, give or take {APART_CM:.0f} cm" if apart else ""
        tied = [name for distance, name, _ in rest if distance - first[0] < _ALIKE_M]
        if tied:
            return f"The {first[1]} and the {joined(tied)} are about equally near to {to}{away}."
        alike = [at for _, name, at in sorted(rows) if name == first[1]]
        which = f"{side_of(alike, 0)} {first[1]}" if len(alike) > 1 else first[1]
        return f"The {which} is nearest to {to}, {side_words(first[2])}{away}."

    def _size(self) -> Script:
        yield from self._look()
        obj = self._object()
        points = yield from self._points(obj)
        boxes = yield from self._boxes(points[:_MOST_MEASURED])
        told = [(at, box) for at, box in zip(points, boxes, strict=False) if box is not None]
        if not told:
            raise Done("I cannot measure it.", f"{ErrorCode.NO_DEPTH}: I see {the(bare(obj))}, but cannot measure it.")
        sizes = [box.told for _, box in told]
        if len(points) > 1:
            sizes = [f"the one {side_words(at)} is {box.told}" for at, box in told]
            more = f" I measured {len(told)} of {len(points)}." if len(points) > len(told) else ""
            raise Done("I have measured.", f"{joined(sizes).capitalize()}; {self._give_or_take}.{more}")
        raise Done("I have measured.", f"{the(bare(obj)).capitalize()} is {sizes[0]}; {self._give_or_take}.")

    _give_or_take = f"give or take {_HEIGHT_CM:.0f} cm in height and {_SIDE_CM:.0f} cm along the sides"

    def _holding(self) -> Script:
        yield from self._look()
        if not self._hand:
            raise Done("The hand is empty.", "I hold nothing.")
        before = self._memory.held.before if self._memory.held is not None else None
        stood = "" if before is None else f" It stood {side_words(before.point)} of the table."
        known = self._memory.held.known_as if self._memory.held is not None else ""
        named = f"{known}, which is {the(self._hand)}" if known else self._hand
        raise Done("I know what I hold.", f"I hold the {named}.{stood}")

    def _reach(self) -> Script:
        yield from self._look()
        obj = self._object()
        if self._hand and bare(obj) == self._hand:
            raise Done("I hold it.", f"I hold the {self._hand} already.")
        points = yield from self._points(obj)
        told = []
        for point in points[:_MOST_MEASURED]:
            reached = yield from self._reached(point)
            told.append(
                reached if len(points) == 1 else f"The one {side_words(point)}: {reached[0].lower()}{reached[1:]}"
            )
        raise Done("I have planned without moving.", " ".join(told))

    def _reached(self, point: ImagePoint) -> ScriptPart[str]:
        x, y = point
        outline = ToolCall("sam2.segment_from_point", {"x": x, "y": y, "image_index": self._image})
        seen = {"point_cloud": "$point_cloud", "mask": "$segmentation_mask", "focal_length_px": "$focal_length_px"}
        grasp = ToolCall("grasp_generator.compute_grasp", {**seen, "image_index": self._image})
        mask, found = yield ScriptStep("Is there a grasp that my arm can come to?", (outline, grasp))
        failed = next((response for response in (mask, found) if not response.ok), None)
        if failed is not None:
            return f"No: {failed.text.rstrip('.')}."
        full = f' First the {self._hand} has to be put down: "put it on the table".' if self._hand else ""
        return (
            "Yes: I found a grasp that my arm can come to; whether the way there is free shows when I plan the motion."
            f"{full}"
        )

    # -- what was done -------------------------------------------------------------------------

    def _did(self) -> str:
        deeds = self._memory.deeds[-_TOLD_DEEDS:]
        if not deeds:
            return "I have done nothing yet."
        more = len(self._memory.deeds) - len(deeds)
        before = f" Before that, {counted(more, 'other obj')}." if more else ""
        return f"{' '.join(_told(deed) for deed in deeds)}{before}"

    def _why_not(self) -> str:
        last = self._memory.deeds[-1] if self._memory.deeds else None
        if last is None:
            return "Nothing has gone wrong: I have done nothing yet."
        if last.success:
            return f"Nothing went wrong with the last thing. {_told(last)}"
        return f'"{last.said}" did not work. {_reason(last)}'


_NEAR = 0.2
"""Normalized distance within which a neighbour is named: some 20 cm on the table."""


def _told(deed: DoneDeed) -> str:
    if not deed.success:
        return f'"{deed.said}" did not work. {_reason(deed)}'
    if deed.action == "pick":
        where = "" if deed.before is None else f", which stood {side_words(deed.before.point)}"
        return f"I picked up the {deed.object}{where}."
    where = "" if deed.after is None else f" {side_words(deed.after.point)}"
    return f"I put the {deed.object} down{where}."


def _reason(deed: DoneDeed) -> str:
    return _REASONS.get(deed.error_code, "The tools did not say why.")
