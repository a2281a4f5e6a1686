"""`toolhand data synth`: verified trajectories, a table of what became of every attempt, and a page."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import tyro

from toolhand.agent_node.console.options import Unprefixed
from toolhand.agent_node.console.terminal import AsJson, emit, say
from toolhand.training.data.synthesis.collecting import SynthesisPlan

_AS_DEFAULT = SynthesisPlan()


def data_synth(
    out: Annotated[Path, tyro.conf.arg(metavar="DIR")],
    plan: Unprefixed[SynthesisPlan] = _AS_DEFAULT,
    workers: int = 2,
    sample: int = 100,
    as_json: AsJson = False,
) -> int:
    """Make trajectories of a teacher as the papers do; only what the task itself calls right is kept.

    Ends when as many are kept as asked for. The same command goes on from where it was ended. Rejected ones lie apart,
    each with its reason. Any number of workers gives the same data.

    Args:
        out: Where they go: a new or empty folder, or one that the same command has begun.
        workers: Processes.
        sample: Trajectories that are shown on the page sample.html.
    """
    from toolhand.bench.stats import machine
    from toolhand.training.data.formats.export import show
    from toolhand.training.data.synthesis.collecting import collect_data
    from toolhand.training.data.synthesis.report import summary, table

    began = time.monotonic()

    def on_progress(kept: int, jobs: int) -> None:
        say(f"{kept} of {plan.n} kept, {jobs} jobs, {time.monotonic() - began:.0f} s")

    entries = collect_data(plan, out, workers, on_progress)
    page = out / "sample.html"
    shown, _ = show(out, page, sample, say)
    document: dict[str, Any] = {
        "data": "synth",
        "recipe": plan.recipe,
        "seed": plan.seed,
        "split": plan.split,
        "methods": list(plan.methods),
        "policy": plan.policy or "scripted",
        "workers": workers,
        "folder": str(out),
        "page": {"file": str(page), "rollouts": shown},
        "machine": machine(),
        **summary(entries),
        "wall_s": round(time.monotonic() - began, 1),
    }
    if as_json:
        emit(document)
    else:
        print(f"{table(document)}\n{out}: {document['accepted']} trajectories; {page}: {shown} of them")
        described = ", ".join(str(value) for value in document["machine"].values())
        print(f"{described}; {document['cpu_s']} s of processor time, {document['wall_s']} s with {workers} workers")
    return 0
