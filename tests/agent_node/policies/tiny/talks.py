"""Conversations in the small policy's dialect, with answers as the tools write them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from agent_node.policies.tiny.context import read_registers
from agent_node.policies.tiny.dialect import Move, Plan, render_turn
from agent_node.policies.tiny.vocabulary import Vocabulary
from agent_node.policy import Message
from agent_node.protocol import load_protocol, render_response

SPACETOOLS = load_protocol("spacetools")

LOOKED = "Captured 64x48 image from the robot camera. Use $captured_image (image, 48x64x3) to reference it."
WORDS = {
    "robot.capture_image": LOOKED,
    "robot.get_depth_with_pointcloud": "Captured 64x48 depth map and 3,072 3D points.",
    "sam2.segment_from_point": "Segmented object at normalized coords (0.588, 0.350) with IoU score: 0.973.",
    "grasp_generator.compute_grasp": "Generated collision-free grasp with confidence 0.780.",
    "robot.execute_grasp": "Grasp executed successfully in 4.57 s. The gripper holds an object 0.058 m wide.",
    "robot.place_object_at_2d_location": "Object placed successfully in 4.45 s. The gripper is open and empty.",
}
"""What a tool says that does what it should."""


def picture(seed: int) -> np.ndarray:
    """A small picture without meaning."""
    return np.random.default_rng(seed).integers(0, 255, (48, 64, 3), dtype=np.uint8)


class Talk:
    """A conversation that grows a turn at a time; every call answers as if all went well, or as it is told."""

    def __init__(self, sentence: str, vocabulary: Vocabulary) -> None:
        self.messages = [Message("system", "tools"), Message("user", sentence, words=sentence)]
        self._vocabulary = vocabulary
        self._pictures = 0

    def say(
        self, tokens: Sequence[str], points: Sequence[tuple[float, float]] = ((0.588, 0.35),), error: str = ""
    ) -> None:
        """Take a turn of any tokens, and answer each of its calls."""
        self.take(render_turn(tokens, read_registers(self.messages, self._vocabulary)), points, error)

    def take(self, text: str, points: Sequence[tuple[float, float]] = ((0.588, 0.35),), error: str = "") -> None:
        """Take a turn as it is written."""
        self.messages.append(Message("assistant", text))
        parsed = SPACETOOLS.parse(text)
        if parsed.answer is not None:
            return
        if not parsed.calls:
            self.answer("Error INVALID_ARGUMENT: a turn needs a <tool_call> or an <answer>.")
        for call in parsed.calls:
            if "detect" in call.name:
                name, shown = call.arguments["obj_name"], ", ".join(f"({x:.3f}, {y:.3f})" for x, y in points)
                words = f"Detected {len(points)} instance(s) of '{name}': [{shown}] (backend: learned)"
            else:
                words = WORDS[call.name]
            self.answer(f"Error {error}: it went wrong." if error else words, not error)

    def answer(self, words: str, pictured: bool = False) -> None:
        """One tool message."""
        index = self._pictures if pictured else None
        self._pictures += pictured
        shown = picture(index) if index is not None else None
        self.messages.append(Message("tool", render_response(words, index), words, index, shown))


def done_talk(vocabulary: Vocabulary) -> Talk:
    """A whole pick and place with one failed grasp."""
    talk = Talk("Take the cola and place it next to the red box", vocabulary)
    for move, error in (
        ("PLAN cola NEXT_TO red box LOOK", ""),
        ("POINT ROBOREFER cola", ""),
        ("POINT VLM cola", ""),
        ("ROOM ROBOREFER NEXT_TO red box", ""),
        ("TAKE p1", ""),
        ("GRASP", "GRIPPER_EMPTY"),
        ("LOOK", ""),
        ("POINT VLM cola", ""),
        ("TAKE p1", ""),
        ("NEXT", ""),
        ("GRASP", ""),
        ("POINT ROBOREFER cola", "OBJECT_NOT_FOUND"),
        ("ROOM VLM NEXT_TO red box", ""),
        ("PLACE p2", ""),
        ("DONE", ""),
    ):
        talk.say([*move.split(), "END"], error=error)
    return talk


MOVES = (
    Move("look", plan=Plan(("red", "box"))),
    Move("look", plan=Plan(("cola",), "next_to", ("red", "box"))),
    Move("point", "roborefer", ("can", "left", "of", "the", "red", "box")),
    Move("point", "vlm", ("left", "can")),
    Move("room", "roborefer", ("red", "box"), "in_front_of"),
    Move("room", "vlm", ("pony", "and", "bunny"), "between"),
    Move("room", "vlm", (), "anywhere"),
    Move("take", register=2),
    Move("next"),
    Move("grasp"),
    Move("place", register=1),
    Move("done"),
    Move("refuse", why="AMBIGUOUS"),
)
"""Of every kind one or two; they need two registers."""
