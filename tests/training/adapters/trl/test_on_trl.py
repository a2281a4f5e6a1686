"""TRL's own GRPOTrainer over the environment: a random model, for which the test speaks where it must call."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from datasets import Dataset
from transformers.utils import get_json_schema
from trl import GRPOConfig, GRPOTrainer

from tests.training.adapters import twenty
from tests.training.adapters.trl.conftest import COUNT, ROW, SETTINGS
from toolhand.agent_node.policies.scripted.policy import ScriptedPolicy
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.training.adapters.episodes import Episodes
from toolhand.training.adapters.on_trl import TrlEpisode, environment_factory, hear_answers, step_trainer
from toolhand.training.advantages.grpo import grpo
from toolhand.training.tasks.kinds import task_from_document

Reply = list[tuple[str, dict[str, Any]]] | str
"""Calls, or the answer."""


@pytest.fixture(scope="session")
def picking() -> list[Reply]:
    """What the scripted policy says to the task, a call at a time, and its answer."""
    plain = Episodes(SETTINGS | {"protocol": "spacetools"})
    with plain.open(ROW) as session:
        policy = ScriptedPolicy()
        while not session.done:
            session.say(policy.respond(session.messages()))
        calls = [(call.name, dict(call.arguments)) for turn in session.episode.turns for call in turn.parsed.calls]
        assert session.score().truth.success
        return [*([call] for call in calls), session.episode.answer]


@pytest.fixture(scope="session")
def scripts(picking: list[Reply]) -> list[list[Reply]]:
    """A group of rollouts: all of it, all but the place, a look, a bad call and an answer, nothing but an answer."""
    look = picking[0]
    names = ["" if isinstance(reply, str) else reply[0][0] for reply in picking]
    held = picking[: 1 + names.index("robot.execute_grasp")]
    return [picking, [*held, "I give up."], [look, [("robot.capture_image", {"zoom": 2})], "Done."], ["No."]]


def plain_rewards(episodes: Episodes, scripts: Sequence[Sequence[Reply]]) -> list[float]:
    """The same replies to plain sessions."""
    totals = []
    for k, script in enumerate(scripts):
        with episodes.open(ROW, k) as session:
            for reply in script:
                if isinstance(reply, str):
                    session.say(reply)
                else:
                    for name, arguments in reply:
                        session.call(name, arguments)
            totals.append(session.score().total)
    return totals


@pytest.fixture(scope="session")
def expected(episodes: Episodes, scripts: list[list[Reply]]) -> list[float]:
    totals = plain_rewards(episodes, scripts)
    assert len(set(totals)) > 2, "these rollouts must differ"
    return totals


def written(reply: Reply) -> str:
    """As a model of Qwen's writes it."""
    if isinstance(reply, str):
        return f"{reply}<|im_end|>"
    calls = [{"name": name.replace(".", "__"), "arguments": arguments} for name, arguments in reply]
    return "\n".join(f"<tool_call>\n{json.dumps(call)}\n</tool_call>" for call in calls) + "<|im_end|>"


def scripted(trainer: Any, scripts: Sequence[Sequence[Reply]]) -> list[Any]:
    """Let the trainer's rollouts say what is in the scripts; what the model was shown is kept in the list."""
    shown: list[Any] = []
    under_way: list[list[Reply]] = []

    def generate(prompt_ids: Any, images: Any, fields: Any, num_generations: int, has_tool_images: bool = False) -> Any:
        nonlocal under_way
        if not has_tool_images and len(prompt_ids) == len(scripts) and not under_way:
            under_way = [list(script) for script in scripts]
        shown.append((prompt_ids, images))
        assert len(prompt_ids) == len(under_way)
        replies = [script.pop(0) for script in under_way]
        under_way = [s for s, reply in zip(under_way, replies, strict=True) if not isinstance(reply, str)]
        return [trainer._tokenizer(written(reply))["input_ids"] for reply in replies], None

    trainer._generate_single_turn = generate
    return shown


@pytest.fixture
def make(model: Any, processor: Any, tmp_path: Path) -> Any:
    """Makes a trainer of a class on an environment."""

    def made(kind: Any, episodes: Episodes, n: int = 4, row: Any = ROW, **settings: Any) -> Any:
        config = {"max_completion_length": 6000, "max_steps": 1, "learning_rate": 1e-3} | settings
        args = GRPOConfig(
            output_dir=str(tmp_path),
            per_device_train_batch_size=n,
            num_generations=n,
            report_to="none",
            use_cpu=True,
            bf16=False,
            save_strategy="no",
            logging_steps=1,
            disable_tqdm=True,
            seed=0,
            **config,
        )
        rewards = {} if kind is not GRPOTrainer else {"reward_funcs": hear_answers}
        return kind(
            model=model,
            args=args,
            train_dataset=Dataset.from_list([row] * 2),
            processing_class=processor,
            environment_factory=environment_factory(episodes, row),
            **rewards,
        )

    return made


def test_trl_reads_the_schemas_of_the_tools_from_the_class(episodes: Episodes, schemas: Any) -> None:
    made = environment_factory(episodes, ROW)()
    for schema in schemas:
        ours = schema["function"]
        read = get_json_schema(getattr(made, ours["name"].replace(".", "__")))["function"]
        assert read["name"] == ours["name"].replace(".", "__")
        assert read["description"] == " ".join(ours["description"].split())
        theirs, own = read["parameters"], ours["parameters"]
        assert set(theirs["properties"]) == set(own["properties"])
        assert sorted(theirs.get("required", [])) == sorted(own["required"])
        for name, argument in own["properties"].items():
            if "anyOf" not in argument:
                assert theirs["properties"][name]["type"] == argument["type"]
            assert theirs["properties"][name]["description"].startswith(" ".join(argument["description"].split())[:40])


def test_the_same_replies_get_the_same_rewards(
    make: Any, episodes: Episodes, scripts: list[list[Reply]], expected: list[float]
) -> None:
    trainer = make(GRPOTrainer, episodes)
    shown = scripted(trainer, scripts)
    output = trainer._generate_and_score_completions([dict(ROW) for _ in scripts])
    assert list(trainer._logs["rewards"]["Episode"]) == pytest.approx(expected)
    assert output["advantages"].tolist() == pytest.approx(grpo(expected, epsilon=1e-4).tolist(), abs=1e-3)
    assert len(shown) == max(map(len, scripts))


def test_twenty_episodes_are_worth_what_they_are_in_plain_sessions(make: Any) -> None:
    episodes = Episodes({**twenty.SETTINGS, "protocol": "native"})
    rows = [one.row | {"task": json.dumps(one.row["task"])} for one in twenty.TWENTY]
    trainer = make(GRPOTrainer, episodes, n=len(rows), row=rows[0])
    scripted(trainer, [[r if isinstance(r, str) else [r] for r in one.replies] for one in twenty.TWENTY])
    trainer._generate_and_score_completions([dict(row) for row in rows])
    expected = [one.reward for one in twenty.TWENTY]
    assert list(trainer._logs["rewards"]["Episode"]) == pytest.approx(expected, abs=twenty.SAME)
    episodes.close()


def test_images_reach_the_model(make: Any, episodes: Episodes, scripts: list[list[Reply]], processor: Any) -> None:
    trainer = make(step_trainer(), episodes)
    scripted(trainer, scripts)
    output = trainer._generate_and_score_completions([dict(ROW) for _ in scripts])
    counted = [script.count([("robot.capture_image", {})]) for script in scripts]
    assert output["num_images"][3] == 0 < min(output["num_images"][:3])
    assert len(output["image_grid_thw"]) == sum(output["num_images"]) >= sum(counted)
    pads = output["completion_ids"] == processor.image_token_id
    assert pads.sum() == (output["image_grid_thw"].prod(dim=1) // 4).sum(), "each patch has its token"
    assert not output["tool_mask"][pads].any(), "and none of them was sampled"


def test_each_turn_has_its_own_advantage(
    make: Any, episodes: Episodes, scripts: list[list[Reply]], expected: list[float]
) -> None:
    trainer = make(step_trainer(), episodes)
    scripted(trainer, scripts)
    output = trainer._generate_and_score_completions([dict(ROW) for _ in scripts])
    advantages, mask = output["advantages"], output["completion_mask"] * output["tool_mask"]
    assert advantages.shape == output["completion_ids"].shape
    assert not advantages[mask == 0].any()
    per_turn = [advantages[k][mask[k] == 1].unique().tolist() for k in range(len(scripts))]
    episode = grpo(expected, epsilon=1e-6)
    assert len(per_turn[0]) > 1, "turns of one rollout differ"
    assert per_turn[3] == pytest.approx([2 * episode[3]], rel=0.5), (
        "one turn: of the rollout, and beside the others' first"
    )
    first = [advantages[k][0].item() - episode[k] for k in range(4)]
    assert sum(first) == pytest.approx(0.0, abs=1e-4), (
        "the first turns answered the same prompt: their credit is relative"
    )
    assert np.ptp(first) > 0.1


def test_a_broken_rollout_is_dropped_and_not_scored(
    make: Any,
    episodes: Episodes,
    scripts: list[list[Reply]],
    expected: list[float],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trainer = make(step_trainer(), episodes)
    scripted(trainer, scripts)
    call, calls = TrlEpisode._call, 0

    def breaks(self: TrlEpisode, name: str, arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 2 and self._session is not None:  # the second rollout's first call
            self._session._sound = False
        return call(self, name, arguments)

    monkeypatch.setattr(TrlEpisode, "_call", breaks)
    output = trainer._generate_and_score_completions([dict(ROW) for _ in scripts])
    told = list(trainer._logs["rewards"]["Episode"])
    assert np.isnan(told[1])
    assert [told[0], *told[2:]] == pytest.approx([expected[0], *expected[2:]])
    assert not output["advantages"][1].any()
    assert output["advantages"][0].any()
    assert trainer._metrics["train"]["episodes/dropped"] == [0.25]


def test_a_step_in_which_everything_broke_stops(make: Any, episodes: Episodes, monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = make(step_trainer(), episodes)
    scripted(trainer, [["No."]] * 4)

    def broken(row: Any, rollout: int = 0) -> Any:
        raise ToolError(ErrorCode.UNAVAILABLE, "No station today.")

    monkeypatch.setattr(episodes, "open", broken)
    with pytest.raises(ToolError, match="All 4 rollouts of a step broke") as error:
        trainer.train()
    assert error.value.code is ErrorCode.UNAVAILABLE


@pytest.mark.parametrize("kind", ["grpo", "or_gigpo"])
def test_steps_of_training_move_the_weights(kind: str, make: Any, model: Any) -> None:
    episodes = Episodes(SETTINGS | {"reward": "mean"})
    truth = task_from_document(json.loads(COUNT["task"])).truth
    trainer = make(GRPOTrainer if kind == "grpo" else step_trainer(), episodes, n=2, row=COUNT, max_steps=2)
    shown = scripted(trainer, [[[("robot.capture_image", {})], str(truth)], ["No idea."]])
    before = {name: weight.detach().clone() for name, weight in model.named_parameters()}
    trainer.train()
    assert list(trainer._logs["rewards"]["Episode"])[-2:] == [1.0, 0.0]
    assert [len(images[0]) for _, images in shown] == [1, 2] * 2, "that of the question, and that of the call"
    losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
    assert len(losses) == 2
    assert np.isfinite(losses).all()
    moved = {name for name, weight in model.named_parameters() if not torch.equal(before[name], weight)}
    assert any("visual" in name for name in moved), "pictures are trained on, too"
    assert any("language_model" in name for name in moved)


def test_what_a_random_model_says_by_itself_is_scored(make: Any, episodes: Episodes) -> None:
    trainer = make(step_trainer(), episodes, n=2, max_completion_length=6)
    trainer.train()
    assert list(trainer._logs["rewards"]["Episode"]) == [0.0, 0.0]
    assert trainer.state.global_step == 1


def test_another_protocol_is_refused() -> None:
    with pytest.raises(ToolError, match="must be native, not spacetools"):
        environment_factory(Episodes({"protocol": "spacetools"}), ROW)
