"""LoRA adapters of a model in this process, and a model that repeats itself; all are tiny and of random weights."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from tests.agent_node.policies.test_transformers import SPACETOOLS
from toolhand.agent_node.agent import Agent
from toolhand.agent_node.conversation_settings import ConversationSettings
from toolhand.agent_node.policies.adapters import write_base
from toolhand.agent_node.policies.chat import text_turns
from toolhand.agent_node.policies.options import PolicyOptions
from toolhand.agent_node.policies.transformers_chat import TransformersChat, _raise_if_repeating
from toolhand.agent_node.protocol import load_protocol
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.toolbox.toolbox import Toolbox


@pytest.fixture(scope="module")
def base(tiny_model, tmp_path_factory):
    return tiny_model("text", tmp_path_factory.mktemp("base"))


@pytest.fixture(scope="module")
def adapter(base, tmp_path_factory):
    """An adapter that changes what the base says."""
    import peft
    import torch
    import transformers

    torch.manual_seed(1)
    model = transformers.AutoModelForCausalLM.from_pretrained(base)
    settings = peft.LoraConfig(r=4, lora_alpha=8, target_modules="all-linear", init_lora_weights=False)
    folder = tmp_path_factory.mktemp("adapter")
    peft.get_peft_model(model, settings).save_pretrained(folder)
    return folder


@pytest.fixture
def copied(adapter, tmp_path):
    return shutil.copytree(adapter, tmp_path / "copy")


def policy(base, adapter="", **options):
    return TransformersChat(str(base), SPACETOOLS, PolicyOptions(adapter=str(adapter), max_tokens=8, **options))


def first_logits(model, ids):
    import torch

    with torch.inference_mode():
        return model(input_ids=torch.tensor([ids])).logits[0, -1].numpy()


def test_an_adapter_is_put_into_the_weights_as_peft_itself_would_add_it(base, adapter, conversation):
    import peft
    import transformers

    made = policy(base, adapter)
    ids = made._prompt(text_turns(conversation[:2])).ids
    plain = transformers.AutoModelForCausalLM.from_pretrained(base)
    without = first_logits(plain, ids)
    expected = first_logits(peft.PeftModel.from_pretrained(plain, adapter).eval(), ids)
    np.testing.assert_allclose(first_logits(made._model, ids), expected, atol=1e-3)
    assert np.abs(expected - without).max() > 0.1


def refusal(base, folder):
    with pytest.raises(ToolError) as caught:
        policy(base, folder)
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT
    assert "\n" not in caught.value.message
    return caught.value.message


def test_a_folder_without_an_adapter_is_refused(base, tmp_path):
    assert "must hold adapter_config.json and adapter_model.safetensors" in refusal(base, tmp_path)


def test_an_adapter_of_another_base_by_name_is_refused_in_one_sentence(tiny_model, copied, tmp_path):
    other = tiny_model("text", tmp_path / "other")
    write_base(other, "mine", "aa")
    write_base(copied, "smollm2", "bb")
    assert "is of the base smollm2" in refusal(other, copied)
    write_base(copied, "mine", "aa")
    policy(other, copied)


def test_an_adapter_whose_weights_do_not_fit_is_refused(base, copied):
    weights = load_file(copied / "adapter_model.safetensors")
    name = sorted(weights)[0]
    save_file({**weights, name: weights[name][..., :-1]}, copied / "adapter_model.safetensors")
    assert "does not fit" in refusal(base, copied)


def test_an_adapter_of_fewer_or_more_layers_is_refused(base, copied):
    weights = load_file(copied / "adapter_model.safetensors")
    name = sorted(weights)[0]
    save_file({**weights, name.replace("layers.0", "layers.7"): weights[name]}, copied / "adapter_model.safetensors")
    assert "their layers differ" in refusal(base, copied)


@pytest.mark.parametrize("name", ["adapter_model.safetensors", "adapter_config.json"])
def test_half_a_file_of_an_adapter_is_refused(base, copied, name):
    half = copied / name
    half.write_bytes(half.read_bytes()[: half.stat().st_size // 2])
    assert "does not fit" in refusal(base, copied)


def test_a_note_of_the_base_that_cannot_be_read_is_told(base, copied, tmp_path):
    (copied / "base.json").write_text(json.dumps(["no note"]))
    assert "cannot be read" in refusal(base, copied)


def test_a_model_that_repeats_itself_ends_the_command_with_one_sentence(base, schemas):
    made = policy(base)
    made._options = replace(made._options, max_tokens=2000)
    made._account._options = made._options
    made._choose = lambda logits, generator: 65
    episode = Agent(made, Toolbox([]), ConversationSettings(protocol=load_protocol("spacetools"))).run("pick it up")
    assert episode.error_code is ErrorCode.TURN_BUDGET
    assert episode.answer.startswith("The model repeats itself: its last 128 tokens are the same 1 again and again.")


@pytest.mark.parametrize("period", [1, 3, 16])
def test_pieces_that_come_again_and_again_are_noticed_whatever_their_length(period):
    piece = list(range(period))
    _raise_if_repeating(([7, 7] + piece * 128)[:127])
    with pytest.raises(ToolError, match=f"the same {period} again and again"):
        _raise_if_repeating((piece * 128)[:128])


def test_what_comes_again_after_more_than_a_few_tokens_may_be_meant():
    _raise_if_repeating((list(range(17)) * 128)[:128])
