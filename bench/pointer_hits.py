"""`toolhand bench pointer-hits`: what hits and misses alone teach a pointer, beside labels for the same time."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from agent_node.console.terminal import AsJson, say
from bench.stats import format_rows, machine, publish, rate_row
from tool_nodes import plain_json
from tool_nodes.files import NOTES_BYTES, read_file, write_whole
from tool_nodes.perception.learned.backend import LearnedPointer
from tool_nodes.perception.learned.reading import read_phrase
from tool_nodes.perception.learned.weights import PointerWeights, read_weights, write_weights
from tool_nodes.results import ErrorCode, ToolError
from training.pointer.batch import WordList
from training.pointer.data import PictureSet, make_pictures
from training.pointer.evaluation import ONE_THING, point_at
from training.pool.parallel import run_jobs

ARMS = ("start", "control", "hits")
"""Labels of a few scenes; more steps on the same labels; as many steps by hits and misses instead."""
_RESULT = "result.json"
"""What came of a seed, in its folder."""


@dataclass(frozen=True)
class SeedJob:
    """One seed: which scenes have labels, first weights, order and samples; the rest is as of `bench_pointer_hits`."""

    seed: int
    folder: str
    pictures: str
    scenes: int
    labelled: int
    start_steps: int
    steps: int
    test_scenes: int


@dataclass(frozen=True)
class SeedResult:
    """What came of a seed.

    Attributes:
        tallies: By arm and kind of phrase (hits, n).
        cpu_s: Processor time of each arm; that of the start comes on top of the two others [s].
        problem: Why there is none.
    """

    seed: int
    tallies: Mapping[str, Mapping[str, tuple[int, int]]]
    cpu_s: Mapping[str, float]
    problem: str = ""


def run_seed(job: SeedJob) -> SeedResult:
    """Train the three arms of a seed and test them on scenes apart; what a killed run had done is kept."""
    folder = Path(job.folder) / f"seed-{job.seed}"
    done = folder / _RESULT
    settings = {name: value for name, value in asdict(job).items() if name not in ("folder", "pictures")}
    if done.exists():
        stored = plain_json.load(read_file(done, NOTES_BYTES))
        if stored["settings"] != settings:
            raise ToolError(ErrorCode.INVALID_ARGUMENT, f"{folder} is of other settings: choose another folder.")
        return SeedResult(**stored["result"])
    shown = make_pictures(Path(job.pictures), "train", 0, job.scenes)
    test = make_pictures(Path(job.pictures), "test", 0, job.test_scenes)
    weights, cpu_s = _arms(job, folder, shown)
    tallies = {arm: _tally(one, test) for arm, one in weights.items()}
    result = SeedResult(job.seed, tallies, cpu_s)
    write_whole(done, json.dumps({"settings": settings, "result": asdict(result)}, indent=1).encode())
    return result


def _arms(job: SeedJob, folder: Path, shown: PictureSet) -> tuple[dict[str, PointerWeights], dict[str, float]]:
    from training.pointer.hits import HitTraining, improve_by_hits, improve_by_labels, learned_from_labels

    rng = np.random.default_rng([job.seed, 13])
    few = shown.some(rng.permutation(len(shown))[: job.labelled].tolist())
    path = folder / "start.safetensors"
    if not path.exists():
        words = WordList.of(read_phrase(phrase.text) for phrases in shown.phrases for phrase in phrases)
        start, spent = learned_from_labels(few, words, job.seed, job.start_steps)
        write_weights(replace(start, about=json.dumps({"cpu_s": spent})), path)
    start = read_weights(path)
    cpu_s = {"start": float(json.loads(start.about)["cpu_s"])}
    training = HitTraining(seed=job.seed, steps=job.steps, rated=0)
    control = improve_by_labels(start, few, training, folder / "control")
    by_hits = improve_by_hits(start, shown, training, folder / "hits")
    cpu_s |= {"control": control.cpu_s, "hits": by_hits.cpu_s}
    write_weights(by_hits.weights, folder / "hits.safetensors")
    return {"start": start, "control": control.weights, "hits": by_hits.weights}, cpu_s


def _tally(weights: PointerWeights, test: PictureSet) -> dict[str, tuple[int, int]]:
    tally = dict.fromkeys(ONE_THING, (0, 0))
    for one in point_at(LearnedPointer(weights), test, ONE_THING):
        hits, n = tally[one.kind]
        tally[one.kind] = hits + one.hit, n + 1
    return tally


def gain_row(kind: str, results: Sequence[SeedResult]) -> dict[str, Any]:
    """Points that hits win over the control for a kind of phrases: mean over seeds, with its 95 % t interval."""
    gains = [
        100.0 * (result.tallies["hits"][kind][0] - result.tallies["control"][kind][0])
        / max(result.tallies["hits"][kind][1], 1)
        for result in results
    ]  # fmt: skip
    mean, n = float(np.mean(gains)), len(gains)
    reach = float(stats.t.ppf(0.975, n - 1) * np.std(gains, ddof=1) / np.sqrt(n)) if n > 1 else None
    row: dict[str, Any] = {"name": kind, "seeds": [round(gain, 1) for gain in gains], "points": round(mean, 1)}
    return row | {"low": None if reach is None else round(mean - reach, 1),
                  "high": None if reach is None else round(mean + reach, 1)}  # fmt: skip


def bench_pointer_hits(
    seeds: int = 3,
    first_seed: int = 0,
    scenes: int = 1200,
    labelled: int = 100,
    start_steps: int = 300,
    steps: int = 200,
    test_scenes: int = 60,
    out: Path = Path("runs/pointer-hits"),
    pictures: Path = Path("runs/pointer/pictures"),
    jobs: int = 1,
    as_json: AsJson = False,
) -> int:
    """Train a pointer on a few labels, then by hits and misses alone; beside it, as long on the labels.

    Args:
        seeds: Of scenes with labels, first weights, order and samples.
        first_seed: The first of them.
        scenes: Of which hits and misses are told.
        labelled: So many of them have labels, too, drawn by the seed.
        start_steps: On those labels, of 16 scenes each, before both.
        steps: Further ones, by hits or by labels.
        test_scenes: To test on.
        out: Folder for weights and results; the same command goes on after a break.
        pictures: Folder of a training's pictures, made where they are not there yet.
        jobs: Processes, each with a seed.
    """
    for name, value in {"seeds": seeds, "start-steps": start_steps, "test-scenes": test_scenes, "jobs": jobs}.items():
        if value < 1:
            raise ToolError(ErrorCode.INVALID_ARGUMENT, f"{name} must be 1 or more, got {value}.")
    if not 1 <= labelled <= scenes or first_seed < 0 or steps < 1:
        raise ToolError(
            ErrorCode.INVALID_ARGUMENT,
            "labelled must be 1 to scenes, steps 1 or more and first-seed 0 or more.",
        )
    import training.pointer.hits  # noqa: F401  without torch it ends here, before pictures are made

    began = time.monotonic()
    for split, count in (("train", scenes), ("test", test_scenes)):
        make_pictures(pictures, split, 0, count, jobs)
    work = [
        SeedJob(seed, str(out), str(pictures), scenes, labelled, start_steps, steps, test_scenes)
        for seed in range(first_seed, first_seed + seeds)
    ]
    say(f"{seeds} seeds, {labelled} of {scenes} scenes with labels, {start_steps} and {steps} steps")
    results = run_jobs(run_seed, work, jobs, lambda job, why: SeedResult(job.seed, {}, {}, why))
    for problem in [result.problem for result in results if result.problem]:
        raise ToolError(ErrorCode.INTERNAL, f"A seed could not be run: {problem}.", "The same command goes on.")
    rows = [
        rate_row(
            f"{arm}: {kind}",
            sum(result.tallies[arm][kind][0] for result in results),
            sum(result.tallies[arm][kind][1] for result in results),
        )
        for arm in ARMS
        for kind in ONE_THING
    ]
    document = {
        "bench": "pointer-hits",
        "settings": asdict(work[0]) | {"seed": None},
        "seeds": [job.seed for job in work],
        "machine": machine(),
        "rows": rows,
        "gains": [gain_row(kind, results) for kind in ONE_THING],
        "cpu_min": {arm: [round(result.cpu_s[arm] / 60.0, 2) for result in results] for arm in ARMS},
        "wall_s": round(time.monotonic() - began, 1),
    }
    publish(document, _report, as_json)
    return 0


def _report(document: Mapping[str, Any]) -> str:
    lines = [format_rows(document["rows"]), "hits over control, percentage points (95 % t interval over seeds):"]
    for row in document["gains"]:
        interval = "" if row["low"] is None else f" ({row['low']} .. {row['high']})"
        lines.append(f"  {row['name']}: {row['points']}{interval}; by seed {', '.join(map(str, row['seeds']))}")
    minutes = "; ".join(f"{arm} {', '.join(map(str, spent))}" for arm, spent in document["cpu_min"].items())
    return "\n".join([*lines, f"processor minutes by seed: {minutes}", f"{document['wall_s']} s"])
