"""What a recording of somebody else's names is not asked, fetched or opened because the recording says so."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.refusals import refused
from toolhand.cli import main as cli
from toolhand.cli.replay import _require_at_home, _simulated
from toolhand.cli.rollouts import _own_sensor
from toolhand.tool_nodes.results import ErrorCode
from toolhand.training.rollouts.plan import PLAN_FILE, RolloutPlan
from toolhand.training.tasks.kinds import task_document

RUN: dict[str, Any] = {"scene": "example", "perception": "sim", "seed": 0}

ELSEWHERE: list[dict[str, Any]] = [
    {"ports": {"pointer": "pointing:m@https://models.example/v1"}},
    {"ports": {"pointer": "roborefer:m@http://127.0.0.1:9/v1"}},
    {"ports": {"pointer": "pixels+pointing:m@https://models.example/v1"}},
    {"ports": {"detector": "groundingdino:OWNER/NAME"}},
    {"ports": {"segmenter": "sam2:/somewhere/else"}},
    {"ports": {"segmenter": "sam2:../../weights"}},
    {"ports": {"grasps": "graspgen:models.example:5556"}},
    {"ports": {"grasps": "graspgen:host"}},
    {"ports": {"pointer": "served"}},
    {"ports": {"pointer": "served:other"}},
    {"perception": "served"},
    {"robot": "/somewhere/robot"},
    {"robot": "./robot"},
    {"robot": "../robot"},
    {"robot": "~/robot"},
]

NO_RUN: list[dict[str, Any]] = [
    {"seed": True},
    {"seed": 1.0},
    {"seed": "0"},
    {"turn_budget": None},
    {"turn_budget": "many"},
    {"scene": 3},
    {"scene": None},
    {"approval": "never"},
    {"approval": ["auto"]},
    {"role": "root"},
    {"role": {}},
    {"protocol": 1},
    {"ports": []},
    {"ports": "x"},
    {"ports": {"arm": "x"}},
    {"ports": {"pointer": "none"}},
    {"ports": {"pointer": 7}},
    {"perception": ""},
    {"perception": "no-such"},
    {"suite": 1},
    {"robot": 1},
    {"ports": {"pointer": "a+b+c"}},
]


@pytest.mark.parametrize("change", ELSEWHERE, ids=str)
def test_what_lies_elsewhere_is_not_used_because_a_recording_says_so(change: dict[str, Any]) -> None:
    with refused(ErrorCode.INVALID_ARGUMENT) as caught:
        _require_at_home(_simulated(RUN | change))
    assert (
        "no such" in str(caught.value).lower() or "There is no" in str(caught.value) or "--trusted" in str(caught.value)
    )


@pytest.mark.parametrize(
    "policy",
    [
        "openai:m@https://models.example/v1",
        "anthropic:m@https://models.example",
        "replay:/somewhere/else",
        "transformers:OWNER/NAME",
    ],
)
def test_a_plan_of_rollouts_does_not_say_who_is_asked(
    policy: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = RolloutPlan((task_document("pick_and_place", 0),)).document() | {"policy": policy}
    (tmp_path / PLAN_FILE).write_text(json.dumps(plan))
    assert cli._run_command(["rollouts", "branch", str(tmp_path), "--out", str(tmp_path / "out")], False) == 2
    assert capsys.readouterr().err.startswith("INVALID_ARGUMENT: ")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("change", NO_RUN, ids=str)
def test_a_result_that_is_none_is_one_sentence(change: dict[str, Any]) -> None:
    with refused(ErrorCode.INVALID_ARGUMENT, within=600):
        _simulated(RUN | change)


@pytest.mark.parametrize("change", [{}, {"ports": {"pointer": "pixels"}}, {"robot": "gen3"}])
def test_what_is_at_home_is_used(change: dict[str, Any]) -> None:
    _require_at_home(_simulated(RUN | change))


def test_rollouts_go_on_with_the_sensors_of_this_project_alone() -> None:
    for name in ("stereo", "random", "random:zed2", "realsense_d435:shadow,dropout", "zed2+random:kinova_wrist"):
        assert _own_sensor(name), name
    for name in ("somebody:http", "random:somebody:http", "zed2+somebody:http"):
        assert not _own_sensor(name), name
