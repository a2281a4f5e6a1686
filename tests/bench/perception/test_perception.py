"""`bench perception`: what is right scores 1, what is wrong scores 0, and each number is the geometry that it names."""

import json
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import toolhand.bench.perception.report
from tests.sim.scene.free_sides import free_side
from toolhand.bench.commands.perception import Options
from toolhand.bench.perception.metrics import box_iou, box_of_corners, depth_errors, mask_iou, mean_row, outline_iou
from toolhand.bench.perception.report import (
    BENCH,
    RATES,
    SIDES,
    Findings,
    SceneJob,
    SceneRecord,
    measure,
    rows_of,
    run_one,
)
from toolhand.bench.perception.truth import ImageTruth, place_fault, true_box, truth_of
from toolhand.sim.scene.generator import generate_scene
from toolhand.sim.scene.scenes import Side
from toolhand.sim.station import Station
from toolhand.tool_nodes.backends import Ports, make_ports
from toolhand.tool_nodes.geometry import invert, matrix_from_quat_wxyz, pose, project, rotation_z, transform
from toolhand.tool_nodes.language.place_phrases import parse_free_space
from toolhand.tool_nodes.perception.certainty import Candidate
from toolhand.tool_nodes.perception.frame_perception import FramePerception
from toolhand.tool_nodes.perception.masks import inner_point
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import Box, Frame, Segmentation

SIDE_OF: dict[str, Side] = {"left_of": "left", "right_of": "right", "in_front_of": "front", "behind": "behind"}


class Right(FramePerception):
    """A perception that answers from the truth itself."""

    backend = "truth"

    def __init__(self, truth: ImageTruth) -> None:
        self.truth = truth

    def points(self, frame: Frame, text: str) -> list[tuple[float, float]]:
        place = parse_free_space(text)
        if place is None:
            named = [mask for placed, mask in self.truth.visible() if text in (placed.item, placed.asset.kind)]
            return [inner_point(mask) for mask in named]
        objects = self.truth.scene.objects
        wanted = place.references[0].removeprefix("the ") if place.references else objects[0].item
        reference = next(placed for placed in objects if placed.item == wanted and not placed.asset.container)
        where = free_side(self.truth.scene, reference.id, SIDE_OF.get(place.relation, "left"))
        assert where is not None
        seen = transform(invert(frame.T_base_camera), np.array([[*where, 0.0]]))
        x, y = (project(seen, frame.K)[0] + 0.5) / frame.size
        return [(float(x), float(y))]

    def candidates(self, frame: Frame, text: str) -> list[Candidate]:
        return [Candidate(point, 1.0) for point in self.points(frame, text)]

    def masks_at(self, frame: Frame, points: Sequence[tuple[float, float]]) -> list[Segmentation]:
        (x, y), (width, height) = points[0], frame.size
        masks = [mask for _, mask in self.truth.visible() if mask[int(y * height), int(x * width)]]
        return [Segmentation(masks[0], 1.0)]

    def masks(self, frame: Frame) -> list[Segmentation]:
        return [Segmentation(mask, 1.0) for _, mask in self.truth.visible()]

    def depth(self, frame: Frame) -> tuple[NDArray[np.float32], float]:
        return self.truth.depth, float(frame.K[0, 0])


class Wrong(Right):
    """A perception that is wrong about everything."""

    backend = "nonsense"

    def points(self, frame: Frame, text: str) -> list[tuple[float, float]]:
        if parse_free_space(text) is not None:
            return [inner_point(self.truth.visible()[0][1])]
        return [(0.001, 0.001)] * 20

    def masks_at(self, frame: Frame, points: Sequence[tuple[float, float]]) -> list[Segmentation]:
        mask = np.zeros(frame.depth.shape, dtype=bool)
        mask[:4, :4] = True
        return [Segmentation(mask, 1.0)]

    def masks(self, frame: Frame) -> list[Segmentation]:
        return []

    def depth(self, frame: Frame) -> tuple[NDArray[np.float32], float]:
        return self.truth.depth * np.float32(1.5), float(frame.K[0, 0])


def ports(perception: Right) -> Ports:
    return replace(make_ports("pixels"), pointer=perception, segmenter=perception, depth=perception)


@pytest.fixture(scope="module")
def truth() -> ImageTruth:
    return truth_of(Station(generate_scene(3)))


def test_a_perception_that_is_right_scores_everything(truth: ImageTruth) -> None:
    found = measure(truth, truth.frame, ports(Right(truth)))
    exact = [metric for metric in RATES if not metric.startswith("box3d")]
    assert {metric: np.mean(found.hits[metric]) for metric in exact} == dict.fromkeys(exact, 1.0)
    assert len(found.hits["free_space_beside"]) == len(SIDES)
    assert set(found.values["mask_iou"]) == set(found.values["box_iou"]) == {1.0}
    assert found.values["depth_mae_m"] == found.values["depth_abs_rel"] == [0.0]
    assert np.mean(found.values["box3d_iou"]) > 0.6
    assert all(fault.startswith("box3d") for fault in found.faults)


def test_a_perception_that_is_wrong_scores_nothing(truth: ImageTruth) -> None:
    found = measure(truth, truth.frame, ports(Wrong(truth)))
    assert {metric: np.mean(found.hits[metric]) for metric in RATES} == dict.fromkeys(RATES, 0.0)
    assert {value for metric in ("mask_iou", "box_iou", "box3d_iou") for value in found.values[metric]} == {0.0}
    assert found.values["depth_abs_rel"] == pytest.approx([0.5], abs=1e-6)


def test_task_errors_are_wrong_answers_and_faults_of_the_system_are_raised(truth: ImageTruth) -> None:
    class Fails(Right):
        def __init__(self, code: ErrorCode) -> None:
            super().__init__(truth)
            self.code = code

        def points(self, frame: Frame, text: str) -> list[tuple[float, float]]:
            raise ToolError(self.code, "No.")

    found = measure(truth, truth.frame, ports(Fails(ErrorCode.OBJECT_NOT_FOUND)))
    assert not any(found.hits["pointing"])
    assert "pointing: OBJECT_NOT_FOUND: No." in found.faults
    with pytest.raises(ToolError, match="No"):
        measure(truth, truth.frame, ports(Fails(ErrorCode.UNAVAILABLE)))


def test_a_scene_becomes_a_record_of_all_perceptions() -> None:
    record = run_one(SceneJob(2))
    assert not record.crash
    assert list(record.findings) == ["sim", "pixels"]
    for found in record.findings.values():
        assert set(found.hits) == set(RATES)
        assert np.mean(found.hits["pointing"]) > 0.8
        assert np.mean(found.values["mask_iou"]) > 0.9


def test_free_table_is_no_object_not_close_to_one_and_not_the_floor(truth: ImageTruth) -> None:
    mask = truth.visible()[0][1]
    assert place_fault(truth, inner_point(mask)) is not None
    beyond = replace(truth, depth=np.full_like(truth.depth, np.nan))
    assert place_fault(beyond, (0.5, 0.5)) == "it is not on the table"


def test_the_true_box_of_something_round_has_the_yaw_that_it_is_compared_with() -> None:
    station = Station(generate_scene(3, required=("tuna can", "red box"), n_objects=2))
    truth = truth_of(station)
    for placed, same in zip(truth.scene.objects, (True, False), strict=True):
        state = truth.states[placed.id]
        T = pose(matrix_from_quat_wxyz(state.quat_wxyz) @ rotation_z(0.4), state.position_m)
        turned = Box(invert(truth.frame.T_base_camera) @ T, np.asarray(placed.asset.size_m) / 2)
        overlap = box_iou(turned, true_box(truth, truth.frame, placed, turned))
        assert (overlap > 0.999) == same, placed.item


CUBE = Box(np.eye(4), np.full(3, 0.5))


@pytest.mark.parametrize(
    ("T", "half", "expected"),
    [
        (np.eye(4), (0.5, 0.5, 0.5), 1.0),
        (pose(np.eye(3), [0.5, 0.0, 0.0]), (0.5, 0.5, 0.5), 1 / 3),
        (pose(np.eye(3), [0.0, 0.0, 0.0]), (0.5, 0.5, 0.25), 0.5),
        (pose(np.eye(3), [0.0, 0.0, 2.0]), (0.5, 0.5, 0.5), 0.0),
        (pose(rotation_z(np.pi / 4), [0.0, 0.0, 0.0]), (0.5, 0.5, 0.5), 1 / np.sqrt(2)),
    ],
)
def test_boxes_overlap_as_geometry_says(T: NDArray[np.float64], half: tuple[float, ...], expected: float) -> None:
    assert box_iou(CUBE, Box(T, np.array(half))) == pytest.approx(expected, abs=1e-6)


@settings(max_examples=20)
@given(st.integers(0, 10_000))
def test_overlap_of_boxes_is_symmetric_moves_with_them_and_agrees_with_sampling(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = (
        Box(pose(rotation_z(rng.uniform(0, 3)), rng.uniform(-0.3, 0.3, 3)), rng.uniform(0.2, 0.6, 3)) for _ in range(2)
    )
    T = pose(rotation_z(rng.uniform(0, 3)), rng.uniform(-1, 1, 3))
    moved = [Box(T @ box.T_parent_box, box.half_extents) for box in (a, b)]
    exact = box_iou(a, b)
    assert exact == pytest.approx(box_iou(b, a), abs=1e-6)
    assert exact == pytest.approx(box_iou(*moved), abs=1e-6)
    points = rng.uniform(-1.2, 1.2, (20_000, 3))
    inside = [(np.abs(transform(invert(box.T_parent_box), points)) <= box.half_extents).all(axis=1) for box in (a, b)]
    union = np.count_nonzero(inside[0] | inside[1])
    assert exact == pytest.approx(np.count_nonzero(inside[0] & inside[1]) / union, abs=0.08)


def test_a_box_is_read_back_from_its_corners() -> None:
    signs = np.array(
        [(-1, -1, -1), (1, -1, -1), (1, 1, -1), (-1, 1, -1), (-1, -1, 1), (1, -1, 1), (1, 1, 1), (-1, 1, 1)]
    )
    box = Box(pose(rotation_z(0.4), [0.1, 0.2, 0.3]), np.array([0.3, 0.2, 0.1]))
    assert box_iou(box, box_of_corners(transform(box.T_parent_box, signs * box.half_extents))) == pytest.approx(1.0)


def test_masks_overlap_by_pixels_and_boxes_by_area() -> None:
    a, b = np.zeros((2, 10, 10), dtype=bool)
    a[2:6, 2:6], b[2:6, 4:8] = True, True
    assert mask_iou(a, b) == outline_iou(a, b) == pytest.approx(8 / 24)
    assert mask_iou(a, a) == outline_iou(a, a) == 1.0
    assert mask_iou(a, ~a) == outline_iou(a, np.zeros_like(a)) == 0.0


def test_depth_errors_are_those_of_pixels_that_both_know() -> None:
    truth, depth = np.full((2, 3), 2.0, np.float32), np.full((2, 3), 2.5, np.float32)
    depth[0, 0] = truth[1, 1] = np.nan
    assert depth_errors(depth, truth) == (0.5, 0.25)
    assert np.isnan(depth_errors(depth, np.full_like(truth, np.nan))).all()


def test_a_mean_has_an_interval_over_scenes_that_a_seed_repeats() -> None:
    groups = [[0.9, 0.8], [0.7], [], [0.95, 0.6, 0.75]]
    row = mean_row("x", groups)
    assert row == mean_row("x", groups)
    assert (row["n"], row["mean"]) == (6, pytest.approx(0.78333, abs=1e-5))
    assert row["low"] < row["mean"] < row["high"]
    assert mean_row("x", [[], []])["mean"] is None


def test_rows_are_given_for_each_perception_and_crashes_are_in_none() -> None:
    good = Findings({"pointing": [True, True, False]}, {"mask_iou": [0.5, 1.0]}, ["pointing: off"])
    records = [
        SceneRecord(SceneJob(0), {"sim": good}),
        *BENCH.crashed(SceneJob(1), "died"),
        *BENCH.crashed(SceneJob(2), ""),
    ]
    rows = {row["name"]: row for row in rows_of(records)}
    assert (rows["pointing [sim]"]["success"], rows["pointing [sim]"]["n"]) == (2, 3)
    assert rows["mask_iou [sim]"]["mean"] == 0.75
    assert not any("pixels" in name for name in rows)


def test_the_document_names_scenes_rows_and_faults(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = Findings({"pointing": [False]}, {"mask_iou": [0.25]}, ["pointing: the point is on something else"])
    monkeypatch.setattr(
        toolhand.bench.perception.report, "run_one", lambda job: SceneRecord(job, {"sim": found, "pixels": found})
    )
    assert Options(scenes=2, first_seed=5, as_json=True)() == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["bench"], document["seeds"], document["unscored"]) == ("perception", [5, 6], 0)
    assert len(document["failures"]) == 4
    assert Options(scenes=1)() == 0
    text = capsys.readouterr().out
    assert "mask_iou [pixels]" in text
    assert "the point is on something else" in text
