"""What the careful teacher does in a turn, as calls of SpaceTools' suite.

| move | calls |
|---|---|
| look | `robot.capture_image`, `robot.get_depth_with_pointcloud` or `depth_estimator.estimate_depth_with_pointcloud` |
| point | `roborefer.detect_all` or `vlm.detect_all`: every point of a phrase |
| room | `roborefer.detect_one` or `vlm.detect_one`: one point of free room |
| take | `sam2.segment_from_point`, or `..._points`, and `grasp_generator.compute_grasp`: a grasp of what is there |
| next | `grasp_generator.compute_grasp`: the next best grasp of the same outline |
| grasp | `robot.execute_grasp` |
| place | `robot.place_object_at_2d_location` |
| done, refuse | none: the answer, "Done." or an error code and a sentence |

Points are named by their number since the newest look, from 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from toolhand.agent_node.calls import ToolCall
from toolhand.agent_node.protocol import Protocol
from toolhand.tool_nodes.language.places import free_space_phrase
from toolhand.tool_nodes.results import ErrorCode
from toolhand.tool_nodes.types import ImagePoint

MoveKind = Literal["look", "point", "room", "take", "next", "grasp", "place", "done", "refuse"]

MOST_POINTS = 16
"""Points that can be named since the newest look [-]: a pointer's answer to a phrase has one to four, and six to eight
questions are asked between two looks."""
NOWHERE = "nowhere"
"""Where the plan of a pick puts the object."""

REASONS: dict[str, str] = {
    ErrorCode.NOT_UNDERSTOOD: "I do not understand what is asked for.",
    ErrorCode.AMBIGUOUS: "I am not sure which thing is meant, and I must not guess.",
    ErrorCode.NOT_RECOGNISED: "I do not know what these words look like.",
    ErrorCode.OBJECT_NOT_FOUND: "I do not see what is asked for.",
    ErrorCode.EMPTY_MASK: "I cannot outline the thing.",
    ErrorCode.NO_DEPTH: "I do not know how far away the thing is.",
    ErrorCode.NO_GRASP: "I see no way to grasp the thing.",
    ErrorCode.OUT_OF_WORKSPACE: "That is out of reach.",
    ErrorCode.PLACE_BLOCKED: "There is no room there.",
    ErrorCode.IK_FAILED: "The arm has no posture for that.",
    ErrorCode.PLAN_FAILED: "The arm finds no way there.",
    ErrorCode.SCENE_CHANGED: "The table keeps changing.",
    ErrorCode.EXECUTION_FAILED: "It did not work.",
    ErrorCode.GRIPPER_EMPTY: "The gripper closed on nothing.",
    ErrorCode.OBJECT_DROPPED: "The thing was dropped.",
    ErrorCode.NOT_HOLDING: "The gripper holds nothing.",
}
"""What a refusal may give as its reason, with the answer's words; faults of the system are not a policy's to claim."""

_GRASP_FROM = {"point_cloud": "$point_cloud", "mask": "$segmentation_mask", "focal_length_px": "$focal_length_px"}


@dataclass(frozen=True)
class Plan:
    """What is thought before the first move, in the operator's words.

    Attributes:
        target: Words of the object, its side and what it is beside among them: ("left", "can").
        relation: Where it is to go, as of `toolhand.tool_nodes.language.places`; empty for a pick.
        reference: Words of what the place is in relation to, with "and" between two.
    """

    target: tuple[str, ...]
    relation: str = ""
    reference: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """The plan in the words of the calls that follow, so that a later turn need not read the sentence."""
        where = free_space_phrase(self.relation, _groups(self.reference)) if self.relation else NOWHERE
        return f"take {' '.join(self.target)}, put {where}"


@dataclass(frozen=True)
class Move:
    """One turn.

    Attributes:
        pointer: Who is asked by "point" and "room": "roborefer" or "vlm".
        otherwise: "look" and "take" call the other tool that there is for it.
        words: Words of the phrase that "point" asks for; the references of "room", with "and" between two.
        relation: Relation of "room", as of `toolhand.tool_nodes.language.places`.
        register: Number of the point of "take" and "place", from 1.
        why: Reason of "refuse", a key of REASONS.
        plan: Thought before it.
    """

    kind: MoveKind
    pointer: str = ""
    words: tuple[str, ...] = ()
    relation: str = ""
    register: int = 0
    why: str = ""
    plan: Plan | None = None
    otherwise: bool = False

    @property
    def answer(self) -> str | None:
        """The answer of "done" and "refuse"; None for other moves."""
        return {"done": "Done.", "refuse": f"{self.why}: {REASONS.get(self.why, '')}"}.get(self.kind)

    @property
    def phrase(self) -> str:
        """What a pointer is asked for; empty where none is asked."""
        if self.kind == "room":
            return free_space_phrase(self.relation, _groups(self.words))
        return " ".join(self.words)


def _groups(words: Sequence[str]) -> list[str]:
    """Phrases of several references, which "and" separates."""
    return [phrase for phrase in (part.strip() for part in " ".join(words).split(" and ")) if phrase]


def calls_of(move: Move, points: Sequence[ImagePoint], image_index: int | str) -> tuple[ToolCall, ...]:
    """The calls of a move; none for an answer.

    Args:
        move: With the operator's words.
        points: Normalized points since the newest look.
        image_index: The camera's newest image: its index, or the variable that holds it.
    """
    image = {"image_index": image_index}
    grasp = ToolCall("grasp_generator.compute_grasp", {**_GRASP_FROM, **image})
    match move.kind:
        case "look":
            depth = ToolCall("robot.get_depth_with_pointcloud", {})
            if move.otherwise:
                depth = ToolCall("depth_estimator.estimate_depth_with_pointcloud", {"image_index": "$captured_image"})
            return ToolCall("robot.capture_image", {}), depth
        case "point" | "room":
            tool = f"{move.pointer}.{'detect_all' if move.kind == 'point' else 'detect_one'}"
            return (ToolCall(tool, {"obj_name": move.phrase, **image}),)
        case "take":
            x, y = points[move.register - 1]
            if move.otherwise:
                return ToolCall("sam2.segment_from_points", {"points": [[x, y]], **image}), grasp
            return ToolCall("sam2.segment_from_point", {"x": x, "y": y, **image}), grasp
        case "next":
            return (grasp,)
        case "grasp":
            return (ToolCall("robot.execute_grasp", {"grasp_pose": "$grasp_pose"}),)
        case "place":
            at: dict[str, Any] = {"placement_point_2d": list(points[move.register - 1])}
            return (ToolCall("robot.place_object_at_2d_location", at),)
    return ()


def render_move(move: Move, points: Sequence[ImagePoint], image_index: int, protocol: Protocol) -> str:
    """The turn of a move, as the protocol writes it.

    Where each line is a call, every call looks at the newest view, and only a plan is thought.

    Args:
        move, points, image_index: Arguments of `calls_of`.
        protocol: How turns are written.
    """
    lines = protocol.syntax == "lines"
    thought = move.plan.words if move.plan else "" if lines else f"{move.kind} {move.phrase}".strip()
    calls = calls_of(move, points, "$captured_image" if lines else image_index)
    return protocol.render_turn(thought, calls, move.answer)
