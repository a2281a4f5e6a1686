"""Trajectories of a policy in place of the scripted teachers: SpaceTools' pointing expert above all."""

from pathlib import Path

import pytest

from toolhand.agent_node.protocol import load_protocol
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.training.data.synthesis.collecting import SynthesisPlan
from toolhand.training.data.synthesis.making import Maker
from toolhand.training.data.synthesis.methods import SynthesisJob, chosen_shares, job_of, shares_of
from toolhand.training.data.synthesis.teacher_pool import schemas_of
from toolhand.training.rollouts.images import ImageStore
from toolhand.training.rollouts.record import RolloutRecord


def test_an_expert_points_and_its_student_reads_the_prompt_of_figure_3_with_all_tools(tmp_path: Path) -> None:
    result = Maker(tmp_path, policy="teacher")(SynthesisJob(0, "points", "free_space", 1))
    [made] = result.made
    assert not made.why
    record = RolloutRecord.from_json(made.line, ImageStore(tmp_path))
    assert record.policy == "teacher"
    assert {call.tool for turn in record.turns for call in turn.calls} == {"roborefer.detect_one"}
    schemas = schemas_of(("spacetools",))
    assert record.messages[0].text == load_protocol("spacetools").system_prompt(schemas)
    assert record.schemas == list(schemas)
    assert record.protocol == "spacetools"


def test_methods_are_chosen_by_name_and_keep_their_shares_of_each_other() -> None:
    whole, some = shares_of("dirl"), chosen_shares("dirl", ("robot", "tools"))
    assert list(some) == ["tools", "robot"]
    assert sum(some.values()) == pytest.approx(1.0)
    assert some["tools"] / some["robot"] == pytest.approx(whole["tools"] / whole["robot"])
    assert {job_of("dirl", 0, number, ("points",)).method for number in range(40)} == {"points"}
    assert [job_of("dirl", 0, k) for k in range(40)] == [job_of("dirl", 0, k, tuple(whole)) for k in range(40)]


@pytest.mark.parametrize("wrong", [{"methods": ("views",)}, {"policy": "gpt"}])
def test_a_method_of_another_recipe_and_a_policy_that_is_none_are_refused(wrong: dict) -> None:
    with pytest.raises(ToolError) as caught:
        SynthesisPlan("dirl", 1, **wrong)
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT
