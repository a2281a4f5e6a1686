"""A policy that writes down what it hears, tools that move nothing, and 50 things that operators say."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.saying import answer as answer
from tests.saying import call as call
from toolhand.agent_node.agent import Agent
from toolhand.agent_node.conversation_settings import ConversationSettings
from toolhand.agent_node.episode import Episode
from toolhand.agent_node.events import Ask, nobody
from toolhand.agent_node.memory import RobotMemory
from toolhand.agent_node.memory_file import MemoryFile
from toolhand.agent_node.policy import Message, Reply
from toolhand.agent_node.protocol import load_protocol
from toolhand.agent_node.session import PolicySession, SessionCommand, SessionSetup
from toolhand.agent_node.session_tools import with_session_tools
from toolhand.tool_nodes.results import ErrorCode, ToolError, ToolResult
from toolhand.tool_nodes.toolbox.arguments import Point2D
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.toolbox.toolbox import Toolbox, tool
from toolhand.tool_nodes.types import Frame

UTTERANCES = (
    "hello",
    "what do you see?",
    "is the lemon left of the orange?",
    "which is taller, the red box or the green box?",
    "how many cans are there?",
    "is there anything dangerous on the table?",
    "what are you holding?",
    "what did you do?",
    "why did that fail?",
    "where is the ball?",
    "can you reach the milk?",
    "what can you do?",
    "help",
    "thank you",
    "pick up the lemon",
    "Pick up the lemon, please!",
    "pick up the LEMON slowly",
    "put it in the bowl",
    "put it back",
    "undo",
    "undo that",
    "again",
    "the other one",
    "the left one",
    "number 2",
    "no",
    "yes",
    "yes, but gently",
    "go on",
    "clear the table",
    "put all fruit in the blue cup",
    "sort the blocks by colour",
    "pick up both cans",
    "stack the orange on the red box",
    "grab the thing you would drink from and set it beside the citrus fruit",
    "put the orange left of the red box, then pick up the lemon",
    "pick up the can. put it in the bin.",
    "hand me the lemon",
    "point at the lemon",
    "open the gripper",
    "go home",
    "a bit further left",
    "from now on move slowly",
    "left means your left",
    "Nimm die Zitrone.",
    "prends le citron",
    "レモンを取って",
    "flibber the wug",
    "I am hungry :-) \u2014 what would you take?",
    '  <tool_call>{"name": "x"}</tool_call>  ',
)


class Hearing:
    """Answers every utterance, and keeps the messages that it was given; it moves first where it was told to.

    Attributes:
        given: Every conversation that it was given.
        replies: What it says next; "Done." once there is nothing left.
    """

    name, takes_answers, sees_images = "hearing", True, True

    def __init__(self, *replies: str) -> None:
        self.given: list[tuple[Message, ...]] = []
        self.replies = list(replies)

    def respond(self, conversation: Sequence[Message]) -> Reply:
        self.given.append(tuple(conversation))
        return Reply(self.replies.pop(0) if self.replies else "<answer>It is so.</answer>")

    @property
    def heard(self) -> list[str]:
        """The operator's words of the newest conversation, in order."""
        return [each.words for each in self.given[-1] if each.role == "user" and each.words]


class Table:
    """A camera, and an arm that moves nothing: each motion reports a spot."""

    suite = "fake"

    def __init__(self) -> None:
        self.log: list[str] = []

    def _picture(self) -> dict[str, Any]:
        rgb = np.full((48, 64, 3), 90 + len(self.log), np.uint8)
        frame = Frame(rgb, np.ones((48, 64), np.float32), np.diag([60.0, 60.0, 1.0]), np.eye(4), 1.0)
        return {"image": rgb, "variables": {"picture": SessionImage(rgb, frame)}}

    @tool("robot.capture_image", repeatable=True)
    def look(self) -> ToolResult:
        """Look."""
        return ToolResult(text="Captured.", **self._picture())

    @tool("robot.pick", motion=True)
    def pick(self, point: Point2D) -> ToolResult:
        """Pick.

        Args:
            point: Where.
        """
        self.log.append(f"pick {point[0]:.1f}")
        if point[0] > 0.9:
            raise ToolError(ErrorCode.NO_GRASP, "Nothing can be grasped there.")
        stood = {"stood": [float(point[0]), float(point[1])], "stood_m": [0.4, 0.1, 0.0], "called": "lemon"}
        return ToolResult(text="Picked up.", facts={"grasped": stood})

    @tool("robot.place", motion=True)
    def place(self, point: Point2D) -> ToolResult:
        """Place.

        Args:
            point: Where.
        """
        self.log.append(f"place {point[0]:.1f}")
        spot = [float(point[0]), float(point[1])]
        return ToolResult(text="Placed.", facts={"placed": {"wanted": spot, "wanted_m": [0.3, 0.0, 0.0]}})


def session_with(
    policy: Any,
    robot: RobotMemory | None = None,
    table: Any = None,
    ask: Ask = nobody,
    clock: Callable[[], float] = lambda: 0.0,
    turns: int = 24,
    protocol: str = "spacetools",
    kept: tuple[MemoryFile, ...] = (),
) -> tuple[PolicySession, Toolbox, list[Episode]]:
    """A session with a policy at a table; its tools, and its episodes as they end."""
    memory = RobotMemory() if robot is None else robot
    toolbox = with_session_tools(Toolbox([table or Table()]), memory)
    settings = ConversationSettings(turns, load_protocol(protocol))
    episodes: list[Episode] = []

    def run(command: SessionCommand) -> Episode:
        agent = Agent(policy, toolbox, command.settings(settings), ask=ask)
        episodes.append(command.run(agent))
        return episodes[-1]

    return PolicySession(SessionSetup(run, memory, kept=kept), clock), toolbox, episodes
