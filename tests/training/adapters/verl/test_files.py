"""verl's own readers of what is written for it: hydra, the data set, the tools, the agent loops."""

from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf
from verl.tools.tool_registry import load_all_tools
from verl.utils.config import omega_conf_to_dataclass
from verl.utils.dataset.rl_dataset import RLHFDataset

from toolhand.training.adapters import on_verl
from toolhand.training.adapters.episodes import Episodes
from toolhand.training.adapters.verl_files import overrides, write_files
from toolhand.training.rollouts.plan import tasks_of
from toolhand.training.tasks.kinds import task_document

SETTINGS = {"backend": "mock", "image_size": [320, 240], "turns": 4}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return write_files(tmp_path_factory.mktemp("run"), SETTINGS, tasks_of(["point", "pick"], 4, 5), turn_tokens=512)


def test_hydra_takes_the_overrides(files: dict[str, Path], compose_config: Any) -> None:
    config = compose_config(
        *overrides(files), "trainer.v1.trainer_mode=or_gigpo_sync", "actor_rollout_ref.rollout.name=vllm"
    )
    rollout = omega_conf_to_dataclass(config.actor_rollout_ref.rollout)
    assert rollout.multi_turn.enable
    assert rollout.multi_turn.tool_config_path == str(files["tools"])
    assert rollout.agent.agent_loop_config_path == str(files["agent_loops"])


def test_verls_data_set_reads_the_rows(files: dict[str, Path], tokenizer: Any, compose_config: Any) -> None:
    config = compose_config(*overrides(files), f"+data.cache_dir={files['train'].parent}")
    rows = RLHFDataset(str(files["train"]), tokenizer, config.data)
    assert len(rows) == 4
    row = rows[1]
    assert row["agent_name"] == "toolhand"
    assert row["index"] == 1
    with Episodes(SETTINGS).open(rows[0]["extra_info"]) as session:
        assert session.task.kind == "point"


def test_verl_loads_every_tool_with_its_whole_schema(files: dict[str, Path]) -> None:
    tools = load_all_tools(str(files["tools"]), None)
    assert all(isinstance(tool, on_verl.SessionTool) for tool in tools)
    with Episodes(SETTINGS).open({"task": task_document("point", 5)}) as session:
        ours = {schema["function"]["name"].replace(".", "__"): schema["function"] for schema in session.tools()}
    for tool in tools:
        dumped = tool.tool_schema.model_dump(exclude_unset=True, exclude_none=True)
        assert dumped["function"]["parameters"] == ours[tool.name]["parameters"]
    assert len(tools) == len(ours)


def test_the_agent_loops_name_classes_that_there_are(files: dict[str, Path]) -> None:
    found = {entry.name: entry["_target_"] for entry in OmegaConf.load(files["agent_loops"])}
    assert found == {
        "toolhand": f"{on_verl.EpisodeLoop.__module__}.{on_verl.EpisodeLoop.__qualname__}",
        "toolhand_tools": f"{on_verl.ToolEpisodeLoop.__module__}.{on_verl.ToolEpisodeLoop.__qualname__}",
    }
