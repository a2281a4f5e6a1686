"""Attacks on approvals through the console: no motion runs that the operator's page has not approved as it is.

Every motion here stands before the guard of the product and an arm that notes what it is told (`FakeRobot`).
"""

import copy
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rclpy_zenoh.overlay import install

install()
pytest.importorskip("fastapi")

from fastapi import FastAPI
from std_msgs.msg import Header
from toolhand_interfaces.msg import MotionLeg

from tests.console.asgi import ask, speak
from tests.console.fake_robot import FakeRobot
from tests.console.test_approving import Clock
from tests.guarded import KINEMATICS, a_motion, turned
from tests.waiting import until
from toolhand.agent_node.ros.approve import Requests
from toolhand.console.approving import Approvals
from toolhand.console.guarding import Guard
from toolhand.console.images import ImageFeeds, add_image_routes
from toolhand.console.login import Login
from toolhand.console.robot import SpokenWords, WaitingMotion
from toolhand.console.seats import SILENCE_S, Seats
from toolhand.console.settings import ConsoleSettings
from toolhand.tool_nodes.motion.approval import Decision, MotionRequest, make_request
from toolhand.tool_nodes.ros.messages import rgb_to_image
from toolhand.tool_nodes.ros.motion_requests import MAX_IMAGE_PX, request_message
from toolhand.tool_nodes.ros.proofs import Proofs
from toolhand.tool_nodes.types import Trajectory

TOKEN = "the operator's own token"
OTHER = make_request(a_motion(0.085, turned(0.3)), "other", KINEMATICS)


@dataclass
class Cell:
    """A console over a robot with one motion that waits; its pages are "operator" and "observer"."""

    robot: FakeRobot
    seats: Seats
    approvals: Approvals
    clock: Clock
    log: Path

    @property
    def hash(self) -> str:
        motion = self.approvals.card.motion
        assert motion is not None
        return motion.request.hash

    def ran(self) -> int:
        return self.log.read_text(encoding="utf-8").count('"what": "ran"')

    def withdraw(self) -> None:
        self.robot.cancel()
        until(lambda: self.approvals.card.motion is None)


@pytest.fixture
def cell(tmp_path: Path) -> Iterator[Cell]:
    robot, clock = FakeRobot(tmp_path / "log.jsonl"), Clock()
    seats = Seats(clock)
    seats.enter("operator", "first tab")
    seats.enter("observer", "second tab")
    approvals = Approvals(robot, seats.require_operator)
    approvals.attend(True)
    thread = threading.Thread(target=lambda: robot.say(SpokenWords("move", "s"), lambda _: None, lambda _: None))
    thread.start()
    until(lambda: approvals.card.motion)
    yield Cell(robot, seats, approvals, clock, tmp_path / "log.jsonl")
    robot.cancel()
    thread.join()
    approvals.attend(False)


def _the_seat_is_taken_over(cell: Cell) -> str:
    cell.seats.ask("observer")
    cell.seats.answer("operator", True)
    return cell.approvals.answer("operator", cell.hash, True)


def _silent(cell: Cell) -> str:
    cell.clock.s += SILENCE_S + 0.1
    return cell.approvals.answer("operator", cell.hash, True)


def _gone(cell: Cell) -> str:
    cell.seats.left("operator")
    return cell.approvals.answer("operator", cell.hash, True)


def _after_a_stop(cell: Cell) -> str:
    request_hash = cell.hash
    cell.withdraw()
    return cell.approvals.answer("operator", request_hash, True)


def _expired(cell: Cell) -> str:
    motion = cell.approvals.card.motion
    assert motion is not None
    cell.robot.ask_approval(None)
    cell.robot.ask_approval(WaitingMotion(motion.request, time.monotonic() - 0.001))
    return cell.approvals.answer("operator", motion.request.hash, True)


def _swapped(cell: Cell) -> str:
    shown = cell.hash
    cell.robot.ask_approval(WaitingMotion(OTHER, time.monotonic() + 60.0))
    return cell.approvals.answer("operator", shown, True)


def _untrue(**changes: Any) -> Callable[[Cell], str]:
    def attack(cell: Cell) -> str:
        motion = cell.approvals.card.motion
        assert motion is not None
        request = replace(motion.request, **changes)
        cell.robot.ask_approval(None)
        cell.robot.ask_approval(WaitingMotion(request, motion.expires_s))
        assert not cell.approvals.card.may_be_answered
        return cell.approvals.answer("operator", request.hash, True)

    return attack


def _rejected_before(cell: Cell) -> str:
    assert cell.approvals.answer("operator", cell.hash, False, "no") == ""
    return cell.approvals.answer("operator", cell.hash if cell.approvals.card.motion else OTHER.hash, True)


NAN_LEG = replace(OTHER.legs[0], q=np.full_like(OTHER.legs[0].q, np.nan))


@pytest.mark.parametrize(
    ("attack", "why"),
    [
        pytest.param(lambda c: c.approvals.answer("observer", c.hash, True), "observes", id="by an observer"),
        pytest.param(lambda c: c.approvals.answer("", c.hash, True), "observes", id="by nobody"),
        pytest.param(lambda c: c.approvals.answer("operator ", c.hash, True), "observes", id="by a name like it"),
        pytest.param(lambda c: c.approvals.answer("o" * 10**6, c.hash, True), "observes", id="by a gigantic name"),
        pytest.param(_the_seat_is_taken_over, "observes", id="by who has given the seat away"),
        pytest.param(_silent, "observes", id="by who was silent"),
        pytest.param(_gone, "observes", id="by who has left"),
        pytest.param(lambda c: c.approvals.answer("operator", "0" * 64, True), "Another motion", id="another hash"),
        pytest.param(lambda c: c.approvals.answer("operator", "", True), "Another motion", id="no hash"),
        pytest.param(lambda c: c.approvals.answer("operator", c.hash.upper(), True), "Another", id="a hash like it"),
        pytest.param(lambda c: c.approvals.answer("operator", OTHER.hash, True), "Another", id="an old request"),
        pytest.param(_swapped, "Another motion", id="another motion under the button"),
        pytest.param(_after_a_stop, "No motion waits", id="after a stop"),
        pytest.param(_expired, "time for an answer is over", id="after its time"),
        pytest.param(_rejected_before, "", id="after a rejection"),
        pytest.param(_untrue(steps=OTHER.steps), "not that of its legs", id="other legs"),
        pytest.param(_untrue(steps=(NAN_LEG,)), "not that of its legs", id="NaN joints"),
        pytest.param(_untrue(summary=("nothing moves",)), "not that of its legs", id="another summary"),
        pytest.param(_untrue(duration_s=0.0), "not that of its legs", id="another duration"),
        pytest.param(_untrue(T_end=np.eye(4)), "not that of its legs", id="another end"),
        pytest.param(_untrue(request_id="other"), "not that of its legs", id="another name"),
    ],
)
def test_nothing_moves(cell: Cell, attack: Callable[[Cell], str], why: str) -> None:
    refusal = attack(cell)
    assert refusal
    assert why in refusal
    assert not [decision for decision in cell.robot.decisions if decision.approved]
    cell.withdraw() if cell.approvals.card.motion else None
    assert cell.ran() == 0


def test_two_operators_who_answer_opposite_are_the_first_one(cell: Cell) -> None:
    cell.seats.ask("observer")
    cell.seats.answer("operator", True)
    assert "observes" in cell.approvals.answer("operator", cell.hash, True)
    assert cell.approvals.answer("observer", cell.hash, False, "not now") == ""
    until(lambda: '"not run"' in cell.log.read_text(encoding="utf-8"))
    assert cell.ran() == 0
    assert [decision.approved for decision in cell.robot.decisions] == [False]


def test_a_double_click_is_one_answer(cell: Cell) -> None:
    request_hash, answers = cell.hash, list[str]()
    threads = [
        threading.Thread(target=lambda: answers.append(cell.approvals.answer("operator", request_hash, True)))
        for _ in range(20)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers.count("") == 1
    until(cell.ran)
    assert cell.ran() == len(cell.robot.decisions) == 1


def test_the_same_answer_once_more_moves_nothing(cell: Cell) -> None:
    request_hash = cell.hash
    assert cell.approvals.answer("operator", request_hash, True) == ""
    until(cell.ran)
    assert cell.approvals.answer("operator", request_hash, True)
    assert cell.robot.decide(Decision(True, "", request_hash, "replay"))
    assert cell.ran() == 1


# -- what a stranger, or a motion node that has gone wrong, publishes --------------------------------


class Graph:
    """A node that only takes the callback of a subscription."""

    def __init__(self) -> None:
        self.node = self
        self.publish: Callable[[Any], None] = lambda message: None

    def create_subscription(self, kind: Any, topic: str, hear: Any, *rest: Any, **more: Any) -> Any:
        self.publish = hear


def a_message(request: MotionRequest = OTHER) -> Any:
    return request_message(request, "plan", 60.0, Header(frame_id="base_link"))


def _other_leg(message: Any) -> None:
    message.legs[1].positions[3] = float(np.nextafter(message.legs[1].positions[3], 9.0))


def _nan(message: Any) -> None:
    message.legs[1].positions[3] = float("nan")


def _many_points(message: Any) -> None:
    rows = [0.0] * (7 * 10**5)
    times = np.arange(1e5).tolist()
    message.legs[1] = MotionLeg(joint_names=list("abcdefg"), times=times, positions=rows, velocities=rows)


def _gigantic(message: Any) -> None:
    message.image = rgb_to_image(np.zeros((1, MAX_IMAGE_PX + 1, 3), np.uint8), message.header)


def _short_image(message: Any) -> None:
    message.image = rgb_to_image(np.zeros((4, 4, 3), np.uint8), message.header)
    message.image.height = 4000


@pytest.mark.parametrize("change", [_other_leg, _nan, _many_points, _gigantic, _short_image])
def test_a_request_that_is_not_what_it_says_is_not_shown_whoever_sent_it(change: Callable[[Any], None]) -> None:
    graph, said, shown = Graph(), list[str](), list[Any]()
    Requests(graph, Proofs(TOKEN), said.append, shown.append)  # type: ignore[arg-type]
    message = a_message()
    change(message)
    message.proof = Proofs(TOKEN).of_request(message)
    graph.publish(message)
    assert shown == [None]
    assert "is not shown, and nothing is approved" in said[0]
    assert TOKEN not in said[0]


CHANGES = 100
"""Legs that are changed by chance [-]."""


def _by_chance(message: Any, rng: np.random.Generator) -> str:
    """Change one object of what would run; what was changed."""
    legs = message.legs
    arms = [leg for leg in legs if leg.joint_names]
    leg = arms[rng.integers(len(arms))]
    what = str(rng.choice(["positions", "velocities", "times", "jaws", "joint", "order", "less", "twice", "end", "id"]))
    match what:
        case "positions" | "velocities" | "times":
            values = getattr(leg, what)
            at = int(rng.integers(1, len(values)))
            values[at] = float(np.nextafter(values[at], rng.choice([-9.0, 9.0])))
        case "jaws":
            jaws = [each for each in legs if not each.joint_names]
            jaws[rng.integers(len(jaws))].jaw_opening += float(rng.uniform(1e-9, 0.05))
        case "joint":
            leg.joint_names[0], leg.joint_names[1] = leg.joint_names[1], leg.joint_names[0]
        case "order":
            message.legs = [*legs[1:], legs[0]]
        case "less":
            message.legs = [each for each in legs if each is not leg]
        case "twice":
            message.legs = [*legs, leg]
        case "end":
            message.end_matrix[int(rng.choice([3, 7, 11]))] += float(rng.uniform(1e-9, 0.1))
        case "id":
            message.request_id += "'"
    return what


def test_of_a_hundred_motions_that_were_changed_by_chance_none_is_shown_or_approved() -> None:
    graph, told, shown = Graph(), list[str](), list[Any]()
    Requests(graph, Proofs(TOKEN), told.append, shown.append)  # type: ignore[arg-type]
    rng, kinds = np.random.default_rng(0), set[str]()
    for number in range(CHANGES):
        request = make_request(a_motion(0.085, turned(rng.uniform(0.1, 0.6)), 0.0), f"name {number}", KINEMATICS)
        message = a_message(request)
        kinds.add(_by_chance(message, rng))
        message.proof = Proofs(TOKEN).of_request(message)  # even whoever knows the token
        graph.publish(message)
    assert len(kinds) == 10
    assert shown == [None] * CHANGES
    assert len(told) == CHANGES

    good = a_message()
    good.proof = Proofs(TOKEN).of_request(good)
    graph.publish(good)
    assert shown[-1].request.is_true, "one that nobody changed is shown"


def test_of_a_hundred_changed_legs_none_has_a_button_or_is_sent(cell: Cell) -> None:
    motion, rng = cell.approvals.card.motion, np.random.default_rng(1)
    assert motion is not None
    arms = [k for k, step in enumerate(motion.request.steps) if isinstance(step, Trajectory)]
    for _ in range(CHANGES):
        steps, at = list(motion.request.steps), int(rng.choice(arms))
        q = steps[at].q.copy()
        q[rng.integers(len(q)), rng.integers(q.shape[1])] += rng.choice([1e-12, 1e-3, 1.0, -2 * np.pi])
        steps[at] = replace(steps[at], q=q)
        changed = replace(motion.request, steps=tuple(steps))
        cell.robot.ask_approval(None)
        cell.robot.ask_approval(WaitingMotion(changed, motion.expires_s))
        assert not cell.approvals.card.may_be_answered
        assert "not that of its legs" in cell.approvals.answer("operator", changed.hash, True)
    assert cell.robot.decisions == []
    cell.withdraw()
    assert cell.ran() == 0


def test_a_strangers_request_and_an_old_one_again_are_not_shown() -> None:
    graph, said, shown = Graph(), list[str](), list[Any]()
    requests = Requests(graph, Proofs(TOKEN), said.append, shown.append)  # type: ignore[arg-type]
    forged = a_message()
    forged.proof = Proofs("a stranger's token").of_request(forged)
    graph.publish(forged)
    assert shown == []
    real = a_message()
    real.proof = Proofs(TOKEN).of_request(real)
    graph.publish(copy.deepcopy(real))
    assert shown[0].request.is_true
    requests.answered(OTHER.hash)
    graph.publish(copy.deepcopy(real))
    real.what = "<img src=x onerror=alert(1)>"
    graph.publish(real)
    assert len(shown) == 1


# -- through the web ----------------------------------------------------------------------------------

HOST = ("host", "127.0.0.1:8080")


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:8081", "http://127.0.0.1.evil.example:8080"]
)
@pytest.mark.parametrize("path", ["/_nicegui_ws/socket.io/", "/scene"])
def test_no_websocket_of_another_origin_reaches_the_pages(origin: str, path: str) -> None:
    reached: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        reached.append(scope["path"])
        await send({"type": "websocket.accept"})

    settings = ConsoleSettings()
    rules = {path: lambda scope: lambda message: True}
    guard = Guard(app, settings, Login(settings.login, secure=False), settings.port, sockets=rules)
    speak(guard, [HOST, ("origin", origin)], ["approve"], path)
    assert reached == []
    speak(guard, [HOST, ("origin", "http://127.0.0.1:8080")], [], path)
    assert reached == [path]


def test_the_image_of_a_motion_is_for_the_pages_alone_and_the_token_is_nowhere(cell: Cell) -> None:
    app = FastAPI()
    add_image_routes(app, ImageFeeds(cell.robot), cell.robot, cell.approvals)
    settings = ConsoleSettings(approval_token=TOKEN)
    guard = Guard(app, settings, Login(settings.login, secure=False), settings.port)
    assert ask(guard, path="/pictures/motion.jpg", headers=[HOST]).status == 404
    foreign = [HOST, ("sec-fetch-site", "cross-site"), ("sec-fetch-dest", "image"), ("sec-fetch-mode", "no-cors")]
    assert ask(guard, path="/pictures/scene.jpg", headers=foreign).status == 403
    assert TOKEN not in repr(settings)
    assert TOKEN not in repr(cell.approvals.card)
    assert cell.robot.listening.get("pictures/scene", 0) == 0
