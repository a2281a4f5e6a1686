"""The error of this package."""

from __future__ import annotations


class LaunchError(Exception):
    """One sentence that says what is wrong; with file and line where a launch file is to blame."""
