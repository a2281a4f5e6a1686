"""Options of `toolhand bench reader`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from toolhand.agent_node.console.terminal import AsJson
from toolhand.bench.options import BenchOptions


@dataclass(frozen=True)
class Options(BenchOptions):
    """Read sentences of authors, and compare with the plans that were written for them; nothing is carried out.

    A plan counts where it is the same word by word, so that a rate is a lower bound. How many of those of which the
    reader is as sure as it says are right is its calibration. To judge what is done, see `toolhand bench dialogue`.

    Attributes:
        authors: Folders of said.tsv, plan.tsv, talks.tsv and talkplan.tsv, or names of training/reader/words.
        reader: Who reads: `learned`, `canonical`, or the spec of a policy, such as openai:MODEL, which is asked.
        weights: Folder of weights of `learned`, the shipped ones where left out.
        n: So many of the sentences, all where left out.
        context: The turn before is read, too.
        noise: Share of the sentences that get a slip, a recogniser's output or a remark, from 0 to 1.
        seed: Seed of the noise.
    """

    WORK = "toolhand.bench.reader:BENCH"

    authors: tuple[str, ...] = ("a05",)
    reader: str = "learned"
    weights: Path | None = None
    n: int | None = None
    context: bool = True
    noise: float = 0.0
    seed: int = 0
    as_json: AsJson = False
