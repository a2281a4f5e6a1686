"""`toolhand bench clicking`: one of two things that are alike is clicked, and "pick up this one" has to mean that one.

The click is a pixel of the thing as the simulator's own ids show it, which a person who looks at the picture hits. What
the robot took it for is the thing that most pixels of the mask show that it would have grasped by. Nothing moves.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy import ndimage

from agent_node.agent import Agent
from agent_node.console.options import COLOUR_AND_DEPTH, BackendOptions, Unprefixed, require_at_least
from agent_node.console.terminal import AsJson, say
from agent_node.dialogue.dialogue import Dialogue
from agent_node.episode import Episode
from agent_node.pointed import PointedPoint
from agent_node.policies.scripted.policy import ScriptedPolicy
from agent_node.policy import Policy
from bench.dialogue.tabletop import Tabletop, conversation_scene
from bench.stats import format_report, machine, publish, rate_row
from sim.scene.scenes import PlacedObject
from sim.station import Station, StationConfig
from tool_nodes.results import ErrorCode, ToolError, ToolResult
from tool_nodes.stop_latch import StopWatch
from tool_nodes.toolbox.toolbox import CallRecord, Session, Toolbox, ToolSpec
from training.pool.parallel import run_jobs

SENTENCE = "pick up this one"
MASK = "segmentation_mask"
"""Variable in which the scripted policy's mask of the thing is."""
EDGE_PX = 2
"""A person clicks at least so far inside of a thing [px], where its picture allows that."""


@dataclass(frozen=True)
class ClickJob:
    """One scene."""

    seed: int
    backends: BackendOptions


@dataclass(frozen=True)
class ClickRecord:
    """What one click came to.

    Attributes:
        seed: Seed of the scene.
        thing: Id of the thing that was clicked; empty where the scene has no two alike in view.
        point: Normalized point of the click.
        meant: Id of the thing that most of the mask shows; empty where there was no mask.
        share: Share of the mask that shows it.
        asked: The robot asked instead.
        error_code: Code of what ended the command before it would have moved.
        answer: Answer of the robot.
    """

    seed: int
    thing: str = ""
    point: tuple[float, float] | None = None
    meant: str = ""
    share: float = 0.0
    asked: bool = False
    error_code: str | None = None
    answer: str = ""

    @property
    def right(self) -> bool:
        """The thing that was clicked, and no other."""
        return bool(self.thing) and self.meant == self.thing


class WithoutMotion:
    """Tools none of which moves: what would is refused as not approved.

    Args:
        toolbox: The tools.
    """

    def __init__(self, toolbox: Toolbox) -> None:
        self._toolbox = toolbox

    @property
    def specs(self) -> Mapping[str, ToolSpec]:
        """See `Tools`."""
        return self._toolbox.specs

    def job(self) -> AbstractContextManager[StopWatch]:
        """See `Tools`."""
        return self._toolbox.job()

    def schemas(self) -> list[dict[str, Any]]:
        """See `Tools`."""
        return self._toolbox.schemas()

    def is_motion(self, name: str) -> bool:
        """See `Tools`."""
        return self._toolbox.is_motion(name)

    def find(self, name: str) -> ToolSpec:
        """See `Tools`."""
        return self._toolbox.find(name)

    def call(self, name: str, arguments: Any, session: Session) -> CallRecord:
        """See `Tools`."""
        if not self.is_motion(name):
            return self._toolbox.call(name, arguments, session)
        refused = ToolError(ErrorCode.NOT_APPROVED, "Nothing moves in this benchmark.")
        return CallRecord(name, arguments, ToolResult(error=refused), None, time.monotonic(), 0.0, True)


def run_one(job: ClickJob) -> ClickRecord:
    """Click one of the two things alike of a scene, and see what the robot takes it for."""
    rng = np.random.default_rng(job.seed)
    scene = conversation_scene(rng)
    station = Station(scene, StationConfig(**vars(job.backends), seed=job.seed))
    table = Tabletop(rng, scene, station.scene_camera().T_base_camera, station.world.snapshot())
    if not table.has_twins:
        return ClickRecord(job.seed)
    thing: PlacedObject = table.twins[int(rng.integers(2))]
    ids = np.array(station.object_ids_at(station.camera.capture(), _centres(*station.config.image_size)))
    ids = ids.reshape(station.config.image_size[::-1])
    inside = ids == thing.id
    deeper = ndimage.binary_erosion(inside, iterations=EDGE_PX)
    rows, columns = np.nonzero(deeper if deeper.any() else inside)
    if not len(rows):
        return ClickRecord(job.seed)
    k = int(rng.integers(len(rows)))
    point = (float(columns[k] + 0.5) / ids.shape[1], float(rows[k] + 0.5) / ids.shape[0])
    episodes: list[Episode] = []

    def carry_out(sentence: str, policy: Policy | None, memory: str) -> Episode:
        agent = Agent(policy or ScriptedPolicy(), WithoutMotion(station.new_toolbox()))
        episodes.append(agent.run(sentence, memory=memory))
        return episodes[-1]

    turn = Dialogue(carry_out).say(SENTENCE, [PointedPoint(point)])
    mask = episodes[-1].session.variables.get(MASK) if episodes else None
    shown = Counter(ids[mask].tolist()) if isinstance(mask, np.ndarray) and mask.shape == ids.shape else Counter[str]()
    meant, pixels = shown.most_common(1)[0] if shown else ("", 0)
    share = pixels / max(shown.total(), 1)
    asked = turn.error_code is ErrorCode.AMBIGUOUS
    return ClickRecord(job.seed, thing.id, point, meant, share, asked, turn.error_code, turn.answer)


def _centres(width: int, height: int) -> list[tuple[float, float]]:
    """Normalized centre of each pixel, row by row."""
    return [((u + 0.5) / width, (v + 0.5) / height) for v in range(height) for u in range(width)]


def crashed(job: ClickJob, why: str) -> ClickRecord:
    """The record of a scene that gave none."""
    return ClickRecord(job.seed, error_code=ErrorCode.INTERNAL, answer=why)


def bench_clicking(
    n: int = 100,
    first_seed: int = 100_000,
    backends: Unprefixed[BackendOptions] = COLOUR_AND_DEPTH,
    jobs: int = 1,
    as_json: AsJson = False,
) -> int:
    """Click one of two things that are alike and say "pick up this one": how often that one is meant.

    Args:
        n: Scenes with two things that are alike, a click each.
        first_seed: Seed of the first scene.
        jobs: Processes.
    """
    require_at_least(1, n=n, jobs=jobs)
    require_at_least(0, first_seed=first_seed)
    backends.require_known()
    began = time.monotonic()
    say(f"{n} scenes with two things alike, seeds {first_seed}..{first_seed + n - 1}, perception {backends.perception}")
    work = [ClickJob(seed, backends) for seed in range(first_seed, first_seed + n)]
    records = run_jobs(run_one, work, jobs, crashed)
    clicked = [record for record in records if record.thing]
    rows = [
        rate_row("the thing that was clicked", sum(r.right for r in clicked), len(clicked)),
        rate_row("another thing", sum(bool(r.meant) and not r.right for r in clicked), len(clicked)),
        rate_row("asked", sum(r.asked for r in clicked), len(clicked)),
    ]
    wrong = [asdict(record) for record in records if not record.right]
    document = {
        "bench": "clicking",
        **backends.document(),
        "machine": machine(),
        "wall_s": round(time.monotonic() - began, 1),
        "rows": rows,
        "ended": dict(Counter(record.error_code or "no error" for record in records)),
        "unscored": len(records) - len(clicked),
        "failures": wrong,
    }
    publish(document, lambda shown: format_report(shown, "ended", _failure), as_json)
    return 0


def _failure(record: Mapping[str, Any]) -> str:
    thing, meant = record["thing"] or "nothing", record["meant"] or "nothing"
    return f"seed {record['seed']}: clicked {thing}, meant {meant}: {record['answer']}"
