"""`toolhand stop` and the keys of `toolhand up`: one request, at once, and the truth about its answer."""

import contextlib
import os
import pty
import signal
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rclpy_zenoh.overlay import install

install()

from std_srvs.srv import Trigger

from rclpy_zenoh import trigger
from rclpy_zenoh.interfaces import dds_name, serialize, type_hash
from rclpy_zenoh.launch.keys import Keys, service_keys
from rclpy_zenoh.wire import (
    Durability,
    History,
    Qos,
    Reliability,
    SessionOptions,
    WireError,
    open_session,
    start_router,
)
from toolhand.cli import stop
from toolhand.cli.up import STOP_KEYS

ROOT = Path(__file__).parents[2]
PATIENCE_S = 20.0
SERVICES_QOS = Qos(Reliability.RELIABLE, Durability.VOLATILE, History.KEEP_LAST, 10)
DOMAIN = 120 + os.getpid() % 100


def until(condition: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + PATIENCE_S
    while not (value := condition()):
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.005)
    return value


@pytest.fixture(scope="module")
def router() -> Iterator[str]:
    with start_router() as process:
        yield process.endpoint


class Robot:
    """Serves /stop and the two resets as a motion node does."""

    def __init__(self, options: SessionOptions, name: str) -> None:
        self.asked: list[str] = []
        self.success, self.message = True, "Stopped: all joints were measured at rest at t = 1.000 s."
        self.node = open_session(options).create_node(name)
        for service in ("/stop", "/reset_stop", "/reset_fault"):
            self._serve(service)

    def _serve(self, name: str) -> None:
        def answer() -> None:
            while taken := service.take_request():
                _, header = taken
                self.asked.append(name)
                service.send_response(header, Trigger.Response(success=self.success, message=self.message))

        service = self.node.create_service(name, Trigger, SERVICES_QOS, answer)

    def close(self) -> None:
        self.node.session.close()


@pytest.fixture
def make_robot(router: str) -> Iterator[Callable[..., Robot]]:
    robots: list[Robot] = []

    def make(name: str = "motion") -> Robot:
        robots.append(Robot(SessionOptions(DOMAIN, router), name))
        return robots[-1]

    yield make
    for robot in robots:
        robot.close()


@pytest.fixture
def run(router: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """Runs the command in this process; (status, stdout, stderr)."""
    monkeypatch.setattr(stop.importlib.util, "find_spec", lambda name: None)  # as without the overlay
    monkeypatch.setattr(trigger, "SERVER_S", 0.3)

    def command(*arguments: str, router: str | None = router) -> tuple[int, str, str]:
        capsys.readouterr()
        place = [] if router is None else ["--router", router, "--domain", str(DOMAIN)]
        try:
            status = stop.main([*arguments, *place])
        except SystemExit as end:
            status = int(end.code or 0)
        shown = capsys.readouterr()
        assert shown.out.count("\n") + shown.err.count("\n") == 1, "one sentence"
        return status, shown.out, shown.err

    return command


def test_a_confirmed_stop_and_its_reset(run: Any, make_robot: Any) -> None:
    robot = make_robot()
    assert run() == (0, f"{robot.message}\n", "")
    robot.message = "Motions are allowed again."
    assert run("--reset") == (0, "Motions are allowed again.\n", "")
    assert robot.asked == ["/stop", "/reset_stop"]


def test_a_fault_of_the_driver_is_reset_by_a_word_of_its_own(run: Any, make_robot: Any) -> None:
    robot = make_robot()
    robot.message = "The driver reports no fault any more."
    assert run("--reset-fault") == (0, f"{robot.message}\n", "")
    assert robot.asked == ["/reset_fault"]
    status, _, told = run("--reset", "--reset-fault")
    assert (status, robot.asked) == (2, ["/reset_fault"])
    assert "not allowed with" in told


@pytest.mark.parametrize("arguments", [(), ("--reset",), ("--reset-fault",)])
def test_what_was_not_confirmed_is_told_with_the_reason(run: Any, make_robot: Any, arguments: tuple[str, ...]) -> None:
    robot = make_robot()
    robot.success, robot.message = False, "The fastest joint moves at 0.100 rad/s."
    assert run(*arguments) == (1, "", "NOT CONFIRMED: The fastest joint moves at 0.100 rad/s.\n")


def test_one_robot_of_two_that_does_not_stop_is_told(run: Any, make_robot: Any) -> None:
    make_robot("one")
    other = make_robot("two")
    other.success, other.message = False, "It moves."
    status, _, told = run()
    assert (status, told) == (1, "NOT CONFIRMED: It moves.\n")
    other.success = True
    assert run()[0] == 0


def test_without_a_router_or_a_server_somebody_is_told(run: Any, router: str) -> None:
    status, _, told = run()
    assert status == 1
    assert told.startswith(
        f"UNAVAILABLE: The stop was not delivered: Nobody serves /stop in domain {DOMAIN} at {router}."
    )
    status, _, told = run("--reset", "--router", "tcp/127.0.0.1:1", router=None)
    assert status == 1
    assert "No router answers at tcp/127.0.0.1:1." in told


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--now",), "Unrecognized arguments: --now"),
        (("please",), "Unrecognized arguments: please"),
        (("--domain", "x"), "Argument --domain: invalid int value: 'x'"),
        (("--domain", "233"), "The ROS domain must be between 0 and 232, not 233"),
        (("--domain", "-1"), "The ROS domain must be between 0 and 232, not -1"),
        (("--router", "udp"), "The router must be on this machine"),
        (("--router", "tcp/192.0.2.1:7447"), "The router must be on this machine"),
    ],
)
def test_wrong_options_are_one_sentence(run: Any, arguments: tuple[str, ...], sentence: str) -> None:
    status, _, told = run(*arguments, router=None)
    assert status == 2
    assert told.startswith(f"INVALID_ARGUMENT: {sentence}")


@pytest.mark.parametrize("variable", ["ROS_DOMAIN_ID", "RCLPY_ZENOH_SHM"])
def test_a_wrong_environment_is_one_sentence(run: Any, variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, "many")
    status, _, told = run(router=None)
    assert (status, variable in told) == (2, True)


def test_the_environment_says_which_graph(
    run: Any, make_robot: Any, router: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    robot = make_robot()
    monkeypatch.setenv("ROS_DOMAIN_ID", str(DOMAIN))
    monkeypatch.setenv("RCLPY_ZENOH_ROUTER", router)
    assert run(router=None)[0] == 0
    assert robot.asked == ["/stop"]


def test_where_ros_is_installed_its_client_asks(
    make_robot: Any, router: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The overlay stands in for a real rclpy."""
    robot = make_robot()
    monkeypatch.setenv("RCLPY_ZENOH_ROUTER", router)
    assert stop.main(["--domain", str(DOMAIN)]) == 0
    robot.success = False
    assert stop.main(["--reset", "--domain", str(DOMAIN)]) == 1
    assert robot.asked == ["/stop", "/reset_stop"]
    assert stop.main(["--router", router]) == 2
    assert "--router is for machines without ROS 2" in capsys.readouterr().err


def test_the_command_as_it_is_installed_loads_nothing_heavy(make_robot: Any, router: str) -> None:
    robot = make_robot()
    code = (
        "import sys\nfrom toolhand.cli.entry import main\n"
        f"sys.argv = ['toolhand', 'stop', '--router', {router!r}, '--domain', '{DOMAIN}']\n"
        "try:\n    main()\n"
        "finally:\n    print(*sorted({name.split('.')[0] for name in sys.modules}), file=sys.stderr)"
    )
    paths = os.pathsep.join(map(str, (ROOT, ROOT / "ros2_ws" / "src" / "rclpy_zenoh")))
    ended = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (0, f"{robot.message}\n"), ended.stderr
    assert not {"numpy", "mujoco", "tyro", "yaml", "scipy", "PIL", "rclpy", "asyncio"} & set(ended.stderr.split())
    assert robot.asked == ["/stop"]


def test_the_bytes_are_those_of_the_interface() -> None:
    assert dds_name(Trigger) == trigger.TYPE
    assert type_hash(Trigger) == trigger.TYPE_HASH
    assert bytes(serialize(Trigger.Request())) == trigger.REQUEST
    for success, message in ((True, ""), (False, "No."), (True, "größer"), (True, "x" * 5000)):
        packet = bytes(serialize(Trigger.Response(success=success, message=message)))
        assert trigger.read_response(packet) == (success, message)
    big = bytes.fromhex("00000000") + b"\x01\0\0\0" + b"\0\0\0\x03" + b"hi\0"
    assert trigger.read_response(big) == (True, "hi")


@pytest.mark.parametrize(
    "packet",
    [
        b"",
        b"\0\1",
        bytes(12),
        bytes.fromhex("0001000001000000ff000000"),
        bytes.fromhex("00010000020000000100000000"),
        bytes.fromhex("00090000010000000100000000"),
        bytes(1 << 17),
    ],
)
def test_bytes_that_are_no_answer_are_refused(packet: bytes) -> None:
    with pytest.raises(WireError, match="no response of std_srvs/srv/Trigger"):
        trigger.read_response(packet)


# -- keys ------------------------------------------------------------------------------------------


@pytest.fixture
def terminal() -> Iterator[tuple[int, int]]:
    """(the person's end, the program's end) of a terminal."""
    person, program = pty.openpty()
    yield person, program
    for fd in (person, program):
        with contextlib.suppress(OSError):
            os.close(fd)


def test_a_key_is_heard_at_once_and_the_terminal_is_as_before(terminal: tuple[int, int]) -> None:
    person, program = terminal
    before, handler = termios.tcgetattr(program), signal.getsignal(signal.SIGTTIN)
    heard: list[str] = []
    actions = {key: (lambda key=key: heard.append(key)) for key in "s r"}
    with Keys(actions, program) as keys:
        assert keys.listening
        for count, key in enumerate("s rs", 1):
            os.write(person, b"xq\n\xff\x1b[A" + key.encode())
            until(lambda count=count: len(heard) == count)
    assert heard == [*"s rs"]
    assert termios.tcgetattr(program) == before
    assert signal.getsignal(signal.SIGTTIN) == handler


def test_a_slow_answer_does_not_hold_up_the_next_key(terminal: tuple[int, int]) -> None:
    person, program = terminal
    answered, heard = threading.Event(), threading.Event()
    with Keys({"s": lambda: answered.wait(PATIENCE_S), "r": heard.set}, program):
        os.write(person, b"s")
        os.write(person, b"r")
        assert heard.wait(PATIENCE_S)
        answered.set()


def test_what_is_no_terminal_is_not_read() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"s")
    with Keys({"s": lambda: pytest.fail("it was read")}, reading) as keys:
        assert not keys.listening
    os.close(writing)
    assert os.read(reading, 9) == b"s"
    os.close(reading)


def test_the_keys_of_up_call_the_services_of_its_graph(
    make_robot: Any, router: str, terminal: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    person, program = terminal
    robot, said = make_robot(), list[str]()
    with os.fdopen(os.dup(program)) as stdin:
        monkeypatch.setattr(sys, "__stdin__", stdin)
        with service_keys(STOP_KEYS, DOMAIN, router, said.append):
            os.write(person, b" ")
            until(lambda: said)
            robot.success, robot.message = False, "Not reset."
            os.write(person, b"r")
            until(lambda: len(said) == 2)
    assert robot.asked == ["/stop", "/reset_stop"]
    assert said[0].startswith("Stopped: all joints were measured at rest")
    assert said[1] == "NOT CONFIRMED: Not reset."
