"""A refusal: one error of a code, whose words name what is wrong."""

import contextlib
import re
from collections.abc import Iterator

import pytest

from toolhand.tool_nodes.results import ErrorCode, ToolError


@contextlib.contextmanager
def refused(code: ErrorCode, *words: str, hint: str = "", within: int = 0) -> Iterator[pytest.ExceptionInfo[ToolError]]:
    """The block must end in a ToolError.

    Args:
        code: The error's.
        words: Patterns that its message and hint hold.
        hint: Pattern that its hint alone holds.
        within: Greatest length of both [characters]; 0 for any.
    """
    with pytest.raises(ToolError) as caught:
        yield caught
    assert caught.value.code is code, caught.value
    for word in words:
        caught.match(word)
    assert re.search(hint, caught.value.hint), caught.value.hint
    assert not within or len(str(caught.value)) < within
