"""What an extra of this project holds: imported when it is needed, or how to install it into the Python that runs."""

from __future__ import annotations

import importlib
import os
import shlex
import sys
from pathlib import Path
from typing import Any

from toolhand.tool_nodes.results import unavailable, words_of

PROJECT = "toolhand"
"""The distribution, as pip knows it."""

_ROOT = Path(__file__).parents[1]


def package(name: str, extra: str, what: str) -> Any:
    """A package that the core knows nothing of, imported now.

    Args:
        name: Import name of the package.
        extra: Extra of pyproject.toml that installs it.
        what: Needs it, as a sentence begins: "This model", say.

    Raises:
        ToolError: UNAVAILABLE, with the command that installs the extra, where it cannot be imported.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise unavailable(
            f"{what} needs {name}, which cannot be imported: {words_of(error)}.",
            f"Install it with: {install_extra(extra)}",
        ) from error


def pip_install(what: str) -> str:
    """The command line, for a shell, that installs packages into this Python, e.g. `pip_install("zenoh")`."""
    return f"{shlex.quote(_shown(Path(sys.executable)))} -m pip install {what}"


def install_extra(extra: str) -> str:
    """The command line, for a shell, that adds an extra of pyproject.toml to this installation.

    In a checkout it installs that once more. Elsewhere it names the package, which pip finds and leaves as it is.
    """
    if in_checkout():
        return pip_install(f"-e {shlex.quote(f'{_shown(_ROOT)}[{extra}]')}")
    return pip_install(shlex.quote(f"{PROJECT}[{extra}]"))


def install_again() -> str:
    """What to do, as a sentence goes on, where an installation knows less than its files offer."""
    return pip_install(f"-e {shlex.quote(_shown(_ROOT))}") if in_checkout() else "pip install --force-reinstall WHEEL"


def in_checkout() -> bool:
    """True where this code runs from the folder of the repository, False where a wheel was installed."""
    return (_ROOT / "pyproject.toml").is_file()


def _shown(path: Path) -> str:
    """A path as it is typed here: relative within this folder."""
    here = Path.cwd()
    return os.path.relpath(path, here) if path.is_relative_to(here) else str(path)
