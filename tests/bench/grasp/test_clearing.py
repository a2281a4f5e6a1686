"""The rounds in which an object is got at: which call comes next, and how many grasps are made."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from toolhand.agent_node.console.options import COLOUR_AND_DEPTH
from toolhand.bench.grasp.calls import EXECUTE, SEGMENT, ToolCalls
from toolhand.bench.grasp.clearing import ASIDE, MOST_ACTIONS, WAY, Clearing
from toolhand.bench.grasp.scenes import jobs_of, make_scene
from toolhand.bench.grasp.sides import sides_of
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import Frame

FREE: dict[str, list[list[float]]] = {"above": [], "beside": []}


class Told:
    """Tools that answer what they are told, round by round; the newest answer stays."""

    def __init__(self, ways: Sequence[dict[str, Any]], score: float = 0.9, **errors: list[ErrorCode | None]) -> None:
        self.station = SimpleNamespace(world=SimpleNamespace(time=0.0))
        self.newest = 0
        self.made: list[str] = []
        self._ways, self._score, self._errors = list(ways), score, errors

    def look(self) -> Frame:
        zero = np.zeros((2, 2))
        return Frame(np.zeros((2, 2, 3), np.uint8), zero.astype(np.float32), np.eye(3), np.eye(4), 0.0)

    def compute_grasp(self) -> Any:
        return SimpleNamespace(result=SimpleNamespace(value=(np.eye(4), self._score)))

    def call(self, name: str, **arguments: object) -> Any:
        if name == WAY:
            way = self._ways.pop(0) if len(self._ways) > 1 else self._ways[0]
            return SimpleNamespace(result=SimpleNamespace(facts={"in_the_way": way}))
        if name == SEGMENT:
            return SimpleNamespace(result=SimpleNamespace(value={"iou_score": 1.0}))
        held = "" if any(arguments.values()) else " what is held"
        self.made.append({ASIDE: "aside", EXECUTE: "grasp"}[name] + held)
        given = self._errors.get("aside" if name == ASIDE else "grasp", [])
        error = given.pop(0) if given else None
        self.station.world.time += error is not ErrorCode.NO_GRASP
        if error is not None:
            raise ToolError(error, "It has failed.")
        return None


def run(told: Told) -> tuple[list[str], int, str]:
    """Calls that move, grasps that were counted, and the code of the end."""
    clearing = Clearing(cast(ToolCalls, told), lambda frame: (0.5, 0.5))
    try:
        clearing.run()
    except ToolError as error:
        return told.made, clearing.actions, str(error.code)
    return told.made, clearing.actions, ""


def test_what_lies_on_it_is_taken_away_and_then_it_is_grasped() -> None:
    on_it = {"above": [[0.4, 0.4]], "beside": []}
    assert run(Told([on_it, on_it, FREE])) == (["aside", "aside", "grasp"], 3, "")
    assert run(Told([FREE])) == (["grasp"], 1, "")


def test_a_poor_grasp_waits_until_what_stands_beside_it_is_away() -> None:
    assert run(Told([{"above": [], "beside": [[0.4, 0.4]]}, FREE], score=0.3)) == (["aside", "grasp"], 2, "")


def test_what_cannot_be_grasped_as_it_lies_is_left_and_the_next_one_taken() -> None:
    two = {"above": [[0.4, 0.4], [0.6, 0.6]], "beside": []}
    assert run(Told([two, FREE], aside=[ErrorCode.NO_GRASP]))[:2] == (["aside", "aside", "grasp"], 2)
    none = [ErrorCode.NO_GRASP] * 9
    assert run(Told([two], aside=none))[0][-1] == "grasp"


def test_what_slips_is_tried_once_more_and_six_grasps_are_made_at_the_most() -> None:
    slips: list[ErrorCode | None] = [ErrorCode.OBJECT_DROPPED] * 20
    made, actions, code = run(Told([{"above": [[0.4, 0.4]], "beside": []}], aside=slips[:], grasp=slips[:]))
    assert (len(made), actions, code) == (MOST_ACTIONS, MOST_ACTIONS, "OBJECT_DROPPED")
    assert made.count("aside") == 2
    assert made[-1] == "grasp"


def test_what_came_up_in_its_place_is_put_down_first() -> None:
    made, actions, code = run(Told([FREE], grasp=[ErrorCode.WRONG_OBJECT], aside=[ErrorCode.OBJECT_DROPPED]))
    assert (made, actions, code) == (["grasp", "aside what is held", "grasp"], 2, "")


@pytest.mark.parametrize("code", [ErrorCode.NOT_APPROVED, ErrorCode.STOPPED, ErrorCode.OBJECT_NOT_FOUND])
def test_what_a_person_ended_is_not_gone_on_with(code: ErrorCode) -> None:
    assert run(Told([{"above": [[0.4, 0.4]], "beside": []}], aside=[code]))[2] == str(code)


def test_the_side_that_clears_is_paired_with_the_one_that_does_not_and_scenes_have_as_many_objects() -> None:
    sides = sides_of(COLOUR_AND_DEPTH, "gen3", "", control=False, ideal=False, ways=["clearing"])
    assert [side.role for side in sides] == ["main", "clearing"]
    jobs = jobs_of(sides, ["packed"], ("generated",), 1, 3, per_scene=2)
    assert [job.per_scene for job in jobs] == [2, 2]
    assert len(make_scene("packed", 3, ("generated",), "", 2).objects) == 2
