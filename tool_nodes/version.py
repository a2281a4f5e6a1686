"""The installed version."""

from __future__ import annotations

from importlib import metadata


def version() -> str:
    """Of the package, as pip knows it."""
    try:
        return metadata.version("toolhand")
    except metadata.PackageNotFoundError:
        return "0 (not installed)"
