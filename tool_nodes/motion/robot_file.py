"""The files of a robot, read within bounds; every mistake is one sentence that names the file."""

from __future__ import annotations

from pathlib import Path

from toolhand.tool_nodes.results import ToolError, invalid, unavailable

CORRECT = "Correct the robot's file."
"""What to do about an error in a robot's file."""


def robot_error(file: Path, what: str) -> ToolError:
    """The error about a file of a robot."""
    return invalid(f"{file}: {what}.", CORRECT)


MAX_FILE_BYTES = 8_000_000
"""Largest file of a robot that is read, meshes aside [bytes]; the URDF of a whole mobile robot has 200 kB."""


def read_file(file: Path) -> bytes:
    """Raises ToolError UNAVAILABLE where it cannot be read, INVALID_ARGUMENT for no regular file or a large one."""
    try:
        if file.exists() and not file.is_file():
            raise robot_error(file, "it must be a regular file")
        if file.stat().st_size > MAX_FILE_BYTES:
            raise robot_error(file, f"a robot's file may have {MAX_FILE_BYTES} bytes, got {file.stat().st_size}")
        return file.read_bytes()
    except OSError as error:
        raise unavailable(f"The robot model {file} is missing.", "Install `urdf` beside it.") from error
