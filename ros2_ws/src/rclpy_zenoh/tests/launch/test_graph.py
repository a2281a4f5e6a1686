"""Processes of a launch file: started after a router, listened to, started again, ended in order, never left behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest
from launch_support import PATIENCE_S, Start, Write, alive, command_line, script, wait_until

from rclpy_zenoh.launch import LaunchError, guard, launch
from rclpy_zenoh.wire import SessionOptions, WireSession

SLEEPER = "import time\nprint('up', flush=True)\ntime.sleep(600)\n"
STUBBORN = (
    "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    "print('up', flush=True)\ntime.sleep(600)\n"
)
PARENT = (
    "import subprocess, sys, time\n"
    "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], start_new_session=True)\n"
    "print('child', child.pid, flush=True)\ntime.sleep(600)\n"
)


def test_nodes_are_ready_named_and_measured(write: Write, package: Path, start: Start) -> None:
    path = write(
        """
        - node: {pkg: launch_test, exec: talker, name: one, output: screen, param: [{name: word, value: "red"}]}
        - node: {pkg: launch_test, exec: talker, name: two, namespace: left, output: screen}
        """
    )
    running = start(path)
    assert running.graph.wait_ready(PATIENCE_S, services=["/one/get_parameters"]) > 0
    assert set(running.graph.pids()) == {"router", "one", "two"}
    for usage in running.graph.usage():
        assert usage.rss_bytes >= usage.pss_bytes > 1_000_000
        assert usage.cpu_s > 0
    wait_until(lambda: len([line for line in running.lines if "hello" in line]) == 2)
    assert "[one] hello from /one red" in running.lines
    assert "[two] hello from /left/two none" in running.lines
    running.graph.close()
    assert "[one] goodbye" in running.lines
    assert running.graph.pids() == {}


def test_who_only_looks_is_no_peer_of_the_nodes(
    write: Write, package: Path, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[SessionOptions] = []

    def open_session(options: SessionOptions) -> WireSession:
        opened.append(options)
        return WireSession(options)

    monkeypatch.setattr("rclpy_zenoh.launch.graph.open_session", open_session)
    path = write("- node: {pkg: launch_test, exec: talker, name: one}")
    running = start(path, domain=15)
    running.graph.wait_ready(PATIENCE_S)
    port = int(running.graph.endpoint.rpartition(":")[2])
    with pytest.raises(LaunchError, match="runs already"):
        launch(path, {}, domain=15, router_port=port)
    assert [options.client for options in opened] == [True, True]


def test_two_graphs_do_not_see_each_other(write: Write, package: Path, start: Start) -> None:
    path = write("- arg: {name: name}\n- node: {pkg: launch_test, exec: talker, name: $(var name)}")
    one, two = start(path, domain=11, name="first"), start(path, domain=12, name="second")
    one.graph.wait_ready(PATIENCE_S)
    two.graph.wait_ready(PATIENCE_S)
    assert one.graph.endpoint != two.graph.endpoint
    with pytest.raises(LaunchError, match="lacks the service /second/get_parameters"):
        one.graph.wait_ready(0.5, services=["/second/get_parameters"])


def test_a_second_graph_of_the_same_names_is_refused(write: Write, package: Path, start: Start) -> None:
    path = write("- arg: {name: name}\n- node: {pkg: launch_test, exec: talker, name: $(var name)}")
    first = start(path, domain=13, name="alone")
    first.graph.wait_ready(PATIENCE_S)
    port = int(first.graph.endpoint.rpartition(":")[2])
    with pytest.raises(LaunchError, match="The node /alone runs already in domain 13"):
        launch(path, {"name": "alone"}, domain=13, router_port=port)
    for domain, name in ((13, "another"), (14, "alone")):
        with launch(path, {"name": name}, domain=domain, router_port=port) as graph:
            graph.wait_ready(PATIENCE_S)


def test_lines_of_a_quiet_process_are_shown_when_it_fails(write: Write, tmp_path: Path, start: Start) -> None:
    command = script(tmp_path, "fail.py", "import sys\nprint('reason')\nsys.exit(3)\n")
    running = start(write(f"- executable: {{cmd: {command}, name: failing}}"))
    end = running.graph.wait(PATIENCE_S)
    assert end.status == 1
    assert running.lines == ["[failing] reason", "[failing] ended with status 3"]


@pytest.mark.parametrize(
    ("more", "sentence"),
    [("", "one ended with status"), (", respawn: true", "one has ended 2 times: .*--no-such")],
)
def test_a_node_that_ends_before_the_graph_is_ready_ends_the_graph_and_is_named(
    write: Write, package: Path, start: Start, more: str, sentence: str
) -> None:
    path = write(
        f"- node: {{pkg: launch_test, exec: talker, name: one, args: --ros-args --no-such{more}}}\n"
        "- node: {pkg: launch_test, exec: talker, name: two}"
    )
    graph = start(path).graph
    with pytest.raises(LaunchError, match=f"The graph did not start: {sentence}"):
        graph.wait_ready(PATIENCE_S)
    end = graph.wait(0.0)
    assert end.status == 1
    assert re.match(f"the graph did not start: {sentence}", end.reason)


def test_the_command_ends_where_a_node_ends_at_the_start_says_so_once_and_leaves_nothing(
    write: Write, package: Path, tmp_path: Path
) -> None:
    text = (
        f"import os, sys\nprint('launch', os.environ['{guard.VARIABLE}'], flush=True)\nsys.exit('no camera is there')\n"
    )
    failing = script(tmp_path, "fail.py", text)
    path = write(
        f"- executable: {{cmd: {failing}, name: failing}}\n"
        f"- executable: {{cmd: {script(tmp_path, 'sleeper.py', SLEEPER)}, name: sleeper}}\n"
        "- node: {pkg: launch_test, exec: talker, name: one, output: screen}"
    )
    process = command_line(str(path), "--router-port", "0")
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1
    sentence = "The graph did not start: failing ended with status 1: no camera is there."
    assert [line for line in errors.splitlines() if "did not start" in line] == [sentence]
    (mark,) = re.findall(r"\[failing\] launch (\w+)", errors)
    assert not guard.members(mark)


def test_what_does_its_work_and_ends_well_keeps_no_graph_from_starting(
    write: Write, package: Path, start: Start
) -> None:
    path = write("- executable: {cmd: echo done, name: short}\n- node: {pkg: launch_test, exec: talker, name: one}")
    running = start(path)
    wait_until(lambda: "[short] ended with status 0" in running.lines)
    assert running.graph.wait_ready(PATIENCE_S) > 0


def test_a_program_that_does_not_exist_is_named(write: Write, start: Start) -> None:
    running = start(write("- executable: {cmd: no-such-program-at-all}"))
    end = running.graph.wait(PATIENCE_S)
    assert end.status == 1
    assert "[no-such-program-at-all] no-such-program-at-all cannot be started: No such file or directory." in (
        running.lines
    )


def test_a_graph_without_shared_memory_says_so_once_and_its_nodes_know_it(
    write: Write, tmp_path: Path, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rclpy_zenoh.launch.graph.lacking_room", lambda: "There is too little.")
    command = script(tmp_path, "tell.py", "import os\nprint(os.environ['RCLPY_ZENOH_SHM'])\n")
    names = ("one", "two")
    running = start(write("\n".join(f"- executable: {{cmd: {command}, name: {n}, output: screen}}" for n in names)))
    running.graph.wait(PATIENCE_S)
    assert sorted(line for line in running.lines if "ended" not in line) == [
        "There is too little.",
        "[one] 0",
        "[two] 0",
    ]
    assert running.graph.environment["RCLPY_ZENOH_SHM"] == "0"


def test_a_killed_process_is_started_again(write: Write, tmp_path: Path, start: Start) -> None:
    command = script(tmp_path, "sleeper.py", SLEEPER)
    running = start(write(f"- executable: {{cmd: {command}, name: sleeper, output: screen, respawn: true}}"))
    wait_until(lambda: running.lines.count("[sleeper] up") == 1)
    first = running.graph.pids()["sleeper"]
    os.kill(first, signal.SIGKILL)
    wait_until(lambda: running.lines.count("[sleeper] up") == 2)
    assert running.graph.pids()["sleeper"] != first
    assert "[sleeper] was ended by SIGKILL; it is started again" in running.lines


def test_a_killed_router_comes_back_at_its_port(write: Write, tmp_path: Path, start: Start) -> None:
    running = start(write(f"- executable: {{cmd: {script(tmp_path, 'sleeper.py', SLEEPER)}, name: sleeper}}"))
    endpoint = running.graph.endpoint
    os.kill(running.graph.pids()["router"], signal.SIGKILL)
    wait_until(lambda: running.graph.process("router").starts == 2)
    assert running.graph.wait_ready(PATIENCE_S) >= 0
    assert running.graph.endpoint == endpoint


def test_the_end_of_a_process_can_be_the_end_of_all(write: Write, tmp_path: Path, start: Start) -> None:
    sleeper, short = script(tmp_path, "sleeper.py", SLEEPER), script(tmp_path, "short.py", "print('done')\n")
    path = write(
        f"- executable: {{cmd: {sleeper}, name: sleeper}}\n"
        f"- executable: {{cmd: {short}, name: short, on_exit: shutdown}}"
    )
    end = start(path).graph.wait(PATIENCE_S)
    assert (end.status, end.reason) == (0, "short ended with status 0, and the graph with it")


def test_a_process_that_ignores_signals_is_killed(write: Write, tmp_path: Path, start: Start) -> None:
    command = script(tmp_path, "stubborn.py", STUBBORN)
    times = "sigterm_timeout: 0.2, sigkill_timeout: 0.2"
    running = start(write(f"- executable: {{cmd: {command}, name: mule, output: screen, {times}}}"))
    wait_until(lambda: "[mule] up" in running.lines)
    pid = running.graph.pids()["mule"]
    running.graph.close()
    assert not alive(pid)
    sent = [line for line in running.lines if "is sent" in line]
    assert sent == [f"[mule] has not ended yet, {name} is sent" for name in ("SIGTERM", "SIGKILL")]


def test_children_of_nodes_end_too_whatever_session_they_are_in(write: Write, tmp_path: Path, start: Start) -> None:
    command = script(tmp_path, "parent.py", PARENT)
    running = start(write(f"- executable: {{cmd: {command}, name: parent, output: screen}}"))
    wait_until(lambda: running.lines)
    child = int(running.lines[0].split()[-1])
    assert alive(child)
    running.graph.close()
    assert not alive(child)


def test_a_router_that_runs_already_is_used_and_left_alone(write: Write, package: Path, start: Start) -> None:
    path = write("- node: {pkg: launch_test, exec: talker, name: one}")
    first = start(path)
    port = int(first.graph.endpoint.rpartition(":")[2])
    with launch(path, domain=78, router_port=port) as second:
        second.wait_ready(PATIENCE_S)
        assert "router" not in second.pids()
    assert alive(first.graph.pids()["router"])


@pytest.mark.parametrize("port", [-1, 70000])
def test_a_port_that_is_none_is_refused(write: Write, port: int) -> None:
    with pytest.raises(LaunchError, match="between 0 and 65535"):
        launch(write("- executable: {cmd: echo}"), router_port=port)


def test_a_domain_that_is_none_is_refused(write: Write) -> None:
    with pytest.raises(LaunchError, match="between 0 and 232, not 500"):
        launch(write("- executable: {cmd: echo}"), domain=500)


def pids_shown(process: subprocess.Popen[str]) -> list[int]:
    """The processes that `--usage` lists."""
    assert process.stderr is not None
    found: list[int] = []
    for line in process.stderr:
        if row := re.match(r"(?:router|one|parent|mule) +(\d+) ", line):
            found.append(int(row[1]))
        if line.startswith("one "):
            break
    return found


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_command_ends_by_a_signal_and_leaves_nothing(
    write: Write, package: Path, tmp_path: Path, number: signal.Signals
) -> None:
    parent = script(tmp_path, "parent.py", PARENT)
    path = write(
        f"- executable: {{cmd: {parent}, name: parent}}\n- node: {{pkg: launch_test, exec: talker, name: one}}"
    )
    process = command_line(str(path), "--router-port", "0", "--usage")
    pids = pids_shown(process)
    assert len(pids) == 3
    process.send_signal(number)
    process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0
    assert not [pid for pid in pids if alive(pid)]


def test_the_command_says_what_it_starts_waits_for_and_what_can_be_typed_then(write: Write, package: Path) -> None:
    path = write(
        """
        - node: {pkg: launch_test, exec: talker, name: agent}
        - node: {pkg: launch_test, exec: talker, name: one}
        """
    )
    process = command_line(str(path), "--router-port", "0")
    assert process.stderr is not None
    printed = []
    for line in process.stderr:
        printed.append(line.strip())
        if line.strip().endswith("node list"):
            break
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENCE_S)
    assert printed[0] == f"Starting {path} ..."
    assert printed[1] == "Started 3 processes: router, agent, one."
    assert printed[2].startswith("Waiting for /agent")
    ready = next(k for k, line in enumerate(printed) if line.startswith("Ready after"))
    endpoint = re.search(r"router (tcp/[\d.]+:\d+)", printed[ready])
    assert endpoint is not None
    settings = f"ROS_DOMAIN_ID=79 RCLPY_ZENOH_ROUTER={endpoint[1]}"
    assert printed[ready + 1 :] == ["In another terminal:", f"{settings} python -m rclpy_zenoh.cli node list"]


def test_nothing_is_left_when_the_launcher_itself_is_killed(write: Write, package: Path, tmp_path: Path) -> None:
    parent, mule = script(tmp_path, "parent.py", PARENT), script(tmp_path, "mule.py", STUBBORN)
    path = write(
        f"- executable: {{cmd: {parent}, name: parent}}\n- executable: {{cmd: {mule}, name: mule}}\n"
        "- node: {pkg: launch_test, exec: talker, name: one}"
    )
    process = command_line(str(path), "--router-port", "0", "--usage")
    pids = pids_shown(process)
    assert len(pids) == 4
    mark = next(
        entry for entry in Path(f"/proc/{pids[0]}/environ").read_text().split("\0") if entry.startswith(guard.VARIABLE)
    )
    process.kill()
    process.communicate(timeout=PATIENCE_S)
    wait_until(lambda: not guard.members(mark.partition("=")[2]))
    assert not [pid for pid in pids if alive(pid)]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["none.launch.yaml"], "The launch file none.launch.yaml cannot be read: No such file or directory."),
        (["{file}", "who"], "Arguments are written NAME:=VALUE, not 'who'."),
        (["{file}", "who:=x"], "test.launch.yaml has no argument 'who'; it has: none."),
    ],
)
def test_bad_input_ends_with_status_2_and_one_sentence(write: Write, arguments: list[str], sentence: str) -> None:
    path = write("- executable: {cmd: echo}")
    process = command_line(*[argument.format(file=path) for argument in arguments])
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 2
    assert errors.splitlines()[-1].endswith(sentence.removeprefix("The launch file none.launch.yaml "))


def test_the_arguments_of_a_file_are_listed(write: Write) -> None:
    process = command_line(str(write('- arg: {name: ip, description: "Address"}')), "--show-args")
    output, _ = process.communicate(timeout=PATIENCE_S)
    assert output == "ip: Address (must be given)\n"
