"""What the options of every benchmark have in common; nothing here, or in `bench/commands`, loads what measures."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, ClassVar

from toolhand.agent_node.console.options import require_at_least

TURNS = 24
"""`toolhand.agent_node.conversation_settings.TURN_BUDGET`, whose module takes long to import [turns]."""


class BenchOptions:
    """Options of a benchmark: a frozen dataclass `Options` in `bench/commands/NAME.py`, whose docstring is the help.

    The file is all that makes `toolhand bench NAME` a command. It imports nothing that takes long.

    Attributes:
        WORK: The benchmark, an instance of `toolhand.bench.frame.Benchmark`, as "module:NAME"; imported when it runs.
        LEAST: Least value of each number, of those that are options.
        as_json: Print one JSON document instead of a report.
    """

    WORK: ClassVar[str]
    LEAST: ClassVar[Mapping[str, int]] = {
        **dict.fromkeys(("n", "scenes", "seeds", "poses", "turns", "jobs", "workers"), 1),
        **dict.fromkeys(("first_seed", "seed", "bootstrap_seed", "moments", "picks", "undo"), 0),
    }
    as_json: bool

    def check(self) -> None:
        """Raises ToolError INVALID_ARGUMENT for what cannot be measured: numbers below `LEAST`, unknown names."""
        for name, least in self.LEAST.items():
            if getattr(self, name, None) is not None:
                require_at_least(least, **{name: getattr(self, name)})
        for group in ("backends", "robot"):
            if hasattr(self, group):
                getattr(self, group).require_known()

    def __call__(self) -> int:
        """Check, and measure. Returns the exit status; raises ToolError as `check` and the benchmark do."""
        self.check()
        module, _, name = self.WORK.partition(":")
        benchmark: Any = getattr(import_module(module), name)
        status: int = benchmark(self)
        return status
