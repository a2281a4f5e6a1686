"""OR-GIGPO in verl 0.9: its synchronous trainer with the advantages of `toolhand.training.advantages.gigpo`.

    VERL_USE_EXTERNAL_MODULES=toolhand.training.adapters.on_verl_trainer python -m verl.trainer.main_ppo \
        trainer.v1.trainer_mode=or_gigpo_sync algorithm.adv_estimator=grpo ...

Importing this needs verl. The rollouts are those of `toolhand.training.adapters.on_verl`, which carry their turns. verl
gives an advantage estimator rewards, masks and group names alone, so a trainer of our own reads the turns where verl
keeps them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from toolhand.tool_nodes.results import invalid
from toolhand.training.adapters.environments import require_engine
from toolhand.training.adapters.turns import TokenRollout, or_gigpo_tokens

with require_engine("verl"):
    import torch
    import transfer_queue as tq
    from tensordict import TensorDict
    from verl.trainer.ppo.v1 import PPOTrainerSync, register_trainer

    from toolhand.training.adapters import on_verl  # noqa: F401 - registers the agent loops

MODE = "or_gigpo_sync"
"""`trainer.v1.trainer_mode` of this trainer; `+trainer.v1.or_gigpo_sync.omega=1.0` and the like set its arguments."""


@register_trainer(MODE)
class OrGigpoTrainer(PPOTrainerSync):  # type: ignore[misc, unused-ignore]
    """verl's synchronous trainer; each token of the policy has the advantage of its turn.

    Everything else is verl's: KL to a reference, importance weights and rejection of what was sampled too differently.

    Raises:
        ToolError: INVALID_ARGUMENT with a critic, or a KL penalty inside the reward: both need rewards of tokens.
    """

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        if self.use_critic or self.config.algorithm.use_kl_in_reward:
            raise invalid(
                "OR-GIGPO compares whole turns: set algorithm.adv_estimator=grpo and algorithm.use_kl_in_reward=False."
            )

    def _build_replay_buffer(self) -> Any:
        # verl tells its synchronous trainer by this name alone; any other would get the buffer for late rollouts.
        self.trainer_mode = "sync"
        return super()._build_replay_buffer()

    def _compute_advantage(self, batch: Any, metrics: dict[str, Any]) -> Any:
        batch = super()._compute_advantage(batch, metrics)
        settings = dict(self.config.trainer.v1.get(MODE, {}) or {})
        tokens, found = credited(batch, settings)
        tq.kv_batch_put(keys=batch.keys, partition_id=batch.partition_id, fields=tokens)
        metrics.update(found)
        return batch


def credited(batch: Any, settings: dict[str, Any]) -> tuple[TensorDict, dict[str, float]]:
    """The advantages of a batch.

    Args:
        batch: Keys in TransferQueue; rows of padding have no advantage.
        settings: See `toolhand.training.adapters.turns.or_gigpo_tokens`.

    Returns:
        `advantages` and `returns`, nested, a row each; and what is worth logging.

    Raises:
        ToolError: INVALID_ARGUMENT for rollouts without turns, e.g. of another agent loop.
    """
    fields = ["uid", "response_mask", "rm_scores", "extra_fields"]
    data = tq.kv_batch_get(keys=batch.keys, partition_id=batch.partition_id, select_fields=fields)
    lengths = data["response_mask"].offsets().diff().tolist()
    totals = [float(row.sum()) for row in data["rm_scores"].unbind()]
    carried, uids = plain(data["extra_fields"]), plain(data["uid"])
    real = [k for k, tag in enumerate(batch.tags) if not tag.get("is_padding", False)]
    if any(not (carried[k] or {}).get("turns") for k in real):
        raise invalid("OR-GIGPO needs rollouts that carry their turns: set agent_name to toolhand.")
    rollouts = [TokenRollout(str(uids[k]), carried[k]["turns"], totals[k], lengths[k]) for k in real]
    values, found = or_gigpo_tokens(rollouts, settings)
    rows = [torch.zeros(length, dtype=torch.float32) for length in lengths]
    for k, value in zip(real, values, strict=True):
        rows[k] = torch.from_numpy(value.astype(np.float32))
    nested = torch.nested.as_nested_tensor(rows, layout=torch.jagged)
    described = {
        "or_gigpo/credited_turns": found.share_of_credited_turns,
        "or_gigpo/turns": float(np.mean([len(rollout.turns) for rollout in rollouts])) if rollouts else 0.0,
    }
    return TensorDict({"advantages": nested, "returns": nested.clone()}, batch_size=len(rows)), described


def plain(values: Any) -> list[Any]:
    """A column that holds no tensors as a list: TransferQueue's backends give lists, stacks or arrays."""
    return values.tolist() if hasattr(values, "tolist") else list(values)
