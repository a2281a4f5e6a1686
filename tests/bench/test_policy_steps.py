"""`bench steps`: a step up is told from a step that is noise, and rollouts of others are refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from agent_node.episode import Episode
from agent_node.policies.tiny.weights import TinyConfig, fresh_weights, write_weights
from bench.policy_steps import ADVANTAGES, bench_steps
from sim.tasks.task import Score, Task
from tool_nodes.results import ToolError
from training.env.grading import Grade
from training.rollouts.collection import write_shard
from training.rollouts.plan import GRADERS, RolloutPlan
from training.rollouts.replies import RolloutOrder, RolloutReply
from training.rollouts.work import make_work

CONFIG = TinyConfig(width=32, layers=1, heads=2, hidden=32, positions=140, guided=False)


def odd_grade(task: Task, episode: Episode, truth: Score) -> Grade:
    """The share of tokens with odd numbers: what each token adds to it is known."""
    return Grade(float(np.mean([token % 2 for turn in episode.turns for token in turn.as_sampled.token_ids])), {})


def luck_grade(task: Task, episode: Episode, truth: Score) -> Grade:
    """What no policy can do anything for, though it differs from rollout to rollout."""
    ids = [token for turn in episode.turns for token in turn.as_sampled.token_ids]
    return Grade(float(np.random.default_rng(ids).random()), {})


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("steps")
    file = folder / "policy.safetensors"
    write_weights(fresh_weights(1, CONFIG), file)
    tasks = tuple({"kind": "pick", "seed": 3 + k, "split": "train"} for k in range(24))
    with pytest.MonkeyPatch.context() as patch:
        for reward, grade in (("odd", odd_grade), ("luck", luck_grade)):
            patch.setitem(GRADERS, reward, grade)
            plan = RolloutPlan(
                tasks, seed=1, reward=reward, turns=2, backend="mock", group=8, policy=f"tiny:{file}",
                settings={"temperature": 1.0},
            )  # fmt: skip
            work = make_work(plan, folder / reward)
            for group in range(len(tasks)):
                made = [work(RolloutOrder(group, k)) for k in range(plan.group)]
                write_shard(folder / reward, group, [one.line for one in made if isinstance(one, RolloutReply)])
    return folder


def test_a_step_gains_where_the_reward_is_the_policys_doing(drawn: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = {}
    for reward in ("odd", "luck"):
        assert bench_steps((drawn / reward,), drawn / "policy.safetensors", groups=2, as_json=True) == 0
        document[reward] = json.loads(capsys.readouterr().out)
    odd, luck = ({row["name"]: row for row in document[reward]["rows"]} for reward in ("odd", "luck"))
    assert list(odd) == list(ADVANTAGES)
    assert document["odd"]["rollouts"] == 192
    assert {row["n"] for row in odd.values()} == {24}
    for name in ("GRPO", "GRPO, not divided", "GAE, lambda 1"):
        assert odd[name]["gain"] > 1.7 * odd[name]["standard_error"] > 0
        assert not luck[name]["gain"] > 1.7 * luck[name]["standard_error"]


def test_a_longer_step_is_worth_more_to_first_order(drawn: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gains = []
    for kl in (0.001, 0.004):
        bench_steps((drawn / "odd",), drawn / "policy.safetensors", groups=4, kl=kl, as_json=True)
        gains.append(json.loads(capsys.readouterr().out)["rows"][0]["gain"])
    assert gains[1] == pytest.approx(2 * gains[0], rel=0.01)


def test_what_cannot_be_compared_is_refused(drawn: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.safetensors"
    write_weights(fresh_weights(2, CONFIG), other)
    with pytest.raises(ToolError, match="drawn by other weights"):
        bench_steps((drawn / "odd",), other)
    own = drawn / "policy.safetensors"
    few = tmp_path / "few"
    shutil.copytree(drawn / "odd", few)
    for shard in sorted((few / "shards").iterdir())[3:]:
        shard.unlink()
    with pytest.raises(ToolError, match="These are 3 groups: it takes 4 or more"):
        bench_steps((few,), own)
    with pytest.raises(ToolError, match="groups must be 1 or more"):
        bench_steps((drawn / "odd",), own, groups=0)
    with pytest.raises(ToolError, match="no rollouts"):
        bench_steps((), own)
