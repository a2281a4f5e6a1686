"""A sentence whose words bind more than its plan says is not carried out, however sure a model is of its plan."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from toolhand.agent_node.policies.accounting import newest_command, refusal
from toolhand.agent_node.policies.options import PolicyOptions
from toolhand.agent_node.policies.smollm2 import Smollm2Chat
from toolhand.agent_node.policies.transformers_chat import TransformersChat
from toolhand.agent_node.policy import Message, Reply
from toolhand.agent_node.protocol import load_protocol
from toolhand.tool_nodes.results import ErrorCode
from toolhand.training.tasks.refusals import refused_sentences
from toolhand.training.tasks.sayings import CommandWords, say_command, sayings

COMPACT = load_protocol("compact")
OBJECTS = (("milk", "blue bowl"), ("red box", "grey bin"))
MORE = (
    "I don't want the {a}|You shouldn't take the {a}|no {a} please|The {a} should not be picked up|touch the {a}"
    "|pick up something other than the {a}|pick up the {a} without spilling|pretend to pick up the {a}|ignore the {a}"
    "|have you got the {a}|keep away from the {a}|put the {a} 5 cm left of the bowl|pick up every {a}"
    "|pick up the {a} tomorrow|refrain from taking the {a}"
)
CARRIED_OUT = (
    "Can you pick up the {a}?|Could you grab the {a} for me please|hand me the {a}|I'd like the {a}"
    "|take the {a}, thanks|If you don't mind, pick up the {a}."
    "|Do not take the wrong one. I want the {a} that is not on the right."
    "|Nothing but the {a} is to be taken."
)


@pytest.mark.parametrize("said", [*refused_sentences(), *MORE.split("|")])
def test_what_binds_and_has_no_part_in_a_plan_is_named(said: str) -> None:
    for first, second in OBJECTS:
        answer = refusal(said.format(a=first, b=second), f"take {first}, put nowhere")
        assert answer.startswith(f"{ErrorCode.NOT_UNDERSTOOD}: My plan has no part for ")


@pytest.mark.parametrize("said", CARRIED_OUT.split("|"))
def test_courtesy_and_phrases_that_were_learned_whole_are_carried_out(said: str) -> None:
    assert refusal(said.format(a="milk"), "take right milk, put nowhere") == ""


def commands(split: Any, n: int) -> Iterator[tuple[str, str]]:
    """Sentences of a split with their right plans."""
    rng, where = np.random.default_rng(5), list(sayings(split).where)
    sides = {"left": "left", "right": "right", "front": "near", "behind": "far"}
    for k in range(n):
        side = list(sides)[rng.integers(4)] if k % 3 == 1 else None
        relation = where[rng.integers(len(where))] if k % 3 == 2 else None
        others = () if relation is None else ("red bowl", "toy car") if relation == "between" else ("red bowl",)
        said = say_command(rng, split, CommandWords("orange juice", side, relation, others))
        target = f"{sides[side]} orange juice" if side else "orange juice"
        yield (
            said,
            f"take {target}, put {'free table next to the ' + ' and the '.join(others) if others else 'nowhere'}",
        )


@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_of_the_commands_of_the_task_generators_none_is_asked_about(split: str) -> None:
    asked = [said for said, plan in commands(split, 400) if refusal(said, plan)]
    assert asked == []


def test_a_sure_plan_is_not_carried_out_where_a_word_that_binds_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    sure = Reply("# take red box, put nowhere\nlook\ndepth", logprobs=(-0.001,))
    monkeypatch.setattr(TransformersChat, "respond", lambda self, conversation: sure)
    policy = object.__new__(Smollm2Chat)
    policy._options, policy._protocol = PolicyOptions(), COMPACT
    for said, acts in (("Do not touch the red box.", False), ("Please take the red box.", True)):
        reply = policy.respond([Message("system", "Work."), Message("user", said, said)])
        turn = COMPACT.parse(reply.text)
        assert bool(turn.calls) is acts
        assert ("not_done" in reply.details) is not acts
        if not acts:
            assert turn.answer == refusal(said, "take red box, put nowhere")
            assert '"not" "touch"' in turn.answer


def test_of_several_commands_the_newest_is_kept_with_what_follows() -> None:
    said = [Message("system", "s"), Message("user", "a", "a"), Message("assistant", "x"), Message("user", "b", "b")]
    said += [Message("assistant", "y"), Message("user", "c", "c", answers="Which?")]
    assert [message.text for message in newest_command(said)] == ["s", "b", "y", "c"]
    assert newest_command(said[:3]) == said[:3]
