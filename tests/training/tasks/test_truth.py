"""The truth of questions: what the rendered image and the true poses say, and what that truth is worth."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from toolhand.sim.station import Station, StationConfig
from toolhand.tool_nodes.geometry import project, transform
from toolhand.tool_nodes.motion.robot_model import load_robot
from toolhand.training.tasks.boxes import true_grasps
from toolhand.training.tasks.kinds import QUESTIONS
from toolhand.training.tasks.maps import NO_TABLE
from toolhand.training.tasks.seen import LEAST_SEEN, TRUTH_SIZE, SeenScene

SEED = 1


@pytest.fixture(scope="module")
def frames(tasks):
    """What the station's own camera sees of some of them, in the size that truth is read from."""
    station = Station(tasks["point"].scene, StationConfig(image_size=TRUTH_SIZE))
    found = {}
    for kind in ("point", "depth", "pose"):
        station.reset(SEED, tasks[kind].scene)
        found[kind] = station.camera.capture()
    return found


def perfect(task):
    """The true answer as a policy would say it."""
    truth = task.truth
    if task.kind in ("point", "free_space"):
        points = np.array(truth if task.kind == "point" else truth[1])
        middle = points.mean(axis=0)
        place = middle if task.kind == "point" else points[np.argmin(np.linalg.norm(points - middle, axis=1))]
        return str(place.tolist())
    if task.kind == "grasp":
        names = ("Grasp center", "Left finger base", "Right finger base", "Left finger tip", "Right finger tip")
        inside = [one for one in truth if np.min(one) >= 0 and np.max(one) <= 1]
        points = inside[len(inside) // 2]
        return ", ".join(f"{name}: {list(point)}" for name, point in zip(names, points, strict=True))
    return str([list(row) if isinstance(row, tuple) else row for row in truth] if isinstance(truth, tuple) else truth)


def answered(task, said):
    return task.score(None, SimpleNamespace(answer=said))


@pytest.mark.parametrize("kind", QUESTIONS)
def test_the_true_answer_is_right_and_scores_the_most(tasks, kind):
    task = tasks[kind]
    score = answered(task, perfect(task))
    assert score.success, (perfect(task)[:200], score.reasons)
    assert next(iter(score.terms.values())) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("kind", ["point", "depth", "pose"])
def test_the_ids_are_those_of_the_image_that_the_tools_see(tasks, frames, kind):
    seen, frame = SeenScene(tasks[kind].scene), frames[kind]
    assert (seen.ids == frame.ids).mean() > 0.999
    assert np.allclose(seen.T_base_camera, frame.T_base_camera)
    both = (seen.ids == frame.ids) & (seen.ids >= 0)
    assert np.median(np.abs(seen.depth[both] - frame.depth[both])) < 0.002


def test_a_point_of_the_region_is_on_the_object(tasks, frames):
    region = np.array(tasks["point"].truth)
    ids = frames["point"].ids
    rows, columns = np.nonzero(ids == 0)  # the object that is asked about is the first
    middle = np.array([(columns.mean() + 0.5) / ids.shape[1], (rows.mean() + 0.5) / ids.shape[0]])
    assert (region.min(axis=0) <= middle).all()
    assert (middle <= region.max(axis=0)).all()
    assert region.min(axis=0) * TRUTH_SIZE == pytest.approx([columns.min(), rows.min()])
    assert region.max(axis=0) * TRUTH_SIZE == pytest.approx([columns.max() + 1, rows.max() + 1])


def test_what_is_nearer_is_nearer_in_the_image(tasks, frames):
    task, frame = tasks["depth"], frames["depth"]
    names = [placed.item for placed in task.scene.objects[:2]]
    depths = {name: np.nanmin(frame.depth[frame.ids == k]) for k, name in enumerate(names)}
    first, second = (depths[name] for name in task.asked)
    assert task.truth == ("A" if first < second else "B")
    assert abs(first - second) > 0.05


def test_the_corners_of_a_pose_are_the_catalogues_box_at_the_true_pose(tasks, frames):
    task, frame = tasks["pose"], frames["pose"]
    placed = task.scene.objects[0]
    signs = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    local = signs * np.array(placed.asset.size_m) / 2
    c, s = math.cos(placed.yaw), math.sin(placed.yaw)
    base = local @ np.array([[c, s, 0], [-s, c, 0], [0, 0, 1]]) + np.array(placed.position_m)
    pixels = project(transform(np.linalg.inv(frame.T_base_camera), base), frame.K)
    assert np.abs(np.array(task.truth) * TRUTH_SIZE - 0.5 - pixels).max() < 0.5


def test_a_distance_and_a_size_are_those_of_the_scene(tasks):
    distance, size = tasks["distance"], tasks["size"]
    a, b = (placed.position_m for placed in distance.scene.objects[:2])
    assert distance.truth == pytest.approx(math.dist(a, b))
    assert size.truth == pytest.approx(size.scene.objects[0].asset.size_m[2], abs=0.002)
    assert answered(size, f"{1.3 * size.truth:.4f}").success is False
    assert answered(size, f"{1.2 * size.truth:.4f}").success is True


def test_so_many_objects_of_the_kind_stand_there(tasks):
    task = tasks["count"]
    kind = task.scene.objects[0].asset.kind
    assert sum(placed.asset.kind == kind for placed in task.scene.objects) == task.truth


def test_an_object_that_another_one_hides_is_not_asked_about(tasks):
    seen = SeenScene(tasks["point"].scene)
    target = tasks["point"].scene.objects[0]
    assert seen.clear(target)
    rows, columns = np.nonzero(seen.mask(target))
    hidden = columns < np.quantile(columns, 0.4)
    seen.ids[rows[hidden], columns[hidden]] = -1
    assert not seen.clear(target), LEAST_SEEN


def test_free_places_are_free_and_on_the_side(tasks):
    task = tasks["free_space"]
    seen = SeenScene(task.scene)
    _, places = (np.array(points) for points in task.truth)
    height, width = seen.ids.shape
    pixels = (places * (width, height)).astype(int)
    assert (seen.ids[pixels[:, 1], pixels[:, 0]] == -1).all()
    reference = seen.region(task.scene.objects[0]).mean(axis=0)
    away = {"left of": (0, -1), "right of": (0, 1), "in front of": (1, 1), "behind": (1, -1)}
    ((axis, sign),) = (step for words, step in away.items() if f"{words} the {task.asked[0]}" in task.text)
    assert np.mean(sign * (places[:, axis] - reference[axis]) > 0) > 0.9  # perspective leans the table's edges


def test_true_grasps_enclose_the_object_and_stay_above_the_table():
    grasps, gripper = true_grasps("cola"), load_robot().gripper
    openings = np.linalg.norm(grasps[:, 1] - grasps[:, 2], axis=1)
    assert len(grasps) > 100
    assert (openings > 0.058).all()
    assert (openings <= gripper.max_opening).all()
    assert grasps[:, :, 2].min() >= -0.061
    assert not len(true_grasps("cereal box")) or true_grasps("cereal box").shape[1:] == (5, 3)


def test_a_drawing_has_its_truth_in_the_image(tasks):
    task = tasks["map_route"]
    frame = task.shown(None)
    assert task.scene is NO_TABLE
    printed = {span.text for span in frame.texts}
    assert set(task.asked) <= printed
    assert set(tasks["map_stations"].truth.split(", ")) <= {s.text for s in tasks["map_stations"].shown(None).texts}
    for x, y in task.truth:
        label = frame.labels[frame.ids[int(y * frame.size[1]), int(x * frame.size[0])]]
        assert label.endswith("circle")
    lots = [span.text for span in tasks["small_print"].shown(None).texts if span.text.startswith("LOT")]
    assert f"LOT {tasks['small_print'].truth}" in lots
    assert len(lots) >= 3
