"""Strangers on the graph: the operator's token does not travel, and what they publish is not believed."""

import copy
import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rclpy
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import Header
from toolhand_interfaces.msg import MotionLeg
from toolhand_interfaces.msg import MotionRequest as MotionRequestMessage
from toolhand_interfaces.srv import ApproveMotion

from tests.refusals import refused
from toolhand.agent_node.ros.approve import approve_motions
from toolhand.cli.approve import approve
from toolhand.tool_nodes.motion.approval import Approver, Decision, MotionRequest
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.ros.link import RosLink
from toolhand.tool_nodes.ros.messages import matrix_to_pose, rgb_to_image
from toolhand.tool_nodes.ros.proofs import Proofs, read_token, same
from toolhand.tool_nodes.ros.status import success

TOKEN = "the operator's own token"


def a_message() -> MotionRequestMessage:
    header = Header(frame_id="base_link")
    return MotionRequestMessage(
        header=header,
        hash="ab" * 32,
        request_id="7",
        legs=[
            MotionLeg(jaw_opening=0.08),
            MotionLeg(joint_names=["a", "b"], times=[0.0, 1.0], positions=[0.0, 0.0, 1.0, 1.0], velocities=[0.0] * 4),
        ],
        plan_id="7",
        what="Grasp",
        summary=["first", "second"],
        duration=2.5,
        end_pose=matrix_to_pose(np.eye(4)),
        deadline=60.0,
        image=rgb_to_image(np.full((3, 4, 3), 7, np.uint8), header),
    )


def _set(path: str, value: Any) -> Callable[[Any], None]:
    def change(message: Any) -> None:
        *parents, name = path.split(".")
        for parent in parents:
            message = getattr(message, parent)
        setattr(message, name, value)

    return change


def _of_leg(number: int, name: str, value: Any) -> Callable[[Any], None]:
    return lambda message: setattr(message.legs[number], name, value)


@pytest.mark.parametrize(
    "change",
    [
        _set("header.stamp.sec", 1),
        _set("header.stamp.nanosec", 1),
        _set("header.frame_id", "world"),
        _set("hash", "cd" * 32),
        _set("hash", ""),
        _set("plan_id", "8"),
        _set("what", "Wave"),
        _set("summary", ["first"]),
        _set("summary", ["firstsecond"]),
        _set("summary", ["first", "second", ""]),
        _set("duration", 0.1),
        _set("deadline", 1e9),
        _set("end_pose.position.z", 0.3),
        _set("end_pose.orientation.w", 0.9),
        _set("image.data", bytes(36)),
        _set("image.width", 2),
        _set("image.encoding", "bgr8"),
        _set("image.step", 6),
        _set("image.header.frame_id", "x"),
        _set("image.header.stamp.sec", 1),
        _set("camera", "wrist"),
        _set("request_id", "8"),
        _set("legs", []),
        _set("end_matrix", [0.0] * 15 + [5e-324]),
        _of_leg(0, "jaw_opening", 0.0),
        _of_leg(1, "joint_names", ["ab"]),
        _of_leg(1, "joint_names", ["a", "b", ""]),
        _of_leg(1, "times", [0.0, 1.0 + 2**-52]),
        _of_leg(1, "positions", [0.0, 0.0, 1.0, 1.0, 0.0]),
        _of_leg(1, "positions", [-0.0, 0.0, 1.0, 1.0]),
        _of_leg(1, "velocities", [0.0, 0.0, 0.0, 5e-324]),
    ],
)
def test_a_proof_of_a_request_covers_all_that_is_shown(change: Callable[[Any], None]) -> None:
    proofs, message = Proofs(TOKEN), a_message()
    proof = proofs.of_request(message)
    assert same(proof, Proofs(TOKEN).of_request(copy.deepcopy(message)))
    assert not same(proof, Proofs(TOKEN + "x").of_request(message))
    change(message)
    assert not same(proof, proofs.of_request(message))


def test_no_proof_stands_for_another_answer() -> None:
    proofs = Proofs(TOKEN)
    answers = [(h, approve, reason) for h in ("ab", "a", "") for approve in (True, False) for reason in ("", "b")]
    made = [proofs.of_answer(*answer) for answer in answers]
    made += [proofs.of_receipt(proof, taken) for proof in made for taken in (True, False)]
    assert len(set(made)) == len(made)
    assert not same("", made[0])
    assert not same("\ud800", made[0])


@pytest.mark.parametrize(("content", "mode", "word"), [("1234", 0o600, "at least 16"), (TOKEN, 0o640, "by others")])
def test_a_token_file_is_long_and_the_operators_alone(tmp_path: Path, content: str, mode: int, word: str) -> None:
    file = tmp_path / "token"
    with pytest.raises(ToolError, match="cannot be read"):
        read_token(file)
    file.write_text(content)
    file.chmod(mode)
    with refused(ErrorCode.INVALID_ARGUMENT, word) as caught:
        read_token(file)
    assert content not in str(caught.value)
    file.chmod(stat.S_IRUSR)
    if len(content) >= 16:
        assert read_token(file) == content


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")
def test_a_token_file_of_another_user_is_none(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(TOKEN)
    file.chmod(0o600)
    os.chown(file, 54321, 54321)
    with pytest.raises(ToolError, match="belongs to another user") as caught:
        read_token(file)
    assert TOKEN not in str(caught.value)


def test_a_token_file_that_is_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "token", 0o600)
    with pytest.raises(ToolError, match="cannot be read"):
        read_token(tmp_path / "token")


def test_without_a_terminal_nothing_is_approved() -> None:
    with refused(ErrorCode.INVALID_ARGUMENT, "terminal"):
        approve()


class Decider:
    """An operator who decides at once, and remembers what was shown."""

    def __init__(self, approved: bool = True) -> None:
        self.shown: list[MotionRequest] = []
        self._approved = approved

    def decide(self, request: MotionRequest) -> Decision:
        self.shown.append(request)
        return Decision(self._approved, "" if self._approved else "not there", request.hash, "test")


class OperatorProgram:
    """`toolhand approve`, without its terminal, in a thread; each answers once."""

    def __init__(self, cell: Any, decider: Approver, token: str = TOKEN) -> None:
        self.said: list[str] = []
        self.taken: bool | None = None
        self._link = RosLink(cell.environment)
        self._decider, self._token = decider, token
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()
        cell.wait(lambda: cell.motion.count_subscribers("/motion_request"), "the subscription")

    def _run(self) -> None:
        with self._link as link:
            self.taken = approve_motions(link, self._token, lambda *_: self._decider, self.said.append, once=True)


@pytest.fixture
def cell(make_cell: Any, tmp_path: Path) -> Any:
    file = tmp_path / "token"
    file.touch(0o600)
    file.write_text(TOKEN)
    cell = make_cell(
        use_sim_time=True, availability_deadline_s=5.0, approval="ask-motion", approval_token_file=str(file)
    )
    cell.start_simulator(real_time_factor=8.0)
    return cell


def test_the_operator_sees_only_what_the_motion_node_asks_and_his_answer_moves_the_arm(cell: Any, target: Any) -> None:
    stranger = cell.spin(lambda context: rclpy.create_node("stranger", context=context))
    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    publisher = stranger.create_publisher(MotionRequestMessage, "/motion_request", latched)
    forged = a_message()
    forged.proof = Proofs("a stranger's token").of_request(forged)
    publisher.publish(forged)
    real: list[Any] = []
    stranger.create_subscription(MotionRequestMessage, "/motion_request", real.append, latched)
    decider = Decider(approved=False)
    program = OperatorProgram(cell, decider)
    cell.wait(lambda: len(program.said) > 1, "the warning")
    assert "pretends to be the motion node" in program.said[1]
    goal = cell.grasp(target.T_base_gripper)
    _, result = goal.end()
    assert result.status.error_code == "NOT_APPROVED"
    assert "not there" in result.status.message
    program.thread.join(20.0)
    assert program.taken
    (shown,) = decider.shown
    assert shown.what.startswith("Grasp with the gripper at x=")
    assert shown.image is not None
    # The real request again, with another sentence: its proof does not fit any more.
    again = copy.deepcopy(next(message for message in real if message.hash == shown.hash))
    again.what = "Nothing moves"
    decider = Decider()
    program = OperatorProgram(cell, decider)
    publisher.publish(again)
    cell.wait(lambda: len(program.said) > 1, "the warning")
    # One leg of it is another: even with the token's proof it is not shown, since the hash is not that of the legs.
    other = copy.deepcopy(again)
    leg = next(leg for leg in other.legs if leg.joint_names)
    leg.positions[-1] = float(np.nextafter(leg.positions[-1], 9.0))
    other.proof = Proofs(TOKEN).of_request(other)
    publisher.publish(other)
    cell.wait(lambda: any("not that of its legs" in said for said in program.said), "the refusal")
    goal = cell.grasp(target.T_base_gripper)
    _, result = goal.end()
    assert result.status.success, result.status
    program.thread.join(20.0)
    assert program.taken
    assert [request.what for request in decider.shown] == [shown.what]


def test_whoever_serves_the_name_too_gets_no_token_and_no_approval_of_anything_else(cell: Any, target: Any) -> None:
    heard: list[Any] = []
    arrived = threading.Event()

    def serve(request: Any, response: Any) -> Any:
        heard.append(request)
        arrived.set()
        response.status, response.proof = success("The answer was taken."), request.proof
        return response

    stranger = cell.spin(lambda context: rclpy.create_node("stranger", context=context))
    service = stranger.create_service(ApproveMotion, "/approve_motion", serve)
    program = OperatorProgram(cell, Decider(approved=False))
    commands = cell.commands
    goal = cell.grasp(target.T_base_gripper)
    cell.wait(arrived.is_set, "the stranger")
    (request,) = heard
    assert TOKEN not in str(request)
    stranger.destroy_service(service)
    cell.wait(lambda: stranger.count_services("/approve_motion") == 1, "the stranger's end")
    # What was heard says no; nothing makes a yes of it, nor an answer to the next request.
    send = {"hash": request.hash, "reason": request.reason, "proof": request.proof}
    for changed in ({"approve": True}, {"approve": True, "reason": ""}, {"approve": False, "hash": "0" * 64}):
        answer = cell.call(ApproveMotion, "approve_motion", **(send | {"approve": True} | changed))
        assert not answer.status.success
        assert not answer.proof
    program.thread.join(20.0)
    said = " ".join(program.said)
    assert "not the motion node" in said or program.taken
    if not goal.ended:
        cell.call(ApproveMotion, "approve_motion", **send, approve=False)
    _, result = goal.end()
    assert result.status.error_code == "NOT_APPROVED"
    assert cell.commands == commands
