"""What an episode has done, called as the robot's grammar reads its command."""

from __future__ import annotations

from toolhand.agent_node.dialogue.clauses import parses
from toolhand.agent_node.episode import Episode
from toolhand.agent_node.memory import DoneDeed, RobotMemory, learn_of, without_point
from toolhand.agent_node.policies.scripted.commands import parse_command


def learn(robot: RobotMemory, said: str, episode: Episode, now_s: float, undone: bool = False) -> DoneDeed | None:
    """Note what an episode has moved and seen, see `learn_of`."""
    return learn_of(robot, said, episode.records, now_s, undone, named_thing(said))


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
