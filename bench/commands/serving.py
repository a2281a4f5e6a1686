"""Options of `toolhand bench serving`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from toolhand.agent_node.console.terminal import AsJson
from toolhand.bench.options import BenchOptions
from toolhand.tool_nodes.results import invalid

IN_PROCESS, ACTORS, BATCHES = "in process", "actors", "serve"
WAYS: Mapping[str, str] = {
    IN_PROCESS: "a function call; each conversation has a backend of its own",
    ACTORS: "toolhand serve, run: actor",
    BATCHES: "toolhand serve, run: serve, with batches",
}
"""How a tool is called."""

ABOUT: Mapping[str, str] = {
    "small": "a picture of 8x8, a tool that costs nothing",
    "rgb": "640x480 RGB, the same tool",
    "rgbd": "1280x720 RGB-D, the same tool",
    "busy": "a picture of 8x8, a tool that takes 20 ms a batch",
    "pixels": "640x480 RGB-D, the pointer of `pixels`",
}
"""The payloads."""


@dataclass(frozen=True)
class Options(BenchOptions):
    """Call tools in process, as actors and in batches from many conversations; print what that takes.

    A conversation waits for each answer before its next call, and has a new image every four calls. All callers are
    threads of this process. A cluster is started and taken down; one that is served already is left alone.

    Attributes:
        payloads: Names among small, rgb (640x480), rgbd (1280x720), busy (a tool that takes 20 ms a batch) and pixels.
        ways: Names among "in process", actors and serve.
        callers: Conversations at once.
        seconds: How long each combination is measured.
        batch: Most requests at once of what is served in batches.
        batch_wait_ms: How long the first of a batch waits for others.
    """

    WORK = "toolhand.bench.serving.command:BENCH"

    payloads: tuple[str, ...] = tuple(ABOUT)
    ways: tuple[str, ...] = tuple(WAYS)
    callers: tuple[int, ...] = (1, 16, 64, 256)
    seconds: float = 3.0
    batch: int = 64
    batch_wait_ms: float = 0.0
    as_json: AsJson = False

    def check(self) -> None:
        for given, known in ((self.payloads, ABOUT), (self.ways, WAYS)):
            unknown = next((name for name in given if name not in known), None)
            if unknown is not None or not given:
                raise invalid(f"There is no {str(unknown)[:60]!r}: {', '.join(known)}.")
        if not self.callers or not all(1 <= count <= 1000 for count in self.callers) or not 0.0 < self.seconds <= 600.0:
            raise invalid("callers must be 1 to 1000 and seconds above 0, at most 600.")
        if not 1 <= self.batch <= 10_000 or not 0.0 <= self.batch_wait_ms <= 10_000.0:
            raise invalid("batch must be 1 to 10000 and batch-wait-ms 0 to 10000.")
