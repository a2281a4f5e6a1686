"""Episodes made of calls whose points lie on known objects."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tests.training.data.rollouts_at_hand import rollout
from toolhand.agent_node.calls import ToolCall
from toolhand.agent_node.protocol import load_protocol
from toolhand.training.rollouts.images import ImageStore
from toolhand.training.rollouts.record import CallEntry, PromptRecord, RolloutRecord, TurnRecord

PROTOCOL = load_protocol("spacetools")
TARGET, OTHER = "red_box_1", "milk_1"
LOOK = (CallEntry("robot.capture_image", {}, "Captured."), None)
HELD = (CallEntry("robot.execute_grasp", {"grasp_pose": "$grasp_pose"}, "Holds."), None)
SLIPPED = (CallEntry("robot.execute_grasp", {"grasp_pose": "$grasp_pose"}, "Empty.", "GRIPPER_EMPTY"), None)

Call = tuple[CallEntry, Sequence[str] | None]


def pointed(family: str, objects: Sequence[str], words: str = "red box", image: int = 0, at: float = 0.5) -> Call:
    points = ", ".join(f"({at:.3f}, {0.1 * k:.3f})" for k in range(len(objects)))
    said = f"Detected {len(objects)} instance(s) of '{words}': [{points}]"
    return CallEntry(f"{family}.detect_all", {"obj_name": words, "image_index": image}, said), objects


def outlined(item: str, at: float = 0.5, y: float = 0.0) -> Call:
    return CallEntry("sam2.segment_from_point", {"x": at, "y": y, "image_index": 0}, "Outlined."), [item]


def episode(
    tmp_path: Path,
    *turns: Sequence[Call],
    answer: str = "Done.",
    success: bool = True,
    true: bool = True,
    picked_up: Sequence[str] = (),
) -> RolloutRecord:
    """An episode of these calls, turn by turn, and an answer."""
    record = rollout(ImageStore(tmp_path / "rollouts"))
    made = [
        TurnRecord(
            PromptRecord(1),
            PROTOCOL.render_turn("", [ToolCall(c.tool, c.arguments) for c, _ in calls]),
            calls=tuple(call for call, _ in calls),
            labels={"objects": [objects for _, objects in calls]},
        )
        for calls in turns
    ]
    made.append(TurnRecord(PromptRecord(1), PROTOCOL.render_turn("", (), answer)))
    truth = {"terms": {}, "success": true, "reasons": [], "picked_up": list(picked_up), "meant": [TARGET]}
    return replace(record, turns=tuple(made), truth=truth, success=success)
