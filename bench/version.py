"""Which Toolhand this is."""

from __future__ import annotations

from importlib import metadata


def version() -> str:
    """The installed version."""
    try:
        return metadata.version("toolhand")
    except metadata.PackageNotFoundError:
        return "0 (not installed)"
