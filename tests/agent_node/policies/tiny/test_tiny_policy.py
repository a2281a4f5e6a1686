"""The small policy: what it samples, what it says it sampled, and what it refuses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from agent_node.agent import Agent
from agent_node.policies.options import PolicyOptions
from agent_node.policies.registry import FORMS, make_policy
from agent_node.policies.tiny.context import read_context
from agent_node.policies.tiny.dialect import TOOLS
from agent_node.policies.tiny.network import TinyNetwork, log_softmax
from agent_node.policies.tiny.policy import TURN_TOKENS, TinyPolicy, drawn_token
from agent_node.policies.tiny.vocabulary import default_vocabulary
from agent_node.policies.tiny.weights import TinyConfig, TinyWeights, fresh_weights, write_weights
from agent_node.policy import Message, Reply
from agent_node.protocol import load_protocol
from sim.mock.data import read_dataset
from sim.mock.station import MockStation
from sim.station import StationConfig
from tests.agent_node.policies.tiny.talks import Talk, done_talk
from tool_nodes.results import ErrorCode, ToolError

VOCABULARY = default_vocabulary()
SPACETOOLS = load_protocol("spacetools")
SCHEMAS = [{"type": "function", "function": {"name": name}} for name in TOOLS]


def lively(seed: int = 0) -> TinyWeights:
    """Weights as large as trained ones are: what comes next depends on what stands there."""
    weights = fresh_weights(seed, TinyConfig(guided=False))
    rng = np.random.default_rng(seed)
    tensors = {
        name: rng.normal(0.0, 0.12, tensor.shape).astype(np.float32) if tensor.ndim == 2 else tensor
        for name, tensor in weights.tensors.items()
    }
    return replace(weights, tensors=tensors)


LIVELY = lively()


def turns(policy: TinyPolicy, talk: Talk, count: int) -> list[Reply]:
    replies = []
    for _ in range(count):
        replies.append(policy.respond(talk.messages))
        talk.take(replies[-1].text)
        if talk.messages[-1].role == "assistant":
            break
    return replies


@pytest.mark.parametrize("temperature", [None, 0.0, 0.7, 1.0])
def test_the_tokens_of_a_turn_are_in_the_context_with_their_probabilities(temperature: float | None) -> None:
    talk = Talk("pick up the red box", VOCABULARY)
    talk.say(["PLAN", "red", "box", "LOOK", "END"])
    taught = len(read_context(talk.messages, LIVELY.visual_encoder, VOCABULARY))
    replies = turns(TinyPolicy(LIVELY, PolicyOptions(temperature=temperature, seed=4)), talk, 4)
    context = read_context(talk.messages, LIVELY.visual_encoder, VOCABULARY)
    sampled = np.flatnonzero(context.sampled)
    sampled = sampled[sampled >= taught]
    assert [*context.tokens[sampled]] == [token for reply in replies for token in reply.token_ids]
    whole = log_softmax(TinyNetwork(LIVELY).read(context.tokens, context.visual_features))
    again = whole[sampled - 1, context.tokens[sampled]]
    np.testing.assert_allclose(np.concatenate([reply.logprobs for reply in replies]), again, atol=1e-3)
    if not temperature:
        np.testing.assert_array_equal(whole[sampled - 1].argmax(axis=1), context.tokens[sampled])
    assert all(reply.completion_tokens == len(reply.token_ids) == len(reply.logprobs) for reply in replies)


def test_a_turn_depends_on_conversation_seed_and_temperature_alone() -> None:
    options = PolicyOptions(temperature=1.0, seed=1)
    talk = done_talk(VOCABULARY)
    asked = [talk.messages[:count] for count in (2, 5, 7)]
    policy = TinyPolicy(LIVELY, options)
    first = [policy.respond(messages).token_ids for messages in asked]
    backwards = [policy.respond(messages).token_ids for messages in reversed(asked)]
    assert first == backwards[::-1]
    assert first == [TinyPolicy(LIVELY, options).respond(messages).token_ids for messages in asked]
    others = [
        TinyPolicy(LIVELY, replace(options, **change)).respond(asked[0]).token_ids
        for change in ({"seed": 2}, {"temperature": 0.0})
    ]
    assert first[0] not in others


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_samples_follow_the_probabilities(temperature: float) -> None:
    logits = np.array([0.0, 1.0, -1.0, 2.0], np.float32)
    p = np.exp(logits / temperature) / np.exp(logits / temperature).sum()
    rng = np.random.default_rng(0)
    drawn = np.bincount([drawn_token(logits, temperature, rng) for _ in range(4000)], minlength=4) / 4000
    np.testing.assert_allclose(drawn, p, atol=0.03)
    assert drawn_token(logits, 0.0, rng) == 3


def test_a_turn_is_cut_at_its_limit_and_reads_back() -> None:
    talk = Talk("pick up the red box", VOCABULARY)
    reply = TinyPolicy(LIVELY, PolicyOptions(temperature=1.0, seed=3, max_tokens=2)).respond(talk.messages)
    assert len(reply.token_ids) <= 2
    long = TinyPolicy(fresh_weights(0, TinyConfig(guided=False)), PolicyOptions()).respond(talk.messages)
    assert len(long.token_ids) == TURN_TOKENS  # an untrained policy that nothing guides finds no end
    assert SPACETOOLS.parse(long.text).problem
    talk.take(long.text)
    context = read_context(talk.messages, LIVELY.visual_encoder, VOCABULARY)
    assert tuple(context.tokens[context.sampled]) == long.token_ids


def test_a_conversation_longer_than_its_positions_ends_with_a_sentence() -> None:
    talk = Talk("pick up the red box", VOCABULARY)
    policy = TinyPolicy(LIVELY, PolicyOptions(temperature=1.0))
    while len(read_context(talk.messages, policy._weights.visual_encoder, VOCABULARY)) < 310:
        talk.say(["POINT", "VLM", "red", "box", "END"], ((0.1, 0.2),) * 16)
    assert len(policy.respond(talk.messages).token_ids) <= 10
    talk.say(["POINT", "VLM", "red", "box", "END"], ((0.1, 0.2),) * 16)
    with pytest.raises(ToolError, match="up to 320 tokens") as error:
        policy.respond(talk.messages)
    assert error.value.code is ErrorCode.TURN_BUDGET


def test_budgets_of_the_options_are_kept() -> None:
    talk = Talk("pick up the red box", VOCABULARY)
    policy = TinyPolicy(LIVELY, PolicyOptions(token_budget=12, price_completion=1e6))
    reply = policy.respond(talk.messages)
    assert reply.cost == reply.completion_tokens
    with pytest.raises(ToolError, match="budget") as error:
        policy.respond(talk.messages)
    assert error.value.code is ErrorCode.TURN_BUDGET


def test_a_sentence_that_it_cannot_read_is_told() -> None:
    policy = TinyPolicy(LIVELY)
    for sentence in ("zorble frobnitz", " ".join(f"zorble{k}" for k in range(9)) + " box"):
        with pytest.raises(ToolError) as error:
            policy.respond([Message("system", ""), Message("user", sentence, words=sentence)])
        assert error.value.code is ErrorCode.NOT_UNDERSTOOD


def test_another_protocol_or_suite_is_refused() -> None:
    with pytest.raises(ToolError, match="protocol spacetools, not peria") as error:
        TinyPolicy(LIVELY, protocol=load_protocol("peria"))
    assert error.value.code is ErrorCode.INVALID_ARGUMENT
    with pytest.raises(ToolError, match=r"vlm.detect_one is not offered"):
        TinyPolicy(LIVELY, schemas=[one for one in SCHEMAS if one["function"]["name"] != "vlm.detect_one"])


def test_it_is_made_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "tiny.safetensors"
    write_weights(LIVELY, path)
    policy = make_policy(f"tiny:{path}", SPACETOOLS, SCHEMAS, PolicyOptions(seed=3))
    talk = Talk("pick up the red box", VOCABULARY)
    assert policy.respond(talk.messages).text == TinyPolicy(LIVELY, PolicyOptions(seed=3)).respond(talk.messages).text
    assert {"tiny", "tiny:FILE"} <= set(FORMS)
    for spec, code in (
        (f"tiny:{tmp_path}/none", ErrorCode.INVALID_ARGUMENT),
        ("tiny:", ErrorCode.INVALID_ARGUMENT),
    ):
        with pytest.raises(ToolError) as error:
            make_policy(spec, SPACETOOLS, SCHEMAS)
        assert error.value.code is code


def told(policy: TinyPolicy, said: Sequence[str]) -> None:
    """Let its network want these tokens, one after the other."""
    wanted = iter(said)

    class Told(TinyNetwork):
        def read(self, tokens: np.ndarray, eyes: np.ndarray) -> np.ndarray:
            super().read(tokens, eyes)
            logits = np.zeros((len(tokens), len(VOCABULARY)), np.float32)
            logits[-1, VOCABULARY.id(next(wanted))] = 9.0
            return logits

    policy._network = Told(policy._weights)


def test_it_works_a_mock_robot_through_a_conversation() -> None:
    """Reaches the tools by its tokens: every answer comes back, and what is no move is a malformed turn."""
    station = MockStation(read_dataset().frame(0), StationConfig(perception="pixels"))
    policy = TinyPolicy(LIVELY, schemas=station.toolbox.schemas())
    moves = "PLAN red box LOOK END | POINT box END | POINT ROBOREFER box END | TAKE p9 END | DONE END"
    told(policy, moves.replace(" |", "").split())
    episode = Agent(policy, station.toolbox).run("Pick up the red box")
    assert [len(turn.calls) for turn in episode.turns] == [2, 0, 1, 0, 0]
    assert [bool(turn.parsed.problem) for turn in episode.turns] == [False, True, False, True, False]
    assert episode.answer == "Done."
    context = read_context(episode.messages, LIVELY.visual_encoder, VOCABULARY)
    written = " ".join(VOCABULARY.decode(context.tokens[context.sampled]))
    assert written == moves.replace(" |", "")
