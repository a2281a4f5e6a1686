"""Getting at what lies under other objects: what the scripted policy takes away first, and what it says of it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from toolhand.agent_node.calls import ToolCall
from toolhand.agent_node.policies.scripted.points import at, near
from toolhand.agent_node.policies.scripted.steps import ScriptPart, ScriptStep, Setback
from toolhand.agent_node.policies.scripted.transcript import Response
from toolhand.tool_nodes.language.places import the
from toolhand.tool_nodes.language.unfound import NOTHING_REAL, names_seen
from toolhand.tool_nodes.results import ErrorCode
from toolhand.tool_nodes.types import ImagePoint

MOST_GRASPS = 6
"""Grasps that one command executes at the most, those of what is in the way with them [-]."""
POOR = 0.5
"""A grasp whose score, times that of the mask, is less than this waits until what is in the way is away [-]."""
FAILED_TWICE = 2
"""After so many grasps of an object that have failed what stands beside it is taken away first [-]."""
_POINT = re.compile(r"\(([\d.]+), ([\d.]+)\)")
_ABOVE = re.compile(r"On it lies (.*?): robot\.put_aside")
_BESIDE = re.compile(r"no finger has room for (.*?)\. About")
_ASIDE = re.compile(r"it stands with its base at \(([\d.]+), ([\d.]+)\)")
_SCORE = re.compile(r"with IoU score: ([\d.]+\d)")
_CONFIDENCE = re.compile(r"with confidence ([\d.]+)")
_SAME = 0.05
"""A point on an object and the point of its name are no farther apart than this [-]: both are in it."""
_MOST_NAMES = 15
"""Names that are asked for in one turn at the most [-]: a turn has 16 calls."""
_UNGRASPABLE = frozenset({ErrorCode.NO_GRASP, ErrorCode.AMBIGUOUS, ErrorCode.EMPTY_MASK, ErrorCode.UNKNOWN_TOOL})
"""An object that cannot be taken away as it lies; another one may."""
_SLIPPED = frozenset({ErrorCode.GRIPPER_EMPTY, ErrorCode.OBJECT_DROPPED, ErrorCode.IK_FAILED, ErrorCode.PLAN_FAILED})
"""After these the hand is empty, and objects may lie otherwise."""


class Again(Exception):
    """Something was taken away, or tried to be: the table lies otherwise now.

    Args:
        image: Index of an image of it; None where there is none yet.
    """

    def __init__(self, image: int | None) -> None:
        super().__init__()
        self.image = image


class Stuck(Setback):
    """What is in the way stays there, or in the hand: the command ends."""

    def __init__(self, doing: str, response: Response, holds: bool) -> None:
        super().__init__(doing, response)
        self.holds = holds


class InTheWay:
    """What is in the way of the object of one command.

    Attributes:
        above: Points of what lies on it, what is to be taken away first in front.
        beside: Points of what leaves no room for a finger beside it, the nearest first.
        grasps: Grasps that were executed so far, by whatever tool.
        aside: Names of what was taken away, "" where unknown, and where it stands.
    """

    def __init__(self) -> None:
        self.above: tuple[ImagePoint, ...] = ()
        self.beside: tuple[ImagePoint, ...] = ()
        self.grasps = 0
        self.aside: list[tuple[str, ImagePoint]] = []
        self._in_vain: list[ImagePoint] = []
        self._named: list[tuple[str, ImagePoint]] | None = None

    @property
    def goes_on(self) -> bool:
        """Whether something is in the way, and a further grasp is allowed."""
        return bool(self.above or self.beside) and self.grasps < MOST_GRASPS

    @property
    def told(self) -> str:
        """What was taken away, in a sentence that begins with a blank; "" where nothing was."""
        listed = " and ".join(f"{the(name) if name else 'something'} to {at(point)}" for name, point in self.aside)
        return f" I took {listed} first: it was in the way." if listed else ""

    def look(self, way: Response) -> None:
        """Take in what a look has told."""
        self.above, self.beside = _points(_ABOVE, way), _points(_BESIDE, way)

    def first(self, name: str, image: int | None) -> ScriptPart[None]:
        """Take away what lies on the object, where nothing has failed with it yet. Raises Again once it was tried."""
        yield from self._take(self.above, f"lies on {name}", 0, image)

    def others(self, name: str, image: int | None) -> ScriptPart[None]:
        """Take away what stands beside it, or once more what lies on it. Raises Again once it was tried."""
        yield from self._take(self.beside, f"leaves no room for my fingers beside {name}", 0, image)
        yield from self._take([*self.above, *self.beside], f"is in the way of {name}", 1, image)

    def _names(self, image: int | None) -> ScriptPart[list[tuple[str, ImagePoint]]]:
        """What is seen, by the names that it has; asked once, for what is not taken away stays where it is."""
        if self._named is None:
            self._named = []
            [told] = yield ScriptStep("What is in the way there?", (_find(NOTHING_REAL, image),))
            names = names_seen(told.text)[:_MOST_NAMES]
            if names:
                calls = tuple(_find(asked, image) for _, asked, _ in names)
                responses = yield ScriptStep("Which of these is it?", calls)
                for (name, _, _), response in zip(names, responses, strict=True):
                    self._named += [(name, point) for point in response.points]
        return self._named

    def _take(self, points: Sequence[ImagePoint], why: str, failures: int, image: int | None) -> ScriptPart[None]:
        for point in points:
            tried = sum(near(point, other) for other in self._in_vain)
            if tried > failures or self.grasps >= MOST_GRASPS - 1:
                continue
            named = yield from self._names(image)
            name = next((each for each, where in named if near(where, point, _SAME)), "")
            call = ToolCall(
                "robot.put_aside", {"point": [round(v, 4) for v in point]} | ({"name": name} if name else {})
            )
            what = the(name) if name else "what is"
            [response] = yield ScriptStep(f"I take {what} at {at(point)} away first: it {why}.", (call,))
            if response.error in _UNGRASPABLE:
                continue
            self.grasps += 1
            if response.error is None:
                self.aside += [(name, stands) for stands in _points(_ASIDE, response)]
                self._in_vain = []
                raise Again(response.image_index)
            self._in_vain.append(point)
            if response.error in _SLIPPED:
                raise Again(response.image_index)
            yield from self._stuck(f"take away what {why}", response)

    def put_down(self, name: str) -> ScriptPart[None]:
        """Put aside what came up in the place of the object, or with it. Raises Again, or Setback where it stays."""
        thought = f"I hold something else than {name}, or more: I put it aside and look again."
        [response] = yield ScriptStep(thought, (ToolCall("robot.put_aside", {"point": None}),))
        if not response.ok and response.error not in _SLIPPED:
            yield from self._stuck("put down what came up", response)
        self.aside += [("", stands) for stands in _points(_ASIDE, response)]
        raise Again(response.image_index)

    def _stuck(self, doing: str, response: Response) -> ScriptPart[None]:
        [seen] = yield ScriptStep("That has failed: is anything in my hand?", (ToolCall("robot.capture_image", {}),))
        raise Stuck(doing, response, holds=seen.held is not None)


def is_poor(mask: Response, grasp: Response) -> bool:
    """Whether a grasp that was computed for a mask will hardly succeed, or there is none."""
    scores = [found for told, words in ((mask, _SCORE), (grasp, _CONFIDENCE)) if (found := words.search(told.text))]
    return not grasp.ok or (len(scores) == 2 and float(scores[0][1]) * float(scores[1][1]) < POOR)


def _find(words: str, image: int | None) -> ToolCall:
    return ToolCall("roborefer.detect_all", {"obj_name": words, "image_index": image})


def _points(words: re.Pattern[str], response: Response) -> tuple[ImagePoint, ...]:
    found = words.search(response.text) if response.ok else None
    return tuple((float(x), float(y)) for x, y in _POINT.findall(found[0])) if found else ()
