"""What a process does about one rollout: real episodes, seeds, what is scored, dropped or drawn again."""

import errno
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import toolhand.training.rollouts.work
from tests.refusals import refused
from toolhand.agent_node.policies.options import PolicyOptions
from toolhand.agent_node.policy import Message, Reply
from toolhand.cli.main import main
from toolhand.tool_nodes import registry
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.toolbox.limits import CallLimiter
from toolhand.training.pool.workers import WorkerUnusable
from toolhand.training.rollouts.collection import read_rollouts
from toolhand.training.rollouts.plan import RolloutPlan, tasks_of
from toolhand.training.rollouts.record import RolloutRecord
from toolhand.training.rollouts.replies import Halt, RolloutOrder, RolloutReply
from toolhand.training.rollouts.work import make_work
from toolhand.training.tasks.kinds import task_document

PLAN = RolloutPlan(tasks_of(["pick"], 2, seed=3), group_size=2, seed=5, image_size=(64, 64), timestep=0.004)
LOOK = '<think>Look.</think><tool_call>{"name": "robot.capture_image", "arguments": {}}</tool_call>'
FIRST = RolloutOrder(0, 0)

Say = Callable[[int, PolicyOptions], str]


class Saying:
    """A policy that answers at once; it writes its seed into its last words."""

    name = "saying"

    def __init__(self, say: Say, options: PolicyOptions) -> None:
        self._say, self._options = say, options

    def respond(self, conversation: Sequence[Message]) -> Reply:
        return Reply(self._say(sum(message.role == "assistant" for message in conversation), self._options))


def looks_once(turn: int, options: PolicyOptions) -> str:
    return LOOK if turn == 0 else f"<answer>Seen by {options.seed}.</answer>"


@pytest.fixture
def says(monkeypatch: pytest.MonkeyPatch) -> Callable[[Say], None]:
    def use(say: Say) -> None:
        def make(spec: str, protocol: Any, schemas: Any, options: PolicyOptions) -> Saying:
            return Saying(say, options)

        monkeypatch.setattr(toolhand.training.rollouts.work, "make_policy", make)

    return use


def record_of(reply: RolloutReply | Halt, folder: Path) -> RolloutRecord:
    assert isinstance(reply, RolloutReply)
    from toolhand.training.rollouts.images import ImageStore

    return RolloutRecord.from_json(reply.line, ImageStore(folder))


def test_rollouts_of_a_group_share_the_station_and_have_policies_with_seeds_of_their_own(
    says: Callable[[Say], None], tmp_path: Path
) -> None:
    says(looks_once)
    work = make_work(PLAN, tmp_path)
    orders = [RolloutOrder(group, rollout) for group in range(2) for rollout in range(2)]
    records = [record_of(work(order), tmp_path) for order in orders]
    assert [record.id for record in records] == ["00000-000", "00000-001", "00001-000", "00001-001"]
    assert [record.answer for record in records] == [f"Seen by {record.seeds['policy']}." for record in records]
    assert len({record.seeds["policy"] for record in records}) == 4
    assert [len({record.seed for record in records if record.group == group}) for group in range(2)] == [1, 1]
    assert records[0].seed != records[2].seed
    assert records[0].task == task_document("pick", 3)
    assert records[0].total == 0.0
    assert not records[0].true_success
    images = [record.turns[0].calls[0].image for record in records]
    assert images[0] == images[1] != images[2]
    assert {"task", "station", "policy", "tools", "judging"} <= set(records[0].times)
    again = make_work(PLAN, tmp_path / "again")
    for order, record in reversed(list(zip(orders, records, strict=True))):
        assert record_of(again(order), tmp_path / "again").without_times() == record.without_times()


def failing(error: Exception) -> Say:
    def say(turn: int, options: PolicyOptions) -> str:
        raise error

    return say


@pytest.mark.parametrize("code", [ErrorCode.UNAVAILABLE, ErrorCode.INTERNAL, ErrorCode.TIMEOUT])
def test_a_policy_that_cannot_speak_is_no_failed_task(
    code: ErrorCode, says: Callable[[Say], None], tmp_path: Path
) -> None:
    says(failing(ToolError(code, "The server is gone.")))
    with refused(code, "The server is gone"):
        make_work(PLAN, tmp_path)(FIRST)


def test_a_policy_that_breaks_is_dropped_and_one_that_spent_its_tokens_is_scored(
    says: Callable[[Say], None], tmp_path: Path
) -> None:
    work = make_work(PLAN, tmp_path)
    says(failing(ZeroDivisionError("division by zero")))
    with refused(ErrorCode.INTERNAL, "The policy failed: ZeroDivisionError"):
        work(FIRST)
    says(lambda turn, options: LOOK if turn == 0 else failing(ToolError(ErrorCode.TURN_BUDGET, "Spent."))(1, options))
    record = record_of(work(FIRST), tmp_path)
    assert (record.error_code, record.total, len(record.turns)) == ("TURN_BUDGET", 0.0, 1)


def test_a_tool_that_ran_out_of_time_costs_the_process_and_one_that_did_on_purpose_does_not(
    says: Callable[[Say], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    says(looks_once)
    on_purpose = replace(PLAN, difficulty=1.0)
    monkeypatch.setattr("toolhand.training.env.difficulty.HARDEST_RATES", {ErrorCode.TIMEOUT: 1.0})
    record = record_of(make_work(on_purpose, tmp_path)(FIRST), tmp_path)
    assert [call.failed_on_purpose for call in record.turns[0].calls] == ["TIMEOUT"]

    def late(*arguments: object) -> None:
        raise ToolError(ErrorCode.TIMEOUT, "robot.capture_image: no result within 30 s.")

    monkeypatch.setattr(CallLimiter, "run", late)
    with pytest.raises(WorkerUnusable) as unusable:
        make_work(PLAN, tmp_path)(FIRST)
    assert str(unusable.value.error) == "robot.capture_image ran out of its time."


@pytest.mark.parametrize("code", [ErrorCode.UNAVAILABLE, ErrorCode.INTERNAL])
def test_a_tool_whose_backend_is_gone_drops_the_rollout_by_its_code_and_costs_no_process(
    code: ErrorCode, says: Callable[[Say], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    says(looks_once)

    def gone(*arguments: object) -> None:
        raise ToolError(code, "The camera is gone.")

    monkeypatch.setattr(CallLimiter, "run", gone)
    with refused(code, "The episode has no score"):
        make_work(PLAN, tmp_path)(FIRST)


def test_a_full_disk_and_a_plan_that_cannot_be_carried_out_halt_everything(
    says: Callable[[Say], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    says(lambda turn, options: "<answer>No.</answer>")
    wrong = make_work(PLAN, tmp_path / "wrong")

    def no_room(path: Path, content: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    def missing(*arguments: object) -> None:
        raise ToolError(ErrorCode.UNAVAILABLE, "The policy needs an extra.")

    monkeypatch.setattr(Path, "write_bytes", no_room)
    full = wrong(FIRST)
    assert isinstance(full, Halt)
    assert "No space left on device." in str(full.error)
    monkeypatch.undo()
    monkeypatch.setattr(toolhand.training.rollouts.work, "make_policy", missing)
    assert isinstance(wrong(FIRST), Halt)


MODULE = f"""
import os
from pathlib import Path
from toolhand.agent_node.policy import Reply

class Dying:
    name = "dying"

    def __init__(self, model, options):
        self.mark, self.seed = Path(model), options.seed

    def respond(self, conversation):
        if not self.mark.exists():
            self.mark.touch()
            os._exit(3)
        looked = any(message.role == "assistant" for message in conversation)
        return Reply("<answer>Seen by %d.</answer>" % self.seed if looked else {LOOK!r})
"""


def test_the_command_collects_what_one_process_alone_would_although_one_dies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], says: Callable[[Say], None]
) -> None:
    package, out = tmp_path / "package", tmp_path / "out"
    (package / "dying-1.dist-info").mkdir(parents=True)
    (package / "dying_policy.py").write_text(MODULE)
    (package / "dying-1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: dying\nVersion: 1\n")
    (package / "dying-1.dist-info" / "entry_points.txt").write_text("[toolhand.policy]\ndying = dying_policy:Dying\n")
    monkeypatch.syspath_prepend(str(package))
    registry._entries.cache_clear()
    policy = f"dying:{tmp_path / 'mark'}"
    words = f"--tasks pick --n 4 --group-size 2 --seed 3 --workers 1 --size 64x64 --policy {policy}".split()
    words += ["--timestep", "0.004"]
    try:
        with pytest.raises(SystemExit) as end:
            main(["rollouts", "collect", "--out", str(out), *words, "--json"])
    finally:
        registry._entries.cache_clear()
    assert end.value.code == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["planned"], document["done"], document["dropped"]) == (4, 4, {})
    assert document["again"] == {"INTERNAL": 1}
    assert document["calls"] == 4
    assert sum(document["shares"].values()) == pytest.approx(1.0)
    says(looks_once)
    plan = replace(PLAN, seed=3, policy="scripted")
    work = make_work(plan, tmp_path / "alone")
    orders = [RolloutOrder(group, rollout) for group in range(2) for rollout in range(2)]
    alone = [replace(record_of(work(order), tmp_path / "alone"), policy=policy).without_times() for order in orders]
    assert [record.without_times() for record in read_rollouts(out)] == alone

    with pytest.raises(SystemExit) as end:
        main(["rollouts", "show", str(out)])
    assert end.value.code == 0
    listed = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in listed] == ["rollout", "00000-000", "00000-001", "00001-000", "00001-001"]
    with pytest.raises(SystemExit):
        main(["rollouts", "show", str(out), "--rollout", "00001-001"])
    assert f"answer: Seen by {alone[3].seeds['policy']}." in capsys.readouterr().out
    with pytest.raises(SystemExit) as end:
        main(["rollouts", "show", str(out), "--rollout", "x"])
    assert end.value.code == 2


def test_a_policy_is_measured_by_one_rollout_of_each_task_of_a_split(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = "--tasks pick --n 3 --evaluate --split test --timestep 0.004 --size 160x120"
    with pytest.raises(SystemExit):
        main(["rollouts", "collect", "--out", str(tmp_path / "out"), *words.split()])
    records = list(read_rollouts(tmp_path / "out"))
    assert [record.task for record in records] == [task_document("pick", k, "test") for k in range(3)]
    capsys.readouterr()
    with pytest.raises(SystemExit):
        main(["rollouts", "measure", str(tmp_path / "out"), "--json"])
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert (row["n"], row["planned"]) == (3, 3)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ("--n 5", "--n must be a multiple of --group-size, got 5 and 4."),
        ("--n 0", "--n must be a multiple of --group-size, got 0 and 4."),
        ("--group-size 1", "A group must have 2 rollouts or more, not 1"),
        ("--group-size 0", "A group must have 2 rollouts or more, not 0"),
        ("--workers 0", "workers must be 1 or more, got 0."),
        ("--size 1x1,2x2", "size must be WIDTHxHEIGHT"),
        ("--reward fun", "There is no reward 'fun'"),
    ],
)
def test_the_command_refuses_what_makes_no_sense(
    wrong: str, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        main(["rollouts", "collect", "--out", str(tmp_path / "out"), *wrong.split()])
    assert end.value.code == 2
    assert capsys.readouterr().err.startswith(f"INVALID_ARGUMENT: {sentence}")
    assert not (tmp_path / "out").exists()
