"""What an episode has done, read from what its tools reported: the same for every policy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolhand.agent_node.dialogue.clauses import parses
from toolhand.agent_node.dialogue.memory import POINTED, DoneDeed, RobotMemory, SeenThing, Spot
from toolhand.agent_node.episode import Episode
from toolhand.agent_node.policies.scripted.commands import parse_command
from toolhand.tool_nodes.results import ErrorCode
from toolhand.tool_nodes.toolbox.toolbox import CallRecord

LOST = frozenset({ErrorCode.OBJECT_DROPPED, ErrorCode.GRIPPER_EMPTY, ErrorCode.NOT_HOLDING})
"""Errors after which the gripper is known to hold nothing."""
STAYING = ("lift", "point_at", "hand_over")
"""Skills that end with the hand elsewhere than at its park position."""
WIDER_M = 0.005
"""Jaws that are so much wider than they held a thing have let it go [m]: ten times what a measured opening wavers."""


def learn(robot: RobotMemory, said: str, episode: Episode, now_s: float, undone: bool = False) -> DoneDeed | None:
    """Note what an episode has moved and seen.

    Args:
        robot: The memory, which is changed.
        said: The command, as the policy was given it.
        episode: The finished command.
        now_s: Time that is noted, seconds since the epoch.
        undone: True for an episode that took a deed back, which is none to take back itself.

    Returns:
        The deed that was noted last; None where nothing was moved, or was to be.
    """
    _note_seen(robot, episode, now_s)
    held = robot.held
    thing, before = ("", None) if held is None else (held.thing, held.before)
    opening = None if held is None else held.opening_m
    noted: DoneDeed | None = None
    lifted = False
    for record in episode.records:
        result = record.result
        if record.motion and result.ok:
            skill = result.facts.get("skill")
            robot.over_table = isinstance(skill, Mapping) and skill.get("name") in STAYING
        if result.error is not None:
            if record.motion and result.error.code in LOST and (lifted or held is not None):
                noted = DoneDeed(said, "place", thing, before, None, False, result.error.code, now_s, undone)
                robot.note(noted)
                lifted, held = False, None
            continue
        grasped, placed = result.facts.get("grasped"), result.facts.get("placed")
        if isinstance(grasped, Mapping):
            thing, before, lifted = named_thing(said) or _pointed_out(episode, record) or "thing", _stood(grasped), True
            opening = grasped.get("opening_m")
        elif isinstance(placed, Mapping):
            # By its middle it is pointed at again: on a box, or half hidden, its base is shown elsewhere.
            shown = placed.get("shown") or placed.get("found")
            after = _spot(shown, placed.get("found_m")) or _spot(placed.get("wanted"), placed.get("wanted_m"))
            noted = DoneDeed(said, "place", thing or "thing", before, after, True, "", now_s, undone)
            robot.note(noted)
            lifted, held = False, None
        elif (lifted or held is not None) and _let_go(result.facts.get("skill"), opening):
            noted = DoneDeed(said, "place", thing, before, None, True, "", now_s, undone)
            robot.note(noted)
            lifted, held = False, None
    if lifted:
        noted = DoneDeed(said, "pick", thing, before, None, True, "", now_s, undone, opening)
        robot.note(noted)
    return noted


def note_failure(robot: RobotMemory, said: str, code: str, now_s: float) -> None:
    """Note that a command has come to nothing, so that the robot can say why; what it holds it still holds."""
    picks = parses(said) and parse_command(said).action == "pick"
    robot.note(
        DoneDeed(said, "pick" if picks else "place", named_thing(said), success=False, error_code=code, time_s=now_s)
    )


def named_thing(said: str) -> str:
    """The plain name of the thing that a command is about, e.g. "lemon"; empty where it names none."""
    if not parses(said):
        return ""
    command = parse_command(said)
    thing = command.target or command.held_as
    return "" if thing is None else without_point(thing.plain)


def without_point(words: str) -> str:
    """Words of a thing without "at (0.480, 0.420)"."""
    return " ".join(POINTED.sub("", words).split())


def _pointed_out(episode: Episode, until: CallRecord) -> str:
    """The words by which a policy that nobody can read has pointed at something last before a call."""
    name = ""
    for record in episode.records:
        if record is until:
            break
        if record.result.ok and record.result.facts.get("points") and isinstance(record.arguments, Mapping):
            said = record.arguments.get("obj_name")
            name = said if isinstance(said, str) and not said.startswith("free ") else name
    return without_point(name)


def _let_go(skill: Any, opening_m: float | None) -> bool:
    """Whether a skill has opened the jaws that held a thing, as its fact says."""
    wide = skill.get("opening_m") if isinstance(skill, Mapping) else None
    return wide is not None and opening_m is not None and wide > opening_m + WIDER_M


def _note_seen(robot: RobotMemory, episode: Episode, now_s: float) -> None:
    seen = []
    for record in episode.records:
        points = record.result.facts.get("points") if record.result.ok else None
        called = record.arguments.get("obj_name") if isinstance(record.arguments, Mapping) else None
        if isinstance(called, str) and points and not called.startswith("free "):
            seen += [SeenThing(without_point(called), (float(x), float(y)), now_s) for x, y in points]
    robot.note_seen(seen)


def _stood(grasped: Mapping[str, Any]) -> Spot | None:
    return _spot(grasped.get("stood"), grasped.get("stood_m"))


def _spot(point: Any, position_m: Any) -> Spot | None:
    if point is None or position_m is None:
        return None
    values = [float(value) for value in position_m]
    x, y, z = (*values, 0.0)[:3]
    return Spot((float(point[0]), float(point[1])), (x, y, z))
