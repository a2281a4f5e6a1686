"""GRPO by TRL on episodes that a tiny model of random weights plays in this project's environment."""

import json
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from types import SimpleNamespace

import numpy as np
import peft
import pytest
import torch
import transformers

from tests.random_qwen import byte_tokenizer, text_settings
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.training.adapters import own_episodes
from toolhand.training.adapters.grpo_on_trl import GrpoSettings, improve_adapter, rollouts
from toolhand.training.adapters.own_episodes import EpisodeSettings, OwnEpisode, OwnEpisodeJob, OwnEpisodes, as_rollout
from toolhand.training.adapters.packed import PackedModel
from toolhand.training.adapters.rejection import row_of_episode, sample_rows
from toolhand.training.tasks.kinds import task_document

SMALL = {
    "group_size": 2,
    "groups": 2,
    "max_tokens": 6,
    "turns": 2,
    "backend": "mock",
    "reward": "mean",
    "difficulty": 0.0,
}


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    folder = tmp_path_factory.mktemp("base")
    tokenizer = byte_tokenizer()
    transformers.set_seed(0)
    settings = text_settings(tokenizer)
    transformers.Qwen2ForCausalLM(transformers.Qwen2Config(**settings)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def with_lora(base):
    transformers.set_seed(1)
    model = transformers.AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
    lora = peft.LoraConfig(r=4, lora_alpha=8, target_modules="all-linear", task_type="CAUSAL_LM")
    return peft.get_peft_model(model, lora)


@pytest.fixture(scope="module")
def adapter(base, tmp_path_factory):
    folder = tmp_path_factory.mktemp("adapter")
    with_lora(base).save_pretrained(folder)
    return folder


def test_what_the_model_wrote_is_learned_with_its_probabilities_and_nothing_that_tools_said(base, adapter):
    settings = GrpoSettings(str(base), str(adapter), **SMALL)
    episodes = OwnEpisodes(settings)
    model = with_lora(base)
    trainer = SimpleNamespace(
        accelerator=SimpleNamespace(unwrap_model=lambda given: given),
        model=model,
        processing_class=transformers.AutoTokenizer.from_pretrained(base),
    )
    prompts = [json.dumps({"task": task_document("pick", 3), "seed": 3})] * 2
    made = rollouts(settings, episodes)(prompts, trainer)
    episodes.close()
    assert model.training
    assert all(reward is not None for reward in made["episode_reward"])
    assert made["completion_ids"][0] != made["completion_ids"][1], "each rollout of a group is sampled by itself"
    for prompt, completion, logprobs, mask in zip(
        made["prompt_ids"], made["completion_ids"], made["logprobs"], made["env_mask"], strict=True
    ):
        assert len(completion) == len(logprobs) == len(mask)
        assert set(mask) == {0, 1}, "two turns, and what is said between them"
        with torch.inference_mode():
            logits = model.eval()(input_ids=torch.tensor([prompt + completion])).logits[0].log_softmax(-1)
        own_words = [k for k, known in enumerate(mask) if known]
        expected = [float(logits[len(prompt) + k - 1, completion[k]]) for k in own_words]
        np.testing.assert_allclose([logprobs[k] for k in own_words], expected, atol=1e-3)


def test_a_turn_that_the_next_prompt_reads_otherwise_is_left_out():
    turns = [([1, 2], (3, 4), (-0.1, -0.2)), ([1, 2, 3, 5, 6], (7,), (-0.3,))]
    assert as_rollout(turns, 9) == ([1, 2], [3, 5, 6, 7], [0.0, 0.0, 0.0, -0.3], [0, 0, 0, 1])
    assert as_rollout(turns[:1], 9) == ([1, 2], [3, 4], [-0.1, -0.2], [1, 1])
    assert as_rollout([([8], (3,), (-0.1,)), turns[1]], 9) == ([1, 2, 3, 5, 6], [7], [-0.3], [1])
    assert as_rollout([], 9) == ([9], [9], [0.0], [0])


def prepared(folder, base, adapter, **more):
    folder.mkdir()
    settings = GrpoSettings(str(base), str(adapter), rounds=2, learning_rate=1e-2, **{**SMALL, **more})
    (folder / "settings.json").write_text(json.dumps(asdict(settings)))
    return folder


@pytest.mark.parametrize("updates", [1, 2])
def test_the_adapter_changes_where_rollouts_of_a_group_are_worth_different_rewards(
    base, adapter, tmp_path, monkeypatch, updates
):
    from safetensors.torch import load_file

    worth = iter(range(1000))

    def scored(session):
        return SimpleNamespace(total=float(next(worth) % 2), truth=SimpleNamespace(success=False)), None

    monkeypatch.setattr(own_episodes, "scored_or_dropped", scored)
    monkeypatch.setattr(own_episodes, "KINDS", ("pick",))
    folder = prepared(tmp_path / "run", base, adapter, updates=updates)
    made = improve_adapter(folder)
    log = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    assert [row["reward"] for row in log if "reward" in row] == [0.5, 0.5]
    clipped = [row["clip_ratio/region_mean"] for row in log if "clip_ratio/region_mean" in row]
    assert len(clipped) == 2 * updates
    assert not any(clipped), "the policy is still near the one that played"
    before, after = (load_file(where / "adapter_model.safetensors") for where in (adapter, made))
    assert {str(tensor.dtype) for tensor in after.values()} == {"torch.float16"}
    assert set(before) == set(after)
    assert max(float((after[name].float() - before[name]).abs().max()) for name in before) > 1e-3
    assert improve_adapter(folder) == made, "what is there is left alone"
    assert next(worth) == 8, "two rounds of two groups of two"


def test_bad_settings_are_told_before_anything_is_loaded(base, adapter, tmp_path):
    (tmp_path / "settings.json").write_text('{"depth": 3}')
    with pytest.raises(ToolError, match=r"settings\.json") as caught:
        improve_adapter(tmp_path)
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT
    indivisible = asdict(GrpoSettings(str(base), str(adapter), **SMALL)) | {"updates": 3}
    (tmp_path / "settings.json").write_text(json.dumps(indivisible))
    with pytest.raises(ToolError, match="updates must divide the 4 rollouts of a round, got 3") as caught:
        improve_adapter(tmp_path)
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT


def test_processes_play_what_this_one_plays_with_the_adapter_that_they_are_given(base, adapter, tmp_path):
    settings = GrpoSettings(str(base), str(adapter), workers=2, **SMALL)
    other = tmp_path / "other"
    model = with_lora(base)
    with torch.no_grad():
        for name, weights in model.named_parameters():
            if "lora_B" in name:
                weights.add_(torch.randn(weights.shape, generator=torch.Generator().manual_seed(4)))
    model.save_pretrained(other)
    rows = settings.tasks()
    jobs = [OwnEpisodeJob(row, which) for row in rows for which in range(2)]
    with OwnEpisodes(settings) as episodes:
        played = [*episodes.in_processes(jobs, str(adapter)), *episodes.in_processes(jobs, str(other))]
        here = episodes.with_model(with_lora(base).eval().get_base_model(), jobs)
        there = episodes.with_model(model.eval().get_base_model(), jobs)
    for one, two in zip(played, (*here, *there), strict=True):
        assert [turn[:2] for turn in one.turns] == [turn[:2] for turn in two.turns]
        assert (one.reward, one.right) == (two.reward, two.right)
        assert np.allclose(one.turns[0][2], two.turns[0][2], atol=1e-3)
    assert played[0].turns[0][1] != played[4].turns[0][1]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_conversations_in_one_pass_are_what_each_is_alone(base, dtype):
    model = transformers.AutoModelForCausalLM.from_pretrained(base, dtype=dtype).eval()
    prompts = [torch.arange(3 + 5 * k)[None] % 90 + 5 for k in range(4)]

    def written(ask, ids):
        cache, found = transformers.DynamicCache(config=model.config), []
        with torch.inference_mode():
            for more in (ids, torch.tensor([[7]]), torch.tensor([[9, 11, 13]])):
                logits = ask(input_ids=more, past_key_values=cache, use_cache=True, logits_to_keep=1).logits
                found.append(logits[0, -1].float())
        return torch.stack(found)

    alone = [written(model, ids) for ids in prompts]
    before = model.config._attn_implementation
    members = []
    with PackedModel(model) as shared, ThreadPoolExecutor(len(prompts)) as pool:
        compute, ready = shared._compute, threading.Barrier(len(prompts))
        shared._compute = lambda asked: [members.append(len(asked)), compute(asked)]

        def beside_others(ids):
            with shared.writing():
                ready.wait(60)
                return written(shared, ids)

        together = list(pool.map(beside_others, prompts))
    assert members == [4, 4, 4], "a pass waits for all that write"
    assert model.config._attn_implementation == before
    for one, two in zip(alone, together, strict=True):
        torch.testing.assert_close(one, two, atol=1e-4 if dtype is torch.float32 else 0.05, rtol=0.05)


def test_what_breaks_in_a_pass_is_raised_to_all_that_are_in_it(base):
    model = transformers.AutoModelForCausalLM.from_pretrained(base).eval()
    with PackedModel(model) as shared, ThreadPoolExecutor(2) as pool:
        ids = torch.full((1, 3), 10**6)
        asked = [pool.submit(shared, ids, transformers.DynamicCache(config=model.config)) for _ in range(2)]
        for one in asked:
            with pytest.raises(IndexError):
                one.result(timeout=60)


def test_what_was_right_becomes_rows_and_all_is_counted(base, adapter, tmp_path):
    settings = EpisodeSettings(str(base), str(adapter), workers=2, rounds=2, **SMALL)
    (tmp_path / "settings.json").write_text(json.dumps(asdict(settings)))
    made = sample_rows(tmp_path)
    assert made == {"episodes": 8, "right": 0, "broken": 0}, "random weights do nothing right"
    assert json.loads((tmp_path / "data.json").read_text()) == made
    assert row_of_episode(OwnEpisode([([1, 2], (3, 4), (-0.1, -0.2)), ([1, 2, 3, 4, 5], (6,), (-0.1,))])) == {
        "input_ids": [1, 2, 3, 4, 5, 6],
        "labels": [-100, -100, 3, 4, -100, 6],
    }
    (tmp_path / "settings.json").write_text(json.dumps(asdict(settings) | {"workers": 1}))
    with pytest.raises(ToolError, match="workers must be 2 or more"):
        sample_rows(tmp_path)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_model_that_cannot_be_asked_ends_it_and_is_not_dropped_in_silence(base, adapter, tmp_path, workers):
    from safetensors.torch import load_file, save_file

    broken = shutil.copytree(adapter, tmp_path / "broken")
    weights = load_file(broken / "adapter_model.safetensors")
    save_file({name: tensor * float("nan") for name, tensor in weights.items()}, broken / "adapter_model.safetensors")
    settings = GrpoSettings(str(base), str(broken), workers=workers, **SMALL)
    jobs = [OwnEpisodeJob(row, 0) for row in settings.tasks()]
    model = transformers.AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
    asked = peft.PeftModel.from_pretrained(model, broken).eval().get_base_model()
    with OwnEpisodes(settings) as episodes, pytest.raises(ToolError, match="not finite") as caught:
        episodes.with_model(asked, jobs) if workers == 1 else episodes.in_processes(jobs, str(broken))
    assert caught.value.code is ErrorCode.UNAVAILABLE
