"""`toolhand train reader`: the network that reads what operators say."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from toolhand.agent_node.console.options import Unprefixed
from toolhand.agent_node.console.terminal import say


@dataclass(frozen=True)
class ReaderOptions:
    """How the reader is trained.

    Attributes:
        held: Authors of training/reader/words that are read only to judge, such as a05.
        epochs: How often each sentence is read.
        seed: Seed of every choice.
        noise: Share of sentences with a slip of the finger, a recogniser's output or a remark, from 0 to 1.
        context: The turn before is read, too.
    """

    out: Annotated[Path, tyro.conf.arg(metavar="DIR", help="Folder for the weights.")]
    held: tuple[str, ...] = ()
    epochs: int = 10
    seed: int = 1
    noise: float = 0.5
    context: bool = True


def train_reader(options: Unprefixed[ReaderOptions]) -> int:
    """Train the reader of the operator's words from MiniLM, on a processor; about an hour on two cores.

    The weights that come with the package were fitted in three such runs one after the other (docs/results/reader.md).
    """
    from toolhand.training.reader.run import ReaderRun, train

    train(ReaderRun(**vars(options)), say)
    return 0
