"""`toolhand bench trainer`: how fast the trainer samples and learns, on the toy and with the policy's own size."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from agent_node.console.terminal import AsJson, say
from agent_node.policies.tiny.context import TinyContext
from agent_node.policies.tiny.eyes import EYE_WIDTH
from agent_node.policies.tiny.vocabulary import END
from agent_node.policies.tiny.weights import fresh_weights
from bench.stats import machine, publish
from tool_nodes.results import ErrorCode, ToolError
from training.trainer.rows import Row
from training.trainer.settings import PolicySettings
from training.trainer.toy import TOY_GROUP, train_toy

TURNS = 8
"""Turns of a conversation of the policy's own size [-]: a pick and place."""
TURN = 6
"""Tokens that are sampled a turn [-], about those of a move."""
ANSWER = 16
"""Tokens that are read after each turn [-]: a picture's, and what tools say."""
TOY_STEPS = 3
"""Iterations on the toy that are timed [-]."""


def bench_trainer(rows: int = 64, steps: int = 3, seed: int = 0, as_json: AsJson = False) -> int:
    """Time sampling with kept keys, a step of SFT and one of RL, and the toy's loop beside them; nothing is learned.

    Args:
        rows: Conversations at once.
        steps: Of SFT and of RL.
        seed: Of weights and tokens.
    """
    if min(rows, steps) < 1 or seed < 0:
        raise ToolError(ErrorCode.INVALID_ARGUMENT, "rows and steps must be 1 or more, and the seed 0 or more.")
    say("sampling")
    cpu = time.process_time()
    sampled, sampling_s, learned = _sampled(rows, seed)
    sampling_cpu_s = time.process_time() - cpu
    say("learning")
    timed = _learned(learned, steps)
    say("the toy")
    toy = train_toy(seed, iterations=TOY_STEPS)
    document = {
        "bench": "trainer",
        "machine": machine(),
        "seeds": [seed],
        "rows": rows,
        "tokens_a_row": len(learned[0]),
        "sampled_tokens": sampled,
        "sampled_tokens_s": round(sampled / sampling_s, 1),
        "sampling_s": round(sampling_s, 3),
        "sampling_cpu_s": round(sampling_cpu_s, 3),
        **{name: round(value, 4) for name, value in timed.items()},
        "toy": {
            "rollouts": 8 * TOY_GROUP,
            "grpo_step_s": round(toy.step_s, 4),
            "sampled_tokens_s": round(toy.tokens_s, 1),
        },
    }
    publish(document, _report, as_json)
    return 0


def _sampled(count: int, seed: int) -> tuple[int, float, list[Row]]:
    """Tokens of conversations of the policy's size that were sampled, the time that took [s], and their rows."""
    from training.trainer.network import TinyTransformer, chosen_device
    from training.trainer.sampler import CachedSampler

    weights = fresh_weights(seed)
    vocabulary = weights.vocabulary
    network = TinyTransformer.from_weights(weights).to(chosen_device("auto"))
    sampler = CachedSampler(network, vocabulary.id(END), TURN)
    sampler.arrange([-1] * count)
    rng = np.random.default_rng(seed)
    rngs = [np.random.default_rng((seed, k)) for k in range(count)]
    contexts = [TinyContext(*_heard(rng, len(vocabulary))) for _ in range(count)]
    logprobs: list[list[float]] = [[] for _ in range(count)]
    began = time.perf_counter()
    for turn in range(TURNS):
        for k, said in enumerate(sampler.turns(contexts, rngs)):
            parts = [(np.array(said.tokens, np.int32), np.zeros((len(said.tokens), EYE_WIDTH), np.float32),
                      np.ones(len(said.tokens), bool))]  # fmt: skip
            parts += [_heard(rng, len(vocabulary))] if turn < TURNS - 1 else []
            old = (contexts[k].tokens, contexts[k].eyes, contexts[k].sampled)
            contexts[k] = TinyContext(*(np.concatenate(both) for both in zip(old, *parts, strict=True)))
            logprobs[k] += said.logprobs
    spent = time.perf_counter() - began
    rows = [Row.of(context, known) for context, known in zip(contexts, logprobs, strict=True)]
    return sampler.tokens_sampled, spent, rows


def _heard(rng: np.random.Generator, tokens: int) -> tuple[Any, Any, Any]:
    """What an operator or a tool says: tokens, eyes, and that none of it was sampled."""
    return (
        rng.integers(tokens, size=ANSWER).astype(np.int32), np.zeros((ANSWER, EYE_WIDTH), np.float32),
        np.zeros(ANSWER, bool),
    )  # fmt: skip


def _learned(rows: list[Row], steps: int) -> dict[str, float]:
    """Wall and processor time [s] of a step of SFT and of RL, of 24 and of 32 rows."""
    from training.trainer.learner import Learner

    settings = PolicySettings()
    learner = Learner(fresh_weights(0), settings)
    given = [row.with_advantages(1.0 if k % 2 else -1.0) for k, row in enumerate(rows)]

    def timed(name: str, act: Any) -> dict[str, float]:
        began, cpu = time.perf_counter(), time.process_time()
        for _ in range(steps):
            act()
        spent = time.perf_counter() - began, time.process_time() - cpu
        return {f"{name}_s": spent[0] / steps, f"{name}_cpu_s": spent[1] / steps}

    return {
        "parameters": float(learner.parameters),
        **timed("sft_step", lambda: learner.supervise(rows[:24])),
        **timed("rl_step", lambda: learner.reinforce(given[:32], settings)),
    }


def _report(document: Mapping[str, Any]) -> str:
    toy = document["toy"]
    return "\n".join(
        [
            f"{document['rows']} conversations of {document['tokens_a_row']} tokens, {document['parameters']:.0f} "
            f"parameters (seed {document['seeds'][0]})",
            f"sampled {document['sampled_tokens']} tokens at {document['sampled_tokens_s']:.0f} a second "
            f"(processor time {document['sampling_cpu_s']:.2f} s)",
            f"a step of SFT, 24 rows: {document['sft_step_s']:.2f} s (processor {document['sft_step_cpu_s']:.2f}); of "
            f"RL, 32 rows: {document['rl_step_s']:.2f} s (processor {document['rl_step_cpu_s']:.2f})",
            f"the toy: {toy['grpo_step_s']:.3f} s an iteration of GRPO with {toy['rollouts']} rollouts, "
            f"{toy['sampled_tokens_s']:.0f} tokens a second",
            f"{document['machine']['cpu']}, {document['machine']['cores']} cores",
        ]
    )
