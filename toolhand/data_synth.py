"""`toolhand data synth`: verified trajectories, a table of what became of every attempt, and a page."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from agent_node.console.terminal import AsJson, emit, say


def data_synth(
    out: Annotated[Path, tyro.conf.arg(metavar="DIR")],
    n: int = 1000,
    recipe: Literal["dirl", "peria", "evic", "last", "mixed"] = "mixed",
    method: tuple[str, ...] = (),
    policy: str = "",
    workers: int = 2,
    seed: int = 0,
    split: Literal["train", "validation", "test"] = "train",
    sample: int = 100,
    as_json: AsJson = False,
) -> int:
    """Make trajectories of a teacher as the papers do; only what the task itself calls right is kept.

    Ends when as many are kept as asked for. The same command goes on from where it was ended. Rejected ones lie apart,
    each with its reason. Any number of workers gives the same data.

    Args:
        out: Where they go: a new or empty folder, or one that the same command has begun.
        n: So many that are kept.
        recipe: Methods of SpaceTools (dirl), PERIA, E-ViC, LAST, or shares of all.
        method: Names of methods of the recipe to use alone, e.g. points; all of them where it is left out.
        policy: Who does the tasks, such as openai:MODEL@URL; scripted teachers where it is left out. As the teacher of
            points it is offered the pointing tool alone.
        workers: Processes.
        seed: Decides everything.
        split: Split of the tasks; splits share no product that is asked for, no layout and no wording.
        sample: So many of them on the page sample.html.
    """
    from bench.stats import machine
    from training.data.formats.export import show
    from training.data.synthesis.collecting import SynthesisPlan, collect_data
    from training.data.synthesis.report import summary, table

    began = time.monotonic()

    def told(kept: int, jobs: int) -> None:
        say(f"{kept} of {n} kept, {jobs} jobs, {time.monotonic() - began:.0f} s")

    entries = collect_data(SynthesisPlan(recipe, n, seed, split, method, policy), out, workers, told)
    page = out / "sample.html"
    shown, _ = show(out, page, sample, say)
    document: dict[str, Any] = {
        "data": "synth",
        "recipe": recipe,
        "seed": seed,
        "split": split,
        "methods": list(method),
        "policy": policy or "scripted",
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
