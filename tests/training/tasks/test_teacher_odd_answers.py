"""What a tool says may be empty, cut or nonsense: the teacher looks again, and then says that it does not know."""

from collections.abc import Sequence

import numpy as np
import pytest

from toolhand.agent_node.policies.scripted.steps import Done, next_calls
from toolhand.agent_node.policies.scripted.transcript import MISSING, Response
from toolhand.tool_nodes.results import ErrorCode
from toolhand.training.teacher.policy import SCRIPTS
from toolhand.training.teacher.reading import ReadQuestion
from toolhand.training.teacher.steps import RETRIES, AnswerScript

BLANKS = {"a": "cup", "b": "can", "where": "left of", "line": "red"}
QUESTION = ReadQuestion("choice", BLANKS, {"A": "left of", "B": "behind"})
ALL = [(suite, kind) for suite, kinds in SCRIPTS.items() for kind in kinds]
MOST_TURNS = 40

WORKED = [
    "Detected 'cup': (0.25, 0.5)",
    "Mask: boolean array, 240x320, 300 px",
    "Cropped to box (10, 20, 50, 60)",
    "Depth map for 320x240. Focal length: 300 px",
    "The value at (0.5, 0.5) is 0.7",
    "Extent: 0.1 x 0.1 x 0.2 m",
    "Result: [[0.1, 0.2], [0.3, 0.4], [0.5, 0.6], [0.1, 0.2], [0.1, 0.2], [0.3, 0.4], [0.5, 0.6], [0.1, 0.2]]",
    "gripper points: (0.1, 0.2) (0.1, 0.2) (0.1, 0.2) (0.1, 0.2) (0.1, 0.2)",
    "cup 1: (0.1, 0.2, 0.7) m\ncan 1: (0.1, 0.3, 0.8) m",
    "cup: count 3",
    '{"count": 2, "text": "LOT A5-5000", "objects": [{"bbox": "\\\\boxed{1,2,30,40}"}],'
    ' "items": [{"text": "cup", "bbox": "\\\\boxed{1,2,30,40}"}],'
    ' "proposals": [{"bbox": "\\\\boxed{1,2,30,40}"}, {"bbox": "\\\\boxed{100,2,130,40}"}]}',
]
"""Answers that some tool gives; most scripts read the wrong ones of them."""
ODD = [
    "",
    " \n",
    "None",
    "nan",
    "is nan m",
    "0",
    "-1e999",
    "1e999 " * 20,
    "0 0 0 0 0 0 0 0",
    "{}",
    "[]",
    "5",
    "null",
    '"text"',
    "Result: ",
    "Result: []",
    "Result: [0.1",
    "Result: {",
    "[" * 5000,
    '{"count": "two"}',
    '{"count": null}',
    '{"objects": null, "items": null, "proposals": null, "text": null}',
    '{"objects": [], "items": [], "proposals": []}',
    '{"objects": [5], "items": ["x"], "proposals": [[]]}',
    '{"objects": [{}], "items": [{}], "proposals": [{}]}',
    '{"objects": [{"bbox": 7}], "items": [{"text": "cup"}], "proposals": [{"bbox": "\\\\boxed{1,2}"}]}',
    '{"items": [{"text": 5, "bbox": "\\\\boxed{1,2,3,9999}"}]}',
    "Extent: 1 x",
    "Extent:",
    "to box (1, 2",
    "count",
    "boolean array, 0x0",
    "map for 0x0. Focal length: 0 px",
    "map for 320x240.",
    ") is",
    "gripper points: (0.1, 0.2)",
    "cup 1: no depth\ncan 1:",
    "cup 1: (0.1, 0.2, 0.7) m",
    "\N{SNOWMAN}",
    "(0.25, 0.5",
    "not (1.5, 9)",
]


def end_of(script: AnswerScript, answers: Sequence[Response]) -> tuple[Done, int]:
    """How a script ends that hears these in turn, over and over, and after how many turns."""
    turns: list[list[Response]] = []
    heard = 0
    while len(turns) < MOST_TURNS:
        try:
            _, calls = next_calls(script(QUESTION), turns, one_call=False)
        except Done as end:
            return end, len(turns)
        turns.append([answers[(heard + k) % len(answers)] for k in range(len(calls))])
        heard += len(calls)
    raise AssertionError("It never ends.")


@pytest.mark.parametrize(("suite", "kind"), ALL)
def test_whatever_the_tools_say_a_script_ends_with_an_answer(suite: str, kind: str) -> None:
    script = SCRIPTS[suite][kind]
    rng = np.random.default_rng([2, ALL.index((suite, kind))])
    said = [Response(text, image_index=image) for text in (*ODD, *WORKED) for image in (None, 1)]
    said += [Response(text, ErrorCode.NO_DEPTH) for text in ("", "no pixel has depth.")] + [MISSING]
    rows = [[response] for response in said]
    rows += [[said[k] for k in rng.integers(len(said), size=9)] for _ in range(150)]
    worked = [Response(text) for text in WORKED]
    rows += [[worked[k % len(worked)] if k % 5 else said[k] for k in rng.integers(len(said), size=9)] for _ in rows]
    for row in rows:
        end, _ = end_of(script, row)
        assert end.answer
        assert "nan" not in end.answer


@pytest.mark.parametrize(("suite", "kind"), ALL)
@pytest.mark.parametrize("text", ["", "nothing of use", "Result: [", "0"])
def test_a_look_that_tells_nothing_is_taken_once_more_and_then_it_does_not_know(
    suite: str, kind: str, text: str
) -> None:
    end, turns = end_of(SCRIPTS[suite][kind], [Response(text)])
    assert turns == 1 + RETRIES
    assert end.answer.startswith((f"{ErrorCode.EXECUTION_FAILED}:", f"{ErrorCode.OBJECT_NOT_FOUND}:")), end.answer


def test_a_look_that_works_the_second_time_is_believed() -> None:
    count = SCRIPTS["spacetools"]["count"]
    end, turns = end_of(count, [Response(""), Response("Detected 2 'cup': (0.2, 0.5) (0.3, 0.5)")])
    assert (end.answer, turns) == ("2", 2)
