"""What a robot remembers of its table, whoever asked for it: learned from what its tools reported, not from words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from toolhand.agent_node.recovery import NOT_BEGUN
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.toolbox.toolbox import CallRecord

LOST = frozenset({ErrorCode.OBJECT_DROPPED, ErrorCode.GRIPPER_EMPTY, ErrorCode.NOT_HOLDING})
"""Errors after which the gripper is known to hold nothing."""
STAYING = ("lift", "point_at", "hand_over")
"""Skills that end with the hand elsewhere than at its park position."""
WIDER_M = 0.005
"""Jaws that are so much wider than they held an object have let it go [m]: ten times what a measured opening wavers."""
MOST_DEEDS = 20
"""Deeds that are remembered; undoing goes back so far at most."""
MOST_SEEN = 40
"""Objects seen that are remembered: more than stand on a table of the generated scenes."""
POINTED = re.compile(r"\bat \(\s*[01]?\.?\d*\s*,\s*[01]?\.?\d*\s*\)?")
"""Where a command says that an object or a spot is, as `at_point` writes it."""


@dataclass(frozen=True)
class Spot:
    """Where an object stood.

    Attributes:
        point: Normalized point (x, y) of the scene camera's image, where its middle met what it stood on.
        position_m: The same (x, y, z) in the base frame [m].
    """

    point: tuple[float, float]
    position_m: tuple[float, float, float]


@dataclass(frozen=True)
class DoneDeed:
    """One object that was picked up or placed, or was to be.

    Attributes:
        said: Words of the command, as the policy was given them.
        action: "pick" leaves the object in the gripper, "place" puts it down.
        object: Words that it was named by.
        before: Spot on which it stood; None where unknown.
        after: Spot on which it was put; None where it was not, or that is unknown.
        success: The tools reported that it was done.
        error_code: Code of what went wrong; empty where nothing did.
        time_s: Time of the robot at its end [s].
        undone: It has been taken back, or took another one back.
        opening_m: Opening of the jaws that held it [m]; None where unknown.
        known_as: Name that an image gave it, where its words name no kind of object, as "the red one" does not.
        sequence: Number of the plan that it is a step of; 0 for a deed that was asked for by itself.
    """

    said: str
    action: Literal["pick", "place"]
    object: str
    before: Spot | None = None
    after: Spot | None = None
    success: bool = True
    error_code: str = ""
    time_s: float = 0.0
    undone: bool = False
    opening_m: float | None = None
    known_as: str = ""
    sequence: int = 0


@dataclass(frozen=True)
class SeenObject:
    """An object that an image showed: the words that named it, its normalized point, and the robot's time [s]."""

    object: str
    point: tuple[float, float]
    time_s: float


@dataclass
class RobotMemory:
    """What happened to the robot and its table, whoever asked for it.

    Attributes:
        deeds: Deeds so far, the newest last.
        seen: Objects that the newest images showed, the newest last.
        over_table: A skill has left the hand over the table, where it hides objects and is in the way.
        motions: How many motions have begun: an image that was taken at another number shows another table.
    """

    deeds: list[DoneDeed] = field(default_factory=list)
    seen: list[SeenObject] = field(default_factory=list)
    over_table: bool = False
    motions: int = 0

    @property
    def held(self) -> DoneDeed | None:
        """The pick whose object the gripper should still hold; None where the last deed left it empty."""
        last = next((deed for deed in reversed(self.deeds) if deed.success), None)
        return last if last is not None and last.action == "pick" else None

    def last_of(self, obj: str) -> DoneDeed | None:
        """The newest deed that put an object of these words somewhere known; None without one."""
        return next((d for d in reversed(self.deeds) if d.success and d.object == obj and d.after is not None), None)

    def note(self, deed: DoneDeed) -> None:
        """Remember one more deed."""
        self.deeds = [*self.deeds, deed][-MOST_DEEDS:]

    def sequence(self, goes_on: bool = False) -> int:
        """A number for the deeds of a plan: that of the last deed where it goes on, else a new one."""
        last = self.deeds[-1].sequence if self.deeds else 0
        return last if goes_on and last else 1 + max((deed.sequence for deed in self.deeds), default=0)

    def note_sequence(self, known: list[DoneDeed], sequence: int) -> None:
        """Number the deeds that are none of some earlier ones."""
        old = {id(deed) for deed in known}
        self.deeds = [
            deed if id(deed) in old or deed.undone else replace(deed, sequence=sequence) for deed in self.deeds
        ]

    def note_seen(self, objects: list[SeenObject]) -> None:
        """Remember what an image showed, in the place of what the same words named before."""
        named = {seen.object for seen in objects}
        self.seen = [*(seen for seen in self.seen if seen.object not in named), *objects][-MOST_SEEN:]

    def text(self, heard: Sequence[DoneDeed] = ()) -> str:
        """The memory in a few sentences, for a policy that reads; empty where nothing is remembered.

        Args:
            heard: Deeds that it knows already; where there are no others, there is nothing to tell.
        """
        lines = list[str]()
        if heard and all(deed in heard for deed in self.deeds):
            return ""
        if self.held is not None:
            lines.append(f"The gripper holds the {self.held.object}, which stood {_at(self.held.before)}.")
        for deed in [deed for deed in self.deeds if deed not in heard][-_TOLD_DEEDS:]:
            if deed.success and deed.action == "place":
                lines.append(f"The {deed.object} was put {_at(deed.after)}; before it stood {_at(deed.before)}.")
            elif not deed.success:
                lines.append(f'"{deed.said}" ended with {deed.error_code or "no success"}.')
        return " ".join(lines)


_TOLD_DEEDS = 5
"""Newest deeds of the text for a policy [-]: more would fill a model's context with what is rarely meant."""


def _at(spot: Spot | None) -> str:
    return "at an unknown place" if spot is None else f"at {at_point(spot.point)}"


def at_point(point: tuple[float, float]) -> str:
    """ "(0.480, 0.420)", as every policy is given a point in a command."""
    return f"({point[0]:.3f}, {point[1]:.3f})"


def last_deed(robot: RobotMemory) -> DoneDeed | None:
    """The newest deed that was done and not taken back."""
    return next((deed for deed in reversed(robot.deeds) if deed.success and not deed.undone), None)


def to_take_back(robot: RobotMemory) -> tuple[DoneDeed, Spot, Spot | None]:
    """The last deed, the spot where its object goes, and the one where it stands now; None where it is held.

    Raises:
        ToolError: INVALID_ARGUMENT where nothing was done, OBJECT_NOT_FOUND where it is not known where the object
            stood or where it is.
    """
    deed = last_deed(robot)
    if deed is None:
        raise ToolError(ErrorCode.INVALID_ARGUMENT, "I remember nothing that I have done and could take back.")
    if deed.before is None:
        raise ToolError(
            ErrorCode.OBJECT_NOT_FOUND,
            f"I did not see where the {deed.object} stood before, so I cannot put it back.",
            "Say where to put it.",
        )
    if deed.action != "pick" and deed.after is None:
        raise ToolError(
            ErrorCode.OBJECT_NOT_FOUND,
            f"I do not know where the {deed.object} is now, so I cannot take it back.",
            "Say what to pick up and where to put it.",
        )
    return deed, deed.before, None if deed.action == "pick" else deed.after


def mark_undone(robot: RobotMemory) -> None:
    """Note that the last deed is taken back, and the pick that it began with where that was one of its own."""
    deed = last_deed(robot)
    if deed is None:
        return
    index = next(k for k, each in enumerate(robot.deeds) if each is deed)
    robot.deeds[index] = replace(deed, undone=True)
    before = robot.deeds[index - 1] if index else None
    lifted = before is not None and before.action == "pick" and before.success and before.object == deed.object
    if before is not None and lifted and deed.action == "place":
        robot.deeds[index - 1] = replace(before, undone=True)


def learn_of(
    robot: RobotMemory,
    said: str,
    records: Sequence[CallRecord],
    now_s: float,
    undone: bool = False,
    named: str = "",
    pointed: str = "",
) -> DoneDeed | None:
    """Note what some calls have moved and seen.

    Args:
        robot: The memory, which is changed.
        said: The operator's words, or the command that was made of them.
        records: The calls, in order.
        now_s: Time that is noted, seconds since the epoch.
        undone: True for calls that took a deed back, which is none to take back itself.
        named: Words for the object that is picked up; what the tools call it where empty.
        pointed: Words that had pointed at something last before these calls.

    Returns:
        The deed that was noted last; None where nothing was moved, or was to be.
    """
    pointed_by = _note_seen(robot, records, now_s, pointed)
    held = robot.held
    obj, before = ("", None) if held is None else (held.object, held.before)
    opening = None if held is None else held.opening_m
    noted: DoneDeed | None = None
    lifted = False
    for record in records:
        result = record.result
        robot.motions += record.motion and (result.error is None or result.error.code not in NOT_BEGUN)
        if record.motion and result.ok:
            skill = result.facts.get("skill")
            robot.over_table = isinstance(skill, Mapping) and skill.get("name") in STAYING
        if result.error is not None:
            if record.motion and result.error.code in LOST and (lifted or held is not None):
                noted = DoneDeed(said, "place", obj, before, None, False, result.error.code, now_s, undone)
                robot.note(noted)
                lifted, held = False, None
            continue
        grasped, placed = result.facts.get("grasped"), result.facts.get("placed")
        if isinstance(grasped, Mapping):
            called = grasped.get("called") if isinstance(grasped.get("called"), str) else ""
            # What was put aside is not what was asked for.
            names = (called,) if result.facts.get("aside") else (named, called, pointed_by[id(record)])
            obj = next(filter(None, names), "thing")
            before, lifted = _stood(grasped), True
            opening = grasped.get("opening_m")
        if isinstance(placed, Mapping):
            # By its middle it is pointed at again: on a box, or half hidden, its base is shown elsewhere.
            shown = placed.get("shown") or placed.get("found")
            after = _spot(shown, placed.get("found_m")) or _spot(placed.get("wanted"), placed.get("wanted_m"))
            noted = DoneDeed(said, "place", obj or "thing", before, after, True, "", now_s, undone)
            robot.note(noted)
            lifted, held = False, None
        elif (lifted or held is not None) and _let_go(result.facts.get("skill"), opening):
            noted = DoneDeed(said, "place", obj, before, None, True, "", now_s, undone)
            robot.note(noted)
            lifted, held = False, None
    if lifted:
        noted = DoneDeed(said, "pick", obj, before, None, True, "", now_s, undone, opening)
        robot.note(noted)
    return noted


def without_point(words: str) -> str:
    """Words of an object without "at (0.480, 0.420)"."""
    return " ".join(POINTED.sub("", words).split())


def _let_go(skill: Any, opening_m: float | None) -> bool:
    """Whether a skill has opened the jaws that held an object, as its fact says."""
    wide = skill.get("opening_m") if isinstance(skill, Mapping) else None
    return wide is not None and opening_m is not None and wide > opening_m + WIDER_M


def _note_seen(robot: RobotMemory, records: Sequence[CallRecord], now_s: float, name: str) -> dict[int, str]:
    """Note what the calls have pointed out; the words that pointed at something last before each call, by its id."""
    seen: list[SeenObject] = []
    last: dict[int, str] = {}
    for record in records:
        last[id(record)] = name
        points = record.result.facts.get("points") if record.result.ok else None
        called = record.arguments.get("obj_name") if isinstance(record.arguments, Mapping) else None
        if isinstance(called, str) and points and not called.startswith("free "):
            name = without_point(called)
            seen += [SeenObject(name, (float(x), float(y)), now_s) for x, y in points]
    robot.note_seen(seen)
    return last


def _stood(grasped: Mapping[str, Any]) -> Spot | None:
    return _spot(grasped.get("stood"), grasped.get("stood_m"))


def _spot(point: Any, position_m: Any) -> Spot | None:
    if point is None or position_m is None:
        return None
    values = [float(value) for value in position_m]
    x, y, z = (*values, 0.0)[:3]
    return Spot((float(point[0]), float(point[1])), (x, y, z))
