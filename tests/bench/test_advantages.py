"""`bench advantages`: what it compares, never how long it took."""

from __future__ import annotations

import json

import pytest

from bench.advantages import all_pairs_groups, bench_advantages, sampled_rollouts
from tool_nodes.results import ToolError
from training.advantages.grouping import observation_groups


def test_rollouts_come_from_the_seed_and_have_likes_and_strangers() -> None:
    rollouts = sampled_rollouts(2, seed=3)
    assert rollouts == sampled_rollouts(2, seed=3) != sampled_rollouts(2, seed=4)
    assert [(rollout.prompt, len(rollout.turns)) for rollout in rollouts] == [(p, 11) for p in "00001111"]


def test_both_ways_find_the_same_groups() -> None:
    found = [turn.anchor for rollout in sampled_rollouts(1, seed=0)[:2] for turn in rollout.turns]
    slow, quick = all_pairs_groups(found, 0.9), observation_groups(found, 0.9)
    assert [slow.index(label) for label in slow] == [quick.tolist().index(label) for label in quick]
    assert 1 < len(set(slow)) < len({anchor.digest for anchor in found})


def test_the_document_has_both_times_of_one_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench_advantages(prompts=1, seed=1, as_json=True) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["rollouts"], document["turns"], document["pairs"]) == (4, 11, 44 * 43 // 2)
    assert document["same_groups"] is True
    assert document["quick_cpu_s"] > 0 < document["all_pairs_cpu_s"]
    assert document["seeds"] == [1]


@pytest.mark.parametrize("wrong", [{"prompts": 0}, {"seed": -1}])
def test_wrong_numbers_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ToolError, match="must be"):
        bench_advantages(**wrong)  # type: ignore[arg-type]
