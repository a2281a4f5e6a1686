"""Whoever can write into the folder that a command is started from has no say in what its processes import."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TAKEN = (
    "toolhand",
    "tool_nodes",
    "agent_node",
    "training",
    "sim",
    "rclpy_zenoh",
    "multiprocessing",
    "zenoh",
    "numpy",
    "argparse",
    "socket",
    "runpy",
    "json",
)
"""Names that a stranger has taken there; each module tells that it was run."""

ROUTER = "from rclpy_zenoh.wire import start_router; start_router().close(); print('done')"
WORKERS = """
import sys
sys.modules["__main__"].__spec__ = None
from toolhand.training.pool.workers import Workers
import operator, functools
with Workers(functools.partial(functools.partial, operator.neg), 1) as workers:
    print("done")
"""
GRAPH = """
import sys
from pathlib import Path
from rclpy_zenoh.launch import launch
file = Path(sys.argv[1])
file.write_text("launch:\\n  - node: {pkg: toolhand_bringup, exec: camera_node, name: camera}\\n")
with launch(file, {}, domain=77, router_port=0) as graph:
    graph.wait_ready(120.0)
print("done")
"""
KEEPER = """
import toolhand.cli.serve
from toolhand.tool_nodes.results import ToolError
from pathlib import Path
import sys
toolhand.cli.serve.require_ray = lambda: None
Path(sys.argv[1]).write_text("ports: {depth: no-such-backend}")
try:
    toolhand.cli.serve.serve_up(Path(sys.argv[1]), detach=True)
except ToolError as error:
    print("done", error)
"""


@pytest.mark.parametrize("program", [ROUTER, WORKERS, GRAPH, KEEPER], ids=["router", "workers", "graph", "keeper"])
def test_no_process_imports_from_the_folder_that_it_was_started_in(program: str, tmp_path: Path) -> None:
    here, caught = tmp_path / "here", tmp_path / "caught"
    here.mkdir()
    caught.mkdir()
    for name in TAKEN:
        told = f"open({str(caught / name)!r}, 'w').close(); raise ImportError({name!r})\n"
        (here / f"{name}.py").write_text(
            f"open = __builtins__['open'] if isinstance(__builtins__, dict) else open\n{told}"
        )
    paths = os.pathsep.join(path for path in sys.path if path and os.path.isabs(path))
    done = subprocess.run(
        [sys.executable, "-P", "-c", program, str(tmp_path / "file.yaml")],
        cwd=here,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": paths, "TOOLHAND_SERVE": str(tmp_path / "serve")},
        timeout=240.0,
    )
    assert sorted(each.name for each in caught.iterdir()) == [], done.stderr[-2000:]
    assert done.stdout.startswith("done"), done.stderr[-2000:]
