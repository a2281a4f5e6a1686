"""One service for all tests that need one: a cluster of its own, in a folder of its own."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.tool_nodes.serve.served_backends import install
from toolhand.tool_nodes.serve import processes, service_file
from toolhand.tool_nodes.serve.calling import disconnect
from toolhand.tool_nodes.serve.cluster import require_ray, take_down
from toolhand.tool_nodes.serve.service_file import ServiceNote

YAML = """
ports:
  pointer: {backend: obedient, deadline_s: 60}
  quick: {port: pointer, backend: obedient, run: serve, deadline_s: 30, retries: 1, batch: 2, queue: 4}
  scaled: {port: pointer, backend: obedient, run: serve, replicas: {min: 1, max: 2}, deadline_s: 30, retries: 1}
  pressed: {port: pointer, backend: obedient, deadline_s: 4}
  pressed-serve: {port: pointer, backend: obedient, run: serve, deadline_s: 4}
  batched: {port: pointer, backend: batched, run: serve, batch: 16, batch_wait_ms: 20}
  depth: pixels
cluster: {cpus: 4, gpus: 1, store_gb: 0.2}
"""


class Running:
    """A service that was started as a user starts it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def toolhand(self, *words: str, timeout_s: float = 900.0) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "toolhand", *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, check=False)

    def up(self, text: str = YAML, *words: str) -> ServiceNote:
        file = self.folder / "serve.yaml"
        file.write_text(text, encoding="utf-8")
        done = self.toolhand("serve", "up", str(file), "--detach", "--json", *words)
        assert done.returncode == 0, done.stderr + done.stdout
        assert json.loads(done.stdout)["folder"] == str(service_file.folder().resolve())
        service = service_file.noted()
        assert service is not None
        return service

    def down(self) -> None:
        disconnect()
        service = service_file.noted()
        take_down()
        assert service is None or not processes.of_service(service)


@contextmanager
def a_folder() -> Iterator[Running]:
    """A service's folder, with backends to be served in it; everything is ended and gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="toolhand-", dir="/tmp"))  # Ray's sockets need a short path
    before = {name: os.environ.get(name) for name in (service_file.VARIABLE, "PYTHONPATH")}
    package = install(folder / "package")
    os.environ[service_file.VARIABLE] = str(folder / "s")
    os.environ["PYTHONPATH"] = os.pathsep.join(
        [str(package), str(Path(__file__).parents[3]), before["PYTHONPATH"] or ""]
    )
    running = Running(folder)
    try:
        yield running
    finally:
        running.down()
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def running() -> Iterator[Running]:
    require_ray()
    with a_folder() as service:
        service.up()
        yield service
