"""Tickets and logins: what is accepted, once, and for how long."""

import base64

import pytest

from toolhand.console.login import FREE_TRIES, LIFETIME_S, LONGEST_WAIT_S, Login
from toolhand.console.tickets import LIFETIME_S as TICKET_S
from toolhand.console.tickets import Tickets
from toolhand.tool_nodes.results import ErrorCode, ToolError

SECRET = bytes(range(32)).hex()


class Time:
    """A clock that is set."""

    def __init__(self, now: float = 1000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def refused(tickets: Tickets, ticket: str) -> str:
    with pytest.raises(ToolError) as error:
        tickets.take(ticket)
    assert error.value.code is ErrorCode.NOT_APPROVED
    return error.value.message


def test_a_ticket_is_taken_once() -> None:
    time = Time()
    issuer, taker = Tickets(SECRET, time), Tickets(SECRET, time)
    ticket = issuer.issue()
    taker.take(ticket)
    assert refused(taker, ticket) == "This ticket was used before."
    # The last sign of the text has bits that mean nothing: another spelling of the same ticket is the same ticket.
    spelled = [ticket[:-2] + sign + "=" for sign in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"]
    same = [text for text in spelled if base64.urlsafe_b64decode(text) == base64.urlsafe_b64decode(ticket)]
    assert len(same) == 4
    assert {refused(taker, text) for text in same} == {"This ticket was used before."}


def test_a_ticket_is_over_after_its_lifetime_and_stays_used() -> None:
    time = Time()
    tickets = Tickets(SECRET, time)
    ticket, late = tickets.issue(), tickets.issue()
    tickets.take(ticket)
    time.now += TICKET_S
    assert "used" in refused(tickets, ticket)
    time.now += 0.1
    assert "older" in refused(tickets, late)
    time.now -= 2 * TICKET_S
    assert "older" in refused(tickets, late)


@pytest.mark.parametrize("ticket", ["", "x", "A" * 76, "=" * 76, "\u20ac" * 76, "A" * 100_000, "%00" * 20])
def test_what_is_no_ticket_is_refused_in_one_sentence(ticket: str) -> None:
    assert refused(Tickets(SECRET), ticket) == "This is no ticket of this console."


def test_a_ticket_of_another_secret_or_with_another_time_is_refused() -> None:
    tickets = Tickets(SECRET)
    assert "no ticket" in refused(tickets, Tickets("00" * 32).issue())
    packed = bytearray(base64.urlsafe_b64decode(tickets.issue()))
    for place in (0, 16, 23, 24, -1):
        changed = bytearray(packed)
        changed[place] ^= 1
        assert "no ticket" in refused(tickets, base64.urlsafe_b64encode(bytes(changed)).decode())


def test_a_login_holds_for_a_working_day_and_stops_the_arm_for_longer() -> None:
    time = Time()
    login = Login("a token of length", secure=True, clock=time)
    header = login.set_cookie()
    cookie = header.partition(";")[0]
    assert cookie.startswith("__Host-toolhand=")
    assert "a token" not in header
    assert {"Path=/", "HttpOnly", "SameSite=Strict", "Secure"} <= set(header.split("; "))
    assert login.holds(cookie)
    assert login.holds(f"other=1; {cookie}")
    assert Login("a token of length", secure=True, clock=time).holds(cookie), "after a restart"
    assert not Login("another token of it", secure=True, clock=time).holds(cookie)
    time.now += LIFETIME_S
    assert not login.holds(cookie)
    assert login.holds(cookie, also_expired=True)


@pytest.mark.parametrize("cookie", ["", "toolhand=", "__Host-toolhand=9.9.9", "__Host-toolhand=\xff.\xff", "=;=;", "x"])
def test_a_cookie_that_was_not_given_is_no_login(cookie: str) -> None:
    assert not Login("a token of length", secure=True).holds(cookie, also_expired=True)


def test_who_guesses_waits_longer_each_time() -> None:
    time = Time()
    login = Login("a token of length", secure=False, clock=time)
    waits = []
    for _ in range(12):
        assert not login.take("guess", "192.0.2.1")
        waits.append(login.wait_s("192.0.2.1"))
        time.now += waits[-1]
    assert waits[: FREE_TRIES - 1] == [0.0] * (FREE_TRIES - 1)
    assert waits[FREE_TRIES - 1 :] == [1, 2, 4, 8, 16, 32, LONGEST_WAIT_S, LONGEST_WAIT_S]
    assert login.wait_s("192.0.2.2") == 0.0
    for number in range(3000):
        login.take("guess", f"192.0.2.{number}")
    assert len(login._wrong) <= 1024
    assert login.take("a token of length", "192.0.2.1")


def test_without_a_token_everybody_is_logged_in() -> None:
    assert Login("", secure=False).holds("")
