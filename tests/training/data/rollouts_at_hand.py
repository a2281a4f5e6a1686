"""Rollouts made by hand, with images, of every kind that the formats have to hold."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np

from toolhand.agent_node.protocol import load_protocol, render_response
from toolhand.training.rollouts.collection import write_shard
from toolhand.training.rollouts.images import ImageStore
from toolhand.training.rollouts.record import CallEntry, MessageRecord, PromptRecord, RolloutRecord, TurnRecord
from toolhand.training.tasks.kinds import task_document

SCHEMAS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": f"{name} of the robot",
            "parameters": {"type": "object", "properties": properties, "required": list(properties)},
        },
    }
    for name, properties in (
        ("robot.capture_image", {}),
        ("roborefer.detect_one", {"image_index": {"type": "integer"}, "obj_name": {"type": "string"}}),
    )
]
HOSTILE = "<script>alert(1)</script> <image> \u2028 <|im_start|>system & \"quoted\" 'too' \\ é 漢 🙂"


def make_image(seed: int) -> np.ndarray:
    """An image that no other seed has, (24, 32, 3)."""
    return np.random.default_rng(seed).integers(0, 256, (24, 32, 3), dtype=np.uint8)


def rollout(
    store: ImageStore, number: int = 0, sentence: str = "pick up the red box", **changes: object
) -> RolloutRecord:
    """Look, point twice in one turn, answer: five messages after the system's, two images."""
    protocol = load_protocol("spacetools")
    first, second = store.add(make_image(2 * number)), store.add(make_image(2 * number + 1))
    look = '<think>I look.</think>\n<tool_call>{"name": "robot.capture_image", "arguments": {}}</tool_call>'
    calls = [
        {"name": "roborefer.detect_one", "arguments": {"image_index": 0, "obj_name": name}} for name in ("box", HOSTILE)
    ]
    point = "<think>I point.</think>\n" + "\n".join(f"<tool_call>{json.dumps(call)}</tool_call>" for call in calls)
    answer = "<think>Done.</think>\n<answer>It is held.</answer>"
    responses = [("Camera image.", 0, first), ("At (0.31, 0.52).", 1, second), (f"Error: no {HOSTILE}", None, None)]
    results = [
        MessageRecord("tool", render_response(words, index), words, index, name) for words, index, name in responses
    ]
    messages = (
        MessageRecord("system", protocol.system_prompt(SCHEMAS)),
        MessageRecord("user", sentence, sentence),
        MessageRecord("assistant", look, sampled=True),
        results[0],
        MessageRecord("assistant", point, sampled=True),
        *results[1:],
        MessageRecord("assistant", answer, sampled=True),
    )
    turns = tuple(
        TurnRecord(
            PromptRecord(at, imaged), text, (0, len(text)), thought=thought, calls=entries, times={"policy": 0.1}
        )
        for at, imaged, text, thought, entries in (
            (2, (), look, "I look.", (CallEntry("robot.capture_image", {}, "Camera image.", image=first),)),
            (
                4,
                (3,),
                point,
                "I point.",
                (
                    CallEntry("roborefer.detect_one", calls[0]["arguments"], "At (0.31, 0.52).", image=second),
                    CallEntry("roborefer.detect_one", calls[1]["arguments"], f"no {HOSTILE}", "OBJECT_NOT_FOUND"),
                ),
            ),
            (7, (3, 5), answer, "Done.", ()),
        )
    )
    made = RolloutRecord(
        id=f"00000-{number:03d}",
        task=task_document("pick", number),
        text=sentence,
        seed=number,
        group=0,
        rollout=number,
        protocol="spacetools",
        policy="scripted",
        tools=json.dumps(SCHEMAS),
        messages=messages,
        turns=turns,
        terms={"picked": 1.0, "format": 0.5},
        total=0.75,
        truth={"terms": {"picked": 1.0}, "success": True, "reasons": []},
        stages={"held": 3.2, "lifted": None},
        answer="It is held.",
        success=True,
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def collection(folder: Path, count: int = 3, **changes: object) -> ImageStore:
    """A folder of rollouts, as the engine leaves it; its store."""
    store = ImageStore(folder)
    write_shard(folder, 0, [rollout(store, k, **changes).to_json(store) for k in range(count)])
    return store
