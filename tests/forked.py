"""Programs in processes of their own whose common imports are made once: each is forked from one that has made them.

    forked = Forks("toolhand.sim.station")
    ended = forked.run(["examples/02_a_pick_in_python.py"], cwd=ROOT)
    forked.close()

For programs that import a second's worth of modules and run for less. What a program changes is gone with its process.
"""

import json
import os
import runpy
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path


class Forks:
    """A process from which programs are forked.

    Args:
        modules: What it imports before the first of them.
    """

    def __init__(self, *modules: str) -> None:
        self._folder = tempfile.TemporaryDirectory()
        command = [sys.executable, "-m", "tests.forked", self._folder.name, *modules]
        self._process = subprocess.Popen(
            command, cwd=Path(__file__).parents[1], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self, argv: Sequence[str], cwd: Path) -> subprocess.CompletedProcess[str]:
        """Run the Python program argv[0] with the rest as its arguments, its standard input empty, until it ends."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps([list(argv), str(cwd)]), file=self._process.stdin, flush=True)
        status = int(self._process.stdout.readline())
        out, err = ((Path(self._folder.name) / name).read_text(encoding="utf-8") for name in ("1", "2"))
        return subprocess.CompletedProcess(argv, status, out, err)

    def close(self) -> None:
        """End the process."""
        self._process.communicate()
        self._folder.cleanup()


def _serve(folder: Path, modules: Sequence[str]) -> None:
    for module in modules:
        import_module(module)
    for line in sys.stdin:
        argv, cwd = json.loads(line)
        child = os.fork()
        if child == 0:
            _run(folder, argv, cwd)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def _run(folder: Path, argv: list[str], cwd: str) -> None:
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for stream in (1, 2):
        os.dup2(os.open(folder / str(stream), os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
    status = 1
    try:
        os.chdir(cwd)
        sys.argv[:] = argv
        sys.path[0] = str(Path(argv[0]).resolve().parent)
        runpy.run_path(argv[0], run_name="__main__")
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    _serve(Path(sys.argv[1]), sys.argv[2:])
