"""Grasps of what is outlined: what is reported, and what follows when they are asked for again."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.tool_nodes.tools.looking import CLOUD, Table
from toolhand.sim.station import Station
from toolhand.tool_nodes.results import ErrorCode
from toolhand.tool_nodes.toolbox.toolbox import Toolbox
from toolhand.tool_nodes.tools.spacetools.grasping import GraspTools
from toolhand.tool_nodes.types import GraspSet

N = r"\d\.\d{3}"


def test_a_grasp_is_reported_as_in_the_papers_figure_6(table: Table) -> None:
    table.segment("cinnamon")
    result = table.do("grasp_generator.compute_grasp", **CLOUD, image_index=0).result
    masked = int(table.session.variables["segmentation_mask"].sum())
    point = r"\(-?\d\.\d{3}, -?\d\.\d{3}\)"
    match = re.fullmatch(
        rf"Generated collision-free grasp with confidence ({N}) from {masked}/307200 masked points\. "
        rf"Filtered (\d+) → (\d+) collision-free grasps\. "
        rf"Projected 2D gripper points: \[({point}(?:, {point}){{4}})\]\. "
        r"Use \$grasp_pose \(numpy array, 4x4\) to reference it\. \(backend: analytic\)",
        result.text,
    )
    assert match
    assert int(match[2]) >= int(match[3]) > 0
    T, score = result.value
    assert score == pytest.approx(float(match[1]), abs=5e-4)
    assert np.array_equal(result.variables["grasp_pose"], T)
    assert T[:3, :3] @ T[:3, :3].T == pytest.approx(np.eye(3), abs=1e-6)
    assert T[3].tolist() == [0, 0, 0, 1]


def test_the_five_points_of_a_grasp_surround_the_object_and_its_axes_are_drawn(table: Table) -> None:
    table.segment("cinnamon")
    record = table.do("grasp_generator.compute_grasp", **CLOUD, image_index=0).result
    shown = re.findall(r"\((-?\d\.\d{3}), (-?\d\.\d{3})\)", record.text)
    points = np.array(shown, float) * (640, 480)
    rows, columns = np.nonzero(table.session.variables["segmentation_mask"])
    middle, size = np.array([columns.mean(), rows.mean()]), max(np.ptp(columns), np.ptp(rows))
    assert np.linalg.norm(points[0] - middle) < size
    assert np.linalg.norm(points[3:].mean(axis=0) - middle) < size
    assert record.image is not None
    drawn = record.image[(record.image != table.session.images[0].rgb).any(axis=2)]
    assert {(230, 30, 30), (30, 200, 60), (40, 90, 240)} <= {tuple(colour) for colour in drawn.tolist()}


class FixedGrasps:
    """Three grasps along the optical axis."""

    backend = "fixed"

    def generate(self, cloud: Any, mask: Any, T_base_camera: Any) -> GraspSet:
        T = np.tile(np.eye(4), (3, 1, 1))
        T[:, 2, 3] = [0.5, 0.6, 0.7]
        return GraspSet(T, np.full(3, 0.05), np.array([0.9, 0.8, 0.7]), sampled=10)


def asked_again(station: Station, reachable: Any, times: int) -> list[float]:
    """Distance along the optical axis of the grasps that the same call gives one after the other [m]."""
    table = Table(station)
    table.segment("cinnamon")
    table.toolbox = Toolbox([GraspTools(FixedGrasps(), reachable)])
    found = []
    for _ in range(times):
        T, _score = table.do("grasp_generator.compute_grasp", **CLOUD, image_index=0).result.value
        found.append(float(T[2, 3]))
    return found


def test_asking_again_gives_the_next_best_grasp_and_starts_over_after_the_last(station: Station) -> None:
    assert asked_again(station, None, 4) == [0.5, 0.6, 0.7, 0.5]


def test_a_cloud_that_differs_on_the_object_or_about_it_is_asked_about_anew(station: Station) -> None:
    table = Table(station)
    table.segment("cinnamon")
    table.toolbox = Toolbox([GraspTools(FixedGrasps(), None)])
    cloud, mask = (table.session.variables[name] for name in ("point_cloud", "segmentation_mask"))
    one_point, everywhere = cloud.copy(), cloud + np.float32(1e-4)
    one_point[np.flatnonzero(mask)[7], 2] += np.float32(1e-4)
    found = []
    for each in (cloud, one_point, everywhere, cloud):
        table.session.variables["point_cloud"] = each
        T, _score = table.do("grasp_generator.compute_grasp", **CLOUD, image_index=0).result.value
        found.append(float(T[2, 3]))
    assert found == [0.5, 0.5, 0.5, 0.6]


def test_grasps_out_of_reach_are_passed_over(station: Station) -> None:
    T_base_camera = station.camera.capture().T_base_camera

    def reachable(T_base_gripper: Any, frame: Any, target: Any) -> bool:
        return (np.linalg.inv(T_base_camera) @ T_base_gripper)[2, 3] > 0.55

    assert asked_again(station, reachable, 3) == [0.6, 0.7, 0.6]


def test_no_grasp_in_reach_is_an_error_that_says_how_many_there_were(station: Station) -> None:
    table = Table(station)
    table.segment("cinnamon")
    table.toolbox = Toolbox([GraspTools(FixedGrasps(), lambda T, frame, target: False)])
    error = table.refusal("grasp_generator.compute_grasp", **CLOUD, image_index=0)
    assert error.code is ErrorCode.NO_GRASP
    assert error.message == "None of the 3 collision-free grasps can be reached by the arm."


class AlikeGrasps:
    """Three grasps: two a few millimetres apart, and one farther on that is a little less likely to succeed."""

    backend = "fixed"

    def generate(self, cloud: Any, mask: Any, T_base_camera: Any) -> GraspSet:
        T = np.tile(np.eye(4), (3, 1, 1))
        T[:, 2, 3] = [0.5, 0.504, 0.6]
        return GraspSet(T, np.full(3, 0.05), np.array([0.9, 0.89, 0.7]), sampled=10)


def test_after_a_grasp_that_cannot_be_reached_one_unlike_it_is_tried_first(station: Station) -> None:
    table = Table(station)
    table.segment("cinnamon")
    T_base_camera = station.camera.capture().T_base_camera
    asked: list[float] = []

    def reachable(T_base_gripper: Any, frame: Any, target: Any) -> bool:
        asked.append(round(float((np.linalg.inv(T_base_camera) @ T_base_gripper)[2, 3]), 3))
        return len(asked) > 1

    table.toolbox = Toolbox([GraspTools(AlikeGrasps(), reachable)])
    _, score = table.do("grasp_generator.compute_grasp", **CLOUD, image_index=0).result.value
    assert asked == [0.5, 0.6]
    assert score == 0.7


class BrokenGrasps(FixedGrasps):
    """Grasps of which one is changed."""

    backend = "broken"

    def __init__(self, **changed: Any) -> None:
        self.changed = changed

    def generate(self, cloud: Any, mask: Any, T_base_camera: Any) -> GraspSet:
        return replace(super().generate(cloud, mask, T_base_camera), **self.changed)


MIRRORED = np.tile(np.diag([1.0, 1.0, -1.0, 1.0]), (3, 1, 1))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"widths_m": np.array([0.05, 1.0, 0.05])}, "gave a width of 1 m: the jaws open from 0 to 0.085 m."),
        ({"widths_m": np.array([0.05, np.nan, 0.05])}, "gave a width of nan m: the jaws open from 0 to 0.085 m."),
        ({"widths_m": np.array([0.05, -0.01, 0.05])}, "gave a width of -0.01 m: the jaws open"),
        (
            {"widths_m": np.array([0.05])},
            "gave arrays of the shapes (3, 4, 4), (1,), (3,): M grasps are poses (M, 4, 4)",
        ),
        ({"T_camera_gripper": np.full((3, 4, 4), np.nan)}, "gave a pose that is not finite"),
        ({"T_camera_gripper": np.zeros((3, 4, 4))}, "gave a pose that is no rotation and position"),
        ({"T_camera_gripper": MIRRORED}, "gave a pose that is no rotation and position"),
        ({"scores": np.array([0.9, 7.0, 0.1])}, "gave a score of 7: scores are probabilities, from 0 to 1."),
    ],
)
def test_what_no_generator_may_propose_is_said_of_it_by_its_name(
    station: Station, changed: dict[str, Any], said: str
) -> None:
    table = Table(station)
    table.segment("cinnamon")
    table.toolbox = Toolbox([GraspTools(BrokenGrasps(**changed), None)])
    error = table.refusal("grasp_generator.compute_grasp", **CLOUD, image_index=0)
    assert error.code is ErrorCode.UNAVAILABLE
    assert error.message.startswith("The grasp generator 'broken' gave ")
    assert said in error.message


def test_a_width_that_rounding_has_made_too_large_is_the_widest(station: Station) -> None:
    table = Table(station)
    table.segment("cinnamon")
    widths = np.full(3, np.nextafter(np.float32(0.085), np.float32(1.0)))
    table.toolbox = Toolbox([GraspTools(BrokenGrasps(widths_m=widths), None)])
    assert table.do("grasp_generator.compute_grasp", **CLOUD, image_index=0).result.error is None


def test_nothing_is_pushed_aside_for_a_grasp_that_will_hardly_hold(station: Station) -> None:
    table = Table(station)
    table.segment("cinnamon")
    unlikely = BrokenGrasps(scores=np.array([0.03, 0.02, 0.01]))
    table.toolbox = Toolbox([GraspTools(unlikely, lambda T, frame, target: 0.8)])
    assert table.refusal("grasp_generator.compute_grasp", **CLOUD, image_index=0).code is ErrorCode.NO_GRASP
    table.toolbox = Toolbox([GraspTools(unlikely, lambda T, frame, target: 1.0)])
    assert table.do("grasp_generator.compute_grasp", **CLOUD, image_index=0).result.error is None


@pytest.mark.parametrize(("ease", "expected"), [(0.9, 0.9), (0.7, 0.7), (0.0, 0.7)])
def test_a_grasp_that_is_reached_less_well_gives_way_to_one_about_as_likely(
    station: Station, ease: float, expected: float
) -> None:
    table = Table(station)
    table.segment("cinnamon")
    T_base_camera = station.camera.capture().T_base_camera

    def reachable(T_base_gripper: Any, frame: Any, target: Any) -> float:
        return ease if (np.linalg.inv(T_base_camera) @ T_base_gripper)[2, 3] < 0.55 else 1.0

    table.toolbox = Toolbox([GraspTools(AlikeGrasps(), reachable)])
    _, score = table.do("grasp_generator.compute_grasp", **CLOUD, image_index=0).result.value
    assert score == expected
