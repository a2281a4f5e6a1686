"""SmolLM2's real weights behind vLLM: what it says, held to a grammar or not, and what it tells of its tokens.

The folder of the weights is made by `toolhand models fetch smollm2`; `make test-vllm` does so first.
"""

from collections.abc import Callable, Iterator
from typing import Any

import jsonschema
import numpy as np
import pytest
import torch
import transformers

from tests.training.adapters.vllm.conftest import Served, serving
from toolhand.agent_node.policies.options import PolicyOptions
from toolhand.agent_node.policies.registry import make_policy
from toolhand.agent_node.policies.smollm2 import default_folder
from toolhand.agent_node.policies.transformers_chat import TransformersChat
from toolhand.agent_node.policy import Message
from toolhand.agent_node.protocol import load_protocol

CONTEXT = 8192
"""Of the model [tokens]."""
COMPACT, NATIVE = load_protocol("compact"), load_protocol("native")
Options = Callable[..., PolicyOptions]


@pytest.fixture(scope="module")
def real() -> Iterator[Served]:
    with serving(default_folder(), "smollm2", CONTEXT) as served:
        yield served


@pytest.fixture(scope="module")
def model() -> Any:
    return transformers.AutoModelForCausalLM.from_pretrained(default_folder(), dtype=torch.float32).eval()


def asked(schemas: list[dict[str, Any]], protocol: Any) -> list[Message]:
    user = Message("user", protocol.user_prompt("Pick up the red box"), "Pick up the red box")
    return [Message("system", protocol.system_prompt(schemas)), user]


def test_it_answers_in_words(real: Served, options: Options) -> None:
    policy = make_policy(real.spec, COMPACT, (), options(temperature=0.0, max_tokens=8))
    question = [Message("system", "You answer in a word."), Message("user", "What is the capital of France?")]
    assert "Paris" in policy.respond(question).text


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_its_tokens_and_log_probabilities_are_those_of_transformers(
    real: Served, options: Options, schemas: list[dict[str, Any]], model: Any, temperature: float
) -> None:
    conversation = asked(schemas, COMPACT)
    settings = options(temperature=temperature, logprobs=True, max_tokens=60, seed=3)
    policy = make_policy(real.spec, COMPACT, schemas, settings)
    reply = policy.respond(conversation)
    prompt = real.ask(**policy._body(conversation, 60))["prompt_token_ids"]
    ids = torch.tensor([[*prompt, *reply.token_ids]])
    with torch.no_grad():
        logits = model(input_ids=ids).logits[0, len(prompt) - 1 : -1].double()
    own = torch.log_softmax(logits, -1)[torch.arange(len(reply.token_ids)), torch.tensor(reply.token_ids)].numpy()
    assert len(reply.token_ids) > 5
    assert np.abs(own - np.array(reply.logprobs)).max() < 1e-2
    assert own.std() > 0.1, "some tokens are sure, and others are not"


def test_it_writes_what_it_writes_in_process(real: Served, options: Options, schemas: list[dict[str, Any]]) -> None:
    conversation, settings = asked(schemas, COMPACT), options(temperature=0.0, max_tokens=40)
    there = make_policy(real.spec, COMPACT, schemas, settings).respond(conversation)
    here = TransformersChat(str(default_folder()), COMPACT, settings).respond(conversation)
    assert there.text == here.text
    assert there.prompt_tokens == here.prompt_tokens


@pytest.mark.parametrize("stream", [False, True])
def test_held_to_a_grammar_it_writes_native_calls_and_turns_of_other_protocols(
    real: Served, options: Options, schemas: list[dict[str, Any]], stream: bool
) -> None:
    """Native calls come parsed by the server; in the others they stand in the text."""
    few = [
        schema for schema in schemas if schema["function"]["name"] in ("robot.capture_image", "roborefer.detect_one")
    ]
    forms = {schema["function"]["name"]: schema["function"]["parameters"] for schema in few}
    called = 0
    for name in ("native", "spacetools", "peria"):
        protocol = load_protocol(name)
        for seed in range(3):
            settings = options(temperature=0.7, max_tokens=120, seed=seed, guided="vllm", stream=stream)
            reply = make_policy(real.spec, protocol, few, settings).respond(asked(few, protocol))
            if reply.details["ending"] == "length":
                continue
            turn = protocol.parse(reply.text)
            assert not turn.problem, reply.text
            for call in turn.calls:
                jsonschema.validate(call.arguments, forms[call.name])
                called += 1
    assert called
