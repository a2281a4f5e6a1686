"""One range for all attacks of a worker, and one with small images for calls made by chance."""

import pytest

from toolhand.bench.redteam.range import HostileStation, Range


@pytest.fixture(scope="session")
def ground() -> Range:
    return Range()


@pytest.fixture(scope="session")
def small_ground() -> Range:
    return Range(HostileStation((320, 240)))
