"""On which platforms this project runs; says so where it is not the usual one."""

from __future__ import annotations

import os
import platform
import signal
import socket

POSIX_ONLY = frozenset({"fcntl", "grp", "pty", "pwd", "resource", "termios", "tty"})
"""Modules of the standard library that only Unix has."""


def missing(error: Exception) -> str:
    """The module or function of Unix, such as "fcntl" or "os.geteuid", whose absence an error tells; else nothing."""
    if isinstance(error, ImportError) and error.name in POSIX_ONLY:
        return error.name
    if isinstance(error, AttributeError) and error.obj in (os, signal, socket):
        return f"{error.obj.__name__}.{error.name}"
    return ""


def note(system: str = "", machine: str = "") -> str:
    """One sentence about a platform; empty for Linux on x86-64, where everything is tested.

    Args:
        system: Name as from `platform.system()`; this machine's where empty.
        machine: Name as from `platform.machine()`; this machine's where empty.
    """
    system, machine = system or platform.system(), (machine or platform.machine()).lower()
    arm = machine in ("aarch64", "arm64")
    match system:
        case "Linux" if machine in ("x86_64", "amd64"):
            return ""
        case "Linux" if arm:
            return "On Linux aarch64 nothing has been tried; pip builds ruckig there, with a C++ compiler."
        case "Darwin" if arm:
            return "On macOS nothing has been tried; all wheels exist for macOS 14 and later on arm64."
        case "Darwin":
            return "On this macOS it cannot be installed: there is no mujoco-core for Intel."
        case "Windows":
            return "On Windows nothing has been tried: use WSL 2, which is Linux."
        case _:
            return f"On {system} {machine} it has not been tried."
