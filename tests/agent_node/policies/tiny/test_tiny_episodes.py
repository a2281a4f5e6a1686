"""Whole episodes in physics, told in the dialect: they succeed, they are short, and nothing of them is lost."""

from __future__ import annotations

from collections.abc import Generator

import numpy as np
import pytest

from agent_node.policies.options import PolicyOptions
from agent_node.policies.scripted.commands import parse_command
from agent_node.policies.tiny.context import ContextReader, read_context, read_registers
from agent_node.policies.tiny.dialect import Move, Plan, Registers, read_move, render_move
from agent_node.policies.tiny.network import TinyNetwork, log_softmax
from agent_node.policies.tiny.policy import TinyPolicy
from agent_node.policies.tiny.vocabulary import default_vocabulary
from agent_node.policies.tiny.weights import TinyConfig, fresh_weights
from agent_node.policy import Reply
from sim.station import StationConfig
from training.env.environment import Environment
from training.env.session import EpisodeSession
from training.tasks.kinds import make_task
from training.teacher.reading import plainly

CONFIG = StationConfig(perception="learned", image_size=(320, 240), timestep=0.004, sleep=True)
VOCABULARY = default_vocabulary()
MOST_TOKENS = 250
"""Of a typical pick and place with checks."""


def checking(text: str) -> Generator[Move, Registers, None]:
    """The moves of a policy that asks both pointers, and looks again after the grasp."""
    command = parse_command(text)
    assert command.target is not None
    target = tuple(command.target.text.split())
    references = tuple(" and ".join(phrase.text for phrase in command.references).split())
    relation = command.relation or ""
    yield Move("look", plan=Plan(target, relation, references))
    yield Move("point", "roborefer", target)
    yield Move("point", "vlm", target)
    if relation:
        for phrase in command.references:
            yield Move("point", "roborefer", tuple(phrase.text.split()))
        yield Move("room", "roborefer", references, relation)
    yield Move("take", register=1)
    yield Move("grasp")
    registers = yield Move("point", "roborefer", target)
    if relation:
        registers = yield Move("room", "roborefer", references, relation)
        yield Move("place", register=len(registers.points))
    yield Move("done")


def work(session: EpisodeSession, text: str) -> list[Move]:
    """Carry the moves out; gives them."""
    moves, said = checking(text), []
    move = next(moves)
    while not session.done:
        said.append(move)
        session.say(Reply(render_move(move, read_registers(session.messages(), VOCABULARY))))
        if not session.done:
            move = moves.send(read_registers(session.messages(), VOCABULARY))
    return said


@pytest.mark.parametrize(("kind", "seed"), [("pick_and_place", 0), ("relational_pick", 0)])
def test_an_episode_told_in_the_dialect(kind: str, seed: int) -> None:
    task = make_task(kind, seed)
    weights = fresh_weights(0, TinyConfig(guided=False))
    with Environment(CONFIG).open(task, seed) as session:
        said = work(session, plainly(task.text))
        messages = session.messages()
        truth = session.score().truth
    assert truth is not None
    assert truth.success, truth.reasons
    context = read_context(messages, weights.visual_encoder, VOCABULARY)
    assert len(context) <= MOST_TOKENS
    log_p = log_softmax(TinyNetwork(weights).read(context.tokens, context.visual_features))
    reader = ContextReader(weights.visual_encoder, VOCABULARY)
    policy = TinyPolicy(weights, PolicyOptions(max_tokens=1))
    read_back = []
    for k, message in enumerate(messages):
        if message.role == "assistant":
            begun = reader.read(messages[:k])
            np.testing.assert_array_equal(begun.tokens, context.tokens[: len(begun)])
            np.testing.assert_array_equal(begun.visual_features, context.visual_features[: len(begun)])
            reply = policy.respond(messages[:k])  # with what it has kept of the turns before
            expected = log_p[len(begun) - 1, reply.token_ids[0]]
            np.testing.assert_allclose(reply.logprobs[0], expected, atol=1e-4)
            read_back.append(read_move(message.text, reader.registers))
    assert read_back == said
