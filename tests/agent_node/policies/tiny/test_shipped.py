"""The policy that comes with the package is the one of its card, and does what its words say first of all: plan."""

from __future__ import annotations

import hashlib

from agent_node.policies.options import PolicyOptions
from agent_node.policies.scripted.commands import parse_command
from agent_node.policies.tiny.dialect import Registers, read_move
from agent_node.policies.tiny.policy import TinyPolicy
from agent_node.policies.tiny.weights import MAX_BYTES, SHIPPED, SHIPPED_SHA256, shipped_weights
from agent_node.policy import Message
from training.teacher.careful import plan_of

PLANNED = [
    f"{verb} the {thing}{where}"
    for verb, where in (
        ("Pick up", ""),
        ("Grab", " and put it left of the milk"),
        ("Take", " and place it behind the pasta box"),
    )
    for thing in ("red box", "tuna can", "apple", "left mustard")
]


def test_it_is_the_one_of_its_card() -> None:
    data = SHIPPED.read_bytes()
    assert hashlib.sha256(data).hexdigest() == SHIPPED_SHA256
    assert len(data) <= MAX_BYTES
    assert shipped_weights().parameters <= 1_500_000
    assert SHIPPED.with_suffix(".md").read_text(encoding="utf-8").startswith("# A small policy")


def test_it_plans_what_is_said() -> None:
    """Most of it: how many is a matter of its weights, not of luck, since it takes the likeliest token."""
    policy = TinyPolicy(shipped_weights(), PolicyOptions(temperature=0.0))
    vocabulary, right = shipped_weights().vocabulary, 0
    for text in PLANNED:
        reply = policy.respond([Message("user", text, text)])
        move = read_move(reply.text, Registers(slots=vocabulary.read_sentence(text)[1]))
        right += move is not None and move.plan == plan_of(parse_command(text))
    assert right >= 10, f"{right} of {len(PLANNED)}"
