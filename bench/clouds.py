"""`toolhand bench clouds`: boxes, alignment and their times, by this project's own numpy and by Open3D."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy.spatial import cKDTree
from scipy.spatial.transform import Rotation

from agent_node.console.options import SensorName, require_at_least
from agent_node.console.terminal import AsJson, say
from bench.perception.metrics import box_iou, box_of_corners, format_means, mean_row
from bench.perception.truth import true_box, truth_of
from bench.stats import format_rows, machine, publish, rate_row, timing_row
from sim.scene.generator import generate_scene
from sim.station import Station, StationConfig
from tool_nodes.clouds import alignment, boxes
from tool_nodes.drivers import open3d
from tool_nodes.geometry import backproject, invert, pose, transform
from tool_nodes.port_names import PortNames, require_sensor
from tool_nodes.ports import BoxFitter
from tool_nodes.results import ToolError
from tool_nodes.tools.spacetools.bounding_box import BoundingBoxTools, StandingBoxes
from tool_nodes.types import BoolArray, FloatArray, Frame

SENSOR = "realsense_d435"
"""Sensor where nothing is said: one with the noise of a real one."""

POINTS = 5000
"""Points of a whole cloud [points]: those of a thing of 8 cm at 1 m."""

SLIP_M, SLIP_RAD = 0.008, np.radians(6.0)
"""Farthest that a thing is moved in the hand, along and about each axis [m, rad]: closing jaws pushed 14 things of
random scenes by 0.5 to 7.3 mm and 0.1 to 5.1 degrees."""

CARRIED_TO_M = np.array([0.40, 0.0, 0.25])
"""Where the hand holds the thing up for its picture, base frame [m]: in the middle of the scene camera's view."""

REACH_M = 0.02
"""How far a thing may lie from where the hand should have taken it [m]: jaws of 85 mm push a thing by less than half of
the room that they leave it."""

LEAST_SHARE = 0.3
"""Less of the thing than this was seen again: then its pose is not known better [-]. Fingers hide a third of most
things, and a hand that turned shows another side."""

FINGERS_M = 0.011
"""Half of the width of a finger, which hides the thing behind it [m]: that of the 2F-85."""

Align = Callable[[Any, Any, float], alignment.Alignment]
FitBox = Callable[[Any], tuple[FloatArray, FloatArray]]


def libraries() -> tuple[str, ...]:
    """Those that are here: "own", and "open3d" where it is installed."""
    try:
        open3d.library()
    except ToolError as error:
        say(f"{error.message} {error.hint}")
        return ("own",)
    return ("own", "open3d")


def whole_cloud(seed: int) -> FloatArray:
    """The surface (N, 3) of a box, a cylinder or a lump [m], turned at random."""
    rng = np.random.default_rng(seed)
    half = rng.uniform(0.01, 0.10, 3)
    directions = rng.normal(size=(POINTS, 3))
    if seed % 3 == 0:  # a box: each direction goes on to the nearest side
        surface = directions / np.abs(directions).max(axis=1, keepdims=True)
    elif seed % 3 == 1:
        surface = directions / np.linalg.norm(directions[:, :2], axis=1, keepdims=True)
        surface[:, 2] = rng.uniform(-1.0, 1.0, POINTS)
    else:
        surface = directions / np.linalg.norm(directions, axis=1, keepdims=True) ** rng.uniform(0.5, 1.0)
    R = Rotation.random(random_state=seed).as_matrix()
    return np.asarray((surface * half) @ R.T + rng.uniform(-0.5, 0.5, 3))


def _timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """What a call gives, and its processor time [s]; None where it raises a ToolError."""
    began = time.process_time()
    try:
        value = call()
    except ToolError:
        value = None
    return value, time.process_time() - began


def measure_whole(seeds: Sequence[int], names: Sequence[str]) -> list[dict[str, Any]]:
    """Volume of the smallest box of whole clouds over the smallest that any library found, and times."""
    fitters: dict[str, FitBox] = {"own": boxes.smallest_box, "open3d": open3d.smallest_box}
    volumes: dict[str, list[float]] = {name: [] for name in names}
    took: dict[str, list[float]] = {name: [] for name in names}
    for seed in seeds:
        cloud = whole_cloud(seed)
        for name in names:
            box, seconds = _timed(partial(fitters[name], cloud))
            volumes[name].append(np.inf if box is None else float(np.prod(box[1])))
            took[name].append(seconds)
    least = np.min([volumes[name] for name in names], axis=0)
    found = {name: np.isfinite(volumes[name]) for name in names}
    rows = [
        mean_row(f"whole, volume/least: {name}", [[ratio] for ratio in (np.array(volumes[name]) / least)[found[name]]])
        for name in names
    ]
    rows += [rate_row(f"whole, box found: {name}", int(found[name].sum()), len(found[name])) for name in names]
    return rows + [timing_row(f"whole, processor: {name}", took[name]) for name in names]


def measure_seen(seeds: Sequence[int], names: Sequence[str], sensor: str) -> list[dict[str, Any]]:
    """3D boxes of things that one camera sees, given their true masks, beside their true boxes."""
    fitters: dict[str, BoxFitter] = {"standing": StandingBoxes(), "smallest": boxes.SmallestBoxes()}
    if "open3d" in names:
        fitters["open3d"] = open3d.Open3dBoxes()
    overlaps: dict[str, list[list[float]]] = {name: [] for name in fitters}
    took: dict[str, list[float]] = {name: [] for name in fitters}
    for seed in seeds:
        station = Station(generate_scene(seed), StationConfig(ports=PortNames(sensor=sensor), seed=seed))
        truth, frame = truth_of(station), station.camera.capture()
        cloud = backproject(frame.depth, frame.K).reshape(-1, 3)
        for name, fitter in fitters.items():
            overlaps[name].append([])
            for placed, mask in truth.visible():
                tools, focal = BoundingBoxTools(fitter), float(frame.K[0, 0])
                made, seconds = _timed(partial(tools.box, cloud, mask, focal))
                took[name].append(seconds)
                iou = 0.0
                if made is not None:
                    box = box_of_corners(np.asarray(made.value["corners_3d"], float))
                    iou = box_iou(box, true_box(truth, frame, placed, box))
                overlaps[name][-1].append(iou)
    rows = [mean_row(f"seen, 3D IoU: {name}", overlaps[name]) for name in fitters]
    return rows + [timing_row(f"seen, processor: {name}", took[name]) for name in fitters]


def held_thing(seed: int, sensor: str) -> tuple[FloatArray, FloatArray, FloatArray, Frame, FloatArray] | None:
    """A thing of a random scene, as it stood and as a hand that is not drawn holds it up.

    Returns:
        Its points (N, 3) as they stood, base frame [m], partly hidden by fingers; the hand when it closed and now,
        (4, 4) each; the picture of now; its true motion (4, 4) in the hand. None where it is hidden.
    """
    rng = np.random.default_rng(seed)
    station = Station(generate_scene(seed), StationConfig(ports=PortNames(sensor=sensor), seed=seed))
    truth, before = truth_of(station), station.camera.capture()
    visible = [(placed, mask) for placed, mask in truth.visible() if not placed.asset.container]
    if not visible:
        return None
    placed, mask = visible[seed % len(visible)]
    thing = _seen(before, mask)
    if len(thing) < alignment.FEWEST:
        return None
    state = station.world.snapshot().objects[placed.id]
    T_stood = pose(Rotation.from_quat(np.roll(state.quat_wxyz, -1)).as_matrix(), state.position_m)
    down = np.diag([1.0, -1.0, -1.0])
    T_closed = pose(down, thing.mean(axis=0))
    turned = Rotation.from_rotvec([0.0, 0.0, rng.uniform(-0.8, 0.8)]).as_matrix()
    T_now = pose(turned @ down, CARRIED_TO_M)
    slip = pose(Rotation.from_rotvec(rng.uniform(-SLIP_RAD, SLIP_RAD, 3)).as_matrix(), rng.uniform(-SLIP_M, SLIP_M, 3))
    T_lies = T_now @ slip @ np.linalg.inv(T_closed) @ T_stood
    quat = np.roll(Rotation.from_matrix(T_lies[:3, :3]).as_quat(), 1)
    station.world.place_object(placed.id, T_lies[:3, 3], quat)
    after = station.camera.capture()
    behind = np.abs(transform(invert(T_now), _cloud(after))[:, 1]) < FINGERS_M
    depth = np.where(behind.reshape(after.depth.shape), np.float32(np.nan), after.depth)
    return thing, T_closed, T_now, Frame(**vars(after) | {"depth": depth}), slip


def _cloud(frame: Frame) -> FloatArray:
    return np.asarray(transform(frame.T_base_camera, backproject(frame.depth, frame.K)), float)


def _seen(frame: Frame, mask: BoolArray) -> FloatArray:
    points = _cloud(frame)[mask.reshape(-1)]
    return points[np.isfinite(points).all(axis=1)]


def moved_in_hand(
    thing: FloatArray,
    T_closed: FloatArray,
    T_now: FloatArray,
    frame: Frame,
    align: Align = alignment.aligned,
) -> FloatArray | None:
    """How a held thing lies other than it was seen before the jaws closed.

    Args:
        thing: (N, 3) points of it as they were seen, base frame [m].
        T_closed: (4, 4) pose of the robot's tip frame in the base frame when the jaws had closed.
        T_now: (4, 4) the same at the time of the picture.
        frame: Picture that shows it in the hand, with depth.
        align: The function that moves one cloud onto another.

    Returns:
        (4, 4) its motion in the tip frame: a point that should be at p is at T p. None where too little of it is seen.

    Raises:
        ToolError: See `align`.
    """
    expected = transform(T_now @ invert(T_closed), thing[np.isfinite(thing).all(axis=1)].astype(float))
    cloud = np.asarray(transform(frame.T_base_camera, backproject(frame.depth, frame.K)), float)
    cloud = cloud[np.isfinite(cloud).all(axis=1)]
    low, high = expected.min(axis=0) - REACH_M, expected.max(axis=0) + REACH_M
    cloud = cloud[((cloud >= low) & (cloud <= high)).all(axis=1)]
    if not len(cloud):
        return None
    near = cKDTree(expected).query(cloud, distance_upper_bound=REACH_M)[0]
    cloud = cloud[np.isfinite(near)]
    if len(cloud) < LEAST_SHARE * len(expected):
        return None
    found = align(expected, cloud, REACH_M)
    if found.share < LEAST_SHARE:
        return None
    return np.asarray(invert(T_now) @ found.T @ T_now)


def measure_held(seeds: Sequence[int], names: Sequence[str], sensor: str) -> list[dict[str, Any]]:
    """How far a held thing is thought to be from where it is, without a second look and after each alignment: its
    middle, and its surface (mean distance from each point to the nearest true one, ADD-S)."""
    aligns: dict[str, Align] = {"own": alignment.aligned, "open3d": open3d.aligned}
    off: dict[str, list[list[float]]] = {name: [] for name in ("as seen before", *names)}
    apart: dict[str, list[list[float]]] = {name: [] for name in off}
    found, took, tried = dict.fromkeys(names, 0), {name: [] for name in names}, 0  # type: ignore[var-annotated]
    for seed in seeds:
        case = held_thing(seed, sensor)
        if case is None:
            continue
        tried += 1
        thing, T_closed, T_now, frame, slip = case
        motions: dict[str, FloatArray | None] = {"as seen before": np.eye(4)}
        for name in names:
            look_again = partial(moved_in_hand, thing, T_closed, T_now, frame, aligns[name])
            motions[name], seconds = _timed(look_again)
            took[name].append(seconds)
            found[name] += motions[name] is not None
        for name, T in motions.items():
            T = np.eye(4) if T is None else T
            off[name].append([1000.0 * float(np.linalg.norm(T[:3, 3] - slip[:3, 3]))])
            truly, said = (transform(motion @ np.linalg.inv(T_closed), thing) for motion in (slip, T))
            apart[name].append([1000.0 * float(np.mean(cKDTree(truly).query(said)[0]))])
    rows = [mean_row(f"held, middle off [mm]: {name}", off[name]) for name in off]
    rows += [mean_row(f"held, surface off [mm]: {name}", apart[name]) for name in off]
    rows += [rate_row(f"held, seen again: {name}", found[name], tried) for name in names]
    return rows + [timing_row(f"held, processor: {name}", took[name]) for name in names]


def bench_clouds(
    n: int = 60, scenes: int = 20, first_seed: int = 0, sensor: SensorName = SENSOR, as_json: AsJson = False
) -> int:
    """Compare boxes and alignment of clouds by this project's own code and by Open3D, where that is installed.

    Args:
        n: Whole clouds, and held things, one for each seed.
        scenes: Scenes whose things get a 3D box, likewise.
        first_seed: The first of the seeds.
    """
    require_at_least(1, n=n, scenes=scenes)
    require_at_least(0, first_seed=first_seed)
    require_sensor(sensor)
    began, names = time.monotonic(), libraries()
    seeds = range(first_seed, first_seed + n)
    rows = measure_whole(seeds, names) + measure_seen(range(first_seed, first_seed + scenes), names, sensor)
    rows += measure_held(seeds, names, sensor)
    document = {
        "bench": "clouds",
        "machine": machine(),
        "sensor": sensor,
        "first_seed": first_seed,
        "libraries": list(names),
        "rows": rows,
        "wall_s": round(time.monotonic() - began, 1),
    }
    publish(document, _report, as_json)
    return 0


def _report(document: Mapping[str, Any]) -> str:
    rows = document["rows"]
    means = [row for row in rows if "mean" in row]
    others = [row for row in rows if "mean" not in row]
    tables = format_means(means), format_rows(others)
    on = document["machine"]
    return "\n".join([*tables, f"{on['cpu']}, cores {on['cores']}; {document['wall_s']} s"])
