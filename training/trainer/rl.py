"""RL of the tiny policy in physics: rollouts by the engine of `training.rollouts`, credit by stages, and updates.

    weights = reinforce(weights, lambda iteration: RolloutPlan(...), ReinforceSettings(), Path("runs/rl"), seed=0)

Each iteration writes the weights to a file, collects the rollouts of a plan with the policy `tiny:FILE` at temperature
1, gives each turn its credit (`training.rollouts.credit`), compares the rollouts of each task, and learns from them.
It goes on from the checkpoint of the last iteration and from rollouts that were collected since; the same weights,
plans, settings and seed give the same numbers.

| what happens | what becomes of it |
|---|---|
| a rollout is dropped by the engine, or cannot be read as a row | counted in the log, never trained on |
| the groups of many iterations are all alike, or call no tool | a stop in one sentence; the weights before are kept |
| a loss that is no number, rows that other weights sampled | the same |
| a kill, a full disk | the same command goes on |
"""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from agent_node.policies.tiny.weights import TinyWeights, write_weights
from tool_nodes.results import ErrorCode, ToolError
from training.rewards.stages import WEIGHTS
from training.rollouts.credit import credited
from training.rollouts.engine import CollectReport, collect
from training.rollouts.options import StopRules, WorkerOptions
from training.rollouts.plan import RolloutPlan
from training.rollouts.record import RolloutRecord
from training.trainer.checkpoint import identity_of, resumed, save
from training.trainer.log import POLICY, RunLog, RunReport, write_report, written_to
from training.trainer.objective import turn_advantages, update
from training.trainer.progress import Progress
from training.trainer.reading import records_of_folder
from training.trainer.sequences import TokenSequence
from training.trainer.settings import ReinforceSettings

if TYPE_CHECKING:
    from training.trainer.learner import Learner

PlanOfIteration = Callable[[int], RolloutPlan]
"""The plan of an iteration, from 0: tasks, seed, world, reward and so on; policy, temperature and group are the
trainer's."""

_PANELS = {
    "success, reward": ("success", "reward"),
    "divergence [nat]": ("approx_kl", "entropy"),
    "groups": ("zero_variance", "no_tool_calls"),
}


def reinforce(
    weights: TinyWeights, plan_of_iteration: PlanOfIteration, settings: ReinforceSettings, folder: Path, seed: int
) -> TinyWeights:
    """Train by RL; goes on where a killed run of the same training was.

    Args:
        weights: Where it begins, e.g. after SFT.
        plan_of_iteration: Plan of the rollouts of each iteration; the same number has to give the same plan.
        settings: Settings that decide the steps.
        folder: For rollouts, checkpoint, log, weights, curves and report.
        seed: Seed of the order in which rollouts are learned from.

    Returns:
        The weights after the last iteration, which are in the folder as well.

    Raises:
        ToolError: UNAVAILABLE without torch, or where rollouts cannot be written; EXECUTION_FAILED where the rollouts
            call no tools any more, the groups are all alike, or too many are dropped; INTERNAL for a loss that is no
            number; INVALID_ARGUMENT where rollouts do not fit the weights, the folder holds another training or a
            damaged checkpoint, or it cannot be written.
    """
    from training.trainer.learner import Learner

    learner = Learner(weights, settings)
    identity = identity_of(settings, seed, weights)
    log = resumed(learner, folder, identity)
    progress = Progress("RL iteration", settings.iterations)
    progress.values += [row["success"] for row in log.rows]
    try:
        for iteration in range(len(log.rows), settings.iterations):
            _check_stop_rules(log, settings)
            rng = np.random.default_rng([seed, 63, iteration])
            row = _iteration(learner, plan_of_iteration(iteration), settings, folder, iteration, rng, progress)
            save(learner, log, identity, row)
            _saved(learner, folder / POLICY, f"RL, {iteration + 1} iterations, seed {seed}")
            _prune_rollouts(folder, iteration, settings.keep)
            line = (
                f"success {row['success']:.0%}, reward {row['reward']:.2f}, approx_kl {row.get('approx_kl', 0.0):.4f}"
            )
            progress.over(iteration + 1, row["success"], line)
    finally:
        log.close()
        if log.rows:
            write_report(log, _report(log, learner, settings, seed))
    return _saved(learner, folder / POLICY, f"RL, {settings.iterations} iterations, seed {seed}")


@dataclass
class _Drawn:
    """What was drawn in an iteration."""

    report: CollectReport
    records: list[RolloutRecord]
    sequences: list[TokenSequence]
    left_out: Counter[str]


def _iteration(
    learner: Learner,
    plan: RolloutPlan,
    settings: ReinforceSettings,
    folder: Path,
    iteration: int,
    rng: np.random.Generator,
    progress: Progress,
) -> dict[str, Any]:
    """Draw rollouts and learn from them; a line of the log."""
    began = time.monotonic()
    drawn = _draw(learner, plan, settings, _rollouts(folder, iteration), iteration, progress)
    collected = time.monotonic()
    if not drawn.sequences:
        why = drawn.left_out.most_common(1)[0][0] if drawn.left_out else "all were dropped"
        raise ToolError(
            ErrorCode.EXECUTION_FAILED, f"No rollout of iteration {iteration + 1} can be learned from: {why}."
        )
    scored = [credited(record, WEIGHTS) for record in drawn.records]
    advantages, metrics = turn_advantages(scored, settings)
    sequences = [own.with_advantages(values) for own, values in zip(drawn.sequences, advantages, strict=True)]
    read = time.monotonic()
    gone = iteration / max(settings.iterations - 1, 1)
    update_metrics = update(learner, sequences, settings, rng, 1.0 - gone * (1.0 - settings.min_lr_ratio))
    groups: dict[str, list[RolloutRecord]] = {}
    for rollout, record in zip(scored, drawn.records, strict=True):
        groups.setdefault(rollout.prompt, []).append(record)
    whole = [group for group in groups.values() if len(group) > 1]
    return {
        "iteration": iteration + 1,
        "success": float(np.mean([record.true_success for record in drawn.records])),
        "reward": float(np.mean([record.total for record in drawn.records])),
        "rollouts": len(drawn.records),
        "dropped": sum(drawn.report.dropped.values()),
        "left_out": sum(drawn.left_out.values()),
        "groups": len(whole),
        "zero_variance": sum(len({record.total for record in group}) == 1 for group in whole),
        "no_tool_calls": sum(not any(map(_calls, group)) for group in whole),
        "turns": float(np.mean([len(record.turns) for record in drawn.records])),
        "invalid_turns": float(np.mean([sum(bool(t.problem) for t in record.turns) for record in drawn.records])),
        "tokens": float(np.mean([sequence.sampled.sum() for sequence in sequences])),
        **metrics,
        **update_metrics,
        "rollouts_s": round(collected - began, 3),
        "reading_s": round(read - collected, 3),
        "update_s": round(time.monotonic() - read, 3),
    }


def _draw(
    learner: Learner, plan: RolloutPlan, settings: ReinforceSettings, folder: Path, iteration: int, progress: Progress
) -> _Drawn:
    """Collect the rollouts of an iteration, or what a killed run lacks of them, and read them."""
    file = folder / POLICY
    weights = _saved(learner, file, f"RL, before iteration {iteration + 1}")
    own = {**plan.settings, "temperature": 1.0}
    plan = replace(plan, policy=f"tiny:{file}", settings=own, group_size=settings.group_size)

    def seen(report: CollectReport) -> None:
        share = report.whole / max(report.planned, 1)
        line = f"rollouts {report.whole}/{report.planned}, success {report.true_success / max(report.whole, 1):.0%}"
        progress.during(iteration + 1, share, line)

    stops = StopRules(zero_variance=0, no_tool_calls=settings.stop_no_tool_calls)
    report = collect(
        plan,
        folder / "drawn",
        WorkerOptions(settings.workers, deadline_s=settings.deadline_s),
        stops=stops,
        progress=seen,
    )
    if report.cancelled:
        raise KeyboardInterrupt
    pairs, left_out = records_of_folder(folder / "drawn", weights)
    sampled = [(record, sequence) for record, sequence in pairs if sequence.logprobs.any()]
    if len(sampled) < len(pairs):
        left_out["It has no log-probabilities."] += len(pairs) - len(sampled)
    return _Drawn(report, [record for record, _ in sampled], [sequence for _, sequence in sampled], left_out)


def _check_stop_rules(log: RunLog, settings: ReinforceSettings) -> None:
    """Raises ToolError EXECUTION_FAILED where the newest groups had nothing to learn from, or called nothing."""
    for name, most, what in (
        ("zero_variance", settings.stop_zero_variance, "the rewards of each are all equal"),
        ("no_tool_calls", settings.stop_no_tool_calls, "no rollout has called a tool"),
    ):
        in_a_row = 0
        for row in reversed(log.rows):
            if not row["groups"] or row[name] < row["groups"]:
                break
            in_a_row += row["groups"]
        if 0 < most <= in_a_row:
            raise ToolError(
                ErrorCode.EXECUTION_FAILED,
                f"RL stopped before iteration {len(log.rows) + 1}: of the last {in_a_row} groups {what}. The mean "
                f"reward is {log.rows[-1]['reward']:.2f}.",
                f"The weights are in {log.folder / POLICY}.",
            )


def _calls(record: RolloutRecord) -> bool:
    return any(call.run for turn in record.turns for call in turn.calls)


def _rollouts(folder: Path, iteration: int) -> Path:
    return folder / "rollouts" / f"{iteration:04d}"


def _prune_rollouts(folder: Path, iteration: int, keep: int | None) -> None:
    """Delete the rollouts of old iterations."""
    if keep is not None and iteration >= keep:
        shutil.rmtree(_rollouts(folder, iteration - keep), ignore_errors=True)


def _saved(learner: Learner, path: Path, about: str) -> TinyWeights:
    weights = replace(learner.weights, about=about)
    with written_to(path.parent):
        write_weights(weights, path)
    return weights


def _report(log: RunLog, learner: Learner, settings: ReinforceSettings, seed: int) -> RunReport:
    rows = log.rows
    about: Mapping[str, Any] = {
        "seed": seed,
        "iterations": len(rows),
        "parameters": learner.parameters,
        "rollouts learned from": sum(row["rollouts"] for row in rows),
        "rollouts dropped": sum(row["dropped"] for row in rows),
        "rollouts that were no row": sum(row["left_out"] for row in rows),
        "seconds an iteration: rollouts, reading, update": ", ".join(
            f"{np.mean([row[name] for row in rows]):.1f}" for name in ("rollouts_s", "reading_s", "update_s")
        ),
    }
    return RunReport("RL of the small policy", about, asdict(settings), "iteration", _PANELS)
