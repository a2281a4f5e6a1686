"""A small batch through verl's own worker, TransferQueue and trainer: what is dropped, and the credit of each turn."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib import resources
from typing import Any

import numpy as np
import pytest
import torch
import transfer_queue as tq
from omegaconf import OmegaConf
from transfer_queue import interface
from transfer_queue.controller import TransferQueueController
from transfer_queue.sampler import SequentialSampler
from transfer_queue.storage.simple_storage import SimpleStorageUnit
from verl.trainer.ppo.padding_utils import upsample_batch_to_divisible_size
from verl.trainer.ppo.v1 import PPOTrainerSync, get_trainer_cls
from verl.trainer.ppo.v1.agent_loop_tq import AgentLoopWorkerTQ
from verl.trainer.ppo.v1.replay_buffer import ReplayBuffer, ReplayBufferAsync
from verl.utils.dataset.rl_dataset import RLHFDataset

from toolhand.agent_node.policy import Message
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.training.adapters import on_verl_trainer
from toolhand.training.adapters.turns import TokenRollout, or_gigpo_tokens, turn_document
from toolhand.training.env.session import EpisodeSession
from toolhand.training.tasks.kinds import task_document

SETTINGS = {"backend": "mock", "image_size": [320, 240], "turns": 4}
LOOK = '<tool_call>{"name": "robot.capture_image", "arguments": {}}</tool_call>'
RIGHT, WRONG = "<answer>[0.31, 0.64]</answer>", "<answer>nowhere</answer>"


@pytest.fixture(scope="module")
def queue() -> Iterator[None]:
    """TransferQueue's controller and a storage unit in this process; Ray would only start them in others."""
    controller = TransferQueueController.__ray_metadata__.modified_class(sampler=SequentialSampler)
    unit = SimpleStorageUnit.__ray_metadata__.modified_class({"num_data_storage_units": 1, "total_storage_size": None})
    config = OmegaConf.create({}, flags={"allow_objects": True})
    config = OmegaConf.merge(config, OmegaConf.load(resources.files("transfer_queue") / "config.yaml"))
    config.controller.zmq_info = controller.get_zmq_server_info()
    config.backend.SimpleStorage.zmq_info = {"unit": unit.get_zmq_server_info()}
    client = interface._maybe_create_tq_client(config)
    yield
    client.close()


class Scripts:
    """A model server of which each rollout follows a script of its own, by its number."""

    def __init__(self, scripted: Any, turns: list[list[str]]) -> None:
        self._servers: dict[str, Any] = {}
        self._waiting = [scripted(script) for script in turns]

    async def generate(self, request_id: str, **request: Any) -> Any:
        if request_id not in self._servers:
            self._servers[request_id] = self._waiting.pop(0)
        return await self._servers[request_id].generate(request_id, **request)


@pytest.fixture
def worker(config: Any, tokenizer: Any, processor: Any, queue: None, tmp_path: Any) -> Any:
    """verl's worker without the model files that its constructor reads."""
    import verl.experimental.agent_loop.agent_loop as loops

    target = "toolhand.training.adapters.on_verl.EpisodeLoop"
    loops._agent_loop_registry["toolhand"] = OmegaConf.create({"_target_": target, "settings": SETTINGS})
    kind = AgentLoopWorkerTQ.__ray_metadata__.modified_class
    made = kind.__new__(kind)
    made.config, made.rollout_config = config, config.actor_rollout_ref.rollout
    made.tokenizer, made.processor, made.hf_model_type = tokenizer, processor, "qwen2_5_vl"
    made.dataset_cls, made.tools, made.mm_processor_kwargs = RLHFDataset, [], {}
    made.distillation_enabled, made.reward_loop_worker_handles, made.background_tasks = False, None, set()
    return made


def prompt(uid: str, n: int) -> dict[str, Any]:
    task = task_document("point", 5)
    return {
        "uid": uid,
        "agent_name": "toolhand",
        "extra_info": {"index": 0, "task": task, "seed": 5},
        "global_steps": 3,
        "raw_prompt": [],
        "index": 0,
        "data_source": "toolhand/point",
        "__rollout_n__": n,
    }


def collect(worker: Any, uid: str, server: Any, n: int) -> Any:
    """The batch of one group, as verl's replay buffer gives it."""
    worker.llm_client = server
    trajectory = {"step": 3, "sample_index": 0, "rollout_n": 0, "validate": False}
    tq.kv_batch_put(
        keys=[uid], partition_id="train", tags=[{"is_prompt": True, "status": "pending", "global_steps": 3}]
    )
    asyncio.run(worker._run_prompt(prompt(uid, n), {"temperature": 1.0}, trajectory))
    buffer = ReplayBuffer("sync", OmegaConf.create({}), 1, "drop", OmegaConf.create({}), poll_interval=0.01)
    batch, _ = buffer.sample(global_steps=3, partition_id="train", batch_size=1)
    return batch


def trainer_of(**algorithm: Any) -> Any:
    made = on_verl_trainer.OrGigpoTrainer.__new__(on_verl_trainer.OrGigpoTrainer)
    settings = {"adv_estimator": "grpo", "use_kl_in_reward": False, "gamma": 1.0, "lam": 1.0} | algorithm
    rollout = {"n": 4}
    made.config = OmegaConf.create(
        {
            "algorithm": settings,
            "actor_rollout_ref": {"rollout": rollout},
            "trainer": {"v1": {"or_gigpo_sync": {"omega": 1.0, "delta": 0.9}}},
        }
    )
    return made


def test_a_batch_of_rollouts_gets_the_advantages_of_its_turns(worker: Any, scripted: Any, tokenizer: Any) -> None:
    scripts = [[LOOK, RIGHT], [LOOK, WRONG], [WRONG], [LOOK, LOOK, WRONG]]
    batch = collect(worker, "group0", Scripts(scripted, scripts), 4)
    assert len(batch.keys) == 4
    batch = upsample_batch_to_divisible_size(batch, 6, tokenizer.eos_token_id)
    metrics: dict[str, float] = {}
    trainer_of()._compute_advantage(batch, metrics)
    fields = ["advantages", "returns", "response_mask", "extra_fields", "rm_scores", "uid", "responses"]
    data = tq.kv_batch_get(keys=batch.keys, partition_id="train", select_fields=fields)
    real = [k for k, tag in enumerate(batch.tags) if not tag.get("is_padding")]
    assert len(real) == 4
    carried = on_verl_trainer.plain(data["extra_fields"])
    rows = [data["advantages"][k].numpy() for k in range(6)]
    masks = [data["response_mask"][k].numpy().astype(bool) for k in range(6)]
    rollouts = [
        TokenRollout("group0", carried[k]["turns"], float(data["rm_scores"][k].sum()), len(masks[k])) for k in real
    ]
    expected, found = or_gigpo_tokens(rollouts)
    for k, values in zip(real, expected, strict=True):
        assert rows[k] == pytest.approx(values, abs=1e-6)
        assert (rows[k][~masks[k]] == 0).all()
    assert all((rows[k] == 0).all() for k in range(6) if k not in real)
    assert max(rollout.total for rollout in rollouts) > min(rollout.total for rollout in rollouts)
    # Two rollouts looked first and then saw the same: only what they answered tells them apart.
    assert metrics["or_gigpo/credited_turns"] == pytest.approx(found.share_of_credited_turns)
    assert metrics["or_gigpo/credited_turns"] > 0
    assert any(len(set(np.round(values[values != 0], 6))) > 1 for values in expected)
    assert torch.equal(data["advantages"].values(), data["returns"].values())
    tq.kv_clear(keys=batch.keys, partition_id="train")


def test_a_rollout_that_has_no_score_leaves_its_group_and_the_others_stay(
    worker: Any, scripted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = EpisodeSession.score

    def broken(self: EpisodeSession) -> Any:
        if self.rollout == 1:
            raise ToolError(ErrorCode.UNAVAILABLE, "The simulator is gone.")
        return whole(self)

    monkeypatch.setattr(EpisodeSession, "score", broken)
    batch = collect(worker, "group1", Scripts(scripted, [[RIGHT], [WRONG], [WRONG]]), 3)
    assert sorted(key.split("_")[1] for key in batch.keys) == ["0", "2"]
    metrics: dict[str, float] = {}
    trainer_of()._compute_advantage(batch, metrics)
    tq.kv_clear(keys=batch.keys, partition_id="train")


def test_rollouts_of_another_loop_are_refused(worker: Any, scripted: Any) -> None:
    batch = collect(worker, "group2", Scripts(scripted, [[WRONG], [WRONG]]), 2)
    data = tq.kv_batch_get(keys=batch.keys, partition_id="train", select_fields=["uid"])
    from verl.utils.tensordict_utils import list_of_dict_to_tensordict

    tq.kv_batch_put(
        keys=batch.keys, partition_id="train", fields=list_of_dict_to_tensordict([{"extra_fields": {"x": 1}}] * 2)
    )
    assert len(data) == 2
    with pytest.raises(ToolError, match="set agent_name to toolhand"):
        on_verl_trainer.credited(batch, {})
    tq.kv_clear(keys=batch.keys, partition_id="train")


def test_the_trainer_is_verls_synchronous_one_with_its_buffer(compose_config: Any) -> None:
    trainer = get_trainer_cls("or_gigpo_sync")
    assert issubclass(trainer, PPOTrainerSync)
    config = compose_config(
        "trainer.v1.trainer_mode=or_gigpo_sync",
        "+trainer.v1.or_gigpo_sync.omega=0.5",
        "algorithm.adv_estimator=grpo",
        "actor_rollout_ref.model.path=tiny",
        "actor_rollout_ref.rollout.name=vllm",
    )
    made = trainer(config)
    assert type(made.replay_buffer) is ReplayBuffer
    assert not isinstance(made.replay_buffer, ReplayBufferAsync)
    config.algorithm.use_kl_in_reward = True
    with pytest.raises(ToolError, match="use_kl_in_reward"):
        trainer(config)


def test_verl_loads_the_trainer_by_an_environment_variable() -> None:
    program = "import verl; from verl.trainer.ppo.v1 import get_trainer_cls; print(get_trainer_cls('or_gigpo_sync'))"
    variables = os.environ | {"VERL_USE_EXTERNAL_MODULES": "toolhand.training.adapters.on_verl_trainer"}
    done = subprocess.run([sys.executable, "-c", program], env=variables, capture_output=True, text=True, timeout=300)
    assert "OrGigpoTrainer" in done.stdout, done.stderr


def test_a_turns_digest_is_that_of_a_record() -> None:
    message = Message("user", "Pick it up.")
    assert turn_document([Message("system", "x"), message], 0, 1) == turn_document([message], 0, 1)
