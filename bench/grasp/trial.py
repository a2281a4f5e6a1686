"""One scene for one side: a first attempt on one object, or attempts until the scene is empty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toolhand.agent_node.agent import Agent
from toolhand.agent_node.policies.scripted.policy import ScriptedPolicy
from toolhand.bench.grasp.calls import EXECUTE, SEGMENT, middle_of, true_ids
from toolhand.bench.grasp.clearing import Clearing
from toolhand.bench.grasp.images import keep_images
from toolhand.bench.grasp.records import GraspRecord, RunFolder
from toolhand.bench.grasp.scenes import GraspJob, is_asked_for
from toolhand.bench.grasp.watch import Watch
from toolhand.bench.perception.metrics import mask_iou
from toolhand.sim.scene.scenes import PlacedObject
from toolhand.tool_nodes.drawing import RGB
from toolhand.tool_nodes.geometry import backproject, transform
from toolhand.tool_nodes.perception.prompts import segment_by
from toolhand.tool_nodes.results import INFRASTRUCTURE_ERRORS, ErrorCode, ToolError
from toolhand.tool_nodes.types import BoolArray, Everything, FloatArray, Frame

LEAST_PIXELS = 300
"""Fewer visible pixels of an object are not asked for [px]; a round figure."""
MOST_MASKS = 8
"""Masks, best first, of which each attempt at clearing computes a grasp [-]: more take longer than the motion, and a
conversation remembers what its last 16 grasps were for."""
LONGEST_M = 0.25
"""What is longer than this along x or y of the base frame is a bin or a shelf, and is not asked for when clearing [m]:
twice the longest object that the gripper can carry level."""
FAILURES_RUNNING = 2
"""Attempts in a row that take nothing away after which a scene is left [-]; as in VGN."""
_SAME_GRASP_M = 0.02
"""Grasps that are closer than this to one that has failed are taken last [m]: less than a finger is wide."""
_CLOSING_S = 0.6
"""Time for the jaws to close after the object in them was taken away [s]; they need 0.5 s for their whole stroke."""
_LOOK_AGAIN = frozenset(
    {
        ErrorCode.AMBIGUOUS,
        ErrorCode.EMPTY_MASK,
        ErrorCode.NO_GRASP,
        ErrorCode.IK_FAILED,
        ErrorCode.PLAN_FAILED,
        ErrorCode.GRIPPER_EMPTY,
        ErrorCode.OBJECT_DROPPED,
    }
)
"""Failures after which the arm is parked, its hand is empty, and a second view may help."""


def run_one(job: GraspJob) -> list[GraspRecord]:
    """Every attempt of a job, judged; kept in the folder of the run where there is one.

    Raises:
        ToolError: INTERNAL for a scene that holds nothing; what a backend raises that cannot be made.
    """
    records = attempts(Watch(job), job)
    if job.out:
        RunFolder(Path(job.out)).keep(job.key, records)
    return records


def attempts(watch: Watch, job: GraspJob) -> list[GraspRecord]:
    """Every attempt of a job at its scene, judged. Raises ToolError as `run_one`."""
    if not any(map(is_asked_for, watch.station.world.scene.objects)):
        raise ToolError(ErrorCode.INTERNAL, "This scene holds nothing to grasp.")  # its fault, nobody's failure
    return [_attempt(watch, job)] if job.protocol == "attempt" else _clear(watch, job)


def _attempt(watch: Watch, job: GraspJob) -> GraspRecord:
    """Grasp one object by the tools alone: a true pixel of it, segment_from_point, compute_grasp, execute_grasp.

    For a side with a second view, an attempt that fails is made once more so, from what the wrist camera sees of it. A
    side that clears the way is told a true pixel in every new image, as an operator would point again.
    """
    chosen: list[int] = []

    def point(frame: Frame) -> tuple[float, float]:
        ids = true_ids(watch.station, frame)
        index = chosen[0] if chosen else _wanted(watch, job, ids)
        middle = middle_of(ids, index)
        if middle is None:
            raise ToolError(ErrorCode.OBJECT_NOT_FOUND, "The object is hidden from the camera.")
        if chosen:
            return middle
        chosen.append(index)
        watch.facts["prompt"] = middle
        watch.note_lie(index, ids)
        return middle

    code, text = "", ""
    way = Clearing(watch, point) if job.side.role == "clearing" else None
    try:
        try:
            if way is not None:
                way.run()
            elif job.side.role == "said":
                x, y = point(watch.look())
                name = watch.station.scene.objects[chosen[0]].asset.name
                _say(watch, f"Pick up the {name} at ({x:.3f}, {y:.3f}).")
            else:
                watch.grasp(point)
        except ToolError as error:
            if job.side.role != "second_view" or error.code not in _LOOK_AGAIN:
                raise
            watch.grasp_closer(point)
    except ToolError as error:
        code, text = str(error.code), error.message
    objects = watch.station.scene.objects
    target = objects[chosen[0]] if chosen else None
    if way is not None:
        watch.facts["actions"] = way.actions
    return _finish(watch, job, target, 0, code, text)


def _say(watch: Watch, sentence: str) -> None:
    """Let the embedded policy carry out a sentence. Raises ToolError of its answer where it fails."""
    episode = Agent(ScriptedPolicy(), watch.station.toolbox).run(sentence)
    if not episode.success:
        raise ToolError(episode.error_code or ErrorCode.INTERNAL, episode.answer)


def _wanted(watch: Watch, job: GraspJob, ids: NDArray[np.int32]) -> int:
    """Index of the object that is asked for, one that is seen. Raises ToolError OBJECT_NOT_FOUND where none is."""
    objects = watch.station.scene.objects
    if job.item:
        index = next(k for k, placed in enumerate(objects) if placed.item == job.item)
        if not (ids == index).any():
            raise ToolError(ErrorCode.OBJECT_NOT_FOUND, "The object is hidden from the camera.")
        return index
    visible = [k for k, placed in enumerate(objects) if is_asked_for(placed) and (ids == k).sum() >= LEAST_PIXELS]
    if not visible:
        raise ToolError(ErrorCode.OBJECT_NOT_FOUND, "Nothing of the scene is well visible.")
    return int(np.random.default_rng([job.seed, 0xF2]).choice(visible))


def _clear(watch: Watch, job: GraspJob) -> list[GraspRecord]:
    """Attempts at what the tools see best: one, or until nothing is left, no grasp is found or too many in a row take
    nothing away, as a round of VGN (Breyer et al., CoRL 2020) ends.

    What was up at the end of the judge's hold is taken out of the world, as if it had been let go over a bin: placing
    is measured by `toolhand bench manipulation`, and published declutter rates are of picks alone.
    """
    records: list[GraspRecord] = []
    failed_at: list[FloatArray] = []
    failures = 0
    while any(map(is_asked_for, watch.station.world.scene.objects)) and failures < FAILURES_RUNNING:
        watch.begin()
        code, text = "", ""
        target: PlacedObject | None = None
        try:
            target = _under(watch, _choose(watch, failed_at))
            watch.call(EXECUTE, grasp_pose="$grasp_pose")
        except ToolError as error:
            code, text = str(error.code), error.message
        record = _finish(watch, job, target, len(records), code, text)
        records.append(record)
        if not record.scored or job.protocol == "any" or not (record.pose or record.removed):
            break
        if record.removed:
            failures, failed_at = 0, []
        else:
            failures += 1
            failed_at.append(np.reshape(record.pose, (4, 4))[:3, 3])
        _park(watch)
    return records


@dataclass(frozen=True, eq=False)
class _Option:
    """A mask and its best grasp; `again` where one like it has failed before."""

    again: bool
    score: float
    mask: BoolArray
    T_camera_gripper: FloatArray
    facts: dict[str, Any]
    image: RGB | None


def _choose(watch: Watch, failed_at: Sequence[FloatArray]) -> BoolArray:
    """Look, outline everything, and note the best grasp of the best masks: by perception alone.

    Args:
        failed_at: (3,) positions of grasps that have failed, base frame [m]; others are taken first.

    Returns:
        The mask (H, W) that the grasp is for.

    Raises:
        ToolError: OBJECT_NOT_FOUND where no object is outlined; the last error of compute_grasp where no mask has a
            grasp.
    """
    frame = watch.look()
    image, ports = watch.session.images[0], watch.station.ports
    found = watch.timed(SEGMENT, lambda: segment_by(ports.segmenter, image, Everything()).value)
    options: list[_Option] = []
    failure = ToolError(ErrorCode.OBJECT_NOT_FOUND, "The segmenter outlines no object.")
    objects = [one for one in found if _length(frame, one.mask) <= LONGEST_M]
    for one in sorted(objects, key=lambda one: -one.score)[:MOST_MASKS]:
        watch.session.variables["segmentation_mask"] = one.mask
        watch.facts = {"mask_score": float(one.score)}
        try:
            T, score = watch.compute_grasp().result.value
        except ToolError as error:
            if error.code in INFRASTRUCTURE_ERRORS:
                raise
            failure = error
            continue
        at = (frame.T_base_camera @ T)[:3, 3]
        again = any(np.linalg.norm(at - other) < _SAME_GRASP_M for other in failed_at)
        options.append(_Option(again, one.score * score, one.mask, T, watch.facts, watch.grasp_image))
    if not options:
        raise failure
    best = min(options, key=lambda option: (option.again, -option.score))
    watch.facts, watch.grasp_image = best.facts, best.image
    watch.session.variables |= {"segmentation_mask": best.mask, "grasp_pose": best.T_camera_gripper}
    return best.mask


def _length(frame: Frame, mask: BoolArray) -> float:
    """Length of what a mask (H, W) shows, along the longer of the base frame's x and y [m]; 0 without depth."""
    points = transform(frame.T_base_camera, backproject(frame.depth, frame.K)[mask.reshape(-1)].astype(float))
    points = points[np.isfinite(points).all(axis=1), :2]
    return float(np.ptp(np.percentile(points, (2, 98), axis=0), axis=0).max()) if len(points) else 0.0


def _under(watch: Watch, mask: BoolArray) -> PlacedObject | None:
    """The object that most pixels of a mask truly show, and how it lies is noted; None where it shows none."""
    frame = watch.session.images[0].frame
    if frame is None:
        return None
    ids = true_ids(watch.station, frame)
    shown = ids[mask & (ids >= 0)]
    if not shown.size:
        return None
    index = int(np.bincount(shown).argmax())
    watch.note_lie(index, ids)
    return watch.station.world.scene.objects[index]


def _park(watch: Watch) -> None:
    """Bring back an arm that a failed attempt has left somewhere."""
    try:
        watch.station.manipulator.return_to_park()
    except ToolError as error:
        if error.code in INFRASTRUCTURE_ERRORS:
            raise


def _finish(
    watch: Watch, job: GraspJob, target: PlacedObject | None, attempt: int, code: str, text: str
) -> GraspRecord:
    """Judge an attempt, take away what is up, and make a record of it."""
    choosing = job.protocol != "attempt"
    world = watch.station.world
    facts: dict[str, Any] = {**watch.facts, **watch.times(), **({"text": text} if text else {})}
    record = GraspRecord(
        job.side.role,
        job.kind,
        job.seed,
        attempt,
        objects=sum(map(is_asked_for, world.scene.objects)),
        reported=not code,
        code=code,
        **facts,
    )
    if target is not None:
        set_name, slash, _ = target.item.partition("/")
        record = replace(
            record,
            object_set=set_name if slash else "catalogue",
            object=target.item,
            family=target.asset.kind,
            mask_iou=_mask_iou(watch, target),
        )
    if not record.scored:
        return record
    try:
        watch.facts = {}
        named = target.id if target is not None else next(iter(watch.before.objects))
        lifted = watch.judge(named, any_object=choosing or target is None)
        # An object that is up counts when anything may be cleared, whatever the tools believe that they have lifted.
        success = bool(watch.facts.pop("success")) and (choosing or record.reported)
        success = success and not (job.side.role in ("clearing", "said") and watch.facts["fell"])
        record = replace(record, **watch.facts, success=success)
    except ToolError as error:
        return replace(record, code=str(error.code), text=error.message, reported=False)
    if job.out and not record.success:
        folder = RunFolder(Path(job.out)).failures
        record = replace(record, images=keep_images(watch, record, folder, f"{job.key}-{attempt}"))
    if choosing and lifted:
        gone = sum(is_asked_for(placed) for placed in world.scene.objects if placed.id in lifted)
        left = tuple(placed for placed in world.scene.objects if placed.id not in lifted)
        world.change_objects(replace(world.scene, objects=left))
        world.step(round(_CLOSING_S / world.timestep))
        record = replace(record, removed=gone)
    return record


def _mask_iou(watch: Watch, target: PlacedObject) -> float | None:
    """Overlap of the newest mask with the visible pixels of an object; None where there is no mask."""
    mask, frame = watch.session.variables.get("segmentation_mask"), watch.session.images[watch.outlined].frame
    if mask is None or frame is None:
        return None
    index = watch.station.world.scene.objects.index(target)
    return round(mask_iou(mask, true_ids(watch.station, frame) == index), 4)
