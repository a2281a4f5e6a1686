"""Approval over ROS: the operator's token and the very hash, once, in time, of this graph; no goal weakens the mode."""

import stat
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from action_msgs.msg import GoalStatus
from geometry_msgs.msg import PoseStamped
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile
from simulation_interfaces.srv import ResetSimulation
from std_msgs.msg import Header
from std_srvs.srv import Trigger
from toolhand_interfaces.msg import MotionRequest
from toolhand_interfaces.srv import ApproveMotion
from toolhand_interfaces.srv import ExecuteGrasp as ExecuteGraspOnce

from rclpy_zenoh.launch import read_plan
from toolhand.tool_nodes.ros.messages import image_to_rgb, matrix_to_pose
from toolhand.tool_nodes.ros.proofs import TOKEN_VARIABLE, Proofs, operators_token

LAUNCH = Path(__file__).parents[3] / "launch"
TOKEN = "the operator's own token"
CANCELED, ABORTED = GoalStatus.STATUS_CANCELED, GoalStatus.STATUS_ABORTED


class Operator:
    """Sees the requests and answers them."""

    def __init__(self, cell: Any) -> None:
        self.cell = cell
        self.requests: list[Any] = []
        self.withdrawals: list[Any] = []
        # As the operator's own programs listen: a request that a busy machine loses is then sent again.
        latched = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self.subscription = cell.operator.create_subscription(
            MotionRequest, "motion_request", self._on_request, latched
        )

    def _on_request(self, message: Any) -> None:
        (self.requests if message.hash else self.withdrawals).append(message)

    def next(self) -> Any:
        """The request that waits now."""
        count = len(self.requests)
        return self.cell.wait(lambda: len(self.requests) > count and self.requests[-1], "a request")

    def answer(self, request_hash: str, approve: bool = True, token: str = TOKEN, reason: str = "") -> Any:
        proof = Proofs(token).of_answer(request_hash, approve, reason)
        return self.send(hash=request_hash, approve=approve, reason=reason, proof=proof).status

    def send(self, **fields: Any) -> Any:
        return self.cell.call(ApproveMotion, "approve_motion", **fields)


def _cell(make_cell: Callable[..., Any], folder: Path, **parameters: Any) -> Any:
    file = folder / "token"
    file.touch(0o600)
    file.write_text(TOKEN + "\n")
    settings = {"approval": "ask-motion", "approval_token_file": str(file)} | parameters
    cell = make_cell(use_sim_time=True, availability_deadline_s=5.0, **settings)
    cell.start_simulator(real_time_factor=8.0)
    return cell


@pytest.fixture
def cell(make_cell: Callable[..., Any], tmp_path: Path) -> Any:
    return _cell(make_cell, tmp_path)


@pytest.fixture
def operator(cell: Any) -> Iterator[Operator]:
    """An operator whom the motion node knows of."""
    made = Operator(cell)
    cell.wait(lambda: cell.motion.count_subscribers("/motion_request"), "the subscription")
    yield made
    cell.operator.destroy_subscription(made.subscription)


def refused(status: Any) -> None:
    assert not status.success
    assert status.error_code == "NOT_APPROVED"


def test_only_the_operators_token_and_the_very_hash_let_it_move_and_only_once(
    cell: Any, operator: Operator, target: Any
) -> None:
    commands = cell.commands
    refused(operator.answer("0" * 64))  # before anything waits
    goal = cell.grasp(target.T_base_gripper)
    request = operator.next()
    assert request.what.startswith("Grasp with the gripper at x=")
    assert request.header.frame_id == "base_link"
    assert image_to_rgb(request.image).shape == (240, 320, 3)
    assert goal.phases[-1] == "waiting_for_approval"
    assert request.plan_id
    assert goal.feedback[-1].plan_id == request.plan_id
    for token in ("", "yes", TOKEN.upper(), TOKEN + " ", "é" * 20):
        refused(operator.answer(request.hash, token=token))
    for wrong in ("", request.plan_id, request.hash[:-1], request.hash.upper(), "0" * 64):
        refused(operator.answer(wrong))
    assert not goal.ended
    assert cell.commands == commands, "nothing moves before the approval"
    assert operator.answer(request.hash).success
    refused(operator.answer(request.hash))
    _, result = goal.end()
    assert result.status.success, result.status
    refused(operator.answer(request.hash))
    # The next motion has a hash of its own, and the old approval is worth nothing.
    place = cell.place(target.place)
    second = operator.next()
    assert second.hash != request.hash
    refused(operator.answer(request.hash))
    assert operator.answer(second.hash, approve=False, reason="not there").success
    _, result = place.end()
    refused(result.status)
    assert "not there" in result.status.message


def test_no_goal_and_no_parameter_weakens_the_mode(cell: Any, operator: Operator, target: Any) -> None:
    commands = cell.commands
    changes = [Parameter("approval", value="auto"), Parameter("approval_token_file", value="/dev/null")]
    messages = [change.to_parameter_msg() for change in changes]
    answer = cell.call(SetParameters, "motion/set_parameters", parameters=messages)
    assert not any(result.successful for result in answer.results)
    cell.set("motion", "seed", 1)
    pose = PoseStamped(header=Header(frame_id="base_link"), pose=matrix_to_pose(target.T_base_gripper))
    for send in (
        lambda: cell.grasp(target.T_base_gripper, "auto").end()[1],
        lambda: cell.call(ExecuteGraspOnce, "execute_grasp_once", grasp=pose, approval_mode="auto"),
    ):
        count = len(operator.requests)
        waiting = _in_background(send)
        cell.wait(lambda count=count: len(operator.requests) > count, "a request")
        assert cell.commands == commands
        assert operator.answer(operator.requests[-1].hash, approve=False).success
        refused(waiting().status)
    planned = cell.grasp(target.T_base_gripper, "plan_only").end()[1]
    assert planned.status.success
    later = cell.grasp(target.T_base_gripper, "auto", planned.plan_id)
    assert operator.answer(operator.next().hash, approve=False).success
    refused(later.end()[1].status)
    assert cell.commands == commands


def _in_background(send: Callable[[], Any]) -> Callable[[], Any]:
    pool = ThreadPoolExecutor(1)
    future = pool.submit(send)
    pool.shutdown(wait=False)
    return lambda: future.result(40.0)


def test_a_cancel_or_a_stop_ends_the_wait_and_voids_the_question(cell: Any, operator: Operator, target: Any) -> None:
    commands = cell.commands
    goal = cell.grasp(target.T_base_gripper)
    request = operator.next()
    goal.cancel()
    status, result = goal.end()
    assert (status, result.status.error_code) == (CANCELED, "CANCELLED")
    assert "waiting for approval" in result.status.message
    refused(operator.answer(request.hash))
    goal = cell.grasp(target.T_base_gripper)
    request = operator.next()
    assert cell.stop().success
    _, result = goal.end()
    assert result.status.error_code == "STOPPED"
    assert cell.reset_stop().success
    refused(operator.answer(request.hash))
    assert cell.commands == commands


def test_an_object_that_is_moved_while_the_operator_thinks_voids_the_approval(
    cell: Any, operator: Operator, target: Any
) -> None:
    commands = cell.commands
    goal = cell.grasp(target.T_base_gripper)
    request = operator.next()
    cell.move_entity("red_box_1", (0.40, -0.05, 0.05))
    assert operator.answer(request.hash).success
    _, result = goal.end()
    assert result.status.error_code == "SCENE_CHANGED"
    assert "scene has changed" in result.status.message
    assert cell.commands == commands


def test_a_question_that_nobody_answers_is_a_no(make_cell: Any, tmp_path: Path, target: Any) -> None:
    cell = _cell(make_cell, tmp_path, approval_deadline_s=0.3)
    commands = cell.commands
    _, result = cell.grasp(target.T_base_gripper).end()
    refused(result.status)
    assert "nobody listens to /motion_request" in result.status.message
    operator = Operator(cell)
    cell.wait(lambda: cell.motion.count_subscribers("/motion_request"), "the subscription")
    _, result = cell.grasp(target.T_base_gripper).end()
    refused(result.status)
    assert "nobody answered within 0.3 s" in result.status.message
    assert len(operator.requests) == 1
    assert cell.commands == commands


def test_a_node_in_dry_run_never_moves(make_cell: Any, tmp_path: Path, target: Any) -> None:
    cell = _cell(make_cell, tmp_path, approval="dry-run")
    commands = cell.commands
    for mode in ("auto", "ask"):
        status, result = cell.grasp(target.T_base_gripper, mode).end()
        assert status == ABORTED
        refused(result.status)
        assert result.status.message.startswith("Dry run: Grasp")
        assert "nothing has moved" in result.status.message
    assert cell.call(Trigger, "return_to_park").success, "it is parked"
    assert cell.call(ResetSimulation, "reset_simulation").result.result == 1
    assert cell.commands == commands


@pytest.mark.parametrize(("file", "mode"), [("kinova", "ask-motion"), ("sim", "auto")])
def test_the_launch_file_of_the_real_arm_asks(file: str, mode: str) -> None:
    (motion,) = (
        process for process in read_plan(LAUNCH / f"{file}.launch.yaml", {}).processes if process.label == "motion"
    )
    assert f'approval:="{mode}"' in motion.command


@pytest.mark.parametrize(
    ("parameter", "value", "word"),
    [
        ("approval", "never", "approval"),
        ("approval_token_file", "/nowhere/token", "cannot be read"),
        ("speed_limit", 0.0, "speed"),
        ("workspace_low", [0.0, 1.0], "list of 3 finite numbers"),
        ("workspace_high", "far", "list of 3 finite numbers"),
        ("motions_per_minute", -1, "motions_per_minute"),
    ],
)
def test_a_wrong_setting_of_the_guard_is_a_sentence_and_no_node(
    make_cell: Any, parameter: str, value: Any, word: str
) -> None:
    with pytest.raises(Exception, match=word):
        make_cell(**{parameter: value})


def test_a_short_token_is_refused_and_a_made_up_one_is_only_in_a_file_of_this_user(
    make_cell: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "short").touch(0o600)
    (tmp_path / "short").write_text("1234\n")
    (tmp_path / "open").touch(0o644)
    (tmp_path / "open").write_text(TOKEN + "\n")
    with pytest.raises(Exception, match="may be used by others"):
        make_cell(approval_token_file=str(tmp_path / "open"))
    with pytest.raises(Exception, match="at least 16 characters"):
        make_cell(approval_token_file=str(tmp_path / "short"))
    (tmp_path / "run").mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    monkeypatch.delenv(TOKEN_VARIABLE, raising=False)
    cell = make_cell(approval="ask-motion")
    streams = capfd.readouterr()
    (line,) = [line for line in streams.err.splitlines() if line.startswith("approval token for toolhand approve: ")]
    found = operators_token()
    token = found.token
    assert line.split()[-1] == found.source
    assert stat.S_IMODE(Path(found.source).stat().st_mode) == 0o600
    assert len(token) == 32
    assert token not in streams.out + streams.err
    assert token not in str([cell.motion.get_parameter(name).value for name in cell.motion._parameters])


# -- two graphs on one machine, with one router ------------------------------------------------------

TOKENS = ("the left operator's token", "the right operator's token")


class Side:
    """One of the two graphs, with an operator who knows its own token alone."""

    def __init__(self, cell: Any, token: str) -> None:
        self.cell, self.token, self.operator = cell, token, Operator(cell)

    def approved(self, goal: Any) -> Any:
        """The goal, whose motion its operator has approved."""
        assert self.operator.answer(self.operator.requests[-1].hash, token=self.token).success
        return goal

    def asked(self, send: Callable[[], Any]) -> Any:
        """A goal whose motion waits for its operator."""
        before = len(self.operator.requests)
        goal = send()
        self.cell.wait(lambda: len(self.operator.requests) > before, "a request")
        return goal


@pytest.fixture
def sides(make_cell: Callable[..., Any], tmp_path: Path) -> Iterator[tuple[Side, Side]]:
    made = []
    for k, token in enumerate(TOKENS):
        file = tmp_path / f"token{k}"
        file.touch(0o600)
        file.write_text(token + "\n")
        cell = make_cell(
            use_sim_time=True, availability_deadline_s=5.0, approval="ask-motion", approval_token_file=str(file)
        )
        cell.start_simulator(real_time_factor=4.0)
        made.append(Side(cell, token))
        cell.wait(lambda cell=cell: cell.motion.count_subscribers("/motion_request"), "the subscription")
    yield made[0], made[1]
    for side in made:
        side.cell.operator.destroy_subscription(side.operator.subscription)


def test_what_happens_in_one_graph_is_nothing_to_the_other(sides: tuple[Side, Side], target: Any) -> None:
    left, right = sides
    # A token and a motion of one graph are worth nothing in the other, also where the other waits for an answer.
    first = left.asked(lambda: left.cell.grasp(target.T_base_gripper))
    wanted = left.operator.requests[-1].hash
    assert not right.operator.requests
    refused(left.operator.answer(wanted, token=right.token))
    refused(right.operator.answer(wanted, token=right.token))
    refused(right.operator.answer(wanted, token=left.token))
    second = right.asked(lambda: right.cell.grasp(target.T_base_gripper))
    refused(right.operator.answer(wanted, token=right.token))
    refused(left.operator.answer(right.operator.requests[-1].hash, token=left.token))
    refused(right.operator.answer(right.operator.requests[-1].hash, token=left.token))
    assert left.cell.commands == right.cell.commands == 0, "nothing moves before its own operator has said so"
    # A motion of one moves the other not at all, and a stop of the other is confirmed and does not brake it.
    left.approved(first)
    left.cell.wait(lambda: left.cell.speed > 0.2, "motion")
    assert right.cell.speed < 0.01
    stopped = right.cell.stop()
    assert stopped.success, stopped.message
    assert "at rest" in stopped.message
    assert not first.ended
    assert second.end()[1].status.error_code == "STOPPED"
    assert first.end()[1].status.success
    assert right.cell.commands == 0
    # The stop is latched where it was asked for, and a reset of the other graph brings nothing back.
    assert left.cell.reset_stop().success
    assert right.cell.grasp(target.T_base_gripper).end()[1].status.error_code == "STOPPED"
    assert right.cell.reset_stop().success
    # The end of one graph in a motion of the other, all at once, leaves the other at work.
    moving = right.approved(right.asked(lambda: right.cell.grasp(target.T_base_gripper)))
    right.cell.wait(lambda: right.cell.speed > 0.2, "motion")
    left.cell.simulator.kill()
    left.cell.motion.context.try_shutdown()
    assert moving.end()[1].status.success
    place = right.approved(right.asked(lambda: right.cell.place(target.place)))
    assert place.end()[1].status.success
    stopped = right.cell.stop()
    assert stopped.success, stopped.message
