"""Your own policy: any object with `respond(conversation) -> Reply`. It sees the words, never the arrays.

This one knows one sentence and one plan, and gives up at the first error.

    python examples/05_your_own_policy.py

You will see:

    -> robot.capture_image
    ...
    -> robot.execute_grasp
    answer: I hold the red box.
    tools say success=True, the simulator says {'picked': True}
    answer: no 'unicorn' here...
"""

import json
import re
from collections.abc import Sequence
from typing import Any

from toolhand.agent_node.agent import Agent
from toolhand.agent_node.events import Event, ToolCalled
from toolhand.agent_node.policy import Message, Reply
from toolhand.sim.scene.generator import generate_scene
from toolhand.sim.station import Station
from toolhand.sim.tasks.pick import PickTask
from toolhand.training.env.episode import run_episode


class FirstPick:
    """Picks up what its sentence names."""

    name = "first pick"

    def respond(self, conversation: Sequence[Message]) -> Reply:
        """One call a turn, in the protocol of SpaceTools; the answer at the end."""
        wanted = conversation[1].words.removeprefix("Pick up the ")
        heard = conversation[-1].words
        if conversation[-1].role == "tool" and heard.startswith("Error "):
            return Reply(f"<think>That failed.</think><answer>{heard.removeprefix('Error ')}</answer>")
        point = re.search(r"Detected .*\[\((0\.\d+), (0\.\d+)\)\]", " ".join(m.words for m in conversation))
        x, y = map(float, point.groups()) if point else (0.0, 0.0)
        cloud = {"point_cloud": "$point_cloud", "mask": "$segmentation_mask", "focal_length_px": "$focal_length_px"}
        plan: list[tuple[str, dict[str, Any]]] = [
            ("robot.capture_image", {}),
            ("robot.get_depth_with_pointcloud", {}),
            ("roborefer.detect_one", {"obj_name": wanted, "image_index": 0}),
            ("sam2.segment_from_point", {"x": x, "y": y, "image_index": 0}),
            ("grasp_generator.compute_grasp", {**cloud, "image_index": 0}),
            ("robot.execute_grasp", {"grasp_pose": "$grasp_pose"}),
        ]
        turn = sum(message.role == "assistant" for message in conversation)
        if turn == len(plan):
            return Reply(f"<think>Done.</think><answer>I hold the {wanted}.</answer>")
        name, arguments = plan[turn]
        call = json.dumps({"name": name, "arguments": arguments})
        return Reply(f"<think>Step {turn + 1}.</think><tool_call>{call}</tool_call>")


def tell(event: Event) -> None:
    """Print the calls as they are made."""
    if isinstance(event, ToolCalled):
        print("->", event.call.name)


if __name__ == "__main__":
    station = Station(generate_scene(seed=3))
    task = PickTask("Pick up the red box", station.scene, target_ids=("red_box_1",))
    outcome = run_episode(station, FirstPick(), task, listener=tell)
    assert outcome.truth is not None  # None only after an infrastructure error
    print("answer:", outcome.episode.answer)
    print(f"tools say success={outcome.episode.success}, the simulator says {dict(outcome.truth.terms)}")
    print("answer:", Agent(FirstPick(), station.toolbox).run("Pick up the unicorn").answer)  # nobody judges this one
