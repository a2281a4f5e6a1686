"""`make mutants`: what mutmut's settings in pyproject.toml leave open, and the table of its results.

As a pytest plugin it lets the tests run first that are soonest over: most mutants are killed by a quick one.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

RESULTS = Path("mutants")
"""mutmut's folder; a second run goes on where the first one stopped."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files in the order of their durations, and so the tests of each, as mutmut measured them."""
    try:  # pytest runs in mutmut's folder
        durations: dict[str, float] = json.loads(Path("mutmut-stats.json").read_text())["duration_by_test"]
    except FileNotFoundError:  # this is the run that measures
        return
    files: Counter[Path] = Counter()
    for item in items:
        files[item.path] += durations.get(item.nodeid, 0.0)  # type: ignore[assignment]
    items.sort(key=lambda item: (files[item.path], str(item.path), durations.get(item.nodeid, 0.0)))
