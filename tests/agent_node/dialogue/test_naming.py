"""Names of objects, and sentences that cannot be read."""

import gc
import weakref

import pytest

from toolhand.agent_node.dialogue.naming import mapped, name_of, objects_of, parse_problem
from toolhand.agent_node.plan.reading import read_plan, say
from toolhand.agent_node.plan.types import ObjectRef


class Speaker:
    """Stands for a robot with its world."""


def refused(text: str) -> weakref.ref[Speaker]:
    speaker = Speaker()
    assert parse_problem(text) is not None
    return weakref.ref(speaker)


def test_a_refused_sentence_keeps_nobody_alive() -> None:
    left = refused("frobnicate the kettle of last week")
    gc.collect()
    assert left() is None


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("the lemon", "lemon"),
        ("the leftmost red box", "red box"),
        ("the can at (0.200, 0.500)", "can"),
        ("the bottle that is next to the bowl", "bottle"),
        ("the dark red one", "dark red object"),
        ("something", "object"),
        ("it", ""),
    ],
)
def test_an_object_has_a_plain_name(said: str, name: str) -> None:
    [act] = read_plan(f"pick up {said}")
    assert name_of(act.objects[0]) == name


def test_every_object_of_an_act_may_become_another() -> None:
    plan = read_plan("put the can that is next to the box in the bowl")
    assert [ref.words for ref in objects_of(plan[0])] == ["box", "can", "bowl"]
    changed = mapped(plan[0], lambda ref: ObjectRef("it") if ref.words == "box" else ref)
    assert say((changed,)) == "put the can that is next to it in the bowl"
