"""What verl reads before a run: rows of its data set, its agent loops and its tools; no engine is needed to write them.

files = write_files(Path("run"), {"recipe": "dirl"}, tasks_of_recipe("dirl", 64))
# run/train.jsonl, run/agent_loops.yaml, run/tools.yaml
" ".join(overrides(files))          # for `python -m verl.trainer.main_ppo`
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from toolhand.agent_node.policies.chat import ToolNames
from toolhand.tool_nodes.files import write_whole
from toolhand.tool_nodes.results import unavailable
from toolhand.training.adapters.episodes import Episodes

LOOP, TOOL_LOOP = "toolhand", "toolhand_tools"
"""Names of the agent loops of `toolhand.training.adapters.on_verl`."""

_MODULE = "toolhand.training.adapters.on_verl"
_TOOL = f"{_MODULE}.SessionTool"
_CHARACTERS = 100_000
"""Longest answer of a tool that is not cut [characters], above any of ours."""


def row(task: Mapping[str, Any], index: int, seed: int = 0, agent: str = LOOP) -> dict[str, Any]:
    """Row `index` of the data set; `seed` is that of its station, `agent` the name of the agent loop."""
    words = f"{task['kind']} {task['seed']} of {task['split']}"
    return {
        "data_source": f"toolhand/{task['kind']}",
        "agent_name": agent,
        # verl measures and shows this; the conversation itself comes from the episode, images included.
        "prompt": [{"role": "user", "content": words}],
        "reward_model": {"style": "rule", "ground_truth": ""},
        "extra_info": {"index": index, "task": json.dumps(dict(task), sort_keys=True), "seed": seed},
    }


def agent_loops(settings: Mapping[str, Any], turn_tokens: int | None = None) -> list[dict[str, Any]]:
    """The document of `rollout.agent.agent_loop_config_path`, settings as of
    `toolhand.training.adapters.episodes.Episodes`."""
    settings = {name: list(value) if isinstance(value, tuple) else value for name, value in settings.items()}
    native = {name: value for name, value in settings.items() if name != "protocol"} | {"protocol": "native"}
    tools = {"name": TOOL_LOOP, "_target_": f"{_MODULE}.ToolEpisodeLoop", "settings": native}
    return [episode_loop(settings, turn_tokens), tools]


def episode_loop(settings: Mapping[str, Any], turn_tokens: int | None = None) -> dict[str, Any]:
    """The entry of the loop that plays whole episodes."""
    return {"name": LOOP, "_target_": f"{_MODULE}.EpisodeLoop", "settings": settings, "turn_tokens": turn_tokens}


def tool_config(schemas: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The document of `rollout.multi_turn.tool_config_path`, of `Toolbox.schemas()`.

    The schema stands in `config`, where verl keeps it whole; names are those that servers of models allow.
    """
    return {
        "tools": [
            {"class_name": _TOOL, "config": {"type": "native", "schema": schema}, "tool_schema": None}
            for schema in ToolNames(schemas).schemas(schemas)
        ]
    }


def write_files(
    folder: Path,
    settings: Mapping[str, Any],
    tasks: Sequence[Mapping[str, Any]],
    seed: int = 0,
    agent: str = LOOP,
    turn_tokens: int | None = None,
) -> dict[str, Path]:
    """Write the files of a run.

    Args:
        folder: Takes them; made if it is not there.
        tasks: Their documents, a row each.
        seed: Seed of the first row's station; each row has the next one.
        agent: Name of the agent loop.
        turn_tokens: Longest turn [tokens].

    Returns:
        "train", "agent_loops" and "tools": where each lies.

    Raises:
        ToolError: INVALID_ARGUMENT for settings or tasks that there are not; UNAVAILABLE where it cannot be written.
    """
    episodes = Episodes(settings)
    rows = [row(task, k, seed + k, agent) for k, task in enumerate(tasks)]
    with episodes.open(rows[0]["extra_info"]) as session:
        tools = tool_config(session.tools())
    episodes.close()
    files = {name: folder / name_of for name, name_of in _NAMES.items()}
    try:
        write_whole(files["train"], "".join(f"{json.dumps(row)}\n" for row in rows).encode())
        write_whole(files["agent_loops"], _yaml(agent_loops(settings, turn_tokens)))
        write_whole(files["tools"], _yaml(tools))
    except OSError as error:
        raise unavailable(f"{folder} cannot be written: {error.strerror}.") from error
    return files


_NAMES = {"train": "train.jsonl", "agent_loops": "agent_loops.yaml", "tools": "tools.yaml"}


def overrides(files: Mapping[str, Path]) -> list[str]:
    """hydra overrides that name the files; the longest answer of a tool among them."""
    rollout = "actor_rollout_ref.rollout"
    return [
        f"data.train_files={files['train']}",
        f"{rollout}.agent.agent_loop_config_path={files['agent_loops']}",
        f"{rollout}.multi_turn.enable=True",
        f"{rollout}.multi_turn.tool_config_path={files['tools']}",
        f"{rollout}.multi_turn.max_tool_response_length={_CHARACTERS}",
    ]


def _yaml(document: Any) -> bytes:
    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=120).encode()
