"""`toolhand bench steps`: how far a step of RL gets, by the advantages that it is made of.

Groups of rollouts of one policy are cut into blocks. Of each block a step is made, as long as changes the policy by a
given divergence; what it gains in reward is told, to first order, by the groups of all other blocks:

    gain = d . mean_others( sum_t (R - mean of the rest of its group) grad log pi(t) )

This judge is the plain gradient of the reward, whatever advantages the step was made of, and of other tasks.
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
from training.rewards.stages import WEIGHTS
from training.rollouts.credit import credited
from training.steps import ScoredRollout
from training.trainer.critic import LinearCritic, means_of_others
from training.trainer.objective import mismatch_of, turn_advantages
from training.trainer.reading import records_of_folder
from training.trainer.rows import Floats, Row
from training.trainer.settings import PolicySettings

if TYPE_CHECKING:
    from training.trainer.learner import Learner

ADVANTAGES: Mapping[str, PolicySettings] = {
    "GRPO": PolicySettings(),
    "GRPO, not divided": PolicySettings(with_std=False),
    "OR-GIGPO": PolicySettings(advantages="or_gigpo"),
    "OR-GIGPO, not divided, gamma 1": PolicySettings(advantages="or_gigpo", with_std=False, gamma=1.0),
    "GAE, lambda 1": PolicySettings(advantages="gae", gae_lambda=1.0),
    "GAE, lambda 0.9": PolicySettings(advantages="gae", gae_lambda=0.9),
    "GAE, lambda 0.5": PolicySettings(advantages="gae", gae_lambda=0.5),
    "GAE, lambda 0": PolicySettings(advantages="gae", gae_lambda=0.0),
}
"""What is compared; the critic of GAE is fitted on all groups but a rollout's own."""
PROBES = 64
"""Rollouts on which the divergence of a step is measured [-]; chosen by hand: some thousand tokens."""
TRIAL = 0.03
"""Norm of the step whose divergence is measured [-]: that of others is taken to grow as the square of their norm."""


def bench_steps(
    folders: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="DIR")],
    weights: Path,
    groups: int = 20,
    kl: float = 0.004,
    seed: int = 0,
    as_json: AsJson = False,
) -> int:
    """Measure how far a step of RL gets, by the advantages that it is made of, on rollouts of one policy.

    Args:
        folders: Rollouts, as they were collected, all drawn by these weights at temperature 1.
        weights: Of the small policy that drew them.
        groups: Of a step.
        kl: Divergence of a step [nat a token].
        seed: Of the blocks.
    """
    if groups < 1 or not 0 < kl < 1 or seed < 0:
        raise ToolError(
            ErrorCode.INVALID_ARGUMENT, "groups must be 1 or more, kl above 0 and below 1, and the seed 0 or more."
        )
    began = time.monotonic()
    drawn = _Drawn.read(folders, read_weights(weights))
    blocks = np.random.default_rng((seed, 71)).permutation(len(drawn.groups))[: len(drawn.groups) // groups * groups]
    if len(blocks) < 2 * groups:
        raise ToolError(
            ErrorCode.INVALID_ARGUMENT,
            f"{len(drawn.groups)} groups are no two blocks of {groups}.",
            "Collect more, or take smaller steps.",
        )
    rows = drawn.compared(blocks.reshape(-1, groups), kl)
    document = {
        "bench": "steps", "machine": machine(), "seeds": [seed], "rollouts": len(drawn.rows),
        "groups": len(drawn.groups), "groups_a_step": groups, "kl": kl, "rows": rows,
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
    rollouts: list[ScoredRollout]
    groups: list[list[int]]

    @classmethod
    def read(cls, folders: Sequence[Path], weights: TinyWeights) -> _Drawn:
        from training.trainer.learner import Learner

        learner = Learner(weights, PolicySettings())
        rows, rollouts = list[Row](), list[ScoredRollout]()
        for number, folder in enumerate(folders):
            pairs, bad = records_of_folder(folder, weights)
            for why, count in bad.items():
                say(f"{folder}: {count} left out: {why}")
            for record, row in pairs:
                scored = credited(record, WEIGHTS)
                rows.append(row)
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
        return cls(weights, learner, rows, rollouts, groups)

    def compared(self, blocks: NDArray[np.int64], kl: float) -> list[dict[str, Any]]:
        """A row of each kind of advantage; `blocks` (B, N) are indices of groups."""
        with tempfile.TemporaryDirectory() as folder:
            values = LinearCritic(Path(folder)).values(0, self.learner.states(self.rows), self.rollouts)
        say("judge")
        rests = means_of_others(self.rollouts)
        judge = self._gradients(
            blocks, [np.full(len(one.turns), one.total - rest) for one, rest in zip(self.rollouts, rests, strict=True)]
        )
        whole, rows = judge.sum(0), []
        size = blocks.shape[1]
        for name, settings in ADVANTAGES.items():
            say(name)
            found, told = turn_advantages(self.rollouts, settings, values)
            steps = self._gradients(blocks, found)
            gains = []
            for own, step in zip(judge, steps, strict=True):
                others = (whole - own) / (size * (len(blocks) - 1))
                direction = step / max(float(np.linalg.norm(step)), 1e-12)
                gains.append(float(others @ direction) * self._length(direction, kl))
            error = float(np.std(gains, ddof=1)) / len(gains) ** 0.5
            rows.append({"name": name, "n": len(gains), "gain": round(float(np.mean(gains)), 5),
                         "standard_error": round(error, 5), **told})  # fmt: skip
        return rows

    def _gradients(self, blocks: NDArray[np.int64], advantages: Sequence[FloatArray]) -> Floats:
        """(B, P): of each block, a group's mean rollout, summed over its groups."""
        found = []
        for block in blocks:
            total = np.zeros(0)
            for number in block:
                group = self.groups[int(number)]
                rows = [self.rows[k].with_advantages(advantages[k]) for k in group]
                own = self.learner.policy_gradient(rows) / len(group)
                total = own if not len(total) else total + own
            found.append(total)
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


def _report(document: Mapping[str, Any]) -> str:
    lines = [
        f"{document['rollouts']} rollouts in {document['groups']} groups; steps of {document['groups_a_step']} groups, "
        f"{document['kl']:g} nat a token (seed {document['seeds'][0]})",
        f"{'advantages':34}{'steps':>6}{'gain in reward':>18}   standard error",
    ]
    for row in document["rows"]:
        more = f"   {row['explained']:.0%} of the variance explained" if "explained" in row else ""
        lines.append(f"{row['name']:34}{row['n']:>6}{row['gain']:>+18.4f}   {row['standard_error']:.4f}{more}")
    return "\n".join([*lines, f"{document['machine']['cpu']}; {document['wall_s']} s"])
