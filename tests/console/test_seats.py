"""Who operates, who observes, and when a command is left alone."""

import pytest

from tests.refusals import refused
from toolhand.console.seats import AGAIN_S, ANSWER_S, COMING_BACK, GRACE_S, OBSERVERS, SILENCE_S, SeatRole, Seats
from toolhand.tool_nodes.results import ErrorCode, ToolError


class Room:
    """Seats with a clock that is set; pages that are there send heartbeats."""

    def __init__(self) -> None:
        self.now = 0.0
        self.seats = Seats(lambda: self.now)
        self.there: set[str] = set()

    def enter(self, page: str, tab: str = "", observe: bool = False) -> SeatRole:
        self.there.add(page)
        return self.seats.enter(page, tab, observe)

    def pass_time(self, seconds: float) -> None:
        for _ in range(round(seconds * 2)):
            self.now += 0.5
            for page in sorted(self.there):
                self.seats.heard(page)

    def leave(self, page: str) -> None:
        self.there.discard(page)
        self.seats.left(page)


@pytest.fixture
def room() -> Room:
    return Room()


def test_the_first_page_operates_and_the_next_observes(room: Room) -> None:
    assert room.enter("a") is SeatRole.OPERATOR
    assert room.enter("b") is SeatRole.OBSERVER
    room.seats.require_operator("a")
    for page in ("b", "unknown", ""):
        with refused(ErrorCode.NOT_APPROVED):
            room.seats.require_operator(page)
    status = room.seats.status("b")
    assert (status.role, status.operators, status.observers) == (SeatRole.OBSERVER, 1, 1)


def test_a_page_that_only_observes_leaves_the_seat_free(room: Room) -> None:
    assert room.enter("a", observe=True) is SeatRole.OBSERVER
    assert not room.seats.operated
    room.seats.ask("a")
    assert room.seats.role("a") is SeatRole.OPERATOR


def test_a_silent_operator_leaves_the_command_alone_once(room: Room) -> None:
    room.enter("a")
    room.there.clear()
    room.pass_time(SILENCE_S)
    assert not room.seats.abandoned()
    room.pass_time(0.5)
    assert room.seats.abandoned()
    assert not room.seats.abandoned()
    assert not room.seats.heard("a"), "it has to enter anew"
    assert room.enter("a") is SeatRole.OPERATOR


def test_a_reload_keeps_the_seat_for_its_tab(room: Room) -> None:
    room.enter("a", tab="one")
    room.enter("b", tab="two")
    room.leave("a")
    room.pass_time(GRACE_S - 1)
    assert room.seats.role("b") is SeatRole.OBSERVER
    assert room.seats.role("a") is SeatRole.OBSERVER, "a page that left commands nothing"
    assert room.enter("a2", tab="one") is SeatRole.OPERATOR
    room.pass_time(20)
    assert not room.seats.abandoned()
    assert room.seats.role("b") is SeatRole.OBSERVER


def test_a_reload_that_is_heard_of_before_the_old_page_left_keeps_the_seat(room: Room) -> None:
    room.enter("a", tab="one")
    assert room.enter("a2", tab="one") is SeatRole.OBSERVER, "a tab that was duplicated is no second operator"
    room.leave("a")
    assert room.seats.role("a2") is SeatRole.OPERATOR
    room.pass_time(20)
    assert not room.seats.abandoned()


def test_an_operator_who_does_not_come_back_makes_room(room: Room) -> None:
    room.enter("a", tab="one")
    room.enter("b", tab="two")
    room.leave("a")
    room.pass_time(GRACE_S + 0.5)
    assert room.seats.abandoned()
    assert room.seats.role("b") is SeatRole.OPERATOR


def test_the_seat_changes_hands_by_asking(room: Room) -> None:
    room.enter("a")
    room.enter("b")
    room.seats.ask("b")
    assert room.seats.status("a").asking
    assert room.seats.status("b").asked
    assert room.seats.status("b").answer_in_s == ANSWER_S
    with pytest.raises(ToolError):
        room.seats.answer("b", give=True)
    room.seats.answer("a", give=True)
    assert (room.seats.role("a"), room.seats.role("b")) == (SeatRole.OBSERVER, SeatRole.OPERATOR)
    assert not room.seats.abandoned()


def test_an_operator_may_keep_the_seat_and_is_not_asked_again_at_once(room: Room) -> None:
    room.enter("a")
    room.enter("b")
    room.seats.ask("b")
    room.seats.answer("a", give=False)
    room.pass_time(ANSWER_S + 1)
    assert room.seats.role("a") is SeatRole.OPERATOR
    with pytest.raises(ToolError, match="keeps the seat"):
        room.seats.ask("b")
    room.pass_time(AGAIN_S)
    room.seats.ask("b")
    room.enter("c")
    with pytest.raises(ToolError, match="Somebody else"):
        room.seats.ask("c")
    room.pass_time(ANSWER_S + 0.5)
    assert room.seats.role("b") is SeatRole.OPERATOR, "no answer gives the seat away"
    assert room.seats.operated


def test_whoever_asks_and_goes_is_forgotten(room: Room) -> None:
    room.enter("a")
    room.enter("b")
    room.seats.ask("b")
    room.leave("b")
    room.pass_time(ANSWER_S + 1)
    assert room.seats.role("a") is SeatRole.OPERATOR
    assert not room.seats.status("a").asking


def test_an_operator_may_step_down(room: Room) -> None:
    room.enter("a")
    room.seats.step_down("a")
    assert room.seats.role("a") is SeatRole.OBSERVER
    assert room.seats.abandoned(), "nobody watches a command that runs"
    assert room.enter("b") is SeatRole.OPERATOR
    room.seats.step_down("b")
    assert room.seats.role("a") is SeatRole.OBSERVER


def test_there_is_never_more_than_one_operator(room: Room) -> None:
    import numpy as np

    rng = np.random.default_rng(0)
    names = [f"p{number}" for number in range(5)]
    for _ in range(3000):
        page, what = names[rng.integers(5)], int(rng.integers(7))
        try:
            if what == 0:
                room.enter(page, tab=f"t{rng.integers(3)}", observe=bool(rng.integers(2)))
            elif what == 1:
                room.leave(page)
            elif what == 2:
                room.seats.ask(page)
            elif what == 3:
                room.seats.answer(page, give=bool(rng.integers(2)))
            elif what == 4:
                room.seats.step_down(page)
            else:
                room.pass_time(float(rng.integers(1, 12)) / 2)
        except ToolError:
            pass
        assert sum(room.seats.role(name) is SeatRole.OPERATOR for name in names) <= 1
        for name in names:
            assert room.seats.status(name).operators <= 1


def crowd(room: Room, observe: bool) -> None:
    """As many observers as there are places for."""
    for number in range(OBSERVERS):
        room.enter(f"o{number}", f"crowd {number}", observe)
    with refused(ErrorCode.UNAVAILABLE):
        room.enter("one more", "crowd", observe=True)


@pytest.mark.parametrize("observe", [True, False])
def test_however_many_observe_a_tab_that_had_the_seat_comes_back(room: Room, observe: bool) -> None:
    room.enter("a", "own")
    crowd(room, observe)
    room.leave("a")
    assert room.enter("a2", "own") is SeatRole.OPERATOR, "a reload"
    room.there.discard("a2")
    room.pass_time(SILENCE_S + 1.0)
    role = room.enter("a3", "own")
    assert role is (SeatRole.OPERATOR if observe else SeatRole.OBSERVER), "somebody who waited has the seat"
    if role is SeatRole.OBSERVER:
        room.seats.ask("a3")
        room.pass_time(ANSWER_S + 1.0)
    assert room.seats.role("a3") is SeatRole.OPERATOR


def test_a_free_seat_is_taken_by_a_new_page_however_many_only_observe(room: Room) -> None:
    crowd(room, observe=True)
    assert not room.seats.operated
    assert room.enter("new", "never seen") is SeatRole.OPERATOR
    assert room.seats.status("new").observers == OBSERVERS


def test_a_tab_that_had_the_seat_gets_no_more_places_than_it_needs(room: Room) -> None:
    room.enter("a", "own")
    crowd(room, observe=True)
    for number in range(COMING_BACK - 1):
        room.enter(f"again {number}", "own")
    with pytest.raises(ToolError):
        room.enter("once too often", "own")
    with pytest.raises(ToolError):
        room.enter("of another tab", "not own")
