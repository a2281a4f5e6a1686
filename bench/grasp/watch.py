"""A station whose stages are timed and whose grasps are noted, and what the judge says of an attempt."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from toolhand.bench.grasp.calls import COMPUTE, EXECUTE, SEGMENT, ToolCalls, in_hand
from toolhand.bench.grasp.lying import fits, visible_share
from toolhand.bench.grasp.scenes import OF_PRODUCTS, GraspJob, make_scene
from toolhand.bench.timing import TimedPlanner
from toolhand.sim.snapshot import Snapshot
from toolhand.sim.station import Station
from toolhand.sim.tasks.predicates import THRESHOLDS, judge_pick, lifted_ids
from toolhand.tool_nodes.drawing import RGB
from toolhand.tool_nodes.ports import GraspGenerator
from toolhand.tool_nodes.toolbox.toolbox import CallRecord, Session
from toolhand.tool_nodes.types import BoolArray, FloatArray, GraspSet
from toolhand.tool_nodes.workspace import TABLE_Z

Result = TypeVar("Result")


class NotedGrasps:
    """A generator whose last answer is known."""

    def __init__(self, generator: GraspGenerator) -> None:
        self._generator = generator
        self.last: GraspSet | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._generator, name)

    def generate(self, cloud: NDArray[np.float32], mask: BoolArray, T_base_camera: FloatArray) -> GraspSet:
        """See ports.GraspGenerator."""
        self.last = None
        self.last = self._generator.generate(cloud, mask, T_base_camera)
        return self.last


class Watch(ToolCalls):
    """The conversation of one attempt at a time, timed and noted.

    Args:
        job: Scene and side.

    Attributes:
        facts: Values of the attempt so far, by the names of `GraspRecord`.
        before: State before the attempt.
        began: Simulated time of its beginning [s].
        grasp_image: The grasp that was chosen, drawn into the image; None where there is none.
    """

    facts: dict[str, Any]
    before: Snapshot
    began: float
    grasp_image: RGB | None

    def __init__(self, job: GraspJob) -> None:
        self._plans: list[float] = []
        self._cpu: dict[str, list[float]] = {}
        station = Station(
            make_scene(job.kind, job.seed, job.sets, job.item, job.per_scene),
            # What rests is not computed: clutter takes half the time. Scenes of products stay as they were measured.
            replace(job.side.config(job.seed), sleep=job.kind not in OF_PRODUCTS),
            lambda planner: TimedPlanner(planner, self._plans, time.process_time),
        )
        self._grasps = NotedGrasps(station.ports.grasps)
        station.ports = replace(station.ports, grasps=self._grasps)
        station.toolbox = station.new_toolbox()
        super().__init__(station)
        self.begin()

    def begin(self) -> None:
        """An attempt begins: a new conversation, and the state before it."""
        self._plans.clear()
        self._cpu.clear()
        self.session, self.facts, self.outlined, self.newest = Session(), {}, 0, 0
        self.grasp_image = None
        self.before = self.station.world.snapshot()
        self.began = self.station.world.time

    def timed(self, stage: str, run: Callable[[], Result]) -> Result:
        """What `run` gives; its processor time counts for the stage."""
        began = time.process_time()
        try:
            return run()
        finally:
            self._cpu.setdefault(stage, []).append(time.process_time() - began)

    def call(self, name: str, **arguments: object) -> CallRecord:
        """See ToolCalls; what a record has of the result is noted."""
        record = self.timed(name, lambda: super(Watch, self).call(name, **arguments))
        value = record.result.value
        self.facts["text"] = record.result.text
        if name == SEGMENT:
            self.facts["mask_score"] = float(value["iou_score"])
        elif name == COMPUTE:
            self._note_grasp(*value)
            self.grasp_image = record.result.image
        elif name == EXECUTE:
            grasped = record.result.facts["grasped"]
            self.facts |= {"opening_m": grasped["opening_m"], "check_s": grasped["check_s"]}
        return record

    def note_lie(self, index: int, ids: NDArray[np.int32]) -> None:
        """Note how the object of an index lies among others, by the truth; (H, W) ids are those of the image."""
        world = self.station.world
        self.facts |= {
            "visible": visible_share(self.station, index, ids),
            "fits": fits(self.station, index),
            "under": bool(world.resting_on(world.scene.objects[index].id)),
        }

    def _note_grasp(self, T_camera_gripper: FloatArray, score: float) -> None:
        frame = self.session.newest_frame()
        assert frame is not None
        T = frame.T_base_camera @ T_camera_gripper
        self.facts |= {
            "pose": tuple(round(float(v), 6) for v in T.ravel()),
            "grasp_score": float(score),
            "approach_deg": round(float(np.degrees(np.arccos(np.clip(-T[2, 2], -1.0, 1.0)))), 3),
        }
        if self._grasps.last is not None:
            poses = self._grasps.last.T_camera_gripper
            nearest = int(np.abs(poses - T_camera_gripper).sum(axis=(1, 2)).argmin())
            self.facts |= {
                "width_m": float(self._grasps.last.widths_m[nearest]),
                "sampled": int(self._grasps.last.sampled),
                "offered": len(poses),
            }

    def times(self) -> dict[str, Any]:
        """The time of each stage so far [s]; None for one that was not reached."""
        robot_s = self.station.world.time - self.began
        computed = self._cpu.get(COMPUTE, [])
        return {
            "segment_s": _total(self._cpu.get(SEGMENT, [])),
            "computed": len(computed),
            "compute_s": _total(computed),
            "plan_s": _total(self._plans),
            "robot_s": round(robot_s, 4),
            "executed": robot_s > 0.0,
        }

    def judge(self, target: str, any_object: bool) -> frozenset[str]:
        """Let the judge hold, and note what it says.

        Args:
            target: Id of the object that was meant.
            any_object: Any one object in the hand is a success.

        Returns:
            Ids of what was up at the end.

        Raises:
            ToolError: INTERNAL where the physics broke.
        """
        world = self.station.world
        at_first = {name: in_hand(world, name)[:3, 3] for name in self.before.objects}
        history = world.hold(THRESHOLDS.hold_s)
        lifted = lifted_ids(self.before, history[-1], THRESHOLDS)
        if any_object and len(lifted) == 1:
            (target,) = lifted
        names = ["the target"] * (target in lifted) + ["another"] * bool(lifted - {target})
        self.facts |= {
            "success": judge_pick(self.before, history, tuple(self.before.objects) if any_object else (target,)),
            "up": " and ".join(names) or "nothing",
            "fell": sum(state.position_m[2] < TABLE_Z for state in history[-1].objects.values()),
        }
        if target in lifted:
            slip = in_hand(world, target)[:3, 3] - at_first[target]
            self.facts["slip_mm"] = round(1000 * float(np.linalg.norm(slip)), 2)
        return lifted


def _total(seconds: Sequence[float]) -> float | None:
    return round(sum(seconds), 5) if seconds else None
