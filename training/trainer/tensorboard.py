"""Figures of a training for TensorBoard: the one file that needs tensorboardX (extra `learn`)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agent_node.console.terminal import say
from tool_nodes.extras import install_extra


class Events:
    """Writes numbers for TensorBoard; without tensorboardX it says so once and writes nothing.

    Args:
        folder: Folder of the event files.
        first: Number of the first row that is to come: what an earlier, killed run wrote from there on is not shown.
    """

    def __init__(self, folder: Path, first: int = 0) -> None:
        self._writer: Any = None
        try:
            from tensorboardX import SummaryWriter
        except ImportError:
            say(f"No events for TensorBoard: tensorboardX is not installed. Install it with: {install_extra('learn')}")
            return
        self._writer = SummaryWriter(logdir=str(folder), purge_step=first)

    def add(self, number: int, metrics: Mapping[str, Any]) -> None:
        """The numbers of a row of the log, each as a curve of its name. Raises OSError."""
        if self._writer is None:
            return
        for name, value in metrics.items():
            if isinstance(value, int | float) and not isinstance(value, bool):
                self._writer.add_scalar(name, value, number)
        self._writer.flush()

    def close(self) -> None:
        """Let the file go; may be called twice."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None
