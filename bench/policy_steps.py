"""`toolhand bench steps`: how far a step of RL gets, by the advantages that it is made of.

A step of N groups of rollouts, as long as changes the policy by a given divergence, gains in reward, to first order and
on average over all groups i and others j that one policy has drawn,

    gain = length . mean_ij( judge_i . g_j ) / sqrt(E |mean of N of g|^2)

g_j is the gradient by the advantages in question, judge_i = sum_t (R - mean of the rest of the group) grad log pi(t)
the plain gradient of the reward, whatever advantages the step was made of, and always of another task. The standard
error is the jackknife's over groups: each serves in many pairs, which therefore are not independent.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import tyro
from numpy.typing import NDArray

from agent_node.console.terminal import AsJson, say
from agent_node.policies.tiny.weights import TinyWeights, read_weights
from bench.stats import machine, publish
from tool_nodes.results import ErrorCode, ToolError
from tool_nodes.types import FloatArray
from training.advantages.grpo import members
from training.advantages.steps import ScoredRollout
from training.rewards.stages import WEIGHTS
from training.rollouts.credit import credited
from training.rollouts.record import RolloutRecord
from training.trainer.critic import LinearCritic, means_of_others
from training.trainer.objective import mismatch_of, turn_advantages
from training.trainer.privileged import with_truths
from training.trainer.reading import records_of_folder
from training.trainer.rows import Floats, Row
from training.trainer.settings import PolicySettings

if TYPE_CHECKING:
    from training.trainer.learner import Learner

ADVANTAGES: Mapping[str, PolicySettings] = {
    "GRPO": PolicySettings(),
    "GRPO, not divided": PolicySettings(with_std=False),
    "OR-GIGPO as printed": PolicySettings(advantages="or_gigpo"),
    "OR-GIGPO, answered": PolicySettings(advantages="or_gigpo", anchor="answered"),
    "OR-GIGPO, answered, not divided, gamma 1": PolicySettings(
        advantages="or_gigpo", anchor="answered", with_std=False, gamma=1.0
    ),
    "GAE, lambda 1": PolicySettings(advantages="gae", gae_lambda=1.0),
    "GAE, lambda 0.9": PolicySettings(advantages="gae", gae_lambda=0.9),
    "GAE, lambda 0.5": PolicySettings(advantages="gae", gae_lambda=0.5),
    "GAE, lambda 0": PolicySettings(advantages="gae", gae_lambda=0.0),
}
"""What is compared; the critic of GAE is fitted on all groups but a rollout's own."""
LEAST_GROUPS = 4
"""Groups from which on there is a standard error [-]."""
PROBES = 64
"""Rollouts on which the divergence of a step is measured [-]; chosen by hand: some thousand tokens."""
TRIAL = 0.03
"""Norm of the step whose divergence is measured [-]: that of others is taken to grow as the square of their norm."""


def bench_steps(
    folders: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="DIR")],
    weights: Path,
    groups: int = 20,
    kl: float = 0.004,
    as_json: AsJson = False,
) -> int:
    """Measure how far a step of RL gets, by the advantages that it is made of, on rollouts of one policy.

    Args:
        folders: Rollouts, as they were collected, all drawn by these weights at temperature 1.
        weights: Of the small policy that drew them.
        groups: Of a step.
        kl: Divergence of a step [nat a token].
    """
    if groups < 1 or not 0 < kl < 1:
        raise ToolError(ErrorCode.INVALID_ARGUMENT, "groups must be 1 or more, and kl above 0 and below 1.")
    began = time.monotonic()
    drawn = _Drawn.read(folders, read_weights(weights))
    if len(drawn.groups) < LEAST_GROUPS:
        raise ToolError(
            ErrorCode.INVALID_ARGUMENT, f"These are {len(drawn.groups)} groups: it takes {LEAST_GROUPS} or more."
        )
    document = {
        "bench": "steps", "machine": machine(), "seeds": [], "rollouts": len(drawn.rows),
        "groups": len(drawn.groups), "groups_a_step": groups, "kl": kl, "rows": drawn.compared(groups, kl),
        "wall_s": round(time.monotonic() - began, 1),
    }  # fmt: skip
    publish(document, _report, as_json)
    return 0


@dataclass(frozen=True, eq=False)
class _Drawn:
    """Rollouts of one policy, and their groups by index."""

    weights: TinyWeights
    learner: Learner
    rows: list[Row]
    records: list[RolloutRecord]
    rollouts: list[ScoredRollout]
    groups: list[list[int]]

    @classmethod
    def read(cls, folders: Sequence[Path], weights: TinyWeights) -> _Drawn:
        from training.trainer.learner import Learner

        learner = Learner(weights, PolicySettings())
        rows, records, rollouts = list[Row](), list[RolloutRecord](), list[ScoredRollout]()
        for number, folder in enumerate(folders):
            pairs, bad = records_of_folder(folder, weights)
            for why, count in bad.items():
                say(f"{folder}: {count} left out: {why}")
            for record, row in pairs:
                scored = credited(record, WEIGHTS)
                rows.append(row)
                records.append(record)
                rollouts.append(replace(scored, prompt=f"{number} {record.group}"))
        if not rows:
            raise ToolError(ErrorCode.INVALID_ARGUMENT, "There are no rollouts of the small policy in these folders.")
        mismatch = mismatch_of(learner, rows)
        if not mismatch <= PolicySettings().largest_mismatch:
            raise ToolError(
                ErrorCode.INVALID_ARGUMENT,
                f"The rollouts were drawn by other weights: log-probabilities differ by {mismatch:.3g} a token.",
            )
        groups = [group for group in members([one.prompt for one in rollouts]) if len(group) > 1]
        return cls(weights, learner, rows, records, rollouts, groups)

    def compared(self, groups: int, kl: float) -> list[dict[str, Any]]:
        """A row of each kind of advantage, for steps of so many groups."""
        with tempfile.TemporaryDirectory() as folder:
            states = with_truths(self.learner.states(self.rows), self.records)
            values = LinearCritic(Path(folder)).values(0, states, self.rollouts)
        say("judge")
        rests = means_of_others(self.rollouts)
        judge = self._gradients(
            [np.full(len(one.turns), one.total - rest) for one, rest in zip(self.rollouts, rests, strict=True)]
        )
        rows = []
        for name, settings in ADVANTAGES.items():
            say(name)
            found, told = turn_advantages(self.rollouts, settings, values)
            steps = self._gradients(found)
            gain, error = _gain(judge @ steps.T, steps @ steps.T, groups)
            length = self._length(_direction(steps.sum(0)), kl)
            rows.append({"name": name, "n": len(steps), "gain": round(gain * length, 5),
                         "standard_error": round(error * length, 5), **told})  # fmt: skip
        return rows

    def _gradients(self, advantages: Sequence[FloatArray]) -> Floats:
        """(N, P): of each group, a mean rollout."""
        found = []
        for group in self.groups:
            rows = [self.rows[k].with_advantages(advantages[k]) for k in group]
            found.append(self.learner.policy_gradient(rows) / len(group))
        return np.stack(found)

    def _length(self, direction: Floats, kl: float) -> float:
        """How long a step in a direction of length 1 is that changes the policy by so much."""
        from training.trainer.learner import Learner

        moved, at = {}, 0
        for name, tensor in self.weights.tensors.items():
            part = direction[at : at + tensor.size].reshape(tensor.shape)
            moved[name] = (tensor + TRIAL * part).astype(np.float32)
            at += tensor.size
        probes = self.rows[:: max(1, len(self.rows) // PROBES)]
        other = Learner(replace(self.weights, tensors=moved), PolicySettings()).logprobs(probes)
        pairs = zip(probes, other, self.learner.logprobs(probes), strict=True)
        change = np.concatenate([(new - old)[row.sampled] for row, new, old in pairs])
        return TRIAL * float(np.sqrt(kl / max(float(np.mean(np.exp(change) - 1.0 - change)), 1e-12)))


def _gain(judged: Floats, steps: Floats, groups: int) -> tuple[float, float]:
    """(gain of a step of length 1, its standard error) by (N, N) products of judge and step, and of step and step."""

    def of(some: NDArray[np.intp]) -> float:
        cross, own, count = judged[np.ix_(some, some)], steps[np.ix_(some, some)], len(some)
        others = (own.sum() - np.trace(own)) / (count * (count - 1))
        norm = (np.trace(own) / count + (groups - 1) * others) / groups
        mean = (cross.sum() - np.trace(cross)) / (count * (count - 1))
        return float(mean / np.sqrt(max(norm, 1e-24)))

    every = np.arange(len(judged))
    without = np.array([of(np.delete(every, k)) for k in every])
    return of(every), float(np.sqrt((len(every) - 1) * without.var()))


def _direction(step: Floats) -> Floats:
    return step / max(float(np.linalg.norm(step)), 1e-12)


def _report(document: Mapping[str, Any]) -> str:
    lines = [
        f"{document['rollouts']} rollouts in {document['groups']} groups; steps of {document['groups_a_step']} groups, "
        f"{document['kl']:g} nat a token",
        f"{'advantages':34}{'groups':>7}{'gain in reward':>18}   standard error",
    ]
    for row in document["rows"]:
        more = f"   {row['explained']:.0%} of the variance explained" if "explained" in row else ""
        lines.append(f"{row['name']:34}{row['n']:>7}{row['gain']:>+18.4f}   {row['standard_error']:.4f}{more}")
    return "\n".join([*lines, f"{document['machine']['cpu']}; {document['wall_s']} s"])
