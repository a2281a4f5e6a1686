"""Every test begins and ends with the default distribution."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rclpy_zenoh.interfaces import use_distro


@pytest.fixture(autouse=True)
def default_distro() -> Iterator[None]:
    use_distro("jazzy")
    yield
    use_distro("jazzy")
