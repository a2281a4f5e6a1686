"""Rejection sampling: a model plays tasks itself, and what was right becomes rows that it learns from.

    .engines/trl/bin/python -m toolhand.training.adapters.rejection FOLDER

FOLDER/settings.json   a document of `EpisodeSettings`, with 2 or more workers
FOLDER/rows.jsonl      a row of each episode that was right, as `toolhand.training.adapters.sft_on_trl` reads them
FOLDER/data.json       {"episodes": played, "right": of these, "broken": of these}; written last

Tasks, seeds and sampling are those of `toolhand.training.adapters.grpo_on_trl` with the same settings: what GRPO gains
over this is not the episodes.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from toolhand.tool_nodes.files import write_whole
from toolhand.tool_nodes.results import invalid
from toolhand.training.adapters.environments import require_engine, run_stage
from toolhand.training.adapters.own_episodes import EpisodeSettings, OwnEpisode, OwnEpisodeJob, OwnEpisodes, as_rollout
from toolhand.training.adapters.sft_on_trl import DATA, NOT_LEARNED, ROWS, read_settings


def sample_rows(folder: Path) -> dict[str, int]:
    """Play what a folder describes; what data.json says.

    Raises:
        ToolError: UNAVAILABLE where this Python lacks TRL's environment; INVALID_ARGUMENT where the settings are bad.
    """
    settings = read_settings(folder, EpisodeSettings)
    if settings.workers < 2:
        raise invalid(f"workers must be 2 or more, got {settings.workers}.")
    with require_engine("trl"):
        import peft  # noqa: F401
    tasks = settings.tasks()
    jobs = [OwnEpisodeJob(task, which) for task in tasks for which in range(settings.group_size)]
    with OwnEpisodes(settings) as episodes:
        played = episodes.in_processes(jobs, settings.adapter)
    lines = [json.dumps(row_of_episode(episode)) for episode in played if episode.right]
    write_whole(folder / ROWS, "".join(f"{line}\n" for line in lines).encode())
    broken = sum(episode.reward is None for episode in played)
    made = {"episodes": len(played), "right": len(lines), "broken": broken}
    write_whole(folder / DATA, f"{json.dumps(made)}\n".encode())
    return made


def row_of_episode(episode: OwnEpisode) -> dict[str, list[int]]:
    """An episode as a row: what the model wrote is learned."""
    prompt, completion, _, mask = as_rollout(episode.turns, 0)
    learned = [token if own else NOT_LEARNED for token, own in zip(completion, mask, strict=True)]
    return {"input_ids": [*prompt, *completion], "labels": [NOT_LEARNED] * len(prompt) + learned}


if __name__ == "__main__":
    run_stage(lambda: json.dumps(sample_rows(Path(sys.argv[1]))))
