"""Files that are whole or as they were before; files of others, of which only regular ones are read, and bounded."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

KIB, MIB, GIB = 2**10, 2**20, 2**30
"""Units of limits [bytes]."""

NOTES_BYTES = 64 * MIB
"""Longest file that is read of those in which a command notes its settings and results for itself [bytes]."""


class FileRefused(OSError):
    """A file that is not read, though the system would; `strerror` says why, as the end of a sentence."""

    def __init__(self, why: str, path: Path) -> None:
        super().__init__(errno.EINVAL, why, str(path))

    def __str__(self) -> str:
        return str(self.strerror)


def read_file(path: Path, limit: int, within: Path | None = None) -> bytes:
    """All of a regular file, which may have come from anywhere: never waits, and never takes more than the limit.

    Args:
        path: The file to read; a link is followed.
        limit: Longest that is read [bytes].
        within: A folder that links must not lead out of; None lets them lead anywhere.

    Raises:
        FileRefused: It is a pipe, a device or a socket, longer than the limit, or lies outside.
        OSError: It is a folder, or cannot be read.
    """
    with open_file(path, within, limit) as file:
        content = file.read(os.fstat(file.fileno()).st_size + 1)
        while 0 < len(content) <= limit and (more := file.read(min(MIB, limit + 1 - len(content)))):
            content += more  # it grows, or has no size, as those of /proc
    if len(content) > limit:
        raise FileRefused(f"it is longer than {_spoken(limit)}", path)
    return content


def read_lines(path: Path, longest: int, within: Path | None = None) -> Iterator[bytes]:
    """The lines of a regular file, one after the other, with their ends; see `read_file`.

    Args:
        path: The file to read.
        longest: Longest line [bytes].
        within: See `read_file`.

    Raises:
        FileRefused: As `read_file`, and where a line is longer.
        OSError: It is a folder, or cannot be read.
    """
    with open_file(path, within) as file:
        while line := file.readline(longest + 1):
            if len(line) > longest:
                raise FileRefused(f"it has a line longer than {_spoken(longest)}", path)
            yield line


def open_file(path: Path, within: Path | None = None, limit: int | None = None) -> BinaryIO:
    """A regular file, opened to be read.

    Args:
        path, within: See `read_file`.
        limit: Longest file [bytes]; None where what is read of it is bounded.

    Raises:
        FileRefused, OSError: As `read_file`.
    """
    require_regular(path)  # a device may do something when it is opened
    if within is not None and not path.resolve().is_relative_to(within.resolve()):
        raise FileRefused(f"it lies outside {within}", path)
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        there = os.fstat(handle)
        _require_regular(there, path)  # it may have been changed for another one
        if limit is not None and there.st_size > limit:
            raise FileRefused(f"it is longer than {_spoken(limit)}", path)
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def why(error: Exception) -> str:
    """What went wrong as the end of a sentence: of an error of the system without its number and path."""
    return str(getattr(error, "strerror", None) or error or type(error).__name__)


def require_regular(path: Path) -> None:
    """Raises what `open_file` would of what lies at a path now, for a library that opens it itself."""
    _require_regular(os.stat(path), path)


def _require_regular(there: os.stat_result, path: Path) -> None:
    if stat.S_ISDIR(there.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(there.st_mode):
        kinds = {stat.S_IFIFO: "named pipe", stat.S_IFSOCK: "socket"}
        raise FileRefused(f"it is a {kinds.get(stat.S_IFMT(there.st_mode), 'device')} and no regular file", path)


def _spoken(size: int) -> str:
    for unit, name in ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if size and size % unit == 0:
            return f"{size // unit:,} {name}"
    return f"{size:,} bytes"


def write_whole(path: Path, content: bytes, durable: bool = False) -> None:
    """Write a file that is either complete or, on any fault, unchanged; its folder is made if needed.

    Args:
        path: The file to write.
        content: All of it.
        durable: It outlasts a power cut too, which takes longer.

    Raises:
        OSError: It cannot be written, e.g. on a full disk; nothing is left of it then.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{uuid.uuid4().hex}.part")
    try:
        part.write_bytes(content)
        if durable:
            _sync(part)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    if durable:
        _sync(path.parent)  # the name lasts as long as what it names


def write_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write a folder that appears with all its files or not at all.

    Args:
        folder: A folder that does not exist yet, or is empty.
        files: Contents by paths in the folder, with slashes.

    Raises:
        OSError: It holds something, or cannot be written; nothing is left of it then.
    """
    folder = folder.resolve()
    part = folder.with_name(f".{folder.name}.{uuid.uuid4().hex}.part")
    try:
        for name, content in files.items():
            path = part / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        if folder.exists():
            folder.rmdir()
        part.replace(folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
