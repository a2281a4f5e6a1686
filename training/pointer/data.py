"""Pictures of random scenes with phrases and the truth about both: what the pointer is trained and tested on.

No physics: things stand where the generator put them, the arm is parked, and the station's ray camera takes one picture
at the size that the network sees. Every scene comes of its own seed, so that any number of processes give the same.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from sim.camera.ray import RayCamera, jittered, scene_camera
from sim.camera.sensor import device
from sim.model import build_model
from sim.objects.products import PRODUCTS
from sim.scene.generator import generate_scene
from sim.scene.scenes import Scene
from tool_nodes import plain_json
from tool_nodes.array_files import read_arrays
from tool_nodes.files import why, write_whole
from tool_nodes.motion.robot_model import load_robot
from tool_nodes.perception.learned.forward import GRID, PICTURE_PX, STRIDE
from tool_nodes.port_names import DEFAULT_SENSOR
from tool_nodes.results import ToolError, invalid
from tool_nodes.types import FloatArray, Frame
from training.pointer.phrases import LabelledPhrase, phrases_of
from training.pool.parallel import run_jobs

MAX_THINGS = 9
"""Things of a scene, at most; `sim.scene.scenes.MAX_OBJECTS`."""
LEAST_PX = 20
"""A thing of fewer visible pixels of the network's picture is no target."""

_SHARD = 40
"""Scenes of one file and one job."""
_PAIRS = 0.5
"""Share of the scenes in which two of one product stand, as the relational tasks have them."""
_DEPTH_UNIT_M = 1e-4
"""Depth is kept in steps of this [m]."""

_TRAIN, _VALIDATION, _TEST = 0, 1, 2
SPLITS = {"train": _TRAIN, "validation": _VALIDATION, "test": _TEST}
"""Parts of the data by name; their scenes' seeds never meet."""


@dataclass(frozen=True, eq=False)
class PictureSet:
    """Scenes as arrays, one row each.

    Attributes:
        rgb: (n, H, W, 3) uint8.
        depth: (n, H, W) [m], NaN where unknown.
        ids: (n, H, W) int8, index of the scene's object or -1.
        T_base_camera: (n, 4, 4).
        K: (3, 3) [px].
        phrases: Phrases of each scene.
        things: Names of the products of each scene.
    """

    rgb: NDArray[np.uint8]
    depth: NDArray[np.float32]
    ids: NDArray[np.int8]
    T_base_camera: FloatArray
    K: FloatArray
    phrases: Sequence[Sequence[LabelledPhrase]]
    things: Sequence[Sequence[str]]

    def __len__(self) -> int:
        return len(self.rgb)

    def some(self, rows: Sequence[int]) -> PictureSet:
        """Some of the scenes."""
        at = np.asarray(rows, np.int64)
        return PictureSet(
            self.rgb[at],
            self.depth[at],
            self.ids[at],
            self.T_base_camera[at],
            self.K,
            [self.phrases[k] for k in at],
            [self.things[k] for k in at],
        )

    def frame(self, k: int, depth: bool = True) -> Frame:
        """Scene k as a camera's frame, without ids; if asked for, without depth."""
        seen = self.depth[k] if depth else np.full_like(self.depth[k], np.nan)
        return Frame(self.rgb[k], seen, self.K, self.T_base_camera[k], float(k))


def scene_of(split: str, seed: int, number: int, without: Sequence[str] = (), only: Sequence[str] = ()) -> Scene:
    """Scene `number` of a part of the data: any products, two of one kind in half of them.

    Args:
        split: A key of SPLITS.
        seed: Seed of the training; the scenes of the test are the same for every seed.
        number: 0 or more.
        without: Products that may not be there.
        only: Each scene has one of these, for the test of products that were never seen.
    """
    rng = np.random.default_rng([SPLITS[split], 0 if split == "test" else seed, number])
    allowed = [item.name for item in PRODUCTS.values() if item.graspable and item.name not in without]
    required: list[str] = [only[int(rng.integers(len(only)))]] if only else []
    if not only and rng.random() < _PAIRS:
        required = [allowed[int(rng.integers(len(allowed)))]] * 2
    return generate_scene(int(rng.integers(2**31)), required, tuple(without))


def picture_of(scene: Scene, seed: int, sensor: str = DEFAULT_SENSOR) -> Frame:
    """What the station's camera sees of a scene with the robot parked, at the network's size, with ids."""
    robot = load_robot()
    model = build_model(scene, robot)
    data = mujoco.MjData(model)
    for joint, angle in zip(robot.arm_joints, robot.park, strict=True):
        data.qpos[int(model.joint(joint).qposadr[0])] = angle
    mujoco.mj_forward(model, data)
    index = {int(model.body(placed.id).id): k for k, placed in enumerate(scene.objects)}
    lamp = np.asarray(scene.light_position_m)
    camera = jittered(scene_camera(PICTURE_PX), scene)
    unit = device(sensor, camera.name, seed)
    return RayCamera(model, data, camera, index, sensor=unit, seed=seed, lamp_position=lamp).capture()


@dataclass(frozen=True)
class ShardJob:
    """Some scenes of a part of the data, and the file they go to."""

    path: str
    split: str
    seed: int
    first: int
    count: int
    without: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    sensor: str = DEFAULT_SENSOR


def make_shard(job: ShardJob) -> str:
    """Write the scenes of a job, unless they are there; the file is whole or not there at all."""
    path = Path(job.path)
    if path.exists():
        return ""
    columns: dict[str, list[Any]] = {"rgb": [], "depth": [], "ids": [], "T": []}
    words: list[Any] = []
    for number in range(job.first, job.first + job.count):
        scene = scene_of(job.split, job.seed, number, job.without, job.only)
        frame = picture_of(scene, number, job.sensor)
        rng = np.random.default_rng([SPLITS[job.split], job.seed, number, 1])
        assert frame.ids is not None
        columns["rgb"].append(frame.rgb)
        columns["depth"].append(np.rint(np.nan_to_num(frame.depth) / _DEPTH_UNIT_M).astype(np.uint16))
        columns["ids"].append(frame.ids.astype(np.int8))
        columns["T"].append(frame.T_base_camera)
        said = phrases_of(scene, rng, test=job.split != "train")
        words.append(
            {"things": [p.item for p in scene.objects], "phrases": [[p.text, p.kind, list(p.meant)] for p in said]}
        )
    K = np.asarray(frame.K)
    arrays: dict[str, Any] = {name: np.stack(rows) for name, rows in columns.items()}
    buffer = io.BytesIO()
    np.savez(buffer, K=K, words=np.frombuffer(json.dumps(words).encode(), np.uint8), **arrays)
    try:
        write_whole(path, buffer.getvalue())
    except OSError as error:
        return f"{error.strerror or error}"
    return ""


def make_pictures(
    folder: Path,
    split: str,
    seed: int,
    count: int,
    processes: int = 1,
    without: Sequence[str] = (),
    only: Sequence[str] = (),
    sensor: str = DEFAULT_SENSOR,
) -> PictureSet:
    """The scenes 0 .. count - 1 of a part of the data, made where the folder does not have them yet.

    Raises:
        ToolError: INVALID_ARGUMENT where they cannot be written; INTERNAL where a scene could not be made or read.
    """
    tag = f"{split}-{seed}" + ("-without" if without else "") + ("-only" if only else "")
    if sensor != DEFAULT_SENSOR:
        tag += f"-{re.sub(r'[^a-z0-9]+', '-', sensor.lower())}"
    jobs = [
        ShardJob(
            str(folder / f"{tag}-{k:05d}.npz"),
            split,
            seed,
            k,
            min(_SHARD, count - k),
            tuple(without),
            tuple(only),
            sensor,
        )
        for k in range(0, count, _SHARD)
    ]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(folder, error.strerror or str(error)) from error
    if any(not Path(job.path).exists() for job in jobs):
        problems = [problem for problem in run_jobs(make_shard, jobs, processes, lambda job, why: why) if problem]
        if problems:
            raise _unwritable(folder, problems[0])
    return joined([read_shard(Path(job.path)) for job in jobs])


def _unwritable(folder: Path, why: str) -> ToolError:
    return invalid(f"The pictures cannot be written to {folder}: {why}.")


def read_shard(path: Path) -> PictureSet:
    """One file of `make_shard`. Raises ToolError INVALID_ARGUMENT where it is damaged."""
    try:
        arrays = read_arrays(path, ("words", "rgb", "depth", "ids", "T", "K"))
        words = plain_json.load(arrays["words"].tobytes())
        depth = arrays["depth"].astype(np.float32) * np.float32(_DEPTH_UNIT_M)
        depth[arrays["depth"] == 0] = np.nan
        phrases = [[LabelledPhrase(text, kind, tuple(meant)) for text, kind, meant in s["phrases"]] for s in words]
        things = [tuple(scene["things"]) for scene in words]
        return PictureSet(arrays["rgb"], depth, arrays["ids"], arrays["T"], arrays["K"], phrases, things)
    except (OSError, KeyError, ValueError, TypeError) as error:
        raise invalid(f"{path} is damaged: {why(error)}.", "Delete the file; it is made again.") from error


def joined(parts: Sequence[PictureSet]) -> PictureSet:
    """Several sets as one."""
    return PictureSet(
        np.concatenate([part.rgb for part in parts]),
        np.concatenate([part.depth for part in parts]),
        np.concatenate([part.ids for part in parts]),
        np.concatenate([part.T_base_camera for part in parts]),
        parts[0].K,
        [phrases for part in parts for phrases in part.phrases],
        [things for part in parts for things in part.things],
    )


@dataclass(frozen=True, eq=False)
class CellTruth:
    """Where the things of one scene are on the network's grid.

    Attributes:
        cells: (rows * columns,) int8, the thing at the middle of each cell, MAX_THINGS where there is none.
        centres: (MAX_THINGS,) the cell of each thing that is nearest to its middle; 0 where it is not seen.
        seen: (MAX_THINGS,) True for a thing of LEAST_PX pixels and more.
    """

    cells: NDArray[np.int8]
    centres: NDArray[np.int64]
    seen: NDArray[np.bool_]


def cell_truth(ids: NDArray[np.int8]) -> CellTruth:
    """The truth on the grid from object ids (H, W) of the network's picture."""
    rows, columns = GRID
    middle = ids[STRIDE // 2 :: STRIDE, STRIDE // 2 :: STRIDE].copy()
    centres, seen = np.zeros(MAX_THINGS, np.int64), np.zeros(MAX_THINGS, bool)
    for thing in range(MAX_THINGS):
        v, u = np.nonzero(ids == thing)
        if not len(v):
            continue
        at = np.array([v.mean(), u.mean()]) / STRIDE - 0.5
        own = np.argwhere(middle == thing)
        if len(own):
            row, column = own[np.argmin(np.square(own - at).sum(axis=1))]
        else:
            row, column = np.clip(np.rint(at).astype(int), 0, (rows - 1, columns - 1))
            middle[row, column] = thing
        centres[thing], seen[thing] = row * columns + column, len(v) >= LEAST_PX
    middle[middle < 0] = MAX_THINGS
    return CellTruth(middle.ravel(), centres, seen)
