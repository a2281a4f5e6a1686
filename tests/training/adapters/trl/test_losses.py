"""This project's losses beside those of TRL and transformers, on the same rows of one network.

The network is this project's; what is made of its log-probabilities, and the gradient of that, is computed twice.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import transformers
from datasets import Dataset
from torch import Tensor
from transformers.loss.loss_utils import ForCausalLMLoss
from trl import GRPOConfig, GRPOTrainer

from tests.random_qwen import byte_tokenizer, text_settings
from tests.training.adapters.toy import context_of, form_examples, toy_weights
from training.trainer.learner import Learner
from training.trainer.sequences import TokenBatch, TokenSequence
from training.trainer.settings import OptimiserSettings, PolicySettings

SAME = 1e-4
"""Largest difference of two losses [nat a token], and of two lengths of a gradient."""


def conversations(rng: np.random.Generator, count: int = 40) -> list[TokenSequence]:
    """Conversations of different lengths, each turn with an advantage of its own, sampled by another network."""
    other, rows = Learner(toy_weights(1), OptimiserSettings()), []
    for said in form_examples(0, count):
        row = TokenSequence.of(context_of(said, toy_weights(0).vocabulary))
        rows.append(row.with_advantages(rng.normal(size=len(row.spans))))
    known = other.logprobs(rows)
    return [
        TokenSequence(row.tokens, row.visual_features, row.sampled, row.advantages, logprobs)
        for row, logprobs in zip(rows, known, strict=True)
    ]


def scores(network: Any, batch: TokenBatch) -> tuple[Tensor, Tensor]:
    """Logits and their log-softmax of all next tokens, (B, L - 1, V), with a gradient."""
    hidden = network(torch.from_numpy(batch.tokens).long()[:, :-1], torch.from_numpy(batch.visual_features)[:, :-1])
    logits = network.logits(hidden)
    return logits, torch.log_softmax(logits, -1)


def of_targets(values: Tensor, batch: TokenBatch) -> Tensor:
    targets: Tensor = values.gather(-1, torch.from_numpy(batch.tokens).long()[:, 1:, None])[..., 0]
    return targets


def length_of_gradient(network: Any, loss: Tensor) -> float:
    network.zero_grad()
    loss.backward()
    return float(torch.stack([p.grad.norm() for p in network.parameters() if p.grad is not None]).norm())


@pytest.fixture(scope="module")
def trl_loss(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """TRL's loss of a batch by its settings: that of GRPOTrainer, told this project's log-probabilities."""
    tokenizer = byte_tokenizer()
    transformers.set_seed(0)
    base = tmp_path_factory.mktemp("base")  # TRL reads the model that it compares with from a folder
    transformers.Qwen2ForCausalLM(transformers.Qwen2Config(**text_settings(tokenizer))).save_pretrained(base)

    def computed(network: Any, reference: Any, batch: TokenBatch, settings: PolicySettings) -> Tensor:
        config = GRPOConfig(
            output_dir=str(tmp_path_factory.mktemp("trl")),
            report_to="none",
            use_cpu=True,
            bf16=False,
            loss_type="bnpo",
            epsilon=settings.clip_low,
            epsilon_high=settings.clip_high,
            beta=settings.kl_coef,
            entropy_coef=settings.entropy_coef,
            use_bias_correction_kl=False,
            per_device_train_batch_size=2,
            num_generations=2,
        )
        rows = Dataset.from_list([{"prompt": "a"}] * 2)
        trainer = GRPOTrainer(
            model=str(base), args=config, train_dataset=rows, processing_class=tokenizer, reward_funcs=lambda **_: []
        )
        trainer.model.eval()  # no part of a step that several parts make up
        _, everything = scores(network, batch)
        entropies = -(everything.exp() * everything).sum(-1)
        own = of_targets(everything, batch)
        trainer._get_per_token_logps_and_entropies = lambda *_, **__: (own, entropies, None)
        with torch.no_grad():
            before = of_targets(scores(reference, batch)[1], batch)
        sampled = torch.from_numpy(batch.sampled[:, 1:]).long()
        tokens = torch.from_numpy(batch.tokens).long()
        inputs = {
            "prompt_ids": tokens[:, :1],
            "prompt_mask": torch.ones_like(tokens[:, :1]),
            "completion_ids": tokens[:, 1:],
            "completion_mask": torch.ones_like(sampled),
            "tool_mask": sampled,
            "advantages": torch.from_numpy(batch.advantages[:, 1:]),
            "old_per_token_logps": torch.from_numpy(batch.logprobs[:, 1:]),
            "ref_per_token_logps": before,
            "num_items_in_batch": sampled.sum(),
        }
        loss: Tensor = trainer._compute_loss(trainer.model, inputs)
        return loss

    return computed


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"clip_low": 0.05, "clip_high": 0.4},
        {"kl_coef": 0.3},
        {"entropy_coef": 0.2},
        {"clip_low": 0.1, "clip_high": 0.28, "kl_coef": 0.1, "entropy_coef": 0.05},
    ],
)
def test_the_clipped_objective_and_its_gradient_are_those_of_trl(trl_loss: Any, settings: dict[str, float]) -> None:
    rng = np.random.default_rng(3)
    rows, asked = conversations(rng), PolicySettings(**settings)  # type: ignore[arg-type]
    learner = Learner(toy_weights(0), PolicySettings(optimiser="adamw", learning_rate=0.005))
    for _ in range(3):  # away from the reference
        learner.reinforce(rows[:8], PolicySettings())
    reference, own = (Learner(weights, OptimiserSettings()).network for weights in (toy_weights(0), learner.weights))
    theirs = trl_loss(own, reference, TokenBatch.of(rows), asked)
    length = length_of_gradient(own, theirs)
    ours = learner.reinforce(rows, asked)
    assert 0.05 < ours["clip_fraction"] < 0.95, "some are cut, and others are not"
    assert ours["loss"] == pytest.approx(theirs.item(), abs=SAME)
    assert ours["grad_norm"] == pytest.approx(length, abs=SAME)
    if asked.kl_coef:
        assert ours["reference_kl"] > 0.01, "it went away"


def test_the_loss_of_supervised_training_is_that_of_transformers() -> None:
    rows = [row.with_advantages(1.0) for row in conversations(np.random.default_rng(4))]
    learner = Learner(toy_weights(0), OptimiserSettings())
    batch = TokenBatch.of(rows)
    with torch.no_grad():
        logits, _ = scores(learner.network, batch)
    labels = torch.from_numpy(np.where(batch.sampled, batch.tokens, -100)).long()[:, 1:].contiguous()
    count = int(batch.sampled.sum())
    theirs = ForCausalLMLoss(
        logits, None, logits.shape[-1], num_items_in_batch=torch.tensor(count), shift_labels=labels
    )
    assert learner.supervise(rows)["loss"] == pytest.approx(theirs.item(), abs=SAME)
