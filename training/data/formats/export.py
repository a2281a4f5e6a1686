"""Folders of rollouts in, data sets and a page out: what the commands do."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from toolhand.tool_nodes.results import invalid
from toolhand.training.data.formats.chat import ChatJsonl, ChatParquet
from toolhand.training.data.formats.conversation import Layout
from toolhand.training.data.formats.sample import write_html_sample
from toolhand.training.data.formats.sharegpt import ShareGpt
from toolhand.training.data.formats.writing import RowFormat, WrittenSet, write_set
from toolhand.training.rollouts.collection import SHARDS, read_rollouts
from toolhand.training.rollouts.images import ImageStore
from toolhand.training.rollouts.record import RolloutRecord

KeptRollouts = Literal["all", "accepted", "successful"]
FormName = Literal["chat", "parquet", "sharegpt"]
FORMS: dict[FormName, Callable[[], RowFormat]] = {"chat": ChatJsonl, "parquet": ChatParquet, "sharegpt": ShareGpt}


MAX_SHOWN = 500
"""Rollouts of a page, what a browser scrolls through at ease."""


def is_kept(record: RolloutRecord, keep: KeptRollouts, methods: Sequence[str] = ()) -> bool:
    """Whether a rollout is among "all", "accepted" (its label says no different) or "successful" (by the truth).

    Where methods are given, its label must name one of them.
    """
    if methods and record.labels.get("method") not in methods:
        return False
    return keep == "all" or (
        record.true_success if keep == "successful" else record.labels.get("accepted", True) is True
    )


def export(
    rollouts: Path | Sequence[Path],
    out: Path,
    form: FormName,
    layout: Layout = "calls",
    keep: KeptRollouts = "accepted",
    on_skip: Callable[[str], None] | None = None,
    methods: Sequence[str] = (),
) -> WrittenSet:
    """Write a folder of rollouts as a data set; of a collection that was killed, its whole shards.

    Args:
        rollouts: See `toolhand.training.rollouts.collection`; of several folders one after the other.
        out: Where it goes; not there yet, or empty.
        layout: See `toolhand.training.data.formats.conversation`.
        on_skip: Called with a sentence for each row that is no rollout and each rollout that cannot be written, which
            are left out; where None, the first is an error.
        methods: Only those that were made so, names of `toolhand.training.data.synthesis.methods.METHODS`; all where
            empty.

    Raises:
        ToolError: INVALID_ARGUMENT for folders, names or rows that are not as they should be, and where nothing is
            left; UNAVAILABLE where the disk is full or pyarrow is missing.
    """
    if form not in FORMS or keep not in get_args(KeptRollouts):
        raise invalid(
            f"A format is one of {', '.join(FORMS)}, and kept are all, accepted or successful: not {form!r}, {keep!r}."
        )
    folders = [rollouts] if isinstance(rollouts, Path) else list(rollouts)
    bad_row = None if on_skip is None else lambda error: on_skip(str(error))
    records = (
        record for folder in folders for record in read_rollouts(folder, bad_row) if is_kept(record, keep, methods)
    )
    wanted = [keep] * (keep != "all") + [f"made by {' or '.join(methods)[:80]}"] * bool(methods)
    which = f" that is {' and '.join(wanted)}" if wanted else ""
    where = " and ".join(str(folder) for folder in folders)
    return write_set(_some(records, where, which), _Stores(folders), out, FORMS[form](), layout, on_skip)


def _some(records: Iterable[RolloutRecord], rollouts: str, which: str) -> Iterator[RolloutRecord]:
    """The records. Raises ToolError INVALID_ARGUMENT where there are none, before anything is written."""
    left = iter(records)
    first = next(left, None)
    if first is None:
        raise invalid(f"{rollouts} has no rollout{which}.")
    yield from itertools.chain([first], left)


def show(rollouts: Path, path: Path, n: int, on_skip: Callable[[str], None] | None = None) -> tuple[int, int]:
    """Write a page of rollouts of a folder and of the collections within it (what was rejected), spread evenly.

    Args:
        rollouts: See `toolhand.training.rollouts.collection`.
        n: Most rollouts, 1 to MAX_SHOWN.
        on_skip: Called for each record left out, see `export`.

    Returns:
        How many are shown, and how many there are.

    Raises:
        ToolError: INVALID_ARGUMENT as `export`, and for another n; UNAVAILABLE where the page cannot be written.
    """
    if not 1 <= n <= MAX_SHOWN:
        raise invalid(f"A page shows 1 to {MAX_SHOWN} rollouts, not {n}.")
    heard = None if on_skip is None else lambda error: on_skip(str(error))
    folders = [rollouts, *sorted(path.parent for path in rollouts.glob(f"*/{SHARDS}"))]
    count = sum(1 for folder in folders for _ in read_rollouts(folder, heard))
    chosen = set(np.linspace(0, count - 1, min(n, count)).round().astype(int).tolist())
    everything = (record for folder in folders for record in read_rollouts(folder, lambda error: None))
    records = [record for number, record in enumerate(everything) if number in chosen]
    write_html_sample(records, _Stores(folders), path, count)
    return len(records), count


class _Stores:
    """The images of several collections."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._stores = [ImageStore(folder) for folder in folders]

    def get(self, name: str) -> NDArray[np.uint8]:
        """See `toolhand.training.rollouts.images.ImageSource`."""
        return self._having(name).get(name)

    def path(self, name: str) -> Path:
        """See `toolhand.training.rollouts.images.ImageStore`."""
        return self._having(name).path(name)

    def _having(self, name: str) -> ImageStore:
        return next((store for store in self._stores if store.path(name).exists()), self._stores[0])
