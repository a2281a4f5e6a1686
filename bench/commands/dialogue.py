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
    """Say sentences that people wrote to a robot in physics; each is judged by the meaning that was written beside it.

    The exit status is 1 where success was claimed of what is not so, something moved that nobody asked for, or with
    `--over` a talk did not end the same.

    Attributes:
        n: So many of the sentences, all where left out; with `--over` talks, 12 where left out.
        said: The list: `tuned` was there while the reader was made, `unseen`, `fresh`, `independent` and `voices` were
            measured before the kinds that failed were repaired, nothing was repaired for `unheard`; or a file of your
            own, as bench/dialogue/said.py says, that ends with .yaml.
        plan_reader: Who reads them: `learned`, `canonical`, or the spec of a policy to ask, such as openai:MODEL.
        undo: Take back what was done as meant; measured is how far off the object stands.
        over: Say talks of the list twice instead, in process and over `mcp` or `ros`: what comes of it is the same.
        out: Folder for what came of each sentence; the same command goes on after a break.
        jobs: Processes.
    """

    WORK = "toolhand.bench.dialogue.command:BENCH"

    n: int | None = None
    said: str = "voices"
    plan_reader: str = "learned"
    undo: bool = False
    over: Literal["", "mcp", "ros"] = ""
    backends: Unprefixed[BackendOptions] = DEFAULT_BACKENDS
    out: Path | None = None
    jobs: int = 1
    as_json: AsJson = False
