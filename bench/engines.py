"""`toolhand bench engines`: our own trainer and TRL's on the same toy, in one run, in TRL's environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from agent_node.console.terminal import AsJson
from bench.stats import machine, publish
from tool_nodes.results import ErrorCode, ToolError
from training.adapters.toy_on_trl import train_toy_on_trl
from training.trainer.toy import TOY_GROUP, train_toy


def bench_engines(iterations: int = 10, groups: int = 8, seed: int = 0, as_json: AsJson = False) -> int:
    """Train the toy of two turns by our own loop and by TRL's: sampled tokens a second, time of an iteration.

    Run it in TRL's environment: .engines/trl/bin/toolhand bench engines. One thread each.

    Args:
        iterations: Of RL, each with new rollouts and two updates.
        groups: Of eight episodes each, in an iteration.
        seed: Of tasks, weights and sampling.
    """
    if iterations < 1 or groups < 1:
        raise ToolError(ErrorCode.INVALID_ARGUMENT, "iterations and groups must be 1 or more.")
    os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    theirs = train_toy_on_trl(seed, iterations, groups)
    ours = train_toy(seed, iterations=iterations, groups=groups)
    rows = [
        {
            "name": name,
            "n": iterations * groups * TOY_GROUP,
            "tokens_s": round(run.tokens_s, 1),
            "step_s": round(run.step_s, 3),
        }
        for name, run in (("own trainer", ours), ("trl", theirs))
    ]
    document = {"bench": "engines", "machine": machine(), "seeds": [seed], "rows": rows}
    publish(document, _report, as_json)
    return 0


def _report(document: Mapping[str, Any]) -> str:
    rows = (f"{r['name']:14}{r['tokens_s']:10.1f} tokens/s{r['step_s']:10.3f} s an iteration" for r in document["rows"])
    return "\n".join([*rows, document["machine"]["cpu"]])
