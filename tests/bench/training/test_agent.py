"""`bench agent`: time, tokens and memory of the agent's own loop."""

from __future__ import annotations

import json

import numpy as np
import pytest

from bench.training.agent import LIMITS_MS, SteadyPolicy, bench_agent, memory_row, token_row, tokens, turn_times
from tool_nodes.results import ToolError
from tool_nodes.types import Frame

FRAME = Frame(np.zeros((48, 64, 3), np.uint8), np.ones((48, 64), np.float32), np.eye(3), np.eye(4), 0.0)


@pytest.mark.parametrize("name", ["bench.nothing", "bench.picture"])
def test_every_turn_is_timed_and_runs_its_call(name: str) -> None:
    seconds, episode = turn_times(name, 5, FRAME)
    assert len(seconds) == 5
    assert all(s > 0 for s in seconds)
    assert [record.result.ok for record in episode.records] == [True] * 5
    assert episode.answer == "Done."


def test_tokens_are_characters_by_four_rounded_up() -> None:
    assert [tokens("a" * n) for n in (0, 1, 4, 5)] == [0, 1, 1, 2]


def test_a_protocol_with_one_call_a_turn_takes_more_turns_with_shorter_ones() -> None:
    spacetools, peria = (token_row(name, "put the violin on the box") for name in ("spacetools", "peria"))
    assert peria["turns"] > spacetools["turns"]
    assert peria["written_tokens_a_turn"] < spacetools["written_tokens_a_turn"]


def test_memory_is_measured_over_the_turns_that_were_asked_for() -> None:
    row = memory_row(30, FRAME)
    assert row["turns"] == 30
    assert row["held_mib"] > 0


def test_the_document_is_one_json_object_with_rows_limits_and_tokens(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench.training.agent.protocol_names", lambda: ["last"])
    monkeypatch.setattr("bench.training.agent.token_row", lambda name: {"protocol": name})
    assert bench_agent(n=1, turns=3, as_json=True) == 0
    document = json.loads(capsys.readouterr().out)
    assert {row["name"]: row["limit_ms"] for row in document["rows"]} == LIMITS_MS
    assert document["memory"]["turns"] == 3
    assert [row["protocol"] for row in document["tokens"]] == ["last"]


@pytest.mark.parametrize("wrong", [{"n": 0}, {"turns": 1}])
def test_wrong_numbers_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ToolError, match=r"must be [12] or more"):
        bench_agent(**wrong)  # type: ignore[arg-type]


def test_the_steady_policy_answers_after_its_turns() -> None:
    policy = SteadyPolicy("bench.nothing", 1)
    assert "<tool_call>" in policy.respond(()).text
    assert "<answer>" in policy.respond(()).text
