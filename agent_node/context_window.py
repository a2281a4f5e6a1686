"""Memory of a long conversation: which old images and variables are dropped, and when.

| what | kept | what happens to the rest |
|---|---|---|
| images that calls may name | the first and the newest 16, with depth and calibration | pixels only, packed |
| images that the policy is shown | the first and the newest 8 to 15 | `<image K>` stays and says so |
| `$variables` | the newest 64, of 128 MiB together | dropped, the oldest first |
| arrays in the records of calls | none: they are in the session | dropped when the call is over |

Images leave the policy's messages 8 at a time. Between two such trims a turn's conversation begins with all of the one
before, so that a server that caches beginnings reads only what is new.

Naming what was dropped gives a sentence that says so and how to look again. Reports and recordings still hold every
image, and `Episode.given` what the policy was shown at each turn.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from toolhand.agent_node.policy import Message
from toolhand.tool_nodes.results import ErrorCode
from toolhand.tool_nodes.toolbox.images import PackedImage, SessionImage
from toolhand.tool_nodes.toolbox.toolbox import CallRecord, Session

_NAMES = 256
"""Names of dropped variables that are remembered [-]."""


@dataclass(frozen=True)
class Memory:
    """How much a conversation keeps.

    Attributes:
        images: Newest images that calls may name, beside the first one; 1 or more.
        shown: Newest images that the policy is given in any case, beside the first one; 1 or more.
        block: So many images are taken from the policy at a time; 1 or more. `images` of `shown + block` let calls name
            whatever the policy is shown.
        variables: Newest `$variables`.
        variable_bytes: Bytes of all variables together; the newest one is kept in any case.
    """

    images: int = 16
    shown: int = 8
    block: int = 8
    variables: int = 64
    variable_bytes: int = 128 << 20

    def trim(self, session: Session, messages: list[Message]) -> None:
        """Let go what is too old, in a session and in the messages of its conversation."""
        images = session.images
        for index in range(1, len(images) - self.images):
            if not isinstance(images[index], PackedImage):
                images[index] = PackedImage(images[index])
                session.origins.update({name: origin.without(index) for name, origin in session.origins.items()})
        shown = [k for k, message in enumerate(messages) if message.image is not None]
        leaving = max(0, len(shown) - 1 - self.shown) // self.block * self.block
        for k in shown[1 : 1 + leaving]:
            messages[k] = replace(messages[k], image=None)
        self._trim_variables(session)

    def _trim_variables(self, session: Session) -> None:
        seen: set[int] = set()
        size, kept = 0, 0
        for value in reversed(session.variables.values()):
            size += _bytes(value, seen)
            if kept == self.variables or (kept and size > self.variable_bytes):
                break
            kept += 1
        oldest = list(session.variables)[: len(session.variables) - kept]
        session.forget(oldest, f"only the newest {kept} variables are kept")
        for name in list(session.forgotten)[:-_NAMES]:
            del session.forgotten[name]


def without_arrays(record: CallRecord) -> CallRecord:
    """The record of a call that is over, as it may be kept for as long as the conversation lasts."""
    result = record.result
    error = result.error
    if error is not None and error.code is not ErrorCode.INTERNAL:
        # Tracebacks keep what their functions held.
        error.__traceback__ = error.__context__ = error.__cause__ = None
    return replace(record, result=replace(result, value=None, image=None, variables={}, source=None))


def held_bytes(session: Session, messages: list[Message]) -> int:
    """Bytes of images, arrays and texts that a conversation holds, each counted once."""
    seen: set[int] = set()
    values = [*session.images, *session.variables.values()]
    for message in messages:
        values += [message.text, message.words, message.image]
    return sum(_bytes(value, seen) for value in values)


def _bytes(value: Any, seen: set[int]) -> int:
    """Memory of a value without what was seen before; of a view, what it keeps alive."""
    while isinstance(value, np.ndarray) and isinstance(value.base, np.ndarray):
        value = value.base
    if id(value) in seen:
        return 0
    seen.add(id(value))
    if isinstance(value, np.ndarray):
        return value.nbytes
    if isinstance(value, PackedImage):
        return len(value.packed)
    if isinstance(value, SessionImage):
        frame = value.frame
        arrays = (value.rgb,) if frame is None else (value.rgb, frame.rgb, frame.depth, frame.ids)
        return sum(_bytes(array, seen) for array in arrays)
    if isinstance(value, dict):
        return sum(_bytes(inner, seen) for inner in (*value.keys(), *value.values()))
    if isinstance(value, (list, tuple)):
        return sum(_bytes(inner, seen) for inner in value)
    return len(value) if isinstance(value, (str, bytes)) else 8
