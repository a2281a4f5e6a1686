"""Times on the pages are those of this machine's own zone, which is named, and times that are asked for are, too."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

pytest.importorskip("nicegui")  # which the pages are made of; `make test-console` has it

from toolhand.agent_node.runs.index import parse_since
from toolhand.console.history.runs import RunSearch
from toolhand.console.pages.parts import counted, local_time


@pytest.fixture
def summer(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A zone two hours ahead of UTC."""
    monkeypatch.setenv("TZ", "XST-2")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("summer")
def test_a_time_is_shown_and_asked_for_in_the_zone_of_this_machine() -> None:
    assert local_time("2026-11-22T23:30:00+00:00") == "2026-11-23 01:30 XST"
    assert local_time("no time") == "no time"
    asked = RunSearch.of_texts(since="2026-11-23T01:30")
    assert asked.since == datetime(2026, 11, 22, 23, 30, tzinfo=UTC)
    assert parse_since("2026-11-23T01:30") == datetime(2026, 11, 23, 1, 30, tzinfo=UTC)


@pytest.mark.parametrize(("count", "words"), [(0, "0 results"), (1, "1 result"), (2000, "2,000 results")])
def test_a_number_of_objects_is_one_object_or_several(count: int, words: str) -> None:
    assert counted(count, "result") == words
