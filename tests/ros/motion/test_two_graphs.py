"""Two graphs on one machine, with one router: what happens in one is nothing to the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.ros.motion.test_approval import Operator, refused

TOKENS = ("the left operator's token", "the right operator's token")


class Side:
    """One of the two graphs, with an operator who knows its own token alone."""

    def __init__(self, cell: Any, token: str) -> None:
        self.cell, self.token, self.operator = cell, token, Operator(cell)

    def approved(self, goal: Any) -> Any:
        """The goal, whose motion its operator has approved."""
        assert self.operator.answer(self.operator.requests[-1].hash, token=self.token).success
        return goal

    def asked(self, send: Callable[[], Any]) -> Any:
        """A goal whose motion waits for its operator."""
        before = len(self.operator.requests)
        goal = send()
        self.cell.wait(lambda: len(self.operator.requests) > before, "a request")
        return goal


@pytest.fixture
def sides(make_cell: Callable[..., Any], tmp_path: Path) -> Iterator[tuple[Side, Side]]:
    made = []
    for k, token in enumerate(TOKENS):
        file = tmp_path / f"token{k}"
        file.touch(0o600)
        file.write_text(token + "\n")
        cell = make_cell(
            use_sim_time=True, availability_deadline_s=5.0, approval="ask-motion", approval_token_file=str(file)
        )
        cell.start_simulator(real_time_factor=4.0)
        made.append(Side(cell, token))
        cell.wait(lambda cell=cell: cell.motion.count_subscribers("/motion_request"), "the subscription")
    yield made[0], made[1]
    for side in made:
        side.cell.operator.destroy_subscription(side.operator.subscription)


def test_what_happens_in_one_graph_is_nothing_to_the_other(sides: tuple[Side, Side], target: Any) -> None:
    left, right = sides
    # A token and a motion of one graph are worth nothing in the other, also where the other waits for an answer.
    first = left.asked(lambda: left.cell.grasp(target.T_base_gripper))
    wanted = left.operator.requests[-1].hash
    assert not right.operator.requests
    refused(left.operator.answer(wanted, token=right.token))
    refused(right.operator.answer(wanted, token=right.token))
    refused(right.operator.answer(wanted, token=left.token))
    second = right.asked(lambda: right.cell.grasp(target.T_base_gripper))
    refused(right.operator.answer(wanted, token=right.token))
    refused(left.operator.answer(right.operator.requests[-1].hash, token=left.token))
    refused(right.operator.answer(right.operator.requests[-1].hash, token=left.token))
    assert left.cell.commands == right.cell.commands == 0, "nothing moves before its own operator has said so"
    # A motion of one moves the other not at all, and a stop of the other is confirmed and does not brake it.
    left.approved(first)
    left.cell.wait(lambda: left.cell.speed > 0.2, "motion")
    assert right.cell.speed < 0.01
    stopped = right.cell.stop()
    assert stopped.success, stopped.message
    assert "at rest" in stopped.message
    assert not first.ended
    assert second.end()[1].status.error_code == "STOPPED"
    assert first.end()[1].status.success
    assert right.cell.commands == 0
    # The stop is latched where it was asked for, and a reset of the other graph brings nothing back.
    assert left.cell.reset_stop().success
    assert right.cell.grasp(target.T_base_gripper).end()[1].status.error_code == "STOPPED"
    assert right.cell.reset_stop().success
    # The end of one graph in a motion of the other, all at once, leaves the other at work.
    moving = right.approved(right.asked(lambda: right.cell.grasp(target.T_base_gripper)))
    right.cell.wait(lambda: right.cell.speed > 0.2, "motion")
    left.cell.simulator.kill()
    left.cell.motion.context.try_shutdown()
    assert moving.end()[1].status.success
    place = right.approved(right.asked(lambda: right.cell.place(target.place)))
    assert place.end()[1].status.success
    stopped = right.cell.stop()
    assert stopped.success, stopped.message
