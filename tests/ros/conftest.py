"""The router of a worker, which every graph of its tests goes through."""

from collections.abc import Iterator

import pytest

from rclpy_zenoh.wire import start_router


@pytest.fixture(scope="session")
def router() -> Iterator[str]:
    with start_router() as process:
        yield process.endpoint
