"""How to install what an extra of this project holds, from the checkout that runs and into the Python that runs it."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

_ROOT = Path(__file__).parents[1]


def pip_install(what: str) -> str:
    """The command line, for a shell, that installs packages into this Python, e.g. `pip_install("zenoh")`."""
    return f"{shlex.quote(_shown(Path(sys.executable)))} -m pip install {what}"


def install_extra(extra: str) -> str:
    """The command line, for a shell, that adds an extra of pyproject.toml to this installation."""
    folder = _shown(_ROOT) if (_ROOT / "pyproject.toml").is_file() else "."
    return pip_install(f"-e {shlex.quote(f'{folder}[{extra}]')}")


def _shown(path: Path) -> str:
    """A path as it is typed here: relative within this folder."""
    here = Path.cwd()
    return os.path.relpath(path, here) if path.is_relative_to(here) else str(path)
