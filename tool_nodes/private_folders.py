"""Folders that only this user can look into and change, made and checked before anything in them is believed.

A name in a folder that others write too, like the machine's temporary one, can be taken first by anybody, who is then
believed. What a process keeps for the next one therefore lies below the user's own folders, and whose they are is
looked at each time: no other user may be able to write, rename or lead astray anything on the way there.
"""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

_ONLY_MINE = 0o700
"""Mode of a private folder [-]: other users may not even list it."""

_LINKS = 40
"""Most links on the way to a folder [-]: as many as the kernel follows."""


class FolderRefused(ValueError):
    """Why a folder is not believed, as a clause: `/tmp/x belongs to another user`."""


def runtime_folder() -> Path:
    """Where a user's processes note each other: below XDG_RUNTIME_DIR where that is this user's, else below the cache.

    It is not made. Raises FolderRefused where this user has no home.
    """
    named = os.environ.get("XDG_RUNTIME_DIR", "")
    if os.path.isabs(named):
        with contextlib.suppress(OSError, FolderRefused):  # after su it is often another user's
            _require_mine(Path(named))
            return Path(named) / "toolhand"
    return cache_folder()


def cache_folder() -> Path:
    """Where a user's processes keep what is large: below XDG_CACHE_HOME, else ~/.cache. It is not made.

    Raises FolderRefused where this user has no home.
    """
    named = os.environ.get("XDG_CACHE_HOME", "")
    try:
        return (Path(named) if os.path.isabs(named) else Path.home() / ".cache") / "toolhand"
    except RuntimeError as error:
        raise FolderRefused("this user has no home folder") from error


def made_private(folder: Path) -> Path:
    """A folder of this user's own, made where there is none; its name without links.

    Raises:
        FolderRefused: It cannot be made, or `private` refuses it.
    """
    path = Path(os.path.abspath(folder))
    missing = [each for each in (path, *path.parents) if not os.path.lexists(each)]
    try:
        for each in reversed(missing):
            _walked(each.parent)
            with contextlib.suppress(FileExistsError):  # another process was quicker, and is checked below
                each.mkdir(mode=_ONLY_MINE)
        found = private(path)
    except OSError as error:
        raise FolderRefused(f"{path} cannot be made: {error.strerror}") from error
    if found is None:
        raise FolderRefused(f"{path} cannot be made")
    return found


def private(folder: Path) -> Path | None:
    """The folder without links in its name; None where there is none.

    Raises:
        FolderRefused: It is a link, no folder, another user's, open to others, or lies where others can put another
            in its place.
    """
    path = Path(os.path.abspath(folder))
    if not os.path.lexists(path):
        return None
    try:
        found = _walked(path.parent) / path.name
        _require_mine(found)
    except OSError as error:
        raise FolderRefused(f"{path} cannot be looked at: {error.strerror}") from error
    return found


def _require_mine(folder: Path) -> None:
    there = os.lstat(folder)
    if stat.S_ISLNK(there.st_mode):
        raise FolderRefused(f"{folder} is a link")
    if not stat.S_ISDIR(there.st_mode):
        raise FolderRefused(f"{folder} is no folder")
    if there.st_uid != os.geteuid():
        raise FolderRefused(f"{folder} belongs to another user")
    if stat.S_IMODE(there.st_mode) & 0o077:
        raise FolderRefused(f"{folder} is open to other users (chmod 700 closes it)")


def _walked(path: Path) -> Path:
    """A folder's name without links, none of which, and no folder on the way, another user could have changed."""
    todo, done, links = list(path.parts[:0:-1]), Path(path.anchor), 0
    while todo:
        name = todo.pop()
        step = done.parent if name == os.pardir else done / name
        there = os.lstat(step)
        if not stat.S_ISLNK(there.st_mode):
            done = step
            if done != Path(done.anchor):  # whose that is says nothing in a container
                _require_trusted(done)
            continue
        links += 1
        if there.st_uid not in (0, os.geteuid()):
            raise FolderRefused(f"{step} is a link of another user")
        if links > _LINKS:
            raise FolderRefused(f"{path} has too many links")
        target = Path(os.readlink(step))
        if target.is_absolute():
            done = Path(target.anchor)
        todo += [part for part in reversed(target.parts) if part != target.anchor]
    return done


def _require_trusted(folder: Path) -> None:
    """Refuse a folder in which another user could rename what is this user's."""
    there = os.lstat(folder)
    if not stat.S_ISDIR(there.st_mode):
        raise FolderRefused(f"{folder} is no folder")
    if there.st_uid not in (0, os.geteuid()):
        raise FolderRefused(f"{folder} belongs to another user")
    mode = stat.S_IMODE(there.st_mode)
    by_group = mode & stat.S_IWGRP and there.st_gid != 0 and not _is_of_one(there.st_gid)
    if (by_group or mode & stat.S_IWOTH) and not mode & stat.S_ISVTX:
        raise FolderRefused(f"other users can write into {folder}")


def _is_of_one(group: int) -> bool:
    """Whether a group is this user's alone, as many systems make one for each user."""
    import grp
    import pwd

    try:
        known, user = grp.getgrgid(group), pwd.getpwuid(os.geteuid())
    except KeyError:
        return False
    return known.gr_name == user.pw_name and set(known.gr_mem) <= {user.pw_name}
