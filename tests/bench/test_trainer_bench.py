"""`toolhand bench trainer` measures what it says."""

from __future__ import annotations

import json

import pytest

from bench.trainer import bench_trainer
from tool_nodes.results import ToolError


def test_its_document_has_the_figures(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench_trainer(rows=2, steps=1, as_json=True) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["tokens_a_row"] > 100
    assert document["parameters"] > 500_000
    assert 0 < document["sampled_tokens"] <= 2 * 8 * 6
    for figure in ("sampled_tokens_s", "sft_step_s", "rl_step_s"):
        assert document[figure] > 0
    assert document["toy"]["grpo_step_s"] > 0


def test_numbers_below_one_are_refused() -> None:
    with pytest.raises(ToolError, match="rows and steps must be 1 or more"):
        bench_trainer(rows=0)
