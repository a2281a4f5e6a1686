import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

import pytest

from toolhand.tool_nodes.serve.coalescing import Closed, Coalescer, QueueFull
from toolhand.tool_nodes.serve.requests import PortRequest

LONG_S = 60.0


class Post:
    """A way on which a test says what comes back, and when: messages wait for `reply`."""

    def __init__(self) -> None:
        self.sent: list[list[str]] = []
        self.cancelled: list[int] = []
        self._replies: list[Future[list[str]]] = []
        self._changed = threading.Condition()

    def send(self, requests: Sequence[PortRequest]) -> int:
        words = [request.arguments[0] for request in requests]
        with self._changed:
            self.sent.append(words)
            self._replies.append(Future())
            self._changed.notify_all()
            return len(self.sent) - 1

    def receive(self, sent: int, until: float) -> list[str]:
        return self._replies[sent].result(max(0.0, until - time.time()))

    def cancel(self, sent: int) -> None:
        with self._changed:
            self.cancelled.append(sent)
            self._changed.notify_all()

    def until(self, holds: Any) -> None:
        with self._changed:
            assert self._changed.wait_for(holds, LONG_S)

    def reply(self, number: int, error: Exception | None = None) -> None:
        self.until(lambda: len(self.sent) > number)
        if error is None:
            self._replies[number].set_result([word.upper() for word in self.sent[number]])
        else:
            self._replies[number].set_exception(error)


class Talk:
    """Threads that ask."""

    def __init__(self, abreast: int = 1, size: int = 8, queue: int = 100) -> None:
        self.post = Post()
        self.coalescer = Coalescer(self.post, abreast, size, queue)
        self._threads = ThreadPoolExecutor(20)

    def ask(self, word: str, left_s: float = LONG_S) -> Future[str]:
        """Begin a call; it is on its way or in line when this returns."""
        asked = self._threads.submit(self.coalescer.ask, PortRequest((word,), time.time() + left_s))
        until = time.monotonic() + LONG_S
        while not asked.done() and not self._known(word):
            assert time.monotonic() < until
            time.sleep(0.001)
        return asked

    def _known(self, word: str) -> bool:
        in_line = [call.request.arguments[0] for call in list(self.coalescer._line)]
        return word in in_line or any(word in words for words in list(self.post.sent))


def test_a_call_goes_at_once_and_what_comes_meanwhile_goes_together() -> None:
    talk = Talk(size=3)
    asked = [talk.ask(word) for word in "abcde"]
    assert talk.post.sent == [["a"]]
    for number in range(3):
        talk.post.reply(number)
    assert [each.result(LONG_S) for each in asked] == list("ABCDE")
    assert talk.post.sent == [["a"], ["b", "c", "d"], ["e"]]


def test_as_many_messages_as_said_are_on_their_way_at_once() -> None:
    talk = Talk(abreast=2)
    asked = [talk.ask(word) for word in "abcd"]
    assert talk.post.sent == [["a"], ["b"]]
    talk.post.reply(1)
    assert asked[1].result(LONG_S) == "B"
    talk.post.reply(2)
    talk.post.reply(0)
    assert [each.result(LONG_S) for each in asked] == list("ABCD")
    assert talk.post.sent[2] == ["c", "d"]


def test_what_fails_together_is_asked_again_one_by_one() -> None:
    talk = Talk()
    asked = [talk.ask(word) for word in "abcd"]
    talk.post.reply(0)
    talk.post.reply(1, ConnectionError("died"))
    talk.post.reply(2)
    talk.post.reply(3, ConnectionError("died again"))
    talk.post.reply(4)
    assert talk.post.sent == [["a"], ["b", "c", "d"], ["b"], ["c"], ["d"]]
    assert (asked[0].result(LONG_S), asked[1].result(LONG_S), asked[3].result(LONG_S)) == ("A", "B", "D")
    with pytest.raises(ConnectionError, match="died again"):
        asked[2].result(LONG_S)


def test_who_waits_for_a_message_and_must_go_leaves_that_to_another_of_it() -> None:
    talk = Talk()
    first = talk.ask("a")
    hurried, patient = talk.ask("b", left_s=0.5), talk.ask("c")
    talk.post.reply(0)
    with pytest.raises(TimeoutError):
        hurried.result(LONG_S)
    assert talk.post.sent == [["a"], ["b", "c"]]
    talk.post.reply(1)
    assert (first.result(LONG_S), patient.result(LONG_S)) == ("A", "C")
    assert talk.post.cancelled == []


def test_a_message_that_nobody_waits_for_is_cancelled_and_the_next_one_goes() -> None:
    talk = Talk()
    late = [talk.ask(word, left_s=0.3) for word in "a"]
    in_line = talk.ask("b")
    wait(late)
    talk.post.until(lambda: talk.post.cancelled == [0])
    talk.post.reply(1)
    assert in_line.result(LONG_S) == "B"
    with pytest.raises(TimeoutError):
        late[0].result(LONG_S)


def test_a_call_whose_time_is_over_in_line_is_never_sent() -> None:
    talk = Talk()
    first, late = talk.ask("a"), talk.ask("b", left_s=0.1)
    with pytest.raises(TimeoutError):
        late.result(LONG_S)
    talk.post.reply(0)
    assert first.result(LONG_S) == "A"
    assert talk.post.sent == [["a"]]


def test_more_than_may_wait_are_refused() -> None:
    talk = Talk(queue=2)
    asked = [talk.ask(word) for word in "abc"]
    with pytest.raises(QueueFull):
        talk.coalescer.ask(PortRequest(("d",), time.time() + LONG_S))
    talk.post.reply(0)
    talk.post.reply(1)
    assert [each.result(LONG_S) for each in asked] == list("ABC")


def test_what_cannot_be_sent_costs_the_others_nothing() -> None:
    class Picky(Post):
        def send(self, requests: Sequence[PortRequest]) -> int:
            if any(request.arguments[0] == "?" for request in requests):
                raise TypeError("cannot pickle")
            return super().send(requests)

    talk = Talk()
    talk.coalescer._way = talk.post = Picky()
    asked = [talk.ask(word) for word in "a?c"]
    talk.post.reply(0)
    talk.post.reply(1)
    assert (asked[0].result(LONG_S), asked[2].result(LONG_S)) == ("A", "C")
    with pytest.raises(TypeError):
        asked[1].result(LONG_S)


def test_when_there_is_nobody_to_ask_all_calls_end() -> None:
    talk = Talk()
    asked = [talk.ask(word) for word in "abc"]
    talk.coalescer.close()
    for each in asked:
        with pytest.raises(Closed):
            each.result(LONG_S)
    with pytest.raises(Closed):
        talk.coalescer.ask(PortRequest(("d",), time.time() + LONG_S))
    assert talk.post.sent == [["a"]]
