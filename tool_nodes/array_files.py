"""Arrays of numbers in .npz files that may have come from anywhere: nothing pickled, and bounded once unpacked."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tool_nodes.files import GIB, read_file

MOST_UNPACKED = 2 * GIB
"""Most bytes of all arrays of a file together [bytes]; a file of a kilobyte can promise as many gigabytes."""


def read_arrays(path: Path, names: Sequence[str], most: int = MOST_UNPACKED) -> dict[str, NDArray[Any]]:
    """The arrays of these names.

    Args:
        path: An .npz file.
        names: Those that must be there; others are not read.
        most: Longest file, and most bytes of its arrays once they are unpacked [bytes].

    Raises:
        OSError: As of `read_file`.
        ValueError: It is no such file, damaged, too large once unpacked, or has no array of a name.
    """
    content = read_file(path, most)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            if sum(entry.file_size for entry in packed.infolist()) > most:
                raise ValueError(f"it has more than {most:,} bytes once it is unpacked")
        with np.load(io.BytesIO(content), allow_pickle=False) as stored:
            return {name: stored[name] for name in names}
    except KeyError as error:
        raise ValueError(f"it has no array {error.args[0]!r}") from error
    except (EOFError, OverflowError, MemoryError, NotImplementedError, SyntaxError, TypeError, RuntimeError,
            zipfile.BadZipFile, zlib.error) as error:  # fmt: skip
        raise ValueError(f"it is no whole file of arrays ({type(error).__name__})") from error
