from collections.abc import Iterator

import pytest

from tests.tool_nodes.toolbox.toy_tools import ToyTools
from toolhand.tool_nodes.toolbox.toolbox import Toolbox


@pytest.fixture
def tools() -> Iterator[ToyTools]:
    tools = ToyTools()
    yield tools
    tools.release.set()
    for thread in tools.threads:
        thread.join()


@pytest.fixture
def box(tools: ToyTools) -> Toolbox:
    return Toolbox([tools])
