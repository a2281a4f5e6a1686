"""Tasks as prompts for reinforcement learning: Parquet with the images inside.

A row has the columns that verl's data set reads, and what stands for the task, from which Toolhand's agent loop makes
the episode:

    {"data_source", "agent_name", "prompt": [{"role", "content"}, ...], "images": [image, ...],
     "reward_model": {"style", "ground_truth"}, "extra_info": {"index", "split", "seed", "task"}}

Each `<image>` of the contents stands for the next of `images`. `task` is JSON; `ground_truth` is empty, since the
episode scores itself. Shards are those of `toolhand.training.data.formats.shards`.
"""

from __future__ import annotations

import functools
import io
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from toolhand.agent_node.policies.chat import text_turns
from toolhand.agent_node.policy import Message
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.training.data.arrow import IMAGE, WORDS, listed, parquet_bytes, schema_of, table_of, value
from toolhand.training.data.formats.shards import ROWS, ShardWriter
from toolhand.training.data.formats.sharegpt import PLACEHOLDER, said
from toolhand.training.data.formats.writing import json_text
from toolhand.training.pool.workers import Workers
from toolhand.training.recipes.recipe import TrainingRecipe
from toolhand.training.rollouts.images import hash_of
from toolhand.training.rollouts.plan import RolloutPlan
from toolhand.training.tasks.kinds import task_document

ROWS_OF_A_SHARD = 64
"""Prompts of a shard [-]: an image of a shelf has megabytes."""


@dataclass(frozen=True, eq=False)
class TaskPrompt:
    """A task as a policy is given it.

    Attributes:
        index: Index of the task in its plan.
        seed: Seed of its station.
        task: The document that stands for it.
        messages: (role, content) each.
        images: Those of the contents, in order: SHA-256, see `toolhand.training.rollouts.images.hash_of`, and PNG
            file.
    """

    index: int
    split: str
    seed: int
    task: dict[str, Any]
    messages: tuple[tuple[str, str], ...]
    images: tuple[tuple[str, bytes], ...]


def tasks_of_kinds(
    recipe: TrainingRecipe, kinds: Sequence[str], count: int, seed: int, split: str
) -> tuple[dict[str, Any], ...]:
    """Documents of `count` tasks of a recipe's mix, each with a seed of its own from `seed` on.

    Args:
        kinds: Those of its kinds that are taken; all where empty.
        count: 1 or more.
        seed: Seed of the first candidate task.
    """
    found: list[dict[str, Any]] = []
    while len(found) < count:
        kind = recipe.kind(seed)
        if not kinds or kind in kinds:
            found.append(task_document(kind, seed, split))
        seed += 1
    return tuple(found)


class Prompter:
    """Makes prompts of a plan's tasks, one after the other, in one process.

    Raises:
        ToolError: As `Environment.open`.
    """

    def __init__(self, plan: RolloutPlan) -> None:
        self._plan = plan
        self._environment = plan.environment()

    def __call__(self, index: int) -> TaskPrompt:
        """What the policy reads first in the task of an index."""
        plan, document = self._plan, self._plan.tasks[index]
        seed = plan.station_seed(index)
        with self._environment.open(plan.task(index), seed) as session:
            messages, images = _contents(session.messages())
        return TaskPrompt(index, str(document["split"]), seed, dict(document), messages, images)

    def close(self) -> None:
        """End what the environment has started."""
        self._environment.close()


def prompts_of(plan: RolloutPlan, workers: int = 1) -> Iterator[TaskPrompt]:
    """What the policy reads first in each task of a plan, in order; any number of processes gives the same.

    Raises:
        ToolError: As `Environment.open`; INVALID_ARGUMENT without a worker.
    """
    if workers == 1:
        prompter = Prompter(plan)
        try:
            yield from map(prompter, range(len(plan.tasks)))
        finally:
            prompter.close()
        return
    ready: dict[int, TaskPrompt] = {}
    due = 0
    with Workers[int, TaskPrompt](functools.partial(Prompter, plan), workers) as pool:
        for end in pool.run(range(len(plan.tasks))):
            if end.result is None:
                raise end.problem or ToolError(ErrorCode.INTERNAL, f"The prompt of task {end.job} was not made.")
            ready[end.job] = end.result
            while due in ready:
                yield ready.pop(due)
                due += 1


def _contents(conversation: Sequence[Message]) -> tuple[tuple[tuple[str, str], ...], tuple[tuple[str, bytes], ...]]:
    turns = text_turns(conversation)
    return (
        tuple(
            (turn.role, "".join(said(part) if isinstance(part, str) else PLACEHOLDER for part in turn.parts))
            for turn in turns
        ),
        tuple((hash_of(part), _png(part)) for turn in turns for part in turn.parts if not isinstance(part, str)),
    )


def write_prompts(prompts: Iterable[TaskPrompt], folder: Path, source: str, agent: str) -> list[str]:
    """Write prompts.

    Args:
        prompts: One or more; a shard of them is held in memory.
        folder: Where the shards go.
        source: Names the data in verl's logs.
        agent: Name of the agent loop.

    Returns:
        The Parquet files, relative to the folder.

    Raises:
        ToolError: UNAVAILABLE without pyarrow or on a full disk; INVALID_ARGUMENT where the folder holds something.
    """
    schema = _schema()
    writer = ShardWriter(folder, "verl-prompts-parquet", "parquet")
    left = iter(prompts)
    while block := list(itertools.islice(left, ROWS_OF_A_SHARD)):
        rows = [_row(prompt, source, agent) for prompt in block]
        writer.write(parquet_bytes([table_of(rows, schema)]), len(block))
    writer.finish({})
    return [f"{ROWS}/{entry.file}" for entry in writer.entries]


def _row(prompt: TaskPrompt, source: str, agent: str) -> dict[str, Any]:
    return {
        "data_source": source,
        "agent_name": agent,
        "prompt": [{"role": role, "content": content} for role, content in prompt.messages],
        "images": [{"bytes": png, "path": f"{name}.png"} for name, png in prompt.images],
        "reward_model": {"style": "rule", "ground_truth": ""},
        "extra_info": {
            "index": prompt.index,
            "split": prompt.split,
            "seed": prompt.seed,
            "task": json_text(prompt.task),
        },
    }


def _png(rgb: NDArray[np.uint8]) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(rgb).save(buffer, format="PNG", compress_level=1)
    return buffer.getvalue()


def _schema() -> Any:
    """The columns."""
    return schema_of(
        {
            "data_source": WORDS,
            "agent_name": WORDS,
            "prompt": listed({"role": WORDS, "content": WORDS}),
            "images": listed(IMAGE),
            "reward_model": {"style": WORDS, "ground_truth": WORDS},
            "extra_info": {"index": value("int64"), "split": WORDS, "seed": value("int64"), "task": WORDS},
        }
    )
