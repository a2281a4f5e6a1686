"""Memories as files: what is kept comes back, what is gone is forgotten, and what is damaged is refused."""

import json
from pathlib import Path

import pytest

from tests.agent_node.dialogue.operators import TextRobot, dialogue
from toolhand.agent_node.dialogue.memory import OperatorMemory
from toolhand.agent_node.memory import DoneDeed, RobotMemory, SeenObject, Spot
from toolhand.agent_node.memory_file import MemoryFile, load
from toolhand.agent_node.open_question import Choice, OpenQuestion
from toolhand.tool_nodes.results import ToolError

KINDS = {"robot": RobotMemory, "operator": OperatorMemory}
SPOT = Spot((0.48, 0.42), (0.4, 0.1, 0.0))
ROBOT = RobotMemory(
    [DoneDeed("pick up the lemon", "pick", "lemon", SPOT, None, True, "", 7.0)], [SeenObject("can", (0.1, 0.2), 3.0)]
)
DEED = {"said": "put it in the bin", "object": "can"}
OPERATOR = OperatorMemory(
    OpenQuestion(
        "Which?", "pick up the can", 5.0, "can", (Choice("the left one", (0.1, 0.2)), Choice("undo")), ("go home",)
    ),
    None,
    1,
    "put the lemon in the bin",
    "lemon",
    "pick up the lemon",
    ["a"],
    ["b"],
    "stopped",
    "40 %",
)


def test_what_is_kept_comes_back(tmp_path: Path) -> None:
    MemoryFile(tmp_path / "new" / "one.json", robot=ROBOT, operator=OPERATOR).write()
    assert load(tmp_path / "new" / "one.json", KINDS) == {"robot": ROBOT, "operator": OPERATOR}
    robot, operator = RobotMemory(), OperatorMemory()
    MemoryFile(tmp_path / "new" / "one.json", robot=robot, operator=operator).read()
    assert (robot, operator) == (ROBOT, OPERATOR)


def test_a_file_that_is_deleted_is_forgotten(tmp_path: Path) -> None:
    robot, operator = RobotMemory(), OperatorMemory()
    path = tmp_path / "one.json"
    talk = dialogue(
        TextRobot(), robot=robot, operator=operator, kept=(MemoryFile(path, robot=robot, operator=operator),)
    )
    talk.say("pick up the lemon")
    assert robot.held is not None
    path.unlink()
    turn = talk.say("again")
    assert not turn.success
    assert robot.deeds == []


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda document: "[", "no JSON document"),
        (lambda document: "[]", "no memory of a dialogue"),
        (lambda document: json.dumps({"format": "another"}), "no memory of a dialogue"),
        (lambda document: json.dumps(document | {"robot": []}), "must be an object"),
        (lambda document: json.dumps(document | {"robot": {"deeds": [{"said": "x"}]}}), "is damaged"),
        (lambda document: json.dumps(document | {"robot": {"other": 1}}), "has no 'other'"),
        (lambda document: json.dumps(document | {"operator": {"chosen": "1"}}), "is no int"),
        (lambda document: json.dumps(document | {"robot": {"deeds": [DEED | {"action": "x"}]}}), "none of pick, place"),
        (lambda document: json.dumps(document | {"operator": {"left": "abc"}}), "is no list"),
    ],
)
def test_a_file_that_is_none_of_a_dialogue_is_refused_in_one_sentence(
    tmp_path: Path, change: object, problem: str
) -> None:
    path = tmp_path / "one.json"
    MemoryFile(path, robot=ROBOT, operator=OPERATOR).write()
    path.write_text(change(json.loads(path.read_text())))  # type: ignore[operator]
    with pytest.raises(ToolError, match=problem) as caught:
        load(path, KINDS)
    assert "toolhand dialogue forget" in str(caught.value)


def test_the_memory_as_text_says_what_is_held_and_was_moved() -> None:
    assert ROBOT.text() == "The gripper holds the lemon, which stood at (0.480, 0.420)."
    moved = RobotMemory([DoneDeed("put the lemon in the bowl", "place", "lemon", SPOT, None)])
    assert moved.text() == "The lemon was put at an unknown place; before it stood at (0.480, 0.420)."
    assert RobotMemory().text() == ""
