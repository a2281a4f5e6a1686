"""SmolLM2's real weights: fetched from the package, loaded, and asked for a word."""

import json

import numpy as np
import pytest

from toolhand.agent_node.policies import smollm2
from toolhand.agent_node.policies.options import PolicyOptions
from toolhand.agent_node.policies.transformers_chat import TransformersChat
from toolhand.agent_node.policy import Message
from toolhand.agent_node.protocol import load_protocol


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("models") / "smollm2"
    assert smollm2.fetch(made)
    return made


def test_the_folder_has_the_model_its_tokenizer_and_where_it_is_from(folder):
    assert json.loads((folder / "base.json").read_text()) == {"base": "smollm2", "sha256": smollm2.SHA256}
    assert 268e6 < (folder / "model.safetensors").stat().st_size < 270e6, "bfloat16"
    assert not smollm2.fetch(folder), "it is made once"


def test_it_knows_a_capital_and_loses_nothing_that_matters_to_half_precision(folder):
    import torch
    import transformers

    protocol = load_protocol("compact")
    policy = TransformersChat(str(folder), protocol, PolicyOptions(max_tokens=8))
    asked = [Message("system", "You answer in a word."), Message("user", "What is the capital of France?")]
    assert "Paris" in policy.respond(asked).text
    package = smollm2._packaged()
    exact = transformers.AutoModelForCausalLM.from_pretrained(
        str(package.parent), gguf_file=package.name, dtype=torch.float32
    )
    ids = torch.tensor([policy._tokenizer("pick up the red box and place it in the bin")["input_ids"]])
    with torch.inference_mode():
        ours, theirs = (model(input_ids=ids).logits.log_softmax(-1).numpy() for model in (policy._model, exact))
    likely = theirs > np.log(0.01)
    assert np.abs(ours - theirs)[likely].max() < 0.1
