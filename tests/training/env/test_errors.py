"""Errors of ports: what they spoil, the sign that they leave, when they last, and the move that helps."""

from typing import Any

import numpy as np
import pytest

from toolhand.sim.scene.files import EXAMPLE_SCENE, load_scene
from toolhand.sim.station import Station, StationConfig
from toolhand.tool_nodes.ports import Answer
from toolhand.tool_nodes.results import ErrorCode, ToolError, ToolResult
from toolhand.tool_nodes.toolbox.toolbox import Session
from toolhand.training.env.errors import ANOTHER, ERRORS, GRID, Miss, NeighbourPoint, PortError, WrongPoint
from toolhand.training.env.failures import FACT, FailingToolbox, Failures

SCENE = load_scene(EXAMPLE_SCENE)
POINT = {"obj_name": "red box", "image_index": 0}
SEEN: dict[str, list[tuple[float, float]]] = {
    "everything": [(0.5, 0.5), (0.6, 0.5), (0.9, 0.9)],
    "box": [(0.5, 0.5)],
    "two": [(0.5, 0.5), (0.9, 0.9)],
    "free table": [(0.2, 0.2)],
}


class Seen:
    """A pointer that is right."""

    backend = "right"

    def point(self, image: Any, text: str) -> Answer[list[tuple[float, float]]]:
        return Answer(SEEN[text], self.backend)


@pytest.fixture(scope="module")
def station() -> Station:
    return Station(SCENE, StationConfig(image_size=(320, 240), sleep=True))


def answers(station: Station, tool: str, kind: str, strength: float, seed: int = 3, times: int = 1) -> list[ToolResult]:
    """The answers of a tool to the call of TABLE, said so often, where this kind errs."""
    toolbox, session = FailingToolbox(station.toolbox, Failures({tool: {kind: strength}}), seed), Session()
    station.toolbox.call("robot.capture_image", {}, session)
    if tool.startswith("grasp"):
        frame = session.newest_frame()
        assert frame is not None
        given: dict[str, Any] = {"obj_name": "cinnamon", "image_index": 0}
        [(x, y)] = station.toolbox.call("roborefer.detect_all", given, session).result.facts["points"]
        station.toolbox.call("robot.get_depth_with_pointcloud", {}, session)
        station.toolbox.call("sam2.segment_from_point", {"x": x, "y": y, "image_index": 0}, session)
    return [toolbox.call(tool, TABLE[tool][1], session).result for _ in range(times)]


def point_of(result: ToolResult) -> Any:
    return result.facts["points"]


TABLE: dict[str, tuple[str, dict[str, Any], str, Any]] = {
    "roborefer.detect_all": ("neighbour", POINT, "low resolution", point_of),
    "vlm.detect_one": ("neighbour", POINT, "low resolution", point_of),
    "sam2.segment_from_point": (
        "merged",
        {"x": 0.349, "y": 0.545, "image_index": 0},
        "may be two objects",
        lambda result: int(result.value["mask"].sum()),
    ),
    "robot.get_depth_with_pointcloud": (
        "hole",
        {},
        "Depth is unknown in",
        lambda result: int(np.isfinite(result.value["depth_map"]).sum()),
    ),
    "sam2.segment_from_points": (
        "merged",
        {"points": [[0.349, 0.545]], "image_index": 0},
        "may be two objects",
        lambda result: int(result.value["mask"].sum()),
    ),
    "depth_estimator.estimate_depth_with_pointcloud": (
        "scale",
        {"image_index": 0},
        "scale of the distances is not sure",
        lambda result: round(float(np.nanmean(result.value["depth_map"])), 2),
    ),
    "grasp_generator.compute_grasp": (
        "lying_score",
        {
            "point_cloud": "$point_cloud",
            "mask": "$segmentation_mask",
            "focal_length_px": "$focal_length_px",
            "image_index": 0,
        },
        "not calibrated",
        lambda result: result.value[1] > 0.996,
    ),
}
"""Tool -> how it errs, a call, words of the sign, and what of the answer is spoilt."""


@pytest.mark.parametrize("tool", TABLE)
def test_a_lasting_error_spoils_every_call_alike_and_leaves_its_sign(station: Station, tool: str) -> None:
    kind, _, sign, spoilt = TABLE[tool]
    (right,) = answers(station, tool, kind, 0.0)
    wrong, again = answers(station, tool, kind, 0.9, times=2)
    assert spoilt(right) != spoilt(wrong) == spoilt(again)
    assert (right.facts.get(FACT), wrong.facts[FACT], again.facts[FACT]) == (None, kind, kind)
    assert sign in right.text  # which tells of the cause, not of this answer
    assert sign in wrong.text


def test_a_hole_is_as_large_as_its_strength_and_stays_where_it_is(station: Station) -> None:
    shares = []
    for strength in (0.3, 0.9):
        once, again = answers(station, "robot.get_depth_with_pointcloud", "hole", strength, times=2)
        lost = np.isnan(once.value["depth_map"])
        shares.append(float(lost.mean()))
        assert np.array_equal(lost, np.isnan(again.value["depth_map"]))
        assert np.isnan(once.value["point_cloud"].reshape(*lost.shape, 3)[lost]).any(axis=1).all()
    assert shares[0] < 0.5 < shares[1]


@pytest.mark.parametrize(
    ("error", "text", "given"),
    [
        (WrongPoint, "box", [(0.6, 0.5), (0.9, 0.9)]),
        (NeighbourPoint, "box", [(0.6, 0.5)]),
        (NeighbourPoint, "free table", [(0.2, 0.2)]),
        (NeighbourPoint, "everything", SEEN["everything"]),
    ],
)
def test_what_a_pointer_gives_instead(error: type[PortError], text: str, given: list[tuple[float, float]]) -> None:
    found = {point for seed in range(20) for point in error(Seen(), (seed,)).point(None, text).value}
    assert found <= {(round(x / GRID) * GRID, round(y / GRID) * GRID) for x, y in given} | set(given)
    pointer = error(Seen(), (1,))
    assert pointer.point(None, text) == error(Seen(), (1,)).point(None, text)
    assert pointer.erred == (text in ("box", "two"))
    assert pointer.backend == "right"  # as all that is not spoilt


def test_the_strength_of_a_pointer_is_the_share_of_phrases_that_it_confuses() -> None:
    erred = [NeighbourPoint(Seen(), (seed,), 0.5).point(None, "box").value != [(0.5, 0.5)] for seed in range(200)]
    assert 70 < sum(erred) < 130
    assert ANOTHER > GRID


def test_a_hand_that_misses_stops_short_says_so_and_hits_the_next_time(station: Station) -> None:
    asked = []

    class Hand:
        def grasp(self, T: Any, frame: Any, target: Any, speed: float) -> Any:
            asked.append(T)
            raise ToolError(ErrorCode.GRIPPER_EMPTY, "Nothing.")

    with pytest.raises(ToolError, match="Nothing"):
        Miss(Hand(), (1,)).grasp(np.eye(4), None, None)  # type: ignore[arg-type]
    assert np.allclose(np.abs(asked[0][:3, 3]), (0.01, 0.0, 0.04))
    toolbox = FailingToolbox(station.toolbox, Failures({"robot.execute_grasp": {"miss": 0.5}}), 0)
    found = [toolbox.call("robot.execute_grasp", {"grasp_pose": np.eye(4).tolist()}, s).result for s in [Session()] * 8]
    assert {"The hand stopped 41 mm" in result.text for result in found} == {True, False}


@pytest.mark.parametrize("kind", ERRORS)
def test_an_error_is_of_tools_over_its_port_alone(station: Station, kind: str) -> None:
    over = {name for name, spec in station.toolbox.specs.items() if spec.port(ERRORS[kind].port) is not None}
    assert over
    with pytest.raises(ToolError, match=f"cannot fail with {kind}"):
        FailingToolbox(station.toolbox, Failures({"code_executor.eval": {kind: 1.0}}), 0)
