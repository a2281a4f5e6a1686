"""Packages as a launch file needs them: where they keep their files, and what their executables are.

Executables are the console scripts of a package's `setup.cfg`, the table that an ament_python package is installed by;
what `find-pkg-share` gives is the folder itself. Which packages there are says `rclpy_zenoh.packages`.
"""

from __future__ import annotations

import configparser
import importlib.util
import sys
from pathlib import Path

from rclpy_zenoh.launch.errors import LaunchError
from rclpy_zenoh.packages import package_folders

CLIENT_ROOT = Path(__file__).parents[2]


def share_folder(package: str) -> Path:
    """Where a package keeps launch files, parameter files and the like. Raises LaunchError."""
    known = package_folders()
    if package not in known:
        raise LaunchError(f"there is no package '{package}'; known: {', '.join(sorted(known)) or 'none'}")
    return known[package]


def executable(package: str, name: str) -> tuple[list[str], list[str]]:
    """The command that runs an executable of a package, and the folders that Python must find modules in.

    Raises:
        LaunchError: There is no such package or executable, or its module is not installed.
    """
    scripts = _console_scripts(share_folder(package) / "setup.cfg")
    if name not in scripts:
        raise LaunchError(f"package '{package}' has no executable '{name}'; it has: {', '.join(sorted(scripts))}")
    module = scripts[name]
    spec = importlib.util.find_spec(module.partition(".")[0])
    roots = list(spec.submodule_search_locations or []) if spec is not None else []
    if not roots:
        raise LaunchError(f"the module '{module}' of executable '{name}' is not installed")
    # -P: files in the folder that a launch is started from have no say in what is imported.
    command = [sys.executable, "-P", "-m", "rclpy_zenoh.run", module]
    return command, [str(CLIENT_ROOT), str(Path(roots[0]).parent)]


def _console_scripts(file: Path) -> dict[str, str]:
    """Name to module. Only functions called `main` count: a module is run as a program, which calls them."""
    config = configparser.ConfigParser()
    config.read(file, encoding="utf-8")
    lines = config.get("options.entry_points", "console_scripts", fallback="").split("\n")
    entries = (line.partition("=") for line in lines if line.strip())
    targets = {name.strip(): target.strip() for name, _, target in entries}
    return {name: target.removesuffix(":main") for name, target in targets.items() if target.endswith(":main")}
