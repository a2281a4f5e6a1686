"""What the options of every benchmark have in common; nothing here, or in `bench/commands`, loads what measures."""

from __future__ import annotations

from importlib import import_module
from typing import Any, ClassVar

TURNS = 24
"""`agent_node.conversation_settings.TURN_BUDGET`, whose module takes long to import [turns]."""


class BenchOptions:
    """Options of a benchmark: a frozen dataclass `Options` in `bench/commands/NAME.py`, whose docstring is the help.

    The file is all that makes `toolhand bench NAME` a command. It imports nothing that takes long.

    Attributes:
        WORK: The benchmark, an instance of `bench.frame.Benchmark`, as "module:NAME"; imported when it runs.
        as_json: Print one JSON document instead of a report.
    """

    WORK: ClassVar[str]
    as_json: bool

    def check(self) -> None:
        """Raises ToolError INVALID_ARGUMENT for what cannot be measured."""

    def __call__(self) -> int:
        """Check, and measure. Returns the exit status; raises ToolError as `check` and the benchmark do."""
        self.check()
        module, _, name = self.WORK.partition(":")
        benchmark: Any = getattr(import_module(module), name)
        status: int = benchmark(self)
        return status
