"""Options of `toolhand bench dialogue`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from toolhand.agent_node.console.options import DEFAULT_BACKENDS, BackendOptions, Unprefixed
from toolhand.agent_node.console.terminal import AsJson
from toolhand.bench.options import BenchOptions


@dataclass(frozen=True)
class Options(BenchOptions):
    """Hold conversations of 2 to 6 utterances in physics; each is judged by the goal that its maker means.

    The exit status is 1 where success was claimed of what is not so, something moved that nobody asked for, or with
    `--over` a conversation did not end the same.

    Attributes:
        n: Conversations, 40 where left out; with `--said` so many of the sentences, all where left out.
        first_seed: Seed of the first conversation, which decides its first kind too.
        said: Sentences that were written by hand instead, each said once: `tuned` was there while the reader was made,
            `unseen`, `fresh`, `independent` and `voices` were measured before the kinds that failed were repaired,
            nothing was repaired for `unheard`; or a file of your own, as bench/dialogue/said.py says, that ends with
            .yaml.
        plan_reader: Who reads them: `learned`, `canonical`, or the spec of a policy to ask, such as openai:MODEL.
        undo: Deeds instead that are taken back, of each kind in turn; measured is how far off the object stands.
        over: Say each conversation twice instead, in process and over `mcp` or `ros`: what comes of it is the same.
        out: Folder for what came of each conversation; the same command goes on after a break.
        jobs: Processes.
    """

    WORK = "toolhand.bench.dialogue.command:BENCH"

    n: int | None = None
    first_seed: int = 0
    said: str = ""
    plan_reader: str = "learned"
    undo: int = 0
    over: Literal["", "mcp", "ros"] = ""
    backends: Unprefixed[BackendOptions] = DEFAULT_BACKENDS
    out: Path | None = None
    jobs: int = 1
    as_json: AsJson = False
