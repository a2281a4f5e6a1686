"""Sampling of many conversations at once: each is what it would be alone, and nothing is read twice."""

from __future__ import annotations

import numpy as np
import pytest

from agent_node.policies.options import PolicyOptions
from agent_node.policies.tiny.policy import TinyPolicy
from agent_node.policies.tiny.vocabulary import default_vocabulary
from agent_node.policies.tiny.weights import TinyConfig, TinyWeights, fresh_weights
from agent_node.policy import Reply
from tests.agent_node.policies.tiny.talks import Talk
from tool_nodes.results import ErrorCode, ToolError
from training.trainer.sampler import TinySampler

SENTENCES = ("pick up the red box", "Take the cola and place it next to the red box", "pick up the can")


@pytest.fixture(scope="module")
def weights() -> TinyWeights:
    return fresh_weights(1, TinyConfig(width=32, layers=2, heads=2, hidden=32, positions=220))


def talks() -> list[Talk]:
    return [Talk(sentence, default_vocabulary()) for sentence in SENTENCES]


def replies(sampler: TinySampler, some: list[Talk]) -> list[Reply]:
    found = sampler.respond_all([talk.messages for talk in some])
    assert all(isinstance(reply, Reply) for reply in found), found
    return [reply for reply in found if isinstance(reply, Reply)]


def test_greedy_turns_are_those_of_the_policy_in_numpy(weights: TinyWeights) -> None:
    sampler = TinySampler(weights, temperature=0.0, device="cpu")
    policies, some = [TinyPolicy(weights, PolicyOptions(temperature=0.0)) for _ in SENTENCES], talks()
    for _ in range(3):
        for talk, reply, policy in zip(some, replies(sampler, some), policies, strict=True):
            own = policy.respond(talk.messages)
            assert (reply.text, reply.token_ids) == (own.text, own.token_ids)
            np.testing.assert_allclose(reply.logprobs, own.logprobs, atol=1e-4)
            talk.take(reply.text)


def test_conversations_may_end_and_others_begin_and_nothing_is_read_twice(weights: TinyWeights) -> None:
    sampler, some = TinySampler(weights, seed=3, device="cpu"), talks()
    first = replies(sampler, some)
    for talk, reply in zip(some, first, strict=True):
        talk.take(reply.text)
    read = sampler.tokens_read
    new = Talk("pick up the red box", default_vocabulary())
    second = replies(sampler, [some[2], new, some[0]])
    counted = sum(second[k].prompt_tokens + second[k].completion_tokens - 1 for k in range(3))
    known = sum(first[k].prompt_tokens + first[k].completion_tokens - 1 for k in (2, 0))
    assert sampler.tokens_read - read == counted - known
    alone = TinySampler(weights, seed=3, device="cpu")
    assert replies(alone, talks()[:1])[0].token_ids == first[0].token_ids, "each draws from a stream of its own"


def test_a_conversation_that_cannot_be_read_ends_alone(weights: TinyWeights) -> None:
    sampler = TinySampler(weights, device="cpu")
    strange = Talk("pick up the red box", default_vocabulary())
    strange.messages[1] = type(strange.messages[1])("user", "zorble", words="zorble")
    long = Talk("pick up the red box", default_vocabulary())
    for _ in range(7):
        long.say(["LOOK", "END"])
    found = sampler.respond_all([strange.messages, talks()[0].messages, long.messages])
    assert isinstance(found[0], ToolError)
    assert found[0].code is ErrorCode.NOT_UNDERSTOOD
    assert isinstance(found[1], Reply)
    assert isinstance(found[2], Reply | ToolError)


def test_turns_end_at_their_token_or_at_the_limit(weights: TinyWeights) -> None:
    sampler = TinySampler(weights, most_tokens=2, device="cpu")
    assert all(len(reply.token_ids) <= 2 for reply in replies(sampler, talks()))
    with pytest.raises(ToolError, match="most_tokens"):
        TinySampler(weights, most_tokens=0, device="cpu")
