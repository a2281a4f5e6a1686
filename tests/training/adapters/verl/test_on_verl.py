"""A rollout in verl's own agent loop: which tokens are the policy's, which images go along, and what it is worth."""

import asyncio
from typing import Any

import numpy as np
import pytest
import torch
from verl.experimental.agent_loop.agent_loop import DictConfigWrap, ToolListWrap
from verl.utils.dataset.rl_dataset import RLHFDataset

from tests.training.adapters import twenty
from toolhand.agent_node.protocol import load_protocol
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.training.adapters import on_verl
from toolhand.training.adapters.episodes import Episodes
from toolhand.training.adapters.verl_files import tool_config
from toolhand.training.tasks.kinds import task_document

SETTINGS = {"backend": "mock", "image_size": [320, 240], "turns": 4}
ROW = {"extra_info": {"task": task_document("point", 5), "seed": 5}, "session_id": 2}
LOOK = '<think>I look.</think>\n<tool_call>{"name": "robot.capture_image", "arguments": {}}</tool_call>'
ANSWER = "<think>There.</think>\n<answer>[0.5, 0.5]</answer>"


def loop_of(kind: Any, config: Any, server: Any, tokenizer: Any, processor: Any, **more: Any) -> Any:
    return kind(
        trainer_config=DictConfigWrap(config),
        server_manager=server,
        tokenizer=tokenizer,
        processor=processor,
        dataset_cls=RLHFDataset,
        data_config=DictConfigWrap(config.data),
        hf_model_type="qwen2" if processor is None else "qwen2_5_vl",
        **{"settings": SETTINGS, **more},
    )


def run(loop: Any, row: dict[str, Any] = ROW) -> Any:
    return asyncio.run(_run(loop, row))


async def _run(loop: Any, row: dict[str, Any]) -> Any:
    loop.loop = asyncio.get_running_loop()
    return await loop.run({"temperature": 1.0, "logprobs": True}, **row)


@pytest.fixture
def played(config: Any, tokenizer: Any, processor: Any, scripted: Any) -> tuple[Any, Any]:
    server = scripted([LOOK, ANSWER])
    return run(loop_of(on_verl.EpisodeLoop, config, server, tokenizer, processor)), server


def test_the_policys_tokens_are_masked_in_and_nothing_else(played: Any, tokenizer: Any) -> None:
    output, server = played
    mask = np.array(output.response_mask, dtype=bool)
    ids, logprobs = np.array(output.response_ids), np.array(output.response_logprobs)
    assert len(mask) == len(ids) == len(logprobs)
    said = tokenizer.decode(ids[mask].tolist())
    assert said == f"{LOOK}<|im_end|>{ANSWER}<|im_end|>"
    assert (logprobs[~mask] == 0).all()
    assert (logprobs[mask] < 0).all()
    between = tokenizer.decode(ids[~mask].tolist())
    assert between.startswith("\n<|im_start|>user\n<tool_response>")
    assert between.endswith("<|im_start|>assistant\n")
    assert [request["request_id"] for request in server.requests] == [server.requests[0]["request_id"]] * 2


def test_the_second_prompt_begins_with_the_first_and_what_was_sampled_for_it(played: Any) -> None:
    output, server = played
    first, second = (request["prompt_ids"] for request in server.requests)
    assert first == output.prompt_ids
    assert second == (output.prompt_ids + output.response_ids)[: len(second)]
    turn = output.extra_fields["turns"][0]
    assert second[len(first) :][: turn["end"]] == output.response_ids[: turn["end"]]


def test_each_image_has_the_tokens_that_the_processor_gives_it(played: Any, processor: Any) -> None:
    output, server = played
    images = output.multi_modal_data["images"]
    assert [image.size for image in images] == [(320, 240)] * 2  # with the question, and of the camera
    assert [len(request["image_data"]) for request in server.requests] == [1, 2]
    grids = processor.image_processor(images=images, return_tensors="pt")["image_grid_thw"]
    expected = int(grids.prod(dim=1).sum()) // 4
    assert (output.prompt_ids + output.response_ids).count(processor.image_token_id) == expected
    assert expected > 20


def test_the_model_reads_the_rollout_as_verl_gives_it_for_training(
    played: Any, config: Any, vlm: Any, tokenizer: Any, processor: Any
) -> None:
    from verl.experimental.agent_loop.agent_loop import AgentLoopWorker

    output, _ = played
    worker = AgentLoopWorker.__new__(AgentLoopWorker)
    worker.processor, worker.tokenizer, worker.mm_processor_kwargs = processor, tokenizer, {}
    ids = torch.tensor([output.prompt_ids + output.response_ids])
    seen = worker._compute_multi_modal_inputs(output, ids)
    positions = worker._compute_position_ids(ids, torch.ones_like(ids), dict(seen))
    with torch.inference_mode():
        found = vlm(
            input_ids=ids,
            position_ids=positions[0, 1:].unsqueeze(1),
            pixel_values=seen["pixel_values"],
            image_grid_thw=seen["image_grid_thw"],
        )
    assert found.logits.shape[:2] == ids.shape
    assert torch.isfinite(found.logits).all()


def test_the_reward_is_the_sessions_for_the_same_replies(played: Any) -> None:
    output, _ = played
    with Episodes(SETTINGS).open(ROW["extra_info"], 2) as session:
        for turn in (LOOK, ANSWER):
            session.say(turn)
        score = session.score()
    assert output.reward_score == pytest.approx(score.total)
    assert output.extra_fields["terms"] == pytest.approx(dict(score.terms))
    assert output.extra_fields["reward_extra_info"]["calls"] == 1.0
    row = output.as_dict()
    assert float(row["rm_scores"].sum()) == pytest.approx(score.total)
    assert row["response_mask"].sum() == sum(output.response_mask)


def test_twenty_episodes_are_worth_what_they_are_in_plain_sessions(
    config: Any, tokenizer: Any, processor: Any, scripted: Any
) -> None:
    protocol, found = load_protocol("spacetools"), []
    for one in twenty.TWENTY:
        loop = loop_of(on_verl.EpisodeLoop, config, scripted(one.written(protocol)), tokenizer, processor)
        found.append(run(loop, {"extra_info": one.row, "session_id": 0}).reward_score)
    assert found == pytest.approx([one.reward for one in twenty.TWENTY], abs=twenty.SAME)


def test_turns_carry_their_spans_and_what_they_answered(played: Any, tokenizer: Any) -> None:
    output, _ = played
    turns = output.extra_fields["turns"]
    spoken = [tokenizer.decode(output.response_ids[turn["start"] : turn["end"]]) for turn in turns]
    assert spoken == [f"{LOOK}<|im_end|>", f"{ANSWER}<|im_end|>"]
    assert len({turn["digest"] for turn in turns}) == 2
    assert {name: output.extra_fields[name] for name in ("min_global_steps", "max_global_steps")} == {
        "min_global_steps": 3,
        "max_global_steps": 3,
    }


def test_a_turn_that_is_cut_is_ended_for_the_policy(config: Any, tokenizer: Any, scripted: Any, processor: Any) -> None:
    server = scripted(["<think>" + "a" * 200, ANSWER])
    output = run(loop_of(on_verl.EpisodeLoop, config, server, tokenizer, processor, turn_tokens=60))
    first = output.extra_fields["turns"][0]
    assert first["end"] - first["start"] == 60
    assert output.response_ids[60] == tokenizer.eos_token_id
    assert output.response_mask[60] == 0
    assert "not closed" in tokenizer.decode(output.response_ids)


def test_a_response_without_room_ends_between_two_turns(
    config: Any, tokenizer: Any, scripted: Any, processor: Any
) -> None:
    config.actor_rollout_ref.rollout.response_length = 150
    server = scripted([LOOK, ANSWER])
    output = run(loop_of(on_verl.EpisodeLoop, config, server, tokenizer, processor))
    assert len(server.requests) == 1
    assert len(output.multi_modal_data["images"]) == 1  # no image without its tokens
    assert set(output.response_mask) == {1}
    assert output.reward_score == 0.0
    assert output.extra_fields["ended_with"] == "TURN_BUDGET"


def test_a_prompt_that_verl_would_cut_is_refused(config: Any, tokenizer: Any, scripted: Any, processor: Any) -> None:
    config.actor_rollout_ref.rollout.prompt_length = 100
    with pytest.raises(ToolError, match="max_prompt_length allows 100"):
        run(loop_of(on_verl.EpisodeLoop, config, scripted([]), tokenizer, processor))


@pytest.mark.parametrize("code", [ErrorCode.UNAVAILABLE, ErrorCode.INTERNAL])
def test_a_rollout_that_has_no_score_gives_no_output(
    config: Any, tokenizer: Any, scripted: Any, processor: Any, monkeypatch: pytest.MonkeyPatch, code: ErrorCode
) -> None:
    def broken(self: Any) -> Any:
        raise ToolError(code, "The simulator is gone.")

    monkeypatch.setattr("toolhand.training.env.session.EpisodeSession.score", broken)
    server = scripted([ANSWER])
    assert run(loop_of(on_verl.EpisodeLoop, config, server, tokenizer, processor)) == []


def test_a_server_without_tokens_drops_the_rollout(config: Any, tokenizer: Any, scripted: Any, processor: Any) -> None:
    server = scripted([""], end="")
    assert run(loop_of(on_verl.EpisodeLoop, config, server, tokenizer, processor)) == []


def test_what_is_no_fault_of_a_tool_is_raised(config: Any, tokenizer: Any, scripted: Any, processor: Any) -> None:
    loop = loop_of(on_verl.EpisodeLoop, config, scripted([]), tokenizer, processor)
    with pytest.raises(ToolError, match='has a "task"'):
        run(loop, {"extra_info": {}})
    fault = scripted([], fault=RuntimeError("no GPU"))
    with pytest.raises(RuntimeError, match="no GPU"):
        run(loop_of(on_verl.EpisodeLoop, config, fault, tokenizer, processor))


def test_a_model_without_eyes_reads_the_words_alone(config: Any, tokenizer: Any, scripted: Any) -> None:
    server = scripted([LOOK, ANSWER])
    loop = loop_of(on_verl.EpisodeLoop, config, server, tokenizer, None)
    output = run(loop)
    assert output.multi_modal_data == {}
    assert [request["image_data"] for request in server.requests] == [None, None]
    assert "<image 1>" in tokenizer.decode(output.response_ids)


# -- calls that verl parses ----------------------------------------------------------------------------

CALL = '<tool_call>{"name": "robot__capture_image", "arguments": {}}</tool_call>'


@pytest.fixture(scope="module")
def tools() -> list[Any]:
    with Episodes(SETTINGS).open(ROW["extra_info"]) as session:
        found = tool_config(session.tools())["tools"]
    return [on_verl.SessionTool(entry["config"], entry["tool_schema"]) for entry in found]


@pytest.mark.parametrize("sees", [True, False])
def test_verls_tool_loop_calls_the_sessions_tools(
    config: Any, tokenizer: Any, scripted: Any, processor: Any, tools: list[Any], sees: bool
) -> None:
    server, eyes = scripted([CALL, "[0.5, 0.5]"]), processor if sees else None
    loop = loop_of(on_verl.ToolEpisodeLoop, config, server, tokenizer, eyes, tools=ToolListWrap(tools))
    output = run(loop)
    assert len(output.multi_modal_data.get("images", [])) == (2 if sees else 0)
    assert "<image 1>" in tokenizer.decode(output.response_ids)
    with Episodes(SETTINGS | {"protocol": "native"}).open(ROW["extra_info"], 2) as session:
        session.call("robot.capture_image", {})
        session.say("[0.5, 0.5]")
        assert output.reward_score == pytest.approx(session.score().total)
    mask = np.array(output.response_mask, dtype=bool)
    assert tokenizer.decode(np.array(output.response_ids)[mask].tolist()) == f"{CALL}<|im_end|>[0.5, 0.5]<|im_end|>"
    assert output.extra_fields["reward_extra_info"]["calls"] == 1.0


def test_the_tool_loop_takes_the_protocol_native_alone(config: Any, tokenizer: Any) -> None:
    with pytest.raises(ToolError, match="must be native"):
        loop_of(on_verl.ToolEpisodeLoop, config, None, tokenizer, None, settings=SETTINGS | {"protocol": "spacetools"})
