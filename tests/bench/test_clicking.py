"""One of two things alike is clicked in the picture, and that one is meant."""

from __future__ import annotations

from agent_node.console.options import COLOUR_AND_DEPTH
from bench.clicking import ClickJob, ClickRecord, run_one


def test_a_click_on_one_of_two_things_alike_means_that_one() -> None:
    record = run_one(ClickJob(100_001, COLOUR_AND_DEPTH))
    assert record.thing.startswith("ketchup")
    assert (record.meant, record.asked) == (record.thing, False)
    assert record.share > 0.9
    assert record.error_code == "NOT_APPROVED", "nothing moves"


def test_another_thing_is_not_the_right_one() -> None:
    assert not ClickRecord(0, "cola_1", (0.5, 0.5), "cola_2").right
    assert not ClickRecord(0).right
