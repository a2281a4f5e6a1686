"""One cluster over three hosts, network namespaces of this machine: a head, a worker, and one that only asks."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tool_nodes.serve.served_backends import install

ROOT = Path(__file__).parents[4]
HEAD, PORT = "10.77.0.1", 6379
START_S = 180.0
"""How long a node of Ray may take to start on a busy machine, tries and all [s]."""

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("ip") is None, reason="network namespaces need root and iproute2"
)


class Hosts:
    """The three hosts: what each runs has a /tmp and an address of its own, and the other files in common."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._mark = f"th{os.getpid()}"
        self.names = [f"{self._mark}-{name}" for name in ("head", "worker", "client")]

    def up(self) -> None:
        self._ip("link", "add", self._mark, "type", "bridge")
        self._ip("link", "set", self._mark, "up")
        for k, name in enumerate(self.names):
            (self.folder / name).mkdir()
            self._ip("netns", "add", name)
            self._ip("link", "add", f"{self._mark}-{k}", "type", "veth", "peer", "name", "eth0", "netns", name)
            self._ip("link", "set", f"{self._mark}-{k}", "master", self._mark, "up")
            self._ip("-n", name, "addr", "add", f"10.77.0.{k + 1}/24", "dev", "eth0")
            for device in ("eth0", "lo"):
                self._ip("-n", name, "link", "set", device, "up")

    def down(self) -> None:
        for k in range(3):
            self.end(k)
        for name in self.names:  # also of those that were not made
            subprocess.run(["ip", "netns", "del", name], stderr=subprocess.DEVNULL, check=False)
        self._ip("link", "del", self._mark)

    def end(self, host: int) -> None:
        """End everything on a host, as when its power fails."""
        listed = subprocess.run(["ip", "netns", "pids", self.names[host]], capture_output=True, text=True, check=False)
        for process in listed.stdout.split():
            os.kill(int(process), signal.SIGKILL)

    def start(self, host: int, *command: str, out: Path | None = None) -> subprocess.Popen[str]:
        environment = os.environ | {
            "PYTHONPATH": f"{self.folder / 'package'}:{ROOT}:{ROOT / 'ros2_ws' / 'src' / 'rclpy_zenoh'}",
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN_PATH": str(self.folder / "token"),
            "RAY_USAGE_STATS_ENABLED": "0",
            "TOOLHAND_SERVE": "/tmp/serve",
        }
        place = f'mount --make-rprivate / && mount --bind {self.folder / self.names[host]} /tmp && exec "$@"'
        where = ["ip", "netns", "exec", self.names[host], "unshare", "-m", "bash", "-c", place, "_", *command]
        stream = subprocess.PIPE if out is None else out.open("w")
        return subprocess.Popen(
            where, cwd=self.folder, env=environment, stdout=stream, stderr=subprocess.STDOUT, text=True
        )

    def node(self, host: int, *options: str) -> None:
        """Start Ray on a host; it gives its parts 15 s, which a busy machine may not."""
        log, until = self.folder / f"{self.names[host]}.log", time.monotonic() + START_S
        command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--block", "--object-store-memory=100000000"]
        address = f"--node-ip-address=10.77.0.{host + 1}"
        while time.monotonic() < until:
            started = self.start(host, *command, address, *options, out=log)
            while started.poll() is None:
                if "will now block" in log.read_text():
                    return
                time.sleep(0.2)
            self.end(host)
        raise AssertionError(log.read_text()[-2000:])

    def run(self, host: int, *words: str) -> str:
        """What `toolhand` prints on a host."""
        started = self.start(host, sys.executable, "-m", "toolhand", *words)
        told, _ = started.communicate(timeout=300.0)
        assert started.returncode == 0, told
        return told

    def _ip(self, *words: str) -> None:
        subprocess.run(["ip", *words], check=True)


@pytest.fixture(scope="module")
def hosts() -> Iterator[Hosts]:
    folder = Path(tempfile.mkdtemp(prefix="toolhand-", dir="/var/tmp"))  # /tmp is each host's own
    install(folder / "package")
    (folder / "token").write_text("7" * 64, encoding="ascii")
    (folder / "token").chmod(0o600)
    (folder / "serve.yaml").write_text("ports: {pointer: {backend: pixels, run: serve, replicas: 2, cpus: 0.5}}\n")
    made = Hosts(folder)
    try:
        made.up()
        made.node(0, "--head", f"--port={PORT}", "--num-cpus=2", "--include-dashboard=false")
        made.node(1, f"--address={HEAD}:{PORT}", "--num-cpus=2")
        made.node(2, f"--address={HEAD}:{PORT}", "--num-cpus=0")
        yield made
    finally:
        made.down()
        shutil.rmtree(folder, ignore_errors=True)


def test_a_third_host_asks_what_is_served_and_collects_rollouts_on_the_workers(hosts: Hosts) -> None:
    assert f"Served at {HEAD}:{PORT}" in hosts.run(
        0, "serve", "up", "serve.yaml", "--address", f"{HEAD}:{PORT}", "--detach"
    )
    assert "Asked from here: pointer" in hosts.run(2, "serve", "join", f"{HEAD}:{PORT}", "--token-file", "token")
    assert "2 running" in hosts.run(2, "serve", "status")
    told = hosts.run(2, "run", "pick up the red box", "--scene", "3", "--perception", "pixels", "--pointer", "served")
    assert "judgement: picked" in told
    collect = (
        "rollouts",
        "collect",
        "--n",
        "4",
        "--tasks",
        "pick",
        "--workers",
        "2",
        "--on",
        "ray",
        "--out",
        "rollouts",
    )
    assert "dropped       none" in hosts.run(2, *collect)


CALLS = """
import ray, time
from toolhand.sim.scene.generator import generate_scene
from toolhand.sim.station import Station
from toolhand.tool_nodes.serve.calling import connect
from toolhand.tool_nodes.toolbox.images import SessionImage
served, frame = connect(), Station(generate_scene(3)).camera.capture()
seen = []
while seen[-1:] != [3] or len(seen) < 3:
    served.call("pointer", SessionImage(frame.rgb, frame), "red box")
    nodes = sum(node["Alive"] for node in ray.nodes())
    if nodes != (seen or [0])[-1]:
        seen.append(nodes)
        print("nodes", nodes, flush=True)
    time.sleep(0.1)
"""


def test_a_worker_that_leaves_and_comes_back_costs_no_answer(hosts: Hosts) -> None:
    log = hosts.folder / "calls.log"
    calling = hosts.start(2, sys.executable, "-c", CALLS, out=log)

    def until_told(words: str) -> None:
        until = time.monotonic() + START_S
        while words not in log.read_text() and time.monotonic() < until and calling.poll() is None:
            time.sleep(0.2)
        assert words in log.read_text(), log.read_text()[-3000:]

    until_told("nodes 3")
    hosts.end(1)
    until_told("nodes 2")
    hosts.node(1, f"--address={HEAD}:{PORT}", "--num-cpus=2")
    assert calling.wait(START_S) == 0, log.read_text()[-3000:]
    assert "is asked no more from here" in hosts.run(2, "serve", "down")
    assert "has ended" in hosts.run(0, "serve", "down")
